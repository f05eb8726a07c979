// SPDX-License-Identifier: Apache-2.0
/*
 * Median of ratios (Anders and Huber 2010), its error from the order statistics around it: that
 * needs no model of what makes methods scatter, only that most of them did not change.
 */
#include "user/diff/diff_scale.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "user/diff/diff_math.h"
#include "user/util/cleanup.h"

#define METHODS_MIN 5

static struct diff_interval interval(double value, double error)
{
	return (struct diff_interval){
		.value = value,
		.low = value - DIFF_MATH_Z_95 * error,
		.high = value + DIFF_MATH_Z_95 * error,
	};
}

/* How the sorted values left and right of the median bound it, as a standard error. */
static double median_error(const double *sorted, size_t cnt)
{
	double half = 0.5 * DIFF_MATH_Z_95 * sqrt((double)cnt);
	double low = floor(0.5 * (double)cnt - half);
	double high = ceil(0.5 * (double)cnt + half);
	size_t first = low < 0 ? 0 : (size_t)low;
	size_t last = high > (double)cnt - 1 ? cnt - 1 : (size_t)high;

	return (sorted[last] - sorted[first]) / (2 * DIFF_MATH_Z_95);
}

/* Variance of the log ratio of CPU per second, by clusters like that of an item. */
static int load_measure(const struct diff_plan *plan, struct diff_interval *out, double *error_out)
{
	const struct diff_plan_side *a = &plan->sides[DIFF_PLAN_A];
	const struct diff_plan_side *b = &plan->sides[DIFF_PLAN_B];
	double rate_a = a->cpu_total_s / a->second_total;
	double rate_b = b->cpu_total_s / b->second_total;

	*out = (struct diff_interval){ .value = NAN, .low = NAN, .high = NAN };
	*error_out = NAN;
	if (!(rate_a > 0) || !(rate_b > 0))
		return 0;

	__cleanup_free double *d = calloc((size_t)plan->cluster_cnt + 1, sizeof(*d));
	double lag = NAN;

	if (!d)
		return -ENOMEM;
	for (uint32_t j = 0; j < plan->cluster_cnt; j++)
		d[j] = b->cpu_s[j] / b->cpu_total_s - b->seconds[j] / b->second_total -
		       (a->cpu_s[j] / a->cpu_total_s - a->seconds[j] / a->second_total);

	double variance = diff_estimate_scatter(d, plan->cluster_cnt, plan->first_b, &lag);

	*error_out = sqrt(variance * diff_estimate_stretch(lag));
	*out = interval(log(rate_b / rate_a), *error_out);
	return 0;
}

int diff_scale_measure(const struct diff_item *items, uint32_t item_cnt,
		       const struct diff_plan *plan, const struct diff_estimate *estimates,
		       uint32_t samples_min, struct diff_scale *out)
{
	__cleanup_free double *ratios = reallocarray(NULL, (size_t)item_cnt + 1, sizeof(*ratios));
	struct diff_scale scale = { 0 };
	double load_error = NAN;
	size_t cnt = 0;

	if (!ratios)
		return -ENOMEM;
	for (uint32_t i = 0; i < item_cnt; i++) {
		const struct diff_estimate *at = &estimates[i];

		if (items[i].kind == DIFF_KIND_METHOD_SELF && at->raw[DIFF_PLAN_A] >= samples_min &&
		    at->raw[DIFF_PLAN_B] >= samples_min)
			ratios[cnt++] = log(at->share[DIFF_PLAN_B] / at->share[DIFF_PLAN_A]);
	}

	int err = load_measure(plan, &scale.load, &load_error);

	if (err)
		return err;
	if (cnt >= METHODS_MIN) {
		double median = diff_math_median(ratios, cnt);

		scale.methods = (uint32_t)cnt;
		scale.composition_error = median_error(ratios, cnt);
		scale.composition = interval(median, scale.composition_error);
	}
	scale.scale = interval(scale.load.value + scale.composition.value,
			       hypot(load_error, scale.composition_error));
	*out = scale;
	return 0;
}
