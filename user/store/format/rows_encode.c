// SPDX-License-Identifier: Apache-2.0
/* Writes windows as columns; see rows_table.h and rows_columns.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/model/cells.h"
#include "user/store/format/rows_table.h"
#include "user/store/format/rows_columns.h"
#include "user/util/cleanup.h"
#include "user/util/strtab.h"

void rows_entry_columns_release(struct rows_entry_columns *columns)
{
	strbuf_release(&columns->cnts);
	strbuf_release(&columns->lines);
	strbuf_release(&columns->counts);
}

void rows_thread_columns_release(struct rows_thread_columns *columns)
{
	strbuf_release(&columns->homes);
	rows_entry_columns_release(&columns->parts);
	strbuf_release(&columns->threads);
}

struct table_writer {
	const struct rows_input *input;
	struct strbuf *out;
	struct strtab *strings;
	const struct window **tracks; /* first row of each */
	uint32_t *track_rows;
	uint32_t track_cnt;
	struct strbuf column; /* scratch */
};

static bool is_all_zero(const struct strbuf *bytes)
{
	for (size_t i = 0; i < bytes->len; i++) {
		if (bytes->data[i])
			return false;
	}
	return true;
}

static void put_section(struct table_writer *writer, unsigned int section,
			const struct strbuf *bytes)
{
	strbuf_fail(writer->out, strbuf_error(bytes));
	if (bytes->len == 0)
		return;
	varint_put(writer->out, section);
	varint_put(writer->out, bytes->len);
	strbuf_add(writer->out, bytes);
}

/* A value for each row; zeros are what readers begin with. */
static void put_values(struct table_writer *writer, unsigned int section,
		       const struct strbuf *values)
{
	if (strbuf_error(values) || !is_all_zero(values))
		put_section(writer, section, values);
}

static void put_column(struct table_writer *writer, const struct window_field *field,
		       const struct window *const *windows, uint32_t cnt)
{
	uint64_t before = 0;

	strbuf_clear(&writer->column);
	for (uint32_t i = 0; i < cnt; i++) {
		uint64_t value = window_number_get(windows[i], field->offset, field->bytes);

		varint_put(&writer->column, field->is_delta ? zigzag(value - before) : value);
		before = value;
	}
	put_values(writer, field->section, &writer->column);
}

/* Those of the sections `first` to `last`. */
static void put_columns(struct table_writer *writer, uint32_t first, uint32_t last,
			const struct window *const *windows, uint32_t cnt)
{
	for (uint32_t section = first; section <= last; section++) {
		struct window_field field;

		if (rows_column(section, &field))
			put_column(writer, &field, windows, cnt);
	}
}

/* The difference between the two clocks is nearly constant. */
static void put_starts(struct table_writer *writer)
{
	const struct window *const *rows = writer->input->rows;
	__cleanup_strbuf struct strbuf boots = STRBUF_INIT;
	uint64_t difference = 0;
	uint32_t row = 0;

	strbuf_clear(&writer->column);
	for (uint32_t i = 0; i < writer->track_cnt; i++) {
		for (uint32_t j = 0; j < writer->track_rows[i]; j++, row++) {
			uint64_t start = rows[row]->start_unix_ns;
			uint64_t expected = rows_predict_start(row ? rows[row - 1] : NULL, j > 0);

			varint_put(&writer->column, zigzag(start - expected));
			varint_put(&boots, zigzag(rows[row]->start_boot_ns - start - difference));
			difference = rows[row]->start_boot_ns - start;
		}
	}
	put_values(writer, SECTION_START, &writer->column);
	put_values(writer, SECTION_START_BOOT, &boots);
}

/* Skips and counts apart: each compresses better among its like. */
struct cell_columns {
	struct strbuf cnts;
	struct strbuf skips;
	struct strbuf counts;
};

/* Broken cells are none, as readers have it. */
static void put_row_cells(const struct window *row, struct cell_columns *columns)
{
	struct cells_reader reader = cells_reader_init(row->cells, row->cells_len);
	size_t skips = columns->skips.len, counts = columns->counts.len;
	uint64_t cnt = 0;
	uint32_t next = 0;
	struct cell cell;

	for (; cells_next(&reader, &cell); cnt++) {
		varint_put(&columns->skips, cell.index - next);
		varint_put(&columns->counts, cell.count);
		next = cell.index + 1;
	}
	if (reader.is_bad && cnt) {
		strbuf_truncate(&columns->skips, skips);
		strbuf_truncate(&columns->counts, counts);
		cnt = 0;
	}
	varint_put(&columns->cnts, cnt);
}

static void put_cells(struct table_writer *writer)
{
	const struct rows_input *input = writer->input;
	struct cell_columns columns = { .cnts = STRBUF_INIT };

	for (uint32_t i = 0; i < input->row_cnt; i++)
		put_row_cells(input->rows[i], &columns);
	put_values(writer, SECTION_CELL_CNTS, &columns.cnts);
	put_section(writer, SECTION_CELL_SKIPS, &columns.skips);
	put_section(writer, SECTION_CELL_COUNTS, &columns.counts);
	strbuf_release(&columns.cnts);
	strbuf_release(&columns.skips);
	strbuf_release(&columns.counts);
}

static void put_entries(struct table_writer *writer, const struct rows_entry_columns *entries,
			enum rows_section cnts)
{
	if (!entries)
		return;
	put_values(writer, cnts, &entries->cnts);
	put_section(writer, cnts + 1, &entries->lines);
	put_section(writer, cnts + 2, &entries->counts);
}

/* NULL is no string. */
static void put_string_id(struct table_writer *writer, const void *bytes, size_t len)
{
	uint32_t id = 0;

	if (bytes)
		strbuf_fail(&writer->column, strtab__intern(writer->strings, bytes, len, &id));
	varint_put(&writer->column, bytes ? (uint64_t)id + 1 : 0);
}

static void put_threads(struct table_writer *writer)
{
	const struct rows_thread_columns *threads = writer->input->threads;
	uint32_t cnt = threads && threads->names ? strtab__count(threads->names) : 0;

	if (!cnt)
		return;
	strbuf_clear(&writer->column);
	for (uint32_t i = 0; i < cnt; i++) {
		size_t len;
		const char *name = strtab__get(threads->names, i, &len);

		put_string_id(writer, name, len);
	}
	put_section(writer, SECTION_THREAD_NAMES, &writer->column);
	put_values(writer, SECTION_THREAD_HOMES, &threads->homes);
	put_entries(writer, &threads->parts, SECTION_THREAD_CNTS);
	put_section(writer, SECTION_THREADS, &threads->threads);
}

/* For each label that any track has: its name, then the value of each track. */
static void put_labels(struct table_writer *writer)
{
	strbuf_clear(&writer->column);
	for (int label = 0; label < WINDOW_LABEL_CNT; label++) {
		const char *name = window_label_name((enum window_label)label);
		bool is_used = false;

		for (uint32_t i = 0; i < writer->track_cnt && !is_used; i++)
			is_used = writer->tracks[i]->labels[label] != NULL;
		if (!is_used)
			continue;
		put_string_id(writer, name, strlen(name));
		for (uint32_t i = 0; i < writer->track_cnt; i++) {
			const char *text = writer->tracks[i]->labels[label];

			put_string_id(writer, text, text ? strlen(text) : 0);
		}
	}
	put_section(writer, SECTION_TRACK_LABELS, &writer->column);
}

static void put_tracks(struct table_writer *writer)
{
	strbuf_clear(&writer->column);
	for (uint32_t i = 0; i < writer->track_cnt; i++)
		varint_put(&writer->column, writer->track_rows[i]);
	put_section(writer, SECTION_TRACK_ROWS, &writer->column);
	strbuf_clear(&writer->column);
	for (uint32_t i = 0; i < writer->track_cnt; i++)
		put_string_id(writer, writer->tracks[i]->boot_id,
			      sizeof(writer->tracks[i]->boot_id));
	put_section(writer, SECTION_TRACK_BOOT_ID, &writer->column);
	put_columns(writer, SECTION_TRACK_FIRST, SECTION_TRACK_LAST, writer->tracks,
		    writer->track_cnt);
	put_labels(writer);
}

static void put_rows(struct table_writer *writer)
{
	const struct rows_input *input = writer->input;

	put_starts(writer);
	put_columns(writer, SECTION_ROW_FIRST, SECTION_ROW_LAST, input->rows, input->row_cnt);
	put_columns(writer, SECTION_LOST, SECTION_CNT - 1, input->rows, input->row_cnt);
	put_cells(writer);
	put_entries(writer, input->stacks, SECTION_STACK_CNTS);
	put_entries(writer, input->sources, SECTION_SOURCE_CNTS);
	put_threads(writer);
}

static int find_tracks(struct table_writer *writer)
{
	const struct rows_input *input = writer->input;

	writer->tracks = reallocarray(NULL, input->row_cnt + 1ul, sizeof(*writer->tracks));
	writer->track_rows = calloc(input->row_cnt + 1ul, sizeof(*writer->track_rows));
	if (!writer->tracks || !writer->track_rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < input->row_cnt; i++) {
		if (i == 0 || !rows_is_same_track(input->rows[i - 1], input->rows[i]))
			writer->tracks[writer->track_cnt++] = input->rows[i];
		writer->track_rows[writer->track_cnt - 1]++;
	}
	return 0;
}

/* Strings end with a NUL, so that readers may borrow them. */
static void put_strings(const struct strtab *strings, struct strbuf *out)
{
	uint32_t cnt = strtab__count(strings);

	varint_put(out, cnt);
	for (uint32_t i = 0; i < cnt; i++) {
		size_t len;
		const char *text = strtab__get(strings, i, &len);

		varint_put(out, len);
		strbuf_append(out, text, len + 1);
	}
}

int rows_table_encode(const struct rows_input *input, struct strbuf *out, uint32_t *track_cnt_out)
{
	__cleanup_strbuf struct strbuf sections = STRBUF_INIT;
	struct table_writer writer = { .input = input, .out = &sections };
	struct strbuf_mark start = strbuf_mark(out);
	int err;

	writer.strings = strtab__new();
	err = writer.strings ? find_tracks(&writer) : -ENOMEM;
	if (!err) {
		put_tracks(&writer);
		put_rows(&writer);
		put_strings(writer.strings, out);
		strbuf_add(out, &sections);
	}
	err = strbuf_settle(out, start, err);
	if (!err)
		*track_cnt_out = writer.track_cnt;
	strtab__free(writer.strings);
	strbuf_release(&writer.column);
	free(writer.tracks);
	free(writer.track_rows);
	return err;
}
