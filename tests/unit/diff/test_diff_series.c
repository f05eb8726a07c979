// SPDX-License-Identifier: Apache-2.0
/* Change points: steps and slow creep are dated, noise is not, short and odd series are survived. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/diff_sim.h"
#include "user/diff/diff_series.h"
#include "user/util/cleanup.h"

#define DAYS_MAX 500

/* Level of day i: flat, then a slope from `first` to `last`, then flat. */
struct shape {
	uint32_t days;
	double noise;
	uint32_t first;
	uint32_t last;
	double height;
};

static struct sim dice;

static void draw(const struct shape *shape, struct diff_series_day *out)
{
	for (uint32_t i = 0; i < shape->days; i++) {
		double part = i < shape->first ? 0 :
			      i >= shape->last ? 1 :
						 (double)(i - shape->first + 1) /
							 (shape->last - shape->first + 1);

		out[i] = (struct diff_series_day){
			.day = 1000 + i,
			.value = -3 + shape->height * part + shape->noise * sim_normal(&dice),
			.variance = 1e-6,
		};
	}
}

static size_t changes_of(const struct diff_series_day *days, size_t cnt, struct diff_change *first)
{
	struct diff_series_options options = diff_series_options_default();
	__cleanup_free struct diff_change *changes = NULL;
	size_t found = 0;

	assert_int_equal(diff_series_changes(days, cnt, &options, &changes, &found), 0);
	if (found)
		*first = changes[0];
	return found;
}

static int set_up(void **state)
{
	const struct sim_config config = { .seed = 77 };

	(void)state;
	sim_init(&dice, &config);
	return 0;
}

static void a_step_is_dated(void **state)
{
	static const struct {
		struct shape shape;
		uint32_t slack; /* days */
	} rows[] = {
		{ { 30, 0.01, 20, 20, 0.10 }, 0 },   { { 30, 0.01, 10, 10, -0.10 }, 0 },
		{ { 60, 0.02, 45, 45, 0.12 }, 1 },   { { 14, 0.01, 7, 7, 0.15 }, 0 },
		{ { 400, 0.03, 200, 200, 0.1 }, 3 }, { { 30, 0.0, 15, 15, 0.05 }, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct diff_series_day days[DAYS_MAX];
		struct diff_change change;
		uint32_t wanted = 1000 + rows[i].shape.first;

		draw(&rows[i].shape, days);
		assert_int_equal(changes_of(days, rows[i].shape.days, &change), 1);
		assert_int_equal(change.shape, DIFF_CHANGE_STEP);
		assert_in_range(change.first_day, wanted - rows[i].slack, wanted + rows[i].slack);
		assert_int_equal(change.first_day, change.last_day);
		assert_true(fabs(change.before + 3) < 0.02);
		assert_true(fabs(change.after - change.before - rows[i].shape.height) < 0.03);
		assert_true(change.p <= 0.001);
	}
}

static void slow_creep_is_dated_as_one_change(void **state)
{
	static const struct shape rows[] = {
		{ 60, 0.01, 20, 40, 0.20 },
		{ 60, 0.01, 15, 59, -0.30 },
		{ 90, 0.02, 30, 60, 0.30 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct diff_series_day days[DAYS_MAX];
		struct diff_change change;

		draw(&rows[i], days);
		assert_int_equal(changes_of(days, rows[i].days, &change), 1);
		assert_int_equal(change.shape, DIFF_CHANGE_CREEP);
		assert_in_range(change.first_day, 1000 + rows[i].first - 5,
				1000 + rows[i].first + 6);
		assert_in_range(change.last_day, 1000 + rows[i].last - 6, 1000 + rows[i].last + 6);
		assert_true(fabs(change.after - change.before - rows[i].height) < 0.04);
	}
}

static void noise_is_not_dated(void **state)
{
	static const struct shape flat = { 60, 0.03, 60, 60, 0 };
	size_t found = 0;

	(void)state;
	for (int i = 0; i < 500; i++) {
		struct diff_series_day days[DAYS_MAX];
		struct diff_change change;

		draw(&flat, days);
		found += changes_of(days, flat.days, &change) > 0;
	}
	/* p_max is 0.001 for each split with the search paid for; 500 series, few false ones. */
	assert_true(found <= 5);
}

static void changes_that_do_not_matter_are_not_dated(void **state)
{
	static const struct shape small = { 60, 0.0001, 30, 30, 0.008 };
	struct diff_series_day days[DAYS_MAX];
	struct diff_change change;

	(void)state;
	draw(&small, days);
	assert_int_equal(changes_of(days, small.days, &change), 0);
}

static void scatter_of_the_blocks_bounds_that_of_the_days(void **state)
{
	static const struct shape step = { 20, 0.0, 10, 10, 0.05 };
	struct diff_series_day days[DAYS_MAX];
	struct diff_change change;

	(void)state;
	draw(&step, days);
	for (uint32_t i = 0; i < step.days; i++)
		days[i].variance = 0.05 * 0.05; /* days agree better than they can know */
	assert_int_equal(changes_of(days, step.days, &change), 0);
}

static void short_and_odd_series_are_survived(void **state)
{
	static const struct shape step = { 13, 0.0, 6, 6, 1 };
	struct diff_series_options options = diff_series_options_default();
	struct diff_series_day days[DAYS_MAX];
	struct diff_change *changes = NULL;
	struct diff_change change;
	size_t cnt = 99;

	(void)state;
	draw(&step, days);
	for (size_t i = 0; i <= step.days; i++)
		assert_int_equal(changes_of(days, i, &change), 0);
	days[5].value = NAN;
	assert_int_equal(diff_series_changes(days, 13, &options, &changes, &cnt), -EINVAL);
	days[5].value = 0;
	days[5].variance = -1;
	assert_int_equal(diff_series_changes(days, 13, &options, &changes, &cnt), -EINVAL);
	days[5].variance = 0;
	days[5].day = days[4].day;
	assert_int_equal(diff_series_changes(days, 13, &options, &changes, &cnt), -EINVAL);
	assert_int_equal(cnt, 99);
	assert_null(changes);
}

static void only_the_last_days_of_a_long_series_are_used(void **state)
{
	static const struct shape early = { 500, 0.01, 60, 60, 0.5 };
	struct diff_series_day days[DAYS_MAX];
	struct diff_change change;

	(void)state;
	draw(&early, days);
	assert_int_equal(changes_of(days, 500, &change), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_is_dated),
		cmocka_unit_test(slow_creep_is_dated_as_one_change),
		cmocka_unit_test(noise_is_not_dated),
		cmocka_unit_test(changes_that_do_not_matter_are_not_dated),
		cmocka_unit_test(scatter_of_the_blocks_bounds_that_of_the_days),
		cmocka_unit_test(short_and_odd_series_are_survived),
		cmocka_unit_test(only_the_last_days_of_a_long_series_are_used),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
