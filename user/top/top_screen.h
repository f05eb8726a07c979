/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A screen as a grid of cells, without a terminal: what is drawn into it can be looked at by a
 * test, and goes to the terminal as a whole (top_terminal.h).
 */
#ifndef JBPF_TOP_SCREEN_H
#define JBPF_TOP_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/util/strbuf.h"

enum top_style {
	TOP_STYLE_PLAIN = 0,
	TOP_STYLE_DIM = 1,
	TOP_STYLE_STRONG = 2,
	TOP_STYLE_HEAD = 3, /* column titles */
	TOP_STYLE_SELECTED = 4,
	TOP_STYLE_WARNING = 5,
	TOP_STYLE_JAVA = 6,
	TOP_STYLE_KERNEL = 7,
	TOP_STYLE_CHART = 8,
	TOP_STYLE_CNT,
};

#define TOP_CELL_TAIL 0 /* right half of a wide character */

struct top_cell {
	uint32_t code; /* a printable character that takes one column, or two; TOP_CELL_TAIL */
	enum top_style style;
};

/* Zero-initialise; end with top_screen_release(). */
struct top_screen {
	struct top_cell *cells; /* row after row */
	int width;
	int height;
	bool is_ascii; /* the terminal knows no other characters: they become '?' */
};

/* Makes it so large and empty. 0 or -ENOMEM: then it has no cells, and drawing does nothing. */
__must_check int top_screen_clear(struct top_screen *screen, int width, int height);
void top_screen_release(struct top_screen *screen);

/*
 * Draws foreign text, made inert, at most `width` columns of it; longer text ends in an ellipsis.
 * What lies outside of the screen is cut. Returns the columns it took.
 */
int top_screen_text(struct top_screen *screen, int y, int x, int width, enum top_style style,
		    const char *text);
/* The same, formatted; at most 511 bytes. */
int top_screen_printf(struct top_screen *screen, int y, int x, int width, enum top_style style,
		      const char *format, ...) __printf_like(6, 7);
/* All cells of a row in one style, whatever is in them. */
void top_screen_style(struct top_screen *screen, int y, enum top_style style);

/*
 * Values as a chart of one row in `width` columns, each column the mean of its share of the values;
 * `full` is the value of a full column.
 */
void top_screen_chart(struct top_screen *screen, int y, int x, int width, const float *values,
		      size_t cnt, float full);

/* A row as UTF-8, without the blanks at its end. Appended. */
void top_screen_row(const struct top_screen *screen, int y, struct strbuf *out);

#endif
