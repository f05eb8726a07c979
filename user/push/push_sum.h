/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows of the store, summed to whole minutes: one sum for each stream and minute, whatever the store
 * had merged before, so that a minute is the same rows from an open hour and from a merged one. No I/O.
 *
 * In: windows and their texts. Out: sums, in order of minute and stream, borrowed until the next change.
 */
#ifndef JBPF_PUSH_PUSH_SUM_H
#define JBPF_PUSH_PUSH_SUM_H

#include <stddef.h>
#include <stdint.h>

#include "user/model/profile.h"
#include "user/model/window.h"
#include "user/util/attributes.h"
#include "user/util/strbuf.h"

/*
 * What hostile processes could make of a minute. Samples past the first are kept as "PROCESS;[over the limit]";
 * windows past the second are dropped. Both are counted.
 */
#define PUSH_STACKS_PER_MINUTE	200000
#define PUSH_STREAMS_PER_MINUTE 20000
#define PUSH_OVER_LIMIT_FRAME	"[over the limit]"

struct push_stream {
	uint32_t minute_unix_s;
	uint64_t stream;	/* window_row_stream() */
	struct window window;	/* its texts are ours */
	struct profile *stacks; /* sorted by push_sum__finish() */
	/* Not for others. */
	char *labels;
	struct profile *lines;
	struct thread_counts *threads;
	struct cells_sum *cells;
	struct strbuf lines_text, cells_code, threads_code;
};

struct push_sum_stats {
	uint64_t over_limit_samples;
	uint64_t dropped_windows;
	uint64_t dropped_samples;
	uint64_t bad_lines; /* damage: lines that are no stacks, codes that cannot be read */
};

struct push_sum;

struct push_sum *push_sum__new(void);	   /* NULL when memory is short */
void push_sum__free(struct push_sum *sum); /* NULL is fine */
/* One window and its text. 0 or -ENOMEM. */
__must_check int push_sum__add(struct push_sum *sum, const struct window *window, const char *text,
			       size_t len);
/* After the last window: sorts, and makes the windows whole. 0 or -ENOMEM. */
__must_check int push_sum__finish(struct push_sum *sum);
size_t push_sum__count(const struct push_sum *sum);
const struct push_stream *push_sum__get(const struct push_sum *sum, size_t index);
const struct push_sum_stats *push_sum__stats(const struct push_sum *sum);

#endif
