/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What /proc has of a process whose first thread has ended while others run on: that thread has no memory
 * and no root any more, and so /proc/PID/maps is empty, /proc/PID/root and process_vm_readv(PID) fail. The
 * others have them still.
 */
#ifndef JBPF_HOST_PROC_THREAD_H
#define JBPF_HOST_PROC_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "user/host/procmaps.h"
#include "user/util/attributes.h"

/* True also of a process that has ended as a whole and was not waited for yet. */
bool proc_first_thread_has_ended(int proc_fd, uint32_t pid);

/*
 * /proc/PID/`name`, by way of a thread that runs, where the first one has ended; else -ESRCH. For callers
 * whose own attempt with /proc/PID failed. A descriptor or -errno.
 */
__must_check int proc_thread_open(int proc_fd, uint32_t pid, const char *name, int flags);

/* The mappings of a process, whichever of its threads are left. 0, -ESRCH, -ENOMEM, -errno. */
__must_check int proc_read_maps(int proc_fd, uint32_t pid, struct procmaps *out);

#endif
