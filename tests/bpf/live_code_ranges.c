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
#include <unistd.h>

#include "user/collect/probe/probe_ranges.h"
#include "user/util/cleanup.h"
#include "user/util/log.h"

#define PID	12345
#define TOO_BIG (JBPF_USER_ADDRESS_END + 1)

static struct probe_lives ranges;
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

static void try_ranges(void)
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
		expect(rows[i].what, probe_ranges_set(&ranges, rows[i].pid, 0, &rows[i].range),
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

		expect("set", probe_ranges_set(&ranges, PID, 0, &range), 0);
		probe_lives_expire(&ranges, &notice);
		expect(rows[i].what, has(map_fd, PID), rows[i].stays);
	}
}

/* Makes so many entries of processes that never were: pids end at 2^22. Returns how many it got. */
static uint32_t fill(uint64_t account_id, uint32_t from, uint32_t cnt)
{
	const struct jbpf_code_range range = { .start_ns = 100, .code_high = 4096 };
	uint32_t done = 0;

	ranges.was_swept = true;
	while (done < cnt && !probe_ranges_set(&ranges, from + done, account_id, &range))
		done++;
	ranges.was_swept = false;
	return done;
}

/* One account gets half, the next half of the rest; others find room still. */
static void try_accounts(int map_fd)
{
	const struct jbpf_code_range range = { .start_ns = 100, .code_high = 4096 };
	uint32_t self = (uint32_t)getpid();

	(void)bpf_map_delete_elem(map_fd, &(uint32_t){ PID });
	ranges.cnt = 0;
	expect("a first account", fill(7, 1 << 23, UINT32_MAX), JBPF_CODE_RANGES_MAX / 2);
	expect("a second one", fill(8, 1 << 24, UINT32_MAX), JBPF_CODE_RANGES_MAX / 4);
	ranges.was_swept = true;
	expect("one too many", probe_ranges_set(&ranges, self, 7, &range), -EDQUOT);
	expect("the same of another account", probe_ranges_set(&ranges, self, 9, &range), 0);
	expect("one that is there", probe_ranges_set(&ranges, 1 << 23, 7, &range), 0);
	probe_lives_end_window(&ranges);
	expect("those that never were make room",
	       probe_ranges_set(&ranges, (uint32_t)getppid(), 7, &range), 0);
	expect("they are gone", has(map_fd, 1 << 23), false);
	expect("the living stay", has(map_fd, self), true);
	expect("and count", ranges.cnt, 2);
}

/* Programs delete, too. */
static void try_deleted(int map_fd)
{
	const struct jbpf_code_range range = { .start_ns = 100, .code_high = 4096 };
	struct jbpf_notice notice = { .kind = JBPF_NOTICE_EXIT, .pid = 1 << 23, .start_ns = 100 };
	uint32_t cnt = ranges.cnt;

	expect("set", probe_ranges_set(&ranges, notice.pid, 9, &range), 0);
	(void)bpf_map_delete_elem(map_fd, &notice.pid);
	probe_lives_expire(&ranges, &notice);
	expect("what a program deleted is not counted", ranges.cnt, cnt);
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
	probe_ranges_init(&ranges, map_fd);
	try_ranges();
	try_notices(map_fd);
	try_accounts(map_fd);
	try_deleted(map_fd);
	if (!failed_cnt)
		puts("ok");
	return failed_cnt != 0;
}
