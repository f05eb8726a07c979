/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which cgroup a process is in, and where its hierarchy is mounted: the lines of /proc/PID/cgroup and
 * /proc/mounts (cgroups(7), proc(5)). In: their text, or an open /proc. Out: parts of the text, which
 * stays the caller's, or a path in the caller's buffer; nothing is kept. Cgroup paths and mount points
 * are foreign text. A hierarchy is named by one of its version 1 controllers ("pids"), or by NULL, which
 * is version 2.
 */
#ifndef JBPF_HOST_CGROUP_LINES_H
#define JBPF_HOST_CGROUP_LINES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "user/util/attributes.h"

/* "4:memory:/docker/<id>" */
struct cgroup_line {
	const char *controllers; /* comma-separated; of length 0: version 2 */
	size_t controllers_len;
	const char *path;
	size_t path_len; /* all that the kernel wrote */
	size_t name_len; /* without " (deleted)" */
};

/* false: not such a line. */
bool cgroup_line_parse(const char *line, size_t len, struct cgroup_line *out) __no_null;
bool cgroup_line_is_of(const struct cgroup_line *line, const char *controller);

/* First line of a hierarchy; false: the process is in no such one. */
bool cgroup_lines_find(const char *text, size_t len, const char *controller,
		       struct cgroup_line *out);

/*
 * First mount point of a hierarchy, as /proc/mounts below `proc_fd` has it. 0; -ENODEV: it is mounted
 * nowhere; -ENAMETOOLONG; -ENOMEM; the error of reading. `out` is untouched on error.
 */
__must_check int cgroup_mount_find(int proc_fd, const char *controller, char out[PATH_MAX]);

#endif
