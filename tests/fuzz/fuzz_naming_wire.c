// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as what the process that names and the one that samples say to each other: what is taken
 * is sound (all of it lies inside, texts end), and is the same when it is said again.
 *
 * Input: one byte that says which packet, the packet (from 0xf0 on: code for a map). Or a byte that says how a stream of packets is
 * cut, and the stream.
 */
#include <sys/socket.h>

#include "tests/fuzz/fuzz.h"
#include "user/collect/naming/naming_wire.h"
#include "user/util/packet_stream.h"

#define STREAM_MAX 65536u

static bool is_inside(const void *what, size_t what_len, const void *bytes, size_t len)
{
	const char *at = what, *begin = bytes;

	return at >= begin && at <= begin + len && what_len <= (size_t)(begin + len - at);
}

/* ---- a named stream ---- */

static void must_be_inside(const struct window *window, const char *text, size_t text_len,
			   const void *bytes, size_t len)
{
	must(is_inside(text, text_len + 1, bytes, len) && text[text_len] == '\0');
	must(!window->lines == !window->lines_len && !window->cells == !window->cells_len);
	must(!window->lines || is_inside(window->lines, window->lines_len, bytes, len));
	must(!window->cells || is_inside(window->cells, window->cells_len, bytes, len));
	must(!window->ticks == !window->ticks_len);
	must(!window->ticks || is_inside(window->ticks, window->ticks_len, bytes, len));
	for (int i = 0; i < WINDOW_LABEL_CNT; i++)
		must(!window->labels[i] ||
		     is_inside(window->labels[i], strlen(window->labels[i]) + 1, bytes, len));
}

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static void must_be_same(const struct window *a, const struct window *b)
{
	must(window_is_same_stream(a, b));
	must(memcmp(&a->counts, &b->counts, sizeof(a->counts)) == 0);
	must(memcmp(a->lost, b->lost, sizeof(a->lost)) == 0);
	must(a->lines_len == b->lines_len && a->cells_len == b->cells_len);
	must(a->threads_len == b->threads_len);
	must(!a->threads_len || memcmp(a->threads, b->threads, a->threads_len) == 0);
	must(a->ticks_len == b->ticks_len);
	must(!a->ticks_len || memcmp(a->ticks, b->ticks, a->ticks_len) == 0);
	must(!a->lines_len || memcmp(a->lines, b->lines, a->lines_len) == 0);
	must(!a->cells_len || memcmp(a->cells, b->cells, a->cells_len) == 0);
	for (int i = 0; i < WINDOW_LABEL_CNT; i++)
		must(is_same_text(a->labels[i], b->labels[i]));
}

static void must_come_back(const struct window *window, const char *text, size_t len)
{
	struct packet_stream stream;
	struct packet packet;
	struct window again;
	const char *text_again;
	size_t len_again;
	int err;

	packet_stream_init(&stream, -1, PACKET_MAX_BYTES);
	must(naming_stream_put(&stream, window, text, len) == 0);
	packet_stream_turn(&stream);
	must(packet_stream_next(&stream, &packet, &err) && packet.kind == NAMING_STREAM);
	must(naming_stream_read(packet.bytes, packet.len, &again, &text_again, &len_again) == 0);
	must(len == len_again && memcmp(text, text_again, len) == 0);
	must_be_same(window, &again);
	packet_stream_release(&stream);
}

static void take_stream(const uint8_t *bytes, size_t len)
{
	struct window window;
	const char *text;
	size_t text_len;
	int err = naming_stream_read(bytes, len, &window, &text, &text_len);

	must(err == 0 || err == -EBADMSG);
	if (err)
		return;
	must_be_inside(&window, text, text_len, bytes, len);
	must_come_back(&window, text, text_len);
}

/* ---- a window to be named ---- */

static void use_stack(const struct probe_stack *stack, const uint8_t *bytes, size_t len)
{
	uint64_t sum = 0;

	must(stack->frame_cnt <= JBPF_MAX_DEPTH);
	must(is_inside(stack->ips, stack->frame_cnt * sizeof(uint64_t), bytes, len));
	must(!stack->leaf_words || is_inside(stack->leaf_words, 16, bytes, len));
	must(!stack->leaf_code || is_inside(stack->leaf_code, JBPF_LEAF_CODE_BYTES, bytes, len));
	for (uint32_t i = 0; i < stack->frame_cnt; i++)
		sum ^= stack->ips[i];
	if (stack->leaf_words)
		sum ^= stack->leaf_words[0] ^ stack->leaf_words[1];
	if (stack->leaf_code)
		sum ^= stack->leaf_code[JBPF_LEAF_CODE_BYTES - 1];
	*(volatile uint64_t *)&sum = sum;
}

/* Where records of stacks begin, as the table has it; `len` when there are none. */
static size_t first_stack(const struct naming_batch *batch, size_t len)
{
	size_t first = len;

	for (uint32_t i = 0; i < batch->slot_cnt; i++)
		if (batch->slots[i] && batch->slots[i] * sizeof(uint64_t) < first)
			first = batch->slots[i] * sizeof(uint64_t);
	return first;
}

/* Each record that is there is found by its hash. */
static void use_batch(const struct naming_batch *batch, const uint8_t *bytes, size_t len)
{
	const uint8_t *at = bytes + first_stack(batch, len);
	struct probe_stack stack, found;
	struct naming_stack head;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < batch->head.count_cnt; i++)
		sum += batch->counts[i].value.count;
	for (uint32_t i = 0; i < batch->head.tick_cnt; i++)
		sum += batch->ticks[i].after_us;
	*(volatile uint64_t *)&sum = sum;
	while (naming_stack_next(&at, bytes + len, &head, &stack)) {
		use_stack(&stack, bytes, len);
		must(naming_batch_stack(batch, head.hash, &found) == 0);
		use_stack(&found, bytes, len);
	}
	must(at == bytes + len);
}

static void take_batch(const uint8_t *bytes, size_t len)
{
	struct naming_batch batch;
	int err = naming_batch_read(bytes, len, &batch);

	must(err == 0 || err == -EBADMSG || err == -ENOMEM);
	if (err)
		return;
	must(is_inside(batch.counts, batch.head.count_cnt * sizeof(*batch.counts), bytes, len));
	must(is_inside(batch.accounts, batch.head.account_cnt * sizeof(*batch.accounts), bytes,
		       len));
	must(is_inside(batch.ticks, batch.head.tick_cnt * sizeof(*batch.ticks), bytes, len));
	use_batch(&batch, bytes, len);
	naming_batch_release(&batch);
}

static void take_stacks(const uint8_t *bytes, size_t len)
{
	struct strbuf again = STRBUF_INIT;
	const uint8_t *at = bytes, *before = bytes;
	struct naming_stack head;
	struct probe_stack stack;

	while (naming_stack_next(&at, bytes + len, &head, &stack)) {
		use_stack(&stack, bytes, len);
		must(at > before && at <= bytes + len);
		before = at;
		must(naming_stack_put(&again, &head, &stack) == 0);
	}
	strbuf_release(&again);
}

/* ---- packets ---- */

/* The same packets however the bytes arrive. */
static size_t walk_packets(const uint8_t *bytes, size_t len, size_t step, uint64_t *sum_out)
{
	struct packet_stream stream;
	struct packet packet;
	size_t cnt = 0;
	int sockets[2], err = 0;

	must(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
	packet_stream_init(&stream, sockets[0], STREAM_MAX);
	*sum_out = 0;
	for (size_t at = 0; at < len && !err; at += step) {
		size_t part = step < len - at ? step : len - at;

		must(send(sockets[1], bytes + at, part, 0) == (ssize_t)part);
		must(packet_stream_fill(&stream) == 0);
		while (packet_stream_next(&stream, &packet, &err)) {
			cnt++;
			must(packet.len <= len && (uintptr_t)packet.bytes % 8 == 0);
			for (size_t i = 0; i < packet.len; i++)
				*sum_out = *sum_out * 31 + ((const uint8_t *)packet.bytes)[i];
		}
		must(err == 0 || err == -EBADMSG);
	}
	packet_stream_release(&stream);
	close(sockets[1]);
	return cnt;
}

static void take_packets(const uint8_t *bytes, size_t len)
{
	uint64_t whole_sum, part_sum;
	size_t whole, part;

	if (len < 2 || len > 32768)
		return;
	whole = walk_packets(bytes + 1, len - 1, len, &whole_sum);
	part = walk_packets(bytes + 1, len - 1, 64u + bytes[0], &part_sum);
	must(whole == part && whole_sum == part_sum);
}

/* ---- code for a map ---- */

static void take_code(const uint8_t *bytes, size_t len)
{
	struct strbuf again = STRBUF_INIT;
	const uint8_t *at = bytes;
	uint64_t start, code_len;
	const char *name;

	while (naming_map_code_next(&at, bytes + len, &start, &code_len, &name)) {
		must(is_inside(name, strlen(name) + 1, bytes, len));
		must(naming_map_code_put(&again, start, code_len, name) == 0);
		must(again.len == (size_t)(at - bytes));
	}
	strbuf_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static void (*const ways[])(const uint8_t *, size_t) = { take_stream, take_batch,
								 take_stacks, take_packets };
	uint8_t *bytes;

	if (!len)
		return 0;
	/* Aligned as packets are, and without room behind it. */
	bytes = malloc(len > 1 ? len - 1 : 1);
	must(bytes != NULL);
	memcpy(bytes, data + 1, len - 1);
	(data[0] < 0xf0 ? ways[data[0] % 4] : take_code)(bytes, len - 1);
	free(bytes);
	return 0;
}
