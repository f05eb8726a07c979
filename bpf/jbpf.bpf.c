// SPDX-License-Identifier: GPL-2.0-only
/*
 * The programs. oncpu runs at every tick of a CPU's clock event and counts one sample:
 *
 *     filter -> who (key) -> user stack -> kernel stack -> count and moment, and what is new goes out
 *
 * onevent does the same for page faults and other software events. oncpu_compat and onevent_compat
 * are the same for kernels below 5.15, which lack two helpers; user space loads one pair of them.
 * The raw tracepoints tell of exec, exit and rename; classic ones would need tracefs.
 */
#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/account.bpf.h"
#include "bpf/core_compat.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/jbpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/notice.bpf.h"
#include "bpf/opt_out.bpf.h"
#include "bpf/sample.bpf.h"
#include "bpf/stack.bpf.h"
#include "bpf/thread.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/*
 * What all variants share; `saved_regs` is where user registers lie when in the kernel. `kind` is a
 * constant for the CPU's clock, which so pays nothing for the others.
 */
static __always_inline void sample_take(struct bpf_perf_event_data *ctx, struct scratch *state,
					const struct task_view *view, struct user_regs *regs,
					const void *saved_regs, __u32 pid, __u32 kind)
{
	bool in_kernel = !regs->is_user;
	__u32 flags = 0;

	key_fill(&state->key, view, pid, kind);
	state->key.thread = thread_take(state);
	if (has_opted_out && opt_out_is_known(&state->key)) {
		count(JBPF_CNT_OPTED_OUT);
		return;
	}
	if (view->flags & PF_KTHREAD)
		flags = JBPF_VALUE_KERNEL_THREAD;
	if (in_kernel && view->has_mm) {
		/* Not on the stack: that of a program and its functions together ends at 512 bytes. */
		bpf_user_pt_regs_t *saved = (void *)state->window;

		if (!bpf_probe_read_kernel(saved, sizeof(*saved), saved_regs))
			regs_read(saved, regs);
	}
	/* Exiting tasks and kernel-made ones have no user memory or no registers: no user stack. */
	if (!flags && view->has_mm && regs->is_user) {
		if (regs->is_compat)
			flags |= JBPF_VALUE_COMPAT;
		state->regs = *regs;
		stack_take_user(ctx);
		state->key.user_hash = state->user.head.hash;
	}
	if (in_kernel) {
		count(JBPF_CNT_SAMPLES_KERNEL);
		state->key.kernel_hash = stack_take_kernel(ctx, state);
	}
	sample_count(ctx, state, view, flags, kind);
}

/* Process to be sampled, or 0. The idle task is no process; exclude_idle spares most of it. */
static __always_inline __u32 sample_pid(void)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;

	if (pid && filter_pid_passes(pid) && filter_cgroup_passes())
		return pid;
	count(JBPF_CNT_FILTERED);
	return 0;
}

static __always_inline int sample(struct bpf_perf_event_data *ctx, __u32 kind, bool is_compat)
{
	__u32 pid = sample_pid();
	struct scratch *state;
	struct task_struct *task;
	struct task_view view;
	struct user_regs regs;
	const void *saved = NULL;

	if (!pid)
		return 0;
	state = scratch_get();
	if (!state) {
		count(JBPF_CNT_LOST_NO_MAP);
		return 0;
	}
	if (is_compat) {
		task = (struct task_struct *)bpf_get_current_task();
		task_view_probe(task, &view);
	} else {
		task = bpf_get_current_task_btf();
		task_view_btf(task, &view);
	}
	regs_read(&ctx->regs, &regs);
	if (!regs.is_user)
		saved = is_compat ? task_regs_by_hand(task) : (void *)bpf_task_pt_regs(task);
	sample_take(ctx, state, &view, &regs, saved, pid, kind);
	return 0;
}

SEC("perf_event")
int oncpu(struct bpf_perf_event_data *ctx)
{
	return sample(ctx, JBPF_KEY_SAMPLE, false);
}

SEC("?perf_event")
int oncpu_compat(struct bpf_perf_event_data *ctx)
{
	return sample(ctx, JBPF_KEY_SAMPLE, true);
}

/* ---- other events: one program serves all of them, and reads which one has triggered it ---- */

/* As much of include/linux/perf_event.h as is read: what a program's ctx is in the kernel. */
struct perf_event_attr___jbpf {
	__u64 config;
} __attribute__((preserve_access_index));

struct perf_event___jbpf {
	struct perf_event_attr___jbpf attr;
} __attribute__((preserve_access_index));

struct bpf_perf_event_data_kern___jbpf {
	struct perf_event___jbpf *event;
} __attribute__((preserve_access_index));

/* Kind of the key, 0 when it cannot be read. From 5.15 on, bpf_get_attach_cookie() would tell. */
static __always_inline __u32 event_kind(struct bpf_perf_event_data *ctx)
{
	const struct bpf_perf_event_data_kern___jbpf *kernel_ctx = (const void *)ctx;
	__u64 config = BPF_CORE_READ(kernel_ctx, event, attr.config);

	return config ? (__u32)(JBPF_KEY_SOFTWARE + config) : 0;
}

SEC("?perf_event")
int onevent(struct bpf_perf_event_data *ctx)
{
	__u32 kind = event_kind(ctx);

	if (kind)
		return sample(ctx, kind, false);
	count(JBPF_CNT_LOST_NO_MAP);
	count(JBPF_CNT_EVENT_LOST);
	return 0;
}

SEC("?perf_event")
int onevent_compat(struct bpf_perf_event_data *ctx)
{
	__u32 kind = event_kind(ctx);

	if (kind)
		return sample(ctx, kind, true);
	count(JBPF_CNT_LOST_NO_MAP);
	count(JBPF_CNT_EVENT_LOST);
	return 0;
}

/* args: task, old pid, struct linux_binprm. The task runs the new program from here on. */
SEC("raw_tp/sched_process_exec")
int on_exec(struct bpf_raw_tracepoint_args *ctx)
{
	struct jbpf_notice notice = { .kind = JBPF_NOTICE_EXEC };

	code_range_forget();
	space_forget();
	hotspot_forget();
	if (notice_of_known((struct task_struct *)ctx->args[0], &notice) && notice_may_go())
		notice_send(&notice, 0);
	return 0;
}

/* args: task, and on newer kernels whether it was the last of its group; `live` says so on all. */
SEC("raw_tp/sched_process_exit")
int on_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	struct jbpf_notice notice = { .kind = JBPF_NOTICE_EXIT };
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	bool is_told;

	if (BPF_CORE_READ(task, signal, live.counter) > 0)
		return 0;
	code_range_forget();
	space_forget();
	hotspot_forget();
	is_told = notice_of_known(task, &notice);
	/* Two threads that end together both see 0: only the one that deletes the entry reports. */
	if (!bpf_map_delete_elem(&known, &pid) && is_told)
		notice_send(&notice, 0);
	return 0;
}

/* args: task, new comm. Only the group leader names a process. */
SEC("raw_tp/task_rename")
int on_rename(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	struct jbpf_notice notice = { .kind = JBPF_NOTICE_RENAME };

	if (BPF_CORE_READ(task, pid) != BPF_CORE_READ(task, tgid) || task_in_execve(task))
		return 0;
	if (!notice_of_known(task, &notice) || !notice_may_go())
		return 0;
	bpf_probe_read_kernel_str(notice.comm, sizeof(notice.comm), (void *)ctx->args[1]);
	notice_send(&notice, 0);
	return 0;
}
