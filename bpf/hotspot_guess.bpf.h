/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the caller of interrupted JIT code probably is, when nothing is proved and the code at the
 * address leaves doubts. User space uses a guess only if the code proves that very place, and else
 * cuts the stack behind the leaf. So the first stack at an address need not be cut.
 */
#ifndef JBPF_HOTSPOT_GUESS_BPF_H
#define JBPF_HOTSPOT_GUESS_BPF_H

#include "bpf/code_range.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/walk.bpf.h"

#if defined(__TARGET_ARCH_x86)

#define GUESS_PUSHED_MAX 8 /* words that intrinsics push into the middle of a frame */

/* Does the stack have an address of JIT code there? */
static __always_inline bool is_code_at(struct scratch *state, __u64 at)
{
	__u64 word = 0;

	return stack_word(state, at, &word) && code_view_has(&state->code, word - 1);
}

/* Of compiled code that pushed more below its frame: HotSpot's char_array_compress() and others. */
static __always_inline __u32 guess_pushed(struct scratch *state, __u32 words)
{
	for (__u32 i = 1; i <= GUESS_PUSHED_MAX; i++) {
		__u32 word = words + i;

		if (word <= JBPF_LEAF_GUESS_WORD_MASK &&
		    is_code_at(state, state->unwind.sp + 8ull * (word - 1)))
			return word | JBPF_LEAF_GUESS_FP_SAVED;
	}
	return 0;
}

/* Of a stub: it has no frame, or one that the frame pointer leads to; libjvm calls some, too. */
static __always_inline __u32 guess_stub(struct scratch *state)
{
	__u64 fp = state->fp, word = (fp + 8 - state->unwind.sp) / 8 + 1;

	if (is_code_at(state, state->unwind.sp))
		return 1;
	if (fp < state->unwind.sp || fp & 7 || word > JBPF_LEAF_GUESS_WORD_MASK)
		return 0;
	return (__u32)word | JBPF_LEAF_GUESS_FP_SAVED | JBPF_LEAF_GUESS_BY_FP;
}

/* JBPF_LEAF_GUESS_* of state->jit.pc; 0: none. */
__noinline int leaf_guess_find(struct bpf_perf_event_data *ctx)
{
	struct scratch *state;

	asm volatile("" ::"r"(ctx));
	state = scratch_get();
	if (!state || state->depth != 1 || !(state->user.head.flags & JBPF_STACK_LEAF_CODE))
		return 0;
	if (state->jit.frame_words)
		return guess_pushed(state, state->jit.frame_words);
	return guess_stub(state);
}

#else

__noinline int leaf_guess_find(struct bpf_perf_event_data *ctx)
{
	asm volatile("" ::"r"(ctx));
	return 0;
}

#endif

#endif
