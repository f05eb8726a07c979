/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Since when? Change points in the daily series of one item: what a comparison of two days cannot
 * see because each step is too small. Deterministic; no randomness, no I/O.
 */
#ifndef JBPF_DIFF_SERIES_H
#define JBPF_DIFF_SERIES_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"

#define DIFF_SERIES_DAYS_MIN 14	 /* fewer tell nothing */
#define DIFF_SERIES_DAYS_MAX 400 /* the last ones are used */

/* One day, in order of time; days without the item are simply not there. */
struct diff_series_day {
	uint32_t day;	 /* any number that counts days */
	double value;	 /* log of the share */
	double variance; /* of `value`, from the blocks of the day; a floor for the scatter of days */
};

struct diff_series_options {
	double p_max;	 /* of one change, the search for its place included: 0.001 */
	double relevant; /* log ratio up to which a change does not matter: log(1.01) */
};

enum diff_change_shape {
	DIFF_CHANGE_NONE = 0,
	DIFF_CHANGE_STEP = 1,
	DIFF_CHANGE_CREEP = 2, /* over several days */
};

struct diff_change {
	enum diff_change_shape shape;
	uint32_t first_day; /* the first that differs */
	uint32_t last_day;  /* CREEP: from here on it stays; STEP: first_day */
	double before;	    /* mean log share */
	double after;
	double p; /* of the strongest split in it; adjust over items before you believe many */
};

struct diff_series_options diff_series_options_default(void);

/*
 * Changes in order of time; the caller frees *out. None when there are fewer than
 * DIFF_SERIES_DAYS_MIN days. 0, -ENOMEM, or -EINVAL when days are not ascending or values are not
 * finite.
 */
__must_check int diff_series_changes(const struct diff_series_day *days, size_t cnt,
				     const struct diff_series_options *options,
				     struct diff_change **out, size_t *cnt_out);

#endif
