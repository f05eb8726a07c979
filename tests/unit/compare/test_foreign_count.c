// SPDX-License-Identifier: Apache-2.0
/* Counts of folded text: what is read, to which digit, and what is none. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "user/compare/foreign_count.h"
#include "user/util/cleanup.h"

static void counts_are_read_to_their_last_digit(void **state)
{
	static const struct {
		const char *text;
		uint64_t digits;
		int place;
	} cases[] = {
		{ "0", 0, 0 },
		{ "12", 12, 0 },
		{ "1200", 12, 2 },
		{ "12.", 12, 0 },
		{ ".5", 5, -1 },
		{ "12.50", 125, -1 },
		{ "0.000", 0, 0 },
		{ "1.5e+06", 15, 5 },
		{ "1.5E6", 15, 5 },
		{ "1e-10", 1, -10 },
		{ "18446744073709551615", UINT64_MAX, 0 },
		{ "0.30000000000000004", 30000000000000004, -17 },
		{ "0.1234567890123456789012345", 12345678901234567890u, -20 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct foreign_count count;

		assert_int_equal(foreign_count_parse(cases[i].text, strlen(cases[i].text), &count),
				 0);
		if (cases[i].place != -20) {
			assert_int_equal(count.digits, cases[i].digits);
			assert_int_equal(count.place, cases[i].place);
		} else { /* the last digit of 64 bits is a 0 here */
			assert_int_equal(count.digits, cases[i].digits / 10);
			assert_int_equal(count.place, -19);
		}
	}
}

static void what_is_no_count_is_refused(void **state)
{
	static const char *const texts[] = {
		"",	 ".",	  "-1", "+1", "1e",   "1e+",
		"1e400", "1.2.3", "1x", "e5", "0x10", "99999999999999999999",
		"nan",	 "inf",	  " 1",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct foreign_count count;

		if (foreign_count_parse(texts[i], strlen(texts[i]), &count) != -EINVAL)
			fail_msg("'%s' is taken", texts[i]);
	}
}

static void counts_are_rounded_in_larger_units_and_exact_in_smaller_ones(void **state)
{
	struct foreign_count count = { .digits = 12345, .place = -2 };

	(void)state;
	assert_int_equal(foreign_count_at(&count, 0), 123);
	assert_int_equal(foreign_count_at(&count, 1), 12);
	assert_int_equal(foreign_count_at(&count, 2), 1);
	assert_int_equal(foreign_count_at(&count, 3), 0);
	assert_int_equal(foreign_count_at(&count, 300), 0);
	assert_int_equal(foreign_count_at(&count, -4), 1234500);
	assert_int_equal(foreign_count_at(&count, -100), UINT64_MAX);
	count.digits = 0;
	assert_int_equal(foreign_count_at(&count, -100), 0);
	count = (struct foreign_count){ .digits = 55, .place = -1 };
	assert_int_equal(foreign_count_at(&count, 0), 6);
	assert_true(foreign_count_value(&count) == 5.5L);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_are_read_to_their_last_digit),
		cmocka_unit_test(what_is_no_count_is_refused),
		cmocka_unit_test(counts_are_rounded_in_larger_units_and_exact_in_smaller_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
