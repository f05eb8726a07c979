// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that a JVM takes from its Java heap, for a recording: uprobes at the two functions of HotSpot
 * that are called each time, whether a Flight Recorder listens or not (JDK 11 and later,
 * src/hotspot/share/gc/shared/allocTracer.hpp; memAllocator.cpp, notify_allocation_jfr_sampler()):
 *
 *     send_allocation_in_new_tlab(klass, object, bytes of the buffer, bytes of the object, thread)
 *     send_allocation_outside_tlab(klass, object, bytes of the object, thread)
 *
 * A thread takes a buffer (TLAB) of the heap and makes small objects there; only the one for which there is
 * no room left comes here, and is charged with the buffer. So sums are right, and shares lean towards
 * who happens to come last.
 *
 * The class is the leaf: its Klass* stands in the key where others have their kernel stack.
 *
 * A count of a key whose kind is JBPF_KEY_ALLOC is in units of ALLOC_UNIT_BYTES.
 */
#include "vmlinux.h"

/* Functions with a context are verified for one kind of programs: here it is uprobes. */
#define bpf_perf_event_data pt_regs

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/account.bpf.h"
#include "bpf/core_compat.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/jbpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/notice.bpf.h"
#include "bpf/opt_out.bpf.h"
/* There is none: it is the class. */
#define KERNEL_STACK_IS_SENT(key) false
#include "bpf/sample.bpf.h"
#include "bpf/stack.bpf.h"
#include "bpf/thread.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define ALLOC_UNIT_BYTES 1024
#define ALLOC_THRESHOLD	 (512 * 1024) /* smaller ones are counted by chance, as this much */

/* Set by user space. */
__u32 alloc_is_on SEC(".data.alloc") = 0;

/*
 * Is a program at work on this CPU? Since Linux 6.0 those of uprobes may be preempted, and another
 * thread's may run in between (kernel/trace/trace_uprobe.c, bpf_prog_run_array_uprobe()): `scratch` is
 * for one.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} at_work SEC(".maps");

static __always_inline void alloc_count(struct pt_regs *ctx, __u32 pid, __u64 units)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct scratch *state = scratch_get();
	struct task_view view;

	if (!state) {
		units_lost(units);
		return;
	}
	task_view_btf(task, &view);
	key_fill(&state->key, &view, pid, JBPF_KEY_ALLOC);
	state->key.kernel_hash = PT_REGS_PARM1(ctx);
	state->key.thread = thread_take(state);
	if (has_opted_out && opt_out_is_known(&state->key)) {
		count_add(JBPF_CNT_OPTED_OUT, units);
		return;
	}
	/* A struct pt_regs begins with what users know of it: arch/arm64/include/asm/ptrace.h. */
	regs_read((const bpf_user_pt_regs_t *)ctx, &state->regs);
	stack_take_user(ctx);
	state->key.user_hash = state->user.head.hash;
	units_count(ctx, state, &view, 0, units);
}

SEC("uprobe")
int on_alloc(struct pt_regs *ctx)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32, zero = 0, *cnt;
	__u64 units = measure_units(PT_REGS_PARM3(ctx), bpf_get_prandom_u32(), ALLOC_THRESHOLD,
				    ALLOC_UNIT_BYTES);

	if (!alloc_is_on || !units || !filter_pid_passes(pid))
		return 0;
	cnt = bpf_map_lookup_elem(&at_work, &zero);
	if (!cnt || !work_begins(cnt)) {
		units_lost(units);
		return 0;
	}
	alloc_count(ctx, pid, units);
	work_ends(cnt);
	return 0;
}
