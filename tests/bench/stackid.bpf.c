// SPDX-License-Identifier: GPL-2.0-only
/*
 * The peer of bench_kernel_cost: the least a profiler on bpf_get_stackid does. A stack-trace map, and
 * a count per process and pair of stacks; no start time, no cgroup, no name. The kernel's limit of
 * 127 frames applies.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#define STACKID_DEPTH	127 /* kernel.perf_event_max_stack */
#define STACKID_ENTRIES 16384

char LICENSE[] SEC("license") = "GPL";

struct stackid_key {
	__u32 pid;
	__s32 user_id;
	__s32 kernel_id;
};

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, STACKID_ENTRIES);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, STACKID_DEPTH * sizeof(__u64));
} traces SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, STACKID_ENTRIES);
	__type(key, struct stackid_key);
	__type(value, __u64);
} counts SEC(".maps");

#if defined(__TARGET_ARCH_x86)
#define IN_KERNEL(ctx) (((ctx)->regs.cs & 3) == 0)
#else
#define IN_KERNEL(ctx) (((ctx)->regs.pstate & 0xf) != 0)
#endif

SEC("perf_event")
int stackid_oncpu(struct bpf_perf_event_data *ctx)
{
	struct stackid_key key = { .kernel_id = -1 };
	__u64 one = 1, *count;

	key.pid = bpf_get_current_pid_tgid() >> 32;
	key.user_id = bpf_get_stackid(ctx, &traces, BPF_F_USER_STACK);
	if (IN_KERNEL(ctx))
		key.kernel_id = bpf_get_stackid(ctx, &traces, 0);
	count = bpf_map_lookup_elem(&counts, &key);
	if (count)
		__sync_fetch_and_add(count, 1);
	else
		bpf_map_update_elem(&counts, &key, &one, BPF_NOEXIST);
	return 0;
}
