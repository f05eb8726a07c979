/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Since when? Change points of every method of a daily series, set against the median method of each
 * day (one method that grows makes the shares of all others smaller), and adjusted for how many
 * methods were looked at. No I/O.
 */
#ifndef JBPF_DAILY_CHANGES_H
#define JBPF_DAILY_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/diff/diff.h"
#include "user/diff/diff_series.h"
#include "user/store/series/series.h"

#define DAILY_CHANGES_WINDOW 120 /* days that are looked at */

struct daily_change {
	uint32_t item; /* of the series: a method, by itself or with what it calls */
	struct diff_change change;
	double q;	     /* false discovery rate over all methods */
	double share_before; /* as the series has them: means of the days before and after */
	double share_after;
	bool is_sure; /* q is small enough for an alarm, and the level still stands */
	bool is_new;  /* no comparison of the last two weeks reported it: alarms come once */
};

struct daily_changes {
	struct daily_change *items; /* the surest first; the caller frees them */
	size_t cnt;
	double p_max; /* what was just enough to be sure among so many, for daily_series_set_judged() */
};

/*
 * Changes that the good days up to `last` show. None when `last` itself is no good day or the days are
 * too few. 0 or -ENOMEM.
 */
__must_check int daily_changes_find(const struct series *series, uint32_t last,
				    const struct diff_options *options, struct daily_changes *out);

/* Is it a reason for an alarm: sure, new, and upwards? */
bool daily_change_is_alarm(const struct daily_change *change);

#endif
