// SPDX-License-Identifier: Apache-2.0
/* Text line by line: with and without a last newline, empty lines, no text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "user/util/cleanup.h"
#include "user/util/lines.h"

/* Each line in brackets, one that is not whole with a '!' behind it. */
static void lines_are_split_at_newlines(void **state)
{
	static const struct {
		const char *text;
		const char *shown;
	} rows[] = {
		{ "", "" },	  { "\n", "[]" },	   { "a", "[a]!" },
		{ "a\n", "[a]" }, { "a\nbc", "[a][bc]!" }, { "\n\na b\n\n", "[][][a b][]" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct lines lines = lines_init(rows[i].text, strlen(rows[i].text));
		struct line line;
		char shown[64] = "";

		while (lines_next(&lines, &line)) {
			strcat(shown, "[");
			strncat(shown, line.at, line.len);
			strcat(shown, line.is_whole ? "]" : "]!");
		}
		assert_string_equal(shown, rows[i].shown);
		assert_false(lines_next(&lines, &line));
	}
}

static void lines_of_nothing_are_none(void **state)
{
	struct lines lines = lines_init(NULL, 0);
	struct line line;

	(void)state;
	assert_false(lines_next(&lines, &line));
}

static void lines_may_hold_nul_and_end_where_the_text_ends(void **state)
{
	__cleanup_free char *text = malloc(3); /* a read behind it would be seen by ASan */
	struct lines lines = lines_init(text, 3);
	struct line line;

	(void)state;
	memcpy(text, "a\0b", 3);
	assert_true(lines_next(&lines, &line));
	assert_int_equal(line.len, 3);
	assert_false(line.is_whole);
	assert_false(lines_next(&lines, &line));
}

static void a_beginning_comes_first(void **state)
{
	(void)state;
	assert_true(bytes_compare("ab", 2, "abc", 3) < 0);
	assert_true(bytes_compare("b", 1, "abc", 3) > 0);
	assert_true(bytes_compare("\xff", 1, "a", 1) > 0);
	assert_int_equal(bytes_compare("abc", 2, "abd", 2), 0);
	assert_true(bytes_compare(NULL, 0, "a", 1) < 0);
	assert_int_equal(bytes_compare(NULL, 0, NULL, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_split_at_newlines),
		cmocka_unit_test(lines_of_nothing_are_none),
		cmocka_unit_test(a_beginning_comes_first),
		cmocka_unit_test(lines_may_hold_nul_and_end_where_the_text_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
