// SPDX-License-Identifier: Apache-2.0
/* Options of jbpfd from literal argument lists and config files in a temporary directory. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/daemon/daemon_options.h"
#include "user/util/cleanup.h"

#define ARGS_MAX 17
/* 64 bytes: as long as a host's name may be. */
#define LONG_NAME "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static int parse(const char *const *args, struct daemon_options *out, char *why, size_t why_len)
{
	char *argv[ARGS_MAX + 1] = { (char *)"jbpfd" };
	int argc = 1;

	for (; args[argc - 1]; argc++)
		argv[argc] = (char *)args[argc - 1];
	argv[argc] = NULL;
	return daemon_options_parse(argc, argv, out, why, why_len);
}

static char config_path[64];

static void write_config_bytes(const char *bytes, size_t len)
{
	int fd;

	strcpy(config_path, "/tmp/jbpf-config-XXXXXX");
	fd = mkstemp(config_path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	close(fd);
}

static void write_config(const char *text)
{
	write_config_bytes(text, strlen(text));
}

static void defaults_are_those_of_the_manual(void **state)
{
	static const char *const args[] = { NULL };
	struct daemon_options options;
	char why[256];

	(void)state;
	assert_int_equal(parse(args, &options, why, sizeof(why)), 0);
	assert_string_equal(options.store, "/var/lib/jbpf");
	assert_int_equal(options.frequency_hz, 99);
	assert_int_equal(options.window_ns, 10000000000ull);
	assert_int_equal(options.max_depth, 1024);
	assert_int_equal(options.jit, JIT_MODE_AUTO);
	assert_false(options.keeps_parameters);
	assert_int_equal(options.keep_age_ns, 30 * 86400 * 1000000000ull);
	assert_int_equal(options.keep_moments_ns, 2 * 86400 * 1000000000ull);
	assert_int_equal(options.keep_bytes, 5ull << 30);
	assert_int_equal(options.pid_cnt, 0);
	assert_int_equal(options.cgroup_cnt, 0);
	assert_true(options.compact);
	assert_false(options.check);
	daemon_options_release(&options);
}

static void every_option_is_taken(void **state)
{
	static const char *const args[] = { "--store=/s",
					    "--frequency=49",
					    "--window=5s",
					    "--max-depth=64",
					    "--jit=off",
					    "--keep-age=1d",
					    "--keep-bytes=1M",
					    "--pid=7",
					    "--pid=8",
					    "--cgroup=/a",
					    "--cgroup=/b",
					    "--log-level=debug",
					    "--compact=off",
					    "--check",
					    "--keep-moments=3h",
					    "--host=" LONG_NAME,
					    NULL };
	struct daemon_options options;
	char why[256];

	(void)state;
	assert_int_equal(parse(args, &options, why, sizeof(why)), 0);
	assert_string_equal(options.store, "/s");
	assert_int_equal(options.frequency_hz, 49);
	assert_int_equal(options.window_ns, 5000000000ull);
	assert_int_equal(options.max_depth, 64);
	assert_int_equal(options.jit, JIT_MODE_OFF);
	assert_int_equal(options.keep_age_ns, 86400000000000ull);
	assert_int_equal(options.keep_bytes, 1 << 20);
	assert_int_equal(options.keep_moments_ns, 3 * 3600 * 1000000000ull);
	assert_string_equal(options.host, LONG_NAME);
	assert_false(options.compact);
	assert_int_equal(options.pid_cnt, 2);
	assert_int_equal(options.pids[1], 8);
	assert_int_equal(options.cgroup_cnt, 2);
	assert_string_equal(options.cgroups[1], "/b");
	assert_int_equal(options.log_level, LOG_LEVEL_DEBUG);
	assert_true(options.check);
	daemon_options_release(&options);
}

static void wrong_usage_is_refused_in_one_line(void **state)
{
	static const struct {
		const char *args[3];
		const char *why;
	} cases[] = {
		{ { "--nonsense" }, "there is no option --nonsense; see jbpfd --help" },
		{ { "--store" }, "--store wants a value; see jbpfd --help" },
		{ { "rest" }, "'rest' is not an option; see jbpfd --help" },
		{ { "--window=5s", "--window=6s" }, "--window is given twice; see jbpfd --help" },
		{ { "--frequency=0" },
		  "--frequency: '0' is not a number from 1 to 10000; see jbpfd --help" },
		{ { "--frequency=99x" },
		  "--frequency: '99x' is not a number from 1 to 10000; see jbpfd --help" },
		{ { "--frequency=99999999999999999999" },
		  "--frequency: '99999999999999999999' is not a number from 1 to 10000; see jbpfd --help" },
		{ { "--window=10" },
		  "--window: '10' is not a duration from 1s to 10m, such as 10s; see jbpfd --help" },
		{ { "--window=1d" },
		  "--window: '1d' is not a duration from 1s to 10m, such as 10s; see jbpfd --help" },
		{ { "--max-depth=1025" },
		  "--max-depth: '1025' is not a number from 1 to 1024; see jbpfd --help" },
		{ { "--java-parameters=yes" },
		  "--java-parameters: 'yes' is not one of off, on; see jbpfd --help" },
		{ { "--jit=magic" },
		  "--jit: 'magic' is not one of auto, vmstructs, perfmap, attach, off; see jbpfd --help" },
		{ { "--pid=-1" }, "--pid: '-1' is not a process id; see jbpfd --help" },
		{ { "--store=" }, "--store: '' is not a path; see jbpfd --help" },
		{ { "--host=" }, "--host: '' is not a name of at most 64 bytes; see jbpfd --help" },
		{ { "--host=" LONG_NAME "x" },
		  "--host: '" LONG_NAME "x' is not a name of at most 64 bytes; see jbpfd --help" },
		{ { "--compact=yes" }, "--compact: 'yes' is not one of off, on; see jbpfd --help" },
		{ { "--keep-bytes=5 G" },
		  "--keep-bytes: '5 G' is not a size, such as 5G; see jbpfd --help" },
	};
	struct daemon_options options;
	char why[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(parse(cases[i].args, &options, why, sizeof(why)), -EINVAL);
		assert_string_equal(why, cases[i].why);
		daemon_options_release(&options);
	}
}

static void words_stand_for_their_values(void **state)
{
	static const struct {
		const char *args[4];
		enum jit_mode jit;
		enum log_level level;
		bool compact;
	} cases[] = {
		{ { "--jit=auto", "--log-level=err", "--compact=on" },
		  JIT_MODE_AUTO,
		  LOG_LEVEL_ERR,
		  true },
		{ { "--jit=vmstructs", "--log-level=warn", "--compact=off" },
		  JIT_MODE_VMSTRUCTS,
		  LOG_LEVEL_WARN,
		  false },
		{ { "--jit=perfmap", "--log-level=info", "--compact=on" },
		  JIT_MODE_PERFMAP,
		  LOG_LEVEL_INFO,
		  true },
		{ { "--jit=attach", "--log-level=debug", "--compact=off" },
		  JIT_MODE_ATTACH,
		  LOG_LEVEL_DEBUG,
		  false },
		{ { "--jit=off" }, JIT_MODE_OFF, LOG_LEVEL_INFO, true },
	};
	struct daemon_options options;
	char why[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(parse(cases[i].args, &options, why, sizeof(why)), 0);
		assert_int_equal(options.jit, cases[i].jit);
		assert_int_equal(options.log_level, cases[i].level);
		assert_int_equal(options.compact, cases[i].compact);
		daemon_options_release(&options);
	}
}

static void command_line_wins_over_config(void **state)
{
	const char *args[] = { "--frequency=19", "--config", config_path, "--pid=5", NULL };
	struct daemon_options options;
	char why[256];

	(void)state;
	write_config("# jbpf\nfrequency = 49\nwindow=20s # longer\n\n pid = 1\npid = 2\n"
		     "jit = perfmap\n"
		     "java-parameters = on");
	assert_int_equal(parse(args, &options, why, sizeof(why)), 0);
	assert_int_equal(options.frequency_hz, 19);
	assert_int_equal(options.window_ns, 20000000000ull);
	assert_int_equal(options.jit, JIT_MODE_PERFMAP);
	assert_true(options.keeps_parameters);
	assert_int_equal(options.pid_cnt, 1);
	assert_int_equal(options.pids[0], 5);
	daemon_options_release(&options);
	unlink(config_path);
}

static void config_errors_name_file_and_line(void **state)
{
	static const struct {
		const char *text;
		const char *why; /* behind "config file 'PATH', " */
	} cases[] = {
		{ "frequency 49\n", "line 1: 'frequency 49' is not of the form option = value" },
		{ "\n\nfreq = 49\n",
		  "line 3: there is no option 'freq' (did you mean 'frequency'?); see jbpfd --help" },
		{ "xyzzy = 49\n", "line 1: there is no option 'xyzzy'; see jbpfd --help" },
		{ "config = /x\n", "line 1: there is no option 'config'; see jbpfd --help" },
		{ "window = 1\n", "line 1: window: '1' is not a duration from 1s to "
				  "10m, such as 10s; see jbpfd --help" },
		{ "window=1s\nwindow=2s\n", "line 2: window is given twice; see jbpfd --help" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *args[] = { "--config", config_path, NULL };
		struct daemon_options options;
		char why[512], want[512];

		write_config(cases[i].text);
		assert_int_equal(parse(args, &options, why, sizeof(why)), -EINVAL);
		snprintf(want, sizeof(want), "config file '%s', %s", config_path, cases[i].why);
		assert_string_equal(why, want);
		daemon_options_release(&options);
		unlink(config_path);
	}
}

#define BYTES(literal) .bytes = literal, .len = sizeof(literal) - 1

/* Such as a power cut may leave: what is behind them would be passed over, and all be as by default. */
static void a_config_with_nuls_is_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		int line; /* 0 = fine */
	} cases[] = {
		{ BYTES("\0\0\0\0"), .line = 1 },
		{ BYTES("\0window = 5s\n"), .line = 1 },
		{ BYTES("window = 5s\nframes\0\nframes\n"), .line = 2 },
		{ BYTES("window = 5s\0\n"), .line = 1 },
		{ BYTES("window = 5s\n\n\0"), .line = 3 },
		{ BYTES("# fine\n\nwindow = 5s"), .line = 0 },
		{ BYTES(""), .line = 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *const args[] = { "--config", config_path, NULL };
		struct daemon_options options;
		char why[512] = "", expected[256] = "";
		int err;

		write_config_bytes(cases[i].bytes, cases[i].len);
		err = parse(args, &options, why, sizeof(why));
		if (cases[i].line)
			snprintf(expected, sizeof(expected),
				 "config file '%s', line %d has bytes that are no text",
				 config_path, cases[i].line);
		assert_string_equal(why, expected);
		assert_int_equal(err, cases[i].line ? -EINVAL : 0);
		daemon_options_release(&options);
		unlink(config_path);
	}
}

static void missing_config_is_an_error_of_the_system(void **state)
{
	static const char *const args[] = { "--config=/nonexistent/jbpf.conf", NULL };
	struct daemon_options options;
	char why[256];

	(void)state;
	assert_int_equal(parse(args, &options, why, sizeof(why)), -ENOENT);
	assert_string_equal(why, "config file '/nonexistent/jbpf.conf' cannot be read: "
				 "No such file or directory");
	daemon_options_release(&options);
}

static void sampling_differs_only_by_what_the_probe_needs(void **state)
{
	static const char *const base[] = { "--pid=1", "--cgroup=/a", NULL };
	static const struct {
		const char *args[4];
		bool differs;
	} cases[] = {
		{ { "--pid=1", "--cgroup=/a" }, false },
		{ { "--pid=1", "--cgroup=/a", "--keep-age=1d" }, false },
		{ { "--pid=2", "--cgroup=/a" }, true },
		{ { "--pid=1", "--cgroup=/b" }, true },
		{ { "--pid=1" }, true },
		{ { "--pid=1", "--cgroup=/a", "--frequency=1" }, true },
		{ { "--pid=1", "--cgroup=/a", "--jit=off" }, true },
		{ { "--pid=1", "--cgroup=/a", "--java-parameters=on" }, true },
	};
	struct daemon_options a, b;
	char why[256];

	(void)state;
	assert_int_equal(parse(base, &a, why, sizeof(why)), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(parse(cases[i].args, &b, why, sizeof(why)), 0);
		assert_int_equal(daemon_options_sampling_differs(&a, &b), cases[i].differs);
		daemon_options_release(&b);
	}
	daemon_options_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_those_of_the_manual),
		cmocka_unit_test(every_option_is_taken),
		cmocka_unit_test(wrong_usage_is_refused_in_one_line),
		cmocka_unit_test(words_stand_for_their_values),
		cmocka_unit_test(command_line_wins_over_config),
		cmocka_unit_test(config_errors_name_file_and_line),
		cmocka_unit_test(a_config_with_nuls_is_refused),
		cmocka_unit_test(missing_config_is_an_error_of_the_system),
		cmocka_unit_test(sampling_differs_only_by_what_the_probe_needs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
