/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system calls that are left to jbpfd and its children once everything is open: a list of what
 * is needed, all else is refused by the kernel (seccomp(2)).
 */
#ifndef JBPF_CMD_SANDBOX_FILTER_H
#define JBPF_CMD_SANDBOX_FILTER_H

/*
 * For this process, all its threads and all children to come; needs no_new_privs or CAP_SYS_ADMIN.
 * 0; -ENOSYS or -EINVAL: the kernel has no such filters; else -errno.
 */
int sandbox_filter_load(void);

#endif
