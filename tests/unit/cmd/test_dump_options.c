// SPDX-License-Identifier: Apache-2.0
/* The command line of jbpf dump: what is understood, and the exact line for what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "user/cli/output_ending.h"
#include "user/cmd/dump_options.h"
#include "user/util/cleanup.h"

#define NOW_NS	 1700000000000000000ull
#define HOUR_NS	 3600000000000ull
#define ARGS_MAX 12
#define ARGS(...)                              \
	{                                      \
		"jbpf-dump", __VA_ARGS__, NULL \
	}

static int parse(const char *const *args, struct dump_options *out, char *why, size_t why_len)
{
	char *argv[ARGS_MAX + 1];
	int argc = 0;

	for (; args[argc]; argc++) {
		assert_true(argc < ARGS_MAX);
		argv[argc] = (char *)(uintptr_t)args[argc]; /* getopt does not write to them */
	}
	argv[argc] = NULL;
	return dump_options_parse(argc, argv, NOW_NS, out, why, why_len);
}

struct refusal {
	const char *args[ARGS_MAX];
	const char *why;
};

static const struct refusal refusals[] = {
	{ ARGS("--xyzzy"), "there is no option --xyzzy; see jbpf-dump --help" },
	{ ARGS("-x"), "there is no option -x; see jbpf-dump --help" },
	{ ARGS("shop-1"), "'shop-1' is not an option; see jbpf-dump --help" },
	{ ARGS("--list", "shop-1"), "'shop-1' is not an option; see jbpf-dump --help" },
	{ ARGS("--since"), "--since wants a value; see jbpf-dump --help" },
	{ ARGS("-o"), "--output wants a value; see jbpf-dump --help" },
	{ ARGS("-o", "a.b/shop.png"),
	  "--output: the ending of 'a.b/shop.png' is that of no format; make it .html, .svg, .pb.gz, "
	  ".speedscope.json, .otlp, .json, .folded or .txt, or give --format" },
	{ ARGS("-o", "shop.folded.gz"),
	  "--output: the ending of 'shop.folded.gz' is that of no format; make it .html, .svg, .pb.gz, "
	  ".speedscope.json, .otlp, .json, .folded or .txt, or give --format" },
	{ ARGS("--list=yes"), "--list takes no value; see jbpf-dump --help" },
	{ ARGS("--since", "1h", "--since", "2h"), "--since is given twice; see jbpf-dump --help" },
	{ ARGS("-o", "a", "--output", "b"), "--output is given twice; see jbpf-dump --help" },
	{ ARGS("--list", "--list"), "--list is given twice; see jbpf-dump --help" },
	{ ARGS("--by", "pod", "--by", "pod"), "--by pod is given twice; see jbpf-dump --help" },
	{ ARGS("--by", "none", "--by", "none"), "--by none is given twice; see jbpf-dump --help" },
	{ ARGS("--by", "none", "--by", "pod"), "--by none does not go with another --by" },
	{ ARGS("--by", "node"),
	  "--by: 'node' is not one of container, pod, namespace, service, image, host, comm, pid, thread, none; see jbpf-dump --help" },
	{ ARGS("--since=1h", "--thread=a", "--list"),
	  "--thread does not go with --list, which lists processes; give --by thread instead" },
	{ ARGS("--since=1h", "--thread=a", "--format=cells"),
	  "--thread does not go with --format cells: when a thread ran is not stored" },
	{ ARGS("--since", "tomorrow"),
	  "--since: 'tomorrow' is not a time; write 15m, 1h30m or 2d back from now, 13:00, yesterday, "
	  "2026-11-21, 2026-11-21T13:00:00Z or @EPOCH; see jbpf-dump --help" },
	{ ARGS("--until", "90"),
	  "--until: '90' is not a time; write 15m, 1h30m or 2d back from now, 13:00, yesterday, "
	  "2026-11-21, 2026-11-21T13:00:00Z or @EPOCH; see jbpf-dump --help" },
	{ ARGS("--since", "@7200", "--until", "@3600"),
	  "--since (1970-01-01T02:00:00Z) must lie before --until (1970-01-01T01:00:00Z)" },
	{ ARGS("--since", "@100", "--until", "@100"),
	  "--since (1970-01-01T00:01:40Z) must lie before --until (1970-01-01T00:01:40Z)" },
	{ ARGS("--since", "2100-01-01"), "--since (2100-01-01T00:00:00Z) lies in the future" },
	{ ARGS("--sort", "total"), "--sort goes with --format top only" },
	{ ARGS("-n", "5", "--format", "svg"), "--rows goes with --format top only" },
	{ ARGS("--callers", "x", "--format", "json"), "--callers goes with --format top only" },
	{ ARGS("--callers", "x", "--list"), "--callers goes with --format top only" },
	{ ARGS("--callers", ""),
	  "--callers: '' is not a method, such as java.util.HashMap.get, or '*HashMap.get'; see jbpf-dump --help" },
	{ ARGS("--callers", "x", "-n", "3"),
	  "--rows does not go with --callers, which shows what has 1 % of the samples or more" },
	{ ARGS("--format", "top", "--callers", "x", "--lines"),
	  "--callers does not go with --lines" },
	{ ARGS("--format", "top", "--lines", "--by", "pod"), "--by does not go with --lines" },
	{ ARGS("--format", "top", "--sort", "self", "--by", "pod"),
	  "--sort is for the table of methods: leave out --by" },
	{ ARGS("--callers", "x", "--sort", "self"),
	  "--sort is for the table of methods: leave out --callers" },
	{ ARGS("--pid", "0"), "--pid: '0' is not a process id; see jbpf-dump --help" },
	{ ARGS("--pid", "-1"), "--pid: '-1' is not a process id; see jbpf-dump --help" },
	{ ARGS("--pid", "12x"), "--pid: '12x' is not a process id; see jbpf-dump --help" },
	{ ARGS("--pid", "4294967296"),
	  "--pid: '4294967296' is not a process id; see jbpf-dump --help" },
	{ ARGS("--kind", "any"),
	  "--kind: 'any' is not one of java, kernel, native; see jbpf-dump --help" },
	{ ARGS("--format", "pdf"),
	  "--format: 'pdf' is not one of folded, html, svg, top, json, pprof, speedscope, otlp, cells; see jbpf-dump --help" },
	{ ARGS("--format", ""),
	  "--format: '' is not one of folded, html, svg, top, json, pprof, speedscope, otlp, cells; see jbpf-dump --help" },
	{ ARGS("--list", "--format", "pprof"), "--list is a table, or --format json" },
	{ ARGS("--lines", "--format", "pprof"),
	  "--lines goes with --format top, html and json: lines are known by method, not by stack" },
	{ ARGS("--lines", "--thread", "x", "--format", "top"),
	  "--lines does not go with --thread: lines are counted for all threads of a process" },
	{ ARGS("--list", "--format", "cells"), "--list is a table, or --format json" },
	{ ARGS("--format", "cells", "--by", "pod"),
	  "--by does not go with --format cells, which has no stacks" },
	{ ARGS("--format", "cells", "--by", "none"),
	  "--by does not go with --format cells, which has no stacks" },
	{ ARGS("--kind", "java", "--format", "cells"),
	  "--kind does not go with --format cells, which has no stacks" },
	{ ARGS("--list", "--format", "html"), "--list is a table, or --format json" },
	{ ARGS("--list", "--by", "pod"), "--list is by container, or --by pid; for other tables "
					 "leave out --list, and give --format top" },
	{ ARGS("--list", "--by", "pid", "--format", "json"),
	  "--by does not go with --list --format json, which has every process" },
	{ ARGS("--list", "--kind", "java"), "--kind does not go with --list" },
	{ ARGS("--list", "--own", "a.*"), "--own does not go with --list, which has no stacks" },
	{ ARGS("--own", "a.*", "--format", "cells"),
	  "--own does not go with --format cells, which has no stacks" },
	{ ARGS("--own", "a.*", "--format", "top", "--lines"),
	  "--own does not go with --lines, which has no stacks" },
	{ ARGS("--own", "a.*", "--format", "top", "--by", "pod"),
	  "--own does not go with a table of --by, which has no stacks" },
};

static void dump_options_refuse_wrong_usage_with_one_clear_line(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		struct dump_options options = { .view.output = "untouched" };
		char why[512] = "";
		int err = parse(refusals[i].args, &options, why, sizeof(why));

		if (err != -EINVAL || strcmp(why, refusals[i].why) != 0)
			fail_msg("case %zu: %d '%s', not '%s'", i, err, why, refusals[i].why);
		assert_string_equal(options.view.output, "untouched");
	}
}

static void dump_options_have_defaults(void **state)
{
	static const char *const args[] = { "jbpf-dump", NULL };
	struct dump_options options;
	char why[512];

	(void)state;
	assert_int_equal(parse(args, &options, why, sizeof(why)), 0);
	assert_true(options.selection.until_unix_ns == NOW_NS);
	assert_true(options.selection.since_unix_ns == NOW_NS - HOUR_NS);
	assert_true(options.is_default_since);
	assert_int_equal(options.stores.cnt, 0);
	assert_int_equal(options.view.format, DUMP_FORMAT_FOLDED);
	assert_int_equal(options.view.by_cnt, 0);
	assert_null(options.view.output);
	assert_null(options.selection.container);
	assert_false(options.list);
}

static void dump_options_without_since_take_the_hour_before_until(void **state)
{
	static const char *const args[] = ARGS("--until", "@7200");
	struct dump_options options;
	char why[512];

	(void)state;
	assert_int_equal(parse(args, &options, why, sizeof(why)), 0);
	assert_true(options.selection.since_unix_ns == HOUR_NS);
	assert_true(options.selection.until_unix_ns == 2 * HOUR_NS);
}

static void dump_options_take_every_selector(void **state)
{
	static const char *const selectors[] = ARGS("--container=c", "--pod=p", "--namespace=n",
						    "--service=s", "--comm=j", "--cgroup=/g",
						    "--pid=42", "--kind=java");
	static const char *const rest[] = ARGS("--since=2h", "--until=1h", "--store=d", "--format",
					       "svg", "-of", "--by", "pod", "--by=pid");
	struct dump_options options;
	char why[512];

	(void)state;
	assert_int_equal(parse(selectors, &options, why, sizeof(why)), 0);
	assert_string_equal(options.selection.container, "c");
	assert_string_equal(options.selection.pod, "p");
	assert_string_equal(options.selection.namespace, "n");
	assert_string_equal(options.selection.service, "s");
	assert_string_equal(options.selection.comm, "j");
	assert_string_equal(options.selection.cgroup, "/g");
	assert_int_equal(options.selection.pid, 42);
	assert_int_equal(options.selection.kind, SELECT_KIND_JAVA);

	assert_int_equal(parse(rest, &options, why, sizeof(why)), 0);
	assert_true(options.selection.since_unix_ns == NOW_NS - 2 * HOUR_NS);
	assert_true(options.selection.until_unix_ns == NOW_NS - HOUR_NS);
	assert_false(options.is_default_since);
	assert_int_equal(options.stores.cnt, 1);
	assert_string_equal(options.stores.dirs[0], "d");
	assert_int_equal(options.view.format, DUMP_FORMAT_SVG);
	assert_string_equal(options.view.output, "f");
	assert_int_equal(options.view.by_cnt, 2);
	assert_int_equal(options.view.by[0], DUMP_BY_POD);
	assert_int_equal(options.view.by[1], DUMP_BY_PID);
}

static void dump_options_of_the_table_of_methods(void **state)
{
	static const char *const plain[] = ARGS("--format", "top");
	static const char *const total[] = ARGS("--format", "top", "--sort", "total", "-n0");
	static const char *const by[] = ARGS("--format", "top", "--by", "image");
	static const char *const callers[] = ARGS("--callers", "x", "--by", "image");
	struct dump_options options;
	char why[512];

	(void)state;
	assert_int_equal(parse(plain, &options, why, sizeof(why)), 0);
	assert_int_equal(options.view.order, TREE_ORDER_SELF);
	assert_int_equal(options.view.row_max, 50);
	assert_false(dump_view_is_of_labels(&options.view));
	assert_int_equal(parse(total, &options, why, sizeof(why)), 0);
	assert_int_equal(options.view.order, TREE_ORDER_TOTAL);
	assert_int_equal(options.view.row_max, 0);
	assert_int_equal(parse(by, &options, why, sizeof(why)), 0);
	assert_true(dump_view_is_of_labels(&options.view));
	assert_int_equal(parse(callers, &options, why, sizeof(why)), 0);
	assert_int_equal(options.view.format, DUMP_FORMAT_TOP);
	assert_string_equal(options.view.callers, "x");
	assert_false(dump_view_is_of_labels(&options.view));
}

static void dump_options_take_words_for_their_values(void **state)
{
	static const struct {
		const char *args[ARGS_MAX];
		enum dump_format format;
		enum select_kind kind;
	} cases[] = {
		{ ARGS("--format=folded", "--kind=java"), DUMP_FORMAT_FOLDED, SELECT_KIND_JAVA },
		{ ARGS("--format=html", "--kind=kernel"), DUMP_FORMAT_HTML, SELECT_KIND_KERNEL },
		{ ARGS("--format=svg", "--kind=native"), DUMP_FORMAT_SVG, SELECT_KIND_NATIVE },
		{ ARGS("--format=top"), DUMP_FORMAT_TOP, SELECT_KIND_ANY },
		{ ARGS("--format=json"), DUMP_FORMAT_JSON, SELECT_KIND_ANY },
		{ ARGS("--format=pprof"), DUMP_FORMAT_PPROF, SELECT_KIND_ANY },
		{ ARGS("--format=speedscope"), DUMP_FORMAT_SPEEDSCOPE, SELECT_KIND_ANY },
		{ ARGS("--format=cells"), DUMP_FORMAT_CELLS, SELECT_KIND_ANY },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct dump_options options;
		char why[512];

		assert_int_equal(parse(cases[i].args, &options, why, sizeof(why)), 0);
		assert_int_equal(options.view.format, cases[i].format);
		assert_int_equal(options.selection.kind, cases[i].kind);
	}
}

static void dump_options_help_needs_nothing_else_to_be_right(void **state)
{
	static const char *const args[] = ARGS("--help", "--list", "--by", "pod");
	struct dump_options options;
	char why[512];

	(void)state;
	assert_int_equal(parse(args, &options, why, sizeof(why)), 0);
	assert_true(options.info.help);
}

static void dump_options_dash_is_standard_output(void **state)
{
	static const char *const args[] = ARGS("-o", "-");
	struct dump_options options;
	char why[512];

	(void)state;
	assert_int_equal(parse(args, &options, why, sizeof(why)), 0);
	assert_null(options.view.output);
}

static void dump_options_take_the_format_of_a_file_from_its_ending(void **state)
{
	static const struct {
		const char *args[ARGS_MAX];
		enum dump_format format;
	} rows[] = {
		{ ARGS("-o", "shop.html"), DUMP_FORMAT_HTML },
		{ ARGS("-o", "a.d/shop.svg"), DUMP_FORMAT_SVG },
		{ ARGS("-o", "shop.pb.gz"), DUMP_FORMAT_PPROF },
		{ ARGS("-o", "shop.speedscope.json"), DUMP_FORMAT_SPEEDSCOPE },
		{ ARGS("-o", "shop.json"), DUMP_FORMAT_JSON },
		{ ARGS("-o", "shop.otlp"), DUMP_FORMAT_OTLP },
		{ ARGS("-o", "shop.folded"), DUMP_FORMAT_FOLDED },
		{ ARGS("-o", "shop.txt"), DUMP_FORMAT_FOLDED },
		{ ARGS("-o", "shop.out"), DUMP_FORMAT_FOLDED },
		{ ARGS("-o", "shop.TXT"), DUMP_FORMAT_FOLDED },
		{ ARGS("-o", "shop.top"), DUMP_FORMAT_TOP },
		{ ARGS("-o", "SHOP.HTML"), DUMP_FORMAT_HTML },
		{ ARGS("-o", ".html"), DUMP_FORMAT_FOLDED },
		{ ARGS("-o", "shop.png", "--format", "html"), DUMP_FORMAT_HTML },
		{ ARGS("-o", "a.png/shop"), DUMP_FORMAT_FOLDED },
		{ ARGS("-o", "a.html/shop"), DUMP_FORMAT_FOLDED },
		{ ARGS("-o", "shop.html", "--format", "folded"), DUMP_FORMAT_FOLDED },
		{ ARGS("-o", "shop.html", "--callers", "x"), DUMP_FORMAT_TOP },
		{ ARGS("-o", "-"), DUMP_FORMAT_FOLDED },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct dump_options options;
		char why[256];

		if (parse(rows[i].args, &options, why, sizeof(why)) ||
		    options.view.format != rows[i].format)
			fail_msg("row %zu", i);
	}
}

static void text_is_any_file_that_ends_with_txt(void **state)
{
	(void)state;
	assert_true(output_ending_is_text("a/shop.TXT"));
	assert_false(output_ending_is_text("a/.txt")); /* a name without an ending */
	assert_false(output_ending_is_text("a.txt/shop"));
	assert_false(output_ending_is_text("shop.folded"));
}

static void dump_options_accept_by_none(void **state)
{
	static const char *const args[] = ARGS("--by", "none");
	struct dump_options options;
	char why[512];

	(void)state;
	assert_int_equal(parse(args, &options, why, sizeof(why)), 0);
	assert_int_equal(options.view.by_cnt, 0);
}

/* Stacks of one resource have to be together there. */
static void labels_of_resources_come_first_in_otlp(void **state)
{
	static const struct {
		const char *args[ARGS_MAX];
		enum dump_by by[4];
		size_t cnt;
	} rows[] = {
		{ ARGS("--by", "comm", "--by", "host", "--format", "otlp"),
		  { DUMP_BY_HOST, DUMP_BY_COMM },
		  2 },
		{ ARGS("--by", "host", "--by", "comm", "--format", "otlp"),
		  { DUMP_BY_HOST, DUMP_BY_COMM },
		  2 },
		{ ARGS("--format", "otlp", "--by", "pid", "--by", "pod", "--by", "comm", "--by",
		       "host"),
		  { DUMP_BY_POD, DUMP_BY_HOST, DUMP_BY_PID, DUMP_BY_COMM },
		  4 },
		{ ARGS("--by", "comm", "--by", "host", "--format", "pprof"),
		  { DUMP_BY_COMM, DUMP_BY_HOST },
		  2 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct dump_options options;
		char why[256] = "";

		assert_int_equal(parse(rows[i].args, &options, why, sizeof(why)), 0);
		assert_int_equal(options.view.by_cnt, rows[i].cnt);
		for (size_t by = 0; by < rows[i].cnt; by++)
			assert_int_equal(options.view.by[by], rows[i].by[by]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_of_resources_come_first_in_otlp),
		cmocka_unit_test(dump_options_refuse_wrong_usage_with_one_clear_line),
		cmocka_unit_test(dump_options_have_defaults),
		cmocka_unit_test(dump_options_without_since_take_the_hour_before_until),
		cmocka_unit_test(dump_options_take_every_selector),
		cmocka_unit_test(dump_options_of_the_table_of_methods),
		cmocka_unit_test(dump_options_take_words_for_their_values),
		cmocka_unit_test(dump_options_help_needs_nothing_else_to_be_right),
		cmocka_unit_test(dump_options_dash_is_standard_output),
		cmocka_unit_test(dump_options_take_the_format_of_a_file_from_its_ending),
		cmocka_unit_test(text_is_any_file_that_ends_with_txt),
		cmocka_unit_test(dump_options_accept_by_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
