/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a stack does not reach its thread's first function, as users read it: in jbpf status, in JSON,
 * in metrics. docs/unwind.md says what each means and what helps.
 */
#ifndef JBPF_MODEL_STACK_END_H
#define JBPF_MODEL_STACK_END_H

/* Values reach disk: append only. */
enum stack_end {
	STACK_END_ROOT = 0,	 /* it does reach it */
	STACK_END_MAX_DEPTH = 1, /* more frames than --max-depth */
	STACK_END_FAULT = 2,	 /* the memory of the next frame could not be read */
	STACK_END_BAD_FP = 3,	 /* the frame pointer leads to no frame */
	STACK_END_NO_WALK = 4,	 /* a 32-bit program, or no registers */
	STACK_END_OVER_BUDGET = 5,
	/* The frame pointer was 0 at the first frame, which code without frame pointers does. */
	STACK_END_NO_FP = 6,
	STACK_END_NO_RULE = 7,	      /* a file has no table of rules, or none for this address */
	STACK_END_NO_MAPPING = 8,     /* a return address in no executable mapping that is known */
	STACK_END_UNSUPPORTED = 9,    /* a rule that tables do not hold */
	STACK_END_JIT = 10,	      /* no frame was found at code of a JIT */
	STACK_END_BAD_CFA = 11,	      /* the rule leads to no frame */
	STACK_END_FROZEN = 12,	      /* a virtual thread's frames are on the heap */
	STACK_END_UNPROVED_LEAF = 13, /* what the leaf's caller is was not proved */
	STACK_END_MAX_RULES = 14,     /* more frames without frame pointers than are walked */
	STACK_END_LOST = 15,	      /* the stack did not reach user space, or was not named */
	STACK_END_LONG_TEXT = 16,     /* its names are longer than a line may be */
	STACK_END_CNT,
};

/* "root", "max_depth", ...; "unknown" beyond the enum. */
const char *stack_end_name(enum stack_end end);

#endif
