/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places in which threads wait for work to come: the queues of pools, selectors, the JVM's own threads. Of what
 * threads wait for, these are most of the time, and say nothing of what is slow: tables and pages leave
 * them out unless they are asked for. Pure.
 */
#ifndef JBPF_MODEL_WAITING_PLACE_H
#define JBPF_MODEL_WAITING_PLACE_H

#include <stdbool.h>
#include <stddef.h>

enum waiting_place {
	WAITING_POOL = 0,
	WAITING_SELECTOR = 1,
	WAITING_REFERENCE = 2,
	WAITING_JVM = 3,
	WAITING_IDLE = 4, /* never ran in a window: below STACK_LINE_IDLE */
	WAITING_PLACE_CNT,
};

/*
 * A stack waits there when it has a frame of a name like `frame`, and not like `except`, whose callee's is like
 * `callee`. NULL: any, and of `except` none. A pattern is globs with blanks between: `*` stands for any text,
 * (a|b) for one of these.
 */
struct waiting_rule {
	enum waiting_place place;
	const char *frame;
	const char *except;
	const char *callee;
};

extern const struct waiting_rule waiting_rules[]; /* the last one has no frame */

/* "pool queues". */
const char *waiting_place_name(enum waiting_place place);

/* Where this stack of folded text, without its count, waits; WAITING_PLACE_CNT: in none of them. */
enum waiting_place waiting_place_of(const char *stack, size_t len);

/* Is it WAITING_IDLE? */
bool waiting_is_idle(const char *stack, size_t len);

/* Is a frame's name like the pattern? */
bool waiting_is_like(const char *pattern, const char *name, size_t len);

#endif
