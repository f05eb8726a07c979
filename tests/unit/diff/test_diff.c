// SPDX-License-Identifier: Apache-2.0
/*
 * The verdicts of a whole comparison on simulated days: what was planted is found and named rightly,
 * what did not change stays grey.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/diff_sim.h"
#include "user/util/cleanup.h"

#define SECOND 1000000000ull

/* Two methods of one class and with one caller; the first is several times larger. */
#define TWIN_LARGE 43u
#define TWIN_SMALL 44u

static const struct sim_config steady = { .cores = 1, .frequency_hz = 49, .seed = 11 };
static const struct sim_config noisy = {
	.cores = 1,
	.frequency_hz = 49,
	.window_noise = 0.15,
	.window_memory = 0.8,
	.seed = 12,
};

struct world {
	struct sim sim;
	struct sim_series series;
};

static struct world *world_new(const struct sim_config *config)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	sim_init(&world->sim, config);
	assert_int_equal(sim_series_start(&world->series, &world->sim), 0);
	return world;
}

static void world_free(struct world *world)
{
	sim_series_release(&world->series);
	free(world);
}

/* A quiet day against one with effects. */
static struct diff_result *compare(struct world *world, const struct sim_effect *effects,
				   size_t effect_cnt)
{
	struct diff_options options = diff_options_default();
	struct diff_side *a = sim_day(&world->sim, NULL, 0);
	struct diff_side *b = sim_day(&world->sim, effects, effect_cnt);
	struct diff_result *result = sim_compare(&world->sim, a, b, &world->series, &options);

	assert_non_null(result);
	diff_side__free(a);
	diff_side__free(b);
	return result;
}

/* Items of a kind whose change was found, without one. */
static uint32_t found_besides(const struct world *world, const struct diff_result *result,
			      enum diff_kind kind, uint32_t besides)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < result->row_cnt; i++)
		cnt += world->sim.items[i].kind == kind && i != besides &&
		       result->rows[i].verdict != DIFF_VERDICT_UNRESOLVED &&
		       result->rows[i].verdict != DIFF_VERDICT_SAME;
	return cnt;
}

static void a_planted_change_is_found_and_others_stay_grey(void **state)
{
	static const struct {
		double share;
		double factor;
		enum diff_verdict verdict;
	} rows[] = {
		{ 0.10, 1.20, DIFF_VERDICT_UP },
		{ 0.02, 1.20, DIFF_VERDICT_UP },
		{ 0.02, 0.80, DIFF_VERDICT_DOWN },
		{ 0.10, 1.50, DIFF_VERDICT_UP },
	};
	struct world *world = world_new(&noisy);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint32_t method = sim_method_of_share(&world->sim, rows[i].share);
		struct sim_effect effect = { method, rows[i].factor, 0, SIM_BLOCKS };
		struct diff_result *result = compare(world, &effect, 1);
		const struct diff_row *row = &result->rows[method];

		assert_int_equal(result->summary.mode, DIFF_MODE_STATISTICAL);
		assert_int_equal(result->summary.calibration, DIFF_CALIBRATION_HISTORY);
		assert_true(result->summary.gates_passed);
		assert_true(result->summary.is_paired);
		assert_int_equal(row->verdict, rows[i].verdict);
		assert_int_equal(row->is_alarm, rows[i].factor > 1);
		assert_true(row->change.low <= log(rows[i].factor) &&
			    row->change.high >= log(rows[i].factor));
		assert_true(row->q <= 0.01);
		assert_int_equal(diff_relative(row->change.value) > 0, rows[i].factor > 1);
		/* Composition: shares of all others changed, their rates did not. */
		assert_int_equal(found_besides(world, result, DIFF_KIND_METHOD_SELF, method), 0);
		/* The change comes from the method's place, also as its callers see it. */
		assert_int_equal(row->origin, SIM_PATH + method);
		if (result->rows[SIM_TOTAL + method].verdict == rows[i].verdict)
			assert_int_equal(result->rows[SIM_TOTAL + method].origin,
					 SIM_PATH + method);
		diff_result__free(result);
	}
	world_free(world);
}

static void the_origin_lies_below_callers_that_grew_too(void **state)
{
	struct world *world = world_new(&steady);
	struct sim_effect effect = { TWIN_LARGE, 2, 0, SIM_BLOCKS };
	uint32_t caller = sim_caller(TWIN_LARGE);
	struct diff_result *result = compare(world, &effect, 1);

	(void)state;
	assert_int_equal(result->rows[TWIN_LARGE].verdict, DIFF_VERDICT_UP);
	assert_int_equal(result->rows[SIM_TOTAL + caller].verdict, DIFF_VERDICT_UP);
	assert_int_equal(result->rows[SIM_TOTAL + caller].origin, SIM_PATH + TWIN_LARGE);
	assert_int_equal(result->rows[SIM_TOTAL].origin, SIM_PATH + TWIN_LARGE);
	assert_int_equal(result->rows[SIM_PATH + TWIN_LARGE].verdict, DIFF_VERDICT_UP);
	assert_int_equal(found_besides(world, result, DIFF_KIND_METHOD_SELF, TWIN_LARGE), 0);
	diff_result__free(result);
	world_free(world);
}

static void more_load_of_the_same_mix_is_scale_and_nothing_else(void **state)
{
	struct world *world = world_new(&noisy);
	struct diff_options options = diff_options_default();
	struct diff_side *a = sim_day(&world->sim, NULL, 0);

	(void)state;
	world->sim.load = 1.5;

	struct diff_side *b = sim_day(&world->sim, NULL, 0);
	struct diff_result *result = sim_compare(&world->sim, a, b, &world->series, &options);

	assert_non_null(result);
	assert_true(fabs(result->summary.scale.value - log(1.5)) < 0.02);
	assert_true(result->summary.scale.low < log(1.5) && result->summary.scale.high > log(1.5));
	assert_true(fabs(result->summary.composition.value) < 0.01);
	assert_true(fabs(result->summary.cores_b / result->summary.cores_a - 1.5) < 0.03);
	assert_int_equal(result->summary.alarm_cnt, 0);
	assert_int_equal(found_besides(world, result, DIFF_KIND_METHOD_SELF, DIFF_NONE), 0);
	diff_result__free(result);
	diff_side__free(a);
	diff_side__free(b);
	world_free(world);
}

static void work_that_moves_within_a_class_is_moved(void **state)
{
	struct world *world = world_new(&steady);
	double part = 0.9 * world->sim.share[TWIN_SMALL];
	struct sim_effect effects[] = {
		{ TWIN_LARGE, 1 - part / world->sim.share[TWIN_LARGE], 0, SIM_BLOCKS },
		{ TWIN_SMALL, 1 + part / world->sim.share[TWIN_SMALL], 0, SIM_BLOCKS },
	};
	struct diff_result *result = compare(world, effects, ARRAY_SIZE(effects));

	(void)state;
	assert_int_equal(result->rows[TWIN_SMALL].verdict, DIFF_VERDICT_MOVED);
	assert_int_equal(result->rows[TWIN_SMALL].moved_with, TWIN_LARGE);
	assert_int_equal(result->rows[TWIN_LARGE].verdict, DIFF_VERDICT_MOVED);
	assert_int_equal(result->rows[TWIN_LARGE].moved_with, TWIN_SMALL);
	assert_int_equal(result->rows[SIM_TOTAL + TWIN_SMALL].verdict, DIFF_VERDICT_MOVED);
	assert_int_equal(result->rows[SIM_PATH + TWIN_SMALL].verdict, DIFF_VERDICT_MOVED);
	assert_int_equal(result->summary.alarm_cnt, 0);
	diff_result__free(result);
	world_free(world);
}

static void a_growth_that_only_half_of_it_pays_for_is_up(void **state)
{
	struct world *world = world_new(&steady);
	double part = 0.9 * world->sim.share[TWIN_SMALL];
	struct sim_effect effects[] = {
		{ TWIN_LARGE, 1 - 0.3 * part / world->sim.share[TWIN_LARGE], 0, SIM_BLOCKS },
		{ TWIN_SMALL, 1 + part / world->sim.share[TWIN_SMALL], 0, SIM_BLOCKS },
	};
	struct diff_result *result = compare(world, effects, ARRAY_SIZE(effects));

	(void)state;
	assert_int_equal(result->rows[TWIN_LARGE].verdict, DIFF_VERDICT_DOWN);
	assert_int_equal(result->rows[TWIN_SMALL].verdict, DIFF_VERDICT_UP);
	assert_true(result->rows[TWIN_SMALL].is_alarm);
	diff_result__free(result);
	world_free(world);
}

static void a_renamed_method_is_moved(void **state)
{
	struct world *world = world_new(&noisy);
	struct diff_options options = diff_options_default();

	(void)state;
	world->sim.counted_as[TWIN_SMALL] = TWIN_LARGE;

	struct diff_side *a = sim_day(&world->sim, NULL, 0);

	world->sim.counted_as[TWIN_SMALL] = TWIN_SMALL;
	world->sim.counted_as[TWIN_LARGE] = TWIN_SMALL;

	struct diff_side *b = sim_day(&world->sim, NULL, 0);
	struct diff_result *result = sim_compare(&world->sim, a, b, NULL, &options);

	assert_non_null(result);
	assert_int_equal(result->rows[TWIN_LARGE].samples_b, 0);
	assert_int_equal(result->rows[TWIN_SMALL].samples_a, 0);
	assert_int_equal(result->rows[TWIN_LARGE].verdict, DIFF_VERDICT_MOVED);
	assert_int_equal(result->rows[TWIN_SMALL].verdict, DIFF_VERDICT_MOVED);
	assert_int_equal(result->summary.alarm_cnt, 0);
	diff_result__free(result);
	diff_side__free(a);
	diff_side__free(b);
	world_free(world);
}

static void new_and_gone_methods_are_named_so(void **state)
{
	struct world *world = world_new(&noisy);
	struct diff_options options = diff_options_default();
	uint32_t method = sim_method_of_share(&world->sim, 0.005);
	struct sim_effect without = { method, 0, 0, SIM_BLOCKS };
	struct diff_side *a = sim_day(&world->sim, &without, 1);
	struct diff_side *b = sim_day(&world->sim, NULL, 0);
	struct diff_result *result = sim_compare(&world->sim, a, b, &world->series, &options);

	(void)state;
	assert_non_null(result);
	assert_int_equal(result->rows[method].verdict, DIFF_VERDICT_NEW);
	assert_true(result->rows[method].points.low > 0);
	assert_false(result->rows[method].is_alarm);
	assert_int_equal(found_besides(world, result, DIFF_KIND_METHOD_SELF, method), 0);
	diff_result__free(result);
	result = sim_compare(&world->sim, b, a, &world->series, &options);
	diff_side__free(a);
	diff_side__free(b);
	assert_non_null(result);
	assert_int_equal(result->rows[method].verdict, DIFF_VERDICT_GONE);
	assert_true(result->rows[method].points.high < 0);
	diff_result__free(result);
	world_free(world);
}

static void what_is_over_by_the_evening_is_transient(void **state)
{
	struct world *world = world_new(&noisy);
	uint32_t method = sim_method_of_share(&world->sim, 0.10);
	struct sim_effect effect = { method, 1.4, 0, SIM_BLOCKS * 3 / 4 };
	struct diff_result *result = compare(world, &effect, 1);

	(void)state;
	assert_int_equal(result->rows[method].verdict, DIFF_VERDICT_TRANSIENT);
	assert_false(result->rows[method].is_alarm);
	diff_result__free(result);
	effect = (struct sim_effect){ method, 1.4, SIM_BLOCKS / 4, SIM_BLOCKS };
	result = compare(world, &effect, 1);
	assert_int_equal(result->rows[method].verdict, DIFF_VERDICT_UP);
	diff_result__free(result);
	world_free(world);
}

static void steady_load_proves_that_large_methods_are_the_same(void **state)
{
	struct sim_config config = steady;
	struct diff_result *result;
	struct world *world;
	uint32_t method;

	(void)state;
	config.cores = 8;
	world = world_new(&config);
	method = sim_method_of_share(&world->sim, 0.1);
	result = compare(world, NULL, 0);
	assert_int_equal(result->rows[method].verdict, DIFF_VERDICT_SAME);
	assert_true(result->rows[method].detectable < 0.02);
	assert_true(result->rows[method].change.low > -log1p(0.01));
	diff_result__free(result);
	world_free(world);
}

static void a_change_too_small_to_see_is_unresolved_not_same(void **state)
{
	struct world *world = world_new(&noisy);
	uint32_t method = sim_method_of_share(&world->sim, 0.1);
	struct sim_effect effect = { method, 1.01, 0, SIM_BLOCKS };
	struct diff_result *result = compare(world, &effect, 1);

	(void)state;
	assert_int_equal(result->rows[method].verdict, DIFF_VERDICT_UNRESOLVED);
	assert_true(result->rows[method].detectable > 0.01);
	diff_result__free(result);
	world_free(world);
}

static void without_history_there_are_verdicts_but_no_alarms(void **state)
{
	struct world *world = world_new(&noisy);
	struct diff_options options = diff_options_default();
	uint32_t method = sim_method_of_share(&world->sim, 0.1);
	struct sim_effect effect = { method, 1.5, 0, SIM_BLOCKS };
	struct diff_side *a = sim_day(&world->sim, NULL, 0);
	struct diff_side *b = sim_day(&world->sim, &effect, 1);
	struct diff_result *result = sim_compare(&world->sim, a, b, NULL, &options);

	(void)state;
	assert_non_null(result);
	assert_int_equal(result->summary.calibration, DIFF_CALIBRATION_PAIR);
	assert_int_equal(result->rows[method].verdict, DIFF_VERDICT_UP);
	assert_int_equal(result->summary.alarm_cnt, 0);
	diff_result__free(result);
	options.alarm_without_history = true;
	result = sim_compare(&world->sim, a, b, NULL, &options);
	diff_side__free(a);
	diff_side__free(b);
	assert_non_null(result);
	assert_true(result->rows[method].is_alarm);
	diff_result__free(result);
	world_free(world);
}

static void drift_that_history_knows_widens_the_intervals(void **state)
{
	struct sim_config config = noisy;
	struct world *world;
	struct diff_result *result;
	uint32_t method;

	(void)state;
	config.day_drift = 0.05;
	world = world_new(&config);
	method = sim_method_of_share(&world->sim, 0.1);
	result = compare(world, NULL, 0);

	double drift = sqrt(result->summary.families[DIFF_KIND_METHOD_SELF].between);

	/* Two days, each 5 % off. */
	assert_true(drift > 0.055 && drift < 0.09);
	assert_true(result->rows[method].error > 1.5 * result->rows[method].error_within);
	assert_true(result->rows[method].detectable > 0.2);
	diff_result__free(result);
	world_free(world);
}

static void morning_against_evening_raises_no_alarm_by_days(void **state)
{
	struct world *world = world_new(&steady);
	struct diff_options options = diff_options_default();
	struct sim_effect effect = { TWIN_LARGE, 2, SIM_BLOCKS / 2, SIM_BLOCKS };
	struct diff_side *whole = sim_day(&world->sim, &effect, 1);
	struct diff_side *halves[2] = { diff_side__new(1), diff_side__new(1) };
	struct diff_history pairs = { DIFF_HISTORY_PAIRS, world->series.sets, SIM_HISTORY, 0 };
	struct diff_input input = { world->sim.items, SIM_ITEMS, halves[0], halves[1], &pairs };
	struct diff_result *result;

	(void)state;
	for (size_t b = 0; b < SIM_BLOCKS; b++) {
		struct diff_side *half = halves[b >= SIM_BLOCKS / 2];
		size_t cnt = 0;
		const struct diff_count *counts = diff_side__counts(whole, b, &cnt);

		for (size_t i = 0; i < cnt; i++)
			assert_int_equal(diff_side__add(half, counts[i].item, counts[i].count), 0);
		assert_int_equal(diff_side__close_block(half, diff_side__block(whole, b)), 0);
	}
	result = sim_compare(&world->sim, halves[0], halves[1], &world->series, &options);
	assert_non_null(result);
	assert_false(result->summary.is_paired);
	assert_int_equal(result->rows[TWIN_LARGE].verdict, DIFF_VERDICT_UP);
	assert_false(result->summary.gates[DIFF_GATE_TIME_OF_DAY].passed);
	assert_int_equal(result->summary.alarm_cnt, 0);
	diff_result__free(result);
	/* Earlier mornings against earlier evenings would tell. */
	assert_int_equal(diff_run(&input, &options, &result), 0);
	assert_true(result->summary.gates[DIFF_GATE_TIME_OF_DAY].passed);
	diff_result__free(result);
	diff_side__free(halves[0]);
	diff_side__free(halves[1]);
	diff_side__free(whole);
	world_free(world);
}

static void odd_history_is_survived(void **state)
{
	static const struct diff_history_row rows[] = {
		{ 0, NAN, 0.1f }, { 1, 1, NAN }, { 2, 0.1f, -1 },   { 3, INFINITY, 0 },
		{ 4, 0.1f, 0 },	  { 9, 0, 0 },	 { 5000000, 0, 0 },
	};
	static const struct diff_history_set sets[] = {
		{ rows, ARRAY_SIZE(rows) },
		{ rows, 0 },
		{ NULL, 0 },
		{ rows, ARRAY_SIZE(rows) },
		{ rows, ARRAY_SIZE(rows) },
		{ rows, ARRAY_SIZE(rows) },
	};
	struct world *world = world_new(&steady);
	struct diff_options options = diff_options_default();
	struct diff_side *a = sim_day(&world->sim, NULL, 0);
	struct diff_side *b = sim_day(&world->sim, NULL, 0);

	(void)state;
	for (int kind = DIFF_HISTORY_DAYS; kind <= DIFF_HISTORY_PAIRS; kind++) {
		for (size_t cnt = 0; cnt <= ARRAY_SIZE(sets); cnt++) {
			struct diff_history history = { (enum diff_history_kind)kind, sets, cnt,
							0 };
			struct diff_input input = { world->sim.items, SIM_ITEMS, a, b, &history };
			struct diff_result *result = NULL;

			assert_int_equal(diff_run(&input, &options, &result), 0);
			/* Nothing in it is about enough methods to calibrate. */
			assert_int_equal(result->summary.calibration, DIFF_CALIBRATION_PAIR);
			for (uint32_t i = 0; i < SIM_ITEMS; i++)
				assert_false(isnan(result->rows[i].error));
			diff_result__free(result);
		}
	}
	diff_side__free(a);
	diff_side__free(b);
	world_free(world);
}

static void one_method_that_jumps_is_no_drift_of_the_others(void **state)
{
	struct world *world = world_new(&steady);
	struct diff_options options = diff_options_default();
	uint32_t method = sim_method_of_share(&world->sim, 0.10);
	uint32_t other = sim_method_of_share(&world->sim, 0.05);
	struct sim_effect effect = { method, 1.5, 0, SIM_BLOCKS };
	struct diff_result *result;

	(void)state;
	/* Every other day of the history. All other shares are 5 % smaller then. */
	for (int i = 0; i < SIM_HISTORY; i++)
		assert_int_equal(
			sim_series_take(&world->series, sim_day(&world->sim, &effect, i % 2)), 0);

	struct diff_side *a = sim_day(&world->sim, NULL, 0);
	struct diff_side *b = sim_day(&world->sim, NULL, 0);

	result = sim_compare(&world->sim, a, b, &world->series, &options);
	assert_non_null(result);
	assert_true(sqrt(result->summary.families[DIFF_KIND_METHOD_SELF].between) < 0.01);
	assert_true(result->rows[other].error < 0.01);
	/* The method itself is known to jump. */
	assert_true(result->rows[method].error > 3 * result->rows[other].error);
	diff_result__free(result);
	diff_side__free(a);
	diff_side__free(b);
	world_free(world);
}

/* Only the three largest methods are items. */
static void a_few_methods_need_history(void **state)
{
	struct world *world = world_new(&noisy);
	struct diff_options options = diff_options_default();
	struct diff_history history = { DIFF_HISTORY_DAYS, world->series.sets,
					world->series.set_cnt, 0 };
	uint32_t method = sim_method_of_share(&world->sim, 0.1);
	struct sim_effect effect = { method, 1.5, 0, SIM_BLOCKS };
	struct diff_side *a = sim_day(&world->sim, NULL, 0);
	struct diff_side *b = sim_day(&world->sim, &effect, 1);
	struct diff_input input = { world->sim.items, SIM_ITEMS, a, b, NULL };
	struct diff_result *result = NULL;

	(void)state;
	for (uint32_t i = 0; i < SIM_ITEMS; i++)
		world->sim.items[i] =
			(struct diff_item){ i < SIM_METHODS && world->sim.share[i] >= 0.04 ?
						    DIFF_KIND_METHOD_SELF :
						    DIFF_KIND_NONE,
					    DIFF_NONE, DIFF_NONE, DIFF_NONE };
	assert_int_equal(diff_run(&input, &options, &result), 0);
	assert_int_equal(result->summary.calibration, DIFF_CALIBRATION_NONE);
	assert_int_equal(result->rows[method].verdict, DIFF_VERDICT_UNRESOLVED);
	assert_false(isnan(result->rows[method].change.low));
	assert_int_equal(result->summary.scale_methods, 0);
	diff_result__free(result);
	input.history = &history;
	assert_int_equal(diff_run(&input, &options, &result), 0);
	assert_int_equal(result->summary.calibration, DIFF_CALIBRATION_HISTORY);
	assert_int_equal(result->rows[method].verdict, DIFF_VERDICT_UP);
	assert_true(result->rows[method].is_alarm);
	/* Seven differences of eight days are worth 98 / 20, and the family's prior 4. */
	assert_true(fabs(result->rows[method].df - (4 + 98 / 20.0)) < 1e-9);
	diff_result__free(result);
	diff_side__free(a);
	diff_side__free(b);
	world_free(world);
}

static void history_of_pairs_calibrates_like_history_of_days(void **state)
{
	struct sim_config config = noisy;
	struct world *world;
	struct diff_history_set sets[SIM_HISTORY - 1];
	struct diff_options options = diff_options_default();

	(void)state;
	config.day_drift = 0.05;
	world = world_new(&config);
	/* Neighbouring days as pairs. */
	for (size_t i = 0; i + 1 < SIM_HISTORY; i++) {
		const struct diff_history_set *first = &world->series.sets[i];
		const struct diff_history_set *second = &world->series.sets[i + 1];
		struct diff_history_row *rows = calloc(SIM_ITEMS, sizeof(*rows));
		size_t cnt = 0;

		for (size_t j = 0, k = 0; j < second->row_cnt; j++) {
			while (k < first->row_cnt && first->rows[k].item < second->rows[j].item)
				k++;
			if (k < first->row_cnt && first->rows[k].item == second->rows[j].item)
				rows[cnt++] = (struct diff_history_row){
					.item = second->rows[j].item,
					.value = second->rows[j].value - first->rows[k].value,
					.variance =
						second->rows[j].variance + first->rows[k].variance,
				};
		}
		sets[i] = (struct diff_history_set){ rows, cnt };
	}

	struct diff_side *a = sim_day(&world->sim, NULL, 0);
	struct diff_side *b = sim_day(&world->sim, NULL, 0);
	struct diff_history pairs = { DIFF_HISTORY_PAIRS, sets, SIM_HISTORY - 1, 0 };
	struct diff_input input = { world->sim.items, SIM_ITEMS, a, b, &pairs };
	struct diff_result *by_pairs = NULL;
	struct diff_result *by_days = sim_compare(&world->sim, a, b, &world->series, &options);

	assert_int_equal(diff_run(&input, &options, &by_pairs), 0);
	assert_int_equal(by_pairs->summary.calibration, DIFF_CALIBRATION_HISTORY);
	assert_int_equal(by_pairs->summary.history_pairs, SIM_HISTORY - 1);
	assert_int_equal(by_days->summary.history_pairs, SIM_HISTORY - 1);

	double pairs_drift = by_pairs->summary.families[DIFF_KIND_METHOD_SELF].between;
	double days_drift = by_days->summary.families[DIFF_KIND_METHOD_SELF].between;

	assert_true(pairs_drift > 0.8 * days_drift && pairs_drift < 1.25 * days_drift);
	diff_result__free(by_pairs);
	diff_result__free(by_days);
	diff_side__free(a);
	diff_side__free(b);
	for (size_t i = 0; i + 1 < SIM_HISTORY; i++)
		free((void *)sets[i].rows);
	world_free(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_planted_change_is_found_and_others_stay_grey),
		cmocka_unit_test(the_origin_lies_below_callers_that_grew_too),
		cmocka_unit_test(more_load_of_the_same_mix_is_scale_and_nothing_else),
		cmocka_unit_test(work_that_moves_within_a_class_is_moved),
		cmocka_unit_test(a_growth_that_only_half_of_it_pays_for_is_up),
		cmocka_unit_test(a_renamed_method_is_moved),
		cmocka_unit_test(new_and_gone_methods_are_named_so),
		cmocka_unit_test(what_is_over_by_the_evening_is_transient),
		cmocka_unit_test(steady_load_proves_that_large_methods_are_the_same),
		cmocka_unit_test(a_change_too_small_to_see_is_unresolved_not_same),
		cmocka_unit_test(without_history_there_are_verdicts_but_no_alarms),
		cmocka_unit_test(drift_that_history_knows_widens_the_intervals),
		cmocka_unit_test(morning_against_evening_raises_no_alarm_by_days),
		cmocka_unit_test(odd_history_is_survived),
		cmocka_unit_test(one_method_that_jumps_is_no_drift_of_the_others),
		cmocka_unit_test(a_few_methods_need_history),
		cmocka_unit_test(history_of_pairs_calibrates_like_history_of_days),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
