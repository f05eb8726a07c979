// SPDX-License-Identifier: Apache-2.0
/*
 * Sides made by hand: what cannot be compared is not, the plain figures are right, nonsense is
 * refused, and whatever else comes in, what comes out makes sense.
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

struct flat {
	uint32_t blocks;
	uint32_t frequency_hz;
	uint32_t event;
	uint32_t samples; /* in each block, half of them for item 0, the rest for 1 .. 11 */
	uint32_t lost;
	uint32_t unknown_frames; /* of 10 for each sample, in percent */
	uint32_t truncated;
	uint32_t young; /* blocks that are left out, on top of `blocks` */
	uint32_t other_stacks;
};

#define FLAT_ITEMS 12u

static struct diff_side *flat_side(const struct flat *flat, uint32_t day)
{
	struct diff_side *side = diff_side__new(flat->event);

	for (uint32_t b = 0; b < flat->blocks; b++) {
		struct diff_block block = {
			.start_unix_ns = (day * 86400ull + b * 900ull) * SECOND,
			.length_ns = 900 * SECOND,
			.time_of_day_s = b * 900 % 86400,
			.frequency_hz = flat->frequency_hz,
			.samples = flat->samples,
			.lost_samples = flat->lost,
			.frames = 10ull * flat->samples,
			.unknown_frames = flat->samples / 10 * flat->unknown_frames,
			.truncated_samples = flat->truncated,
			.other_stack_samples = flat->other_stacks,
		};

		for (uint32_t i = 0; i < FLAT_ITEMS; i++)
			assert_int_equal(diff_side__add(side, i,
							i ? flat->samples / 22 + (b * i) % 3 :
							    flat->samples / 2),
					 0);
		assert_int_equal(diff_side__close_block(side, &block), 0);
	}
	for (uint32_t b = 0; b < flat->young; b++)
		diff_side__leave_out_young(side);
	return side;
}

static struct diff_result *compare_flat(const struct flat *a, const struct flat *b)
{
	struct diff_item items[FLAT_ITEMS];
	struct diff_options options = diff_options_default();
	struct diff_side *before = flat_side(a, 0);
	struct diff_side *after = flat_side(b, 1);
	struct diff_input input = {
		.items = items, .item_cnt = FLAT_ITEMS, .a = before, .b = after
	};
	struct diff_result *result = NULL;

	for (uint32_t i = 0; i < FLAT_ITEMS; i++)
		items[i] = (struct diff_item){ DIFF_KIND_METHOD_SELF, DIFF_NONE, DIFF_NONE,
					       DIFF_NONE };
	assert_int_equal(diff_run(&input, &options, &result), 0);
	diff_side__free(before);
	diff_side__free(after);
	return result;
}

#define GOOD                                                                            \
	{                                                                               \
		.blocks = 96, .frequency_hz = 49, .samples = 9000, .unknown_frames = 2, \
		.truncated = 100                                                        \
	}

static void gates_say_what_is_not_comparable(void **state)
{
	static const struct {
		struct flat a;
		struct flat b;
		int failed; /* DIFF_GATE_CNT = none */
		enum diff_mode mode;
	} rows[] = {
		{ GOOD, GOOD, DIFF_GATE_CNT, DIFF_MODE_STATISTICAL },
		{ GOOD,
		  { 96, 99, 0, 18000, 0, 2, 200, 0, 0 },
		  DIFF_GATE_CNT,
		  DIFF_MODE_STATISTICAL },
		{ GOOD,
		  { 96, 49, 5, 9000, 0, 2, 100, 0, 0 },
		  DIFF_GATE_EVENT,
		  DIFF_MODE_STATISTICAL },
		{ GOOD,
		  { 96, 0, 0, 9000, 0, 2, 100, 0, 0 },
		  DIFF_GATE_FREQUENCY,
		  DIFF_MODE_STATISTICAL },
		{ { 96, 49, 0, 9000, 600, 2, 100, 0, 0 },
		  GOOD,
		  DIFF_GATE_LOST_A,
		  DIFF_MODE_STATISTICAL },
		{ GOOD,
		  { 96, 49, 0, 9000, 600, 2, 100, 0, 0 },
		  DIFF_GATE_LOST_B,
		  DIFF_MODE_STATISTICAL },
		{ GOOD,
		  { 96, 49, 0, 9000, 400, 2, 100, 0, 0 },
		  DIFF_GATE_CNT,
		  DIFF_MODE_STATISTICAL },
		{ GOOD,
		  { 96, 49, 0, 9000, 0, 4, 100, 0, 0 },
		  DIFF_GATE_UNKNOWN,
		  DIFF_MODE_STATISTICAL },
		{ GOOD,
		  { 96, 49, 0, 9000, 0, 2, 300, 0, 0 },
		  DIFF_GATE_TRUNCATED,
		  DIFF_MODE_STATISTICAL },
		{ { 96, 49, 0, 9000, 0, 100, 100, 0, 0 },
		  { 96, 49, 0, 9000, 0, 100, 100, 0, 0 },
		  DIFF_GATE_UNKNOWN_LEVEL,
		  DIFF_MODE_DESCRIPTIVE },
		{ { 96, 49, 0, 9000, 0, 2, 100, 0, 451 },
		  GOOD,
		  DIFF_GATE_OTHER_STACKS,
		  DIFF_MODE_STATISTICAL },
		{ GOOD,
		  { 96, 49, 0, 9000, 0, 2, 100, 0, 451 },
		  DIFF_GATE_OTHER_STACKS,
		  DIFF_MODE_STATISTICAL },
		{ GOOD,
		  { 96, 49, 0, 9000, 0, 2, 100, 0, 450 },
		  DIFF_GATE_CNT,
		  DIFF_MODE_STATISTICAL },
		{ GOOD,
		  { 7, 49, 0, 9000, 0, 2, 100, 0, 0 },
		  DIFF_GATE_BLOCKS,
		  DIFF_MODE_DESCRIPTIVE },
		{ GOOD,
		  { 1, 49, 0, 9000, 0, 2, 100, 0, 0 },
		  DIFF_GATE_BLOCKS,
		  DIFF_MODE_DESCRIPTIVE },
		{ GOOD, { 8, 49, 0, 9000, 0, 2, 100, 0, 0 }, DIFF_GATE_CNT, DIFF_MODE_STATISTICAL },
		{ GOOD,
		  { 0, 49, 0, 9000, 0, 2, 100, 96, 0 },
		  DIFF_GATE_BLOCKS,
		  DIFF_MODE_DESCRIPTIVE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct diff_result *result = compare_flat(&rows[i].a, &rows[i].b);

		/* All blocks are left out: everything else fails, too. */
		if (!rows[i].b.young) {
			for (int gate = 0; gate < DIFF_GATE_CNT; gate++)
				assert_int_equal(result->summary.gates[gate].passed,
						 gate != rows[i].failed);
		} else {
			assert_int_equal(result->summary.warm_up_b, 96);
			assert_false(result->summary.gates[DIFF_GATE_BLOCKS].passed);
		}
		assert_int_equal(result->summary.gates_passed, rows[i].failed == DIFF_GATE_CNT);
		assert_int_equal(result->summary.mode, rows[i].mode);
		assert_int_equal(result->summary.alarm_cnt, 0);
		for (uint32_t r = 0; r < result->row_cnt; r++) {
			if (rows[i].mode == DIFF_MODE_STATISTICAL)
				continue;
			assert_int_equal(result->rows[r].verdict, DIFF_VERDICT_UNRESOLVED);
			assert_true(isnan(result->rows[r].q));
			assert_true(isnan(result->rows[r].change.low));
		}
		diff_result__free(result);
	}
}

static void different_frequencies_are_scaled_away(void **state)
{
	static const struct flat a = GOOD;
	static const struct flat b = { .blocks = 96,
				       .frequency_hz = 98,
				       .samples = 18000,
				       .unknown_frames = 2,
				       .truncated = 200 };
	struct diff_result *result = compare_flat(&a, &b);

	(void)state;
	assert_true(fabs(result->summary.load.value) < 1e-9);
	assert_true(fabs(result->summary.samples_b - result->summary.samples_a) < 1e-6);
	assert_true(fabs(result->rows[0].cores_b - result->rows[0].cores_a) < 1e-9);
	assert_int_equal(result->rows[0].samples_b, 2 * result->rows[0].samples_a);
	assert_int_equal(result->rows[0].verdict, DIFF_VERDICT_SAME);
	diff_result__free(result);
}

static void both_scales_are_shown(void **state)
{
	static const struct flat flat = GOOD;
	struct diff_result *result = compare_flat(&flat, &flat);

	(void)state;
	assert_true(fabs(result->rows[0].share_a - 0.5) < 1e-12);
	assert_true(fabs(result->rows[0].cores_a - 4500 / 49.0 / 900) < 1e-12);
	diff_result__free(result);
}

static void empty_sides_are_described(void **state)
{
	static const struct flat rows[][2] = {
		{ { 0 }, { 0 } },
		{ { 0 }, GOOD },
		{ GOOD, { 0 } },
		{ { .blocks = 96, .frequency_hz = 49 },
		  { .blocks = 96, .frequency_hz = 49 } }, /* no samples */
		{ { .blocks = 96, .frequency_hz = 49 }, GOOD },
		{ { .blocks = 1, .frequency_hz = 49, .samples = 9000 },
		  { .blocks = 1, .frequency_hz = 49, .samples = 9000 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct diff_result *result = compare_flat(&rows[i][0], &rows[i][1]);

		assert_int_equal(result->summary.mode, DIFF_MODE_DESCRIPTIVE);
		assert_false(result->summary.gates[DIFF_GATE_BLOCKS].passed);
		assert_int_equal(result->rows[0].verdict, DIFF_VERDICT_UNRESOLVED);
		assert_false(isnan(result->rows[0].share_a));
		diff_result__free(result);
	}
}

/* Something that runs in every other block, on each day. */
static struct diff_side *rhythmic_day(uint32_t day)
{
	struct diff_side *side = diff_side__new(0);

	for (uint32_t b = 0; b < 96; b++) {
		struct diff_block block = {
			.start_unix_ns = (day * 86400ull + b * 900ull) * SECOND,
			.length_ns = 900 * SECOND,
			.time_of_day_s = b * 900,
			.frequency_hz = 49,
			.samples = 10000,
		};

		assert_int_equal(diff_side__add(side, 0, b % 2 ? 1500 : 500), 0);
		assert_int_equal(diff_side__add(side, 1, 9), 0); /* under the share asked for */
		assert_int_equal(diff_side__add(side, 2, 100), 0);
		assert_int_equal(diff_side__close_block(side, &block), 0);
	}
	return side;
}

static void a_day_is_measured_against_the_rhythm_of_the_day_before(void **state)
{
	struct diff_side *before = rhythmic_day(0);
	struct diff_side *day = rhythmic_day(1);
	struct diff_side *nothing = diff_side__new(0);
	struct diff_history_row *rows = NULL;
	size_t cnt = 0;

	(void)state;
	assert_int_equal(diff_history_measure_day(before, day, 3, 0.001, &rows, &cnt), 0);
	assert_int_equal(cnt, 2);
	assert_int_equal(rows[0].item, 0);
	assert_int_equal(rows[1].item, 2);
	assert_true(fabsf(rows[0].value - logf(0.1f)) < 1e-6f);
	/* Nothing but counting is left: 96000 samples of a share of 0.1. */
	assert_true(fabsf(rows[0].variance / (0.9f / 96000.5f) - 1) < 1e-3f);
	free(rows);
	/* The first day of a series sees its rhythm as scatter. */
	assert_int_equal(diff_history_measure_day(NULL, day, 3, 0.001, &rows, &cnt), 0);
	assert_int_equal(cnt, 2);
	assert_true(rows[0].variance > 100 * 0.9f / 96000.5f);
	assert_true(fabsf(rows[1].variance / (0.99f / 9600.5f) - 1) < 1e-3f);
	free(rows);
	assert_int_equal(diff_history_measure_day(before, nothing, 3, 0.001, &rows, &cnt), 0);
	assert_int_equal(cnt, 0);
	free(rows);
	diff_side__free(before);
	diff_side__free(day);
	diff_side__free(nothing);
}

static void a_pair_is_measured_without_its_common_rhythm(void **state)
{
	struct diff_side *before = rhythmic_day(0);
	struct diff_side *after = rhythmic_day(1);
	struct diff_side *nothing = diff_side__new(0);
	struct diff_history_row *rows = NULL;
	size_t cnt = 0;

	(void)state;
	assert_int_equal(diff_history_measure_pair(before, after, 3, 0.001, &rows, &cnt), 0);
	assert_int_equal(cnt, 2);
	assert_int_equal(rows[0].item, 0);
	assert_int_equal(rows[1].item, 2);
	assert_true(fabsf(rows[0].value) < 1e-6f);
	/* Counting on both sides is left. */
	assert_true(fabsf(rows[0].variance / (2 * 0.9f / 96000.5f) - 1) < 1e-3f);
	free(rows);
	assert_int_equal(diff_history_measure_pair(before, after, 3, 0, &rows, &cnt), 0);
	assert_int_equal(cnt, 3);
	free(rows);
	assert_int_equal(diff_history_measure_pair(before, nothing, 3, 0, &rows, &cnt), 0);
	assert_int_equal(cnt, 0);
	free(rows);
	diff_side__free(before);
	diff_side__free(after);
	diff_side__free(nothing);
}

static void input_that_makes_no_sense_is_refused(void **state)
{
	static const struct diff_item good = { DIFF_KIND_METHOD_SELF, DIFF_NONE, DIFF_NONE,
					       DIFF_NONE };
	static const struct diff_item bad[] = {
		{ DIFF_KIND_CNT, DIFF_NONE, DIFF_NONE, DIFF_NONE },
		{ (enum diff_kind)77, DIFF_NONE, DIFF_NONE, DIFF_NONE },
		{ DIFF_KIND_METHOD_SELF, 2, DIFF_NONE, DIFF_NONE }, /* out of range */
		{ DIFF_KIND_METHOD_SELF, 0, DIFF_NONE, DIFF_NONE }, /* not a group */
		{ DIFF_KIND_CLASS_SELF, 1, DIFF_NONE, DIFF_NONE },  /* itself */
		{ DIFF_KIND_METHOD_SELF, DIFF_NONE, 0, DIFF_NONE }, /* not a total */
		{ DIFF_KIND_PATH, DIFF_NONE, DIFF_NONE, 1 },	    /* its own parent */
		{ DIFF_KIND_PATH, DIFF_NONE, DIFF_NONE, 0 },	    /* parent is no path */
		{ DIFF_KIND_PATH, DIFF_NONE, 9, DIFF_NONE },
	};
	struct diff_options options = diff_options_default();
	struct diff_side *side = diff_side__new(0);
	struct diff_result *result = NULL;
	struct diff_item items[2] = { good, good };
	struct diff_input input = { .items = items, .item_cnt = 2, .a = side, .b = side };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		items[1] = bad[i];
		assert_int_equal(diff_run(&input, &options, &result), -EINVAL);
	}
	items[1] = good;
	options.q_shown = 0;
	assert_int_equal(diff_run(&input, &options, &result), -EINVAL);
	options = diff_options_default();
	options.relevant_relative = NAN;
	assert_int_equal(diff_run(&input, &options, &result), -EINVAL);
	options = diff_options_default();
	options.history_min = 0;
	assert_int_equal(diff_run(&input, &options, &result), -EINVAL);
	assert_null(result);
	options = diff_options_default();
	input.item_cnt = 0;
	assert_int_equal(diff_run(&input, &options, &result), 0);
	assert_int_equal(result->row_cnt, 0);
	diff_result__free(result);
	diff_result__free(NULL);
	diff_side__free(side);
}

/* ---- anything at all ---- */

#define ODD_ITEMS 60u

static uint64_t odd_number(struct sim *dice)
{
	static const uint64_t edges[] = { 0, 1, 2, 19, 20, 199, 200, UINT32_MAX, UINT64_MAX };
	uint64_t drawn = sim_u64(dice);

	if (drawn % 4 == 0)
		return edges[(drawn >> 8) % ARRAY_SIZE(edges)];
	return (drawn >> 8) % (drawn % 4 == 1 ? 10 : 5000);
}

static struct diff_side *odd_side(struct sim *dice)
{
	struct diff_side *side = diff_side__new(sim_u64(dice) % 8 == 0);
	uint32_t blocks = (uint32_t)(sim_u64(dice) % 40);
	uint64_t start_s = sim_u64(dice) % 200000;

	for (uint32_t b = 0; b < blocks; b++) {
		bool is_wild = sim_u64(dice) % 8 == 0;
		struct diff_block block = {
			.start_unix_ns = start_s * SECOND,
			.length_ns = (1 + sim_u64(dice) % 900) * SECOND,
			.time_of_day_s = (uint32_t)(start_s % 86400),
			.frequency_hz = is_wild ? (uint32_t)odd_number(dice) : 49,
			.samples = is_wild ? odd_number(dice) : 20000,
			.cpu_s = is_wild ? (double)odd_number(dice) : 0,
			.lost_samples = is_wild ? odd_number(dice) : 0,
			.frames = is_wild ? odd_number(dice) : 100000,
			.unknown_frames = is_wild ? odd_number(dice) : 0,
			.truncated_samples = is_wild ? odd_number(dice) : 0,
		};

		start_s += 900;
		for (uint32_t i = 0; i < ODD_ITEMS; i++)
			if (sim_u64(dice) % 3)
				assert_int_equal(diff_side__add(side, i,
								is_wild ? odd_number(dice) :
									  300 + i),
						 0);
		assert_int_equal(diff_side__close_block(side, &block), 0);
	}
	return side;
}

/* Any link that diff_run() takes. */
static void odd_items(struct sim *dice, struct diff_item *items)
{
	for (uint32_t i = 0; i < ODD_ITEMS; i++) {
		/* Groups at the end, methods with what they call before, places before these. */
		enum diff_kind kind = i < 20 ? DIFF_KIND_METHOD_SELF :
				      i < 35 ? DIFF_KIND_PATH :
				      i < 48 ? DIFF_KIND_METHOD_TOTAL :
					       (enum diff_kind)(sim_u64(dice) % DIFF_KIND_PATH);
		bool has_method = kind == DIFF_KIND_METHOD_SELF || kind == DIFF_KIND_PATH;

		items[i] = (struct diff_item){ kind, DIFF_NONE, DIFF_NONE, DIFF_NONE };
		if (i >= 48 && kind < DIFF_KIND_CLASS_SELF)
			items[i].kind = DIFF_KIND_CLASS_TOTAL;
		if (sim_u64(dice) % 4)
			items[i].group = 48 + (uint32_t)(sim_u64(dice) % (ODD_ITEMS - 48));
		if (items[i].group == i)
			items[i].group = DIFF_NONE;
		if (has_method && sim_u64(dice) % 4)
			items[i].method = 35 + (uint32_t)(sim_u64(dice) % 13);
		if (kind == DIFF_KIND_PATH && i > 20 && sim_u64(dice) % 4)
			items[i].parent = 20 + (uint32_t)(sim_u64(dice) % (i - 20));
	}
}

static void check_row(const struct diff_result *result, const struct diff_row *row)
{
	assert_true((unsigned int)row->verdict < DIFF_VERDICT_CNT);
	assert_true(isfinite(row->share_a) && isfinite(row->share_b));
	assert_true(row->moved_with == DIFF_NONE || row->moved_with < ODD_ITEMS);
	assert_true(row->origin == DIFF_NONE || row->origin < ODD_ITEMS);
	if (result->summary.mode == DIFF_MODE_DESCRIPTIVE) {
		assert_int_equal(row->verdict, DIFF_VERDICT_UNRESOLVED);
		assert_false(row->is_tested);
		return;
	}
	if (!isnan(row->error)) {
		assert_true(row->error >= 0 && isfinite(row->error));
		assert_true(row->change.low <= row->change.value);
		assert_true(row->change.value <= row->change.high);
		assert_true(row->points.low <= row->points.value);
		assert_true(row->points.value <= row->points.high);
		assert_true(row->df >= 1);
		assert_int_equal(row->detectable > 0,
				 result->summary.calibration != DIFF_CALIBRATION_NONE);
	}
	if (row->is_tested) {
		assert_true(row->p >= 0 && row->p <= 1 && row->q >= row->p && row->q <= 1);
		assert_true(row->p_any >= 0 && row->p_any <= 1);
	} else {
		assert_true(isnan(row->p) && isnan(row->q));
		assert_false(row->is_alarm);
	}
}

static void anything_that_counts_is_compared_without_nonsense(void **state)
{
	const struct sim_config config = { .seed = 4 };
	struct sim *dice = calloc(1, sizeof(*dice));
	uint32_t statistical = 0;

	(void)state;
	assert_non_null(dice);
	sim_init(dice, &config);
	for (int round = 0; round < 400; round++) {
		struct diff_options options = diff_options_default();
		struct diff_side *a = odd_side(dice);
		struct diff_side *b = odd_side(dice);
		struct diff_item items[ODD_ITEMS];
		struct diff_input input = { .items = items, .item_cnt = ODD_ITEMS, .a = a, .b = b };
		struct diff_result *result = NULL;

		odd_items(dice, items);
		options.alarm_without_history = true;
		options.prior_df = round % 2 ? 4 : 0;
		assert_int_equal(diff_run(&input, &options, &result), 0);
		statistical += result->summary.mode == DIFF_MODE_STATISTICAL;
		for (uint32_t i = 0; i < result->row_cnt; i++)
			check_row(result, &result->rows[i]);
		diff_result__free(result);
		diff_side__free(a);
		diff_side__free(b);
	}
	assert_true(statistical > 100);
	free(dice);
}

static void names_are_there_for_all(void **state)
{
	(void)state;
	for (int i = 0; i < DIFF_VERDICT_CNT; i++)
		assert_true(diff_verdict_name((enum diff_verdict)i)[0]);
	for (int i = 0; i < DIFF_GATE_CNT; i++)
		assert_true(diff_gate_name((enum diff_gate)i)[0]);
	assert_string_equal(diff_verdict_name(DIFF_VERDICT_CNT), "");
	assert_string_equal(diff_gate_name(DIFF_GATE_CNT), "");
	assert_string_equal(diff_verdict_name(DIFF_VERDICT_UNRESOLVED), "unresolved");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gates_say_what_is_not_comparable),
		cmocka_unit_test(different_frequencies_are_scaled_away),
		cmocka_unit_test(both_scales_are_shown),
		cmocka_unit_test(empty_sides_are_described),
		cmocka_unit_test(a_day_is_measured_against_the_rhythm_of_the_day_before),
		cmocka_unit_test(a_pair_is_measured_without_its_common_rhythm),
		cmocka_unit_test(input_that_makes_no_sense_is_refused),
		cmocka_unit_test(anything_that_counts_is_compared_without_nonsense),
		cmocka_unit_test(names_are_there_for_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
