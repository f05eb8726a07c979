// SPDX-License-Identifier: Apache-2.0
/* Options of jbpf dump: the table, and which of them go together. */
#include "user/cmd/dump_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "user/cli/output_ending.h"
#include "user/model/event_view.h"
#include "user/store/store.h"
#include "user/util/clock.h"

#define DEFAULT_SINCE_NS (3600 * CLOCK_NS_PER_S)

/* In the order of enum dump_format. */
static const char *const format_words[] = { DUMP_FORMAT_WORDS, "cells", NULL };

static const struct option_row source_rows[] = {
	{ OPTION_ROW_SINCE(struct dump_options, selection.since_unix_ns, "1h before --until") },
	{ OPTION_ROW_UNTIL(struct dump_options, selection.until_unix_ns) },
	{ OPTION_ROW_STORES(struct dump_options, stores) },
	{ OPTION_ROW_FROM(struct dump_options, stores) },
	{ OPTION_ROW_EVENT(struct dump_options, event, event_view_words) },
	{ .name = NULL },
};

static const struct option_row output_rows[] = {
	{ .name = "format",
	  .kind = OPTION_KIND_WORD,
	  .metavar = "FORMAT",
	  .help = "form of the output",
	  .fallback = "that of FILE's ending, or folded",
	  .words = format_words,
	  OPTION_FIELD(struct dump_options, view.format) },
	{ OPTION_ROW_OUTPUT(struct dump_options, view.output), .fallback = "-" },
	{ OPTION_ROW_NO_PAGER(struct dump_options, no_pager) },
	{ .name = NULL },
};

static const struct option_row list_rows[] = {
	{ .name = "list",
	  .help = "list what matches instead of its stacks: containers as a table, processes "
		  "with --by pid or --format json",
	  OPTION_FIELD(struct dump_options, list) },
	{ .name = NULL },
};

static const struct option_group groups[] = {
	{ .rows = source_rows },
	{ OPTION_GROUP_SELECTION(struct dump_options, selection) },
	{ .title = "What comes out:", .rows = output_rows },
	{ OPTION_GROUP_DUMP_VIEW(struct dump_options, view) },
	{ .rows = list_rows },
	{ OPTION_GROUP_INFO(struct dump_options, info) },
	{ .rows = NULL },
};

const struct option_table dump_option_table = {
	.program = "jbpf-dump",
	.summary = "Reads profiles from the store: stacks with their samples, merged over time and "
		   "processes.",
	.groups = groups,
	.notes = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no samples match.",
};

/* Cells say when, and no more. */
static int check_cells(struct option_walk *walk)
{
	const struct dump_options *options = walk->options;

	if (options->view.format != DUMP_FORMAT_CELLS)
		return 0;
	if (options_given(walk, "by"))
		return options_refuse(walk,
				      "--by does not go with --format cells, which has no stacks");
	if (options->event != EVENT_CPU)
		return options_refuse(walk, "--format cells is for the event cpu: only its samples "
					    "are stored with their time");
	if (options->selection.kind != SELECT_KIND_ANY)
		return options_refuse(
			walk, "--kind does not go with --format cells, which has no stacks");
	if (selection_is_of_threads(&options->selection))
		return options_refuse(
			walk,
			"--thread does not go with --format cells: when a thread ran is not stored");
	return 0;
}

static int check_list(struct option_walk *walk)
{
	static const char *const of_top[] = { "sort", "rows", "callers", "lines" };
	const struct dump_options *options = walk->options;
	const struct dump_view *view = &options->view;

	for (size_t i = 0; i < sizeof(of_top) / sizeof(of_top[0]); i++) {
		if (options_given(walk, of_top[i]))
			return options_refuse(walk, "--%s goes with --format top only", of_top[i]);
	}
	if (event_is_view(options->event))
		return options_refuse(walk,
				      "--list does not go with --event %s, which is read from "
				      "others; list cpu or off-cpu",
				      event_name(options->event));
	if (view->own)
		return options_refuse(walk, "--own does not go with --list, which has no stacks");
	if (selection_is_of_threads(&options->selection))
		return options_refuse(walk,
				      "--thread does not go with --list, which lists processes; "
				      "give --by thread instead");
	if (view->by_cnt > 1 || (view->by_cnt && view->by[0] != DUMP_BY_PID))
		return options_refuse(walk, "--list is by container, or --by pid; for other tables "
					    "leave out --list, and give --format top");
	if (view->by_cnt && options_given(walk, "format"))
		return options_refuse(walk, "--by does not go with --list --format json, which has "
					    "every process");
	if (options->selection.kind != SELECT_KIND_ANY)
		return options_refuse(walk, "--kind does not go with --list");
	if (options_given(walk, "format") && view->format != DUMP_FORMAT_JSON)
		return options_refuse(walk, "--list is a table, or --format json");
	return 0;
}

/* What does not go together; and the order of labels. */
static int check_combination(struct option_walk *walk)
{
	struct dump_options *options = walk->options;

	if (options->selection.since_unix_ns >= options->selection.until_unix_ns)
		return options_refuse_range(walk, options->selection.since_unix_ns,
					    options->selection.until_unix_ns);
	if (option_check_stores(walk, &options->stores))
		return -EINVAL;
	if (options->list && check_list(walk))
		return -EINVAL;
	if (!options->list && check_cells(walk))
		return -EINVAL;
	return dump_view_settle(walk, &options->view, &options->selection, options->event);
}

/* Without --since it is the hour before --until. */
static void set_default_since(struct dump_options *options)
{
	uint64_t end = options->selection.until_unix_ns;

	options->is_default_since = true;
	options->selection.since_unix_ns = end > DEFAULT_SINCE_NS ? end - DEFAULT_SINCE_NS : 0;
}

/*
 * A file's ending says its format, when no option does: folded text in a page or a picture is what nobody
 * wants. Text files, and those of an ending that says nothing, are folded. 0 or -EINVAL.
 */
static int take_format_of_file(struct option_walk *walk, struct dump_view *view)
{
	const char *format = view->output ? output_ending_format(view->output) : NULL;

	if (format && !output_ending_is_text(view->output))
		view->format = (enum dump_format)option_word_index(format_words, format);
	if (view->output && output_ending_is_foreign(view->output))
		return options_refuse(walk, OUTPUT_ENDING_REFUSED, view->output);
	return 0;
}

int dump_options_parse(int argc, char **argv, uint64_t now_unix_ns, struct dump_options *out,
		       char *why, size_t why_len)
{
	struct dump_options options = {
		.selection.until_unix_ns = now_unix_ns,
		.view.row_max = DUMP_ROWS_DEFAULT,
	};
	struct option_walk walk = {
		.table = &dump_option_table,
		.options = &options,
		.now_unix_ns = now_unix_ns,
		.why = why,
		.why_len = why_len,
	};
	int err = options_walk_all(&walk, argc, argv);

	if (err)
		return err;
	if (!options_given(&walk, "since"))
		set_default_since(&options);
	if (!options_given(&walk, "format") && !options.list) {
		if (options.view.callers)
			options.view.format = DUMP_FORMAT_TOP;
		else
			err = take_format_of_file(&walk, &options.view);
		if (err)
			return err;
	}
	if (!options.info.help && !options.info.version) {
		err = check_combination(&walk);
		if (err)
			return err;
	}
	if (options.view.output && strcmp(options.view.output, "-") == 0)
		options.view.output = NULL;
	*out = options;
	return 0;
}
