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
#include "user/cli/cmd_write.h"
#include "user/cli/option_usage.h"
#include "user/cmd/dump_cells.h"
#include "user/cmd/dump_hint.h"
#include "user/cmd/dump_list.h"
#include "user/cmd/dump_options.h"
#include "user/cmd/dump_stacks.h"
#include "user/cli/selection_title.h"
#include "user/cli/streams.h"
#include "user/model/profile.h"
#include "user/output/info.h"
#include "user/output/output.h"
#include "user/store/store.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"
#include "user/util/strbuf.h"

#define DUMP_TOP_ROWS 50

/* The state of a run. */
struct dump {
	const struct dump_options *options;
	struct profile *profile; /* NULL with --list and cells */
	struct dump_cells cells; /* sum is NULL but for DUMP_FORMAT_CELLS */
	struct streams streams;
	struct output_info info; /* of the windows that match */
	struct output_label labels[DUMP_BY_CNT];
	struct cmd_store_damage damage;
	size_t bad_line_cnt;
	uint32_t frequency_hz;
	bool is_mixed_frequency;
	int err; /* first failure where a callback cannot return one */
};

static bool dump_want(void *ctx, const struct window *window)
{
	struct dump *dump = ctx;
	const struct selection *selection = &dump->options->selection;

	if (!selection_covers(selection, window))
		return false;
	if (window->pid && !selection_matches(selection, window))
		return false;
	if (!dump->err)
		dump->err = streams_add(&dump->streams, window);
	if (window->pid == 0)
		return false;
	info_add_window(&dump->info, window);
	if (window->counts.samples == 0)
		return false;
	if (!dump->frequency_hz)
		dump->frequency_hz = window->frequency_hz;
	else if (dump->frequency_hz != window->frequency_hz)
		dump->is_mixed_frequency = true;
	return (dump->profile || dump->cells.sum) && !dump->err;
}

static int dump_window(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct dump *dump = ctx;

	if (dump->err)
		return dump->err;
	if (dump->cells.sum)
		return dump_cells_add(&dump->cells, window);
	if (dump->info.lines && window->lines_len) {
		int err = source_lines__add_text(dump->info.lines, window->lines, window->lines_len,
						 &dump->bad_line_cnt);

		if (err)
			return err;
	}
	return dump_stacks_add(dump->options, window, text, len, dump->profile,
			       &dump->bad_line_cnt);
}

static void dump_damage(void *ctx, const struct store_damage *stretch)
{
	struct dump *dump = ctx;

	cmd_store_damage_note(&dump->damage, stretch);
}

static int dump_read(struct dump *dump, struct store_reader *reader)
{
	const struct selection *selection = &dump->options->selection;
	const struct store_visitor visitor = {
		.ctx = dump,
		.wants_lines = dump->info.lines != NULL,
		.merge_ns = UINT64_MAX,
		.wants_cells = dump->cells.sum != NULL,
		.want = dump_want,
		.window = dump_window,
		.damage = dump_damage,
	};
	int err = store_reader__visit(reader, selection->since_unix_ns, selection->until_unix_ns,
				      &visitor);

	cmd_store_damage_end(&dump->damage);
	if (dump->bad_line_cnt)
		pr_warn("damage in the store: %zu lines are not stacks, skipped\n",
			dump->bad_line_cnt);
	if (dump->cells.bad_cnt)
		pr_warn("damage in the store: %zu windows have broken cells, left out\n",
			dump->cells.bad_cnt);
	return err ? err : dump->err;
}

static void dump_fill_info(struct dump *dump)
{
	const struct streams *streams = &dump->streams;
	struct output_info *info = &dump->info;

	info->since_unix_ns = dump->options->selection.since_unix_ns;
	info->until_unix_ns = dump->options->selection.until_unix_ns;
	info->frequency_hz = dump->is_mixed_frequency ? 0 : dump->frequency_hz;
	info->lost_samples = window_lost_samples(streams->lost);
	info->stream_cnt = streams->cnt;
	info->labels = dump->labels;
	info->label_cnt = dump->options->by_cnt;
	for (size_t i = 0; i < info->label_cnt; i++) {
		enum dump_by by = dump->options->by[i];

		dump->labels[i].name = dump_by_names[by];
		dump->labels[i].is_number = by == DUMP_BY_PID;
	}
}

static int dump_render_stacks(struct dump *dump, struct strbuf *out)
{
	__cleanup_strbuf struct strbuf title = STRBUF_INIT, subtitle = STRBUF_INIT;
	const struct dump_options *options = dump->options;
	const char *by[DUMP_BY_CNT];
	int err = selection_title(&options->selection, &title);

	for (size_t i = 0; i < options->by_cnt; i++)
		by[i] = dump_by_names[options->by[i]];
	if (!err)
		err = selection_subtitle(&options->selection, by, options->by_cnt, &subtitle);
	if (err)
		return err;
	dump->info.title = strbuf_str(&title);
	dump->info.subtitle = strbuf_str(&subtitle);
	dump_fill_info(dump);
	switch (dump->options->format) {
	case DUMP_FORMAT_HTML:
		return output_html(dump->profile, &dump->info, out);
	case DUMP_FORMAT_SVG:
		return output_svg(dump->profile, &dump->info, out);
	case DUMP_FORMAT_TOP:
		if (dump->options->lines)
			return output_lines(dump->profile, &dump->info, DUMP_TOP_ROWS, out);
		return output_top(dump->profile, &dump->info, DUMP_TOP_ROWS, out);
	case DUMP_FORMAT_JSON:
		return output_json(dump->profile, &dump->info, out);
	case DUMP_FORMAT_PPROF:
		return output_pprof(dump->profile, &dump->info, out);
	case DUMP_FORMAT_SPEEDSCOPE:
		return output_speedscope(dump->profile, &dump->info, out);
	case DUMP_FORMAT_FOLDED:
	case DUMP_FORMAT_CELLS:
		break;
	}
	err = output_folded(dump->profile, out);
	return err ? err : cmd_write_prepare_lines(dump->options->output, out);
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

static int dump_render(struct dump *dump, struct strbuf *out)
{
	if (dump->cells.sum)
		return dump_render_cells(dump, out);
	if (dump->profile)
		return dump_render_stacks(dump, out);
	if (dump->options->format == DUMP_FORMAT_JSON)
		return dump_list_json(&dump->streams, dump->options, out);
	return dump_list_table(&dump->streams, out);
}

static int dump_fail(const struct dump_options *options, int err)
{
	if (err == -ENOMEM)
		pr_err("out of memory; take a shorter time or fewer processes\n");
	else
		pr_err("the store in '%s' cannot be read: %s\n", options->store, errstr(err));
	return CMD_EXIT_FAILED;
}

/* Do source lines come out, or the names of source files? Lines are of Java code. */
static bool has_lines(const struct dump_options *options)
{
	bool is_for_files = options->format == DUMP_FORMAT_PPROF ||
			    options->format == DUMP_FORMAT_SPEEDSCOPE;

	return (options->lines || options->format == DUMP_FORMAT_JSON || is_for_files) &&
	       options->selection.kind <= SELECT_KIND_JAVA;
}

static int dump_run(struct dump *dump, struct store_reader *reader)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	const char *why;
	int code, err;

	if (dump->options->format == DUMP_FORMAT_CELLS) {
		if (dump_cells_init(&dump->cells))
			return dump_fail(dump->options, -ENOMEM);
	} else if (!dump->options->list) {
		dump->profile = profile__new();
		if (has_lines(dump->options))
			dump->info.lines = source_lines__new(0);
		if (!dump->profile || (has_lines(dump->options) && !dump->info.lines))
			return dump_fail(dump->options, -ENOMEM);
	}
	err = dump_read(dump, reader);
	if (err)
		return dump_fail(dump->options, err);
	if (!has_result(dump, &why)) {
		if (*why || dump_hint(reader, dump->options, &out))
			strbuf_clear(&out);
		pr_err("no samples%s match%s%s\n", why, out.len ? "; " : "", strbuf_str(&out));
		return CMD_EXIT_NO_SAMPLES;
	}
	err = dump_render(dump, &out);
	if (err)
		return dump_fail(dump->options, err);
	if (dump->cells.sum && !out.len) {
		pr_err("no samples match\n"); /* their windows only reach into the time */
		return CMD_EXIT_NO_SAMPLES;
	}
	code = cmd_write(dump->options->output, &out);
	if (code == CMD_EXIT_DONE)
		advice_warn(&dump->streams);
	return cmd_store_damage_code(&dump->damage, code);
}

/* Name of a format that must not go to a terminal; NULL = it may. */
static const char *not_for_terminal(enum dump_format format)
{
	switch (format) {
	case DUMP_FORMAT_HTML:
	case DUMP_FORMAT_SVG:
		return "a picture";
	case DUMP_FORMAT_PPROF:
		return "a binary file";
	default:
		return NULL;
	}
}

int cmd_dump(int argc, char **argv)
{
	struct dump_options options;
	struct dump dump = { .options = &options };
	struct store_reader *reader;
	char why[512];
	int code;

	if (dump_options_parse(argc, argv, clock_unix_ns(), &options, why, sizeof(why))) {
		pr_err("%s\n", why);
		return CMD_EXIT_USAGE;
	}
	if (options.info.help || options.info.version)
		return option_usage_print(&dump_option_table, &options.info);
	if (not_for_terminal(options.format) && !options.output && isatty(STDOUT_FILENO)) {
		pr_err("that is %s, not for a terminal; give -o FILE\n",
		       not_for_terminal(options.format));
		return CMD_EXIT_USAGE;
	}
	if (options.is_default_since)
		pr_info("no --since: taking one hour\n");
	if (cmd_store_open(options.store, &reader))
		return CMD_EXIT_FAILED;
	code = dump_run(&dump, reader);
	profile__free(dump.profile);
	dump_cells_release(&dump.cells);
	source_lines__free(dump.info.lines);
	streams_release(&dump.streams);
	store_reader__free(reader);
	return code;
}
