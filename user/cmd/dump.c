// SPDX-License-Identifier: Apache-2.0
/*
 * jbpf dump: reads the windows that were asked for, merges their stacks and writes them. Only the
 * hours of the time range are opened and only matching windows are decompressed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "user/cli/advice.h"
#include "user/cmd/cmd.h"
#include "user/cli/cmd_store.h"
#include "user/cli/cmd_stores.h"
#include "user/cli/cmd_write.h"
#include "user/cli/option_usage.h"
#include "user/cmd/dump_cells.h"
#include "user/cmd/dump_hint.h"
#include "user/cmd/dump_list.h"
#include "user/cmd/dump_options.h"
#include "user/cmd/dump_stacks.h"
#include "user/cli/selection_title.h"
#include "user/cli/streams.h"
#include "user/cli/terminal.h"
#include "user/model/event_view.h"
#include "user/model/profile.h"
#include "user/output/info.h"
#include "user/output/output.h"
#include "user/store/store_source.h"
#include "user/store/window_cut.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"
#include "user/util/strbuf.h"

/* The state of a run. */
struct dump {
	const struct dump_options *options;
	struct profile *profile; /* NULL with --list and cells */
	struct dump_stacks stacks;
	struct dump_cells cells; /* sum is NULL but for DUMP_FORMAT_CELLS */
	struct window_cut cut;	 /* of windows that reach over the ends of the time */
	size_t cut_cnt;
	size_t whole_cnt;	  /* of these, the moments of whose stacks are not known */
	size_t untimed_cnt;	  /* of other events than the CPU's, which never are */
	uint64_t untimed_samples; /* of those that were cut */
	struct streams streams;
	struct output_info info; /* of the windows that match */
	struct output_label labels[DUMP_BY_CNT];
	struct cmd_store_damage damage;
	size_t bad_line_cnt;
	uint32_t seen_events; /* EVENT_BIT() of those that were sampled in this time */
	/* Of the windows that have samples; highest below lowest: there are none. */
	uint32_t lowest_hz;
	uint32_t highest_hz;
	int err; /* first failure where a callback cannot return one */
};

/* Does it reach over the ends of a time that is short? Then less than all of it is wanted. */
static bool reaches_out(const struct dump *dump, const struct window *window)
{
	const struct selection *selection = &dump->options->selection;

	return dump->profile &&
	       window_cut_is_due(window, selection->since_unix_ns, selection->until_unix_ns);
}

static void note_frequency(struct dump *dump, uint32_t frequency_hz)
{
	if (frequency_hz < dump->lowest_hz)
		dump->lowest_hz = frequency_hz;
	if (frequency_hz > dump->highest_hz)
		dump->highest_hz = frequency_hz;
}

/* Samples of wall-clock time are weighed (event_weight()), other events have no frequency. */
static bool has_several_rates(const struct dump *dump)
{
	return dump->options->event == EVENT_CPU && dump->lowest_hz < dump->highest_hz;
}

static bool dump_want(void *ctx, const struct window *window)
{
	struct dump *dump = ctx;
	const struct selection *selection = &dump->options->selection;

	dump->seen_events |= window->event < EVENT_CNT ? EVENT_BIT(window->event) : 0;
	if (!window->pid && !event_counts_time(dump->options->event, window)) {
		for (int i = 0; i < WINDOW_LOSS_CNT; i++)
			dump->streams.lost[i] += window->lost[i];
		return false;
	}
	if (!dump->err)
		dump->err = streams_add(&dump->streams, window);
	if (window->pid == 0)
		return false;
	info_add_window(&dump->info, window);
	if (window->counts.samples == 0)
		return dump->profile && event_cpu_wait_ns(dump->options->event, selection, window);
	note_frequency(dump, window->frequency_hz);
	if (dump->err || !(dump->profile || dump->cells.sum))
		return false;
	if (dump_stacks_wants_text(&dump->stacks) || reaches_out(dump, window))
		return true;
	dump->err = dump_stacks_add_labels(&dump->stacks, window, dump->profile);
	return false;
}

static int add_stacks(struct dump *dump, const struct window *window, const char *text, size_t len)
{
	if (!dump_stacks_wants_text(&dump->stacks))
		return dump_stacks_add_labels(&dump->stacks, window, dump->profile);
	return dump_stacks_add(&dump->stacks, window, text, len, dump->profile,
			       &dump->bad_line_cnt);
}

/* What of it is in the time that was asked for. 0, -ENODATA, -ENOMEM. */
static int add_cut(struct dump *dump, const struct window *window, const char *text, size_t len)
{
	const struct selection *selection = &dump->options->selection;
	struct window_cut *cut = &dump->cut;
	int err = window_cut(cut, window, text, len, selection->since_unix_ns,
			     selection->until_unix_ns);

	if (err)
		return err;
	dump->cut_cnt++;
	dump->untimed_samples += window->counts.samples - cut->timed_samples;
	if (!cut->text.len)
		return 0;
	return add_stacks(dump, &cut->window, strbuf_str(&cut->text), cut->text.len);
}

static int dump_window(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct dump *dump = ctx;

	if (dump->err)
		return dump->err;
	if (dump->cells.sum)
		return dump_cells_add(&dump->cells, window);
	if (reaches_out(dump, window)) {
		int err = add_cut(dump, window, text, len);

		if (err != -ENODATA)
			return err;
		dump->whole_cnt += window->event == EVENT_CPU;
		dump->untimed_cnt += window->event != EVENT_CPU;
	}
	if (dump->info.lines && window->lines_len) {
		int err = source_lines__add_text(dump->info.lines, window->lines, window->lines_len,
						 &dump->bad_line_cnt);

		if (err)
			return err;
	}
	return add_stacks(dump, window, text, len);
}

static bool dump_same(void *ctx, const struct window *a, const struct window *b)
{
	const struct dump *dump = ctx;

	return dump_stacks_are_alike(&dump->stacks, a, b) && !reaches_out(dump, a) &&
	       !reaches_out(dump, b);
}

static void dump_damage(void *ctx, const struct store_damage *stretch)
{
	struct dump *dump = ctx;

	cmd_store_damage_note(&dump->damage, stretch);
}

static int dump_read(struct dump *dump, struct store_source *reader)
{
	const struct selection *selection = &dump->options->selection;
	const struct store_visitor visitor = {
		.ctx = dump,
		.wants_lines = dump->info.lines != NULL,
		.merge_ns = UINT64_MAX,
		.wants_cells = dump->cells.sum != NULL,
		.wants_threads = dump->profile && dump_stacks_wants_threads(&dump->stacks),
		.wants_ticks = dump->profile && window_cut_is_range(selection->since_unix_ns,
								    selection->until_unix_ns),
		.selection = selection,
		.want = dump_want,
		.window = dump->profile || dump->cells.sum ? dump_window : NULL,
		.same = dump->profile && dump_stacks_add_up(&dump->stacks) ? dump_same : NULL,
		.damage = dump_damage,
	};
	int err = store_source__visit(reader, selection->since_unix_ns, selection->until_unix_ns,
				      &visitor);

	cmd_store_damage_end(&dump->damage);
	if (dump->bad_line_cnt)
		pr_warn("damage in the store: %zu line%s not stacks, skipped\n", dump->bad_line_cnt,
			dump->bad_line_cnt == 1 ? " is" : "s are");
	if (dump->cells.bad_cnt)
		pr_warn("damage in the store: %zu window%s broken cells, left out\n",
			dump->cells.bad_cnt, dump->cells.bad_cnt == 1 ? " has" : "s have");
	return err ? err : dump->err;
}

/* How near the result is to the time that was asked for. */
static void report_cut(const struct dump *dump)
{
	if (dump->cut_cnt && dump->options->view.format == DUMP_FORMAT_JSON)
		pr_info("stacks and samples are those of this time; all other counts are those of the whole profiles around it\n");
	if (dump->whole_cnt)
		pr_info("%zu profile%s over the ends of this time and %s taken whole: when each stack was sampled is not known there; jbpfd --keep-moments says how long that is kept\n",
			dump->whole_cnt, dump->whole_cnt == 1 ? " reaches" : "s reach",
			dump->whole_cnt == 1 ? "is" : "are");
	if (dump->untimed_cnt)
		pr_info("%zu profile%s over the ends of this time and %s taken whole: of other events than cpu it is not kept when each sample was taken\n",
			dump->untimed_cnt, dump->untimed_cnt == 1 ? " reaches" : "s reach",
			dump->untimed_cnt == 1 ? "is" : "are");
	if (dump->untimed_samples)
		pr_info("%" PRIu64 " sample%s around this time %s no moment and %s left out\n",
			dump->untimed_samples, dump->untimed_samples == 1 ? "" : "s",
			dump->untimed_samples == 1 ? "has" : "have",
			dump->untimed_samples == 1 ? "is" : "are");
}

static void dump_fill_info(struct dump *dump)
{
	const struct selection *selection = &dump->options->selection;
	uint64_t range_ns = selection->until_unix_ns - selection->since_unix_ns;
	const struct streams *streams = &dump->streams;
	struct output_info *info = &dump->info;

	info->columns = terminal_columns(dump->options->view.output);
	info->since_unix_ns = dump->options->selection.since_unix_ns;
	info->until_unix_ns = dump->options->selection.until_unix_ns;
	info->frequency_hz = has_several_rates(dump) || dump->options->event == EVENT_WALL ?
				     0 :
				     dump->highest_hz;
	info->is_selection = !selection_is_of_all(&dump->options->selection);
	info->lost_samples = window_lost_samples(streams->lost);
	info->covered_ns = streams->covered_ns;
	if (dump->cut_cnt && range_ns < info->covered_ns)
		info->covered_ns = range_ns;
	info->window_ns = streams->last_window_ns;
	info->stream_cnt = streams->cnt;
	info->host = streams_common_label(streams, WINDOW_LABEL_HOST);
	info->image = streams_common_label(streams, WINDOW_LABEL_IMAGE);
	info->jvm = streams_common_label(streams, WINDOW_LABEL_JVM_VERSION);
	dump_view_labels(&dump->options->view, dump->labels, info);
}

static int dump_render_stacks(struct dump *dump, struct strbuf *out)
{
	__cleanup_strbuf struct strbuf title = STRBUF_INIT, subtitle = STRBUF_INIT;
	const struct dump_options *options = dump->options;
	const char *by[DUMP_BY_CNT];
	int err;

	dump_view_label_names(&options->view, by);
	selection_title(options->event, &options->selection, &title);
	selection_subtitle(&options->selection, by, options->view.by_cnt, &subtitle);
	if (dump->whole_cnt)
		strbuf_printf(&subtitle, "%swhole profiles at the ends", subtitle.len ? ", " : "");
	if (has_several_rates(dump))
		strbuf_printf(&subtitle,
			      "%ssamples of several rates (%" PRIu32 " to %" PRIu32
			      " Hz), each counts the same",
			      subtitle.len ? ", " : "", dump->lowest_hz, dump->highest_hz);
	err = strbuf_error(&title);
	if (!err)
		err = strbuf_error(&subtitle);
	if (err)
		return err;
	dump->info.title = strbuf_str(&title);
	dump->info.subtitle = strbuf_str(&subtitle);
	dump_fill_info(dump);
	return dump_view_render(&options->view, &dump->profile, &dump->info, out);
}

/* False when the output would have no samples; *why then completes the message. */
static bool has_result(const struct dump *dump, const char **why)
{
	*why = "";
	if (dump->profile)
		return profile__sample_count(dump->profile) > 0;
	if (!dump->cells.sum)
		return dump->streams.cnt > 0;
	if (dump->cells.samples && !dump->cells.in_cells)
		*why = " that were recorded with their time";
	return dump->cells.in_cells > 0;
}

static int dump_render_cells(struct dump *dump, struct strbuf *out)
{
	const struct dump_cells *cells = &dump->cells;

	if (cells->in_cells < cells->samples)
		pr_info("%" PRIu64 " of %" PRIu64 " samples have no time and are left out\n",
			cells->samples - cells->in_cells, cells->samples);
	return dump_cells_text(&dump->cells, &dump->options->selection, out);
}

/* A view of two events in a time when one of them was not sampled. */
static void warn_sources(const struct dump *dump)
{
	uint32_t missing = event_sources(dump->options->event) & ~dump->seen_events;
	char names[EVENT_NAMES_MAX];

	if (!event_is_view(dump->options->event) || !missing)
		return;
	event_names(missing, names);
	pr_warn("%s was not sampled in this time: it is missing in %s\n", names,
		event_name(dump->options->event));
}

/* A list tells streams apart, and has no samples of theirs in one sum that is shown. */
static void warn_rates(const struct dump *dump)
{
	if (!has_several_rates(dump) || !(dump->profile || dump->cells.sum))
		return;
	pr_warn("these samples were taken at several rates, %" PRIu32 " to %" PRIu32
		" a second, and each counts the same: shares are of samples, not of CPU time; take one host with --host, or a time of one rate\n",
		dump->lowest_hz, dump->highest_hz);
}

static int dump_render(struct dump *dump, struct strbuf *out)
{
	if (dump->cells.sum)
		return dump_render_cells(dump, out);
	if (dump->profile)
		return dump_render_stacks(dump, out);
	if (dump->options->view.format == DUMP_FORMAT_JSON)
		return dump_list_json(&dump->streams, dump->options, out);
	dump_fill_info(dump);
	return dump_list_table(
		&dump->streams, &dump->info,
		dump->options->view.by_cnt ? DUMP_LIST_PROCESSES : DUMP_LIST_CONTAINERS, out);
}

static int dump_fail(const struct store_source *source, int err)
{
	if (err == -ENOMEM)
		pr_err("out of memory; take a shorter time or fewer processes\n");
	else
		pr_err("the store in '%s' cannot be read: %s\n", store_source__name(source),
		       store_source__failure(source, err));
	return CMD_EXIT_FAILED;
}

static int dump_run(struct dump *dump, struct store_source *reader)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	const struct dump_options *options = dump->options;
	const struct dump_view *view = &options->view;
	bool has_lines = dump_view_has_lines(view, &options->selection, options->event);
	const char *why;
	int code, err;

	if (dump->options->view.format == DUMP_FORMAT_CELLS) {
		if (dump_cells_init(&dump->cells))
			return dump_fail(reader, -ENOMEM);
	} else if (!dump->options->list) {
		dump->profile = profile__new();
		if (has_lines)
			dump->info.lines = source_lines__new(0);
		if (!dump->profile || (has_lines && !dump->info.lines))
			return dump_fail(reader, -ENOMEM);
	}
	err = dump_stacks_init(&dump->stacks, view, &options->selection, options->event,
			       &dump->info);
	if (!err)
		err = dump_read(dump, reader);
	if (err)
		return dump_fail(reader, err);
	if (!has_result(dump, &why)) {
		if (info_hidden_samples(&dump->info)) {
			info_append_hidden(&out, &dump->info);
			strbuf_puts(&out, " are not shown; see them with --idle");
		} else if (dump->cut_cnt)
			strbuf_puts(&out, "the profiles around this time have some");
		else if (*why || dump_hint(reader, dump->options, &out))
			strbuf_clear(&out);
		pr_err("no samples%s match%s%s\n", why, out.len ? "; " : "", strbuf_str(&out));
		return CMD_EXIT_NO_SAMPLES;
	}
	warn_sources(dump);
	warn_rates(dump);
	report_cut(dump);
	err = dump_render(dump, &out);
	if (err == -ENOENT) {
		dump_view_no_method(view, &out);
		return CMD_EXIT_NO_SAMPLES;
	}
	if (err)
		return dump_fail(reader, err);
	if (dump->cells.sum && !out.len) {
		pr_err("no samples match\n"); /* their windows only reach into the time */
		return CMD_EXIT_NO_SAMPLES;
	}
	code = cmd_write_paged(dump->options->view.output, dump->options->no_pager, &out);
	if (code == CMD_EXIT_DONE)
		advice_warn(&dump->streams);
	return cmd_store_damage_code(&dump->damage, code);
}

int cmd_dump(int argc, char **argv)
{
	struct dump_options options;
	struct dump dump = { .options = &options, .lowest_hz = UINT32_MAX };
	struct store_source *reader;
	char why[512];
	int code, err;

	if (dump_options_parse(argc, argv, clock_unix_ns(), &options, why, sizeof(why))) {
		pr_err("%s\n", why);
		return CMD_EXIT_USAGE;
	}
	if (options.info.help || options.info.version)
		return option_usage_print(&dump_option_table, &options.info);
	if (dump_view_not_for_terminal(&options.view) && !options.view.output &&
	    isatty(STDOUT_FILENO)) {
		pr_err("that is %s, not for a terminal; give -o FILE\n",
		       dump_view_not_for_terminal(&options.view));
		return CMD_EXIT_USAGE;
	}
	if (options.is_default_since)
		pr_info("no --since: taking one hour\n");
	err = cmd_stores_open(&options.stores, options.event, &reader, &dump.damage);
	if (err)
		return err == -ENODATA ? CMD_EXIT_NO_SAMPLES : CMD_EXIT_FAILED;
	code = dump_run(&dump, reader);
	profile__free(dump.profile);
	dump_stacks_release(&dump.stacks);
	dump_cells_release(&dump.cells);
	window_cut_release(&dump.cut);
	source_lines__free(dump.info.lines);
	streams_release(&dump.streams);
	store_source__free(reader);
	return code;
}
