// SPDX-License-Identifier: Apache-2.0
/*
 * Sides of a quarter of an hour, as before and after a deployment, judged by nothing but their own
 * blocks of a minute. The short form of what tests/diff/check_diff.c measures; seeds are fixed.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/diff_sim.h"

#define PAIRS	  40
#define NOON_S	  (SIM_SHORT_FIRST * SIM_BLOCK_S)
#define LATER_S	  (NOON_S + 1200) /* after each other: 5 minutes for the deployment between */
#define EVENING_S (NOON_S + 6 * 3600)

static struct diff_result *compare_short(const struct sim *sim, const struct diff_side *a,
					 const struct diff_side *b)
{
	struct diff_options options = diff_options_default();
	struct diff_result *result;

	options.alarm_without_history = true;
	result = sim_compare(sim, a, b, NULL, &options);
	assert_non_null(result);
	return result;
}

/* Of so many pairs in which nothing changed: those with an alarm. */
static unsigned int quiet_alarms(const struct sim_config *config, uint32_t second_b)
{
	static struct sim sim;
	unsigned int alarms = 0;

	sim_init(&sim, config);
	for (int i = 0; i < PAIRS; i++) {
		struct diff_side *a = sim_short(&sim, NOON_S, NULL, 0);
		struct diff_side *b = sim_short(&sim, second_b, NULL, 0);
		struct diff_result *result;

		assert_non_null(a);
		assert_non_null(b);
		result = compare_short(&sim, a, b);
		assert_true(result->summary.gates_passed);
		assert_int_equal(result->summary.calibration, DIFF_CALIBRATION_PAIR);
		assert_int_equal(result->summary.is_paired, second_b == NOON_S);
		alarms += result->summary.alarm_cnt > 0;
		diff_result__free(result);
		diff_side__free(a);
		diff_side__free(b);
	}
	return alarms;
}

static void two_quiet_quarters_of_an_hour_raise_no_alarm(void **state)
{
	static const struct sim_config configs[] = {
		{ .cores = 1, .frequency_hz = 49, .seed = 31 },
		{ .cores = 1,
		  .frequency_hz = 49,
		  .window_noise = 0.15,
		  .window_memory = 0.8,
		  .seed = 32 },
		{ .cores = 4,
		  .frequency_hz = 49,
		  .window_noise = 0.15,
		  .window_memory = 0.8,
		  .seed = 33 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(configs) / sizeof(configs[0]); i++) {
		unsigned int together = quiet_alarms(&configs[i], NOON_S);
		unsigned int after = quiet_alarms(&configs[i], LATER_S);

		if (together > 2 || after > 2)
			fail_msg("noise %zu: alarms in %u and %u of %d pairs", i, together, after,
				 PAIRS);
	}
}

/* A method of a tenth needs a fifth more. */
static unsigned int found_alarms(uint32_t second_b)
{
	static struct sim sim;
	const struct sim_config config = { .cores = 1, .frequency_hz = 49, .seed = 34 };
	unsigned int alarms = 0;
	struct sim_effect slower;

	sim_init(&sim, &config);
	slower = (struct sim_effect){ sim_method_of_share(&sim, 0.10), 1.2, 0, SIM_BLOCKS };
	for (int i = 0; i < PAIRS; i++) {
		struct diff_side *a = sim_short(&sim, NOON_S, NULL, 0);
		struct diff_side *b = sim_short(&sim, second_b, &slower, 1);
		struct diff_result *result;

		assert_non_null(a);
		assert_non_null(b);
		result = compare_short(&sim, a, b);
		alarms += result->rows[slower.method].is_alarm;
		for (uint32_t m = 0; m < SIM_METHODS; m++)
			assert_true(m == slower.method || !result->rows[m].is_alarm);
		diff_result__free(result);
		diff_side__free(a);
		diff_side__free(b);
	}
	return alarms;
}

static void a_fifth_more_of_a_tenth_is_an_alarm_after_a_quarter_of_an_hour(void **state)
{
	unsigned int together = found_alarms(NOON_S);
	unsigned int after = found_alarms(LATER_S);

	(void)state;
	if (together < 0.9 * PAIRS || after < 0.9 * PAIRS)
		fail_msg("found in %u and %u of %d pairs", together, after, PAIRS);
}

/* What is far apart has the rhythm of the day between it. */
static void noon_and_evening_raise_no_alarm_without_earlier_days(void **state)
{
	static struct sim sim;
	const struct sim_config config = { .cores = 1, .frequency_hz = 49, .seed = 35 };
	struct diff_side *a, *b;
	struct sim_effect slower;
	struct diff_result *result;

	(void)state;
	sim_init(&sim, &config);
	slower = (struct sim_effect){ sim_method_of_share(&sim, 0.10), 2, 0, SIM_BLOCKS };
	a = sim_short(&sim, NOON_S, NULL, 0);
	b = sim_short(&sim, EVENING_S, &slower, 1);
	assert_non_null(a);
	assert_non_null(b);
	result = compare_short(&sim, a, b);
	assert_false(result->summary.gates[DIFF_GATE_TIME_OF_DAY].passed);
	assert_int_equal(result->rows[slower.method].verdict, DIFF_VERDICT_UP);
	assert_int_equal(result->summary.alarm_cnt, 0);
	diff_result__free(result);
	diff_side__free(a);
	diff_side__free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_quiet_quarters_of_an_hour_raise_no_alarm),
		cmocka_unit_test(a_fifth_more_of_a_tenth_is_an_alarm_after_a_quarter_of_an_hour),
		cmocka_unit_test(noon_and_evening_raise_no_alarm_without_earlier_days),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
