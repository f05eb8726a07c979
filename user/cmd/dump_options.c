// SPDX-License-Identifier: Apache-2.0
/* Options of jbpf dump: the table, and which of them go together. */
#include "user/cmd/dump_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "user/store/store.h"
#include "user/util/clock.h"

#define DEFAULT_SINCE_NS (3600 * CLOCK_NS_PER_S)

const char *const dump_by_names[DUMP_BY_CNT] = { "container", "pod", "service", "pid" };

/* As dump_by_names, and in front of nothing. */
static const char *const by_words[] = { "container", "pod", "service", "pid", "none", NULL };

/* In the order of enum dump_format. */
static const char *const format_words[] = { "folded", "html",	    "svg",   "top", "json",
					    "pprof",  "speedscope", "cells", NULL };

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
	{ OPTION_ROW_STORE(struct parsing, options.store) },
	{ .name = NULL },
};

static const struct option_row output_rows[] = {
	{ .name = "by",
	  .kind = OPTION_KIND_OWN,
	  .repeats = true,
	  .metavar = "LABEL",
	  .help = "put this label in front of the stacks, as their first frame",
	  .words = by_words,
	  .parse = take_by },
	{ .name = "format",
	  .kind = OPTION_KIND_WORD,
	  .metavar = "FORMAT",
	  .help = "form of the output",
	  .fallback = "folded",
	  .words = format_words,
	  OPTION_FIELD(struct parsing, options.format) },
	{ OPTION_ROW_OUTPUT(struct parsing, options.output), .fallback = "-" },
	{ .name = "lines",
	  .help = "with --format top: source lines instead of methods",
	  OPTION_FIELD(struct parsing, options.lines) },
	{ .name = "list",
	  .help = "list the processes that match instead of their stacks, as a table or with "
		  "--format json",
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

/* What does not go together. */
static int check_combination(struct option_walk *walk)
{
	const struct parsing *parsing = walk->options;
	const struct dump_options *options = &parsing->options;

	if (options->selection.since_unix_ns >= options->selection.until_unix_ns)
		return options_refuse(walk, "--since must lie before --until");
	if (parsing->has_by_none && options->by_cnt)
		return options_refuse(walk, "--by none does not go with another --by");
	if (options->lines && (options->list || options->format != DUMP_FORMAT_TOP))
		return options_refuse(walk, "--lines goes with --format top; json has them anyway");
	if (options->lines && options->selection.kind > SELECT_KIND_JAVA)
		return options_refuse(walk, "--lines: only Java code has source lines");
	if (options->format == DUMP_FORMAT_CELLS && options_given(walk, "by"))
		return options_refuse(walk,
				      "--by does not go with --format cells, which has no stacks");
	if (options->format == DUMP_FORMAT_CELLS && options->selection.kind != SELECT_KIND_ANY)
		return options_refuse(
			walk, "--kind does not go with --format cells, which has no stacks");
	if (!options->list)
		return 0;
	if (options_given(walk, "by"))
		return options_refuse(walk, "--by does not go with --list");
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

int dump_options_parse(int argc, char **argv, uint64_t now_unix_ns, struct dump_options *out,
		       char *why, size_t why_len)
{
	struct parsing parsing = {
		.options.store = STORE_DEFAULT_DIR,
		.options.selection.until_unix_ns = now_unix_ns,
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
