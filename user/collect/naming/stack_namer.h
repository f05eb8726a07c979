/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One counted sample -> one line of folded text: comm, user frames, kernel frames, root first, with
 * the markers of stack_text.h; and the counts of what could not be named.
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
#include "user/model/window.h"

/* Scratch that keeps its memory from stack to stack; zero-initialise. */
struct stack_namer {
	const struct naming_batch *batch; /* where the stacks are */
	struct symbolizer *symbolizer;
	struct frame_list user;
	struct frame_list kernel;
	struct stack_line line;
};

void stack_namer_release(struct stack_namer *namer);

/* A user stack of the probe as the symbolizer takes it; borrows what it borrows. */
static inline struct symbols_stack stack_namer_words(const struct probe_stack *stack)
{
	return (struct symbols_stack){
		.words = stack->ips,
		.word_cnt = stack->frame_cnt,
		.leaf_words = stack->leaf_words,
		.leaf_code = stack->leaf_code,
	};
}

/* What one window of a stream is gathered in. */
struct stack_namer_target {
	struct profile *profile;
	struct source_lines *lines; /* of the leaves, where they are known */
	struct window *window;	    /* its counters of samples, frames and unknowns */
};

/*
 * Adds `count` to the target, at the cost of the process's account: past its text of the window names
 * are cut, then stacks, see enum account_text. 0 or -ENOMEM, whatever the stack is.
 */
__must_check int stack_namer_add(struct stack_namer *namer, struct process *process,
				 const struct probe_count *count,
				 const struct stack_namer_target *target);

#endif
