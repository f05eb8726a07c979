/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table for people: columns as wide as their widest cell, two blanks apart, numbers to the
 * right. Cells are foreign text and come out inert (escape_terminal); "-" stands for an empty one. The
 * last column is never optional.
 *
 * Where there is a width to fit, columns that are extra go first, the last one before the others, and a
 * line below the table names them; then names lose their middle, the longest first.
 */
#ifndef JBPF_CLI_TEXT_TABLE_H
#define JBPF_CLI_TEXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "user/util/attributes.h"
#include "user/util/strbuf.h"

#define TEXT_TABLE_COLUMNS_MAX 20

struct text_table_column {
	const char *title; /* literal */
	bool is_number;
	bool is_name;	  /* may be shortened; "is_number" and the others are shown whole */
	bool is_optional; /* left out when all of its cells are empty */
	bool is_extra;	  /* left out where there is no room for it */
};

/* Initialise with columns, column_cnt and width only; end with text_table_release(). */
struct text_table {
	const struct text_table_column *columns;
	size_t column_cnt;
	size_t width; /* of the terminal; 0 = as wide as it needs */
	char **cells; /* row after row; owned */
	char **notes; /* one per row, NULL = none: lines below the row, owned */
	size_t cell_cnt;
	size_t row_cap;
	int err; /* sticky -ENOMEM */
};

/* Next cell, left to right, row after row. */
void text_table_cell(struct text_table *table, const char *text);
void text_table_cellf(struct text_table *table, const char *format, ...) __printf_like(2, 3);
/* A line below the row whose last cell was just added. */
void text_table_note(struct text_table *table, const char *text);
/* 0 or -ENOMEM, also for cells that could not be added. */
__must_check int text_table_render(const struct text_table *table, struct strbuf *out);
void text_table_release(struct text_table *table);

#endif
