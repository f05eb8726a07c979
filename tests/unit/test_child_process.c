// SPDX-License-Identifier: Apache-2.0
/* What a forked child keeps of its parent's descriptors. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/sandbox/child_process.h"

#define FD_CNT 8

static ino_t inode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : st.st_ino;
}

/* The exit status of `check` in a child. */
static int child_run(int (*check)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(check());
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int fds_above_are_closed(int first)
{
	for (int fd = first; fd < 2048; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			return 0;
	return 1;
}

static int pipes_make(int fds[FD_CNT])
{
	for (int i = 0; i < FD_CNT; i += 2)
		if (pipe(fds + i))
			return -1;
	return 0;
}

/* In the reverse order, so that each one's new place is another one's old place. */
static int keeps_in_reverse(void)
{
	int fds[FD_CNT], kept[FD_CNT], *places[FD_CNT], none = -1;
	ino_t inodes[FD_CNT];

	if (close_range(3, ~0u, 0) || pipes_make(fds))
		return 1;
	for (int i = 0; i < FD_CNT; i++) {
		kept[i] = fds[FD_CNT - 1 - i];
		inodes[i] = inode_of(kept[i]);
		places[i] = &kept[i];
	}
	places[2] = &none;
	if (child_process_keep_fds(places, FD_CNT) || none != -1)
		return 2;
	for (int i = 0; i < FD_CNT; i++) {
		if (i == 2)
			continue;
		if (kept[i] != 3 + i - (i > 2) || inode_of(kept[i]) != inodes[i])
			return 3;
		if (!(fcntl(kept[i], F_GETFD) & FD_CLOEXEC))
			return 4;
	}
	if (!fds_above_are_closed(3 + FD_CNT - 1))
		return 5;
	return fcntl(0, F_GETFD) < 0 || fcntl(2, F_GETFD) < 0 ? 6 : 0;
}

static int keeps_none(void)
{
	int none = -1;
	int *const places[] = { &none };
	int fds[FD_CNT];

	if (pipes_make(fds) || child_process_keep_fds(places, 1) || none != -1)
		return 1;
	return !fds_above_are_closed(3);
}

static int keeps_those_above_the_others(void)
{
	int one = fcntl(0, F_DUPFD, 700), two = fcntl(0, F_DUPFD, 3);
	int *const places[] = { &one, &two };

	if (child_process_keep_fds(places, 2) || one != 3 || two != 4)
		return 1;
	return !fds_above_are_closed(5);
}

static int refuses_what_is_not_open(void)
{
	int closed = 900;
	int *const places[] = { &closed };

	return child_process_keep_fds(places, 1) != -EBADF;
}

/* As a shell's `ulimit -n` may leave it. */
static int keeps_them_where_few_may_be_open(void)
{
	const struct rlimit few = { .rlim_cur = 3 + 2 * FD_CNT, .rlim_max = 3 + 2 * FD_CNT };

	return setrlimit(RLIMIT_NOFILE, &few) ? 100 : keeps_in_reverse();
}

static void descriptors_are_kept_where_few_may_be_open(void **state)
{
	(void)state;
	assert_int_equal(child_run(keeps_them_where_few_may_be_open), 0);
}

static void kept_descriptors_become_the_first_and_all_others_close(void **state)
{
	(void)state;
	assert_int_equal(child_run(keeps_in_reverse), 0);
	assert_int_equal(child_run(keeps_none), 0);
	assert_int_equal(child_run(keeps_those_above_the_others), 0);
}

static void a_descriptor_that_is_not_open_cannot_be_kept(void **state)
{
	(void)state;
	assert_int_equal(child_run(refuses_what_is_not_open), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kept_descriptors_become_the_first_and_all_others_close),
		cmocka_unit_test(descriptors_are_kept_where_few_may_be_open),
		cmocka_unit_test(a_descriptor_that_is_not_open_cannot_be_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
