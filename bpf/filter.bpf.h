/* SPDX-License-Identifier: GPL-2.0-only */
/* Is the running task to be sampled? With both kinds of filter it must pass both. */
#ifndef JBPF_FILTER_BPF_H
#define JBPF_FILTER_BPF_H

#include "bpf/maps.bpf.h"

static __always_inline bool filter_pid_passes(__u32 pid)
{
	return !filter_pid_cnt || bpf_map_lookup_elem(&filter_pids, &pid);
}

static __always_inline bool filter_cgroup_passes(void)
{
	if (!filter_cgroup_cnt)
		return true;
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < JBPF_CGROUP_FILTER_MAX; i++) {
		if (i >= filter_cgroup_cnt)
			break;
		if (bpf_current_task_under_cgroup(&filter_cgroups, i) == 1)
			return true;
	}
	return false;
}

#endif
