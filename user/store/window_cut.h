/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a window lies within a short range of time: its stacks, as often as they were sampled in
 * the range. In: a window with text, ticks and threads, as the store hands it
 * out. Out: the same of the range, in memory of the cut, which is used for one window after the other.
 * No I/O.
 */
#ifndef JBPF_STORE_WINDOW_CUT_H
#define JBPF_STORE_WINDOW_CUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/window.h"
#include "user/util/attributes.h"
#include "user/util/strbuf.h"

struct thread_counts;

/* Zero-initialise; end with window_cut_release(). Valid until the next window. */
struct window_cut {
	struct window
		window; /* labels are borrowed from the one that was cut; of the counts only samples */
	struct strbuf text;
	uint64_t timed_samples; /* of the whole window, those whose moment is known */
	struct strbuf thread_code;
	struct thread_counts *threads;
	uint64_t *counts;
	size_t count_cap;
};

void window_cut_release(struct window_cut *cut);

#define WINDOW_CUT_RANGE_NS (60ull * 1000000000) /* of longer ranges, windows count whole */

/* Is the range one for which windows are cut? */
static inline bool window_cut_is_range(uint64_t since_unix_ns, uint64_t until_unix_ns)
{
	return until_unix_ns - since_unix_ns < WINDOW_CUT_RANGE_NS;
}

/* Is it, and does the window reach over its begin or its end? */
bool window_cut_is_due(const struct window *window, uint64_t since_unix_ns, uint64_t until_unix_ns);

/*
 * The samples of [since, until); times are those of the milliseconds that samples have. A line that
 * several threads had is of one that is not known. 0; -ENODATA: the moments of this window's stacks
 * are not known; -ENOMEM.
 */
__must_check int window_cut(struct window_cut *cut, const struct window *window, const char *text,
			    size_t len, uint64_t since_unix_ns, uint64_t until_unix_ns);

#endif
