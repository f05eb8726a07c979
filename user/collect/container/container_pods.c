// SPDX-License-Identifier: Apache-2.0
/*
 * See container_pods.h. Neither a namespace nor a pod's name can hold a "_" (RFC 1123), so that the
 * directory's name has one reading. No container sees these directories unless it is given them.
 */
#include "user/collect/container/container_pods.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/files/opener.h"
#include "user/util/cleanup.h"

#define PODS_DIR	 "/var/log/pods"
#define PODS_MAX_ENTRIES 4096 /* a kubelet runs some hundred pods */

static DIR *open_pods(int root_fd, struct opener *opener)
{
	__cleanup_fd int path_fd = opener__path(opener, root_fd, PODS_DIR);
	struct stat root, st;
	DIR *dir;

	if (path_fd < 0 || fstat(root_fd, &root))
		return NULL;

	__cleanup_fd int fd = openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) || st.st_uid != root.st_uid ||
	    (st.st_mode & (S_IWGRP | S_IWOTH)))
		return NULL;
	dir = fdopendir(fd);
	if (dir)
		(void)take_fd(&fd);
	return dir;
}

/* "NAMESPACE_POD_UID": where the pod's name begins and ends, when the uid is this one. */
static bool is_of_pod(const char *name, const char *pod_uid, const char **pod, size_t *pod_len)
{
	const char *first = strchr(name, '_');
	const char *second = first ? strchr(first + 1, '_') : NULL;

	if (!second || first == name || second == first + 1 || strcmp(second + 1, pod_uid) != 0)
		return false;
	*pod = first + 1;
	*pod_len = (size_t)(second - first - 1);
	return true;
}

static int keep(const char *name, const char *pod_at, size_t pod_len, char **pod, char **namespace)
{
	__cleanup_free char *found = strndup(pod_at, pod_len);

	if (!found)
		return -ENOMEM;
	if (!*namespace) {
		*namespace = strndup(name, (size_t)(pod_at - 1 - name));
		if (!*namespace)
			return -ENOMEM;
	}
	*pod = take_ptr(found);
	return 0;
}

int container_pod_find(int root_fd, struct opener *opener, const char *pod_uid, char **pod,
		       char **namespace)
{
	__cleanup_dir DIR *dir = *pod_uid ? open_pods(root_fd, opener) : NULL;
	struct dirent *entry;
	size_t left = PODS_MAX_ENTRIES;

	while (dir && left-- && (entry = readdir(dir))) {
		const char *pod_at;
		size_t pod_len;

		if (is_of_pod(entry->d_name, pod_uid, &pod_at, &pod_len))
			return keep(entry->d_name, pod_at, pod_len, pod, namespace);
	}
	return -ENOENT;
}
