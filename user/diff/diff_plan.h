/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which blocks of two sides are compared, and with which. Blocks at the same time of day are paired
 * when both sides have such, because the mix of work follows the clock; the leftovers are left out
 * then. Otherwise every block stands for itself.
 *
 * A cluster is one pair (or, where one side has several days and the other has one, blocks of several
 * days against one), or one block when not paired. Clusters are in order of time; JSON calls
 * their number "units".
 */
#ifndef JBPF_DIFF_PLAN_H
#define JBPF_DIFF_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/diff/diff_side.h"

#define DIFF_PLAN_A	0
#define DIFF_PLAN_B	1
#define DIFF_PLAN_SIDES 2

/* Totals over what is compared. */
struct diff_plan_side {
	uint32_t *cluster_of; /* by block of the side: its cluster or DIFF_NONE = left out */
	double *weight_of;    /* by block: what one sample counts; 1 at the plan's frequency */
	double *samples;      /* by cluster, weighted */
	double *cpu_s;	      /* by cluster */
	double *seconds;      /* by cluster: time recorded */
	double sample_total;  /* weighted */
	double cpu_total_s;   /* NaN when a block's frequency is not known */
	double second_total;
	double days;	    /* different days, at least 1 */
	uint32_t block_cnt; /* compared */
	uint32_t unpaired_cnt;
	/* Sums for gates, not weighted. */
	double raw_samples, lost, frames, unknown_frames, truncated, other_stacks;
};

struct diff_plan {
	bool is_paired;
	uint32_t cluster_cnt;
	uint32_t first_b;      /* not paired: clusters below are of A, the others of B; paired: 0 */
	uint32_t late_first;   /* clusters from here on are the last quarter of B */
	uint32_t frequency_hz; /* to which the weights refer; 0 = not known */
	double span_s;	       /* from the first block of both sides to the end of the last */
	struct diff_plan_side sides[DIFF_PLAN_SIDES];
};

/* 0 and a plan to be ended with diff_plan_release(), or -ENOMEM. */
__must_check int diff_plan_make(const struct diff_side *a, const struct diff_side *b,
				struct diff_plan *out);
void diff_plan_release(struct diff_plan *plan);

#endif
