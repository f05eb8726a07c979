/* SPDX-License-Identifier: GPL-2.0-only */
/* Per-CPU counters: of samples, and of each reason why one, or a part of one, was lost. */
#ifndef JBPF_COUNT_BPF_H
#define JBPF_COUNT_BPF_H

#include "bpf/maps.bpf.h"
#include "bpf/verifier.bpf.h"

#define E2BIG  7 /* asm-generic/errno-base.h */
#define EEXIST 17

static __always_inline void count(enum jbpf_counter what)
{
	__u32 zero = 0;
	struct counters *counts_of_cpu = bpf_map_lookup_elem(&counters, &zero);

	/* `what` is a constant everywhere, so the bound is known to the verifier. */
	if (counts_of_cpu)
		counts_of_cpu->cnt[what]++;
}

static __always_inline void count_add(enum jbpf_counter what, __u64 cnt)
{
	__u32 zero = 0;
	struct counters *counts_of_cpu = bpf_map_lookup_elem(&counters, &zero);

	if (counts_of_cpu)
		counts_of_cpu->cnt[what] += cnt;
}

#define END_TO_COUNTER	    (JBPF_CNT_END_MAX_DEPTH - JBPF_END_MAX_DEPTH)
#define RULE_END_TO_COUNTER (JBPF_CNT_END_NO_RULE - JBPF_END_NO_RULE)

_Static_assert(JBPF_END_LEAF_ONLY + END_TO_COUNTER == JBPF_CNT_END_LEAF_ONLY, "the same order");
_Static_assert(JBPF_END_MAX_RULES + RULE_END_TO_COUNTER == JBPF_CNT_END_MAX_RULES,
	       "the same order");

_Static_assert(!(JBPF_COUNTER_SLOTS & (JBPF_COUNTER_SLOTS - 1)), "the mask below is a bound");

/* How the user walk of a sample ended. */
static __always_inline void count_user_end(enum jbpf_stack_end end)
{
	__u32 zero = 0;
	struct counters *counts_of_cpu = bpf_map_lookup_elem(&counters, &zero);
	__u64 at = end;

	if (!counts_of_cpu || end == JBPF_END_ROOT)
		return;
	at += end >= JBPF_END_NO_RULE ? RULE_END_TO_COUNTER : END_TO_COUNTER;
	KEEP_BITS(at, JBPF_COUNTER_SLOTS - 1);
	counts_of_cpu->cnt[at]++;
}

#endif
