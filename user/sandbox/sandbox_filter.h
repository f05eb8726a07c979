/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls that are left to jbpfd and its children once everything is open: a list of what
 * is needed, all else is refused by the kernel (seccomp(2)).
 */
#ifndef JBPF_SANDBOX_SANDBOX_FILTER_H
#define JBPF_SANDBOX_SANDBOX_FILTER_H

/*
 * For this process, all its threads and all children to come; needs no_new_privs or CAP_SYS_ADMIN.
 * 0; -ENOSYS or -EINVAL: the kernel has no such filters; else -errno.
 */
int sandbox_filter_load(void);

/* Which process it is: each has use for a part of that list. */
enum sandbox_role {
	SANDBOX_ROLE_SAMPLER, /* has BPF maps, rings, the store */
	SANDBOX_ROLE_NAMER, /* looks into processes: opens for reading only, has one thread, signals nobody */
	SANDBOX_ROLE_ASKER, /* reads the answer of one JVM, to which it is connected, as its user */
};

/* Takes away what this role has no use for, on top of sandbox_filter_load(). As that. */
int sandbox_filter_narrow(enum sandbox_role role);

#endif
