/* SPDX-License-Identifier: GPL-2.0-only */
/* The registers that a task which waits, or waited, had when it entered the kernel (5.15: bpf_task_pt_regs). */
#ifndef JBPF_TASK_REGS_BPF_H
#define JBPF_TASK_REGS_BPF_H

#include "bpf/core_compat.bpf.h"
#include "bpf/maps.bpf.h"

/* Fills state's registers and kernel_hash, the system call. False: the task has no user registers. */
static __always_inline bool regs_fill(struct task_struct *task, struct scratch *state)
{
	void *saved_at = (void *)bpf_task_pt_regs(task);
	bpf_user_pt_regs_t *saved = (void *)state->window;
	struct user_regs regs;
	__u64 number;

	if (bpf_probe_read_kernel(saved, sizeof(*saved), saved_at))
		return false;
	regs_read(saved, &regs);
	number = syscall_of(saved, saved_at);
	state->regs = regs;
	state->key.kernel_hash = number == NO_SYSCALL || regs.is_compat ? 0 : number + 1;
	return regs.is_user;
}

#endif
