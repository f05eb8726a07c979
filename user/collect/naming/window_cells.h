/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the moments of a stream's samples to the cells and the ticks of its window. Pure but for its
 * memory, which is used for one window after the other.
 */
#ifndef JBPF_NAMING_WINDOW_CELLS_H
#define JBPF_NAMING_WINDOW_CELLS_H

#include <stddef.h>
#include <stdint.h>

#include "user/collect/naming/tick_join.h"
#include "user/model/cells.h"
#include "user/model/ticks.h"
#include "user/model/window.h"
#include "user/util/strbuf.h"

struct window_cells {
	struct cell *cells;
	size_t cap;
	struct strbuf code;
	struct tick *ticks;
	size_t tick_cap;
	struct strbuf tick_code;
};

void window_cells_release(struct window_cells *cells);

/*
 * Sets window->cells, borrowed until the next call, from the `tick_cnt` ticks of one stream, in
 * order of time; the window's times are set. There are no cells when memory is short or the code too
 * long. Returns how many samples are in the cells.
 */
uint64_t window_cells_fill(struct window_cells *cells, const struct counted_tick *ticks,
			   size_t tick_cnt, struct window *window);

/* Lines of a window's text. */
struct window_places {
	const uint32_t *lines; /* by count, from `first` on */
	size_t first;
	uint32_t line_cnt;
};

/*
 * Sets window->ticks the same way. Without memory for it there are none. Their cells are those of
 * window_cells_fill().
 */
void window_ticks_fill(struct window_cells *cells, const struct counted_tick *ticks,
		       size_t tick_cnt, const struct window_places *places, struct window *window);

#endif
