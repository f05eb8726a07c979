/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Idle threads in profiles of EVENT_OFF_CPU: those that never ran in a window wait below
 * STACK_LINE_IDLE. They are most of all waiting, and say nothing of what is slow: shown only when
 * they are asked for. Pure.
 */
#ifndef JBPF_MODEL_IDLE_H
#define JBPF_MODEL_IDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "user/model/stack_text.h"

/* Is this stack of folded text, without its count, that of an idle thread? */
static inline bool idle_is_stack(const char *stack, size_t len)
{
	const size_t idle_len = sizeof(STACK_LINE_IDLE) - 1;
	const char *root_end = memchr(stack, ';', len);
	size_t left;

	if (!root_end)
		return false;
	left = len - (size_t)(root_end + 1 - stack);
	return left >= idle_len && memcmp(root_end + 1, STACK_LINE_IDLE, idle_len) == 0 &&
	       (left == idle_len || root_end[1 + idle_len] == ';');
}

#endif
