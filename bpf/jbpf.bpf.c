// SPDX-License-Identifier: GPL-2.0-only
/*
 * The programs. oncpu runs at every tick of a CPU's clock event and counts one sample:
 *
 *     filter -> who (key) -> user stack -> kernel stack -> count and moment, and what is new goes out
 *
 * oncpu_compat is the same for kernels below 5.15, which lack two helpers; user space loads one of
 * them. The raw tracepoints tell of exec, exit and rename; classic ones would need tracefs.
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
#include "bpf/stack.bpf.h"

#define COUNT_OPTED_OUT 1

char LICENSE[] SEC("license") = "GPL";

static __always_inline void key_fill(struct jbpf_key *key, const struct task_view *view, __u32 pid)
{
	key->start_ns = view->start_ns;
	key->cgroup_id = bpf_get_current_cgroup_id();
	key->user_hash = 0;
	key->kernel_hash = 0;
	key->pid = pid;
	key->exec_id = view->exec_id;
	key->kind = JBPF_KEY_SAMPLE;
}

static __always_inline void value_fill(struct jbpf_value *value, const struct task_view *view,
				       __u32 flags, __u64 now_ns)
{
	struct task_struct *leader = view->leader;

	value->count = 1;
	value->first_ns = value->last_ns = now_ns;
	value->flags = flags;
	value->ns_pid = task_ns_pid(leader);
	BPF_CORE_READ_STR_INTO(&value->comm, leader, comm);
}

static __always_inline bool stacks_offer(struct scratch *state, struct jbpf_account *account,
					 __u32 set)
{
	struct jbpf_stack *user = &state->user.head;
	bool user_sent = true, kernel_sent;

	user->start_ns = state->key.start_ns;
	user->pid = state->key.pid;
	user->exec_id = state->key.exec_id;
	if (state->key.user_hash != JBPF_HASH_CUT_ALL)
		user_sent = stack_offer(state->key.user_hash, user, JBPF_MAX_DEPTH, account, set);
	kernel_sent = stack_offer(state->key.kernel_hash, &state->kernel.head,
				  JBPF_MAX_KERNEL_DEPTH, account, set);

	return user_sent && kernel_sent;
}

/*
 * Adds 1 to state->key where it is counted already, and sends its stacks when they found no room
 * before, once the buffer is being emptied. Only then is such a key entered whatever its account.
 */
static __always_inline bool count_again(struct scratch *state, void *counts_map, __u64 now_ns)
{
	struct jbpf_value *value = bpf_map_lookup_elem(counts_map, &state->key);

	if (!value)
		return false;
	__sync_fetch_and_add(&value->count, 1);
	value->last_ns = now_ns;
	if (value->flags & JBPF_VALUE_STACK_UNSENT &&
	    bpf_ringbuf_query(&stacks, BPF_RB_AVAIL_DATA) < stacks_size / 2 &&
	    stacks_offer(state, NULL, 0))
		value->flags &= ~JBPF_VALUE_STACK_UNSENT;
	return true;
}

/*
 * Makes of state->key what its account has room for; at the least, the process alone stays in it.
 * True: another key, or the same with another stack, than the sample came with.
 */
static __always_inline bool key_fit(struct bpf_perf_event_data *ctx, struct scratch *state,
				    struct jbpf_account *account, __u32 set)
{
	if (has_entries(account, set, ENTRIES_TIMES))
		return stack_fit(ctx, state, account, set);
	state->key.user_hash = JBPF_HASH_CUT_ALL;
	state->key.kernel_hash = 0;
	return true;
}

/* Enters state->key and sends its stacks. 0 or -errno; -EEXIST: another CPU was first. */
static __always_inline int count_enter(struct scratch *state, struct jbpf_account *account,
				       void *counts_map, __u32 set)
{
	int err;

	if (!has_entries(account, set, BARE_ENTRIES_TIMES))
		return -E2BIG;
	if (!stacks_offer(state, account, set))
		state->value.flags |= JBPF_VALUE_STACK_UNSENT;
	err = bpf_map_update_elem(counts_map, &state->key, &state->value, BPF_NOEXIST);
	if (!err)
		entry_charge(account, set);
	return err;
}

/*
 * Counts a sample whose key was not there. 0, -errno, or COUNT_OPTED_OUT: nothing was added, and
 * nothing went out.
 */
static __always_inline int count_new(struct bpf_perf_event_data *ctx, struct scratch *state,
				     const struct task_view *view, void *counts_map, __u32 set,
				     __u32 flags, __u64 now_ns)
{
	struct jbpf_account *account = account_get(ctx, state, counts_map, set);
	__u32 known_flags;
	int err = 0;

	if (!account)
		return -E2BIG;
	value_fill(&state->value, view, flags, now_ns);
	known_flags = notice_seen(ctx, state, view, account);
	if (known_flags & JBPF_KNOWN_OPTED_OUT)
		return COUNT_OPTED_OUT;
	if (known_flags & JBPF_KNOWN_OPT_OUT_NONE)
		state->value.flags |= JBPF_VALUE_OPT_OUT_NONE;
	if (!key_fit(ctx, state, account, set) || !count_again(state, counts_map, now_ns))
		err = count_enter(state, account, counts_map, set);
	if (err == -EEXIST && count_again(state, counts_map, now_ns))
		err = 0;
	if (err) {
		__sync_fetch_and_add(&account->lost_samples, 1);
	} else if (state->key.user_hash == JBPF_HASH_CUT_ALL) {
		__sync_fetch_and_add(&account->bare_samples, 1);
		count(JBPF_CNT_CUT_ALL);
	}
	return err;
}

/* Notes the moment of a sample that was counted in this set. */
static __always_inline void tick_note(const struct jbpf_key *key, __u32 set, __u64 now_ns)
{
	__u32 cpu = bpf_get_smp_processor_id();
	__u32 at = (set * ticks_cpu_cnt + cpu) * ticks_stride;
	__u64 *cnt, *word;

	if (!ticks_stride)
		return;
	cnt = cpu < ticks_cpu_cnt ? bpf_map_lookup_elem(&ticks, &at) : NULL;
	if (cnt && *cnt < ticks_stride - 1) {
		at += (__u32)*cnt + 1;
		word = bpf_map_lookup_elem(&ticks, &at);
		if (word) {
			*word = jbpf_tick(jbpf_stream_tag(key, hash_seed), now_ns);
			*cnt += 1;
			return;
		}
	}
	count(JBPF_CNT_TICKS_FULL);
}

static __always_inline void sample_count(struct bpf_perf_event_data *ctx, struct scratch *state,
					 const struct task_view *view, __u32 flags)
{
	__u64 now_ns = bpf_ktime_get_boot_ns();
	__u32 set = active_set;
	void *counts_map = bpf_map_lookup_elem(&counts, &set);
	int err = 0;

	if (!counts_map) {
		count(JBPF_CNT_LOST_NO_MAP);
		return;
	}
	if (!count_again(state, counts_map, now_ns))
		err = count_new(ctx, state, view, counts_map, set, flags, now_ns);
	if (!err) {
		count(JBPF_CNT_SAMPLES);
		tick_note(&state->key, set, now_ns);
	} else if (err == COUNT_OPTED_OUT) {
		count(JBPF_CNT_OPTED_OUT);
	} else if (err == -E2BIG) {
		count(JBPF_CNT_LOST_COUNTS_FULL);
	} else {
		count(JBPF_CNT_LOST_UPDATE);
	}
}

/* What both variants share; `kernel_regs` is where user registers lie when in the kernel. */
static __always_inline void sample_take(struct bpf_perf_event_data *ctx, struct scratch *state,
					const struct task_view *view, struct user_regs *regs,
					const void *saved_regs, __u32 pid)
{
	bool in_kernel = !regs->is_user;
	__u32 flags = 0;

	key_fill(&state->key, view, pid);
	if (has_opted_out && opt_out_is_known(&state->key)) {
		count(JBPF_CNT_OPTED_OUT);
		return;
	}
	if (view->flags & PF_KTHREAD)
		flags = JBPF_VALUE_KERNEL_THREAD;
	if (in_kernel && view->has_mm) {
		bpf_user_pt_regs_t saved;

		if (!bpf_probe_read_kernel(&saved, sizeof(saved), saved_regs))
			regs_read(&saved, regs);
	}
	/* Exiting tasks and kernel-made ones have no user memory or no registers: no user stack. */
	if (!flags && view->has_mm && regs->is_user) {
		if (regs->is_compat)
			flags |= JBPF_VALUE_COMPAT;
		state->key.user_hash = stack_take_user(ctx, state, regs);
	}
	if (in_kernel) {
		count(JBPF_CNT_SAMPLES_KERNEL);
		state->key.kernel_hash = stack_take_kernel(ctx, state);
	}
	sample_count(ctx, state, view, flags);
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

SEC("perf_event")
int oncpu(struct bpf_perf_event_data *ctx)
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
	task = bpf_get_current_task_btf();
	task_view_btf(task, &view);
	regs_read(&ctx->regs, &regs);
	if (!regs.is_user)
		saved = (void *)bpf_task_pt_regs(task);
	sample_take(ctx, state, &view, &regs, saved, pid);
	return 0;
}

SEC("?perf_event")
int oncpu_compat(struct bpf_perf_event_data *ctx)
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
	task = (struct task_struct *)bpf_get_current_task();
	task_view_probe(task, &view);
	regs_read(&ctx->regs, &regs);
	if (!regs.is_user)
		saved = task_regs_by_hand(task);
	sample_take(ctx, state, &view, &regs, saved, pid);
	return 0;
}

/* args: task, old pid, struct linux_binprm. The task runs the new program from here on. */
SEC("raw_tp/sched_process_exec")
int on_exec(struct bpf_raw_tracepoint_args *ctx)
{
	struct jbpf_notice notice = { .kind = JBPF_NOTICE_EXEC };

	code_range_forget();
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
