// SPDX-License-Identifier: Apache-2.0
/* See seccomp_rules.h. */
#include "user/sandbox/seccomp_rules.h"

#include <sys/mman.h>

int seccomp_rules_allow(scmp_filter_ctx filter, const int *calls, size_t cnt)
{
	int err = 0;

	for (size_t i = 0; i < cnt && !err; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
	return err;
}

int seccomp_rules_allow_without(scmp_filter_ctx filter, int call, unsigned int index, uint64_t bits)
{
	const struct scmp_arg_cmp is_clear = {
		.arg = index, .op = SCMP_CMP_MASKED_EQ, .datum_a = bits, .datum_b = 0
	};

	return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, 1, &is_clear);
}

int seccomp_rules_allow_memory(scmp_filter_ctx filter)
{
	int err = seccomp_rules_allow_without(filter, SCMP_SYS(mmap), 2, PROT_EXEC);

	return err ? err : seccomp_rules_allow_without(filter, SCMP_SYS(mprotect), 2, PROT_EXEC);
}

int seccomp_rules_allow_fresh_memory(scmp_filter_ctx filter)
{
	return seccomp_rule_add_exact(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2,
				      SCMP_A2_64(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
				      SCMP_A3_64(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, MAP_ANONYMOUS));
}
