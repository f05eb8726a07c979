// SPDX-License-Identifier: Apache-2.0
/*
 * One pass over the counts by item. d[] is laid out densely for each item in turn: a day has 96
 * clusters, and straight loops over these beat anything clever on the sparse counts.
 */
#include "user/diff/diff_estimate.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "user/util/cleanup.h"

#define LAG_UNITS_MIN 8	   /* fewer do not tell a correlation */
#define REST_MIN      0.01 /* a method that is all there is has no rest to be measured by */
#define SUM_REST_MIN  0.5
#define LAG_MAX	      0.8 /* a longer memory than blocks of this length should have */

double diff_estimate_pooled_share(const struct diff_estimate *estimate,
				  const struct diff_plan *plan)
{
	double total =
		plan->sides[DIFF_PLAN_A].sample_total + plan->sides[DIFF_PLAN_B].sample_total;

	return total > 0 ? (estimate->x[DIFF_PLAN_A] + estimate->x[DIFF_PLAN_B]) / total : 0;
}

double diff_estimate_log_ratio(double xa, double ta, double xb, double tb)
{
	return log((xb + 0.5) / (tb + 0.5)) - log((xa + 0.5) / (ta + 0.5));
}

double diff_estimate_multinomial(double share, double effective)
{
	double rest = 1 - share;

	return (rest > 0 ? rest : 0) / (effective + 0.5);
}

double diff_estimate_leverage(double share, bool is_sum)
{
	double rest = fmax(1 - share, is_sum ? SUM_REST_MIN : REST_MIN);

	return 1 / (rest * rest);
}

void diff_estimate_against_rest(struct diff_estimate *estimate, double share, bool is_sum)
{
	estimate->leverage = diff_estimate_leverage(share, is_sum);
	estimate->mult[DIFF_PLAN_A] *= estimate->leverage;
	estimate->mult[DIFF_PLAN_B] *= estimate->leverage;
	estimate->pooled *= estimate->leverage;
	estimate->residual *= estimate->leverage;
}

double diff_estimate_stretch(double lag)
{
	double used = isnan(lag) || lag < 0 ? 0 : lag;

	used = used > LAG_MAX ? LAG_MAX : used;
	return (1 + used) / (1 - used);
}

double diff_estimate_scatter(const double *d, uint32_t cnt, uint32_t first_b, double *lag_out)
{
	double squares = 0;
	double products = 0;
	uint32_t rows = first_b ? 2 : 1;

	*lag_out = NAN;
	if (cnt <= rows)
		return 0;
	for (uint32_t j = 0; j < cnt; j++)
		squares += d[j] * d[j];
	for (uint32_t j = 1; j < cnt; j++)
		products += d[j] * d[j - 1];
	if (first_b && first_b < cnt)
		products -= d[first_b] * d[first_b - 1];
	if (cnt >= LAG_UNITS_MIN && squares > 0) {
		double lag = products / squares;

		/* Marriott and Pope: centring makes it too small. */
		*lag_out = lag + (1 + 4 * lag) * rows / cnt;
	}
	return squares * cnt / (cnt - rows);
}

/* base[side][j] = t[j] / T: what an item's clusters would be if nothing scattered. */
struct estimate_rows {
	double *base[DIFF_PLAN_SIDES];
	double *d;
};

static int rows_make(const struct diff_plan *plan, double *room, struct estimate_rows *out)
{
	if (!room)
		return -ENOMEM;
	out->d = room;
	for (int s = 0; s < DIFF_PLAN_SIDES; s++) {
		const struct diff_plan_side *side = &plan->sides[s];

		out->base[s] = room + (size_t)(s + 1) * plan->cluster_cnt;
		for (uint32_t j = 0; j < plan->cluster_cnt; j++)
			out->base[s][j] =
				side->sample_total > 0 ? side->samples[j] / side->sample_total : 0;
	}
	return 0;
}

static bool is_late(const struct diff_plan *plan, int side, uint32_t cluster)
{
	return cluster >= plan->late_first || (!plan->is_paired && side == DIFF_PLAN_A);
}

/* Totals of one item on one side. */
static void sum_side(const struct diff_plan *plan, int s, const struct diff_counts_entry *entries,
		     size_t cnt, struct diff_estimate *out)
{
	const struct diff_plan_side *side = &plan->sides[s];
	double squares = 0;

	for (size_t i = 0; i < cnt; i++) {
		double weight = side->weight_of[entries[i].block];
		double x = weight * entries[i].count;

		out->raw[s] += entries[i].count;
		out->x[s] += x;
		squares += weight * x;
		if (is_late(plan, s, side->cluster_of[entries[i].block]))
			out->late_x[s] += x;
	}
	out->share[s] = side->sample_total > 0 ? out->x[s] / side->sample_total : 0;
	out->mult[s] = diff_estimate_multinomial(out->share[s],
						 squares > 0 ? out->x[s] * out->x[s] / squares : 0);
}

/* Adds sign * (x[j] / X - t[j] / T) to d[]. */
static void add_side(const struct diff_plan *plan, int s, const struct diff_counts_entry *entries,
		     size_t cnt, const double *base, double total, double sign, double *d)
{
	const struct diff_plan_side *side = &plan->sides[s];

	if (!(total > 0))
		return;
	for (uint32_t j = 0; j < plan->cluster_cnt; j++)
		d[j] -= sign * base[j];
	for (size_t i = 0; i < cnt; i++)
		d[side->cluster_of[entries[i].block]] +=
			sign * side->weight_of[entries[i].block] * entries[i].count / total;
}

static double pooled_multinomial(const struct diff_plan *plan, const struct diff_estimate *at)
{
	double total_a = plan->sides[DIFF_PLAN_A].sample_total;
	double total_b = plan->sides[DIFF_PLAN_B].sample_total;
	double share = (at->x[DIFF_PLAN_A] + at->x[DIFF_PLAN_B]) / fmax(total_a + total_b, 1);

	return diff_estimate_multinomial(share, share * total_a) +
	       diff_estimate_multinomial(share, share * total_b);
}

int diff_estimate_items(const struct diff_plan *plan,
			const struct diff_counts counts[DIFF_PLAN_SIDES], uint32_t item_cnt,
			struct diff_estimate *out)
{
	__cleanup_free double *room = calloc((size_t)plan->cluster_cnt * 3 + 1, sizeof(*room));
	struct estimate_rows rows;
	int err = rows_make(plan, room, &rows);

	if (err)
		return err;
	for (uint32_t i = 0; i < item_cnt; i++) {
		struct diff_estimate *at = &out[i];

		*at = (struct diff_estimate){ .leverage = 1 };
		memset(rows.d, 0, plan->cluster_cnt * sizeof(*rows.d));
		for (int s = 0; s < DIFF_PLAN_SIDES; s++) {
			size_t first = counts[s].first[i];
			size_t cnt = counts[s].first[i + 1] - first;

			sum_side(plan, s, &counts[s].entries[first], cnt, at);
			add_side(plan, s, &counts[s].entries[first], cnt, rows.base[s], at->x[s],
				 s == DIFF_PLAN_B ? 1 : -1, rows.d);
		}
		at->pooled = pooled_multinomial(plan, at);
		at->residual =
			diff_estimate_scatter(rows.d, plan->cluster_cnt, plan->first_b, &at->lag);
	}
	return 0;
}
