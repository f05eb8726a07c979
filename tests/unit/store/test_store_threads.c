// SPDX-License-Identifier: Apache-2.0
/*
 * Threads beside the stacks: kept, handed out when asked for, merged with the windows, and never in the
 * stacks' way.
 */
#include "tests/unit/store_testing.h"

#include <errno.h>

#include "user/model/thread_counts.h"
#include "user/store/format/format.h"
#include "user/util/cleanup.h"

#define UNIT_CNT 6

/* All of a window's lines are of one thread, but every second window's, of which nothing is known. */
static void number_to_threads(uint32_t number, const struct strbuf *text, struct strbuf *out)
{
	struct thread_counts *counts = thread_counts__new(0);
	uint32_t line = 0;

	strbuf_clear(out);
	for (size_t i = 0; number % 2 && i < text->len; i++) {
		if (text->data[i] == '\n')
			assert_int_equal(thread_counts__add(counts, line++, "pool-#", 6, 1), 0);
	}
	assert_int_equal(thread_counts__encode(counts, NULL, out), 0);
	thread_counts__free(counts);
}

static void fill(const struct test_store *store, uint32_t last)
{
	struct store_writer *writer = test_writer(store);

	for (uint32_t number = 0; number < last; number++) {
		__cleanup_strbuf struct strbuf text = STRBUF_INIT, threads = STRBUF_INIT;
		struct window window = number_to_window(number);

		number_to_text(number, &text);
		number_to_threads(number, &text, &threads);
		window.threads = (const uint8_t *)threads.data;
		window.threads_len = threads.len;
		window.lines = "m_[j];M.java:1 1\n";
		window.lines_len = strlen(window.lines);
		assert_int_equal(store_writer__add(writer, &window, text.data, text.len), 0);
		test_commit(writer);
	}
	store_writer__free(writer);
}

struct got_threads {
	struct got got; /* must be first: got_damage() takes it */
	uint32_t cnt;
	bool wants;
};

static int check_window(void *ctx, const struct window *window, const char *text, size_t len)
{
	__cleanup_strbuf struct strbuf whole = STRBUF_INIT, expected = STRBUF_INIT;
	struct got_threads *got = ctx;

	number_to_text(window->pid - 1000, &whole);
	number_to_threads(window->pid - 1000, &whole, &expected);
	if (window->threads_len) {
		assert_true(got->wants);
		assert_int_equal(window->threads_len, expected.len);
		assert_memory_equal(window->threads, expected.data, expected.len);
		got->cnt++;
	} else {
		assert_null(window->threads);
	}
	return got_window(&got->got, window, text, len);
}

static void visit(const struct test_store *store, bool wants, struct got_threads *got)
{
	const struct store_visitor visitor = {
		.ctx = got,
		.wants_threads = wants,
		.window = check_window,
		.damage = got_damage,
	};

	memset(got, 0, sizeof(*got));
	got->wants = wants;
	test_visit_with(store, 0, UINT64_MAX, &visitor);
}

static void threads_come_back_with_their_window(void **state)
{
	struct test_store store;
	struct got_threads got;

	(void)state;
	test_store_make(&store);
	fill(&store, UNIT_CNT);
	visit(&store, true, &got);
	assert_got_range(&got.got, 0, UNIT_CNT);
	assert_int_equal(got.cnt, UNIT_CNT / 2);
	assert_int_equal(got.got.damage_cnt, 0);
	visit(&store, false, &got);
	assert_got_range(&got.got, 0, UNIT_CNT);
	assert_int_equal(got.cnt, 0);
	test_store_remove(&store);
}

static void merging_keeps_them(void **state)
{
	const struct store_compaction how = { .now_unix_ns = TEST_NS + 3 * STORE_WINDOW_MAX_NS };
	struct store_compaction_stats stats;
	struct test_store store;
	struct got_threads got;

	(void)state;
	test_store_make(&store);
	fill(&store, UNIT_CNT);
	assert_int_equal(store_compact(store.dir, &how, &stats), 0);
	assert_int_equal(stats.hours, 1);
	visit(&store, true, &got);
	assert_got_range(&got.got, 0, UNIT_CNT);
	assert_int_equal(got.cnt, UNIT_CNT / 2);
	assert_int_equal(got.got.damage_cnt, 0);
	test_store_remove(&store);
}

static void broken_threads_leave_the_stacks_alone(void **state)
{
	struct test_store store;
	struct got_threads got;
	struct test_place place;

	(void)state;
	test_store_make(&store);
	fill(&store, UNIT_CNT);
	place = test_harm(&store, TEST_HARM_CHANGE, FORMAT_TYPE_THREADS, 1);
	visit(&store, false, &got);
	assert_got_range(&got.got, 0, UNIT_CNT);
	assert_int_equal(got.got.damage_cnt, 1);
	assert_int_equal(got.got.damages[0].offset, place.at);
	visit(&store, true, &got);
	assert_got_range(&got.got, 0, UNIT_CNT);
	assert_int_equal(got.cnt, UNIT_CNT / 2 - 1);
	test_store_remove(&store);
}

static void threads_that_are_gone_are_said(void **state)
{
	struct test_store store;
	struct got_threads got;

	(void)state;
	test_store_make(&store);
	fill(&store, UNIT_CNT);
	(void)test_harm(&store, TEST_HARM_CUT, FORMAT_TYPE_THREADS, 0);
	visit(&store, true, &got);
	assert_got_range(&got.got, 0, UNIT_CNT);
	assert_int_equal(got.cnt, UNIT_CNT / 2 - 1);
	assert_int_equal(got.got.damage_cnt, 1);
	assert_string_equal(got.got.damages[0].what, "names of threads are missing");
	test_store_remove(&store);
}

static void threads_behind_damage_are_found_and_no_part_of_it(void **state)
{
	struct test_store store;
	struct got_threads got;
	struct test_place place;

	(void)state;
	test_store_make(&store);
	fill(&store, 2);
	place = test_harm(&store, TEST_HARM_BEFORE, FORMAT_TYPE_THREADS, 0);
	visit(&store, true, &got);
	assert_got_range(&got.got, 1, 2);
	assert_int_equal(got.cnt, 1);
	assert_int_equal(got.got.damage_cnt, 1);
	assert_int_equal(got.got.damages[0].offset + got.got.damages[0].bytes, place.at);
	test_store_remove(&store);
}

static void a_code_that_is_none_is_not_stored(void **state)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct window window = number_to_window(0);
	struct test_store store;
	struct got_threads got;
	struct store_writer *writer;

	(void)state;
	test_store_make(&store);
	writer = test_writer(&store);
	number_to_text(0, &text);
	window.threads = (const uint8_t *)"\1\1a";
	window.threads_len = 3;
	assert_int_equal(store_writer__add(writer, &window, text.data, text.len), 0);
	test_commit(writer);
	store_writer__free(writer);
	visit(&store, true, &got);
	assert_got_range(&got.got, 0, 1);
	assert_int_equal(got.cnt, 0);
	assert_int_equal(got.got.damage_cnt, 0);
	test_store_remove(&store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_come_back_with_their_window),
		cmocka_unit_test(merging_keeps_them),
		cmocka_unit_test(broken_threads_leave_the_stacks_alone),
		cmocka_unit_test(threads_that_are_gone_are_said),
		cmocka_unit_test(threads_behind_damage_are_found_and_no_part_of_it),
		cmocka_unit_test(a_code_that_is_none_is_not_stored),
	};

	return cmocka_run_group_tests_name("store_threads", tests, NULL, NULL);
}
