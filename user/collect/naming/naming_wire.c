// SPDX-License-Identifier: Apache-2.0
/* See naming_wire.h. */
#include "user/collect/naming/naming_wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/util/cleanup.h"

#define LEAF_RECORD_WORDS 4u /* two words and JBPF_LEAF_CODE_BYTES */
#define WORD_BYTES	  sizeof(uint64_t)
#define LABEL_NONE	  UINT32_MAX

_Static_assert(sizeof(struct naming_stack) % 8 == 0, "records stay aligned");
_Static_assert(sizeof(struct naming_window) % 8 == 0, "counts stay aligned");
_Static_assert(sizeof(struct probe_count) % 8 == 0, "ticks stay aligned");
_Static_assert(sizeof(struct probe_tick) % 8 == 0, "accounts stay aligned");
_Static_assert(sizeof(struct probe_account) % 8 == 0, "stacks stay aligned");
_Static_assert(JBPF_LEAF_CODE_BYTES == 2 * sizeof(uint64_t), "leaf code is two words");

/* ---- stacks ---- */

int naming_stack_put(struct strbuf *out, const struct naming_stack *head,
		     const struct probe_stack *stack)
{
	static const uint64_t nothing[2];
	struct naming_stack full = *head;
	size_t words = stack->frame_cnt * WORD_BYTES;
	int err;

	full.frame_cnt = stack->frame_cnt;
	full.end = (uint16_t)stack->end;
	full.flags = (uint16_t)((stack->leaf_words ? JBPF_STACK_LEAF_WORDS : 0) |
				(stack->leaf_code ? JBPF_STACK_LEAF_CODE : 0) |
				(__u32)stack->leaf_rule << JBPF_STACK_LEAF_RULE_SHIFT |
				(__u32)stack->leaf_guess << JBPF_STACK_LEAF_GUESS_SHIFT);
	err = strbuf_reserve(out, sizeof(full) + words + LEAF_RECORD_WORDS * WORD_BYTES);
	if (err)
		return err;
	strbuf_append(out, &full, sizeof(full));
	strbuf_append(out, stack->ips, words);
	if (!full.flags)
		return 0;
	strbuf_append(out, stack->leaf_words ? stack->leaf_words : nothing, sizeof(nothing));
	strbuf_append(out, stack->leaf_code ? (const void *)stack->leaf_code : nothing,
		      JBPF_LEAF_CODE_BYTES);
	return 0;
}

bool naming_stack_next(const uint8_t **at, const uint8_t *end, struct naming_stack *head_out,
		       struct probe_stack *stack_out)
{
	size_t left = (size_t)(end - *at);
	const uint64_t *words;
	size_t word_cnt;

	if (left < sizeof(*head_out))
		return false;
	memcpy(head_out, *at, sizeof(*head_out));
	word_cnt = head_out->frame_cnt + (head_out->flags ? LEAF_RECORD_WORDS : 0);
	if (head_out->frame_cnt > JBPF_MAX_DEPTH ||
	    left - sizeof(*head_out) < word_cnt * WORD_BYTES)
		return false;
	words = (const uint64_t *)(const void *)(*at + sizeof(*head_out));
	*stack_out = (struct probe_stack){
		.ips = words,
		.frame_cnt = head_out->frame_cnt,
		.end = (enum jbpf_stack_end)head_out->end,
		.leaf_rule = jbpf_leaf_rule_of(head_out->flags),
		.leaf_guess = jbpf_leaf_guess_of(head_out->flags),
	};
	if (head_out->flags & JBPF_STACK_LEAF_WORDS)
		stack_out->leaf_words = words + head_out->frame_cnt;
	if (head_out->flags & JBPF_STACK_LEAF_CODE)
		stack_out->leaf_code = (const uint8_t *)(words + head_out->frame_cnt + 2);
	*at += sizeof(*head_out) + word_cnt * WORD_BYTES;
	return true;
}

static int hash_compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

int naming_stacks_of(const struct sample_source *source, const struct probe_count *counts,
		     size_t cnt, struct strbuf *out)
{
	__cleanup_free uint64_t *hashes = calloc(2 * cnt + 1, sizeof(*hashes));
	size_t hash_cnt = 0;
	int err = 0;

	if (!hashes)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++) {
		hashes[hash_cnt++] = counts[i].key.user_hash;
		hashes[hash_cnt++] = counts[i].key.kernel_hash;
	}
	qsort(hashes, hash_cnt, sizeof(*hashes), hash_compare);
	for (size_t i = 0; i < hash_cnt && !err; i++) {
		const struct naming_stack head = { .hash = hashes[i] };
		struct probe_stack stack;

		if (!hashes[i] || (i && hashes[i] == hashes[i - 1]) ||
		    source->ops->stack(source->probe, hashes[i], &stack))
			continue;
		err = naming_stack_put(out, &head, &stack);
	}
	return err;
}

/* ---- windows to be named ---- */

int naming_window_put(struct packet_stream *stream, const struct naming_window *head,
		      const struct naming_window_parts *window)
{
	const struct iovec parts[] = {
		{ (void *)(uintptr_t)head, sizeof(*head) },
		{ (void *)(uintptr_t)window->counts, head->count_cnt * sizeof(*window->counts) },
		{ (void *)(uintptr_t)window->ticks, head->tick_cnt * sizeof(*window->ticks) },
		{ (void *)(uintptr_t)window->accounts,
		  head->account_cnt * sizeof(*window->accounts) },
		{ window->stacks->data, window->stacks->len },
	};

	return packet_stream_put(stream, NAMING_WINDOW, parts, ARRAY_SIZE(parts));
}

static uint32_t batch_slot(const struct naming_batch *batch, uint64_t hash)
{
	return (uint32_t)(hash >> 32) & (batch->slot_cnt - 1);
}

static uint64_t record_hash(const struct naming_batch *batch, uint32_t offset)
{
	uint64_t hash;

	memcpy(&hash,
	       batch->bytes + (size_t)offset * WORD_BYTES + offsetof(struct naming_stack, hash),
	       sizeof(hash));
	return hash;
}

static int batch_index(struct naming_batch *batch, const uint8_t *begin, const uint8_t *end)
{
	struct naming_stack head;
	struct probe_stack stack;
	const uint8_t *at = begin;
	size_t cnt = 0;

	while (naming_stack_next(&at, end, &head, &stack))
		cnt++;
	if (at != end)
		return -EBADMSG;
	batch->slot_cnt = 16;
	while (batch->slot_cnt < 2 * cnt)
		batch->slot_cnt *= 2;
	batch->slots = calloc(batch->slot_cnt, sizeof(*batch->slots));
	if (!batch->slots)
		return -ENOMEM;
	for (at = begin; at != end;) {
		uint32_t offset = (uint32_t)((size_t)(at - batch->bytes) / WORD_BYTES);
		uint32_t slot;

		(void)naming_stack_next(&at, end, &head, &stack);
		slot = batch_slot(batch, head.hash);
		while (batch->slots[slot])
			slot = (slot + 1) & (batch->slot_cnt - 1);
		batch->slots[slot] = offset;
	}
	return 0;
}

int naming_batch_read(const void *bytes, size_t len, struct naming_batch *out)
{
	struct naming_batch batch = { .bytes = bytes };
	size_t counts_at = sizeof(batch.head), ticks_at, accounts_at, stacks_at;
	int err;

	if (len < sizeof(batch.head))
		return -EBADMSG;
	memcpy(&batch.head, bytes, sizeof(batch.head));
	ticks_at = counts_at + (size_t)batch.head.count_cnt * sizeof(*batch.counts);
	accounts_at = ticks_at + (size_t)batch.head.tick_cnt * sizeof(*batch.ticks);
	stacks_at = accounts_at + (size_t)batch.head.account_cnt * sizeof(*batch.accounts);
	if (stacks_at > len)
		return -EBADMSG;
	batch.counts = (const void *)(batch.bytes + counts_at);
	batch.ticks = (const void *)(batch.bytes + ticks_at);
	batch.accounts = (const void *)(batch.bytes + accounts_at);
	err = batch_index(&batch, batch.bytes + stacks_at, batch.bytes + len);
	if (err)
		return err;
	*out = batch;
	return 0;
}

void naming_batch_release(struct naming_batch *batch)
{
	free(batch->slots);
	*batch = (struct naming_batch){ 0 };
}

int naming_batch_stack(const struct naming_batch *batch, uint64_t hash, struct probe_stack *out)
{
	uint32_t slot = batch_slot(batch, hash);
	struct naming_stack head;
	const uint8_t *at;

	while (batch->slots[slot] && record_hash(batch, batch->slots[slot]) != hash)
		slot = (slot + 1) & (batch->slot_cnt - 1);
	if (!batch->slots[slot])
		return -ENOENT;
	at = batch->bytes + (size_t)batch->slots[slot] * WORD_BYTES;
	/* The table's maker has checked it: it ends before the packet does. */
	return naming_stack_next(
		       &at, at + sizeof(head) + (JBPF_MAX_DEPTH + LEAF_RECORD_WORDS) * WORD_BYTES,
		       &head, out) ?
		       0 :
		       -ENOENT;
}

/* ---- tables ---- */

/* The words follow. */
struct table_head {
	struct naming_unwind_id id;
	uint64_t address;
	uint32_t word_cnt;
	uint32_t page_cnt;
	uint32_t row_cnt;
	uint32_t pad;
};

int naming_unwind_table_put(struct packet_stream *stream, const struct naming_unwind_id *id,
			    const struct unwind_table *table)
{
	struct table_head head = {
		.id = *id,
		.address = table->address,
		.word_cnt = table->word_cnt,
		.page_cnt = table->page_cnt,
		.row_cnt = table->row_cnt,
	};
	const struct iovec parts[] = {
		{ &head, sizeof(head) },
		{ table->words, (size_t)table->word_cnt * sizeof(*table->words) },
	};

	return packet_stream_put(stream, NAMING_UNWIND_TABLE, parts, ARRAY_SIZE(parts));
}

const struct ksymbol_changes *naming_ksymbols_read(const void *bytes, size_t len)
{
	const struct ksymbol_changes *changes = bytes;

	if (len < offsetof(struct ksymbol_changes, items) || changes->cnt > KSYMBOL_CHANGES_MAX ||
	    len != naming_ksymbols_len(changes))
		return NULL;
	return changes;
}

int naming_unwind_table_read(const void *bytes, size_t len, struct naming_unwind_id *id_out,
			     struct unwind_table *out)
{
	const struct table_head *head = bytes;
	struct unwind_table table;

	if (len < sizeof(*head) || head->word_cnt > JBPF_UNWIND_MAX_WORDS ||
	    len - sizeof(*head) != (size_t)head->word_cnt * sizeof(*table.words) || !head->id.id ||
	    head->id.id > JBPF_UNWIND_MAX_TABLE)
		return -EBADMSG;
	table = (struct unwind_table){
		.words = (uint32_t *)(uintptr_t)(head + 1),
		.word_cnt = head->word_cnt,
		.page_cnt = head->page_cnt,
		.row_cnt = head->row_cnt,
		.address = head->address,
	};
	if (!unwind_table_is_valid(&table))
		return -EBADMSG;
	*id_out = head->id;
	*out = table;
	return 0;
}

int naming_unwind_read(const void *bytes, size_t len, struct naming_unwind *head_out,
		       const uint32_t **ids_out)
{
	const struct naming_unwind *head = bytes;

	if (len < sizeof(*head) || len - sizeof(*head) != (size_t)head->id_cnt * sizeof(**ids_out))
		return -EBADMSG;
	*head_out = *head;
	*ids_out = (const uint32_t *)(head + 1);
	return 0;
}

/* ---- code for a map ---- */

/* The name follows, with its NUL and up to a multiple of 8. */
struct code_head {
	uint64_t start;
	uint64_t len;
	uint64_t name_len;
};

static size_t padded(uint64_t name_len)
{
	return (name_len + WORD_BYTES) & ~(WORD_BYTES - 1);
}

int naming_map_code_put(struct strbuf *out, uint64_t start, uint64_t len, const char *name)
{
	static const char zeros[WORD_BYTES];
	const struct code_head head = { .start = start, .len = len, .name_len = strlen(name) };
	int err = strbuf_reserve(out, sizeof(head) + padded(head.name_len));

	if (err)
		return err;
	strbuf_append(out, &head, sizeof(head));
	strbuf_append(out, name, head.name_len);
	strbuf_append(out, zeros, padded(head.name_len) - head.name_len);
	return 0;
}

bool naming_map_code_next(const uint8_t **at, const uint8_t *end, uint64_t *start_out,
			  uint64_t *len_out, const char **name_out)
{
	size_t left = (size_t)(end - *at);
	struct code_head head;

	if (left < sizeof(head))
		return false;
	memcpy(&head, *at, sizeof(head));
	left -= sizeof(head);
	if (head.name_len >= left || padded(head.name_len) > left)
		return false;
	*name_out = (const char *)*at + sizeof(head);
	if (strnlen(*name_out, head.name_len + 1) != head.name_len)
		return false;
	*start_out = head.start;
	*len_out = head.len;
	*at += sizeof(head) + padded(head.name_len);
	return true;
}

#define ENDS(text) (memchr((text), '\0', sizeof(text)) != NULL)

int naming_map_answer_read(const void *bytes, size_t len, struct naming_map_answer *out)
{
	const struct naming_map_answer *answer = bytes;

	if (len != sizeof(*answer) || !ENDS(answer->container) || !ENDS(answer->container_id) ||
	    !ENDS(answer->problem))
		return -EBADMSG;
	*out = *answer;
	return 0;
}

/* ---- named streams ---- */

/* What stands before the strings, each of which ends with a NUL. */
struct stream_head {
	struct window window; /* without its pointers */
	uint32_t label_len[WINDOW_LABEL_CNT];
	uint32_t pad;
	uint64_t text_len;
};

static size_t label_parts(const struct window *window, struct stream_head *head,
			  struct iovec *parts)
{
	size_t cnt = 0;

	for (int i = 0; i < WINDOW_LABEL_CNT; i++) {
		const char *label = window->labels[i];
		size_t len = label ? strlen(label) : 0;

		head->window.labels[i] = NULL;
		head->label_len[i] = label ? (uint32_t)len : LABEL_NONE;
		if (label)
			parts[cnt++] = (struct iovec){ (void *)(uintptr_t)label, len + 1 };
	}
	return cnt;
}

static int put_as(struct packet_stream *stream, enum naming_packet kind,
		  const struct window *window, const char *text, size_t len)
{
	static const char nul[1];
	struct iovec parts[WINDOW_LABEL_CNT + 10];
	struct stream_head head;
	size_t cnt = 1;

	memset(&head, 0, sizeof(head));
	head.window = *window;
	head.window.lines = NULL;
	head.window.cells = NULL;
	head.window.threads = NULL;
	head.window.ticks = NULL;
	head.text_len = len;
	parts[0] = (struct iovec){ &head, sizeof(head) };
	cnt += label_parts(window, &head, parts + 1);
	parts[cnt++] = (struct iovec){ (void *)(uintptr_t)text, len };
	parts[cnt++] = (struct iovec){ (void *)(uintptr_t)nul, 1 };
	if (window->lines_len)
		parts[cnt++] =
			(struct iovec){ (void *)(uintptr_t)window->lines, window->lines_len };
	parts[cnt++] = (struct iovec){ (void *)(uintptr_t)nul, 1 };
	if (window->threads_len)
		parts[cnt++] =
			(struct iovec){ (void *)(uintptr_t)window->threads, window->threads_len };
	if (window->ticks_len)
		parts[cnt++] =
			(struct iovec){ (void *)(uintptr_t)window->ticks, window->ticks_len };
	if (window->cells_len)
		parts[cnt++] =
			(struct iovec){ (void *)(uintptr_t)window->cells, window->cells_len };
	return packet_stream_put(stream, kind, parts, cnt);
}

int naming_stream_put(struct packet_stream *stream, const struct window *window, const char *text,
		      size_t len)
{
	return put_as(stream, NAMING_STREAM, window, text, len);
}

int naming_met_put(struct packet_stream *stream, const struct window *window)
{
	return put_as(stream, NAMING_MET, window, "", 0);
}

/* `len` bytes and a NUL behind them, or NULL. */
static const char *take_text(const char **at, const char *end, uint64_t len)
{
	const char *text = *at;

	if ((uint64_t)(end - text) <= len || text[len])
		return NULL;
	*at = text + len + 1;
	return text;
}

/* False: there are fewer. */
static bool take_bytes(const char **at, const char *end, uint64_t len, const uint8_t **out)
{
	if ((uint64_t)(end - *at) < len)
		return false;
	*out = len ? (const uint8_t *)*at : NULL;
	*at += len;
	return true;
}

static int read_labels(const struct stream_head *head, const char **at, const char *end,
		       struct window *window)
{
	for (int i = 0; i < WINDOW_LABEL_CNT; i++) {
		window->labels[i] = NULL;
		if (head->label_len[i] == LABEL_NONE)
			continue;
		window->labels[i] = take_text(at, end, head->label_len[i]);
		/* A NUL within would hide what follows. */
		if (!window->labels[i] || strlen(window->labels[i]) != head->label_len[i])
			return -EBADMSG;
	}
	return 0;
}

int naming_stream_read(const void *bytes, size_t packet_len, struct window *window_out,
		       const char **text_out, size_t *len_out)
{
	const char *at = bytes, *end = at + packet_len, *lines;
	const struct stream_head *head = bytes;
	struct window window;

	if (packet_len < sizeof(*head))
		return -EBADMSG;
	window = head->window;
	at += sizeof(*head);
	if (read_labels(head, &at, end, &window))
		return -EBADMSG;
	*text_out = take_text(&at, end, head->text_len);
	lines = *text_out ? take_text(&at, end, window.lines_len) : NULL;
	if (!lines || !take_bytes(&at, end, window.threads_len, &window.threads) ||
	    !take_bytes(&at, end, window.ticks_len, &window.ticks) ||
	    (uint64_t)(end - at) != window.cells_len)
		return -EBADMSG;
	window.lines = window.lines_len ? lines : NULL;
	window.cells = window.cells_len ? (const uint8_t *)at : NULL;
	*window_out = window;
	*len_out = (size_t)head->text_len;
	return 0;
}
