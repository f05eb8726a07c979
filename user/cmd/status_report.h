/* SPDX-License-Identifier: Apache-2.0 */
/* The report of jbpf status: a table of streams with advice below the rows, or JSON. Pure. */
#ifndef JBPF_CMD_STATUS_REPORT_H
#define JBPF_CMD_STATUS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/cli/streams.h"
#include "user/model/pass_facts.h"
#include "user/store/store_state.h"
#include "user/util/strbuf.h"

/* An event that the store has a tree of. */
struct status_event {
	bool is_stored;
	bool is_on; /* it was sampled in this time */
	uint64_t samples;
	uint64_t period;	     /* of the last window; 0 = not known */
	struct window_counts counts; /* of its streams */
	bool has_passes;	     /* EVENT_OFF_CPU: of the last window, ... */
	struct pass_facts passes;
	uint64_t put_off; /* ... and of all windows */
};

struct status_report {
	enum event event; /* whose streams are reported */
	struct status_event events[EVENT_CNT];
	uint64_t since_unix_ns;
	uint64_t until_unix_ns;
	uint64_t now_unix_ns;
	bool is_check;	/* only the health is asked for */
	size_t columns; /* of the terminal that the table is for; 0 = as many as it needs */
	bool all;	/* also processes that are neither JVMs nor in containers */
	int state_err;	/* as of store_state_read(); with 0 ... */
	struct store_state state; /* ... what jbpfd says of itself */
};

/* Does jbpfd run, by what it says of itself? False also when it is not known. */
bool status_report_runs(const struct status_report *report);

/*
 * Is jbpfd running and well? Appends a line for each reason why not, such as "no window was written
 * for 42 s: is jbpfd running?" or, of the last window, that naming is dead, and what to do. 0 or -ENOMEM.
 */
__must_check int status_report_health(const struct status_report *report,
				      const struct streams *streams, struct strbuf *problems);

/*
 * One line for each JVM: how many of its stacks are whole, by what they are walked, and which files have
 * no rules or had stacks end in them, and why; with `all` also for other processes whose stacks were
 * cut. Sorts the streams. 0 or -ENOMEM.
 */
__must_check int status_report_walks(const struct status_report *report, struct streams *streams,
				     struct strbuf *out);

/* Both sort the streams. 0 or -ENOMEM. */
__must_check int status_report_table(const struct status_report *report, struct streams *streams,
				     struct strbuf *out);
__must_check int status_report_json(const struct status_report *report, struct streams *streams,
				    struct strbuf *out);

#endif
