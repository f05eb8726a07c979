// SPDX-License-Identifier: Apache-2.0
/*
 * Distributions against figures of an independent implementation (tests/fixtures/diff, see
 * make-fixtures there), and what must hold at the edges.
 */
#include <errno.h>
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

#include "user/diff/diff_math.h"
#include "user/util/cleanup.h"

#define MATH_FILE      "tests/fixtures/diff/math.txt"
#define BH_FILE	       "tests/fixtures/diff/bh.txt"
#define LINE_MAX_BYTES 8192
#define NUMBERS_MAX    128

static size_t read_numbers(const char *text, double *out)
{
	size_t cnt = 0;

	for (char *end = NULL; cnt < NUMBERS_MAX; text = end) {
		double value = strtod(text, &end);

		if (end == text)
			break;
		out[cnt++] = value;
	}
	return cnt;
}

static bool is_close(double is, double wanted, double tolerance)
{
	if (isnan(wanted))
		return isnan(is);
	return fabs(is - wanted) <= tolerance * fmax(fabs(wanted), 1e-300);
}

static double call(const char *name, const double *at)
{
	if (!strcmp(name, "normal_tail"))
		return diff_math_normal_tail(at[0]);
	if (!strcmp(name, "normal_quantile"))
		return diff_math_normal_quantile(at[0]);
	if (!strcmp(name, "t_tail"))
		return diff_math_t_tail(at[0], at[1]);
	if (!strcmp(name, "t_quantile"))
		return diff_math_t_quantile(at[0], at[1]);
	if (!strcmp(name, "trigamma"))
		return diff_math_trigamma(at[0]);
	if (!strcmp(name, "trigamma_inverse"))
		return diff_math_trigamma_inverse(at[0]);
	if (!strcmp(name, "margin_p"))
		return diff_math_margin_p(at[0], at[1], at[2], at[3]);
	return NAN;
}

static void functions_equal_independent_figures(void **state)
{
	__cleanup_file FILE *file = fopen(MATH_FILE, "re");
	char line[LINE_MAX_BYTES];
	size_t rows = 0;

	(void)state;
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		double numbers[NUMBERS_MAX];
		char *blank = strchr(line, ' ');

		assert_non_null(blank);
		*blank = '\0';

		size_t cnt = read_numbers(blank + 1, numbers);

		assert_true(cnt >= 2);

		double is = call(line, numbers);
		/* The median of a distribution is 0 only up to rounding of the tail. */
		bool is_near_zero = fabs(numbers[cnt - 1]) < 1e-12 && fabs(is) < 1e-12;

		if (!is_near_zero && !is_close(is, numbers[cnt - 1], 1e-9))
			fail_msg("%s %s= %.17g", line, blank + 1, is);
		rows++;
	}
	assert_true(rows > 400);
}

static void bh_equals_its_definition(void **state)
{
	__cleanup_file FILE *file = fopen(BH_FILE, "re");
	char line[LINE_MAX_BYTES];
	size_t families = 0;

	(void)state;
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		double p[NUMBERS_MAX];
		double wanted[NUMBERS_MAX];
		double q[NUMBERS_MAX];
		size_t cnt = read_numbers(line, p);

		assert_non_null(fgets(line, sizeof(line), file));
		assert_int_equal(read_numbers(line, wanted), cnt);
		assert_int_equal(diff_math_bh(p, cnt, q), 0);
		for (size_t i = 0; i < cnt; i++)
			assert_true(is_close(q[i], wanted[i], 1e-12));
		/* In place. */
		assert_int_equal(diff_math_bh(p, cnt, p), 0);
		for (size_t i = 0; i < cnt; i++)
			assert_true(is_close(p[i], wanted[i], 1e-12));
		families++;
	}
	assert_int_equal(families, 6);
	assert_int_equal(diff_math_bh(NULL, 0, NULL), 0);
}

static void what_makes_no_sense_is_nan(void **state)
{
	(void)state;
	assert_true(isnan(diff_math_t_tail(1, 0)));
	assert_true(isnan(diff_math_t_tail(1, -3)));
	assert_true(isnan(diff_math_t_tail(1, NAN)));
	assert_true(isnan(diff_math_t_tail(NAN, 3)));
	assert_true(isnan(diff_math_t_quantile(0.1, 0)));
	assert_true(isnan(diff_math_t_quantile(1.5, 3)));
	assert_true(isnan(diff_math_t_quantile(NAN, 3)));
	assert_true(isnan(diff_math_normal_quantile(-0.1)));
	assert_true(isnan(diff_math_normal_quantile(NAN)));
	assert_true(isnan(diff_math_trigamma(0)));
	assert_true(isnan(diff_math_trigamma_inverse(0)));
	assert_true(isnan(diff_math_median(NULL, 0)));
}

static void edges_of_distributions_are_reached(void **state)
{
	(void)state;
	assert_true(diff_math_t_tail(INFINITY, 3) == 0);
	assert_true(diff_math_t_tail(-INFINITY, 3) == 1);
	assert_true(diff_math_t_tail(0, 3) == 0.5);
	assert_true(isinf(diff_math_t_quantile(0, 3)));
	assert_true(diff_math_t_quantile(1, 3) < 0);
	assert_true(isinf(diff_math_normal_quantile(0)));
	assert_true(diff_math_t_tail(2, INFINITY) == diff_math_normal_tail(2));
	/* No error at all: everything is sure. */
	assert_true(diff_math_margin_p(0.02, 0, 5, 0.01) == 0);
	assert_true(diff_math_margin_p(0.005, 0, 5, 0.01) == 1);
}

static void quantiles_undo_tails(void **state)
{
	(void)state;
	for (double df = 0.5; df < 2000; df *= 1.7)
		for (double tail = 1e-14; tail < 0.5; tail *= 7)
			assert_true(is_close(diff_math_t_tail(diff_math_t_quantile(tail, df), df),
					     tail, 1e-10));
}

static double naive_median(const double *values, size_t first, size_t end)
{
	double kept[64];
	size_t cnt = 0;

	for (size_t i = first; i < end; i++)
		if (!isnan(values[i]))
			kept[cnt++] = values[i];
	return diff_math_median(kept, cnt);
}

static void running_median_equals_medians(void **state)
{
	double values[40];
	double is[40];

	(void)state;
	for (size_t i = 0; i < 40; i++)
		values[i] = i % 7 == 3 ? NAN : (double)(i * 29 % 11);
	for (size_t cnt = 0; cnt <= 40; cnt += 5) {
		static const size_t halves[] = { 0, 1, 2, 7, 19, 20, 39, 40, 1000 };

		for (size_t h = 0; h < ARRAY_SIZE(halves); h++) {
			assert_int_equal(diff_math_running_median(values, cnt, halves[h], is), 0);
			for (size_t i = 0; i < cnt; i++) {
				size_t first = i > halves[h] ? i - halves[h] : 0;
				size_t end = cnt - i > halves[h] ? i + halves[h] + 1 : cnt;
				double wanted = naive_median(values, first, end);

				assert_true(isnan(wanted) ? isnan(is[i]) : is[i] == wanted);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_equal_independent_figures),
		cmocka_unit_test(bh_equals_its_definition),
		cmocka_unit_test(what_makes_no_sense_is_nan),
		cmocka_unit_test(edges_of_distributions_are_reached),
		cmocka_unit_test(quantiles_undo_tails),
		cmocka_unit_test(running_median_equals_medians),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
