// SPDX-License-Identifier: Apache-2.0
/* Counts stop at the largest number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "user/util/saturate.h"

static void sums_stop_at_the_largest_number(void **state)
{
	(void)state;
	assert_true(add_saturated(2, 3) == 5);
	assert_true(add_saturated(UINT64_MAX - 1, 1) == UINT64_MAX);
	assert_true(add_saturated(UINT64_MAX - 1, 2) == UINT64_MAX);
	assert_true(add_saturated(UINT64_MAX, UINT64_MAX) == UINT64_MAX);
}

static void small_sums_stop_at_the_largest_small_number(void **state)
{
	(void)state;
	assert_true(add_saturated_u32(2, 3) == 5);
	assert_true(add_saturated_u32(UINT32_MAX - 1, 1) == UINT32_MAX);
	assert_true(add_saturated_u32(UINT32_MAX, 1) == UINT32_MAX);
	assert_true(add_saturated_u32(1, 1ull << 32) == UINT32_MAX);
	assert_true(add_saturated_u32(1, UINT64_MAX) == UINT32_MAX);
}

static void products_stop_at_the_largest_number(void **state)
{
	(void)state;
	assert_true(multiply_saturated(6, 7) == 42);
	assert_true(multiply_saturated(0, UINT64_MAX) == 0);
	assert_true(multiply_saturated(1ull << 32, 1ull << 32) == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_stop_at_the_largest_number),
		cmocka_unit_test(small_sums_stop_at_the_largest_small_number),
		cmocka_unit_test(products_stop_at_the_largest_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
