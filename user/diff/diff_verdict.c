// SPDX-License-Identifier: Apache-2.0
/*
 * The tests. An item is tested against the largest change that does not matter, not against zero:
 * with enough samples everything differs from zero. Which items are tested is decided by what could
 * be seen, never by what was seen, so the false discovery rate keeps its meaning.
 */
#include "user/diff/diff_verdict.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "user/diff/diff_math.h"
#include "user/util/cleanup.h"

#define TESTABLE_Z	4.14 /* 3.3 to be found among hundreds + 0.84 to be found 4 times of 5 */
#define POWER_MISS	0.2  /* "detectable" is missed this often */
#define TRANSIENT_Z	2.0
#define QUANTILE_DF_MAX 1000

/* Quantiles of Student's distribution by whole df, made when first asked for. */
struct quantiles {
	double tail;
	double by_df[QUANTILE_DF_MAX + 1]; /* 0 = not yet known */
};

static double quantile(struct quantiles *quantiles, double df)
{
	int whole = df >= QUANTILE_DF_MAX ? QUANTILE_DF_MAX : df < 1 ? 1 : (int)df;

	if (quantiles->by_df[whole] == 0)
		quantiles->by_df[whole] = diff_math_t_quantile(quantiles->tail, whole);
	return quantiles->by_df[whole];
}

static double counting(const struct diff_estimate *at)
{
	return at->mult[DIFF_PLAN_A] + at->mult[DIFF_PLAN_B];
}

/* Intervals and what is relevant. */
static void describe_item(const struct diff_case *diff, uint32_t item, struct quantiles *at_95)
{
	const struct diff_estimate *at = &diff->estimates[item];
	const struct diff_between_item *between = &diff->between[item];
	struct diff_row *row = &diff->rows[item];
	double share = diff_estimate_pooled_share(at, diff->plan);
	double rest = fmax(between->variance - counting(at), 0) / 2;
	double scaled_b = at->share[DIFF_PLAN_B] / exp(diff->scale->composition.value);
	double a = at->share[DIFF_PLAN_A];
	double spread = sqrt(a * a * (at->mult[DIFF_PLAN_A] + rest) +
			     scaled_b * scaled_b * (at->mult[DIFF_PLAN_B] + rest));
	double width = quantile(at_95, between->df);

	if (!(share > 0))
		return;
	row->error = sqrt(between->variance);
	row->error_within = sqrt(between->within);
	row->df = between->df;
	row->change = (struct diff_interval){
		.value = between->log_ratio,
		.low = between->log_ratio - width * row->error,
		.high = between->log_ratio + width * row->error,
	};
	row->points = (struct diff_interval){
		.value = scaled_b - a,
		.low = scaled_b - a - width * spread,
		.high = scaled_b - a + width * spread,
	};
	row->relevant = log1p(
		fmax(diff->options->relevant_relative, diff->options->relevant_points / share));
}

/* Could a change of the wanted size be seen, judged as if the shares were the same? */
static bool is_testable(const struct diff_case *diff, uint32_t item)
{
	const struct diff_estimate *at = &diff->estimates[item];
	const struct diff_row *row = &diff->rows[item];

	if (diff->items[item].kind == DIFF_KIND_NONE || isnan(row->error) ||
	    diff->calibration == DIFF_CALIBRATION_NONE)
		return false;

	double variance = fmax(diff->between[item].variance - counting(at), 0) + at->pooled;

	return row->relevant + TESTABLE_Z * sqrt(variance) <=
	       log1p(diff->options->testable_relative);
}

/*
 * The relative change that is found with a chance of 1 - POWER_MISS by a test that rejects at
 * `p_critical`. The p-value is a sum of two tails; the far one is worth half of it at margin 0 and
 * soon nothing, so the critical distance lies between two quantiles.
 */
static double detectable(const struct diff_row *row, struct quantiles *one_tail,
			 struct quantiles *two_tails, struct quantiles *miss)
{
	double wide = quantile(two_tails, row->df);
	double margin = row->error > 0 ? row->relevant / row->error : INFINITY;
	double near_tail = 1 / (1 + exp(-2 * margin * wide)); /* 0.5 .. 1 */
	double weight = -log2(near_tail);		      /* 1 .. 0 */
	double critical = weight * wide + (1 - weight) * quantile(one_tail, row->df);

	return expm1(row->relevant + (critical + quantile(miss, row->df)) * row->error);
}

static enum diff_verdict found_verdict(const struct diff_row *row)
{
	if (row->change.value > 0)
		return row->samples_a ? DIFF_VERDICT_UP : DIFF_VERDICT_NEW;
	return row->samples_b ? DIFF_VERDICT_DOWN : DIFF_VERDICT_GONE;
}

static void judge_item(const struct diff_case *diff, uint32_t item)
{
	struct diff_row *row = &diff->rows[item];

	if (isnan(row->error) || diff->calibration == DIFF_CALIBRATION_NONE)
		return;
	if (diff_verdict_is_found(diff, item))
		row->verdict = found_verdict(row);
	else if (row->change.low >= -row->relevant && row->change.high <= row->relevant)
		row->verdict = DIFF_VERDICT_SAME;
}

/* q of one family, and the p that would have been enough. */
static int adjust_family(const struct diff_case *diff, enum diff_kind kind, double *numbers)
{
	struct diff_family *family = &diff->families[kind];
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < diff->item_cnt; i++) {
		if (diff->items[i].kind != kind)
			continue;
		family->item_cnt++;
		family->tested_cnt += diff->rows[i].is_tested;
		numbers[cnt++] = diff->rows[i].is_tested ? diff->rows[i].p : NAN;
	}

	int err = diff_math_bh(numbers, cnt, numbers);

	if (err)
		return err;
	cnt = 0;
	for (uint32_t i = 0; i < diff->item_cnt; i++) {
		if (diff->items[i].kind != kind)
			continue;
		diff->rows[i].q = numbers[cnt++];
		family->found_cnt += diff_verdict_is_found(diff, i);
	}
	family->p_critical =
		diff->options->q_shown * fmax(family->found_cnt, 1) / fmax(family->tested_cnt, 1);
	return 0;
}

struct verdict_tables {
	struct quantiles at_95;
	struct quantiles miss;
	struct quantiles one_tail;
	struct quantiles two_tails;
};

static void finish_family(const struct diff_case *diff, enum diff_kind kind,
			  struct verdict_tables *tables)
{
	double p = diff->families[kind].p_critical;

	tables->one_tail = (struct quantiles){ .tail = p };
	tables->two_tails = (struct quantiles){ .tail = p / 2 };
	for (uint32_t i = 0; i < diff->item_cnt; i++) {
		struct diff_row *row = &diff->rows[i];

		if (diff->items[i].kind != kind)
			continue;
		if (!isnan(row->error) && diff->calibration != DIFF_CALIBRATION_NONE)
			row->detectable = detectable(row, &tables->one_tail, &tables->two_tails,
						     &tables->miss);
		judge_item(diff, i);
	}
}

int diff_verdict_test(const struct diff_case *diff)
{
	__cleanup_free struct verdict_tables *tables = calloc(1, sizeof(*tables));
	__cleanup_free double *numbers =
		reallocarray(NULL, (size_t)diff->item_cnt + 1, sizeof(*numbers));

	if (!tables || !numbers)
		return -ENOMEM;
	tables->at_95.tail = 0.025;
	tables->miss.tail = POWER_MISS;
	for (uint32_t i = 0; i < diff->item_cnt; i++) {
		struct diff_row *row = &diff->rows[i];

		describe_item(diff, i, &tables->at_95);
		row->is_tested = is_testable(diff, i);
		if (!row->is_tested)
			continue;
		row->p = diff_math_margin_p(row->change.value, row->error, row->df, row->relevant);
		row->p_any = diff_math_margin_p(row->change.value, row->error, row->df, 0);
	}
	for (int kind = DIFF_KIND_NONE + 1; kind < DIFF_KIND_CNT; kind++) {
		int err = adjust_family(diff, (enum diff_kind)kind, numbers);

		if (err)
			return err;
		finish_family(diff, (enum diff_kind)kind, tables);
	}
	return 0;
}

/* Samples and totals of a part of the time, on each side. */
struct verdict_part {
	double x[DIFF_PLAN_SIDES];
	double total[DIFF_PLAN_SIDES];
};

static double part_change(const struct diff_case *diff, const struct verdict_part *part)
{
	return diff_estimate_log_ratio(part->x[DIFF_PLAN_A], part->total[DIFF_PLAN_A],
				       part->x[DIFF_PLAN_B], part->total[DIFF_PLAN_B]) -
	       diff->scale->composition.value;
}

static double part_counting(const struct verdict_part *part, int side)
{
	double total = part->total[side];

	return diff_estimate_multinomial(total > 0 ? part->x[side] / total : 0, part->x[side]);
}

static double late_total(const struct diff_plan *plan, int side)
{
	double total = 0;

	if (!plan->is_paired && side == DIFF_PLAN_A)
		return plan->sides[side].sample_total;
	for (uint32_t j = plan->late_first; j < plan->cluster_cnt; j++)
		total += plan->sides[side].samples[j];
	return total;
}

/* Is the change surely smaller in the last quarter than before, and not surely there at all? */
static bool is_transient(const struct diff_case *diff, uint32_t item,
			 const double late_totals[DIFF_PLAN_SIDES])
{
	const struct diff_estimate *at = &diff->estimates[item];
	const struct diff_row *row = &diff->rows[item];
	double sign = row->change.value < 0 ? -1 : 1;
	double design = diff->within[item].design * at->leverage;
	bool is_paired = diff->plan->is_paired;
	struct verdict_part late;
	struct verdict_part rest;

	for (int s = 0; s < DIFF_PLAN_SIDES; s++) {
		bool is_shared = !is_paired && s == DIFF_PLAN_A; /* all of A against both parts */

		late.x[s] = at->late_x[s];
		late.total[s] = late_totals[s];
		rest.x[s] = at->x[s] - (is_shared ? 0 : late.x[s]);
		rest.total[s] = diff->plan->sides[s].sample_total - (is_shared ? 0 : late.total[s]);
	}

	double late_change = sign * part_change(diff, &late);
	double rest_change = sign * part_change(diff, &rest);
	double late_variance =
		design * (part_counting(&late, DIFF_PLAN_A) + part_counting(&late, DIFF_PLAN_B));
	double difference = part_counting(&late, DIFF_PLAN_B) + part_counting(&rest, DIFF_PLAN_B);

	if (is_paired)
		difference += part_counting(&late, DIFF_PLAN_A) + part_counting(&rest, DIFF_PLAN_A);
	return late_change < rest_change / 2 &&
	       late_change - DIFF_MATH_Z_95 * sqrt(late_variance) <= row->relevant &&
	       rest_change - late_change > TRANSIENT_Z * sqrt(design * difference);
}

void diff_verdict_persist(const struct diff_case *diff)
{
	double late_totals[DIFF_PLAN_SIDES] = { late_total(diff->plan, DIFF_PLAN_A),
						late_total(diff->plan, DIFF_PLAN_B) };

	if (!(late_totals[DIFF_PLAN_A] > 0) || !(late_totals[DIFF_PLAN_B] > 0))
		return;
	for (uint32_t i = 0; i < diff->item_cnt; i++)
		if (diff_verdict_is_found(diff, i) && is_transient(diff, i, late_totals))
			diff->rows[i].verdict = DIFF_VERDICT_TRANSIENT;
}
