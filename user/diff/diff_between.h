/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the blocks of one pair cannot show: items drift from day to day. How much is learned from
 * earlier pairs (diff_history.h), item by item where they tell enough, else from the family's
 * median. Without history from this pair itself, on the assumption that most items did not change.
 */
#ifndef JBPF_DIFF_BETWEEN_H
#define JBPF_DIFF_BETWEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/diff/diff.h"

struct diff_between_item {
	double log_ratio; /* in: against the composition factor */
	double within;	  /* in: its variance by the blocks */
	double within_df; /* in */
	double share;	  /* in: of both sides together */
	double variance;  /* out: with what lies between days */
	double df;	  /* out */
};

struct diff_between {
	enum diff_calibration calibration;
	uint32_t history_pairs;
	/* Of families only `between`, `between_df` and `empirical_scale` are set. */
	struct diff_family families[DIFF_KIND_CNT];
};

struct diff_between_sides {
	/* Sum of the squared shares of all methods: even what holds nearly everything drifts with
	 * the mix by that much. */
	double mixing;
	double days_a; /* what the sides average over */
	double days_b;
	bool is_near; /* within options->near_s of each other */
};

/* 0 or -ENOMEM. */
__must_check int diff_between_add(const struct diff_item *items, uint32_t item_cnt,
				  const struct diff_history *history,
				  const struct diff_options *options,
				  const struct diff_between_sides *sides,
				  struct diff_between_item *at, struct diff_between *out);

#endif
