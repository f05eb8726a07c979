// SPDX-License-Identifier: GPL-2.0-only
/*
 * What threads wait for: a pass over all threads, some times a second, run by a process of user
 * space that does nothing else. One that waits counts a sample; its stack is walked when it has run
 * since the last visit.
 *
 *     pass -> visit: filter, is it waiting, has it run since -> count, or walk and count
 *
 * Two programs do the same: `pass` goes over the threads itself (6.7), `pass_one` is run by an
 * iterator for each (5.18). Below 5.18 there is no helper that reads the memory of another task.
 */
#include "bpf/offcpu_task.bpf.h"

#include "bpf/jbpf_offcpu.h"

#define KERNEL_STACK_IS_SENT(key) ((key)->kernel_hash >= JBPF_SYSCALLS_END)

#include "bpf/sample.bpf.h"

#include "bpf/offcpu_memory.bpf.h"
#include "bpf/task_regs.bpf.h"
#include "bpf/offcpu_visit.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* kernel/bpf/task_iter.c */
#define TASK_ITER_ALL_THREADS 1

struct bpf_iter_task {
	__u64 opaque[3];
} __attribute__((aligned(8)));

extern int bpf_iter_task_new(struct bpf_iter_task *it, struct task_struct *task,
			     unsigned int flags) __ksym __weak;
extern struct task_struct *bpf_iter_task_next(struct bpf_iter_task *it) __ksym __weak;
extern void bpf_iter_task_destroy(struct bpf_iter_task *it) __ksym __weak;
extern struct task_struct *bpf_task_from_pid(s32 pid) __ksym __weak;
extern void bpf_task_release(struct task_struct *task) __ksym __weak;
extern void bpf_rcu_read_lock(void) __ksym __weak;
extern void bpf_rcu_read_unlock(void) __ksym __weak;

static long walk_noted_one(__u32 number, void *ctx)
{
	struct task_struct *task;
	__u32 pid;
	int ends;

	if (!walk_noted(number, &pid))
		return 1;
	task = bpf_task_from_pid((s32)pid);
	if (!task)
		return 0;
	ends = visit_walk(task);
	bpf_task_release(task);
	return ends;
}

SEC("?syscall")
int pass(void *ctx)
{
	struct visited *visited = pass_begin();
	struct bpf_iter_task it;
	struct task_struct *task;

	if (!visited)
		return 0;
	/* No sleeping here: threads that are to be walked are noted, and are walked then. */
	bpf_rcu_read_lock();
	bpf_iter_task_new(&it, NULL, TASK_ITER_ALL_THREADS);
	while ((task = bpf_iter_task_next(&it))) {
		if (visit(task, visited))
			walk_note(task->pid);
	}
	bpf_iter_task_destroy(&it);
	bpf_rcu_read_unlock();
	bpf_loop(WALKS_MAX, walk_noted_one, NULL, 0);
	pass_end();
	return 0;
}

/* include/linux/bpf.h, DEFINE_BPF_ITER_FUNC(task, ...) */
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

SEC("?iter.s/task")
int pass_one(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct visited *visited = visited_get();

	if (!visited)
		return 0;
	/* The iterator ends with none. */
	if (!task) {
		pass_end();
		return 0;
	}
	if (!pass_state.is_running && !pass_begin())
		return 0;
	if (!pass_state_shared.is_aborted && visit(task, visited))
		(void)visit_walk(task);
	return 0;
}
