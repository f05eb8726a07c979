/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far the names in a cgroup's path are root's. Whoever may write to a directory chooses the
 * names in it: below a cgroup that was given to a user (a systemd session, Delegate=, a container
 * with a user namespace) anybody can be called "docker-<id of another container>.scope".
 */
#ifndef JBPF_CONTAINER_CONTAINER_TRUST_H
#define JBPF_CONTAINER_CONTAINER_TRUST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CONTAINER_TRUST_NOBODY ((uid_t)-1) /* it cannot be told whose it is */

struct container_trust {
	bool is_checked;  /* false: this host shows no hierarchy in which it could be looked up */
	size_t root_len;  /* bytes of the path whose components were named by root */
	uid_t rest_owner; /* named what follows; CONTAINER_TRUST_NOBODY when nothing does */
};

/* Where cgroup directories can be looked at. Borrowed descriptors, -1 = none. */
struct container_hierarchies {
	int v2_fd;  /* the cgroup v2 mount */
	int dir_fd; /* the directory with one mount per version 1 hierarchy, named as in /proc */
};

/*
 * Looks at the owners of the directories from the hierarchy's top down. `controllers` is the second
 * field of /proc/PID/cgroup ("" = v2, "name=systemd", "cpu,cpuacct"), not terminated. Never fails:
 * what cannot be looked at is not believed.
 */
void container_trust_find(const struct container_hierarchies *hierarchies, const char *controllers,
			  size_t controllers_len, const char *path, struct container_trust *out);

/* The same below one mount's directory. */
void container_trust_below(int mount_fd, const char *path, struct container_trust *out);

#endif
