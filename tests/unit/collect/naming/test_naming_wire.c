// SPDX-License-Identifier: Apache-2.0
/*
 * What the process that samples and the one that names say to each other: it comes back as it was,
 * and what a namer that was taken over could send instead is refused or sound.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/collect/naming/naming_wire.h"
#include "user/util/cleanup.h"

#define WORDS 5

static const uint64_t ips[JBPF_MAX_DEPTH] = { 0x1000, 0x2000, 3, 4, 5 };
static const uint64_t leaf_words[2] = { 71, 72 };
static const uint8_t leaf_code[JBPF_LEAF_CODE_BYTES] = "0123456789abcde";

/* Bytes that end where their memory does, so that ASan sees a step too far. */
static void *exact_copy(const void *bytes, size_t len)
{
	void *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	return copy;
}

/* ---- stacks ---- */

static void assert_stack_equal(const struct probe_stack *got, const struct probe_stack *wanted)
{
	assert_int_equal(got->frame_cnt, wanted->frame_cnt);
	assert_memory_equal(got->ips, wanted->ips, wanted->frame_cnt * sizeof(uint64_t));
	assert_int_equal(got->end, wanted->end);
	assert_int_equal(got->leaf_rule, wanted->leaf_rule);
	assert_int_equal(got->leaf_guess, wanted->leaf_guess);
	assert_int_equal(!got->leaf_words, !wanted->leaf_words);
	assert_int_equal(!got->leaf_code, !wanted->leaf_code);
	if (wanted->leaf_words)
		assert_memory_equal(got->leaf_words, wanted->leaf_words, sizeof(leaf_words));
	if (wanted->leaf_code)
		assert_memory_equal(got->leaf_code, wanted->leaf_code, sizeof(leaf_code));
}

static void stack_records_come_back_with_and_without_their_leaf(void **state)
{
	const struct probe_stack stacks[] = {
		{ .ips = ips, .frame_cnt = WORDS, .end = 2 },
		{ .ips = ips, .frame_cnt = 1, .leaf_words = leaf_words },
		{ .ips = ips, .frame_cnt = 2, .leaf_code = leaf_code },
		{ .ips = ips, .frame_cnt = 3, .leaf_words = leaf_words, .leaf_code = leaf_code },
		{ .ips = ips,
		  .frame_cnt = 3,
		  .leaf_code = leaf_code,
		  .leaf_rule = JBPF_LEAF_RULE_GUESSED,
		  .leaf_guess = 12 | JBPF_LEAF_GUESS_FP_SAVED | JBPF_LEAF_GUESS_BY_FP },
		{ .ips = ips, .frame_cnt = 0 },
		{ .ips = ips, .frame_cnt = JBPF_MAX_DEPTH, .leaf_words = leaf_words },
	};
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	const uint8_t *at, *end;
	struct naming_stack head;
	struct probe_stack stack;

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(stacks); i++) {
		head = (struct naming_stack){ .hash = i, .pid = 10 + i, .start_ns = 20 + i };
		assert_int_equal(naming_stack_put(&out, &head, &stacks[i]), 0);
	}
	at = (const uint8_t *)out.data;
	end = at + out.len;
	for (uint32_t i = 0; i < ARRAY_SIZE(stacks); i++) {
		assert_true(naming_stack_next(&at, end, &head, &stack));
		assert_int_equal(head.hash, i);
		assert_int_equal(head.pid, 10 + i);
		assert_int_equal(head.start_ns, 20 + i);
		assert_stack_equal(&stack, &stacks[i]);
	}
	assert_ptr_equal(at, end);
	assert_false(naming_stack_next(&at, end, &head, &stack));
}

static void a_stack_record_that_is_cut_or_too_deep_is_none(void **state)
{
	const struct probe_stack whole = { .ips = ips, .frame_cnt = 3, .leaf_words = leaf_words };
	static const uint32_t depths[] = { 4, JBPF_MAX_DEPTH + 1, UINT32_MAX, UINT32_MAX - 3 };
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct naming_stack head = { .hash = 1 };
	struct probe_stack stack;

	(void)state;
	assert_int_equal(naming_stack_put(&out, &head, &whole), 0);
	for (size_t len = 0; len < out.len; len++) {
		__cleanup_free uint8_t *copy = exact_copy(out.data, len);
		const uint8_t *at = copy;

		assert_false(naming_stack_next(&at, copy + len, &head, &stack));
		assert_ptr_equal(at, copy);
	}
	for (size_t i = 0; i < ARRAY_SIZE(depths); i++) {
		__cleanup_free uint8_t *copy = exact_copy(out.data, out.len);
		const uint8_t *at = copy;

		memcpy(copy + offsetof(struct naming_stack, frame_cnt), &depths[i],
		       sizeof(depths[i]));
		assert_false(naming_stack_next(&at, copy + out.len, &head, &stack));
	}
}

/* ---- windows to be named ---- */

/* Stacks of hashes 1..cnt, all in the same places of the table. */
static void window_make(struct packet_stream *stream, uint32_t stack_cnt, struct packet *packet)
{
	const struct probe_count counts[] = { { .key.pid = 1, .value.count = 2 },
					      { .key.pid = 3, .value.count = 4 } };
	const struct probe_tick ticks[] = { { 1, 2 }, { 3, 4 }, { 5, 6 } };
	const struct probe_account accounts[] = { { .account_id = 7, .cut_samples = 11 } };
	const struct naming_window head = {
		.window_id = 8, .count_cnt = 2, .tick_cnt = 3, .account_cnt = 1
	};
	__cleanup_strbuf struct strbuf stacks = STRBUF_INIT;
	int err;

	for (uint32_t i = 1; i <= stack_cnt; i++) {
		const struct naming_stack stack_head = { .hash = i };
		const struct probe_stack stack = { .ips = ips,
						   .frame_cnt = i % 7,
						   .leaf_words = i & 1 ? leaf_words : NULL };

		assert_int_equal(naming_stack_put(&stacks, &stack_head, &stack), 0);
	}
	packet_stream_init(stream, -1, PACKET_MAX_BYTES);
	const struct naming_window_parts parts = {
		.counts = counts, .ticks = ticks, .accounts = accounts, .stacks = &stacks
	};
	assert_int_equal(naming_window_put(stream, &head, &parts), 0);
	packet_stream_turn(stream);
	assert_true(packet_stream_next(stream, packet, &err));
	assert_int_equal(packet->kind, NAMING_WINDOW);
}

static void a_window_comes_back_with_counts_ticks_and_stacks(void **state)
{
	static const uint32_t cnts[] = { 0, 1, 8, 9, 500 };
	struct packet_stream stream;
	struct probe_stack stack;
	struct naming_batch batch;
	struct packet packet;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cnts); i++) {
		window_make(&stream, cnts[i], &packet);
		assert_int_equal(naming_batch_read(packet.bytes, packet.len, &batch), 0);
		assert_int_equal(batch.head.window_id, 8);
		assert_int_equal(batch.counts[1].value.count, 4);
		assert_int_equal(batch.accounts[0].account_id, 7);
		assert_int_equal(batch.accounts[0].cut_samples, 11);
		assert_int_equal(batch.ticks[2].after_us, 6);
		for (uint32_t hash = 1; hash <= cnts[i]; hash++) {
			assert_int_equal(naming_batch_stack(&batch, hash, &stack), 0);
			assert_int_equal(stack.frame_cnt, hash % 7);
			assert_int_equal(!stack.leaf_words, !(hash & 1));
		}
		assert_int_equal(naming_batch_stack(&batch, cnts[i] + 1, &stack), -ENOENT);
		assert_int_equal(naming_batch_stack(&batch, UINT64_MAX, &stack), -ENOENT);
		naming_batch_release(&batch);
		packet_stream_release(&stream);
	}
}

/* Refused, or every count, tick and stack of it can be read. */
static void batch_is_refused_or_sound(const void *bytes, size_t len)
{
	struct naming_batch batch;
	struct probe_stack stack;
	uint64_t sum = 0;
	int err = naming_batch_read(bytes, len, &batch);

	assert_true(err == 0 || err == -EBADMSG);
	if (err)
		return;
	for (uint32_t i = 0; i < batch.head.count_cnt; i++)
		sum += batch.counts[i].value.count;
	for (uint32_t i = 0; i < batch.head.tick_cnt; i++)
		sum += batch.ticks[i].after_us;
	for (uint64_t hash = 0; hash < 300; hash++)
		if (naming_batch_stack(&batch, hash, &stack) == 0)
			for (uint32_t i = 0; i < stack.frame_cnt; i++)
				sum += stack.ips[i];
	assert_true(sum || !sum);
	naming_batch_release(&batch);
}

static void a_damaged_window_is_refused_or_sound(void **state)
{
	struct packet_stream stream;
	struct packet packet;

	(void)state;
	window_make(&stream, 9, &packet);
	for (size_t len = 0; len < packet.len; len++) {
		__cleanup_free void *copy = exact_copy(packet.bytes, len);

		batch_is_refused_or_sound(copy, len);
	}
	for (size_t at = 0; at < packet.len; at++) {
		for (int bit = 0; bit < 8; bit++) {
			__cleanup_free uint8_t *copy = exact_copy(packet.bytes, packet.len);

			copy[at] ^= (uint8_t)(1 << bit);
			batch_is_refused_or_sound(copy, packet.len);
		}
	}
	packet_stream_release(&stream);
}

/* ---- named streams ---- */

static struct window full_window(void)
{
	struct window window = {
		.start_unix_ns = 1,
		.duration_ns = 2,
		.boot_id = "0123456789abcde",
		.pid = 3,
		.process_start_ns = 4,
		.cgroup_id = 5,
		.exec_id = 6,
		.counts = { .samples = 7, .interpreted_frames = 8 },
		.lost = { [WINDOW_LOSS_CUT] = 9 },
		.jit_source = 2,
		.lines = "line one\nline two\n",
		.lines_len = 18,
		.cells = (const uint8_t *)"cells",
		.cells_len = 5,
		.threads = (const uint8_t *)"threads",
		.threads_len = 7,
		.ticks = (const uint8_t *)"ticks",
		.ticks_len = 5,
		.labels = { [WINDOW_LABEL_COMM] = "java",
			    [WINDOW_LABEL_POD] = "",
			    [WINDOW_LABEL_CNT - 1] = "last" },
	};

	return window;
}

static const char folded[] = "java;main 3\njava;work 4\n";

static void stream_make(struct packet_stream *stream, const struct window *window,
			struct packet *packet)
{
	int err;

	packet_stream_init(stream, -1, PACKET_MAX_BYTES);
	assert_int_equal(naming_stream_put(stream, window, folded, strlen(folded)), 0);
	packet_stream_turn(stream);
	assert_true(packet_stream_next(stream, packet, &err));
	assert_int_equal(packet->kind, NAMING_STREAM);
}

static void assert_same_window(const struct window *got, const struct window *wanted)
{
	struct window a = *got, b = *wanted;

	for (int i = 0; i < WINDOW_LABEL_CNT; i++) {
		assert_int_equal(!a.labels[i], !b.labels[i]);
		if (a.labels[i])
			assert_string_equal(a.labels[i], b.labels[i]);
		a.labels[i] = b.labels[i] = NULL;
	}
	assert_int_equal(!a.lines, !b.lines);
	assert_int_equal(!a.cells, !b.cells);
	assert_int_equal(!a.threads, !b.threads);
	assert_int_equal(!a.ticks, !b.ticks);
	if (a.lines)
		assert_memory_equal(a.lines, b.lines, a.lines_len);
	if (a.cells)
		assert_memory_equal(a.cells, b.cells, a.cells_len);
	if (a.threads)
		assert_memory_equal(a.threads, b.threads, a.threads_len);
	if (a.ticks)
		assert_memory_equal(a.ticks, b.ticks, a.ticks_len);
	a.lines = b.lines = NULL;
	a.threads = b.threads = NULL;
	a.ticks = b.ticks = NULL;
	a.cells = b.cells = NULL;
	assert_memory_equal(&a, &b, sizeof(a));
}

static void a_named_stream_comes_back_as_it_was(void **state)
{
	struct window windows[] = { full_window(), full_window(), { .pid = 1 } };
	struct packet_stream stream;
	struct packet packet;
	struct window got;
	const char *text;
	size_t len;

	(void)state;
	windows[1].lines = NULL;
	windows[1].lines_len = 0;
	windows[1].cells = NULL;
	windows[1].cells_len = 0;
	windows[1].threads = NULL;
	windows[1].threads_len = 0;
	windows[1].ticks = NULL;
	windows[1].ticks_len = 0;
	for (size_t i = 0; i < ARRAY_SIZE(windows); i++) {
		stream_make(&stream, &windows[i], &packet);
		assert_int_equal(naming_stream_read(packet.bytes, packet.len, &got, &text, &len),
				 0);
		assert_int_equal(len, strlen(folded));
		assert_string_equal(text, folded);
		assert_same_window(&got, &windows[i]);
		packet_stream_release(&stream);
	}
}

/* Nothing that could be read lies outside the packet, and texts end. */
static bool stream_is_sound(const void *bytes, size_t packet_len)
{
	const char *begin = bytes, *end = begin + packet_len, *text;
	struct window window;
	size_t len;
	int err = naming_stream_read(bytes, packet_len, &window, &text, &len);

	assert_true(err == 0 || err == -EBADMSG);
	if (err)
		return false;
	assert_true(text > begin && len < packet_len && text + len < end);
	assert_int_equal(text[len], '\0');
	for (int i = 0; i < WINDOW_LABEL_CNT; i++) {
		const char *label = window.labels[i];

		assert_true(!label || (label > begin && label + strlen(label) < end));
	}
	assert_int_equal(!window.lines, !window.lines_len);
	assert_int_equal(!window.cells, !window.cells_len);
	assert_int_equal(!window.threads, !window.threads_len);
	assert_int_equal(!window.ticks, !window.ticks_len);
	if (window.lines)
		assert_true(window.lines > begin && window.lines + window.lines_len < end);
	if (window.cells)
		assert_true((const char *)window.cells + window.cells_len <= end);
	if (window.threads)
		assert_true((const char *)window.threads + window.threads_len <= end);
	if (window.ticks)
		assert_true((const char *)window.ticks + window.ticks_len <= end);
	return true;
}

static void a_damaged_stream_is_refused_or_sound(void **state)
{
	const struct window window = full_window();
	struct packet_stream stream;
	struct packet packet;

	(void)state;
	stream_make(&stream, &window, &packet);
	assert_true(stream_is_sound(packet.bytes, packet.len));
	for (size_t len = 0; len < packet.len; len++) {
		__cleanup_free void *copy = exact_copy(packet.bytes, len);

		assert_false(stream_is_sound(copy, len));
	}
	for (size_t at = 0; at < packet.len; at++) {
		static const uint8_t flips[] = { 1, 2, 4, 8, 16, 32, 64, 128, 255 };

		for (size_t i = 0; i < ARRAY_SIZE(flips); i++) {
			__cleanup_free uint8_t *copy = exact_copy(packet.bytes, packet.len);

			copy[at] ^= flips[i];
			(void)stream_is_sound(copy, packet.len);
		}
	}
	packet_stream_release(&stream);
}

/* Whoever reads such a label as a C string would see another one than who counts its bytes. */
static void labels_with_a_nul_within_are_refused(void **state)
{
	const struct window window = full_window();
	struct packet_stream stream;
	struct packet packet;
	uint8_t *label;

	(void)state;
	stream_make(&stream, &window, &packet);
	__cleanup_free uint8_t *copy = exact_copy(packet.bytes, packet.len);
	label = memmem(copy, packet.len, "java", 5);
	assert_non_null(label);
	label[2] = '\0';
	assert_false(stream_is_sound(copy, packet.len));
	label[2] = 'v';
	assert_true(stream_is_sound(copy, packet.len));
	label[4] = 'x'; /* instead of the NUL behind it */
	assert_false(stream_is_sound(copy, packet.len));
	packet_stream_release(&stream);
}

static void pointers_of_the_sender_are_never_looked_at(void **state)
{
	const struct window window = full_window();
	struct packet_stream stream;
	struct packet packet;
	struct window got;
	const char *text;
	size_t len;

	(void)state;
	stream_make(&stream, &window, &packet);
	__cleanup_free uint8_t *copy = exact_copy(packet.bytes, packet.len);
	memset(copy + offsetof(struct window, labels), 0xa5, sizeof(window.labels));
	memset(copy + offsetof(struct window, lines), 0xa5, sizeof(window.lines));
	memset(copy + offsetof(struct window, cells), 0xa5, sizeof(window.cells));
	memset(copy + offsetof(struct window, threads), 0xa5, sizeof(window.threads));
	assert_true(stream_is_sound(copy, packet.len));
	assert_int_equal(naming_stream_read(copy, packet.len, &got, &text, &len), 0);
	assert_same_window(&got, &window);
	packet_stream_release(&stream);
}

/* ---- code for a map ---- */

static void code_comes_back_and_what_is_cut_or_lies_is_none(void **state)
{
	static const char *const names[] = { "", "a", "seven77", "java.lang.String.hashCode" };
	__cleanup_strbuf struct strbuf records = STRBUF_INIT;
	uint64_t start, code_len;
	const char *name;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(naming_map_code_put(&records, i, i * 100, names[i]), 0);
	for (size_t cut = 0; cut <= records.len; cut++) {
		__cleanup_free uint8_t *copy = exact_copy(records.data, records.len - cut);
		const uint8_t *at = copy, *end = copy + records.len - cut;
		size_t cnt = 0;

		while (naming_map_code_next(&at, end, &start, &code_len, &name)) {
			assert_int_equal(start, cnt);
			assert_int_equal(code_len, cnt * 100);
			assert_string_equal(name, names[cnt++]);
		}
		assert_true(cut == 0 ? cnt == ARRAY_SIZE(names) && at == end :
				       cnt < ARRAY_SIZE(names));
	}
}

static void code_whose_length_lies_is_none(void **state)
{
	static const uint64_t lies[] = { 0, 7, 9, 16, 1 << 20, UINT64_MAX, UINT64_MAX - 7 };
	__cleanup_strbuf struct strbuf records = STRBUF_INIT;
	uint64_t start, len;
	const char *name;

	(void)state;
	assert_int_equal(naming_map_code_put(&records, 1, 2, "ten bytes "), 0);
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		__cleanup_free uint8_t *copy = exact_copy(records.data, records.len);
		const uint8_t *at = copy;

		memcpy(copy + 2 * sizeof(uint64_t), &lies[i], sizeof(lies[i]));
		assert_false(naming_map_code_next(&at, copy + records.len, &start, &len, &name));
	}
}

static void an_answer_whose_texts_do_not_end_is_refused(void **state)
{
	struct naming_map_answer answer = { .pid = 7, .problem = "none" }, got;

	(void)state;
	assert_int_equal(naming_map_answer_read(&answer, sizeof(answer), &got), 0);
	assert_string_equal(got.problem, "none");
	assert_int_equal(naming_map_answer_read(&answer, sizeof(answer) - 1, &got), -EBADMSG);
	memset(answer.container, 'x', sizeof(answer.container));
	assert_int_equal(naming_map_answer_read(&answer, sizeof(answer), &got), -EBADMSG);
	answer.container[0] = '\0';
	memset(answer.problem, 'x', sizeof(answer.problem));
	assert_int_equal(naming_map_answer_read(&answer, sizeof(answer), &got), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stack_records_come_back_with_and_without_their_leaf),
		cmocka_unit_test(a_stack_record_that_is_cut_or_too_deep_is_none),
		cmocka_unit_test(a_window_comes_back_with_counts_ticks_and_stacks),
		cmocka_unit_test(a_damaged_window_is_refused_or_sound),
		cmocka_unit_test(a_named_stream_comes_back_as_it_was),
		cmocka_unit_test(a_damaged_stream_is_refused_or_sound),
		cmocka_unit_test(labels_with_a_nul_within_are_refused),
		cmocka_unit_test(pointers_of_the_sender_are_never_looked_at),
		cmocka_unit_test(code_comes_back_and_what_is_cut_or_lies_is_none),
		cmocka_unit_test(code_whose_length_lies_is_none),
		cmocka_unit_test(an_answer_whose_texts_do_not_end_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
