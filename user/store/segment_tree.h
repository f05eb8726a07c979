/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where segments (hour files) are: YYYY/MM/DD/HH.zst below the event's directory, all UTC, and
 * HH-1.zst, HH-2.zst ... beside it where a file could not be continued. Anything else in the tree
 * belongs to somebody else and is left alone.
 */
#ifndef JBPF_STORE_SEGMENT_TREE_H
#define JBPF_STORE_SEGMENT_TREE_H

#include <stddef.h>
#include <stdint.h>

#define SEGMENT_TREE_DIR       "v1/cpu" /* below the store's directory */
#define SEGMENT_HOUR_S	       3600ull
#define SEGMENT_INDEX_MAX      9999
#define SEGMENT_PATH_BYTES     48
#define SEGMENT_TREE_DIR_MODE  0750
#define SEGMENT_TREE_FILE_MODE 0640

struct segment_file {
	uint64_t hour_unix_s; /* start of the hour */
	uint32_t index;	      /* 0 for HH.zst, N for HH-N.zst */
};

struct segment_list {
	struct segment_file *files; /* by hour, then index; NULL when empty; owner: the list */
	size_t cnt;
	size_t cap;
};

#define __cleanup_segment_list __attribute__((cleanup(segment_list_release)))

void segment_list_release(struct segment_list *list);

/* Path relative to the tree's directory. */
void segment_path(const struct segment_file *file, char path[static SEGMENT_PATH_BYTES]);

/* Start of the hour a point in time is in. */
uint64_t segment_hour(uint64_t unix_ns);

/*
 * Files of the hours that begin within [from_s, until_s), sorted; `out` must be empty. A tree that
 * is missing or shrinks meanwhile is no error. 0, -ENOMEM, -EACCES, ...
 */
int segment_tree_list(int tree_fd, uint64_t from_s, uint64_t until_s, struct segment_list *out);

/* Makes the directory of the hour's day and syncs what it made. 0 or -errno. */
int segment_tree_make_day(int tree_fd, uint64_t hour_unix_s);

/* Syncs the directory of the hour's day. */
int segment_tree_sync_day(int tree_fd, uint64_t hour_unix_s);

/* Deletes a file and the directories above it that this leaves empty. 0 or -errno. */
int segment_tree_delete(int tree_fd, const struct segment_file *file);

/* Order by hour, then index. */
int segment_file_compare(const void *a, const void *b);

#endif
