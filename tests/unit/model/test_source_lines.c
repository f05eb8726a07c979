// SPDX-License-Identifier: Apache-2.0
/* Source lines: what is added is what is read, whatever names and texts look like. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/model/source_lines.h"
#include "user/util/cleanup.h"

static void assert_text(struct source_lines *lines, const char *expected)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;

	assert_int_equal(source_lines__to_text(lines, &text), 0);
	assert_string_equal(strbuf_str(&text), expected);
}

static void rows_of_the_same_line_are_added_up(void **state)
{
	struct source_lines *lines = source_lines__new(0);

	(void)state;
	assert_text(lines, "");
	assert_int_equal(source_lines__add(lines, "b.B.run", FRAME_KIND_INLINED, "B.java", 7, 2),
			 0);
	assert_int_equal(source_lines__add(lines, "a.A.add", FRAME_KIND_JIT, "A.java", 42, 3), 0);
	assert_int_equal(source_lines__add(lines, "a.A.add", FRAME_KIND_JIT, "A.java", 42, 4), 0);
	assert_int_equal(source_lines__add(lines, "a.A.add", FRAME_KIND_JIT, "A.java", 43, 1), 0);
	assert_text(lines, "a.A.add_[j];A.java:42 7\n"
			   "a.A.add_[j];A.java:43 1\n"
			   "b.B.run_[i];B.java:7 2\n");
	source_lines__free(lines);
}

static void rows_come_hottest_first(void **state)
{
	struct source_lines *lines = source_lines__new(0);
	struct source_line row;

	(void)state;
	assert_int_equal(source_lines__sort(lines), 0);
	assert_int_equal(source_lines__count(lines), 0);
	assert_int_equal(source_lines__add(lines, "b.B.run", FRAME_KIND_INLINED, "B.java", 7, 2),
			 0);
	assert_int_equal(source_lines__add(lines, "c.C.run", FRAME_KIND_C1, "C.java", 8, 2), 0);
	assert_int_equal(
		source_lines__add(lines, "a.A.add", FRAME_KIND_JIT, "A.java", UINT32_MAX, 9), 0);
	assert_int_equal(source_lines__sort(lines), 0);
	assert_int_equal(source_lines__count(lines), 3);
	row = source_lines__get(lines, 0);
	assert_true(row.name_len == 7 && memcmp(row.name, "a.A.add", 7) == 0);
	assert_true(row.file_len == 6 && memcmp(row.file, "A.java", 6) == 0);
	assert_int_equal(row.kind, FRAME_KIND_JIT);
	assert_true(row.line == UINT32_MAX && row.samples == 9);
	assert_int_equal(source_lines__get(lines, 1).line, 7);
	assert_int_equal(source_lines__get(lines, 2).line, 8);
	source_lines__free(lines);
}

static void hostile_names_stay_one_row(void **state)
{
	struct source_lines *lines = source_lines__new(0), *copy = source_lines__new(0);
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	char long_name[600];
	size_t bad_cnt = 0;
	struct source_line row;

	(void)state;
	memset(long_name, 'x', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	assert_int_equal(source_lines__add(lines, "a;b\n 7", FRAME_KIND_JIT, "e;f:1\n2 9", 3, 5),
			 0);
	assert_int_equal(source_lines__add(lines, "", FRAME_KIND_JIT, "", 3, 4), 0);
	assert_int_equal(source_lines__add(lines, "long", FRAME_KIND_JIT, long_name, 3, 3), 0);
	assert_int_equal(source_lines__to_text(lines, &text), 0);
	assert_int_equal(source_lines__add_text(copy, text.data, text.len, &bad_cnt), 0);
	assert_int_equal(bad_cnt, 0);
	assert_int_equal(source_lines__left_out(copy), 4);
	assert_int_equal(source_lines__count(copy), 2);
	assert_int_equal(source_lines__sort(copy), 0);
	row = source_lines__get(copy, 0);
	assert_int_equal(row.samples, 5);
	assert_int_equal(row.line, 3);
	assert_true(row.file_len == 9 && memcmp(row.file, "e:f:1_2 9", 9) == 0);
	assert_int_equal(source_lines__get(copy, 1).file_len, 255);
	source_lines__free(lines);
	source_lines__free(copy);
}

static void texts_merge_and_what_is_no_row_is_counted(void **state)
{
	static const char text[] = "a.A.add_[j];A.java:42 7\n"
				   "[other lines] 5\n"
				   "no file 3\n"
				   "a.A.add_[j];A.java 3\n"
				   "a.A.add_[j];A.java:4294967296 3\n"
				   "a.A.add_[j];A.java:x 3\n"
				   "a.A.add_[j];A.java:1;more 3\n"
				   "a.A.add_[j];:1 3\n"
				   ";A.java:1 3\n"
				   "a.A.add_[j];A.java:1\n"
				   "a.A.add_[j];A.java:1 x\n"
				   "\n"
				   "cut;C.java:1 2";
	struct source_lines *lines = source_lines__new(0);
	size_t bad_cnt = 0;

	(void)state;
	assert_int_equal(source_lines__add_text(lines, text, strlen(text), &bad_cnt), 0);
	assert_int_equal(source_lines__add_text(lines, text, strlen(text), &bad_cnt), 0);
	assert_int_equal(source_lines__add_text(lines, NULL, 0, &bad_cnt), 0);
	assert_int_equal(bad_cnt, 20);
	assert_int_equal(source_lines__left_out(lines), 10);
	assert_text(lines, "a.A.add_[j];A.java:42 14\n"
			   "cut;C.java:1 4\n"
			   "[other lines] 10\n");
	source_lines__free(lines);
}

static void text_keeps_the_hottest_rows(void **state)
{
	struct source_lines *lines = source_lines__new(0), *copy = source_lines__new(0);
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	size_t bad_cnt = 0;

	(void)state;
	for (uint32_t i = 1; i <= SOURCE_LINES_TEXT_ROWS + 100; i++)
		assert_int_equal(source_lines__add(lines, "m", FRAME_KIND_JIT, "M.java", i,
						   i <= 200 ? 1 : 2),
				 0);
	assert_int_equal(source_lines__to_text(lines, &text), 0);
	assert_int_equal(source_lines__add_text(copy, text.data, text.len, &bad_cnt), 0);
	assert_int_equal(bad_cnt, 0);
	assert_int_equal(source_lines__count(copy), SOURCE_LINES_TEXT_ROWS);
	assert_int_equal(source_lines__left_out(copy), 100);
	assert_int_equal(source_lines__sort(copy), 0);
	assert_int_equal(source_lines__get(copy, SOURCE_LINES_TEXT_ROWS - 101).samples, 2);
	assert_int_equal(source_lines__get(copy, SOURCE_LINES_TEXT_ROWS - 100).samples, 1);
	source_lines__free(lines);
	source_lines__free(copy);
}

static void rows_past_the_cap_are_counted(void **state)
{
	struct source_lines *lines = source_lines__new(2);

	(void)state;
	for (uint32_t i = 1; i <= 5; i++)
		assert_int_equal(source_lines__add(lines, "m", FRAME_KIND_JIT, "M.java", i, 10), 0);
	assert_int_equal(source_lines__count(lines), 2);
	assert_int_equal(source_lines__left_out(lines), 30);
	source_lines__free(lines);
	source_lines__free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_the_same_line_are_added_up),
		cmocka_unit_test(rows_come_hottest_first),
		cmocka_unit_test(hostile_names_stay_one_row),
		cmocka_unit_test(texts_merge_and_what_is_no_row_is_counted),
		cmocka_unit_test(text_keeps_the_hottest_rows),
		cmocka_unit_test(rows_past_the_cap_are_counted),
	};

	return cmocka_run_group_tests_name("source_lines", tests, NULL, NULL);
}
