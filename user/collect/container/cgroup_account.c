// SPDX-License-Identifier: Apache-2.0
/* Accounts of cgroups; see cgroup_account.h. */
#include "user/collect/container/cgroup_account.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <xxhash.h>

#include "user/collect/container/container.h"
#include "user/util/account.h"

/* Where the component that begins at `at`, behind slashes, ends. */
static size_t component_end(const char *path, size_t at)
{
	at += strspn(path + at, "/");
	return at + strcspn(path + at, "/");
}

static size_t user_slice_len(const char *path)
{
	static const char slice[] = "/user.slice/user-";

	if (strncmp(path, slice, strlen(slice)) != 0)
		return 0;
	return component_end(path, strlen("/user.slice"));
}

static bool is_contained(const struct container_path *path)
{
	return path->id[0] || path->name[0] || path->pod_uid[0];
}

static bool is_same_container(const struct container_path *a, const struct container_path *b)
{
	return strcmp(a->id, b->id) == 0 && strcmp(a->name, b->name) == 0 &&
	       strcmp(a->pod_uid, b->pod_uid) == 0;
}

/* The shortest part of the path of which the same is said as of all of it. */
static size_t container_len(const char *path)
{
	struct container_path whole, part;
	char copy[PATH_MAX];
	size_t len = strlen(path);
	size_t end = 0;

	container_path_parse(path, &whole);
	if (!is_contained(&whole) || len >= sizeof(copy))
		return 0;
	memcpy(copy, path, len + 1);
	do {
		end = component_end(path, end);
		copy[end] = '\0';
		container_path_parse(copy, &part);
		copy[end] = path[end];
	} while (end < len && !is_same_container(&part, &whole));
	return end;
}

size_t cgroup_account_len(const char *cgroup_path)
{
	size_t len = user_slice_len(cgroup_path);

	if (!len)
		len = container_len(cgroup_path);
	if (!len)
		len = component_end(cgroup_path, component_end(cgroup_path, 0));
	while (len && cgroup_path[len - 1] == '/')
		len--;
	return len;
}

size_t cgroup_account_len_within(const char *cgroup_path, size_t roots_len)
{
	size_t len = cgroup_account_len(cgroup_path);

	return roots_len && roots_len < len ? roots_len : len;
}

uint64_t cgroup_account_id(const char *cgroup_path, size_t len)
{
	uint64_t id;

	if (!*cgroup_path)
		return ACCOUNT_NONE;
	id = XXH3_64bits(cgroup_path, len);
	return id == ACCOUNT_NONE ? 1 : id;
}
