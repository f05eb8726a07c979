/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock: a process gives up files for itself and its children, for ever, without any privilege
 * (landlock(7), kernel 5.13). A process that did so may no longer look into processes outside
 * (security/landlock/ptrace.c), so this is for children that only work on files.
 */
#ifndef JBPF_SANDBOX_LANDLOCK_H
#define JBPF_SANDBOX_LANDLOCK_H

#include <stdint.h>

#include "user/util/attributes.h"

/* Version of the kernel's interface, 1 or more; -ENOSYS, -EOPNOTSUPP: there is none. */
__must_check int landlock_version(void);

/*
 * From here on files are opened, made, moved and removed below `dir` only (NULL: nowhere); open
 * files stay open. Nothing is executed; where the kernel knows how, no TCP socket is bound or
 * connected, and no abstract socket or process outside is reached. Needs no_new_privs or
 * CAP_SYS_ADMIN. 0 or -errno; -EOPNOTSUPP also for version 1, under which files cannot be moved
 * from one directory to another.
 */
__must_check int landlock_only_below(const char *dir);

/* The same, but what is below `dir` is read and never changed. */
__must_check int landlock_read_only_below(const char *dir);

/*
 * From here on files are written, made, moved and removed below `dir` only, and read as before;
 * nothing is executed, and no TCP socket bound or connected where the kernel knows how. Open files
 * stay open. Needs and errors as above.
 */
int landlock_write_only_below(const char *dir);

#define LANDLOCK_PATHS_MAX 10

/* A process that asks a server: what it reads, and the only TCP port that it connects to. */
struct landlock_client {
	const char *paths[LANDLOCK_PATHS_MAX]; /* directories and files; NULL ends them */
	uint16_t port;
};

/*
 * From here on these paths are read, nothing is written or executed, and where the kernel knows how
 * (6.7) this port is the only one that TCP connects to. Needs and errors as above.
 */
__must_check int landlock_client_of(const struct landlock_client *client);

#endif
