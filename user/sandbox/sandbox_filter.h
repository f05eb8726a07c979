/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls that are left to jbpfd and its children once everything is open: a list of those
 * that are needed; the kernel refuses all others (seccomp(2)).
 */
#ifndef JBPF_SANDBOX_SANDBOX_FILTER_H
#define JBPF_SANDBOX_SANDBOX_FILTER_H

#include "user/util/attributes.h"

/*
 * For this process, all its threads and all children to come; needs no_new_privs or CAP_SYS_ADMIN.
 * 0; -ENOSYS or -EINVAL: the kernel has no such filters; else -errno.
 */
__must_check int sandbox_filter_load(void);
/* The same, but it may be a client of servers, also of those that it looks up by name. */
__must_check int sandbox_filter_load_client(void);

/* A kind of process: each needs a part of that list. */
enum sandbox_role {
	SANDBOX_ROLE_SAMPLER, /* has BPF maps, rings, the store */
	SANDBOX_ROLE_NAMER, /* looks into processes: opens for reading only, has one thread, signals nobody */
	SANDBOX_ROLE_ASKER, /* reads the answer of one JVM, to which it is connected, as its user */
};

/* Takes away the calls that this role does not need, on top of sandbox_filter_load(). Results as there. */
int sandbox_filter_narrow(enum sandbox_role role);

#endif
