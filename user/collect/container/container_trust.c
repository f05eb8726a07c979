// SPDX-License-Identifier: Apache-2.0
/*
 * See container_trust.h. What counts is not the owner of the directory that has the name but of the
 * one that holds it: a container with a user namespace owns its cgroup, whose name is the runtime's.
 * "Root" is the owner of the hierarchy's top, which is another number inside a user namespace.
 */
#include "user/collect/container/container_trust.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/util/cleanup.h"

#define NAMED_PREFIX "name="

/* Nobody but root can make, remove or rename what is in it. */
static bool is_roots_alone(const struct stat *dir, const struct stat *top)
{
	if (dir->st_uid != top->st_uid || (dir->st_mode & S_IWOTH))
		return false;
	return !(dir->st_mode & S_IWGRP) || dir->st_gid == top->st_gid;
}

/* Who named `component`, in a directory that others than root may write to. */
static uid_t owner_of(const struct stat *dir, const struct stat *top, int mount_fd,
		      const char *component)
{
	struct stat st;

	if (dir->st_uid != top->st_uid)
		return dir->st_uid;
	if (fstatat(mount_fd, component, &st, AT_SYMLINK_NOFOLLOW) || st.st_uid == top->st_uid)
		return CONTAINER_TRUST_NOBODY;
	return st.st_uid;
}

void container_trust_below(int mount_fd, const char *path, struct container_trust *out)
{
	struct container_trust trust = { .is_checked = true, .rest_owner = CONTAINER_TRUST_NOBODY };
	char prefix[PATH_MAX];
	size_t at = strspn(path, "/");
	struct stat top, dir;

	*out = trust;
	if (strlen(path) >= sizeof(prefix) || fstat(mount_fd, &top))
		return;
	dir = top;
	while (path[at]) {
		size_t len = strcspn(path + at, "/");

		/* Outside of what a cgroup namespace shows: these names lead elsewhere here. */
		if (len == 2 && memcmp(path + at, "..", 2) == 0)
			return;
		at += len;
		memcpy(prefix, path, at);
		prefix[at] = '\0';
		if (!is_roots_alone(&dir, &top)) {
			out->rest_owner =
				owner_of(&dir, &top, mount_fd, prefix + strspn(prefix, "/"));
			return;
		}
		out->root_len = at;
		at += strspn(path + at, "/");
		/* It is gone: whose it was, nobody knows; its own name is root's all the same. */
		if (path[at] &&
		    fstatat(mount_fd, prefix + strspn(prefix, "/"), &dir, AT_SYMLINK_NOFOLLOW))
			return;
	}
}

/* Directory of a version 1 hierarchy: "cpu,cpuacct", or the first of the names. fd or -1. */
static int open_v1(int dir_fd, const char *controllers, size_t len)
{
	const size_t named_len = strlen(NAMED_PREFIX);
	const char *comma;
	char name[NAME_MAX + 1];
	int fd;

	if (len > named_len && memcmp(controllers, NAMED_PREFIX, named_len) == 0) {
		controllers += named_len;
		len -= named_len;
	}
	if (len == 0 || len >= sizeof(name) || memchr(controllers, '/', len))
		return -1;
	memcpy(name, controllers, len);
	name[len] = '\0';
	fd = openat(dir_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	comma = fd < 0 ? strchr(name, ',') : NULL;
	if (!comma)
		return fd;
	name[comma - name] = '\0';
	return openat(dir_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void container_trust_find(const struct container_hierarchies *hierarchies, const char *controllers,
			  size_t controllers_len, const char *path, struct container_trust *out)
{
	const struct container_trust unknown = { .rest_owner = CONTAINER_TRUST_NOBODY };

	*out = unknown;
	if (controllers_len == 0) {
		if (hierarchies->v2_fd >= 0)
			container_trust_below(hierarchies->v2_fd, path, out);
		return;
	}
	if (hierarchies->dir_fd < 0)
		return;

	__cleanup_fd int fd = open_v1(hierarchies->dir_fd, controllers, controllers_len);

	if (fd >= 0)
		container_trust_below(fd, path, out);
}
