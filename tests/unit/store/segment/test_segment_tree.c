// SPDX-License-Identifier: Apache-2.0
/* Day files beside the directories of hours: their names, their place in lists, their deletion. */
#include "tests/unit/store_testing.h"

#include <errno.h>

#include "user/store/retention.h"
#include "user/store/segment/segment_tree.h"
#include "user/util/cleanup.h"

#define DAY_S (TEST_HOUR_S - 12 * SEGMENT_HOUR_S) /* 2026-11-21T00:00:00Z */

static const char *const files[] = {
	"2026/10/31.zst",
	"2026/11/19.zst",
	"2026/11/20.zst",
	"2026/11/20/00.zst",
	/* late */ "2026/11/20/23.zst",
	"2026/11/21/00.zst",
	"2026/11/21/00-1.zst",
	"2026/11/21/11.zst",
};

static const char *const foreign[] = {
	"2026/11/31.zst", "2026/11/9.zst",    "2026/11/00.zst",	    "2026/11/20-1.zst",
	"2026/11/+9.zst", "2026/11/20.zst.x", "2026/11/20.zst.tmp", "2026/12.zst",
	"2026/11/.zst",	  "2026.zst",	      "20261121.zst",	    "2026/11/21/21/11.zst",
};

static int make_files(struct test_store *store)
{
	char path[256];
	int fd;

	test_store_make(store);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), "%s/%s", SEGMENT_TREE_CPU, files[i]);
		test_write(store, path, "0123456789", 10);
	}
	fd = open(test_path(store, SEGMENT_TREE_CPU, path), O_RDONLY | O_DIRECTORY);
	assert_true(fd >= 0);
	return fd;
}

/* Bit i: files[i] is there. */
static unsigned present(int tree_fd)
{
	unsigned bits = 0;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		bits |= (unsigned)(faccessat(tree_fd, files[i], F_OK, 0) == 0) << i;
	return bits;
}

static void days_stand_in_front_of_their_hours_and_foreign_names_nowhere(void **state)
{
	__cleanup_segment_list struct segment_list list = { NULL, 0, 0 };
	struct test_store store;
	__cleanup_fd int fd = make_files(&store);
	char path[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++) {
		snprintf(path, sizeof(path), "%s/%s", SEGMENT_TREE_CPU, foreign[i]);
		test_write(&store, path, "x", 1);
	}
	assert_int_equal(segment_tree_list(fd, 0, UINT64_MAX, &list), 0);
	assert_int_equal(list.cnt, ARRAY_SIZE(files));
	for (size_t i = 0; i < list.cnt; i++) {
		segment_path(&list.files[i], path);
		assert_string_equal(path, files[i]);
		assert_int_equal(list.files[i].is_day, i < 3);
	}
	test_store_remove(&store);
}

static void days_that_reach_into_the_range_are_listed(void **state)
{
	static const struct {
		uint64_t from_s, until_s;
		unsigned listed;
	} rows[] = {
		{ DAY_S, DAY_S + 1, 0x60 },
		{ DAY_S - 1, DAY_S, 0x04 },
		{ DAY_S - 3600, DAY_S, 0x14 },
		{ DAY_S - 86400, DAY_S - 86399, 0x0c },
		{ DAY_S - 86401, DAY_S - 86400, 0x02 },
		{ DAY_S - 86400 - 43200, DAY_S - 86400 + 1, 0x0e },
		{ DAY_S - 3 * 86400, DAY_S - 2 * 86400, 0 },
		{ DAY_S - 21 * 86400, DAY_S - 20 * 86400, 0x01 },
		{ DAY_S - 20 * 86400, DAY_S - 2 * 86400, 0 },
		{ 0, UINT64_MAX, 0xff },
	};
	struct test_store store;
	__cleanup_fd int fd = make_files(&store);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__cleanup_segment_list struct segment_list list = { NULL, 0, 0 };
		unsigned listed = 0;

		assert_int_equal(segment_tree_list(fd, rows[i].from_s, rows[i].until_s, &list), 0);
		for (size_t k = 0; k < list.cnt; k++) {
			char path[SEGMENT_PATH_BYTES];

			segment_path(&list.files[k], path);
			for (size_t f = 0; f < ARRAY_SIZE(files); f++)
				listed |= (unsigned)(strcmp(path, files[f]) == 0) << f;
		}
		if (listed != rows[i].listed)
			fail_msg("row %zu: %x", i, listed);
	}
	test_store_remove(&store);
}

static void a_day_goes_when_all_of_it_is_too_old(void **state)
{
	/* The newest hour ends 12 hours after the 20th does; an hour of the 20th ends before. */
	const struct {
		struct retention_limits limits;
		unsigned left;
	} rows[] = {
		{ { .keep_age_ns = 12 * HOUR_NS }, 0xf4 },
		{ { .keep_age_ns = 12 * HOUR_NS - CLOCK_NS_PER_S }, 0xe0 },
		{ { .keep_age_ns = 36 * HOUR_NS - CLOCK_NS_PER_S }, 0xfc },
		{ { .keep_bytes = 80 }, 0xff },
		{ { .keep_bytes = 70 }, 0xfe },
		{ { .keep_bytes = 50 }, 0xf8 },
		{ { .keep_bytes = 49 }, 0xf0 },
		/* A day is 24 hours of what may go at once, the first hour or day always may. */
		{ { .keep_bytes = 1, .max_hours = 24 }, 0xfe },
		{ { .keep_bytes = 1, .max_hours = 49 }, 0xfc },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct retention_outcome outcome;
		struct test_store store;
		__cleanup_fd int fd = make_files(&store);

		const struct retention_tree tree = { .tree_fd = fd };

		assert_int_equal(retention_apply(&tree, 1, &rows[i].limits,
						 (DAY_S + 12 * 3600) * CLOCK_NS_PER_S, &outcome),
				 0);
		if (present(fd) != rows[i].left)
			fail_msg("row %zu: %x", i, present(fd));
		test_store_remove(&store);
	}
}

/* How far a day goes its name does not say: it may end with its first hour. */
static void newest_day_counts_as_its_first_hour(void **state)
{
	const struct retention_limits limits = { .keep_age_ns = 23 * HOUR_NS };
	struct retention_outcome outcome;
	struct test_store store;

	(void)state;
	test_store_make(&store);
	test_write(&store, "v1/cpu/2026/11/20.zst", "x", 1);
	test_write(&store, "v1/cpu/2026/11/20/01.zst", "x", 1);
	test_write(&store, "v1/cpu/2026/11/21.zst", "x", 1);
	char path[256];
	__cleanup_fd int fd =
		open(test_path(&store, SEGMENT_TREE_CPU, path), O_RDONLY | O_DIRECTORY);

	const struct retention_tree tree = { .tree_fd = fd };

	assert_int_equal(retention_apply(&tree, 1, &limits, DAY_S * CLOCK_NS_PER_S, &outcome), 0);
	assert_true(test_exists(&store, "v1/cpu/2026/11/20.zst"));
	assert_true(test_exists(&store, "v1/cpu/2026/11/20/01.zst"));
	test_store_remove(&store);
}

static void windows_that_come_late_begin_an_hour_beside_their_day(void **state)
{
	struct test_store store;

	(void)state;
	test_store_make(&store);
	test_write(&store, "v1/cpu/2026/11/21.zst", "x", 1);
	test_fill(&store, 0, 2);
	assert_true(test_exists(&store, TEST_FILE));
	assert_false(test_exists(&store, TEST_HOUR "-1.zst"));
	test_store_remove(&store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(days_stand_in_front_of_their_hours_and_foreign_names_nowhere),
		cmocka_unit_test(days_that_reach_into_the_range_are_listed),
		cmocka_unit_test(a_day_goes_when_all_of_it_is_too_old),
		cmocka_unit_test(newest_day_counts_as_its_first_hour),
		cmocka_unit_test(windows_that_come_late_begin_an_hour_beside_their_day),
	};

	return cmocka_run_group_tests_name("store_tree", tests, NULL, NULL);
}
