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
	SECTION_TRACK_PID = 3,
	SECTION_TRACK_NS_PID = 4,
	SECTION_TRACK_PROCESS_START = 5,
	SECTION_TRACK_CGROUP_ID = 6,
	SECTION_TRACK_EXEC_ID = 7,
	SECTION_TRACK_FREQUENCY = 8,
	SECTION_TRACK_CPU_CNT = 9,
	SECTION_TRACK_LABELS = 10,
	SECTION_TRACK_EVENT = 11,
	SECTION_TRACK_PERIOD_UNIT = 12,
	SECTION_TRACK_PERIOD = 13,

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
	SECTION_RUN_DELAY = 47,
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

#define ROWS_TRACK_COLUMN_CNT 10
#define ROWS_ROW_COLUMN_CNT   25

/* What is the same in all windows of a track; boot id and labels are strings. */
extern const struct column rows_track_columns[ROWS_TRACK_COLUMN_CNT];
extern const struct column rows_row_columns[ROWS_ROW_COLUMN_CNT];

/* The column of losses for a reason. */
struct column rows_loss_column(enum window_loss loss);

/* The column of samples whose stack ended so. */
struct column rows_end_column(enum stack_end end);

uint64_t rows_column_get(const struct column *column, const struct window *window);
/* false when the value is too large for its field. */
bool rows_column_set(const struct column *column, struct window *window, uint64_t value);

/*
 * Where a row is expected to begin: windows of a track follow each other. `before` is NULL for the
 * first row of all.
 */
uint64_t rows_predict_start(const struct window *before, bool is_same_track);

#endif
