// SPDX-License-Identifier: Apache-2.0
/* Lines of /proc/PID/cgroup and /proc/mounts: both versions, odd paths, broken lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/fake_tree.h"
#include "user/host/cgroup_lines.h"
#include "user/util/cleanup.h"

static void cgroup_line_is_taken_apart(void **state)
{
	static const struct {
		const char *text, *controllers, *path;
		size_t name_len;
	} rows[] = {
		{ "0::/", "", "/", 1 },
		{ "4:cpu,cpuacct:/docker/a", "cpu,cpuacct", "/docker/a", 9 },
		{ "1:name=systemd:/a:b", "name=systemd", "/a:b", 4 },
		{ "0::/a (deleted)", "", "/a (deleted)", 2 },
		{ "0:: (deleted)", "", " (deleted)", 10 },
		{ "0::", "", "", 0 },
		{ "0::relative", "", "relative", 8 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct cgroup_line line;

		assert_true(cgroup_line_parse(rows[i].text, strlen(rows[i].text), &line));
		assert_int_equal(line.controllers_len, strlen(rows[i].controllers));
		assert_memory_equal(line.controllers, rows[i].controllers, line.controllers_len);
		assert_int_equal(line.path_len, strlen(rows[i].path));
		assert_memory_equal(line.path, rows[i].path, line.path_len);
		assert_int_equal(line.name_len, rows[i].name_len);
	}
}

static void cgroup_line_without_two_colons_is_refused(void **state)
{
	static const char *const texts[] = { "", "0", "0:", "0:memory", "/a/b" };
	struct cgroup_line line;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_false(cgroup_line_parse(texts[i], strlen(texts[i]), &line));
}

static void cgroup_lines_are_found_by_controller(void **state)
{
	static const char text[] = "broken\n9:name=systemd:/s\n8:pids:/p\n3:cpu,memory,io:/m\n"
				   "2:memory:/second\n0::/v2";
	static const struct {
		const char *controller, *path;
	} rows[] = {
		{ "pids", "/p" }, { "cpu", "/m" }, { "memory", "/m" },
		{ "io", "/m" },	  { NULL, "/v2" }, { "name=systemd", "/s" },
		{ "pid", NULL },  { "mem", NULL }, { "i", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct cgroup_line line;
		bool is_found = cgroup_lines_find(text, strlen(text), rows[i].controller, &line);

		assert_int_equal(is_found, rows[i].path != NULL);
		if (!is_found)
			continue;
		assert_int_equal(line.path_len, strlen(rows[i].path));
		assert_memory_equal(line.path, rows[i].path, line.path_len);
	}
	assert_false(cgroup_lines_find(NULL, 0, NULL, &(struct cgroup_line){ 0 }));
}

static void cgroup_mounts_are_found_by_controller(void **state)
{
	static const struct {
		const char *mounts, *controller, *path;
		int err;
	} rows[] = {
		{ "cgroup /a\\040b\\134c cgroup rw,pids 0 0\n", "pids", "/a b\\c", 0 },
		{ "cgroup /short\\04 cgroup rw,pids 0 0\n", "pids", "/short\\04", 0 },
		{ "x /x tmpfs rw,pids 0 0\ny /y cgroup rw,pids 0 0\nz /z cgroup rw,pids 0 0\n",
		  "pids", "/y", 0 },
		{ "cgroup2 /a cgroup2 rw 0 0\ncgroup2 /b cgroup2 rw 0 0\n", NULL, "/a", 0 },
		{ "cgroup2 /a cgroup2 rw", NULL, "/a", 0 },
		{ "cgroup2 /a cgroup2\n\ncgroup2\n", NULL, NULL, -ENODEV },
		{ "cgroup2 /a cgroup2 rw,pids 0 0\n", "pids", NULL, -ENODEV },
		{ "cgroup /a cgroup rw,pids 0 0\n", NULL, NULL, -ENODEV },
		{ "cgroup /a cgroup rw,pidsx 0 0\n", "pids", NULL, -ENODEV },
		{ "", "pids", NULL, -ENODEV },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fake_tree proc;
		char path[PATH_MAX];

		fake_tree_make(&proc);
		fake_tree_write(&proc, "mounts", rows[i].mounts);
		assert_int_equal(cgroup_mount_find(proc.fd, rows[i].controller, path), rows[i].err);
		if (!rows[i].err)
			assert_string_equal(path, rows[i].path);
		fake_tree_remove(&proc);
	}
}

static void cgroup_mounts_need_the_file_and_a_path_that_fits(void **state)
{
	char path[PATH_MAX], text[PATH_MAX + 64] = "cgroup2 /";
	struct fake_tree proc;

	(void)state;
	fake_tree_make(&proc);
	assert_int_equal(cgroup_mount_find(proc.fd, NULL, path), -ENODEV);
	memset(text + strlen(text), 'x', PATH_MAX);
	strcat(text, " cgroup2 rw 0 0\n");
	fake_tree_write(&proc, "mounts", text);
	assert_int_equal(cgroup_mount_find(proc.fd, NULL, path), -ENAMETOOLONG);
	fake_tree_remove(&proc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cgroup_line_is_taken_apart),
		cmocka_unit_test(cgroup_line_without_two_colons_is_refused),
		cmocka_unit_test(cgroup_lines_are_found_by_controller),
		cmocka_unit_test(cgroup_mounts_are_found_by_controller),
		cmocka_unit_test(cgroup_mounts_need_the_file_and_a_path_that_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
