// SPDX-License-Identifier: Apache-2.0
/*
 * Containers of processes that have ended, whose number a process of another container has by now:
 * what the cgroup's id says is theirs, what /proc says is the other one's. The directories of cgroups
 * are this test's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/fake_tree.h"
#include "tests/unit/parse_here.h"
#include "user/util/account.h"
#include "user/collect/container/container.h"
#include "user/collect/container/container_cgroup.h"

int real_cgroup_mount_open(int proc_fd, const char *cgroup_root);
int real_cgroup_by_id(int mount_fd, uint64_t cgroup_id, char *path, size_t path_len);
#define container_cgroup_mount_open real_cgroup_mount_open
#define container_cgroup_by_id	    real_cgroup_by_id
#include "user/collect/container/container_cgroup.c"
#undef container_cgroup_mount_open
#undef container_cgroup_by_id

#define PID	  42u
#define CGROUP_ID 7u
#define START_NS  (5 * 1000000000ull)
#define X16(c)	  c c c c c c c c c c c c c c c c
#define X64(c)	  X16(c) X16(c) X16(c) X16(c)
#define POD_UID	  "cd3dbd0e-9a5a-4bd0-a0a7-54d1a1b2c3d4"
#define OTHERS	  "11111111-9a5a-4bd0-a0a7-54d1a1b2c3d4"
#define IN_POD	  "/kubepods/pod" POD_UID "/" X64("a")
#define ELSEWHERE "/kubepods/pod" OTHERS "/" X64("b")

static struct fake_tree tree;
static struct accounts *accounts;
static struct container_resolver *resolver;

int container_cgroup_mount_open(int proc_fd, const char *cgroup_root)
{
	(void)proc_fd;
	return open(cgroup_root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

int container_cgroup_by_id(int mount_fd, uint64_t cgroup_id, char *path, size_t path_len)
{
	assert_true(mount_fd >= 0);
	if (cgroup_id != CGROUP_ID)
		return -ESTALE;
	assert_true(path_len >= sizeof(IN_POD));
	strcpy(path, IN_POD);
	return 0;
}

/* Who has the number. */
static void put_process(uint64_t start_ns, const char *cgroup, const char *hostname)
{
	fake_tree_writef(&tree, "42/stat", "42 (x) R 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 %llu 0\n",
			 (unsigned long long)start_ns /
				 (1000000000ull / (uint64_t)sysconf(_SC_CLK_TCK)));
	fake_tree_writef(&tree, "42/cgroup", "0::%s\n", cgroup);
	fake_tree_writef(&tree, "42/root/etc/hostname", "%s\n", hostname);
}

static int set_up(void **state)
{
	struct container_resolver_options options = { .parser = parser_here() };
	char cgroups[PATH_MAX];

	(void)state;
	fake_tree_make(&tree);
	fake_tree_write(&tree, "sys/kernel/hostname", "node\n");
	fake_tree_write(&tree, "cgroup" IN_POD "/cgroup.procs", "");
	fake_tree_write(&tree, "cgroup" ELSEWHERE "/cgroup.procs", "");
	snprintf(cgroups, sizeof(cgroups), "%s/cgroup", tree.path);
	options.accounts = accounts = accounts__new();
	options.root_fd = options.proc_fd = tree.fd;
	options.cgroup_root = cgroups;
	return container_resolver__new(&options, &resolver);
}

static int tear_down(void **state)
{
	(void)state;
	container_resolver__free(resolver);
	accounts__free(accounts);
	fake_tree_remove(&tree);
	return 0;
}

static void assert_is_in(uint64_t cgroup_id, int err, const char *id, const char *pod)
{
	const struct container_sight sight = {
		.pid = PID,
		.start_ns = START_NS,
		.cgroup_id = cgroup_id,
	};
	struct container_info got = { 0 };

	assert_int_equal(container_resolver__lookup(resolver, &sight, &got), err);
	assert_string_equal(got.id, id);
	assert_string_equal(got.pod, pod);
	container_info_release(&got);
}

static void a_process_that_lives_is_in_the_cgroup_that_proc_says(void **state)
{
	(void)state;
	put_process(START_NS, ELSEWHERE, "shop-1");
	assert_is_in(0, 0, X64("b"), "shop-1");
}

static void one_that_ended_is_in_the_container_of_its_cgroup(void **state)
{
	(void)state;
	assert_is_in(CGROUP_ID, 0, X64("a"), "");
	put_process(START_NS + 1000000000ull, ELSEWHERE, "shop-1");
	assert_is_in(CGROUP_ID, 0, X64("a"), "");
}

static void one_that_ended_with_its_cgroup_is_in_no_container(void **state)
{
	(void)state;
	put_process(START_NS + 1000000000ull, ELSEWHERE, "shop-1");
	assert_is_in(CGROUP_ID + 1, -ENOENT, "", "");
	assert_is_in(0, -ENOENT, "", "");
}

/* It would be the name of all that are in there, as long as jbpfd runs. */
static void a_pod_does_not_have_the_host_name_of_who_has_the_number_now(void **state)
{
	(void)state;
	put_process(START_NS + 1000000000ull, ELSEWHERE, "neighbour-1");
	assert_is_in(CGROUP_ID, 0, X64("a"), "");
	put_process(START_NS, IN_POD, "shop-1");
	assert_is_in(CGROUP_ID, 0, X64("a"), "shop-1");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_process_that_lives_is_in_the_cgroup_that_proc_says),
		TEST(one_that_ended_is_in_the_container_of_its_cgroup),
		TEST(one_that_ended_with_its_cgroup_is_in_no_container),
		TEST(a_pod_does_not_have_the_host_name_of_who_has_the_number_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
