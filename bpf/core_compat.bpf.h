/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Everything that differs between kernels and architectures: registers, how a task may be read,
 * fields that come and go. Decided by what is there, never by the version.
 */
#ifndef JBPF_CORE_COMPAT_BPF_H
#define JBPF_CORE_COMPAT_BPF_H

#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/jbpf.h"

#define PF_EXITING 0x00000004 /* include/linux/sched.h, the same since 2.6 */
#define PF_KTHREAD 0x00200000

#define KERNEL_STACK_BYTES 16384 /* x86_64, and arm64 with pages of 4 KiB; without KASAN */

/* What a walk starts from. */
struct user_regs {
	__u64 ip;
	__u64 sp;
	__u64 fp;
	__u64 lr;	/* where calls leave the return address in a register, else 0 */
	bool is_user;	/* interrupted in user mode */
	bool is_compat; /* 32-bit program */
};

#if defined(__TARGET_ARCH_x86)

#define X86_USER32_CS 0x23

static __always_inline void regs_read(const bpf_user_pt_regs_t *regs, struct user_regs *out)
{
	__u64 cs = regs->cs;

	out->ip = regs->ip;
	out->sp = regs->sp;
	out->fp = regs->bp;
	out->lr = 0;
	out->is_user = cs & 3;
	out->is_compat = (cs & 0xffff) == X86_USER32_CS;
}

/* In the ucontext that lies where sp is when a signal's handler has returned; signal_64.c. */
#define SIGNAL_FP 120
#define SIGNAL_SP 160
#define SIGNAL_IP 168

static __always_inline __u64 return_address(__u64 word)
{
	return word;
}

#elif defined(__TARGET_ARCH_arm64)

#define ARM64_PSTATE_MODE  0x0f /* 0 = EL0 */
#define ARM64_PSTATE_32BIT 0x10

static __always_inline void regs_read(const bpf_user_pt_regs_t *regs, struct user_regs *out)
{
	__u64 pstate = regs->pstate;

	out->ip = regs->pc;
	out->sp = regs->sp;
	out->fp = regs->regs[29];
	out->lr = regs->regs[30];
	out->is_user = (pstate & ARM64_PSTATE_MODE) == 0;
	out->is_compat = pstate & ARM64_PSTATE_32BIT;
}

/* In the struct rt_sigframe that sp points to when a signal's handler has returned; signal.c. */
#define SIGNAL_FP	   544
#define SIGNAL_LR	   552
#define SIGNAL_SP	   560
#define SIGNAL_IP	   568

/* A signed return address carries its signature above the 48 address bits (PAC). */
static __always_inline __u64 return_address(__u64 word)
{
	return word & ((1ull << 48) - 1);
}

#else
#error "no registers for this architecture"
#endif

/* The running task, read once per sample. */
struct task_view {
	struct task_struct *task;
	struct task_struct *leader; /* of the thread group */
	__u64 start_ns;		    /* the leader's */
	__u32 exec_id;		    /* the leader's */
	__u32 flags;		    /* PF_* of the task itself */
	bool has_mm;
};

/* 5.10: every field through bpf_probe_read_kernel. */
static __always_inline void task_view_probe(struct task_struct *task, struct task_view *out)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);

	out->task = task;
	out->leader = leader;
	out->start_ns = BPF_CORE_READ(leader, start_boottime);
	out->exec_id = (__u32)BPF_CORE_READ(leader, self_exec_id);
	out->flags = BPF_CORE_READ(task, flags);
	out->has_mm = BPF_CORE_READ(task, mm) != NULL;
}

/* 5.15 and later: plain loads, which the kernel guards. */
static __always_inline void task_view_btf(struct task_struct *task, struct task_view *out)
{
	struct task_struct *leader = task->group_leader;

	out->task = task;
	out->leader = leader;
	out->start_ns = leader->start_boottime;
	out->exec_id = (__u32)leader->self_exec_id;
	out->flags = task->flags;
	out->has_mm = task->mm != NULL;
}

/*
 * User registers of a task that was interrupted in the kernel: at the end of its kernel stack. Only
 * below 5.15: kernels with FRED (6.9) leave a gap there, which cannot be detected.
 */
static __always_inline void *task_regs_by_hand(struct task_struct *task)
{
	void *stack = BPF_CORE_READ(task, stack);

	return stack + KERNEL_STACK_BYTES - sizeof(struct pt_regs);
}

/* Process id in the innermost pid namespace; 0 when the task is being released. */
static __always_inline __u32 task_ns_pid(struct task_struct *leader)
{
	struct pid *pid = BPF_CORE_READ(leader, thread_pid);
	__u32 level = BPF_CORE_READ(pid, level);
	void *upid = (void *)pid + bpf_core_field_offset(struct pid, numbers);
	struct upid *innermost = upid + (__u64)level * bpf_core_type_size(struct upid);

	if (!pid)
		return 0;
	return BPF_CORE_READ(innermost, nr);
}

/* Before 6.1 a cgroup had the ids of those above it, not pointers to them. */
struct cgroup___ids {
	__u64 ancestor_ids[0];
} __attribute__((preserve_access_index));

/* Id of the cgroup above, or equal to, `cgroup` that has this level; the root's is 0. */
static __always_inline __u64 cgroup_id_at(struct cgroup *cgroup, __u64 level)
{
	struct cgroup___ids *with_ids = (void *)cgroup;
	struct cgroup *above = NULL;
	__u64 id = 0;

	if (bpf_core_field_exists(with_ids->ancestor_ids)) {
		__u64 offset = bpf_core_field_offset(struct cgroup___ids, ancestor_ids);

		bpf_probe_read_kernel(&id, sizeof(id), (void *)cgroup + offset + level * 8);
	} else {
		__u64 offset = bpf_core_field_offset(struct cgroup, ancestors);

		bpf_probe_read_kernel(&above, sizeof(above), (void *)cgroup + offset + level * 8);
		id = BPF_CORE_READ(above, kn, id);
	}
	return id;
}

/* True in the middle of execve(), when the new name is set but the new program not yet begun. */
static __always_inline bool task_in_execve(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->in_execve))
		return false;
	return BPF_CORE_READ_BITFIELD_PROBED(task, in_execve);
}

/*
 * Begins what one program at a time may do; `cnt` is of this CPU. False: another one is at it; of two that
 * come at once both may be told so. Not a look and a store, between which the other one may run, nor
 * an atomic operation that says what was there: only 5.12 and later load that (kernel/bpf/verifier.c,
 * check_atomic()).
 */
static __always_inline bool work_begins(__u32 *cnt)
{
	__sync_fetch_and_add(cnt, 1);
	if (*(volatile __u32 *)cnt == 1)
		return true;
	__sync_fetch_and_add(cnt, -1);
	return false;
}

static __always_inline void work_ends(__u32 *cnt)
{
	__sync_fetch_and_add(cnt, -1);
}

#define NO_SYSCALL (~0ull)

struct pt_regs___jbpf {
	int syscallno;
} __attribute__((preserve_access_index));

/*
 * Which system call a waiting thread is in. `saved` is a copy of the registers that it entered the
 * kernel with, `saved_at` where they lie.
 */
static __always_inline __u64 syscall_of(const bpf_user_pt_regs_t *saved, const void *saved_at)
{
#if defined(__TARGET_ARCH_x86)
	__u64 number = saved->orig_ax;
#else
	const struct pt_regs___jbpf *regs = saved_at;
	__u64 number = (__s64)BPF_CORE_READ(regs, syscallno);
#endif
	return number < JBPF_DISK_SLEEP - 1 ? number : NO_SYSCALL;
}

#endif
