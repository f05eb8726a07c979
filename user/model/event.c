// SPDX-License-Identifier: Apache-2.0
/* The table of events; see event.h. Names reach disk and JSON: append, never rename. */
#include "user/model/event.h"

#include <errno.h>
#include <string.h>

#include "user/util/cleanup.h"
#include "user/util/saturate.h"

#define EVENT_WORDS                                                                           \
	[EVENT_CPU] = "cpu", [EVENT_PAGE_FAULTS] = "page-faults",                             \
	[EVENT_MAJOR_FAULTS] = "major-faults", [EVENT_CONTEXT_SWITCHES] = "context-switches", \
	[EVENT_CPU_MIGRATIONS] = "cpu-migrations", [EVENT_OFF_CPU] = "off-cpu",               \
	[EVENT_SCHED] = "sched", [EVENT_ALLOC] = "alloc"

const char *const event_words[EVENT_CNT + 1] = {
	EVENT_WORDS,
};

const char *const event_view_words[EVENT_VIEW_END + 1] = {
	EVENT_WORDS,
	[EVENT_WALL] = "wall",
	[EVENT_LOCK] = "lock",
	[EVENT_DISK] = "disk",
};

struct event_row {
	const char *title;
	const char *one;
	const char *many;
	const char *unit_name;
	enum event_unit unit;
	uint64_t default_period;
};

/*
 * A page fault costs about a microsecond, and a walk a third of one: one of 64 is not noticed. Major
 * faults and migrations are rare; of context switches a busy host has hundreds of thousands a second.
 */
static const struct event_row rows[EVENT_VIEW_END] = {
	[EVENT_CPU] = { "CPU", "sample", "samples", "nanoseconds", EVENT_UNIT_NANOSECONDS, 0 },
	[EVENT_PAGE_FAULTS] = { "Page faults", "page fault", "page faults", "faults",
				EVENT_UNIT_EVENTS, 64 },
	[EVENT_MAJOR_FAULTS] = { "Major page faults", "major page fault", "major page faults",
				 "faults", EVENT_UNIT_EVENTS, 1 },
	[EVENT_CONTEXT_SWITCHES] = { "Context switches", "context switch", "context switches",
				     "switches", EVENT_UNIT_EVENTS, 16 },
	[EVENT_CPU_MIGRATIONS] = { "CPU migrations", "CPU migration", "CPU migrations",
				   "migrations", EVENT_UNIT_EVENTS, 1 },
	[EVENT_OFF_CPU] = { "Waiting", "waiting", "waiting", "nanoseconds", EVENT_UNIT_NANOSECONDS,
			    100000000 },
	[EVENT_SCHED] = { "Exact waiting", "waiting", "waiting", "nanoseconds",
			  EVENT_UNIT_NANOSECONDS, 1000 },
	[EVENT_ALLOC] = { "Java allocation", "allocation", "allocation", "bytes", EVENT_UNIT_BYTES,
			  1024 },
	[EVENT_WALL] = { "Wall-clock time", "wall-clock time", "wall-clock time", "nanoseconds",
			 EVENT_UNIT_NANOSECONDS, 0 },
	[EVENT_LOCK] = { "Waiting for locks", "waiting for locks", "waiting for locks",
			 "nanoseconds", EVENT_UNIT_NANOSECONDS, 100000000 },
	[EVENT_DISK] = { "Waiting for disks", "waiting for disks", "waiting for disks",
			 "nanoseconds", EVENT_UNIT_NANOSECONDS, 100000000 },
};

/* What a file says may be of a later jbpf. */
static const struct event_row *row_of(enum event event)
{
	static const struct event_row later = { "unknown event", "event",	    "events",
						"events",	 EVENT_UNIT_EVENTS, 1 };

	return (size_t)event < ARRAY_SIZE(rows) ? &rows[event] : &later;
}

const char *event_name(enum event event)
{
	return (size_t)event < EVENT_VIEW_END ? event_view_words[event] : "unknown";
}

enum event event_by_name(const char *name, size_t len)
{
	for (size_t i = 0; i < EVENT_CNT; i++) {
		if (strlen(event_words[i]) == len && memcmp(event_words[i], name, len) == 0)
			return (enum event)i;
	}
	return EVENT_CNT;
}

const char *event_noun(enum event event, bool is_plural)
{
	return is_plural ? row_of(event)->many : row_of(event)->one;
}

const char *event_title(enum event event)
{
	return row_of(event)->title;
}

enum event_unit event_unit(enum event event)
{
	return row_of(event)->unit;
}

const char *event_unit_name(enum event event)
{
	return row_of(event)->unit_name;
}

const char *event_value_unit(enum event event)
{
	switch (event_unit(event)) {
	case EVENT_UNIT_NANOSECONDS:
		return "nanoseconds";
	case EVENT_UNIT_BYTES:
		return "bytes";
	default:
		return "count";
	}
}

uint64_t event_default_period(enum event event)
{
	return row_of(event)->default_period;
}

uint64_t event_amount(uint64_t samples, uint64_t period)
{
	return period ? multiply_saturated(samples, period) : samples;
}

bool event_is_measured(enum event event)
{
	return event == EVENT_SCHED || event == EVENT_ALLOC;
}

bool event_is_of_cpus(enum event event)
{
	return event != EVENT_OFF_CPU && !event_is_measured(event);
}

void event_names(uint32_t events, char out[static EVENT_NAMES_MAX])
{
	char *at = out;

	*at = '\0';
	for (size_t i = 0; i < EVENT_CNT; i++) {
		if (!(events & EVENT_BIT(i)))
			continue;
		if (at != out)
			at = stpcpy(at, ", ");
		at = stpcpy(at, event_words[i]);
	}
}

int event_parse_set(const char *text, uint32_t *events_out)
{
	uint32_t events = 0;

	for (const char *at = text;; at++) {
		size_t len = strcspn(at, ",");
		enum event event = event_by_name(at, len);

		if (event == EVENT_CNT || events & EVENT_BIT(event))
			return -EINVAL;
		events |= EVENT_BIT(event);
		at += len;
		if (!*at)
			break;
	}
	*events_out = events;
	return 0;
}
