/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory of the daily job: one subdirectory per day with its pages, "latest" that points to the
 * newest, and the series. Only what the job made itself is ever deleted: each day's directory lists
 * its files. One job at a time.
 */
#ifndef JBPF_DAILY_DIR_H
#define JBPF_DAILY_DIR_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/util/strbuf.h"

#define DAILY_DIR_SERIES "series"
/* Of events that are waits: "series" of an earlier jbpf counted the threads that wait for work, too. */
#define DAILY_DIR_SERIES_OF_WAITS "series-of-waits"
#define DAILY_DIR_LIST		  ".files" /* in a day's directory: what the job wrote, a line each */
#define DAILY_DIR_LIST_MAX	  (4u << 20)
#define DAILY_DIR_NAME_MAX	  200
#define DAILY_DIR_SERIES_DAYS	  400 /* a series that nobody added to for so long is deleted */

struct daily_dir {
	int fd;
	const char *series; /* the name of its directory */
	int series_fd;
	int lock_fd;
	int day_fd;
	struct strbuf names; /* written or to be written today, a line each */
	struct strbuf old;   /* of an earlier run of the same day */
};

/*
 * Makes what is missing and takes the lock. `series` is one of the names above. -EWOULDBLOCK: another job is at work here. 0 or -errno;
 * *out is to be closed in any case.
 */
__must_check int daily_dir_open(const char *path, const char *series, struct daily_dir *out);
void daily_dir_close(struct daily_dir *dir);

/* Begins a day's directory, or goes on with it. `date` is "2026-11-21". 0 or -errno. */
__must_check int daily_dir_begin(struct daily_dir *dir, const char *date);

/*
 * Writes a file of the day, all or nothing, and lists it first, so that a crash leaves nothing that
 * nobody deletes. 0, -EINVAL when the name is not ours, or -errno.
 */
__must_check int daily_dir_write(struct daily_dir *dir, const char *name,
				 const struct strbuf *text);

/*
 * The two halves of that for a file that another process may write through its copy of *dir: until
 * it is kept it is one of those that the end of the day deletes. 0, -EINVAL or -ENOMEM.
 */
__must_check int daily_dir_expect(struct daily_dir *dir, const char *name);
__must_check int daily_dir_keep(struct daily_dir *dir, const char *name);

/* Ends the day: what an earlier run left and this one did not write is deleted. 0 or -errno. */
__must_check int daily_dir_end(struct daily_dir *dir, const char *date);

/*
 * Days before `last` that the job wrote a page for and that retention keeps, newest first; the
 * caller frees *out. 0 or -errno.
 */
__must_check int daily_dir_earlier(const struct daily_dir *dir, uint32_t last, uint32_t keep,
				   uint32_t **out, size_t *cnt_out);

/* Deletes days older than the newest `keep`, counted from day number `last`, and forgotten series. */
int daily_dir_retain(struct daily_dir *dir, uint32_t last, uint32_t keep);

#endif
