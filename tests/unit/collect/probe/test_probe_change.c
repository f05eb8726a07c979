// SPDX-License-Identifier: Apache-2.0
/* Which sampling options a running probe takes over, and what it says of the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "user/collect/probe/count_map.h"
#include "user/collect/probe/probe_change.h"

#define SECOND 1000000000ull

static const struct probe_room unfiltered = {
	.events = EVENT_BIT(EVENT_CPU),
	.cpu_cnt = 2,
	.count_entries = 4096, /* 163 Hz over 10 s on two CPUs */
	.tick_words = 1351,    /* as 99 Hz over 10 s have */
	.max_depth = 1024,
	.max_sample_rate = 5000,
};

static struct probe_options options(uint32_t frequency_hz, uint64_t seconds)
{
	return (struct probe_options){
		.frequency_hz = frequency_hz,
		.window_ns = seconds * SECOND,
		.max_depth = 1024,
	};
}

static void frequency_and_window_change_as_far_as_there_is_room(void **state)
{
	static const struct {
		uint32_t frequency_hz;
		uint64_t seconds;
		int err;
		const char *why;
	} rows[] = {
		{ 99, 10, 0, "" },
		{ 1, 10, 0, "" },
		{ 19, 60, 0, "" },
		{ 122, 10, 0, "" },
		{ 123, 10, -EOPNOTSUPP, "needs a restart: so many samples" },
		{ 997, 1, 0, "" },
		{ 997, 10, -EOPNOTSUPP, "needs a restart: so many samples" },
		{ 99, 60, -EOPNOTSUPP, "needs a restart: so many samples" },
		{ 5000, 1, -EOPNOTSUPP, "needs a restart" },
		{ 5001, 1, -EINVAL, "above kernel.perf_event_max_sample_rate (5000)" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct probe_options wanted = options(rows[i].frequency_hz, rows[i].seconds);
		char why[256] = "";

		assert_int_equal(probe_change_check(&unfiltered, &wanted, why, sizeof(why)),
				 rows[i].err);
		assert_non_null(strstr(why, rows[i].why));
	}
}

static void count_maps_are_the_limit_where_no_moments_are_noted(void **state)
{
	struct probe_room room = unfiltered;
	struct probe_options fits = options(163, 10), too_many = options(164, 10);
	char why[256] = "";

	(void)state;
	room.tick_words = 0;
	assert_int_equal(probe_change_check(&room, &fits, why, sizeof(why)), 0);
	assert_int_equal(probe_change_check(&room, &too_many, why, sizeof(why)), -EOPNOTSUPP);
	/* The largest map there can be is as good for more: what does not fit is counted. */
	room.count_entries = COUNT_MAP_MAX_ENTRIES;
	assert_int_equal(probe_change_check(&room, &too_many, why, sizeof(why)), 0);
}

static void what_is_part_of_the_programs_needs_a_restart(void **state)
{
	static const uint32_t pids[65] = { 1 };
	static const char *const paths[17] = { "/" };
	static const struct {
		uint32_t pid_max, cgroup_max; /* room */
		uint32_t max_depth;
		size_t pid_cnt, cgroup_cnt; /* wanted */
		const char *why;
	} rows[] = {
		{ 0, 0, 512, 0, 0, "max-depth" },	  { 0, 0, 1024, 1, 0, "filter by pid" },
		{ 64, 0, 1024, 0, 0, "filter by pid" },	  { 64, 0, 1024, 65, 0, "so many pids" },
		{ 0, 0, 1024, 0, 1, "filter by cgroup" }, { 0, 2, 1024, 0, 0, "filter by cgroup" },
		{ 0, 2, 1024, 0, 3, "fewer cgroups" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct probe_room room = unfiltered;
		struct probe_options wanted = options(99, 10);
		char why[256] = "";

		room.pid_max = rows[i].pid_max;
		room.cgroup_max = rows[i].cgroup_max;
		wanted.max_depth = rows[i].max_depth;
		wanted.pids = pids;
		wanted.pid_cnt = rows[i].pid_cnt;
		wanted.cgroup_paths = paths;
		wanted.cgroup_cnt = rows[i].cgroup_cnt;
		assert_int_equal(probe_change_check(&room, &wanted, why, sizeof(why)), -EOPNOTSUPP);
		assert_non_null(strstr(why, rows[i].why));
		assert_non_null(strstr(why, "needs a restart: "));
	}
}

static void another_list_of_pids_is_taken_over(void **state)
{
	static const uint32_t pids[64] = { 7 };
	struct probe_room room = unfiltered;
	struct probe_options wanted = options(99, 10);
	char why[256] = "";

	(void)state;
	room.pid_max = 64;
	wanted.pids = pids;
	for (wanted.pid_cnt = 1; wanted.pid_cnt <= 64; wanted.pid_cnt++)
		assert_int_equal(probe_change_check(&room, &wanted, why, sizeof(why)), 0);
}

static void a_cgroup_that_is_none_is_refused_by_name(void **state)
{
	static const struct {
		const char *path;
		int err;
	} rows[] = {
		{ "/nonexistent/cgroup", -ENOENT },
		{ "/proc", -EBADF },
		{ "/proc/self/status", -ENOTDIR },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *const paths[] = { rows[i].path };
		struct probe_room room = unfiltered;
		struct probe_options wanted = options(99, 10);
		char why[256] = "";

		room.cgroup_max = 1;
		wanted.cgroup_paths = paths;
		wanted.cgroup_cnt = 1;
		assert_int_equal(probe_change_check(&room, &wanted, why, sizeof(why)), rows[i].err);
		assert_non_null(strstr(why, rows[i].path));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frequency_and_window_change_as_far_as_there_is_room),
		cmocka_unit_test(count_maps_are_the_limit_where_no_moments_are_noted),
		cmocka_unit_test(what_is_part_of_the_programs_needs_a_restart),
		cmocka_unit_test(another_list_of_pids_is_taken_over),
		cmocka_unit_test(a_cgroup_that_is_none_is_refused_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
