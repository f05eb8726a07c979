// SPDX-License-Identifier: Apache-2.0
/*
 * Damaged files: whatever happened to the bytes, the reader hands out the intact windows, all of
 * them and nothing else, and says what it left out.
 */
#include "tests/unit/store_testing.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <zstd.h>

#include "user/store/format/crc32c.h"
#include "user/store/format/format.h"
#include "user/store/segment/segment_source.h"
#include "user/util/cleanup.h"
#include "user/util/log.h"

#define WINDOW_CNT 4

/* Where things are in the intact file: the header, then data and record of each window. */
struct layout {
	struct strbuf bytes;
	size_t header_end;
	size_t data[WINDOW_CNT];
	size_t record[WINDOW_CNT];
	size_t end[WINDOW_CNT];
};

static size_t frame_len(const struct strbuf *bytes, size_t at)
{
	size_t len = ZSTD_findFrameCompressedSize(bytes->data + at, bytes->len - at);

	assert_false(ZSTD_isError(len));
	return len;
}

static void layout_make(struct test_store *store, struct layout *layout)
{
	size_t at;

	memset(layout, 0, sizeof(*layout));
	test_store_make(store);
	test_fill(store, 0, WINDOW_CNT);
	test_read(store, TEST_FILE, &layout->bytes);
	at = layout->header_end = frame_len(&layout->bytes, 0);
	for (int i = 0; i < WINDOW_CNT; i++) {
		layout->data[i] = at;
		layout->record[i] = at += frame_len(&layout->bytes, at);
		layout->end[i] = at += frame_len(&layout->bytes, at);
	}
	assert_int_equal(at, layout->bytes.len);
}

static void layout_release(struct test_store *store, struct layout *layout)
{
	strbuf_release(&layout->bytes);
	test_store_remove(store);
}

static void visit_bytes(const struct test_store *store, const void *bytes, size_t len,
			struct got *got)
{
	test_write(store, TEST_FILE, bytes, len);
	test_visit_all(store, got);
}

static void assert_one_damage(const struct got *got, size_t offset, size_t bytes, const char *what)
{
	assert_int_equal(got->damage_cnt, 1);
	assert_int_equal(got->damages[0].offset, offset);
	assert_int_equal(got->damages[0].bytes, bytes);
	assert_string_equal(got->damages[0].what, what);
}

static void file_cut_anywhere_gives_the_windows_before_the_cut(void **state)
{
	struct test_store store;
	struct layout layout;
	struct got got;

	(void)state;
	layout_make(&store, &layout);
	for (size_t len = 0; len <= layout.bytes.len; len++) {
		size_t boundary = len < layout.header_end ? 0 : layout.header_end;
		uint32_t whole = 0;

		while (whole < WINDOW_CNT && layout.end[whole] <= len)
			boundary = layout.end[whole++];
		visit_bytes(&store, layout.bytes.data, len, &got);
		assert_got_range(&got, 0, whole);
		if (boundary == len)
			assert_int_equal(got.damage_cnt, 0);
		else
			assert_one_damage(&got, boundary, len - boundary, "torn tail");
	}
	layout_release(&store, &layout);
}

static void bytes_behind_the_last_record_are_torn(void **state)
{
	static const char tails[][4] = { "\x28", "\x28\xb5", "\x28\xb5\x2f", "abc" };
	struct test_store store;
	struct layout layout;
	struct got got;

	(void)state;
	layout_make(&store, &layout);
	for (size_t i = 0; i < ARRAY_SIZE(tails); i++) {
		__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;

		strbuf_append(&bytes, layout.bytes.data, layout.bytes.len);
		strbuf_puts(&bytes, tails[i]);
		visit_bytes(&store, bytes.data, bytes.len, &got);
		assert_got_range(&got, 0, WINDOW_CNT);
		assert_one_damage(&got, layout.bytes.len, strlen(tails[i]), "torn tail");
	}
	layout_release(&store, &layout);
}

static void zero_filled_tail_is_damage_and_no_text(void **state)
{
	__cleanup_free char *bytes = NULL;
	struct test_store store;
	struct layout layout;
	struct got got;

	(void)state;
	layout_make(&store, &layout);
	for (size_t zeros = 1; zeros < 9000; zeros = zeros * 3 + 1) {
		free(bytes);
		bytes = calloc(1, layout.bytes.len + zeros);
		memcpy(bytes, layout.bytes.data, layout.bytes.len);
		visit_bytes(&store, bytes, layout.bytes.len + zeros, &got);
		assert_got_range(&got, 0, WINDOW_CNT);
		assert_one_damage(&got, layout.bytes.len, zeros, "zero-filled tail");
		/* The last blocks of the file were never written. */
		memset(bytes + layout.data[2] + 5, 0,
		       layout.bytes.len + zeros - layout.data[2] - 5);
		visit_bytes(&store, bytes, layout.bytes.len + zeros, &got);
		assert_got_range(&got, 0, 2);
		assert_int_equal(got.damage_cnt, 1);
		assert_int_equal(got.damages[0].offset, layout.data[2]);
	}
	layout_release(&store, &layout);
}

static void bad_data_hides_only_its_own_window(void **state)
{
	struct test_store store;
	struct layout layout;
	struct got got;

	(void)state;
	layout_make(&store, &layout);
	/* The zstd checksum is the frame's last byte: everything else still parses. */
	layout.bytes.data[layout.record[1] - 1] ^= 1;
	visit_bytes(&store, layout.bytes.data, layout.bytes.len, &got);
	assert_int_equal(got.cnt, 3);
	assert_int_equal(got.numbers[0], 0);
	assert_int_equal(got.numbers[1], 2);
	assert_one_damage(&got, layout.data[1], layout.end[1] - layout.data[1],
			  "bad data checksum");
	/* Two in a row are one stretch. */
	layout.bytes.data[layout.record[2] - 1] ^= 1;
	visit_bytes(&store, layout.bytes.data, layout.bytes.len, &got);
	assert_int_equal(got.cnt, 2);
	assert_one_damage(&got, layout.data[1], layout.end[2] - layout.data[1],
			  "bad data checksum");
	layout_release(&store, &layout);
}

static void record_appended_to_a_torn_one_is_found(void **state)
{
	struct test_store store;
	struct layout layout;
	struct got got;

	(void)state;
	layout_make(&store, &layout);
	/* Window 1 is torn at every byte, windows 2 and 3 follow directly. */
	for (size_t cut = layout.data[1] + 1; cut < layout.end[1]; cut++) {
		__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;

		/* The record ends with a checksum: one in 256 has a last byte that follows here as well. */
		if (memcmp(layout.bytes.data + cut, layout.bytes.data + layout.data[2],
			   layout.end[1] - cut) == 0)
			continue;
		strbuf_append(&bytes, layout.bytes.data, cut);
		strbuf_append(&bytes, layout.bytes.data + layout.data[2],
			      layout.bytes.len - layout.data[2]);
		visit_bytes(&store, bytes.data, bytes.len, &got);
		assert_int_equal(got.cnt, 3);
		assert_int_equal(got.numbers[0], 0);
		assert_int_equal(got.numbers[1], 2);
		assert_int_equal(got.numbers[2], 3);
		assert_int_equal(got.damage_cnt, 1);
		assert_int_equal(got.damages[0].offset, layout.data[1]);
		assert_int_equal(got.damages[0].bytes, cut - layout.data[1]);
	}
	layout_release(&store, &layout);
}

static void lost_block_hides_only_what_was_in_it(void **state)
{
	struct test_store store;
	struct layout layout;
	struct got got;

	(void)state;
	layout_make(&store, &layout);
	/* Any stretch that touches windows 1 and 2 only, zeroed. */
	for (size_t from = layout.data[1]; from < layout.end[1]; from += 13) {
		__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;

		strbuf_append(&bytes, layout.bytes.data, layout.bytes.len);
		memset(bytes.data + from, 0, layout.data[2] + 10 - from);
		/* The record ends with a checksum: one in 256 has a last byte that is 0 as it is. */
		if (memcmp(bytes.data + from, layout.bytes.data + from, layout.end[1] - from) == 0)
			continue;
		visit_bytes(&store, bytes.data, bytes.len, &got);
		assert_int_equal(got.cnt, 2);
		assert_int_equal(got.numbers[0], 0);
		assert_int_equal(got.numbers[1], 3);
		assert_one_damage(&got, layout.data[1], layout.end[2] - layout.data[1],
				  got.damages[0].what);
	}
	layout_release(&store, &layout);
}

static void missing_records_are_noticed(void **state)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	struct test_store store;
	struct layout layout;
	struct got got;

	(void)state;
	layout_make(&store, &layout);
	strbuf_append(&bytes, layout.bytes.data, layout.data[1]);
	strbuf_append(&bytes, layout.bytes.data + layout.data[3],
		      layout.bytes.len - layout.data[3]);
	visit_bytes(&store, bytes.data, bytes.len, &got);
	assert_int_equal(got.cnt, 2);
	assert_one_damage(&got, layout.data[1], 0, "records are missing");
	layout_release(&store, &layout);
}

static void stale_records_never_count_twice(void **state)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT, other = STRBUF_INIT;
	struct test_store store, second;
	struct layout layout, foreign;
	struct got got;

	(void)state;
	layout_make(&store, &layout);
	layout_make(&second, &foreign);
	/* Window 1 of the same file again, behind all: an old block came back. */
	strbuf_append(&bytes, layout.bytes.data, layout.bytes.len);
	strbuf_append(&bytes, layout.bytes.data + layout.data[1], layout.end[1] - layout.data[1]);
	visit_bytes(&store, bytes.data, bytes.len, &got);
	assert_got_range(&got, 0, WINDOW_CNT);
	assert_one_damage(&got, layout.bytes.len, layout.end[1] - layout.data[1], "torn tail");
	/* Records of another file: the segment's id differs. */
	strbuf_append(&other, layout.bytes.data, layout.data[1]);
	strbuf_append(&other, foreign.bytes.data, foreign.bytes.len);
	visit_bytes(&store, other.data, other.len, &got);
	assert_got_range(&got, 0, 1);
	assert_one_damage(&got, layout.data[1], foreign.bytes.len, "torn tail");
	layout_release(&store, &layout);
	layout_release(&second, &foreign);
}

/* A commit record as the file's own writer would make it. */
static void append_commit(const struct layout *layout, uint64_t sequence, const void *data,
			  size_t data_len, uint64_t text_len, struct strbuf *out)
{
	struct format_commit commit = {
		.sequence = sequence,
		.data_len = (uint32_t)data_len,
		.data_crc = crc32c(data, data_len),
		.text_len = text_len,
		.window = number_to_window(WINDOW_CNT - 1),
	};

	memcpy(commit.segment_id, layout->bytes.data + 32, FORMAT_ID_BYTES);
	assert_int_equal(format_encode_commit(&commit, out), 0);
}

static int count_visit(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct got *got = ctx;

	(void)text;
	assert_int_equal(window->pid, 1000 + WINDOW_CNT - 1);
	assert_int_equal(len, 0);
	got->cnt++;
	return 0;
}

static void data_in_front_of_a_record_without_data_is_told(void **state)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	struct got got = { 0 };
	const struct store_visitor visitor = {
		.ctx = &got,
		.window = count_visit,
		.damage = got_damage,
	};
	struct store_reader *reader;
	struct test_store store;
	struct layout layout;

	(void)state;
	layout_make(&store, &layout);
	strbuf_append(&bytes, layout.bytes.data, layout.record[0]);
	append_commit(&layout, 1, "", 0, 0, &bytes);
	test_write(&store, TEST_FILE, bytes.data, bytes.len);
	assert_int_equal(store_reader__open(store.dir, &reader), 0);
	assert_int_equal(store_reader__visit(reader, 0, UINT64_MAX, &visitor), 0);
	store_reader__free(reader);
	assert_int_equal(got.cnt, 1);
	assert_one_damage(&got, layout.header_end, layout.record[0] - layout.header_end,
			  "record without its data frame");
	layout_release(&store, &layout);
}

static void record_that_claims_data_of_another_is_refused(void **state)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT, text = STRBUF_INIT;
	struct test_store store;
	struct layout layout;
	struct got got;
	size_t last;

	(void)state;
	layout_make(&store, &layout);
	last = layout.data[WINDOW_CNT - 1];
	number_to_text(WINDOW_CNT - 1, &text);
	strbuf_append(&bytes, layout.bytes.data, layout.bytes.len);
	/* Everything about it is right, but window 3 would count twice. */
	append_commit(&layout, WINDOW_CNT + 1, layout.bytes.data + last, layout.bytes.len - last,
		      text.len, &bytes);
	visit_bytes(&store, bytes.data, bytes.len, &got);
	assert_got_range(&got, 0, WINDOW_CNT);
	assert_int_equal(got.damage_cnt, 1);
	layout_release(&store, &layout);
}

static void foreign_skippable_frames_are_passed_over(void **state)
{
	static const char foreign[] = "\x5e\x2a\x4d\x18\x05\0\0\0hello";
	static const char empty[] = "\x50\x2a\x4d\x18\0\0\0\0";
	struct test_store store;
	struct layout layout;
	struct got got;

	(void)state;
	layout_make(&store, &layout);
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	size_t at = 0;

	for (int i = 0; i <= WINDOW_CNT; i++) {
		size_t end = i == 0 ? layout.header_end : layout.end[i - 1];

		strbuf_append(&bytes, foreign, sizeof(foreign) - 1);
		strbuf_append(&bytes, empty, sizeof(empty) - 1);
		strbuf_append(&bytes, layout.bytes.data + at, end - at);
		at = end;
	}
	strbuf_append(&bytes, foreign, sizeof(foreign) - 1);
	/* A header counts only at the very start: without it the first record names the file. */
	visit_bytes(&store, bytes.data + sizeof(foreign) - 1 + sizeof(empty) - 1,
		    bytes.len - (sizeof(foreign) - 1) - (sizeof(empty) - 1), &got);
	assert_got_range(&got, 0, WINDOW_CNT);
	assert_int_equal(got.damage_cnt, 0);
	layout_release(&store, &layout);
}

static void file_without_header_is_read(void **state)
{
	struct test_store store;
	struct layout layout;
	struct got got;

	(void)state;
	layout_make(&store, &layout);
	visit_bytes(&store, layout.bytes.data + layout.header_end,
		    layout.bytes.len - layout.header_end, &got);
	assert_got_range(&got, 0, WINDOW_CNT);
	assert_int_equal(got.damage_cnt, 0);
	for (size_t at = 0; at < layout.header_end; at++) {
		layout.bytes.data[at] ^= 0x10;
		visit_bytes(&store, layout.bytes.data, layout.bytes.len, &got);
		assert_got_range(&got, 0, WINDOW_CNT);
		assert_one_damage(&got, 0, layout.header_end, got.damages[0].what);
		layout.bytes.data[at] ^= 0x10;
	}
	layout_release(&store, &layout);
}

/* A record with other type or flags, its checksum made right again. */
static void record_patch(char *record, size_t len, uint16_t type, uint32_t compat,
			 uint32_t incompat)
{
	uint32_t checksum;

	memcpy(record + 12, &type, sizeof(type));
	memcpy(record + 16, &compat, sizeof(compat));
	memcpy(record + 20, &incompat, sizeof(incompat));
	checksum = crc32c(record, len - 4);
	memcpy(record + len - 4, &checksum, sizeof(checksum));
}

static void what_a_newer_version_wrote_is_refused_or_skipped(void **state)
{
	static const struct {
		uint16_t type;
		uint32_t compat, incompat;
		bool is_read;
	} rows[] = {
		{ FORMAT_TYPE_COMMIT, 0x80000001, 0, true },
		{ FORMAT_TYPE_COMMIT, 0, 1, false },
		{ 77, 0, 0, false }, /* unknown type with text in front: not counted, but told */
		{ 77, 0, 1, false },
	};
	struct test_store store;
	struct layout layout;
	struct got got;

	(void)state;
	layout_make(&store, &layout);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		record_patch(layout.bytes.data + layout.record[1], layout.end[1] - layout.record[1],
			     rows[i].type, rows[i].compat, rows[i].incompat);
		visit_bytes(&store, layout.bytes.data, layout.bytes.len, &got);
		assert_int_equal(got.cnt, rows[i].is_read ? WINDOW_CNT : WINDOW_CNT - 1);
		if (rows[i].is_read)
			assert_int_equal(got.damage_cnt, 0);
		else
			assert_one_damage(&got, layout.data[1], layout.end[1] - layout.data[1],
					  "record needs a newer version of jbpf");
	}
	layout_release(&store, &layout);
}

/* A socket cannot be opened, whoever tries. */
static void make_socket(const struct test_store *store, const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char path[256];

	assert_true(fd >= 0);
	test_path(store, name, path);
	assert_in_range(strlen(path), 1, sizeof(address.sun_path) - 1);
	memcpy(address.sun_path, path, strlen(path) + 1);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
}

static void file_that_cannot_be_opened_is_told_and_hides_no_other(void **state)
{
	struct test_store store;
	struct layout layout;
	struct got got;

	(void)state;
	layout_make(&store, &layout);
	make_socket(&store, "v1/cpu/2026/11/21/11.zst");
	visit_bytes(&store, layout.bytes.data, layout.bytes.len, &got);
	assert_got_range(&got, 0, WINDOW_CNT);
	assert_int_equal(got.damage_cnt, 1);
	assert_true(got.damages[0].is_unreadable);
	assert_string_equal(got.damages[0].what, errstr(ENXIO));
	layout_release(&store, &layout);
}

/* A file is read in steps; where one ends in the middle of a frame is nobody's business. */
static void frames_across_the_ends_of_views_are_no_damage(void **state)
{
	struct test_store store;
	struct layout layout;
	struct got got;

	(void)state;
	layout_make(&store, &layout);
	for (size_t before = 0; before < 40; before++) {
		__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
		/* A frame of somebody else puts the first unit there. */
		size_t padding = SEGMENT_SOURCE_STEP_BYTES - before - layout.header_end - 8;
		uint32_t frame[2] = { htole32(0x184d2a50), htole32((uint32_t)padding) };

		strbuf_append(&bytes, layout.bytes.data, layout.header_end);
		strbuf_append(&bytes, frame, sizeof(frame));
		assert_int_equal(strbuf_reserve(&bytes, padding), 0);
		memset(bytes.data + bytes.len, 'x', padding);
		bytes.len += padding;
		strbuf_append(&bytes, layout.bytes.data + layout.header_end,
			      layout.bytes.len - layout.header_end);
		visit_bytes(&store, bytes.data, bytes.len, &got);
		assert_got_range(&got, 0, WINDOW_CNT);
		assert_int_equal(got.damage_cnt, 0);
	}
	layout_release(&store, &layout);
}

static void record_of_unknown_type_without_text_is_skipped_silently(void **state)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	struct test_store store;
	struct layout layout;
	struct got got;
	size_t record_len;

	(void)state;
	layout_make(&store, &layout);
	record_len = layout.end[1] - layout.record[1];
	strbuf_append(&bytes, layout.bytes.data, layout.end[0]);
	strbuf_append(&bytes, layout.bytes.data + layout.record[1], record_len);
	record_patch(bytes.data + layout.end[0], record_len, 999, 7, 0);
	strbuf_append(&bytes, layout.bytes.data + layout.data[1],
		      layout.bytes.len - layout.data[1]);
	visit_bytes(&store, bytes.data, bytes.len, &got);
	assert_got_range(&got, 0, WINDOW_CNT);
	assert_int_equal(got.damage_cnt, 0);
	layout_release(&store, &layout);
}

/* Windows in ascending order, none twice, all real (checked by the collector). */
static void assert_subset(const struct got *got, size_t at_least)
{
	assert_true(got->cnt >= at_least);
	for (size_t i = 1; i < got->cnt; i++)
		assert_true(got->numbers[i] > got->numbers[i - 1]);
	if (got->cnt < WINDOW_CNT)
		assert_true(got->damage_cnt > 0);
}

static void one_flipped_bit_hides_at_most_one_window_and_is_told(void **state)
{
	struct test_store store;
	struct layout layout;
	struct got got;

	(void)state;
	layout_make(&store, &layout);
	srand(11);
	for (size_t at = 0; at < layout.bytes.len; at++) {
		char mask = (char)(1 << rand() % 8);

		layout.bytes.data[at] ^= mask;
		visit_bytes(&store, layout.bytes.data, layout.bytes.len, &got);
		assert_subset(&got, WINDOW_CNT - 1);
		assert_int_equal(got.damage_cnt, 1);
		layout.bytes.data[at] ^= mask;
	}
	layout_release(&store, &layout);
}

static void garbage_never_gives_a_wrong_window(void **state)
{
	struct test_store store;
	struct layout layout;
	struct got got;

	(void)state;
	layout_make(&store, &layout);
	srand(23);
	for (int round = 0; round < 1500; round++) {
		__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
		size_t splices = 1 + (size_t)rand() % 6;

		strbuf_append(&bytes, layout.bytes.data, layout.bytes.len);
		for (size_t i = 0; i < splices; i++) {
			size_t from = (size_t)rand() % bytes.len, to = (size_t)rand() % bytes.len;
			size_t len = (size_t)rand() % 300;

			len = len > bytes.len - from ? bytes.len - from : len;
			len = len > bytes.len - to ? bytes.len - to : len;
			if (rand() % 2)
				memmove(bytes.data + to, bytes.data + from, len);
			else
				for (size_t k = 0; k < len; k++)
					bytes.data[to + k] = (char)rand();
		}
		visit_bytes(&store, bytes.data, bytes.len, &got);
		assert_subset(&got, 0);
	}
	layout_release(&store, &layout);
}

static void incomplete_tail_of_a_live_writer_is_no_damage(void **state)
{
	struct store_writer *writer;
	struct test_store store, copy;
	struct layout layout;
	struct got got;
	char path[256];
	int fd;

	(void)state;
	layout_make(&copy, &layout);
	test_store_make(&store);
	writer = test_writer(&store);
	test_add(writer, 0);
	test_commit(writer);
	/* Stands for a write that is under way. */
	fd = open(test_path(&store, TEST_FILE, path), O_WRONLY | O_APPEND);
	for (size_t len = 1; len < 200; len++) {
		assert_int_equal(fs_write_all(fd, layout.bytes.data + layout.data[1] + len - 1, 1),
				 0);
		test_visit_all(&store, &got);
		assert_got_range(&got, 0, 1);
		assert_int_equal(got.damage_cnt, 0);
	}
	close(fd);
	store_writer__free(writer);
	test_visit_all(&store, &got);
	assert_got_range(&got, 0, 1);
	assert_int_equal(got.damage_cnt, 1);
	assert_string_equal(got.damages[0].what, "torn tail");
	test_store_remove(&store);
	layout_release(&copy, &layout);
}

static void damage_in_the_file_of_a_live_writer_is_told(void **state)
{
	struct store_writer *writer;
	struct test_store store;
	struct got got;
	struct stat st;
	char path[256], byte;
	int fd;

	(void)state;
	test_store_make(&store);
	writer = test_writer(&store);
	test_add(writer, 0);
	test_add(writer, 1);
	test_commit(writer);
	fd = open(test_path(&store, TEST_FILE, path), O_RDWR);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(pread(fd, &byte, 1, st.st_size - 1), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, st.st_size - 1), 1);
	close(fd);
	test_visit_all(&store, &got);
	assert_got_range(&got, 0, 1);
	assert_int_equal(got.damage_cnt, 1);
	store_writer__free(writer);
	test_store_remove(&store);
}

static void decompression_bomb_is_refused(void **state)
{
	const uint64_t huge = (uint64_t)FORMAT_TEXT_MAX_BYTES + 1;
	struct format_commit commit = { .sequence = 1, .text_len = huge };
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	__cleanup_free char *text = calloc(1, huge);
	struct test_store store;
	struct got got;
	size_t bound = ZSTD_compressBound(huge), len;

	(void)state;
	assert_non_null(text);
	assert_int_equal(strbuf_reserve(&bytes, bound), 0);
	len = ZSTD_compress(bytes.data, bound, text, huge, 1);
	assert_false(ZSTD_isError(len));
	bytes.len = len;
	commit.window = number_to_window(0);
	commit.data_len = (uint32_t)len;
	commit.data_crc = crc32c(bytes.data, len);
	assert_int_equal(format_encode_commit(&commit, &bytes), 0);
	test_store_make(&store);
	visit_bytes(&store, bytes.data, bytes.len, &got);
	assert_int_equal(got.cnt, 0);
	assert_int_equal(got.damage_cnt, 1);
	test_store_remove(&store);
}

static void good_file_is_folded_text_to_plain_zstd(void **state)
{
	__cleanup_strbuf struct strbuf expected = STRBUF_INIT, text = STRBUF_INIT;
	ZSTD_DCtx *decoder = ZSTD_createDCtx();
	struct test_store store;
	struct layout layout;
	char out_bytes[997];

	(void)state;
	layout_make(&store, &layout);
	for (uint32_t i = 0; i < WINDOW_CNT; i++) {
		__cleanup_strbuf struct strbuf one = STRBUF_INIT;

		number_to_text(i, &one);
		strbuf_append(&expected, one.data, one.len);
	}
	ZSTD_inBuffer in = { layout.bytes.data, layout.bytes.len, 0 };

	while (in.pos < in.size) {
		ZSTD_outBuffer out = { out_bytes, sizeof(out_bytes), 0 };

		assert_false(ZSTD_isError(ZSTD_decompressStream(decoder, &out, &in)));
		strbuf_append(&text, out_bytes, out.pos);
	}
	assert_string_equal(text.data, expected.data);
	ZSTD_freeDCtx(decoder);
	layout_release(&store, &layout);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file_cut_anywhere_gives_the_windows_before_the_cut),
		cmocka_unit_test(bytes_behind_the_last_record_are_torn),
		cmocka_unit_test(zero_filled_tail_is_damage_and_no_text),
		cmocka_unit_test(bad_data_hides_only_its_own_window),
		cmocka_unit_test(record_appended_to_a_torn_one_is_found),
		cmocka_unit_test(lost_block_hides_only_what_was_in_it),
		cmocka_unit_test(missing_records_are_noticed),
		cmocka_unit_test(stale_records_never_count_twice),
		cmocka_unit_test(data_in_front_of_a_record_without_data_is_told),
		cmocka_unit_test(record_that_claims_data_of_another_is_refused),
		cmocka_unit_test(foreign_skippable_frames_are_passed_over),
		cmocka_unit_test(file_without_header_is_read),
		cmocka_unit_test(what_a_newer_version_wrote_is_refused_or_skipped),
		cmocka_unit_test(file_that_cannot_be_opened_is_told_and_hides_no_other),
		cmocka_unit_test(frames_across_the_ends_of_views_are_no_damage),
		cmocka_unit_test(record_of_unknown_type_without_text_is_skipped_silently),
		cmocka_unit_test(one_flipped_bit_hides_at_most_one_window_and_is_told),
		cmocka_unit_test(garbage_never_gives_a_wrong_window),
		cmocka_unit_test(incomplete_tail_of_a_live_writer_is_no_damage),
		cmocka_unit_test(damage_in_the_file_of_a_live_writer_is_told),
		cmocka_unit_test(decompression_bomb_is_refused),
		cmocka_unit_test(good_file_is_folded_text_to_plain_zstd),
	};

	return cmocka_run_group_tests_name("store_damage", tests, NULL, NULL);
}
