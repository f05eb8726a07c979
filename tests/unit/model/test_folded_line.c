// SPDX-License-Identifier: Apache-2.0
/* "stack count": where the stack ends, and what is not such a line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "user/model/folded_line.h"
#include "user/util/cleanup.h"

static void folded_line_is_split_at_its_last_blank(void **state)
{
	static const struct {
		const char *line;
		size_t stack_len;
		uint64_t count;
	} rows[] = {
		{ "a 1", 1, 1 },
		{ "a;b c;d 0", 7, 0 },
		{ "  7", 1, 7 },
		{ "a 1 2", 3, 2 },
		{ "a 18446744073709551615", 1, UINT64_MAX },
		{ "a 00000000000000000007", 1, 7 },
		{ "\xff;\t 12", 3, 12 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t len = strlen(rows[i].line), stack_len;
		uint64_t count;

		assert_true(folded_line_split(rows[i].line, len, &stack_len, &count));
		assert_int_equal(stack_len, rows[i].stack_len);
		assert_true(count == rows[i].count);
		assert_int_equal(folded_line_stack_bytes(rows[i].line, len), rows[i].stack_len);
	}
}

static void folded_line_of_another_kind_is_refused(void **state)
{
	static const char *const lines[] = {
		"",	" ",	"7",	" 7",	 "a",	  "a7",	  "a ",
		"a 7 ", "a -7", "a +7", "a 0x7", "a 7\r", "a\t7",
	};
	size_t stack_len;
	uint64_t count;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		assert_false(folded_line_split(lines[i], strlen(lines[i]), &stack_len, &count));
		assert_int_equal(folded_line_stack_bytes(lines[i], strlen(lines[i])), 0);
	}
}

static void folded_line_with_a_count_that_is_too_large_is_refused(void **state)
{
	static const char *const lines[] = {
		"a 18446744073709551616",
		"a 99999999999999999999",
		"a 000000000000000000007",
	};
	size_t stack_len;
	uint64_t count;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		assert_false(folded_line_split(lines[i], strlen(lines[i]), &stack_len, &count));
		assert_int_equal(folded_line_stack_bytes(lines[i], strlen(lines[i])), 1);
	}
}

static void folded_line_may_hold_a_nul(void **state)
{
	size_t stack_len;
	uint64_t count;

	(void)state;
	assert_true(folded_line_split("a\0b 7", 5, &stack_len, &count));
	assert_int_equal(stack_len, 3);
	assert_int_equal(count, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folded_line_is_split_at_its_last_blank),
		cmocka_unit_test(folded_line_of_another_kind_is_refused),
		cmocka_unit_test(folded_line_with_a_count_that_is_too_large_is_refused),
		cmocka_unit_test(folded_line_may_hold_a_nul),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
