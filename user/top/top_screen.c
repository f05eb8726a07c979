// SPDX-License-Identifier: Apache-2.0
/* A grid of cells; see top_screen.h. */
#include "user/top/top_screen.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "user/output/escape.h"
#include "user/util/utf8.h"

#define ELLIPSIS       0x2026u
#define ELLIPSIS_ASCII '>'
#define BLOCK_FIRST    0x2581u /* LOWER ONE EIGHTH BLOCK, up to FULL BLOCK */
#define CHART_LEVELS   8

int top_screen_clear(struct top_screen *screen, int width, int height)
{
	size_t cnt;

	width = width < 1 ? 1 : width;
	height = height < 1 ? 1 : height;
	cnt = (size_t)width * (size_t)height;
	if (!screen->cells || width != screen->width || height != screen->height) {
		free(screen->cells);
		screen->cells = calloc(cnt, sizeof(*screen->cells));
		screen->width = screen->cells ? width : 0;
		screen->height = screen->cells ? height : 0;
		if (!screen->cells)
			return -ENOMEM;
	}
	for (size_t i = 0; i < cnt; i++)
		screen->cells[i] = (struct top_cell){ .code = ' ' };
	return 0;
}

void top_screen_release(struct top_screen *screen)
{
	free(screen->cells);
	*screen = (struct top_screen){ 0 };
}

static struct top_cell *cell_at(const struct top_screen *screen, int y, int x)
{
	if (y < 0 || y >= screen->height || x < 0 || x >= screen->width)
		return NULL;
	return &screen->cells[(size_t)y * (size_t)screen->width + (size_t)x];
}

static void put(struct top_screen *screen, int y, int x, enum top_style style, uint32_t code)
{
	struct top_cell *cell = cell_at(screen, y, x);

	if (cell)
		*cell = (struct top_cell){ .code = code, .style = style };
}

/* Columns that the character takes; marks that go onto another one take none, and are left out. */
static int columns_of(const struct top_screen *screen, uint32_t *code)
{
	int columns = 1;

	if (*code < 0x80)
		return 1;
	if (!screen->is_ascii)
		columns = wcwidth((wchar_t)*code);
	if (screen->is_ascii || columns < 0)
		*code = '?';
	return columns < 0 ? 1 : columns;
}

/* Columns of the whole text, up to INT_MAX. */
static int measure(const struct top_screen *screen, const char *text, size_t len)
{
	int columns = 0;

	for (size_t i = 0; i < len && columns < INT_MAX - 2;) {
		uint32_t code;

		i += utf8_next(text + i, len - i, &code);
		columns += columns_of(screen, &code);
	}
	return columns;
}

static int draw(struct top_screen *screen, int y, int x, int width, enum top_style style,
		const struct strbuf *text)
{
	bool is_cut = measure(screen, strbuf_str(text), text->len) > width;
	int room = is_cut ? width - 1 : width;
	int at = 0;

	for (size_t i = 0; i < text->len;) {
		uint32_t code;
		int columns;

		i += utf8_next(text->data + i, text->len - i, &code);
		columns = columns_of(screen, &code);
		if (at + columns > room)
			break;
		if (columns)
			put(screen, y, x + at, style, code);
		if (columns == 2)
			put(screen, y, x + at + 1, style, TOP_CELL_TAIL);
		at += columns;
	}
	if (is_cut)
		put(screen, y, x + at++, style, screen->is_ascii ? ELLIPSIS_ASCII : ELLIPSIS);
	return at;
}

int top_screen_text(struct top_screen *screen, int y, int x, int width, enum top_style style,
		    const char *text)
{
	__cleanup_strbuf struct strbuf inert = STRBUF_INIT;

	if (x >= screen->width || y >= screen->height || width <= 0)
		return 0;
	if (width > screen->width - x)
		width = screen->width - x;
	escape_terminal(&inert, text, strlen(text));
	/* Without memory for the text there is a hole in the picture, until the next one. */
	return strbuf_error(&inert) ? 0 : draw(screen, y, x, width, style, &inert);
}

int top_screen_printf(struct top_screen *screen, int y, int x, int width, enum top_style style,
		      const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return top_screen_text(screen, y, x, width, style, text);
}

void top_screen_style(struct top_screen *screen, int y, enum top_style style)
{
	for (int x = 0; x < screen->width; x++) {
		struct top_cell *cell = cell_at(screen, y, x);

		if (cell)
			cell->style = style;
	}
}

/* The mean of the values from `from` to `to`; both may lie between two. */
static float mean(const float *values, size_t cnt, double from, double to)
{
	double sum = 0;

	for (size_t i = (size_t)from; i < cnt && (double)i < to; i++) {
		double begin = (double)i < from ? from : (double)i;
		double end = (double)(i + 1) > to ? to : (double)(i + 1);

		sum += values[i] * (end - begin);
	}
	return (float)(sum / (to - from));
}

void top_screen_chart(struct top_screen *screen, int y, int x, int width, const float *values,
		      size_t cnt, float full)
{
	static const char ascii[CHART_LEVELS + 1] = "_.,-=+*#";

	for (int i = 0; i < width && full > 0; i++) {
		double step = (double)cnt / width;
		float value = mean(values, cnt, i * step, (i + 1) * step);
		int level = (int)(value / full * CHART_LEVELS + 0.5f);

		/* What is there is seen, however little it is. */
		if (value > 0 && level < 1)
			level = 1;
		if (level > CHART_LEVELS)
			level = CHART_LEVELS;
		if (level > 0)
			put(screen, y, x + i, TOP_STYLE_CHART,
			    screen->is_ascii ? (uint32_t)ascii[level - 1] :
					       BLOCK_FIRST + (uint32_t)level - 1);
	}
}

static void append_utf8(struct strbuf *out, uint32_t code)
{
	if (code < 0x80) {
		strbuf_putc(out, (char)code);
	} else if (code < 0x800) {
		strbuf_putc(out, (char)(0xc0 | (code >> 6)));
		strbuf_putc(out, (char)(0x80 | (code & 0x3f)));
	} else if (code < 0x10000) {
		strbuf_putc(out, (char)(0xe0 | (code >> 12)));
		strbuf_putc(out, (char)(0x80 | ((code >> 6) & 0x3f)));
		strbuf_putc(out, (char)(0x80 | (code & 0x3f)));
	} else {
		strbuf_putc(out, (char)(0xf0 | (code >> 18)));
		strbuf_putc(out, (char)(0x80 | ((code >> 12) & 0x3f)));
		strbuf_putc(out, (char)(0x80 | ((code >> 6) & 0x3f)));
		strbuf_putc(out, (char)(0x80 | (code & 0x3f)));
	}
}

void top_screen_row(const struct top_screen *screen, int y, struct strbuf *out)
{
	size_t begin = out->len;

	for (int x = 0; x < screen->width; x++) {
		const struct top_cell *cell = cell_at(screen, y, x);

		if (cell && cell->code != TOP_CELL_TAIL)
			append_utf8(out, cell->code);
	}
	while (out->len > begin && out->data[out->len - 1] == ' ')
		strbuf_truncate(out, out->len - 1);
}
