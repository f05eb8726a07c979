// SPDX-License-Identifier: Apache-2.0
/*
 * Files of the attach protocol. When they are not in order, the JVM (attachListener_linux.cpp,
 * codeCache.cpp) follows a symlink, blocks for ever on a FIFO, overwrites a hard link's victim, and
 * prints a thread dump when the trigger is missing or not its own.
 */
#include "user/collect/attach/jvm_attach_tmp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "user/util/cleanup.h"

#define TRIGGER_STALE_S 60 /* no attach takes that long: the process that made it has died */

void jvm_tmp_init(struct jvm_tmp *tmp, int dir_fd, uint32_t ns_pid, uid_t uid)
{
	*tmp = (struct jvm_tmp){ .dir_fd = dir_fd, .uid = uid };
	snprintf(tmp->socket_name, sizeof(tmp->socket_name), ".java_pid%u", ns_pid);
	snprintf(tmp->trigger_name, sizeof(tmp->trigger_name), ".attach_pid%u", ns_pid);
	snprintf(tmp->map_name, sizeof(tmp->map_name), "perf-%u.map", ns_pid);
}

/* lstat in the directory. 0, -ENOENT, -errno. */
static int tmp_stat(const struct jvm_tmp *tmp, const char *name, struct stat *st)
{
	return fstatat(tmp->dir_fd, name, st, AT_SYMLINK_NOFOLLOW) ? -errno : 0;
}

/* A file that the JVM may truncate without harming anything else. */
static bool is_plain_file(const struct jvm_tmp *tmp, const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == tmp->uid && st->st_nlink == 1;
}

enum jvm_attach_outcome jvm_tmp_check(struct jvm_tmp *tmp)
{
	struct statvfs fs;
	int appeared, err;

	if (fstatvfs(tmp->dir_fd, &fs))
		return JVM_ATTACH_ERROR;
	if (fs.f_flag & ST_RDONLY)
		return JVM_ATTACH_TMP_NOT_WRITABLE;
	err = tmp_stat(tmp, tmp->map_name, &tmp->map_before);
	if (err && err != -ENOENT)
		return JVM_ATTACH_ERROR;
	tmp->map_existed = !err;
	if (tmp->map_existed && !is_plain_file(tmp, &tmp->map_before))
		return JVM_ATTACH_TMP_HOSTILE;
	appeared = jvm_tmp_socket_appeared(tmp);
	if (appeared < 0)
		return appeared == -ELOOP ? JVM_ATTACH_TMP_HOSTILE : JVM_ATTACH_ERROR;
	tmp->has_socket = appeared;
	return JVM_ATTACH_OK;
}

enum jvm_attach_outcome jvm_tmp_check_writable(const struct jvm_tmp *tmp)
{
	if (faccessat(tmp->dir_fd, ".", W_OK | X_OK, AT_EACCESS))
		return JVM_ATTACH_TMP_NOT_WRITABLE;
	if (tmp->map_existed &&
	    faccessat(tmp->dir_fd, tmp->map_name, W_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW))
		return JVM_ATTACH_TMP_NOT_WRITABLE;
	return JVM_ATTACH_OK;
}

int jvm_tmp_socket_appeared(const struct jvm_tmp *tmp)
{
	struct stat st;
	int err = tmp_stat(tmp, tmp->socket_name, &st);

	if (err)
		return err == -ENOENT ? 0 : err;
	return S_ISSOCK(st.st_mode) && st.st_uid == tmp->uid ? 1 : -ELOOP;
}

int jvm_tmp_open_socket(const struct jvm_tmp *tmp)
{
	struct stat st;

	__cleanup_fd int fd =
		openat(tmp->dir_fd, tmp->socket_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISSOCK(st.st_mode) || st.st_uid != tmp->uid)
		return -ELOOP;
	return take_fd(&fd);
}

static int trigger_create(const struct jvm_tmp *tmp)
{
	struct stat st;

	__cleanup_fd int fd = openat(tmp->dir_fd, tmp->trigger_name,
				     O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	/* A file system that gives files away would make the JVM ignore the trigger: thread dump. */
	if (fstat(fd, &st) || st.st_uid != tmp->uid) {
		jvm_tmp_remove_trigger(tmp);
		return -EACCES;
	}
	return 0;
}

int jvm_tmp_make_trigger(const struct jvm_tmp *tmp)
{
	int err = trigger_create(tmp);
	struct stat st;

	if (err != -EEXIST)
		return err;
	if (tmp_stat(tmp, tmp->trigger_name, &st))
		return -EEXIST; /* removed right now: its owner is done */
	if (!S_ISREG(st.st_mode) || (st.st_uid != tmp->uid && st.st_uid != 0))
		return -ELOOP;
	if (time(NULL) - st.st_mtime < TRIGGER_STALE_S)
		return -EEXIST;
	if (unlinkat(tmp->dir_fd, tmp->trigger_name, 0))
		return -errno;
	return trigger_create(tmp);
}

void jvm_tmp_remove_trigger(const struct jvm_tmp *tmp)
{
	(void)unlinkat(tmp->dir_fd, tmp->trigger_name, 0);
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool map_changed(const struct jvm_tmp *tmp, const struct stat *now)
{
	const struct stat *before = &tmp->map_before;

	return !tmp->map_existed || now->st_ino != before->st_ino ||
	       now->st_size != before->st_size || !is_same_time(&now->st_mtim, &before->st_mtim) ||
	       !is_same_time(&now->st_ctim, &before->st_ctim);
}

enum jvm_attach_outcome jvm_tmp_judge_map(const struct jvm_tmp *tmp)
{
	struct stat st;
	char last;

	/* Looked at before it is opened: by now it may be a FIFO or a device. */
	if (tmp_stat(tmp, tmp->map_name, &st) || !is_plain_file(tmp, &st))
		return JVM_ATTACH_NO_MAP;
	__cleanup_fd int fd = openat(tmp->dir_fd, tmp->map_name,
				     O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || !is_plain_file(tmp, &st))
		return JVM_ATTACH_NO_MAP;
	/* A full disk cuts the file anywhere, and the JVM says that all is well. */
	if (st.st_size == 0 || pread(fd, &last, 1, st.st_size - 1) != 1 || last != '\n')
		return JVM_ATTACH_NO_MAP;
	return map_changed(tmp, &st) ? JVM_ATTACH_OK : JVM_ATTACH_NO_MAP;
}

int jvm_tmp_remove_map(const struct jvm_tmp *tmp)
{
	struct stat st;
	int err = tmp_stat(tmp, tmp->map_name, &st);

	if (err)
		return err == -ENOENT ? 0 : err;
	if (!is_plain_file(tmp, &st))
		return -EPERM;
	return unlinkat(tmp->dir_fd, tmp->map_name, 0) ? -errno : 0;
}
