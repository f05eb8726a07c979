/* SPDX-License-Identifier: GPL-2.0-only */
/* One thread's part of a pass: is it waiting, is it known where, and what is counted for it. */
#ifndef JBPF_OFFCPU_VISIT_BPF_H
#define JBPF_OFFCPU_VISIT_BPF_H

#include "bpf/filter.bpf.h"
#include "bpf/jbpf_offcpu.h"
#include "bpf/offcpu_memory.bpf.h"
#include "bpf/offcpu_task.bpf.h"
#include "bpf/offcpu_visits.bpf.h"
#include "bpf/sample.bpf.h"
#include "bpf/thread.bpf.h"
#include "bpf/verifier.bpf.h"

#define PF_IO_WORKER   0x00000010 /* include/linux/sched.h, since 5.12 */
#define PF_USER_WORKER 0x00004000 /* since 6.4 */

#define TASK_WAITING 0x3  /* TASK_INTERRUPTIBLE, TASK_UNINTERRUPTIBLE */
#define TASK_HALTED  0xcc /* __TASK_STOPPED, __TASK_TRACED, TASK_PARKED, TASK_DEAD */
#define TASK_FROZEN  0x8000

#define TASK_UNINTERRUPTIBLE 0x2   /* what ps shows as D, ... */
#define TASK_NOLOAD	     0x400 /* ... but for these */

#define PIECES_MAX    160 /* of memory, for one stack */
#define FILTER_LEVELS 12

/* Fields of struct task_struct that only this program reads. */
struct task_struct___offcpu {
	unsigned int __state;
	unsigned int exit_state;
	unsigned int on_cpu; /* of one byte on late kernels: CO-RE shortens what is unsigned */
	unsigned long nvcsw;
	unsigned long nivcsw;
	unsigned int frozen : 1;
} __attribute__((preserve_access_index));

/* ---- who is visited ---- */

__noinline int filter_cgroup_of_visited(__u32 unused)
{
	struct visited *visited = visited_get();
	struct task_struct *task;
	struct cgroup *cgroup;
	__u64 level;

	asm volatile("" ::"r"(unused));
	if (!pass_state_shared.filter_cgroup_cnt || !visited)
		return true;
	task = visited->task;
	cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp);
	level = BPF_CORE_READ(cgroup, level);
	for (__u64 i = 0; i <= FILTER_LEVELS; i++) {
		__u64 id;

		if (i > level)
			break;
		id = cgroup_id_at(cgroup, i);
		for (__u32 k = 0; k < JBPF_CGROUP_FILTER_MAX; k++)
			if (k < pass_state_shared.filter_cgroup_cnt &&
			    pass_state_shared.filter_cgroups[k] == id)
				return true;
	}
	return false;
}

static __always_inline bool is_waiting(struct task_struct *task)
{
	struct task_struct___offcpu *view = (void *)task;
	__u32 state = view->__state;

	if (!(state & TASK_WAITING) || state & (TASK_HALTED | TASK_FROZEN) || view->exit_state)
		return false;
	/* It is about to wait, or wakes: its registers are not where they would be. */
	if (bpf_core_field_exists(view->on_cpu) && view->on_cpu)
		return false;
	return !bpf_core_field_exists(view->frozen) || !BPF_CORE_READ_BITFIELD_PROBED(view, frozen);
}

static __always_inline __u64 switches_of(struct task_struct *task)
{
	struct task_struct___offcpu *view = (void *)task;

	return view->nvcsw + view->nivcsw;
}

static __always_inline void visited_set(struct visited *visited, struct task_struct *task)
{
	visited->task = task;
	visited->tgid = task->tgid;
	visited->pid = task->pid;
	visited->start_ns = task->start_boottime;
	visited->switches = switches_of(task);
	visited->is_waiting = is_waiting(task);
	visited->run_delay_ns = run_delay_of(task);
	/* What was read of the last one is not this one's. */
	visited->stack_len = 0;
	visited->environment_len = 0;
}

static __always_inline bool is_hung(__u32 tgid)
{
	for (__u32 i = 0; i < JBPF_HUNG_MAX; i++)
		if (i < pass_state_shared.hung_cnt && pass_state_shared.hung_tgids[i] == tgid)
			return true;
	return false;
}

/* The process opted out, and that is known. */
static __always_inline bool is_left_alone(const struct jbpf_key *key)
{
	if (!has_opted_out || !opt_out_is_known(key))
		return false;
	count(JBPF_CNT_OPTED_OUT);
	return true;
}

/* ---- counting ---- */

static __always_inline bool is_seen(__u64 hash)
{
	return !hash || hash == JBPF_HASH_CUT_ALL || bpf_map_lookup_elem(&seen, &hash);
}

static __always_inline bool is_kernel_seen(const struct jbpf_key *key)
{
	return key->kernel_hash < JBPF_SYSCALLS_END || is_seen(key->kernel_hash);
}

/*
 * Of samples_count(), which has no room for it: 6.1 gives all functions of a chain of calls 512 bytes
 * of stack together, and 32 to each at least (check_max_stack_depth() in kernel/bpf/verifier.c).
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct task_view);
} visited_view SEC(".maps");

/*
 * Counts `cnt` samples of state->key, whose stack is in state->user if `has_stack`. False: it is
 * not, and user space does not have it.
 */
__noinline int samples_count(__u32 has_stack, __u64 cnt)
{
	struct visited *visited = visited_get();
	__u64 now_ns = bpf_ktime_get_boot_ns();
	struct visit_ctx ctx = {};
	__u32 set = active_set, flags;
	void *counts_map = bpf_map_lookup_elem(&counts, &set);
	struct scratch *state = scratch_get();
	struct jbpf_value *value;
	__u32 zero = 0;
	struct task_view *view = bpf_map_lookup_elem(&visited_view, &zero);
	int err = 0;

	if (!counts_map || !state || !visited || !view)
		return true;
	value = bpf_map_lookup_elem(counts_map, &state->key);
	if (value && (!has_stack || is_seen(state->key.user_hash))) {
		__sync_fetch_and_add(&value->count, cnt);
		value->last_ns = now_ns;
	} else {
		if (!has_stack && !(is_seen(state->key.user_hash) && is_kernel_seen(&state->key)))
			return false;
		flags = state->value.flags;
		task_view_probe(visited->task, view);
		if (!count_again(state, counts_map, now_ns))
			err = count_new(&ctx, state, view, counts_map, set, flags, now_ns);
		value = cnt > 1 && !err ? bpf_map_lookup_elem(counts_map, &state->key) : NULL;
		if (value)
			__sync_fetch_and_add(&value->count, cnt - 1);
	}
	if (!err) {
		count_add(JBPF_CNT_SAMPLES, cnt);
		count_add(JBPF_CNT_EVENT_SAMPLES, cnt);
	} else if (err == COUNT_OPTED_OUT) {
		count_add(JBPF_CNT_OPTED_OUT, cnt);
	} else {
		count_add(err == -E2BIG ? JBPF_CNT_LOST_COUNTS_FULL : JBPF_CNT_LOST_UPDATE, cnt);
		count_add(JBPF_CNT_EVENT_LOST, cnt);
	}
	return true;
}

/* Counts what was kept with the thread, which has run in this window. */
static __always_inline void wait_settle(struct jbpf_wait *wait)
{
	struct scratch *state = scratch_get();

	if (!state)
		return;
	wait->has_run = 1;
	if (!wait->value.count)
		return;
	state->key = wait->key;
	state->value = wait->value;
	if (!is_seen(state->key.user_hash))
		state->key.user_hash = JBPF_HASH_CUT_ALL;
	if (!is_kernel_seen(&state->key))
		state->key.kernel_hash = JBPF_DISK_SLEEP;
	(void)samples_count(false, wait->value.count);
	wait->value.count = 0;
}

/*
 * What a walk of the process would go by now. User space finds out a while after it has first heard
 * of the process; threads that wait all that time are walked once more then.
 */
static __always_inline __u32 rules_of(__u32 tgid)
{
	const struct jbpf_space *space = bpf_map_lookup_elem(&spaces, &tgid);
	const struct jbpf_code_range *range = bpf_map_lookup_elem(&code_ranges, &tgid);
	const struct jbpf_hotspot *hotspot = range ? bpf_map_lookup_elem(&hotspots, &tgid) : NULL;
	__u64 mark = space ? space->generation : 0;

	if (range)
		mark = mark * JBPF_FNV_PRIME + range->code_low + range->interpreter_high;
	if (hotspot)
		mark = mark * JBPF_FNV_PRIME + hotspot->flags + 1;
	return (__u32)(mark ^ mark >> 32);
}

/* Has a thread that has not run to be walked nevertheless? */
static __always_inline bool is_walk_due(const struct visited *visited,
					const struct jbpf_visit *visit)
{
	if (visit->rules == JBPF_RULES_NONE)
		return true;
	if (is_hung(visited->tgid))
		return false;
	/* What its account may use changes with the window. */
	if (visit->rules == JBPF_RULES_CUT)
		return visit->window != pass_state_shared.window;
	return visit->rules != rules_of(visited->tgid);
}

/*
 * One more sample of a thread that has not run. False: it has to be walked nevertheless, also for
 * other rules, unless `any_rules`: then the stack that it has, or will have, is good enough.
 */
static __always_inline bool visit_again(const struct visited *visited, struct jbpf_visit *visit,
					bool any_rules)
{
	__u64 now_ns = bpf_ktime_get_boot_ns();
	__u32 window = pass_state_shared.window;
	struct jbpf_wait *old = &visit->waits[visit->window & 1];
	struct jbpf_wait *wait = &visit->waits[window & 1];
	struct scratch *state = scratch_get();

	if (!state)
		return true;
	if (!any_rules && is_walk_due(visited, visit))
		return false;
	if (visit->window != window) {
		if (!is_seen(old->key.user_hash) || !is_kernel_seen(&old->key))
			return false;
		wait->key = old->key;
		wait->key.cgroup_id = visited_cgroup_id(); /* it may have been moved */
		wait->value = old->value;
		wait->value.count = 0;
		wait->value.first_ns = now_ns;
		wait->has_run = 0;
		wait->window = visit->window = window;
	}
	wait->value.last_ns = now_ns;
	if (visit->rules == JBPF_RULES_NONE)
		pass_state_shared.unwalked++;
	if (!wait->has_run || visit->rules == JBPF_RULES_NONE) {
		wait->value.count++;
		return true;
	}
	state->key = wait->key;
	state->value = wait->value;
	return samples_count(false, 1);
}

/* ---- walking ---- */

/* Takes the first word of the stack. */
__noinline int offcpu_walk_begin(struct bpf_perf_event_data *ctx)
{
	struct visited *visited = visited_get();
	struct scratch *state = scratch_get();
	bool by_rules;
	__u64 fp;
	int end = RULE_OK;

	asm volatile("" ::"r"(ctx));
	if (!visited || !state)
		return 0;
	fp = user_stack_begin(ctx, state, &by_rules);
	visited->by_rules = by_rules;
	if (state->regs.is_compat)
		end = JBPF_END_LEAF_ONLY;
	else if (by_rules)
		walk_by_rules_begin(state, &state->regs, fp);
	else
		end = walk_by_fp_begin(state, &state->regs, fp);
	if (end == RULE_OK)
		return WALK_MORE;
	state->end = end;
	return WALK_DONE;
}

/*
 * Goes on for a round, until the walk ends, or until it wants memory: see struct visited. WALK_MORE: there is
 * more. What wants memory takes the same frame again, for which it has searched once already then.
 */
__noinline int offcpu_walk_round(struct bpf_perf_event_data *ctx)
{
	struct visited *visited = visited_get();
	struct scratch *state = scratch_get();

	asm volatile("" ::"r"(ctx));
	if (!visited || !state)
		return WALK_DONE;
	state->end = JBPF_END_MAX_DEPTH;
	if (!visited->by_rules) {
		walk_by_fp_run(ctx, state);
		return WALK_DONE;
	}
	for (int i = 0; i < WALK_ROUND; i++) {
		__u32 search_cnt = state->unwind.search_cnt;

		if (walk_frame(ctx)) {
			if (visited->miss_len)
				state->unwind.search_cnt = search_cnt;
			return WALK_DONE;
		}
	}
	return WALK_MORE;
}

__noinline int offcpu_walk_end(struct bpf_perf_event_data *ctx)
{
	struct visited *visited = visited_get();
	struct scratch *state = scratch_get();

	asm volatile("" ::"r"(ctx));
	if (!visited || !state)
		return 0;
	if (visited->by_rules)
		(void)walk_by_rules_end(state);
	user_stack_end(state, state->end);
	state->key.user_hash = state->user.head.hash;
	return 0;
}

struct walked {
	struct task_struct *task;
};

/* Goes on with a walk, and reads the memory that it wants. 1: it has ended. */
static long walk_piece(__u32 number, struct walked *walked)
{
	struct visited *visited = visited_get();
	struct visit_ctx ctx = {};

	if (!visited)
		return 1;
	visited->miss_len = 0;
	if (!offcpu_walk_round(&ctx))
		return 0;
	if (!visited->miss_len || pass_state_shared.is_aborted)
		return 1;
	return !memory_read(visited, walked->task);
}

/* Reads where the stack begins. 1: that is read, or is not to be had. */
static long walk_first(__u32 number, struct walked *walked)
{
	struct visited *visited = visited_get();
	struct scratch *state = scratch_get();

	if (!visited || !state)
		return 1;
	return memory_stack(visited, walked->task, state->regs.sp, sizeof(__u64)) != -EBUSY ||
	       busy_note(visited);
}

/* Fills state->user by state->regs. False: nothing of it is true, as its memory could not be read now. */
static __always_inline bool stack_take_visited(struct visited *visited, struct task_struct *task,
					       struct scratch *state)
{
	struct walked walked = { .task = task };
	struct visit_ctx ctx = {};

	visited->stack_len = 0;
	visited->miss_len = 0;
	visited->denied_at = 0;
	visited->busy_cnt = 0;
	bpf_loop(BUSY_TRIES, walk_first, &walked, 0);
	if (visited->busy_cnt >= BUSY_TRIES)
		return false;
	if (!offcpu_walk_begin(&ctx))
		bpf_loop(PIECES_MAX + WALK_ROUNDS + BUSY_TRIES, walk_piece, &walked, 0);
	visited->miss_len = 0;
	if (visited->busy_cnt >= BUSY_TRIES)
		return false;
	offcpu_walk_end(&ctx);
	return true;
}

/* Waits the thread for a disk, or what the kernel takes for one? */
static __always_inline bool is_uninterruptible(struct task_struct *task)
{
	__u32 state = ((struct task_struct___offcpu *)task)->__state;

	return state & TASK_UNINTERRUPTIBLE && !(state & TASK_NOLOAD);
}

/* Where in the kernel the thread sleeps: the system call alone does not say what for. */
static __always_inline __u64 stack_take_asleep(struct task_struct *task, struct scratch *state)
{
	struct visit_ctx ctx = {};
	long len = bpf_get_task_stack(task, state->kernel.ips,
				      JBPF_MAX_KERNEL_DEPTH * sizeof(__u64), 0);
	__u64 hash = kernel_stack_end(&ctx, state, len);

	return hash ? hash : JBPF_DISK_SLEEP;
}

/* Fills state's key and value, but for the stacks. */
static __always_inline void sample_fill(const struct visited *visited, struct scratch *state)
{
	struct task_view view;

	task_view_probe(visited->task, &view);
	state->key.start_ns = view.start_ns;
	state->key.cgroup_id = visited_cgroup_id();
	state->key.user_hash = JBPF_HASH_CUT_ALL;
	state->key.pid = visited->tgid;
	state->key.exec_id = view.exec_id;
	state->key.kind = JBPF_KEY_OFF_CPU;
	state->key.thread = thread_take(state);
	value_fill(&state->value, &view, 0, bpf_ktime_get_boot_ns(), task_ns_pid(view.leader));
}

/*
 * Tells user space of the process and of the stack of state->key, whose sample is kept. False: it
 * opted out, or there is no room; that is counted.
 */
__noinline int sample_tell(__u32 unused)
{
	struct visited *visited = visited_get();
	struct visit_ctx ctx = {};
	struct scratch *state = scratch_get();
	__u32 set = active_set, flags;
	void *counts_map = bpf_map_lookup_elem(&counts, &set);
	struct jbpf_account *account;
	struct task_view view;

	asm volatile("" ::"r"(unused));
	if (!counts_map || !state || !visited)
		return false;
	account = account_get(&ctx, state, counts_map, set);
	if (!account) {
		count(JBPF_CNT_LOST_COUNTS_FULL);
		count(JBPF_CNT_EVENT_LOST);
		return false;
	}
	task_view_probe(visited->task, &view);
	flags = notice_seen(&ctx, state, &view, account,
			    bpf_map_lookup_elem(&known, &state->key.pid));
	if (flags & JBPF_KNOWN_OPTED_OUT) {
		count(JBPF_CNT_OPTED_OUT);
		return false;
	}
	if (flags & JBPF_KNOWN_OPT_OUT_NONE)
		state->value.flags |= JBPF_VALUE_OPT_OUT_NONE;
	(void)key_fit(&ctx, state, account, set);
	(void)stacks_offer(state, account, set);
	return true;
}

/* Has the thread run in this window? */
static __always_inline bool has_thread_run(const struct visited *visited,
					   const struct jbpf_visit *visit,
					   const struct jbpf_wait *wait)
{
	/* Whether it ran in this window before it was first seen nobody knows. */
	if (visit->start_ns != visited->start_ns)
		return visited->start_ns >= pass_state_shared.window_start_ns;
	return visit->switches != visited->switches ||
	       (wait->window == pass_state_shared.window && wait->has_run);
}

/* Notes where the thread waits, with `cnt` samples that are in no count map. */
static __always_inline void visit_set(const struct visited *visited, struct jbpf_visit *visit,
				      struct scratch *state, bool has_run, __u64 cnt)
{
	__u32 window = pass_state_shared.window;
	struct jbpf_wait *wait = &visit->waits[window & 1];

	state->value.count = cnt;
	wait->key = state->key;
	wait->value = state->value;
	wait->has_run = has_run;
	wait->window = visit->window = window;
	visit->start_ns = visited->start_ns;
	visit->switches = visited->switches;
	visit->rules = visited->rules;
	pass_state_shared.visits++;
}

/* Has the thread not run since its last visit? */
static __always_inline bool is_unmoved(const struct visited *visited,
				       const struct jbpf_visit *visit)
{
	return visit->start_ns == visited->start_ns && visited->is_waiting &&
	       visit->switches == visited->switches;
}

/* Has the account of state->key no room for all of the stack that was walked? */
static __always_inline bool is_cut(const struct scratch *state)
{
	return state->key.user_hash == JBPF_HASH_CUT_ALL ||
	       state->user.head.end == JBPF_END_CUT_DEPTH ||
	       state->user.head.end == JBPF_END_CUT_LEAF;
}

/*
 * Counts the sample that was walked, or keeps it with its thread, and notes where that waits. What could
 * not be walked now is kept in any case, for the next visit: see visit_again().
 */
__noinline int visit_note(__u32 unused)
{
	struct visited *visited = visited_get();
	struct scratch *state = scratch_get();
	struct jbpf_visit *visit;
	struct jbpf_wait *wait;
	__u64 kept = 0;
	bool has_run, is_walked;

	asm volatile("" ::"r"(unused));
	if (!visited || !state)
		return 0;
	visit = visit_get(visited->pid);
	if (!visit) {
		samples_count(true, 1);
		return 0;
	}
	is_walked = visited->rules != JBPF_RULES_NONE;
	if (!is_walked && is_unmoved(visited, visit)) {
		if (visit_again(visited, visit, true)) {
			pass_state_shared.visits++;
			return 0;
		}
		/* It may have put the old sample's key there, whose stack is lost. */
		state->key.user_hash = JBPF_HASH_CUT_ALL;
		state->key.kernel_hash = 0;
	}
	wait = &visit->waits[pass_state_shared.window & 1];
	has_run = has_thread_run(visited, visit, wait);
	/* Samples that waited for this walk. */
	if (wait->window == pass_state_shared.window && visit->start_ns == visited->start_ns)
		kept = wait->value.count;
	if (!is_walked)
		pass_state_shared.unwalked++;
	if (has_run && is_walked)
		samples_count(true, kept + 1);
	else if (!sample_tell(0))
		return 0;
	if (is_walked && is_cut(state))
		visited->rules = JBPF_RULES_CUT;
	visit_set(visited, visit, state, has_run, has_run && is_walked ? 0 : kept + 1);
	return 0;
}

/* Counts what was kept of a thread that has run since. */
__noinline int visit_settle(__u32 unused)
{
	__u32 window = pass_state_shared.window;
	struct visited *visited = visited_get();
	struct jbpf_visit *visit;
	struct jbpf_wait *wait;

	asm volatile("" ::"r"(unused));
	visit = visited ? bpf_map_lookup_elem(&visits, &visited->pid) : NULL;
	if (!visit || visit->start_ns != visited->start_ns)
		return 0;
	wait = &visit->waits[window & 1];
	if ((!visited->is_waiting || visit->switches != visited->switches) &&
	    wait->window == window && (!wait->has_run || wait->value.count))
		wait_settle(wait);
	return 0;
}

/* Before the stack of a thread is walked. False: it is left alone. */
__noinline int visit_begin(__u32 unused)
{
	struct visited *visited = visited_get();
	struct scratch *state = scratch_get();

	asm volatile("" ::"r"(unused));
	if (!visited || !state)
		return false;
	sample_fill(visited, state);
	visited->rules = rules_of(visited->tgid);
	return !is_left_alone(&state->key);
}

/* Walks the stack of a thread that waits, and counts it. 1: the pass is to end. */
static __always_inline int visit_walk(struct task_struct *task)
{
	struct visited *visited = visited_get();
	struct scratch *state = scratch_get();

	if (!visited || !state)
		return 0;
	visited_set(visited, task);
	__sync_fetch_and_add(&pass_state_shared.counting, 1);
	visit_settle(0);
	__sync_fetch_and_add(&pass_state_shared.counting, -1);
	if (!visited->is_waiting || !regs_fill(task, state) || !visit_begin(0))
		return 0;
	if (state->regs.is_compat)
		state->value.flags |= JBPF_VALUE_COMPAT;
	if (!is_hung(visited->tgid)) {
		if (honours_opt_out && !known_get(&state->key))
			memory_environment(visited, task);
		pass_state_shared.walks++;
		if (!stack_take_visited(visited, task, state))
			visited->rules = JBPF_RULES_NONE;
	}
	if (is_uninterruptible(task))
		state->key.kernel_hash = stack_take_asleep(task, state);
	/* What a pass that is being ended could not read any more is no stack. */
	if (pass_state_shared.is_aborted)
		return 1;
	if (switches_of(task) != visited->switches || !is_waiting(task)) {
		pass_state_shared.moved++;
		return 0;
	}
	__sync_fetch_and_add(&pass_state_shared.counting, 1);
	visit_note(0);
	__sync_fetch_and_add(&pass_state_shared.counting, -1);
	return 0;
}

/* ---- visiting ---- */

/*
 * There are too many to be walked. While this one does not run its stack stays what it is: the sample
 * is kept with the thread until it is walked. When it runs before, the process alone is known.
 */
static __always_inline void keep_unwalked(struct visited *visited, struct scratch *state)
{
	const struct jbpf_known *process;
	struct jbpf_visit *visit;
	struct jbpf_wait *wait;

	sample_fill(visited, state);
	state->key.kernel_hash = 0;
	if (is_left_alone(&state->key))
		return;
	pass_state_shared.unwalked++;
	process = known_get(&state->key);
	visit = process ? visit_get(visited->pid) : NULL;
	if (!visit) {
		pass_state_shared.visits++;
		samples_count(true, 1);
		return;
	}
	wait = &visit->waits[pass_state_shared.window & 1];
	if (process->flags & JBPF_KNOWN_OPT_OUT_NONE)
		state->value.flags |= JBPF_VALUE_OPT_OUT_NONE;
	visited->rules = JBPF_RULES_NONE;
	visit_set(visited, visit, state, has_thread_run(visited, visit, wait), 1);
}

/* Counts the visited task, if it waits. True: it has to be walked for that. */
__noinline int visit_count(__u32 unused)
{
	struct visited *visited = visited_get();
	struct scratch *state = scratch_get();
	struct jbpf_visit *visit;
	bool has_stayed;

	asm volatile("" ::"r"(unused));
	if (!visited || !state)
		return false;
	visit = bpf_map_lookup_elem(&visits, &visited->pid);
	has_stayed = visit && is_unmoved(visited, visit);
	/* User space may have found out since the thread was walked. */
	if (has_stayed && is_left_alone(&visit->waits[visit->window & 1].key))
		return false;
	if (has_stayed && visit_again(visited, visit, false)) {
		pass_state_shared.visits++;
		return false;
	}
	run_delay_note(pass_state.last_begin_ns);
	visit_settle(0);
	if (!visited->is_waiting)
		return false;
	if (walk_is_chosen(visited, visited->pid))
		return true;
	if (has_stayed && visit_again(visited, visit, true))
		pass_state_shared.visits++;
	else
		keep_unwalked(visited, state);
	return false;
}

/* One thread. True: it waits, and is to be walked. */
static __always_inline int visit(struct task_struct *task, struct visited *visited)
{
	int is_wanted;

	if (task->flags & (PF_KTHREAD | PF_EXITING | PF_IO_WORKER | PF_USER_WORKER))
		return false;
	visited_set(visited, task);
	if (!filter_pid_passes(visited->tgid) || !filter_cgroup_of_visited(0))
		return false;
	visited->miss_len = 0;
	pass_state.thread_cnt++;
	__sync_fetch_and_add(&pass_state_shared.counting, 1);
	is_wanted = visit_count(0);
	__sync_fetch_and_add(&pass_state_shared.counting, -1);
	return is_wanted;
}

#endif
