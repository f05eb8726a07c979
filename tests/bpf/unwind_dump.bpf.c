// SPDX-License-Identifier: GPL-2.0-only
/*
 * Takes user stacks by the very code of bpf/stack.bpf.h, and hands out each with the registers and
 * the stack it was taken from, for live_unwind.c to compare with another unwinder's.
 */
#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/core_compat.bpf.h"
#include "bpf/stack.bpf.h"
#include "tests/bpf/unwind_dump.h"

char LICENSE[] SEC("license") = "GPL";

const volatile __u32 target_pid = 0;
const volatile __u32 wants_stack = 1;
const volatile __u32 wants_fp = 0; /* a second walk, by frame pointers alone */

__u64 sample_cnt = 0;
__u64 lost_cnt = 0;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 26);
} dumps SEC(".maps");

static __always_inline void regs_copy(const bpf_user_pt_regs_t *from, __u64 *to)
{
	to[0] = from->ax;
	to[1] = from->dx;
	to[2] = from->cx;
	to[3] = from->bx;
	to[4] = from->si;
	to[5] = from->di;
	to[6] = from->bp;
	to[7] = from->sp;
	to[8] = from->r8;
	to[9] = from->r9;
	to[10] = from->r10;
	to[11] = from->r11;
	to[12] = from->r12;
	to[13] = from->r13;
	to[14] = from->r14;
	to[15] = from->r15;
	to[16] = from->ip;
}

static __always_inline void stack_copy(struct unwind_dump *dump)
{
	__u64 at = dump->regs[7] & ~(__u64)(DUMP_PAGE_BYTES - 1);

	/* Pages that were never touched are not there. */
	for (int i = 0; i < DUMP_PAGES; i++) {
		if (!bpf_probe_read_user(dump->stack + i * DUMP_PAGE_BYTES, DUMP_PAGE_BYTES,
					 (void *)(at + i * DUMP_PAGE_BYTES)))
			dump->page_cnt = i + 1;
	}
}

__noinline int walk_timed(struct bpf_perf_event_data *ctx)
{
	struct scratch *state = scratch_get();
	struct user_regs regs = {};

	asm volatile("" ::"r"(ctx));
	if (!state)
		return 0;
	regs.ip = state->key.cgroup_id;
	regs.sp = state->key.start_ns;
	regs.fp = state->key.kernel_hash;
	state->key.start_ns = 1;
	state->value.first_ns = bpf_ktime_get_ns();
	state->regs = regs;
	stack_take_user(ctx);
	state->value.last_ns = bpf_ktime_get_ns();
	return 0;
}

/* The walk of `pid` from these registers; its time in ns. */
static __always_inline __u64 walk(struct bpf_perf_event_data *ctx, struct scratch *state,
				  const struct unwind_dump *dump, __u32 pid)
{
	state->key.pid = pid;
	state->key.exec_id = 1;
	state->key.cgroup_id = dump->regs[16];
	state->key.start_ns = dump->regs[7];
	state->key.kernel_hash = dump->regs[6];
	walk_timed(ctx);
	return state->value.last_ns - state->value.first_ns;
}

static __always_inline void walk_by_rules_into(struct bpf_perf_event_data *ctx,
					       struct scratch *state, struct unwind_dump *dump)
{
	dump->rule_ns = walk(ctx, state, dump, target_pid);
	dump->frame_cnt = state->user.head.frame_cnt;
	dump->end = state->user.head.end;
	bpf_probe_read_kernel(dump->ips, sizeof(dump->ips), state->user.ips);
}

static __always_inline void walk_by_fp_into(struct bpf_perf_event_data *ctx, struct scratch *state,
					    struct unwind_dump *dump)
{
	dump->fp_ns = walk(ctx, state, dump, target_pid | DUMP_FP_PID_BIT);
	dump->fp_frame_cnt = state->user.head.frame_cnt;
}

SEC("perf_event")
int dump_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct scratch *state = scratch_get();
	struct unwind_dump *dump;
	struct counters *cnt;
	struct user_regs regs;
	__u32 zero = 0;

	if (bpf_get_current_pid_tgid() >> 32 != target_pid || !state || !task->mm)
		return 0;
	dump = bpf_ringbuf_reserve(&dumps, sizeof(*dump), 0);
	if (!dump) {
		lost_cnt++;
		return 0;
	}
	dump->page_cnt = 0;
	dump->fp_ns = 0;
	dump->fp_frame_cnt = 0;
	regs_read(&ctx->regs, &regs);
	if (regs.is_user) {
		regs_copy(&ctx->regs, dump->regs);
	} else {
		bpf_user_pt_regs_t saved = {};

		bpf_probe_read_kernel(&saved, sizeof(saved), (void *)bpf_task_pt_regs(task));
		regs_copy(&saved, dump->regs);
	}
	dump->rule_is_first = !wants_fp || sample_cnt & 1;
	if (wants_fp && !dump->rule_is_first)
		walk_by_fp_into(ctx, state, dump);
	walk_by_rules_into(ctx, state, dump);
	if (wants_fp && dump->rule_is_first)
		walk_by_fp_into(ctx, state, dump);
	cnt = bpf_map_lookup_elem(&counters, &zero);
	dump->rule_miss_cnt = cnt ? (__u32)cnt->cnt[JBPF_CNT_RULE_MISS] : 0;
	if (wants_stack)
		stack_copy(dump);
	sample_cnt++;
	bpf_ringbuf_submit(dump, 0);
	return 0;
}
