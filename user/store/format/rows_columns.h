/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns of a block of rows, for those who write and read one: numbers of sections, and where
 * in struct window a column's values are. A block is a table of strings, then sections: number,
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
	SECTION_SERIES_ROWS = 1, /* how many rows each series has */
	SECTION_SERIES_BOOT_ID = 2,
	SECTION_SERIES_PID = 3,
	SECTION_SERIES_NS_PID = 4,
	SECTION_SERIES_PROCESS_START = 5,
	SECTION_SERIES_CGROUP_ID = 6,
	SECTION_SERIES_EXEC_ID = 7,
	SECTION_SERIES_FREQUENCY = 8,
	SECTION_SERIES_CPU_CNT = 9,
	SECTION_SERIES_LABELS = 10,

	SECTION_START = 32,
	SECTION_DURATION = 33,
	SECTION_START_BOOT = 34,
	SECTION_SAMPLES = 35,
	SECTION_UNKNOWN_FRAMES = 36,
	SECTION_FRAMES = 37,
	SECTION_TRUNCATED_SAMPLES = 38,
	SECTION_JIT_FRAMES = 39,
	SECTION_UNKNOWN_JIT_FRAMES = 40,
	SECTION_AMBIGUOUS_FRAMES = 41,
	SECTION_INLINED_FRAMES = 42,
	SECTION_INTERPRETED_FRAMES = 43,
	SECTION_JIT_LEAF_SAMPLES = 44,
	SECTION_REPAIRED_SAMPLES = 45,
	SECTION_UNREPAIRED_SAMPLES = 46,
	SECTION_JIT_SOURCE = 60,
	SECTION_JIT_AGE = 61,
	SECTION_JIT_ENTRIES = 62,
	SECTION_ATTACH_OUTCOME = 63,
	SECTION_ATTACH_CNT = 64,
	SECTION_ATTACH_COMMAND = 65,
	SECTION_PRESERVE_FRAME_POINTER = 66,
	SECTION_IS_JVM = 67,
	SECTION_FLAG_ORIGIN = 68,
	SECTION_WINDOW_CNT = 69,
	SECTION_RECORDED = 70,

	SECTION_STACK_CNTS = 80,
	SECTION_STACK_LINES = 81,
	SECTION_STACK_COUNTS = 82,
	SECTION_SOURCE_CNTS = 83,
	SECTION_SOURCE_LINES = 84,
	SECTION_SOURCE_COUNTS = 85,
	SECTION_CELL_CNTS = 90,
	SECTION_CELL_SKIPS = 91,
	SECTION_CELL_COUNTS = 92,

	SECTION_LOST = 128, /* and one more for each further reason */
	SECTION_CNT = 256,  /* higher ones are of a later jbpf */
};

enum column_kind {
	COLUMN_PLAIN = 0,
	COLUMN_DELTA = 1, /* zigzag difference to the row before */
};

struct column {
	enum rows_section section;
	enum column_kind kind;
	size_t offset; /* in struct window */
	size_t size;   /* 4 or 8 */
};

#define ROWS_SERIES_COLUMN_CNT 7
#define ROWS_ROW_COLUMN_CNT    24

/* What is the same in all windows of a series; boot id and labels are strings. */
extern const struct column rows_series_columns[ROWS_SERIES_COLUMN_CNT];
extern const struct column rows_row_columns[ROWS_ROW_COLUMN_CNT];

/* The column of losses for a reason. */
struct column rows_loss_column(enum window_loss loss);

uint64_t rows_column_get(const struct column *column, const struct window *window);
/* false when the value is too large for its field. */
bool rows_column_set(const struct column *column, struct window *window, uint64_t value);

/*
 * Where a row is expected to begin: windows of a series follow each other. `before` is NULL for the
 * first row of all.
 */
uint64_t rows_predict_start(const struct window *before, bool is_same_series);

#endif
