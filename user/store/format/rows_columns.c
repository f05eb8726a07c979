// SPDX-License-Identifier: Apache-2.0
/* See rows_columns.h, and how windows become one in rows_table.h. */
#include "user/store/format/rows_columns.h"

#include <string.h>

#include "user/store/format/rows_table.h"
#include "user/util/saturate.h"

/* One of an array of numbers that have a section each. */
static struct window_field array_column(uint32_t section, uint32_t first, size_t offset)
{
	return (struct window_field){
		.offset = offset + (section - first) * sizeof(uint64_t),
		.bytes = sizeof(uint64_t),
		.section = section,
	};
}

bool rows_column(uint32_t section, struct window_field *out)
{
	if (section >= SECTION_END && section < SECTION_END + STACK_END_CNT) {
		*out = array_column(section, SECTION_END, offsetof(struct window, counts.ends));
		return true;
	}
	if (section >= SECTION_LOST && section < SECTION_LOST + WINDOW_LOSS_CNT) {
		*out = array_column(section, SECTION_LOST, offsetof(struct window, lost));
		return true;
	}
	for (size_t i = 0; section <= SECTION_ROW_LAST && i < WINDOW_FIELD_CNT; i++) {
		if (window_fields[i].section != section)
			continue;
		*out = window_fields[i];
		return true;
	}
	return false;
}

_Static_assert(SECTION_LOST + WINDOW_LOSS_CNT <= SECTION_END, "losses do not reach into ends");

uint64_t rows_predict_start(const struct window *before, bool is_same_track)
{
	if (!before)
		return 0;
	return before->start_unix_ns + (is_same_track ? before->duration_ns : 0);
}

/* ---- windows that become one ---- */

bool rows_is_same_track(const struct window *a, const struct window *b)
{
	if (!window_is_same_stream(a, b))
		return false;
	for (size_t i = 0; i < WINDOW_FIELD_CNT; i++) {
		const struct window_field *field = &window_fields[i];

		if (field->kind == WINDOW_FIELD_TRACK &&
		    window_number_get(a, field->offset, field->bytes) !=
			    window_number_get(b, field->offset, field->bytes))
			return false;
	}
	for (int i = 0; i < WINDOW_LABEL_CNT; i++) {
		const char *left = a->labels[i], *right = b->labels[i];

		if (left != right && (!left || !right || strcmp(left, right) != 0))
			return false;
	}
	return true;
}

/* The states that are no sums: those at the end. */
static void take_state(struct window *sum, const struct window *latest)
{
	for (size_t i = 0; i < WINDOW_FIELD_CNT; i++) {
		const struct window_field *field = &window_fields[i];

		if (field->kind == WINDOW_FIELD_STATE)
			memcpy((char *)sum + field->offset, (const char *)latest + field->offset,
			       field->bytes);
	}
}

void rows_merge_window(struct window *sum, const struct window *window)
{
	uint64_t end = window_end_unix_ns(sum), window_end = window_end_unix_ns(window);

	sum->recorded_ns = add_saturated(window_recorded_ns(sum), window_recorded_ns(window));
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
