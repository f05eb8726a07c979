// SPDX-License-Identifier: Apache-2.0
/*
 * Selectors against windows. Labels come from files and containers and are only ever compared;
 * patterns come from the command line of whoever reads.
 */
#include "user/model/select.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "user/util/cleanup.h"

#define CONTAINER_ID_PREFIX_MIN 6
#define CGROUP_MOUNT		"/sys/fs/cgroup"

/* An unknown label equals only the empty selector: `--pod ''` asks for what is in no pod. */
static bool label_matches(const char *pattern, const char *label)
{
	if (strcmp(pattern, label) == 0)
		return true;
	return *label && fnmatch(pattern, label, 0) == 0;
}

bool select_name_matches(const char *pattern, const char *name)
{
	static const char users[] = "user:";
	size_t len = strlen(users);

	if (strncmp(name, users, len) == 0 && strncmp(pattern, users, len) != 0 &&
	    strcmp(pattern, "*") != 0)
		return false;
	return label_matches(pattern, name);
}

static bool container_matches(const char *pattern, const struct window *window)
{
	const char *id = window_label(window, WINDOW_LABEL_CONTAINER_ID);
	size_t len = strlen(pattern);

	if (select_name_matches(pattern, window_label(window, WINDOW_LABEL_CONTAINER)))
		return true;
	if (*pattern && strcmp(pattern, id) == 0)
		return true;
	return len >= CONTAINER_ID_PREFIX_MIN && strspn(pattern, "0123456789abcdef") == len &&
	       strncmp(pattern, id, len) == 0;
}

static bool pod_matches(const char *pattern, const struct window *window)
{
	const char *uid = window_label(window, WINDOW_LABEL_POD_UID);

	return select_name_matches(pattern, window_label(window, WINDOW_LABEL_POD)) ||
	       (*uid && select_name_matches(pattern, uid));
}

/* Takes the path as /proc/PID/cgroup has it or as it is seen below the usual mount point. */
static bool cgroup_matches(const char *pattern, const struct window *window)
{
	const char *path = window_label(window, WINDOW_LABEL_CGROUP);
	size_t mount_len = strlen(CGROUP_MOUNT);
	size_t len;

	if (strncmp(pattern, CGROUP_MOUNT, mount_len) == 0 &&
	    (pattern[mount_len] == '/' || pattern[mount_len] == '\0'))
		pattern = pattern[mount_len] ? pattern + mount_len : "/";
	if (label_matches(pattern, path))
		return true;

	len = strlen(pattern);
	while (len && pattern[len - 1] == '/')
		len--;
	if (len == 0)
		return *pattern == '/' && *path == '/';
	return strncmp(pattern, path, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

bool selection_matches(const struct selection *selection, const struct window *window)
{
	const struct {
		const char *pattern;
		enum window_label label;
	} plain[] = {
		{ selection->namespace, WINDOW_LABEL_NAMESPACE },
		{ selection->service, WINDOW_LABEL_SERVICE },
	};

	if (selection->pid && selection->pid != window->pid)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
		if (plain[i].pattern &&
		    !select_name_matches(plain[i].pattern, window_label(window, plain[i].label)))
			return false;
	}
	if (selection->comm &&
	    !label_matches(selection->comm, window_label(window, WINDOW_LABEL_COMM)))
		return false;
	if (selection->container && !container_matches(selection->container, window))
		return false;
	if (selection->pod && !pod_matches(selection->pod, window))
		return false;
	return !selection->cgroup || cgroup_matches(selection->cgroup, window);
}

bool selection_covers(const struct selection *selection, const struct window *window)
{
	/* A window without length is the point where it starts. */
	uint64_t length_ns = window->duration_ns ? window->duration_ns : 1;
	uint64_t end_ns;

	if (__builtin_add_overflow(window->start_unix_ns, length_ns, &end_ns))
		end_ns = UINT64_MAX;
	return window->start_unix_ns < selection->until_unix_ns &&
	       end_ns > selection->since_unix_ns;
}

bool select_kind_matches(enum select_kind wanted, enum frame_kind leaf)
{
	switch (wanted) {
	case SELECT_KIND_ANY:
		return true;
	case SELECT_KIND_JAVA:
		return leaf == FRAME_KIND_JIT || leaf == FRAME_KIND_C1 ||
		       leaf == FRAME_KIND_INTERPRETED || leaf == FRAME_KIND_INLINED;
	case SELECT_KIND_KERNEL:
		return leaf == FRAME_KIND_KERNEL;
	case SELECT_KIND_NATIVE:
		return leaf == FRAME_KIND_NATIVE;
	}
	return false;
}
