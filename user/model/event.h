/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is sampled. Each event has a tree of its own in the store, and its samples stand for a fixed
 * number of something, the period: nanoseconds of CPU time, page faults. No I/O.
 */
#ifndef JBPF_MODEL_EVENT_H
#define JBPF_MODEL_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"

/* Values reach disk: append only. 0 is what was there before there were others. */
enum event {
	EVENT_CPU = 0,		/* time on a CPU */
	EVENT_PAGE_FAULTS = 1,	/* of all kinds: memory that is touched for the first time */
	EVENT_MAJOR_FAULTS = 2, /* page faults that wait for a disk */
	EVENT_CONTEXT_SWITCHES = 3,
	EVENT_CPU_MIGRATIONS = 4,
	EVENT_OFF_CPU = 5, /* time in which a thread waits */
	EVENT_SCHED = 6,   /* the same, every wait of it measured */
	EVENT_ALLOC = 7,   /* memory that a JVM takes from its Java heap, measured */
	EVENT_CNT = 8,
	/* Views: read from what is stored of others, see event_view.h. Their values reach no disk. */
	EVENT_WALL = EVENT_CNT, /* time on a CPU, and time in which a thread waits */
	EVENT_LOCK,		/* of EVENT_OFF_CPU: waiting for locks */
	EVENT_DISK,		/* of EVENT_OFF_CPU: uninterruptible */
	EVENT_VIEW_END,
};

/* What a period is in. Values reach disk: append only. */
enum event_unit {
	EVENT_UNIT_NONE = 0, /* not said: as EVENT_CPU was before */
	EVENT_UNIT_NANOSECONDS = 1,
	EVENT_UNIT_EVENTS = 2, /* the event itself: faults, switches */
	EVENT_UNIT_BYTES = 3,
};

#define EVENT_BIT(event) (1u << (event))
#define EVENT_NAMES_MAX	 96 /* bytes of event_names(), with its NUL */

/* "cpu", "page-faults", ...: on the command line, in JSON, and the directory below v1. NULL at the end. */
extern const char *const event_words[EVENT_CNT + 1];
/* The same with the views behind them. */
extern const char *const event_view_words[EVENT_VIEW_END + 1];
/* One of these; "unknown" of an event of a later jbpf. */
const char *event_name(enum event event);
/* EVENT_CNT when none of that name is stored. */
enum event event_by_name(const char *name, size_t len);

/* One of what is counted, many of them: "page fault", "page faults"; of EVENT_CPU "sample". */
const char *event_noun(enum event event, bool is_plural);
/* Over a picture of it: "CPU", "Page faults". */
const char *event_title(enum event event);
enum event_unit event_unit(enum event event);
/* "nanoseconds", "faults", ...: what a period of the event is in. */
const char *event_unit_name(enum event event);
/* The same in the words of pprof and OTLP: "nanoseconds", "bytes", else "count". */
const char *event_value_unit(enum event event);
/* For people who do not say: what a sample stands for; 0 for EVENT_CPU, where the frequency says it. */
uint64_t event_default_period(enum event event);
/* What so many samples stand for, in the period's unit, at most the largest number; without a period (0) themselves. */
uint64_t event_amount(uint64_t samples, uint64_t period);
/* Are its counts times or sizes that were measured, in units of the period, and no samples? */
bool event_is_measured(enum event event);
/* What is sampled by clocks and counters of CPUs; the others have programs of their own. */
bool event_is_of_cpus(enum event event);

/* "cpu, page-faults": those of a set of EVENT_BIT(). */
void event_names(uint32_t events, char out[static EVENT_NAMES_MAX]);
/* Names with commas between them, as a set of EVENT_BIT(). 0, or -EINVAL: unknown, twice, or none. */
__must_check int event_parse_set(const char *text, uint32_t *events_out);

#endif
