// SPDX-License-Identifier: Apache-2.0
/* Labels as a table by what they used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/output_profiles.h"
#include "user/cli/by_table.h"
#include "user/util/cleanup.h"

static void assert_table(const char *labels, const struct output_info *info, size_t limit,
			 const char *expected)
{
	struct profile *profile = profile_of(labels);
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;
	const char *table;

	assert_int_equal(by_table(profile, info, limit, &out), 0);
	table = strstr(strbuf_str(&out), "\n\n");
	assert_non_null(table);
	assert_string_equal(table + 2, expected);
	profile__free(profile);
}

static const struct output_label labels[] = { { .name = "container" },
					      { .name = "pid", .is_number = true } };

static void rows_are_by_samples_with_cores_of_the_recorded_time(void **state)
{
	struct output_info info = output_profiles_info; /* 100 Hz */

	(void)state;
	info.labels = labels;
	info.label_cnt = 2;
	info.covered_ns = 20ull * 1000000000;
	assert_table("cart;7 100\nshop one;42 3000\n(none);9 900\n", &info, 0,
		     "CORES  SHARE%  SAMPLES  CONTAINER  PID\n"
		     " 1.50   75.00     3000  shop one    42\n"
		     " 0.45   22.50      900  (none)       9\n"
		     " 0.05    2.50      100  cart         7\n");
	assert_table("cart;7 100\nshop;42 3000\nx;1 100\n", &info, 1,
		     "CORES  SHARE%  SAMPLES  CONTAINER  PID\n"
		     " 1.50   93.75     3000  shop        42\n"
		     "2 more rows not shown\n");
	assert_table("", &info, 0, "SHARE%  SAMPLES  CONTAINER  PID\n");
}

static void cores_are_left_out_where_they_are_not_known(void **state)
{
	struct output_info info = output_profiles_info;

	(void)state;
	info.labels = labels;
	info.label_cnt = 1;
	assert_table("a 1\nb 1\n", &info, 0,
		     "SHARE%  SAMPLES  CONTAINER\n"
		     " 50.00        1  a\n"
		     " 50.00        1  b\n");
	info.covered_ns = 20ull * 1000000000;
	info.frequency_hz = 0; /* mixed */
	assert_table("a 1\n", &info, 0,
		     "SHARE%  SAMPLES  CONTAINER\n"
		     "100.00        1  a\n");
	info.event = EVENT_PAGE_FAULTS;
	info.period = 64;
	assert_table("a 5\n", &info, 0,
		     "EVENTS/S  SHARE%  SAMPLES  CONTAINER\n"
		     "    16.0  100.00        5  a\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_by_samples_with_cores_of_the_recorded_time),
		cmocka_unit_test(cores_are_left_out_where_they_are_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
