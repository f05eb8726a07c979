// SPDX-License-Identifier: Apache-2.0
/*
 * The short form of tests/diff/check_diff.c: pairs of days on which nothing changed, under the four
 * kinds of noise, with generous bounds. Alarms are what it is about.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/diff_sim.h"

#define PAIRS 20

struct quiet {
	unsigned long tested;
	unsigned long below_5;
	unsigned int alarm_pairs;
	unsigned int verdict_pairs; /* when every change matters */
};

static void compare(struct sim *sim, const struct sim_series *series, const struct diff_side *a,
		    const struct diff_side *b, struct quiet *out)
{
	struct diff_options options = diff_options_default();
	struct diff_result *result;

	options.relevant_points = 0;
	options.relevant_relative = 0;
	result = sim_compare(sim, a, b, series, &options);
	assert_non_null(result);
	assert_int_equal(result->summary.calibration, DIFF_CALIBRATION_HISTORY);
	for (uint32_t m = 0; m < SIM_METHODS; m++) {
		out->tested += result->rows[m].is_tested;
		out->below_5 += result->rows[m].is_tested && result->rows[m].p_any < 0.05;
	}
	out->alarm_pairs += result->summary.alarm_cnt > 0;
	out->verdict_pairs += result->summary.families[DIFF_KIND_METHOD_SELF].found_cnt > 0;
	diff_result__free(result);
}

static void check_noise(const struct sim_config *config)
{
	static struct sim sim;
	struct sim_series series;
	struct quiet quiet = { 0 };
	double rate;

	sim_init(&sim, config);
	assert_int_equal(sim_series_start(&series, &sim), 0);
	for (int i = 0; i < PAIRS; i++) {
		struct diff_side *next = sim_day(&sim, NULL, 0);
		struct diff_side *a = series.last;

		/* The days before `a` are the history: `a` itself is in it too, which hardly matters
		 * and halves the time. */
		assert_non_null(next);
		compare(&sim, &series, a, next, &quiet);
		assert_int_equal(sim_series_take(&series, next), 0);
	}
	sim_series_release(&series);
	rate = (double)quiet.below_5 / (double)quiet.tested;
	assert_true(quiet.tested > 150ul * PAIRS);
	if (rate < 0.02 || rate > 0.08)
		fail_msg("p < 0.05 in %.1f %%", 100 * rate);
	if (quiet.alarm_pairs > 2 || quiet.verdict_pairs > 4)
		fail_msg("%u pairs with an alarm, %u with a verdict", quiet.alarm_pairs,
			 quiet.verdict_pairs);
}

static void quiet_days_without_noise_raise_no_alarm(void **state)
{
	(void)state;
	check_noise(&(struct sim_config){ .cores = 1, .frequency_hz = 49, .seed = 21 });
}

static void quiet_days_with_noise_between_minutes_raise_no_alarm(void **state)
{
	(void)state;
	check_noise(&(struct sim_config){ .cores = 1,
					  .frequency_hz = 49,
					  .window_noise = 0.15,
					  .window_memory = 0.8,
					  .seed = 22 });
}

static void quiet_days_with_drift_raise_no_alarm(void **state)
{
	(void)state;
	check_noise(&(struct sim_config){ .cores = 1,
					  .frequency_hz = 49,
					  .window_noise = 0.15,
					  .window_memory = 0.8,
					  .day_drift = 0.02,
					  .seed = 23 });
}

static void quiet_days_with_strong_drift_raise_no_alarm(void **state)
{
	(void)state;
	check_noise(&(struct sim_config){ .cores = 4,
					  .frequency_hz = 49,
					  .window_noise = 0.15,
					  .window_memory = 0.8,
					  .day_drift = 0.05,
					  .seed = 24 });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quiet_days_without_noise_raise_no_alarm),
		cmocka_unit_test(quiet_days_with_noise_between_minutes_raise_no_alarm),
		cmocka_unit_test(quiet_days_with_drift_raise_no_alarm),
		cmocka_unit_test(quiet_days_with_strong_drift_raise_no_alarm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
