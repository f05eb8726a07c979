// SPDX-License-Identifier: Apache-2.0
/* The command line of jbpf diff: what is taken, what is refused, and with which words. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "user/cmd/diff_options.h"
#include "user/util/cleanup.h"

#define NOW	 1700000000000000000ull
#define SECOND	 1000000000ull
#define DAY	 (86400 * SECOND)
#define ARGV_MAX 24

static int parse(const char *line, struct diff_cmd_options *options, char *why, size_t why_len)
{
	static char text[512]; /* options borrow from it */
	static char program[] = "jbpf-diff";
	char *argv[ARGV_MAX + 1] = { program };
	char *save = NULL;
	int argc = 1;

	assert_true(strlen(line) < sizeof(text));
	strcpy(text, line);
	for (char *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		assert_true(argc < ARGV_MAX);
		argv[argc++] = word;
	}
	return diff_options_parse(argc, argv, NOW, options, why, why_len);
}

static struct diff_cmd_options accept(const char *line)
{
	struct diff_cmd_options options;
	char why[512] = "";

	if (parse(line, &options, why, sizeof(why)))
		fail_msg("'%s' is refused: %s", line, why);
	return options;
}

static void two_times_are_relative_to_now(void **state)
{
	struct diff_cmd_options options = accept("--before 2d..1d --after 1d..0s");

	(void)state;
	assert_int_equal(options.mode, DIFF_CMD_MODE_TIMES);
	assert_int_equal(options.before.range.since_unix_ns, NOW - 2 * DAY);
	assert_int_equal(options.before.range.until_unix_ns, NOW - DAY);
	assert_int_equal(options.after.range.since_unix_ns, NOW - DAY);
	assert_int_equal(options.after.range.until_unix_ns, NOW);
	assert_int_equal(options.selection.since_unix_ns, NOW - 2 * DAY);
	assert_int_equal(options.selection.until_unix_ns, NOW);
	assert_int_equal(options.now_unix_ns, NOW);
	assert_int_equal(options.format, DIFF_CMD_FORMAT_TOP);
	assert_int_equal(options.stores.cnt, 0);
	assert_null(options.output);
	assert_int_equal(options.fail_on, DIFF_CMD_FAIL_ON_NONE);
	assert_false(options.statistics.alarm_without_history);
}

static void times_may_be_written_in_every_way(void **state)
{
	struct diff_cmd_options options =
		accept("--before @100..@200.5 --after 2023-11-14T00:00:00.250Z..now");

	(void)state;
	assert_int_equal(options.before.range.since_unix_ns, 100 * SECOND);
	assert_int_equal(options.before.range.until_unix_ns, 200 * SECOND + SECOND / 2);
	assert_int_equal(options.after.range.since_unix_ns, 1699920000250000000ull);
	assert_int_equal(options.after.range.until_unix_ns, NOW);
}

static void the_side_before_may_be_the_later_one(void **state)
{
	struct diff_cmd_options options = accept("--before 1d..0s --after 3d..2d");

	(void)state;
	assert_int_equal(options.selection.since_unix_ns, NOW - 3 * DAY);
	assert_int_equal(options.selection.until_unix_ns, NOW);
}

static void everything_else_is_taken(void **state)
{
	struct diff_cmd_options options =
		accept("--before 2d..1d --after 1d..0s --container c --pod p --namespace n "
		       "--service s --store /s --store /t --format html -o out.html");

	(void)state;
	assert_string_equal(options.selection.container, "c");
	assert_string_equal(options.selection.pod, "p");
	assert_string_equal(options.selection.namespace, "n");
	assert_string_equal(options.selection.service, "s");
	assert_int_equal(options.stores.cnt, 2);
	assert_string_equal(options.stores.dirs[0], "/s");
	assert_string_equal(options.stores.dirs[1], "/t");
	assert_string_equal(options.output, "out.html");
	assert_int_equal(options.format, DIFF_CMD_FORMAT_HTML);

	options = accept(
		"--before 2d..1d --after 1d..0s --pid 42 --comm java --cgroup /a --kind java "
		"--fail-on regression -o -");
	assert_int_equal(options.selection.pid, 42);
	assert_string_equal(options.selection.comm, "java");
	assert_string_equal(options.selection.cgroup, "/a");
	assert_int_equal(options.selection.kind, SELECT_KIND_JAVA);
	assert_int_equal(options.fail_on, DIFF_CMD_FAIL_ON_REGRESSION);
	assert_false(options.statistics.alarm_without_history);
	assert_null(options.output);
}

static void the_format_is_that_of_the_file(void **state)
{
	static const struct {
		const char *line;
		enum diff_cmd_format format;
	} rows[] = {
		{ "-o d.html", DIFF_CMD_FORMAT_HTML },
		{ "-o d.json", DIFF_CMD_FORMAT_JSON },
		{ "-o d.folded", DIFF_CMD_FORMAT_FOLDED },
		{ "-o d.txt", DIFF_CMD_FORMAT_TOP },
		{ "-o d.out", DIFF_CMD_FORMAT_TOP },
		{ "-o -", DIFF_CMD_FORMAT_TOP },
		{ "-o d.html --format json", DIFF_CMD_FORMAT_JSON },
		{ "-o d.png --format html", DIFF_CMD_FORMAT_HTML },
	};
	char why[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct diff_cmd_options options;
		char line[128];

		(void)snprintf(line, sizeof(line), "a.folded b.folded %s", rows[i].line);
		options = accept(line);
		if (options.format != rows[i].format)
			fail_msg("%s", line);
	}
	for (int i = 0; i < 2; i++) {
		struct diff_cmd_options options;

		assert_int_equal(parse(i ? "a b -o d.svg" : "a b -o d.png", &options, why,
				       sizeof(why)),
				 -EINVAL);
		assert_non_null(strstr(why, "is that of no format of a comparison; make it .html"));
	}
}

static void rows_are_of_the_table(void **state)
{
	struct diff_cmd_options options;
	char why[512];

	(void)state;
	assert_int_equal(accept("a b").row_max, DIFF_CMD_ROWS);
	assert_int_equal(accept("a b -n 0").row_max, 0);
	assert_int_equal(accept("a b --rows 7 -o d.txt").row_max, 7);
	assert_int_equal(parse("a b --rows 7 -o d.html", &options, why, sizeof(why)), -EINVAL);
	assert_string_equal(why, "--rows goes with --format top only");
	assert_int_equal(parse("--days 1 --rows 7", &options, why, sizeof(why)), -EINVAL);
}

static void groups_are_of_any_label(void **state)
{
	struct diff_cmd_options options = accept("--before-host * --after-host web-7");

	(void)state;
	assert_int_equal(options.mode, DIFF_CMD_MODE_GROUPS);
	assert_string_equal(options.before.labels[SELECT_BY_HOST], "*");
	assert_string_equal(options.after.labels[SELECT_BY_HOST], "web-7");
	assert_null(options.before.labels[SELECT_BY_IMAGE]);
	options = accept("--before-pod a --after-pod a --before-namespace b --after-namespace c");
	assert_string_equal(options.after.labels[SELECT_BY_NAMESPACE], "c");
	options = accept("--before-service a --after-service b --before-container c "
			 "--after-container d");
	assert_string_equal(options.before.labels[SELECT_BY_CONTAINER], "c");
}

static void images_share_one_time(void **state)
{
	struct diff_cmd_options options = accept("--before-image shop:1.* --after-image shop:1.9");

	(void)state;
	assert_int_equal(options.mode, DIFF_CMD_MODE_GROUPS);
	assert_string_equal(options.before.labels[SELECT_BY_IMAGE], "shop:1.*");
	assert_string_equal(options.after.labels[SELECT_BY_IMAGE], "shop:1.9");
	assert_int_equal(options.before.range.since_unix_ns, NOW - DAY);
	assert_int_equal(options.before.range.until_unix_ns, NOW);
	assert_memory_equal(&options.before.range, &options.after.range,
			    sizeof(options.before.range));

	options = accept("--before-image a --after-image b --since 3h --until 1h");
	assert_int_equal(options.after.range.since_unix_ns, NOW - 3 * 3600 * SECOND);
	assert_int_equal(options.after.range.until_unix_ns, NOW - 3600 * SECOND);
	assert_int_equal(options.selection.since_unix_ns, NOW - 3 * 3600 * SECOND);
}

static void days_have_a_directory(void **state)
{
	struct diff_cmd_options options = accept("--days 7 --output-dir /srv/diff --service a*");

	(void)state;
	assert_int_equal(options.mode, DIFF_CMD_MODE_DAYS);
	assert_int_equal(options.days, 7);
	assert_string_equal(options.output_dir, "/srv/diff");
	assert_string_equal(accept("--days 1").output_dir, DIFF_CMD_DEFAULT_DIR);
	assert_int_equal(accept("--days 1").keep_days, DIFF_CMD_KEEP_DAYS);
	assert_int_equal(accept("--days 1 --keep-days 400").keep_days, 400);
	assert_int_equal(accept("--days 1 --fail-on regression").fail_on,
			 DIFF_CMD_FAIL_ON_REGRESSION);
}

static void files_may_stand_among_options(void **state)
{
	struct diff_cmd_options options = accept("a.folded --format json b.folded -o x");

	(void)state;
	assert_int_equal(options.mode, DIFF_CMD_MODE_FILES);
	assert_string_equal(options.before.file, "a.folded");
	assert_string_equal(options.after.file, "b.folded");
	assert_int_equal(options.format, DIFF_CMD_FORMAT_JSON);
}

static void what_is_relevant_can_be_said(void **state)
{
	static const struct {
		const char *text;
		double points, relative;
	} cases[] = {
		{ "0.05pp,1%", 0.0005, 0.01 },
		{ "1%,0.05pp", 0.0005, 0.01 },
		{ "2.5%", 0, 0.025 },
		{ "0.5pp", 0.005, 0 },
		{ "0%", 0, 0 },
		{ "100pp,100%", 1, 1 },
	};
	struct diff_cmd_options options = accept("--before 2d..1d --after 1d..0s");

	(void)state;
	assert_true(fabs(options.statistics.relevant_points - 0.0005) < 1e-12);
	assert_true(fabs(options.statistics.relevant_relative - 0.01) < 1e-12);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char line[128];

		snprintf(line, sizeof(line), "--before 2d..1d --after 1d..0s --relevant %s",
			 cases[i].text);
		options = accept(line);
		assert_true(fabs(options.statistics.relevant_points - cases[i].points) < 1e-12);
		assert_true(fabs(options.statistics.relevant_relative - cases[i].relative) < 1e-12);
	}
}

static void slower_needs_no_earlier_days(void **state)
{
	struct diff_cmd_options options =
		accept("--before-image a --after-image b --fail-on slower");

	(void)state;
	assert_int_equal(options.fail_on, DIFF_CMD_FAIL_ON_SLOWER);
	assert_true(options.statistics.alarm_without_history);
	options = accept("--before 30m..15m --after 15m..now --fail-on slower");
	assert_true(options.statistics.alarm_without_history);
}

static void what_is_wrong_is_refused_with_words(void **state)
{
#define TIMES "--before 2d..1d --after 1d..0s "
	static const struct {
		const char *line;
		const char *words; /* in the refusal */
	} cases[] = {
		{ "", "what is to be compared?" },
		{ "--service shop", "what is to be compared?" },
		{ "--days 1 --fail-on slower", "give --fail-on regression" },
		{ "--days 1 --fail-on regression-or-unjudged", "a comparison of two sides" },
		{ "--outlier-hosts --fail-on slower-or-unjudged", "a comparison of two sides" },
		{ TIMES "--fail-on unjudged", "is not one of regression, slower" },
		{ "--before 2d..1d", "--before and --after go together" },
		{ "--after 2d..1d", "--before and --after go together" },
		{ "--before 2d --after 1d..0s", "--before: '2d' is not a range" },
		{ "--before ..1d --after 1d..0s", "is not a range" },
		{ "--before 2d.. --after 1d..0s", "is not a range" },
		{ "--before .. --after 1d..0s", "is not a range" },
		{ "--before 2d..1x --after 1d..0s", "--before: '1x' is not a time" },
		{ "--before 2..1 --after 1d..0s", "--before: '2' is not a time" },
		{ "--before 2d..1d --after 1d..1d", "the first time must lie before" },
		{ "--before 1d..2d --after 1d..0s", "the first time must lie before" },
		{ "--before @0..now --after 1d..0s", "longer than 200 days" },
		{ "--before 1d..0s --after 2d..1h", "overlap" },
		{ "--before 2d..1d --after 2d..1d", "overlap" },
		{ TIMES "--since 1d", "--since does not go with --before and --after" },
		{ TIMES "--output-dir x", "--output-dir does not go with" },
		{ TIMES "--keep-days 9", "--keep-days does not go with" },
		{ "--days 1 --keep-days 0", "--keep-days: '0' is not a number" },
		{ TIMES "--before-image a --after-image b",
		  "--before does not go with two groups" },
		{ TIMES "--days 1", "--before does not go with --days" },
		{ TIMES "a b", "--before does not go with two files" },
		{ TIMES "--fail-on noise", "is not one of regression, slower" },
		{ TIMES "--format svg", "is not one of top, folded, html, json" },
		{ TIMES "--relevant 1", "is not a limit" },
		{ TIMES "--relevant 1pp,", "is not a limit" },
		{ TIMES "--relevant ,1pp", "is not a limit" },
		{ TIMES "--relevant 1%,2%", "is not a limit" },
		{ TIMES "--relevant 1e1%", "is not a limit" },
		{ TIMES "--relevant -1%", "is not a limit" },
		{ TIMES "--relevant 101%", "is not a limit" },
		{ TIMES "--relevant .5%", "is not a limit" },
		{ TIMES "--relevant 1.2.3%", "is not a limit" },
		{ TIMES "--relevant pp", "is not a limit" },
		{ TIMES "--relevant %", "is not a limit" },
		{ TIMES "--kind perl", "is not one of java, kernel, native" },
		{ TIMES "--pid 0", "is not a process id" },
		{ TIMES "--pid", "--pid wants a value" },
		{ TIMES "--before 3d..2d", "--before is given twice" },
		{ TIMES "--nonsense", "there is no option --nonsense" },
		{ TIMES "-x", "there is no option -x" },
		{ TIMES "--help=1", "--help takes no value" },
		{ "--before-image a", "go together" },
		{ "--after-image a", "go together" },
		{ "--before-image a --after-image a", "are the same" },
		{ "--outlier-hosts --format json", "--format does not go with --outlier-hosts" },
		{ "--outlier-hosts --before-host a --after-host b", "does not go with --outlier" },
		{ "--outlier-hosts --fail-on regression", "give --fail-on slower" },
		{ "--before-host a", "--before-host and --after-host go together" },
		{ "--before-host a --after-image b", "go together" },
		{ "--before-host a --after-host a", "--before-host and --after-host are the same" },
		{ "--before-pod a --after-pod a --before-host b --after-host b", "are the same" },
		{ "--before-image a --after-image b --since 1h --until 2h", "--since (" },
		{ "--before-image a --after-image b --since @0", "more than 200 days apart" },
		{ "--days 0", "is not a number from 1 to 30" },
		{ "--days 31", "is not a number from 1 to 30" },
		{ "--days 1 -o x", "--output does not go with --days" },
		{ "--days 1 --format html", "its pages and flame graphs go to --output-dir" },
		{ "--days 1 --format folded", "its pages and flame graphs go to --output-dir" },
		{ "a.folded", "two files are compared" },
		{ "a b c", "'c' is one file too many" },
		{ "a -", "files are read, not standard input" },
		{ "- b", "files are read, not standard input" },
		{ "a b --service x", "--service does not go with two files" },
		{ "a b --store x", "--store does not go with two files" },
		{ "a b --relevant 1%", "--relevant does not go with two files" },
		{ "a b --fail-on regression", "more than chance" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct diff_cmd_options options;
		char why[512] = "";

		memset(&options, 0x5a, sizeof(options));
		if (parse(cases[i].line, &options, why, sizeof(why)) != -EINVAL)
			fail_msg("'%s' is not refused", cases[i].line);
		if (!strstr(why, cases[i].words) || strchr(why, '\n'))
			fail_msg("'%s': '%s' does not say '%s'", cases[i].line, why,
				 cases[i].words);
		/* Outputs are untouched. */
		assert_int_equal(options.days, 0x5a5a5a5a);
	}
}

static void help_needs_nothing_else(void **state)
{
	(void)state;
	assert_true(accept("--help").info.help);
	assert_true(accept("--version --before 2d..1d").info.version);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_times_are_relative_to_now),
		cmocka_unit_test(times_may_be_written_in_every_way),
		cmocka_unit_test(the_side_before_may_be_the_later_one),
		cmocka_unit_test(everything_else_is_taken),
		cmocka_unit_test(the_format_is_that_of_the_file),
		cmocka_unit_test(rows_are_of_the_table),
		cmocka_unit_test(groups_are_of_any_label),
		cmocka_unit_test(images_share_one_time),
		cmocka_unit_test(days_have_a_directory),
		cmocka_unit_test(files_may_stand_among_options),
		cmocka_unit_test(what_is_relevant_can_be_said),
		cmocka_unit_test(slower_needs_no_earlier_days),
		cmocka_unit_test(what_is_wrong_is_refused_with_words),
		cmocka_unit_test(help_needs_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
