/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns of a table of rows, for those who write and read one: numbers of sections, and where
 * in struct window a column's values are. A table begins with its strings, then come sections: number,
 * length, bytes. A column whose values are all 0 is left out.
 */
#ifndef JBPF_FORMAT_ROWS_COLUMNS_H
#define JBPF_FORMAT_ROWS_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/window.h"

/* Numbers reach disk: append only. */
enum rows_section {
	SECTION_TRACK_ROWS = 1, /* how many rows each track has */
	SECTION_TRACK_BOOT_ID = 2,
	SECTION_TRACK_FIRST = 3, /* those of numbers are told in window_fields */
	SECTION_TRACK_LABELS = 10,
	SECTION_TRACK_LAST = 31,

	SECTION_START = 32,
	SECTION_ROW_FIRST = 33,
	SECTION_START_BOOT = 34,
	SECTION_ROW_LAST = 79,

	SECTION_STACK_CNTS = 80,
	SECTION_STACK_LINES = 81,
	SECTION_STACK_COUNTS = 82,
	SECTION_SOURCE_CNTS = 83,
	SECTION_SOURCE_LINES = 84,
	SECTION_SOURCE_COUNTS = 85,
	SECTION_CELL_CNTS = 90,
	SECTION_CELL_SKIPS = 91,
	SECTION_CELL_COUNTS = 92,
	SECTION_THREAD_NAMES = 93,
	SECTION_THREAD_HOMES = 94, /* by line of the text */
	SECTION_THREAD_CNTS = 95,
	SECTION_THREAD_LINES = 96,
	SECTION_THREAD_COUNTS = 97,
	SECTION_THREADS = 98,

	SECTION_LOST = 128, /* and one more for each further reason */
	SECTION_END = 160,  /* the same for ends of stacks, up to 191 */
	SECTION_CNT = 256,  /* higher ones are of a later jbpf */
};

/* The number whose column it is. false: of none that is known. */
bool rows_column(uint32_t section, struct window_field *out);

/*
 * Where a row is expected to begin: windows of a track follow each other. `before` is NULL for the
 * first row of all.
 */
uint64_t rows_predict_start(const struct window *before, bool is_same_track);

#endif
