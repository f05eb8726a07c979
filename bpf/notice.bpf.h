/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reports processes to user space while they can still be read: first sample, exec, exit, new name.
 */
#ifndef JBPF_NOTICE_BPF_H
#define JBPF_NOTICE_BPF_H

#include "bpf/account.bpf.h"
#include "bpf/core_compat.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/opt_out.bpf.h"

static __always_inline void notice_send(struct jbpf_notice *notice, __u64 flags)
{
	if (bpf_ringbuf_output(&notices, notice, sizeof(*notice), flags))
		count(JBPF_CNT_NOTICE_LOST);
}

/* Is an entry of `known`, or NULL, of the run of a program that the key is of? */
static __always_inline bool known_is_of(const struct jbpf_known *process,
					const struct jbpf_key *key)
{
	return process && process->start_ns == key->start_ns && process->exec_id == key->exec_id;
}

/*
 * Is this the first sample of a process since it began or since its execve? Then its environment is
 * read, and the reader is woken at once: a short-lived process is gone in milliseconds. An exiting
 * task would be entered after its exit was reported, and would stay; there is nothing left to read
 * anyway. In the middle of execve() the old program is gone and the new one not mapped: the first
 * sample after EXEC reports it. A process that is one too many for its account is reported, but not
 * entered: it would evict what others have there. Returns JBPF_KNOWN_*; a process that opted out is
 * not reported. The state's user stack must have been walked: its memory window is used. `old` is
 * what `known` has of its pid.
 */
static __always_inline __u32 notice_seen(struct bpf_perf_event_data *ctx, struct scratch *state,
					 const struct task_view *view, struct jbpf_account *account,
					 const struct jbpf_known *old)
{
	const struct jbpf_key *key = &state->key;
	struct jbpf_known process = {
		.start_ns = key->start_ns,
		.cgroup_id = key->cgroup_id,
		.exec_id = key->exec_id,
		.ns_pid = state->value.ns_pid,
	};
	struct jbpf_notice notice = {
		.kind = JBPF_NOTICE_SEEN,
		.pid = key->pid,
		.exec_id = key->exec_id,
		.ns_pid = state->value.ns_pid,
		.start_ns = key->start_ns,
		.cgroup_id = key->cgroup_id,
	};
	struct task_struct *task = view->task;
	__u64 flags = BPF_ANY;

	/*
	 * What is known of the old program does not hold for the next one, whose name it may have
	 * already.
	 */
	if (known_is_of(old, key))
		return is_between_programs(task) ? old->flags & ~JBPF_KNOWN_OPT_OUT_NONE :
						   old->flags;
	if (view->flags & PF_KTHREAD)
		return 0;
	process.flags = honours_opt_out ? opt_out_read(ctx, state, task) : JBPF_KNOWN_OPT_OUT_NONE;
	if (view->flags & PF_EXITING || task_in_execve(task))
		return process.flags;
	if (!old)
		flags = BPF_NOEXIST; /* only one of two CPUs reports */
	if (old || has_known(account)) {
		/* (int): 6.1 does not extend the sign of an LRU map's error. */
		if ((int)bpf_map_update_elem(&known, &key->pid, &process, flags) == -EEXIST)
			return process.flags;
		if (!old)
			__sync_fetch_and_add(&account->processes, 1);
	}
	if (process.flags & JBPF_KNOWN_OPTED_OUT) {
		has_opted_out = 1;
		return process.flags;
	}
	notice.flags = process.flags;
	__builtin_memcpy(notice.comm, state->value.comm, sizeof(notice.comm));
	notice_send(&notice, BPF_RB_FORCE_WAKEUP);
	return process.flags;
}

#define NOTICE_TIME_SHIFT   33	/* 8.6 s */
#define NOTICES_MAX	    16	/* of one process in such a time */
#define ACCOUNT_NOTICES_MAX 256 /* of one account: a quarter of the buffer */
#define NOTICE_CNT_BITS	    10
#define NOTICE_ACCOUNT_BITS 10

/* As `told` in struct jbpf_known, for an account or, rarely, for a few that share the entry. */
__u32 accounts_told[1 << NOTICE_ACCOUNT_BITS] = {};

static __always_inline __u32 *account_told(__u64 account)
{
	__u64 hash = (account ^ hash_seed) * JBPF_MIX_1;

	return &accounts_told[hash >> (64 - NOTICE_ACCOUNT_BITS)];
}

/* Takes one of `max` notices of this time. Several CPUs at once may take a few more. */
static __always_inline bool notice_take(__u32 *told, __u32 max)
{
	__u32 now = (__u32)(bpf_ktime_get_boot_ns() >> NOTICE_TIME_SHIFT) << NOTICE_CNT_BITS;

	if (*told >> NOTICE_CNT_BITS != now >> NOTICE_CNT_BITS)
		*told = now;
	if ((*told & ((1 << NOTICE_CNT_BITS) - 1)) >= max)
		return false;
	__sync_fetch_and_add(told, 1);
	return true;
}

/*
 * May the running process be reported once more? Renaming takes no time: one process could fill the
 * buffer for all others, and keep the reader busy. Forking multiplies that: hence the account.
 *
 * What is held back is lost: a new name shows when the process executes the next time, or is first
 * sampled again after it was evicted from `known`. An EXEC adds nothing to the SEEN of the first
 * sample after it, except that an environment which user space read may have been the new
 * program's.
 */
static __always_inline bool notice_may_go(void)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct jbpf_known *process = bpf_map_lookup_elem(&known, &pid);

	if (!process)
		return true;
	if (notice_take(&process->told, NOTICES_MAX) &&
	    notice_take(account_told(account_of_current(bpf_get_current_cgroup_id())),
			ACCOUNT_NOTICES_MAX))
		return true;
	count(JBPF_CNT_NOTICE_HELD);
	return false;
}

/* Fills a notice about the running process, when it is a sampled one that did not opt out. */
static __always_inline bool notice_of_known(struct task_struct *task, struct jbpf_notice *out)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct jbpf_known *process = bpf_map_lookup_elem(&known, &pid);
	struct task_struct *leader;

	if (!process)
		return false;
	leader = BPF_CORE_READ(task, group_leader);
	out->pid = pid;
	out->start_ns = BPF_CORE_READ(leader, start_boottime);
	/* An older process of this pid, whose exit was missed. */
	if (out->start_ns != process->start_ns || process->flags & JBPF_KNOWN_OPTED_OUT)
		return false;
	out->exec_id = (__u32)BPF_CORE_READ(leader, self_exec_id);
	out->cgroup_id = process->cgroup_id;
	out->ns_pid = process->ns_pid;
	BPF_CORE_READ_STR_INTO(&out->comm, leader, comm);
	return true;
}

#endif
