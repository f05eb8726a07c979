/* SPDX-License-Identifier: GPL-2.0-only */
/* Is it the running thread that does something, or an interrupt that came upon it? On x86. */
#ifndef JBPF_INTERRUPT_BPF_H
#define JBPF_INTERRUPT_BPF_H

#include "bpf/core_compat.bpf.h"

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

#endif
