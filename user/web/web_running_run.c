// SPDX-License-Identifier: Apache-2.0
/*
 * See web_running_run.h. What stored windows have is left out: a snapshot lies in one window, so it counts when
 * its middle comes after the end of what is stored, and nothing counts twice.
 */
#include "user/web/web_running_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "user/cli/cmd_write.h"
#include "user/cli/exit_codes.h"
#include "user/collect/running.h"
#include "user/output/json_writer.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define NOW_NS (2 * CLOCK_NS_PER_S)
#define SLACK_NS \
	(CLOCK_NS_PER_S / 2) /* jbpfd reports a second a moment before or after it has passed */
#define AHEAD_NS (60 * CLOCK_NS_PER_S) /* clocks step */
#define ALL	 SIZE_MAX

struct telling {
	const struct web_running *running;
	const struct web_timeline_request *request;
	uint64_t end_ns; /* of what jbpfd reported of the event; 0 = nothing that is not stored */
	/* of now */
	uint64_t begin_ns;
	uint64_t span_ns;
	uint64_t period;
	uint64_t samples; /* of all processes */
	uint64_t unnamed; /* of those of which nobody knows yet what they are called */
	uint32_t cpu_cnt;
};

static bool is_told(enum event event)
{
	return event < EVENT_CNT && EVENT_BIT(event) & RUNNING_EVENTS;
}

/* The host record of the event; false: there is none, or it is of what is stored, or of no time. */
static bool find_host(const struct telling *telling, const struct running_snapshot *snapshot,
		      struct window *host)
{
	const struct running_head *head = &snapshot->head;
	const struct selection *selection = &telling->request->selection;
	size_t at = 0;

	if (head->begin_unix_ns == head->end_unix_ns ||
	    head->begin_unix_ns / 2 + head->end_unix_ns / 2 < selection->since_unix_ns ||
	    head->end_unix_ns > selection->until_unix_ns + AHEAD_NS)
		return false;
	while (running_snapshot_event(snapshot, &at, host))
		if (host->event == telling->request->event)
			return true;
	return false;
}

static bool is_now(const struct telling *telling, const struct window *host)
{
	uint64_t end_ns = window_end_unix_ns(host);

	return end_ns == telling->end_ns ||
	       (end_ns < telling->end_ns && telling->end_ns - end_ns + SLACK_NS < NOW_NS);
}

static uint64_t sum_of_streams(const struct running_snapshot *snapshot, enum event event)
{
	uint64_t samples = 0;
	struct window window;
	size_t at = 0;

	while (running_snapshot_stream(snapshot, &at, &window))
		samples += window.event == event ? window.counts.samples : 0;
	return samples;
}

static void find_end(struct telling *telling)
{
	struct running_snapshot snapshot;
	struct window host;

	for (size_t i = 0; i < web_running__count(telling->running); i++) {
		web_running__get(telling->running, i, &snapshot);
		if (find_host(telling, &snapshot, &host) &&
		    window_end_unix_ns(&host) > telling->end_ns)
			telling->end_ns = window_end_unix_ns(&host);
	}
}

static void sum_now(struct telling *telling)
{
	struct running_snapshot snapshot;
	struct window host;

	for (size_t i = 0; i < web_running__count(telling->running); i++) {
		uint64_t named;

		web_running__get(telling->running, i, &snapshot);
		if (!find_host(telling, &snapshot, &host) || !is_now(telling, &host))
			continue;
		if (!telling->begin_ns || host.start_unix_ns < telling->begin_ns)
			telling->begin_ns = host.start_unix_ns;
		named = sum_of_streams(&snapshot, telling->request->event);
		telling->span_ns += host.duration_ns;
		telling->period = window_period(&host);
		telling->samples += host.counts.samples;
		telling->unnamed += host.counts.samples > named ? host.counts.samples - named : 0;
		telling->cpu_cnt = host.cpu_cnt;
	}
}

/* ---- time lines ---- */

static int add_streams(const struct telling *telling, const struct running_snapshot *snapshot,
		       struct web_timeline *timeline)
{
	struct window window;
	size_t at = 0;
	int err = 0;

	while (!err && running_snapshot_stream(snapshot, &at, &window))
		if (window.event == telling->request->event &&
		    selection_matches(&telling->request->selection, &window))
			err = web_timeline__add(timeline, &window);
	return err;
}

static int add_all(const struct telling *telling, bool is_now_only, struct web_timeline *timeline)
{
	struct running_snapshot snapshot;
	struct window host;
	int err = 0;

	for (size_t i = 0; i < web_running__count(telling->running) && !err; i++) {
		web_running__get(telling->running, i, &snapshot);
		if (!find_host(telling, &snapshot, &host) ||
		    (is_now_only && !is_now(telling, &host)))
			continue;
		err = web_timeline__add(timeline, &host);
		if (!err)
			err = add_streams(telling, &snapshot, timeline);
	}
	return err;
}

/* Appends a member. 0 or -ENOMEM. */
static int write_timeline(const struct telling *telling, const struct web_timeline_options *how,
			  bool is_now_only, const char *key, struct json_writer *json)
{
	struct web_timeline *timeline = web_timeline__new(how);
	int err = timeline ? add_all(telling, is_now_only, timeline) : -ENOMEM;

	json_writer_newline(json);
	json_writer_key(json, key);
	json->needs_comma = false;
	if (!err)
		err = web_timeline__json(timeline, json->out);
	json->needs_comma = true;
	web_timeline__free(timeline);
	return err;
}

/* How much of each step jbpfd reported: the last one has only begun, and seconds may be missing. */
static void write_told(const struct telling *telling, const struct web_timeline_options *how,
		       struct json_writer *json)
{
	struct running_snapshot snapshot;
	struct window host;

	json_writer_newline(json);
	json_writer_member_begin(json, "told", '[');
	for (uint64_t begin = how->since_unix_ns; begin < how->until_unix_ns;
	     begin += how->step_ns) {
		uint64_t told_ns = 0;

		for (size_t i = 0; i < web_running__count(telling->running); i++) {
			uint64_t from, end;

			web_running__get(telling->running, i, &snapshot);
			if (!find_host(telling, &snapshot, &host))
				continue;
			from = host.start_unix_ns > begin ? host.start_unix_ns : begin;
			end = window_end_unix_ns(&host);
			end = end < begin + how->step_ns ? end : begin + how->step_ns;
			told_ns += end > from ? end - from : 0;
		}
		json_writer_decimal(json, (double)told_ns / (double)CLOCK_NS_PER_S);
	}
	json_writer_end(json, ']');
}

static double rate(const struct telling *telling, uint64_t samples)
{
	double counted = (double)samples * (double)telling->period;

	if (!telling->span_ns)
		return 0;
	if (event_unit(telling->request->event) != EVENT_UNIT_NANOSECONDS)
		counted *= (double)CLOCK_NS_PER_S;
	return counted / (double)telling->span_ns;
}

static void write_decimal(struct json_writer *json, const char *key, double value)
{
	json_writer_key(json, key);
	json_writer_decimal(json, value);
}

static int write_told_of(struct telling *telling, struct json_writer *json)
{
	struct web_timeline_options how = web_timeline_request_aligned(telling->request);
	struct web_timeline_options now = how;
	int err;

	sum_now(telling);
	how.until_unix_ns = (telling->end_ns + how.step_ns - 1) / how.step_ns * how.step_ns;
	how.series_max = ALL;
	now.since_unix_ns = telling->begin_ns;
	now.until_unix_ns = telling->end_ns;
	now.step_ns = telling->end_ns - telling->begin_ns;
	write_decimal(json, "until", (double)telling->end_ns / (double)CLOCK_NS_PER_S);
	write_decimal(json, "span", (double)telling->span_ns / (double)CLOCK_NS_PER_S);
	write_decimal(json, "host", rate(telling, telling->samples));
	write_decimal(json, "unnamed", rate(telling, telling->unnamed));
	json_writer_member_u64(json, "cpus", telling->cpu_cnt);
	write_told(telling, &how, json);
	err = write_timeline(telling, &how, false, "line", json);
	return err ? err : write_timeline(telling, &now, true, "now", json);
}

static void find_why(const struct telling *telling, char *why, size_t why_len)
{
	web_running__why(telling->running, why, why_len);
	if (!is_told(telling->request->event))
		(void)snprintf(why, why_len,
			       "only windows that have ended are shown: of %s no more is told",
			       event_title(telling->request->event));
	else if (!*why && !telling->end_ns && web_running__count(telling->running))
		(void)snprintf(why, why_len, "jbpfd has told nothing newer than the last window");
}

int web_running_json(const struct web_running *running, const struct web_timeline_request *request,
		     struct strbuf *out)
{
	struct telling telling = { .running = running, .request = request };
	struct json_writer json = { .out = out };
	char why[256];
	int err = 0;

	if (is_told(request->event))
		find_end(&telling);
	find_why(&telling, why, sizeof(why));
	json_writer_begin(&json, '{');
	json_writer_member_string(&json, "format", "jbpf-running");
	json_writer_member_string(&json, "why", why);
	write_decimal(&json, "time", (double)clock_unix_ns() / (double)CLOCK_NS_PER_S);
	if (telling.end_ns)
		err = write_told_of(&telling, &json);
	json_writer_end(&json, '}');
	strbuf_putc(out, '\n');
	return err ? err : strbuf_error(out);
}

int web_running_run(int argc, char **argv, const struct web_running *running)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct web_timeline_request request;
	char why[512];

	if (web_timeline_request_parse(argc, argv, &request, why, sizeof(why))) {
		pr_err("%s\n", why);
		return CMD_EXIT_USAGE;
	}
	if (web_running_json(running, &request, &out)) {
		pr_err("out of memory; take a shorter time or fewer processes\n");
		return CMD_EXIT_FAILED;
	}
	return cmd_write(NULL, &out);
}
