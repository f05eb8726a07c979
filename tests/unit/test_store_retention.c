// SPDX-License-Identifier: Apache-2.0
/* Names of hour files, and which of them are deleted: whole hours, oldest first, ours only. */
#include "tests/unit/store_testing.h"

#include <errno.h>

#include "user/store/retention.h"
#include "user/store/segment_tree.h"
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
	int fd = open(test_path(store, SEGMENT_TREE_DIR, path), O_RDONLY | O_DIRECTORY);

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

static void files_go_by_age_and_by_size(void **state)
{
	static const struct retention_limits none = { 0 };
	const struct segment_file current = { .hour_unix_s = TEST_HOUR_S - 2 * 3600, .index = 2 };
	const struct {
		struct retention_limits limits;
		uint64_t now_ns;
		const struct segment_file *current;
		unsigned left;
	} rows[] = {
		{ none, UINT64_MAX, NULL, 0xff },
		/* 11:00-12:00 is exactly one hour old at 13:00, and older a second later. */
		{ { .keep_age_ns = HOUR_NS }, TEST_NS + HOUR_NS, NULL, 0x80 },
		{ { .keep_age_ns = HOUR_NS }, TEST_NS + HOUR_NS + CLOCK_NS_PER_S, NULL, 0 },
		{ { .keep_age_ns = 24 * HOUR_NS }, TEST_NS, NULL, 0xfc },
		{ { .keep_age_ns = HOUR_NS }, UINT64_MAX, &current, 0x20 },
		{ { .keep_age_ns = HOUR_NS }, 0, NULL, 0xff },
		{ { .keep_bytes = 80 }, 0, NULL, 0xff },
		{ { .keep_bytes = 79 }, 0, NULL, 0xfe },
		{ { .keep_bytes = 35 }, 0, NULL, 0xe0 },
		{ { .keep_bytes = 1 }, 0, NULL, 0 },
		{ { .keep_bytes = 1 }, 0, &current, 0x20 },
		{ { .keep_bytes = 25 }, 0, &current, 0xa0 },
		{ { .keep_bytes = 45, .keep_age_ns = 24 * HOUR_NS }, TEST_NS, NULL, 0xf0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct test_store store;

		make_files(&store);
		__cleanup_fd int fd = tree_open(&store);

		assert_int_equal(
			retention_apply(fd, &rows[i].limits, rows[i].now_ns, rows[i].current), 0);
		if (present(&store) != rows[i].left)
			fail_msg("row %zu: %x", i, present(&store));
		test_store_remove(&store);
	}
}

static void empty_directories_go_and_foreign_files_stay(void **state)
{
	const struct retention_limits limits = { .keep_bytes = 1 };
	struct test_store store;

	(void)state;
	make_files(&store);
	for (size_t i = 0; i < ARRAY_SIZE(foreign); i++)
		test_write(&store, foreign[i], "0123456789", 10);
	__cleanup_fd int fd = tree_open(&store);

	assert_int_equal(retention_apply(fd, &limits, 0, NULL), 0);
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
	__cleanup_fd int fd = tree_open(&store);

	assert_int_equal(retention_apply(fd, &limits, 0, NULL), 0);
	assert_true(test_exists(&other, "10.zst"));
	test_store_remove(&store);
	test_store_remove(&other);
}

static void room_is_made_by_the_oldest_hour(void **state)
{
	const struct segment_file current = { .hour_unix_s = TEST_HOUR_S - 2 * 3600, .index = 2 };
	struct test_store store;

	(void)state;
	make_files(&store);
	__cleanup_fd int fd = tree_open(&store);

	assert_int_equal(retention_delete_oldest_hour(fd, &current), 0);
	assert_int_equal(present(&store), 0xfe);
	assert_int_equal(retention_delete_oldest_hour(fd, &current), 0);
	assert_int_equal(retention_delete_oldest_hour(fd, &current), 0);
	assert_int_equal(present(&store), 0xf8);
	/* All files of the hour, but not the one being written. */
	assert_int_equal(retention_delete_oldest_hour(fd, &current), 0);
	assert_int_equal(present(&store), 0xa0);
	assert_int_equal(retention_delete_oldest_hour(fd, &current), 0);
	assert_int_equal(present(&store), 0x20);
	assert_int_equal(retention_delete_oldest_hour(fd, &current), -ENOENT);
	assert_int_equal(present(&store), 0x20);
	test_store_remove(&store);
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
		cmocka_unit_test(files_go_by_age_and_by_size),
		cmocka_unit_test(empty_directories_go_and_foreign_files_stay),
		cmocka_unit_test(symlinked_days_are_not_followed),
		cmocka_unit_test(room_is_made_by_the_oldest_hour),
		cmocka_unit_test(writer_deletes_old_hours_when_a_new_one_begins),
		cmocka_unit_test(unset_limits_delete_nothing),
	};

	return cmocka_run_group_tests_name("store_retention", tests, NULL, NULL);
}
