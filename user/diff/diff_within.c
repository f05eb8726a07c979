// SPDX-License-Identifier: Apache-2.0
/*
 * Family by family: sort by size, running medians of correlation and design effect, shrink. An item
 * too small to measure anything by itself takes its neighbours' design effect as it is.
 */
#include "user/diff/diff_within.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "user/diff/diff_math.h"
#include "user/util/cleanup.h"

#define NEIGHBOURS    50    /* on each side, by size */
#define MEASURABLE_X  20    /* samples on each side from which an item's own scatter counts */
#define MULTINOMIAL_0 1e-15 /* an item that is all there is does not vary by counting */

struct within_member {
	double size;
	uint32_t item;
};

/* Arrays by rank in the family. */
struct within_family {
	struct within_member *members;
	uint32_t cnt;
	double *lag;
	double *lag_near; /* running medians */
	double *design;
	double *design_near;
};

static int compare_members(const void *a, const void *b)
{
	const struct within_member *left = a;
	const struct within_member *right = b;
	int order = diff_math_compare(&left->size, &right->size);

	return order ? order : (left->item > right->item) - (left->item < right->item);
}

static double both(const double sides[DIFF_PLAN_SIDES])
{
	return sides[DIFF_PLAN_A] + sides[DIFF_PLAN_B];
}

static bool is_measurable(const struct diff_estimate *estimate)
{
	return estimate->x[DIFF_PLAN_A] >= MEASURABLE_X &&
	       estimate->x[DIFF_PLAN_B] >= MEASURABLE_X && both(estimate->mult) > MULTINOMIAL_0;
}

static void family_list(const struct diff_item *items, uint32_t item_cnt, enum diff_kind kind,
			const struct diff_estimate *estimates, struct within_family *family)
{
	family->cnt = 0;
	for (uint32_t i = 0; i < item_cnt; i++)
		if (items[i].kind == kind)
			family->members[family->cnt++] =
				(struct within_member){ .size = both(estimates[i].x), .item = i };
	qsort(family->members, family->cnt, sizeof(*family->members), compare_members);
}

static int family_correlation(const struct diff_estimate *estimates, struct within_family *family)
{
	for (uint32_t r = 0; r < family->cnt; r++) {
		const struct diff_estimate *at = &estimates[family->members[r].item];

		family->lag[r] = is_measurable(at) ? at->lag : NAN;
	}
	return diff_math_running_median(family->lag, family->cnt, NEIGHBOURS, family->lag_near);
}

static int family_design(const struct diff_estimate *estimates, struct within_family *family)
{
	for (uint32_t r = 0; r < family->cnt; r++) {
		const struct diff_estimate *at = &estimates[family->members[r].item];

		family->design[r] = NAN;
		if (is_measurable(at))
			family->design[r] = at->residual *
					    diff_estimate_stretch(family->lag_near[r]) /
					    both(at->mult);
	}
	return diff_math_running_median(family->design, family->cnt, NEIGHBOURS,
					family->design_near);
}

static void family_shrink(const struct diff_plan *plan, const struct diff_estimate *estimates,
			  const struct within_family *family, double prior_df,
			  struct diff_within *out)
{
	uint32_t rows = plan->is_paired ? 1 : 2;

	for (uint32_t r = 0; r < family->cnt; r++) {
		uint32_t item = family->members[r].item;
		const struct diff_estimate *at = &estimates[item];
		double near = isnan(family->design_near[r]) ? 1 : family->design_near[r];
		double clusters = plan->cluster_cnt / diff_estimate_stretch(family->lag_near[r]);
		double df = fmax(clusters - rows, 1);
		double counting = both(at->mult);
		bool is_own = !isnan(family->design[r]);
		double design =
			is_own ? (df * family->design[r] + prior_df * near) / (df + prior_df) :
				 near;
		/* Never seen on one side: counting makes that side's log share wide, but the scatter
		 * of its kind is that of items of its size on both sides together. */
		double base = is_own ? counting : at->pooled;

		design = fmax(design, 1);
		out[item] = (struct diff_within){
			.variance = counting + (design - 1) * base,
			.extra = (design - 1) * base,
			.design = design,
			.df = df + prior_df,
		};
	}
}

static int family_alloc(uint32_t cnt, struct within_family *family, double **numbers)
{
	size_t room = (size_t)cnt + 1;

	family->members = reallocarray(NULL, room, sizeof(*family->members));
	*numbers = reallocarray(NULL, room, 4 * sizeof(double));
	if (!family->members || !*numbers)
		return -ENOMEM;
	family->lag = *numbers;
	family->lag_near = *numbers + room;
	family->design = *numbers + 2 * room;
	family->design_near = *numbers + 3 * room;
	return 0;
}

int diff_within_moderate(const struct diff_item *items, uint32_t item_cnt,
			 const struct diff_plan *plan, const struct diff_estimate *estimates,
			 double prior_df, struct diff_within *out)
{
	struct within_family family = { 0 };
	__cleanup_free double *numbers = NULL;
	int err = family_alloc(item_cnt, &family, &numbers);
	__cleanup_free struct within_member *members = family.members;

	(void)members; /* only to free it */
	for (int kind = DIFF_KIND_NONE + 1; !err && kind < DIFF_KIND_CNT; kind++) {
		family_list(items, item_cnt, (enum diff_kind)kind, estimates, &family);
		err = family_correlation(estimates, &family);
		if (!err)
			err = family_design(estimates, &family);
		if (!err)
			family_shrink(plan, estimates, &family, prior_df, out);
	}
	return err;
}
