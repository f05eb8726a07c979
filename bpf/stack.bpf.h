/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Takes the user stack by our walk (of a process whose mappings are known, by rules, of all others by
 * frame pointers alone) and the kernel stack by helper, names each by a hash of its content (a user
 * stack's, of its process's life, too), and hands a stack that user space does not have to the
 * `stacks` buffer.
 */
#ifndef JBPF_STACK_BPF_H
#define JBPF_STACK_BPF_H

#include "bpf/account.bpf.h"
#include "bpf/code_range.bpf.h"
#include "bpf/core_compat.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/unwind.bpf.h"
#include "bpf/walk.bpf.h"

/*
 * What the hash of a user stack begins with. Processes choose their frames: one that found a stack
 * with the same hash as a neighbour's would put its frames into the neighbour's profile. So two
 * processes begin with numbers that are unrelated for anybody who does not know the seed; and as
 * all words but Method* are below 2^56, no single word makes up for the difference. Collisions then
 * happen within one process only. In return, a fork sends its stacks once more.
 */
static __always_inline __u64 hash_of_life(const struct jbpf_key *key)
{
	__u64 hash = hash_seed ^ key->start_ns;

	hash ^= hash >> 33;
	hash *= JBPF_MIX_1;
	hash ^= (__u64)key->exec_id << 32 | key->pid;
	hash ^= hash >> 33;
	hash *= JBPF_MIX_2;
	return hash ^ hash >> 33;
}

/* The final mix of murmur3; 0 means "no stack" and is never returned. */
static __always_inline __u64 hash_finish(__u64 hash, const struct jbpf_stack *head)
{
	hash = hash_add(hash, (__u64)head->frame_cnt << 32 | (__u32)head->flags << 16 |
				      (__u32)head->kind << 8 | head->end);
	hash ^= hash >> 33;
	hash *= JBPF_MIX_1;
	hash ^= hash >> 33;
	hash *= JBPF_MIX_2;
	hash ^= hash >> 33;
	return hash ? hash : 1;
}

static __always_inline void hash_leaf(struct scratch *state)
{
	const struct jbpf_stack *head = &state->user.head;
	const __u64 *code = (const __u64 *)head->leaf_code;
	__u64 hash = state->hash;

	hash = hash_add(hash, head->leaf_words[0]);
	hash = hash_add(hash, head->leaf_words[1]);
	hash = hash_add(hash, code[0]);
	state->hash = hash_add(hash, code[1]);
}

/*
 * Takes the first word of the user stack that belongs to state->regs, and what is known of its
 * process. Returns the frame pointer to begin with.
 */
static __always_inline __u64 user_stack_begin(struct bpf_perf_event_data *ctx,
					      struct scratch *state, bool *by_rules)
{
	const struct user_regs *regs = &state->regs;
	struct jbpf_stack *head = &state->user.head;
	bool has_rules, has_jit_rules;

	code_range_load(state);
	has_rules = space_load(state);
	hotspot_load(state);
	has_jit_rules = jit_is_by_size(state);
	/*
	 * Frame pointers would lead through JIT code that keeps none, and into what is not a frame; and
	 * where the interpreter was interrupted, they may be those of another frame.
	 */
	*by_rules = has_rules || has_jit_rules || leaf_is_by_frame(state, regs->ip);
	head->flags = 0;
	__builtin_memset(head->leaf_words, 0, sizeof(head->leaf_words));
	__builtin_memset(head->leaf_code, 0, sizeof(head->leaf_code));
	state->user.ips[0] = regs->ip;
	state->hash = hash_add(hash_of_life(&state->key), regs->ip);
	state->depth = 1;
	if (!regs->is_compat && code_view_has(&state->code, regs->ip)) {
		__u64 fp = leaf_take(ctx, state, regs);

		hash_leaf(state);
		return fp;
	}
	return *by_rules ? regs->fp : any_leaf_frame(regs);
}

/* The words of state->user are taken. */
static __always_inline void user_stack_end(struct scratch *state, enum jbpf_stack_end end)
{
	struct jbpf_stack *head = &state->user.head;

	count_user_end(end);
	head->frame_cnt = state->depth;
	head->kind = JBPF_STACK_USER;
	head->end = end;
	head->hash = hash_finish(state->hash, head);
}

/*
 * Fills state->user by state->regs, which are those of user mode. A global function: the verifier
 * checks its loops once, and not for each way to here.
 */
__noinline int stack_take_user(struct bpf_perf_event_data *ctx)
{
	enum jbpf_stack_end end = JBPF_END_LEAF_ONLY;
	const struct user_regs *regs;
	struct scratch *state;
	bool by_rules;
	__u64 fp;

	asm volatile("" ::"r"(ctx));
	state = scratch_get();
	if (!state)
		return 0;
	regs = &state->regs;
	fp = user_stack_begin(ctx, state, &by_rules);
	if (!regs->is_compat)
		end = by_rules ? walk_by_rules(ctx, state, regs, fp) :
				 walk_by_fp(ctx, state, regs, fp);
	user_stack_end(state, end);
	return 0;
}

/*
 * Hashes the frame_cnt addresses of state->kernel into state->hash. All processes share these
 * stacks: what is in them is the kernel's choice.
 */
__noinline int hash_kernel(struct bpf_perf_event_data *ctx)
{
	struct scratch *state;
	__u64 hash = hash_seed;

	asm volatile("" ::"r"(ctx));
	state = scratch_get();
	if (!state)
		return 0;
	for (__u32 i = 0; i < JBPF_MAX_KERNEL_DEPTH; i++) {
		if (i >= state->kernel.head.frame_cnt)
			break;
		hash = hash_add(hash, state->kernel.ips[i]);
	}
	state->hash = hash;
	return 0;
}

/*
 * Completes state->kernel, of which `len` bytes of addresses are there; returns its hash, 0 when there is
 * no stack to be had.
 */
static __always_inline __u64 kernel_stack_end(struct bpf_perf_event_data *ctx,
					      struct scratch *state, long len)
{
	struct jbpf_stack *head = &state->kernel.head;

	if (len <= 0) {
		count(JBPF_CNT_KERNEL_STACK_ERROR);
		return 0;
	}
	head->frame_cnt = (__u32)len / sizeof(__u64);
	head->kind = JBPF_STACK_KERNEL;
	head->end = head->frame_cnt < JBPF_MAX_KERNEL_DEPTH ? JBPF_END_ROOT : JBPF_END_MAX_DEPTH;
	hash_kernel(ctx);
	head->hash = hash_finish(state->hash, head);
	return head->hash;
}

/* Fills state->kernel, as kernel_stack_end(). */
static __always_inline __u64 stack_take_kernel(struct bpf_perf_event_data *ctx,
					       struct scratch *state)
{
	long len = bpf_get_stack(ctx, state->kernel.ips, JBPF_MAX_KERNEL_DEPTH * sizeof(__u64), 0);

	return kernel_stack_end(ctx, state, len);
}

/* Hashes the state->depth words that are left of state->user into state->hash. */
__noinline int hash_cut(struct bpf_perf_event_data *ctx)
{
	struct scratch *state;
	__u64 hash;

	asm volatile("" ::"r"(ctx));
	state = scratch_get();
	if (!state)
		return 0;
	hash = hash_of_life(&state->key);
	for (__u32 i = 0; i <= JBPF_CUT_DEPTH; i++) {
		if (i >= state->depth)
			break;
		hash = hash_add(hash, state->user.ips[i]);
	}
	state->hash = hash;
	return 0;
}

/*
 * Leaves `depth` words of state->user, JBPF_CUT_DEPTH or less, and the Method* of the last; it is
 * another stack then. False: there were no more.
 */
static __always_inline bool stack_cut(struct bpf_perf_event_data *ctx, struct scratch *state,
				      __u32 depth, enum jbpf_stack_end end)
{
	struct jbpf_stack *head = &state->user.head;

	if (head->frame_cnt > depth && state->user.ips[depth] & JBPF_WORD_METHOD)
		depth++;
	if (head->frame_cnt <= depth)
		return false;
	state->depth = depth;
	hash_cut(ctx);
	hash_leaf(state);
	head->frame_cnt = depth;
	head->end = end;
	head->hash = hash_finish(state->hash, head);
	state->key.user_hash = head->hash;
	return true;
}

/* A new user stack is cut to what the account has room for. True: it was. */
static __always_inline bool stack_fit(struct bpf_perf_event_data *ctx, struct scratch *state,
				      struct jbpf_account *account, __u32 set)
{
	__u64 bytes = sizeof(state->user.head) + state->user.head.frame_cnt * sizeof(__u64);
	enum stack_room room;

	/* One that was not walked: the stack in state->user is another thread's. */
	if (state->key.user_hash == JBPF_HASH_CUT_ALL)
		return false;
	if (!state->key.user_hash || bpf_map_lookup_elem(&seen, &state->key.user_hash))
		return false;
	room = stack_room(account, set, bytes, state->key.kind);
	if (room == STACK_ROOM_CUT && stack_cut(ctx, state, JBPF_CUT_DEPTH, JBPF_END_CUT_DEPTH)) {
		__sync_fetch_and_add(&account->cut_samples, 1);
		count(JBPF_CNT_CUT_DEPTH);
		return true;
	}
	if (room == STACK_ROOM_LEAF && stack_cut(ctx, state, 1, JBPF_END_CUT_LEAF)) {
		__sync_fetch_and_add(&account->leaf_samples, 1);
		count(JBPF_CNT_CUT_LEAF);
		return true;
	}
	return false;
}

/*
 * Sends a record unless user space has it. False: there was no room, the next sample tries again.
 * The reader is woken only when the buffer fills; it comes by every window anyway. `account` is who
 * pays, NULL: nobody.
 */
static __always_inline bool stack_offer(__u64 hash, const struct jbpf_stack *head,
					__u32 frame_cnt_max, struct jbpf_account *account,
					__u32 set, __u32 kind)
{
	__u64 flags = BPF_RB_NO_WAKEUP;
	__u64 frame_cnt;
	__u8 one = 1;
	int err;

	if (!hash || bpf_map_lookup_elem(&seen, &hash))
		return true;
	/* Inserted before it is sent, so that of two CPUs with the same new stack one sends it. */
	err = bpf_map_update_elem(&seen, &hash, &one, BPF_NOEXIST);
	if (err == -EEXIST)
		return true;
	if (err)
		count(JBPF_CNT_SEEN_FULL);
	if (bpf_ringbuf_query(&stacks, BPF_RB_AVAIL_DATA) >= stacks_wakeup_bytes)
		flags = BPF_RB_FORCE_WAKEUP;
	frame_cnt = head->frame_cnt;
	/* The check must be on the register that is used: 6.1 does not track copies of it. */
	asm volatile("" : "+r"(frame_cnt));
	if (frame_cnt > frame_cnt_max)
		return true; /* never; says so to the verifier */
	if (!bpf_ringbuf_output(&stacks, (void *)head, sizeof(*head) + frame_cnt * sizeof(__u64),
				flags)) {
		if (account)
			stack_charge(account, set, sizeof(*head) + frame_cnt * sizeof(__u64), kind);
		return true;
	}
	count(JBPF_CNT_STACK_BUFFER_FULL);
	bpf_map_delete_elem(&seen, &hash);
	return false;
}

#endif
