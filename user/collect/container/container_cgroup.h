/* SPDX-License-Identifier: Apache-2.0 */
/* From a cgroup v2 id to its path; the part of container.h that needs no resolver. */
#ifndef JBPF_CONTAINER_CONTAINER_CGROUP_H
#define JBPF_CONTAINER_CONTAINER_CGROUP_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"

/*
 * Directory of the cgroup v2 mount: `cgroup_root`, or "unified" below it (hybrid hosts), or what
 * /proc/mounts names. fd or -errno (-ENOENT: there is none).
 */
__must_check int container_cgroup_mount_open(int proc_fd, const char *cgroup_root);

/*
 * Path of a cgroup v2 id below the mount. 0; -ESTALE: gone, or outside of what the mount shows;
 * -ENAMETOOLONG. Without CAP_DAC_READ_SEARCH the tree is searched, which is slow but works.
 */
__must_check int container_cgroup_by_id(int mount_fd, uint64_t cgroup_id, char *path,
					size_t path_len);

#endif
