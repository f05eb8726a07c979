/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line of `jbpfd --check` about container roots: which containers run, and the root of how many of them can be
 * opened. In: an open /proc. Out: counts, and one that is closed; the words come of them alone.
 */
#ifndef JBPF_DAEMON_HOST_CHECK_ROOTS_H
#define JBPF_DAEMON_HOST_CHECK_ROOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/daemon/host_check_rights.h"
#include "user/util/attributes.h"

struct host_roots {
	size_t containers;    /* with a process that lives */
	size_t closed;	      /* of these: the root of none of its processes can be opened */
	uint32_t closed_pid;  /* of one of them */
	char closed_name[13]; /* its id, shortened, or its name */
};

/* 0 or -ENOMEM. */
__must_check int host_check_roots(int proc_fd, struct host_roots *out);

/*
 * `pid` is a process of another user that no namespace of ours opens to us, which containers may be open by; or 1
 * where there is none, which decides only where no container runs.
 */
enum check_result host_check_roots_line(const struct host_roots *roots, uint32_t pid,
					bool pid_is_open, char *out, size_t len);

#endif
