/* SPDX-License-Identifier: Apache-2.0 */
/* How the helper processes begin that then give up their rights: the parser, the opener. */
#ifndef JBPF_SANDBOX_CHILD_SANDBOX_H
#define JBPF_SANDBOX_CHILD_SANDBOX_H

#include <stdint.h>
#include <sys/types.h>

#include "user/sandbox/capabilities.h"

#define CHILD_SANDBOX_MAX_FDS 16u /* that such a process may have open */

/*
 * Gives the process its name (at most 15 bytes), blocks all signals, has it end with `parent`, and
 * leaves it nothing of the profiler's: no memory that others write to, no descriptor but `keep_fd`,
 * which becomes number 0. When memory is short it goes first. 0 or -errno: then it must end.
 */
int child_sandbox_begin(const char *name, int keep_fd, pid_t parent);

/* What is left to it when it has given up the rest. */
struct child_sandbox_rights {
	struct capabilities capabilities;
	int (*landlock)(
		const char *dir); /* see landlock.h, called with NULL; NULL: the kernel has none */
	int (*filter)(void);	  /* of system calls; NULL: the kernel has none */
};

/* For ever, and no program that it executes gets more. 0 or -errno: then it must end. */
int child_sandbox_give_up(const struct child_sandbox_rights *rights);

/* setrlimit(), but never higher than it is. 0 or -errno. */
int child_sandbox_limit(int resource, uint64_t value);

#endif
