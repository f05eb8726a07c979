/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that the filters of jbpfd and of its children share: calls that a filter allows (seccomp(2)). */
#ifndef JBPF_SANDBOX_SECCOMP_RULES_H
#define JBPF_SANDBOX_SECCOMP_RULES_H

#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"

/* Allows these calls (SCMP_SYS numbers) with any arguments. 0 or -errno. */
__must_check int seccomp_rules_allow(scmp_filter_ctx filter, const int *calls, size_t cnt);

/* Allows `call` when none of these bits is set in its argument `index`. 0 or -errno. */
__must_check int seccomp_rules_allow_without(scmp_filter_ctx filter, int call, unsigned int index,
					     uint64_t bits);

/* Allows mmap() and mprotect(), but no memory whose bytes run as code. 0 or -errno. */
__must_check int seccomp_rules_allow_memory(scmp_filter_ctx filter);
/* Allows such an mmap() of fresh memory, of no file. 0 or -errno. */
__must_check int seccomp_rules_allow_fresh_memory(scmp_filter_ctx filter);

#endif
