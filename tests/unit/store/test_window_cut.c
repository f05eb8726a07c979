// SPDX-License-Identifier: Apache-2.0
/* Of a window, what was sampled within a shorter time: by the moments of its stacks, to the millisecond. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "user/model/thread_counts.h"
#include "user/model/ticks.h"
#include "user/store/window_cut.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

#define MS	 CLOCK_NS_PER_MS
#define START_NS (1795262400000000000ull + 250000) /* within a millisecond */

static const char text[] = "java;a 3\njava;b 2\njava;c 1\n";
static const struct tick ticks[] = { { 0, 1 }, { 20, 0 }, { 39, 0 }, { 40, 1 }, { 7000, 2 } };

static struct window window_of(const struct strbuf *code)
{
	return (struct window){
		.start_unix_ns = START_NS,
		.duration_ns = 10 * CLOCK_NS_PER_S,
		.pid = 7,
		.counts = { .samples = 6, .frames = 12 },
		.lines = "m_[j];M.java:1 1\n",
		.lines_len = 17,
		.ticks = (const uint8_t *)code->data,
		.ticks_len = code->len,
		.labels = { [WINDOW_LABEL_COMM] = "java" },
	};
}

static void encode(uint32_t line_cnt, struct strbuf *out)
{
	strbuf_clear(out);
	assert_int_equal(ticks_encode(ticks, ARRAY_SIZE(ticks), line_cnt, out), 0);
}

static void only_what_was_sampled_in_the_range_is_left(void **state)
{
	static const struct {
		uint64_t since_ms,
			until_ms; /* from the millisecond on in which the window begins */
		const char *text;
	} rows[] = {
		{ 20, 40, "java;a 2\n" },
		{ 0, 20, "java;b 1\n" },
		{ 0, 21, "java;a 1\njava;b 1\n" },
		{ 39, 41, "java;a 1\njava;b 1\n" },
		{ 41, 7000, "" },
		{ 7000, 7001, "java;c 1\n" },
		{ 0, 9000, "java;a 2\njava;b 2\njava;c 1\n" },
	};
	__cleanup_strbuf struct strbuf code = STRBUF_INIT;
	uint64_t first_ns = START_NS / MS * MS;
	struct window_cut cut = { .counts = NULL };
	struct window window;

	(void)state;
	encode(3, &code);
	window = window_of(&code);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t since = first_ns + rows[i].since_ms * MS;
		uint64_t until = first_ns + rows[i].until_ms * MS;

		assert_true(window_cut_is_due(&window, since, until));
		assert_int_equal(window_cut(&cut, &window, text, strlen(text), since, until), 0);
		assert_string_equal(strbuf_str(&cut.text), rows[i].text);
		assert_int_equal(cut.timed_samples, ARRAY_SIZE(ticks));
		assert_int_equal(cut.window.pid, 7);
		assert_ptr_equal(cut.window.labels[WINDOW_LABEL_COMM],
				 window.labels[WINDOW_LABEL_COMM]);
		assert_null(cut.window.lines);
		assert_null(cut.window.ticks);
		assert_int_equal(cut.window.counts.frames, 0);
		assert_true(cut.window.start_unix_ns >= since);
		assert_true(cut.window.start_unix_ns >= START_NS);
		assert_true(window_end_unix_ns(&cut.window) <= until);
	}
	window_cut_release(&cut);
}

/* So the heat map's steps and what is cut out for them are the same samples. */
static void a_part_of_a_millisecond_is_all_of_it(void **state)
{
	__cleanup_strbuf struct strbuf code = STRBUF_INIT;
	uint64_t at_ns = START_NS / MS * MS + 39 * MS;
	struct window_cut cut = { .counts = NULL };
	struct window window;

	(void)state;
	encode(3, &code);
	window = window_of(&code);
	assert_int_equal(window_cut(&cut, &window, text, strlen(text), at_ns + MS / 2,
				    at_ns + MS / 2 + 1),
			 0);
	assert_string_equal(strbuf_str(&cut.text), "java;a 1\n");
	assert_int_equal(
		window_cut(&cut, &window, text, strlen(text), at_ns + MS / 2, at_ns + MS + 1), 0);
	assert_string_equal(strbuf_str(&cut.text), "java;a 1\njava;b 1\n");
	window_cut_release(&cut);
}

static void windows_are_cut_at_the_ends_of_short_ranges_only(void **state)
{
	const struct window window = { .start_unix_ns = START_NS, .duration_ns = 10 * MS };
	const uint64_t end = START_NS + 10 * MS, most = WINDOW_CUT_RANGE_NS;

	(void)state;
	assert_false(window_cut_is_due(&window, START_NS, end));
	assert_false(window_cut_is_due(&window, START_NS, START_NS + most - 1));
	assert_true(window_cut_is_due(&window, START_NS + 1, end));
	assert_true(window_cut_is_due(&window, START_NS, end - 1));
	assert_true(window_cut_is_due(&window, START_NS + 1, START_NS + most));
	assert_false(window_cut_is_due(&window, START_NS + 1, START_NS + 1 + most));
	assert_false(window_cut_is_due(&window, 0, UINT64_MAX));
}

static void without_its_moments_a_window_is_not_cut(void **state)
{
	static const char *const others[] = { "java;a 3\njava;b 2\n",
					      "java;a 3\njava;b 2\njava;c 1\nd;e 1\n",
					      "java;a 1\njava;b 2\njava;c 1\n",
					      "java;a 3\nx\njava;c 1\n", "" };
	__cleanup_strbuf struct strbuf code = STRBUF_INIT;
	struct window_cut cut = { .counts = NULL };
	struct window window, without;

	(void)state;
	encode(3, &code);
	window = without = window_of(&code);
	without.ticks = NULL;
	without.ticks_len = 0;
	assert_int_equal(window_cut(&cut, &without, text, strlen(text), START_NS,
				    START_NS + 50 * MS),
			 -ENODATA);
	without = window;
	without.ticks_len--;
	assert_int_equal(window_cut(&cut, &without, text, strlen(text), START_NS,
				    START_NS + 50 * MS),
			 -ENODATA);
	/* Those of another text. */
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_int_equal(window_cut(&cut, &window, others[i], strlen(others[i]), START_NS,
					    START_NS + 50 * MS),
				 -ENODATA);
	/* A number of lines for which nobody has memory. */
	encode(UINT32_MAX, &code);
	window = window_of(&code);
	assert_int_equal(window_cut(&cut, &window, text, strlen(text), START_NS,
				    START_NS + 50 * MS),
			 -ENODATA);
	window_cut_release(&cut);
}

static void a_line_of_one_thread_keeps_it(void **state)
{
	static const struct {
		const char *name;
		uint64_t count;
	} expected[] = { { "main", 2 }, { NULL, 1 } };
	__cleanup_strbuf struct strbuf code = STRBUF_INIT, threads = STRBUF_INIT;
	__cleanup_thread_reader struct thread_reader reader = { .names = NULL };
	struct thread_counts *counts = thread_counts__new(0);
	struct window_cut cut = { .counts = NULL };
	struct thread_part part;
	struct window window;

	(void)state;
	assert_non_null(counts);
	assert_int_equal(thread_counts__add(counts, 0, "main", 4, 3), 0);
	assert_int_equal(thread_counts__add(counts, 1, "main", 4, 1), 0);
	assert_int_equal(thread_counts__add(counts, 1, "pool-#", 6, 1), 0);
	assert_int_equal(thread_counts__add(counts, 2, "pool-#", 6, 1), 0);
	assert_int_equal(thread_counts__encode(counts, NULL, &threads), 0);
	thread_counts__free(counts);
	encode(3, &code);
	window = window_of(&code);
	window.threads = (const uint8_t *)threads.data;
	window.threads_len = threads.len;
	assert_int_equal(window_cut(&cut, &window, text, strlen(text), START_NS + 20 * MS,
				    START_NS + 40 * MS),
			 0);
	assert_string_equal(strbuf_str(&cut.text), "java;a 2\njava;b 1\n");
	assert_int_equal(
		thread_reader_open(&reader, cut.window.threads, (size_t)cut.window.threads_len), 0);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		thread_reader_line(&reader, expected[i].count);
		assert_true(thread_reader_next(&reader, &part));
		assert_int_equal(!part.name, !expected[i].name);
		if (part.name)
			assert_string_equal(part.name, expected[i].name);
		assert_int_equal(part.count, expected[i].count);
		assert_false(thread_reader_next(&reader, &part));
	}
	/* What is no code of threads names nobody. */
	window.threads_len--;
	assert_int_equal(
		window_cut(&cut, &window, text, strlen(text), START_NS, START_NS + 50 * MS), 0);
	assert_int_equal(cut.window.threads_len, 0);
	window_cut_release(&cut);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_was_sampled_in_the_range_is_left),
		cmocka_unit_test(a_part_of_a_millisecond_is_all_of_it),
		cmocka_unit_test(windows_are_cut_at_the_ends_of_short_ranges_only),
		cmocka_unit_test(without_its_moments_a_window_is_not_cut),
		cmocka_unit_test(a_line_of_one_thread_keeps_it),
	};

	return cmocka_run_group_tests_name("window_cut", tests, NULL, NULL);
}
