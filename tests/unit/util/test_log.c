// SPDX-License-Identifier: Apache-2.0
/* Messages: one line each, filtered by level, prefixed for people or for journald. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/util/clock.h"
#include "user/util/fs.h"
#include "user/util/log.h"
#include "user/util/strbuf.h"

struct capture {
	int saved_fd;
	int read_fd;
};

/* What is printed from here on goes into a pipe (64 KiB: enough). */
static struct capture capture_begin(void)
{
	struct capture capture;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	capture.saved_fd = dup(STDERR_FILENO);
	capture.read_fd = fds[0];
	dup2(fds[1], STDERR_FILENO);
	close(fds[1]);
	return capture;
}

static void capture_end(struct capture capture, struct strbuf *out)
{
	dup2(capture.saved_fd, STDERR_FILENO);
	close(capture.saved_fd);
	strbuf_clear(out);
	assert_int_equal(fs_read_fd(capture.read_fd, 1 << 20, out), 0);
	close(capture.read_fd);
}

static int setup(void **state)
{
	(void)state;
	unsetenv("JOURNAL_STREAM");
	log_set_program("prog");
	log_set_level(LOG_LEVEL_INFO);
	return 0;
}

static void lines_begin_with_the_program_and_end_once(void **state)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct capture capture = capture_begin();

	(void)state;
	pr_err("one %d", 1);
	pr_warn("two\n");
	pr_info("%s", "");
	capture_end(capture, &out);
	assert_string_equal(strbuf_str(&out), "prog: one 1\nprog: two\nprog: \n");
}

static void levels_above_the_limit_are_dropped(void **state)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct capture capture = capture_begin();

	(void)state;
	pr_debug("no\n");
	log_set_level(LOG_LEVEL_DEBUG);
	pr_debug("yes\n");
	log_set_level(LOG_LEVEL_ERR);
	pr_warn("no\n");
	pr_err("always\n");
	capture_end(capture, &out);
	assert_string_equal(strbuf_str(&out), "prog: yes\nprog: always\n");
	assert_int_equal(log_level(), LOG_LEVEL_ERR);
}

static void name_stream(uint64_t more)
{
	char text[64];
	struct stat st;

	assert_int_equal(fstat(STDERR_FILENO, &st), 0);
	snprintf(text, sizeof(text), "%ju:%ju", (uintmax_t)st.st_dev,
		 (uintmax_t)(st.st_ino + more));
	setenv("JOURNAL_STREAM", text, 1);
}

static void journald_gets_priorities_where_stderr_is_its_stream(void **state)
{
	static const char *const others[] = { "", ":", "8", "8:", "x:1", "8:1x" };
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct capture capture;

	(void)state;
	log_set_level(LOG_LEVEL_DEBUG);
	capture = capture_begin();
	name_stream(0);
	pr_err("a\n");
	pr_warn("b\n");
	pr_info("c\n");
	pr_debug("d\n");
	/* Inherited by a process whose stderr goes elsewhere. */
	name_stream(1);
	pr_err("e\n");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		setenv("JOURNAL_STREAM", others[i], 1);
		pr_err("f\n");
	}
	capture_end(capture, &out);
	unsetenv("JOURNAL_STREAM");
	assert_string_equal(strbuf_str(&out),
			    "<3>a\n<4>b\n<6>c\n<7>d\nprog: e\nprog: f\nprog: f\nprog: f\nprog: f\n"
			    "prog: f\nprog: f\n");
}

static void hostile_names_do_nothing_to_terminals_and_make_no_lines(void **state)
{
	static const struct {
		const char *name;
		const char *shown;
	} rows[] = {
		{ "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80",
		  "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80" },
		{ "\x1b[2J\x07", "\\x1b[2J\\x07" },
		{ "a\njbpfd: stopped", "a\\x0ajbpfd: stopped" },
		{ "\t\r\x7f", "\\x09\\x0d\\x7f" },
		{ "\xc2\x9b"
		  "31m",
		  "\\xc2\\x9b31m" }, /* CSI as one character */
		{ "\xe2\x80\xae"
		  "gpj",
		  "\\xe2\\x80\\xaegpj" }, /* from right to left */
		{ "\xff\xc3", "\\xff\\xc3" },
		{ "\xc0\x8a", "\\xc0\\x8a" },	       /* an overlong newline */
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80" }, /* half of a pair */
	};
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char expected[128];
		struct capture capture = capture_begin();

		pr_warn("pid 1 '%s'\n", rows[i].name);
		capture_end(capture, &out);
		snprintf(expected, sizeof(expected), "prog: pid 1 '%s'\n", rows[i].shown);
		assert_string_equal(strbuf_str(&out), expected);
	}
}

static void a_site_that_says_too_much_is_counted_instead(void **state)
{
	struct log_limit limit = { 0 };
	uint64_t now_ns = 1000;
	uint32_t held;

	(void)state;
	for (int i = 0; i < LOG_LIMIT_BURST; i++) {
		assert_true(log_limit_pass(&limit, now_ns++, &held));
		assert_int_equal(held, 0);
	}
	for (int i = 0; i < 1000; i++)
		assert_false(log_limit_pass(&limit, now_ns++, &held));
	assert_false(log_limit_pass(&limit, 1000 + LOG_LIMIT_NS - 1, &held));
	assert_true(log_limit_pass(&limit, 1000 + LOG_LIMIT_NS, &held));
	assert_int_equal(held, 1001);
	assert_true(log_limit_pass(&limit, 1001 + LOG_LIMIT_NS, &held));
	assert_int_equal(held, 0);
}

static void what_was_held_back_is_told_once(void **state)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct capture capture = capture_begin();
	uint64_t later_ns;

	(void)state;
	for (int i = 0; i < LOG_LIMIT_BURST + 3; i++)
		pr_warn_limited("pid %d is odd\n", i);
	later_ns = clock_boot_ns();
	log_limits_report(later_ns);
	log_limits_report(later_ns + LOG_LIMIT_NS);
	log_limits_report(later_ns + 2 * LOG_LIMIT_NS);
	capture_end(capture, &out);
	assert_string_equal(strbuf_str(&out),
			    "prog: pid 0 is odd\nprog: pid 1 is odd\nprog: pid 2 is odd\n"
			    "prog: pid 3 is odd\nprog: pid 4 is odd\n"
			    "prog: 3 more like this in 10 minutes: pid ...\n");
}

static void long_messages_are_cut_to_one_line(void **state)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	char message[5000];
	struct capture capture;

	(void)state;
	memset(message, 'm', sizeof(message) - 1);
	message[sizeof(message) - 1] = '\0';
	/* Around the limit, where one byte too many would show. */
	for (size_t len = 2030; len < 2060; len++) {
		capture = capture_begin();
		pr_err("%.*s", (int)len, message);
		capture_end(capture, &out);
		assert_true(out.len <= 2048);
		assert_true(out.len >= 2030);
		assert_ptr_equal(strchr(out.data, '\n'), out.data + out.len - 1);
	}
	capture = capture_begin();
	pr_err("%s", message);
	capture_end(capture, &out);
	assert_int_equal(out.data[out.len - 1], '\n');
}

static void errors_have_a_text_with_either_sign(void **state)
{
	(void)state;
	assert_string_equal(errstr(ENOENT), "No such file or directory");
	assert_string_equal(errstr(-ENOENT), "No such file or directory");
	assert_non_null(strstr(errstr(99999), "99999"));
}

static atomic_bool hammers;

/* Has the lock of the limits most of the time. */
static void *hammer(void *arg)
{
	while (atomic_load(&hammers))
		pr_warn_limited("said often\n");
	return arg;
}

/* As jbpfd's merging child beside the thread that writes. */
static void a_child_logs_whatever_another_thread_was_at_when_it_was_forked(void **state)
{
	struct capture capture = capture_begin();
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	int hung_cnt = 0;
	pthread_t thread;

	(void)state;
	atomic_store(&hammers, true);
	assert_int_equal(pthread_create(&thread, NULL, hammer, NULL), 0);
	for (int i = 0; i < 200 && !hung_cnt; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			alarm(10); /* SIGALRM ends one that waits for ever */
			log_limits_begin_child();
			pr_warn_limited("from a child\n");
			_exit(0);
		}
		assert_true(pid > 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		hung_cnt += status != 0;
	}
	atomic_store(&hammers, false);
	(void)pthread_join(thread, NULL);
	capture_end(capture, &out);
	assert_int_equal(hung_cnt, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(lines_begin_with_the_program_and_end_once, setup),
		cmocka_unit_test_setup(levels_above_the_limit_are_dropped, setup),
		cmocka_unit_test_setup(journald_gets_priorities_where_stderr_is_its_stream, setup),
		cmocka_unit_test_setup(hostile_names_do_nothing_to_terminals_and_make_no_lines,
				       setup),
		cmocka_unit_test(a_site_that_says_too_much_is_counted_instead),
		cmocka_unit_test_setup(what_was_held_back_is_told_once, setup),
		cmocka_unit_test_setup(
			a_child_logs_whatever_another_thread_was_at_when_it_was_forked, setup),
		cmocka_unit_test_setup(long_messages_are_cut_to_one_line, setup),
		cmocka_unit_test_setup(errors_have_a_text_with_either_sign, setup),
	};

	return cmocka_run_group_tests_name("util_log", tests, NULL, NULL);
}
