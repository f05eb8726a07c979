// SPDX-License-Identifier: Apache-2.0
/*
 * From a cgroup's id back to its path. What needs cgroup version 2 is skipped where there is none; how
 * one path of several is chosen: test_container_path.c.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/collect/container/container_cgroup.h"
#include "user/util/cleanup.h"

#define NO_SUCH_ID 1234567890123ull

static int open_proc(void)
{
	int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* Skips the test where there is no cgroup version 2. */
static int open_mount(void)
{
	__cleanup_fd int proc_fd = open_proc();
	int fd = container_cgroup_mount_open(proc_fd, "/sys/fs/cgroup");

	if (fd < 0)
		skip();
	return fd;
}

static void what_is_no_cgroup_hierarchy_is_not_taken_for_one(void **state)
{
	char dir[] = "/tmp/jbpf-cgroup-test.XXXXXX";
	__cleanup_fd int proc_fd = -1;

	(void)state;
	assert_non_null(mkdtemp(dir));
	/* Nor are there mounts: this directory stands for /proc. */
	proc_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(proc_fd >= 0);
	assert_true(container_cgroup_mount_open(proc_fd, dir) < 0);
	assert_true(container_cgroup_mount_open(proc_fd, "/nowhere") < 0);
	assert_int_equal(rmdir(dir), 0);
}

static void the_root_of_the_hierarchy_is_a_slash(void **state)
{
	__cleanup_fd int mount_fd = open_mount();
	char path[256];
	struct stat st;

	(void)state;
	assert_int_equal(fstat(mount_fd, &st), 0);
	assert_int_equal(container_cgroup_by_id(mount_fd, st.st_ino, path, sizeof(path)), 0);
	assert_string_equal(path, "/");
}

static void an_id_that_no_cgroup_has_is_stale(void **state)
{
	__cleanup_fd int mount_fd = open_mount();
	char path[256];

	(void)state;
	assert_int_equal(container_cgroup_by_id(mount_fd, NO_SUCH_ID, path, sizeof(path)), -ESTALE);
}

static void a_path_without_room_is_refused(void **state)
{
	__cleanup_fd int mount_fd = open_mount();
	struct stat st;
	char path[1];

	(void)state;
	assert_int_equal(fstat(mount_fd, &st), 0);
	assert_int_equal(container_cgroup_by_id(mount_fd, st.st_ino, path, sizeof(path)),
			 -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_no_cgroup_hierarchy_is_not_taken_for_one),
		cmocka_unit_test(the_root_of_the_hierarchy_is_a_slash),
		cmocka_unit_test(an_id_that_no_cgroup_has_is_stale),
		cmocka_unit_test(a_path_without_room_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
