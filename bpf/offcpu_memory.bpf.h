/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads memory of the task that is visited, in pieces as walks want them. May sleep. */
#ifndef JBPF_OFFCPU_MEMORY_BPF_H
#define JBPF_OFFCPU_MEMORY_BPF_H

#include "bpf/jbpf_offcpu.h"
#include "bpf/maps.bpf.h"
#include "bpf/offcpu_task.bpf.h"

#define PAGE_BYTES	 4096
#define FRAME_SPAN_BYTES 512 /* in which all lies that is read of a frame, most often */
#define PIECE_AREAS_MAX	 2   /* mappings that a piece may lie in: of a walk it has two pages */

/*
 * Tries of one walk that find the mappings being changed. Changing them mostly takes less time than the
 * walk needs to come back; a process that does nothing else costs a pass these tries for each thread.
 */
#define BUSY_TRIES 32

struct jbpf_pass pass_state_shared SEC(".data.pass") = {};

struct vm_area_struct;

struct vm_area_struct___offcpu {
	unsigned long vm_end;
	struct file *vm_file;
} __attribute__((preserve_access_index));

/* Where the mapping ends; 0: it is of a file. */
static long area_note(struct task_struct *task, struct vm_area_struct *area, __u64 *end)
{
	struct vm_area_struct___offcpu *view = (void *)area;

	*end = BPF_CORE_READ(view, vm_file) ? 0 : BPF_CORE_READ(view, vm_end);
	return 0;
}

/*
 * Stacks and JIT code lie in memory of no file. A file's may be on a server that never answers, and
 * nothing ends who waits for it (request_wait_answer() in fs/fuse/dev.c): no byte of a piece may lie there.
 * 0; -EFAULT: one does, or in nothing; -EBUSY: that cannot be told now, as another one holds the lock
 * of the mappings (bpf_find_vma() in kernel/bpf/task_iter.c only tries it) and may be changing them.
 *
 * A process can change them between this and the copy: see docs/safety.md.
 */
static __always_inline long areas_check(struct task_struct *task, __u64 at, __u64 len)
{
	__u64 end = at + len;

	for (int i = 0; i < PIECE_AREAS_MAX; i++) {
		__u64 area_end = 0;
		long err = bpf_find_vma(task, at, area_note, &area_end, 0);

		if (err)
			return err == -EBUSY ? -EBUSY : -EFAULT;
		if (area_end >= end)
			return 0;
		if (!area_end)
			return -EFAULT;
		at = area_end;
	}
	return -EFAULT;
}

/*
 * Reads a piece. If that takes long, the process is to blame from here on. 0; -EBUSY: not now; another
 * error: not at all.
 */
static __always_inline long memory_copy(void *to, __u64 len, __u64 max, __u64 at,
					struct task_struct *task)
{
	long err = areas_check(task, at, len);

	if (err)
		return err;
	pass_state_shared.tgid = task->tgid;
	/* The check must be on the register that is used: 6.1 does not track copies of it. */
	asm volatile("" : "+r"(len));
	if (len > max) {
		pass_state_shared.tgid = 0;
		return -EFAULT;
	}
	err = bpf_copy_from_user_task(to, len, (void *)at, task, 0);
	pass_state_shared.tgid = 0;
	pass_state_shared.copies++;
	return err ? -EFAULT : 0;
}

/*
 * The stack from `at` on to the end of its page, and at least `len`; where that is near, to the end of
 * the next one: a step of a walk begins again with each piece, and finds one alone.
 */
static __noinline int memory_stack(struct visited *visited, struct task_struct *task, __u64 at,
				   __u64 len)
{
	__u64 left = PAGE_BYTES - (at & (PAGE_BYTES - 1));
	__u64 bytes = left + PAGE_BYTES;
	long err = -EFAULT;

	visited->stack_len = 0;
	if (left < FRAME_SPAN_BYTES)
		err = memory_copy(visited->stack, bytes, STACK_COPY_BYTES, at, task);
	if (err && err != -EBUSY) {
		bytes = left < len ? len : left;
		err = memory_copy(visited->stack, bytes, STACK_COPY_BYTES, at, task);
	}
	if (err)
		return (int)err;
	visited->stack_at = at;
	visited->stack_len = bytes;
	return 0;
}

static __noinline int memory_line(struct visited *visited, struct task_struct *task, __u64 at,
				  __u64 len)
{
	struct memory_line *line = &visited->lines[visited_slot(at, visited->line_cnt)];
	long err;

	if (len > LINE_BYTES)
		return -EFAULT;
	line->at = 0;
	err = memory_copy(line->bytes, len, LINE_BYTES, at, task);
	if (err)
		return (int)err;
	visited->line_cnt++;
	line->at = at;
	line->len = len;
	line->pass = visited->pass;
	line->tgid = visited->tgid;
	return 0;
}

/* A try found the mappings being changed. True: it was the last one of this walk. */
static __always_inline bool busy_note(struct visited *visited)
{
	visited->busy_cnt++;
	return visited->busy_cnt >= BUSY_TRIES;
}

/*
 * Reads what the last try of a walk wanted. Where that is not to be had, the next one does without; where
 * it is not to be had now, it wants it again. A walk wants its stack in windows to the end of a page; what
 * is short is of JIT code, or the end of one. False: the walk cannot go on now.
 */
static __always_inline bool memory_read(struct visited *visited, struct task_struct *task)
{
	__u64 at = visited->miss_at, len = visited->miss_len;
	int err;

	visited->miss_len = 0;
	if (len > LINE_BYTES)
		err = memory_stack(visited, task, at, len);
	else
		err = memory_line(visited, task, at, len);
	if (err == -EBUSY)
		return !busy_note(visited);
	if (err)
		visited->denied_at = at;
	return true;
}

/* The environment, for opt_out.bpf.h. What is longer, or not to be had now, user space reads. */
static __always_inline void memory_environment(struct visited *visited, struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	__u64 at = mm ? BPF_CORE_READ(mm, env_start) : 0;
	__u64 len = at ? BPF_CORE_READ(mm, env_end) - at : 0;

	visited->environment_len = 0;
	if (!len || len > ENVIRONMENT_COPY_BYTES)
		return;
	if (memory_copy(visited->environment, len, ENVIRONMENT_COPY_BYTES, at, task))
		return;
	visited->environment_at = at;
	visited->environment_len = len;
}

#endif
