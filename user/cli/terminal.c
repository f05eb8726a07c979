// SPDX-License-Identifier: Apache-2.0
/* See terminal.h. */
#include "user/cli/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/util/cleanup.h"
#include "user/util/fs.h"
#include "user/util/log.h"
#include "user/util/parse.h"

/* What a shell ends with when it finds no program, or may not run it. */
#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND	    127

extern char **environ;

/* ---- size ---- */

static bool terminal_size(struct winsize *out)
{
	return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, out) == 0;
}

/* Of the environment, where a user says so; 0 = nothing is said. */
static size_t asked_columns(void)
{
	const char *text = getenv("COLUMNS");
	uint64_t columns;

	return text && parse_u64(text, &columns) == 0 && columns <= UINT16_MAX ? (size_t)columns :
										 0;
}

size_t terminal_columns(const char *path)
{
	struct winsize size;

	if (path || !terminal_size(&size))
		return 0;
	return asked_columns() ? asked_columns() : size.ws_col;
}

/* Does the text have more lines than the terminal, with the last one for the prompt? */
static bool is_long(const struct strbuf *text, const struct winsize *size)
{
	size_t rows = 0, width = 0;

	for (size_t i = 0; i < text->len && rows < size->ws_row; i++) {
		bool is_end = text->data[i] == '\n';

		/* The bytes in the middle of a character take no column. */
		if (((unsigned char)text->data[i] & 0xc0) == 0x80)
			continue;
		if (is_end || (size->ws_col && width == size->ws_col)) {
			rows++;
			width = 0;
		}
		width += !is_end;
	}
	return size->ws_row && rows >= size->ws_row;
}

/* ---- pager ---- */

/* A command for the shell; NULL = less. "" = none is wanted. */
static const char *pager_command(void)
{
	const char *pager = getenv("PAGER"), *term = getenv("TERM");

	if (!term || !*term || strcmp(term, "dumb") == 0)
		return "";
	if (pager && (!*pager || strcmp(pager, "cat") == 0))
		return "";
	return geteuid() == 0 && getenv("SUDO_UID") ? NULL : pager;
}

/* Quits at the end of what fits, lets colours through, leaves the text on the screen. */
static int set_environment(void)
{
	if (setenv("LESS", "FRX", 0) || setenv("LESSCHARSET", "utf-8", 0) ||
	    (geteuid() == 0 && setenv("LESSSECURE", "1", 1)))
		return -errno;
	return 0;
}

/* Its signals are those of any program, whatever jbpf ignores. */
static int set_signals(posix_spawnattr_t *attributes)
{
	sigset_t defaults;
	int err;

	(void)sigemptyset(&defaults);
	(void)sigaddset(&defaults, SIGPIPE);
	(void)sigaddset(&defaults, SIGINT);
	(void)sigaddset(&defaults, SIGQUIT);
	err = -posix_spawnattr_setsigdefault(attributes, &defaults);
	return err ? err : -posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF);
}

static int spawn(const char *command, const posix_spawn_file_actions_t *actions,
		 const posix_spawnattr_t *attributes, pid_t *pid_out)
{
	char less[] = "less", shell[] = "sh", option[] = "-c";
	char *less_argv[] = { less, NULL };
	char *shell_argv[] = { shell, option, (char *)command, NULL };

	if (!command)
		return -posix_spawnp(pid_out, less, actions, attributes, less_argv, environ);
	return -posix_spawn(pid_out, "/bin/sh", actions, attributes, shell_argv, environ);
}

/* 0 or -errno; -ENOENT: there is no less here. */
static int start(const char *command, int input_fd, pid_t *pid_out)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int err = -posix_spawn_file_actions_init(&actions);

	if (err)
		return err;
	err = -posix_spawnattr_init(&attributes);
	if (!err) {
		err = set_signals(&attributes);
		if (!err)
			err = -posix_spawn_file_actions_adddup2(&actions, input_fd, STDIN_FILENO);
		if (!err)
			err = spawn(command, &actions, &attributes, pid_out);
		(void)posix_spawnattr_destroy(&attributes);
	}
	(void)posix_spawn_file_actions_destroy(&actions);
	return err;
}

/* Was the text shown? */
static bool wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return true;
	}
	return !WIFEXITED(status) || (WEXITSTATUS(status) != EXIT_NOT_EXECUTABLE &&
				      WEXITSTATUS(status) != EXIT_NOT_FOUND);
}

/* The keys that end a program are the pager's until it has ended; who leaves it early has read enough. */
static bool feed(const char *command, const struct strbuf *text)
{
	sighandler_t on_interrupt, on_quit;
	bool is_shown;
	pid_t pid;
	int fds[2], err;

	if (pipe2(fds, O_CLOEXEC))
		return false;
	on_interrupt = signal(SIGINT, SIG_IGN);
	on_quit = signal(SIGQUIT, SIG_IGN);
	err = start(command, fds[0], &pid);
	close(fds[0]);
	if (!err)
		(void)!fs_write_all(fds[1], text->data, text->len);
	close(fds[1]);
	is_shown = !err && wait_for(pid);
	(void)signal(SIGINT, on_interrupt);
	(void)signal(SIGQUIT, on_quit);
	if (command && !is_shown)
		pr_warn("the pager '%s' cannot be run; set PAGER to another one, or to cat\n",
			command);
	return is_shown;
}

bool terminal_page(const struct strbuf *text)
{
	const char *command = pager_command();
	struct winsize size;

	if ((command && !*command) || !terminal_size(&size) || !is_long(text, &size))
		return false;
	return !set_environment() && feed(command, text);
}
