/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A way to start and end a helper process. Who needs helpers may not fork, so that the launcher
 * (launcher.h) does it; its user does not know.
 */
#ifndef JBPF_SANDBOX_CHILD_STARTER_H
#define JBPF_SANDBOX_CHILD_STARTER_H

#include <stddef.h>
#include <sys/types.h>

struct child_starter {
	/*
	 * A process that runs its program on the other end of *socket_out. 0 or -errno; -EBUSY:
	 * too many of them hang.
	 */
	int (*start)(void *ctx, int *socket_out, pid_t *pid_out);
	/* Kills it. Its wait status, or -1: it hangs, or that is not known. */
	int (*end)(void *ctx, pid_t pid);
	void *ctx;
};

/* Runs in the child on its end of the socket. Its exit status, as of child_main_fn. */
typedef int (*child_program_fn)(int socket_fd);

#endif
