/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads memory of the task that is visited, in pieces as walks want them. May sleep. */
#ifndef JBPF_OFFCPU_MEMORY_BPF_H
#define JBPF_OFFCPU_MEMORY_BPF_H

#include "bpf/jbpf_offcpu.h"
#include "bpf/maps.bpf.h"
#include "bpf/offcpu_task.bpf.h"

#define PAGE_BYTES	 4096
#define FRAME_SPAN_BYTES 512 /* in which all lies that is read of a frame, most often */

struct jbpf_pass pass_state_shared SEC(".data.pass") = {};

struct vm_area_struct;

struct vm_area_struct___offcpu {
	struct file *vm_file;
} __attribute__((preserve_access_index));

/* Is it memory of a file? */
static long area_note(struct task_struct *task, struct vm_area_struct *area, __u32 *is_of_file)
{
	struct vm_area_struct___offcpu *view = (void *)area;

	*is_of_file = BPF_CORE_READ(view, vm_file) != NULL;
	return 0;
}

/*
 * Stacks and JIT code lie in memory of no file. A file's may be on a server that never answers, and
 * nothing ends who waits for it. Where it cannot be told, as the mappings are being changed, it is
 * read.
 */
static __always_inline bool is_of_file(struct task_struct *task, __u64 at)
{
	__u32 is_of_file = 0;

	bpf_find_vma(task, at, area_note, &is_of_file, 0);
	return is_of_file;
}

/* Reads a piece. If that takes long, the process is to blame from here on. */
static __always_inline long memory_copy(void *to, __u64 len, __u64 max, __u64 at,
					struct task_struct *task)
{
	long err;

	if (is_of_file(task, at))
		return -EFAULT;
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
	return err;
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

	visited->stack_len = 0;
	if (left >= FRAME_SPAN_BYTES || is_of_file(task, at + left) ||
	    memory_copy(visited->stack, bytes, STACK_COPY_BYTES, at, task)) {
		bytes = left < len ? len : left;
		if (memory_copy(visited->stack, bytes, STACK_COPY_BYTES, at, task))
			return -EFAULT;
	}
	visited->stack_at = at;
	visited->stack_len = bytes;
	return 0;
}

static __noinline int memory_line(struct visited *visited, struct task_struct *task, __u64 at,
				  __u64 len)
{
	struct memory_line *line = &visited->lines[visited_slot(at, visited->line_cnt++)];

	if (len > LINE_BYTES)
		return -EFAULT;
	line->at = 0;
	if (memory_copy(line->bytes, len, LINE_BYTES, at, task))
		return -EFAULT;
	line->at = at;
	line->len = len;
	line->pass = visited->pass;
	line->tgid = visited->tgid;
	return 0;
}

/*
 * Reads what the last try of a walk wanted. Where that is not to be had, the next one does without. A
 * walk wants its stack in windows to the end of a page; what is short is of JIT code, or the end of one.
 */
static __always_inline void memory_read(struct visited *visited, struct task_struct *task)
{
	__u64 at = visited->miss_at, len = visited->miss_len;
	int err;

	visited->miss_len = 0;
	if (len > LINE_BYTES)
		err = memory_stack(visited, task, at, len);
	else
		err = memory_line(visited, task, at, len);
	if (err)
		visited->denied_at = at;
}

/* The environment, for opt_out.bpf.h. What is longer, user space reads. */
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
