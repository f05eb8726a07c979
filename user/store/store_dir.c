// SPDX-License-Identifier: Apache-2.0
/*
 * May others write to the store's directories? Then they could exchange its files for links and for
 * files of their own, and jbpfd, which may do more than they, would write there. What was asked
 * about is opened once and asked by descriptor; below it everything is reached without following
 * links.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/store/segment/segment_tree.h"
#include "user/store/store.h"
#include "user/util/cleanup.h"

/* As deep as one path can name; deeper ones, reached by links or from within, are refused. */
#define PARENTS_MAX (PATH_MAX / 2)

/* PROC_USER_INIT_INO of include/linux/proc_ns.h, and what /proc/sys/kernel/overflowuid is unless changed. */
#define FIRST_USER_NAMESPACE_INODE 0xEFFFFFFDu
#define OVERFLOW_UID		   65534u

/*
 * In a user namespace whoever it has no number for is this one: root of the host, too, and there is
 * no way to find out. In the first namespace it is a user as any other.
 */
static bool is_unmapped_user(uid_t uid)
{
	struct stat st;

	return uid == OVERFLOW_UID && !stat("/proc/self/ns/user", &st) &&
	       st.st_ino != FIRST_USER_NAMESPACE_INODE;
}

static const char *owner_fault(const struct stat *st)
{
	return st->st_uid == 0 || st->st_uid == geteuid() ? NULL : "belongs to another user";
}

static const char *mode_fault(const struct stat *st)
{
	if (st->st_mode & S_IWOTH)
		return "may be written by everybody";
	if ((st->st_mode & S_IWGRP) && st->st_gid != 0 && st->st_gid != getegid())
		return "may be written by a group that is not jbpfd's";
	return NULL;
}

/* NULL when nobody else may write to it; else a word why not. */
static const char *fault(const struct stat *st)
{
	const char *what = S_ISDIR(st->st_mode) ? owner_fault(st) : "is no directory";

	return what ? what : mode_fault(st);
}

/*
 * NULL when nobody else may rename what is below it. In a sticky one only root, its owner and the
 * owner of what is below may, and both owners are looked at.
 */
static const char *parent_fault(const struct stat *st)
{
	const char *what = is_unmapped_user(st->st_uid) ? NULL : owner_fault(st);

	return what || (st->st_mode & S_ISVTX) ? what : mode_fault(st);
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

static void explain_parent(int fd, const struct stat *st, const char *what, char *why,
			   size_t why_len)
{
	char link[32], path[PATH_MAX] = "";

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	(void)!readlink(link, path, sizeof(path) - 1);
	(void)snprintf(
		why, why_len,
		"'%s', above the store, %s (uid %u, mode %04o): chown it to root or jbpfd's user, and chmod go-w or +t it",
		path, what, (unsigned)st->st_uid, (unsigned)st->st_mode & 07777);
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
		const char *what;

		if (parent < 0)
			return errno == EACCES ? 0 : -errno;
		close(fd);
		fd = parent;
		if (fstat(fd, &st))
			return -errno;
		what = parent_fault(&st);
		if (what) {
			explain_parent(fd, &st, what, why, why_len);
			return -EPERM;
		}
		if (st.st_dev == before.st_dev && st.st_ino == before.st_ino)
			return 0;
		before = st;
	}
	(void)snprintf(why, why_len, "'%s' has more than %d directories above it", dir,
		       PARENTS_MAX);
	return -EPERM;
}

int store_dir_check(const char *dir, char *why, size_t why_len)
{
	__cleanup_fd int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	int err;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st))
		return -errno;
	err = judge(dir, "", &st, why, why_len);
	/* v1, then the tree of each event. */
	for (int i = -1; i < EVENT_CNT && !err; i++) {
		char sub[1 + SEGMENT_TREE_BYTES] = "/v1";

		if (i >= 0)
			segment_tree_dir((enum event)i, sub + 1);
		if (fstatat(fd, sub + 1, &st, AT_SYMLINK_NOFOLLOW)) {
			if (errno == ENOENT)
				continue;
			return -errno;
		}
		err = judge(dir, sub, &st, why, why_len);
	}
	return err ? err : check_parents(dir, fd, why, why_len);
}
