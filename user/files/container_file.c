// SPDX-License-Identifier: Apache-2.0
/*
 * Opening files inside a container's file system; see container_file.h for the rules.
 *
 * Every file is first opened with O_PATH, which touches nothing, then looked at, then opened for
 * reading through /proc/self/fd: what was checked is what is read, and a FIFO or a device planted
 * under the wanted name is never opened at all. openat2() needs Linux 5.6.
 */
#include "user/files/container_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "user/host/proc_thread.h"
#include "user/util/cleanup.h"

/* openat2 answers EAGAIN when a rename anywhere raced with a ".." of the path. */
#define CONTAINER_RESOLVE_TRIES 8

static int container_resolve(int root_fd, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};

	for (int i = 0; i < CONTAINER_RESOLVE_TRIES; i++) {
		long fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

		if (fd >= 0)
			return (int)fd;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
	}
	return -EAGAIN;
}

int container_root_open(int proc_fd, uint32_t pid)
{
	char path[32];
	int fd, err;

	snprintf(path, sizeof(path), "%u/root", pid);
	fd = openat(proc_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	err = -errno;
	fd = proc_thread_open(proc_fd, pid, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? err : fd;
}

int container_dir_open(int root_fd, const char *path)
{
	return container_resolve(root_fd, path, O_PATH | O_DIRECTORY);
}

int container_path_open(int root_fd, const char *path)
{
	return path[0] == '/' ? container_resolve(root_fd, path, O_PATH) : -EINVAL;
}

int container_file_stat(int fd, struct stat *out)
{
	struct statx stx;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &stx))
		return -errno;
	*out = (struct stat){
		.st_dev = makedev(stx.stx_dev_major, stx.stx_dev_minor),
		.st_ino = stx.stx_ino,
		.st_mode = stx.stx_mode,
		.st_nlink = stx.stx_nlink,
		.st_uid = stx.stx_uid,
		.st_gid = stx.stx_gid,
		.st_size = (off_t)stx.stx_size,
		.st_mtim = { .tv_sec = stx.stx_mtime.tv_sec, .tv_nsec = stx.stx_mtime.tv_nsec },
		.st_ctim = { .tv_sec = stx.stx_ctime.tv_sec, .tv_nsec = stx.stx_ctime.tv_nsec },
	};
	return 0;
}

static int container_file_check(const struct stat *st, const struct container_file_rules *rules)
{
	if (S_ISLNK(st->st_mode))
		return -ELOOP;
	if (!S_ISREG(st->st_mode))
		return -EINVAL;
	if (rules->owner != CONTAINER_FILE_ANY_OWNER && st->st_uid != rules->owner &&
	    st->st_uid != 0)
		return -EPERM;
	if (rules->max_bytes && (uint64_t)st->st_size > rules->max_bytes)
		return -EFBIG;
	return 0;
}

int container_file_reopen(int path_fd, const struct container_file_rules *rules,
			  struct stat *st_out)
{
	char path[32];
	struct stat st;
	int err, fd;

	err = container_file_stat(path_fd, &st);
	if (!err)
		err = container_file_check(&st, rules);
	if (err)
		return err;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (st_out)
		*st_out = st;
	return fd;
}

/* Directory part of `path` into `dir`; the last part, or NULL when there is none to speak of. */
static const char *container_path_split(const char *path, char dir[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	size_t len;

	if (path[0] != '/' || strlen(path) >= PATH_MAX)
		return NULL;
	if (!slash[1] || strcmp(slash + 1, ".") == 0 || strcmp(slash + 1, "..") == 0)
		return NULL;
	len = (size_t)(slash - path) + 1;
	memcpy(dir, path, len);
	dir[len] = '\0';
	return slash + 1;
}

int container_file_open(int root_fd, const char *path, const struct container_file_rules *rules,
			struct stat *st_out)
{
	char dir[PATH_MAX];
	const char *name = container_path_split(path, dir);

	if (!name)
		return -EINVAL;

	__cleanup_fd int dir_fd = container_dir_open(root_fd, dir);

	if (dir_fd < 0)
		return dir_fd;

	__cleanup_fd int path_fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (path_fd < 0)
		return -errno;
	return container_file_reopen(path_fd, rules, st_out);
}

int container_library_open(int root_fd, const char *path, const struct container_file_rules *rules,
			   struct stat *st_out)
{
	__cleanup_fd int path_fd = container_path_open(root_fd, path);

	if (path_fd < 0)
		return path_fd;
	return container_file_reopen(path_fd, rules, st_out);
}
