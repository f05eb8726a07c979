// SPDX-License-Identifier: Apache-2.0
/* Mapping -> file; see mapped_file.h. */
#include "user/files/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "user/files/container_file.h"
#include "user/files/opener.h"
#include "user/host/proc_thread.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

/*
 * Is the file that has the path now the one that was mapped? The inode number tells, except on
 * stacked file systems, where a mapping may show another device and inode than stat(). There the
 * file counts when nothing happened to it, not even a rename, since the process began.
 */
static bool mapped_file_is_same(const struct mapped_file_request *request, const struct stat *st)
{
	uint64_t changed_ns =
		(uint64_t)st->st_ctim.tv_sec * CLOCK_NS_PER_S + (uint64_t)st->st_ctim.tv_nsec;

	if (!S_ISREG(st->st_mode) || (uint64_t)st->st_size <= request->map->offset)
		return false;
	if (st->st_ino == request->map->inode && major(st->st_dev) == request->map->dev_major &&
	    minor(st->st_dev) == request->map->dev_minor)
		return true;
	return changed_ns < request->start_unix_ns;
}

static int open_map_file(const struct mapped_file_request *request)
{
	const struct procmap *map = request->map;
	char path[80], *name = path;
	int fd, err;

	name += snprintf(path, sizeof(path), "%u/", request->pid);
	(void)snprintf(name, sizeof(path) - (size_t)(name - path), "map_files/%" PRIx64 "-%" PRIx64,
		       map->start, map->end);
	fd = openat(request->proc_fd, path, O_PATH | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	err = -errno;
	fd = proc_thread_open(request->proc_fd, request->pid, name, O_PATH | O_CLOEXEC);
	return fd < 0 ? err : fd;
}

int mapped_file_open(const struct mapped_file_request *request)
{
	const struct procmap *map = request->map;
	struct stat st;
	int err, fd = open_map_file(request);

	if (fd >= 0)
		return fd;
	if (map->kind != PROCMAP_KIND_FILE || map->is_deleted)
		return fd;

	__cleanup_fd int root_fd = container_root_open(request->proc_fd, request->pid);

	if (root_fd < 0)
		return root_fd;

	__cleanup_fd int path_fd = opener__path(request->opener, root_fd, request->path);

	if (path_fd < 0)
		return path_fd;
	err = container_file_stat(path_fd, &st);
	if (err)
		return err;
	return mapped_file_is_same(request, &st) ? take_fd(&path_fd) : -ESTALE;
}
