// SPDX-License-Identifier: Apache-2.0
/*
 * Feeds the segment reader files of both layouts that are damaged, or hostile: with checksums made
 * right again where the input asks for it, so that what is behind them is reached. Whatever it says,
 * windows must be well-formed, and damage must lie in the file. ASan and UBSan see the rest.
 *
 *     make fuzz                       runs every target for FUZZ_SECONDS (60)
 *     build-fuzz/fuzz_store FILE      runs one input again
 *
 * Input: one byte of choices (bits 0-1: how far windows are merged, 2: checksums are made right, 3:
 * rows are taken out of their compression first), then a file. The corpus has the golden files.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/must.h"
#include "user/model/cells.h"
#include "user/model/ticks.h"
#include "user/store/format/crc32c.h"
#include "user/store/format/merged_format.h"
#include "user/store/format/rows_table.h"
#include "user/store/segment/segment_reader.h"
#include "user/util/cleanup.h"

#define CHOICE_MERGE	 3u
#define CHOICE_CHECKSUMS 4u
#define CHOICE_TABLE	 8u
#define WINDOWS_MAX	 2000 /* enough of one input */

#define ROWS_PAYLOAD	28
#define ROWS_FIXED	(ROWS_PAYLOAD + 24)  /* where the length of the fixed fields is */
#define ROWS_HEAD_BYTES (ROWS_FIXED + 4 + 4) /* without them, up to the checksum */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

struct seen {
	uint64_t size;
	uint64_t windows;
	uint64_t sum;
};

static void read_labels(struct seen *seen, const struct window *window)
{
	for (int i = 0; i < WINDOW_LABEL_CNT; i++) {
		if (window->labels[i])
			seen->sum += strlen(window->labels[i]);
	}
}

static bool want(void *ctx, const struct window *window)
{
	read_labels(ctx, window);
	return true;
}

static int take_window(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct ticks_reader ticks;
	struct seen *seen = ctx;

	read_labels(seen, window);
	for (size_t i = 0; i < len; i++)
		seen->sum += (unsigned char)text[i];
	must(!window->lines == !window->lines_len);
	for (size_t i = 0; i < window->lines_len; i++)
		seen->sum += (unsigned char)window->lines[i];
	for (uint32_t i = 0; i < window->cells_len; i++)
		seen->sum += window->cells[i];
	must(!window->ticks == !window->ticks_len);
	must(!window->ticks_len ||
	     ticks_reader_open(&ticks, window->ticks, (size_t)window->ticks_len) == 0);
	return ++seen->windows >= WINDOWS_MAX;
}

static void take_damage(void *ctx, const char *path, uint64_t offset, uint64_t bytes,
			const char *what)
{
	struct seen *seen = ctx;

	must(what && strlen(what) <= 256);
	if (path)
		must(strlen(path) <= 256);
	else
		must(offset <= seen->size && bytes <= seen->size - offset);
}

static void seal(uint8_t *bytes, size_t len)
{
	uint32_t crc = htole32(crc32c(bytes, len - 4));

	memcpy(bytes + len - 4, &crc, sizeof(crc));
}

/* Of a rows record, the head has a checksum of its own. */
static void seal_rows_head(uint8_t *record, size_t len)
{
	size_t fixed_len = len > ROWS_FIXED + 4 ? format_get_u32(record + ROWS_FIXED) : len;

	if (fixed_len < len && len - fixed_len > ROWS_HEAD_BYTES + 4)
		seal(record + ROWS_PAYLOAD, ROWS_HEAD_BYTES + fixed_len + 4 - ROWS_PAYLOAD);
}

/* Makes right what a changed record's checksums say. */
static void seal_all(uint8_t *bytes, size_t len)
{
	for (size_t at = 0; at + FORMAT_RECORD_MIN_BYTES <= len; at++) {
		size_t record_len;

		if (format_get_u32(bytes + at) != FORMAT_MAGIC_RECORD)
			continue;
		record_len = FORMAT_FRAME_HEADER_BYTES + (size_t)format_get_u32(bytes + at + 4);
		if (record_len < FORMAT_RECORD_MIN_BYTES || record_len > len - at)
			continue;
		if (bytes[at + 12] == FORMAT_TYPE_ROWS)
			seal_rows_head(bytes + at, record_len);
		seal(bytes + at, record_len);
		at += record_len - 1;
	}
}

static void walk(const uint8_t *data, size_t len, uint8_t choices)
{
	static const uint64_t merges[] = { 0, 60ull * 1000000000ull, UINT64_MAX, UINT64_MAX };
	struct seen seen = { .size = len };
	const struct segment_visitor visitor = {
		.ctx = &seen,
		.wants_lines = true,
		.wants_cells = (choices & CHOICE_MERGE) != 3,
		.wants_threads = true,
		.wants_ticks = true,
		.merge_ns = merges[choices & CHOICE_MERGE],
		.since_unix_ns = choices & 16 ? 1795262405000000000ull : 0,
		.checks_all = choices & 32,
		.want = want,
		.window = take_window,
		.damage = take_damage,
	};
	struct segment_reader *reader = segment_reader__new();
	struct segment_identity identity;
	struct segment_end end;
	int fd = memfd_create("fuzz_store", MFD_CLOEXEC);

	must(reader && fd >= 0);
	must(write(fd, data, len) == (ssize_t)len);
	(void)segment_reader__walk(reader, fd, &visitor);
	must(segment_reader__identify(reader, fd, &identity) == 0);
	segment_identity_release(&identity);
	must(segment_reader__verify(reader, fd, &end) == 0);
	must(!end.is_clean || end.bytes == len);
	segment_reader__free(reader);
	close(fd);
}

/* A table as it is when its checksum and compression are past. */
static uint64_t parse_table(const uint8_t *data, size_t len)
{
	struct rows_table table;
	uint64_t sum = 0;

	if (len < 4 || rows_table_parse(data + 4, len - 4, data[0], data[1], &table))
		return 0;
	for (uint32_t i = 0; i < table.row_cnt; i++) {
		struct cells_reader cells =
			cells_reader_init(table.rows[i].cells, table.rows[i].cells_len);
		uint64_t cnt = rows_entries_begin_row(&table.stacks), count;
		struct cell cell;

		must(table.row_track[i] < table.track_cnt);
		must(i == 0 || table.row_track[i] >= table.row_track[i - 1]);
		while (cells_next(&cells, &cell))
			sum += cell.count;
		must(!cells.is_bad);
		for (uint64_t j = 0; j < cnt && !rows_entries_failed(&table.stacks); j++)
			sum += rows_entries_next(&table.stacks, &count) + count;
	}
	rows_table_release(&table);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	__cleanup_free uint8_t *copy = NULL;

	if (len < 1)
		return 0;
	if (data[0] & CHOICE_TABLE) {
		(void)parse_table(data + 1, len - 1);
		return 0;
	}
	copy = malloc(len);
	must(copy);
	memcpy(copy, data + 1, len - 1);
	if (data[0] & CHOICE_CHECKSUMS)
		seal_all(copy, len - 1);
	walk(copy, len - 1, data[0]);
	return 0;
}
