// SPDX-License-Identifier: Apache-2.0
/* The words for ends of stacks. They reach JSON and metrics: append, never rename. */
#include "user/model/stack_end.h"

#include <stddef.h>

#include "user/util/cleanup.h"

static const char *const names[STACK_END_CNT] = {
	[STACK_END_ROOT] = "root",
	[STACK_END_MAX_DEPTH] = "max_depth",
	[STACK_END_FAULT] = "fault",
	[STACK_END_BAD_FP] = "bad_fp",
	[STACK_END_NO_WALK] = "no_walk",
	[STACK_END_OVER_BUDGET] = "over_budget",
	[STACK_END_NO_FP] = "no_fp",
	[STACK_END_NO_RULE] = "no_rule",
	[STACK_END_NO_MAPPING] = "no_mapping",
	[STACK_END_UNSUPPORTED] = "unsupported",
	[STACK_END_JIT] = "jit",
	[STACK_END_BAD_CFA] = "bad_cfa",
	[STACK_END_FROZEN] = "frozen",
	[STACK_END_UNPROVED_LEAF] = "unproved_leaf",
	[STACK_END_MAX_RULES] = "max_rules",
	[STACK_END_LOST] = "lost",
	[STACK_END_LONG_TEXT] = "long_text",
};

const char *stack_end_name(enum stack_end end)
{
	return (size_t)end < ARRAY_SIZE(names) ? names[end] : "unknown";
}
