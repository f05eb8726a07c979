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

#include "user/cli/output_ending.h"
#include "user/compare/compare_load.h"
#include "user/model/event_view.h"
#include "user/store/store.h"
#include "user/util/clock.h"
#include "user/util/saturate.h"

#define DEFAULT_SINCE_NS (86400 * CLOCK_NS_PER_S) /* of groups */
#define TIME_TEXT_MAX	 64
#define NUMBER_TEXT_MAX	 16
#define SPAN_MAX_DAYS	 ((unsigned long long)(COMPARE_LOAD_SPAN_MAX_NS / CLOCK_NS_PER_S / 86400))

/* The ways to compare, in the order of enum diff_cmd_mode. */
static const struct option_use uses[] = {
	[DIFF_CMD_MODE_TIMES] = { .name = "--before and --after" },
	[DIFF_CMD_MODE_GROUPS] = { .name = "two groups" },
	[DIFF_CMD_MODE_FILES] = { .name = "two files", .operands = "BEFORE.folded AFTER.folded" },
	[DIFF_CMD_MODE_DAYS] = { .name = "--days" },
	[DIFF_CMD_MODE_OUTLIERS] = { .name = "--outlier-hosts" },
	{ .name = NULL },
};

#define RANGE_WANTS "a range of time; write two times, as in 2d..1d"

#define TIMES	    OPTION_USE(DIFF_CMD_MODE_TIMES)
#define GROUPS	    OPTION_USE(DIFF_CMD_MODE_GROUPS)
#define DAYS	    OPTION_USE(DIFF_CMD_MODE_DAYS)
#define FILES	    OPTION_USE(DIFF_CMD_MODE_FILES)
#define OUTLIERS    OPTION_USE(DIFF_CMD_MODE_OUTLIERS)
#define FROM_STORE  (TIMES | GROUPS | DAYS | OUTLIERS)
#define ONE_PICTURE (TIMES | GROUPS | FILES)

struct parsing {
	struct diff_cmd_options options;
	struct diff_cmd_range groups; /* --since and --until */
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
	if (range.until_unix_ns - range.since_unix_ns > COMPARE_LOAD_SPAN_MAX_NS)
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
/* In the order of enum diff_cmd_fail_on, behind NONE. */
static const char *const fail_on_words[] = { "regression", "slower", "regression-or-unjudged",
					     "slower-or-unjudged", NULL };

static const struct option_row compared_rows[] = {
	{ .name = "before",
	  .kind = OPTION_KIND_OWN,
	  .metavar = "TIME..TIME",
	  .help = "times of the side before; a TIME is 90s, 15m, 1h30m, 2d, 1w back from now, "
		  "20 minutes ago, now, 13:00, today, yesterday, 2026-11-21, "
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
	{ OPTION_ROW_SINCE(struct parsing, groups.since_unix_ns, "24h before --until"),
	  .uses = GROUPS | OUTLIERS },
	{ OPTION_ROW_UNTIL(struct parsing, groups.until_unix_ns), .uses = GROUPS | OUTLIERS },
	{ .name = "outlier-hosts",
	  .kind = OPTION_KIND_FLAG,
	  .help = "compare each host with all others: which one differs, in which methods",
	  .uses = OUTLIERS,
	  .needed = OUTLIERS,
	  OPTION_FIELD(struct parsing, options.outliers) },
	{ .name = "days",
	  .kind = OPTION_KIND_NUMBER,
	  .metavar = "N",
	  .help = "compare the last N whole days with the N days before, service by service",
	  .min = 1,
	  .max = DIFF_CMD_DAYS_MAX,
	  .uses = DAYS,
	  .needed = DAYS,
	  OPTION_FIELD(struct parsing, options.days) },
	{ OPTION_ROW_STORES(struct parsing, options.stores), .uses = FROM_STORE },
	{ OPTION_ROW_FROM(struct parsing, options.stores), .uses = FROM_STORE },
	{ OPTION_ROW_EVENT(struct parsing, options.event, event_view_words), .uses = FROM_STORE },
	{ .name = NULL },
};

/* The sides of one label; what it is called is in `what_`. */
#define GROUP_ROWS(label_, by_, what_)                                                \
	{ .name = "before-" label_,                                                   \
	  .kind = OPTION_KIND_TEXT,                                                   \
	  .metavar = "NAME",                                                          \
	  .help = what_ " of the processes before",                                   \
	  OPTION_FIELD(struct parsing, options.before.labels[by_]) },                 \
	{                                                                             \
		.name = "after-" label_, .kind = OPTION_KIND_TEXT, .metavar = "NAME", \
		.help = what_ " of the processes after",                              \
		OPTION_FIELD(struct parsing, options.after.labels[by_])               \
	}

static const struct option_row group_rows[] = {
	GROUP_ROWS("image", SELECT_BY_IMAGE, "container image"),
	GROUP_ROWS("host", SELECT_BY_HOST, "host"),
	GROUP_ROWS("container", SELECT_BY_CONTAINER, "container"),
	GROUP_ROWS("pod", SELECT_BY_POD, "pod"),
	GROUP_ROWS("namespace", SELECT_BY_NAMESPACE, "namespace"),
	GROUP_ROWS("service", SELECT_BY_SERVICE, "service"),
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
	  .help = "form of the output; with --days top or json",
	  .fallback = "that of FILE's ending, or top",
	  .words = format_words,
	  .uses = ONE_PICTURE | DAYS,
	  OPTION_FIELD(struct parsing, options.format) },
	{ OPTION_ROW_OUTPUT(struct parsing, options.output), .fallback = "-",
	  .uses = ONE_PICTURE | OUTLIERS },
	{ OPTION_ROW_ROWS(struct parsing, options.row_max, ", also those without a change"),
	  .uses = ONE_PICTURE },
	{ OPTION_ROW_NO_PAGER(struct parsing, options.no_pager), .uses = ONE_PICTURE | OUTLIERS },
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
	  .help = "exit with 4 when there is such a change: a regression is more than methods "
		  "drift on earlier days; slower needs no earlier days, for deployments; with "
		  "-or-unjudged, with 5 when nothing could be judged",
	  .words = fail_on_words,
	  .min = DIFF_CMD_FAIL_ON_REGRESSION,
	  OPTION_FIELD(struct parsing, options.fail_on) },
	{ .name = NULL },
};

static const struct option_group groups[] = {
	{ .title = "What is compared:", .rows = compared_rows },
	{ .title =
		  "Two groups at one time, of at least one label; a name may be a glob, what is in both is "
		  "after:",
	  .rows = group_rows,
	  .uses = GROUPS,
	  .word = "GROUP" },
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
		"Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no samples on a side, 4 regression, 5 not judged.",
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

static bool has_group(const struct diff_cmd_options *options)
{
	for (int by = 0; by < SELECT_BY_CNT; by++)
		if (options->before.labels[by] || options->after.labels[by])
			return true;
	return false;
}

/* Both sides have the same labels, and are not the same. */
static int check_groups(struct option_walk *walk, const struct diff_cmd_options *options)
{
	bool differ = false;
	const char *name = "";

	for (int by = 0; by < SELECT_BY_CNT; by++) {
		const char *before = options->before.labels[by];
		const char *after = options->after.labels[by];

		if (!before && !after)
			continue;
		name = select_by_name((enum select_by)by);
		if (!before || !after)
			return options_refuse_see_help(
				walk, "--before-%s and --after-%s go together", name, name);
		differ = differ || strcmp(before, after) != 0;
	}
	return differ ? 0 :
			options_refuse(walk, "--before-%s and --after-%s are the same", name, name);
}

static int find_mode(struct option_walk *walk)
{
	struct parsing *parsing = walk->options;
	struct diff_cmd_options *options = &parsing->options;
	bool has_before = options_given(walk, "before"), has_after = options_given(walk, "after");

	if (options->before.file) {
		options->mode = DIFF_CMD_MODE_FILES;
	} else if (options->days) {
		options->mode = DIFF_CMD_MODE_DAYS;
	} else if (options->outliers) {
		options->mode = DIFF_CMD_MODE_OUTLIERS;
	} else if (has_group(options)) {
		options->mode = DIFF_CMD_MODE_GROUPS;
	} else {
		options->mode = DIFF_CMD_MODE_TIMES;
		if (!has_before && !has_after)
			return options_refuse_see_help(
				walk,
				"what is to be compared? give --before T..T and --after T..T, "
				"two groups (--before-image, --after-image, ...), "
				"--outlier-hosts, --days N or two files");
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

static int set_group_times(struct option_walk *walk, struct diff_cmd_options *options)
{
	const struct parsing *parsing = walk->options;
	struct diff_cmd_range range = parsing->groups;

	if (!options_given(walk, "until"))
		range.until_unix_ns = options->now_unix_ns;
	if (!options_given(walk, "since"))
		range.since_unix_ns = range.until_unix_ns > DEFAULT_SINCE_NS ?
					      range.until_unix_ns - DEFAULT_SINCE_NS :
					      0;
	if (range.since_unix_ns >= range.until_unix_ns)
		return options_refuse_range(walk, range.since_unix_ns, range.until_unix_ns);
	if (range.until_unix_ns - range.since_unix_ns > COMPARE_LOAD_SPAN_MAX_NS)
		return options_refuse(
			walk, "--since and --until are more than %llu days apart, take less",
			SPAN_MAX_DAYS);
	options->before.range = range;
	options->after.range = range;
	return 0;
}

/* Of the words of --fail-on what they ask for. */
static int split_fail_on(struct option_walk *walk, struct diff_cmd_options *options)
{
	options->fail_on_unjudged = options->fail_on >= DIFF_CMD_FAIL_ON_REGRESSION_OR_UNJUDGED;
	if (options->fail_on == DIFF_CMD_FAIL_ON_REGRESSION_OR_UNJUDGED)
		options->fail_on = DIFF_CMD_FAIL_ON_REGRESSION;
	else if (options->fail_on_unjudged)
		options->fail_on = DIFF_CMD_FAIL_ON_SLOWER;
	if (options->fail_on_unjudged &&
	    (options->mode == DIFF_CMD_MODE_DAYS || options->mode == DIFF_CMD_MODE_OUTLIERS))
		return options_refuse(walk,
				      "--fail-on ...-or-unjudged goes with a comparison of two "
				      "sides; of each service or host the output says whether it "
				      "was judged");
	return 0;
}

static int check_days(struct option_walk *walk, const struct diff_cmd_options *options)
{
	if (options->fail_on == DIFF_CMD_FAIL_ON_SLOWER)
		return options_refuse(walk,
				      "--fail-on slower does not go with --days, which learns from "
				      "earlier days; give --fail-on regression");
	if (options->format != DIFF_CMD_FORMAT_TOP && options->format != DIFF_CMD_FORMAT_JSON)
		return options_refuse(
			walk, "--days prints lines (top) or json; its pages and flame graphs go "
			      "to --output-dir");
	if (selection_is_of_threads(&options->selection))
		return options_refuse(walk,
				      "--thread does not go with --days, which compares whole "
				      "services");
	if (options->stores.cnt > 1)
		return options_refuse(
			walk, "--days takes one --store: what it keeps of a service is of one");
	if (event_is_view(options->event))
		return options_refuse(
			walk,
			"--days does not go with --event %s, which is read from others; "
			"give cpu and off-cpu, one after the other",
			event_name(options->event));
	return 0;
}

static int check_combination(struct option_walk *walk, struct diff_cmd_options *options)
{
	int err = find_mode(walk);

	if (!err)
		err = split_fail_on(walk, options);
	if (err)
		return err;
	if (option_check_stores(walk, &options->stores))
		return -EINVAL;
	if (options_given(walk, "rows") && options->format != DIFF_CMD_FORMAT_TOP)
		return options_refuse(walk, "--rows goes with --format top only");
	if (options->mode == DIFF_CMD_MODE_FILES && options->fail_on)
		return options_refuse(
			walk, "--fail-on: two files cannot show that a change is more than chance");
	if (options->mode == DIFF_CMD_MODE_OUTLIERS &&
	    options->fail_on == DIFF_CMD_FAIL_ON_REGRESSION)
		return options_refuse(
			walk, "--fail-on regression does not go with --outlier-hosts, which "
			      "looks at no earlier days; give --fail-on slower");
	options->has_event = options_given(walk, "event");
	options->statistics.alarm_without_history = options->fail_on == DIFF_CMD_FAIL_ON_SLOWER;
	if (options->mode == DIFF_CMD_MODE_TIMES)
		err = check_times(walk, options);
	else if (options->mode == DIFF_CMD_MODE_GROUPS)
		err = check_groups(walk, options);
	else if (options->mode == DIFF_CMD_MODE_DAYS)
		err = check_days(walk, options);
	if (!err &&
	    (options->mode == DIFF_CMD_MODE_GROUPS || options->mode == DIFF_CMD_MODE_OUTLIERS))
		err = set_group_times(walk, options);
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

/* That of the file's ending, when no option says it. 0 or -EINVAL. */
static int take_format_of_file(struct option_walk *walk, struct diff_cmd_options *options)
{
	const char *path = options->output;
	const char *format = path ? output_ending_format(path) : NULL;

	int word = format ? option_word_index(format_words, format) : 0;

	if (!path || options_given(walk, "format"))
		return 0;
	if (word < 0 || output_ending_is_foreign(path))
		return options_refuse(walk,
				      "--output: the ending of '%s' is that of no format of a "
				      "comparison; make it .html, .json, .folded or .txt, or give "
				      "--format",
				      path);
	options->format = (enum diff_cmd_format)word;
	return 0;
}

int diff_options_parse(int argc, char **argv, uint64_t now_unix_ns, struct diff_cmd_options *out,
		       char *why, size_t why_len)
{
	struct parsing parsing = {
		.options = {
			.output_dir = DIFF_CMD_DEFAULT_DIR,
			.keep_days = DIFF_CMD_KEEP_DAYS,
			.row_max = DIFF_CMD_ROWS,
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
	if (!err)
		err = take_format_of_file(&walk, options);
	if (!err && !options->info.help && !options->info.version)
		err = check_combination(&walk, options);
	if (err)
		return err;
	if (options->output && strcmp(options->output, "-") == 0)
		options->output = NULL;
	*out = *options;
	return 0;
}
