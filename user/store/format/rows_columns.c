// SPDX-License-Identifier: Apache-2.0
/* Where a table's columns are in struct window, and how windows become one; see rows_table.h. */
#include "user/store/format/rows_columns.h"

#include <string.h>

#include "user/store/format/rows_table.h"
#include "user/util/saturate.h"

#define COLUMN(section_, kind_, field_)                                                            \
	{                                                                                          \
		.section = (section_), .kind = (kind_), .offset = offsetof(struct window, field_), \
		.size = sizeof(((struct window *)0)->field_)                                       \
	}

const struct column rows_track_columns[ROWS_TRACK_COLUMN_CNT] = {
	COLUMN(SECTION_TRACK_PID, COLUMN_DELTA, pid),
	COLUMN(SECTION_TRACK_NS_PID, COLUMN_DELTA, ns_pid),
	COLUMN(SECTION_TRACK_PROCESS_START, COLUMN_DELTA, process_start_ns),
	COLUMN(SECTION_TRACK_CGROUP_ID, COLUMN_DELTA, cgroup_id),
	COLUMN(SECTION_TRACK_EXEC_ID, COLUMN_PLAIN, exec_id),
	COLUMN(SECTION_TRACK_FREQUENCY, COLUMN_DELTA, frequency_hz),
	COLUMN(SECTION_TRACK_CPU_CNT, COLUMN_DELTA, cpu_cnt),
	COLUMN(SECTION_TRACK_EVENT, COLUMN_DELTA, event),
	COLUMN(SECTION_TRACK_PERIOD_UNIT, COLUMN_DELTA, period_unit),
	COLUMN(SECTION_TRACK_PERIOD, COLUMN_DELTA, period),
};

const struct column rows_row_columns[ROWS_ROW_COLUMN_CNT] = {
	COLUMN(SECTION_DURATION, COLUMN_DELTA, duration_ns),
	COLUMN(SECTION_SAMPLES, COLUMN_PLAIN, counts.samples),
	COLUMN(SECTION_UNKNOWN_FRAMES, COLUMN_PLAIN, counts.unknown_frames),
	COLUMN(SECTION_FRAMES, COLUMN_PLAIN, counts.frames),
	COLUMN(SECTION_TRUNCATED_SAMPLES, COLUMN_PLAIN, counts.truncated_samples),
	COLUMN(SECTION_JIT_FRAMES, COLUMN_PLAIN, counts.jit_frames),
	COLUMN(SECTION_UNKNOWN_JIT_FRAMES, COLUMN_PLAIN, counts.unknown_jit_frames),
	COLUMN(SECTION_AMBIGUOUS_FRAMES, COLUMN_PLAIN, counts.ambiguous_frames),
	COLUMN(SECTION_INLINED_FRAMES, COLUMN_PLAIN, counts.inlined_frames),
	COLUMN(SECTION_INTERPRETED_FRAMES, COLUMN_PLAIN, counts.interpreted_frames),
	COLUMN(SECTION_JIT_LEAF_SAMPLES, COLUMN_PLAIN, counts.jit_leaf_samples),
	COLUMN(SECTION_REPAIRED_SAMPLES, COLUMN_PLAIN, counts.repaired_samples),
	COLUMN(SECTION_UNREPAIRED_SAMPLES, COLUMN_PLAIN, counts.unrepaired_samples),
	COLUMN(SECTION_RUN_DELAY, COLUMN_PLAIN, counts.run_delay_ns),
	COLUMN(SECTION_JIT_SOURCE, COLUMN_DELTA, jit_source),
	COLUMN(SECTION_JIT_AGE, COLUMN_DELTA, jit_age_ms),
	COLUMN(SECTION_JIT_ENTRIES, COLUMN_DELTA, jit_entries),
	COLUMN(SECTION_ATTACH_OUTCOME, COLUMN_DELTA, attach_outcome),
	COLUMN(SECTION_ATTACH_CNT, COLUMN_DELTA, attach_cnt),
	COLUMN(SECTION_ATTACH_COMMAND, COLUMN_DELTA, attach_command_ms),
	COLUMN(SECTION_PRESERVE_FRAME_POINTER, COLUMN_DELTA, preserve_frame_pointer),
	COLUMN(SECTION_IS_JVM, COLUMN_DELTA, is_jvm),
	COLUMN(SECTION_FLAG_ORIGIN, COLUMN_DELTA, preserve_frame_pointer_origin),
	COLUMN(SECTION_WINDOW_CNT, COLUMN_PLAIN, window_cnt),
	COLUMN(SECTION_RECORDED, COLUMN_DELTA, recorded_ns),
};

struct column rows_loss_column(enum window_loss loss)
{
	return (struct column){
		.section = SECTION_LOST + loss,
		.kind = COLUMN_PLAIN,
		.offset = offsetof(struct window, lost) + loss * sizeof(uint64_t),
		.size = sizeof(uint64_t),
	};
}

struct column rows_end_column(enum stack_end end)
{
	return (struct column){
		.section = SECTION_END + end,
		.kind = COLUMN_PLAIN,
		.offset = offsetof(struct window, counts.ends) + end * sizeof(uint64_t),
		.size = sizeof(uint64_t),
	};
}

_Static_assert(SECTION_LOST + WINDOW_LOSS_CNT <= SECTION_END, "losses do not reach into ends");

uint64_t rows_column_get(const struct column *column, const struct window *window)
{
	const char *field = (const char *)window + column->offset;
	uint32_t value32;
	uint64_t value64;

	if (column->size == sizeof(value32)) {
		memcpy(&value32, field, sizeof(value32));
		return value32;
	}
	memcpy(&value64, field, sizeof(value64));
	return value64;
}

bool rows_column_set(const struct column *column, struct window *window, uint64_t value)
{
	char *field = (char *)window + column->offset;
	uint32_t value32 = (uint32_t)value;

	if (column->size == sizeof(value32)) {
		memcpy(field, &value32, sizeof(value32));
		return value32 == value;
	}
	memcpy(field, &value, sizeof(value));
	return true;
}

uint64_t rows_predict_start(const struct window *before, bool is_same_track)
{
	if (!before)
		return 0;
	return before->start_unix_ns + (is_same_track ? before->duration_ns : 0);
}

/* ---- windows that become one ---- */

bool rows_is_same_track(const struct window *a, const struct window *b)
{
	if (!window_is_same_stream(a, b) || a->ns_pid != b->ns_pid ||
	    a->frequency_hz != b->frequency_hz || a->cpu_cnt != b->cpu_cnt ||
	    a->event != b->event || a->period_unit != b->period_unit || a->period != b->period)
		return false;
	for (int i = 0; i < WINDOW_LABEL_CNT; i++) {
		const char *left = a->labels[i], *right = b->labels[i];

		if (left != right && (!left || !right || strcmp(left, right) != 0))
			return false;
	}
	return true;
}

static uint64_t recorded_ns(const struct window *window)
{
	return window->window_cnt ? window->recorded_ns : window->duration_ns;
}

/* The states that are no sums: those at the end. */
static void take_state(struct window *sum, const struct window *latest)
{
	sum->jit_source = latest->jit_source;
	sum->jit_age_ms = latest->jit_age_ms;
	sum->jit_entries = latest->jit_entries;
	sum->attach_outcome = latest->attach_outcome;
	sum->attach_cnt = latest->attach_cnt;
	sum->attach_command_ms = latest->attach_command_ms;
	sum->preserve_frame_pointer = latest->preserve_frame_pointer;
	sum->is_jvm = latest->is_jvm;
	sum->preserve_frame_pointer_origin = latest->preserve_frame_pointer_origin;
}

void rows_merge_window(struct window *sum, const struct window *window)
{
	uint64_t end = window_end_unix_ns(sum), window_end = window_end_unix_ns(window);

	sum->recorded_ns = add_saturated(recorded_ns(sum), recorded_ns(window));
	sum->window_cnt = add_saturated_u32(sum->window_cnt ? sum->window_cnt : 1,
					    window->window_cnt ? window->window_cnt : 1);
	if (window->start_unix_ns < sum->start_unix_ns) {
		sum->start_unix_ns = window->start_unix_ns;
		sum->start_boot_ns = window->start_boot_ns;
	}
	if (window_end >= end) {
		take_state(sum, window);
		end = window_end;
	}
	sum->duration_ns = end - sum->start_unix_ns;
	window_counts_add(&sum->counts, &window->counts);
	for (int i = 0; i < WINDOW_LOSS_CNT; i++)
		sum->lost[i] = add_saturated(sum->lost[i], window->lost[i]);
}
