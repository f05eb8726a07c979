// SPDX-License-Identifier: Apache-2.0
/* A program waits for its word, its end is told as it was, and it does not need jbpf to go on. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/collect/command.h"
#include "user/util/fs.h"

#define WAIT_STEP_US 1000
#define WAIT_STEPS   20000

static struct command *start(const char *const *argv)
{
	struct command *command;

	assert_int_equal(command__start((char *const *)(uintptr_t)argv, &command), 0);
	return command;
}

static int status_of(struct command *command)
{
	int status;

	for (int i = 0; i < WAIT_STEPS; i++) {
		if (command__has_ended(command, &status))
			return status;
		usleep(WAIT_STEP_US);
	}
	fail_msg("it does not end");
	return 0;
}

static void program_ends_as_it_wants_to(void **state)
{
	const char *argv[] = { "sh", "-c", "exit 7", NULL };
	struct command *command = start(argv);
	int status;

	(void)state;
	command__go(command);
	status = status_of(command);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
	command__free(command);
}

static void program_that_is_killed_is_told_as_killed(void **state)
{
	const char *argv[] = { "sleep", "600", NULL };
	struct command *command = start(argv);
	int status;

	(void)state;
	assert_false(command__has_ended(command, &status));
	command__go(command);
	assert_int_equal(kill(command__pid(command), SIGKILL), 0);
	status = status_of(command);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
	command__free(command);
}

static void program_that_is_not_there_is_an_error(void **state)
{
	const char *argv[] = { "/nonexistent/program", NULL };
	struct command *command = start(argv);

	(void)state;
	command__go(command);
	assert_int_equal(status_of(command), -ENOENT);
	command__free(command);
}

static void program_that_was_not_told_to_begin_never_does(void **state)
{
	char path[] = "/tmp/jbpf-command.XXXXXX";
	int fd = mkstemp(path);
	const char *argv[] = { "rm", path, NULL };
	struct command *command;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	command = start(argv);
	command__free(command);
	usleep(50 * WAIT_STEP_US);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(unlink(path), 0);
}

static void program_outlives_the_recording(void **state)
{
	const char *argv[] = { "sleep", "600", NULL };
	struct command *command = start(argv);
	pid_t pid = command__pid(command);

	(void)state;
	command__go(command);
	command__free(command);
	usleep(50 * WAIT_STEP_US);
	assert_int_equal(kill(pid, SIGKILL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(program_ends_as_it_wants_to),
		cmocka_unit_test(program_that_is_killed_is_told_as_killed),
		cmocka_unit_test(program_that_is_not_there_is_an_error),
		cmocka_unit_test(program_that_was_not_told_to_begin_never_does),
		cmocka_unit_test(program_outlives_the_recording),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
