/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The pass over waiting threads (offcpu.bpf.c) and user space. Some times a second each thread is
 * visited: one that waits counts one sample of a key whose kind is JBPF_KEY_OFF_CPU. A thread that has
 * not run since its last visit has the stack that it had then.
 *
 * What a thread has in a window is kept with the thread until it runs in that window, and is counted
 * then. Those that never do, idle ones, are found by user space in the map `visits` when the window is
 * over. Needs struct jbpf_key and struct jbpf_value.
 */
#ifndef JBPF_OFFCPU_H
#define JBPF_OFFCPU_H

#include "bpf/jbpf.h"

#define JBPF_VISITS_MAX 32768 /* threads */
#define JBPF_HUNG_MAX	8     /* processes */

/* The samples of a thread in one window. */
struct jbpf_wait {
	struct jbpf_key key;
	struct jbpf_value value; /* count: those that are in no count map */
	__u32 window;		 /* struct jbpf_pass's; 0: of none */
	/* In that window, as far as is known: its samples are counted as soon as its stack is known. */
	__u32 has_run;
};

/* Value of the map `visits`; key is the host tid. */
struct jbpf_visit {
	__u64 start_ns;		   /* of the thread */
	__u64 switches;		   /* at the last visit, from both counters; ~0: to be walked */
	struct jbpf_wait waits[2]; /* by the low bit of the window */
	__u32 window;		   /* of the last visit */
	__u32 rules;		   /* which ones its stack was walked by: a mark, to be compared */
	/* How long it was ready and had no CPU: see bpf/offcpu_visits.bpf.h. */
	__u64 run_start_ns; /* of the thread whose these are: one that only runs has no waits */
	__u64 run_delay_ns; /* as much of it as was counted */
	__u32 run_exec_id;
	__u32 run_window; /* when it was last looked at */
};

/* Of struct jbpf_visit: its stack is yet to be walked, ... */
#define JBPF_RULES_NONE (~0u)
#define JBPF_RULES_CUT	(~1u) /* ... is not whole, and is to be walked in the next window */

/* What user space and the pass tell each other, in the section .data.pass. */
struct jbpf_pass {
	/* From user space. */
	__u64 window_start_ns; /* CLOCK_BOOTTIME */
	__u32 window;	       /* its number, from 1 on; rises when a window is over */
	__u32 filter_cgroup_cnt;
	__u64 filter_cgroups[JBPF_CGROUP_FILTER_MAX]; /* ids; only threads below one of them */
	__u32 hung_cnt;
	__u32 is_aborted;		 /* the pass that runs ends as soon as it can */
	__u32 hung_tgids[JBPF_HUNG_MAX]; /* a pass hung on their memory: they are not walked */
	__u32 pass_walks;		 /* stacks that a pass walks, on average */
	__u32 pad0;			 /* 0 */
	/* From the pass. */
	__u32 counting; /* not 0: it is about to write to the set that it has read from active_set */
	__u32 tgid;	/* whose memory is being read; 0: none's */
	__u64 begin_ns; /* CLOCK_BOOTTIME; of the pass that runs, or ran last */
	__u64 end_ns;	/* of the last that was completed */
	__u64 passes;
	__u64 pass_ns;	/* of all passes together */
	__u64 threads;	/* that the last pass met and that are to be sampled, running or not */
	__u64 visits;	/* samples that were counted or kept, of all passes */
	__u64 walks;	/* stacks that were walked */
	__u64 moved;	/* of these, those in which the thread ran meanwhile: not counted */
	__u64 unwalked; /* samples that waited for a walk, as too many threads had to be walked */
	__u64 copies;	/* pieces of user memory that were read for walks */
	__u32 has_run_delay; /* the kernel says how long threads were ready and had no CPU */
	__u32 pad1;	     /* 0 */
};

_Static_assert(sizeof(struct jbpf_wait) == sizeof(struct jbpf_key) + sizeof(struct jbpf_value) + 8,
	       "jbpf_wait has no padding");

#endif
