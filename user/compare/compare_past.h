/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Earlier days of the same streams, read from the store: they tell how much items drift when
 * nothing was changed. Sides at the same time of day are calibrated by the days before (each day
 * against its neighbour), sides at different times of one day by the same two times of earlier
 * days.
 */
#ifndef JBPF_COMPARE_COMPARE_PAST_H
#define JBPF_COMPARE_COMPARE_PAST_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/compare/compare_load.h"
#include "user/diff/diff_history.h"

#define COMPARE_PAST_PAIRS 7

/* What calibrates; ended with compare_past_release(). */
struct compare_past {
	struct diff_history history;
	struct diff_history_set sets[COMPARE_PAST_PAIRS + 1];
};

/*
 * `what`: of whom, block length and warm-up (times and labels are not looked at). `before` and
 * `after`: the sides; `catalog` is theirs. A history of no sets is fine: 0. Else -errno.
 */
__must_check int compare_past_load(struct store_source *reader, const struct compare_load *what,
				   struct diff_catalog *catalog, const struct diff_side *before,
				   const struct diff_side *after, struct cmd_store_damage *damage,
				   struct compare_past *out);
void compare_past_release(struct compare_past *past);

#endif
