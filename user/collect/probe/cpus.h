/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of CPUs as sysfs writes them ("0-3,5,7-8\n"), and the sampling events opened on them. */
#ifndef JBPF_PROBE_CPUS_H
#define JBPF_PROBE_CPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/event.h"
#include "user/util/attributes.h"

#define CPUS_MAX 8192 /* the kernel's own limit (NR_CPUS of a MAXSMP build) */

/*
 * Parses a list into ascending numbers without repeats, at most `max` of them. 0, -EINVAL for
 * anything that is no such list or names a CPU >= CPUS_MAX, -E2BIG. Outputs as they were on error.
 */
__must_check int cpus_parse(const char *text, uint32_t *cpus, size_t max, size_t *cnt_out);

/* CPUs that are online now, from sysfs. Free with free(). 0 or -errno; -ENODEV when none is. */
__must_check int cpus_online(uint32_t **cpus_out, size_t *cnt_out);

struct cpu_events;

struct cpu_events_options {
	uint32_t software; /* PERF_COUNT_SW_*: CPU_CLOCK samples by frequency, others by period */
	uint32_t frequency_hz; /* not 0 */
	uint64_t period;       /* not 0; so many of them per sample, on each CPU by itself */
	int program_fd; /* a perf_event program, run at each sample; borrowed while the events live */
};

/* No event yet; cpu_events__follow() opens them. NULL only when memory is short. */
struct cpu_events *cpu_events__new(const struct cpu_events_options *options);
void cpu_events__free(struct cpu_events *events); /* NULL is fine */

/*
 * Opens an event on each of these CPUs that has none, closes those of other CPUs and those that have not
 * been on since the last call (an event does not survive its CPU going offline, if only for a moment). New ones run when the others do. -errno of the first that
 * fails, with `cpu_out` set; the others are then opened nevertheless.
 */
__must_check int cpu_events__follow(struct cpu_events *events, const uint32_t *cpus, size_t cnt,
				    uint32_t *cpu_out);

/* Other samples per second from now on, also of events to come. 0 or -errno of the first. */
__must_check int cpu_events__set_frequency(struct cpu_events *events, uint32_t frequency_hz);

int cpu_events__enable(struct cpu_events *events);
void cpu_events__disable(struct cpu_events *events);

/* On how many CPUs there is an event. */
size_t cpu_events__count(const struct cpu_events *events);

/* ---- several of them ---- */

struct ksymbol_watch;

/* One for each kind of event that is sampled, else NULL. Zero-initialise. */
struct cpu_event_set {
	struct cpu_events *of[EVENT_CNT];
	struct ksymbol_watch *ksymbols; /* of the same CPUs */
};

/* Is one of these events (EVENT_BIT()) sampled by a counter other than the clock? */
bool cpus_have_counters(uint32_t events);

/* What the BPF programs get for an event: its PERF_COUNT_SW_*. */
uint32_t cpu_event_software(enum event event);

struct probe_options;

/* Those of the options, without events on CPUs: the CPU's clock runs one program, others the other. 0 or -ENOMEM. */
__must_check int cpu_event_set_fill(struct cpu_event_set *set, const struct probe_options *options,
				    int clock_program_fd, int event_program_fd);
void cpu_event_set_release(struct cpu_event_set *set);

/* As the functions above, for all. */
__must_check int cpu_event_set_follow(struct cpu_event_set *set, const uint32_t *cpus, size_t cnt,
				      uint32_t *cpu_out);
__must_check int cpu_event_set_enable(struct cpu_event_set *set);
void cpu_event_set_disable(struct cpu_event_set *set);
/* Of EVENT_CPU, if that is sampled. */
__must_check int cpu_event_set_frequency(struct cpu_event_set *set, uint32_t frequency_hz);
/* On how many CPUs there are all of them. */
size_t cpu_event_set_count(const struct cpu_event_set *set);

#endif
