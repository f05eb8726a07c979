/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The distribution functions that the tests of a diff need, and a few robust summaries. Good to
 * 1e-9 or better, also far out in the tails: probabilities are always asked for as upper tails.
 *
 * Own code, because the libraries at hand do not fit: GSL and R's Mathlib are GPL, Boost is C++.
 */
#ifndef JBPF_DIFF_MATH_H
#define JBPF_DIFF_MATH_H

#include <stddef.h>

#include "user/util/attributes.h"

/* P(Z > z) of the standard normal distribution. */
double diff_math_normal_tail(double z);
#define DIFF_MATH_Z_95 1.959963984540054 /* 2.5 % are above */
/* The z with P(Z > z) = tail; 0 < tail < 1, else NaN (infinite at 0 and 1). */
double diff_math_normal_quantile(double tail);

/* P(T > t) of Student's distribution; df > 0, not only whole numbers. NaN for df <= 0. */
double diff_math_t_tail(double t, double df);
/* The t with P(T > t) = tail. */
double diff_math_t_quantile(double tail, double df);

/* Second derivative of log gamma, and its inverse; x, y > 0. */
double diff_math_trigamma(double x);
double diff_math_trigamma_inverse(double y);

/*
 * P-value of the hypothesis |effect| <= margin (margin >= 0) for an estimate with a standard error
 * and Student's distribution: the largest chance, over all effects inside the margin, of an
 * estimate at least this far out. With margin 0 the ordinary two-sided p-value.
 */
double diff_math_margin_p(double estimate, double error, double df, double margin);

/*
 * Benjamini and Hochberg: q[i] = the smallest false discovery rate at which p[i] is rejected. NaN
 * in p = not tested: q is NaN, and the others do not pay for it. `p` and `q` may be the same
 * array. 0 or -ENOMEM.
 */
__must_check int diff_math_bh(const double *p, size_t cnt, double *q);

/* Sorts `values` in place; NaN when there are none. Values must not be NaN. */
double diff_math_median(double *values, size_t cnt);
/* For qsort(): by value. */
int diff_math_compare(const void *a, const void *b);

/*
 * out[i] = median of values[i - half .. i + half], as far as these exist; NaN values are left out
 * (NaN when nothing else is there). 0 or -ENOMEM.
 */
__must_check int diff_math_running_median(const double *values, size_t cnt, size_t half,
					  double *out);

#endif
