// SPDX-License-Identifier: Apache-2.0
/*
 * jbpf status: shows the last minute of the store (two windows where these are longer), one row per JVM
 * and container, and what jbpfd says of itself. When jbpfd has stopped writing it shows the last minute
 * that there is, with a warning.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "user/cmd/cmd.h"
#include "user/cli/cmd_store.h"
#include "user/cli/cmd_write.h"
#include "user/cli/option_usage.h"
#include "user/cli/terminal.h"
#include "user/cmd/status_report.h"
#include "user/cli/streams.h"
#include "user/output/info.h"
#include "user/store/store_source.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"
#include "user/util/strbuf.h"

#define STATUS_SPAN_NS	    (60 * CLOCK_NS_PER_S)
#define STATUS_SPAN_WINDOWS 2

struct status_options {
	const char *store;
	enum event event;
	bool all;
	bool json;
	bool check;
	bool no_pager;
	struct option_info info;
};

static const char *const format_words[] = { "table", "json", NULL };

static const struct option_row rows[] = {
	{ OPTION_ROW_STORE(struct status_options, store) },
	{ OPTION_ROW_EVENT(struct status_options, event, event_words) },
	{ .name = "all",
	  .help = "also processes that are neither JVMs nor in containers",
	  OPTION_FIELD(struct status_options, all) },
	{ .name = "format",
	  .kind = OPTION_KIND_WORD,
	  .metavar = "FORMAT",
	  .help = "form of the output",
	  .fallback = "table",
	  .words = format_words,
	  OPTION_FIELD(struct status_options, json) },
	{ .name = "json",
	  .help = "the same as --format json",
	  OPTION_FIELD(struct status_options, json) },
	{ .name = "check",
	  .help = "only report whether jbpfd is running and well, by a line and the exit code, and how the stacks of JVMs are walked",
	  OPTION_FIELD(struct status_options, check) },
	{ OPTION_ROW_NO_PAGER(struct status_options, no_pager) },
	{ .name = NULL },
};

static const struct option_group groups[] = {
	{ .rows = rows },
	{ OPTION_GROUP_INFO(struct status_options, info) },
	{ .rows = NULL },
};

const struct option_table status_option_table = {
	.program = "jbpf-status",
	.summary =
		"Shows every JVM and container of the last minute: whether its stacks are whole, where "
		"its names come from, and if not, why and what to change.",
	.groups = groups,
	.notes =
		"FP: whether PreserveFramePointer is on, and where it was set. SYMBOLS, AGE: the source "
		"of the names of compiled code, and how old they are. UNKNOWN%, STALE%, INLINED%, "
		"INTERP%: frames without a name, frames whose code was replaced meanwhile, inlined and "
		"interpreted Java methods. CUT%: stacks that do not reach their thread's first frame. "
		"REPAIRED%, UNREPAIRED%: stacks taken while a method was entered or left, whose caller "
		"could or could not be put back.\n"
		"\n"
		"Exit codes: 0 done, 1 failed, 2 wrong usage, 3 the store has no windows, 4 (--check) "
		"not well.",
};

static int status_parse(int argc, char **argv, struct status_options *out, char *why,
			size_t why_len)
{
	struct option_walk walk = {
		.table = &status_option_table,
		.options = out,
		.why = why,
		.why_len = why_len,
	};
	int err;

	*out = (struct status_options){ .store = STORE_DEFAULT_DIR };
	err = options_walk_all(&walk, argc, argv);
	if (!err && options_given(&walk, "format") && options_given(&walk, "json"))
		err = options_refuse(&walk, "--json and --format say the same; give one of them");
	return err;
}

struct status {
	struct streams streams;
	struct status_event event; /* of the streams */
	struct cmd_store_damage damage;
	int err;
};

/* The record of a host is of the event as a whole; streams say whether their stacks are. */
static void event_add(struct status_event *event, const struct window *window)
{
	if (window->pid) {
		window_counts_add(&event->counts, &window->counts);
		return;
	}
	event->is_on = true;
	event->samples += window->counts.samples;
	event->period = window_period(window);
	event->has_passes =
		pass_facts_read(window_label(window, WINDOW_LABEL_PASSES), &event->passes);
	event->put_off += event->passes.put_off;
}

/* Adds the window up, and refuses its text, which is not needed. */
static bool status_want(void *ctx, const struct window *window)
{
	struct status *status = ctx;

	event_add(&status->event, window);
	if (!status->err)
		status->err = streams_add(&status->streams, window);
	return false;
}

static void status_damage(void *ctx, const struct store_damage *stretch)
{
	struct status *status = ctx;

	cmd_store_damage_note(&status->damage, stretch);
}

static int status_read(struct status *status, struct store_source *reader, uint64_t since_unix_ns,
		       uint64_t until_unix_ns)
{
	const struct store_visitor visitor = {
		.ctx = status,
		.want = status_want,
		.damage = status_damage,
	};
	int err = store_source__visit(reader, since_unix_ns, until_unix_ns, &visitor);

	return err ? err : status->err;
}

/* A minute, or more where windows are so long that a minute may have none. */
static uint64_t status_span_ns(const struct status_report *report)
{
	uint64_t windows_ns;

	if (!status_report_runs(report) ||
	    __builtin_mul_overflow(report->state.window_ns, STATUS_SPAN_WINDOWS, &windows_ns) ||
	    windows_ns > report->now_unix_ns)
		return STATUS_SPAN_NS;
	return windows_ns > STATUS_SPAN_NS ? windows_ns : STATUS_SPAN_NS;
}

/* Nothing was written of late: moves the range to where something was. 0, -ENOENT, -errno. */
static int status_read_older(struct status *status, struct store_source *reader,
			     struct status_report *report)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	uint64_t last, span_ns = status_span_ns(report);
	int err = cmd_store_last_window(reader, &last);

	if (err)
		return err;
	if (!last)
		return -ENOENT;
	report->until_unix_ns = last;
	report->since_unix_ns = last > span_ns ? last - span_ns : 0;
	status->event = (struct status_event){ 0 };
	info_append_local_time(&text, last);
	if (!report->is_check && !strbuf_error(&text))
		pr_warn("nothing was written since %s%s\n", strbuf_str(&text),
			status_report_runs(report) ? ", though jbpfd runs: its log says why" :
						     ": is jbpfd running?");
	return status_read(status, reader, report->since_unix_ns, report->until_unix_ns);
}

static int status_check(const struct status_report *report, struct streams *streams)
{
	__cleanup_strbuf struct strbuf problems = STRBUF_INIT;
	int err = status_report_health(report, streams, &problems);
	bool is_well = !err && !problems.len;
	int code;

	if (is_well)
		strbuf_puts(&problems, "well\n");
	if (!err)
		err = status_report_walks(report, streams, &problems);
	if (err || strbuf_error(&problems)) {
		pr_err("out of memory\n");
		return CMD_EXIT_FAILED;
	}
	code = cmd_write(NULL, &problems);
	return code == CMD_EXIT_DONE && !is_well ? CMD_EXIT_NOT_WELL : code;
}

/* An event whose streams are not wanted one by one. */
struct event_visit {
	struct status_event *event;
	struct cmd_store_damage *damage;
};

static bool event_want(void *ctx, const struct window *window)
{
	struct event_visit *visit = ctx;

	event_add(visit->event, window);
	return false;
}

static void event_damage(void *ctx, const struct store_damage *stretch)
{
	struct event_visit *visit = ctx;

	cmd_store_damage_note(visit->damage, stretch);
}

static int status_read_event(const char *dir, struct status_report *report, enum event event,
			     struct cmd_store_damage *damage)
{
	struct event_visit visit = { .event = &report->events[event], .damage = damage };
	const struct store_visitor visitor = {
		.ctx = &visit,
		.want = event_want,
		.damage = event_damage,
	};
	struct store_source *reader;
	int err = store_source__open(dir, event, &reader);

	if (err)
		return err;
	err = store_source__visit(reader, report->since_unix_ns, report->until_unix_ns, &visitor);
	store_source__free(reader);
	return err;
}

/* Which events there are, and which of them were sampled in this time. 0 or -errno. */
static int status_read_events(const char *dir, struct status *status, struct status_report *report)
{
	uint32_t events;
	int err = store_events(dir, &events);

	report->events[report->event] = status->event;
	for (int i = 0; i < EVENT_CNT && !err; i++) {
		report->events[i].is_stored = events & EVENT_BIT(i);
		if (report->events[i].is_stored && i != (int)report->event)
			err = status_read_event(dir, report, (enum event)i, &status->damage);
	}
	return err;
}

/* What is no file of a jbpfd's is told in the report; what cannot be read is a failure. 0 or -errno. */
static int status_read_state(const char *dir, struct status_report *report)
{
	static const int told[] = { 0, -ENOENT, -EACCES, -EPERM, -EBADMSG, -EPROTONOSUPPORT };

	report->state_err = store_state_read(dir, &report->state);
	for (size_t i = 0; i < ARRAY_SIZE(told); i++) {
		if (report->state_err == told[i])
			return 0;
	}
	return report->state_err;
}

static int status_run(const struct status_options *options, struct status *status,
		      struct store_source *reader)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	uint64_t now = clock_unix_ns();
	struct status_report report = {
		.until_unix_ns = now,
		.now_unix_ns = now,
		.event = options->event,
		.columns = terminal_columns(NULL),
		.all = options->all,
		.is_check = options->check,
	};
	int err = status_read_state(options->store, &report);

	report.since_unix_ns = now - status_span_ns(&report);
	if (!err)
		err = status_read(status, reader, report.since_unix_ns, report.until_unix_ns);
	/* Windows, not samples: a host that does nothing has some, too. */
	if (!err && status->streams.cnt == 0 && status->streams.window_cnt == 0)
		err = status_read_older(status, reader, &report);
	if (err == -ENOENT) {
		pr_err("the store in '%s' has no windows%s\n", options->store,
		       status_report_runs(&report) ? " yet; jbpfd runs: wait for a window" :
						     "; is jbpfd running?");
		return CMD_EXIT_NO_SAMPLES;
	}
	if (!err && !options->check)
		err = status_read_events(options->store, status, &report);
	cmd_store_damage_end(&status->damage);
	if (!err && options->check)
		return cmd_store_damage_code(&status->damage,
					     status_check(&report, &status->streams));
	if (!err && options->json)
		err = status_report_json(&report, &status->streams, &out);
	else if (!err)
		err = status_report_table(&report, &status->streams, &out);
	if (err) {
		pr_err("the store in '%s' cannot be read: %s\n", options->store, errstr(err));
		return CMD_EXIT_FAILED;
	}
	return cmd_store_damage_code(&status->damage,
				     cmd_write_paged(NULL, options->no_pager, &out));
}

int cmd_status(int argc, char **argv)
{
	struct status_options options;
	struct status status = { 0 };
	struct store_source *reader;
	char why[256];
	int code, err;

	if (status_parse(argc, argv, &options, why, sizeof(why))) {
		pr_err("%s\n", why);
		return CMD_EXIT_USAGE;
	}
	if (options.info.help || options.info.version)
		return option_usage_print(&status_option_table, &options.info);
	err = cmd_store_open_event(options.store, options.event, &reader);
	if (err)
		return err == -ENODATA ? CMD_EXIT_NO_SAMPLES : CMD_EXIT_FAILED;
	code = status_run(&options, &status, reader);
	streams_release(&status.streams);
	store_source__free(reader);
	return code;
}
