// SPDX-License-Identifier: Apache-2.0
/*
 * A disk that is really full: a small tmpfs in a mount namespace of the test's own. Skipped where
 * the system gives no user namespaces.
 */
#include "tests/unit/store_testing.h"

#include <errno.h>
#include <sched.h>
#include <sys/mount.h>

#include "user/store/store_state.h"
#include "user/util/cleanup.h"

#define DISK_BYTES "mode=0755,size=131072"

static bool can_mount;

static bool disk_mount(struct test_store *store)
{
	test_store_make(store);
	return can_mount && mount("none", store->dir, "tmpfs", 0, DISK_BYTES) == 0;
}

static void disk_unmount(struct test_store *store)
{
	(void)umount2(store->dir, MNT_DETACH);
	(void)rmdir(store->dir);
}

/* Text that does not shrink. */
static void add_incompressible(struct store_writer *writer, uint32_t number, size_t bytes)
{
	struct window window = number_to_window(number);
	struct strbuf text = STRBUF_INIT;

	while (text.len < bytes) {
		for (int i = 0; i < 60; i++)
			strbuf_putc(&text, (char)('0' + rand() % 70));
		strbuf_puts(&text, " 1\n");
	}
	assert_int_equal(store_writer__add(writer, &window, text.data, text.len), 0);
	strbuf_release(&text);
}

static int count_window(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct got *got = ctx;

	(void)text;
	(void)len;
	got->numbers[got->cnt++] = window->pid - 1000;
	return 0;
}

static void visit_count(const struct test_store *store, struct got *got)
{
	const struct store_visitor visitor = {
		.ctx = got,
		.window = count_window,
		.damage = got_damage,
	};
	struct store_reader *reader;

	memset(got, 0, sizeof(*got));
	assert_int_equal(store_reader__open(store->dir, &reader), 0);
	assert_int_equal(store_reader__visit(reader, 0, UINT64_MAX, &visitor), 0);
	store_reader__free(reader);
}

/* Takes all the room that is left, but so much. */
static void fill_disk(const struct test_store *store, off_t left_bytes)
{
	static char zeros[4096];
	char path[256];
	int fd = open(test_path(store, "ballast", path), O_RDWR | O_CREAT | O_APPEND, 0600);
	struct stat st;

	assert_true(fd >= 0);
	while (write(fd, zeros, sizeof(zeros)) > 0)
		;
	assert_int_equal(errno, ENOSPC);
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(st.st_size > left_bytes);
	assert_int_equal(ftruncate(fd, st.st_size - left_bytes), 0);
	close(fd);
}

/* Somebody fills the disk, and takes whatever becomes free. */
static void full_disk_costs_windows_and_no_history(void **state)
{
	struct store_writer *writer;
	struct test_store store;
	uint64_t lost = 0;
	struct got got;
	char path[256];

	(void)state;
	if (!disk_mount(&store)) {
		(void)rmdir(store.dir);
		skip();
	}
	writer = test_writer(&store);
	for (uint32_t hour = 0; hour < 3; hour++) {
		add_incompressible(writer, hour * 360, 10000);
		test_commit(writer);
	}
	for (uint32_t hour = 3; hour < 8; hour++) {
		fill_disk(&store, 0);
		add_incompressible(writer, hour * 360, 10000);
		assert_int_equal(store_writer__commit(writer, &lost), -ENOSPC);
		assert_int_equal(lost, number_to_window(hour * 360).counts.samples);
	}
	visit_count(&store, &got);
	assert_int_equal(got.cnt, 3);
	/* It goes on by itself. */
	assert_int_equal(unlink(test_path(&store, "ballast", path)), 0);
	add_incompressible(writer, 8 * 360, 10000);
	test_commit(writer);
	store_writer__free(writer);
	visit_count(&store, &got);
	assert_int_equal(got.cnt, 4);
	assert_int_equal(got.damage_cnt, 0);
	disk_unmount(&store);
}

#define RESERVE "v1/.reserve"

static off_t file_bytes(const struct test_store *store, const char *name)
{
	char path[256];
	struct stat st;

	return stat(test_path(store, name, path), &st) ? -1 : st.st_size;
}

static struct store_writer *reserving_writer(const struct test_store *store, uint64_t bytes)
{
	const struct store_writer_options options = { .reserve_bytes = bytes };
	struct store_writer *writer;

	assert_int_equal(store_writer__open(store->dir, &options, &writer), 0);
	return writer;
}

static void reserve_keeps_windows_until_it_is_used_up(void **state)
{
	struct store_writer *writer;
	struct store_usage usage;
	struct test_store store;
	uint32_t written = 1;
	uint64_t lost = 0;
	char path[256], problem[256];
	struct got got;

	(void)state;
	test_store_make(&store);
	if (!can_mount || mount("none", store.dir, "tmpfs", 0, "mode=0755,size=16777216")) {
		(void)rmdir(store.dir);
		skip();
	}
	writer = reserving_writer(&store, 4 << 20);
	assert_int_equal(file_bytes(&store, RESERVE), 4 << 20);
	assert_int_equal(store_writer__usage(writer, &usage), 0);
	assert_int_equal(usage.reserve_bytes, 4 << 20);
	assert_int_equal(usage.reserve_target_bytes, 4 << 20);
	assert_int_equal(usage.bytes, 0);
	store_writer__problem(writer, problem, sizeof(problem));
	assert_string_equal(problem, "");
	add_incompressible(writer, 0, 100000);
	test_commit(writer);
	/* Four pieces of 1 MiB, the rest of each taken by somebody else. */
	for (;; written++) {
		fill_disk(&store, 0);
		add_incompressible(writer, written, 100000);
		if (store_writer__commit(writer, &lost))
			break;
		assert_true(file_bytes(&store, RESERVE) < 4 << 20);
	}
	assert_int_equal(written, 5);
	assert_int_equal(lost, number_to_window(written).counts.samples);
	store_writer__problem(writer, problem, sizeof(problem));
	assert_string_equal(
		problem,
		"0.0 of the 4.0 MiB for a full disk are put by: they were used, or there was no room; free space");
	assert_int_equal(file_bytes(&store, RESERVE), 0);
	/* There is room: it is made again, and not before there is room for more than that. */
	assert_int_equal(truncate(test_path(&store, "ballast", path), 0), 0);
	fill_disk(&store, 5 << 20);
	assert_int_equal(store_writer__retain(writer, TEST_NS), 0);
	assert_int_equal(file_bytes(&store, RESERVE), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(store_writer__retain(writer, TEST_NS), 0);
	assert_int_equal(file_bytes(&store, RESERVE), 4 << 20);
	store_writer__free(writer);
	/* Without a reserve nothing of one is left. */
	store_writer__free(reserving_writer(&store, 1 << 20));
	assert_int_equal(file_bytes(&store, RESERVE), 1 << 20);
	store_writer__free(reserving_writer(&store, 0));
	assert_int_equal(file_bytes(&store, RESERVE), -1);
	visit_count(&store, &got);
	assert_int_equal(got.cnt, 5);
	disk_unmount(&store);
}

/* Somebody has made as many files as the file system may have: an hour's cannot be made. */
static void reserve_stays_where_inodes_are_what_is_lacking(void **state)
{
	struct store_writer *writer;
	struct test_store store;
	char path[256], name[32];
	uint64_t lost = 0;
	struct got got;
	int files = 0;

	(void)state;
	test_store_make(&store);
	if (!can_mount ||
	    mount("none", store.dir, "tmpfs", 0, "mode=0755,size=16777216,nr_inodes=40")) {
		(void)rmdir(store.dir);
		skip();
	}
	writer = reserving_writer(&store, 4 << 20);
	add_incompressible(writer, 0, 1000);
	test_commit(writer);
	for (int fd;; files++) {
		snprintf(name, sizeof(name), "file-%d", files);
		fd = open(test_path(&store, name, path), O_WRONLY | O_CREAT | O_EXCL, 0600);
		if (fd < 0)
			break;
		close(fd);
	}
	assert_int_equal(errno, ENOSPC);
	add_incompressible(writer, 360, 1000);
	assert_int_equal(store_writer__commit(writer, &lost), -ENOSPC);
	assert_int_equal(lost, number_to_window(360).counts.samples);
	assert_int_equal(file_bytes(&store, RESERVE), 4 << 20);
	/* The hour that has its file goes on, and so does the next one when there is an inode. */
	add_incompressible(writer, 1, 1000);
	test_commit(writer);
	while (files--) {
		snprintf(name, sizeof(name), "file-%d", files);
		assert_int_equal(unlink(test_path(&store, name, path)), 0);
	}
	add_incompressible(writer, 361, 1000);
	test_commit(writer);
	store_writer__free(writer);
	visit_count(&store, &got);
	assert_int_equal(got.cnt, 3);
	assert_int_equal(got.damage_cnt, 0);
	disk_unmount(&store);
}

static void reserve_is_a_small_part_of_what_is_kept(void **state)
{
	(void)state;
	assert_int_equal(store_reserve_bytes(0), 64 << 20);
	assert_int_equal(store_reserve_bytes(5ull << 30), 64 << 20);
	assert_int_equal(store_reserve_bytes(1 << 30), 64 << 20);
	assert_int_equal(store_reserve_bytes(160 << 20), 10 << 20);
}

static void window_that_does_not_fit_is_lost_and_counted(void **state)
{
	struct store_writer *writer;
	struct test_store store;
	uint32_t written = 0;
	uint64_t lost = 0;
	struct got got;

	(void)state;
	if (!disk_mount(&store)) {
		(void)rmdir(store.dir);
		skip();
	}
	writer = test_writer(&store);
	for (;; written++) {
		int err;

		assert_true(written < 20);
		add_incompressible(writer, written, 20000);
		err = store_writer__commit(writer, &lost);
		if (err) {
			assert_int_equal(err, -ENOSPC);
			assert_int_equal(lost, number_to_window(written).counts.samples);
			break;
		}
	}
	/* Smaller ones still fit behind the last record. */
	add_incompressible(writer, written, 100);
	test_commit(writer);
	store_writer__free(writer);
	assert_false(test_exists(&store, TEST_HOUR "-1.zst"));
	visit_count(&store, &got);
	assert_got_range(&got, 0, written + 1);
	assert_int_equal(got.damage_cnt, 0);
	disk_unmount(&store);
}

static void read_only_store_is_told_at_open(void **state)
{
	const struct store_writer_options options = { .keeps_ticks = true };
	struct store_writer *writer = NULL;
	struct test_store store;
	struct got got;

	(void)state;
	if (!disk_mount(&store)) {
		(void)rmdir(store.dir);
		skip();
	}
	test_fill(&store, 0, 2);
	assert_int_equal(mount(NULL, store.dir, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
	assert_int_equal(store_writer__open(store.dir, &options, &writer), -EROFS);
	assert_null(writer);
	test_visit_all(&store, &got);
	assert_got_range(&got, 0, 2);
	disk_unmount(&store);
}

static void full_disk_leaves_hours_as_they_are_until_there_is_room(void **state)
{
	const struct store_compaction how = { .now_unix_ns = TEST_NS + 100 * HOUR_NS };
	struct store_compaction_stats stats;
	struct store_writer *writer;
	struct test_store store;
	struct got before, after;
	char path[256];

	(void)state;
	if (!disk_mount(&store)) {
		(void)rmdir(store.dir);
		skip();
	}
	writer = test_writer(&store);
	for (uint32_t number = 0; number < 3; number++) {
		add_incompressible(writer, number * 360, 15000);
		test_commit(writer);
	}
	store_writer__free(writer);
	visit_count(&store, &before);
	assert_int_equal(before.cnt, 3);
	/* No room for a byte, then for some of the first hour. */
	for (off_t left = 0; left <= 8192; left += 4096) {
		fill_disk(&store, left);
		assert_int_equal(store_compact(store.dir, &how, &stats), -ENOSPC);
		assert_int_equal(stats.hours, 0);
		assert_false(test_exists(&store, "v1/cpu/.compact.tmp"));
		visit_count(&store, &after);
		assert_int_equal(after.cnt, 3);
		assert_int_equal(after.damage_cnt, 0);
		assert_int_equal(unlink(test_path(&store, "ballast", path)), 0);
	}
	assert_int_equal(store_compact(store.dir, &how, &stats), 0);
	assert_int_equal(stats.hours, 3);
	visit_count(&store, &after);
	assert_int_equal(after.cnt, 3);
	disk_unmount(&store);
}

static void read_only_store_is_not_compacted(void **state)
{
	const struct store_compaction how = { .now_unix_ns = TEST_NS + 100 * HOUR_NS };
	struct store_compaction_stats stats;
	struct test_store store;
	struct got got;

	(void)state;
	if (!disk_mount(&store)) {
		(void)rmdir(store.dir);
		skip();
	}
	test_fill(&store, 0, 2);
	assert_int_equal(mount(NULL, store.dir, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
	assert_int_equal(store_compact(store.dir, &how, &stats), -EROFS);
	test_visit_all(&store, &got);
	assert_got_range(&got, 0, 2);
	disk_unmount(&store);
}

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool is_written = fd >= 0 && fs_write_all(fd, text, strlen(text)) == 0;

	if (fd >= 0)
		close(fd);
	return is_written;
}

static int say(const struct test_store *store, uint64_t windows, size_t bytes)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;

	do
		strbuf_printf(&text, "jbpf_windows_failed_total %llu\n",
			      (unsigned long long)windows);
	while (text.len < bytes);
	assert_int_equal(strbuf_error(&text), 0);
	return store_state_write(store->dir, &text, TEST_NS + windows);
}

/* Its windows are lost, and jbpfd says so. */
static void what_jbpfd_says_of_itself_is_written_over_on_a_full_disk(void **state)
{
	static const size_t sizes[] = { 3000, 0, 3500 };
	struct store_state said;
	struct test_store store;

	(void)state;
	if (!disk_mount(&store)) {
		disk_unmount(&store);
		skip();
	}
	assert_int_equal(say(&store, 0, 100), 0);
	fill_disk(&store, 0);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		assert_int_equal(say(&store, i + 1, sizes[i]), 0);
		assert_int_equal(store_state_read(store.dir, &said), 0);
		assert_int_equal(said.windows_failed, i + 1);
		assert_false(test_exists(&store, ".state.tmp"));
	}
	/* What has no room there leaves the last one whole. */
	assert_int_equal(say(&store, 9, 20000), -ENOSPC);
	assert_int_equal(store_state_read(store.dir, &said), 0);
	assert_int_equal(said.windows_failed, ARRAY_SIZE(sizes));
	disk_unmount(&store);
}

/* A mount namespace of our own: as root, or as root of a user namespace. */
static bool namespace_enter(void)
{
	char uid_map[64], gid_map[64];

	snprintf(uid_map, sizeof(uid_map), "0 %d 1", (int)getuid());
	snprintf(gid_map, sizeof(gid_map), "0 %d 1", (int)getgid());
	if (unshare(CLONE_NEWNS) &&
	    (unshare(CLONE_NEWUSER | CLONE_NEWNS) || !write_text("/proc/self/setgroups", "deny") ||
	     !write_text("/proc/self/uid_map", uid_map) ||
	     !write_text("/proc/self/gid_map", gid_map)))
		return false;
	return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(full_disk_costs_windows_and_no_history),
		cmocka_unit_test(reserve_keeps_windows_until_it_is_used_up),
		cmocka_unit_test(reserve_stays_where_inodes_are_what_is_lacking),
		cmocka_unit_test(reserve_is_a_small_part_of_what_is_kept),
		cmocka_unit_test(window_that_does_not_fit_is_lost_and_counted),
		cmocka_unit_test(read_only_store_is_told_at_open),
		cmocka_unit_test(full_disk_leaves_hours_as_they_are_until_there_is_room),
		cmocka_unit_test(read_only_store_is_not_compacted),
		cmocka_unit_test(what_jbpfd_says_of_itself_is_written_over_on_a_full_disk),
	};

	can_mount = namespace_enter();
	return cmocka_run_group_tests_name("store_full", tests, NULL, NULL);
}
