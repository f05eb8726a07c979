/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A way to start and end a helper process: by the launcher (launcher.h), where this process may not
 * fork, or by fork() here. Its user does not know which.
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

#define CHILD_FORKER_MAX_HANGING 32u

/* Starts children of this process. Zero but for `program` and `max_hanging`. */
struct child_forker {
	child_program_fn program;
	size_t max_hanging; /* up to CHILD_FORKER_MAX_HANGING: beyond, none is started */
	pid_t hanging[CHILD_FORKER_MAX_HANGING]; /* killed and not ended; 0 = free */
};

/* The forker must live as long as the starter is used, and stay where it is. */
struct child_starter child_forker_starter(struct child_forker *forker);

#endif
