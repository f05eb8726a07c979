// SPDX-License-Identifier: Apache-2.0
/*
 * Entries of `code_ranges` in a real map (root): which are taken, which a notice ends, and what
 * happens when the map is full. Prints "ok"; each difference and exit code 1 otherwise.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/collect/probe_ranges.h"
#include "user/util/cleanup.h"
#include "user/util/log.h"

#define PID	12345
#define TOO_BIG (JBPF_USER_ADDRESS_END + 1)

static int failed_cnt;

static void expect(const char *what, long got, long expected)
{
	if (got == expected)
		return;
	fprintf(stderr, "%s: %ld, not %ld\n", what, got, expected);
	failed_cnt++;
}

static bool has(int map_fd, uint32_t pid)
{
	struct jbpf_code_range range;

	return bpf_map_lookup_elem(map_fd, &pid, &range) == 0;
}

static void try_ranges(int map_fd)
{
	static const struct {
		const char *what;
		uint32_t pid;
		struct jbpf_code_range range;
		int expected;
	} rows[] = {
		{ "a JVM", PID, { 1, 4096, 8192, 4096, 5000, 1, 0 }, 0 },
		{ "nothing known", PID, { 1, 0, 0, 0, 0, 1, 0 }, 0 },
		{ "all of user memory", PID, { 1, 0, JBPF_USER_ADDRESS_END, 0, 0, 1, 0 }, 0 },
		{ "no process", 0, { 1, 4096, 8192, 0, 0, 1, 0 }, -EINVAL },
		{ "upside down", PID, { 1, 8192, 4096, 0, 0, 1, 0 }, -EINVAL },
		{ "interpreter upside down", PID, { 1, 4096, 8192, 5, 4, 1, 0 }, -EINVAL },
		{ "kernel memory", PID, { 1, 4096, TOO_BIG, 0, 0, 1, 0 }, -EINVAL },
		{ "interpreter in the kernel", PID, { 1, 0, 0, 0, TOO_BIG, 1, 0 }, -EINVAL },
		{ "a hole not zeroed", PID, { 1, 4096, 8192, 0, 0, 1, 7 }, -EINVAL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		expect(rows[i].what, probe_ranges_set(map_fd, rows[i].pid, &rows[i].range),
		       rows[i].expected);
}

static void try_notices(int map_fd)
{
	/* The entry is of start_ns 100, exec_id 5. */
	static const struct {
		const char *what;
		uint32_t kind, pid, exec_id;
		uint64_t start_ns;
		bool stays;
	} rows[] = {
		{ "exit", JBPF_NOTICE_EXIT, PID, 5, 100, false },
		{ "exit after a later exec", JBPF_NOTICE_EXIT, PID, 6, 100, false },
		{ "exit of the pid's next life", JBPF_NOTICE_EXIT, PID, 1, 200, false },
		{ "exit of the pid's last life", JBPF_NOTICE_EXIT, PID, 9, 50, true },
		{ "exit of another", JBPF_NOTICE_EXIT, PID + 1, 5, 100, true },
		{ "exec to it", JBPF_NOTICE_EXEC, PID, 5, 100, true },
		{ "exec before it", JBPF_NOTICE_EXEC, PID, 4, 100, true },
		{ "exec away from it", JBPF_NOTICE_EXEC, PID, 6, 100, false },
		{ "exec in the pid's next life", JBPF_NOTICE_EXEC, PID, 1, 200, false },
		{ "seen", JBPF_NOTICE_SEEN, PID, 6, 100, true },
		{ "renamed", JBPF_NOTICE_RENAME, PID, 6, 100, true },
	};
	const struct jbpf_code_range range = { .start_ns = 100, .code_high = 4096, .exec_id = 5 };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct jbpf_notice notice = { .kind = rows[i].kind,
						    .pid = rows[i].pid,
						    .exec_id = rows[i].exec_id,
						    .start_ns = rows[i].start_ns };

		expect("set", probe_ranges_set(map_fd, PID, &range), 0);
		probe_ranges_expire(map_fd, &notice);
		expect(rows[i].what, has(map_fd, PID), rows[i].stays);
	}
}

/* Full of the living, then of the dead. */
static void try_full(int map_fd)
{
	const struct jbpf_code_range range = { .start_ns = 100, .code_high = 4096 };
	uint32_t self = (uint32_t)getpid(), dead_cnt = 0, pid = 1 << 23;
	pid_t child = fork();

	if (!child)
		_exit(0);
	(void)waitpid(child, NULL, 0);
	(void)bpf_map_delete_elem(map_fd, &(uint32_t){ PID });
	expect("a living one", probe_ranges_set(map_fd, self, &range), 0);
	expect("one that ended", probe_ranges_set(map_fd, (uint32_t)child, &range), 0);
	/* Pids end at 2^22. */
	while (!bpf_map_update_elem(map_fd, &pid, &range, BPF_NOEXIST)) {
		pid++;
		dead_cnt++;
	}
	expect("the map holds enough", dead_cnt + 2 >= JBPF_CODE_RANGES_MAX, true);
	expect("one too many", probe_ranges_set(map_fd, (uint32_t)getppid(), &range), 0);
	expect("is there", has(map_fd, (uint32_t)getppid()), true);
	expect("the living stay", has(map_fd, self), true);
	expect("the ended go", has(map_fd, (uint32_t)child), false);
	expect("and those that never were", has(map_fd, pid - 1), false);
}

int main(void)
{
	__cleanup_fd int map_fd = bpf_map_create(BPF_MAP_TYPE_HASH, "test_ranges", sizeof(uint32_t),
						 sizeof(struct jbpf_code_range),
						 JBPF_CODE_RANGES_MAX, NULL);

	if (map_fd < 0) {
		fprintf(stderr, "cannot create a map: %s\n", errstr(map_fd));
		return 1;
	}
	try_ranges(map_fd);
	try_notices(map_fd);
	try_full(map_fd);
	if (!failed_cnt)
		puts("ok");
	return failed_cnt != 0;
}
