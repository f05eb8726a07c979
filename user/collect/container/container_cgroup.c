// SPDX-License-Identifier: Apache-2.0
/*
 * Cgroup paths: choosing one out of /proc/PID/cgroup, and the way back from a cgroup v2 id (the
 * number BPF sees) to its path without walking the tree. The id is the file handle of the
 * cgroup's directory, so open_by_handle_at finds it and /proc/self/fd names it.
 */
#include "user/collect/container/container_cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/statfs.h>

#include "user/collect/container/container.h"
#include "user/host/cgroup_lines.h"
#include "user/util/cleanup.h"
#include "user/util/lines.h"

#define CGROUP2_MAGIC	     0x63677270 /* CGROUP2_SUPER_MAGIC of linux/magic.h */
#define KERNFS_HANDLE_TYPE   0xfe	/* FILEID_KERNFS of the kernel's linux/exportfs.h */
#define CGROUP_WALK_MAX_DIRS 20000

/* How much to trust this hierarchy when several say equally much; more is better. */
static int hierarchy_rank(const struct cgroup_line *line)
{
	static const char *const order[] = { "pids", "memory", "name=systemd" };

	if (cgroup_line_is_of(line, NULL))
		return (int)ARRAY_SIZE(order) + 1;
	for (size_t i = ARRAY_SIZE(order); i > 0; i--) {
		if (cgroup_line_is_of(line, order[i - 1]))
			return (int)i;
	}
	return 0;
}

/* How much the path tells: container, unit, some group, nothing. What root named counts first. */
static int path_rank(const char *path, const struct container_identity *identity)
{
	const struct container_path *parsed = &identity->path;
	int of_root = identity->namer == CONTAINER_NAMER_USER ? 0 : 4;

	if (parsed->id[0])
		return 4 + of_root;
	if (parsed->name[0] || parsed->pod_uid[0])
		return 3 + of_root;
	if (parsed->unit[0])
		return 2;
	return strcmp(path, "/") != 0;
}

/* The best line so far. */
struct choice {
	int rank; /* -1 = none */
	char path[PATH_MAX];
	struct container_identity identity;
};

static int consider(const struct cgroup_line *line, const struct container_hierarchies *hierarchies,
		    struct choice *best)
{
	struct container_identity identity;
	struct container_trust trust;
	char path[PATH_MAX];
	int rank;

	if (line->name_len >= sizeof(path))
		return -ENAMETOOLONG;
	memcpy(path, line->path, line->name_len);
	path[line->name_len] = '\0';
	container_trust_find(hierarchies, line->controllers, line->controllers_len, path, &trust);
	container_path_identify(path, &trust, &identity);
	rank = path_rank(path, &identity) * 8 + hierarchy_rank(line);
	if (rank > best->rank) {
		best->rank = rank;
		best->identity = identity;
		memcpy(best->path, path, line->name_len + 1);
	}
	return 0;
}

int container_cgroup_choose(const char *proc_cgroup_text,
			    const struct container_hierarchies *hierarchies, char *path,
			    size_t path_len, struct container_identity *out)
{
	struct lines lines = lines_init(proc_cgroup_text, strlen(proc_cgroup_text));
	struct choice best = { .rank = -1 };
	struct cgroup_line parsed;
	int err = -ENOENT;
	struct line line;

	while (lines_next(&lines, &line)) {
		if (cgroup_line_parse(line.at, line.len, &parsed) && parsed.path_len &&
		    parsed.path[0] == '/' && consider(&parsed, hierarchies, &best))
			err = -ENAMETOOLONG;
	}
	if (best.rank < 0)
		return err;
	if (strlen(best.path) >= path_len)
		return -ENAMETOOLONG;
	memcpy(path, best.path, strlen(best.path) + 1);
	*out = best.identity;
	return 0;
}

static int open_if_cgroup2(const char *path)
{
	__cleanup_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs st;

	if (fd < 0)
		return -errno;
	if (fstatfs(fd, &st))
		return -errno;
	if ((unsigned long)st.f_type != CGROUP2_MAGIC)
		return -ENOENT;
	return take_fd(&fd);
}

int container_cgroup_mount_open(int proc_fd, const char *cgroup_root)
{
	int err, fd = open_if_cgroup2(cgroup_root);
	char path[PATH_MAX];

	if (fd >= 0)
		return fd;
	if ((size_t)snprintf(path, sizeof(path), "%s/unified", cgroup_root) >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open_if_cgroup2(path);
	if (fd >= 0)
		return fd;
	err = cgroup_mount_find(proc_fd, NULL, path);
	if (err)
		return err == -ENODEV ? -ENOENT : err;
	return open_if_cgroup2(path);
}

/* Path of an open descriptor. */
static int fd_path(int fd, char *path, size_t path_len)
{
	char link[64];
	ssize_t len;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, path_len);
	if (len < 0)
		return -errno;
	if ((size_t)len >= path_len)
		return -ENAMETOOLONG;
	path[len] = '\0';
	return 0;
}

/* 0, -ESTALE, or why it could not be looked for that way (-EPERM, -EOPNOTSUPP). */
static int path_by_handle(int mount_fd, uint64_t cgroup_id, char *path, size_t path_len)
{
	union {
		struct file_handle handle;
		unsigned char bytes[sizeof(struct file_handle) + sizeof(uint64_t)];
	} id = { 0 };

	id.handle.handle_bytes = sizeof(uint64_t);
	id.handle.handle_type = KERNFS_HANDLE_TYPE;
	memcpy(id.bytes + offsetof(struct file_handle, f_handle), &cgroup_id, sizeof(cgroup_id));

	__cleanup_fd int fd = open_by_handle_at(mount_fd, &id.handle, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return fd_path(fd, path, path_len);
}

/* Without CAP_DAC_READ_SEARCH: the id is also the inode number of the directory. */
static int path_by_walk(char *mount, uint64_t cgroup_id, char *path, size_t path_len)
{
	char *roots[] = { mount, NULL };
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, NULL);
	size_t left = CGROUP_WALK_MAX_DIRS;
	int err = -ESTALE;
	FTSENT *entry;

	if (!walk)
		return -errno;
	while (left && (entry = fts_read(walk))) {
		if (entry->fts_info != FTS_D)
			continue;
		left--;
		if (entry->fts_statp->st_ino != cgroup_id)
			continue;
		err = entry->fts_pathlen >= path_len ? -ENAMETOOLONG : 0;
		if (!err)
			memcpy(path, entry->fts_path, (size_t)entry->fts_pathlen + 1);
		break;
	}
	fts_close(walk);
	return err;
}

int container_cgroup_by_id(int mount_fd, uint64_t cgroup_id, char *path, size_t path_len)
{
	char mount[PATH_MAX], full[PATH_MAX];
	size_t mount_len;
	const char *below;
	int err;

	err = fd_path(mount_fd, mount, sizeof(mount));
	if (err)
		return err;
	err = path_by_handle(mount_fd, cgroup_id, full, sizeof(full));
	if (err == -EPERM || err == -EOPNOTSUPP)
		err = path_by_walk(mount, cgroup_id, full, sizeof(full));
	if (err)
		return err;
	mount_len = strlen(mount);
	if (strncmp(full, mount, mount_len) != 0)
		return -ESTALE; /* outside of the cgroup namespace this mount shows */
	below = full[mount_len] ? full + mount_len : "/";
	if (strlen(below) >= path_len)
		return -ENAMETOOLONG;
	memcpy(path, below, strlen(below) + 1);
	return 0;
}
