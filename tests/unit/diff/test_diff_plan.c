// SPDX-License-Identifier: Apache-2.0
/* Which blocks are compared with which: by time of day where both sides have it, else all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "user/diff/diff_plan.h"
#include "user/util/cleanup.h"

#define SECOND	1000000000ull
#define BLOCK_S 900u
#define DAY	96u /* blocks */

struct stretch {
	uint32_t first; /* block since some midnight */
	uint32_t cnt;
	uint32_t frequency_hz;
};

static struct diff_side *side_of(const struct stretch *stretches, size_t cnt)
{
	struct diff_side *side = diff_side__new(1);

	for (size_t s = 0; s < cnt; s++) {
		for (uint32_t i = 0; i < stretches[s].cnt; i++) {
			uint32_t number = stretches[s].first + i;
			struct diff_block block = {
				.start_unix_ns = (uint64_t)number * BLOCK_S * SECOND,
				.length_ns = BLOCK_S * SECOND,
				.time_of_day_s = number % DAY * BLOCK_S,
				.frequency_hz = stretches[s].frequency_hz,
				.samples = 1000 + number,
			};

			assert_int_equal(diff_side__close_block(side, &block), 0);
		}
	}
	return side;
}

static void make(const struct stretch *a, const struct stretch *b, struct diff_plan *plan)
{
	struct diff_side *before = side_of(a, a->cnt ? 1 : 0);
	struct diff_side *after = side_of(b, b->cnt ? 1 : 0);

	assert_int_equal(diff_plan_make(before, after, plan), 0);
	diff_side__free(before);
	diff_side__free(after);
}

static void sides_are_paired_where_both_cover_the_time_of_day(void **state)
{
	static const struct {
		struct stretch a;
		struct stretch b;
		bool is_paired;
		uint32_t clusters, blocks_a, blocks_b, left_a, left_b;
	} rows[] = {
		/* a day and a day; seven and seven; seven and one */
		{ { 0, 96, 49 }, { 96, 96, 49 }, true, 96, 96, 96, 0, 0 },
		{ { 0, 672, 49 }, { 672, 672, 49 }, true, 672, 672, 672, 0, 0 },
		{ { 0, 672, 49 }, { 672, 96, 49 }, true, 96, 672, 96, 0, 0 },
		/* a day and its beginning; a day and a half, beginning at noon */
		{ { 0, 96, 49 }, { 96, 20, 49 }, true, 20, 20, 20, 76, 0 },
		{ { 48, 96, 49 }, { 144, 48, 49 }, true, 48, 48, 48, 48, 0 },
		/* morning and evening; too little in common */
		{ { 0, 40, 49 }, { 48, 40, 49 }, false, 80, 40, 40, 0, 0 },
		{ { 0, 40, 49 }, { 126, 40, 49 }, false, 80, 40, 40, 0, 0 },
		/* few pairs are no pairs */
		{ { 0, 7, 49 }, { 96, 7, 49 }, false, 14, 7, 7, 0, 0 },
		/* nothing at all */
		{ { 0, 0, 49 }, { 0, 96, 49 }, false, 96, 0, 96, 0, 0 },
		{ { 0, 0, 49 }, { 0, 0, 49 }, false, 0, 0, 0, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct diff_plan plan;

		make(&rows[i].a, &rows[i].b, &plan);
		assert_int_equal(plan.is_paired, rows[i].is_paired);
		assert_int_equal(plan.cluster_cnt, rows[i].clusters);
		assert_int_equal(plan.sides[DIFF_PLAN_A].block_cnt, rows[i].blocks_a);
		assert_int_equal(plan.sides[DIFF_PLAN_B].block_cnt, rows[i].blocks_b);
		assert_int_equal(plan.sides[DIFF_PLAN_A].unpaired_cnt, rows[i].left_a);
		assert_int_equal(plan.sides[DIFF_PLAN_B].unpaired_cnt, rows[i].left_b);
		assert_int_equal(plan.first_b, rows[i].is_paired ? 0 : rows[i].blocks_a);
		diff_plan_release(&plan);
	}
}

static void every_unit_has_both_sides_and_units_go_by_time(void **state)
{
	static const struct stretch a = { 48, 672, 49 };
	static const struct stretch b = { 800, 192, 49 };
	struct diff_plan plan;

	(void)state;
	make(&a, &b, &plan);
	assert_true(plan.is_paired);
	assert_int_equal(plan.cluster_cnt, 192);
	for (uint32_t j = 0; j < plan.cluster_cnt; j++) {
		/* 7 days on 2: four days of A in one cluster, three in the other. */
		double blocks = plan.sides[DIFF_PLAN_A].seconds[j] / BLOCK_S;

		assert_true(blocks == 3 || blocks == 4);
		assert_true(plan.sides[DIFF_PLAN_B].seconds[j] == BLOCK_S);
		assert_int_equal(plan.sides[DIFF_PLAN_B].cluster_of[j], j);
	}
	/* Same time of day: blocks a multiple of a day apart. */
	for (uint32_t i = 0; i < 672; i++)
		assert_int_equal((48 + i) % DAY,
				 (800 + plan.sides[DIFF_PLAN_A].cluster_of[i]) % DAY);
	assert_int_equal(plan.late_first, 144);
	assert_true(plan.sides[DIFF_PLAN_A].days == 7);
	assert_true(plan.sides[DIFF_PLAN_B].days == 2);
	diff_plan_release(&plan);
}

static void frequencies_become_weights(void **state)
{
	static const struct stretch a = { 0, 96, 50 };
	static const struct stretch b = { 96, 96, 100 };
	static const struct stretch unknown = { 96, 96, 0 };
	struct diff_plan plan;

	(void)state;
	make(&a, &b, &plan);
	assert_int_equal(plan.frequency_hz, 50);
	assert_true(plan.sides[DIFF_PLAN_B].weight_of[3] == 0.5);
	assert_true(plan.sides[DIFF_PLAN_B].samples[0] == 0.5 * 1096);
	assert_true(plan.sides[DIFF_PLAN_B].cpu_s[0] == 1096 / 100.0);
	diff_plan_release(&plan);
	make(&a, &unknown, &plan);
	assert_true(plan.sides[DIFF_PLAN_B].weight_of[3] == 1);
	assert_true(plan.sides[DIFF_PLAN_A].cpu_total_s > 0);
	assert_false(plan.sides[DIFF_PLAN_B].cpu_total_s > 0); /* NaN */
	diff_plan_release(&plan);
}

static void gaps_and_late_starts_do_not_confuse_the_clock(void **state)
{
	/* A first block that began late and one that ended early; a hole in the night. */
	static const struct stretch first[] = { { 0, 30, 49 }, { 40, 56, 49 } };
	static const struct stretch second[] = { { 96, 96, 49 } };
	struct diff_side *a = side_of(first, ARRAY_SIZE(first));
	struct diff_side *b = side_of(second, ARRAY_SIZE(second));
	struct diff_block late = {
		.start_unix_ns = (192 * BLOCK_S + 421) * SECOND,
		.length_ns = 479 * SECOND,
		.time_of_day_s = 421,
		.frequency_hz = 49,
		.samples = 10,
	};
	struct diff_plan plan;

	(void)state;
	assert_int_equal(diff_side__close_block(b, &late), 0);
	assert_int_equal(diff_plan_make(a, b, &plan), 0);
	assert_true(plan.is_paired);
	assert_int_equal(plan.cluster_cnt, 86);
	assert_int_equal(plan.sides[DIFF_PLAN_B].unpaired_cnt, 10);
	assert_int_equal(plan.sides[DIFF_PLAN_B].block_cnt, 87); /* the late one joins slot 0 */
	diff_plan_release(&plan);
	diff_side__free(a);
	diff_side__free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sides_are_paired_where_both_cover_the_time_of_day),
		cmocka_unit_test(every_unit_has_both_sides_and_units_go_by_time),
		cmocka_unit_test(frequencies_become_weights),
		cmocka_unit_test(gaps_and_late_starts_do_not_confuse_the_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
