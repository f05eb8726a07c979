// SPDX-License-Identifier: Apache-2.0
/* Columns of text for people; see text_table.h. */
#include "user/cli/text_table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/output/escape.h"
#include "user/util/cleanup.h"

#define NOTE_INDENT "    "
#define EMPTY_CELL  "-"

/* Code points: most names take one column for each on a terminal. */
static size_t width(const char *text)
{
	size_t cnt = 0;

	for (; *text; text++)
		cnt += ((unsigned char)*text & 0xc0) != 0x80;
	return cnt;
}

static char *inert(const char *text)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;

	if (escape_terminal(&out, text, strlen(text)))
		return NULL;
	return strdup(strbuf_str(&out));
}

static size_t row_of(const struct text_table *table)
{
	return table->cell_cnt / table->column_cnt;
}

static int reserve_row(struct text_table *table)
{
	size_t cap = table->row_cap ? table->row_cap * 2 : 32;
	char **cells, **notes;

	if (row_of(table) < table->row_cap)
		return 0;
	cells = reallocarray(table->cells, cap * table->column_cnt, sizeof(*cells));
	if (!cells)
		return -ENOMEM;
	table->cells = cells;
	notes = reallocarray(table->notes, cap, sizeof(*notes));
	if (!notes)
		return -ENOMEM;
	table->notes = notes;
	memset(notes + table->row_cap, 0, (cap - table->row_cap) * sizeof(*notes));
	table->row_cap = cap;
	return 0;
}

void text_table_cell(struct text_table *table, const char *text)
{
	char *cell;

	if (!table->err)
		table->err = reserve_row(table);
	if (table->err)
		return;
	cell = inert(*text ? text : EMPTY_CELL);
	if (!cell) {
		table->err = -ENOMEM;
		return;
	}
	table->cells[table->cell_cnt++] = cell;
}

void text_table_cellf(struct text_table *table, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	text_table_cell(table, text);
}

void text_table_note(struct text_table *table, const char *text)
{
	__cleanup_strbuf struct strbuf lines = STRBUF_INIT;
	size_t row = row_of(table) - 1;
	int err = table->err;

	if (!err && table->notes[row])
		err = strbuf_puts(&lines, table->notes[row]);
	if (!err)
		err = strbuf_puts(&lines, NOTE_INDENT);
	if (!err)
		err = escape_terminal(&lines, text, strlen(text));
	if (!err)
		err = strbuf_putc(&lines, '\n');
	if (!err) {
		free(table->notes[row]);
		table->notes[row] = strdup(strbuf_str(&lines));
		err = table->notes[row] ? 0 : -ENOMEM;
	}
	table->err = err;
}

static int render_cell(const char *text, size_t to_width, bool is_number, bool is_last,
		       struct strbuf *out)
{
	size_t pad = to_width - width(text);
	int err = 0;

	if (is_number)
		err = strbuf_printf(out, "%*s", (int)pad, "");
	if (!err)
		err = strbuf_puts(out, text);
	if (!err && !is_number && !is_last)
		err = strbuf_printf(out, "%*s", (int)pad, "");
	return err ? err : strbuf_puts(out, is_last ? "\n" : "  ");
}

/* Widths of the columns; 0 for one that is left out. */
static void measure(const struct text_table *table, size_t *widths)
{
	bool is_empty[TEXT_TABLE_COLUMNS_MAX];

	for (size_t i = 0; i < table->column_cnt; i++) {
		widths[i] = width(table->columns[i].title);
		is_empty[i] = table->columns[i].is_optional;
	}
	for (size_t i = 0; i < row_of(table) * table->column_cnt; i++) {
		size_t column = i % table->column_cnt;

		if (width(table->cells[i]) > widths[column])
			widths[column] = width(table->cells[i]);
		if (strcmp(table->cells[i], EMPTY_CELL) != 0)
			is_empty[column] = false;
	}
	for (size_t i = 0; i < table->column_cnt; i++) {
		if (is_empty[i])
			widths[i] = 0;
	}
}

int text_table_render(const struct text_table *table, struct strbuf *out)
{
	size_t widths[TEXT_TABLE_COLUMNS_MAX];
	size_t rows = row_of(table);
	int err = table->err;

	if (table->column_cnt > TEXT_TABLE_COLUMNS_MAX)
		return -EINVAL;
	measure(table, widths);
	for (size_t row = 0; !err && row <= rows; row++) {
		for (size_t i = 0; !err && i < table->column_cnt; i++) {
			const char *text = row == 0 ?
						   table->columns[i].title :
						   table->cells[(row - 1) * table->column_cnt + i];

			if (widths[i])
				err = render_cell(text, widths[i], table->columns[i].is_number,
						  i + 1 == table->column_cnt, out);
		}
		if (!err && row > 0 && table->notes[row - 1])
			err = strbuf_puts(out, table->notes[row - 1]);
	}
	return err;
}

void text_table_release(struct text_table *table)
{
	for (size_t i = 0; i < table->cell_cnt; i++)
		free(table->cells[i]);
	for (size_t i = 0; i < table->row_cap; i++)
		free(table->notes[i]);
	free(table->cells);
	free(table->notes);
	*table = (struct text_table){ .columns = table->columns, .column_cnt = table->column_cnt };
}
