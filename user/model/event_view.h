/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views: what is read as one event, and stored as another, or as two. EVENT_WALL adds up CPU time and
 * waiting, whose samples stand for different times: it counts microseconds. EVENT_LOCK and EVENT_DISK
 * have some of the stacks of EVENT_OFF_CPU. An event that is no view is a view of itself. Pure.
 */
#ifndef JBPF_MODEL_EVENT_VIEW_H
#define JBPF_MODEL_EVENT_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/event.h"
#include "user/model/select.h"
#include "user/model/waiting_place.h"
#include "user/model/window.h"
#include "user/util/attributes.h"
#include "user/util/strbuf.h"

#define EVENT_WALL_PERIOD_NS 1000 /* what a count of EVENT_WALL stands for */

static inline bool event_is_view(enum event event)
{
	return event >= EVENT_CNT;
}

/* The stored events that it is read from, as EVENT_BIT(). */
uint32_t event_sources(enum event event);

/* Can there be idle threads in it? See WAITING_IDLE. */
static inline bool event_has_idle(enum event event)
{
	return event_sources(event) & EVENT_BIT(EVENT_OFF_CPU);
}

/* Are its counts those of threads that wait? Some of them wait for work: see waiting_place.h. */
static inline bool event_has_waits(enum event event)
{
	return event != EVENT_CPU && event_unit(event) == EVENT_UNIT_NANOSECONDS;
}

/* Has it some of the stacks of its source alone? */
static inline bool event_is_of_stacks(enum event event)
{
	return event == EVENT_LOCK || event == EVENT_DISK;
}

/* Is this stack of folded text, without its count, one of the view? */
bool event_takes_stack(enum event event, const char *stack, size_t len);

/*
 * What a view makes of stacks, remembered: the same ones come again with each window, and to look at each
 * frame of them costs more than to find them.
 */
struct event_stacks;

struct event_stack {
	bool is_taken;		  /* event_takes_stack() */
	enum waiting_place place; /* waiting_place_of() */
};

struct event_stacks *event_stacks__new(enum event event); /* NULL only when memory is short */
void event_stacks__free(struct event_stacks *stacks);	  /* NULL is fine */
/* Where memory is short, each call looks at the stack again. */
struct event_stack event_stacks__get(struct event_stacks *stacks, const char *stack, size_t len);

/*
 * How many counts of the view a sample of the window is: 1, but for EVENT_WALL. 0: the window does
 * not say what its samples stand for.
 */
uint64_t event_weight(enum event event, const struct window *window);

/*
 * What of the view is in no stack, below STACK_LINE_CPU_WAIT of the process: of EVENT_WALL, how long its threads
 * were ready and had no CPU. Of all of them together: 0 where parts of processes are wanted.
 */
uint64_t event_cpu_wait_ns(enum event event, const struct selection *selection,
			   const struct window *window);
/* Appends its stack, "java;[waiting for a CPU]". 0 or -ENOMEM. */
__must_check int event_cpu_wait_stack(struct strbuf *out, const struct window *window);

/*
 * Of the host's records of all sources: is this the one that says when there was sampling? One of each
 * time is enough.
 */
bool event_counts_time(enum event event, const struct window *window);

#endif
