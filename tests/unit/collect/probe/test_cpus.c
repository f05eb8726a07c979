// SPDX-License-Identifier: Apache-2.0
/* Lists of CPUs as sysfs writes them, and the size of the count maps that follows from them. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "user/collect/probe/count_map.h"
#include "user/collect/probe/cpus.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

#define ROOM 8

static void cpu_lists_are_read_in_order_without_repeats(void **state)
{
	static const struct {
		const char *text;
		uint32_t cpus[ROOM];
		size_t cnt;
	} rows[] = {
		{ "0\n", { 0 }, 1 },
		{ "0", { 0 }, 1 },
		{ "0-3\n", { 0, 1, 2, 3 }, 4 },
		{ "0-1,4,6-7\n", { 0, 1, 4, 6, 7 }, 5 },
		{ "6-7,0,6\n", { 0, 6, 7 }, 3 },
		{ "5-5\n", { 5 }, 1 },
		{ "8191\n", { 8191 }, 1 },
		{ "0-7\n", { 0, 1, 2, 3, 4, 5, 6, 7 }, 8 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint32_t cpus[ROOM] = { 0 };
		size_t cnt = 0;

		assert_int_equal(cpus_parse(rows[i].text, cpus, ROOM, &cnt), 0);
		assert_int_equal(cnt, rows[i].cnt);
		assert_memory_equal(cpus, rows[i].cpus, cnt * sizeof(cpus[0]));
	}
}

static void what_is_no_cpu_list_is_refused_and_changes_nothing(void **state)
{
	static const struct {
		const char *text;
		int err;
	} rows[] = {
		{ "", -EINVAL },	 { "\n", -EINVAL },	{ "a\n", -EINVAL },
		{ "0-\n", -EINVAL },	 { "-1\n", -EINVAL },	{ "3-1\n", -EINVAL },
		{ "0,\n", -EINVAL },	 { ",0\n", -EINVAL },	{ "0 1\n", -EINVAL },
		{ "0-3x\n", -EINVAL },	 { "0\n1\n", -EINVAL }, { "8192\n", -EINVAL },
		{ "0-9999\n", -EINVAL }, { "0-8\n", -E2BIG },	{ "0-4294967296\n", -EINVAL },
		{ "0--3\n", -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint32_t cpus[ROOM] = { 77, 77 };
		size_t cnt = 99;

		assert_int_equal(cpus_parse(rows[i].text, cpus, ROOM, &cnt), rows[i].err);
		assert_int_equal(cnt, 99);
		assert_int_equal(cpus[0], 77);
	}
}

static void count_maps_have_room_for_every_sample_within_bounds(void **state)
{
	static const struct {
		uint32_t frequency_hz;
		size_t cpu_cnt;
		uint64_t window_s;
		uint32_t entries;
	} rows[] = {
		{ 99, 1, 1, 4096 },	 { 99, 2, 10, 4096 },
		{ 99, 4, 10, 8192 },	 { 99, 8, 10, 12288 },
		{ 99, 64, 10, 81920 },	 { 99, 128, 10, 159744 },
		{ 999, 2, 10, 28672 },	 { 99, 4096, 3600, COUNT_MAP_MAX_ENTRIES },
		{ 99, 212, 10, 262144 }, { UINT32_MAX, 8192, 1u << 30, COUNT_MAP_MAX_ENTRIES },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(count_map_entries(rows[i].frequency_hz, rows[i].cpu_cnt,
						   rows[i].window_s * CLOCK_NS_PER_S),
				 rows[i].entries);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpu_lists_are_read_in_order_without_repeats),
		cmocka_unit_test(what_is_no_cpu_list_is_refused_and_changes_nothing),
		cmocka_unit_test(count_maps_have_room_for_every_sample_within_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
