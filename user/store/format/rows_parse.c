// SPDX-License-Identifier: Apache-2.0
/*
 * Reads columns of windows; see rows_block.h and rows_columns.h. The bytes may be hostile: every
 * number is checked against what is there, and all rows begin as zeros.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/model/cells.h"
#include "user/store/format/rows_block.h"
#include "user/store/format/rows_columns.h"
#include "user/util/cleanup.h"

struct section {
	const uint8_t *bytes;
	size_t len;
};

struct string {
	const char *text;
	size_t len;
};

struct block_parser {
	struct rows_block *block;
	struct section sections[SECTION_CNT];
	struct string *strings;
	uint64_t string_cnt;
	struct window *series; /* what all rows of one share */
	uint32_t *series_rows;
};

void rows_block_release(struct rows_block *block)
{
	free(block->rows);
	free(block->row_series);
	strbuf_release(&block->cells);
	*block = (struct rows_block){ .rows = NULL };
}

static struct varint_reader section_reader(const struct block_parser *parser, unsigned int section)
{
	return varint_reader_init(parser->sections[section].bytes, parser->sections[section].len);
}

static int parse_strings(struct block_parser *parser, struct varint_reader *reader)
{
	parser->string_cnt = varint_get(reader);
	/* Each takes two bytes at least. */
	if (reader->failed || parser->string_cnt > (size_t)(reader->end - reader->at) / 2)
		return -EINVAL;
	parser->strings = calloc((size_t)parser->string_cnt + 1, sizeof(*parser->strings));
	if (!parser->strings)
		return -ENOMEM;
	for (uint64_t i = 0; i < parser->string_cnt; i++) {
		uint64_t len = varint_get(reader);
		const uint8_t *text = varint_reader_take(reader, len);
		const uint8_t *nul = varint_reader_take(reader, 1);

		if (!text || !nul || *nul)
			return -EINVAL;
		parser->strings[i] =
			(struct string){ .text = (const char *)text, .len = (size_t)len };
	}
	return 0;
}

static int parse_sections(struct block_parser *parser, struct varint_reader *reader)
{
	while (reader->at < reader->end) {
		uint64_t number = varint_get(reader);
		uint64_t len = varint_get(reader);
		const uint8_t *bytes = varint_reader_take(reader, len);

		if (!bytes)
			return -EINVAL;
		if (number < SECTION_CNT)
			parser->sections[number] =
				(struct section){ .bytes = bytes, .len = (size_t)len };
	}
	return 0;
}

/* One column into `cnt` windows; one that is not there leaves zeros. */
static int parse_column(const struct block_parser *parser, const struct column *column,
			struct window *windows, uint32_t cnt)
{
	struct varint_reader reader = section_reader(parser, column->section);
	uint64_t value = 0;

	if (!reader.at)
		return 0;
	for (uint32_t i = 0; i < cnt; i++) {
		uint64_t code = varint_get(&reader);

		value = column->kind == COLUMN_DELTA ? value + unzigzag(code) : code;
		if (!rows_column_set(column, &windows[i], value))
			return -EINVAL;
	}
	return reader.failed ? -EINVAL : 0;
}

/* A string by its number + 1; *out is NULL for 0. false when there is none of that number. */
static bool parse_string_id(const struct block_parser *parser, struct varint_reader *reader,
			    const struct string **out)
{
	uint64_t id = varint_get(reader);

	*out = NULL;
	if (id == 0)
		return !reader->failed;
	if (id > parser->string_cnt)
		return false;
	*out = &parser->strings[id - 1];
	return true;
}

static int parse_boot_ids(struct block_parser *parser)
{
	struct varint_reader reader = section_reader(parser, SECTION_SERIES_BOOT_ID);

	for (uint32_t i = 0; reader.at && i < parser->block->series_cnt; i++) {
		const struct string *id;

		if (!parse_string_id(parser, &reader, &id))
			return -EINVAL;
		if (!id)
			continue;
		if (id->len != sizeof(parser->series[i].boot_id))
			return -EINVAL;
		memcpy(parser->series[i].boot_id, id->text, id->len);
	}
	return 0;
}

static int parse_labels(struct block_parser *parser)
{
	struct varint_reader reader = section_reader(parser, SECTION_SERIES_LABELS);

	while (reader.at < reader.end) {
		const struct string *name, *text;
		enum window_label label;

		if (!parse_string_id(parser, &reader, &name) || !name)
			return -EINVAL;
		label = window_label_by_name(name->text, name->len);
		for (uint32_t i = 0; i < parser->block->series_cnt; i++) {
			if (!parse_string_id(parser, &reader, &text))
				return -EINVAL;
			/* A NUL would make it another one than was written. */
			if (text && strlen(text->text) != text->len)
				return -EINVAL;
			if (label != WINDOW_LABEL_CNT)
				parser->series[i].labels[label] = text ? text->text : NULL;
		}
	}
	return 0;
}

/* How the rows are divided among the series: all of them, none left. */
static int parse_series_rows(struct block_parser *parser)
{
	struct varint_reader reader = section_reader(parser, SECTION_SERIES_ROWS);
	struct rows_block *block = parser->block;
	uint32_t row = 0;

	for (uint32_t i = 0; i < block->series_cnt; i++) {
		uint64_t cnt = reader.at ? varint_get(&reader) : 0;

		if (cnt > block->row_cnt - row)
			return -EINVAL;
		parser->series_rows[i] = (uint32_t)cnt;
		for (uint64_t j = 0; j < cnt; j++, row++) {
			block->rows[row] = parser->series[i];
			block->row_series[row] = i;
		}
	}
	return row == block->row_cnt ? 0 : -EINVAL;
}

static int parse_series(struct block_parser *parser)
{
	uint32_t cnt = parser->block->series_cnt;
	int err;

	parser->series = calloc(cnt + 1ul, sizeof(*parser->series));
	parser->series_rows = calloc(cnt + 1ul, sizeof(*parser->series_rows));
	if (!parser->series || !parser->series_rows)
		return -ENOMEM;
	err = parse_boot_ids(parser);
	for (size_t i = 0; i < ARRAY_SIZE(rows_series_columns) && !err; i++)
		err = parse_column(parser, &rows_series_columns[i], parser->series, cnt);
	if (!err)
		err = parse_labels(parser);
	return err ? err : parse_series_rows(parser);
}

/* Needs the durations. */
static int parse_starts(struct block_parser *parser)
{
	struct varint_reader starts = section_reader(parser, SECTION_START);
	struct varint_reader boots = section_reader(parser, SECTION_START_BOOT);
	struct rows_block *block = parser->block;
	uint64_t difference = 0;

	for (uint32_t i = 0; i < block->row_cnt; i++) {
		struct window *row = &block->rows[i];
		bool is_same = i && block->row_series[i] == block->row_series[i - 1];

		row->start_unix_ns = rows_predict_start(i ? row - 1 : NULL, is_same);
		if (starts.at)
			row->start_unix_ns += unzigzag(varint_get(&starts));
		if (boots.at)
			difference += unzigzag(varint_get(&boots));
		row->start_boot_ns = row->start_unix_ns + difference;
	}
	return starts.failed || boots.failed ? -EINVAL : 0;
}

static int parse_losses(struct block_parser *parser)
{
	int err = 0;

	for (unsigned int i = 0; i < WINDOW_LOSS_CNT && !err; i++) {
		const struct column column = rows_loss_column((enum window_loss)i);

		err = parse_column(parser, &column, parser->block->rows, parser->block->row_cnt);
	}
	return err;
}

/* One row's cells as a window has them. */
static int parse_row_cells(uint64_t cnt, struct varint_reader *skips, struct varint_reader *counts,
			   struct strbuf *out)
{
	uint64_t next = 0;
	int err = 0;

	for (uint64_t i = 0; i < cnt && !err; i++) {
		uint64_t skip = varint_get(skips), count = varint_get(counts);

		if (skips->failed || counts->failed || count == 0 || count > UINT32_MAX ||
		    skip >= CELLS_MAX || next + skip >= CELLS_MAX)
			return -EINVAL;
		next += skip + 1;
		err = varint_put(out, skip);
		if (!err)
			err = varint_put(out, count);
	}
	return err;
}

static int parse_cells(struct block_parser *parser)
{
	struct varint_reader cnts = section_reader(parser, SECTION_CELL_CNTS);
	struct varint_reader skips = section_reader(parser, SECTION_CELL_SKIPS);
	struct varint_reader counts = section_reader(parser, SECTION_CELL_COUNTS);
	struct rows_block *block = parser->block;
	size_t at = 0;

	for (uint32_t i = 0; cnts.at && i < block->row_cnt; i++) {
		size_t start = block->cells.len;
		int err = parse_row_cells(varint_get(&cnts), &skips, &counts, &block->cells);

		if (err || cnts.failed)
			return err ? err : -EINVAL;
		block->rows[i].cells_len = (uint32_t)(block->cells.len - start);
	}
	/* They stay where they are from now on. */
	for (uint32_t i = 0; i < block->row_cnt; i++) {
		if (block->rows[i].cells_len)
			block->rows[i].cells = (const uint8_t *)block->cells.data + at;
		at += block->rows[i].cells_len;
	}
	return 0;
}

static int parse_rows(struct block_parser *parser)
{
	struct rows_block *block = parser->block;
	int err = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows_row_columns) && !err; i++)
		err = parse_column(parser, &rows_row_columns[i], block->rows, block->row_cnt);
	if (!err)
		err = parse_starts(parser);
	if (!err)
		err = parse_losses(parser);
	if (!err)
		err = parse_cells(parser);
	block->stacks = (struct rows_entries){
		.cnts = section_reader(parser, SECTION_STACK_CNTS),
		.lines = section_reader(parser, SECTION_STACK_LINES),
		.counts = section_reader(parser, SECTION_STACK_COUNTS),
	};
	block->sources = (struct rows_entries){
		.cnts = section_reader(parser, SECTION_SOURCE_CNTS),
		.lines = section_reader(parser, SECTION_SOURCE_LINES),
		.counts = section_reader(parser, SECTION_SOURCE_COUNTS),
	};
	return err;
}

int rows_block_parse(const uint8_t *bytes, size_t len, uint32_t series_cnt, uint32_t row_cnt,
		     struct rows_block *out)
{
	struct varint_reader reader = varint_reader_init(bytes, len);
	struct rows_block block = { .row_cnt = row_cnt, .series_cnt = series_cnt };
	struct block_parser parser = { .block = &block };
	int err;

	block.rows = calloc(row_cnt + 1ul, sizeof(*block.rows));
	block.row_series = calloc(row_cnt + 1ul, sizeof(*block.row_series));
	err = block.rows && block.row_series ? parse_strings(&parser, &reader) : -ENOMEM;
	if (!err)
		err = parse_sections(&parser, &reader);
	if (!err)
		err = parse_series(&parser);
	if (!err)
		err = parse_rows(&parser);
	free(parser.strings);
	free(parser.series);
	free(parser.series_rows);
	if (err) {
		rows_block_release(&block);
		return err;
	}
	*out = block;
	return 0;
}
