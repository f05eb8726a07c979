/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One counted sample -> one line of folded text: comm, user frames, kernel frames, root first, with
 * the markers of stack_text.h; and the counts of what could not be named.
 *
 * In: stacks of a batch, borrowed, and the symbols of their process. Out: lines and counts, in the target,
 * whose parts are the caller's.
 */
#ifndef JBPF_NAMING_STACK_NAMER_H
#define JBPF_NAMING_STACK_NAMER_H

#include "user/util/attributes.h"
#include "symbols/symbols.h"
#include "user/collect/naming/naming_wire.h"
#include "user/collect/probe/probe.h"
#include "user/collect/naming/process.h"
#include "user/model/profile.h"
#include "user/model/source_lines.h"
#include "user/model/stack_text.h"
#include "user/model/thread_counts.h"
#include "user/model/window.h"

/* Scratch that keeps its memory from stack to stack; zero-initialise. */
struct stack_namer {
	const struct naming_batch *batch; /* where the stacks are */
	struct symbolizer *symbolizer;
	struct frame_list user;
	struct frame_list kernel;
	struct stack_line line;
	struct strbuf thread;
	uint64_t refuted_samples; /* so far: cut behind a leaf whose caller was none */
};

void stack_namer_release(struct stack_namer *namer);

/* Or the walk took a word for the return address that is none: an intrinsic had pushed something. */
static inline bool stack_is_cut_at_leaf(const struct probe_stack *stack)
{
	return stack->end == JBPF_END_LEAF || (stack->end == JBPF_END_JIT && stack->frame_cnt == 1);
}

/* A user stack of the probe as the symbolizer takes it; borrows what it borrows. */
static inline struct symbols_stack stack_namer_words(const struct probe_stack *stack)
{
	return (struct symbols_stack){
		.words = stack->ips,
		.word_cnt = stack->frame_cnt,
		.leaf_words = stack->leaf_words,
		.leaf_code = stack->leaf_code,
		.leaf_rule = stack->leaf_rule,
		.leaf_guess = stack->leaf_guess,
		.is_cut_at_leaf = stack_is_cut_at_leaf(stack),
	};
}

/* Where one window of a stream is collected. */
struct stack_namer_target {
	struct profile *profile;
	struct source_lines *lines;    /* of the leaves, where they are known */
	struct thread_counts *threads; /* of the profile's stacks, by their numbers */
	struct window *window;	       /* its counters of samples, frames and unknowns */
};

/*
 * Adds `count` to the target, paid for by the process's account: when its text of the window is
 * used up, names are cut, then stacks, see enum account_text. Its number in the profile is in
 * *stack_out, unless there are no samples. 0 or -ENOMEM, whatever the stack is.
 */
__must_check int stack_namer_add(struct stack_namer *namer, struct process *process,
				 const struct probe_count *count,
				 const struct stack_namer_target *target, uint32_t *stack_out);

#endif
