/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows of the store, summed to whole minutes: one sum for each stream and minute, whatever the store
 * had merged before, so that a minute is the same rows from an open hour and from a merged one. No I/O.
 *
 * In: windows and their texts. Out: sums, in order of minute and stream, borrowed until the next change.
 */
#ifndef JBPF_PUSH_PUSH_SUM_H
#define JBPF_PUSH_PUSH_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/profile.h"
#include "user/model/window.h"
#include "user/util/attributes.h"
#include "user/util/strbuf.h"

/*
 * What hostile processes could make of a minute. Samples past the first are kept as "PROCESS;[over the limit]", but
 * for those of stacks that are there already; windows past the second are dropped. Both are counted.
 */
#define PUSH_STACKS_PER_MINUTE	200000
#define PUSH_STREAMS_PER_MINUTE 20000
#define PUSH_OVER_LIMIT_FRAME	"[over the limit]"
/*
 * Memory for stacks, their source lines and threads, of all minutes of a sum. Past it stacks are as past
 * PUSH_STACKS_PER_MINUTE, source lines are left out, and push_sum__is_full(): fewer minutes may have room.
 */
#define PUSH_SUM_MAX_BYTES (128u << 20)

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
	struct strbuf over_limit; /* its stack of what is past the limit; empty = nothing is yet */
};

struct push_sum_stats {
	uint64_t over_limit_samples;
	uint64_t over_limit_lines; /* windows whose source lines were left out */
	uint64_t dropped_windows;
	uint64_t dropped_samples;
	uint64_t bad_lines; /* damage: lines that are no stacks, codes that cannot be read */
};

struct push_sum;

/* `max_bytes`: PUSH_SUM_MAX_BYTES. NULL when memory is short. */
struct push_sum *push_sum__new(size_t max_bytes);
void push_sum__free(struct push_sum *sum); /* NULL is fine */
/* One window and its text. 0 or -ENOMEM. */
__must_check int push_sum__add(struct push_sum *sum, const struct window *window, const char *text,
			       size_t len);
/* Is what was added more than `max_bytes`, processes included? */
bool push_sum__is_full(const struct push_sum *sum);
/* After the last window: sorts, and makes the windows whole. 0 or -ENOMEM. */
__must_check int push_sum__finish(struct push_sum *sum);
size_t push_sum__count(const struct push_sum *sum);
const struct push_stream *push_sum__get(const struct push_sum *sum, size_t index);
const struct push_sum_stats *push_sum__stats(const struct push_sum *sum);

#endif
