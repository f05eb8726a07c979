/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is taken in JIT code only; user space writes for each JVM where that lies (`code_ranges`).
 * At the leaf: the words and the code that show whether its frame is set up. At interpreted frames:
 * the Method*. Any other process costs one lookup that finds nothing.
 */
#ifndef JBPF_CODE_RANGE_BPF_H
#define JBPF_CODE_RANGE_BPF_H

#include "bpf/core_compat.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/maps.bpf.h"

#define METHOD_BYTES_BELOW 24	/* interpreted frames keep their Method* this far below fp */
#define METHOD_LOWEST	   4096 /* nothing is mapped below */

#define barrier() asm volatile("" ::: "memory")

/*
 * Fills state->code for the process of state->key. An entry may be replaced, or deleted and reused
 * for another process, while it is read: its owner is read last, because it is written first.
 */
static __always_inline void code_range_load(struct scratch *state)
{
	struct jbpf_code_range *range = bpf_map_lookup_elem(&code_ranges, &state->key.pid);
	struct code_view *view = &state->code;

	if (range) {
		view->low = range->code_low;
		view->len = range->code_high - view->low;
		view->interpreter_low = range->interpreter_low;
		view->interpreter_len = range->interpreter_high - view->interpreter_low;
		barrier();
		if (range->start_ns == state->key.start_ns && range->exec_id == state->key.exec_id)
			return;
	}
	view->len = 0;
	view->interpreter_len = 0;
}

static __always_inline bool code_view_has(const struct code_view *view, __u64 address)
{
	return address - view->low < view->len;
}

static __always_inline bool is_interpreted(const struct scratch *state, __u64 address)
{
	return address - state->code.interpreter_low < state->code.interpreter_len;
}

/* Does this word look like a pointer to a Method? Frames that are being made hold anything. */
static __always_inline bool method_is_plausible(__u64 word)
{
	return word - METHOD_LOWEST - 1 < JBPF_USER_ADDRESS_END - METHOD_LOWEST - 1 && !(word & 7);
}

/* The process runs another program, or ended: the entry is nobody's. */
static __always_inline void code_range_forget(void)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;

	bpf_map_delete_elem(&code_ranges, &pid);
}

/*
 * A word that is not an address in the code says nothing about the caller. If it were kept, almost
 * every sample would have a stack of its own.
 */
static __always_inline __u64 leaf_word(const struct code_view *view, __u64 word)
{
	word = return_address(word);
	return code_view_has(view, word) ? word : 0;
}

#if defined(__TARGET_ARCH_x86)

/*
 * Small compiled methods make their frame by sub rsp, n; mov [rsp + d], rbp; mov rbp, rsp;
 * add rbp, d: the return address lies in the word above the stored rbp. At the second and third of
 * these (bytes 48 89 6c 24 d; 48 8b ec 48 83 c5 d) this gives d, else 0.
 */
static __always_inline __u64 leaf_saves_fp_at(const struct jbpf_stack *head)
{
	__u64 code = *(const __u64 *)head->leaf_code;

	if ((code & 0xffffffff) == 0x246c8948)
		return (code >> 32) & 0x78;
	if ((code & 0xffffffffffff) == 0xc58348ec8b48)
		return (code >> 48) & 0x78;
	return 0;
}

/*
 * The frame pointer to begin with, by the code at the leaf: at the fourth (48 83 c5 d) rbp still equals
 * rsp, and is about to point to the frame.
 */
static __always_inline __u64 leaf_frame(__u64 code, const struct user_regs *regs)
{
	if ((code & 0xffffff) != 0xc58348 || regs->fp != regs->sp)
		return regs->fp;
	return regs->sp + ((code >> 24) & 0x78);
}

/*
 * The same where it is not known which code is a JIT's. A chain from rsp would begin with what an
 * earlier call left there.
 */
static __always_inline __u64 any_leaf_frame(const struct user_regs *regs)
{
	__u32 code = 0;

	if (regs->fp == regs->sp)
		(void)bpf_probe_read_user(&code, sizeof(code), (void *)regs->ip);
	return leaf_frame(code, regs);
}

/*
 * Where a leaf's return address, which lies at `at`, is of the interpreter, rbp is still that frame's, and
 * its Method* is to be had; in place of the other word, which says nothing then: the adapter or an earlier
 * call left it there. Such a frame notes what its sp was before the return address
 * (prepare_to_jump_from_interpreted(), interp_masm_x86.cpp; from JDK 22 on as words from fp), and the
 * adapter to compiled code pushes that once more, aligned (gen_i2c_adapter(), sharedRuntime_x86_64.cpp): a
 * frame that notes anything else is another one.
 */
static __always_inline void leaf_take_method(const struct user_regs *regs, __u64 at, __u64 *word)
{
	__u64 below[2] = {}; /* Method*, last sp */

	if (regs->fp & 7 ||
	    bpf_probe_read_user(below, sizeof(below), (void *)(regs->fp - METHOD_BYTES_BELOW)))
		return;
	if (below[1] & 1ull << 63)
		below[1] = regs->fp + below[1] * 8;
	below[1] -= at + sizeof(__u64);
	if (below[1] <= 2 * sizeof(__u64) && !(below[1] & 7) && method_is_plausible(below[0]))
		*word = below[0] | JBPF_WORD_METHOD;
}

/* The code says which word is the return address, or the other one is none. */
static __always_inline void leaf_take_method_of(struct scratch *state)
{
	const struct user_regs *regs = &state->regs;
	struct jbpf_stack *head = &state->user.head;
	__u64 saves_fp_at = leaf_saves_fp_at(head);
	__u64 *words = head->leaf_words;

	if (is_interpreted(state, words[0]) && !saves_fp_at)
		leaf_take_method(regs, regs->sp, &words[1]);
	else if (is_interpreted(state, words[1]) && (saves_fp_at || !words[0]))
		leaf_take_method(regs, regs->sp + saves_fp_at + sizeof(__u64), &words[0]);
}

#else

static __always_inline __u64 leaf_saves_fp_at(const struct jbpf_stack *head)
{
	return 0;
}

static __always_inline __u64 leaf_frame(__u64 code, const struct user_regs *regs)
{
	return regs->fp;
}

static __always_inline __u64 any_leaf_frame(const struct user_regs *regs)
{
	return regs->fp;
}

static __always_inline void leaf_take_method_of(struct scratch *state)
{
}

#endif

/* A global function: the verifier checks it once, and not for each way to here. */
__noinline int leaf_find_method(struct bpf_perf_event_data *ctx)
{
	struct scratch *state;

	asm volatile("" ::"r"(ctx));
	state = scratch_get();
	if (state)
		leaf_take_method_of(state);
	return 0;
}

/*
 * Fills the leaf of state->user, as far as memory can be read. Returns the frame pointer to begin
 * with.
 */
static __always_inline __u64 leaf_take(struct bpf_perf_event_data *ctx, struct scratch *state,
				       const struct user_regs *regs)
{
	struct jbpf_stack *head = &state->user.head;
	__u64 frame;

	if (bpf_probe_read_user(head->leaf_code, sizeof(head->leaf_code), (void *)regs->ip))
		count(JBPF_CNT_LEAF_UNREAD);
	else
		head->flags |= JBPF_STACK_LEAF_CODE;
	if (bpf_probe_read_user(head->leaf_words, sizeof(head->leaf_words), (void *)regs->sp)) {
		count(JBPF_CNT_LEAF_UNREAD);
		return regs->fp;
	}
	frame = leaf_saves_fp_at(head);
	if (frame && bpf_probe_read_user(&head->leaf_words[1], sizeof(head->leaf_words[1]),
					 (void *)(regs->sp + frame + sizeof(__u64))))
		head->leaf_words[1] = 0;
	head->leaf_words[0] = leaf_word(&state->code, head->leaf_words[0]);
	head->leaf_words[1] = leaf_word(&state->code, head->leaf_words[1]);
	head->flags |= JBPF_STACK_LEAF_WORDS;
	if (is_interpreted(state, head->leaf_words[0]) ||
	    is_interpreted(state, head->leaf_words[1]))
		leaf_find_method(ctx);
	return leaf_frame(*(const __u64 *)head->leaf_code, regs);
}

#endif
