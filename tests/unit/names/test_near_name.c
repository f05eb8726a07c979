// SPDX-License-Identifier: Apache-2.0
/* Did you mean: what is near, and what is nearer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "user/names/near_name.h"
#include "user/util/cleanup.h"

static void slips_of_the_hand_are_near(void **state)
{
	static const struct {
		const char *typed;
		const char *name;
		uint32_t near;
	} rows[] = {
		{ "Shop", "shop", 0 },
		{ "shop", "shop-1", 1 },
		{ "shop-1", "SHOP", 1 },
		{ "shpo", "shop", 2 },
		{ "sohp", "shop", 2 },
		{ "shp", "shop", 2 },
		{ "shopp", "shop", 1 },
		{ "shqp", "shop", 2 },
		{ "payments", "patmentz", 3 },
		{ "cart", "shop", NEAR_NAME_FAR },
		{ "ab", "cab", 2 },
		{ "a", "b", NEAR_NAME_FAR },
		{ "", "shop", NEAR_NAME_FAR },
		{ "shop", "", NEAR_NAME_FAR },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (near_name(rows[i].typed, rows[i].name) != rows[i].near)
			fail_msg("'%s' and '%s': %u", rows[i].typed, rows[i].name,
				 near_name(rows[i].typed, rows[i].name));
	}
}

static void long_names_are_near_only_when_one_contains_the_other(void **state)
{
	char longer[300], other[300];

	(void)state;
	memset(longer, 'x', sizeof(longer));
	longer[299] = '\0';
	memcpy(other, longer, sizeof(other));
	other[150] = 'y';
	assert_int_equal(near_name(longer, other), NEAR_NAME_FAR);
	assert_int_equal(near_name("xxx", longer), 1);
	other[64] = '\0';
	other[3] = 'y';
	longer[64] = '\0';
	assert_int_equal(near_name(longer, other), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slips_of_the_hand_are_near),
		cmocka_unit_test(long_names_are_near_only_when_one_contains_the_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
