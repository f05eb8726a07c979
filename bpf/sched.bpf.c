// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every wait of every thread, for a recording. The stack of a thread that waits does not change, so
 * it is walked when the thread comes back, and only where its wait is to be counted:
 *
 *     on_switch -> out: when it began; in: how long it was, is it counted? -> kick
 *     on_kick   -> walk, count
 *
 * At the tracepoint of a switch the next thread's memory cannot be read yet. A kick is a record for
 * a perf buffer that nobody reads: it makes the kernel interrupt this CPU as soon as interrupts are
 * on again, which is when the switch is done, and the tracepoint of that interrupt runs on_kick as
 * the thread that came back. Only x86 has that tracepoint.
 *
 * Of who ends waits (of_wakers) there is nothing to be waited for: who wakes a thread runs.
 *
 *     on_switch -> out: when it began
 *     on_waking -> how long it was, is it counted?
 *     on_waker  -> walk, count
 *
 * The last two are at one tracepoint, one behind the other: only the first kind of program has storage of
 * the woken thread, only the second can walk, see below.
 */
#include "vmlinux.h"

/* Functions with a context are verified for one kind of programs: here it is raw tracepoints. */
#define bpf_perf_event_data bpf_raw_tracepoint_args

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/account.bpf.h"
#include "bpf/core_compat.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/jbpf.h"
#include "bpf/jbpf_sched.h"

#define KERNEL_STACK_IS_SENT(key) ((key)->kernel_hash >= JBPF_SYSCALLS_END)

#include "bpf/maps.bpf.h"
#include "bpf/notice.bpf.h"
#include "bpf/opt_out.bpf.h"
#include "bpf/sample.bpf.h"
#include "bpf/stack.bpf.h"
#include "bpf/task_regs.bpf.h"
#include "bpf/thread.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* include/linux/bpf.h, include/uapi/linux/bpf.h */
#define MAP_NO_PREALLOC	     1
#define LOCAL_STORAGE_CREATE 1
#define OF_THIS_CPU	     0xffffffffull

#define TASK_WAITING	     0x3 /* include/linux/sched.h: TASK_INTERRUPTIBLE, TASK_UNINTERRUPTIBLE */
#define TASK_HALTED	     0x80cc /* stopped, traced, parked, dead, frozen */
#define TASK_UNINTERRUPTIBLE 0x2

struct jbpf_sched sched_shared SEC(".data.sched") = {};

/* As much of include/linux/sched.h as is read here. */
struct sched_info___jbpf {
	unsigned long long
		run_delay; /* ns of waiting for a CPU, so far; set behind the tracepoint */
} __attribute__((preserve_access_index));

struct task_struct___sched {
	unsigned int __state;
	struct sched_info___jbpf sched_info;
} __attribute__((preserve_access_index));

/* Of a thread. */
struct wait {
	__u64 begin_ns; /* CLOCK_MONOTONIC; 0: it does not wait */
	__u64 delay_ns; /* run_delay at that time */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, MAP_NO_PREALLOC);
	__type(key, int);
	__type(value, struct wait);
} waits SEC(".maps");

/* Buffers that are only there to be kicked by: one per CPU, set by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} kicks SEC(".maps");

/* The wait that on_kick is to look at. */
struct kicked {
	__u64 ns;	/* with what the thread waited for a CPU then; 0: there is none */
	__u64 delay_ns; /* as struct wait has it */
	__u32 tid;
	__u32 draw; /* a random number: whether a short one counts */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct kicked);
} kicked SEC(".maps");

/* The wait that on_waker is to look at. */
struct woken {
	__u64 units;   /* 0: there is none */
	__u64 syscall; /* that it waits in; or NO_SYSCALL */
	__u64 here;    /* an address on the stack of the kernel that is in use */
	__u32 tid;
	__u32 pad0;
	char comm[JBPF_COMM_LEN];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct woken);
} woken SEC(".maps");

static __always_inline struct woken *woken_get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&woken, &zero);
}

static __always_inline struct kicked *kicked_get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&kicked, &zero);
}

static __always_inline __u64 units_of(__u64 ns, __u32 draw)
{
	return measure_units(ns, draw, sched_shared.threshold_ns, JBPF_SCHED_UNIT_NS);
}

/* ---- the switch ---- */

/* Who is stopped or frozen does not wait, as off-cpu has it. */
static __always_inline bool is_waiting(struct task_struct *task)
{
	__u32 state = ((struct task_struct___sched *)task)->__state;

	return state & TASK_WAITING && !(state & TASK_HALTED);
}

/* The thread leaves the CPU, and not because another one is to have it. */
static __always_inline void wait_begin(struct task_struct *task, __u64 now_ns)
{
	struct task_struct___sched *view = (void *)task;
	struct wait *wait;

	if (task->flags & (PF_KTHREAD | PF_EXITING))
		return;
	if (!filter_pid_passes(task->tgid) || !filter_cgroup_passes())
		return;
	wait = bpf_task_storage_get(&waits, task, NULL, LOCAL_STORAGE_CREATE);
	if (!wait) {
		count(JBPF_CNT_LOST_NO_MAP);
		count(JBPF_CNT_EVENT_LOST);
		return;
	}
	wait->delay_ns = view->sched_info.run_delay;
	wait->begin_ns = now_ns;
}

/* The thread that comes back is looked at as soon as it is there. */
static __always_inline void kick_this_cpu(void *ctx, const struct kicked *now)
{
	struct kicked *kick = kicked_get();
	__u64 nothing = 0;

	if (!kick)
		return;
	if (kick->ns)
		units_lost(units_of(kick->ns, kick->draw));
	*kick = *now;
	if (!bpf_perf_event_output(ctx, &kicks, OF_THIS_CPU, &nothing, sizeof(nothing)))
		return;
	kick->ns = 0;
	units_lost(units_of(now->ns, now->draw));
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool is_preempted, struct task_struct *prev, struct task_struct *next)
{
	/* One time for both: what follows takes as long as many a wait. */
	__u64 now_ns = bpf_ktime_get_ns();
	struct kicked kick = {};
	struct wait *wait;

	if (!sched_shared.is_on)
		return 0;
	if (!is_preempted && is_waiting(prev))
		wait_begin(prev, now_ns);
	if (next->flags & PF_KTHREAD)
		return 0;
	wait = bpf_task_storage_get(&waits, next, NULL, 0);
	if (!wait || !wait->begin_ns)
		return 0;
	/* It was woken before it was seen to wait. */
	if (sched_shared.of_wakers) {
		wait->begin_ns = 0;
		return 0;
	}
	kick.ns = now_ns - wait->begin_ns;
	kick.delay_ns = wait->delay_ns;
	kick.tid = next->pid;
	kick.draw = bpf_get_prandom_u32();
	wait->begin_ns = 0;
	if (units_of(kick.ns, kick.draw))
		kick_this_cpu(ctx, &kick);
	return 0;
}

/* ---- the thread is back ---- */

/* Counts a wait with the stack of the running thread: which is where it waited, or whom it woke. */
static __always_inline void wait_count(struct bpf_raw_tracepoint_args *ctx,
				       const struct woken *wakes, __u64 units)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct scratch *state = scratch_get();
	struct task_view view;
	__u32 flags = 0;

	if (!state) {
		units_lost(units);
		return;
	}
	task_view_btf(task, &view);
	key_fill(&state->key, &view, task->tgid, JBPF_KEY_SCHED);
	if (wakes) {
		__builtin_memcpy(state->value.thread, wakes->comm, JBPF_COMM_LEN);
		state->key.thread = thread_tag(&state->value);
	} else {
		state->key.thread = thread_take(state);
	}
	if (has_opted_out && opt_out_is_known(&state->key)) {
		count_add(JBPF_CNT_OPTED_OUT, units);
		return;
	}
	if (regs_fill(task, state) && view.has_mm) {
		if (state->regs.is_compat)
			flags |= JBPF_VALUE_COMPAT;
		stack_take_user(ctx);
		state->key.user_hash = state->user.head.hash;
	}
	units_count(ctx, state, &view, flags, units);
}

SEC("raw_tp/irq_work_entry")
int on_kick(struct bpf_raw_tracepoint_args *ctx)
{
	struct kicked *kick = kicked_get();
	struct task_struct___sched *task;
	__u64 ns, delay_ns, units;

	/* Others have such interrupts, too. */
	if (!kick || !kick->ns)
		return 0;
	ns = kick->ns;
	kick->ns = 0;
	if (kick->tid != (__u32)bpf_get_current_pid_tgid()) {
		units_lost(units_of(ns, kick->draw));
		return 0;
	}
	/* Since it could have run it waited for a CPU, which is no part of it. */
	task = (void *)bpf_get_current_task_btf();
	delay_ns = task->sched_info.run_delay - kick->delay_ns;
	units = ns > delay_ns ? units_of(ns - delay_ns, kick->draw) : 0;
	if (units)
		wait_count(ctx, NULL, units);
	return 0;
}

/* ---- who wakes it ---- */

/*
 * Interrupts have a stack of their own, unless they came upon user code (arch/x86/include/asm/irq_stack.h),
 * where there is no system call. `here` is an address on the stack that is in use.
 */
static __always_inline bool is_on_own_stack(struct task_struct *task, __u64 here)
{
	return here - (__u64)BPF_CORE_READ(task, stack) < KERNEL_STACK_BYTES;
}

/*
 * What a thread sends to its own host is received at once, where it would be after an interrupt, on that
 * stack (net/core/dev.c, __netif_rx(); kernel/softirq.c, do_softirq()). A thread in such a call is taken
 * for the one who wakes another that may wait for a socket. Numbers: arch/x86/entry/syscalls/syscall_64.tbl.
 */
static __always_inline bool sends(__u64 syscall)
{
	/* write, close, writev, sendfile, connect, sendto, sendmsg, shutdown */
	const __u64 below_64 = 1ull << 1 | 1ull << 3 | 1ull << 20 | 1ull << 40 | 1ull << 42 |
			       1ull << 44 | 1ull << 46 | 1ull << 48;

	return syscall == 307 /* sendmmsg */ || (syscall < 64 && below_64 >> syscall & 1);
}

static __always_inline bool may_receive(__u64 syscall)
{
	return syscall != NO_SYSCALL && syscall != 35 /* nanosleep */ &&
	       syscall != 202 /* futex */ && syscall != 230 /* clock_nanosleep */;
}

/* As who waits for a disk does; for a socket one can be interrupted. The state is that of the wait still. */
static __always_inline bool is_uninterruptible(struct task_struct *task)
{
	return ((struct task_struct___sched *)task)->__state & TASK_UNINTERRUPTIBLE;
}

SEC("?tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	struct scratch *state = scratch_get();
	struct wait *wait;
	struct woken *now;
	__u64 ns;

	if (!sched_shared.is_on)
		return 0;
	wait = bpf_task_storage_get(&waits, task, NULL, 0);
	if (!wait || !wait->begin_ns)
		return 0;
	ns = bpf_ktime_get_ns() - wait->begin_ns;
	wait->begin_ns = 0;
	now = woken_get();
	if (!now)
		return 0;
	now->units = units_of(ns, bpf_get_prandom_u32());
	if (!now->units)
		return 0;
	now->syscall = NO_SYSCALL;
	/* An interrupt of a disk comes upon anybody: who is in a call that sends wakes none that waits for one. */
	if (state && !is_uninterruptible(task) && regs_fill(task, state))
		now->syscall = state->key.kernel_hash - 1;
	now->tid = task->pid;
	bpf_probe_read_kernel(now->comm, sizeof(now->comm), task->comm);
	return 0;
}

/* Does the running thread end the wait, or something that came upon it? Fills state's registers. */
static __always_inline bool is_by_thread(struct bpf_raw_tracepoint_args *ctx, struct woken *now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct scratch *state = scratch_get();

	if (!state || task->flags & PF_KTHREAD || !regs_fill(task, state) ||
	    !state->key.kernel_hash)
		return false;
	/* As a number: the verifier lets nobody reckon with a context. */
	*(volatile __u64 *)&now->here = (__u64)ctx;
	return is_on_own_stack(task, *(volatile __u64 *)&now->here) ||
	       (sends(state->key.kernel_hash - 1) && may_receive(now->syscall));
}

SEC("?raw_tp/sched_waking")
int on_waker(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	struct woken *now = woken_get();
	__u64 units;

	if (!now || !now->units)
		return 0;
	units = now->units;
	now->units = 0;
	if ((__u32)BPF_CORE_READ(task, pid) != now->tid)
		units_lost(units);
	else if (is_by_thread(ctx, now))
		wait_count(ctx, now, units);
	else
		__sync_fetch_and_add(&sched_shared.kernel_units, units);
	return 0;
}
