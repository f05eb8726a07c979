// SPDX-License-Identifier: Apache-2.0
/* Windows summed to minutes: nothing gets lost, and the order in which they come does not matter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "user/model/cells.h"
#include "user/model/thread_counts.h"
#include "user/push/push_sum.h"
#include "user/util/cleanup.h"
#include "user/util/strbuf.h"

#define SECOND 1000000000ull
#define MINUTE (60 * SECOND)
#define BEGIN  (28333334 * MINUTE)

static struct window window_at(uint64_t second, uint32_t pid)
{
	return (struct window){
		.start_unix_ns = BEGIN + second * SECOND,
		.duration_ns = 10 * SECOND,
		.pid = pid,
		.counts = { .samples = 3 },
		.labels = { [WINDOW_LABEL_COMM] = "java" },
	};
}

static void add(struct push_sum *sum, const struct window *window, const char *text)
{
	assert_int_equal(push_sum__add(sum, window, text, strlen(text)), 0);
}

static void windows_of_a_minute_become_one_and_others_do_not(void **state)
{
	struct push_sum *sum = push_sum__new(PUSH_SUM_MAX_BYTES);
	struct window late = window_at(55, 1), early = window_at(0, 1), next = window_at(60, 1),
		      other = window_at(0, 2);
	const struct push_stream *first;

	(void)state;
	add(sum, &next, "java;a 3\n");
	add(sum, &late, "java;b 1\njava;c 2\n");
	add(sum, &early, "java;a 2\njava;b 1\n");
	add(sum, &other, "");
	assert_int_equal(push_sum__finish(sum), 0);
	assert_int_equal(push_sum__count(sum), 3);
	first = push_sum__get(sum, 0);
	if (first->window.pid == 2)
		first = push_sum__get(sum, 1);
	assert_int_equal(first->minute_unix_s, BEGIN / SECOND);
	assert_true(first->window.start_unix_ns == early.start_unix_ns);
	assert_true(first->window.duration_ns == 65 * SECOND);
	assert_true(first->window.recorded_ns == 20 * SECOND);
	assert_int_equal(first->window.window_cnt, 2);
	assert_true(first->window.counts.samples == 6);
	assert_int_equal(profile__stack_count(first->stacks), 3);
	assert_string_equal(profile__stack(first->stacks, 1).text, "java;b");
	assert_true(profile__stack(first->stacks, 1).count == 2);
	assert_int_equal(push_sum__get(sum, 2)->minute_unix_s, BEGIN / SECOND + 60);
	push_sum__free(sum);
}

/* "main 2 pool 1": whose samples the line is. */
static void threads_of(struct thread_reader *reader, uint64_t samples, char *out, size_t out_len)
{
	struct thread_part part;
	size_t len = 0;

	out[0] = '\0';
	thread_reader_line(reader, samples);
	while (thread_reader_next(reader, &part))
		len += (size_t)snprintf(out + len, out_len - len, "%s%s %d", len ? " " : "",
					part.name ? part.name : "?", (int)part.count);
}

static void threads_stay_with_their_stacks(void **state)
{
	struct push_sum *sum = push_sum__new(PUSH_SUM_MAX_BYTES);
	struct thread_counts *counts = thread_counts__new(0);
	struct window with = window_at(0, 1), without = window_at(10, 1);
	__cleanup_strbuf struct strbuf code = STRBUF_INIT;
	__cleanup_thread_reader struct thread_reader reader = { 0 };
	const struct window *window;
	char text[64];

	(void)state;
	assert_int_equal(thread_counts__add(counts, 0, "main", 4, 1), 0);
	assert_int_equal(thread_counts__add(counts, 1, "pool", 4, 2), 0);
	assert_int_equal(thread_counts__encode(counts, NULL, &code), 0);
	thread_counts__free(counts);
	with.threads = (const uint8_t *)code.data;
	with.threads_len = code.len;
	add(sum, &without, "java;a 1\n");
	add(sum, &with, "java;b 1\njava;c 2\n");
	assert_int_equal(push_sum__finish(sum), 0);
	window = &push_sum__get(sum, 0)->window;
	assert_int_equal(thread_reader_open(&reader, window->threads, window->threads_len), 0);
	threads_of(&reader, 1, text, sizeof(text));
	assert_string_equal(text, "? 1");
	threads_of(&reader, 1, text, sizeof(text));
	assert_string_equal(text, "main 1");
	threads_of(&reader, 2, text, sizeof(text));
	assert_string_equal(text, "pool 2");
	push_sum__free(sum);
}

static void cells_and_lines_add_up(void **state)
{
	struct push_sum *sum = push_sum__new(PUSH_SUM_MAX_BYTES);
	struct window early = window_at(0, 1), late = window_at(10, 1);
	__cleanup_strbuf struct strbuf code = STRBUF_INIT;
	const struct window *window;
	struct cells_reader reader;
	struct cell cell;

	(void)state;
	assert_int_equal(cells_encode(&(struct cell){ .index = 5, .count = 3 }, 1, &code), 0);
	early.cells = late.cells = (const uint8_t *)code.data;
	early.cells_len = late.cells_len = (uint32_t)code.len;
	early.lines = late.lines = "b_[j];B.java:1 2\n";
	early.lines_len = late.lines_len = strlen(early.lines);
	add(sum, &late, "java;a 3\n");
	add(sum, &early, "java;a 3\n");
	assert_int_equal(push_sum__finish(sum), 0);
	window = &push_sum__get(sum, 0)->window;
	assert_string_equal(window->lines, "b_[j];B.java:1 4\n");
	reader = cells_reader_init(window->cells, window->cells_len);
	assert_true(cells_next(&reader, &cell));
	assert_int_equal(cell.index, 5);
	assert_true(cells_next(&reader, &cell));
	assert_int_equal(cell.index, 10 * SECOND / CELL_NS + 5);
	assert_false(cells_next(&reader, &cell));
	push_sum__free(sum);
}

static void what_is_damaged_is_counted_and_the_rest_is_kept(void **state)
{
	struct push_sum *sum = push_sum__new(PUSH_SUM_MAX_BYTES);
	struct window window = window_at(0, 1);

	(void)state;
	window.cells = window.threads = (const uint8_t *)"\xff";
	window.cells_len = 1;
	window.threads_len = 1;
	add(sum, &window, "java;a 3\nno stack\n");
	assert_int_equal(push_sum__finish(sum), 0);
	assert_int_equal(push_sum__stats(sum)->bad_lines, 3);
	assert_int_equal(profile__sample_count(push_sum__get(sum, 0)->stacks), 3);
	push_sum__free(sum);
}

static void stacks_over_the_limit_keep_their_samples(void **state)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct push_sum *sum = push_sum__new(PUSH_SUM_MAX_BYTES);
	struct window window = window_at(0, 1), next = window_at(60, 1);

	(void)state;
	for (int i = 0; i < PUSH_STACKS_PER_MINUTE + 10; i++)
		strbuf_printf(&text, "java;m%d 1\n", i);
	assert_int_equal(strbuf_error(&text), 0);
	add(sum, &window, text.data);
	add(sum, &next, "java;x 1\n");
	assert_int_equal(push_sum__finish(sum), 0);
	assert_int_equal(push_sum__stats(sum)->over_limit_samples, 10);
	assert_int_equal(profile__sample_count(push_sum__get(sum, 0)->stacks),
			 PUSH_STACKS_PER_MINUTE + 10);
	assert_string_equal(profile__stack(push_sum__get(sum, 0)->stacks, 0).text,
			    "java;" PUSH_OVER_LIMIT_FRAME);
	assert_string_equal(profile__stack(push_sum__get(sum, 1)->stacks, 0).text, "java;x");
	push_sum__free(sum);
}

#define SMALL_BYTES 100000
#define LONG_FRAME  5000

/* `cnt` stacks, and what push_sum keeps of them stays small. */
static void add_long_stacks(struct push_sum *sum, const struct window *window, int cnt)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;

	for (int i = 0; i < cnt; i++)
		strbuf_printf(&text, "java;m%d_%0*d 1\n", i, LONG_FRAME, i);
	assert_int_equal(strbuf_error(&text), 0);
	add(sum, window, text.data);
}

static void memory_of_long_stacks_has_a_limit(void **state)
{
	struct push_sum *sum = push_sum__new(SMALL_BYTES);
	struct window window = window_at(0, 1), other = window_at(0, 2);
	const struct push_stream *first;
	uint64_t over;
	size_t bytes = 0;

	(void)state;
	add(sum, &other, "java;steady 1\n");
	assert_false(push_sum__is_full(sum));
	add_long_stacks(sum, &window, 1000);
	assert_true(push_sum__is_full(sum));
	over = push_sum__stats(sum)->over_limit_samples;
	assert_in_range(over, 900, 999);
	/* What is there is still counted, and no source lines come any more. */
	other.lines = "b_[j];B.java:1 2\n";
	other.lines_len = strlen(other.lines);
	add(sum, &other, "java;steady 2\n");
	assert_int_equal(push_sum__stats(sum)->over_limit_samples, over);
	assert_int_equal(push_sum__stats(sum)->over_limit_lines, 1);
	assert_int_equal(push_sum__finish(sum), 0);
	for (size_t i = 0; i < push_sum__count(sum); i++) {
		const struct push_stream *stream = push_sum__get(sum, i);

		assert_int_equal(profile__sample_count(stream->stacks),
				 stream->window.pid == 1 ? 1000 : 3);
		for (size_t j = 0; j < profile__stack_count(stream->stacks); j++)
			bytes += profile__stack(stream->stacks, j).len;
	}
	assert_in_range(bytes, 1, SMALL_BYTES + LONG_FRAME);
	first = push_sum__get(sum, push_sum__get(sum, 0)->window.pid == 1 ? 0 : 1);
	assert_string_equal(profile__stack(first->stacks, 0).text, "java;" PUSH_OVER_LIMIT_FRAME);
	assert_int_equal(profile__stack(first->stacks, 0).count, over);
	push_sum__free(sum);
}

static void names_of_processes_past_the_limit_take_no_memory(void **state)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct push_sum *sum = push_sum__new(0);
	struct window window = window_at(0, 1);

	(void)state;
	strbuf_puts(&text, "java;fits 1\n");
	for (int i = 0; i < 1000; i++)
		strbuf_printf(&text, "name%d;m 1\n", i);
	add(sum, &window, text.data);
	assert_int_equal(push_sum__finish(sum), 0);
	assert_int_equal(profile__stack_count(push_sum__get(sum, 0)->stacks), 2);
	assert_int_equal(push_sum__stats(sum)->over_limit_samples, 1000);
	push_sum__free(sum);
}

static void streams_over_the_limit_are_dropped_and_counted(void **state)
{
	struct push_sum *sum = push_sum__new(PUSH_SUM_MAX_BYTES);

	(void)state;
	for (uint32_t pid = 1; pid <= PUSH_STREAMS_PER_MINUTE + 2; pid++) {
		struct window window = window_at(0, pid);

		add(sum, &window, "");
	}
	assert_int_equal(push_sum__count(sum), PUSH_STREAMS_PER_MINUTE);
	assert_int_equal(push_sum__stats(sum)->dropped_windows, 2);
	assert_int_equal(push_sum__stats(sum)->dropped_samples, 6);
	push_sum__free(sum);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_of_a_minute_become_one_and_others_do_not),
		cmocka_unit_test(threads_stay_with_their_stacks),
		cmocka_unit_test(cells_and_lines_add_up),
		cmocka_unit_test(what_is_damaged_is_counted_and_the_rest_is_kept),
		cmocka_unit_test(stacks_over_the_limit_keep_their_samples),
		cmocka_unit_test(memory_of_long_stacks_has_a_limit),
		cmocka_unit_test(names_of_processes_past_the_limit_take_no_memory),
		cmocka_unit_test(streams_over_the_limit_are_dropped_and_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
