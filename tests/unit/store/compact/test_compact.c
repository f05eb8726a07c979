// SPDX-License-Identifier: Apache-2.0
/* Closed hours become merged ones and days, in place, and nobody who reads notices. */
#include "tests/unit/store_testing.h"

#include <errno.h>
#include <sys/file.h>

#include "user/store/format/crc32c.h"
#include "user/store/segment/segment_reader.h"
#include "user/store/segment/segment_tree.h"
#include "user/util/cleanup.h"
#include "user/util/log.h"

#define PER_HOUR    360u
#define LATER_NS    (TEST_NS + 30 * HOUR_NS)
#define MUCH_LATER  (TEST_NS + 30 * 24 * HOUR_NS)
#define SECOND_HOUR "v1/cpu/2026/11/21/13"
#define TEST_DAY    "v1/cpu/2026/11/21"

static struct store_compaction_stats compact_at(const struct test_store *store, uint64_t now_ns)
{
	const struct store_compaction how = { .now_unix_ns = now_ns, .is_clock_sure = true };
	struct store_compaction_stats stats;

	assert_int_equal(store_compact(store->dir, &how, &stats), 0);
	return stats;
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

/* The windows [first, last), each once, in any order. */
static void assert_holds(const struct test_store *store, uint32_t first, uint32_t last)
{
	struct got got;

	test_visit_all(store, &got);
	qsort(got.numbers, got.cnt, sizeof(got.numbers[0]), by_number);
	assert_got_range(&got, first, last);
}

static bool is_merged(const struct test_store *store, const char *name)
{
	__cleanup_segment_identity struct segment_identity identity = { 0 };
	struct segment_reader *reader = segment_reader__new();
	char path[256];
	__cleanup_fd int fd = open(test_path(store, name, path), O_RDONLY);

	assert_true(fd >= 0);
	assert_non_null(reader);
	assert_int_equal(segment_reader__identify(reader, fd, &identity), 0);
	segment_reader__free(reader);
	return identity.is_merged;
}

static ino_t inode_of(const struct test_store *store, const char *name)
{
	char path[256];
	struct stat st;

	assert_int_equal(stat(test_path(store, name, path), &st), 0);
	return st.st_ino;
}

static void copy_file(const struct test_store *store, const char *from, const char *to)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;

	test_read(store, from, &bytes);
	test_write(store, to, bytes.data, bytes.len);
}

/* ---- hours ---- */

static void closed_hours_are_merged_and_hold_the_same(void **state)
{
	struct store_compaction_stats stats;
	struct test_store store;

	(void)state;
	test_store_make(&store);
	test_fill(&store, PER_HOUR - 20, PER_HOUR + 10);
	stats = compact_at(&store, LATER_NS);
	assert_int_equal(stats.hours, 2);
	assert_int_equal(stats.days, 0);
	assert_true(stats.bytes_before > stats.bytes_after && stats.bytes_after > 0);
	assert_int_equal(stats.damaged + stats.left, 0);
	assert_true(is_merged(&store, TEST_FILE));
	assert_true(is_merged(&store, SECOND_HOUR ".zst"));
	assert_false(test_exists(&store, "v1/cpu/.compact.tmp"));
	assert_holds(&store, PER_HOUR - 20, PER_HOUR + 10);
	test_store_remove(&store);
}

static void merged_hours_are_left_alone(void **state)
{
	struct store_compaction_stats stats;
	struct test_store store;
	ino_t inode;

	(void)state;
	test_store_make(&store);
	test_fill(&store, 0, 5);
	(void)compact_at(&store, LATER_NS);
	inode = inode_of(&store, TEST_FILE);
	stats = compact_at(&store, LATER_NS);
	assert_int_equal(stats.hours + stats.bytes_before + stats.samples, 0);
	assert_int_equal(inode_of(&store, TEST_FILE), inode);
	test_store_remove(&store);
}

static void an_hour_that_may_not_be_over_is_left_alone(void **state)
{
	static const struct {
		uint64_t now_ns;
		uint64_t hours;
	} rows[] = {
		{ 0, 0 },
		{ TEST_NS, 0 },
		{ TEST_NS + HOUR_NS, 0 },
		{ TEST_NS + HOUR_NS + 179 * CLOCK_NS_PER_S, 0 },
		{ TEST_NS + HOUR_NS + 180 * CLOCK_NS_PER_S, 1 },
		{ TEST_NS + 2 * HOUR_NS + 180 * CLOCK_NS_PER_S, 1 },
	};
	struct test_store store;

	(void)state;
	test_store_make(&store);
	test_fill(&store, PER_HOUR - 3, PER_HOUR + 3);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(compact_at(&store, rows[i].now_ns).hours, rows[i].hours);
	assert_holds(&store, PER_HOUR - 3, PER_HOUR + 3);
	test_store_remove(&store);
}

static void the_file_of_the_writer_is_left_alone(void **state)
{
	struct store_writer *writer;
	struct test_store store;

	(void)state;
	test_store_make(&store);
	writer = test_writer(&store);
	test_add(writer, 0);
	test_commit(writer);
	assert_int_equal(compact_at(&store, LATER_NS).hours, 0);
	test_add(writer, 1);
	test_commit(writer);
	store_writer__free(writer);
	assert_false(test_exists(&store, TEST_HOUR "-1.zst"));
	assert_holds(&store, 0, 2);
	assert_int_equal(compact_at(&store, LATER_NS).hours, 1);
	assert_holds(&store, 0, 2);
	test_store_remove(&store);
}

static void late_windows_are_taken_into_the_merged_hour(void **state)
{
	struct test_store store;

	(void)state;
	test_store_make(&store);
	for (uint32_t i = 0; i < 4; i++) {
		test_fill(&store, i * 3, i * 3 + 3);
		assert_int_equal(test_exists(&store, TEST_HOUR "-1.zst"), i > 0);
		assert_holds(&store, 0, i * 3 + 3);
		assert_int_equal(compact_at(&store, LATER_NS).hours, 1);
		assert_false(test_exists(&store, TEST_HOUR "-1.zst"));
		assert_holds(&store, 0, i * 3 + 3);
	}
	test_store_remove(&store);
}

static void what_a_crash_has_left_is_read_once_and_removed(void **state)
{
	struct store_compaction_stats stats;
	struct test_store store;
	ino_t inode;

	(void)state;
	test_store_make(&store);
	test_fill(&store, 0, 5);
	copy_file(&store, TEST_FILE, "old.zst");
	(void)compact_at(&store, LATER_NS);
	inode = inode_of(&store, TEST_FILE);
	/* As if it had been a second file of the hour, and not deleted yet. */
	copy_file(&store, "old.zst", TEST_HOUR "-1.zst");
	test_write(&store, TEST_HOUR "-2.zst", "", 0);
	test_write(&store, "v1/cpu/.compact.tmp", "half", 4);
	assert_holds(&store, 0, 5);
	stats = compact_at(&store, LATER_NS);
	assert_int_equal(stats.hours, 0);
	assert_int_equal(inode_of(&store, TEST_FILE), inode);
	assert_false(test_exists(&store, TEST_HOUR "-1.zst"));
	assert_false(test_exists(&store, TEST_HOUR "-2.zst"));
	assert_holds(&store, 0, 5);
	/* The next one that writes a file has no use for the half one. */
	test_fill(&store, 5, 6);
	assert_int_equal(compact_at(&store, LATER_NS).hours, 1);
	assert_false(test_exists(&store, "v1/cpu/.compact.tmp"));
	test_store_remove(&store);
}

static void what_is_left_of_an_hour_is_never_appended_to(void **state)
{
	struct test_store store;

	(void)state;
	test_store_make(&store);
	test_fill(&store, 0, 5);
	copy_file(&store, TEST_FILE, "old.zst");
	(void)compact_at(&store, LATER_NS);
	copy_file(&store, "old.zst", TEST_HOUR "-1.zst");
	test_fill(&store, 5, 7);
	assert_true(test_exists(&store, TEST_HOUR "-2.zst"));
	assert_holds(&store, 0, 7);
	(void)compact_at(&store, LATER_NS);
	assert_false(test_exists(&store, TEST_HOUR "-2.zst"));
	assert_holds(&store, 0, 7);
	test_store_remove(&store);
}

static void what_is_left_of_a_day_is_no_hour(void **state)
{
	struct test_store store;

	(void)state;
	test_store_make(&store);
	test_fill(&store, 0, 5);
	copy_file(&store, TEST_FILE, "old.zst");
	(void)compact_at(&store, MUCH_LATER);
	assert_true(test_exists(&store, TEST_DAY ".zst"));
	copy_file(&store, "old.zst", TEST_FILE);
	/* A clock that was wrong: the day is not due any more, the hour is over. */
	assert_int_equal(compact_at(&store, LATER_NS).hours, 0);
	assert_false(test_exists(&store, TEST_FILE));
	copy_file(&store, "old.zst", TEST_FILE);
	test_fill(&store, 5, 7);
	assert_true(test_exists(&store, TEST_HOUR "-1.zst"));
	assert_holds(&store, 0, 7);
	assert_int_equal(compact_at(&store, LATER_NS).hours, 1);
	assert_holds(&store, 0, 7);
	test_store_remove(&store);
}

/* The same windows as in the file `bytes`, as another segment. */
static void write_twin(const struct test_store *store, const struct strbuf *bytes, uint32_t index)
{
	__cleanup_strbuf struct strbuf twin = STRBUF_INIT;
	struct format_header header = { .format_version = FORMAT_VERSION, .segment_id = "twin" };
	size_t header_len = 8 + (size_t)format_get_u32((uint8_t *)bytes->data + 4);
	const char *commit = memmem(bytes->data + header_len, bytes->len - header_len, "JBPF\2", 5);
	char name[64];

	assert_non_null(commit);
	memcpy(header.segment_id + 8, &index, sizeof(index));
	assert_int_equal(format_encode_header(&header, &twin), 0);
	snprintf(name, sizeof(name), TEST_HOUR "-%u.zst", index);

	size_t record = twin.len + (size_t)(commit - 8 - bytes->data) - header_len;

	strbuf_append(&twin, bytes->data + header_len, bytes->len - header_len);
	format_seal_commit((uint8_t *)twin.data + record, twin.len - record, header.segment_id, 1);
	test_write(store, name, twin.data, twin.len);
}

static void an_hour_of_hundreds_of_files_becomes_one(void **state)
{
	const uint32_t cnt = 300;
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	struct test_store store;
	struct got got;

	(void)state;
	test_store_make(&store);
	test_fill(&store, 0, 1);
	test_read(&store, TEST_FILE, &bytes);
	for (uint32_t i = 1; i < cnt; i++)
		write_twin(&store, &bytes, i);
	test_visit_all(&store, &got);
	assert_int_equal(got.cnt, cnt);
	/* More than are open at a time: in two turns. */
	assert_int_equal(compact_at(&store, LATER_NS).hours, 2);
	assert_true(is_merged(&store, TEST_FILE));
	assert_false(test_exists(&store, TEST_HOUR "-1.zst"));
	assert_false(test_exists(&store, TEST_HOUR "-299.zst"));
	test_visit_all(&store, &got);
	assert_int_equal(got.cnt, cnt);
	test_store_remove(&store);
}

/* ---- what is not as it should be ---- */

static void assert_kept(const struct test_store *store, const char *name,
			const struct strbuf *expected)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;

	test_read(store, name, &bytes);
	assert_int_equal(bytes.len, expected->len);
	assert_memory_equal(bytes.data, expected->data, bytes.len);
}

/*
 * Killed between any two of its steps, a compaction has lost no damaged file: the second name comes
 * before the first one goes. What is left is done by the next one.
 */
static void damaged_file_is_kept_whenever_a_compaction_was_killed(void **state)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	struct test_store store;
	char path[256], kept[256];

	(void)state;
	test_store_make(&store);
	test_fill(&store, 0, 6);
	test_read(&store, TEST_FILE, &bytes);
	bytes.data[bytes.len / 2] ^= 0x10;
	test_write(&store, TEST_FILE, bytes.data, bytes.len);
	/* The second name is there, the merged file not yet. */
	assert_int_equal(link(test_path(&store, TEST_FILE, path),
			      test_path(&store, TEST_FILE ".damaged", kept)),
			 0);
	assert_int_equal(compact_at(&store, LATER_NS).kept, 1);
	assert_kept(&store, TEST_FILE ".damaged", &bytes);
	assert_false(test_exists(&store, TEST_HOUR "-1.zst.damaged"));
	/* Another damaged file of the hour takes the next name. */
	test_read(&store, TEST_FILE, &bytes);
	bytes.data[bytes.len / 3] ^= 0x10;
	test_write(&store, TEST_FILE, bytes.data, bytes.len);
	test_fill(&store, 6, 7);
	assert_int_equal(compact_at(&store, LATER_NS).kept, 1);
	assert_kept(&store, TEST_HOUR "-1.zst.damaged", &bytes);
	test_store_remove(&store);
}

static void damage_is_stepped_over_and_noted(void **state)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	struct store_compaction_stats stats;
	struct test_store store;
	struct got before, after;

	(void)state;
	test_store_make(&store);
	test_fill(&store, 0, 6);
	test_read(&store, TEST_FILE, &bytes);
	bytes.data[bytes.len / 2] ^= 0x10;
	test_write(&store, TEST_FILE, bytes.data, bytes.len);
	test_visit_all(&store, &before);
	assert_int_equal(before.cnt, 5);
	assert_int_equal(before.damage_cnt, 1);
	stats = compact_at(&store, LATER_NS);
	assert_int_equal(stats.hours, 1);
	assert_int_equal(stats.damaged, 1);
	assert_int_equal(stats.kept, 1);
	assert_kept(&store, TEST_FILE ".damaged", &bytes);
	test_visit_all(&store, &after);
	assert_int_equal(after.cnt, 5);
	assert_int_equal(after.damage_cnt, 1);
	assert_int_equal(after.damages[0].offset, before.damages[0].offset);
	assert_int_equal(after.damages[0].bytes, before.damages[0].bytes);
	/* The note goes on when the hour is merged again, and is no new damage. */
	test_fill(&store, 6, 7);
	stats = compact_at(&store, LATER_NS);
	assert_int_equal(stats.hours, 1);
	assert_int_equal(stats.damaged, 0);
	assert_int_equal(stats.kept, 0);
	test_visit_all(&store, &after);
	assert_int_equal(after.cnt, 6);
	assert_int_equal(after.damage_cnt, 1);
	test_store_remove(&store);
}

static void whatever_is_damaged_all_that_is_intact_goes_on(void **state)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	struct test_store store;

	(void)state;
	test_store_make(&store);
	test_fill(&store, 0, 4);
	test_read(&store, TEST_FILE, &bytes);
	for (size_t at = 0; at < bytes.len; at += 31) {
		struct got before, after;

		bytes.data[at] ^= 0x40;
		test_write(&store, TEST_FILE, bytes.data, bytes.len);
		bytes.data[at] ^= 0x40;
		test_visit_all(&store, &before);
		(void)compact_at(&store, LATER_NS);
		test_visit_all(&store, &after);
		qsort(after.numbers, after.cnt, sizeof(after.numbers[0]), by_number);
		assert_int_equal(after.cnt, before.cnt);
		assert_memory_equal(after.numbers, before.numbers,
				    before.cnt * sizeof(before.numbers[0]));
		assert_int_equal(after.damage_cnt, before.damage_cnt);
	}
	test_store_remove(&store);
}

static void put_u32(char *bytes, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		bytes[i] = (char)(value >> (8 * i));
}

static void what_a_newer_version_wrote_is_left_as_it_is(void **state)
{
	/* Of the first record, the header: type, and flags that must be understood. */
	static const struct {
		size_t offset;
		char value;
	} rows[] = { { 20, 1 }, { 28, 9 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__cleanup_strbuf struct strbuf bytes = STRBUF_INIT, after = STRBUF_INIT;
		struct store_compaction_stats stats;
		struct test_store store;
		size_t len;

		test_store_make(&store);
		test_fill(&store, 0, 2);
		test_read(&store, TEST_FILE, &bytes);
		len = 8 + (size_t)format_get_u32((uint8_t *)bytes.data + 4);
		bytes.data[rows[i].offset] = rows[i].value;
		put_u32(bytes.data + len - 4, crc32c(bytes.data, len - 4));
		test_write(&store, TEST_FILE, bytes.data, bytes.len);
		test_fill(&store, 2, 4);
		assert_true(test_exists(&store, TEST_HOUR "-1.zst"));
		stats = compact_at(&store, LATER_NS);
		assert_int_equal(stats.hours, 0);
		assert_int_equal(stats.left, 1);
		test_read(&store, TEST_FILE, &after);
		assert_int_equal(after.len, bytes.len);
		assert_memory_equal(after.data, bytes.data, bytes.len);
		/* Neither as a part of a day. */
		stats = compact_at(&store, MUCH_LATER);
		assert_int_equal(stats.hours + stats.days, 0);
		assert_int_equal(stats.left, 2);
		test_store_remove(&store);
	}
}

static void two_compactions_exclude_each_other(void **state)
{
	const struct store_compaction how = { .now_unix_ns = LATER_NS };
	struct store_compaction_stats stats;
	struct test_store store;
	char path[256];
	int fd;

	(void)state;
	test_store_make(&store);
	test_fill(&store, 0, 2);
	fd = open(test_path(&store, "v1/.compact.lock", path), O_RDWR | O_CREAT, 0600);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(store_compact(store.dir, &how, &stats), -EWOULDBLOCK);
	close(fd);
	assert_int_equal(store_compact(store.dir, &how, &stats), 0);
	assert_int_equal(stats.hours, 1);
	test_store_remove(&store);
	assert_int_equal(store_compact(store.dir, &how, &stats), -ENOENT);
}

static bool stop_after(void *ctx)
{
	int *left = ctx;

	return (*left)-- <= 0;
}

static void it_can_be_stopped_anywhere(void **state)
{
	struct test_store store;
	int err = -ECANCELED;

	(void)state;
	test_store_make(&store);
	test_fill(&store, PER_HOUR - 4, PER_HOUR + 4);
	for (int steps = 0; err; steps++) {
		int left = steps;
		const struct store_compaction how = {
			.now_unix_ns = LATER_NS,
			.should_stop = stop_after,
			.ctx = &left,
		};
		struct store_compaction_stats stats;

		assert_true(steps < 1000);
		err = store_compact(store.dir, &how, &stats);
		assert_true(!err || err == -ECANCELED);
		assert_false(test_exists(&store, "v1/cpu/.compact.tmp"));
		assert_holds(&store, PER_HOUR - 4, PER_HOUR + 4);
	}
	assert_true(is_merged(&store, TEST_FILE));
	assert_true(is_merged(&store, SECOND_HOUR ".zst"));
	test_store_remove(&store);
}

/* ---- days ---- */

struct sums {
	uint64_t samples;
	uint64_t windows;
	uint64_t rows;
	uint64_t late_rows; /* that do not begin in the slot of all that they are made of */
};

static int sum_window(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct sums *sums = ctx;

	(void)text;
	(void)len;
	sums->samples += window->counts.samples;
	sums->windows += window->window_cnt ? window->window_cnt : 1;
	sums->rows++;
	sums->late_rows += window->start_unix_ns / STORE_DAY_ROW_NS !=
			   (window->start_unix_ns + window->duration_ns - 1) / STORE_DAY_ROW_NS;
	return 0;
}

static struct sums sums_of(const struct test_store *store)
{
	struct sums sums = { 0 };
	const struct store_visitor visitor = { .ctx = &sums, .window = sum_window };
	struct store_reader *reader;

	assert_int_equal(store_reader__open(store->dir, &reader), 0);
	assert_int_equal(store_reader__visit(reader, 0, UINT64_MAX, &visitor), 0);
	store_reader__free(reader);
	return sums;
}

/* Windows of one stream, 10 s each. */
static void fill_stream(const struct test_store *store, uint32_t first, uint32_t last)
{
	struct store_writer *writer = test_writer(store);

	for (uint32_t number = first; number < last; number++) {
		struct window window = number_to_window(number);
		struct strbuf text = STRBUF_INIT;

		window.pid = 7;
		number_to_text(number % 5, &text);
		assert_int_equal(store_writer__add(writer, &window, text.data, text.len), 0);
		test_commit(writer);
		strbuf_release(&text);
	}
	store_writer__free(writer);
}

static void hours_of_an_old_day_become_a_day_of_five_minutes(void **state)
{
	struct store_compaction_stats stats;
	struct sums before, after;
	struct test_store store;

	(void)state;
	test_store_make(&store);
	fill_stream(&store, PER_HOUR - 60, PER_HOUR + 60);
	before = sums_of(&store);
	/* One hour is merged already, the other comes as it was written. */
	assert_int_equal(compact_at(&store, TEST_NS + HOUR_NS + 200 * CLOCK_NS_PER_S).hours, 1);
	stats = compact_at(&store, MUCH_LATER);
	assert_int_equal(stats.hours, 0);
	assert_int_equal(stats.days, 1);
	assert_true(test_exists(&store, TEST_DAY ".zst"));
	assert_false(test_exists(&store, TEST_DAY));
	after = sums_of(&store);
	assert_int_equal(after.samples, before.samples);
	assert_int_equal(after.windows, 120);
	assert_int_equal(after.rows, 4);
	assert_int_equal(after.late_rows, 0);
	/* A day that is one is left alone. */
	stats = compact_at(&store, MUCH_LATER);
	assert_int_equal(stats.days + stats.bytes_before, 0);
	/* Late windows join it. */
	fill_stream(&store, PER_HOUR + 60, PER_HOUR + 90);
	assert_true(test_exists(&store, SECOND_HOUR ".zst"));
	assert_int_equal(compact_at(&store, MUCH_LATER).days, 1);
	assert_false(test_exists(&store, TEST_DAY));
	after = sums_of(&store);
	assert_int_equal(after.windows, 150);
	assert_int_equal(after.rows, 5);
	test_store_remove(&store);
}

static void a_day_is_left_in_hours_until_it_is_old_enough(void **state)
{
	const uint64_t due_ns = TEST_NS + 12 * HOUR_NS + STORE_DAY_FILE_AGE_NS;
	struct test_store store;

	(void)state;
	test_store_make(&store);
	test_fill(&store, 0, 3);
	assert_int_equal(compact_at(&store, due_ns - CLOCK_NS_PER_S).days, 0);
	assert_true(is_merged(&store, TEST_FILE));
	assert_int_equal(compact_at(&store, due_ns).days, 1);
	assert_false(test_exists(&store, TEST_FILE));
	assert_holds(&store, 0, 3);
	test_store_remove(&store);
}

/* A window at the begin of each of the hours. */
static void fill_hours(const struct test_store *store, uint32_t first, uint32_t last)
{
	struct store_writer *writer = test_writer(store);

	for (uint32_t hour = first; hour < last; hour++) {
		test_add(writer, hour * PER_HOUR);
		test_commit(writer);
	}
	store_writer__free(writer);
}

static struct store_compaction_stats compact_unsure(const struct test_store *store, uint32_t hours)
{
	const struct store_compaction how = { .now_unix_ns = TEST_NS + hours * HOUR_NS };
	struct store_compaction_stats stats;

	assert_int_equal(store_compact(store->dir, &how, &stats), 0);
	return stats;
}

static void a_clock_that_jumped_ahead_makes_no_days_before_a_day_of_it_is_stored(void **state)
{
	const uint32_t jump = 48 + 10 * 24;
	struct store_compaction_stats stats;
	struct test_store store;

	(void)state;
	test_store_make(&store);
	fill_hours(&store, 0, 48);
	stats = compact_unsure(&store, jump);
	assert_int_equal(stats.hours, 48);
	assert_int_equal(stats.days, 0);
	assert_int_equal(stats.paused, 3);
	/* Hours of the wrong time are stored, too. */
	fill_hours(&store, jump, jump + 3);
	stats = compact_unsure(&store, jump + 4);
	assert_int_equal(stats.hours, 3);
	assert_int_equal(stats.days, 0);
	assert_int_equal(stats.paused, 3);
	assert_true(is_merged(&store, TEST_FILE));
	/* It was the right time. */
	fill_hours(&store, jump + 3, jump + 30);
	stats = compact_unsure(&store, jump + 31);
	assert_int_equal(stats.days, 3);
	assert_int_equal(stats.paused, 0);
	assert_false(test_exists(&store, TEST_FILE));
	test_store_remove(&store);
}

static void a_day_with_an_hour_in_use_has_its_other_hours_merged(void **state)
{
	struct store_writer *writer;
	struct test_store store;

	(void)state;
	test_store_make(&store);
	test_fill(&store, 0, 3);
	writer = test_writer(&store);
	test_add(writer, PER_HOUR);
	test_commit(writer);
	assert_int_equal(compact_at(&store, MUCH_LATER).days, 0);
	assert_true(is_merged(&store, TEST_FILE));
	assert_false(is_merged(&store, SECOND_HOUR ".zst"));
	store_writer__free(writer);
	assert_int_equal(compact_at(&store, MUCH_LATER).days, 1);
	test_store_remove(&store);
}

static void what_a_crash_has_left_of_a_day_is_read_once_and_removed(void **state)
{
	struct test_store store;
	ino_t inode;

	(void)state;
	test_store_make(&store);
	test_fill(&store, PER_HOUR - 3, PER_HOUR + 3);
	(void)compact_at(&store, LATER_NS);
	copy_file(&store, TEST_FILE, "first.zst");
	copy_file(&store, SECOND_HOUR ".zst", "second.zst");
	(void)compact_at(&store, MUCH_LATER);
	inode = inode_of(&store, TEST_DAY ".zst");
	copy_file(&store, "first.zst", TEST_FILE);
	copy_file(&store, "second.zst", SECOND_HOUR ".zst");
	assert_holds(&store, PER_HOUR - 3, PER_HOUR + 3);
	assert_int_equal(compact_at(&store, MUCH_LATER).days, 0);
	assert_int_equal(inode_of(&store, TEST_DAY ".zst"), inode);
	assert_false(test_exists(&store, TEST_DAY));
	assert_holds(&store, PER_HOUR - 3, PER_HOUR + 3);
	test_store_remove(&store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(closed_hours_are_merged_and_hold_the_same),
		cmocka_unit_test(merged_hours_are_left_alone),
		cmocka_unit_test(an_hour_that_may_not_be_over_is_left_alone),
		cmocka_unit_test(the_file_of_the_writer_is_left_alone),
		cmocka_unit_test(late_windows_are_taken_into_the_merged_hour),
		cmocka_unit_test(what_a_crash_has_left_is_read_once_and_removed),
		cmocka_unit_test(what_is_left_of_an_hour_is_never_appended_to),
		cmocka_unit_test(what_is_left_of_a_day_is_no_hour),
		cmocka_unit_test(an_hour_of_hundreds_of_files_becomes_one),
		cmocka_unit_test(damage_is_stepped_over_and_noted),
		cmocka_unit_test(damaged_file_is_kept_whenever_a_compaction_was_killed),
		cmocka_unit_test(whatever_is_damaged_all_that_is_intact_goes_on),
		cmocka_unit_test(what_a_newer_version_wrote_is_left_as_it_is),
		cmocka_unit_test(two_compactions_exclude_each_other),
		cmocka_unit_test(it_can_be_stopped_anywhere),
		cmocka_unit_test(hours_of_an_old_day_become_a_day_of_five_minutes),
		cmocka_unit_test(a_day_is_left_in_hours_until_it_is_old_enough),
		cmocka_unit_test(
			a_clock_that_jumped_ahead_makes_no_days_before_a_day_of_it_is_stored),
		cmocka_unit_test(a_day_with_an_hour_in_use_has_its_other_hours_merged),
		cmocka_unit_test(what_a_crash_has_left_of_a_day_is_read_once_and_removed),
	};

	log_set_level(LOG_LEVEL_ERR);
	return cmocka_run_group_tests_name("store_compact", tests, NULL, NULL);
}
