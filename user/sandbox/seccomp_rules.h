/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that the filters of jbpfd and of its children share: what a filter lets pass (seccomp(2)). */
#ifndef JBPF_SANDBOX_SECCOMP_RULES_H
#define JBPF_SANDBOX_SECCOMP_RULES_H

#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>

/* These calls (SCMP_SYS numbers), whatever their arguments. 0 or -errno. */
int seccomp_rules_allow(scmp_filter_ctx filter, const int *calls, size_t cnt);

/* `call` when none of these bits is set in its argument `index`. 0 or -errno. */
int seccomp_rules_allow_without(scmp_filter_ctx filter, int call, unsigned int index,
				uint64_t bits);

#endif
