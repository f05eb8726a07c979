// SPDX-License-Identifier: Apache-2.0
/*
 * May others write to the store's directories? Then they could exchange its files for links and for files
 * of their own, and jbpfd, which may do more than they, would write there. What was asked about is opened
 * once and asked by descriptor; below it everything is reached without following links.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/store/store.h"
#include "user/util/cleanup.h"

#define PARENTS_MAX 64 /* deeper than PATH_MAX lets anybody write */

/* NULL when nobody else may write to it; else a word why not. */
static const char *fault(const struct stat *st)
{
	if (!S_ISDIR(st->st_mode))
		return "is no directory";
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return "belongs to another user";
	if (st->st_mode & S_IWOTH)
		return "may be written by everybody";
	if ((st->st_mode & S_IWGRP) && st->st_gid != 0 && st->st_gid != getegid())
		return "may be written by a group that is not jbpfd's";
	return NULL;
}

/* 0, or -EPERM with a line for people. */
static int judge(const char *dir, const char *sub, const struct stat *st, char *why, size_t why_len)
{
	const char *what = fault(st);

	if (!what)
		return 0;
	(void)snprintf(
		why, why_len,
		"'%s%s' %s (uid %u, mode %04o): chown it to root or jbpfd's user and chmod go-w, after a look at what is in it",
		dir, sub, what, (unsigned)st->st_uid, (unsigned)st->st_mode & 07777);
	return -EPERM;
}

/* Somebody who may rename the directory could put another one in its place. */
static int check_parents(const char *dir, int dir_fd, char *why, size_t why_len)
{
	__cleanup_fd int fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
	struct stat st, before;

	if (fd < 0 || fstat(fd, &before))
		return -errno;
	for (int i = 0; i < PARENTS_MAX; i++) {
		int parent = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (parent < 0)
			return errno == EACCES ? 0 : -errno;
		close(fd);
		fd = parent;
		if (fstat(fd, &st))
			return -errno;
		if ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX)) {
			(void)snprintf(
				why, why_len,
				"a directory above '%s' may be written by everybody (mode %04o): chmod o-w it, or make it sticky (chmod +t)",
				dir, (unsigned)st.st_mode & 07777);
			return -EPERM;
		}
		if (st.st_dev == before.st_dev && st.st_ino == before.st_ino)
			break;
		before = st;
	}
	return 0;
}

int store_dir_check(const char *dir, char *why, size_t why_len)
{
	static const char *const subs[] = { "v1", "v1/cpu" };
	__cleanup_fd int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	int err;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st))
		return -errno;
	err = judge(dir, "", &st, why, why_len);
	for (size_t i = 0; i < ARRAY_SIZE(subs) && !err; i++) {
		char sub[16];

		if (fstatat(fd, subs[i], &st, AT_SYMLINK_NOFOLLOW)) {
			if (errno == ENOENT)
				break;
			return -errno;
		}
		(void)snprintf(sub, sizeof(sub), "/%s", subs[i]);
		err = judge(dir, sub, &st, why, why_len);
	}
	return err ? err : check_parents(dir, fd, why, why_len);
}
