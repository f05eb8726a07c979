// SPDX-License-Identifier: Apache-2.0
/* Writes windows as columns; see rows_block.h and rows_columns.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/model/cells.h"
#include "user/store/format/rows_block.h"
#include "user/store/format/rows_columns.h"
#include "user/util/cleanup.h"
#include "user/util/strtab.h"

void rows_entry_columns_release(struct rows_entry_columns *columns)
{
	strbuf_release(&columns->cnts);
	strbuf_release(&columns->lines);
	strbuf_release(&columns->counts);
}

struct block_writer {
	const struct rows_input *input;
	struct strbuf *out;
	struct strtab *strings;
	const struct window **series; /* first row of each */
	uint32_t *series_rows;
	uint32_t series_cnt;
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

static int put_section(struct block_writer *writer, unsigned int section,
		       const struct strbuf *bytes)
{
	int err;

	if (bytes->len == 0)
		return 0;
	err = varint_put(writer->out, section);
	if (!err)
		err = varint_put(writer->out, bytes->len);
	return err ? err : strbuf_append(writer->out, bytes->data, bytes->len);
}

/* A value for each row; zeros are what readers begin with. */
static int put_values(struct block_writer *writer, unsigned int section,
		      const struct strbuf *values)
{
	return is_all_zero(values) ? 0 : put_section(writer, section, values);
}

static int put_column(struct block_writer *writer, const struct column *column,
		      const struct window *const *windows, uint32_t cnt)
{
	uint64_t before = 0;
	int err = 0;

	strbuf_clear(&writer->column);
	for (uint32_t i = 0; i < cnt && !err; i++) {
		uint64_t value = rows_column_get(column, windows[i]);

		err = varint_put(&writer->column,
				 column->kind == COLUMN_DELTA ? zigzag(value - before) : value);
		before = value;
	}
	return err ? err : put_values(writer, column->section, &writer->column);
}

/* The difference between the two clocks is nearly constant. */
static int put_starts(struct block_writer *writer)
{
	const struct window *const *rows = writer->input->rows;
	__cleanup_strbuf struct strbuf boots = STRBUF_INIT;
	uint64_t difference = 0;
	uint32_t row = 0;
	int err = 0;

	strbuf_clear(&writer->column);
	for (uint32_t i = 0; i < writer->series_cnt; i++) {
		for (uint32_t j = 0; j < writer->series_rows[i] && !err; j++, row++) {
			uint64_t start = rows[row]->start_unix_ns;
			uint64_t expected = rows_predict_start(row ? rows[row - 1] : NULL, j > 0);

			err = varint_put(&writer->column, zigzag(start - expected));
			if (!err)
				err = varint_put(&boots, zigzag(rows[row]->start_boot_ns - start -
								difference));
			difference = rows[row]->start_boot_ns - start;
		}
	}
	if (!err)
		err = put_values(writer, SECTION_START, &writer->column);
	return err ? err : put_values(writer, SECTION_START_BOOT, &boots);
}

static int put_losses(struct block_writer *writer)
{
	const struct rows_input *input = writer->input;
	int err = 0;

	for (unsigned int i = 0; i < WINDOW_LOSS_CNT && !err; i++) {
		const struct column column = rows_loss_column((enum window_loss)i);

		err = put_column(writer, &column, input->rows, input->row_cnt);
	}
	return err;
}

/* Skips and counts apart: each compresses better among its like. */
struct cell_columns {
	struct strbuf cnts;
	struct strbuf skips;
	struct strbuf counts;
};

/* Broken cells are none, as readers have it. */
static int put_row_cells(const struct window *row, struct cell_columns *columns)
{
	struct cells_reader reader = cells_reader_init(row->cells, row->cells_len);
	size_t skips = columns->skips.len, counts = columns->counts.len;
	uint64_t cnt = 0;
	uint32_t next = 0;
	struct cell cell;
	int err = 0;

	for (; !err && cells_next(&reader, &cell); cnt++) {
		err = varint_put(&columns->skips, cell.index - next);
		if (!err)
			err = varint_put(&columns->counts, cell.count);
		next = cell.index + 1;
	}
	if (!err && reader.is_bad && cnt) {
		strbuf_truncate(&columns->skips, skips);
		strbuf_truncate(&columns->counts, counts);
		cnt = 0;
	}
	return err ? err : varint_put(&columns->cnts, cnt);
}

static int put_cells(struct block_writer *writer)
{
	const struct rows_input *input = writer->input;
	struct cell_columns columns = { .cnts = STRBUF_INIT };
	int err = 0;

	for (uint32_t i = 0; i < input->row_cnt && !err; i++)
		err = put_row_cells(input->rows[i], &columns);
	if (!err)
		err = put_values(writer, SECTION_CELL_CNTS, &columns.cnts);
	if (!err)
		err = put_section(writer, SECTION_CELL_SKIPS, &columns.skips);
	if (!err)
		err = put_section(writer, SECTION_CELL_COUNTS, &columns.counts);
	strbuf_release(&columns.cnts);
	strbuf_release(&columns.skips);
	strbuf_release(&columns.counts);
	return err;
}

static int put_entries(struct block_writer *writer, const struct rows_entry_columns *entries,
		       enum rows_section cnts)
{
	int err;

	if (!entries)
		return 0;
	err = put_values(writer, cnts, &entries->cnts);
	if (!err)
		err = put_section(writer, cnts + 1, &entries->lines);
	return err ? err : put_section(writer, cnts + 2, &entries->counts);
}

static int put_string_id(struct block_writer *writer, const void *bytes, size_t len, bool is_known)
{
	uint32_t id;
	int err;

	if (!is_known)
		return varint_put(&writer->column, 0);
	err = strtab__intern(writer->strings, bytes, len, &id);
	return err ? err : varint_put(&writer->column, (uint64_t)id + 1);
}

/* For each label that any series has: its name, then the value of each series. */
static int put_labels(struct block_writer *writer)
{
	int err = 0;

	strbuf_clear(&writer->column);
	for (int label = 0; label < WINDOW_LABEL_CNT && !err; label++) {
		const char *name = window_label_name((enum window_label)label);
		bool is_used = false;

		for (uint32_t i = 0; i < writer->series_cnt && !is_used; i++)
			is_used = writer->series[i]->labels[label] != NULL;
		if (!is_used)
			continue;
		err = put_string_id(writer, name, strlen(name), true);
		for (uint32_t i = 0; i < writer->series_cnt && !err; i++) {
			const char *text = writer->series[i]->labels[label];

			err = put_string_id(writer, text, text ? strlen(text) : 0, text != NULL);
		}
	}
	return err ? err : put_section(writer, SECTION_SERIES_LABELS, &writer->column);
}

static int put_series(struct block_writer *writer)
{
	int err = 0;

	strbuf_clear(&writer->column);
	for (uint32_t i = 0; i < writer->series_cnt && !err; i++)
		err = varint_put(&writer->column, writer->series_rows[i]);
	if (!err)
		err = put_section(writer, SECTION_SERIES_ROWS, &writer->column);
	strbuf_clear(&writer->column);
	for (uint32_t i = 0; i < writer->series_cnt && !err; i++)
		err = put_string_id(writer, writer->series[i]->boot_id,
				    sizeof(writer->series[i]->boot_id), true);
	if (!err)
		err = put_section(writer, SECTION_SERIES_BOOT_ID, &writer->column);
	for (size_t i = 0; i < ARRAY_SIZE(rows_series_columns) && !err; i++)
		err = put_column(writer, &rows_series_columns[i], writer->series,
				 writer->series_cnt);
	return err ? err : put_labels(writer);
}

static int put_rows(struct block_writer *writer)
{
	const struct rows_input *input = writer->input;
	int err = put_starts(writer);

	for (size_t i = 0; i < ARRAY_SIZE(rows_row_columns) && !err; i++)
		err = put_column(writer, &rows_row_columns[i], input->rows, input->row_cnt);
	if (!err)
		err = put_losses(writer);
	if (!err)
		err = put_cells(writer);
	if (!err)
		err = put_entries(writer, input->stacks, SECTION_STACK_CNTS);
	return err ? err : put_entries(writer, input->sources, SECTION_SOURCE_CNTS);
}

static int find_series(struct block_writer *writer)
{
	const struct rows_input *input = writer->input;

	writer->series = reallocarray(NULL, input->row_cnt + 1ul, sizeof(*writer->series));
	writer->series_rows = calloc(input->row_cnt + 1ul, sizeof(*writer->series_rows));
	if (!writer->series || !writer->series_rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < input->row_cnt; i++) {
		if (i == 0 || !rows_is_same_series(input->rows[i - 1], input->rows[i]))
			writer->series[writer->series_cnt++] = input->rows[i];
		writer->series_rows[writer->series_cnt - 1]++;
	}
	return 0;
}

/* Strings end with a NUL, so that readers may borrow them. */
static int put_strings(const struct strtab *strings, struct strbuf *out)
{
	uint32_t cnt = strtab__count(strings);
	int err = varint_put(out, cnt);

	for (uint32_t i = 0; i < cnt && !err; i++) {
		size_t len;
		const char *text = strtab__get(strings, i, &len);

		err = varint_put(out, len);
		if (!err)
			err = strbuf_append(out, text, len + 1);
	}
	return err;
}

int rows_block_encode(const struct rows_input *input, struct strbuf *out, uint32_t *series_cnt_out)
{
	__cleanup_strbuf struct strbuf sections = STRBUF_INIT;
	struct block_writer writer = { .input = input, .out = &sections };
	size_t start = out->len;
	int err;

	writer.strings = strtab__new();
	err = writer.strings ? find_series(&writer) : -ENOMEM;
	if (!err)
		err = put_series(&writer);
	if (!err)
		err = put_rows(&writer);
	if (!err)
		err = put_strings(writer.strings, out);
	if (!err)
		err = strbuf_append(out, sections.data, sections.len);
	if (err)
		strbuf_truncate(out, start);
	else
		*series_cnt_out = writer.series_cnt;
	strtab__free(writer.strings);
	strbuf_release(&writer.column);
	free(writer.series);
	free(writer.series_rows);
	return err;
}
