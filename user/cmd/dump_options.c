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

#define DEFAULT_ROWS 50

const char *const dump_by_names[DUMP_BY_CNT] = { "container", "pod",   "namespace",
						 "service",   "image", "host",
						 "comm",      "pid",   "thread" };

/* As dump_by_names, and in front of nothing. */
static const char *const by_words[] = { "container", "pod", "namespace", "service", "image", "host",
					"comm",	     "pid", "thread",	 "none",    NULL };

/* In the order of enum tree_order. */
static const char *const sort_words[] = { "self", "total", NULL };

/* In the order of enum dump_format. */
static const char *const format_words[] = { "folded", "html",	    "svg",  "top",   "json",
					    "pprof",  "speedscope", "otlp", "cells", NULL };

struct parsing {
	struct dump_options options;
	bool has_by_none;
};

static int take_by(struct option_walk *walk, const char *value)
{
	struct parsing *parsing = walk->options;
	struct dump_options *options = &parsing->options;
	int by = option_word_index(by_words, value);
	bool is_repeated = by == DUMP_BY_CNT && parsing->has_by_none;

	if (by < 0)
		return by;
	for (size_t i = 0; i < options->by_cnt; i++)
		is_repeated = is_repeated || (int)options->by[i] == by;
	if (is_repeated)
		return options_refuse_see_help(walk, "--by %s is given twice", value);
	if (by == DUMP_BY_CNT)
		parsing->has_by_none = true;
	else
		options->by[options->by_cnt++] = (enum dump_by)by;
	return 0;
}

static const struct option_row source_rows[] = {
	{ OPTION_ROW_SINCE(struct parsing, options.selection.since_unix_ns, "1h before --until") },
	{ OPTION_ROW_UNTIL(struct parsing, options.selection.until_unix_ns) },
	{ OPTION_ROW_STORES(struct parsing, options.stores) },
	{ OPTION_ROW_FROM(struct parsing, options.stores) },
	{ OPTION_ROW_EVENT(struct parsing, options.event, event_view_words) },
	{ .name = NULL },
};

static const struct option_row output_rows[] = {
	{ .name = "by",
	  .kind = OPTION_KIND_OWN,
	  .repeats = true,
	  .metavar = "LABEL",
	  .help = "put this label in front of the stacks, as their first frame; with --format "
		  "top: a table of what has this label, instead of methods",
	  .words = by_words,
	  .parse = take_by },
	{ .name = "format",
	  .kind = OPTION_KIND_WORD,
	  .metavar = "FORMAT",
	  .help = "form of the output",
	  .fallback = "that of FILE's ending, or folded",
	  .words = format_words,
	  OPTION_FIELD(struct parsing, options.format) },
	{ OPTION_ROW_OUTPUT(struct parsing, options.output), .fallback = "-" },
	{ OPTION_ROW_NO_PAGER(struct parsing, options.no_pager) },
	{ .name = "sort",
	  .kind = OPTION_KIND_WORD,
	  .metavar = "COLUMN",
	  .help = "with --format top: by the samples of a method itself, or with what it calls",
	  .fallback = "self",
	  .words = sort_words,
	  OPTION_FIELD(struct parsing, options.order) },
	{ .name = "callers",
	  .kind = OPTION_KIND_TEXT,
	  .metavar = "METHOD",
	  .help = "who calls this method, or those that match a glob, as a tree; the format is top",
	  .min = 1,
	  .wants = "a method, such as java.util.HashMap.get, or '*HashMap.get'",
	  OPTION_FIELD(struct parsing, options.callers) },
	{ .name = "rows",
	  .letter = 'n',
	  .kind = OPTION_KIND_NUMBER,
	  .metavar = "N",
	  .help = "with --format top: at most so many rows, 0 for all",
	  .fallback = "50",
	  .max = UINT32_MAX,
	  OPTION_FIELD(struct parsing, options.row_max) },
	{ .name = "lines",
	  .help = "with --format top: source lines instead of methods",
	  OPTION_FIELD(struct parsing, options.lines) },
	{ OPTION_ROW_OWN(struct parsing, options.own) },
	{ .name = "idle",
	  .help = "with --event off-cpu, wall, lock or disk: threads that never ran, too, below the "
		  "frame [idle]",
	  OPTION_FIELD(struct parsing, options.idle) },
	{ .name = "list",
	  .help = "list what matches instead of its stacks: containers as a table, processes "
		  "with --by pid or --format json",
	  OPTION_FIELD(struct parsing, options.list) },
	{ .name = NULL },
};

static const struct option_group groups[] = {
	{ .rows = source_rows },
	{ OPTION_GROUP_SELECTION(struct parsing, options.selection) },
	{ .title = "What comes out:", .rows = output_rows },
	{ OPTION_GROUP_INFO(struct parsing, options.info) },
	{ .rows = NULL },
};

const struct option_table dump_option_table = {
	.program = "jbpf-dump",
	.summary = "Reads profiles from the store: stacks with their samples, merged over time and "
		   "processes.",
	.groups = groups,
	.notes = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no samples match.",
};

bool dump_options_are_of_labels(const struct dump_options *options)
{
	return options->format == DUMP_FORMAT_TOP && options->by_cnt && !options->callers;
}

/* What goes with --format top only, and there with what. */
static int check_top(struct option_walk *walk)
{
	static const char *const only[] = { "sort", "rows", "callers" };
	const struct parsing *parsing = walk->options;
	const struct dump_options *options = &parsing->options;
	bool is_methods = !options->lines && !options->callers && !options->by_cnt;

	for (size_t i = 0; i < sizeof(only) / sizeof(only[0]); i++) {
		if (options_given(walk, only[i]) &&
		    (options->list || options->format != DUMP_FORMAT_TOP))
			return options_refuse(walk, "--%s goes with --format top only", only[i]);
	}
	if (options->callers && options->lines)
		return options_refuse(walk, "--callers does not go with --lines");
	if (options->callers && options_given(walk, "rows"))
		return options_refuse(walk,
				      "--rows does not go with --callers, which shows what has "
				      "1 %% of the samples or more");
	if (options->lines && options->by_cnt)
		return options_refuse(walk, "--by does not go with --lines");
	if (options_given(walk, "sort") && !is_methods)
		return options_refuse(walk, "--sort is for the table of methods: leave out %s",
				      options->lines   ? "--lines" :
				      options->callers ? "--callers" :
							 "--by");
	return 0;
}

/* Own code is cut out of stacks: what comes out must be made of them. */
static int check_own(struct option_walk *walk)
{
	const struct parsing *parsing = walk->options;
	const struct dump_options *options = &parsing->options;

	if (!options->own)
		return 0;
	if (options->list || options->format == DUMP_FORMAT_CELLS || options->lines ||
	    dump_options_are_of_labels(options))
		return options_refuse(walk, "--own does not go with %s, which has no stacks",
				      options->list   ? "--list" :
				      options->lines  ? "--lines" :
				      options->by_cnt ? "a table of --by" :
							"--format cells");
	return 0;
}

/* What does not go together. */
static int check_combination(struct option_walk *walk)
{
	const struct parsing *parsing = walk->options;
	const struct dump_options *options = &parsing->options;

	if (options->selection.since_unix_ns >= options->selection.until_unix_ns)
		return options_refuse_range(walk, options->selection.since_unix_ns,
					    options->selection.until_unix_ns);
	if (option_check_stores(walk, &options->stores))
		return -EINVAL;
	if (parsing->has_by_none && options->by_cnt)
		return options_refuse(walk, "--by none does not go with another --by");
	if (options->lines && (options->list || options->format != DUMP_FORMAT_TOP))
		return options_refuse(walk, "--lines goes with --format top; json has them anyway");
	if (options->lines && options->selection.kind > SELECT_KIND_JAVA)
		return options_refuse(walk, "--lines: only Java code has source lines");
	if (options->format == DUMP_FORMAT_CELLS && options_given(walk, "by"))
		return options_refuse(walk,
				      "--by does not go with --format cells, which has no stacks");
	if (options->format == DUMP_FORMAT_CELLS && options->event != EVENT_CPU)
		return options_refuse(walk, "--format cells is for the event cpu: only its samples "
					    "are stored with their time");
	if (options->idle && !event_has_idle(options->event))
		return options_refuse(walk, "--idle goes with --event off-cpu, wall, lock and disk "
					    "only");
	if (options->lines && event_is_view(options->event))
		return options_refuse(walk,
				      "--lines does not go with --event %s: lines are counted "
				      "for cpu and off-cpu as a whole",
				      event_name(options->event));
	if (options->list && event_is_view(options->event))
		return options_refuse(walk,
				      "--list does not go with --event %s, which is read from "
				      "others; list cpu or off-cpu",
				      event_name(options->event));
	if (check_own(walk))
		return -EINVAL;
	if (options->format == DUMP_FORMAT_CELLS && options->selection.kind != SELECT_KIND_ANY)
		return options_refuse(
			walk, "--kind does not go with --format cells, which has no stacks");
	if (options->format == DUMP_FORMAT_CELLS && options->selection.thread)
		return options_refuse(
			walk,
			"--thread does not go with --format cells: when a thread ran is not stored");
	if (!options->list)
		return check_top(walk);
	if (check_top(walk))
		return -EINVAL;
	if (options->selection.thread)
		return options_refuse(walk,
				      "--thread does not go with --list, which lists processes; "
				      "give --by thread instead");
	if (options->by_cnt > 1 || (options->by_cnt && options->by[0] != DUMP_BY_PID))
		return options_refuse(walk, "--list is by container, or --by pid; for other tables "
					    "leave out --list, and give --format top");
	if (options->by_cnt && options_given(walk, "format"))
		return options_refuse(walk, "--by does not go with --list --format json, which has "
					    "every process");
	if (options->selection.kind != SELECT_KIND_ANY)
		return options_refuse(walk, "--kind does not go with --list");
	if (options_given(walk, "format") && options->format != DUMP_FORMAT_JSON)
		return options_refuse(walk, "--list is a table, or --format json");
	return 0;
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
 * wants. Text files are folded.
 */
static void set_format_of_file(struct dump_options *options)
{
	const char *format = options->output ? output_ending_format(options->output) : NULL;

	if (format && strcmp(format, "top") != 0)
		options->format = (enum dump_format)option_word_index(format_words, format);
}

int dump_options_parse(int argc, char **argv, uint64_t now_unix_ns, struct dump_options *out,
		       char *why, size_t why_len)
{
	struct parsing parsing = {
		.options.selection.until_unix_ns = now_unix_ns,
		.options.row_max = DEFAULT_ROWS,
	};
	struct dump_options *options = &parsing.options;
	struct option_walk walk = {
		.table = &dump_option_table,
		.options = &parsing,
		.now_unix_ns = now_unix_ns,
		.why = why,
		.why_len = why_len,
	};
	int err = options_walk_all(&walk, argc, argv);

	if (err)
		return err;
	if (!options_given(&walk, "since"))
		set_default_since(options);
	if (!options_given(&walk, "format") && !options->list) {
		if (options->callers)
			options->format = DUMP_FORMAT_TOP;
		else
			set_format_of_file(options);
	}
	if (!options->info.help && !options->info.version) {
		err = check_combination(&walk);
		if (err)
			return err;
	}
	if (options->output && strcmp(options->output, "-") == 0)
		options->output = NULL;
	*out = *options;
	return 0;
}
