/* SPDX-License-Identifier: Apache-2.0 */
/* The opener process's side: opens files on request until the profiler closes its end. */
#ifndef JBPF_FILES_OPENER_CHILD_H
#define JBPF_FILES_OPENER_CHILD_H

#include "user/util/attributes.h"
#include "user/files/opener_wire.h"

/*
 * Runs in the forked process: gives up its rights and serves. Returns the exit status, which is an
 * errno: 0 when the profiler is gone or has not asked for a minute, else the error that ended it.
 */
int opener_child_main(int socket_fd);

/* One request's work: fd or -errno. `st` and `head` of the reply are filled in. */
__must_check int opener_child_open(const struct opener_request *request, int at_fd,
				   struct opener_reply *reply);

/* From here on it can do only that, and use open files. Features that the kernel lacks are left out. 0 or -errno. */
__must_check int opener_child_confine(void);

#endif
