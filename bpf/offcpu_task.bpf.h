/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs of perf events take samples of the task that runs. The pass over waiting threads takes them
 * of the one that is visited: included before all else that is shared, this makes it what these
 * headers ask for. Memory of the visited task can only be read by the program itself, which has the
 * task; a walk gets what was read before. Where it wants more it stops, the program reads that, and
 * the walk goes on.
 */
#ifndef JBPF_OFFCPU_TASK_BPF_H
#define JBPF_OFFCPU_TASK_BPF_H

#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/jbpf.h"
#include "bpf/verifier.bpf.h"

#define EFAULT 14 /* asm-generic/errno-base.h */
#define EBUSY  16

#define STACK_COPY_BYTES       8192 /* power of two; a copy has two pages at most */
#define LINE_BYTES	       128  /* a header of a CodeBlob */
#define LINE_BITS	       8
#define LINE_WAYS	       4     /* power of two; places that a line may have */
#define ENVIRONMENT_COPY_BYTES 32768 /* power of two */

/* A piece of memory that is no stack: JIT code, and what belongs to it. Threads of a process share it. */
struct memory_line {
	__u64 at;
	__u64 pass; /* the number of the pass that read it */
	__u32 tgid;
	__u32 len;
	__u8 bytes[LINE_BYTES];
};

/* Of the task that is visited. One pass runs at a time. */
struct visited {
	struct task_struct *task; /* its address, for reading what is in it */
	__u64 pass;
	__u64 start_ns; /* the thread's */
	__u64 switches;
	__u64 run_delay_ns;
	__u32 tgid;
	__u32 pid;
	__u32 is_waiting;
	__u32 by_rules; /* how its stack is walked */
	__u32 rules;	/* as struct jbpf_visit has it */
	__u32 busy_cnt; /* times that this walk found the mappings being changed */

	/* What a walk wants and was not read; a length of 0: nothing. */
	__u64 miss_at;
	__u64 miss_len;
	__u64 denied_at; /* what could not be read */
	__u64 line_cnt;	 /* read so far: says which place the next one has */

	__u64 stack_at;
	__u64 stack_len;
	__u64 environment_at;
	__u64 environment_len;
	__u8 stack[STACK_COPY_BYTES];
	__u8 environment[ENVIRONMENT_COPY_BYTES];
	struct memory_line lines[1 << LINE_BITS];
};

#define VISITED_BYTES (1 << 17)
_Static_assert(sizeof(struct visited) <= VISITED_BYTES, "an offset in it is one of these");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct visited);
} visited_task SEC(".maps");

static __always_inline struct visited *visited_get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&visited_task, &zero);
}

/*
 * One of the places of a line. A step of a walk begins again with each line: with one place only, two of
 * the lines that it wants would take it from each other for good.
 */
static __always_inline __u64 visited_slot(__u64 at, __u64 way)
{
	__u64 slot = (at * 0x9e3779b97f4a7c15ull) >> (64 - LINE_BITS);

	slot = (slot & ~(LINE_WAYS - 1ull)) | (way & (LINE_WAYS - 1));
	KEEP_BITS(slot, (1 << LINE_BITS) - 1);
	return slot;
}

/*
 * Where `len` bytes at this address are, as an offset in struct visited; negative: they are not there, and are
 * noted as what is wanted. Global: the verifier checks it once, not at each call.
 */
__noinline long visited_find(__u32 len, __u64 at)
{
	struct visited *visited = visited_get();
	__u64 off;

	if (!visited)
		return -EFAULT;
	off = at - visited->stack_at;
	if (off < visited->stack_len && len <= visited->stack_len - off)
		return (long)(offsetof(struct visited, stack) + off);
	for (__u64 way = 0; way < LINE_WAYS; way++) {
		__u64 slot = visited_slot(at, way);
		const struct memory_line *line = &visited->lines[slot];

		if (line->at == at && line->pass == visited->pass && line->tgid == visited->tgid &&
		    line->len >= len)
			return (long)(offsetof(struct visited, lines) + slot * sizeof(*line) +
				      offsetof(struct memory_line, bytes));
	}
	off = at - visited->environment_at;
	if (off < visited->environment_len && len <= visited->environment_len - off)
		return (long)(offsetof(struct visited, environment) + off);
	if (!visited->miss_len && at != visited->denied_at) {
		visited->miss_at = at;
		visited->miss_len = len;
	}
	return -EFAULT;
}

/* Takes the place of bpf_probe_read_user(). */
static __always_inline long visited_read(void *to, __u32 len, __u64 at)
{
	long from = visited_find(len, at);
	struct visited *visited = visited_get();
	__u64 off = (__u64)from;

	if (from < 0 || !visited)
		return -EFAULT;
	KEEP_BITS(off, VISITED_BYTES - 1);
	return bpf_probe_read_kernel(to, len, (const __u8 *)visited + off);
}

static __always_inline __u64 visited_address(void)
{
	struct visited *visited = visited_get();

	return visited ? (__u64)visited->task : 0;
}

static __always_inline __u64 visited_cgroup_id(void)
{
	struct task_struct *task = (struct task_struct *)visited_address();

	return BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
}

static __always_inline __u64 visited_pid_tgid(void)
{
	struct task_struct *task = (struct task_struct *)visited_address();

	return (__u64)BPF_CORE_READ(task, tgid) << 32 | (__u32)BPF_CORE_READ(task, pid);
}

static __always_inline long visited_comm(char (*to)[JBPF_COMM_LEN])
{
	struct task_struct *task = (struct task_struct *)visited_address();

	return BPF_CORE_READ_INTO(to, task, comm);
}

/* What functions of all programs have as an argument: memory, where the others have a context. */
struct visit_ctx {
	__u32 unused;
};

#define bpf_perf_event_data		 visit_ctx
#define bpf_probe_read_user(to, len, at) visited_read(to, len, (__u64)(at))
#define bpf_get_current_task()		 visited_address()
#define bpf_get_current_cgroup_id()	 visited_cgroup_id()
#define bpf_get_current_pid_tgid()	 visited_pid_tgid()
#define bpf_get_current_comm(to, len)	 visited_comm(&(to))

#endif
