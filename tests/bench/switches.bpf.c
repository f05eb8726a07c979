// SPDX-License-Identifier: GPL-2.0-only
/*
 * A peer of the passes over all threads: what bcc's offcputime does (libbpf-tools/offcputime.bpf.c). At
 * each context switch the stacks of who leaves the CPU are taken, and the time of who comes back is
 * added up. Maps are as large as there.
 */
#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define SWITCHES_DEPTH	 127
#define SWITCHES_ENTRIES 10240
#define SWITCHES_STACKS	 1024
#define COMM_BYTES	 16

char LICENSE[] SEC("license") = "GPL";

struct switches_key {
	__u32 pid;
	__u32 tid;
	__s32 user_id;
	__s32 kernel_id;
};

struct switches_start {
	__u64 ns;
	struct switches_key key;
};

struct switches_sum {
	__u64 us;
	char comm[COMM_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, SWITCHES_STACKS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, SWITCHES_DEPTH * sizeof(__u64));
} traces SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SWITCHES_ENTRIES);
	__type(key, __u32);
	__type(value, struct switches_start);
} starts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SWITCHES_ENTRIES);
	__type(key, struct switches_key);
	__type(value, struct switches_sum);
} sums SEC(".maps");

static void note_start(void *ctx, struct task_struct *prev)
{
	struct switches_start start = { .ns = bpf_ktime_get_ns() };
	__u32 tid = BPF_CORE_READ(prev, pid);

	start.key.pid = BPF_CORE_READ(prev, tgid);
	start.key.tid = tid;
	start.key.user_id = -1;
	if (!(BPF_CORE_READ(prev, flags) & 0x00200000)) /* PF_KTHREAD */
		start.key.user_id = bpf_get_stackid(ctx, &traces, BPF_F_USER_STACK);
	start.key.kernel_id = bpf_get_stackid(ctx, &traces, 0);
	bpf_map_update_elem(&starts, &tid, &start, 0);
}

SEC("raw_tp/sched_switch")
int switches_hook(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *next = (struct task_struct *)ctx->args[2];
	struct switches_start *start;
	struct switches_sum none = {}, *sum;
	__u32 tid = BPF_CORE_READ(next, pid);

	note_start(ctx, (struct task_struct *)ctx->args[1]);
	start = bpf_map_lookup_elem(&starts, &tid);
	if (!start)
		return 0;
	sum = bpf_map_lookup_elem(&sums, &start->key);
	if (!sum) {
		BPF_CORE_READ_STR_INTO(&none.comm, next, comm);
		bpf_map_update_elem(&sums, &start->key, &none, BPF_NOEXIST);
		sum = bpf_map_lookup_elem(&sums, &start->key);
	}
	if (sum)
		__sync_fetch_and_add(&sum->us, (bpf_ktime_get_ns() - start->ns) / 1000);
	bpf_map_delete_elem(&starts, &tid);
	return 0;
}
