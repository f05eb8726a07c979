/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of one side by item, of the blocks that are compared: the side's own order turned round. */
#ifndef JBPF_DIFF_COUNTS_H
#define JBPF_DIFF_COUNTS_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/diff/diff_plan.h"
#include "user/diff/diff_side.h"

struct diff_counts_entry {
	uint32_t block; /* of the side */
	uint32_t count;
};

struct diff_counts {
	size_t *first; /* item_cnt + 1: entries of item i are first[i] .. first[i + 1] - 1 */
	struct diff_counts_entry *entries; /* by item, then by block */
};

/* Items from `item_cnt` on are left out. 0 and counts for diff_counts_release(), or -ENOMEM. */
__must_check int diff_counts_make(const struct diff_side *side, const struct diff_plan_side *plan,
				  uint32_t item_cnt, struct diff_counts *out);
void diff_counts_release(struct diff_counts *counts);

#endif
