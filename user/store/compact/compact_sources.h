/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that one merged file is made from: opened, locked against the writer, and deleted when
 * the merged one has taken their place.
 */
#ifndef JBPF_COMPACT_COMPACT_SOURCES_H
#define JBPF_COMPACT_COMPACT_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/util/attributes.h"
#include "user/store/segment/segment_reader.h"
#include "user/store/segment/segment_tree.h"

#define COMPACT_SOURCES_MAX 256 /* at a time: descriptors, and ids in the merged file */

struct compact_source {
	struct segment_file file;
	int fd; /* has a read lock on the file: no writer goes on in it, readers do not mind */
	uint64_t bytes;
	dev_t device;
	ino_t inode;
	struct segment_identity identity;
	bool is_damaged; /* set while it is merged: not all of it could be read */
};

struct compact_sources {
	struct compact_source *items; /* in order of their files */
	size_t cnt;
};

#define __cleanup_compact_sources __attribute__((cleanup(compact_sources_release)))

void compact_sources_release(struct compact_sources *sources);

/*
 * Opens and locks the files. `out` must be empty. 0; -EWOULDBLOCK: one of them is being written,
 * or they are changing right now: another time; or -errno.
 */
__must_check int compact_sources_open(int tree_fd, struct segment_reader *reader,
				      const struct segment_file *files, size_t cnt,
				      struct compact_sources *out);

/*
 * Deletes what is in another of them, or in the file of the whole day, already (a crash came between
 * a rename and the deletions) and what holds nothing. 0 or -errno.
 */
__must_check int compact_sources_drop_leftovers(int tree_fd, struct segment_reader *reader,
						struct compact_sources *sources);

/*
 * Gives those that are damaged a second name, which stays (segment_tree.h): before their merged file
 * takes the place of the first of them. *cnt_out grows by their number. 0 or -errno.
 */
__must_check int compact_sources_keep_damaged(int tree_fd, const struct compact_sources *sources,
					      uint64_t *cnt_out);

/* Deletes all but `kept`, which is their merged file. 0 or -errno. */
__must_check int compact_sources_delete(int tree_fd, struct compact_sources *sources,
					const struct segment_file *kept);

uint64_t compact_sources_bytes(const struct compact_sources *sources);

#endif
