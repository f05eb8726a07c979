// SPDX-License-Identifier: Apache-2.0
/*
 * When each stack was sampled: kept beside the text, handed out when asked for, merged with the windows
 * while it is young, gone when it is old, and never in the stacks' way.
 */
#include "tests/unit/store_testing.h"

#include <errno.h>

#include "user/model/ticks.h"
#include "user/store/format/format.h"
#include "user/util/cleanup.h"

#define UNIT_CNT   6
#define MISSING	   "moments of stacks are missing"
#define YOUNG_NS   (TEST_NS + 3 * HOUR_NS)
#define OLD_NS	   (TEST_NS + HOUR_NS + STORE_KEEP_TICKS_NS + CLOCK_NS_PER_S)
#define OLD_DAY_NS (TEST_NS + 30 * 24 * HOUR_NS)

/* Of every second window each line is sampled once, the last line first. */
static void number_to_ticks(uint32_t number, struct strbuf *out)
{
	struct tick ticks[8];
	uint32_t cnt = 3 + number % 3;

	strbuf_clear(out);
	for (uint32_t i = 0; i < cnt; i++)
		ticks[i] = (struct tick){ .ms = 100 * i + number, .line = cnt - 1 - i };
	if (number % 2)
		assert_int_equal(ticks_encode(ticks, cnt, cnt, out), 0);
}

static void add_window(struct store_writer *writer, uint32_t number, const struct strbuf *ticks)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct window window = number_to_window(number);

	number_to_text(number, &text);
	window.ticks = (const uint8_t *)ticks->data;
	window.ticks_len = ticks->len;
	window.lines = "m_[j];M.java:1 1\n";
	window.lines_len = strlen(window.lines);
	assert_int_equal(store_writer__add(writer, &window, text.data, text.len), 0);
	test_commit(writer);
}

static void fill(const struct test_store *store, uint32_t last)
{
	struct store_writer *writer = test_writer(store);

	for (uint32_t number = 0; number < last; number++) {
		__cleanup_strbuf struct strbuf ticks = STRBUF_INIT;

		number_to_ticks(number, &ticks);
		add_window(writer, number, &ticks);
	}
	store_writer__free(writer);
}

struct got_ticks {
	struct got got; /* must be first: got_damage() takes it */
	uint32_t cnt;
	bool wants;
};

static int check_window(void *ctx, const struct window *window, const char *text, size_t len)
{
	__cleanup_strbuf struct strbuf expected = STRBUF_INIT;
	struct got_ticks *got = ctx;

	number_to_ticks(window->pid - 1000, &expected);
	if (window->ticks_len) {
		assert_true(got->wants);
		assert_int_equal(window->ticks_len, expected.len);
		assert_memory_equal(window->ticks, expected.data, expected.len);
		got->cnt++;
	} else {
		assert_null(window->ticks);
	}
	return got_window(&got->got, window, text, len);
}

static void visit(const struct test_store *store, bool wants, struct got_ticks *got)
{
	const struct store_visitor visitor = {
		.ctx = got,
		.wants_ticks = wants,
		.window = check_window,
		.damage = got_damage,
	};

	memset(got, 0, sizeof(*got));
	got->wants = wants;
	test_visit_with(store, 0, UINT64_MAX, &visitor);
}

static void assert_has(const struct test_store *store, uint32_t cnt)
{
	struct got_ticks got;

	visit(store, true, &got);
	assert_got_range(&got.got, 0, UNIT_CNT);
	assert_int_equal(got.cnt, cnt);
	assert_int_equal(got.got.damage_cnt, 0);
}

static struct store_compaction_stats compact_at(const struct test_store *store, uint64_t now_ns,
						uint64_t keep_ns)
{
	const struct store_compaction how = {
		.now_unix_ns = now_ns,
		.is_clock_sure = true,
		.keep_ticks_ns = keep_ns,
	};
	struct store_compaction_stats stats;

	assert_int_equal(store_compact(store->dir, &how, &stats), 0);
	return stats;
}

static void ticks_come_back_with_their_window(void **state)
{
	struct test_store store;
	struct got_ticks got;

	(void)state;
	test_store_make(&store);
	fill(&store, UNIT_CNT);
	assert_has(&store, UNIT_CNT / 2);
	visit(&store, false, &got);
	assert_got_range(&got.got, 0, UNIT_CNT);
	assert_int_equal(got.cnt, 0);
	test_store_remove(&store);
}

static void merging_keeps_them_while_they_are_young(void **state)
{
	struct test_store store;
	struct got_ticks got;

	(void)state;
	test_store_make(&store);
	fill(&store, UNIT_CNT);
	assert_int_equal(compact_at(&store, YOUNG_NS, STORE_KEEP_TICKS_NS).hours, 1);
	assert_has(&store, UNIT_CNT / 2);
	visit(&store, false, &got);
	assert_got_range(&got.got, 0, UNIT_CNT);
	/* Nothing is to be done, until they are old. */
	assert_int_equal(compact_at(&store, OLD_NS - 2 * CLOCK_NS_PER_S, STORE_KEEP_TICKS_NS).hours,
			 0);
	assert_has(&store, UNIT_CNT / 2);
	test_store_remove(&store);
}

static void an_hour_that_is_old_loses_them_once(void **state)
{
	struct store_compaction_stats stats;
	struct test_store store;

	(void)state;
	test_store_make(&store);
	fill(&store, UNIT_CNT);
	(void)compact_at(&store, YOUNG_NS, STORE_KEEP_TICKS_NS);
	stats = compact_at(&store, OLD_NS, STORE_KEEP_TICKS_NS);
	assert_int_equal(stats.hours, 1);
	assert_int_equal(stats.ticks_dropped, 1);
	assert_true(stats.bytes_after < stats.bytes_before);
	assert_has(&store, 0);
	stats = compact_at(&store, OLD_NS, STORE_KEEP_TICKS_NS);
	assert_int_equal(stats.hours, 0);
	assert_int_equal(stats.ticks_dropped, 0);
	test_store_remove(&store);
}

static void how_long_they_are_kept_is_said(void **state)
{
	struct store_compaction_stats stats;
	struct test_store store;

	(void)state;
	test_store_make(&store);
	fill(&store, UNIT_CNT);
	(void)compact_at(&store, YOUNG_NS, UINT64_MAX);
	stats = compact_at(&store, OLD_NS, UINT64_MAX);
	assert_int_equal(stats.hours, 0);
	assert_has(&store, UNIT_CNT / 2);
	stats = compact_at(&store, YOUNG_NS, HOUR_NS);
	assert_int_equal(stats.ticks_dropped, 1);
	assert_has(&store, 0);
	test_store_remove(&store);
}

static void an_hour_that_is_merged_late_has_none(void **state)
{
	struct store_compaction_stats stats;
	struct test_store store;

	(void)state;
	test_store_make(&store);
	fill(&store, UNIT_CNT);
	stats = compact_at(&store, OLD_NS, STORE_KEEP_TICKS_NS);
	assert_int_equal(stats.hours, 1);
	assert_int_equal(stats.ticks_dropped, 0);
	assert_has(&store, 0);
	test_store_remove(&store);
}

static void a_day_has_none(void **state)
{
	struct test_store store;

	(void)state;
	test_store_make(&store);
	fill(&store, UNIT_CNT);
	assert_int_equal(compact_at(&store, OLD_DAY_NS, UINT64_MAX).days, 1);
	assert_has(&store, 0);
	test_store_remove(&store);
}

static void broken_ticks_leave_the_stacks_alone(void **state)
{
	static const struct {
		uint64_t compact_ns; /* 0 = not */
		int record;
		uint32_t left; /* windows that still have theirs */
	} rows[] = { { 0, 1, UNIT_CNT / 2 - 1 }, { YOUNG_NS, 0, 0 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct test_store store;
		struct got_ticks got;

		test_store_make(&store);
		fill(&store, UNIT_CNT);
		if (rows[i].compact_ns)
			(void)compact_at(&store, rows[i].compact_ns, STORE_KEEP_TICKS_NS);
		(void)test_harm(&store, TEST_HARM_CHANGE, FORMAT_TYPE_TICKS, rows[i].record);
		visit(&store, true, &got);
		assert_got_range(&got.got, 0, UNIT_CNT);
		assert_int_equal(got.cnt, rows[i].left);
		/* Of a merged file, whose index is right, only what is read is looked at. */
		assert_int_equal(got.got.damage_cnt, rows[i].compact_ns ? 1 : 2);
		test_store_remove(&store);
	}
}

static void ticks_that_are_gone_are_said(void **state)
{
	struct test_store store;
	struct got_ticks got;

	(void)state;
	test_store_make(&store);
	fill(&store, UNIT_CNT);
	(void)test_harm(&store, TEST_HARM_CUT, FORMAT_TYPE_TICKS, 0);
	visit(&store, true, &got);
	assert_got_range(&got.got, 0, UNIT_CNT);
	assert_int_equal(got.cnt, UNIT_CNT / 2 - 1);
	assert_int_equal(got.got.damage_cnt, 1);
	assert_string_equal(got.got.damages[0].what, MISSING);
	test_store_remove(&store);
}

static void ticks_behind_damage_are_found_and_no_part_of_it(void **state)
{
	struct test_store store;
	struct got_ticks got;
	struct test_place place;

	(void)state;
	test_store_make(&store);
	fill(&store, 2);
	place = test_harm(&store, TEST_HARM_BEFORE, FORMAT_TYPE_TICKS, 0);
	visit(&store, true, &got);
	assert_got_range(&got.got, 1, 2);
	assert_int_equal(got.cnt, 1);
	assert_int_equal(got.got.damage_cnt, 1);
	assert_int_equal(got.got.damages[0].offset + got.got.damages[0].bytes, place.at);
	test_store_remove(&store);
}

static void what_is_not_of_the_text_is_not_stored(void **state)
{
	static const struct tick ticks[] = { { 1, 0 } };
	static const uint32_t line_cnts[] = { 1, 2, 4, 1000 }; /* window 0 has three lines */

	(void)state;
	for (size_t i = 0; i <= ARRAY_SIZE(line_cnts); i++) {
		__cleanup_strbuf struct strbuf code = STRBUF_INIT;
		struct store_writer *writer;
		struct test_store store;
		struct got_ticks got;

		test_store_make(&store);
		writer = test_writer(&store);
		if (i < ARRAY_SIZE(line_cnts))
			assert_int_equal(ticks_encode(ticks, 1, line_cnts[i], &code), 0);
		else
			strbuf_puts(&code, "\3\1\1");
		add_window(writer, 0, &code);
		store_writer__free(writer);
		visit(&store, true, &got);
		assert_got_range(&got.got, 0, 1);
		assert_int_equal(got.cnt, 0);
		assert_int_equal(got.got.damage_cnt, 0);
		test_store_remove(&store);
	}
}

static void a_writer_that_keeps_none_writes_none(void **state)
{
	const struct store_writer_options options = { .keeps_ticks = false };
	__cleanup_strbuf struct strbuf ticks = STRBUF_INIT;
	struct store_writer *writer;
	struct test_store store;
	struct got_ticks got;

	(void)state;
	test_store_make(&store);
	assert_int_equal(store_writer__open(store.dir, &options, &writer), 0);
	number_to_ticks(1, &ticks);
	add_window(writer, 1, &ticks);
	store_writer__free(writer);
	visit(&store, true, &got);
	assert_got_range(&got.got, 1, 2);
	assert_int_equal(got.cnt, 0);
	test_store_remove(&store);
}

/* Lines out of order, or twice, have other numbers in a merged file: of such nothing is kept. */
static void lines_that_lose_their_numbers_lose_their_ticks(void **state)
{
	static const char *const texts[] = { "b;x 1\na;x 1\n", "a;x 1\na;x 1\n", "a;x 1\nb;x\n" };
	static const struct tick ticks[] = { { 1, 0 }, { 2, 1 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		__cleanup_strbuf struct strbuf code = STRBUF_INIT, bytes = STRBUF_INIT;
		struct window window = number_to_window(0);
		struct store_writer *writer;
		struct test_store store;

		test_store_make(&store);
		writer = test_writer(&store);
		assert_int_equal(ticks_encode(ticks, 2, 2, &code), 0);
		window.ticks = (const uint8_t *)code.data;
		window.ticks_len = code.len;
		assert_int_equal(store_writer__add(writer, &window, texts[i], strlen(texts[i])), 0);
		test_commit(writer);
		store_writer__free(writer);
		assert_int_equal(compact_at(&store, YOUNG_NS, STORE_KEEP_TICKS_NS).hours, 1);
		test_read(&store, TEST_FILE, &bytes);
		for (size_t at = 0; at + FORMAT_RECORD_MIN_BYTES < bytes.len; at++) {
			struct format_record record;

			assert_false(format_decode_record((const uint8_t *)bytes.data + at,
							  bytes.len - at, &record) == 0 &&
				     record.type == FORMAT_TYPE_TICKS);
		}
		test_store_remove(&store);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ticks_come_back_with_their_window),
		cmocka_unit_test(merging_keeps_them_while_they_are_young),
		cmocka_unit_test(an_hour_that_is_old_loses_them_once),
		cmocka_unit_test(how_long_they_are_kept_is_said),
		cmocka_unit_test(an_hour_that_is_merged_late_has_none),
		cmocka_unit_test(a_day_has_none),
		cmocka_unit_test(broken_ticks_leave_the_stacks_alone),
		cmocka_unit_test(ticks_that_are_gone_are_said),
		cmocka_unit_test(ticks_behind_damage_are_found_and_no_part_of_it),
		cmocka_unit_test(what_is_not_of_the_text_is_not_stored),
		cmocka_unit_test(a_writer_that_keeps_none_writes_none),
		cmocka_unit_test(lines_that_lose_their_numbers_lose_their_ticks),
	};

	return cmocka_run_group_tests_name("store_ticks", tests, NULL, NULL);
}
