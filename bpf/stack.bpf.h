/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Takes the user stack by frame pointers and the kernel stack by helper, names each by a hash of
 * its content (a user stack's, of its process's life, too), and hands a stack that user space does not have to the `stacks` buffer.
 *
 * The user walk is our own: bpf_get_stackid and bpf_get_stack stop at 127 frames and read every
 * frame singly. We read windows of user memory that end at a page border (a read that faults costs
 * 1-2 us) and follow the chain inside them. Loop bodies with branches live in global functions that
 * take only ctx: 5.10 knows no other argument, and newer verifiers refuse the same loop inlined.
 */
#ifndef JBPF_STACK_BPF_H
#define JBPF_STACK_BPF_H

#include "bpf/account.bpf.h"
#include "bpf/code_range.bpf.h"
#include "bpf/core_compat.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/maps.bpf.h"

#define USER_PAGE_BYTES 4096 /* larger pages only make windows shorter than they could be */
#define FRAME_BYTES	16   /* saved frame pointer, return address */

#define FNV_PRIME 0x100000001b3ull

enum walk_result {
	WALK_MORE = 0,
	WALK_DONE = 1,
};

#define MIX_1 0xff51afd7ed558ccdull /* murmur3's */
#define MIX_2 0xc4ceb9fe1a85ec53ull

/*
 * FNV-1a by 64-bit word. It keeps no secret: whoever chooses the words can flip a bit of one and
 * undo that with the next, whatever the seed was, in one try of some hundred. See hash_of_life().
 */
static __always_inline __u64 hash_add(__u64 hash, __u64 word)
{
	return (hash ^ word) * FNV_PRIME;
}

/*
 * What the hash of a user stack begins with. Processes choose their frames: one that found a stack
 * with the hash of a neighbour's would put its frames into the neighbour's profile. So two
 * processes begin with numbers that have nothing to do with each other for who does not know the
 * seed; as all words but Method* are below 2^56, no word of one makes up for that either. What
 * collides, collides within one process. A fork sends its stacks once more for that.
 */
static __always_inline __u64 hash_of_life(const struct jbpf_key *key)
{
	__u64 hash = hash_seed ^ key->start_ns;

	hash ^= hash >> 33;
	hash *= MIX_1;
	hash ^= (__u64)key->exec_id << 32 | key->pid;
	hash ^= hash >> 33;
	hash *= MIX_2;
	return hash ^ hash >> 33;
}

/* The final mix of murmur3; 0 means "no stack" and is never returned. */
static __always_inline __u64 hash_finish(__u64 hash, const struct jbpf_stack *head)
{
	hash = hash_add(hash, (__u64)head->frame_cnt << 32 | (__u32)head->flags << 16 |
				      (__u32)head->kind << 8 | head->end);
	hash ^= hash >> 33;
	hash *= MIX_1;
	hash ^= hash >> 33;
	hash *= MIX_2;
	hash ^= hash >> 33;
	return hash ? hash : 1;
}

/* The masks below are in asm, or clang drops those that it finds needless and the verifier needs. */
static __always_inline __u64 window_word(const struct scratch *state, __u64 off, int plus)
{
	asm volatile("%0 &= %1" : "+r"(off) : "i"(WINDOW_BYTES - 8));
	return *(const volatile __u64 *)(state->window + off + plus);
}

/*
 * A verifier that knows how a number grows on each path through a loop looks at every mix of paths:
 * over a million instructions. `any` may be anything.
 */
static __always_inline __u64 boundless(__u64 number, __u64 any)
{
	asm volatile("%0 += %1; %0 -= %1" : "+r"(number) : "r"(any));
	return number;
}

static __always_inline void put_word(struct scratch *state, __u64 at, __u64 word)
{
	asm volatile("%0 &= %1" : "+r"(at) : "i"(JBPF_MAX_DEPTH - 1));
	state->user.ips[at] = word;
}

static __always_inline bool is_interpreted(const struct scratch *state, __u64 address)
{
	return address - state->code.interpreter_low < state->code.interpreter_len;
}

/*
 * Reads a window that begins at fp, or where the frame at fp is to have its Method*, below that;
 * that much may lie in the page below, and if that is not there, does without. Returns how much
 * was read, 0 for none, and at which address it begins.
 */
static __always_inline __u64 window_read(struct scratch *state, __u64 fp, bool wants_method,
					 __u64 *base)
{
	__u64 len = USER_PAGE_BYTES - (fp & (USER_PAGE_BYTES - 1));

	if (len < FRAME_BYTES)
		len = FRAME_BYTES;
	if (wants_method) {
		len += METHOD_BYTES_BELOW;
		*base = fp - METHOD_BYTES_BELOW;
		if (len > WINDOW_BYTES)
			len = WINDOW_BYTES;
		if (!bpf_probe_read_user(state->window, len, (void *)*base))
			return len;
		len -= METHOD_BYTES_BELOW;
	}
	*base = fp;
	if (len > WINDOW_BYTES)
		len = WINDOW_BYTES;
	return bpf_probe_read_user(state->window, len, (void *)fp) ? 0 : len;
}

/*
 * One window: reads from scratch->fp up to the end of the page, at most WINDOW_BYTES, and follows
 * the frames in it. WALK_MORE when the chain leaves the window.
 */
static __always_inline int window_follow(struct scratch *state, const bool has_interpreter)
{
	__u64 fp = state->fp, address = state->address, hash = state->hash, depth = state->depth;
	__u64 base, len;
	int end = -1;

	len = window_read(state, fp, has_interpreter && is_interpreted(state, address), &base);
	if (!len) {
		state->end = JBPF_END_FAULT;
		return WALK_DONE;
	}
	len = boundless(len, hash);
	base = boundless(base, hash);

	for (int i = 0; i < WINDOW_BYTES / FRAME_BYTES; i++) {
		__u64 off = fp - base;
		__u64 next, word;

		if (has_interpreter)
			depth = boundless(depth, fp);
		if (off > len - FRAME_BYTES)
			break; /* the next frame is in another window */
		if (has_interpreter && is_interpreted(state, address)) {
			/* Frames that lie so close are none; at 0 the memory below is not there. */
			if (off && off < METHOD_BYTES_BELOW)
				break;
			word = off ? window_word(state, off - METHOD_BYTES_BELOW, 0) : 0;
			if (method_is_plausible(word)) {
				if (depth >= max_depth) {
					end = JBPF_END_MAX_DEPTH;
					break;
				}
				word |= JBPF_WORD_METHOD;
				hash = hash_add(hash, word);
				put_word(state, depth++, word);
			}
		}
		next = window_word(state, off, 0);
		address = return_address(window_word(state, off, 8));
		if (address - 1 >= JBPF_USER_ADDRESS_END - 1) {
			end = address ? JBPF_END_BAD_FP : JBPF_END_ROOT;
			break;
		}
		if (depth >= max_depth) {
			end = JBPF_END_MAX_DEPTH;
			break;
		}
		hash = hash_add(hash, address);
		put_word(state, depth++, address);
		if (next <= fp || next & 7) {
			end = next ? JBPF_END_BAD_FP : JBPF_END_ROOT;
			break;
		}
		fp = next;
	}
	state->fp = fp;
	state->address = address;
	state->hash = hash;
	state->depth = depth;
	if (end < 0)
		return WALK_MORE;
	state->end = end;
	return WALK_DONE;
}

__noinline int walk_window(struct bpf_perf_event_data *ctx)
{
	struct scratch *state;

	/* An argument nobody uses would not be passed, and the verifier wants to see ctx in it. */
	asm volatile("" ::"r"(ctx));
	state = scratch_get();
	return state ? window_follow(state, false) : WALK_DONE;
}

/* The same for a JVM, where each frame may be an interpreted one. */
__noinline int walk_window_jvm(struct bpf_perf_event_data *ctx)
{
	struct scratch *state;

	asm volatile("" ::"r"(ctx));
	state = scratch_get();
	return state ? window_follow(state, true) : WALK_DONE;
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

/* The frame pointer of code that keeps one lies above the stack pointer, at a multiple of 8. */
static __always_inline enum jbpf_stack_end walk_user(struct bpf_perf_event_data *ctx,
						     struct scratch *state,
						     const struct user_regs *regs, __u64 fp)
{
	if (!fp)
		return JBPF_END_ROOT;
	if (fp < regs->sp || fp & 7)
		return JBPF_END_BAD_FP;
	state->fp = fp;
	state->address = regs->ip;
	state->end = JBPF_END_MAX_DEPTH;
	/* A window that is not the last holds one frame at least. */
	if (state->code.interpreter_len) {
		for (int i = 0; i <= JBPF_MAX_DEPTH; i++) {
			if (walk_window_jvm(ctx))
				break;
		}
	} else {
		for (int i = 0; i <= JBPF_MAX_DEPTH; i++) {
			if (walk_window(ctx))
				break;
		}
	}
	return state->end;
}

static __always_inline void count_user_end(enum jbpf_stack_end end)
{
	if (end == JBPF_END_MAX_DEPTH)
		count(JBPF_CNT_END_MAX_DEPTH);
	else if (end == JBPF_END_FAULT)
		count(JBPF_CNT_END_FAULT);
	else if (end == JBPF_END_BAD_FP)
		count(JBPF_CNT_END_BAD_FP);
	else if (end == JBPF_END_LEAF_ONLY)
		count(JBPF_CNT_END_LEAF_ONLY);
}

/* Fills state->user; returns its hash. `regs` are those of user mode. */
static __always_inline __u64 stack_take_user(struct bpf_perf_event_data *ctx, struct scratch *state,
					     const struct user_regs *regs)
{
	struct jbpf_stack *head = &state->user.head;
	enum jbpf_stack_end end = JBPF_END_LEAF_ONLY;
	__u64 fp = regs->fp;

	code_range_load(state);
	head->flags = 0;
	__builtin_memset(head->leaf_words, 0, sizeof(head->leaf_words));
	__builtin_memset(head->leaf_code, 0, sizeof(head->leaf_code));
	state->user.ips[0] = regs->ip;
	state->hash = hash_add(hash_of_life(&state->key), regs->ip);
	state->depth = 1;
	if (!regs->is_compat) {
		if (code_view_has(&state->code, regs->ip)) {
			fp = leaf_take(state, regs);
			hash_leaf(state);
		}
		end = walk_user(ctx, state, regs, fp);
	}
	count_user_end(end);
	head->frame_cnt = state->depth;
	head->kind = JBPF_STACK_USER;
	head->end = end;
	head->hash = hash_finish(state->hash, head);
	return head->hash;
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

/* Fills state->kernel; returns its hash, 0 when there is no stack to be had. */
static __always_inline __u64 stack_take_kernel(struct bpf_perf_event_data *ctx,
					       struct scratch *state)
{
	long len = bpf_get_stack(ctx, state->kernel.ips, JBPF_MAX_KERNEL_DEPTH * sizeof(__u64), 0);
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

	if (!state->key.user_hash || bpf_map_lookup_elem(&seen, &state->key.user_hash))
		return false;
	room = stack_room(account, set, bytes);
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
					__u32 set)
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
	/* What is checked is the very register that is used: 6.1 does not follow copies of it. */
	asm volatile("" : "+r"(frame_cnt));
	if (frame_cnt > frame_cnt_max)
		return true; /* never; says so to the verifier */
	if (!bpf_ringbuf_output(&stacks, (void *)head, sizeof(*head) + frame_cnt * sizeof(__u64),
				flags)) {
		if (account)
			stack_charge(account, set, sizeof(*head) + frame_cnt * sizeof(__u64));
		return true;
	}
	count(JBPF_CNT_STACK_BUFFER_FULL);
	bpf_map_delete_elem(&seen, &hash);
	return false;
}

#endif
