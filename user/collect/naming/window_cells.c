// SPDX-License-Identifier: Apache-2.0
/* See window_cells.h. */
#include "user/collect/naming/window_cells.h"

#include <stdlib.h>

#include "user/util/vec.h"

#define TICK_US	    1000 /* ns */
#define CELLS_FIRST 256

void window_cells_release(struct window_cells *cells)
{
	free(cells->cells);
	strbuf_release(&cells->code);
	free(cells->ticks);
	strbuf_release(&cells->tick_code);
	*cells = (struct window_cells){ 0 };
}

/* Index of the cell in which the window ends. */
static uint64_t last_index(const struct window *window)
{
	uint64_t end = window_end_unix_ns(window);
	uint64_t last;

	if (end <= window->start_unix_ns)
		return 0;
	last = cell_of(end - 1) - cell_of(window->start_unix_ns);
	return last < CELLS_MAX ? last : CELLS_MAX - 1;
}

/* The maps are swapped a little after the clock was read: what was counted then is in the last. */
static size_t cells_count(const struct counted_tick *ticks, size_t tick_cnt,
			  const struct window *window, struct cell *out)
{
	uint64_t base = cell_of(window->start_unix_ns), last = last_index(window);
	size_t cnt = 0;

	for (size_t i = 0; i < tick_cnt; i++) {
		uint64_t unix_ns = window->start_unix_ns + (uint64_t)ticks[i].after_us * TICK_US;
		uint64_t index = cell_of(unix_ns) - base;

		if (index > last)
			index = last;
		if (cnt && out[cnt - 1].index == index)
			out[cnt - 1].count++;
		else
			out[cnt++] = (struct cell){ .index = (uint32_t)index, .count = 1 };
	}
	return cnt;
}

uint64_t window_cells_fill(struct window_cells *cells, const struct counted_tick *ticks,
			   size_t tick_cnt, struct window *window)
{
	size_t cnt;

	window->cells = NULL;
	window->cells_len = 0;
	if (!tick_cnt || vec_reserve(cells->cells, tick_cnt, cells->cap, CELLS_FIRST))
		return 0;
	cnt = cells_count(ticks, tick_cnt, window, cells->cells);
	strbuf_clear(&cells->code);
	if (cells_encode(cells->cells, cnt, &cells->code) || cells->code.len > CELLS_MAX_LEN)
		return 0;
	window->cells = (const uint8_t *)cells->code.data;
	window->cells_len = (uint32_t)cells->code.len;
	return tick_cnt;
}

/* The last millisecond of a window, counted from its first. */
static uint32_t last_ms(const struct window *window)
{
	uint64_t end = window_end_unix_ns(window), ms;

	if (end <= window->start_unix_ns)
		return 0;
	ms = (end - 1) / TICK_MS_NS - window->start_unix_ns / TICK_MS_NS;
	return ms < TICKS_MAX_MS ? (uint32_t)ms : TICKS_MAX_MS;
}

void window_ticks_fill(struct window_cells *cells, const struct counted_tick *ticks,
		       size_t tick_cnt, const struct window_places *places, struct window *window)
{
	uint64_t base = window->start_unix_ns / TICK_MS_NS;
	uint32_t last = last_ms(window);

	window->ticks = NULL;
	window->ticks_len = 0;
	if (!tick_cnt || vec_reserve(cells->ticks, tick_cnt, cells->tick_cap, CELLS_FIRST))
		return;
	for (size_t i = 0; i < tick_cnt; i++) {
		uint64_t unix_ns = window->start_unix_ns + (uint64_t)ticks[i].after_us * TICK_US;
		uint64_t ms = unix_ns / TICK_MS_NS - base;

		cells->ticks[i] = (struct tick){
			.ms = ms < last ? (uint32_t)ms : last,
			.line = places->lines[ticks[i].count - places->first],
		};
	}
	qsort(cells->ticks, tick_cnt, sizeof(*cells->ticks), ticks_compare);
	strbuf_clear(&cells->tick_code);
	if (ticks_encode(cells->ticks, tick_cnt, places->line_cnt, &cells->tick_code))
		return;
	window->ticks = (const uint8_t *)cells->tick_code.data;
	window->ticks_len = cells->tick_code.len;
}
