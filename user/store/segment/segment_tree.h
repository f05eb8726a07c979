/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where segments are: hour files YYYY/MM/DD/HH.zst below a directory for each event, all UTC,
 * HH-1.zst, HH-2.zst ... beside one that could not be continued, and day files YYYY/MM/DD.zst
 * beside the directory whose hours they have taken in. Each of these names with ".damaged" behind
 * it is a file that was merged as far as it could be read, and kept: nobody reads it, retention
 * counts and deletes it (there may be several of a day: DD-N.zst.damaged). Anything else in the
 * tree belongs to somebody else and is left alone.
 */
#ifndef JBPF_SEGMENT_SEGMENT_TREE_H
#define JBPF_SEGMENT_SEGMENT_TREE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/model/event.h"

#define SEGMENT_TREE_CPU	 "v1/cpu" /* below the store's directory: of EVENT_CPU */
#define SEGMENT_TREE_BYTES	 32	  /* of the directory of any event, with its NUL */
#define SEGMENT_HOUR_S		 3600ull
#define SEGMENT_DAY_S		 86400ull
#define SEGMENT_INDEX_MAX	 9999
#define SEGMENT_PATH_BYTES	 48
#define SEGMENT_STORE_PATH_BYTES (SEGMENT_TREE_BYTES + SEGMENT_PATH_BYTES)
#define SEGMENT_TREE_DIR_MODE	 0750
#define SEGMENT_TREE_FILE_MODE	 0640

struct segment_file {
	uint64_t hour_unix_s; /* start of the hour, or of the day */
	uint32_t index;	      /* 0 for HH.zst and DD.zst, N for HH-N.zst */
	bool is_day;	      /* DD.zst */
	bool is_damaged;      /* kept for people; its hour was merged without what is damaged */
};

struct segment_list {
	struct segment_file *files; /* in order; NULL when empty; owner: the list */
	size_t cnt;
	size_t cap;
};

#define __cleanup_segment_list __attribute__((cleanup(segment_list_release)))

void segment_list_release(struct segment_list *list);

/* The directory of an event's tree below that of the store: "v1/page-faults". */
void segment_tree_dir(enum event event, char dir[static SEGMENT_TREE_BYTES]);

/* Path of an event's tree of a store. 0 or -ENAMETOOLONG. */
__must_check int segment_tree_path(const char *store_dir, enum event event,
				   char path[static PATH_MAX]);

/* The tree's directory, the caller's. fd or -errno; -ENOENT also for what is no directory. */
__must_check int segment_tree_open(const char *store_dir, enum event event);

/* Path of a file relative to the store's directory, for people. */
void segment_store_path(enum event event, const struct segment_file *file,
			char path[static SEGMENT_STORE_PATH_BYTES]);

/* Path relative to the tree's directory. */
void segment_path(const struct segment_file *file, char path[static SEGMENT_PATH_BYTES]);

/* Start of the hour a point in time is in. */
uint64_t segment_hour(uint64_t unix_ns);

/* Start of the day a second is in. */
uint64_t segment_day(uint64_t unix_s);

/* When the hour or day of the file ends. */
uint64_t segment_file_end(const struct segment_file *file);

/*
 * Files of the hours that begin within [from_s, until_s), and of the days that reach into it,
 * sorted; `out` must be empty. A tree that is missing or shrinks meanwhile is no error. 0, -ENOMEM,
 * -EACCES, ...
 */
__must_check int segment_tree_list(int tree_fd, uint64_t from_s, uint64_t until_s,
				   struct segment_list *out);

/* The same of all times, with the damaged ones that were kept. */
int segment_tree_list_all(int tree_fd, struct segment_list *out);

/*
 * Gives the file a second name: the first free one with ".damaged", or the one it has already. 0 with
 * it in *kept (on disk when the directory was synced), or -errno.
 */
__must_check int segment_tree_keep_damaged(int tree_fd, const struct segment_file *file,
					   struct segment_file *kept);

/* Makes the directory of the hour's day and syncs what it made. 0 or -errno. */
__must_check int segment_tree_make_day(int tree_fd, uint64_t hour_unix_s);

/* Syncs the directory that the file is in. */
int segment_tree_sync_parent(int tree_fd, const struct segment_file *file);

/* Deletes a file and the directories above it that this leaves empty. 0 or -errno. */
__must_check int segment_tree_delete(int tree_fd, const struct segment_file *file);

/* Order by start, a day before its first hour, then by index; damaged ones behind the others. */
int segment_file_compare(const void *a, const void *b);

#endif
