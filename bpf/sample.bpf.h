/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts a sample whose key and stacks are in scratch: adds to its entry, or makes one, within the
 * budget of its account, and sends what is new.
 */
#ifndef JBPF_SAMPLE_BPF_H
#define JBPF_SAMPLE_BPF_H

#include "bpf/account.bpf.h"
#include "bpf/core_compat.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/jbpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/notice.bpf.h"
#include "bpf/stack.bpf.h"

#define COUNT_OPTED_OUT 1

/* Has the key a kernel stack, which is sent? The pass over waiting threads has names of system calls, too. */
#ifndef KERNEL_STACK_IS_SENT
#define KERNEL_STACK_IS_SENT(key) true
#endif

static __always_inline void key_fill(struct jbpf_key *key, const struct task_view *view, __u32 pid,
				     __u32 kind)
{
	key->start_ns = view->start_ns;
	key->cgroup_id = bpf_get_current_cgroup_id();
	key->user_hash = 0;
	key->kernel_hash = 0;
	key->pid = pid;
	key->exec_id = view->exec_id;
	key->kind = kind;
}

static __always_inline void value_fill(struct jbpf_value *value, const struct task_view *view,
				       __u32 flags, __u64 now_ns, __u32 ns_pid)
{
	struct task_struct *leader = view->leader;

	value->count = 1;
	value->first_ns = value->last_ns = now_ns;
	value->flags = flags;
	value->ns_pid = ns_pid;
	BPF_CORE_READ_STR_INTO(&value->comm, leader, comm);
}

static __always_inline bool stacks_offer(struct scratch *state, struct jbpf_account *account,
					 __u32 set)
{
	struct jbpf_stack *user = &state->user.head;
	bool user_sent = true, kernel_sent;

	user->start_ns = state->key.start_ns;
	user->pid = state->key.pid;
	user->exec_id = state->key.exec_id;
	if (state->key.user_hash != JBPF_HASH_CUT_ALL)
		user_sent = stack_offer(state->key.user_hash, user, JBPF_MAX_DEPTH, account, set,
					state->key.kind);
	kernel_sent = !KERNEL_STACK_IS_SENT(&state->key) ||
		      stack_offer(state->key.kernel_hash, &state->kernel.head,
				  JBPF_MAX_KERNEL_DEPTH, account, set, state->key.kind);

	return user_sent && kernel_sent;
}

/*
 * Adds 1 to state->key where it is counted already, and sends its stacks when they found no room
 * before, once the buffer is being emptied. Only then is such a key entered whatever its account.
 */
static __always_inline bool count_again(struct scratch *state, void *counts_map, __u64 now_ns)
{
	struct jbpf_value *value = bpf_map_lookup_elem(counts_map, &state->key);

	if (!value)
		return false;
	__sync_fetch_and_add(&value->count, 1);
	value->last_ns = now_ns;
	if (value->flags & JBPF_VALUE_STACK_UNSENT &&
	    bpf_ringbuf_query(&stacks, BPF_RB_AVAIL_DATA) < stacks_size / 2 &&
	    stacks_offer(state, NULL, 0))
		value->flags &= ~JBPF_VALUE_STACK_UNSENT;
	return true;
}

/*
 * Makes of state->key what its account has room for; at the least, the process alone stays in it.
 * True: another key, or the same with another stack, than the sample came with.
 */
static __always_inline bool key_fit(struct bpf_perf_event_data *ctx, struct scratch *state,
				    struct jbpf_account *account, __u32 set)
{
	if (has_entries(account, set, ENTRIES_TIMES, state->key.kind))
		return stack_fit(ctx, state, account, set);
	state->key.user_hash = JBPF_HASH_CUT_ALL;
	state->key.kernel_hash = 0;
	state->key.thread = 0;
	state->value.thread[0] = '\0';
	return true;
}

/* Enters state->key and sends its stacks. 0 or -errno; -EEXIST: another CPU was first. */
static __always_inline int count_enter(struct scratch *state, struct jbpf_account *account,
				       void *counts_map, __u32 set)
{
	int err;

	if (!has_entries(account, set, BARE_ENTRIES_TIMES, state->key.kind))
		return -E2BIG;
	if (!stacks_offer(state, account, set))
		state->value.flags |= JBPF_VALUE_STACK_UNSENT;
	err = bpf_map_update_elem(counts_map, &state->key, &state->value, BPF_NOEXIST);
	if (!err)
		entry_charge(account, set);
	return err;
}

/*
 * Counts a sample whose key was not there. 0, -errno, or COUNT_OPTED_OUT: nothing was added, and
 * nothing went out.
 */
static __always_inline int count_new(struct bpf_perf_event_data *ctx, struct scratch *state,
				     const struct task_view *view, void *counts_map, __u32 set,
				     __u32 flags, __u64 now_ns)
{
	struct jbpf_account *account = account_get(ctx, state, counts_map, set);
	const struct jbpf_known *old;
	__u32 known_flags;
	int err = 0;

	if (!account)
		return -E2BIG;
	old = bpf_map_lookup_elem(&known, &state->key.pid);
	/* It took four reads of cold memory to know it the first time. */
	value_fill(&state->value, view, flags, now_ns,
		   known_is_of(old, &state->key) ? old->ns_pid : task_ns_pid(view->leader));
	known_flags = notice_seen(ctx, state, view, account, old);
	if (known_flags & JBPF_KNOWN_OPTED_OUT)
		return COUNT_OPTED_OUT;
	if (known_flags & JBPF_KNOWN_OPT_OUT_NONE)
		state->value.flags |= JBPF_VALUE_OPT_OUT_NONE;
	if (!key_fit(ctx, state, account, set) || !count_again(state, counts_map, now_ns))
		err = count_enter(state, account, counts_map, set);
	if (err == -EEXIST && count_again(state, counts_map, now_ns))
		err = 0;
	if (err) {
		__sync_fetch_and_add(&account->lost_samples, 1);
	} else if (state->key.user_hash == JBPF_HASH_CUT_ALL) {
		__sync_fetch_and_add(&account->bare_samples, 1);
		count(JBPF_CNT_CUT_ALL);
	}
	return err;
}

/* Notes the moment of a sample that was counted in this set. */
static __always_inline void tick_note(const struct jbpf_key *key, __u32 set, __u64 now_ns)
{
	__u32 cpu = bpf_get_smp_processor_id();
	__u32 at = (set * ticks_cpu_cnt + cpu) * ticks_stride;
	__u64 *cnt, *word;

	if (!ticks_stride)
		return;
	cnt = cpu < ticks_cpu_cnt ? bpf_map_lookup_elem(&ticks, &at) : NULL;
	if (cnt && *cnt < ticks_stride - 1) {
		at += (__u32)*cnt + 1;
		word = bpf_map_lookup_elem(&ticks, &at);
		if (word) {
			*word = jbpf_tick(jbpf_key_tag(key, hash_seed), now_ns);
			*cnt += 1;
			return;
		}
	}
	count(JBPF_CNT_TICKS_FULL);
}

static __always_inline void sample_count(struct bpf_perf_event_data *ctx, struct scratch *state,
					 const struct task_view *view, __u32 flags, __u32 kind)
{
	__u64 now_ns = bpf_ktime_get_boot_ns();
	__u32 set = active_set;
	void *counts_map = bpf_map_lookup_elem(&counts, &set);
	int err = 0;

	if (!counts_map) {
		count(JBPF_CNT_LOST_NO_MAP);
		if (kind)
			count(JBPF_CNT_EVENT_LOST);
		return;
	}
	if (!count_again(state, counts_map, now_ns))
		err = count_new(ctx, state, view, counts_map, set, flags, now_ns);
	if (!err) {
		count(JBPF_CNT_SAMPLES);
		/* The log has room for what a clock can bring, no more. */
		if (kind)
			count(JBPF_CNT_EVENT_SAMPLES);
		else
			tick_note(&state->key, set, now_ns);
		return;
	}
	if (err == COUNT_OPTED_OUT) {
		count(JBPF_CNT_OPTED_OUT);
		return;
	}
	if (err == -E2BIG)
		count(JBPF_CNT_LOST_COUNTS_FULL);
	else
		count(JBPF_CNT_LOST_UPDATE);
	if (kind)
		count(JBPF_CNT_EVENT_LOST);
}

/* ---- events that are measured: one of them counts as many units ---- */

/*
 * What such an amount counts; 0: it is not among those that are chosen. One below the threshold is
 * chosen by `draw`, a random number, and then counts as the threshold, which makes up for the others:
 * sums have no bias. Who is not chosen is not with a smaller amount, either.
 */
static __always_inline __u64 measure_units(__u64 amount, __u32 draw, __u64 threshold, __u64 unit)
{
	if (amount < threshold)
		amount = draw * threshold >> 32 < amount ? threshold : 0;
	return amount / unit;
}

static __always_inline void units_lost(__u64 units)
{
	count_add(JBPF_CNT_LOST_UPDATE, units);
	count_add(JBPF_CNT_EVENT_LOST, units);
}

/* Counts state->key, whose stacks are in state, as `units` samples. */
static __always_inline void units_count(struct bpf_perf_event_data *ctx, struct scratch *state,
					const struct task_view *view, __u32 flags, __u64 units)
{
	__u64 now_ns = bpf_ktime_get_boot_ns();
	__u32 set = active_set;
	void *counts_map = bpf_map_lookup_elem(&counts, &set);
	struct jbpf_value *value;
	int err = 0;

	if (!counts_map) {
		units_lost(units);
		return;
	}
	if (!count_again(state, counts_map, now_ns))
		err = count_new(ctx, state, view, counts_map, set, flags, now_ns);
	if (err == COUNT_OPTED_OUT) {
		count_add(JBPF_CNT_OPTED_OUT, units);
		return;
	}
	value = err ? NULL : bpf_map_lookup_elem(counts_map, &state->key);
	if (!value) {
		count_add(err == -E2BIG ? JBPF_CNT_LOST_COUNTS_FULL : JBPF_CNT_LOST_UPDATE, units);
		count_add(JBPF_CNT_EVENT_LOST, units);
		return;
	}
	__sync_fetch_and_add(&value->count, units - 1);
	count_add(JBPF_CNT_SAMPLES, units);
	count_add(JBPF_CNT_EVENT_SAMPLES, units);
}

#endif
