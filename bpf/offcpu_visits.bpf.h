/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is kept from pass to pass: how many threads may be walked; and of a thread from visit to visit, and
 * what that is enough for: how long it was ready and had no CPU, as another one used it, or its cgroup
 * had no quota left. The kernel sums that for each thread, when it gets a CPU (kernel/sched/stats.h,
 * sched_info_arrive()): what a sum has grown by since the last pass is added to the process in its
 * cgroup. Nothing is sampled.
 *
 * What is missing: what a thread waited between the last pass and its end, and all of one that no pass met.
 */
#ifndef JBPF_OFFCPU_VISITS_BPF_H
#define JBPF_OFFCPU_VISITS_BPF_H

#include "bpf/jbpf_offcpu.h"
#include "bpf/offcpu_memory.bpf.h"
#include "bpf/offcpu_task.bpf.h"
#include "bpf/sample.bpf.h"
#include "bpf/verifier.bpf.h"

/* By tid; programs add, user space deletes those that were not visited of late. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, 1); /* BPF_F_NO_PREALLOC */
	__uint(max_entries, JBPF_VISITS_MAX);
	__type(key, __u32);
	__type(value, struct jbpf_visit);
} visits SEC(".maps");

/* A new one begins here and is copied: it is too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct jbpf_visit);
} visit_first SEC(".maps");

/* Of a process that has been looked at, whether it wants to be profiled; NULL: it has not. */
static __always_inline const struct jbpf_known *known_get(const struct jbpf_key *key)
{
	const struct jbpf_known *process = bpf_map_lookup_elem(&known, &key->pid);
	bool is_this = process && process->start_ns == key->start_ns &&
		       process->exec_id == key->exec_id;

	return is_this ? process : NULL;
}

/* Where the thread's samples are kept; NULL: there are too many threads. */
static __always_inline struct jbpf_visit *visit_get(__u32 pid)
{
	struct jbpf_visit *visit = bpf_map_lookup_elem(&visits, &pid);
	__u32 zero = 0;

	if (visit)
		return visit;
	visit = bpf_map_lookup_elem(&visit_first, &zero);
	if (visit)
		(void)bpf_map_update_elem(&visits, &pid, visit, BPF_NOEXIST);
	return bpf_map_lookup_elem(&visits, &pid);
}

/* ---- ready, and no CPU ---- */

/* Its fields are there with CONFIG_SCHED_INFO only. */
struct sched_info___jbpf {
	unsigned long long run_delay;
} __attribute__((preserve_access_index));

struct task_struct___run_delay {
	struct sched_info___jbpf sched_info;
} __attribute__((preserve_access_index));

static __always_inline bool has_run_delay(void)
{
	return bpf_core_field_exists(struct sched_info___jbpf, run_delay);
}

static __always_inline __u64 run_delay_of(struct task_struct *task)
{
	struct task_struct___run_delay *view = (void *)task;

	return has_run_delay() ? view->sched_info.run_delay : 0;
}

/*
 * What of the thread's sum is counted already. One that began since the last pass began with 0; of
 * one that is met for the first time and is older, what it waited before is nobody's.
 */
static __always_inline __u64 run_delay_counted(const struct visited *visited,
					       struct jbpf_visit *visit, __u32 exec_id,
					       __u64 last_begin_ns)
{
	bool is_known = visit->run_start_ns == visited->start_ns;

	/* With execve() another thread may have become this one. */
	if (is_known && visit->run_exec_id == exec_id &&
	    visit->run_delay_ns <= visited->run_delay_ns)
		return visit->run_delay_ns;
	visit->run_start_ns = visited->start_ns;
	visit->run_exec_id = exec_id;
	visit->run_delay_ns =
		!is_known && visited->start_ns >= last_begin_ns ? 0 : visited->run_delay_ns;
	return visit->run_delay_ns;
}

/* Adds to the process of state->key. False: there is no room. */
static __always_inline bool run_delay_add(struct scratch *state, const struct task_view *view,
					  __u32 flags, __u64 delay_ns)
{
	__u32 set = active_set;
	void *counts_map = bpf_map_lookup_elem(&counts, &set);
	struct jbpf_account *account;
	struct jbpf_value *value;
	struct visit_ctx ctx = {};

	if (!counts_map)
		return false;
	value = bpf_map_lookup_elem(counts_map, &state->key);
	if (value) {
		__sync_fetch_and_add(&value->run_delay_ns, delay_ns);
		return true;
	}
	account = account_get(&ctx, state, counts_map, set);
	if (!account || !has_entries(account, set, BARE_ENTRIES_TIMES, state->key.kind))
		return false;
	value_fill(&state->value, view, flags, bpf_ktime_get_boot_ns(), task_ns_pid(view->leader));
	__builtin_memset(state->value.thread, 0, sizeof(state->value.thread));
	state->value.count = 0;
	state->value.run_delay_ns = delay_ns;
	if (bpf_map_update_elem(counts_map, &state->key, &state->value, BPF_NOEXIST))
		return false;
	entry_charge(account, set);
	return true;
}

/* Counts how long the thread, which has run, was ready and had no CPU. */
__noinline int run_delay_note(__u64 last_begin_ns)
{
	struct visited *visited = visited_get();
	struct scratch *state = scratch_get();
	const struct jbpf_known *process;
	struct jbpf_visit *visit;
	struct task_view view;
	__u64 counted_ns;

	if (!has_run_delay() || !visited || !state)
		return 0;
	task_view_probe(visited->task, &view);
	key_fill(&state->key, &view, visited->tgid, JBPF_KEY_OFF_CPU);
	state->key.user_hash = JBPF_HASH_RUN_DELAY;
	state->key.thread = 0;
	process = known_get(&state->key);
	if (process && process->flags & JBPF_KNOWN_OPTED_OUT)
		return 0;
	visit = visit_get(visited->pid);
	if (!visit)
		return 0;
	visit->run_window = pass_state_shared.window;
	counted_ns = run_delay_counted(visited, visit, view.exec_id, last_begin_ns);
	/* It stays with the thread until it is known whether the process wants to be profiled. */
	if (!process || visited->run_delay_ns == counted_ns)
		return 0;
	if (run_delay_add(state, &view,
			  process->flags & JBPF_KNOWN_OPT_OUT_NONE ? JBPF_VALUE_OPT_OUT_NONE : 0,
			  visited->run_delay_ns - counted_ns))
		visit->run_delay_ns = visited->run_delay_ns;
	return 0;
}

/* ---- the pass itself ---- */

/*
 * Of one pass. On average it walks pass_walks stacks; what others did not need is kept for one that
 * sees many threads for the first time.
 */
#define WALKS_MAX 512

/* State of the pass that runs. */
struct {
	__u32 is_running;
	__u32 walk_cnt;	  /* noted */
	__u64 walk_room;  /* walks that this pass may have */
	__u64 walk_share; /* of 2^32: which threads that are to be walked are */
	__u64 wanted_cnt; /* of walks, in this pass */
	__u64 thread_cnt;
	__u64 last_begin_ns; /* of the pass before, or of the process that runs them */
	__u32 pids[WALKS_MAX];
} pass_state SEC(".data.state") = {
	.walk_share = 1ull << 32,
	.walk_room = WALKS_MAX,
};

static __always_inline struct visited *pass_begin(void)
{
	struct visited *visited = visited_get();

	if (!visited)
		return NULL;
	pass_state.is_running = 1;
	pass_state.walk_cnt = 0;
	pass_state.wanted_cnt = 0;
	pass_state.thread_cnt = 0;
	visited->pass++;
	pass_state_shared.is_aborted = 0;
	pass_state_shared.has_run_delay = has_run_delay();
	pass_state.last_begin_ns = pass_state_shared.begin_ns;
	pass_state_shared.begin_ns = bpf_ktime_get_boot_ns();
	return visited;
}

static __always_inline void pass_end(void)
{
	__u64 now_ns = bpf_ktime_get_boot_ns();

	pass_state.is_running = 0;
	pass_state.walk_room += pass_state_shared.pass_walks;
	pass_state.walk_room -= pass_state.walk_cnt;
	if (pass_state.walk_room > WALKS_MAX)
		pass_state.walk_room = WALKS_MAX;
	pass_state.walk_share = pass_state.wanted_cnt > pass_state.walk_room ?
					(pass_state.walk_room << 32) / pass_state.wanted_cnt :
					1ull << 32;
	pass_state_shared.threads = pass_state.thread_cnt;
	pass_state_shared.passes++;
	pass_state_shared.pass_ns += now_ns - pass_state_shared.begin_ns;
	pass_state_shared.end_ns = now_ns;
}

static __always_inline void walk_note(__u32 pid)
{
	__u64 at = pass_state.walk_cnt - 1;

	KEEP_BITS(at, WALKS_MAX - 1);
	pass_state.pids[at] = pid;
}

static __always_inline bool walk_noted(__u64 at, __u32 *pid)
{
	if (at >= pass_state.walk_cnt)
		return false;
	KEEP_BITS(at, WALKS_MAX - 1);
	*pid = pass_state.pids[at];
	return true;
}

/* Those that are left out are others in each pass, so that none is left out for good. */
static __always_inline bool walk_is_chosen(const struct visited *visited, __u32 pid)
{
	__u64 hash = ((__u64)pid << 32 ^ visited->pass ^ hash_seed) * JBPF_MIX_1;

	pass_state.wanted_cnt++;
	hash ^= hash >> 33;
	hash *= JBPF_MIX_2;
	if (pass_state.walk_cnt >= pass_state.walk_room || hash >> 32 >= pass_state.walk_share)
		return false;
	pass_state.walk_cnt++;
	return true;
}

#endif
