// SPDX-License-Identifier: Apache-2.0
/*
 * Are the profiles whole and named? Each row answers for one process; for each problem a line below
 * it names the change that helps, because "unknown 12 %" alone is of no use.
 */
#include "user/cmd/status_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/symbols.h"
#include "user/cli/advice.h"
#include "user/cmd/dump_list.h"
#include "user/cli/text_table.h"
#include "user/cli/walk_text.h"
#include "user/model/jvm_facts.h"
#include "user/output/escape.h"
#include "user/output/info.h"
#include "user/output/json_writer.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

#define MS_PER_S	    1000
#define MIB		    ((double)(1u << 20))
#define VIRTUAL_THREADS_JDK 21

#define STATUS_LATE_WINDOWS 3
#define STATUS_LOST_SHARE   100 /* one sample of so many may be lost */

static const char *loss_advice(enum window_loss loss)
{
	switch (loss) {
	case WINDOW_LOSS_COUNTS_FULL:
		return "samples: too many distinct stacks in a window; give jbpfd a shorter --window";
	case WINDOW_LOSS_NO_MAP:
		return "samples: a map was missing; restart jbpfd, and report it";
	case WINDOW_LOSS_STACK_BUFFER:
		return "stacks came too fast: shown as unknown; give jbpfd more CPU";
	case WINDOW_LOSS_NOTICES:
		return "process notices came too fast: short processes may be unnamed";
	case WINDOW_LOSS_KERNEL_STACK:
		return "kernel stacks could not be read: shown without kernel frames";
	case WINDOW_LOSS_STORE:
		return "samples could not be written: is the disk full?";
	case WINDOW_LOSS_MEMORY:
		return "samples: jbpfd ran out of memory; raise its limit";
	case WINDOW_LOSS_CELLS:
		return "samples are counted without their moment: heat maps lack them";
	case WINDOW_LOSS_UNDECIDED:
		return "samples of processes that ended before it was known whether they opted out";
	case WINDOW_LOSS_GIVEN_UP:
		return "samples were given up: nothing named them in time, and their processes may have opted out; see whether naming goes on";
	case WINDOW_LOSS_PASSES:
		return "samples of waiting threads: passes over them came too late; give jbpfd more CPU";
	case WINDOW_LOSS_NOT_NAMED:
		return "samples could not be named: shown as [not named] of their process";
	case WINDOW_LOSS_CUT:
		return "samples with cut stacks: their containers use more than their share, see the problems below";
	case WINDOW_LOSS_OPTED_OUT:
	case WINDOW_LOSS_CNT:
		break;
	}
	return "lost";
}

/* ---- health ---- */

static uint64_t window_age_ns(const struct status_report *report, const struct streams *streams)
{
	return report->now_unix_ns > streams->last_window_unix_ns ?
		       report->now_unix_ns - streams->last_window_unix_ns :
		       0;
}

static uint64_t state_age_ns(const struct status_report *report)
{
	uint64_t written_ns = report->state.written_unix_ns;

	return report->now_unix_ns > written_ns ? report->now_unix_ns - written_ns : 0;
}

bool status_report_runs(const struct status_report *report)
{
	return !report->state_err && store_state_is_fresh(&report->state, report->now_unix_ns);
}

int status_report_health(const struct status_report *report, const struct streams *streams,
			 struct strbuf *problems)
{
	uint64_t age_ns = window_age_ns(report, streams);
	uint64_t lost = window_lost_samples(streams->lost);

	/* However long its windows are: the one in which it is stopped may be of a second. */
	if (report->state_err == -ENOENT)
		strbuf_printf(problems, "jbpfd was stopped %" PRIu64 " s ago\n",
			      (uint64_t)(age_ns / CLOCK_NS_PER_S));
	else if (age_ns > STATUS_LATE_WINDOWS * streams->last_window_ns)
		strbuf_printf(problems, "no window was written for %" PRIu64 " s%s\n",
			      (uint64_t)(age_ns / CLOCK_NS_PER_S),
			      status_report_runs(report) ?
				      ", though jbpfd runs: is the disk full? Its log says why" :
				      ": is jbpfd running?");
	if (streams->naming_problem) {
		/* It names processes and cgroups of others. */
		escape_terminal(problems, streams->naming_problem, strlen(streams->naming_problem));
		strbuf_putc(problems, '\n');
	}
	if (status_report_runs(report) && report->state.unsampled_cpus)
		strbuf_printf(problems,
			      "%" PRIu64 " CPU%s that came online later %s not sampled: restart "
			      "jbpfd, which gave up the right to\n",
			      report->state.unsampled_cpus,
			      info_plural(report->state.unsampled_cpus),
			      report->state.unsampled_cpus == 1 ? "is" : "are");
	if (lost > streams->host_samples / STATUS_LOST_SHARE)
		strbuf_printf(problems, "%" PRIu64 " of %" PRIu64 " sample%s lost\n", lost,
			      lost + streams->host_samples,
			      lost + streams->host_samples == 1 ? " was" : "s were");
	return strbuf_error(problems);
}

static void append_walk(const struct stream *stream, struct strbuf *out)
{
	const struct window *latest = &stream->latest;
	const struct window_counts *counts = &stream->counts;
	const char *container = window_label(latest, WINDOW_LABEL_CONTAINER);
	__cleanup_strbuf struct strbuf line = STRBUF_INIT;
	size_t before;

	strbuf_printf(&line, "%s %" PRIu32, window_label(latest, WINDOW_LABEL_COMM), latest->pid);
	if (*container)
		strbuf_printf(&line, " in %s", container);
	strbuf_printf(&line, ": %.1f %% of %" PRIu64 " stack%s whole; ",
		      info_percent(counts->samples - counts->truncated_samples, counts->samples),
		      counts->samples, info_plural(counts->samples));
	before = line.len;
	walk_text_append(latest, &line);
	if (line.len == before)
		strbuf_puts(&line, "not known yet how they are walked");
	strbuf_fail(out, strbuf_error(&line));
	escape_terminal(out, strbuf_str(&line), line.len);
	strbuf_putc(out, '\n');
}

int status_report_walks(const struct status_report *report, struct streams *streams,
			struct strbuf *out)
{
	streams_sort(streams);
	for (size_t i = 0; i < streams->cnt; i++) {
		const struct stream *stream = &streams->items[i];

		if (stream->latest.is_jvm || (report->all && stream->counts.truncated_samples))
			append_walk(stream, out);
	}
	return strbuf_error(out);
}

static void json_health(struct json_writer *json, const struct status_report *report,
			const struct streams *streams)
{
	__cleanup_strbuf struct strbuf problems = STRBUF_INIT;
	int err = status_report_health(report, streams, &problems);
	char *rest = problems.data, *line;

	strbuf_fail(json->out, err);
	json_writer_member_u64(json, "windows", streams->window_cnt);
	json_writer_member_u64(json, "window_ms", streams->last_window_ns / CLOCK_NS_PER_MS);
	json_writer_member_u64(json, "last_window_age_ms",
			       window_age_ns(report, streams) / CLOCK_NS_PER_MS);
	json_writer_member_u64(json, "is_well", !problems.len);
	json_writer_member_begin(json, "host_problems", '[');
	while ((line = strsep(&rest, "\n"))) {
		if (*line)
			json_writer_string(json, line);
	}
	json_writer_end(json, ']');
}

/* ---- table ---- */

static const char *flag_name(const struct window *window)
{
	static const char *const names[] = { "?", "off", "on" };

	if (!window->is_jvm)
		return "";
	return window->preserve_frame_pointer < ARRAY_SIZE(names) ?
		       names[window->preserve_frame_pointer] :
		       "?";
}

/* Where the flag was set; "" = nowhere. */
static const char *flag_origin_name(const struct window *window)
{
	if (!window->is_jvm || window->preserve_frame_pointer == WINDOW_FLAG_UNKNOWN)
		return "";
	return hotspot_flag_origin_name(window->preserve_frame_pointer_origin);
}

static const char *attach_name(const struct window *window)
{
	if (window->attach_outcome == JVM_ATTACH_NONE)
		return "";
	return jvm_attach_outcome_name((enum jvm_attach_outcome)window->attach_outcome);
}

static void cell_age(struct text_table *table, const struct window *window)
{
	if (window->jit_source == JIT_SOURCE_NONE || window->jit_age_ms == UINT32_MAX)
		text_table_cell(table, "");
	else
		text_table_cellf(table, "%" PRIu32 "s", window->jit_age_ms / MS_PER_S);
}

static void cell_flag(struct text_table *table, const struct window *window)
{
	const char *origin = flag_origin_name(window);

	if (*origin)
		text_table_cellf(table, "%s (%s)", flag_name(window), origin);
	else
		text_table_cell(table, flag_name(window));
}

static void cell_percent(struct text_table *table, uint64_t part, uint64_t whole)
{
	text_table_cellf(table, "%.1f", info_percent(part, whole));
}

/* The columns that only code compiled by a JVM fills. */
static void cells_java(struct text_table *table, const struct stream *stream)
{
	if (!stream->latest.is_jvm) {
		for (int i = 0; i < 5; i++)
			text_table_cell(table, "");
		return;
	}
	cell_percent(table, stream->counts.ambiguous_frames, stream->counts.frames);
	cell_percent(table, stream->counts.inlined_frames, stream->counts.frames);
	cell_percent(table, stream->counts.interpreted_frames, stream->counts.frames);
	cell_percent(table, stream->counts.repaired_samples, stream->counts.samples);
	cell_percent(table, stream->counts.unrepaired_samples, stream->counts.samples);
}

/* How many of its stacks are whole, and why the others are not. */
static void note_ends(struct text_table *table, const struct stream *stream)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	int err;

	if (!stream->counts.truncated_samples)
		return;
	info_append_ends(&text, &stream->counts);
	err = strbuf_error(&text);
	if (err)
		table->err = err;
	else
		text_table_note(table, strbuf_str(&text));
}

/* By what its stacks are walked; of other processes only where something is amiss. */
static void note_walk(struct text_table *table, const struct stream *stream)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	int err;

	if (!stream->latest.is_jvm && !stream->counts.truncated_samples)
		return;
	walk_text_append(&stream->latest, &text);
	err = strbuf_error(&text);
	if (err)
		table->err = err;
	else if (text.len)
		text_table_note(table, strbuf_str(&text));
}

static void add_row(struct text_table *table, const struct stream *stream)
{
	const struct window *latest = &stream->latest;
	char version[DUMP_LIST_VERSION_BYTES];
	struct advice advice;

	text_table_cell(table, window_label(latest, WINDOW_LABEL_CONTAINER));
	text_table_cell(table, window_label(latest, WINDOW_LABEL_POD));
	text_table_cellf(table, "%" PRIu32, latest->pid);
	text_table_cell(table, window_label(latest, WINDOW_LABEL_COMM));
	dump_list_jdk_version(latest, version);
	text_table_cell(table, version);
	cell_flag(table, latest);
	text_table_cell(table, jit_source_name(latest->jit_source));
	cell_age(table, latest);
	text_table_cell(table, attach_name(latest));
	cell_percent(table, stream->counts.unknown_frames, stream->counts.frames);
	cell_percent(table, stream->counts.truncated_samples, stream->counts.samples);
	cells_java(table, stream);
	dump_list_run_delay(table, &stream->counts);
	text_table_cellf(table, "%" PRIu64, stream->counts.samples);
	note_walk(table, stream);
	note_ends(table, stream);
	advice_find(stream, &advice);
	for (size_t i = 0; i < advice.cnt; i++)
		text_table_note(table, advice.lines[i]);
}

static bool is_shown(const struct status_report *report, const struct stream *stream)
{
	return report->all || stream->latest.is_jvm ||
	       *window_label(&stream->latest, WINDOW_LABEL_CONTAINER);
}

static const char *state_problem(int err)
{
	if (err == -EPROTONOSUPPORT)
		return "what it says of itself is of another version; use the jbpf that came with it";
	if (err == -EACCES || err == -EPERM)
		return "what it says of itself may not be read by this user; try as root";
	return "what it says of itself is damaged; it is written again with the next window";
}

/* Nothing of a store without a state: its jbpfd has ended, or is of an older version. */
static void append_daemon(const struct status_report *report, struct strbuf *out)
{
	const struct store_state *state = &report->state;
	uint64_t ran_ns = state->written_unix_ns - state->start_unix_ns;

	if (report->state_err == -ENOENT)
		return;
	strbuf_puts(out, "jbpfd: ");
	if (report->state_err) {
		strbuf_printf(out, "%s\n", state_problem(report->state_err));
		return;
	}
	if (!status_report_runs(report))
		strbuf_printf(out, "said nothing for %" PRIu64 " s: is it running? It was ",
			      (uint64_t)(state_age_ns(report) / CLOCK_NS_PER_S));
	escape_terminal(out, state->version, strlen(state->version));
	strbuf_puts(out, ", started ");
	info_append_local_time(out, state->start_unix_ns);
	strbuf_printf(out,
		      "; %.2f %% of a CPU, %.1f MiB; %" PRIu64 " window%s written, %" PRIu64
		      " not\n",
		      info_percent(state->cpu_ns, ran_ns), (double)state->resident_bytes / MIB,
		      state->windows_written, info_plural(state->windows_written),
		      state->windows_failed);
}

static void append_host(const struct streams *streams, size_t hidden_cnt, uint64_t hidden_samples,
			struct strbuf *out)
{
	bool is_lossless = true;

	if (hidden_cnt)
		strbuf_printf(out,
			      "and %zu more outside of containers with %" PRIu64
			      " sample%s; see --all\n",
			      hidden_cnt, hidden_samples, info_plural(hidden_samples));
	for (int i = 0; i < WINDOW_LOSS_CNT; i++) {
		if (!streams->lost[i] || i == WINDOW_LOSS_OPTED_OUT)
			continue;
		is_lossless = false;
		strbuf_printf(out, "lost on this host: %" PRIu64 " %s\n", streams->lost[i],
			      loss_advice((enum window_loss)i));
	}
	if (is_lossless)
		strbuf_puts(out, "lost on this host: nothing\n");
	if (streams->lost[WINDOW_LOSS_OPTED_OUT])
		strbuf_printf(out,
			      "left out on this host: %" PRIu64
			      " sample%s of processes that opted out of profiling\n",
			      streams->lost[WINDOW_LOSS_OPTED_OUT],
			      info_plural(streams->lost[WINDOW_LOSS_OPTED_OUT]));
	walk_text_append_host(streams->unwind ? streams->unwind : "", out);
	if (streams->naming_problem) {
		strbuf_puts(out, "naming: ");
		escape_terminal(out, streams->naming_problem, strlen(streams->naming_problem));
		strbuf_putc(out, '\n');
	}
	if (streams->store_problem)
		strbuf_printf(out, "store: %s\n", streams->store_problem);
}

/* What the passes over waiting threads were, and what they cost. */
static void append_passes(const struct status_event *state, struct strbuf *out)
{
	const struct pass_facts *passes = &state->passes;

	strbuf_printf(out, "; %" PRIu64 " thread%s, %.2f %% of a CPU", passes->threads,
		      info_plural(passes->threads), (double)passes->cpu_ppm / 1e4);
	if (state->put_off)
		strbuf_printf(out, ", %" PRIu64 " sample%s waited for %s", state->put_off,
			      info_plural(state->put_off),
			      state->put_off == 1 ? "its stack" : "their stacks");
	if (passes->restarts)
		strbuf_printf(out, ", its process was begun again %" PRIu64 " time%s",
			      passes->restarts, info_plural(passes->restarts));
	if (passes->unread)
		strbuf_printf(out, ", the memory of %" PRIu64 " process%s is not read",
			      passes->unread, passes->unread == 1 ? "" : "es");
	if (passes->has_run_delay)
		strbuf_printf(out, "; threads waited %.2f s for a CPU",
			      (double)state->counts.run_delay_ns / CLOCK_NS_PER_S);
	else
		strbuf_puts(out, "; how long threads waited for a CPU is not known");
}

/* JVMs that can have virtual threads. */
static size_t count_virtual(const struct streams *streams)
{
	size_t cnt = 0;

	for (size_t i = 0; i < streams->cnt; i++) {
		char version[DUMP_LIST_VERSION_BYTES];

		dump_list_jdk_version(&streams->items[i].latest, version);
		cnt += streams->items[i].latest.is_jvm &&
		       strtol(version, NULL, 10) >= VIRTUAL_THREADS_JDK;
	}
	return cnt;
}

/* What no pass sees, where there may be such. */
static void append_unseen(const struct status_report *report, const struct streams *streams,
			  struct strbuf *out)
{
	size_t cnt = count_virtual(streams);

	if (report->events[EVENT_OFF_CPU].is_on && cnt)
		strbuf_printf(out,
			      "not seen: what parked virtual threads wait for, as they are on no "
			      "thread; %zu JVM%s here can have some (JDK %d and later)\n",
			      cnt, info_plural(cnt), VIRTUAL_THREADS_JDK);
}

static void append_event(enum event event, const struct status_event *state, struct strbuf *out)
{
	strbuf_printf(out, "event %s: ", event_name(event));
	if (!state->is_on) {
		strbuf_puts(out, "off (jbpfd --event)\n");
		return;
	}
	strbuf_printf(out, "on, %" PRIu64 " sample%s", state->samples, info_plural(state->samples));
	if (event == EVENT_OFF_CPU && state->period)
		strbuf_printf(out, ", one for %.0f ms of waiting",
			      (double)state->period / CLOCK_NS_PER_MS);
	else if (event != EVENT_CPU && state->period)
		strbuf_printf(out, ", one for %" PRIu64 " %s", state->period,
			      event_unit_name(event));
	if (state->counts.samples)
		strbuf_printf(out, ", stacks whole %.1f %%",
			      100 - info_percent(state->counts.truncated_samples,
						 state->counts.samples));
	if (state->has_passes)
		append_passes(state, out);
	strbuf_putc(out, '\n');
}

/* Only where there is more than CPU time to tell of. */
static void append_events(const struct status_report *report, struct strbuf *out)
{
	bool has_others = false;

	for (int i = 0; i < EVENT_CNT; i++)
		has_others |= i != EVENT_CPU && report->events[i].is_stored;
	for (int i = 0; i < EVENT_CNT && has_others; i++)
		if (report->events[i].is_stored)
			append_event((enum event)i, &report->events[i], out);
}

int status_report_table(const struct status_report *report, struct streams *streams,
			struct strbuf *out)
{
	static const struct text_table_column columns[] = {
		{ .title = "CONTAINER", .is_name = true },
		{ .title = "POD", .is_name = true, .is_optional = true },
		{ .title = "PID", .is_number = true },
		{ .title = "COMM", .is_name = true },
		{ .title = "JVM", .is_optional = true, .is_extra = true },
		{ .title = "FP", .is_optional = true },
		{ .title = "SYMBOLS", .is_optional = true },
		{ .title = "AGE", .is_number = true, .is_optional = true, .is_extra = true },
		{ .title = "ATTACH", .is_optional = true, .is_extra = true },
		{ .title = "UNKNOWN%", .is_number = true },
		{ .title = "CUT%", .is_number = true },
		{ .title = "STALE%", .is_number = true, .is_optional = true, .is_extra = true },
		{ .title = "INLINED%", .is_number = true, .is_optional = true, .is_extra = true },
		{ .title = "INTERP%", .is_number = true, .is_optional = true, .is_extra = true },
		{ .title = "REPAIRED%", .is_number = true, .is_optional = true, .is_extra = true },
		{ .title = "UNREPAIRED%",
		  .is_number = true,
		  .is_optional = true,
		  .is_extra = true },
		{ .title = DUMP_LIST_RUN_DELAY_TITLE,
		  .is_number = true,
		  .is_optional = true,
		  .is_extra = true },
		{ .title = "SAMPLES", .is_number = true },
	};
	struct text_table table = { .columns = columns,
				    .column_cnt = ARRAY_SIZE(columns),
				    .width = report->columns };
	uint64_t hidden_samples = 0;
	size_t hidden_cnt = 0;
	int err;

	streams_sort(streams);
	for (size_t i = 0; i < streams->cnt; i++) {
		if (is_shown(report, &streams->items[i])) {
			add_row(&table, &streams->items[i]);
			continue;
		}
		hidden_cnt++;
		hidden_samples += streams->items[i].counts.samples;
	}
	err = text_table_render(&table, out);
	text_table_release(&table);
	append_host(streams, hidden_cnt, hidden_samples, out);
	append_daemon(report, out);
	append_events(report, out);
	append_unseen(report, streams, out);
	return err ? err : strbuf_error(out);
}

/* ---- JSON ---- */

static void json_stream(struct json_writer *json, const struct stream *stream)
{
	const struct window *latest = &stream->latest;
	struct advice advice;

	json_writer_newline(json);
	json_writer_begin(json, '{');
	json_writer_member_u64(json, "pid", latest->pid);
	json_writer_member_u64(json, "ns_pid", latest->ns_pid);
	for (int i = 0; i < WINDOW_LABEL_CNT; i++) {
		if (latest->labels[i] && i != WINDOW_LABEL_UNWIND)
			json_writer_member_string(json, window_label_name((enum window_label)i),
						  latest->labels[i]);
	}
	json_writer_member_u64(json, "is_jvm", latest->is_jvm);
	json_writer_member_string(json, "preserve_frame_pointer", flag_name(latest));
	json_writer_member_string(json, "preserve_frame_pointer_from", flag_origin_name(latest));
	json_writer_member_string(json, "jit_source", jit_source_name(latest->jit_source));
	json_writer_key(json, "jit_age_ms");
	if (latest->jit_source == JIT_SOURCE_NONE || latest->jit_age_ms == UINT32_MAX)
		json_writer_null(json);
	else
		json_writer_u64(json, latest->jit_age_ms);
	json_writer_member_u64(json, "jit_entries", latest->jit_entries);
	json_writer_member_string(json, "attach", attach_name(latest));
	json_writer_member_u64(json, "attach_requests", latest->attach_cnt);
	json_writer_member_u64(json, "attach_command_ms", latest->attach_command_ms);
	walk_text_json(json, latest);
	dump_list_json_counts(json, stream);
	json_writer_member_begin(json, "problems", '[');
	advice_find(stream, &advice);
	for (size_t i = 0; i < advice.cnt; i++)
		json_writer_string(json, advice.lines[i]);
	json_writer_end(json, ']');
	json_writer_end(json, '}');
}

static void json_passes(struct json_writer *json, const struct status_event *event)
{
	json_writer_member_u64(json, "passes", event->passes.passes);
	json_writer_member_u64(json, "threads", event->passes.threads);
	json_writer_member_u64(json, "cpu_ppm", event->passes.cpu_ppm);
	json_writer_member_u64(json, "put_off_samples", event->put_off);
	json_writer_member_u64(json, "restarts", event->passes.restarts);
	json_writer_member_u64(json, "unread_processes", event->passes.unread);
	if (event->passes.has_run_delay)
		json_writer_member_u64(json, "run_delay_ns", event->counts.run_delay_ns);
}

static void json_daemon(struct json_writer *json, const struct status_report *report)
{
	const struct store_state *state = &report->state;

	json_writer_key(json, "jbpfd");
	if (report->state_err) {
		json_writer_null(json);
		return;
	}
	json_writer_begin(json, '{');
	json_writer_member_string(json, "jbpfd_version", state->version);
	json_writer_member_u64(json, "runs", status_report_runs(report));
	json_writer_member_u64(json, "said_age_ms", state_age_ns(report) / CLOCK_NS_PER_MS);
	info_json_time(json, "started", state->start_unix_ns);
	json_writer_member_u64(json, "cpu_ms", state->cpu_ns / CLOCK_NS_PER_MS);
	json_writer_member_u64(json, "resident_bytes", state->resident_bytes);
	json_writer_member_u64(json, "windows_written", state->windows_written);
	json_writer_member_u64(json, "windows_failed", state->windows_failed);
	json_writer_member_u64(json, "unsampled_cpus", state->unsampled_cpus);
	json_writer_end(json, '}');
}

static void json_events(struct json_writer *json, const struct status_report *report,
			const struct streams *streams)
{
	json_writer_member_begin(json, "events", '{');
	for (int i = 0; i < EVENT_CNT; i++) {
		const struct status_event *event = &report->events[i];

		if (!event->is_stored)
			continue;
		json_writer_key(json, event_name((enum event)i));
		json_writer_begin(json, '{');
		json_writer_member_u64(json, "on", event->is_on);
		json_writer_member_u64(json, "samples", event->samples);
		json_writer_member_string(json, "unit", event_unit_name((enum event)i));
		json_writer_member_u64(json, "period", event->period);
		json_writer_member_u64(json, "truncated_samples", event->counts.truncated_samples);
		if (event->has_passes)
			json_passes(json, event);
		if (i == EVENT_OFF_CPU)
			json_writer_member_u64(json, "virtual_thread_jvms", count_virtual(streams));
		json_writer_end(json, '}');
	}
	json_writer_end(json, '}');
}

int status_report_json(const struct status_report *report, struct streams *streams,
		       struct strbuf *out)
{
	struct json_writer json = { .out = out };

	streams_sort(streams);
	json_writer_begin(&json, '{');
	json_writer_member_string(&json, "format", "jbpf-status");
	json_writer_member_u64(&json, "version", 1);
	info_json_time(&json, "since", report->since_unix_ns);
	info_json_time(&json, "until", report->until_unix_ns);
	json_writer_member_string(&json, "event", event_name(report->event));
	json_events(&json, report, streams);
	json_writer_member_u64(&json, "samples", streams->host_samples);
	json_writer_member_begin(&json, "lost", '{');
	for (int i = 0; i < WINDOW_LOSS_CNT; i++) {
		if (i != WINDOW_LOSS_OPTED_OUT)
			json_writer_member_u64(&json, window_loss_name((enum window_loss)i),
					       streams->lost[i]);
	}
	json_writer_end(&json, '}');
	json_writer_member_u64(&json, "opted_out_samples", streams->lost[WINDOW_LOSS_OPTED_OUT]);
	json_health(&json, report, streams);
	json_daemon(&json, report);
	json_writer_member_string(&json, "store_problem",
				  streams->store_problem ? streams->store_problem : "");
	json_writer_member_string(&json, "naming_problem",
				  streams->naming_problem ? streams->naming_problem : "");
	walk_text_json_host(&json, streams->unwind ? streams->unwind : "");
	json_writer_member_begin(&json, "streams", '[');
	for (size_t i = 0; i < streams->cnt; i++) {
		if (is_shown(report, &streams->items[i]))
			json_stream(&json, &streams->items[i]);
	}
	json_writer_newline(&json);
	json_writer_end(&json, ']');
	json_writer_end(&json, '}');
	strbuf_putc(out, '\n');
	return strbuf_error(out);
}
