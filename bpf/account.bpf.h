/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who pays for what is new. A sample whose key and stack are known already costs nothing but its
 * time. A new key takes an entry of the count map, and a new stack takes bytes of `stacks` and
 * memory in user space; all processes of the host share these. So accounts are checked only for
 * what is new.
 *
 * An account may go on while it has used less than a fixed multiple of what is still free. Nobody
 * is cut while there is plenty; an account that takes all it gets stops with room left for the
 * others, and several of them stop earlier, each with its share. A newcomer, which has used
 * nothing, always fits.
 */
#ifndef JBPF_ACCOUNT_BPF_H
#define JBPF_ACCOUNT_BPF_H

#include "bpf/core_compat.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/maps.bpf.h"

/* A container's cgroup is at most this deep; cgroups below it share its account. */
#define ACCOUNT_LEVELS 12

/*
 * An account may use this many times what is free. Entries: maps are made for 5/4 of all samples of
 * a window, and of Node's samples 94 in 100 had keys of their own, of javac's 77. With eight,
 * nobody is cut whose window is a tenth longer than planned, even if all samples of the host are
 * its own. Bytes: one account gets two thirds of them at full depth; the most that one took was 0.4
 * of 6 MiB (javac on JDK 25, two CPUs). Processes: an LRU keeps what is in use as long as not all
 * of it is taken.
 */
#define ENTRIES_TIMES	   8
#define BARE_ENTRIES_TIMES 16 /* one entry for each process */
#define BYTES_TIMES	   2
#define CUT_BYTES_TIMES	   4 /* with JBPF_CUT_DEPTH words */
#define KNOWN_PART	   4

enum stack_room {
	STACK_ROOM_ALL = 0,
	STACK_ROOM_CUT = 1,
	STACK_ROOM_LEAF = 2,
};

/*
 * The account of the running task: that of its cgroup, else of the deepest one above it that has one,
 * else 0.
 */
static __always_inline __u64 account_of_current(__u64 cgroup_id)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	__u64 *account = bpf_map_lookup_elem(&accounts_of, &cgroup_id);
	struct cgroup *cgroup;
	__u64 level, found = 0;

	if (account)
		return *account;
	cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp);
	level = BPF_CORE_READ(cgroup, level);
	for (__u64 i = 1; i <= ACCOUNT_LEVELS; i++) {
		__u64 id;

		if (i >= level)
			break;
		id = cgroup_id_at(cgroup, i);
		account = bpf_map_lookup_elem(&accounts_of, &id);
		if (account)
			found = *account;
	}
	return found;
}

/*
 * Puts the account of state->key into state->account_key. Samples of a CPU that follow each other are
 * mostly of one cgroup, and one without an account is looked for on every level above it.
 */
__noinline int account_find(struct bpf_perf_event_data *ctx)
{
	__u32 generation = accounts_generation; /* before the map is read */
	struct account_memo *memo;
	struct scratch *state;

	/* The compiler drops an unused argument, but the verifier wants ctx to be passed. */
	asm volatile("" ::"r"(ctx));
	state = scratch_get();
	if (!state)
		return 0;
	memo = &state->account_memo;
	if (memo->cgroup_id != state->key.cgroup_id || memo->generation != generation) {
		state->account_key.start_ns = account_of_current(state->key.cgroup_id);
		memo->cgroup_id = state->key.cgroup_id;
		memo->generation = generation;
	}
	return 0;
}

/* The record of the account of state->key in this window; NULL: the count map is full. */
static __always_inline struct jbpf_account *
account_get(struct bpf_perf_event_data *ctx, struct scratch *state, void *counts_map, __u32 set)
{
	struct jbpf_account *account;

	account_find(ctx);
	state->account_key.kind = JBPF_KEY_ACCOUNT;
	account = bpf_map_lookup_elem(counts_map, &state->account_key);
	if (account)
		return account;
	/* Only this function writes these: until now they are 0, as in a new map. */
	if (!bpf_map_update_elem(counts_map, &state->account_key, &state->account, BPF_NOEXIST))
		__sync_fetch_and_add(&all_entries[set & 1], 1);
	return bpf_map_lookup_elem(counts_map, &state->account_key);
}

static __always_inline __u64 left_of(__u64 max, __u64 used)
{
	return used < max ? max - used : 0;
}

static __always_inline bool has_entries(const struct jbpf_account *account, __u32 set, __u64 times,
					__u32 kind)
{
	__u64 max = kind ? event_entries_max : entries_max;

	return account->entries < times * left_of(max, all_entries[set & 1]);
}

static __always_inline void entry_charge(struct jbpf_account *account, __u32 set)
{
	__sync_fetch_and_add(&account->entries, 1);
	__sync_fetch_and_add(&all_entries[set & 1], 1);
}

/*
 * How much of a new stack of this size the account may send. Events other than the CPU clock share one
 * half; the other one is kept for CPU time. A buffer that is half full is not being emptied right now:
 * from there on it is shared, too.
 */
static __always_inline enum stack_room stack_room(const struct jbpf_account *account, __u32 set,
						  __u64 bytes, __u32 kind)
{
	__u64 room = left_of(stack_bytes_max, all_stack_bytes[set & 1]);
	__u64 buffer = left_of(stacks_size, bpf_ringbuf_query(&stacks, BPF_RB_AVAIL_DATA));
	__u64 event_room = left_of(stack_bytes_max / 2, all_event_bytes[set & 1]);
	__u64 used = account->stack_bytes + bytes;

	if (kind && event_room < room)
		room = event_room;
	if (buffer < stacks_size / 2 && buffer < room)
		room = buffer;
	if (used <= BYTES_TIMES * room)
		return STACK_ROOM_ALL;
	return used <= CUT_BYTES_TIMES * room ? STACK_ROOM_CUT : STACK_ROOM_LEAF;
}

static __always_inline void stack_charge(struct jbpf_account *account, __u32 set, __u64 bytes,
					 __u32 kind)
{
	__sync_fetch_and_add(&account->stack_bytes, bytes);
	__sync_fetch_and_add(&all_stack_bytes[set & 1], bytes);
	if (kind)
		__sync_fetch_and_add(&all_event_bytes[set & 1], bytes);
}

/* May one more process of the account be remembered? If not, it is reported all the same. */
static __always_inline bool has_known(const struct jbpf_account *account)
{
	return account->processes < known_max / KNOWN_PART;
}

#endif
