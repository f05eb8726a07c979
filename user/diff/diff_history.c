// SPDX-License-Identifier: Apache-2.0
/*
 * One day as a row of the series. Its variance is half of that of the log ratio against the day
 * before, because only a pair of days takes the rhythm of the day out of the scatter. The first day
 * has no such; squared differences of neighbouring blocks then do nearly the same. They miss what
 * neighbours have in common, so less is explained by blocks and more is taken for drift.
 */
#include "user/diff/diff_history.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "user/diff/diff_counts.h"
#include "user/diff/diff_estimate.h"
#include "user/diff/diff_plan.h"
#include "user/util/cleanup.h"

/* The parts of one measurement; zero-initialise, end with measure_release(). */
struct measure {
	struct diff_plan plan;
	struct diff_counts counts[DIFF_PLAN_SIDES];
	struct diff_estimate *estimates;
	double *d;
};

static void measure_release(struct measure *measure)
{
	diff_plan_release(&measure->plan);
	for (int s = 0; s < DIFF_PLAN_SIDES; s++)
		diff_counts_release(&measure->counts[s]);
	free(measure->estimates);
	free(measure->d);
}

static int measure_make(const struct diff_side *before, const struct diff_side *day,
			uint32_t item_cnt, struct measure *out)
{
	const struct diff_side *sides[DIFF_PLAN_SIDES] = { before, day };
	int err = diff_plan_make(before, day, &out->plan);

	for (int s = 0; !err && s < DIFF_PLAN_SIDES; s++)
		err = diff_counts_make(sides[s], &out->plan.sides[s], item_cnt, &out->counts[s]);
	if (err)
		return err;
	out->estimates = calloc((size_t)item_cnt + 1, sizeof(*out->estimates));
	out->d = calloc((size_t)out->plan.cluster_cnt + 1, sizeof(*out->d));
	if (!out->estimates || !out->d)
		return -ENOMEM;
	return diff_estimate_items(&out->plan, out->counts, item_cnt, out->estimates);
}

/* Scatter of one item between neighbouring blocks of the day. */
static double neighbour_variance(const struct measure *measure, uint32_t item)
{
	const struct diff_plan_side *day = &measure->plan.sides[DIFF_PLAN_B];
	const struct diff_counts *counts = &measure->counts[DIFF_PLAN_B];
	uint32_t first = measure->plan.first_b;
	uint32_t end = measure->plan.cluster_cnt;
	double total = measure->estimates[item].x[DIFF_PLAN_B];
	double squares = 0;

	for (uint32_t j = first; j < end; j++)
		measure->d[j] = -day->samples[j] / day->sample_total;
	for (size_t i = counts->first[item]; i < counts->first[item + 1]; i++) {
		uint32_t block = counts->entries[i].block;

		measure->d[day->cluster_of[block]] +=
			day->weight_of[block] * counts->entries[i].count / total;
	}
	for (uint32_t j = first + 1; j < end; j++)
		squares +=
			(measure->d[j] - measure->d[j - 1]) * (measure->d[j] - measure->d[j - 1]);
	return end - first < 2 ? 0 : squares / 2 * (end - first) / (end - first - 1);
}

static double day_variance(const struct measure *measure, uint32_t item)
{
	const struct diff_estimate *at = &measure->estimates[item];
	double counting = at->mult[DIFF_PLAN_B];
	double variance = 0;

	if (measure->plan.is_paired && at->x[DIFF_PLAN_A] > 0)
		variance = at->residual * diff_estimate_stretch(at->lag) / 2;
	else
		variance = neighbour_variance(measure, item);
	return variance > counting ? variance : counting;
}

int diff_history_measure_day(const struct diff_side *before, const struct diff_side *day,
			     uint32_t item_cnt, double share_min,
			     struct diff_history_row **rows_out, size_t *cnt_out)
{
	struct diff_side *nothing = diff_side__new(diff_side__event(day));
	struct measure measure = { 0 };
	__cleanup_free struct diff_history_row *rows =
		reallocarray(NULL, (size_t)item_cnt + 1, sizeof(*rows));
	size_t cnt = 0;
	int err = rows && nothing ? 0 : -ENOMEM;

	if (!err)
		err = measure_make(before ? before : nothing, day, item_cnt, &measure);
	for (uint32_t i = 0; !err && i < item_cnt; i++) {
		double share = measure.estimates[i].share[DIFF_PLAN_B];

		if (share > 0 && share >= share_min)
			rows[cnt++] = (struct diff_history_row){
				.item = i,
				.value = (float)log(share),
				.variance = (float)day_variance(&measure, i),
			};
	}
	measure_release(&measure);
	diff_side__free(nothing);
	if (err)
		return err;
	*rows_out = take_ptr(rows);
	*cnt_out = cnt;
	return 0;
}

static bool pair_row(const struct measure *measure, uint32_t item, double share_min,
		     struct diff_history_row *out)
{
	const struct diff_estimate *at = &measure->estimates[item];
	double counting = at->mult[DIFF_PLAN_A] + at->mult[DIFF_PLAN_B];
	double variance = at->residual * diff_estimate_stretch(at->lag);
	bool is_seen = at->share[DIFF_PLAN_A] > 0 && at->share[DIFF_PLAN_A] >= share_min &&
		       at->share[DIFF_PLAN_B] > 0 && at->share[DIFF_PLAN_B] >= share_min;

	if (is_seen)
		*out = (struct diff_history_row){
			.item = item,
			.value = (float)log(at->share[DIFF_PLAN_B] / at->share[DIFF_PLAN_A]),
			.variance = (float)(variance > counting ? variance : counting),
		};
	return is_seen;
}

int diff_history_measure_pair(const struct diff_side *before, const struct diff_side *after,
			      uint32_t item_cnt, double share_min,
			      struct diff_history_row **rows_out, size_t *cnt_out)
{
	struct measure measure = { 0 };
	__cleanup_free struct diff_history_row *rows =
		reallocarray(NULL, (size_t)item_cnt + 1, sizeof(*rows));
	size_t cnt = 0;
	int err = rows ? measure_make(before, after, item_cnt, &measure) : -ENOMEM;

	for (uint32_t i = 0; !err && i < item_cnt; i++)
		cnt += pair_row(&measure, i, share_min, &rows[cnt]);
	measure_release(&measure);
	if (err)
		return err;
	*rows_out = take_ptr(rows);
	*cnt_out = cnt;
	return 0;
}
