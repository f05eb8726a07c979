/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The walk of user stacks by frame pointers, and what every walk is made of: words of the stack are
 * taken and hashed.
 *
 * The user walk is our own: bpf_get_stackid and bpf_get_stack stop at 127 frames and read every
 * frame singly. We read windows of user memory that end at a page border (a read that faults costs
 * 1-2 us) and follow the chain inside them. Loop bodies with branches live in global functions that
 * take only ctx: 5.10 knows no other argument, and newer verifiers refuse the same loop inlined.
 */
#ifndef JBPF_WALK_BPF_H
#define JBPF_WALK_BPF_H

#include "bpf/code_range.bpf.h"
#include "bpf/core_compat.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/verifier.bpf.h"

#define USER_PAGE_BYTES 4096 /* larger pages only make windows shorter than they could be */
#define FRAME_BYTES	16   /* saved frame pointer, return address */
/* Frames that are taken from a window before it is read again: the verifier walks through each. */
#define WINDOW_FRAMES 48
/* A walk is so many rounds of so many calls at most, for the same reason: more than JBPF_MAX_DEPTH. */
#define WALK_ROUND  32
#define WALK_ROUNDS (JBPF_MAX_DEPTH / WALK_ROUND + 1)

/*
 * In place of a return address in the frame that the stub of nmethods' entry barriers makes; the return
 * address is the next word (generate_method_entry_barrier(), stubGenerator_x86_64.cpp).
 */
#define BARRIER_COOKIE (~0ull)

#define RULE_OK (-1) /* in place of enum jbpf_stack_end */

enum walk_result {
	WALK_MORE = 0,
	WALK_DONE = 1,
};

/*
 * FNV-1a by 64-bit word. It keeps no secret: whoever chooses the words can flip a bit of one and
 * undo that with the next, whatever the seed was, in one try of some hundred. See hash_of_life().
 */
static __always_inline __u64 hash_add(__u64 hash, __u64 word)
{
	return (hash ^ word) * JBPF_FNV_PRIME;
}

static __always_inline __u64 window_word(const struct scratch *state, __u64 off, int plus)
{
	KEEP_BITS(off, WINDOW_BYTES - 8);
	return *(const volatile __u64 *)(state->window + off + plus);
}

/*
 * A verifier that tracks how a number grows on each path through a loop checks every mix of paths:
 * over a million instructions. After this, `any` may be anything to it.
 */
static __always_inline __u64 boundless(__u64 number, __u64 any)
{
	FORGET_BOUNDS(number, any);
	return number;
}

/*
 * At most a window. The check must be on the register that is used: 6.1 does not track copies of
 * it, and whether clang makes one is a matter of luck.
 */
static __always_inline __u64 window_bound(__u64 len)
{
	KEEP_BELOW(len, WINDOW_BYTES);
	return len;
}

static __always_inline void put_word(struct scratch *state, __u64 at, __u64 word)
{
	KEEP_BITS(at, JBPF_MAX_DEPTH - 1);
	state->user.ips[at] = word;
}

/*
 * Reads a window that begins at fp or, where the frame at fp is to give its Method*, below that.
 * What is below may lie in another page; if that cannot be read, the window begins at fp. Returns
 * how much was read, 0 for none, and at which address it begins.
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
		len = window_bound(len);
		if (!bpf_probe_read_user(state->window, len, (void *)*base))
			return len;
		len -= METHOD_BYTES_BELOW;
	}
	*base = fp;
	len = window_bound(len);
	return bpf_probe_read_user(state->window, len, (void *)fp) ? 0 : len;
}

/*
 * The Method* of the interpreted frame at `off`, a word before its return address; at 0 the memory below is
 * not there. False: there is no room for it.
 */
static __always_inline bool put_method(struct scratch *state, __u64 off, __u64 *hash, __u64 *depth)
{
	__u64 word = off ? window_word(state, off - METHOD_BYTES_BELOW, 0) : 0;

	if (!method_is_plausible(word))
		return true;
	if (*depth >= max_depth)
		return false;
	word |= JBPF_WORD_METHOD;
	*hash = hash_add(*hash, word);
	put_word(state, (*depth)++, word);
	return true;
}

#if defined(__TARGET_ARCH_x86)

/*
 * movdqu xmm0, [rsp]; movdqu xmm1, [rsp + 16]; as SSE or AVX has it: so the stub goes on after its call,
 * as nothing else does. Two ints of -1 on the stack look like a cookie, too.
 */
static __always_inline bool is_barrier_stub(__u64 address)
{
	__u64 code[2] = {};

	if (bpf_probe_read_user(code, 11, (void *)address) || code[1] != 0x10244c)
		return false;
	return code[0] == 0x6f0ff324046f0ff3 || code[0] == 0x6ffac524046ffac5;
}

#else

/* The stub's frame is like any other there. */
static __always_inline bool is_barrier_stub(__u64 address)
{
	return false;
}

#endif

/* The frame that has a cookie. */
struct barrier_frame {
	__u64 fp; /* the caller's */
	__u64 cookie;
	__u64 address;
};

/*
 * Reads the one at state->fp, which `address` returns into the code of. False: that is not the stub, or no
 * JIT code called it, as it alone does.
 */
static __always_inline bool barrier_frame_read(const struct scratch *state, __u64 address,
					       struct barrier_frame *out)
{
	return is_barrier_stub(address) &&
	       !bpf_probe_read_user(out, sizeof(*out), (void *)state->fp) &&
	       code_view_has(&state->code, out->address - 1);
}

/* The same of the word taken last: takes the frame's caller, or nothing. */
static __always_inline int barrier_frame_take(struct scratch *state)
{
	__u64 at = state->depth - 1;
	struct barrier_frame frame;

	KEEP_BITS(at, JBPF_MAX_DEPTH - 1);
	if (!at || !barrier_frame_read(state, state->user.ips[at], &frame) ||
	    frame.fp <= state->fp + 8 || frame.fp & 7)
		return JBPF_END_BAD_FP;
	if (state->depth >= max_depth)
		return JBPF_END_MAX_DEPTH;
	state->hash = hash_add(state->hash, frame.address);
	put_word(state, state->depth++, frame.address);
	state->unwind.sp = state->fp + sizeof(frame);
	state->address = frame.address;
	state->fp = frame.fp;
	return RULE_OK;
}

/*
 * One window: reads from scratch->fp up to the end of the page, at most WINDOW_BYTES, and follows
 * the frames in it. WALK_MORE when the chain goes on behind it. With `stays_in_jit` that is so, too,
 * where it leaves JIT code: then what its last frame has in state->fp need not be a frame pointer.
 */
static __always_inline int window_follow(struct scratch *state, const bool has_interpreter,
					 const bool stays_in_jit)
{
	__u64 sp = state->unwind.sp;
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

	for (int i = 0; i < WINDOW_FRAMES; i++) {
		__u64 off = fp - base;
		__u64 next;

		if (has_interpreter)
			depth = boundless(depth, fp);
		if (off > len - FRAME_BYTES)
			break; /* the next frame is in another window */
		if (has_interpreter && is_interpreted(state, address)) {
			/* Nothing this close together is a frame. */
			if (off && off < METHOD_BYTES_BELOW)
				break;
			if (!put_method(state, off, &hash, &depth)) {
				end = JBPF_END_MAX_DEPTH;
				break;
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
		if (stays_in_jit) {
			sp = fp + FRAME_BYTES;
			if (!code_view_has(&state->code, address - 1)) {
				fp = next;
				break;
			}
		}
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
	if (stays_in_jit) {
		state->unwind.sp = sp;
		state->unwind.window_base = base;
		state->unwind.window_len = len;
	}
	if (has_interpreter && end == JBPF_END_BAD_FP && address == BARRIER_COOKIE)
		end = barrier_frame_take(state);
	if (end < 0)
		return WALK_MORE;
	state->end = end;
	return WALK_DONE;
}

__noinline int walk_window(struct bpf_perf_event_data *ctx)
{
	struct scratch *state;

	/* The compiler drops an unused argument, but the verifier wants ctx to be passed. */
	asm volatile("" ::"r"(ctx));
	state = scratch_get();
	return state ? window_follow(state, false, false) : WALK_DONE;
}

/* The same for a JVM, where each frame may be an interpreted one. */
__noinline int walk_window_jvm(struct bpf_perf_event_data *ctx)
{
	struct scratch *state;

	asm volatile("" ::"r"(ctx));
	state = scratch_get();
	return state ? window_follow(state, true, false) : WALK_DONE;
}

/* A round of either; a window that is not the last holds one frame at least. */
__noinline int walk_windows(struct bpf_perf_event_data *ctx)
{
	struct scratch *state;
	bool is_jvm;

	asm volatile("" ::"r"(ctx));
	state = scratch_get();
	if (!state)
		return WALK_DONE;
	is_jvm = state->code.interpreter_len;
	for (int i = 0; i < WALK_ROUND; i++) {
		if (is_jvm ? walk_window_jvm(ctx) : walk_window(ctx))
			return WALK_DONE;
	}
	return WALK_MORE;
}

/* One window, as long as it stays in JIT code. */
__noinline int walk_window_jit(struct bpf_perf_event_data *ctx)
{
	struct scratch *state;

	asm volatile("" ::"r"(ctx));
	state = scratch_get();
	return state ? window_follow(state, true, true) : WALK_DONE;
}

/* The frame pointer of code that keeps one lies above the stack pointer, at a multiple of 8. */
static __always_inline int walk_by_fp_begin(struct scratch *state, const struct user_regs *regs,
					    __u64 fp)
{
	if (!fp)
		return JBPF_END_ROOT;
	if (fp < regs->sp || fp & 7)
		return JBPF_END_BAD_FP;
	state->fp = fp;
	state->address = regs->ip;
	state->end = JBPF_END_MAX_DEPTH;
	return RULE_OK;
}

/* Goes on where it stands. */
static __always_inline enum jbpf_stack_end walk_by_fp_run(struct bpf_perf_event_data *ctx,
							  struct scratch *state)
{
	for (int i = 0; i < WALK_ROUNDS; i++) {
		if (walk_windows(ctx))
			break;
	}
	return state->end;
}

static __always_inline enum jbpf_stack_end walk_by_fp(struct bpf_perf_event_data *ctx,
						      struct scratch *state,
						      const struct user_regs *regs, __u64 fp)
{
	int end = walk_by_fp_begin(state, regs, fp);

	return end == RULE_OK ? walk_by_fp_run(ctx, state) : (enum jbpf_stack_end)end;
}

/* ---- the walk by rules ---- */

/*
 * A word of the stack, out of the window where that has it; else the window begins there, as what is
 * wanted next lies above.
 */
static __always_inline bool stack_word(struct scratch *state, __u64 at, __u64 *out)
{
	__u64 off = at - state->unwind.window_base;

	if (off > state->unwind.window_len - sizeof(__u64)) {
		__u64 len = USER_PAGE_BYTES - (at & (USER_PAGE_BYTES - 1));

		if (len < sizeof(__u64))
			len = sizeof(__u64);
		state->unwind.window_base = ~0ull;
		state->unwind.window_len = sizeof(__u64);
		len = window_bound(len);
		if (bpf_probe_read_user(state->window, len, (void *)at))
			return false;
		state->unwind.window_base = at;
		state->unwind.window_len = len;
		off = 0;
	}
	*out = window_word(state, off, 0);
	return true;
}

/* Takes the address as the next word of the stack. RULE_OK, or why the walk ends. */
static __always_inline int address_take(struct scratch *state, __u64 address)
{
	__u64 depth = state->depth;

	if (address - 1 >= JBPF_USER_ADDRESS_END - 1)
		return address ? JBPF_END_BAD_CFA : JBPF_END_ROOT;
	if (depth >= max_depth)
		return JBPF_END_MAX_DEPTH;
	state->unwind.hash = state->hash;
	state->hash = hash_add(state->hash, address);
	put_word(state, depth, address);
	state->depth = depth + 1;
	return RULE_OK;
}

/* The same for the Method* of the frame whose address was taken last. */
static __always_inline int address_take_method(struct scratch *state, __u64 method)
{
	__u64 depth = state->depth;

	if (depth >= max_depth)
		return JBPF_END_MAX_DEPTH;
	method |= JBPF_WORD_METHOD;
	state->hash = hash_add(state->hash, method);
	put_word(state, depth, method);
	state->depth = depth + 1;
	return RULE_OK;
}

#endif
