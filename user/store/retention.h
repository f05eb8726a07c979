/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deletes whole hour and day files: those that are too old, then the oldest until the rest is small
 * enough. The file being written stays in any case.
 */
#ifndef JBPF_STORE_RETENTION_H
#define JBPF_STORE_RETENTION_H

#include <stdint.h>

#include "user/store/segment_tree.h"

struct retention_limits {
	uint64_t keep_age_ns; /* 0 = keep */
	uint64_t keep_bytes;  /* 0 = no limit */
};

/* `current` is the file being written, or NULL. 0 or the first -errno; goes on after errors. */
int retention_apply(int tree_fd, const struct retention_limits *limits, uint64_t now_unix_ns,
		    const struct segment_file *current);

/* Makes room: deletes the files of the oldest hour, or the oldest day file. -ENOENT when nothing may be deleted. */
int retention_delete_oldest_hour(int tree_fd, const struct segment_file *current);

struct store_usage;

/* How much there is; files that go meanwhile are left out. 0 or -errno. */
int retention_usage(int tree_fd, struct store_usage *out);

#endif
