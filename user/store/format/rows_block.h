/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows of many series as columns of small numbers, and for each window which lines of a text it
 * saw how often. A column carries its number and length, so that a reader steps over those of a
 * later jbpf. This is what is compressed in the rows records of a merged segment and, with one
 * window per series, in its index. Pure: bytes in, values out.
 */
#ifndef JBPF_FORMAT_ROWS_BLOCK_H
#define JBPF_FORMAT_ROWS_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/model/window.h"
#include "user/util/strbuf.h"
#include "user/util/varint.h"

/* ---- windows that become one ---- */

/* Are they of one process's life with the same labels, sampled the same way? */
bool rows_is_same_series(const struct window *a, const struct window *b);

/* Adds a window of the same series. Lines and cells are left alone; what is no sum is the latest's. */
void rows_merge_window(struct window *sum, const struct window *window);

/* ---- writing ---- */

/* Lines with counts of all rows, in columns that grow. Zero-initialise. */
struct rows_entry_columns {
	struct strbuf cnts;   /* entries of each row */
	struct strbuf lines;  /* ... each as the difference to the one before */
	struct strbuf counts; /* samples */
};

void rows_entry_columns_release(struct rows_entry_columns *columns);

/* Windows in order, those of one series next to each other; the same series is never two. */
struct rows_input {
	const struct window *const *rows; /* their lines are not looked at; cells are */
	uint32_t row_cnt;
	const struct rows_entry_columns *stacks;  /* NULL = none */
	const struct rows_entry_columns *sources; /* the same for source lines */
};

/* Appends a block; *series_cnt_out is needed to read it. 0, -E2BIG, or -ENOMEM. */
__must_check int rows_block_encode(const struct rows_input *input, struct strbuf *out,
				   uint32_t *series_cnt_out);

/* ---- reading ---- */

/* Cursor over the lines of one row after the other. */
struct rows_entries {
	struct varint_reader cnts;
	struct varint_reader lines;
	struct varint_reader counts;
	uint64_t line;
};

/* How many entries the next row has. */
static inline uint64_t rows_entries_begin_row(struct rows_entries *entries)
{
	entries->line = 0;
	return entries->cnts.at < entries->cnts.end ? varint_get(&entries->cnts) : 0;
}

/* The next entry; returns its line, which may be any number. */
static inline uint64_t rows_entries_next(struct rows_entries *entries, uint64_t *count)
{
	entries->line += unzigzag(varint_get(&entries->lines));
	*count = varint_get(&entries->counts);
	return entries->line;
}

static inline bool rows_entries_failed(const struct rows_entries *entries)
{
	return entries->cnts.failed || entries->lines.failed || entries->counts.failed;
}

/* Zero-initialise. */
struct rows_block {
	struct window *rows;  /* labels borrow from the bytes that were parsed */
	uint32_t *row_series; /* number of each row's series; ascending */
	uint32_t row_cnt;
	uint32_t series_cnt;
	struct rows_entries stacks; /* at the first row */
	struct rows_entries sources;
	struct strbuf cells; /* of the rows, who borrow them */
};

#define __cleanup_rows_block __attribute__((cleanup(rows_block_release)))

void rows_block_release(struct rows_block *block);

/* The counts of series and rows are capped by the caller. 0, -EINVAL, or -ENOMEM. */
__must_check int rows_block_parse(const uint8_t *bytes, size_t len, uint32_t series_cnt,
				  uint32_t row_cnt, struct rows_block *out);

#endif
