// SPDX-License-Identifier: Apache-2.0
/* Options of jbpf dump: one table, each option once, every refusal says what would be right. */
#include "user/cmd/dump_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "user/cli/arguments.h"
#include "user/store/store.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/parse.h"

#define DEFAULT_SINCE_NS (3600 * CLOCK_NS_PER_S)

const char dump_options_usage[] =
	"usage: jbpf-dump [OPTION]...\n"
	"Reads profiles out of the store: stacks with their samples, merged over time and processes.\n"
	"\n"
	"  --since T          from when: 90s, 15m, 1h, 2d back from now, 2026-11-21T13:00:00Z (local\n"
	"                     time without zone) or @EPOCH (1h)\n"
	"  --until T          to when (now)\n"
	"  --store DIR        where the profiles are (" STORE_DEFAULT_DIR ")\n"
	"\n"
	"Which processes; names may be globs, all that are given must match:\n"
	"  --container S      container name, or id, or 6 and more digits of it\n"
	"  --pod S            pod name or uid\n"
	"  --namespace S      Kubernetes namespace\n"
	"  --service S        name that stays over restarts and roll-outs\n"
	"  --pid N            process id as the host sees it\n"
	"  --comm S           process name\n"
	"  --cgroup S         cgroup path, and all below it\n"
	"  --kind K           only samples whose CPU was in java, kernel or native code\n"
	"\n"
	"What comes out:\n"
	"  --by LABEL         put container, pod, service or pid in front of the stacks; repeatable\n"
	"  --format F         folded, html, svg, top, json, pprof, speedscope, or cells: how many\n"
	"                     samples every 20 ms (folded)\n"
	"  -o, --output FILE  write there, all or nothing, instead of standard output\n"
	"  --lines            with --format top: source lines instead of methods\n"
	"  --list             name the processes instead of their stacks; --format json goes with it\n"
	"  --help, --version\n"
	"\n"
	"Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no samples match.\n";

const char *const dump_by_names[DUMP_BY_CNT] = { "container", "pod", "service", "pid" };

enum option_id {
	OPTION_OUTPUT = 'o',
	OPTION_SINCE = 256,
	OPTION_UNTIL,
	OPTION_STORE,
	OPTION_BY,
	OPTION_FORMAT,
	OPTION_LINES,
	OPTION_LIST,
	OPTION_HELP,
	OPTION_VERSION,
	OPTION_END,
};

static const struct option long_options[] = {
	{ "since", required_argument, NULL, OPTION_SINCE },
	{ "until", required_argument, NULL, OPTION_UNTIL },
	{ "store", required_argument, NULL, OPTION_STORE },
	ARGUMENT_SELECTORS,
	{ "by", required_argument, NULL, OPTION_BY },
	{ "format", required_argument, NULL, OPTION_FORMAT },
	{ "output", required_argument, NULL, OPTION_OUTPUT },
	{ "lines", no_argument, NULL, OPTION_LINES },
	{ "list", no_argument, NULL, OPTION_LIST },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ NULL, 0, NULL, 0 },
};

struct parsing {
	struct dump_options *options;
	uint64_t now_unix_ns;
	bool has_by_none;
	struct arguments arguments;
};

static int take_by(struct parsing *parsing, const char *value)
{
	struct dump_options *options = parsing->options;
	size_t by = 0;

	if (strcmp(value, "none") == 0) {
		if (parsing->has_by_none)
			return arguments_refuse_see_help(&parsing->arguments,
							 "--by none is given twice");
		parsing->has_by_none = true;
		return 0;
	}
	while (by < DUMP_BY_CNT && strcmp(dump_by_names[by], value) != 0)
		by++;
	if (by == DUMP_BY_CNT)
		return arguments_refuse_see_help(
			&parsing->arguments,
			"--by: '%s' is not one of container, pod, service, pid, none", value);
	for (size_t i = 0; i < options->by_cnt; i++) {
		if (options->by[i] == by)
			return arguments_refuse_see_help(&parsing->arguments,
							 "--by %s is given twice", value);
	}
	options->by[options->by_cnt++] = (enum dump_by)by;
	return 0;
}

static int take_format(struct parsing *parsing, const char *value)
{
	static const char *const names[] = { "folded", "html",	"svg",	      "top",
					     "json",   "pprof", "speedscope", "cells" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(names[i], value) == 0) {
			parsing->options->format = (enum dump_format)i;
			return 0;
		}
	}
	return arguments_refuse_see_help(
		&parsing->arguments,
		"--format: '%s' is not one of folded, html, svg, top, json, pprof, speedscope, cells",
		value);
}

/* Where an option's text goes, NULL when it is more than text. */
static const char **text_field(struct dump_options *options, int id)
{
	switch (id) {
	case OPTION_STORE:
		return &options->store;
	case OPTION_OUTPUT:
		return &options->output;
	default:
		return NULL;
	}
}

static int take_option(void *ctx, int id, const char *value)
{
	struct parsing *parsing = ctx;
	struct dump_options *options = parsing->options;
	const char **text = text_field(options, id);

	if (text) {
		*text = value;
		return 0;
	}
	if (arguments_is_selector(id))
		return arguments_take_selector(&parsing->arguments, id, value, &options->selection);
	switch (id) {
	case OPTION_SINCE:
		return arguments_take_time(&parsing->arguments, "--since", value,
					   parsing->now_unix_ns, &options->selection.since_unix_ns);
	case OPTION_UNTIL:
		return arguments_take_time(&parsing->arguments, "--until", value,
					   parsing->now_unix_ns, &options->selection.until_unix_ns);
	case OPTION_BY:
		return take_by(parsing, value);
	case OPTION_FORMAT:
		return take_format(parsing, value);
	case OPTION_LINES:
		options->lines = true;
		return 0;
	case OPTION_LIST:
		options->list = true;
		return 0;
	case OPTION_HELP:
		options->help = true;
		return 0;
	default:
		options->version = true;
		return 0;
	}
}

static int parse_arguments(int argc, char **argv, struct parsing *parsing)
{
	int err = arguments_walk(&parsing->arguments, argc, argv);

	if (!err && optind < argc)
		err = arguments_refuse_see_help(&parsing->arguments, "'%s' is no option",
						argv[optind]);
	return err;
}

/* What does not go together. */
static int check_combination(struct parsing *parsing)
{
	const struct dump_options *options = parsing->options;

	if (options->selection.since_unix_ns >= options->selection.until_unix_ns)
		return arguments_refuse(&parsing->arguments, "--since must lie before --until");
	if (parsing->has_by_none && options->by_cnt)
		return arguments_refuse(&parsing->arguments,
					"--by none does not go with another --by");
	if (options->lines && (options->list || options->format != DUMP_FORMAT_TOP))
		return arguments_refuse(&parsing->arguments,
					"--lines goes with --format top; json has them anyway");
	if (options->lines && options->selection.kind > SELECT_KIND_JAVA)
		return arguments_refuse(&parsing->arguments,
					"--lines: only Java code has source lines");
	if (options->format == DUMP_FORMAT_CELLS && parsing->arguments.seen[OPTION_BY])
		return arguments_refuse(
			&parsing->arguments,
			"--by does not go with --format cells, which has no stacks");
	if (options->format == DUMP_FORMAT_CELLS && options->selection.kind != SELECT_KIND_ANY)
		return arguments_refuse(
			&parsing->arguments,
			"--kind does not go with --format cells, which has no stacks");
	if (!options->list)
		return 0;
	if (parsing->arguments.seen[OPTION_BY])
		return arguments_refuse(&parsing->arguments, "--by does not go with --list");
	if (options->selection.kind != SELECT_KIND_ANY)
		return arguments_refuse(&parsing->arguments, "--kind does not go with --list");
	if (parsing->arguments.seen[OPTION_FORMAT] && options->format != DUMP_FORMAT_JSON)
		return arguments_refuse(&parsing->arguments, "--list is a table, or --format json");
	return 0;
}

int dump_options_parse(int argc, char **argv, uint64_t now_unix_ns, struct dump_options *out,
		       char *why, size_t why_len)
{
	struct dump_options options = {
		.store = STORE_DEFAULT_DIR,
		.selection.until_unix_ns = now_unix_ns,
	};
	struct parsing parsing = {
		.options = &options,
		.now_unix_ns = now_unix_ns,
		.arguments = {
			.program = "jbpf-dump",
			.letters = "+:o:",
			.options = long_options,
			.repeatable = OPTION_BY,
			.ctx = &parsing,
			.take = take_option,
			.why = why,
			.why_len = why_len,
		},
	};
	int err = parse_arguments(argc, argv, &parsing);

	if (err)
		return err;
	if (!parsing.arguments.seen[OPTION_SINCE]) {
		uint64_t end = options.selection.until_unix_ns;

		options.is_default_since = true;
		options.selection.since_unix_ns = end > DEFAULT_SINCE_NS ? end - DEFAULT_SINCE_NS :
									   0;
	}
	if (!options.help && !options.version) {
		err = check_combination(&parsing);
		if (err)
			return err;
	}
	if (options.output && strcmp(options.output, "-") == 0)
		options.output = NULL;
	*out = options;
	return 0;
}
