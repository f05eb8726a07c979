// SPDX-License-Identifier: Apache-2.0
/*
 * Damaged merged files: whatever happened to the bytes, each window comes out once if its unit is
 * intact, nothing comes out that was not written, and the damage is told.
 */
#include "tests/unit/merged_testing.h"

#include <zstd.h>

#include "user/store/format/crc32c.h"
#include "user/store/format/format.h"
#include "user/store/format/merged_format.h"

#define UNIT_CNT     3
#define UNIT_WINDOWS 2
#define WINDOW_CNT   (UNIT_CNT * UNIT_WINDOWS)

/* Where things are in the intact file. */
struct layout {
	struct strbuf bytes;
	size_t units_begin;
	size_t begin[UNIT_CNT]; /* lines record */
	size_t data[UNIT_CNT];
	size_t rows[UNIT_CNT];
	size_t end[UNIT_CNT];
	size_t notes;
	size_t index;
	size_t table;
};

static size_t frame_len(const struct strbuf *bytes, size_t at)
{
	size_t len = ZSTD_findFrameCompressedSize(bytes->data + at, bytes->len - at);

	assert_false(ZSTD_isError(len));
	return len;
}

static void layout_make(struct test_store *store, struct layout *layout)
{
	static const char lines[] = "work_[j];Work.java:7 3\n";
	const struct merged_options options = { 0 };
	struct merged_writer *writer;
	size_t at = 0;
	int fd;

	memset(layout, 0, sizeof(*layout));
	test_store_make(store);
	writer = merged_begin(store, TEST_FILE, &options, NULL, 0, &fd);
	for (uint32_t number = 0; number < WINDOW_CNT; number++) {
		__cleanup_strbuf struct strbuf text = STRBUF_INIT;
		struct window window = number_to_window(number);

		number_to_text(number, &text);
		window.lines = lines;
		window.lines_len = sizeof(lines) - 1;
		assert_int_equal(merged_writer__add(writer, &window, text.data, text.len), 0);
		if (number % UNIT_WINDOWS == UNIT_WINDOWS - 1)
			assert_int_equal(merged_writer__end_unit(writer), 0);
	}
	assert_int_equal(merged_writer__note_damage(writer, "v1/cpu/x.zst", 4711, 99, "torn tail"),
			 0);
	merged_end(writer, fd);
	test_read(store, TEST_FILE, &layout->bytes);
	at += frame_len(&layout->bytes, at);
	at += frame_len(&layout->bytes, at);
	layout->units_begin = at;
	for (int i = 0; i < UNIT_CNT; i++) {
		layout->begin[i] = at;
		layout->data[i] = at += frame_len(&layout->bytes, at);
		layout->rows[i] = at += frame_len(&layout->bytes, at);
		layout->end[i] = at += frame_len(&layout->bytes, at);
	}
	layout->notes = at;
	layout->index = at += frame_len(&layout->bytes, at);
	layout->table = at += frame_len(&layout->bytes, at);
	assert_int_equal(at + frame_len(&layout->bytes, at), layout->bytes.len);
}

static void layout_release(struct test_store *store, struct layout *layout)
{
	strbuf_release(&layout->bytes);
	test_store_remove(store);
}

/* Notes are told as damage of another file: they are counted apart. */
struct got_merged {
	struct got got; /* must be first */
	size_t note_cnt;
	size_t lines_cnt;
};

static void got_merged_damage(void *ctx, const struct store_damage *damage)
{
	struct got_merged *got = ctx;

	if (strcmp(damage->path, "v1/cpu/x.zst") == 0) {
		assert_int_equal(damage->offset, 4711);
		assert_int_equal(damage->bytes, 99);
		assert_string_equal(damage->what, "torn tail");
		got->note_cnt++;
		return;
	}
	assert_string_equal(damage->path, TEST_FILE);
	got_damage(&got->got, damage);
}

static int got_merged_window(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct got_merged *got = ctx;

	got->lines_cnt += window->lines_len != 0;
	return got_window(&got->got, window, text, len);
}

static void visit_bytes(const struct test_store *store, const void *bytes, size_t len,
			uint64_t merge_ns, struct got_merged *got)
{
	const struct store_visitor visitor = {
		.ctx = got,
		.wants_lines = true,
		.wants_cells = true,
		.wants_threads = true,
		.wants_ticks = true,
		.merge_ns = merge_ns,
		.window = got_merged_window,
		.damage = got_merged_damage,
	};
	struct store_reader *reader;

	test_write(store, TEST_FILE, bytes, len);
	memset(got, 0, sizeof(*got));
	assert_int_equal(store_reader__open(store->dir, &reader), 0);
	assert_int_equal(store_reader__visit(reader, 0, UINT64_MAX, &visitor), 0);
	store_reader__free(reader);
	assert_int_equal(got->got.wrong_cnt, 0);
}

/* No window twice, and all of the units that `is_lost` does not name. */
static void assert_units(const struct got *got, const bool is_lost[static UNIT_CNT])
{
	uint32_t seen[WINDOW_CNT] = { 0 };

	for (size_t i = 0; i < got->cnt; i++) {
		assert_true(got->numbers[i] < WINDOW_CNT);
		seen[got->numbers[i]]++;
	}
	for (uint32_t i = 0; i < WINDOW_CNT; i++)
		assert_int_equal(seen[i], is_lost[i / UNIT_WINDOWS] ? 0 : 1);
}

static void intact_file_is_read_without_damage(void **state)
{
	static const bool none[UNIT_CNT] = { false };
	struct got_merged got;
	struct test_store store;
	struct layout layout;

	(void)state;
	layout_make(&store, &layout);
	/* Each window is a track of its own: merging changes nothing. */
	for (int i = 0; i < 2; i++) {
		visit_bytes(&store, layout.bytes.data, layout.bytes.len, i ? UINT64_MAX : 0, &got);
		assert_units(&got.got, none);
		assert_int_equal(got.got.damage_cnt, 0);
		assert_int_equal(got.note_cnt, 1);
		assert_int_equal(got.lines_cnt, WINDOW_CNT);
	}
	layout_release(&store, &layout);
}

static void file_cut_anywhere_gives_the_units_before_the_cut(void **state)
{
	struct got_merged got;
	struct test_store store;
	struct layout layout;

	(void)state;
	layout_make(&store, &layout);
	for (size_t len = 0; len < layout.bytes.len; len++) {
		bool is_lost[UNIT_CNT];

		for (int i = 0; i < UNIT_CNT; i++)
			is_lost[i] = layout.end[i] > len;
		visit_bytes(&store, layout.bytes.data, len, 0, &got);
		assert_units(&got.got, is_lost);
		assert_int_equal(got.note_cnt, len >= layout.index);
		/* From its second record on it is known that something must follow. */
		if (len >= layout.units_begin && len != layout.table)
			assert_true(got.got.damage_cnt > 0);
	}
	layout_release(&store, &layout);
}

static void flipped_bit_hides_at_most_one_unit_and_is_told(void **state)
{
	struct got_merged got;
	struct test_store store;
	struct layout layout;

	(void)state;
	layout_make(&store, &layout);
	for (size_t at = 0; at < layout.bytes.len; at++) {
		char *byte = &layout.bytes.data[at];
		bool is_lost[UNIT_CNT] = { false };
		uint32_t seen[WINDOW_CNT] = { 0 };

		*byte ^= (char)(1 << at % 8);
		visit_bytes(&store, layout.bytes.data, layout.bytes.len, at % 2 ? UINT64_MAX : 0,
			    &got);
		*byte ^= (char)(1 << at % 8);
		for (int i = 0; i < UNIT_CNT; i++)
			is_lost[i] = at >= layout.data[i] && at < layout.end[i];
		/* What stands in front of a unit, or behind it, is no reason to lose it. */
		for (size_t i = 0; i < got.got.cnt; i++)
			seen[got.got.numbers[i]]++;
		for (uint32_t i = 0; i < WINDOW_CNT; i++)
			assert_int_equal(seen[i], is_lost[i / UNIT_WINDOWS] ? 0 : 1);
		/* A file goes by its index: header and sources are then not all that is known. */
		if (at >= layout.units_begin && at < layout.table)
			assert_true(got.got.damage_cnt + (got.lines_cnt < WINDOW_CNT) > 0);
	}
	layout_release(&store, &layout);
}

static void zero_filled_tail_is_damage(void **state)
{
	struct got_merged got;
	struct test_store store;
	struct layout layout;

	(void)state;
	layout_make(&store, &layout);
	for (size_t cut = layout.units_begin; cut < layout.bytes.len; cut += 7) {
		__cleanup_free char *bytes = calloc(1, layout.bytes.len + 5000);
		bool is_lost[UNIT_CNT];

		memcpy(bytes, layout.bytes.data, cut);
		for (int i = 0; i < UNIT_CNT; i++)
			is_lost[i] = layout.end[i] > cut;
		visit_bytes(&store, bytes, layout.bytes.len + 5000, 0, &got);
		assert_units(&got.got, is_lost);
		assert_true(got.got.damage_cnt > 0);
	}
	layout_release(&store, &layout);
}

static void lost_blocks_hide_only_what_was_in_them(void **state)
{
	struct got_merged got;
	struct test_store store;
	struct layout layout;

	(void)state;
	layout_make(&store, &layout);
	/* Bytes vanish in the middle: the index leads nowhere. */
	for (size_t at = layout.begin[1]; at < layout.end[1]; at += 3) {
		static const bool second[UNIT_CNT] = { false, true, false };
		__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;

		strbuf_append(&bytes, layout.bytes.data, at);
		strbuf_append(&bytes, layout.bytes.data + layout.end[1],
			      layout.bytes.len - layout.end[1]);
		visit_bytes(&store, bytes.data, bytes.len, 0, &got);
		assert_units(&got.got, second);
		assert_true(got.got.damage_cnt > 0);
		assert_int_equal(got.note_cnt, 1);
	}
	layout_release(&store, &layout);
}

static void file_without_index_is_walked(void **state)
{
	static const bool none[UNIT_CNT] = { false };
	struct got_merged got;
	struct test_store store;
	struct layout layout;

	(void)state;
	layout_make(&store, &layout);
	visit_bytes(&store, layout.bytes.data, layout.index, UINT64_MAX, &got);
	assert_units(&got.got, none);
	assert_int_equal(got.got.damage_cnt, 1);
	assert_string_equal(got.got.damages[0].what, "index is missing");
	assert_int_equal(got.got.damages[0].offset, layout.index);
	/* Without the seek table it is found where it stands. */
	visit_bytes(&store, layout.bytes.data, layout.table, UINT64_MAX, &got);
	assert_units(&got.got, none);
	assert_int_equal(got.got.damage_cnt, 0);
	/* Bytes behind the table hide it, and are told. */
	strbuf_puts(&layout.bytes, "abc");
	visit_bytes(&store, layout.bytes.data, layout.bytes.len, UINT64_MAX, &got);
	assert_units(&got.got, none);
	assert_int_equal(got.got.damage_cnt, 1);
	assert_string_equal(got.got.damages[0].what, "torn tail");
	layout_release(&store, &layout);
}

static void unit_cut_out_cleanly_is_missed(void **state)
{
	static const bool second[UNIT_CNT] = { false, true, false };
	static const bool last[UNIT_CNT] = { false, false, true };
	struct got_merged got;
	struct test_store store;
	struct layout layout;

	(void)state;
	layout_make(&store, &layout);
	for (int i = 1; i < UNIT_CNT; i++) {
		__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;

		strbuf_append(&bytes, layout.bytes.data, layout.begin[i]);
		strbuf_append(&bytes, layout.bytes.data + layout.end[i],
			      layout.bytes.len - layout.end[i]);
		visit_bytes(&store, bytes.data, bytes.len, 0, &got);
		assert_units(&got.got, i == 1 ? second : last);
		assert_int_equal(got.got.damage_cnt, 1);
		assert_string_equal(got.got.damages[0].what, "records are missing");
	}
	layout_release(&store, &layout);
}

/* ---- records with a right checksum and wrong content ---- */

static void seal(struct layout *layout, size_t record, size_t end)
{
	uint8_t *bytes = (uint8_t *)layout->bytes.data;
	uint32_t crc = htole32(crc32c(bytes + record, end - record - 4));

	memcpy(bytes + end - 4, &crc, sizeof(crc));
}

/* Offsets of the fixed fields of a rows record behind its envelope: FORMAT.md. */
#define ROWS_PAYLOAD  28
#define ROWS_FIXED    (ROWS_PAYLOAD + 28)
#define ROWS_HEAD_END (ROWS_FIXED + 56)
#define ROWS_HEAD_CRC (ROWS_HEAD_END + 4)
#define ROWS_FRAME    (ROWS_HEAD_CRC + 4)
#define ROWS_INCOMPAT 20

static void seal_rows(struct layout *layout, int unit)
{
	uint8_t *bytes = (uint8_t *)layout->bytes.data + layout->rows[unit];
	uint32_t crc = htole32(crc32c(bytes + ROWS_PAYLOAD, ROWS_HEAD_CRC - ROWS_PAYLOAD));

	memcpy(bytes + ROWS_HEAD_CRC, &crc, sizeof(crc));
	seal(layout, layout->rows[unit], layout->end[unit]);
}

static void rows_that_lie_hide_only_their_unit(void **state)
{
	static const bool second[UNIT_CNT] = { false, true, false };
	struct got_merged got;
	struct test_store store;
	struct layout layout;

	(void)state;
	layout_make(&store, &layout);
	/* Every byte of the head's fields and of the compressed rows, with checksums made right. */
	for (size_t at = ROWS_FIXED; at < layout.end[1] - layout.rows[1] - 4; at++) {
		char *byte = &layout.bytes.data[layout.rows[1] + at];

		if (at >= ROWS_HEAD_END && at < ROWS_FRAME)
			continue;
		for (int change = 0; change < 2; change++) {
			*byte ^= (char)(change ? 0xff : 1);
			seal_rows(&layout, 1);
			for (int i = 0; i < 2; i++) {
				visit_bytes(&store, layout.bytes.data, layout.bytes.len,
					    i ? UINT64_MAX : 0, &got);
				/* Reserved bytes and the word for the lines may be anything. */
				if (got.got.cnt == WINDOW_CNT)
					continue;
				assert_units(&got.got, second);
				assert_true(got.got.damage_cnt > 0);
			}
			*byte ^= (char)(change ? 0xff : 1);
		}
	}
	layout_release(&store, &layout);
}

static void rows_of_a_newer_version_are_refused(void **state)
{
	static const bool second[UNIT_CNT] = { false, true, false };
	struct got_merged got;
	struct test_store store;
	struct layout layout;

	(void)state;
	layout_make(&store, &layout);
	layout.bytes.data[layout.rows[1] + ROWS_INCOMPAT] = 1;
	seal_rows(&layout, 1);
	for (size_t len = layout.bytes.len; len >= layout.table;
	     len -= layout.bytes.len - layout.table) {
		visit_bytes(&store, layout.bytes.data, len, 0, &got);
		assert_units(&got.got, second);
		assert_int_equal(got.got.damage_cnt, 1);
		assert_string_equal(got.got.damages[0].what,
				    "record needs a newer version of jbpf");
	}
	layout_release(&store, &layout);
}

static void garbage_never_gives_a_wrong_window(void **state)
{
	struct random_windows random;
	struct got_merged got;
	struct test_store store;
	struct layout layout;

	(void)state;
	layout_make(&store, &layout);
	random_init(&random, 7, 1, 1);
	for (int round = 0; round < 300; round++) {
		__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
		uint32_t seen[WINDOW_CNT] = { 0 };

		strbuf_append(&bytes, layout.bytes.data, layout.bytes.len);
		for (uint64_t i = random_below(&random, 6); i < 6; i++) {
			size_t at = random_below(&random, bytes.len);
			size_t len = random_below(&random, bytes.len - at);

			len = len > 300 ? 300 : len;
			for (size_t j = 0; j < len; j++)
				bytes.data[at + j] = (char)random_next(&random);
		}
		visit_bytes(&store, bytes.data, bytes.len, round % 2 ? UINT64_MAX : 0, &got);
		for (size_t i = 0; i < got.got.cnt; i++)
			assert_int_equal(++seen[got.got.numbers[i]], 1);
	}
	layout_release(&store, &layout);
}

/* ---- other tools ---- */

static void good_file_is_folded_text_to_plain_zstd(void **state)
{
	char path[256], command[600], line[4096];
	uint64_t samples = 0, expected = 0;
	struct test_store store;
	struct layout layout;
	FILE *output;

	(void)state;
	layout_make(&store, &layout);
	snprintf(command, sizeof(command), "zstd -tq %s && zstdcat %s",
		 test_path(&store, TEST_FILE, path), path);
	output = popen(command, "r");
	assert_non_null(output);
	while (fgets(line, sizeof(line), output)) {
		assert_int_equal(strncmp(line, "java;Main.main_[j];work_", 24), 0);
		samples += strtoull(strrchr(line, ' ') + 1, NULL, 10);
	}
	assert_int_equal(pclose(output), 0);
	for (uint32_t number = 0; number < WINDOW_CNT; number++) {
		for (uint32_t i = 0; i < 3 + number % 3; i++)
			expected += number + i + 1;
	}
	assert_int_equal(samples, expected);
	layout_release(&store, &layout);
}

/* As the description of zstd's seekable format has it. */
static void seek_table_lists_every_frame(void **state)
{
	struct test_store store;
	struct layout layout;
	const uint8_t *table;
	size_t at = 0, len, cnt;

	(void)state;
	layout_make(&store, &layout);
	table = (const uint8_t *)layout.bytes.data + layout.table;
	len = layout.bytes.len - layout.table;
	assert_int_equal(format_get_u32(table), 0x184d2a5e);
	assert_int_equal(format_get_u32(table + 4), len - 8);
	assert_int_equal(format_get_u32(table + len - 4), 0x8f92eab1);
	cnt = format_get_u32(table + len - 9);
	assert_int_equal(len, 8 + cnt * 8 + 9);
	for (size_t i = 0; i < cnt; i++) {
		const char *frame = layout.bytes.data + at;
		bool is_data = format_get_u32((const uint8_t *)frame) == FORMAT_MAGIC_DATA;

		assert_int_equal(format_get_u32(table + 8 + i * 8), frame_len(&layout.bytes, at));
		assert_int_equal(format_get_u32(table + 12 + i * 8),
				 is_data ? ZSTD_getFrameContentSize(frame, layout.bytes.len - at) :
					   0);
		at += frame_len(&layout.bytes, at);
	}
	assert_int_equal(at, layout.table);
	layout_release(&store, &layout);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intact_file_is_read_without_damage),
		cmocka_unit_test(file_cut_anywhere_gives_the_units_before_the_cut),
		cmocka_unit_test(flipped_bit_hides_at_most_one_unit_and_is_told),
		cmocka_unit_test(zero_filled_tail_is_damage),
		cmocka_unit_test(lost_blocks_hide_only_what_was_in_them),
		cmocka_unit_test(file_without_index_is_walked),
		cmocka_unit_test(unit_cut_out_cleanly_is_missed),
		cmocka_unit_test(rows_that_lie_hide_only_their_unit),
		cmocka_unit_test(rows_of_a_newer_version_are_refused),
		cmocka_unit_test(garbage_never_gives_a_wrong_window),
		cmocka_unit_test(good_file_is_folded_text_to_plain_zstd),
		cmocka_unit_test(seek_table_lists_every_frame),
	};

	return cmocka_run_group_tests_name("store_merged_damage", tests, NULL, NULL);
}
