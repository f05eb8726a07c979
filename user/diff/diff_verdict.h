/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From estimates and variances to verdicts. Internal to user/diff: diff_run() is the way in. The
 * parts run in the order in which they stand here.
 */
#ifndef JBPF_DIFF_VERDICT_H
#define JBPF_DIFF_VERDICT_H

#include "user/util/attributes.h"
#include "user/diff/diff.h"
#include "user/diff/diff_between.h"
#include "user/diff/diff_estimate.h"
#include "user/diff/diff_plan.h"
#include "user/diff/diff_scale.h"
#include "user/diff/diff_within.h"

/* All that is known about a comparison; everything is borrowed. Arrays are by item. */
struct diff_case {
	const struct diff_item *items;
	uint32_t item_cnt;
	const struct diff_options *options;
	const struct diff_plan *plan;
	const struct diff_estimate *estimates;
	const struct diff_within *within;
	const struct diff_between_item *between;
	const struct diff_scale *scale;
	enum diff_calibration calibration;
	struct diff_row *rows;
	struct diff_family *families;
};

/*
 * Intervals, p and q by family, the smallest change that could be seen; verdicts UNRESOLVED, SAME,
 * UP, DOWN, NEW and GONE. Only intervals, by the blocks alone, when nothing tells how much items
 * drift. 0 or -ENOMEM.
 */
__must_check int diff_verdict_test(const struct diff_case *diff);

/* TRANSIENT where a change is gone in the last quarter of B. */
void diff_verdict_persist(const struct diff_case *diff);

/* MOVED where another item under the same roof changed the other way (diff_causes.c). 0, -ENOMEM. */
__must_check int diff_moved_mark(const struct diff_case *diff);

/* The place in the call tree each changed method's change comes from (diff_causes.c). 0, -ENOMEM. */
__must_check int diff_origin_find(const struct diff_case *diff);

/* Was a change of this item found, whatever became of the verdict? */
static inline bool diff_verdict_is_found(const struct diff_case *diff, uint32_t item)
{
	return diff->rows[item].is_tested && diff->rows[item].q <= diff->options->q_shown;
}

#endif
