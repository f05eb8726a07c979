/* SPDX-License-Identifier: Apache-2.0 */
/* One conversation with a JVM at a time, also where several profilers of this host are jbpf's. */
#ifndef JBPF_ATTACH_JVM_ATTACH_LOCK_H
#define JBPF_ATTACH_JVM_ATTACH_LOCK_H

#include <stdint.h>

#include "user/util/attributes.h"

/*
 * Locks the process below `proc_fd` until the descriptor is closed, which is the caller's; with the
 * rights that opening its root takes. fd; -EWOULDBLOCK: somebody has it; -ESRCH; -errno.
 */
__must_check int jvm_attach_lock(int proc_fd, uint32_t pid);

#endif
