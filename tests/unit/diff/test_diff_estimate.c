// SPDX-License-Identifier: Apache-2.0
/*
 * Shares and variances of items against figures of an independent implementation
 * (tests/fixtures/diff/estimate.txt, see make-fixtures there).
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "user/diff/diff_estimate.h"
#include "user/util/cleanup.h"

#define ESTIMATE_FILE  "tests/fixtures/diff/estimate.txt"
#define LINE_MAX_BYTES 8192
#define UNITS_MAX      128
#define ITEMS_MAX      8
#define BLOCK_S	       900u
#define SECOND	       1000000000ull
#define FIGURES	       6

static void read_line(FILE *file, double *out, size_t cnt)
{
	char line[LINE_MAX_BYTES];
	char *at = line;

	assert_non_null(fgets(line, sizeof(line), file));
	for (size_t i = 0; i < cnt; i++) {
		char *end = NULL;

		out[i] = strtod(at, &end);
		assert_true(end != at);
		at = end;
	}
}

/* Blocks at the same times of day when `day` differs, at other ones when `offset` does. */
static struct diff_side *read_side(FILE *file, uint32_t first_block, size_t clusters, size_t items)
{
	static double totals[UNITS_MAX];
	static double counts[ITEMS_MAX][UNITS_MAX];
	struct diff_side *side = diff_side__new(0);

	read_line(file, totals, clusters);
	for (size_t i = 0; i < items; i++)
		read_line(file, counts[i], clusters);
	for (uint32_t j = 0; j < clusters; j++) {
		struct diff_block block = {
			.start_unix_ns = (uint64_t)(first_block + j) * BLOCK_S * SECOND,
			.length_ns = BLOCK_S * SECOND,
			.time_of_day_s = (first_block + j) % 96 * BLOCK_S,
			.frequency_hz = 49,
			.samples = (uint64_t)totals[j],
		};

		for (uint32_t i = 0; i < items; i++)
			assert_int_equal(diff_side__add(side, i, (uint64_t)counts[i][j]), 0);
		assert_int_equal(diff_side__close_block(side, &block), 0);
	}
	return side;
}

static void check_case(FILE *file, bool is_paired, size_t clusters, uint32_t items)
{
	struct diff_side *sides[DIFF_PLAN_SIDES];
	struct diff_counts counts[DIFF_PLAN_SIDES];
	struct diff_estimate estimates[ITEMS_MAX];
	struct diff_plan plan;

	sides[DIFF_PLAN_A] = read_side(file, 0, clusters, items);
	sides[DIFF_PLAN_B] = read_side(file, is_paired ? 96 : 96 + 48, clusters, items);
	assert_int_equal(diff_plan_make(sides[DIFF_PLAN_A], sides[DIFF_PLAN_B], &plan), 0);
	assert_int_equal(plan.is_paired, is_paired);
	for (int s = 0; s < DIFF_PLAN_SIDES; s++)
		assert_int_equal(diff_counts_make(sides[s], &plan.sides[s], items, &counts[s]), 0);
	assert_int_equal(diff_estimate_items(&plan, counts, items, estimates), 0);
	for (uint32_t i = 0; i < items; i++) {
		const struct diff_estimate *at = &estimates[i];
		const double is[FIGURES] = { at->share[0], at->share[1], at->mult[0],
					     at->mult[1],  at->residual, at->lag };
		double wanted[FIGURES];

		read_line(file, wanted, FIGURES);
		for (int f = 0; f < FIGURES; f++)
			if (fabs(is[f] - wanted[f]) > 1e-9 * fmax(fabs(wanted[f]), 1e-6))
				fail_msg("item %u figure %d: %.17g, not %.17g", i, f, is[f],
					 wanted[f]);
	}
	for (int s = 0; s < DIFF_PLAN_SIDES; s++) {
		diff_counts_release(&counts[s]);
		diff_side__free(sides[s]);
	}
	diff_plan_release(&plan);
}

static void estimates_equal_independent_figures(void **state)
{
	__cleanup_file FILE *file = fopen(ESTIMATE_FILE, "re");
	char line[LINE_MAX_BYTES];
	size_t cases = 0;

	(void)state;
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		char *at = line + strlen("case ");
		long paired = strtol(at, &at, 10);
		long clusters = strtol(at, &at, 10);
		long items = strtol(at, &at, 10);

		assert_memory_equal(line, "case ", 5);
		assert_true(clusters > 0 && clusters <= UNITS_MAX && items > 0 &&
			    items <= ITEMS_MAX);
		check_case(file, paired == 1, (size_t)clusters, (uint32_t)items);
		cases++;
	}
	assert_int_equal(cases, 3);
}

static void scatter_of_rows_is_what_the_formula_says(void **state)
{
	static const double row[] = { 1, -1, 1, -1, 1, -1, 1, -1, 1, -1 };
	double lag = 0;

	(void)state;
	/* Alternating: neighbours are opposite, and bias is taken off: -0.9 + (1 - 3.6) / 10. */
	assert_true(fabs(diff_estimate_scatter(row, 10, 0, &lag) - 10 * 10 / 9.0) < 1e-12);
	assert_true(fabs(lag - (-0.9 + (1 - 3.6) / 10)) < 1e-12);
	/* Two rows of five: the border does not count as neighbours. */
	assert_true(fabs(diff_estimate_scatter(row, 10, 5, &lag) - 10 * 10 / 8.0) < 1e-12);
	assert_true(fabs(lag - (-0.8 + (1 - 3.2) * 2 / 10)) < 1e-12);
	/* Too short to tell. */
	diff_estimate_scatter(row, 4, 0, &lag);
	assert_true(isnan(lag));
	assert_true(diff_estimate_scatter(row, 1, 0, &lag) == 0);
	assert_true(diff_estimate_scatter(row, 0, 0, &lag) == 0);
}

static void correlation_stretches_within_bounds(void **state)
{
	(void)state;
	assert_true(diff_estimate_stretch(NAN) == 1);
	assert_true(diff_estimate_stretch(-0.5) == 1);
	assert_true(diff_estimate_stretch(0) == 1);
	assert_true(diff_estimate_stretch(0.5) == 3);
	assert_true(fabs(diff_estimate_stretch(0.99) - 9) < 1e-12);
}

static void a_large_method_varies_more_against_the_rest(void **state)
{
	static const struct {
		double share;
		bool is_sum;
		double factor;
	} rows[] = {
		{ 0, false, 1 },   { 0.2, false, 1.5625 }, { 0.5, false, 4 },	{ 0.9, false, 100 },
		{ 1, false, 1e4 }, { 0.2, true, 1.5625 },  { 0.5, true, 4 },	{ 0.9, true, 4 },
		{ 1, true, 4 },	   { 1.2, true, 4 },	   { 1.2, false, 1e4 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct diff_estimate at = {
			.mult = { 2, 3 }, .pooled = 5, .residual = 7, .lag = 0.5, .leverage = 1
		};

		diff_estimate_against_rest(&at, rows[i].share, rows[i].is_sum);
		assert_true(fabs(at.leverage / rows[i].factor - 1) < 1e-9);
		assert_true(fabs(at.mult[0] - 2 * at.leverage) < 1e-9);
		assert_true(fabs(at.mult[1] - 3 * at.leverage) < 1e-9);
		assert_true(fabs(at.pooled - 5 * at.leverage) < 1e-9);
		assert_true(fabs(at.residual - 7 * at.leverage) < 1e-9);
		assert_true(at.lag == 0.5);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(estimates_equal_independent_figures),
		cmocka_unit_test(scatter_of_rows_is_what_the_formula_says),
		cmocka_unit_test(correlation_stretches_within_bounds),
		cmocka_unit_test(a_large_method_varies_more_against_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
