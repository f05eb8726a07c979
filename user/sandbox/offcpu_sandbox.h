/* SPDX-License-Identifier: Apache-2.0 */
/* What the process that runs the pass over waiting threads may still do: run its program, and read its socket. */
#ifndef JBPF_SANDBOX_OFFCPU_SANDBOX_H
#define JBPF_SANDBOX_OFFCPU_SANDBOX_H

#include "user/util/attributes.h"

/* This process is such a one from now on; both descriptors get new numbers. 0 or -errno: then it must end. */
__must_check int offcpu_sandbox_enter(int *socket_fd, int *program_fd);

#endif
