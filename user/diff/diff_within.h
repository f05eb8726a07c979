/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variance within the pair, moderated. The design effect is how many times more an item scatters
 * between blocks than counting would make it. One item's own is uncertain, items of about the same
 * size in the same family are alike: so each is drawn toward the median of its neighbours by size,
 * and so is the correlation between neighbouring blocks.
 */
#ifndef JBPF_DIFF_WITHIN_H
#define JBPF_DIFF_WITHIN_H

#include <stdint.h>

#include "user/util/attributes.h"
#include "user/diff/diff.h"
#include "user/diff/diff_estimate.h"
#include "user/diff/diff_plan.h"

struct diff_within {
	double variance; /* of the log ratio */
	double extra;	 /* of that, more than counting explains */
	double design;	 /* design effect, at least 1 */
	double df;
};

/* out[item_cnt]; items of kind NONE stay as they are. 0 or -ENOMEM. */
__must_check int diff_within_moderate(const struct diff_item *items, uint32_t item_cnt,
				      const struct diff_plan *plan,
				      const struct diff_estimate *estimates, double prior_df,
				      struct diff_within *out);

#endif
