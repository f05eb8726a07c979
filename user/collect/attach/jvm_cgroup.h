/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cgroups of a process, v1 and v2 and all their ancestors: is it frozen, and may it create
 * another thread? An attach needs both answers. Hosts mix both versions, so both are always read.
 */
#ifndef JBPF_ATTACH_JVM_CGROUP_H
#define JBPF_ATTACH_JVM_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "user/util/attributes.h"

/*
 * 0; -ESRCH the process is gone; or -errno when that is not known: a hierarchy that is not mounted
 * here, a cgroup outside of our cgroup namespace.
 */
__must_check int jvm_cgroup_is_frozen(int proc_fd, uint32_t pid, bool *frozen_out);

/* Tasks that may still be created, the least of all limits; UINT64_MAX without any. As above. */
int jvm_cgroup_pids_room(int proc_fd, uint32_t pid, uint64_t *room_out);

#endif
