// SPDX-License-Identifier: Apache-2.0
/* Standard output as a terminal, here one without a screen, and pagers that leave a trace. */
#include <fcntl.h>
#include <pty.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/cli/terminal.h"
#include "user/util/cleanup.h"

/* A terminal in the place of standard output, until its end. */
struct screen {
	int outside;
	int stdout_before;
	char folder[32];
	char trace[64]; /* what the pager was given goes there */
	char pager[96]; /* that does it */
};

static void screen_open(struct screen *screen, unsigned short columns, unsigned short rows)
{
	const struct winsize size = { .ws_col = columns, .ws_row = rows };
	int inside;

	*screen = (struct screen){ .folder = "/tmp/test_terminal.XXXXXX" };
	assert_non_null(mkdtemp(screen->folder));
	(void)snprintf(screen->trace, sizeof(screen->trace), "%s/trace", screen->folder);
	(void)snprintf(screen->pager, sizeof(screen->pager), "cat > %s", screen->trace);
	assert_int_equal(openpty(&screen->outside, &inside, NULL, NULL, &size), 0);
	screen->stdout_before = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	assert_true(screen->stdout_before >= 0);
	assert_int_equal(dup2(inside, STDOUT_FILENO), STDOUT_FILENO);
	close(inside);
	assert_int_equal(setenv("TERM", "xterm", 1) | setenv("PAGER", screen->pager, 1), 0);
	assert_int_equal(unsetenv("COLUMNS") | unsetenv("SUDO_UID"), 0);
}

static void screen_close(struct screen *screen)
{
	(void)dup2(screen->stdout_before, STDOUT_FILENO);
	close(screen->stdout_before);
	close(screen->outside);
	(void)unlink(screen->trace);
	(void)rmdir(screen->folder);
}

/* What a pager was given; "" = there was none. */
static const char *traced(const struct screen *screen)
{
	static char text[4096];
	__cleanup_fd int fd = open(screen->trace, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	assert_true(len >= 0);
	text[len] = '\0';
	return text;
}

static bool page(const char *text)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;

	strbuf_puts(&out, text);
	return terminal_page(&out);
}

static void text_is_paged_when_it_has_more_lines_than_the_terminal(void **state)
{
	struct screen screen;

	(void)state;
	screen_open(&screen, 10, 4);
	assert_false(page("1\n2\n3\n"));
	assert_string_equal(traced(&screen), "");
	assert_true(page("1\n2\n3\n4\n"));
	assert_string_equal(traced(&screen), "1\n2\n3\n4\n");
	screen_close(&screen);
}

static void long_lines_are_as_many_as_the_terminal_makes_of_them(void **state)
{
	struct screen screen;

	(void)state;
	screen_open(&screen, 10, 4);
	assert_false(page("0123456789\n0123456789\n0123456789\n"));
	assert_false(page("\u00e4\u00f6\u00fc\u00e4\u00f6\u00fc\u00e4\u00f6\u00fc\u00e4\n2\n3\n"));
	assert_true(page("0123456789"
			 "0123456789"
			 "0123456789"
			 "0123456789\n"));
	screen_close(&screen);
}

static void text_is_not_paged_where_nobody_could_turn_pages(void **state)
{
	const char *text = "1\n2\n3\n4\n5\n";
	struct screen screen;

	(void)state;
	screen_open(&screen, 0, 0);
	assert_false(page(text)); /* its size is not known */
	screen_close(&screen);
	screen_open(&screen, 10, 4);
	assert_int_equal(setenv("TERM", "dumb", 1), 0);
	assert_false(page(text));
	assert_int_equal(unsetenv("TERM"), 0);
	assert_false(page(text));
	assert_int_equal(setenv("TERM", "xterm", 1) | setenv("PAGER", "cat", 1), 0);
	assert_false(page(text));
	assert_int_equal(setenv("PAGER", "", 1), 0);
	assert_false(page(text));
	assert_int_equal(setenv("PAGER", screen.pager, 1), 0);
	(void)dup2(screen.stdout_before, STDOUT_FILENO);
	if (!isatty(STDOUT_FILENO))
		assert_false(page(text));
	assert_string_equal(traced(&screen), "");
	screen_close(&screen);
}

static void text_is_still_to_be_written_when_the_pager_cannot_be_run(void **state)
{
	struct screen screen;

	(void)state;
	screen_open(&screen, 10, 4);
	assert_int_equal(setenv("PAGER", "/no/such/pager", 1), 0);
	assert_false(page("1\n2\n3\n4\n"));
	screen_close(&screen);
}

static void a_pager_that_is_left_early_has_shown_the_text(void **state)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct screen screen;

	(void)state;
	screen_open(&screen, 10, 4);
	assert_int_equal(setenv("PAGER", "true", 1), 0);
	for (int i = 0; i < 100000; i++)
		strbuf_puts(&text, "more than a pipe has room for\n");
	assert_true(terminal_page(&text));
	screen_close(&screen);
}

static void the_pager_gets_its_signals_back(void **state)
{
	/* What jbpf ignores. Others, as SIGHUP under nohup, come from whoever started it. */
	const uint64_t own = 1u << (SIGPIPE - 1) | 1u << (SIGINT - 1) | 1u << (SIGQUIT - 1);
	const char *ignored;
	struct screen screen;

	(void)state;
	screen_open(&screen, 10, 4);
	(void)snprintf(screen.pager, sizeof(screen.pager), "grep SigIgn /proc/self/status > %s",
		       screen.trace);
	assert_int_equal(setenv("PAGER", screen.pager, 1), 0);
	assert_true(page("1\n2\n3\n4\n"));
	ignored = traced(&screen);
	assert_int_equal(strncmp(ignored, "SigIgn:", strlen("SigIgn:")), 0);
	assert_int_equal(strtoull(ignored + strlen("SigIgn:"), NULL, 16) & own, 0);
	screen_close(&screen);
}

static void columns_are_those_of_the_terminal_or_of_the_environment(void **state)
{
	struct screen screen;

	(void)state;
	screen_open(&screen, 97, 4);
	assert_int_equal(terminal_columns(NULL), 97);
	assert_int_equal(terminal_columns("file"), 0);
	assert_int_equal(setenv("COLUMNS", "120", 1), 0);
	assert_int_equal(terminal_columns(NULL), 120);
	assert_int_equal(setenv("COLUMNS", "wide", 1), 0);
	assert_int_equal(terminal_columns(NULL), 97);
	(void)dup2(screen.stdout_before, STDOUT_FILENO);
	assert_int_equal(setenv("COLUMNS", "120", 1), 0);
	if (!isatty(STDOUT_FILENO))
		assert_int_equal(terminal_columns(NULL), 0);
	screen_close(&screen);
}

/* As every command does: a pager may end before it is written to. */
static int ignore_sigpipe(void **state)
{
	(void)state;
	return signal(SIGPIPE, SIG_IGN) == SIG_ERR ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_paged_when_it_has_more_lines_than_the_terminal),
		cmocka_unit_test(long_lines_are_as_many_as_the_terminal_makes_of_them),
		cmocka_unit_test(text_is_not_paged_where_nobody_could_turn_pages),
		cmocka_unit_test(text_is_still_to_be_written_when_the_pager_cannot_be_run),
		cmocka_unit_test(a_pager_that_is_left_early_has_shown_the_text),
		cmocka_unit_test(the_pager_gets_its_signals_back),
		cmocka_unit_test(columns_are_those_of_the_terminal_or_of_the_environment),
	};

	return cmocka_run_group_tests(tests, ignore_sigpipe, NULL);
}
