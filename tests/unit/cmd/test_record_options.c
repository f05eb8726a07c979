// SPDX-License-Identifier: Apache-2.0
/* Command lines of jbpf record and jbpf maps. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "user/cmd/maps_options.h"
#include "user/cmd/record_options.h"
#include "user/util/cleanup.h"

#define ARGS_MAX 16

struct command_line {
	int argc;
	char *argv[ARGS_MAX + 2];
};

static struct command_line line_of(const char *const *args)
{
	struct command_line line = { .argc = 1, .argv = { (char *)"jbpf" } };

	for (; args[line.argc - 1]; line.argc++)
		line.argv[line.argc] = (char *)(uintptr_t)args[line.argc - 1];
	return line;
}

static int record(const char *const *args, struct record_options *out, char *why, size_t why_len)
{
	struct command_line line = line_of(args);

	return record_options_parse(line.argc, line.argv, out, why, why_len);
}

static int maps(const char *const *args, struct maps_options *out, char *why, size_t why_len)
{
	struct command_line line = line_of(args);

	return maps_options_parse(line.argc, line.argv, out, why, why_len);
}

static void record_has_defaults_and_takes_everything(void **state)
{
	static const char *const none[] = { NULL };
	static const char *const all[] = {
		"-p7",	      "--container=c",	     "--comm=j",
		"-d5m",	      "--frequency=49",	     "--jit=off",
		"-ox.svg",    "--ignore-opt-out",    "--pod=shop-*",
		"--pod=cart", "--namespace=!kube-*", "--java-parameters=on",
		NULL
	};
	struct record_options options;
	char why[256];

	(void)state;
	assert_int_equal(record(none, &options, why, sizeof(why)), 0);
	assert_int_equal(options.duration_ns, 30000000000ull);
	assert_int_equal(options.frequency_hz, 99);
	assert_int_equal(options.jit, JIT_MODE_AUTO);
	assert_string_equal(options.view.output, "flame.html");
	assert_int_equal(options.view.format, DUMP_FORMAT_HTML);

	assert_int_equal(record(all, &options, why, sizeof(why)), 0);
	assert_int_equal(options.selection.pid, 7);
	assert_string_equal(options.selection.container, "c");
	assert_string_equal(options.selection.comm, "j");
	assert_string_equal(options.selection.pod, "shop-*");
	assert_string_equal(selection_get(&options.selection, SELECT_BY_POD, 1).pattern, "cart");
	assert_true(selection_get(&options.selection, SELECT_BY_NAMESPACE, 0).leaves_out);
	assert_int_equal(options.duration_ns, 300000000000ull);
	assert_int_equal(options.frequency_hz, 49);
	assert_int_equal(options.jit, JIT_MODE_OFF);
	assert_true(options.keeps_parameters);
	assert_int_equal(options.view.format, DUMP_FORMAT_SVG);
	assert_true(options.ignores_opt_out);
}

static void wakers_are_of_measured_waits_of_a_process(void **state)
{
	static const struct {
		const char *args[6];
		int err;
		bool is_by_thread;
	} rows[] = {
		{ { "--event=sched", "--wakers", "-p", "7", NULL }, 0, true },
		{ { "--event=sched", "--wakers", "--", "true", NULL }, 0, true },
		/* Methods of those who wake. */
		{ { "--event=sched", "--wakers", "-p", "7", "--format=top", NULL }, 0, false },
		{ { "--event=sched", "--wakers", "-p", "7", "--callers=x", NULL }, 0, false },
		{ { "--event=sched", "--wakers", NULL }, -EINVAL, false },
		{ { "--event=sched", "--wakers", "--comm=x", NULL }, -EINVAL, false },
		{ { "--event=off-cpu", "--wakers", "-p", "7", NULL }, -EINVAL, false },
		/* They would say nothing: those who wake are of any process. */
		{ { "--event=sched", "--wakers", "-p", "7", "--container=x", NULL },
		  -EINVAL,
		  false },
		{ { "--event=sched", "--wakers", "-p", "7", "--comm=x", NULL }, -EINVAL, false },
		{ { "--event=sched", "--wakers", "--comm=x", "--", "true", NULL }, -EINVAL, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct record_options options;
		char why[256];

		assert_int_equal(record(rows[i].args, &options, why, sizeof(why)), rows[i].err);
		if (rows[i].err)
			continue;
		assert_true(options.of_wakers && options.view.idle);
		assert_int_equal(options.view.by_cnt, rows[i].is_by_thread);
		if (rows[i].is_by_thread)
			assert_int_equal(options.view.by[0], DUMP_BY_THREAD);
	}
}

/* It changes the process, so that it must be named, and must not have said no. */
static void allocation_is_of_a_process_that_is_named(void **state)
{
	static const struct {
		const char *args[5];
		int err;
	} rows[] = {
		{ { "--event=alloc", "-p", "7", NULL }, 0 },
		{ { "--event=alloc", NULL }, -EINVAL },
		{ { "--event=alloc", "--container=shop", NULL }, -EINVAL },
		{ { "--event=alloc", "--", "java", "Shop", NULL }, -EINVAL },
		{ { "--event=alloc", "-p", "7", "--ignore-opt-out", NULL }, -EINVAL },
		{ { "--event=alloc", "-p", "7", "--count=5", NULL }, -EINVAL },
		{ { "--event=alloc", "-p", "7", "--frequency=9", NULL }, -EINVAL },
		{ { "--event=alloc", "-p", "7", "--threshold=5ms", NULL }, -EINVAL },
		{ { "--event=alloc", "-p", "7", "--kind=java", NULL }, -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct record_options options;
		char why[256];

		assert_int_equal(record(rows[i].args, &options, why, sizeof(why)), rows[i].err);
	}
}

static void threshold_is_of_measured_waits(void **state)
{
	static const struct {
		const char *args[3];
		int err;
		uint64_t threshold_ns;
	} rows[] = {
		{ { "--event=sched", NULL }, 0, 0 },
		{ { "--event=sched", "--threshold=1ms", NULL }, 0, 1000000 },
		{ { "--event=sched", "--threshold=1s", NULL }, 0, 1000000000 },
		{ { "--event=sched", "--threshold=1001ms", NULL }, -EINVAL, 0 },
		{ { "--event=sched", "--threshold=5", NULL }, -EINVAL, 0 },
		{ { "--threshold=5ms", NULL }, -EINVAL, 0 },
		{ { "--event=sched", "--count=5", NULL }, -EINVAL, 0 },
		{ { "--event=page-faults", "--idle", NULL }, -EINVAL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct record_options options;
		char why[256];

		assert_int_equal(record(rows[i].args, &options, why, sizeof(why)), rows[i].err);
		if (!rows[i].err)
			assert_int_equal(options.threshold_ns, rows[i].threshold_ns);
	}
}

static void whole_names_of_threads_put_them_in_front(void **state)
{
	static const struct {
		const char *args[3];
		bool by_thread;
		bool keeps_digits;
	} cases[] = {
		{ { NULL }, false, false },
		{ { "--thread=GC*" }, false, false },
		{ { "--by=thread" }, true, false },
		{ { "--threads" }, true, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct record_options options;
		char why[256];

		assert_int_equal(record(cases[i].args, &options, why, sizeof(why)), 0);
		assert_int_equal((options.view.by_cnt && options.view.by[0] == DUMP_BY_THREAD),
				 cases[i].by_thread);
		assert_int_equal(options.keeps_digits, cases[i].keeps_digits);
		assert_int_equal(options.selection.thread != NULL, i == 1);
	}
}

static void a_number_of_seconds_is_a_duration(void **state)
{
	static const char *const args[] = { "-d10", NULL };
	struct record_options options;
	char why[256];

	(void)state;
	assert_int_equal(record(args, &options, why, sizeof(why)), 0);
	assert_int_equal(options.duration_ns, 10000000000ull);
}

static void a_command_follows_two_dashes_and_lasts_until_it_ends(void **state)
{
	struct record_options options;
	const char *argv[] = { "record", "-o", "a.html", "--", "java", "-d", "3", NULL };
	const char *short_argv[] = { "record", "-d", "5", "--", "java", NULL };
	const char *bare_argv[] = { "record", "java", NULL };
	const char *both_argv[] = { "record", "-p", "7", "--", "java", NULL };
	char why[256];

	(void)state;
	assert_int_equal(
		record_options_parse(7, (char **)(uintptr_t)argv, &options, why, sizeof(why)), 0);
	assert_string_equal(options.command[0], "java");
	assert_string_equal(options.command[2], "3");
	assert_null(options.command[3]);
	assert_true(options.duration_ns == RECORD_UNTIL_END);
	assert_int_equal(record_options_parse(5, (char **)(uintptr_t)short_argv, &options, why,
					      sizeof(why)),
			 0);
	assert_int_equal(options.duration_ns, 5000000000ull);
	assert_int_equal(record_options_parse(2, (char **)(uintptr_t)bare_argv, &options, why,
					      sizeof(why)),
			 -EINVAL);
	assert_string_equal(
		why, "'java' is not an option; a command follows --; see jbpf-record --help");
	assert_int_equal(record_options_parse(5, (char **)(uintptr_t)both_argv, &options, why,
					      sizeof(why)),
			 -EINVAL);
	assert_string_equal(why, "-- COMMAND does not go with --pid, nor with a container, pod, "
				 "namespace, service, image, host or cgroup: it and what it starts "
				 "is sampled");
}

static void the_format_is_that_of_the_file_unless_it_is_given(void **state)
{
	static const struct {
		const char *args[3];
		enum dump_format format;
	} cases[] = {
		{ { "-oa.htm" }, DUMP_FORMAT_HTML },
		{ { "-oa.b.folded" }, DUMP_FORMAT_FOLDED },
		{ { "-oa.collapsed" }, DUMP_FORMAT_FOLDED },
		{ { "-oa.json" }, DUMP_FORMAT_JSON },
		{ { "-oa.txt" }, DUMP_FORMAT_TOP },
		{ { "-oa.b/c" }, DUMP_FORMAT_HTML },
		{ { "-oa.pb.gz" }, DUMP_FORMAT_PPROF },
		{ { "-oa.speedscope.json" }, DUMP_FORMAT_SPEEDSCOPE },
		{ { "-oa.gif", "--format=pprof" }, DUMP_FORMAT_PPROF },
		{ { "-o-" }, DUMP_FORMAT_HTML },
		{ { "-oa.svg", "--format=json" }, DUMP_FORMAT_JSON },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct record_options options;
		char why[256];

		assert_int_equal(record(cases[i].args, &options, why, sizeof(why)), 0);
		assert_int_equal(options.view.format, cases[i].format);
	}
}

static void what_comes_out_is_chosen_as_in_dump(void **state)
{
	static const char *const all[] = { "--format=top", "--by=pod", "--by=thread",
					   "--threads",	   "-n3",      NULL };
	static const char *const callers[] = { "--callers=a.B.c", NULL };
	struct record_options options;
	char why[256];

	(void)state;
	assert_int_equal(record(all, &options, why, sizeof(why)), 0);
	assert_int_equal(options.view.by_cnt, 2);
	assert_int_equal(options.view.by[0], DUMP_BY_POD);
	assert_int_equal(options.view.by[1], DUMP_BY_THREAD);
	assert_int_equal(options.view.row_max, 3);
	assert_true(dump_view_is_of_labels(&options.view));
	assert_int_equal(record(callers, &options, why, sizeof(why)), 0);
	assert_int_equal(options.view.format, DUMP_FORMAT_TOP);
	assert_string_equal(options.view.callers, "a.B.c");
	assert_int_equal(options.view.row_max, 50);
}

/* Nothing is written to a file whose name says something else. */
static void without_a_file_text_goes_to_the_reader_and_the_rest_to_a_file_of_its_name(void **state)
{
	static const struct {
		const char *args[3];
		const char *output;
	} cases[] = {
		{ { NULL }, "flame.html" },
		{ { "--format=svg" }, "flame.svg" },
		{ { "--format=json" }, "flame.json" },
		{ { "--format=pprof" }, "flame.pb.gz" },
		{ { "--format=speedscope" }, "flame.speedscope.json" },
		{ { "--format=otlp" }, "flame.otlp" },
		{ { "--format=folded" }, NULL },
		{ { "--format=top" }, NULL },
		{ { "--callers=x" }, NULL },
		{ { "--format=top", "-oa.html" }, "a.html" },
		{ { "--format=svg", "-o-" }, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct record_options options;
		char why[256];

		assert_int_equal(record(cases[i].args, &options, why, sizeof(why)), 0);
		if (cases[i].output)
			assert_string_equal(options.view.output, cases[i].output);
		else
			assert_null(options.view.output);
	}
}

static void record_refuses_what_is_wrong(void **state)
{
	static const struct {
		const char *args[3];
		const char *why;
	} cases[] = {
		{ { "-p0" }, "--pid: '0' is not a process id; see jbpf-record --help" },
		{ { "-d0s" },
		  "--duration: '0s' is not a duration, such as 30s; see jbpf-record --help" },
		{ { "--format=gif" },
		  "--format: 'gif' is not one of folded, html, svg, top, json, pprof, speedscope, otlp; see jbpf-record --help" },
		{ { "-oa/flame.gif" },
		  "--output: the ending of 'a/flame.gif' is that of no format; make it .html, .svg, .pb.gz, "
		  ".speedscope.json, .otlp, .json, .folded or .txt, or give --format" },
		{ { "-o.html" },
		  "--output: the ending of '.html' is that of no format; make it .html, .svg, .pb.gz, "
		  ".speedscope.json, .otlp, .json, .folded or .txt, or give --format" },
		{ { "-d0" },
		  "--duration: '0' is not a duration, such as 30s; see jbpf-record --help" },
		{ { "-d99999999999999999" },
		  "--duration: '99999999999999999' is not a duration, such as 30s; see jbpf-record --help" },
		{ { "stray" },
		  "'stray' is not an option; a command follows --; see jbpf-record --help" },
		{ { "--format=cells" },
		  "--format: 'cells' is not one of folded, html, svg, top, json, pprof, speedscope, otlp; see jbpf-record --help" },
		{ { "--sort=total" }, "--sort goes with --format top only" },
		{ { "--callers=a.b", "--format=svg" }, "--callers goes with --format top only" },
		{ { "--lines", "-oa.svg" },
		  "--lines goes with --format top, html and json: lines are known by method, not by stack" },
		{ { "--lines", "--thread=x" },
		  "--lines does not go with --thread: lines are counted for all threads of a process" },
		{ { "--idle" },
		  "--idle goes with --event off-cpu, sched, wall, lock and disk only" },
		{ { "--ignore-opt-out" },
		  "--ignore-opt-out requires -p PID: a process that opted "
		  "out is profiled only when it is named" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct record_options options = { .view.output = "untouched" };
		char why[256] = "";

		assert_int_equal(record(cases[i].args, &options, why, sizeof(why)), -EINVAL);
		assert_string_equal(why, cases[i].why);
		assert_string_equal(options.view.output, "untouched");
	}
}

static void maps_takes_each_process_once(void **state)
{
	static const char *const args[] = { "-p1", "--pid=2", "-p1", "-dx", "--force", NULL };
	struct maps_options options;
	char why[256];

	(void)state;
	assert_int_equal(maps(args, &options, why, sizeof(why)), 0);
	assert_int_equal(options.pid_cnt, 2);
	assert_int_equal(options.pids[1], 2);
	assert_string_equal(options.dir, "x");
	assert_true(options.is_forced);
}

static void maps_takes_so_many_processes_and_no_more(void **state)
{
	static char text[MAPS_MAX_PIDS + 1][16];
	char *argv[MAPS_MAX_PIDS + 3] = { (char *)"jbpf" };
	struct maps_options options;
	char why[256];

	(void)state;
	for (int i = 0; i <= MAPS_MAX_PIDS; i++) {
		(void)snprintf(text[i], sizeof(text[i]), "-p%d", i + 1);
		argv[i + 1] = text[i];
	}
	assert_int_equal(maps_options_parse(MAPS_MAX_PIDS + 1, argv, &options, why, sizeof(why)),
			 0);
	assert_int_equal(options.pid_cnt, MAPS_MAX_PIDS);
	assert_int_equal(maps_options_parse(MAPS_MAX_PIDS + 2, argv, &options, why, sizeof(why)),
			 -EINVAL);
	assert_string_equal(why,
			    "--pid: 256 processes are the most; leave it out to take all JVMs");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(record_has_defaults_and_takes_everything),
		cmocka_unit_test(wakers_are_of_measured_waits_of_a_process),
		cmocka_unit_test(threshold_is_of_measured_waits),
		cmocka_unit_test(allocation_is_of_a_process_that_is_named),
		cmocka_unit_test(whole_names_of_threads_put_them_in_front),
		cmocka_unit_test(a_number_of_seconds_is_a_duration),
		cmocka_unit_test(a_command_follows_two_dashes_and_lasts_until_it_ends),
		cmocka_unit_test(the_format_is_that_of_the_file_unless_it_is_given),
		cmocka_unit_test(what_comes_out_is_chosen_as_in_dump),
		cmocka_unit_test(
			without_a_file_text_goes_to_the_reader_and_the_rest_to_a_file_of_its_name),
		cmocka_unit_test(record_refuses_what_is_wrong),
		cmocka_unit_test(maps_takes_each_process_once),
		cmocka_unit_test(maps_takes_so_many_processes_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
