// SPDX-License-Identifier: Apache-2.0
/* Names of hour files, and which of them are deleted: whole hours, oldest first, ours only. */
#include "tests/unit/store_testing.h"

#include <errno.h>

#include "user/store/retention.h"
#include "user/store/segment/segment_tree.h"
#include "user/util/cleanup.h"

static const char *const hours[] = {
	"v1/cpu/2025/12/31/23.zst",    "v1/cpu/2026/01/01/00.zst",   "v1/cpu/2026/11/20/23.zst",
	"v1/cpu/2026/11/21/10.zst",    "v1/cpu/2026/11/21/10-1.zst", "v1/cpu/2026/11/21/10-2.zst",
	"v1/cpu/2026/11/21/10-10.zst", "v1/cpu/2026/11/21/11.zst",
};

static const char *const foreign[] = {
	"v1/cpu/README",
	"v1/cpu/2026/notes.zst",
	"v1/cpu/2026/02/30/10.zst",
	"v1/cpu/2026/13/01/10.zst",
	"v1/cpu/2026/00/01/10.zst",
	"v1/cpu/2026/1/01/10.zst",
	"v1/cpu/1969/01/01/10.zst",
	"v1/cpu/2026/11/21/24.zst",
	"v1/cpu/2026/11/21/9.zst",
	"v1/cpu/2026/11/21/10.zst.tmp",
	"v1/cpu/2026/11/21/10.damaged",
	"v1/cpu/2026/11/21/10-0.zst.damaged",
	"v1/cpu/2026/11/22-1.zst",
	"v1/cpu/2026/11/21/10-0.zst",
	"v1/cpu/2026/11/21/10-01.zst",
	"v1/cpu/2026/11/21/10-10000.zst",
	"v1/cpu/2026/11/21/10-.zst",
	"v1/cpu/2026/11/21/10-1",
	"v1/cpu/2026/11/21/+1.zst",
	"v1/cpu/2026/11/21/deep/10.zst",
	"v1/cpu/2026/11/22",
	"v1/mem/2026/11/21/10.zst",
};

static int tree_open(const struct test_store *store)
{
	char path[256];
	int fd = open(test_path(store, SEGMENT_TREE_CPU, path), O_RDONLY | O_DIRECTORY);

	assert_true(fd >= 0);
	return fd;
}

static void make_files(struct test_store *store)
{
	test_store_make(store);
	for (size_t i = 0; i < ARRAY_SIZE(hours); i++)
		test_write(store, hours[i], "0123456789", 10);
}

/* Bit i: hours[i] is there. */
static unsigned present(const struct test_store *store)
{
	unsigned bits = 0;

	for (size_t i = 0; i < ARRAY_SIZE(hours); i++)
		bits |= (unsigned)test_exists(store, hours[i]) << i;
	return bits;
}

static void only_hours_are_listed_in_order(void **state)
{
	__cleanup_segment_list struct segment_list list = { NULL, 0, 0 };
	struct test_store store;

	(void)state;
	make_files(&store);
	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++)
		test_write(&store, foreign[i], "x", 1);

	__cleanup_fd int fd = tree_open(&store);

	assert_int_equal(segment_tree_list(fd, 0, UINT64_MAX, &list), 0);
	assert_int_equal(list.cnt, ARRAY_SIZE(hours));
	for (size_t i = 0; i < list.cnt; i++) {
		char path[SEGMENT_PATH_BYTES];

		segment_path(&list.files[i], path);
		assert_string_equal(path, hours[i] + strlen("v1/cpu/"));
	}
	test_store_remove(&store);
}

static void listing_takes_hours_that_begin_in_the_range(void **state)
{
	static const struct {
		uint64_t from_s, until_s;
		size_t first, cnt;
	} rows[] = {
		{ TEST_HOUR_S - 7200, TEST_HOUR_S - 3600, 3, 4 },
		{ TEST_HOUR_S - 7200, TEST_HOUR_S - 3599, 3, 5 },
		{ TEST_HOUR_S - 7201, TEST_HOUR_S - 7199, 3, 4 },
		{ TEST_HOUR_S - 7199, TEST_HOUR_S, 7, 1 },
		{ 0, TEST_HOUR_S - 13 * 3600 + 1, 0, 3 },
		{ 1767222000, 1767225601, 0, 2 }, /* 2025-12-31T23:00 to 2026-01-01T00:00:01 */
		{ 1767225600, 1767225601, 1, 1 },
		{ TEST_HOUR_S, UINT64_MAX, 0, 0 },
		{ UINT64_MAX, UINT64_MAX, 0, 0 },
		{ 5, 5, 0, 0 },
	};
	struct test_store store;

	(void)state;
	make_files(&store);
	__cleanup_fd int fd = tree_open(&store);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__cleanup_segment_list struct segment_list list = { NULL, 0, 0 };

		assert_int_equal(segment_tree_list(fd, rows[i].from_s, rows[i].until_s, &list), 0);
		assert_int_equal(list.cnt, rows[i].cnt);
		for (size_t k = 0; k < list.cnt; k++) {
			char path[SEGMENT_PATH_BYTES];

			segment_path(&list.files[k], path);
			assert_string_equal(path, hours[rows[i].first + k] + strlen("v1/cpu/"));
		}
	}
	test_store_remove(&store);
}

static struct retention_outcome apply(const struct test_store *store,
				      const struct retention_limits *limits, uint64_t now_s,
				      const struct segment_file *current)
{
	__cleanup_fd int fd = tree_open(store);
	const struct retention_tree tree = { .tree_fd = fd, .current = current };
	struct retention_outcome outcome;

	assert_int_equal(retention_apply(&tree, 1, limits, now_s * CLOCK_NS_PER_S, &outcome), 0);
	return outcome;
}

static void the_oldest_files_go_by_size(void **state)
{
	const struct segment_file current = { .hour_unix_s = TEST_HOUR_S - 2 * 3600, .index = 2 };
	const struct {
		struct retention_limits limits;
		const struct segment_file *current;
		unsigned left;
		bool is_over;
	} rows[] = {
		{ { 0 }, NULL, 0xff, false },
		{ { .keep_bytes = 80 }, NULL, 0xff, false },
		{ { .keep_bytes = 79 }, NULL, 0xfe, false },
		{ { .keep_bytes = 35 }, NULL, 0xe0, false },
		{ { .keep_bytes = 1 }, NULL, 0, false },
		{ { .keep_bytes = 1 }, &current, 0x20, true },
		{ { .keep_bytes = 25 }, &current, 0xa0, false },
		/* So many hours at once: all files of an hour are one. */
		{ { .keep_bytes = 1, .max_hours = 1 }, NULL, 0xfe, true },
		{ { .keep_bytes = 1, .max_hours = 3 }, NULL, 0xf8, true },
		{ { .keep_bytes = 1, .max_hours = 4 }, NULL, 0x80, true },
		{ { .keep_bytes = 79, .max_hours = 4 }, NULL, 0xfe, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct retention_outcome outcome;
		struct test_store store;

		make_files(&store);
		outcome = apply(&store, &rows[i].limits, TEST_HOUR_S, rows[i].current);
		if (present(&store) != rows[i].left || outcome.is_over != rows[i].is_over)
			fail_msg("row %zu: %x", i, present(&store));
		assert_false(outcome.is_clock_off);
		test_store_remove(&store);
	}
}

/* ---- age ---- */

/* The hour that begins so many hours after TEST_HOUR_S. */
static const char *hour_name(int hours_after, char name[static 64])
{
	const struct segment_file file = {
		.hour_unix_s = (uint64_t)((int64_t)TEST_HOUR_S + 3600 * hours_after),
	};
	char path[SEGMENT_PATH_BYTES];

	segment_path(&file, path);
	(void)snprintf(name, 64, SEGMENT_TREE_CPU "/%s", path);
	return name;
}

/* Hours [first, last). */
static void make_hours(const struct test_store *store, int first, int last)
{
	char name[64];

	for (int hour = first; hour < last; hour++)
		test_write(store, hour_name(hour, name), "0123456789", 10);
}

static int count_hours(const struct test_store *store, int first, int last)
{
	char name[64];
	int cnt = 0;

	for (int hour = first; hour < last; hour++)
		cnt += test_exists(store, hour_name(hour, name));
	return cnt;
}

#define DAYS_40_H (40 * 24)

static void age_is_measured_from_the_newest_stored_hour(void **state)
{
	static const struct {
		uint64_t keep_hours;
		int now_hours; /* of the clock */
		int left;
		bool is_clock_off;
	} rows[] = {
		{ 100, 0, 60, false },
		/* The newest ends at TEST_HOUR_S; the clock may be a little off. */
		{ 30, 0, 31, false },
		{ 30, 24, 31, false },
		{ 30, -24, 31, false },
		{ 1, 0, 2, false },
		/* But not a day: then nothing is old. */
		{ 30, 25, 60, true },
		{ 30, -26, 60, true },
		{ 30, DAYS_40_H, 60, true },
		{ 1, -DAYS_40_H, 60, true },
		{ 0, DAYS_40_H, 60, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct retention_limits limits = { .keep_age_ns =
								 rows[i].keep_hours * HOUR_NS };
		struct retention_outcome outcome;
		struct test_store store;

		test_store_make(&store);
		make_hours(&store, -60, 0);
		outcome = apply(&store, &limits,
				(uint64_t)((int64_t)TEST_HOUR_S + 3600 * rows[i].now_hours), NULL);
		if (count_hours(&store, -60, 0) != rows[i].left ||
		    outcome.is_clock_off != rows[i].is_clock_off)
			fail_msg("row %zu: %d", i, count_hours(&store, -60, 0));
		assert_int_equal(outcome.newest_unix_s, TEST_HOUR_S);
		test_store_remove(&store);
	}
}

/* Hours of the wrong time are stored, too: they must not make the others old before there is a day of them. */
static void hours_of_a_clock_that_jumped_are_no_proof_for_a_day(void **state)
{
	const struct retention_limits limits = { .keep_age_ns = 48 * HOUR_NS };
	struct test_store store;

	(void)state;
	test_store_make(&store);
	make_hours(&store, -60, 0);
	for (int hour = 0; hour < 23; hour++) {
		const struct segment_file current = {
			.hour_unix_s = TEST_HOUR_S + 3600u * (unsigned)(DAYS_40_H + hour),
		};

		make_hours(&store, DAYS_40_H + hour, DAYS_40_H + hour + 1);
		(void)apply(&store, &limits, current.hour_unix_s, &current);
		/* In the end the hour that has 24 behind it is the last good one: a day later is now. */
		assert_true(count_hours(&store, -60, 0) >= 25);
	}
	/* The clock is right again: what was stored meanwhile is only a few hours from the future. */
	assert_false(apply(&store, &limits, TEST_HOUR_S, NULL).is_clock_off);
	make_hours(&store, DAYS_40_H + 23, DAYS_40_H + 25);
	(void)apply(&store, &limits, TEST_HOUR_S + 3600ull * (DAYS_40_H + 25), NULL);
	assert_int_equal(count_hours(&store, -60, 0), 0);
	test_store_remove(&store);
}

/*
 * A clock that jumps twice: what it left at its first time is merged at its second one, an hour or
 * two as a day. That is a file, not a day of hours.
 */
static void a_day_file_of_a_clock_that_jumped_is_no_day_of_hours(void **state)
{
	const struct retention_limits limits = { .keep_age_ns = 48 * HOUR_NS };
	const struct segment_file day = {
		.hour_unix_s = (TEST_HOUR_S + 3600ull * DAYS_40_H) / SEGMENT_DAY_S * SEGMENT_DAY_S,
		.is_day = true,
	};
	char path[SEGMENT_PATH_BYTES], name[64];
	struct test_store store;

	(void)state;
	test_store_make(&store);
	make_hours(&store, -60, 0);
	segment_path(&day, path);
	(void)snprintf(name, sizeof(name), SEGMENT_TREE_CPU "/%s", path);
	test_write(&store, name, "0123456789", 10);
	make_hours(&store, 2 * DAYS_40_H, 2 * DAYS_40_H + 2);
	(void)apply(&store, &limits, TEST_HOUR_S + 3600ull * (2 * DAYS_40_H + 2), NULL);
	assert_true(count_hours(&store, -60, 0) >= 25);
	test_store_remove(&store);
}

static void clock_that_jumps_ahead_deletes_nothing_of_the_writer(void **state)
{
	const struct store_writer_options options = { .keep_age_ns = 60 * HOUR_NS };
	struct store_writer *writer;
	struct store_usage usage;
	struct test_store store;
	char name[64];

	(void)state;
	test_store_make(&store);
	test_fill(&store, 0, 1);
	make_hours(&store, -40, 0);
	assert_int_equal(store_writer__open(store.dir, &options, &writer), 0);
	test_add(writer, DAYS_40_H * 360);
	test_commit(writer);
	assert_true(test_exists(&store, hour_name(DAYS_40_H, name)));
	test_add(writer, (DAYS_40_H + 1) * 360);
	test_commit(writer);
	assert_int_equal(count_hours(&store, -40, 1), 41);
	assert_int_equal(store_writer__usage(writer, &usage), 0);
	assert_int_equal(usage.files, 43);
	store_writer__free(writer);
	test_store_remove(&store);
}

static void a_paused_deletion_is_a_problem_of_the_store(void **state)
{
	const struct store_writer_options options = { .keep_age_ns = 60 * HOUR_NS };
	struct store_writer *writer;
	struct store_usage usage;
	struct test_store store;
	char problem[256];

	(void)state;
	test_store_make(&store);
	make_hours(&store, -40, 0);
	assert_int_equal(store_writer__open(store.dir, &options, &writer), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(
			store_writer__retain(writer, TEST_NS + (i ? 0 : DAYS_40_H) * HOUR_NS), 0);
		store_writer__problem(writer, problem, sizeof(problem));
		assert_true((strstr(problem, "nothing is deleted by age") != NULL) == !i);
		assert_int_equal(store_writer__usage(writer, &usage), 0);
		assert_int_equal(usage.is_clock_off, !i);
	}
	assert_string_equal(problem, "");
	store_writer__free(writer);
	test_store_remove(&store);
}

static void damaged_files_that_were_kept_count_and_go_as_others(void **state)
{
	static const char *const kept[] = {
		"v1/cpu/2025/12/31/23.zst.damaged",
		"v1/cpu/2025/12/31/23-1.zst.damaged",
		"v1/cpu/2025/12/31.zst.damaged",
		"v1/cpu/2025/12/31-2.zst.damaged",
	};
	struct retention_limits limits = { .keep_bytes = 120 };
	__cleanup_segment_list struct segment_list list = { NULL, 0, 0 }, all = { NULL, 0, 0 };
	struct store_usage usage;
	struct test_store store;

	(void)state;
	make_files(&store);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		test_write(&store, kept[i], "0123456789", 10);
	__cleanup_fd int fd = tree_open(&store);

	assert_int_equal(segment_tree_list(fd, 0, UINT64_MAX, &list), 0);
	assert_int_equal(list.cnt, ARRAY_SIZE(hours));
	assert_int_equal(segment_tree_list_all(fd, &all), 0);
	assert_int_equal(all.cnt, ARRAY_SIZE(hours) + ARRAY_SIZE(kept));
	const struct retention_tree tree = { .tree_fd = fd };

	assert_int_equal(retention_usage(&tree, 1, &usage), 0);
	assert_int_equal(usage.bytes, 120);
	(void)apply(&store, &limits, TEST_HOUR_S, NULL);
	assert_int_equal(present(&store), 0xff);
	limits.keep_bytes = 79;
	(void)apply(&store, &limits, TEST_HOUR_S, NULL);
	assert_int_equal(present(&store), 0xfe);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		assert_false(test_exists(&store, kept[i]));
	assert_false(test_exists(&store, "v1/cpu/2025"));
	test_store_remove(&store);
}

static void empty_directories_go_and_foreign_files_stay(void **state)
{
	const struct retention_limits limits = { .keep_bytes = 1 };
	struct test_store store;

	(void)state;
	make_files(&store);
	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++)
		test_write(&store, foreign[i], "0123456789", 10);
	(void)apply(&store, &limits, TEST_HOUR_S, NULL);
	assert_int_equal(present(&store), 0);
	assert_false(test_exists(&store, "v1/cpu/2025"));
	assert_false(test_exists(&store, "v1/cpu/2026/01"));
	assert_false(test_exists(&store, "v1/cpu/2026/11/20"));
	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++)
		assert_true(test_exists(&store, foreign[i]));
	test_store_remove(&store);
}

static void symlinked_days_are_not_followed(void **state)
{
	const struct retention_limits limits = { .keep_bytes = 1 };
	struct test_store store, other;
	char from[256], to[256];

	(void)state;
	test_store_make(&store);
	test_write(&store, hours[0], "x", 1);
	test_store_make(&other);
	test_write(&other, "10.zst", "x", 1);
	assert_int_equal(symlink(other.dir, test_path(&store, "v1/cpu/2025/12/30", to)), 0);
	assert_int_equal(symlink(test_path(&other, "10.zst", from),
				 test_path(&store, "v1/cpu/2025/12/31/10.zst", to)),
			 0);
	(void)apply(&store, &limits, TEST_HOUR_S, NULL);
	assert_true(test_exists(&other, "10.zst"));
	test_store_remove(&store);
	test_store_remove(&other);
}

static void writer_deletes_old_hours_when_a_new_one_begins(void **state)
{
	const struct store_writer_options options = { .keep_bytes = 1 };
	struct store_writer *writer;
	struct test_store store;

	(void)state;
	test_store_make(&store);
	assert_int_equal(store_writer__open(store.dir, &options, &writer), 0);
	test_add(writer, 0);
	test_commit(writer);
	assert_true(test_exists(&store, TEST_FILE));
	test_add(writer, 360);
	test_commit(writer);
	assert_false(test_exists(&store, TEST_FILE));
	assert_true(test_exists(&store, "v1/cpu/2026/11/21/13.zst"));
	assert_int_equal(store_writer__retain(writer, UINT64_MAX), 0);
	assert_true(test_exists(&store, "v1/cpu/2026/11/21/13.zst"));
	store_writer__free(writer);
	/* At open nothing is being written yet. */
	assert_int_equal(store_writer__open(store.dir, &options, &writer), 0);
	assert_false(test_exists(&store, "v1/cpu/2026"));
	store_writer__free(writer);
	test_store_remove(&store);
}

static void unset_limits_delete_nothing(void **state)
{
	struct store_writer *writer;
	struct test_store store;

	(void)state;
	make_files(&store);
	writer = test_writer(&store);
	assert_int_equal(store_writer__retain(writer, UINT64_MAX), 0);
	store_writer__free(writer);
	assert_int_equal(present(&store), 0xff);
	test_store_remove(&store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_hours_are_listed_in_order),
		cmocka_unit_test(listing_takes_hours_that_begin_in_the_range),
		cmocka_unit_test(the_oldest_files_go_by_size),
		cmocka_unit_test(age_is_measured_from_the_newest_stored_hour),
		cmocka_unit_test(hours_of_a_clock_that_jumped_are_no_proof_for_a_day),
		cmocka_unit_test(a_day_file_of_a_clock_that_jumped_is_no_day_of_hours),
		cmocka_unit_test(clock_that_jumps_ahead_deletes_nothing_of_the_writer),
		cmocka_unit_test(a_paused_deletion_is_a_problem_of_the_store),
		cmocka_unit_test(damaged_files_that_were_kept_count_and_go_as_others),
		cmocka_unit_test(empty_directories_go_and_foreign_files_stay),
		cmocka_unit_test(symlinked_days_are_not_followed),
		cmocka_unit_test(writer_deletes_old_hours_when_a_new_one_begins),
		cmocka_unit_test(unset_limits_delete_nothing),
	};

	return cmocka_run_group_tests_name("store_retention", tests, NULL, NULL);
}
