// SPDX-License-Identifier: Apache-2.0
/*
 * Reads columns of windows; see rows_table.h and rows_columns.h. The bytes may be hostile: every
 * number is checked against what is there, and all rows begin as zeros.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/model/cells.h"
#include "user/model/thread_counts.h"
#include "user/store/format/rows_table.h"
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

struct table_parser {
	struct rows_table *table;
	struct section sections[SECTION_CNT];
	struct string *strings;
	uint64_t string_cnt;
	struct window *tracks; /* what all rows of one share */
	uint32_t *track_rows;
};

void rows_table_release(struct rows_table *table)
{
	free(table->rows);
	free(table->row_track);
	strbuf_release(&table->cells);
	free(table->thread_names);
	*table = (struct rows_table){ .rows = NULL };
}

static struct varint_reader section_reader(const struct table_parser *parser, unsigned int section)
{
	return varint_reader_init(parser->sections[section].bytes, parser->sections[section].len);
}

static int parse_strings(struct table_parser *parser, struct varint_reader *reader)
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

static int parse_sections(struct table_parser *parser, struct varint_reader *reader)
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
static int parse_column(const struct table_parser *parser, const struct window_field *field,
			struct window *windows, uint32_t cnt)
{
	struct varint_reader reader = section_reader(parser, field->section);
	uint64_t value = 0;

	if (!reader.at)
		return 0;
	for (uint32_t i = 0; i < cnt; i++) {
		uint64_t code = varint_get(&reader);

		value = field->is_delta ? value + unzigzag(code) : code;
		if (!window_number_set(&windows[i], field->offset, field->bytes, value))
			return -EINVAL;
	}
	return reader.failed ? -EINVAL : 0;
}

/* Those of the sections `first` to `last`. */
static int parse_columns(const struct table_parser *parser, uint32_t first, uint32_t last,
			 struct window *windows, uint32_t cnt)
{
	int err = 0;

	for (uint32_t section = first; section <= last && !err; section++) {
		struct window_field field;

		if (parser->sections[section].bytes && rows_column(section, &field))
			err = parse_column(parser, &field, windows, cnt);
	}
	return err;
}

/* A string by its number + 1; *out is NULL for 0. false when there is none of that number. */
static bool parse_string_id(const struct table_parser *parser, struct varint_reader *reader,
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

static int parse_boot_ids(struct table_parser *parser)
{
	struct varint_reader reader = section_reader(parser, SECTION_TRACK_BOOT_ID);

	for (uint32_t i = 0; reader.at && i < parser->table->track_cnt; i++) {
		const struct string *id;

		if (!parse_string_id(parser, &reader, &id))
			return -EINVAL;
		if (!id)
			continue;
		if (id->len != sizeof(parser->tracks[i].boot_id))
			return -EINVAL;
		memcpy(parser->tracks[i].boot_id, id->text, id->len);
	}
	return 0;
}

static int parse_labels(struct table_parser *parser)
{
	struct varint_reader reader = section_reader(parser, SECTION_TRACK_LABELS);

	while (reader.at < reader.end) {
		const struct string *name, *text;
		enum window_label label;

		if (!parse_string_id(parser, &reader, &name) || !name)
			return -EINVAL;
		label = window_label_by_name(name->text, name->len);
		for (uint32_t i = 0; i < parser->table->track_cnt; i++) {
			if (!parse_string_id(parser, &reader, &text))
				return -EINVAL;
			/* A name with a NUL would be read as another one than was written. */
			if (text && strlen(text->text) != text->len)
				return -EINVAL;
			if (label != WINDOW_LABEL_CNT)
				parser->tracks[i].labels[label] = text ? text->text : NULL;
		}
	}
	return 0;
}

/* How the rows are divided among the tracks: all of them, none left. */
static int parse_track_rows(struct table_parser *parser)
{
	struct varint_reader reader = section_reader(parser, SECTION_TRACK_ROWS);
	struct rows_table *table = parser->table;
	uint32_t row = 0;

	for (uint32_t i = 0; i < table->track_cnt; i++) {
		uint64_t cnt = reader.at ? varint_get(&reader) : 0;

		if (cnt > table->row_cnt - row)
			return -EINVAL;
		parser->track_rows[i] = (uint32_t)cnt;
		for (uint64_t j = 0; j < cnt; j++, row++) {
			table->rows[row] = parser->tracks[i];
			table->row_track[row] = i;
		}
	}
	return row == table->row_cnt ? 0 : -EINVAL;
}

static int parse_tracks(struct table_parser *parser)
{
	uint32_t cnt = parser->table->track_cnt;
	int err;

	parser->tracks = calloc(cnt + 1ul, sizeof(*parser->tracks));
	parser->track_rows = calloc(cnt + 1ul, sizeof(*parser->track_rows));
	if (!parser->tracks || !parser->track_rows)
		return -ENOMEM;
	err = parse_boot_ids(parser);
	if (!err)
		err = parse_columns(parser, SECTION_TRACK_FIRST, SECTION_TRACK_LAST, parser->tracks,
				    cnt);
	if (!err)
		err = parse_labels(parser);
	return err ? err : parse_track_rows(parser);
}

/* Needs the durations. */
static int parse_starts(struct table_parser *parser)
{
	struct varint_reader starts = section_reader(parser, SECTION_START);
	struct varint_reader boots = section_reader(parser, SECTION_START_BOOT);
	struct rows_table *table = parser->table;
	uint64_t difference = 0;

	for (uint32_t i = 0; i < table->row_cnt; i++) {
		struct window *row = &table->rows[i];
		bool is_same = i && table->row_track[i] == table->row_track[i - 1];

		row->start_unix_ns = rows_predict_start(i ? row - 1 : NULL, is_same);
		if (starts.at)
			row->start_unix_ns += unzigzag(varint_get(&starts));
		if (boots.at)
			difference += unzigzag(varint_get(&boots));
		row->start_boot_ns = row->start_unix_ns + difference;
	}
	return starts.failed || boots.failed ? -EINVAL : 0;
}

/* One row's cells as a window has them. */
static int parse_row_cells(uint64_t cnt, struct varint_reader *skips, struct varint_reader *counts,
			   struct strbuf *out)
{
	uint64_t next = 0;

	for (uint64_t i = 0; i < cnt && !strbuf_error(out); i++) {
		uint64_t skip = varint_get(skips), count = varint_get(counts);

		if (skips->failed || counts->failed || count == 0 || count > UINT32_MAX ||
		    skip >= CELLS_MAX || next + skip >= CELLS_MAX)
			return -EINVAL;
		next += skip + 1;
		varint_put(out, skip);
		varint_put(out, count);
	}
	return strbuf_error(out);
}

static int parse_cells(struct table_parser *parser)
{
	struct varint_reader cnts = section_reader(parser, SECTION_CELL_CNTS);
	struct varint_reader skips = section_reader(parser, SECTION_CELL_SKIPS);
	struct varint_reader counts = section_reader(parser, SECTION_CELL_COUNTS);
	struct rows_table *table = parser->table;
	size_t at = 0;

	for (uint32_t i = 0; cnts.at && i < table->row_cnt; i++) {
		size_t start = table->cells.len;
		int err = parse_row_cells(varint_get(&cnts), &skips, &counts, &table->cells);

		if (err || cnts.failed)
			return err ? err : -EINVAL;
		table->rows[i].cells_len = (uint32_t)(table->cells.len - start);
	}
	/* They stay where they are from now on. */
	for (uint32_t i = 0; i < table->row_cnt; i++) {
		if (table->rows[i].cells_len)
			table->rows[i].cells = (const uint8_t *)table->cells.data + at;
		at += table->rows[i].cells_len;
	}
	return 0;
}

static int parse_threads(struct table_parser *parser)
{
	struct varint_reader reader = section_reader(parser, SECTION_THREAD_NAMES);
	struct rows_table *table = parser->table;
	size_t cap = (size_t)(reader.end - reader.at); /* one byte each at least */

	table->thread_homes = section_reader(parser, SECTION_THREAD_HOMES);
	table->threads = section_reader(parser, SECTION_THREADS);
	table->thread_parts = (struct rows_entries){
		.cnts = section_reader(parser, SECTION_THREAD_CNTS),
		.lines = section_reader(parser, SECTION_THREAD_LINES),
		.counts = section_reader(parser, SECTION_THREAD_COUNTS),
	};
	if (!cap)
		return 0;
	table->thread_names = calloc(cap, sizeof(*table->thread_names));
	if (!table->thread_names)
		return -ENOMEM;
	while (reader.at < reader.end) {
		const struct string *name;

		/* As readers of a window's code do it. */
		if (!parse_string_id(parser, &reader, &name) || !name ||
		    name->len > THREAD_NAME_BYTES || strlen(name->text) != name->len)
			return -EINVAL;
		table->thread_names[table->thread_name_cnt++] =
			(struct rows_name){ .text = name->text, .len = name->len };
	}
	return 0;
}

static int parse_rows(struct table_parser *parser)
{
	struct rows_table *table = parser->table;
	int err = parse_columns(parser, SECTION_ROW_FIRST, SECTION_ROW_LAST, table->rows,
				table->row_cnt);

	if (!err)
		err = parse_starts(parser);
	if (!err)
		err = parse_columns(parser, SECTION_LOST, SECTION_CNT - 1, table->rows,
				    table->row_cnt);
	if (!err)
		err = parse_cells(parser);
	if (!err)
		err = parse_threads(parser);
	table->stacks = (struct rows_entries){
		.cnts = section_reader(parser, SECTION_STACK_CNTS),
		.lines = section_reader(parser, SECTION_STACK_LINES),
		.counts = section_reader(parser, SECTION_STACK_COUNTS),
	};
	table->sources = (struct rows_entries){
		.cnts = section_reader(parser, SECTION_SOURCE_CNTS),
		.lines = section_reader(parser, SECTION_SOURCE_LINES),
		.counts = section_reader(parser, SECTION_SOURCE_COUNTS),
	};
	return err;
}

int rows_table_parse(const uint8_t *bytes, size_t len, uint32_t track_cnt, uint32_t row_cnt,
		     struct rows_table *out)
{
	struct varint_reader reader = varint_reader_init(bytes, len);
	struct rows_table table = { .row_cnt = row_cnt, .track_cnt = track_cnt };
	struct table_parser parser = { .table = &table };
	int err;

	table.rows = calloc(row_cnt + 1ul, sizeof(*table.rows));
	table.row_track = calloc(row_cnt + 1ul, sizeof(*table.row_track));
	err = table.rows && table.row_track ? parse_strings(&parser, &reader) : -ENOMEM;
	if (!err)
		err = parse_sections(&parser, &reader);
	if (!err)
		err = parse_tracks(&parser);
	if (!err)
		err = parse_rows(&parser);
	free(parser.strings);
	free(parser.tracks);
	free(parser.track_rows);
	if (err) {
		rows_table_release(&table);
		return err;
	}
	*out = table;
	return 0;
}
