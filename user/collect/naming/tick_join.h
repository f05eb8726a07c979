/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which count each moment of a window is of, found by the tags of the keys. In: a window's counts and
 * ticks, which the kernel part has noted. Out: the moments of a stream's counts in order of time. Pure
 * but for its memory, which is used for one window after the other.
 */
#ifndef JBPF_NAMING_TICK_JOIN_H
#define JBPF_NAMING_TICK_JOIN_H

#include <stddef.h>
#include <stdint.h>

#include "user/collect/naming/naming_wire.h"

/* The moment of one sample. */
struct counted_tick {
	uint32_t count;	   /* place of its count among those of the window */
	uint32_t after_us; /* as in struct probe_tick */
};

/* Zero-initialise; end with tick_join_release(). */
struct tick_join {
	struct tagged_count *tagged;
	size_t tagged_cap;
	struct counted_tick *ticks; /* of a stream's counts all in a row */
	size_t cnt;
	size_t cap;
};

void tick_join_release(struct tick_join *join);

/*
 * Takes a window. Two keys that have one tag, and a tag that has more ticks than samples, or no key,
 * leave theirs out; so does all where memory is short. A count has no more ticks than samples.
 */
void tick_join_take(struct tick_join *join, const struct naming_batch *batch);

/* The ticks of the `cnt` counts from counts[first] on, a whole stream, by time. Until the next call. */
const struct counted_tick *tick_join_stream(struct tick_join *join, size_t first, size_t cnt,
					    size_t *cnt_out);

#endif
