/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rights that a helper process (child_process.h) gives up before it reads data of others: for
 * ever, for itself and for all processes that it starts.
 *
 *   process     capabilities it keeps          files (Landlock)     system calls (seccomp)
 *   launcher    those of namer, opener, asker  -                    those of jbpfd (sandbox_filter.h)
 *   namer       those to look into processes   -                    ... that only read
 *   parser      none                           none                 a short list, or it is killed
 *   opener      CAP_DAC_READ_SEARCH            read only            a short list, or it is killed
 *   asker       none                           below a JVM's /tmp   ... that only read, of one thread
 *   metrics     none                           none                 a short list
 *   offcpu      none                           none                 a short list
 *   compaction  none                           below the store      those of the sampler, inherited
 *   jbpf-web-engine  none                      names, certificates  ... and those of a client of TCP
 */
#ifndef JBPF_SANDBOX_CHILD_SANDBOX_H
#define JBPF_SANDBOX_CHILD_SANDBOX_H

#include <stdbool.h>

#include "user/util/attributes.h"
#include "user/sandbox/capabilities.h"
#include "user/sandbox/landlock.h"

#define CHILD_SANDBOX_MAX_FDS 16u /* that a process with one socket may have open */

/* The rights that it keeps; it gives up all others. */
struct child_rights {
	struct capabilities capabilities; /* of these those that it has */
	int (*landlock)(const char *dir); /* see landlock.h; NULL: files are left as they are */
	const char *dir;
	const struct landlock_client *client; /* instead of `landlock`; NULL = none */
	int (*filter)(void);		      /* of system calls; NULL: they are left as they are */
	/* True: a kernel without Landlock or filters is an error. False: the rest is given up. */
	bool needs_kernel;
};

/* 0 or -errno: then it must end. */
__must_check int child_sandbox_give_up(const struct child_rights *rights);

#endif
