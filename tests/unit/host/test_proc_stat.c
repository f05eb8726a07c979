// SPDX-License-Identifier: Apache-2.0
/* /proc/PID/stat and status from a fake tree in a temporary directory. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/remove_tree.h"
#include "user/host/proc_stat.h"
#include "user/util/clock.h"

static char tree[64];
static int proc_fd;

static void write_file(const char *path, const char *text)
{
	int fd = openat(proc_fd, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static int tree_make(void **state)
{
	(void)state;
	strcpy(tree, "/tmp/jbpf-proc-XXXXXX");
	assert_non_null(mkdtemp(tree));
	proc_fd = open(tree, O_RDONLY | O_DIRECTORY);
	assert_int_equal(mkdirat(proc_fd, "7", 0700), 0);
	return 0;
}

static int tree_remove(void **state)
{
	(void)state;
	close(proc_fd);
	return remove_tree(tree);
}

#define STAT_TAIL " S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 12 0 987654 1000 22"

static void stat_start_is_found_behind_any_comm(void **state)
{
	static const char *const comms[] = { "(java)", "(a b)", "(x) S 1 2 3)", "(()", "()" };
	struct proc_stat stat;

	(void)state;
	for (size_t i = 0; i < sizeof(comms) / sizeof(comms[0]); i++) {
		char text[256];

		snprintf(text, sizeof(text), "7 %s" STAT_TAIL "\n", comms[i]);
		write_file("7/stat", text);
		assert_int_equal(proc_stat_read(proc_fd, 7, &stat), 0);
		assert_int_equal(stat.state, 'S');
		assert_int_equal(stat.start_ticks, 987654);
	}
}

static void stat_rejects_cut_text(void **state)
{
	static const char text[] = "7 (java)" STAT_TAIL;
	struct proc_stat stat;

	(void)state;
	for (size_t len = 0;
	     len < strlen("7 (java) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 12 0 "); len++) {
		char cut[sizeof(text)];

		memcpy(cut, text, len);
		cut[len] = '\0';
		write_file("7/stat", cut);
		assert_int_equal(proc_stat_read(proc_fd, 7, &stat), -EINVAL);
	}
}

static void stat_start_matches_within_its_tick_only(void **state)
{
	uint64_t tick_ns = 1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t start_ns = 987654 * tick_ns;

	(void)state;
	write_file("7/stat", "7 (java)" STAT_TAIL "\n");
	assert_int_equal(proc_stat_check_start(proc_fd, 7, start_ns), 0);
	assert_int_equal(proc_stat_check_start(proc_fd, 7, start_ns + tick_ns - 1), 0);
	assert_int_equal(proc_stat_check_start(proc_fd, 7, start_ns + tick_ns), -ESRCH);
	assert_int_equal(proc_stat_check_start(proc_fd, 7, start_ns - 1), -ESRCH);
	assert_int_equal(proc_stat_check_start(proc_fd, 8, start_ns), -ESRCH);
}

static void await_wants_cpu(void (*work)(void), bool wanted)
{
	pid_t pid = fork();
	uint64_t end_ns = clock_monotonic_ns() + 60 * CLOCK_NS_PER_S;

	if (pid == 0) {
		(void)alarm(60);
		for (;;)
			work();
	}
	while (proc_stat_wants_cpu(pid) != wanted) {
		assert_true(clock_monotonic_ns() < end_ns);
		(void)poll(NULL, 0, 1);
	}
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(proc_stat_wants_cpu(pid));
}

static void work_that_spins(void)
{
	for (volatile unsigned int i = 0; i < 1000; i++)
		;
}

static void work_that_waits(void)
{
	(void)pause();
}

static void who_wants_a_cpu_is_told_from_who_hangs(void **state)
{
	(void)state;
	await_wants_cpu(work_that_spins, true);
	await_wants_cpu(work_that_waits, false);
}

static void status_gives_host_ids_and_innermost_pid(void **state)
{
	struct proc_status status;

	(void)state;
	write_file("7/status", "Name:\tjava\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t7\n"
			       "Uid:\t112345\t112346\t112345\t112345\nGid:\t5\t6\t5\t5\n"
			       "NSpid:\t7\t31\t1\nSigBlk:\t0000000000000000\n"
			       "SigIgn:\t0000000000001000\nSigCgt:\t0000000100005ccf\n"
			       "CapEff:\t0000000000000000\nCapBnd:\t00000000a80425fb\n");
	assert_int_equal(proc_status_read(proc_fd, 7, &status), 0);
	assert_int_equal(status.uid, 112345);
	assert_int_equal(status.euid, 112346);
	assert_int_equal(status.egid, 6);
	assert_int_equal(status.ns_pid, 1);
	assert_int_equal(status.sig_caught, 0x100005ccf);
	assert_int_equal(status.sig_ignored, 0x1000);
	assert_int_equal(status.cap_bounding, 0xa80425fb);
}

static void status_without_nspid_gives_the_host_pid(void **state)
{
	struct proc_status status;

	(void)state;
	write_file("7/status", "Name:\tjava\nTgid:\t7\nUid:\t1\t1\t1\t1\nGid:\t2\t2\t2\t2\n");
	assert_int_equal(proc_status_read(proc_fd, 7, &status), 0);
	assert_int_equal(status.ns_pid, 7);
	assert_true(status.cap_bounding == UINT64_MAX);
}

static void status_rejects_garbage(void **state)
{
	static const char *const texts[] = {
		"",
		"\n\n\n",
		"Uid:\t1\n",
		"Tgid:\t7\nUid:\tx\ty\tz\tq\nGid:\t1\t1\t1\t1\n",
		"Tgid:\t7\nUid:\t1\t1\t1\t1\nGid:\t1\t1\t1\t1\nNSpid:\t\n",
	};
	struct proc_status status;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		write_file("7/status", texts[i]);
		assert_int_equal(proc_status_read(proc_fd, 7, &status), -EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stat_start_is_found_behind_any_comm),
		cmocka_unit_test(stat_rejects_cut_text),
		cmocka_unit_test(stat_start_matches_within_its_tick_only),
		cmocka_unit_test(who_wants_a_cpu_is_told_from_who_hangs),
		cmocka_unit_test(status_gives_host_ids_and_innermost_pid),
		cmocka_unit_test(status_without_nspid_gives_the_host_pid),
		cmocka_unit_test(status_rejects_garbage),
	};

	return cmocka_run_group_tests(tests, tree_make, tree_remove);
}
