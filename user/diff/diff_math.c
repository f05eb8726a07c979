// SPDX-License-Identifier: Apache-2.0
/*
 * Normal and Student distributions on top of libm's erfc() and lgamma(). Student's tail is half an
 * incomplete beta function with second parameter 1/2, by its continued fraction (modified Lentz).
 * Quantiles start from an approximation and are polished by Newton steps on the tail itself.
 */
#include "user/diff/diff_math.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "user/util/cleanup.h"

#define FRACTION_STEPS_MAX 100000 /* needs about sqrt(max(a, b)) of them */
#define NEWTON_STEPS_MAX   200
#define GAMMA_RATIO_SERIES 40.0 /* from here on the series is exact to the last digits */
#define EXPANSION_DF	   1e5
#define EXPANSION_T4	   1e-3 /* t^4 / df below which two terms leave less than 1e-11 */
#define NORMAL_DF	   1e15 /* from here on Student's distribution is normal to 1e-15 */

double diff_math_normal_tail(double z)
{
	return 0.5 * erfc(z * M_SQRT1_2);
}

static double normal_density(double z)
{
	return exp(-0.5 * z * z) / sqrt(2 * M_PI);
}

double diff_math_normal_quantile(double tail)
{
	if (!(tail >= 0 && tail <= 1))
		return NAN;
	if (tail == 0 || tail == 1)
		return tail == 0 ? INFINITY : -INFINITY;
	if (tail > 0.5)
		return -diff_math_normal_quantile(1 - tail);

	/* Abramowitz and Stegun 26.2.23: off by less than 4.5e-4. */
	double t = sqrt(-2 * log(tail));
	double z = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
			       (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));

	for (int i = 0; i < 4; i++) {
		double step = (diff_math_normal_tail(z) - tail) / normal_density(z);

		z += step / (1 - 0.5 * z * step); /* Halley: the density's slope is -z of it */
	}
	return z;
}

/* log(gamma(a + 1/2) / gamma(a)); the difference of two lgamma() loses digits when a is large. */
static double log_gamma_half_step(double a)
{
	int sign;

	if (a < GAMMA_RATIO_SERIES)
		return lgamma_r(a + 0.5, &sign) - lgamma_r(a, &sign);

	double b = 1 / (a * a);

	return 0.5 * log(a) - (1 / 8.0 - b * (1 / 192.0 - b * (1 / 640.0 - b * 17 / 14336.0))) / a;
}

/* Continued fraction of the incomplete beta function I_x(a, b), for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double x, double a, double b)
{
	double c = 1;
	double d = 1 - (a + b) * x / (a + 1);

	d = 1 / (fabs(d) < DBL_MIN ? DBL_MIN : d);

	double value = d;

	for (int m = 1; m < FRACTION_STEPS_MAX; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

		d = 1 + even * d;
		c = 1 + even / c;
		d = 1 / (fabs(d) < DBL_MIN ? DBL_MIN : d);
		c = fabs(c) < DBL_MIN ? DBL_MIN : c;
		value *= d * c;
		d = 1 + odd * d;
		c = 1 + odd / c;
		d = 1 / (fabs(d) < DBL_MIN ? DBL_MIN : d);
		c = fabs(c) < DBL_MIN ? DBL_MIN : c;
		value *= d * c;
		if (fabs(d * c - 1) < 4 * DBL_EPSILON)
			break;
	}
	return value;
}

/* Fisher's expansion in 1 / df: where the fraction above would lose digits, x being nearly 1. */
static double t_tail_expanded(double t, double df)
{
	double s = t * t;
	double first = t * (s + 1) / (4 * df);
	double second = t * (((3 * s - 7) * s - 5) * s - 3) / (96 * df * df);

	return diff_math_normal_tail(t) + normal_density(t) * (first + second);
}

double diff_math_t_tail(double t, double df)
{
	if (!(df > 0) || isnan(t))
		return NAN;
	if (df > NORMAL_DF || isinf(t))
		return diff_math_normal_tail(t);
	if (t < 0)
		return 1 - diff_math_t_tail(-t, df);

	if (df >= EXPANSION_DF && t * t * t * t <= EXPANSION_T4 * df)
		return t_tail_expanded(t, df);

	/* P(T > t) = I_x(a, 1/2) / 2 with x = df / (df + t^2); y = 1 - x without cancellation. */
	double a = df / 2;
	double square = t * t / df;
	double x = 1 / (1 + square);
	double y = square / (1 + square);
	double log_front =
		log_gamma_half_step(a) - 0.5 * log(M_PI) - a * log1p(square) + 0.5 * log(y);

	if (y == 0)
		return 0.5;
	if (x < (a + 1) / (a + 2.5))
		return 0.5 * exp(log_front) * beta_fraction(x, a, 0.5) / a;
	return 0.5 - exp(log_front) * beta_fraction(y, 0.5, a);
}

static double t_log_density(double t, double df)
{
	return log_gamma_half_step(df / 2) - 0.5 * log(df * M_PI) -
	       (df + 1) / 2 * log1p(t * t / df);
}

/* A t whose tail is below `tail`, by doubling. */
static double t_upper_bound(double tail, double df)
{
	double t = 1;

	while (diff_math_t_tail(t, df) > tail && t < 1e150)
		t *= 2;
	return t;
}

double diff_math_t_quantile(double tail, double df)
{
	if (!(df > 0) || !(tail >= 0 && tail <= 1))
		return NAN;
	if (df > NORMAL_DF || tail == 0 || tail == 1)
		return diff_math_normal_quantile(tail);
	if (tail > 0.5)
		return -diff_math_t_quantile(1 - tail, df);

	/* Newton on the logarithm of the tail, which is nearly straight in t or log t; halving of the
	 * bracket where a step would leave it. */
	double low = 0;
	double high = t_upper_bound(tail, df);
	double t = diff_math_normal_quantile(tail);

	if (!(t > low && t < high))
		t = 0.5 * (low + high);
	for (int i = 0; i < NEWTON_STEPS_MAX; i++) {
		double at = diff_math_t_tail(t, df);

		if (at > tail)
			low = t;
		else
			high = t;

		double next = t + log(at / tail) * at / exp(t_log_density(t, df));

		if (!(next > low && next < high))
			next = 0.5 * (low + high);
		if (fabs(next - t) <= 4 * DBL_EPSILON * fabs(t))
			return next;
		t = next;
	}
	return t;
}

double diff_math_trigamma(double x)
{
	double sum = 0;

	if (!(x > 0))
		return NAN;
	for (; x < 15; x += 1)
		sum += 1 / (x * x);

	double b = 1 / (x * x);

	/* Asymptotic series with Bernoulli's numbers. */
	return sum + 1 / x + b / 2 +
	       b / x *
		       (1 / 6.0 -
			b * (1 / 30.0 - b * (1 / 42.0 - b * (1 / 30.0 - b * (5 / 66.0)))));
}

double diff_math_trigamma_inverse(double y)
{
	if (!(y > 0))
		return NAN;

	double low = 0;
	double high = 1;

	while (diff_math_trigamma(high) > y && high < 1e300)
		high *= 2;
	/* It falls steadily; bisect the logarithm's scale where it is steep. */
	for (int i = 0; i < NEWTON_STEPS_MAX && high - low > 2 * DBL_EPSILON * high; i++) {
		double middle = low > 0 && high / low > 4 ? sqrt(low * high) : 0.5 * (low + high);

		if (diff_math_trigamma(middle) > y)
			low = middle;
		else
			high = middle;
	}
	return 0.5 * (low + high);
}

double diff_math_margin_p(double estimate, double error, double df, double margin)
{
	double size = fabs(estimate);

	if (!(error > 0))
		return size > margin ? 0 : 1;

	double p = diff_math_t_tail((size - margin) / error, df) +
		   diff_math_t_tail((size + margin) / error, df);

	return p < 1 ? p : 1;
}

int diff_math_compare(const void *a, const void *b)
{
	double left = *(const double *)a;
	double right = *(const double *)b;

	return (left > right) - (left < right);
}

struct math_ranked {
	double p;
	size_t index;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct math_ranked *left = a;
	const struct math_ranked *right = b;
	int order = diff_math_compare(&left->p, &right->p);

	return order ? order : (left->index > right->index) - (left->index < right->index);
}

int diff_math_bh(const double *p, size_t cnt, double *q)
{
	if (!cnt)
		return 0;

	__cleanup_free struct math_ranked *ranked = reallocarray(NULL, cnt, sizeof(*ranked));
	size_t tested = 0;

	if (!ranked)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++) {
		if (isnan(p[i]))
			q[i] = NAN;
		else
			ranked[tested++] = (struct math_ranked){ .p = p[i], .index = i };
	}
	if (!tested)
		return 0;
	qsort(ranked, tested, sizeof(*ranked), compare_ranked);

	double smallest = 1;

	for (size_t rank = tested; rank > 0; rank--) {
		double bound = ranked[rank - 1].p * (double)tested / (double)rank;

		smallest = bound < smallest ? bound : smallest;
		q[ranked[rank - 1].index] = smallest;
	}
	return 0;
}

double diff_math_median(double *values, size_t cnt)
{
	if (!cnt)
		return NAN;
	qsort(values, cnt, sizeof(*values), diff_math_compare);
	return cnt % 2 ? values[cnt / 2] : 0.5 * (values[cnt / 2 - 1] + values[cnt / 2]);
}

/* Place of the first of the sorted values that is not below `value`. */
static size_t lower_bound(const double *sorted, size_t cnt, double value)
{
	size_t low = 0;

	while (cnt > 0) {
		size_t half = cnt / 2;

		if (sorted[low + half] < value) {
			low += half + 1;
			cnt -= half + 1;
		} else {
			cnt = half;
		}
	}
	return low;
}

static void sorted_insert(double *sorted, size_t *cnt, double value)
{
	if (isnan(value))
		return;

	size_t at = lower_bound(sorted, *cnt, value);

	memmove(&sorted[at + 1], &sorted[at], (*cnt - at) * sizeof(*sorted));
	sorted[at] = value;
	*cnt += 1;
}

static void sorted_remove(double *sorted, size_t *cnt, double value)
{
	if (isnan(value))
		return;

	size_t at = lower_bound(sorted, *cnt, value);

	*cnt -= 1;
	memmove(&sorted[at], &sorted[at + 1], (*cnt - at) * sizeof(*sorted));
}

int diff_math_running_median(const double *values, size_t cnt, size_t half, double *out)
{
	/* Never more than all of them, and for a moment one that leaves. */
	__cleanup_free double *sorted = reallocarray(NULL, cnt + 1, sizeof(*sorted));
	size_t held = 0;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < cnt && i < half; i++)
		sorted_insert(sorted, &held, values[i]);
	for (size_t i = 0; i < cnt; i++) {
		if (half < cnt - i)
			sorted_insert(sorted, &held, values[i + half]);
		if (i > half)
			sorted_remove(sorted, &held, values[i - half - 1]);
		if (!held)
			out[i] = NAN;
		else
			out[i] = held % 2 ? sorted[held / 2] :
					    0.5 * (sorted[held / 2 - 1] + sorted[held / 2]);
	}
	return 0;
}
