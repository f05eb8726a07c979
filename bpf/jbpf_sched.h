/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Exact waiting (sched.bpf.c) and user space. Each wait of a thread is measured, from where it leaves
 * the CPU to where it may run again. One of `threshold_ns` or longer is counted as long as it was; a
 * shorter one is counted as `threshold_ns`, with the probability that makes up for it: sums have no
 * bias, and so many stacks are walked at most as fit into the time that threads wait.
 *
 * The kernel takes the time before it chooses the next thread, the tracepoint is behind that: a wait
 * comes out up to a tenth of a microsecond too long, which is some percent for threads that hand each
 * other a byte all the time, and nothing for waits of 100 microseconds.
 *
 * A count of a key whose kind is JBPF_KEY_SCHED is in units of JBPF_SCHED_UNIT_NS.
 *
 * With `of_wakers` a wait is counted where it is ended, to where it may run again: the process and the
 * stack are of who wakes the thread, the thread's name is that of the one that is woken. What an
 * interrupt or a thread of the kernel ends has no such stack: `kernel_units` is the sum of it.
 */
#ifndef JBPF_SCHED_H
#define JBPF_SCHED_H

#include "bpf/jbpf.h"

#define JBPF_SCHED_UNIT_NS 1000

/* What user space and the programs tell each other, in the section .data.sched. */
struct jbpf_sched {
	/* From user space. */
	__u64 threshold_ns; /* a multiple of JBPF_SCHED_UNIT_NS */
	__u32 is_on;
	__u32 of_wakers;

	/* To user space. */
	__u64 kernel_units;
};

#endif
