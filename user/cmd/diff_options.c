// SPDX-License-Identifier: Apache-2.0
/*
 * Options of jbpf diff: the table, and which of them go together. There
 * are four things to compare, and each has options of its own.
 */
#include "user/cmd/diff_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/compare/diff_load.h"
#include "user/store/store.h"
#include "user/util/clock.h"

#define DEFAULT_SINCE_NS (86400 * CLOCK_NS_PER_S) /* of images */
#define TIME_TEXT_MAX	 64
#define NUMBER_TEXT_MAX	 16
#define SPAN_MAX_DAYS	 ((unsigned long long)(DIFF_LOAD_SPAN_MAX_NS / CLOCK_NS_PER_S / 86400))

/* The ways to compare, in the order of enum diff_cmd_mode. */
static const struct option_use uses[] = {
	[DIFF_CMD_MODE_TIMES] = { .name = "--before and --after" },
	[DIFF_CMD_MODE_IMAGES] = { .name = "images" },
	[DIFF_CMD_MODE_FILES] = { .name = "two files", .operands = "BEFORE.folded AFTER.folded" },
	[DIFF_CMD_MODE_DAYS] = { .name = "--days" },
	{ .name = NULL },
};

#define RANGE_WANTS "a range of time; write two times, as in 2d..1d"

#define TIMES	    OPTION_USE(DIFF_CMD_MODE_TIMES)
#define IMAGES	    OPTION_USE(DIFF_CMD_MODE_IMAGES)
#define DAYS	    OPTION_USE(DIFF_CMD_MODE_DAYS)
#define FILES	    OPTION_USE(DIFF_CMD_MODE_FILES)
#define FROM_STORE  (TIMES | IMAGES | DAYS)
#define ONE_PICTURE (TIMES | IMAGES | FILES)

struct parsing {
	struct diff_cmd_options options;
	struct diff_cmd_range images; /* --since and --until */
};

/* ---- values ---- */

/* "2d..1d" */
static int take_range(struct option_walk *walk, const char *value, struct diff_cmd_range *out)
{
	const char *dots = strstr(value, "..");
	char since[TIME_TEXT_MAX];
	size_t since_len = dots ? (size_t)(dots - value) : 0;

	if (!dots || !since_len || since_len >= sizeof(since) || !dots[2])
		return -EINVAL;
	memcpy(since, value, since_len);
	since[since_len] = '\0';

	struct diff_cmd_range range = { 0 };
	int err = options_parse_time(walk, since, &range.since_unix_ns);

	if (!err)
		err = options_parse_time(walk, dots + 2, &range.until_unix_ns);
	if (err)
		return err;
	if (range.since_unix_ns >= range.until_unix_ns)
		return options_refuse(walk,
				      "--%s: in '%s' the first time must lie before the second",
				      walk->at.row->name, value);
	if (range.until_unix_ns - range.since_unix_ns > DIFF_LOAD_SPAN_MAX_NS)
		return options_refuse(walk, "--%s: '%s' is longer than %llu days, take less",
				      walk->at.row->name, value, SPAN_MAX_DAYS);
	*out = range;
	return 0;
}

static int take_before(struct option_walk *walk, const char *value)
{
	struct parsing *parsing = walk->options;

	return take_range(walk, value, &parsing->options.before.range);
}

static int take_after(struct option_walk *walk, const char *value)
{
	struct parsing *parsing = walk->options;

	return take_range(walk, value, &parsing->options.after.range);
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
static int take_relevant(struct option_walk *walk, const char *value)
{
	struct parsing *parsing = walk->options;
	struct diff_options *statistics = &parsing->options.statistics;
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
		return -EINVAL;
	statistics->relevant_points = points < 0 ? 0 : points / 100;
	statistics->relevant_relative = relative < 0 ? 0 : relative / 100;
	return 0;
}

/* ---- the table ---- */

/* In the order of enum diff_cmd_format. */
static const char *const format_words[] = { "top", "folded", "html", "json", NULL };
/* There is no other yet; its place is the bool's value. */
static const char *const fail_on_words[] = { "regression", NULL };

static const struct option_row compared_rows[] = {
	{ .name = "before",
	  .kind = OPTION_KIND_OWN,
	  .metavar = "TIME..TIME",
	  .help = "times of the side before; a TIME is 90s, 15m, 1h, 2d back from now, now, "
		  "2026-11-21T13:00:00Z (local time without a zone) or @EPOCH",
	  .wants = RANGE_WANTS,
	  .parse = take_before,
	  .uses = TIMES,
	  .needed = TIMES },
	{ .name = "after",
	  .kind = OPTION_KIND_OWN,
	  .metavar = "TIME..TIME",
	  .help = "times of the side after",
	  .wants = RANGE_WANTS,
	  .parse = take_after,
	  .uses = TIMES,
	  .needed = TIMES },
	{ .name = "before-image",
	  .kind = OPTION_KIND_TEXT,
	  .metavar = "IMAGE",
	  .help = "container image of the processes before; it may be a glob",
	  .uses = IMAGES,
	  .needed = IMAGES,
	  OPTION_FIELD(struct parsing, options.before.image) },
	{ .name = "after-image",
	  .kind = OPTION_KIND_TEXT,
	  .metavar = "IMAGE",
	  .help = "container image of the processes after; it may be a glob",
	  .uses = IMAGES,
	  .needed = IMAGES,
	  OPTION_FIELD(struct parsing, options.after.image) },
	{ OPTION_ROW_SINCE(struct parsing, images.since_unix_ns, "24h before --until"),
	  .uses = IMAGES },
	{ OPTION_ROW_UNTIL(struct parsing, images.until_unix_ns), .uses = IMAGES },
	{ .name = "days",
	  .kind = OPTION_KIND_NUMBER,
	  .metavar = "N",
	  .help = "compare the last N whole days with the N days before, service by service",
	  .min = 1,
	  .max = DIFF_CMD_DAYS_MAX,
	  .uses = DAYS,
	  .needed = DAYS,
	  OPTION_FIELD(struct parsing, options.days) },
	{ OPTION_ROW_STORE(struct parsing, options.store), .uses = FROM_STORE },
	{ .name = NULL },
};

static const struct option_row output_rows[] = {
	{ .name = "relevant",
	  .kind = OPTION_KIND_OWN,
	  .metavar = "LIMIT",
	  .help = "changes up to this limit do not matter: 0.05pp (points of all samples), 1% (of "
		  "the method), or both, of which the larger one counts",
	  .fallback = "0.05pp,1%",
	  .wants = "a limit; write 0.05pp, 1% or 0.05pp,1%",
	  .parse = take_relevant,
	  .uses = FROM_STORE },
	{ .name = "format",
	  .kind = OPTION_KIND_WORD,
	  .metavar = "FORMAT",
	  .help = "form of the output",
	  .fallback = "top",
	  .words = format_words,
	  .uses = ONE_PICTURE,
	  OPTION_FIELD(struct parsing, options.format) },
	{ OPTION_ROW_OUTPUT(struct parsing, options.output), .fallback = "-", .uses = ONE_PICTURE },
	{ .name = "output-dir",
	  .kind = OPTION_KIND_DIR,
	  .metavar = "DIR",
	  .help = "directory of the pages: with --days there is a page and JSON for each service",
	  .fallback = DIFF_CMD_DEFAULT_DIR,
	  .uses = DAYS,
	  OPTION_FIELD(struct parsing, options.output_dir) },
	{ .name = "keep-days",
	  .kind = OPTION_KIND_NUMBER,
	  .metavar = "N",
	  .help = "days for which these pages are kept",
	  .fallback = "30",
	  .min = 1,
	  .max = DIFF_CMD_KEEP_MAX,
	  .uses = DAYS,
	  OPTION_FIELD(struct parsing, options.keep_days) },
	{ .name = "fail-on",
	  .kind = OPTION_KIND_WORD,
	  .metavar = "CHANGE",
	  .help = "exit with 4 when there is such a change",
	  .words = fail_on_words,
	  .min = true,
	  OPTION_FIELD(struct parsing, options.fail_on_regression) },
	{ .name = NULL },
};

static const struct option_group groups[] = {
	{ .title = "What is compared:", .rows = compared_rows },
	{ OPTION_GROUP_SELECTION(struct parsing, options.selection), .uses = FROM_STORE },
	{ .title = "What comes out:", .rows = output_rows },
	{ OPTION_GROUP_INFO(struct parsing, options.info) },
	{ .rows = NULL },
};

const struct option_table diff_option_table = {
	.program = "jbpf-diff",
	.summary =
		"Reports which methods need more or less CPU than before, how sure that is, and how "
		"large a change must be to be seen. A change that may be noise has no colour. Of two "
		"folded files, written by any profiler, only shares are shown, and nothing is sure.",
	.groups = groups,
	.uses = uses,
	.notes =
		"Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no samples on a side, 4 regression.",
};

/* ---- two files ---- */

static int take_files(struct option_walk *walk, char **files, int cnt)
{
	struct parsing *parsing = walk->options;
	struct diff_cmd_options *options = &parsing->options;

	if (cnt == 1)
		return options_refuse_see_help(
			walk, "'%s': two files are compared, the one before and the one after",
			files[0]);
	if (cnt > 2)
		return options_refuse_see_help(walk, "'%s' is one file too many", files[2]);
	for (int i = 0; i < cnt; i++)
		if (strcmp(files[i], "-") == 0)
			return options_refuse(walk, "'-': files are read, not standard input");
	if (cnt == 2) {
		options->before.file = files[0];
		options->after.file = files[1];
	}
	return 0;
}

/* ---- what goes together ---- */

static int find_mode(struct option_walk *walk)
{
	struct parsing *parsing = walk->options;
	struct diff_cmd_options *options = &parsing->options;
	bool has_before = options_given(walk, "before"), has_after = options_given(walk, "after");

	if (options->before.file) {
		options->mode = DIFF_CMD_MODE_FILES;
	} else if (options->days) {
		options->mode = DIFF_CMD_MODE_DAYS;
	} else if (options->before.image || options->after.image) {
		options->mode = DIFF_CMD_MODE_IMAGES;
		if (!options->before.image || !options->after.image)
			return options_refuse_see_help(
				walk, "--before-image and --after-image go together");
	} else {
		options->mode = DIFF_CMD_MODE_TIMES;
		if (!has_before && !has_after)
			return options_refuse_see_help(
				walk,
				"what is to be compared? give --before T..T and --after T..T, "
				"two images, --days N or two files");
		if (!has_before || !has_after)
			return options_refuse_see_help(walk, "--before and --after go together");
	}
	return options_check_use(walk, options->mode);
}

static int check_times(struct option_walk *walk, struct diff_cmd_options *options)
{
	const struct diff_cmd_range *a = &options->before.range;
	const struct diff_cmd_range *b = &options->after.range;

	if (a->since_unix_ns < b->until_unix_ns && b->since_unix_ns < a->until_unix_ns)
		return options_refuse(
			walk,
			"--before and --after overlap: the same samples would be on both sides");
	return 0;
}

static int set_image_times(struct option_walk *walk, struct diff_cmd_options *options)
{
	const struct parsing *parsing = walk->options;
	struct diff_cmd_range range = parsing->images;

	if (!options_given(walk, "until"))
		range.until_unix_ns = options->now_unix_ns;
	if (!options_given(walk, "since"))
		range.since_unix_ns = range.until_unix_ns > DEFAULT_SINCE_NS ?
					      range.until_unix_ns - DEFAULT_SINCE_NS :
					      0;
	if (range.since_unix_ns >= range.until_unix_ns)
		return options_refuse(walk, "--since must lie before --until");
	if (range.until_unix_ns - range.since_unix_ns > DIFF_LOAD_SPAN_MAX_NS)
		return options_refuse(
			walk, "--since and --until are more than %llu days apart, take less",
			SPAN_MAX_DAYS);
	if (strcmp(options->before.image, options->after.image) == 0)
		return options_refuse(walk, "--before-image and --after-image are the same");
	options->before.range = range;
	options->after.range = range;
	return 0;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int check_combination(struct option_walk *walk, struct diff_cmd_options *options)
{
	int err = find_mode(walk);

	if (err)
		return err;
	if (options->mode == DIFF_CMD_MODE_FILES && options->fail_on_regression)
		return options_refuse(
			walk, "--fail-on: two files cannot show that a change is more than chance");
	if (options->mode == DIFF_CMD_MODE_TIMES)
		err = check_times(walk, options);
	else if (options->mode == DIFF_CMD_MODE_IMAGES)
		err = set_image_times(walk, options);
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
	struct parsing parsing = {
		.options = {
			.store = STORE_DEFAULT_DIR,
			.output_dir = DIFF_CMD_DEFAULT_DIR,
			.keep_days = DIFF_CMD_KEEP_DAYS,
			.statistics = diff_options_default(),
			.now_unix_ns = now_unix_ns,
		},
	};
	struct diff_cmd_options *options = &parsing.options;
	struct option_walk walk = {
		.table = &diff_option_table,
		.options = &parsing,
		.now_unix_ns = now_unix_ns,
		.why = why,
		.why_len = why_len,
	};
	int err = options_walk(&walk, argc, argv);

	if (!err)
		err = take_files(&walk, argv + walk.operands, argc - walk.operands);
	if (!err && !options->info.help && !options->info.version)
		err = check_combination(&walk, options);
	if (err)
		return err;
	options->has_format = options_given(&walk, "format");
	if (options->output && strcmp(options->output, "-") == 0)
		options->output = NULL;
	*out = *options;
	return 0;
}
