// SPDX-License-Identifier: Apache-2.0
/* Options of jbpf dump: one table, each option once, every refusal says what would be right. */
#include "user/cmd/dump_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "user/store/store.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/parse.h"

#define DEFAULT_SINCE_NS (3600 * CLOCK_NS_PER_S)
#define SEE_HELP	 "see jbpf-dump --help"

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
	OPTION_CONTAINER,
	OPTION_POD,
	OPTION_NAMESPACE,
	OPTION_SERVICE,
	OPTION_PID,
	OPTION_COMM,
	OPTION_CGROUP,
	OPTION_KIND,
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
	{ "container", required_argument, NULL, OPTION_CONTAINER },
	{ "pod", required_argument, NULL, OPTION_POD },
	{ "namespace", required_argument, NULL, OPTION_NAMESPACE },
	{ "service", required_argument, NULL, OPTION_SERVICE },
	{ "pid", required_argument, NULL, OPTION_PID },
	{ "comm", required_argument, NULL, OPTION_COMM },
	{ "cgroup", required_argument, NULL, OPTION_CGROUP },
	{ "kind", required_argument, NULL, OPTION_KIND },
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
	bool seen[OPTION_END];
	bool has_by_none;
	char *why;
	size_t why_len;
};

static int refuse(struct parsing *parsing, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int refuse(struct parsing *parsing, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(parsing->why, parsing->why_len, format, args);
	va_end(args);
	return -EINVAL;
}

/* "--since", as the user would write it. */
static const char *option_name(int id, char *text, size_t text_len)
{
	for (size_t i = 0; long_options[i].name; i++) {
		if (long_options[i].val == id) {
			(void)snprintf(text, text_len, "--%s", long_options[i].name);
			return text;
		}
	}
	(void)snprintf(text, text_len, "-%c", id);
	return text;
}

static int take_time(struct parsing *parsing, const char *option, const char *value,
		     uint64_t *unix_ns_out)
{
	if (parse_time_ns(value, parsing->now_unix_ns, unix_ns_out) == 0)
		return 0;
	return refuse(
		parsing,
		"%s: '%s' is no time; write 90s, 15m, 1h, 2d, 2026-11-21T13:00:00Z or @EPOCH; " SEE_HELP,
		option, value);
}

static int take_by(struct parsing *parsing, const char *value)
{
	struct dump_options *options = parsing->options;
	size_t by = 0;

	if (strcmp(value, "none") == 0) {
		if (parsing->has_by_none)
			return refuse(parsing, "--by none is given twice; " SEE_HELP);
		parsing->has_by_none = true;
		return 0;
	}
	while (by < DUMP_BY_CNT && strcmp(dump_by_names[by], value) != 0)
		by++;
	if (by == DUMP_BY_CNT)
		return refuse(parsing,
			      "--by: '%s' is none of container, pod, service, pid, none; " SEE_HELP,
			      value);
	for (size_t i = 0; i < options->by_cnt; i++) {
		if (options->by[i] == by)
			return refuse(parsing, "--by %s is given twice; " SEE_HELP, value);
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
	return refuse(
		parsing,
		"--format: '%s' is none of folded, html, svg, top, json, pprof, speedscope, cells; " SEE_HELP,
		value);
}

/* Where an option's text goes, NULL when it is more than text. */
static const char **text_field(struct dump_options *options, int id)
{
	switch (id) {
	case OPTION_STORE:
		return &options->store;
	case OPTION_CONTAINER:
		return &options->selection.container;
	case OPTION_POD:
		return &options->selection.pod;
	case OPTION_NAMESPACE:
		return &options->selection.namespace;
	case OPTION_SERVICE:
		return &options->selection.service;
	case OPTION_COMM:
		return &options->selection.comm;
	case OPTION_CGROUP:
		return &options->selection.cgroup;
	case OPTION_OUTPUT:
		return &options->output;
	default:
		return NULL;
	}
}

static int take_option(struct parsing *parsing, int id, const char *value)
{
	struct dump_options *options = parsing->options;
	const char **text = text_field(options, id);

	if (text) {
		*text = value;
		return 0;
	}
	switch (id) {
	case OPTION_SINCE:
		return take_time(parsing, "--since", value, &options->selection.since_unix_ns);
	case OPTION_UNTIL:
		return take_time(parsing, "--until", value, &options->selection.until_unix_ns);
	case OPTION_PID:
		if (parse_u32_range(value, 1, INT32_MAX, &options->selection.pid))
			return refuse(parsing, "--pid: '%s' is no process id; " SEE_HELP, value);
		return 0;
	case OPTION_KIND:
		if (select_kind_parse(value, &options->selection.kind))
			return refuse(parsing,
				      "--kind: '%s' is none of java, kernel, native; " SEE_HELP,
				      value);
		return 0;
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

static int refuse_unknown(struct parsing *parsing, int id, const char *argument)
{
	char name[32];

	if (id == ':')
		return refuse(parsing, "%s wants a value; " SEE_HELP,
			      option_name(optopt, name, sizeof(name)));
	if (optopt > UINT8_MAX)
		return refuse(parsing, "%s takes no value; " SEE_HELP,
			      option_name(optopt, name, sizeof(name)));
	if (optopt)
		return refuse(parsing, "there is no option -%c; " SEE_HELP, optopt);
	return refuse(parsing, "there is no option %s; " SEE_HELP, argument);
}

static int parse_arguments(int argc, char **argv, struct parsing *parsing)
{
	char name[32];
	int id;

	optind = 0; /* glibc: begin anew */
	opterr = 0;
	while ((id = getopt_long(argc, argv, "+:o:", long_options, NULL)) != -1) {
		int err;

		if (id == '?' || id == ':')
			return refuse_unknown(parsing, id, argv[optind - 1]);
		if (parsing->seen[id] && id != OPTION_BY)
			return refuse(parsing, "%s is given twice; " SEE_HELP,
				      option_name(id, name, sizeof(name)));
		parsing->seen[id] = true;
		err = take_option(parsing, id, optarg);
		if (err)
			return err;
	}
	if (optind < argc)
		return refuse(parsing, "'%s' is no option; " SEE_HELP, argv[optind]);
	return 0;
}

/* What does not go together. */
static int check_combination(struct parsing *parsing)
{
	const struct dump_options *options = parsing->options;

	if (options->selection.since_unix_ns >= options->selection.until_unix_ns)
		return refuse(parsing, "--since must lie before --until");
	if (parsing->has_by_none && options->by_cnt)
		return refuse(parsing, "--by none does not go with another --by");
	if (options->lines && (options->list || options->format != DUMP_FORMAT_TOP))
		return refuse(parsing, "--lines goes with --format top; json has them anyway");
	if (options->lines && options->selection.kind > SELECT_KIND_JAVA)
		return refuse(parsing, "--lines: only Java code has source lines");
	if (options->format == DUMP_FORMAT_CELLS && parsing->seen[OPTION_BY])
		return refuse(parsing, "--by does not go with --format cells, which has no stacks");
	if (options->format == DUMP_FORMAT_CELLS && options->selection.kind != SELECT_KIND_ANY)
		return refuse(parsing,
			      "--kind does not go with --format cells, which has no stacks");
	if (!options->list)
		return 0;
	if (parsing->seen[OPTION_BY])
		return refuse(parsing, "--by does not go with --list");
	if (options->selection.kind != SELECT_KIND_ANY)
		return refuse(parsing, "--kind does not go with --list");
	if (parsing->seen[OPTION_FORMAT] && options->format != DUMP_FORMAT_JSON)
		return refuse(parsing, "--list is a table, or --format json");
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
		.why = why,
		.why_len = why_len,
	};
	int err = parse_arguments(argc, argv, &parsing);

	if (err)
		return err;
	if (!parsing.seen[OPTION_SINCE]) {
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
