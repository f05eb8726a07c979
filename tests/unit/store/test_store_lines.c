// SPDX-License-Identifier: Apache-2.0
/* Source lines beside the stacks: kept, handed out when asked for, and never in the stacks' way. */
#include "tests/unit/store_testing.h"

#include <errno.h>

#include "user/store/format/crc32c.h"
#include "user/store/format/format.h"
#include "user/util/cleanup.h"

#define UNIT_CNT 6

/* Every second window has lines. */
static void number_to_lines(uint32_t number, struct strbuf *out)
{
	strbuf_clear(out);
	for (uint32_t i = 0; number % 2 && i < 20 * number; i++)
		strbuf_printf(out, "work_%u_[j];Work.java:%u %u\n", number, i, i);
}

static void fill(const struct test_store *store, uint32_t first, uint32_t last)
{
	struct store_writer *writer = test_writer(store);

	for (uint32_t number = first; number < last; number++) {
		__cleanup_strbuf struct strbuf text = STRBUF_INIT, lines = STRBUF_INIT;
		struct window window = number_to_window(number);

		number_to_text(number, &text);
		number_to_lines(number, &lines);
		window.lines = lines.data;
		window.lines_len = lines.len;
		assert_int_equal(store_writer__add(writer, &window, text.data, text.len), 0);
		test_commit(writer);
	}
	store_writer__free(writer);
}

struct got_lines {
	struct got got; /* must be first: got_damage() takes it */
	uint32_t lines_cnt;
	bool wants;
};

static int check_window(void *ctx, const struct window *window, const char *text, size_t len)
{
	__cleanup_strbuf struct strbuf expected = STRBUF_INIT;
	struct got_lines *got = ctx;

	number_to_lines(window->pid - 1000, &expected);
	if (window->lines_len) {
		assert_true(got->wants);
		assert_int_equal(window->lines_len, expected.len);
		assert_memory_equal(window->lines, expected.data, expected.len);
		got->lines_cnt++;
	} else {
		assert_null(window->lines);
	}
	return got_window(&got->got, window, text, len);
}

static void visit(const struct test_store *store, bool wants, struct got_lines *got)
{
	const struct store_visitor visitor = {
		.ctx = got,
		.wants_lines = wants,
		.window = check_window,
		.damage = got_damage,
	};

	memset(got, 0, sizeof(*got));
	got->wants = wants;
	test_visit_with(store, 0, UINT64_MAX, &visitor);
}

static void lines_come_back_with_their_window(void **state)
{
	struct test_store store;
	struct got_lines got;

	(void)state;
	test_store_make(&store);
	fill(&store, 0, UNIT_CNT);
	visit(&store, true, &got);
	assert_got_range(&got.got, 0, UNIT_CNT);
	assert_int_equal(got.lines_cnt, UNIT_CNT / 2);
	assert_int_equal(got.got.damage_cnt, 0);
	visit(&store, false, &got);
	assert_got_range(&got.got, 0, UNIT_CNT);
	assert_int_equal(got.lines_cnt, 0);
	test_store_remove(&store);
}

static void file_with_lines_can_be_continued(void **state)
{
	struct test_store store;
	struct got_lines got;

	(void)state;
	test_store_make(&store);
	fill(&store, 0, 2);
	fill(&store, 2, UNIT_CNT);
	assert_false(test_exists(&store, TEST_HOUR "-1.zst"));
	visit(&store, true, &got);
	assert_got_range(&got.got, 0, UNIT_CNT);
	assert_int_equal(got.lines_cnt, UNIT_CNT / 2);
	test_store_remove(&store);
}

static void broken_lines_leave_the_stacks_alone(void **state)
{
	struct test_store store;
	struct got_lines got;
	struct test_place place;

	(void)state;
	test_store_make(&store);
	fill(&store, 0, UNIT_CNT);
	place = test_harm(&store, TEST_HARM_CHANGE, FORMAT_TYPE_LINES, 1);
	visit(&store, false, &got);
	assert_got_range(&got.got, 0, UNIT_CNT);
	assert_int_equal(got.got.damage_cnt, 1);
	assert_int_equal(got.got.damages[0].offset, place.at);
	assert_int_equal(got.got.damages[0].bytes, place.len);
	visit(&store, true, &got);
	assert_got_range(&got.got, 0, UNIT_CNT);
	assert_int_equal(got.lines_cnt, UNIT_CNT / 2 - 1);
	test_store_remove(&store);
}

static void lines_that_are_gone_or_of_another_unit_are_said(void **state)
{
	struct test_store store;
	struct got_lines got;

	(void)state;
	test_store_make(&store);
	fill(&store, 0, UNIT_CNT);
	(void)test_harm(&store, TEST_HARM_CUT, FORMAT_TYPE_LINES, 0);
	visit(&store, true, &got);
	assert_got_range(&got.got, 0, UNIT_CNT);
	assert_int_equal(got.lines_cnt, UNIT_CNT / 2 - 1);
	assert_int_equal(got.got.damage_cnt, 1);
	assert_string_equal(got.got.damages[0].what, "source lines are missing");
	test_store_remove(&store);
}

static void lines_behind_damage_are_found_and_no_part_of_it(void **state)
{
	struct test_store store;
	struct got_lines got;
	struct test_place place;

	(void)state;
	test_store_make(&store);
	fill(&store, 0, 2);
	place = test_harm(&store, TEST_HARM_BEFORE, FORMAT_TYPE_LINES, 0);
	visit(&store, true, &got);
	assert_got_range(&got.got, 1, 2);
	assert_int_equal(got.lines_cnt, 1);
	assert_int_equal(got.got.damage_cnt, 1);
	assert_int_equal(got.got.damages[0].offset + got.got.damages[0].bytes, place.at);
	test_store_remove(&store);
}

static void lines_without_a_unit_are_no_damage(void **state)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	struct test_store store;
	struct got_lines got;
	size_t at, len;

	(void)state;
	test_store_make(&store);
	fill(&store, 0, 2);
	test_read(&store, TEST_FILE, &bytes);
	at = test_find_record(&bytes, FORMAT_TYPE_LINES, 0, &len);
	test_write(&store, TEST_FILE, bytes.data, at + len); /* the rest was not written */
	fill(&store, 2, 4);
	visit(&store, true, &got);
	assert_int_equal(got.got.cnt, 3);
	assert_int_equal(got.lines_cnt, 1);
	assert_int_equal(got.got.damage_cnt, 0);
	test_store_remove(&store);
}

static void cut_at_every_byte_never_gives_wrong_lines(void **state)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	struct test_store store;
	struct got_lines got;

	(void)state;
	test_store_make(&store);
	fill(&store, 0, 4);
	test_read(&store, TEST_FILE, &bytes);
	for (size_t len = 0; len < bytes.len; len++) {
		test_write(&store, TEST_FILE, bytes.data, len);
		visit(&store, true, &got);
		assert_true(got.got.cnt < 4);
		assert_got_range(&got.got, 0, (uint32_t)got.got.cnt);
		assert_int_equal(got.lines_cnt, got.got.cnt / 2);
	}
	test_store_remove(&store);
}

static void record_of_lines_that_lies_is_refused(void **state)
{
	static const struct {
		uint32_t text_len;
		const char *frame;
		size_t frame_len;
	} rows[] = {
		{ 5, "hello", 5 }, /* no zstd frame */
		{ 5, "", 0 },
		{ FORMAT_LINES_MAX_BYTES + 1, "", 0 },
		{ 6, "\x28\xb5\x2f\xfd\x20\x05\x29\x00\x00hello", 14 }, /* says 5 */
		{ 5, "\x28\xb5\x2f\xfd\x20\x05\x29\x00\x00hel", 12 },	/* cut */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__cleanup_strbuf struct strbuf bytes = STRBUF_INIT, text = STRBUF_INIT;
		struct format_record record;

		assert_int_equal(format_encode_lines(rows[i].text_len, rows[i].frame,
						     rows[i].frame_len, &bytes),
				 0);
		assert_int_equal(
			format_decode_record((const uint8_t *)bytes.data, bytes.len, &record), 0);
		assert_int_equal(format_decode_lines(&record, &text), -EINVAL);
		assert_int_equal(text.len, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_come_back_with_their_window),
		cmocka_unit_test(file_with_lines_can_be_continued),
		cmocka_unit_test(broken_lines_leave_the_stacks_alone),
		cmocka_unit_test(lines_that_are_gone_or_of_another_unit_are_said),
		cmocka_unit_test(lines_behind_damage_are_found_and_no_part_of_it),
		cmocka_unit_test(lines_without_a_unit_are_no_damage),
		cmocka_unit_test(cut_at_every_byte_never_gives_wrong_lines),
		cmocka_unit_test(record_of_lines_that_lies_is_refused),
	};

	return cmocka_run_group_tests_name("store_lines", tests, NULL, NULL);
}
