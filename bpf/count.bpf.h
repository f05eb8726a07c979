/* SPDX-License-Identifier: GPL-2.0-only */
/* Per-CPU counters of samples and of every reason one, or a part of one, was lost. */
#ifndef JBPF_COUNT_BPF_H
#define JBPF_COUNT_BPF_H

#include "bpf/maps.bpf.h"

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

#endif
