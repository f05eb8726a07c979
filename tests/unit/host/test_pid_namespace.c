// SPDX-License-Identifier: Apache-2.0
/* Whose numbers are in /proc. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/host/pid_namespace.h"

/* Files have other inode numbers than namespaces; only the host's is told apart. */
static void any_other_number_is_not_the_hosts(void **state)
{
	char dir[] = "/tmp/jbpf-pidns-XXXXXX";
	int fd, file;

	(void)state;
	assert_non_null(mkdtemp(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	assert_true(pid_namespace_is_the_hosts(fd)); /* it cannot be told */
	assert_int_equal(mkdirat(fd, "self", 0700), 0);
	assert_int_equal(mkdirat(fd, "self/ns", 0700), 0);
	file = openat(fd, "self/ns/pid", O_CREAT | O_WRONLY, 0600);
	assert_true(file >= 0);
	close(file);
	assert_false(pid_namespace_is_the_hosts(fd));
	assert_int_equal(unlinkat(fd, "self/ns/pid", 0), 0);
	assert_int_equal(unlinkat(fd, "self/ns", AT_REMOVEDIR), 0);
	assert_int_equal(unlinkat(fd, "self", AT_REMOVEDIR), 0);
	close(fd);
	assert_int_equal(rmdir(dir), 0);
}

/* In a child of a new namespace: exit code 0 when all is as it should be, 2 when it cannot be made. */
static int child(bool mounts_proc)
{
	int fd;

	if (mounts_proc &&
	    (unshare(CLONE_NEWNS) || mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	     mount("proc", "/proc", "proc", 0, NULL)))
		return 2;
	fd = open("/proc", O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return 2;
	return pid_namespace_is_the_hosts(fd) ? 1 : 0;
}

static void a_namespace_below_is_told(void **state)
{
	(void)state;
	for (int mounts_proc = 0; mounts_proc < 2; mounts_proc++) {
		pid_t pid = fork(), inner;
		int status = 0;

		assert_true(pid >= 0);
		if (pid == 0) {
			if (unshare(CLONE_NEWPID))
				_exit(2);
			inner = fork();
			if (inner == 0)
				_exit(child(mounts_proc));
			_exit(inner > 0 && waitpid(inner, &status, 0) == inner &&
					      WIFEXITED(status) ?
				      WEXITSTATUS(status) :
				      2);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		if (WEXITSTATUS(status) == 2)
			skip(); /* only root may */
		assert_int_equal(WEXITSTATUS(status), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_other_number_is_not_the_hosts),
		cmocka_unit_test(a_namespace_below_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
