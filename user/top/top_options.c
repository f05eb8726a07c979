// SPDX-License-Identifier: Apache-2.0
/* Options of jbpf top; see top_options.h. */
#include "user/top/top_options.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DEFAULT_ROWS 50

static const struct option_row source_rows[] = {
	{ OPTION_ROW_EVENT(struct top_options, event, event_words) },
	{ OPTION_ROW_STORE(struct top_options, store) },
	{ .name = "sample",
	  .help = "sample this host even where jbpfd runs; needs root",
	  OPTION_FIELD(struct top_options, samples) },
	{ .name = NULL },
};

static const struct option_row output_rows[] = {
	{ .name = "once",
	  .help = "print one table and end; the default when the output is not a terminal",
	  OPTION_FIELD(struct top_options, once) },
	{ OPTION_ROW_SINCE(struct top_options, selection.since_unix_ns, NULL) },
	{ .name = "rows",
	  .letter = 'n',
	  .kind = OPTION_KIND_NUMBER,
	  .metavar = "N",
	  .help = "with --once or --since: print so many rows; 0 prints all",
	  .fallback = "50",
	  .wants = "a number of rows",
	  .max = UINT32_MAX,
	  OPTION_FIELD(struct top_options, rows) },
	{ .name = NULL },
};

static const struct option_group groups[] = {
	{ .title = "Where the samples come from:", .rows = source_rows },
	{ OPTION_GROUP_SELECTION(struct top_options, selection) },
	{ .title = "Plain tables, for pipes; --since prints one of the whole range:",
	  .rows = output_rows },
	{ OPTION_GROUP_INFO(struct top_options, info) },
	{ .rows = NULL },
};

const struct option_table top_option_table = {
	.program = "jbpf-top",
	.summary =
		"Shows containers and processes of this host by the CPU time they use now, and the "
		"methods, calls and callers of each, in the terminal. Where jbpfd runs it shows what "
		"jbpfd records; else it samples by itself, as root.",
	.groups = groups,
	.notes =
		"Keys: Enter goes into a container's methods, Esc back, s sorts, / filters, e switches "
		"the event, p pauses, ? helps, q quits. NO_COLOR in the environment switches colours "
		"off.\n"
		"\n"
		"Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no samples match.",
};

static bool has_selection(const struct option_walk *walk)
{
	for (const struct option_row *row = option_selection_rows; row->name; row++) {
		if (options_given(walk, row->name))
			return true;
	}
	return false;
}

/* People try it: dump, diff and web have it. */
static bool asks_a_server(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--from") == 0 || strncmp(argv[i], "--from=", 7) == 0)
			return true;
	}
	return false;
}

int top_options_parse(int argc, char **argv, uint64_t now_unix_ns, struct top_options *out,
		      char *why, size_t why_len)
{
	struct top_options options = {
		.store = STORE_DEFAULT_DIR,
		.rows = DEFAULT_ROWS,
		.selection.until_unix_ns = now_unix_ns,
	};
	struct option_walk walk = {
		.table = &top_option_table,
		.options = &options,
		.now_unix_ns = now_unix_ns,
		.why = why,
		.why_len = why_len,
	};
	bool has_since;
	int err;

	if (asks_a_server(argc, argv))
		return options_refuse(
			&walk,
			"--from: jbpf top shows what runs now, and a server is minutes behind; use jbpf web --from URL, or jbpf dump --from URL --since 15m --format top --by container");
	err = options_walk_all(&walk, argc, argv);
	if (err)
		return err;
	has_since = options_given(&walk, "since");
	if (options.samples && options_given(&walk, "store"))
		return options_refuse(&walk,
				      "--sample does not go with --store: it samples instead "
				      "of reading a store");
	if (options.samples && has_since)
		return options_refuse(&walk,
				      "--sample does not go with --since: what was is only in "
				      "a store");
	if (has_since && options.selection.since_unix_ns >= now_unix_ns)
		return options_refuse(&walk, "--since lies in the future");
	options.has_selection = has_selection(&walk);
	options.once = options.once || has_since;
	if (options.samples)
		options.from = TOP_FROM_SAMPLING;
	else if (has_since || options_given(&walk, "store"))
		options.from = TOP_FROM_STORE;
	*out = options;
	return 0;
}
