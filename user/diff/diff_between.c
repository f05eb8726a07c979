// SPDX-License-Identifier: Apache-2.0
/*
 * The variance between days. In come items with their log ratio and its variance by the blocks of
 * this pair, and the log ratios of earlier pairs; out go the items' variances with drift added, and
 * their degrees of freedom.
 *
 * The order: earlier pairs are centred by their median and summed up per item. Each family
 * (methods, classes, ...) gets a prior: a typical drift tau^2 and how alike its items are in it.
 * Small families borrow that of methods by themselves. Then each item's variance is put together,
 * from the prior and its own past, or without enough history from the prior alone.
 *
 * Method of moments, made robust. S[i] is item i's mean squared log ratio over earlier pairs; it is
 * expected to be V[i] + tau^2, V being what the blocks explain. tau^2 of a family is where the
 * median of S / (V + tau^2) is the median of its distribution, and how widely these ratios spread
 * shows how unlike the items are, as "prior degrees of freedom" (Smyth 2004). Each item then gets a
 * mean of its own S and the family's expectation, weighted by degrees of freedom.
 *
 * Without history the same is done with one pair, this one, and no item has a say of its own. A
 * single factor on all z (the classic empirical null) would be wrong here, since drift adds to the
 * variance of large items as much as to that of small ones, whose counting noise hides it; the
 * factor is still applied on top where something is left of it.
 *
 * Sides that are near each other have no day between them, and short ones few items that could tell
 * a small drift from chance: what 20 uncertain items seem to drift would hide every change. There
 * drift counts when it is more than chance shows in 19 of 20 pairs; what is less stays in the factor.
 *
 * What can go wrong: history that knows none of today's methods calibrates nothing, then this pair
 * does; with too few methods in it there is no calibration, and every verdict stays unresolved.
 */
#include "user/diff/diff_between.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "user/diff/diff_estimate.h"
#include "user/diff/diff_math.h"
#include "user/util/cleanup.h"

#define CHI_SQUARE_1_MEDIAN 0.4549364231195724
#define FIT_ITEMS_MIN	    10	 /* fewer: the family uses that of methods by themselves */
#define FIT_ITEMS_MAX	    1000 /* the most precise ones */
#define FIT_ITEMS_GOOD	    20	 /* all are used up to here, then the more precise half */
#define FIT_ITEMS_FEW	    5	 /* fewer do not tell how unlike items are */
#define FEW_DF		    4.0
#define PRIOR_DF_MIN	    1.0
#define PRIOR_DF_MAX	    200.0
#define CENTRE_VARIANCE_MAX 0.01 /* of items that take part in a pair's median */
#define CENTRE_ITEMS_MIN    5
#define SCALE_VARIANCE_MAX  0.03 /* items that take part in the empirical null */
#define PAIR_DF		    5.0	 /* items' drift differs: as if each were known from so few days */
#define BISECTIONS	    60
#define MEDIAN_ERROR	    2.33 /* relative error of the median of one chi^2 of 1 df; / sqrt(n) */
#define NEAR_DOUBT_Z	    1.64

/* Sums over earlier pairs. */
struct between_past {
	double squares;	 /* of centred log ratios */
	double variance; /* by the blocks */
	uint32_t pairs;
};

/* One item in a fit. */
struct between_point {
	double square;	 /* mean square */
	double variance; /* expected without drift */
	double leverage; /* how much of the family's drift reaches this item */
	double df;
};

struct between_prior {
	bool is_known;
	double tau2;
	double df;
};

/* Degrees of freedom of a mean of squares. Neighbouring differences of a row of days overlap. */
static double pair_df(enum diff_history_kind kind, uint32_t pairs)
{
	if (kind != DIFF_HISTORY_DAYS)
		return pairs;
	return pairs ? 2.0 * pairs * pairs / (3.0 * pairs - 1) : 0;
}

/* Median of chi^2 / df (Wilson and Hilferty). */
static double chi_square_median(double df)
{
	double root = 1 - 2 / (9 * df);

	return root * root * root;
}

/* Differences of two sets by item; `first` NULL = rows are differences already. */
static size_t join_sets(const struct diff_history_set *first, const struct diff_history_set *second,
			uint32_t item_cnt, struct diff_history_row *out)
{
	size_t cnt = 0;
	size_t at = 0;

	for (size_t i = 0; i < second->row_cnt; i++) {
		struct diff_history_row row = second->rows[i];

		if (row.item >= item_cnt)
			break;
		if (first) {
			while (at < first->row_cnt && first->rows[at].item < row.item)
				at++;
			if (at == first->row_cnt || first->rows[at].item != row.item)
				continue;
			row.value -= first->rows[at].value;
			row.variance += first->rows[at].variance;
		}
		if (isfinite(row.value) && isfinite(row.variance) && row.variance >= 0)
			out[cnt++] = row;
	}
	return cnt;
}

static void add_pair(const struct diff_item *items, const struct diff_history_row *rows, size_t cnt,
		     double *room, struct between_past *past)
{
	size_t steady = 0;

	for (size_t i = 0; i < cnt; i++)
		if (items[rows[i].item].kind == DIFF_KIND_METHOD_SELF &&
		    rows[i].variance <= CENTRE_VARIANCE_MAX)
			room[steady++] = rows[i].value;

	double centre = steady >= CENTRE_ITEMS_MIN ? diff_math_median(room, steady) : 0;

	for (size_t i = 0; i < cnt; i++) {
		struct between_past *at = &past[rows[i].item];
		double value = rows[i].value - centre;

		at->squares += value * value;
		at->variance += rows[i].variance;
		at->pairs++;
	}
}

/* Sums up history; *pairs_out is the number of pairs in it. */
static int past_sum(const struct diff_item *items, uint32_t item_cnt,
		    const struct diff_history *history, struct between_past *past,
		    uint32_t *pairs_out)
{
	size_t room = (size_t)item_cnt + 1;
	__cleanup_free struct diff_history_row *rows = reallocarray(NULL, room, sizeof(*rows));
	__cleanup_free double *values = reallocarray(NULL, room, sizeof(*values));
	bool is_days = history && history->kind == DIFF_HISTORY_DAYS;

	*pairs_out = 0;
	if (!rows || !values)
		return -ENOMEM;
	for (size_t i = is_days ? 1 : 0; history && i < history->set_cnt; i++) {
		size_t cnt = join_sets(is_days ? &history->sets[i - 1] : NULL, &history->sets[i],
				       item_cnt, rows);

		add_pair(items, rows, cnt, values, past);
		*pairs_out += cnt > 0;
	}
	return 0;
}

static int compare_points(const void *a, const void *b)
{
	return diff_math_compare(&((const struct between_point *)a)->variance,
				 &((const struct between_point *)b)->variance);
}

/* Median of how many times larger the squares are than this tau^2 makes them. */
static double excess(const struct between_point *points, size_t cnt, double tau2, double *room)
{
	size_t used = 0;

	for (size_t i = 0; i < cnt; i++) {
		double expected = points[i].variance + tau2 * points[i].leverage;

		if (expected > 0)
			room[used++] = points[i].square / expected;
		else if (points[i].square > 0)
			room[used++] = INFINITY;
	}
	return used ? diff_math_median(room, used) : 0;
}

/* `square` of the points is relative to its median's expectation from here on. */
static double fit_tau2(const struct between_point *points, size_t cnt, double doubt_z, double *room)
{
	double chance = MEDIAN_ERROR / sqrt((double)cnt);
	double low = 0;
	double high = 1e-6;

	if (excess(points, cnt, 0, room) <= 1 + doubt_z * chance)
		return 0;
	while (excess(points, cnt, high, room) > 1 && high < 1e6)
		high *= 4;
	for (int i = 0; i < BISECTIONS && high - low > 1e-6 * high; i++) {
		double middle = 0.5 * (low + high);

		if (excess(points, cnt, middle, room) > 1)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* Prior degrees of freedom: spread of the logarithms beyond that of chi^2. */
static double fit_df(const struct between_point *points, size_t cnt, double tau2)
{
	double sum = 0;
	double squares = 0;
	double expected = 0;
	size_t used = 0;

	for (size_t i = 0; i < cnt; i++) {
		double variance = points[i].variance + tau2 * points[i].leverage;

		if (!(variance > 0) || !(points[i].square > 0))
			continue;

		double value = log(points[i].square / variance);

		sum += value;
		squares += value * value;
		expected += diff_math_trigamma(points[i].df / 2);
		used++;
	}
	if (used < 2)
		return PRIOR_DF_MIN;

	double n = (double)used;
	double more = (squares - sum * sum / n) / (n - 1) - expected / n;
	double df = more > 0 ? 2 * diff_math_trigamma_inverse(more) : PRIOR_DF_MAX;

	return df < PRIOR_DF_MIN ? PRIOR_DF_MIN : df > PRIOR_DF_MAX ? PRIOR_DF_MAX : df;
}

/* How many of the points, sorted by precision, have a variance of at most `limit`. */
static size_t count_precise(const struct between_point *points, size_t cnt, double limit)
{
	size_t precise = 0;

	while (precise < cnt && points[precise].variance <= limit)
		precise++;
	return precise;
}

static struct between_prior fit_prior(struct between_point *points, size_t cnt, size_t cnt_min,
				      double doubt_z, double *room)
{
	if (cnt < cnt_min)
		return (struct between_prior){ .is_known = false };
	qsort(points, cnt, sizeof(*points), compare_points);

	/* Items whose blocks scatter more than they drift tell little about drift. The more precise
	 * half gives a first idea, and then everything joins in that is precise enough for it: the
	 * most precise items alone may be sums of many that drift less than each. */
	size_t used = cnt / 2 > FIT_ITEMS_GOOD ? cnt / 2 :
		      cnt < FIT_ITEMS_GOOD     ? cnt :
						 FIT_ITEMS_GOOD;
	double first = fit_tau2(points, used < FIT_ITEMS_MAX ? used : FIT_ITEMS_MAX, doubt_z, room);
	size_t precise = count_precise(points, cnt, first);

	used = precise > used ? precise : used;
	used = used < FIT_ITEMS_MAX ? used : FIT_ITEMS_MAX;

	double tau2 = fit_tau2(points, used, doubt_z, room);

	return (struct between_prior){
		.is_known = true,
		.tau2 = tau2,
		.df = used < FIT_ITEMS_FEW ? FEW_DF : fit_df(points, used, tau2),
	};
}

/*
 * How much of the family's drift reaches an item. Sums that hold nearly everything drift less, as
 * the rest is all that can drift against them; but never less than the mix itself.
 */
static double leverage(double share, enum diff_kind kind, double mixing)
{
	double rest = share < 1 ? 1 - share : 0;

	if (kind == DIFF_KIND_METHOD_SELF)
		return 1;
	return fmax(rest * rest * diff_estimate_leverage(share, true), mixing);
}

struct between_fit {
	const struct diff_item *items;
	uint32_t item_cnt;
	const struct between_past *past; /* NULL: fit this pair */
	enum diff_history_kind kind;
	uint32_t history_min;
	double mixing;
	double doubt_z; /* of a fit of this pair: drift must be that sure to be believed */
	struct between_point *points; /* room for all items */
	double *room;
};

/* The points of one family. */
static size_t list_points(const struct between_fit *fit, const struct diff_between_item *at,
			  int kind)
{
	size_t cnt = 0;

	for (uint32_t i = 0; i < fit->item_cnt; i++) {
		if ((int)fit->items[i].kind != kind)
			continue;

		struct between_point point = {
			.leverage = leverage(at[i].share, fit->items[i].kind, fit->mixing),
		};

		if (fit->past) {
			const struct between_past *past = &fit->past[i];

			if (past->pairs < fit->history_min)
				continue;
			point.df = pair_df(fit->kind, past->pairs);
			point.square = past->squares / past->pairs / chi_square_median(point.df);
			point.variance = past->variance / past->pairs;
		} else {
			if (at[i].within > SCALE_VARIANCE_MAX)
				continue;
			point.df = 1;
			point.square = at[i].log_ratio * at[i].log_ratio / CHI_SQUARE_1_MEDIAN;
			point.variance = at[i].within;
		}
		fit->points[cnt++] = point;
	}
	return cnt;
}

/* How many methods history must know: a handful, or all when today has no more. */
static size_t history_items_min(const struct between_fit *fit, const struct diff_between_item *at)
{
	size_t cnt = 0;

	for (uint32_t i = 0; i < fit->item_cnt && cnt < CENTRE_ITEMS_MIN; i++)
		cnt += fit->items[i].kind == DIFF_KIND_METHOD_SELF &&
		       at[i].within <= SCALE_VARIANCE_MAX;
	return cnt ? cnt : 1;
}

/*
 * Priors of all families; small families borrow that of methods by themselves. A method with all
 * it calls is often nearly one method, often the sum of many that drift less together; the more
 * precise ones are the sums, so the family's own fit is too low for the rest.
 */
static void fit_families(const struct between_fit *fit, const struct diff_between_item *at,
			 struct between_prior priors[DIFF_KIND_CNT])
{
	size_t cnt = list_points(fit, at, DIFF_KIND_METHOD_SELF);
	double doubt_z = fit->past ? 0 : fit->doubt_z;

	/* One pair of days tells by many methods only; several days also by few, if there are no
	 * more. */
	priors[DIFF_KIND_METHOD_SELF] =
		fit_prior(fit->points, cnt, fit->past ? history_items_min(fit, at) : FIT_ITEMS_MIN,
			  doubt_z, fit->room);
	for (int kind = DIFF_KIND_METHOD_SELF + 1; kind < DIFF_KIND_CNT; kind++) {
		cnt = list_points(fit, at, kind);
		priors[kind] = fit_prior(fit->points, cnt, FIT_ITEMS_MIN, doubt_z, fit->room);
		if (!priors[kind].is_known)
			priors[kind] = priors[DIFF_KIND_METHOD_SELF];
		if (kind == DIFF_KIND_METHOD_TOTAL || kind == DIFF_KIND_PATH)
			priors[kind].tau2 =
				fmax(priors[kind].tau2, priors[DIFF_KIND_METHOD_SELF].tau2);
	}
}

static void apply_history(const struct between_fit *fit,
			  const struct between_prior priors[DIFF_KIND_CNT], double averaging,
			  struct diff_between_item *at)
{
	for (uint32_t i = 0; i < fit->item_cnt; i++) {
		const struct between_prior *prior = &priors[fit->items[i].kind];
		const struct between_past *past = &fit->past[i];
		double drift = prior->tau2 * leverage(at[i].share, fit->items[i].kind, fit->mixing);
		double df = prior->df;

		if (past->pairs) {
			double own_df = pair_df(fit->kind, past->pairs);
			double square = past->squares / past->pairs;
			double variance = past->variance / past->pairs;

			drift = (df * drift + own_df * (square - variance)) / (df + own_df);
			df += own_df;
		}
		at[i].variance = at[i].within + (drift > 0 ? drift * averaging : 0);
		at[i].df = df < at[i].within_df ? df : at[i].within_df;
	}
}

/* What is left of the empirical null after drift: a factor on the variances of a family. */
static double leftover(const struct between_fit *fit, const struct diff_between_item *at, int kind)
{
	size_t cnt = 0;

	for (uint32_t i = 0; i < fit->item_cnt; i++)
		if ((int)fit->items[i].kind == kind && at[i].within <= SCALE_VARIANCE_MAX &&
		    at[i].variance > 0)
			fit->room[cnt++] = at[i].log_ratio * at[i].log_ratio / at[i].variance;
	if (cnt < FIT_ITEMS_MIN)
		return NAN;

	double scale = diff_math_median(fit->room, cnt) / CHI_SQUARE_1_MEDIAN;

	return scale > 1 ? scale : 1;
}

/*
 * Degrees of freedom (Satterthwaite) of a sum of what blocks showed and of what was inferred from
 * all items together, of which each may have more or less.
 */
static double mixed_df(double within, double within_df, double variance)
{
	double inferred = variance - within;

	if (!(inferred > 0))
		return within_df;
	return variance * variance / (within * within / within_df + inferred * inferred / PAIR_DF);
}

static void apply_pair(const struct between_fit *fit,
		       const struct between_prior priors[DIFF_KIND_CNT],
		       struct diff_between_item *at, struct diff_family families[DIFF_KIND_CNT])
{
	for (uint32_t i = 0; i < fit->item_cnt; i++) {
		at[i].variance = at[i].within +
				 priors[fit->items[i].kind].tau2 *
					 leverage(at[i].share, fit->items[i].kind, fit->mixing);
	}
	for (int kind = DIFF_KIND_METHOD_SELF; kind < DIFF_KIND_CNT; kind++) {
		double scale = leftover(fit, at, kind);
		double borrowed = families[DIFF_KIND_METHOD_SELF].empirical_scale;

		families[kind].empirical_scale = !isnan(scale)		       ? scale :
						 kind == DIFF_KIND_METHOD_SELF ? 1 :
										 borrowed;
	}
	for (uint32_t i = 0; i < fit->item_cnt; i++) {
		if (fit->items[i].kind != DIFF_KIND_NONE)
			at[i].variance *= families[fit->items[i].kind].empirical_scale;
		at[i].df = mixed_df(at[i].within, at[i].within_df, at[i].variance);
	}
}

static void between_apply(struct between_fit *fit, const struct between_past *past,
			  uint32_t history_min, double averaging, struct diff_between_item *at,
			  struct diff_between *out)
{
	struct between_prior priors[DIFF_KIND_CNT] = { 0 };
	bool has_history = out->history_pairs >= history_min;

	fit->past = has_history ? past : NULL;
	fit_families(fit, at, priors);
	if (has_history && !priors[DIFF_KIND_METHOD_SELF].is_known) {
		/* Earlier pairs without any of today's methods calibrate nothing. */
		has_history = false;
		fit->past = NULL;
		fit_families(fit, at, priors);
	}
	for (int kind = 0; kind < DIFF_KIND_CNT; kind++)
		out->families[kind] = (struct diff_family){
			.between = priors[kind].tau2,
			.between_df = priors[kind].df,
			.empirical_scale = 1,
		};
	out->calibration = has_history				  ? DIFF_CALIBRATION_HISTORY :
			   priors[DIFF_KIND_METHOD_SELF].is_known ? DIFF_CALIBRATION_PAIR :
								    DIFF_CALIBRATION_NONE;
	if (has_history)
		apply_history(fit, priors, averaging, at);
	else
		apply_pair(fit, priors, at, out->families);
}

int diff_between_add(const struct diff_item *items, uint32_t item_cnt,
		     const struct diff_history *history, const struct diff_options *options,
		     const struct diff_between_sides *sides, struct diff_between_item *at,
		     struct diff_between *out)
{
	size_t room = (size_t)item_cnt + 1;
	__cleanup_free struct between_past *past = calloc(room, sizeof(*past));
	__cleanup_free struct between_point *points = reallocarray(NULL, room, sizeof(*points));
	__cleanup_free double *numbers = reallocarray(NULL, room, sizeof(*numbers));
	struct diff_between between = { 0 };

	if (!past || !points || !numbers)
		return -ENOMEM;

	int err = past_sum(items, item_cnt, history, past, &between.history_pairs);

	if (err)
		return err;
	for (uint32_t i = 0; i < item_cnt; i++)
		past[i].variance *=
			diff_estimate_leverage(at[i].share, items[i].kind != DIFF_KIND_METHOD_SELF);

	struct between_fit fit = {
		.items = items,
		.item_cnt = item_cnt,
		.kind = history ? history->kind : DIFF_HISTORY_PAIRS,
		.history_min = options->history_min,
		.mixing = sides->mixing,
		.doubt_z = sides->is_near ? NEAR_DOUBT_Z : 0,
		.points = points,
		.room = numbers,
	};

	between_apply(&fit, past, options->history_min,
		      diff_history_is_of_one_time(fit.kind) ?
			      history->averaging :
			      0.5 / sides->days_a + 0.5 / sides->days_b,
		      at, &between);
	*out = between;
	return 0;
}
