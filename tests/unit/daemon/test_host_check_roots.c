// SPDX-License-Identifier: Apache-2.0
/* What --check says of the containers' roots, of a /proc that is made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/fake_tree.h"
#include "user/daemon/host_check_roots.h"

#define ID_A   "aaaaaaaaaaaa0123456789abcdef0123456789abcdef0123456789abcdef0123"
#define ID_B   "bbbbbbbbbbbb0123456789abcdef0123456789abcdef0123456789abcdef0123"
#define DOCKER "0::/system.slice/docker-"

enum root_kind {
	ROOT_OPEN,
	ROOT_CLOSED, /* something else is there: any error but that it has ended */
	ROOT_ENDED,
};

static void process(const struct fake_tree *proc, unsigned int pid, const char *cgroup,
		    enum root_kind kind)
{
	char path[64];

	snprintf(path, sizeof(path), "%u/cgroup", pid);
	fake_tree_write(proc, path, cgroup);
	snprintf(path, sizeof(path), "%u/root", pid);
	if (kind == ROOT_CLOSED)
		fake_tree_write(proc, path, "");
	snprintf(path, sizeof(path), "%u/root/tmp", pid);
	if (kind == ROOT_OPEN)
		fake_tree_write(proc, path, "");
}

static void each_container_is_judged_by_all_of_its_processes(void **state)
{
	struct fake_tree proc;
	struct host_roots roots;

	(void)state;
	fake_tree_make(&proc);
	process(&proc, 1, "0::/init.scope\n", ROOT_OPEN);
	process(&proc, 2, "0::/\n", ROOT_CLOSED);
	assert_int_equal(host_check_roots(proc.fd, &roots), 0);
	assert_int_equal(roots.containers, 0);
	assert_int_equal(roots.closed, 0);
	/* Of two processes one is closed: it may be its own rights that close it. */
	process(&proc, 10, DOCKER ID_A ".scope\n", ROOT_CLOSED);
	process(&proc, 11, "4:memory:/docker/" ID_A "\n0::/\n", ROOT_OPEN);
	process(&proc, 20, DOCKER ID_B ".scope\n", ROOT_CLOSED);
	process(&proc, 30, DOCKER ID_B ".scope\n", ROOT_CLOSED);
	process(&proc, 40, "0::/lxc.payload.web\n", ROOT_ENDED);
	assert_int_equal(host_check_roots(proc.fd, &roots), 0);
	assert_int_equal(roots.containers, 2);
	assert_int_equal(roots.closed, 1);
	assert_true(roots.closed_pid == 20 || roots.closed_pid == 30);
	assert_string_equal(roots.closed_name, "bbbbbbbbbbbb");
	fake_tree_remove(&proc);
}

static void init_decides_only_where_no_container_runs(void **state)
{
	const struct host_roots none = { 0 }, some = { .containers = 2 };
	char detail[256];

	(void)state;
	assert_int_equal(host_check_roots_line(&none, 1, false, detail, sizeof(detail)),
			 CHECK_LESS);
	assert_int_equal(host_check_roots_line(&some, 1, false, detail, sizeof(detail)), CHECK_OK);
}

static void the_line_says_how_many_and_which(void **state)
{
	static const struct {
		struct host_roots roots;
		bool pid_is_open;
		enum check_result result;
		const char *says;
	} rows[] = {
		{ { 0 }, true, CHECK_OK, "/proc/7/root can be opened; no container runs" },
		{ { 0 }, false, CHECK_LESS, "/proc/7/root cannot be opened: no perf maps" },
		{ { .containers = 3 },
		  true,
		  CHECK_OK,
		  "of all 3 containers that run they can be opened" },
		/* In a user namespace of ours, which says nothing of others. */
		{ { .containers = 1 }, false, CHECK_LESS, "/proc/7/root cannot be opened" },
		{ { .containers = 3, .closed = 1, .closed_pid = 20, .closed_name = "bbbb" },
		  true,
		  CHECK_LESS,
		  "of 1 of 3 containers that run they cannot be opened, as /proc/20/root of bbbb: no perf maps" },
		{ { .containers = 1, .closed = 1, .closed_pid = 20, .closed_name = "bbbb" },
		  false,
		  CHECK_LESS,
		  "of 1 of 1 containers that run they cannot be opened, as /proc/20/root of bbbb: no perf maps" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char detail[256] = "";

		assert_int_equal(host_check_roots_line(&rows[i].roots, 7, rows[i].pid_is_open,
						       detail, sizeof(detail)),
				 rows[i].result);
		assert_non_null(strstr(detail, rows[i].says));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_container_is_judged_by_all_of_its_processes),
		cmocka_unit_test(init_decides_only_where_no_container_runs),
		cmocka_unit_test(the_line_says_how_many_and_which),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
