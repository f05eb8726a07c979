/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deletes whole hour and day files: those that are too old, then the oldest until the rest is small
 * enough. All events share the bytes. A file being written stays in any case. Neither a clock that
 * is wrong nor somebody else who fills the disk empties the store: what is old is measured by what
 * is stored, and there is a limit to what goes at once.
 */
#ifndef JBPF_STORE_RETENTION_H
#define JBPF_STORE_RETENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/store/segment/segment_tree.h"

/* A clock this far from what is stored is not believed. */
#define RETENTION_CLOCK_MAX_S SEGMENT_DAY_S

/* One event's files. */
struct retention_tree {
	int tree_fd; /* borrowed; -1 = there is none */
	/* The file being written, or NULL. */
	const struct segment_file *current;
};

struct retention_limits {
	uint64_t keep_age_ns; /* 0 = keep */
	uint64_t keep_bytes;  /* 0 = no limit */
	/* Hours of history that may go for keep_bytes this time; 0 = no limit. */
	uint32_t max_hours;
};

struct retention_outcome {
	/*
	 * The clock is more than a day from the newest stored hour, so that nothing was deleted by
	 * age. Not set without keep_age_ns.
	 */
	bool is_clock_off;
	uint64_t
		newest_unix_s; /* end of the newest stored hour but those being written; 0 = there is none */
	bool is_over;	       /* there is still more than keep_bytes */
};

/*
 * The first tree is that of EVENT_CPU. For keep_bytes the oldest file of all goes, of one hour that
 * of another event first; and while the other events have more than half of keep_bytes, their
 * oldest. So CPU time keeps at least half of the bytes, if it needs them.
 *
 * Age is measured from the newest stored hour, but from no later than a day behind the hour that
 * has 24 stored hours from it on: hours of a wrong clock do not make the rest old before there is a
 * day of them. A day file with a gap of more than a day behind it counts as one hour there, for it
 * may have been made of one. Of several trees the latest counts. 0 or the first -errno; goes on
 * after errors.
 */
__must_check int retention_apply(const struct retention_tree *trees, size_t tree_cnt,
				 const struct retention_limits *limits, uint64_t now_unix_ns,
				 struct retention_outcome *out);

/*
 * What age is measured from: see retention_apply(). The list is sorted and not empty. In seconds
 * since 1970; it may be later than now, by what is left of the newest hour.
 */
uint64_t retention_reference_s(const struct segment_list *list);

struct store_usage;

/* How much there is; files that go meanwhile are left out. 0 or -errno. */
__must_check int retention_usage(const struct retention_tree *trees, size_t tree_cnt,
				 struct store_usage *out);

#endif
