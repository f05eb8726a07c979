// SPDX-License-Identifier: Apache-2.0
/*
 * Splits are proposed by the energy statistic of E-divisive (Matteson and James 2014), which needs
 * no model of the scatter, and confirmed by Welch's test, as Hunter does in place of permutations:
 * the answer must not change from run to run. What is split is split again. A row of splits in the
 * same direction may be one slow change, so the stretch is fitted with "flat, slope, flat" too.
 */
#include "user/diff/diff_series.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "user/diff/diff_math.h"
#include "user/util/cleanup.h"

#define PIECE_MIN    3	   /* days on each side of a split */
#define VARIANCE_MIN 1e-12 /* of the mean of days that are all alike */
#define RSS_MIN	     1e-18

struct series_split {
	size_t at; /* the first day behind it */
	double p;
};

struct series {
	const struct diff_series_day *days;
	size_t cnt;
	const struct diff_series_options *options;
	struct series_split *splits; /* found so far; room for cnt */
	size_t split_cnt;
};

struct diff_series_options diff_series_options_default(void)
{
	return (struct diff_series_options){ .p_max = 0.001, .relevant = log1p(0.01) };
}

static double distance(const struct series *series, size_t i, size_t j)
{
	return fabs(series->days[i].value - series->days[j].value);
}

/* The most likely place of a change in [first, end); `end` when the piece is too short. */
static size_t propose(const struct series *series, size_t first, size_t end)
{
	size_t best = end;
	double most = -INFINITY;
	double left = 0; /* sums of distances within the parts and across */
	double right = 0;
	double across = 0;

	if (end - first < 2 * PIECE_MIN)
		return end;
	for (size_t i = first; i < end; i++)
		for (size_t j = first; j < i; j++)
			right += distance(series, i, j);
	for (size_t k = first; k < end; k++) {
		/* Day k changes sides. */
		double to_left = 0;
		double to_right = 0;

		for (size_t j = first; j < k; j++)
			to_left += distance(series, k, j);
		for (size_t j = k + 1; j < end; j++)
			to_right += distance(series, k, j);
		left += to_left;
		right -= to_right;
		across += to_right - to_left;

		double n = (double)(k + 1 - first);
		double m = (double)(end - k - 1);

		if (n < PIECE_MIN || m < PIECE_MIN)
			continue;

		double energy = n * m / (n + m) *
				(2 * across / (n * m) - 2 * left / (n * (n - 1)) -
				 2 * right / (m * (m - 1)));

		if (energy > most) {
			most = energy;
			best = k + 1;
		}
	}
	return best;
}

struct series_piece {
	double mean;
	double error2; /* squared standard error of the mean */
	double df;
};

static struct series_piece describe(const struct series *series, size_t first, size_t end)
{
	double n = (double)(end - first);
	double sum = 0;
	double squares = 0;
	double floor_sum = 0;

	for (size_t i = first; i < end; i++) {
		sum += series->days[i].value;
		floor_sum += series->days[i].variance;
	}
	for (size_t i = first; i < end; i++) {
		double rest = series->days[i].value - sum / n;

		squares += rest * rest;
	}

	double variance = fmax(fmax(squares / (n - 1), floor_sum / n), VARIANCE_MIN);

	return (struct series_piece){ .mean = sum / n, .error2 = variance / n, .df = n - 1 };
}

/* Welch's test against a change that matters, paid for by the number of places looked at. */
static double split_p(const struct series *series, size_t first, size_t at, size_t end)
{
	struct series_piece left = describe(series, first, at);
	struct series_piece right = describe(series, at, end);
	double error2 = left.error2 + right.error2;
	double df = error2 * error2 /
		    (left.error2 * left.error2 / left.df + right.error2 * right.error2 / right.df);
	double places = (double)(end - first - 2 * PIECE_MIN + 1);
	double p = diff_math_margin_p(right.mean - left.mean, sqrt(error2), df,
				      series->options->relevant);

	return p * places < 1 ? p * places : 1;
}

/* Depth is bounded by the number of days. */
static void split(struct series *series, size_t first, size_t end)
{
	size_t at = propose(series, first, end);

	if (at == end)
		return;

	double p = split_p(series, first, at, end);

	if (p > series->options->p_max)
		return;
	split(series, first, at);
	series->splits[series->split_cnt++] = (struct series_split){ .at = at, .p = p };
	split(series, at, end);
}

/* Least squares of "before up to day i, after from day j on, straight between". */
struct series_fit {
	size_t last_before; /* i */
	size_t first_after; /* j */
	double before;
	double after;
	double rss;
};

static struct series_fit fit_slope(const struct series *series, size_t first, size_t end, size_t i,
				   size_t j)
{
	double n = (double)(end - first);
	double sw = 0, sww = 0, sy = 0, syy = 0, swy = 0;
	double origin = series->days[first].value; /* keeps the sums small */

	for (size_t t = first; t < end; t++) {
		double w = t <= i ? 0 : t >= j ? 1 : (double)(t - i) / (double)(j - i);
		double y = series->days[t].value - origin;

		sw += w;
		sww += w * w;
		sy += y;
		syy += y * y;
		swy += w * y;
	}

	double spread = sww - sw * sw / n;
	double slope = spread > 0 ? (swy - sw * sy / n) / spread : 0;
	double before = (sy - slope * sw) / n;

	return (struct series_fit){
		.last_before = i,
		.first_after = j,
		.before = origin + before,
		.after = origin + before + slope,
		.rss = fmax(syy - sy * sy / n - slope * (swy - sw * sy / n), RSS_MIN),
	};
}

/* The best slope over [first, end), and whether it says more than the best step. */
static bool is_creep(const struct series *series, size_t first, size_t end, struct series_fit *out)
{
	struct series_fit step = { .rss = INFINITY };
	struct series_fit slope = { .rss = INFINITY };
	double n = (double)(end - first);

	for (size_t i = first; i + 1 < end; i++) {
		for (size_t j = i + 1; j < end; j++) {
			struct series_fit fit = fit_slope(series, first, end, i, j);

			if (j == i + 1 && fit.rss < step.rss)
				step = fit;
			if (j > i + 1 && fit.rss < slope.rss)
				slope = fit;
		}
	}
	*out = slope;
	/* Bayes' information criterion, twice over: a slope has one more parameter. */
	return n * log(step.rss / slope.rss) > 2 * log(n);
}

static double piece_mean(const struct series *series, size_t split_index)
{
	size_t first = split_index ? series->splits[split_index - 1].at : 0;
	size_t end = split_index < series->split_cnt ? series->splits[split_index].at : series->cnt;

	return describe(series, first, end).mean;
}

/* Does the level rise at this split? */
static bool rises(const struct series *series, size_t index)
{
	return piece_mean(series, index + 1) > piece_mean(series, index);
}

/* Splits first .. last go the same way: one creep, or as many steps. */
static void report(const struct series *series, size_t first, size_t last, struct diff_change *out,
		   size_t *cnt)
{
	size_t begin = first ? series->splits[first - 1].at : 0;
	size_t end = last + 1 < series->split_cnt ? series->splits[last + 1].at : series->cnt;
	struct series_fit fit;

	if (is_creep(series, begin, end, &fit)) {
		double p = 1;

		for (size_t i = first; i <= last; i++)
			p = fmin(p, series->splits[i].p);
		out[(*cnt)++] = (struct diff_change){
			.shape = DIFF_CHANGE_CREEP,
			.first_day = series->days[fit.last_before + 1].day,
			.last_day = series->days[fit.first_after].day,
			.before = fit.before,
			.after = fit.after,
			.p = p,
		};
		return;
	}
	for (size_t i = first; i <= last; i++)
		out[(*cnt)++] = (struct diff_change){
			.shape = DIFF_CHANGE_STEP,
			.first_day = series->days[series->splits[i].at].day,
			.last_day = series->days[series->splits[i].at].day,
			.before = piece_mean(series, i),
			.after = piece_mean(series, i + 1),
			.p = series->splits[i].p,
		};
}

static int check_days(const struct diff_series_day *days, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (!isfinite(days[i].value) || !isfinite(days[i].variance) ||
		    days[i].variance < 0 || (i && days[i].day <= days[i - 1].day))
			return -EINVAL;
	return 0;
}

int diff_series_changes(const struct diff_series_day *days, size_t cnt,
			const struct diff_series_options *options, struct diff_change **out,
			size_t *cnt_out)
{
	size_t skipped = cnt > DIFF_SERIES_DAYS_MAX ? cnt - DIFF_SERIES_DAYS_MAX : 0;
	struct series series = { .days = days + skipped, .cnt = cnt - skipped, .options = options };
	__cleanup_free struct series_split *splits = calloc(series.cnt + 1, sizeof(*splits));
	__cleanup_free struct diff_change *changes = calloc(series.cnt + 1, sizeof(*changes));
	size_t change_cnt = 0;
	int err = check_days(days, cnt);

	if (err)
		return err;
	if (!splits || !changes)
		return -ENOMEM;
	series.splits = splits;
	if (series.cnt >= DIFF_SERIES_DAYS_MIN)
		split(&series, 0, series.cnt);
	for (size_t first = 0, last; first < series.split_cnt; first = last + 1) {
		for (last = first; last + 1 < series.split_cnt &&
				   rises(&series, last + 1) == rises(&series, first);)
			last++;
		report(&series, first, last, changes, &change_cnt);
	}
	*out = take_ptr(changes);
	*cnt_out = change_cnt;
	return 0;
}
