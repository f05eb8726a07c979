/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics of jbpfd, and their text in Prometheus's exposition format 0.0.4. METRICS.md lists
 * every metric; their names are stable, as the store's format is. Pure.
 */
#ifndef JBPF_SERVE_METRICS_H
#define JBPF_SERVE_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/model/pass_facts.h"
#include "user/model/unwind_facts.h"
#include "user/model/window.h"
#include "user/util/strbuf.h"

/* Upper bounds of the histogram of times to end a window, in ms; one more bucket for the rest. */
#define METRICS_BUCKET_BOUNDS_MS                               \
	{                                                      \
		10, 50, 100, 250, 500, 1000, 2500, 5000, 10000 \
	}
#define METRICS_BUCKET_CNT 10
#define METRICS_STATES_MAX 32

/* One value of a label and how many there are. */
struct metrics_state {
	const char *name; /* borrowed; NULL = left out */
	uint64_t cnt;
};

struct metrics {
	const char *version;

	/* Since the start. */
	struct window_counts counts;	   /* of all streams of CPU time that were written */
	uint64_t event_samples[EVENT_CNT]; /* of all streams of each event */
	uint64_t lost[WINDOW_LOSS_CNT];	   /* as in the host records */
	uint64_t windows_written;
	uint64_t windows_failed;
	uint64_t end_ns_sum; /* time to end a window */
	uint64_t end_buckets[METRICS_BUCKET_CNT];
	uint64_t compactions_done;
	uint64_t compactions_failed;
	uint64_t compaction_unix_ns; /* when the last one was done; 0 = none */
	uint64_t server_restarts;
	uint64_t parser_failures;
	uint64_t parser_restarts;
	uint64_t unwind_built;
	uint64_t namer_restarts;
	uint64_t bans;
	uint64_t
		naming_silent_ns; /* since the last window that was named; 0 while naming goes on */

	/* Of the last window. */
	uint64_t last_window_unix_ns; /* its end, once it was written; 0 = none */
	uint64_t last_end_ns;	      /* time to end it */
	struct pass_facts passes;     /* over waiting threads */
	uint64_t streams;
	uint64_t containers;
	struct metrics_state jvm_sources[METRICS_STATES_MAX];
	struct metrics_state jvm_frame_pointers[METRICS_STATES_MAX];
	struct metrics_state jvm_attaches[METRICS_STATES_MAX];

	/* Now. */
	uint64_t processes; /* known */
	uint64_t symbol_bytes;
	struct unwind_host unwind;
	uint64_t map_bytes;
	uint64_t stack_bytes;
	uint64_t unsampled_cpus;
	uint64_t store_bytes;
	uint64_t store_files;
	uint64_t store_oldest_unix_s; /* 0 = it is empty */
	uint64_t store_clock_off;     /* 1 = nothing is deleted by age for it */
	uint64_t store_reserve_bytes;
	uint64_t store_reserve_target_bytes;

	/* The process. */
	uint64_t cpu_ns;
	uint64_t children_cpu_ns; /* of those that have ended: merging, asking JVMs */
	uint64_t resident_bytes;
	uint64_t open_fds;
	uint64_t start_unix_ns;

	/* Its options. */
	uint32_t events; /* EVENT_BIT() */
	uint32_t frequency_hz;
	uint32_t page_fault_period;
	uint32_t off_cpu_rate;
	uint64_t window_ns;
	uint64_t keep_age_ns;
	uint64_t keep_bytes;
};

/* Counts a window that took so long to end. */
void metrics_note_end(struct metrics *metrics, uint64_t took_ns);

/* Appends the whole text. 0 or -ENOMEM. */
__must_check int metrics_render(const struct metrics *metrics, struct strbuf *out);

#endif
