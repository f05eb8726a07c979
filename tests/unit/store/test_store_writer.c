// SPDX-License-Identifier: Apache-2.0
/* Writing and reading back: what was committed is there, where it belongs, and nowhere twice. */
#include "tests/unit/store_testing.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "user/model/select.h"
#include "user/store/format/format.h"
#include "user/util/cleanup.h"

static void committed_windows_read_back(void **state)
{
	struct test_store store;
	struct got got;

	(void)state;
	test_store_make(&store);
	test_fill(&store, 0, 5);
	assert_true(test_exists(&store, TEST_FILE));
	test_visit_all(&store, &got);
	assert_got_range(&got, 0, 5);
	assert_int_equal(got.damage_cnt, 0);
	test_store_remove(&store);
}

static void nothing_is_on_disk_before_the_commit(void **state)
{
	struct store_writer *writer;
	struct test_store store;
	struct got got;

	(void)state;
	test_store_make(&store);
	writer = test_writer(&store);
	test_add(writer, 0);
	test_add(writer, 1);
	test_visit_all(&store, &got);
	assert_int_equal(got.cnt, 0);
	test_commit(writer);
	test_visit_all(&store, &got);
	assert_got_range(&got, 0, 2);
	test_commit(writer); /* nothing was added: nothing happens */
	test_visit_all(&store, &got);
	assert_got_range(&got, 0, 2);
	assert_int_equal(got.damage_cnt, 0);
	store_writer__free(writer);
	test_store_remove(&store);
}

static void committing_nothing_makes_no_file(void **state)
{
	struct store_writer *writer;
	struct test_store store;

	(void)state;
	test_store_make(&store);
	writer = test_writer(&store);
	test_commit(writer);
	store_writer__free(writer);
	assert_true(test_exists(&store, "v1/cpu"));
	assert_false(test_exists(&store, "v1/cpu/2026"));
	test_store_remove(&store);
}

static int compare_whole_window(void *ctx, const struct window *got, const char *text, size_t len)
{
	const struct window *expected = ctx;
	struct window flat = *got;

	for (int i = 0; i < WINDOW_LABEL_CNT; i++) {
		if (expected->labels[i])
			assert_string_equal(got->labels[i], expected->labels[i]);
		else
			assert_null(got->labels[i]);
		flat.labels[i] = expected->labels[i];
	}
	/* Both were zeroed as a whole: padding compares equal. */
	assert_memory_equal(&flat, expected, sizeof(flat));
	assert_int_equal(len, 0);
	assert_string_equal(text, "");
	return 4711;
}

static void every_field_of_a_window_survives(void **state)
{
	const struct store_visitor visitor = { .ctx = NULL, .window = compare_whole_window };
	struct store_visitor mine = visitor;
	struct store_reader *reader;
	struct store_writer *writer;
	struct test_store store;
	struct window window;
	uint8_t *bytes = (uint8_t *)&window;

	(void)state;
	/* Distinct bytes in all numbers: a swapped or forgotten field shows. */
	memset(&window, 0, sizeof(window));
	for (size_t i = 0; i < offsetof(struct window, labels); i++)
		bytes[i] = (uint8_t)(i * 7 + 1);
	/* The hole behind exec_id. */
	memset(&window.exec_id + 1, 0,
	       offsetof(struct window, counts) - offsetof(struct window, exec_id) - 4);
	/* And the one in front of the labels. */
	memset(&window.preserve_frame_pointer_origin + 1, 0,
	       offsetof(struct window, labels) -
		       offsetof(struct window, preserve_frame_pointer_origin) - 4);
	window.start_unix_ns = TEST_NS;
	window.duration_ns = WINDOW_NS;
	for (int i = 0; i < WINDOW_LABEL_CNT; i += 2)
		window.labels[i] = window_label_name((enum window_label)i);
	window.labels[WINDOW_LABEL_EXE] = "";

	test_store_make(&store);
	writer = test_writer(&store);
	assert_int_equal(store_writer__add(writer, &window, NULL, 0), 0);
	test_commit(writer);
	store_writer__free(writer);
	mine.ctx = &window;
	assert_int_equal(store_reader__open(store.dir, &reader), 0);
	assert_int_equal(store_reader__visit(reader, 0, UINT64_MAX, &mine), 4711);
	store_reader__free(reader);
	test_store_remove(&store);
}

static void second_writer_is_refused(void **state)
{
	const struct store_writer_options options = { .keeps_ticks = true };
	struct store_writer *writer, *second = NULL;
	struct test_store store;

	(void)state;
	test_store_make(&store);
	writer = test_writer(&store);
	assert_int_equal(store_writer__open(store.dir, &options, &second), -EWOULDBLOCK);
	assert_null(second);
	store_writer__free(writer);
	assert_int_equal(store_writer__open(store.dir, &options, &second), 0);
	store_writer__free(second);
	test_store_remove(&store);
}

static void clean_file_is_continued_after_reopening(void **state)
{
	struct test_store store;
	struct got got;

	(void)state;
	test_store_make(&store);
	test_fill(&store, 0, 2);
	test_fill(&store, 2, 4);
	assert_false(test_exists(&store, TEST_HOUR "-1.zst"));
	test_visit_all(&store, &got);
	assert_got_range(&got, 0, 4);
	assert_int_equal(got.damage_cnt, 0);
	test_store_remove(&store);
}

static void doubtful_file_is_left_alone_and_another_begun(void **state)
{
	static const char *const tails[] = { "x", "(\xb5/\xfd", "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" };
	static const size_t lens[] = { 1, 4, 15 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(tails); i++) {
		__cleanup_strbuf struct strbuf before = STRBUF_INIT, after = STRBUF_INIT;
		struct test_store store;
		struct got got;

		test_store_make(&store);
		test_fill(&store, 0, 2);
		test_read(&store, TEST_FILE, &before);
		strbuf_append(&before, tails[i], lens[i]);
		test_write(&store, TEST_FILE, before.data, before.len);
		test_fill(&store, 2, 4);
		test_fill(&store, 4, 6); /* HH-1 is clean: continued */
		test_read(&store, TEST_FILE, &after);
		assert_int_equal(after.len, before.len);
		assert_memory_equal(after.data, before.data, after.len);
		assert_true(test_exists(&store, TEST_HOUR "-1.zst"));
		assert_false(test_exists(&store, TEST_HOUR "-2.zst"));
		test_visit_all(&store, &got);
		assert_got_range(&got, 0, 6);
		assert_int_equal(got.damage_cnt, 1);
		assert_int_equal(got.damages[0].bytes, lens[i]);
		test_store_remove(&store);
	}
}

static void newest_of_more_than_ten_files_is_found(void **state)
{
	struct test_store store;
	struct got got;

	(void)state;
	test_store_make(&store);
	test_write(&store, TEST_FILE, "x", 1);
	for (int i = 1; i < 11; i++) {
		char name[64];

		snprintf(name, sizeof(name), TEST_HOUR "-%d.zst", i);
		test_write(&store, name, "x", 1);
	}
	test_fill(&store, 0, 1);
	assert_true(test_exists(&store, TEST_HOUR "-11.zst"));
	test_visit_all(&store, &got);
	assert_got_range(&got, 0, 1);
	assert_int_equal(got.damage_cnt, 11);
	test_store_remove(&store);
}

static void empty_or_foreign_files_are_not_appended_to(void **state)
{
	static const char foreign[] = "\x50\x2a\x4d\x18\x04\0\0\0abcd";
	struct test_store store;
	struct got got;

	(void)state;
	test_store_make(&store);
	test_write(&store, TEST_FILE, "", 0);
	test_fill(&store, 0, 1);
	assert_true(test_exists(&store, TEST_HOUR "-1.zst"));
	test_store_remove(&store);

	test_store_make(&store);
	test_write(&store, TEST_FILE, foreign, sizeof(foreign) - 1);
	test_fill(&store, 0, 1);
	assert_true(test_exists(&store, TEST_HOUR "-1.zst"));
	test_visit_all(&store, &got);
	assert_got_range(&got, 0, 1);
	assert_int_equal(got.damage_cnt, 0);
	test_store_remove(&store);
}

static void windows_go_to_the_hour_of_their_start(void **state)
{
	const uint32_t hour = 360; /* windows */
	struct store_writer *writer;
	struct test_store store;
	struct got got;

	(void)state;
	test_store_make(&store);
	writer = test_writer(&store);
	test_add(writer, hour - 1);
	test_add(writer, hour);
	test_commit(writer);
	/* The clock steps back, and forth again. */
	test_add(writer, 3);
	test_commit(writer);
	test_add(writer, hour + 1);
	test_add(writer, 4);
	test_commit(writer);
	store_writer__free(writer);
	assert_true(test_exists(&store, TEST_FILE));
	assert_true(test_exists(&store, "v1/cpu/2026/11/21/13.zst"));
	assert_false(test_exists(&store, TEST_HOUR "-1.zst"));
	test_visit_all(&store, &got);
	assert_int_equal(got.damage_cnt, 0);
	assert_int_equal(got.cnt, 5);
	assert_int_equal(got.numbers[0], hour - 1);
	assert_int_equal(got.numbers[1], 3);
	assert_int_equal(got.numbers[2], 4);
	assert_int_equal(got.numbers[3], hour);
	assert_int_equal(got.numbers[4], hour + 1);
	test_store_remove(&store);
}

static void range_takes_windows_that_overlap_it(void **state)
{
	struct test_store store;
	struct got got;

	(void)state;
	test_store_make(&store);
	test_fill(&store, 358, 363); /* two before 13:00, three after */
	test_visit(&store, TEST_NS + HOUR_NS, TEST_NS + HOUR_NS + 1, &got);
	assert_got_range(&got, 360, 361);
	/* 12:59:50 to 13:00 overlaps a range that begins at 12:59:59.9 */
	test_visit(&store, TEST_NS + HOUR_NS - 1, TEST_NS + HOUR_NS + WINDOW_NS, &got);
	assert_got_range(&got, 359, 361);
	test_visit(&store, TEST_NS, TEST_NS + 358 * WINDOW_NS, &got);
	assert_int_equal(got.cnt, 0);
	test_visit(&store, TEST_NS + 363 * WINDOW_NS, UINT64_MAX, &got);
	assert_int_equal(got.cnt, 0);
	test_visit(&store, UINT64_MAX, 0, &got);
	assert_int_equal(got.cnt, 0);
	test_store_remove(&store);
}

static void long_window_of_the_hour_before_is_found(void **state)
{
	struct window window = number_to_window(0);
	const struct store_visitor visitor = { .ctx = &window, .window = compare_whole_window };
	struct store_reader *reader;
	struct store_writer *writer;
	struct test_store store;

	(void)state;
	test_store_make(&store);
	writer = test_writer(&store);
	window.start_unix_ns = TEST_NS + HOUR_NS - 1;
	window.duration_ns = STORE_WINDOW_MAX_NS;
	assert_int_equal(store_writer__add(writer, &window, NULL, 0), 0);
	test_commit(writer);
	store_writer__free(writer);
	assert_int_equal(store_reader__open(store.dir, &reader), 0);
	assert_int_equal(
		store_reader__visit(reader, TEST_NS + 2 * HOUR_NS - 2, UINT64_MAX, &visitor), 4711);
	assert_int_equal(
		store_reader__visit(reader, TEST_NS + 2 * HOUR_NS - 1, UINT64_MAX, &visitor), 0);
	store_reader__free(reader);
	test_store_remove(&store);
}

static bool want_even_pid(void *ctx, const struct window *window)
{
	(void)ctx;
	return window->pid % 2 == 0;
}

static void unwanted_windows_are_skipped(void **state)
{
	struct store_reader *reader;
	struct test_store store;
	struct got got = { 0 };
	const struct store_visitor visitor = {
		.ctx = &got,
		.want = want_even_pid,
		.window = got_window,
		.damage = got_damage,
	};

	(void)state;
	test_store_make(&store);
	test_fill(&store, 0, 5);
	assert_int_equal(store_reader__open(store.dir, &reader), 0);
	assert_int_equal(store_reader__visit(reader, 0, UINT64_MAX, &visitor), 0);
	store_reader__free(reader);
	assert_int_equal(got.cnt, 3);
	assert_int_equal(got.numbers[2], 4);
	assert_int_equal(got.damage_cnt, 0);
	test_store_remove(&store);
}

static bool want_what_is_selected(void *ctx, const struct window *window)
{
	(void)ctx;
	assert_int_equal(window->pid, 1002);
	return true;
}

static void nobody_is_asked_about_windows_that_are_not_selected(void **state)
{
	const struct selection two = { .pid = 1002 }, another_host = { .host = "web-2" };
	struct test_store store;
	struct got got = { 0 };
	struct store_visitor visitor = {
		.ctx = &got,
		.selection = &two,
		.want = want_what_is_selected,
		.window = got_window,
	};

	(void)state;
	test_store_make(&store);
	test_fill(&store, 0, 5);
	test_visit_with(&store, 0, UINT64_MAX, &visitor);
	assert_got_range(&got, 2, 3);
	visitor.want = NULL;
	visitor.selection = &another_host;
	test_visit_with(&store, 0, UINT64_MAX, &visitor);
	assert_int_equal(got.cnt, 1);
	test_store_remove(&store);
}

/* Each refusal is one stream's: those before and behind it in the same window are written. */
static void unacceptable_streams_are_refused_and_the_rest_goes_on(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		int err;
	} rows[] = {
		{ "a 1", 3, -EINVAL },
		{ "a 1\n", (size_t)STORE_TEXT_MAX_BYTES + 1, -E2BIG },
		{ "a;\0b 1\n", 8, -EINVAL },
		{ "\0", 1, -EINVAL },
	};
	struct window window = number_to_window(0);
	struct store_writer *writer;
	struct test_store store;
	struct got got;

	(void)state;
	test_store_make(&store);
	writer = test_writer(&store);
	for (uint32_t i = 0; i < ARRAY_SIZE(rows); i++) {
		test_add(writer, i);
		assert_int_equal(store_writer__add(writer, &window, rows[i].text, rows[i].len),
				 rows[i].err);
	}
	test_add(writer, ARRAY_SIZE(rows));
	test_commit(writer);
	store_writer__free(writer);
	test_visit_all(&store, &got);
	assert_got_range(&got, 0, ARRAY_SIZE(rows) + 1);
	test_store_remove(&store);
}

/* What the readers get of one window. */
struct mended {
	uint64_t duration_ns;
	uint64_t lines_len;
	char label[256];
	int cnt;
};

static int take_mended(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct mended *mended = ctx;

	assert_int_equal(len, 4);
	assert_memory_equal(text, "a 1\n", 4);
	mended->duration_ns = window->duration_ns;
	mended->lines_len = window->lines_len;
	(void)snprintf(mended->label, sizeof(mended->label), "%s",
		       window_label(window, WINDOW_LABEL_OVER_BUDGET));
	mended->cnt++;
	return 0;
}

static struct mended write_and_read(const struct window *window, uint64_t since_ns)
{
	struct mended mended = { .cnt = 0 };
	const struct store_visitor visitor = {
		.ctx = &mended,
		.wants_lines = true,
		.window = take_mended,
		.damage = got_damage,
	};
	struct store_reader *reader;
	struct store_writer *writer;
	struct test_store store;

	test_store_make(&store);
	writer = test_writer(&store);
	assert_int_equal(store_writer__add(writer, window, "a 1\n", 4), 0);
	test_commit(writer);
	store_writer__free(writer);
	assert_int_equal(store_reader__open(store.dir, &reader), 0);
	assert_int_equal(store_reader__visit(reader, since_ns, UINT64_MAX, &visitor), 0);
	store_reader__free(reader);
	test_store_remove(&store);
	return mended;
}

/* The host slept, or jbpfd was stopped: readers begin an hour before what they were asked for. */
static void windows_longer_than_an_hour_count_as_an_hour(void **state)
{
	struct window window = number_to_window(0);
	struct mended mended;

	(void)state;
	window.duration_ns = 8 * STORE_WINDOW_MAX_NS + STORE_WINDOW_MAX_NS / 2;
	mended = write_and_read(&window, window.start_unix_ns + STORE_WINDOW_MAX_NS - 1);
	assert_int_equal(mended.cnt, 1);
	assert_int_equal(mended.duration_ns, STORE_WINDOW_MAX_NS);
	assert_string_equal(mended.label, "the window lasted 8.5 hours and counts as one");
	window.duration_ns = UINT64_MAX;
	assert_int_equal(write_and_read(&window, 0).duration_ns, STORE_WINDOW_MAX_NS);
	window.duration_ns = STORE_WINDOW_MAX_NS;
	assert_string_equal(write_and_read(&window, 0).label, "");
}

static void lines_that_cannot_be_kept_do_not_take_their_stacks_with_them(void **state)
{
	static const char with_nul[] = "a;A.java\0:1 1\n", unended[] = "a;A.java:1 1";
	struct window window = number_to_window(0);
	struct mended mended;

	(void)state;
	window.lines = with_nul;
	window.lines_len = sizeof(with_nul) - 1;
	mended = write_and_read(&window, 0);
	assert_int_equal(mended.cnt, 1);
	assert_int_equal(mended.lines_len, 0);
	assert_string_equal(mended.label, "source lines are left out (14 bytes)");
	window.lines = unended;
	window.lines_len = sizeof(unended) - 1;
	assert_int_equal(write_and_read(&window, 0).lines_len, 0);
	window.lines_len = (32u << 20) + 1;
	window.labels[WINDOW_LABEL_OVER_BUDGET] = "what the budget took";
	mended = write_and_read(&window, 0);
	assert_int_equal(mended.cnt, 1);
	assert_int_equal(mended.lines_len, 0);
	assert_string_equal(mended.label, "what the budget took");
}

static void long_labels_are_cut_at_a_character(void **state)
{
	__cleanup_strbuf struct strbuf label = STRBUF_INIT;
	struct window window = number_to_window(0), expected;
	const struct store_visitor visitor = { .ctx = &expected, .window = compare_whole_window };
	struct store_reader *reader;
	struct store_writer *writer;
	struct test_store store;

	(void)state;
	test_store_make(&store);
	writer = test_writer(&store);
	strbuf_puts(&label, "x");
	while (label.len < FORMAT_LABEL_MAX_BYTES + 10)
		strbuf_puts(&label, "\xe2\x82\xac");
	window.labels[WINDOW_LABEL_IMAGE] = label.data;
	assert_int_equal(store_writer__add(writer, &window, NULL, 0), 0);
	test_commit(writer);
	store_writer__free(writer);

	expected = window;
	strbuf_truncate(&label, 1 + (FORMAT_LABEL_MAX_BYTES - 1) / 3 * 3);
	assert_int_equal(store_reader__open(store.dir, &reader), 0);
	assert_int_equal(store_reader__visit(reader, 0, UINT64_MAX, &visitor), 4711);
	store_reader__free(reader);
	test_store_remove(&store);
}

static void limit_file_size(rlim_t bytes)
{
	const struct rlimit limit = { .rlim_cur = bytes, .rlim_max = RLIM_INFINITY };

	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void failed_write_is_taken_back_and_counted(void **state)
{
	struct store_writer *writer;
	struct test_store store;
	struct got got;
	struct stat before, after;
	char path[256];
	uint64_t lost = 0;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	test_store_make(&store);
	writer = test_writer(&store);
	test_add(writer, 0);
	test_commit(writer);
	assert_int_equal(stat(test_path(&store, TEST_FILE, path), &before), 0);
	/* The second window is written in part, wherever the limit falls. */
	for (off_t extra = 0; extra < 300; extra += 7) {
		test_add(writer, 1);
		test_add(writer, 2);
		limit_file_size((rlim_t)(before.st_size + extra));
		assert_int_equal(store_writer__commit(writer, &lost), -EFBIG);
		limit_file_size(RLIM_INFINITY);
		assert_int_equal(lost, number_to_window(1).counts.samples +
					       number_to_window(2).counts.samples);
		assert_int_equal(stat(path, &after), 0);
		assert_int_equal(after.st_size, before.st_size);
	}
	test_add(writer, 1);
	test_commit(writer);
	store_writer__free(writer);
	assert_false(test_exists(&store, TEST_HOUR "-1.zst"));
	test_visit_all(&store, &got);
	assert_got_range(&got, 0, 2);
	assert_int_equal(got.damage_cnt, 0);
	test_store_remove(&store);
}

static void file_without_a_record_is_removed(void **state)
{
	struct store_writer *writer;
	struct test_store store;
	uint64_t lost;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	test_store_make(&store);
	writer = test_writer(&store);
	test_add(writer, 0);
	limit_file_size(10);
	assert_int_equal(store_writer__commit(writer, &lost), -EFBIG);
	limit_file_size(RLIM_INFINITY);
	store_writer__free(writer);
	assert_false(test_exists(&store, TEST_FILE));
	test_store_remove(&store);
}

static void file_that_somebody_changed_is_abandoned(void **state)
{
	struct store_writer *writer;
	struct test_store store;
	struct got got;
	char path[256];
	int fd;

	(void)state;
	test_store_make(&store);
	writer = test_writer(&store);
	test_add(writer, 0);
	test_commit(writer);
	fd = open(test_path(&store, TEST_FILE, path), O_WRONLY | O_APPEND);
	assert_int_equal(fs_write_all(fd, "??", 2), 0);
	close(fd);
	test_add(writer, 1);
	test_commit(writer);
	assert_true(test_exists(&store, TEST_HOUR "-1.zst"));
	/* Deleted under us: what was in it is gone, what comes is not. */
	assert_int_equal(unlink(test_path(&store, TEST_HOUR "-1.zst", path)), 0);
	test_add(writer, 2);
	test_commit(writer);
	store_writer__free(writer);
	test_visit_all(&store, &got);
	assert_int_equal(got.cnt, 2);
	assert_int_equal(got.numbers[1], 2);
	assert_int_equal(got.damage_cnt, 1);
	test_store_remove(&store);
}

static void files_are_not_for_everybody(void **state)
{
	struct test_store store;
	struct stat st;
	char path[256];

	(void)state;
	umask(0);
	test_store_make(&store);
	test_fill(&store, 0, 1);
	assert_int_equal(stat(test_path(&store, TEST_FILE, path), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(stat(test_path(&store, "v1/cpu/2026/11/21", path), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
	assert_int_equal(stat(test_path(&store, "v1", path), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0750);
	test_store_remove(&store);
}

static void missing_store_is_told(void **state)
{
	struct store_reader *reader = NULL;
	struct test_store store;

	(void)state;
	test_store_make(&store);
	assert_int_equal(store_reader__open(store.dir, &reader), -ENOENT);
	assert_int_equal(store_reader__open("/nonexistent/jbpf", &reader), -ENOENT);
	assert_null(reader);
	test_store_remove(&store);
	store_reader__free(NULL);
	store_writer__free(NULL);
}

static int vanish(void *ctx, const struct window *window, const char *text, size_t len)
{
	const struct test_store *store = ctx;
	char path[256];

	(void)text;
	(void)len;
	(void)unlink(test_path(store, TEST_FILE, path));
	(void)unlink(test_path(store, "v1/cpu/2026/11/21/13.zst", path));
	(void)rmdir(test_path(store, "v1/cpu/2026/11/21", path));
	return window->pid == 1000 + 1 ? 99 : 0; /* the open file is read to its end */
}

static void files_that_vanish_meanwhile_are_no_error(void **state)
{
	struct store_reader *reader;
	struct test_store store;
	const struct store_visitor visitor = { .ctx = &store, .window = vanish };

	(void)state;
	test_store_make(&store);
	test_fill(&store, 0, 2);
	test_fill(&store, 360, 361);
	assert_int_equal(store_reader__open(store.dir, &reader), 0);
	assert_int_equal(store_reader__visit(reader, 0, UINT64_MAX, &visitor), 99);
	assert_int_equal(store_reader__visit(reader, 0, UINT64_MAX, &visitor), 0);
	test_fill(&store, 0, 1);
	assert_int_equal(store_reader__visit(reader, 0, UINT64_MAX, &visitor), 0);
	store_reader__free(reader);
	test_store_remove(&store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(committed_windows_read_back),
		cmocka_unit_test(nothing_is_on_disk_before_the_commit),
		cmocka_unit_test(committing_nothing_makes_no_file),
		cmocka_unit_test(every_field_of_a_window_survives),
		cmocka_unit_test(second_writer_is_refused),
		cmocka_unit_test(clean_file_is_continued_after_reopening),
		cmocka_unit_test(doubtful_file_is_left_alone_and_another_begun),
		cmocka_unit_test(newest_of_more_than_ten_files_is_found),
		cmocka_unit_test(empty_or_foreign_files_are_not_appended_to),
		cmocka_unit_test(windows_go_to_the_hour_of_their_start),
		cmocka_unit_test(range_takes_windows_that_overlap_it),
		cmocka_unit_test(long_window_of_the_hour_before_is_found),
		cmocka_unit_test(unwanted_windows_are_skipped),
		cmocka_unit_test(nobody_is_asked_about_windows_that_are_not_selected),
		cmocka_unit_test(unacceptable_streams_are_refused_and_the_rest_goes_on),
		cmocka_unit_test(windows_longer_than_an_hour_count_as_an_hour),
		cmocka_unit_test(lines_that_cannot_be_kept_do_not_take_their_stacks_with_them),
		cmocka_unit_test(long_labels_are_cut_at_a_character),
		cmocka_unit_test(failed_write_is_taken_back_and_counted),
		cmocka_unit_test(file_without_a_record_is_removed),
		cmocka_unit_test(file_that_somebody_changed_is_abandoned),
		cmocka_unit_test(files_are_not_for_everybody),
		cmocka_unit_test(missing_store_is_told),
		cmocka_unit_test(files_that_vanish_meanwhile_are_no_error),
	};

	return cmocka_run_group_tests_name("store_writer", tests, NULL, NULL);
}
