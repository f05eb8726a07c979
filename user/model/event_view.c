// SPDX-License-Identifier: Apache-2.0
/* See event_view.h. */
#include "user/model/event_view.h"

#include <stdlib.h>
#include <string.h>

#include "user/model/stack_text.h"
#include "user/util/cleanup.h"
#include "user/util/strtab.h"
#include "user/util/vec.h"

/*
 * Functions in which threads wait for locks: of HotSpot for monitors (synchronized), those below
 * which java.util.concurrent waits, and those of libc for mutexes, also of malloc(). A name that ends
 * with a star is the begin of one.
 */
static const char *const lock_functions[] = {
	"_complete_monitor_locking_Java",
	"SharedRuntime::complete_monitor_locking_C*",
	"SharedRuntime::monitor_enter_helper*",
	"InterpreterRuntime::monitorenter*",
	"Runtime1::monitorenter*",
	"ObjectSynchronizer::enter*",
	"ObjectSynchronizer::jni_enter*",
	"ObjectSynchronizer::fast_enter*",
	"ObjectSynchronizer::slow_enter*",
	"ObjectMonitor::enter*",
	"ObjectMonitor::EnterI*",
	"ObjectMonitor::ReenterI*",
	"ObjectMonitor::reenter*",
	"Unsafe_Park*",
	"sun.misc.Unsafe.park",
	"jdk.internal.misc.Unsafe.park",
	"java.util.concurrent.locks.LockSupport.park*",
	"pthread_mutex_lock",
	"__pthread_mutex_lock*",
	"___pthread_mutex_lock",
	"__GI___pthread_mutex_lock",
	"pthread_mutex_timedlock",
	"__pthread_mutex_timedlock*",
	"pthread_mutex_clocklock",
	"pthread_rwlock_*",
	"__pthread_rwlock_*",
	"___pthread_rwlock_*",
	"__lll_lock_wait*",
};

uint32_t event_sources(enum event event)
{
	switch (event) {
	case EVENT_WALL:
		return EVENT_BIT(EVENT_CPU) | EVENT_BIT(EVENT_OFF_CPU);
	case EVENT_LOCK:
	case EVENT_DISK:
		return EVENT_BIT(EVENT_OFF_CPU);
	default:
		return EVENT_BIT(event);
	}
}

static bool is_function(const struct stack_frame *frame, const char *name)
{
	size_t len = strlen(name);

	if (name[len - 1] == '*')
		return frame->name_len >= len - 1 && memcmp(frame->name, name, len - 1) == 0;
	return frame->name_len >= len && memcmp(frame->name, name, len) == 0 &&
	       stack_text_method_len(frame->name, frame->name_len) == len;
}

static bool is_of_lock(const struct stack_frame *frame)
{
	if (frame->kind == FRAME_KIND_KERNEL)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(lock_functions); i++) {
		if (is_function(frame, lock_functions[i]))
			return true;
	}
	return false;
}

static bool waits_for_lock(const char *stack, size_t len)
{
	struct stack_frame frame;

	while (stack_text_next(&stack, &len, &frame)) {
		if (is_of_lock(&frame))
			return true;
	}
	return false;
}

static bool waits_for_disk(const char *stack, size_t len)
{
	struct stack_frame leaf;

	return stack_text_leaf(stack, len, &leaf) && is_function(&leaf, STACK_LINE_DISK);
}

bool event_takes_stack(enum event event, const char *stack, size_t len)
{
	switch (event) {
	case EVENT_LOCK:
		return waits_for_lock(stack, len);
	case EVENT_DISK:
		return waits_for_disk(stack, len);
	default:
		return true;
	}
}

/* ---- remembered ---- */

#define REMEMBERED_BYTES_MAX (64u << 20)

struct event_stacks {
	enum event event;
	struct strtab *known;	    /* NULL = nothing is, for the moment */
	struct event_stack *stacks; /* by id */
	size_t cap;
};

struct event_stacks *event_stacks__new(enum event event)
{
	struct event_stacks *stacks = calloc(1, sizeof(*stacks));

	if (stacks)
		stacks->event = event;
	return stacks;
}

void event_stacks__free(struct event_stacks *stacks)
{
	if (!stacks)
		return;
	strtab__free(stacks->known);
	free(stacks->stacks);
	free(stacks);
}

static struct event_stack stack_of(enum event event, const char *stack, size_t len)
{
	return (struct event_stack){
		.is_taken = event_takes_stack(event, stack, len),
		.place = waiting_place_of(stack, len),
	};
}

/* Windows of one process follow each other: what was forgotten is soon known again. */
static void make_room(struct event_stacks *stacks)
{
	if (stacks->known && strtab__bytes(stacks->known) > REMEMBERED_BYTES_MAX) {
		strtab__free(stacks->known);
		stacks->known = NULL;
	}
	if (!stacks->known)
		stacks->known = strtab__new();
}

struct event_stack event_stacks__get(struct event_stacks *stacks, const char *stack, size_t len)
{
	struct event_stack found;
	uint32_t id, cnt;

	make_room(stacks);
	if (!stacks->known)
		return stack_of(stacks->event, stack, len);
	cnt = strtab__count(stacks->known);
	id = strtab__find(stacks->known, stack, len);
	if (id != STRTAB_NONE)
		return stacks->stacks[id];
	found = stack_of(stacks->event, stack, len);
	if (vec_room(stacks->stacks, cnt, stacks->cap, 256) == 0 &&
	    strtab__intern(stacks->known, stack, len, &id) == 0)
		stacks->stacks[id] = found;
	return found;
}

uint64_t event_weight(enum event event, const struct window *window)
{
	return event == EVENT_WALL ? window_period(window) / EVENT_WALL_PERIOD_NS : 1;
}

uint64_t event_cpu_wait_ns(enum event event, const struct selection *selection,
			   const struct window *window)
{
	if (event != EVENT_WALL || window->event != EVENT_OFF_CPU ||
	    selection_is_of_parts(selection))
		return 0;
	return window->counts.run_delay_ns;
}

int event_cpu_wait_stack(struct strbuf *out, const struct window *window)
{
	int err =
		stack_text_append(out, window_label(window, WINDOW_LABEL_COMM), FRAME_KIND_NATIVE);

	strbuf_puts(out, ";" STACK_LINE_CPU_WAIT);
	return err ? err : strbuf_error(out);
}

bool event_counts_time(enum event event, const struct window *window)
{
	return event != EVENT_WALL || window->event == EVENT_CPU;
}
