/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between a comparison and the daily series: a day's profile becomes a day of the series, and earlier
 * days become the history that says how much methods drift. Days are matched by names. No I/O.
 */
#ifndef JBPF_DAILY_SERIES_H
#define JBPF_DAILY_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/daily/daily_date.h"
#include "user/diff/diff.h"
#include "user/diff/diff_catalog.h"
#include "user/diff/diff_history.h"
#include "user/diff/diff_side.h"
#include "user/store/series/series.h"

#define DAILY_SAMPLES_MIN 1000	/* of a day; fewer tell nothing */
#define DAILY_SHARE_MIN	  0.001 /* smaller items have no rows */
#define DAILY_HISTORY_MAX 28	/* days that calibrate a comparison: four weeks */

/* A day's profile. Labels may be NULL and of any length. */
struct daily_measure {
	const struct daily_date *date;
	const struct diff_side *before; /* the day before it, for the variance; NULL = not known */
	const struct diff_side *side;
	const struct diff_catalog *catalog; /* of both */
	const char *jvm_version;
	const char *image;
};

/*
 * Puts the day into the series; a side without blocks is a day without rows, and a day that was judged
 * stays so. 0 or -ENOMEM.
 */
__must_check int daily_series_put(struct series *series, const struct daily_measure *day);
/*
 * A comparison ended with this day, and told its changes of up to this p (0 = not known); of a day that was judged
 * before the larger p counts, as both were told. 0, also without such a day, or -ENOMEM.
 */
__must_check int daily_series_set_judged(struct series *series, uint32_t day, double told_p_max);

/*
 * Days of [first, last] that are good for statistics: enough samples, and nothing wrong with them by
 * the gates of `options`, each for itself and against the others. The newest `max` of them, oldest
 * first; the caller frees *out, whose days live as long as the series is not changed. 0 or -ENOMEM.
 */
__must_check int daily_series_good(const struct series *series, uint32_t first, uint32_t last,
				   size_t max, const struct diff_options *options,
				   const struct series_day ***out, size_t *cnt_out);

/* Ended with daily_history_release(). */
struct daily_history {
	struct diff_history history;
	struct diff_history_set sets[DAILY_HISTORY_MAX];
	struct diff_history_row *rows[DAILY_HISTORY_MAX];
};

/*
 * The good days before the day `before`, as history of a comparison of items of `catalog`, which
 * must not grow before it is used. No days are fine. 0 or -ENOMEM; *out is to be released in any case.
 */
__must_check int daily_series_history(const struct series *series,
				      const struct diff_catalog *catalog, uint32_t before,
				      const struct diff_options *options,
				      struct daily_history *out);
void daily_history_release(struct daily_history *history);

#endif
