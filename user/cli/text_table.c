// SPDX-License-Identifier: Apache-2.0
/* Columns of text for people; see text_table.h. */
#include "user/cli/text_table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/output/escape.h"
#include "user/util/cleanup.h"
#include "user/util/vec.h"

#define NOTE_INDENT "    "
#define EMPTY_CELL  "-"
#define GAP	    2
#define NAME_MIN    12 /* what is left of a name tells it from others */

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

	escape_terminal(&out, text, strlen(text));
	return strbuf_error(&out) ? NULL : strdup(strbuf_str(&out));
}

static size_t row_of(const struct text_table *table)
{
	return table->cell_cnt / table->column_cnt;
}

static int reserve_row(struct text_table *table)
{
	size_t cap;

	if (row_of(table) < table->row_cap)
		return 0;
	cap = vec_next_cap(table->row_cap, row_of(table) + 1, 32,
			   SIZE_MAX / TEXT_TABLE_COLUMNS_MAX);
	if (!cap || vec_resize(table->cells, cap * table->column_cnt) ||
	    vec_resize(table->notes, cap))
		return -ENOMEM;
	memset(table->notes + table->row_cap, 0, (cap - table->row_cap) * sizeof(*table->notes));
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
	if (!cell)
		table->err = -ENOMEM;
	else
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

	if (err)
		return;
	if (table->notes[row])
		strbuf_puts(&lines, table->notes[row]);
	strbuf_puts(&lines, NOTE_INDENT);
	escape_terminal(&lines, text, strlen(text));
	strbuf_putc(&lines, '\n');
	err = strbuf_error(&lines);
	if (!err) {
		free(table->notes[row]);
		table->notes[row] = strdup(strbuf_str(&lines));
		err = table->notes[row] ? 0 : -ENOMEM;
	}
	table->err = err;
}

static void render_cell(const char *text, size_t to_width, bool is_number, bool is_last,
			struct strbuf *out)
{
	size_t pad = to_width > width(text) ? to_width - width(text) : 0;

	if (is_number)
		strbuf_printf(out, "%*s", (int)pad, "");
	escape_terminal_within(out, text, strlen(text), to_width);
	if (!is_number && !is_last)
		strbuf_printf(out, "%*s", (int)pad, "");
	strbuf_puts(out, is_last ? "\n" : "  ");
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

/* ---- a width to fit ---- */

/* What a column cannot do without. */
static size_t least_width(const struct text_table_column *column, size_t wanted)
{
	size_t least = width(column->title) > NAME_MIN ? width(column->title) : NAME_MIN;

	return column->is_name && wanted > least ? least : wanted;
}

static size_t least_row(const struct text_table *table, const size_t *widths)
{
	size_t sum = 0;

	for (size_t i = 0; i < table->column_cnt; i++) {
		if (widths[i])
			sum += least_width(&table->columns[i], widths[i]) + (sum ? GAP : 0);
	}
	return sum;
}

/* Notes which columns are left out. */
static void drop_extras(const struct text_table *table, size_t *widths, bool *is_dropped)
{
	for (size_t i = table->column_cnt; i-- > 0 && least_row(table, widths) > table->width;) {
		if (!widths[i] || !table->columns[i].is_extra)
			continue;
		widths[i] = 0;
		is_dropped[i] = true;
	}
}

static void shorten_names(const struct text_table *table, size_t *widths)
{
	size_t row = 0;

	for (size_t i = 0; i < table->column_cnt; i++)
		row += widths[i] ? widths[i] + (row ? GAP : 0) : 0;
	while (row > table->width) {
		size_t widest = table->column_cnt;

		for (size_t i = 0; i < table->column_cnt; i++) {
			bool gives = widths[i] > least_width(&table->columns[i], widths[i]);

			if (gives && (widest == table->column_cnt || widths[i] > widths[widest]))
				widest = i;
		}
		if (widest == table->column_cnt)
			return;
		widths[widest]--;
		row--;
	}
}

static void name_dropped(const struct text_table *table, const bool *is_dropped, struct strbuf *out)
{
	const char *lead = "no room here for ";

	for (size_t i = 0; i < table->column_cnt; i++) {
		if (!is_dropped[i])
			continue;
		strbuf_printf(out, "%s%s", lead, table->columns[i].title);
		lead = ", ";
	}
	if (*lead == ',')
		strbuf_putc(out, '\n');
}

int text_table_render(const struct text_table *table, struct strbuf *out)
{
	bool is_dropped[TEXT_TABLE_COLUMNS_MAX] = { false };
	size_t widths[TEXT_TABLE_COLUMNS_MAX];
	size_t rows = row_of(table), last = 0;

	if (table->err)
		return table->err;
	if (table->column_cnt > TEXT_TABLE_COLUMNS_MAX)
		return -EINVAL;
	measure(table, widths);
	if (table->width) {
		drop_extras(table, widths, is_dropped);
		shorten_names(table, widths);
	}
	for (size_t i = 0; i < table->column_cnt; i++)
		last = widths[i] ? i : last;
	for (size_t row = 0; row <= rows; row++) {
		for (size_t i = 0; i < table->column_cnt; i++) {
			const char *text = row == 0 ?
						   table->columns[i].title :
						   table->cells[(row - 1) * table->column_cnt + i];

			if (widths[i])
				render_cell(text, widths[i], table->columns[i].is_number, i == last,
					    out);
		}
		if (row > 0 && table->notes[row - 1])
			strbuf_puts(out, table->notes[row - 1]);
	}
	name_dropped(table, is_dropped, out);
	return strbuf_error(out);
}

void text_table_release(struct text_table *table)
{
	for (size_t i = 0; i < table->cell_cnt; i++)
		free(table->cells[i]);
	for (size_t i = 0; i < table->row_cap; i++)
		free(table->notes[i]);
	free(table->cells);
	free(table->notes);
	*table = (struct text_table){ .columns = table->columns,
				      .column_cnt = table->column_cnt,
				      .width = table->width };
}
