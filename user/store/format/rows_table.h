/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows of many tracks as columns of small numbers, and for each window which lines of a text it
 * saw how often. A column carries its number and length, so that a reader steps over those of a
 * later jbpf. This is what is compressed in the rows records of a merged segment and, with one
 * window per track, in its index. Pure: bytes in, values out.
 */
#ifndef JBPF_FORMAT_ROWS_TABLE_H
#define JBPF_FORMAT_ROWS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/model/window.h"
#include "user/util/strbuf.h"
#include "user/util/varint.h"

struct strtab;

/* ---- windows that become one ---- */

/* Are they of one process's life with the same labels, sampled the same way? */
bool rows_is_same_track(const struct window *a, const struct window *b);

/* Adds a window of the same track. Lines and cells are left alone; what is no sum is the latest's. */
void rows_merge_window(struct window *sum, const struct window *window);

/* ---- writing ---- */

/* Lines with counts of all rows, in columns that grow. Zero-initialise. */
struct rows_entry_columns {
	struct strbuf cnts;   /* entries of each row */
	struct strbuf lines;  /* ... each as the difference to the one before */
	struct strbuf counts; /* samples */
};

void rows_entry_columns_release(struct rows_entry_columns *columns);

/*
 * Whose the lines are, as thread_counts.h has it: a line's home is the same in all rows. Threads are
 * numbers: that of the name + 1, 0 = not known. Zero-initialise.
 */
struct rows_thread_columns {
	const struct strtab *names; /* borrowed; NULL = none */
	struct strbuf homes;	    /* of each line of the text */
	/* Samples of others than a line's home, as entries: some rows have several of a line. */
	struct rows_entry_columns parts;
	struct strbuf threads; /* of each of these */
};

void rows_thread_columns_release(struct rows_thread_columns *columns);

/* Windows in order, those of one track next to each other; the same track is never two. */
struct rows_input {
	const struct window *const *rows; /* their lines are not looked at; cells are */
	uint32_t row_cnt;
	const struct rows_entry_columns *stacks;   /* NULL = none */
	const struct rows_entry_columns *sources;  /* the same for source lines */
	const struct rows_thread_columns *threads; /* of the stacks; NULL = none */
};

/* Appends a table; *track_cnt_out is needed to read it. 0, -E2BIG, or -ENOMEM. */
__must_check int rows_table_encode(const struct rows_input *input, struct strbuf *out,
				   uint32_t *track_cnt_out);

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

/* A name that borrows from the bytes that were parsed. */
struct rows_name {
	const char *text; /* NUL-terminated */
	size_t len;
};

/* Zero-initialise. */
struct rows_table {
	struct window *rows; /* labels borrow from the bytes that were parsed */
	uint32_t *row_track; /* number of each row's track; ascending */
	uint32_t row_cnt;
	uint32_t track_cnt;
	struct rows_entries stacks; /* at the first row */
	struct rows_entries sources;
	struct rows_name *thread_names;
	uint32_t thread_name_cnt;
	struct varint_reader thread_homes; /* numbers are not checked, nor how many there are */
	struct rows_entries thread_parts;
	struct varint_reader threads; /* of the parts; not checked either */
	struct strbuf cells;	      /* of the rows, who borrow them */
};

#define __cleanup_rows_table __attribute__((cleanup(rows_table_release)))

void rows_table_release(struct rows_table *table);

/* The counts of tracks and rows are capped by the caller. 0, -EINVAL, or -ENOMEM. */
__must_check int rows_table_parse(const uint8_t *bytes, size_t len, uint32_t track_cnt,
				  uint32_t row_cnt, struct rows_table *out);

#endif
