// SPDX-License-Identifier: Apache-2.0
/*
 * Options of jbpf diff: one table, each option once, every refusal says what would be right. There
 * are four things to compare, and each has options of its own.
 */
#include "user/cmd/diff_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/cli/arguments.h"
#include "user/compare/diff_load.h"
#include "user/store/store.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/parse.h"

#define DEFAULT_SINCE_NS (86400 * CLOCK_NS_PER_S) /* of images */
#define TIME_TEXT_MAX	 64
#define NUMBER_TEXT_MAX	 16

const char diff_options_usage[] =
	"usage: jbpf-diff --before T..T --after T..T [OPTION]...\n"
	"       jbpf-diff --before-image S --after-image S [--since T] [--until T] [OPTION]...\n"
	"       jbpf-diff --days N [--output-dir DIR] [--keep-days N] [OPTION]...\n"
	"       jbpf-diff [OPTION]... BEFORE.folded AFTER.folded\n"
	"Says which methods need more or less CPU than before, how surely, and which change could not\n"
	"have been seen. What is only noise has no colour.\n"
	"\n"
	"What is compared:\n"
	"  --before T..T      from when to when; T is 90s, 15m, 1h, 2d back from now, now,\n"
	"  --after T..T       2026-11-21T13:00:00Z (local time without zone) or @EPOCH\n"
	"  --before-image S   processes of one container image with those of another; names may be\n"
	"  --after-image S    globs\n"
	"  --since T          with images: from when (24h)\n"
	"  --until T          with images: to when (now)\n"
	"  --days N           the last N whole days with the N before them, service by service\n"
	"  two files          folded text of any profiler: shares only, nothing is sure\n"
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
	"  --relevant X       changes up to here do not matter: 0.05pp (points of all samples), 1%\n"
	"                     (of the method), or both; the larger one counts (0.05pp,1%)\n"
	"  --format F         top, html, folded (two columns) or json (top)\n"
	"  -o, --output FILE  write there, all or nothing, instead of standard output\n"
	"  --output-dir DIR   with --days: one page and one JSON per service (" DIFF_CMD_DEFAULT_DIR
	")\n"
	"  --keep-days N      with --days: pages of how many days stay there (30)\n"
	"  --fail-on WHAT     exit with 4 on: regression\n"
	"  --help, --version\n"
	"\n"
	"Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no samples on a side, 4 regression.\n";

enum option_id {
	OPTION_OUTPUT = 'o',
	OPTION_BEFORE = 256,
	OPTION_AFTER,
	OPTION_BEFORE_IMAGE,
	OPTION_AFTER_IMAGE,
	OPTION_SINCE,
	OPTION_UNTIL,
	OPTION_DAYS,
	OPTION_STORE,
	OPTION_RELEVANT,
	OPTION_FORMAT,
	OPTION_OUTPUT_DIR,
	OPTION_KEEP_DAYS,
	OPTION_FAIL_ON,
	OPTION_HELP,
	OPTION_VERSION,
	OPTION_END,
};

static const struct option long_options[] = {
	{ "before", required_argument, NULL, OPTION_BEFORE },
	{ "after", required_argument, NULL, OPTION_AFTER },
	{ "before-image", required_argument, NULL, OPTION_BEFORE_IMAGE },
	{ "after-image", required_argument, NULL, OPTION_AFTER_IMAGE },
	{ "since", required_argument, NULL, OPTION_SINCE },
	{ "until", required_argument, NULL, OPTION_UNTIL },
	{ "days", required_argument, NULL, OPTION_DAYS },
	{ "store", required_argument, NULL, OPTION_STORE },
	ARGUMENT_SELECTORS,
	{ "relevant", required_argument, NULL, OPTION_RELEVANT },
	{ "format", required_argument, NULL, OPTION_FORMAT },
	{ "output", required_argument, NULL, OPTION_OUTPUT },
	{ "output-dir", required_argument, NULL, OPTION_OUTPUT_DIR },
	{ "keep-days", required_argument, NULL, OPTION_KEEP_DAYS },
	{ "fail-on", required_argument, NULL, OPTION_FAIL_ON },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ NULL, 0, NULL, 0 },
};

struct parsing {
	struct diff_cmd_options *options;
	struct diff_cmd_range images; /* --since and --until */
	struct arguments arguments;
};

/* ---- values ---- */

/* "2d..1d" */
static int take_range(struct parsing *parsing, const char *option, const char *value,
		      struct diff_cmd_range *out)
{
	const char *dots = strstr(value, "..");
	char since[TIME_TEXT_MAX];
	size_t since_len = dots ? (size_t)(dots - value) : 0;

	if (!dots || !since_len || since_len >= sizeof(since) || !dots[2])
		return arguments_refuse_see_help(
			&parsing->arguments,
			"%s: '%s' is no range of time; write two times, as in 2d..1d", option,
			value);
	memcpy(since, value, since_len);
	since[since_len] = '\0';

	struct diff_cmd_range range = { 0 };
	int err = arguments_take_time(&parsing->arguments, option, since,
				      parsing->options->now_unix_ns, &range.since_unix_ns);

	if (!err)
		err = arguments_take_time(&parsing->arguments, option, dots + 2,
					  parsing->options->now_unix_ns, &range.until_unix_ns);
	if (err)
		return err;
	if (range.since_unix_ns >= range.until_unix_ns)
		return arguments_refuse(&parsing->arguments,
					"%s: in '%s' the first time must lie before the second",
					option, value);
	if (range.until_unix_ns - range.since_unix_ns > DIFF_LOAD_SPAN_MAX_NS)
		return arguments_refuse(
			&parsing->arguments, "%s: '%s' is longer than %llu days, take less", option,
			value,
			(unsigned long long)(DIFF_LOAD_SPAN_MAX_NS / CLOCK_NS_PER_S / 86400));
	*out = range;
	return 0;
}

/* A plain decimal number, no exponent, no sign. */
static int parse_amount(const char *text, size_t len, double *out)
{
	char number[NUMBER_TEXT_MAX];
	char *end;

	if (!len || len >= sizeof(number) || text[0] == '.' || text[len - 1] == '.')
		return -EINVAL;
	memcpy(number, text, len);
	number[len] = '\0';
	if (strspn(number, "0123456789.") != len)
		return -EINVAL;
	*out = strtod(number, &end);
	return *end ? -EINVAL : 0;
}

/* "0.05pp", "1%", or both with a comma between. What is not given is 0. */
static int take_relevant(struct parsing *parsing, const char *value)
{
	struct diff_options *statistics = &parsing->options->statistics;
	double points = -1, relative = -1;
	bool is_fine = *value != '\0';

	for (const char *at = value; is_fine && *at;) {
		size_t len = strcspn(at, ",");
		bool is_points = len > 2 && memcmp(at + len - 2, "pp", 2) == 0;
		double *to = is_points ? &points : &relative;
		size_t unit_len = is_points ? 2 : 1;

		is_fine = len > unit_len && (is_points || at[len - 1] == '%') && *to < 0 &&
			  parse_amount(at, len - unit_len, to) == 0 && *to <= 100;
		at += len;
		if (*at == ',')
			is_fine = is_fine && *++at != '\0';
	}
	if (!is_fine)
		return arguments_refuse_see_help(
			&parsing->arguments,
			"--relevant: '%s' is no limit; write 0.05pp, 1%% or 0.05pp,1%%", value);
	statistics->relevant_points = points < 0 ? 0 : points / 100;
	statistics->relevant_relative = relative < 0 ? 0 : relative / 100;
	return 0;
}

static int take_format(struct parsing *parsing, const char *value)
{
	static const char *const names[] = { "top", "folded", "html", "json" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(names[i], value) == 0) {
			parsing->options->format = (enum diff_cmd_format)i;
			parsing->options->has_format = true;
			return 0;
		}
	}
	return arguments_refuse_see_help(
		&parsing->arguments, "--format: '%s' is not one of top, html, folded, json", value);
}

/* ---- the table ---- */

/* Where an option's text goes, NULL when it is more than text. */
static const char **text_field(struct diff_cmd_options *options, int id)
{
	switch (id) {
	case OPTION_BEFORE_IMAGE:
		return &options->before.image;
	case OPTION_AFTER_IMAGE:
		return &options->after.image;
	case OPTION_STORE:
		return &options->store;
	case OPTION_OUTPUT:
		return &options->output;
	case OPTION_OUTPUT_DIR:
		return &options->output_dir;
	default:
		return NULL;
	}
}

static int take_option(void *ctx, int id, const char *value)
{
	struct parsing *parsing = ctx;
	struct diff_cmd_options *options = parsing->options;
	const char **text = text_field(options, id);

	if (text) {
		*text = value;
		return 0;
	}
	if (arguments_is_selector(id))
		return arguments_take_selector(&parsing->arguments, id, value, &options->selection);
	switch (id) {
	case OPTION_BEFORE:
		return take_range(parsing, "--before", value, &options->before.range);
	case OPTION_AFTER:
		return take_range(parsing, "--after", value, &options->after.range);
	case OPTION_SINCE:
		return arguments_take_time(&parsing->arguments, "--since", value,
					   parsing->options->now_unix_ns,
					   &parsing->images.since_unix_ns);
	case OPTION_UNTIL:
		return arguments_take_time(&parsing->arguments, "--until", value,
					   parsing->options->now_unix_ns,
					   &parsing->images.until_unix_ns);
	case OPTION_DAYS:
		if (parse_u32_range(value, 1, DIFF_CMD_DAYS_MAX, &options->days))
			return arguments_refuse_see_help(&parsing->arguments,
							 "--days: '%s' is no number from 1 to %d",
							 value, DIFF_CMD_DAYS_MAX);
		return 0;
	case OPTION_KEEP_DAYS:
		if (parse_u32_range(value, 1, DIFF_CMD_KEEP_MAX, &options->keep_days))
			return arguments_refuse_see_help(
				&parsing->arguments, "--keep-days: '%s' is no number from 1 to %d",
				value, DIFF_CMD_KEEP_MAX);
		return 0;
	case OPTION_RELEVANT:
		return take_relevant(parsing, value);
	case OPTION_FORMAT:
		return take_format(parsing, value);
	case OPTION_FAIL_ON:
		if (strcmp(value, "regression") != 0)
			return arguments_refuse_see_help(
				&parsing->arguments, "--fail-on: '%s' is not regression", value);
		options->fail_on_regression = true;
		return 0;
	case OPTION_HELP:
		options->help = true;
		return 0;
	default:
		options->version = true;
		return 0;
	}
}

static int take_files(struct parsing *parsing, char **files, int cnt)
{
	struct diff_cmd_options *options = parsing->options;

	if (cnt == 1)
		return arguments_refuse_see_help(
			&parsing->arguments,
			"'%s': two files are compared, the one before and the one after", files[0]);
	if (cnt > 2)
		return arguments_refuse_see_help(&parsing->arguments, "'%s' is one file too many",
						 files[2]);
	for (int i = 0; i < cnt; i++)
		if (strcmp(files[i], "-") == 0)
			return arguments_refuse(&parsing->arguments,
						"'-': files are read, not standard input");
	if (cnt == 2) {
		options->before.file = files[0];
		options->after.file = files[1];
	}
	return 0;
}

static int parse_arguments(int argc, char **argv, struct parsing *parsing)
{
	int err = arguments_walk(&parsing->arguments, argc, argv);

	return err ? err : take_files(parsing, argv + optind, argc - optind);
}

/* ---- what goes together ---- */

/* Options of one kind of comparison; in the others they are refused. */
static const struct {
	int id;
	unsigned int modes; /* bits of enum diff_cmd_mode */
} option_modes[] = {
	{ OPTION_BEFORE, 1u << DIFF_CMD_MODE_TIMES },
	{ OPTION_AFTER, 1u << DIFF_CMD_MODE_TIMES },
	{ OPTION_BEFORE_IMAGE, 1u << DIFF_CMD_MODE_IMAGES },
	{ OPTION_AFTER_IMAGE, 1u << DIFF_CMD_MODE_IMAGES },
	{ OPTION_SINCE, 1u << DIFF_CMD_MODE_IMAGES },
	{ OPTION_UNTIL, 1u << DIFF_CMD_MODE_IMAGES },
	{ OPTION_DAYS, 1u << DIFF_CMD_MODE_DAYS },
	{ OPTION_OUTPUT_DIR, 1u << DIFF_CMD_MODE_DAYS },
	{ OPTION_KEEP_DAYS, 1u << DIFF_CMD_MODE_DAYS },
	{ OPTION_STORE, ~(1u << DIFF_CMD_MODE_FILES) },
	{ ARGUMENT_CONTAINER, ~(1u << DIFF_CMD_MODE_FILES) },
	{ ARGUMENT_POD, ~(1u << DIFF_CMD_MODE_FILES) },
	{ ARGUMENT_NAMESPACE, ~(1u << DIFF_CMD_MODE_FILES) },
	{ ARGUMENT_SERVICE, ~(1u << DIFF_CMD_MODE_FILES) },
	{ ARGUMENT_PID, ~(1u << DIFF_CMD_MODE_FILES) },
	{ ARGUMENT_COMM, ~(1u << DIFF_CMD_MODE_FILES) },
	{ ARGUMENT_CGROUP, ~(1u << DIFF_CMD_MODE_FILES) },
	{ ARGUMENT_KIND, ~(1u << DIFF_CMD_MODE_FILES) },
	{ OPTION_RELEVANT, ~(1u << DIFF_CMD_MODE_FILES) },
	{ OPTION_FORMAT, ~(1u << DIFF_CMD_MODE_DAYS) },
	{ OPTION_OUTPUT, ~(1u << DIFF_CMD_MODE_DAYS) },
};

static int find_mode(struct parsing *parsing, const char **name_out)
{
	struct diff_cmd_options *options = parsing->options;

	if (options->before.file) {
		options->mode = DIFF_CMD_MODE_FILES;
		*name_out = "two files";
	} else if (options->days) {
		options->mode = DIFF_CMD_MODE_DAYS;
		*name_out = "--days";
	} else if (parsing->arguments.seen[OPTION_BEFORE_IMAGE] ||
		   parsing->arguments.seen[OPTION_AFTER_IMAGE]) {
		options->mode = DIFF_CMD_MODE_IMAGES;
		*name_out = "images";
		if (!options->before.image || !options->after.image)
			return arguments_refuse_see_help(
				&parsing->arguments,
				"--before-image and --after-image go together");
	} else {
		options->mode = DIFF_CMD_MODE_TIMES;
		*name_out = "--before and --after";
		if (!parsing->arguments.seen[OPTION_BEFORE] &&
		    !parsing->arguments.seen[OPTION_AFTER])
			return arguments_refuse_see_help(
				&parsing->arguments,
				"what is to be compared? give --before T..T and --after T..T, "
				"two images, --days N or two files");
		if (!parsing->arguments.seen[OPTION_BEFORE] ||
		    !parsing->arguments.seen[OPTION_AFTER])
			return arguments_refuse_see_help(&parsing->arguments,
							 "--before and --after go together");
	}
	return 0;
}

static int check_times(struct parsing *parsing)
{
	struct diff_cmd_options *options = parsing->options;
	const struct diff_cmd_range *a = &options->before.range;
	const struct diff_cmd_range *b = &options->after.range;

	if (a->since_unix_ns < b->until_unix_ns && b->since_unix_ns < a->until_unix_ns)
		return arguments_refuse(
			&parsing->arguments,
			"--before and --after overlap: the same samples would be on both sides");
	return 0;
}

static int set_image_times(struct parsing *parsing)
{
	struct diff_cmd_options *options = parsing->options;
	struct diff_cmd_range range = parsing->images;

	if (!parsing->arguments.seen[OPTION_UNTIL])
		range.until_unix_ns = options->now_unix_ns;
	if (!parsing->arguments.seen[OPTION_SINCE])
		range.since_unix_ns = range.until_unix_ns > DEFAULT_SINCE_NS ?
					      range.until_unix_ns - DEFAULT_SINCE_NS :
					      0;
	if (range.since_unix_ns >= range.until_unix_ns)
		return arguments_refuse(&parsing->arguments, "--since must lie before --until");
	if (range.until_unix_ns - range.since_unix_ns > DIFF_LOAD_SPAN_MAX_NS)
		return arguments_refuse(
			&parsing->arguments,
			"--since and --until are more than %llu days apart, take less",
			(unsigned long long)(DIFF_LOAD_SPAN_MAX_NS / CLOCK_NS_PER_S / 86400));
	if (strcmp(options->before.image, options->after.image) == 0)
		return arguments_refuse(&parsing->arguments,
					"--before-image and --after-image are the same");
	options->before.range = range;
	options->after.range = range;
	return 0;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int check_combination(struct parsing *parsing)
{
	struct diff_cmd_options *options = parsing->options;
	const char *mode_name = "";
	char name[ARGUMENT_NAME_BYTES];
	int err = find_mode(parsing, &mode_name);

	for (size_t i = 0; !err && i < ARRAY_SIZE(option_modes); i++) {
		if (parsing->arguments.seen[option_modes[i].id] &&
		    !(option_modes[i].modes & 1u << options->mode))
			err = arguments_refuse_see_help(
				&parsing->arguments, "%s does not go with %s",
				arguments_name(&parsing->arguments, option_modes[i].id, name),
				mode_name);
	}
	if (err)
		return err;
	if (options->mode == DIFF_CMD_MODE_FILES && options->fail_on_regression)
		return arguments_refuse(
			&parsing->arguments,
			"--fail-on: two files cannot show that a change is more than chance");
	if (options->mode == DIFF_CMD_MODE_TIMES)
		err = check_times(parsing);
	else if (options->mode == DIFF_CMD_MODE_IMAGES)
		err = set_image_times(parsing);
	if (err)
		return err;
	options->selection.since_unix_ns =
		min_u64(options->before.range.since_unix_ns, options->after.range.since_unix_ns);
	options->selection.until_unix_ns = options->before.range.until_unix_ns >
							   options->after.range.until_unix_ns ?
						   options->before.range.until_unix_ns :
						   options->after.range.until_unix_ns;
	return 0;
}

int diff_options_parse(int argc, char **argv, uint64_t now_unix_ns, struct diff_cmd_options *out,
		       char *why, size_t why_len)
{
	struct diff_cmd_options options = {
		.store = STORE_DEFAULT_DIR,
		.output_dir = DIFF_CMD_DEFAULT_DIR,
		.keep_days = DIFF_CMD_KEEP_DAYS,
		.statistics = diff_options_default(),
		.now_unix_ns = now_unix_ns,
	};
	struct parsing parsing = {
		.options = &options,
		.arguments = {
			.program = "jbpf-diff",
			.letters = ":o:",
			.options = long_options,
			.ctx = &parsing,
			.take = take_option,
			.why = why,
			.why_len = why_len,
		},
	};
	int err = parse_arguments(argc, argv, &parsing);

	if (!err && !options.help && !options.version)
		err = check_combination(&parsing);
	if (err)
		return err;
	if (options.output && strcmp(options.output, "-") == 0)
		options.output = NULL;
	*out = options;
	return 0;
}
