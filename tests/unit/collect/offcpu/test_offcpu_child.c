// SPDX-License-Identifier: Apache-2.0
/* When passes are due: as many as there are periods, each at another moment of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "user/collect/offcpu/offcpu_child.h"

#define PERIOD 100000000ull

static void each_period_has_one_pass_in_its_first_four_fifths(void **state)
{
	static const uint64_t randoms[] = { 0,	    1,		PERIOD - 1,
					    PERIOD, UINT64_MAX, 0x123456789abcdefull };

	(void)state;
	for (size_t i = 0; i < sizeof(randoms) / sizeof(randoms[0]); i++) {
		for (uint64_t number = 0; number < 5; number++) {
			uint64_t due = offcpu_child_due_ns(number, PERIOD, randoms[i]);

			assert_true(due >= number * PERIOD);
			assert_true(due <= number * PERIOD + PERIOD * 4 / 5);
		}
	}
	assert_int_equal(offcpu_child_due_ns(3, PERIOD, 0), 3 * PERIOD);
	assert_int_not_equal(offcpu_child_due_ns(3, PERIOD, 12345),
			     offcpu_child_due_ns(3, PERIOD, 54321));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_period_has_one_pass_in_its_first_four_fifths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
