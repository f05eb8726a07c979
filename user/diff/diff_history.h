/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What earlier, quiet times, other hosts or other replicas say about how much items drift when nothing was changed. Either a row of days
 * (the daily series: neighbours are compared), or comparisons of two sides that should have been
 * the same (earlier day pairs, canary against control). Rows are kept per item; who stores them
 * under names translates names to items of the present comparison first.
 */
#ifndef JBPF_DIFF_HISTORY_H
#define JBPF_DIFF_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/diff/diff_side.h"

enum diff_history_kind {
	DIFF_HISTORY_DAYS = 0,
	DIFF_HISTORY_PAIRS = 1,
	DIFF_HISTORY_HOSTS = 2,	   /* each host of one time against the others */
	DIFF_HISTORY_REPLICAS = 3, /* each replica of one side and time against the others */
};

static inline bool diff_history_is_of_one_time(enum diff_history_kind kind)
{
	return kind == DIFF_HISTORY_HOSTS || kind == DIFF_HISTORY_REPLICAS;
}

struct diff_history_row {
	uint32_t item;
	float value;	/* DAYS: log of the share; else log ratio, not yet set against a median */
	float variance; /* of `value`, from the blocks within the day or pair */
};

/* A day or a pair. Rows in ascending order of item. */
struct diff_history_set {
	const struct diff_history_row *rows;
	size_t row_cnt;
};

struct diff_history {
	enum diff_history_kind kind;
	const struct diff_history_set *sets; /* oldest first */
	size_t set_cnt;
	/* HOSTS, REPLICAS: the drift of the sides that are compared, as a factor on that of a set. */
	double averaging;
};

/*
 * Rows of one day, for the series: the share of each item of `day` with at least `share_min`, and
 * its variance, measured by pairing `day` with the day `before` it (NULL = none: from
 * neighbouring blocks, which errs on the large side of day drift). The caller frees *rows_out. 0
 * or -ENOMEM; *cnt_out is 0 for a day without samples.
 */
__must_check int diff_history_measure_day(const struct diff_side *before,
					  const struct diff_side *day, uint32_t item_cnt,
					  double share_min, struct diff_history_row **rows_out,
					  size_t *cnt_out);

/*
 * Rows of one pair of sides that should have been the same: the log ratio of each item's shares and
 * its variance by the blocks. Items are measured that have at least `share_min` of both sides. The
 * caller frees *rows_out. 0 or -ENOMEM; *cnt_out is 0 when a side has no samples.
 */
__must_check int diff_history_measure_pair(const struct diff_side *before,
					   const struct diff_side *after, uint32_t item_cnt,
					   double share_min, struct diff_history_row **rows_out,
					   size_t *cnt_out);

#endif
