/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the blocks say about each item by itself: how often it was seen, what counting alone would
 * make uncertain, and what the scatter between clusters really is.
 *
 * The log ratio of an item's shares is, to first order, a sum over clusters j of
 *     d[j] = (xb[j] / XB - tb[j] / TB) - (xa[j] / XA - ta[j] / TA)
 * with x the item's samples, t all samples, capitals for totals. These sum to 0; the sum of their
 * squares estimates the variance, and neighbours that go together make it larger.
 */
#ifndef JBPF_DIFF_ESTIMATE_H
#define JBPF_DIFF_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/diff/diff_counts.h"
#include "user/diff/diff_plan.h"

struct diff_estimate {
	uint64_t raw[DIFF_PLAN_SIDES]; /* samples */
	double x[DIFF_PLAN_SIDES];     /* weighted samples */
	double share[DIFF_PLAN_SIDES];
	double mult[DIFF_PLAN_SIDES]; /* variance of the log share by counting (multinomial) */
	double pooled; /* variance of the log ratio by counting, if both shares were the same */
	double late_x
		[DIFF_PLAN_SIDES]; /* weighted samples in the late clusters (A: all, unpaired) */
	double residual; /* variance of the log ratio by the clusters, taken as independent */
	double leverage; /* factor that diff_estimate_against_rest() put on variances; 1 before */
	double lag; /* correlation of neighbouring d[], bias removed; NaN with too few clusters */
};

/* out[item_cnt]. 0 or -ENOMEM. */
__must_check int diff_estimate_items(const struct diff_plan *plan,
				     const struct diff_counts counts[DIFF_PLAN_SIDES],
				     uint32_t item_cnt, struct diff_estimate *out);

/*
 * A change is told against the composition factor, not against all samples. When a method grows,
 * its share grows less, since it is part of all samples itself; the shares of all others shrink,
 * and the composition factor with them. So its log ratio varies 1 / (1 - share) times as much as
 * its log share. Puts the square of that on the variances of one item. What contains much of the
 * median itself (`is_sum`: anything but a method by itself) gets at most what half of all would.
 */
void diff_estimate_against_rest(struct diff_estimate *estimate, double share, bool is_sum);
double diff_estimate_leverage(double share, bool is_sum);

/* Of all samples of both sides together; 0 where there are none. */
double diff_estimate_pooled_share(const struct diff_estimate *estimate,
				  const struct diff_plan *plan);

/* Log of the ratio of two shares, with half a sample for what was never seen. */
double diff_estimate_log_ratio(double xa, double ta, double xb, double tb);

/* Variance of a log share from samples that are worth `effective` unweighted ones. */
double diff_estimate_multinomial(double share, double effective);

/*
 * The variance of sum(d) as if independent, and the lag-1 correlation of d (NaN when there are
 * too few). `first_b` separates two unpaired sides: d is centred on each, and they are not
 * neighbours there; 0 = one row.
 */
double diff_estimate_scatter(const double *d, uint32_t cnt, uint32_t first_b, double *lag_out);

/* How much longer a row of correlated values must be to tell as much: (1 + lag) / (1 - lag). */
double diff_estimate_stretch(double lag);

#endif
