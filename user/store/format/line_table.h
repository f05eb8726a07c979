/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of a merged text by number, and texts made of some of them with other counts.
 */
#ifndef JBPF_FORMAT_LINE_TABLE_H
#define JBPF_FORMAT_LINE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/util/strbuf.h"

/* Zero-initialise; used for one text after the other. */
struct line_table {
	const char *text; /* borrowed */
	struct line_place *lines;
	uint32_t line_cnt;
	size_t line_cap;
	uint64_t *sums;	   /* by line; 0 between texts */
	uint32_t *touched; /* lines that have a sum */
	uint32_t touched_cnt;
	size_t sum_cap;
	struct strbuf out; /* the text that is being made */
};

void line_table_release(struct line_table *table);

/* Finds the lines; a text of another number of lines is -EINVAL. 0 or -ENOMEM. */
__must_check int line_table_load(struct line_table *table, const char *text, size_t len,
				 uint32_t line_cnt);

/* Appends a line with its count to table->out. 0, -EINVAL (no such line, too much text), -ENOMEM. */
__must_check int line_table_put(struct line_table *table, uint64_t line, uint64_t count);
/* Adds to a line's sum instead. 0, -EINVAL, or -ENOMEM. */
__must_check int line_table_add(struct line_table *table, uint64_t line, uint64_t count);
/* Appends the lines that have a sum, in order, and sets their sums to 0. 0, -EINVAL, or -ENOMEM. */
__must_check int line_table_put_sums(struct line_table *table);

#endif
