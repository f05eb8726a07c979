// SPDX-License-Identifier: Apache-2.0
/* What a recorder says of naming, by windows that are given up and answered. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/unit/collect/recorder_testing.h"

static void give_up_one(struct recorder *recorder)
{
	recorder__end_window(recorder);
	recorder__give_up(recorder);
}

/* Said of the window with which it is dead, and until one is answered. */
static void naming_that_is_dead_is_told_with_who_hangs_until_it_goes_on(void **state)
{
	static const char hanging[] = "2 processes of jbpf's hang over process 11 (java) of /shop";
	struct recorder *recorder = open_recorder();

	(void)state;
	link_.hanging = hanging;
	for (uint32_t i = 1; i < NAMING_BEAT_MISSES; i++) {
		give_up_one(recorder);
		assert_string_equal(taken.stats.naming_problem, "");
		assert_int_equal(recorder__naming(recorder), NAMING_BEAT_GOES_ON);
	}
	passed_ns = 40 * CLOCK_NS_PER_S;
	give_up_one(recorder);
	passed_ns = 3600 * CLOCK_NS_PER_S;
	assert_non_null(strstr(taken.stats.naming_problem, "naming is dead"));
	assert_non_null(strstr(taken.stats.naming_problem, hanging));
	assert_true(taken.stats.naming_silent_ns >= 40 * CLOCK_NS_PER_S);
	assert_int_equal(recorder__naming(recorder), NAMING_BEAT_DEAD); /* for good: it hangs */
	recorder__end_window(recorder);
	assert_true(answer_all() > 0);
	assert_int_equal(recorder__consume(recorder), 0);
	passed_ns = 0;
	assert_string_equal(taken.stats.naming_problem, "");
	assert_int_equal(recorder__naming(recorder), NAMING_BEAT_GOES_ON);
	recorder__free(recorder);
}

static void naming_that_is_dead_for_nobodys_fault_is_stuck(void **state)
{
	struct recorder *recorder = open_recorder();

	(void)state;
	for (uint32_t i = 0; i < NAMING_BEAT_MISSES; i++)
		give_up_one(recorder);
	assert_int_equal(recorder__naming(recorder), NAMING_BEAT_DEAD);
	passed_ns = NAMING_BEAT_STUCK_NS;
	assert_int_equal(recorder__naming(recorder), NAMING_BEAT_STUCK);
	link_.ban_cnt = 1;
	assert_int_equal(recorder__naming(recorder), NAMING_BEAT_DEAD);
	passed_ns = 0;
	recorder__free(recorder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(naming_that_is_dead_is_told_with_who_hangs_until_it_goes_on),
		cmocka_unit_test(naming_that_is_dead_for_nobodys_fault_is_stuck),
	};

	return cmocka_run_group_tests_name("recorder_beat", tests, NULL, NULL);
}
