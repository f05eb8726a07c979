/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a set of windows holds, as a few numbers that stay the same however the windows are cut into
 * files, units and rows: sums, and sums of hashes times counts. Two sets with one digest hold the
 * same stacks, lines, cells and labels, each as often. No I/O.
 */
#ifndef JBPF_COMPACT_COMPACT_DIGEST_H
#define JBPF_COMPACT_COMPACT_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/window.h"
#include "user/util/attributes.h"

struct compact_digest {
	uint64_t windows;
	uint64_t samples;      /* of processes, by the windows' own word */
	uint64_t text_samples; /* by their texts */
	uint64_t recorded_ns;
	uint64_t stacks;
	uint64_t lines;
	uint64_t threads;
	uint64_t cells;
	uint64_t ticks;	 /* by their lines */
	uint64_t counts; /* of frames, losses, ... */
	uint64_t labels; /* with the slot of time that each window is in */
};

/* The process's life as one number. */
uint64_t compact_stream_hash(const struct window *window);

/* Windows of one slot may be merged; slot_ns 0 = none are. 0 or -ENOMEM. */
__must_check int compact_digest_add(struct compact_digest *digest, const struct window *window,
				    const char *text, size_t len, uint64_t slot_ns);

bool compact_digest_equal(const struct compact_digest *a, const struct compact_digest *b);

#endif
