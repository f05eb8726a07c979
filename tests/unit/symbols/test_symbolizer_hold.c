// SPDX-License-Identifier: Apache-2.0
/* A process whose pid is held by a descriptor, on children of the test itself. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbols/symbolizer.h"
#include "tests/unit/parse_here.h"
#include "user/util/account.h"
#include "user/util/log.h"
#include "user/host/proc_stat.h"

static struct symbolizer *symbolizer;
static struct symbols_process *process;
static int proc_fd = -1;
static pid_t child = -1;

static int child_make(void **state)
{
	struct symbolizer_options options = { .parser_starter = &starter_of_none,
					      .opener_starter = &starter_of_none };
	struct process_life id = { 0 };

	(void)state;
	log_set_level(LOG_LEVEL_ERR);
	proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	options.proc_fd = proc_fd;
	child = fork();
	if (child == 0) {
		pause();
		_exit(0);
	}
	id.pid = (uint32_t)child;
	if (child < 0 || proc_stat_start_ns(proc_fd, id.pid, &id.start_ns))
		return -1;
	return symbolizer__open(&options, &symbolizer) ||
	       symbolizer__open_process(symbolizer, &id, account_of_host(), &process);
}

static void child_end(void)
{
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	child = -1;
}

static int child_remove(void **state)
{
	(void)state;
	if (child > 0)
		child_end();
	symbolizer__free(symbolizer);
	close(proc_fd);
	return 0;
}

static void end_of_a_held_process_is_seen(void **state)
{
	int fd;

	(void)state;
	symbols_process_hold(process);
	fd = process->pid_fd;
	assert_true(fd >= 0);
	symbols_process_hold(process);
	assert_int_equal(process->pid_fd, fd);
	assert_int_equal(symbols_process_check(process), 0);
	assert_int_equal(symbols_process__refresh(process), 0);
	child_end();
	assert_int_equal(symbols_process_check(process), -ESRCH);
	assert_int_equal(symbols_process__refresh(process), -ESRCH);
}

static void another_process_of_the_same_pid_is_not_held(void **state)
{
	(void)state;
	process->id.start_ns += 60 * 1000000000ull;
	symbols_process_hold(process);
	assert_int_equal(process->pid_fd, -1);
	assert_int_equal(symbols_process_check(process), -ESRCH);
}

static void process_that_is_gone_is_not_held(void **state)
{
	(void)state;
	child_end();
	symbols_process_hold(process);
	assert_int_equal(process->pid_fd, -1);
	assert_int_equal(symbols_process_check(process), -ESRCH);
}

static void held_pid_is_given_up_with_the_process(void **state)
{
	int fd;

	(void)state;
	symbols_process_hold(process);
	fd = process->pid_fd;
	symbols_process__close(process);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
}

static void process_that_was_superseded_by_an_exec_is_another_one(void **state)
{
	struct process_life id = process->id;
	struct symbols_process *next;

	(void)state;
	symbols_process_hold(process);
	id.exec_id++;
	assert_int_equal(symbolizer__open_process(symbolizer, &id, account_of_host(), &next), 0);
	assert_int_equal(symbols_process_check(process), -ESRCH);
	assert_int_equal(symbols_process_check(next), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, child_make, child_remove)
	const struct CMUnitTest tests[] = {
		TEST(end_of_a_held_process_is_seen),
		TEST(another_process_of_the_same_pid_is_not_held),
		TEST(process_that_is_gone_is_not_held),
		TEST(held_pid_is_given_up_with_the_process),
		TEST(process_that_was_superseded_by_an_exec_is_another_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
