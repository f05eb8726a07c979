/* SPDX-License-Identifier: Apache-2.0 */
/* Who starts and ends a helper process where the profiler itself may not: the launcher. */
#ifndef JBPF_SANDBOX_CHILD_STARTER_H
#define JBPF_SANDBOX_CHILD_STARTER_H

#include <sys/types.h>

struct child_starter {
	/* A process that runs its program on the other end of *socket_out. 0 or -errno. */
	int (*start)(void *ctx, int *socket_out, pid_t *pid_out);
	/* Kills it. Its wait status, or -1: it hangs, or that is not known. */
	int (*end)(void *ctx, pid_t pid);
	void *ctx;
};

#endif
