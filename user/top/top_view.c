// SPDX-License-Identifier: Apache-2.0
/*
 * The screen: two lines of what is shown, one of problems, the titles of columns, the lines of the
 * page, the keys. A narrow screen loses columns, the least telling ones first; names get what the
 * numbers leave.
 */
#include "user/top/top_view.h"

#include <inttypes.h>
#include <string.h>

#include "user/util/cleanup.h"
#include "user/util/strbuf.h"

#define HEAD_LINES    4
#define FOOT_LINES    1
#define AMOUNT_WIDTH  8 /* with the blanks behind a column */
#define PERCENT_WIDTH 7
#define JVM_WIDTH     10
#define JVM_FROM      90 /* columns of the screen */
#define HOTTEST_FROM  100
#define MAX_INDENT    40

static const char *const list_orders[TOP_LIST_ORDER_CNT] = { "now", "minute", "name" };
static const char *const method_orders[TOP_ORDER_CNT] = { "self", "total", "name" };

size_t top_view_lines(int height)
{
	return height > HEAD_LINES + FOOT_LINES ? (size_t)(height - HEAD_LINES - FOOT_LINES) : 1;
}

/* ---- head and foot ---- */

static void draw_head(struct top_screen *screen, const struct top_state *state,
		      const struct top_content *content, const struct top_facts *facts)
{
	__cleanup_strbuf struct strbuf line = STRBUF_INIT;

	strbuf_puts(&line, state->is_paused ? "PAUSED  " : "");
	strbuf_printf(&line, "%s: ", event_name(state->event));
	top_view_append_load(&line, content, state->event);
	if (content->rows.host.end_unix_ns)
		strbuf_puts(&line, "  ");
	top_view_append_time(&line, &content->rows.host, facts->now_unix_ns);
	strbuf_printf(&line, "  %s  %s", facts->host, facts->source);
	top_screen_text(screen, 0, 0, screen->width,
			state->is_paused ? TOP_STYLE_WARNING : TOP_STYLE_STRONG, strbuf_str(&line));
}

/* "3 containers, 12 others". */
static void append_counts(const struct top_content *content, struct strbuf *out)
{
	size_t containers = 0;
	size_t others;

	for (size_t i = 0; i < content->rows.cnt; i++)
		containers += content->rows.items[i].is_container;
	others = content->rows.cnt - containers;
	strbuf_printf(out, "%zu container%s, %zu other%s", containers, containers == 1 ? "" : "s",
		      others, others == 1 ? "" : "s");
}

/* Which page this is, and facts of its row. */
static void draw_place(struct top_screen *screen, const struct top_state *state,
		       const struct top_content *content, const struct top_facts *facts)
{
	__cleanup_strbuf struct strbuf time = STRBUF_INIT;
	__cleanup_strbuf struct strbuf line = STRBUF_INIT;
	const struct top_row *row = content->row;

	if (state->page == TOP_PAGE_LIST) {
		append_counts(content, &line);
	} else if (!row) {
		strbuf_puts(&line, "no samples of it in the last minute");
	} else {
		strbuf_printf(&line, "%s  ", row->name);
		if (*state->thread)
			strbuf_printf(&line, "thread %s  ", state->thread);
		top_view_append_named_time(&time, &content->rows, facts->now_unix_ns);
		if (time.len)
			strbuf_printf(&line, "%s  ", strbuf_str(&time));
		top_view_append_row_facts(&line, row);
	}
	if (*state->pages[state->page].filter)
		strbuf_printf(&line, "  filter '%s' hides %zu", state->pages[state->page].filter,
			      content->hidden_cnt);
	top_screen_text(screen, 1, 0, screen->width, TOP_STYLE_PLAIN, strbuf_str(&line));
}

static void draw_problems(struct top_screen *screen, const struct top_content *content,
			  const struct top_facts *facts)
{
	__cleanup_strbuf struct strbuf line = STRBUF_INIT;

	top_view_append_problems(&line, content, facts);
	top_screen_text(screen, 2, 0, screen->width, TOP_STYLE_WARNING, strbuf_str(&line));
}

static void draw_foot(struct top_screen *screen, const struct top_state *state)
{
	static const char *const hints[TOP_PAGE_CNT] = {
		[TOP_PAGE_LIST] = "Enter methods  s sort: ",
		[TOP_PAGE_METHODS] = "Enter callers  Tab threads, calls  Esc back  s sort: ",
		[TOP_PAGE_TREE] = "Enter callers  Tab methods  Esc back",
		[TOP_PAGE_CALLERS] = "Enter callers of it  Esc back",
		[TOP_PAGE_THREADS] = "Enter its methods  Tab calls, methods  Esc back",
	};
	const struct top_page_state *page = &state->pages[state->page];
	__cleanup_strbuf struct strbuf line = STRBUF_INIT;
	const char *order = "";

	if (state->is_filtering) {
		top_screen_printf(screen, screen->height - 1, 0, screen->width, TOP_STYLE_STRONG,
				  "filter: %s_  (Enter keeps it, Esc clears it)", page->filter);
		return;
	}
	if (state->page == TOP_PAGE_LIST)
		order = list_orders[page->order % TOP_LIST_ORDER_CNT];
	else if (state->page == TOP_PAGE_METHODS)
		order = method_orders[page->order % TOP_ORDER_CNT];
	strbuf_printf(&line, "q quit  ? help  %s%s", hints[state->page], order);
	strbuf_puts(&line, "  / filter  p pause  e event");
	top_screen_text(screen, screen->height - 1, 0, screen->width, TOP_STYLE_DIM,
			strbuf_str(&line));
}

/* ---- the list ---- */

/* Where the columns begin; 0 = there is no such column. */
struct list_columns {
	int chart;
	int chart_width;
	int jvm;
	int name;
	int name_width;
	int hottest;
	float full; /* value at the top of all charts */
};

static struct list_columns list_columns_of(int width)
{
	struct list_columns columns = { 0 };
	int x = AMOUNT_WIDTH + PERCENT_WIDTH;

	if (width >= 60)
		columns.chart_width = width >= 160 ? 60 : width >= 100 ? 30 : 12;
	if (columns.chart_width) {
		columns.chart = x;
		x += columns.chart_width + 2;
	}
	if (width >= JVM_FROM) {
		columns.jvm = x;
		x += JVM_WIDTH;
	}
	columns.name = x;
	columns.name_width = width - x;
	if (width >= HOTTEST_FROM) {
		columns.name_width = (width - x) * 2 / 5;
		columns.hottest = x + columns.name_width;
		columns.name_width -= 2;
	}
	return columns;
}

/* The largest value of all columns of all charts: they are comparable. */
static float full_of(const struct top_content *content, int chart_width)
{
	int seconds = chart_width ? TOP_HISTORY_S / chart_width : 1;
	float full = 0;

	for (size_t i = 0; i < content->rows.cnt; i++) {
		const float *history = content->rows.items[i].history;

		for (int at = 0; at + seconds <= TOP_HISTORY_S; at += seconds) {
			float sum = 0;

			for (int j = 0; j < seconds; j++)
				sum += history[at + j];
			if (sum / (float)seconds > full)
				full = sum / (float)seconds;
		}
	}
	return full;
}

static void draw_hottest_title(struct top_screen *screen, int x, const struct top_content *content)
{
	__cleanup_strbuf struct strbuf title = STRBUF_INIT;

	top_view_append_hottest_title(&title, &content->rows);
	top_screen_text(screen, 3, x, screen->width, TOP_STYLE_HEAD, strbuf_str(&title));
}

static void draw_list_titles(struct top_screen *screen, const struct list_columns *columns,
			     enum event event, const struct top_content *content)
{
	top_screen_printf(screen, 3, 0, AMOUNT_WIDTH, TOP_STYLE_HEAD, "%7s", top_view_unit(event));
	top_screen_printf(screen, 3, AMOUNT_WIDTH, PERCENT_WIDTH, TOP_STYLE_HEAD, "%6s",
			  top_view_share(&content->rows.host, event));
	if (columns->chart)
		top_screen_text(screen, 3, columns->chart, columns->chart_width, TOP_STYLE_HEAD,
				"LAST MINUTE");
	if (columns->jvm)
		top_screen_text(screen, 3, columns->jvm, JVM_WIDTH, TOP_STYLE_HEAD, "JAVA");
	top_screen_text(screen, 3, columns->name, columns->name_width, TOP_STYLE_HEAD,
			"CONTAINER OR PROCESS");
	if (columns->hottest)
		draw_hottest_title(screen, columns->hottest, content);
	top_screen_style(screen, 3, TOP_STYLE_HEAD);
}

static void draw_amount(struct top_screen *screen, int y, const struct top_host *host,
			enum event event, uint64_t samples)
{
	top_screen_printf(screen, y, 0, AMOUNT_WIDTH, TOP_STYLE_PLAIN, "%7.*f",
			  top_view_decimals(event), top_amount(host, event, samples));
}

static enum top_style frame_style(const char *name)
{
	size_t len = strlen(name);

	if (len > 4 && strcmp(name + len - 4, "_[j]") == 0)
		return TOP_STYLE_JAVA;
	if (len > 4 && strcmp(name + len - 4, "_[k]") == 0)
		return TOP_STYLE_KERNEL;
	return TOP_STYLE_PLAIN;
}

static void draw_frame(struct top_screen *screen, int y, int x, const char *name)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;

	top_view_append_frame(&text, name);
	top_screen_text(screen, y, x, screen->width, frame_style(name), strbuf_str(&text));
}

/* Without the build: "21.0.13+9-1-deb13u2" is 21.0.13. */
static void draw_version(struct top_screen *screen, int y, int x, const char *version)
{
	top_screen_printf(screen, y, x, JVM_WIDTH - 2, TOP_STYLE_PLAIN, "%.*s",
			  *version ? (int)strcspn(version, "+-") : 1, *version ? version : "?");
}

static void draw_row(struct top_screen *screen, int y, const struct list_columns *columns,
		     const struct top_content *content, const struct top_row *row, enum event event)
{
	const struct top_host *host = &content->rows.host;

	draw_amount(screen, y, host, event, row->samples);
	top_screen_printf(screen, y, AMOUNT_WIDTH, PERCENT_WIDTH, TOP_STYLE_PLAIN, "%6.1f",
			  100 * top_share(host, event, row->samples));
	if (columns->chart)
		top_screen_chart(screen, y, columns->chart, columns->chart_width, row->history,
				 TOP_HISTORY_S, columns->full);
	if (columns->jvm && row->is_jvm)
		draw_version(screen, y, columns->jvm, row->jvm_version);
	top_screen_text(screen, y, columns->name, columns->name_width,
			row->is_container ? TOP_STYLE_STRONG : TOP_STYLE_PLAIN, row->name);
	if (columns->hottest)
		draw_frame(screen, y, columns->hottest, row->hottest);
}

/* ---- the pages of a row ---- */

static void draw_line_titles(struct top_screen *screen, const struct top_state *state)
{
	int x = 2 * PERCENT_WIDTH + AMOUNT_WIDTH;

	top_screen_printf(screen, 3, 0, AMOUNT_WIDTH, TOP_STYLE_HEAD, "%7s",
			  top_view_unit(state->event));
	top_screen_printf(screen, 3, AMOUNT_WIDTH, PERCENT_WIDTH, TOP_STYLE_HEAD, "%6s",
			  state->page == TOP_PAGE_THREADS ? "SHARE%" : "SELF%");
	if (state->page == TOP_PAGE_THREADS) {
		top_screen_text(screen, 3, AMOUNT_WIDTH + PERCENT_WIDTH, screen->width,
				TOP_STYLE_HEAD, "THREADS, DIGITS OF THEIR NAMES AS #");
		top_screen_style(screen, 3, TOP_STYLE_HEAD);
		return;
	}
	top_screen_printf(screen, 3, AMOUNT_WIDTH + PERCENT_WIDTH, PERCENT_WIDTH, TOP_STYLE_HEAD,
			  "%6s", "TOTAL%");
	if (state->page == TOP_PAGE_METHODS) {
		top_screen_text(screen, 3, x, screen->width, TOP_STYLE_HEAD, "METHOD");
	} else if (state->page == TOP_PAGE_TREE) {
		top_screen_text(screen, 3, x, screen->width, TOP_STYLE_HEAD,
				"CALLS, FROM THE TOP DOWN");
	} else {
		x += top_screen_text(screen, 3, x, screen->width, TOP_STYLE_HEAD, "CALLERS OF ");
		draw_frame(screen, 3, x, state->method);
	}
	top_screen_style(screen, 3, TOP_STYLE_HEAD);
}

/* Methods are ranked by what they compute themselves, trees by what passes through. */
static void draw_line(struct top_screen *screen, int y, const struct top_state *state,
		      const struct top_content *content, const struct top_line *line)
{
	const struct top_lines *lines = &content->lines;
	bool by_self = state->page == TOP_PAGE_METHODS &&
		       state->pages[state->page].order != TOP_ORDER_TOTAL;
	int indent = (int)(line->indent < MAX_INDENT ? line->indent : MAX_INDENT);
	int x = AMOUNT_WIDTH + 2 * PERCENT_WIDTH + 2 * indent;
	double samples = lines->samples ? (double)lines->samples : 1;

	draw_amount(screen, y, &content->rows.named, state->event,
		    by_self ? line->self : line->total);
	top_screen_printf(screen, y, AMOUNT_WIDTH, PERCENT_WIDTH, TOP_STYLE_PLAIN, "%6.1f",
			  100 * (double)line->self / samples);
	if (state->page == TOP_PAGE_THREADS) {
		top_screen_text(screen, y, AMOUNT_WIDTH + PERCENT_WIDTH, screen->width,
				TOP_STYLE_PLAIN, line->name);
		return;
	}
	top_screen_printf(screen, y, AMOUNT_WIDTH + PERCENT_WIDTH, PERCENT_WIDTH, TOP_STYLE_PLAIN,
			  "%6.1f", 100 * (double)line->total / samples);
	if (line->is_branch)
		top_screen_text(screen, y, x - 2, 2, TOP_STYLE_DIM, "- ");
	draw_frame(screen, y, x, line->name);
}

static void draw_lines(struct top_screen *screen, const struct top_state *state,
		       const struct top_content *content)
{
	const struct top_page_state *page = &state->pages[state->page];
	struct list_columns columns = list_columns_of(screen->width);
	size_t cnt = top_content_cnt(content, state);

	columns.full = full_of(content, columns.chart_width);
	if (state->page == TOP_PAGE_LIST)
		draw_list_titles(screen, &columns, state->event, content);
	else
		draw_line_titles(screen, state);
	for (size_t i = 0; i < top_view_lines(screen->height) && page->first + i < cnt; i++) {
		size_t line = page->first + i;
		int y = HEAD_LINES + (int)i;

		if (state->page == TOP_PAGE_LIST)
			draw_row(screen, y, &columns, content, content->list[line], state->event);
		else
			draw_line(screen, y, state, content, &content->lines.items[line]);
		if (line == page->cursor)
			top_screen_style(screen, y, TOP_STYLE_SELECTED);
	}
}

/* ---- help ---- */

static void draw_help(struct top_screen *screen)
{
	static const char *const lines[] = {
		"jbpf top: who uses this host, and with which code",
		"",
		"up, down, j, k, PgUp, PgDn, Home, End   move",
		"Enter    into a container's methods; a thread's methods; a method's callers",
		"Tab      of a container: methods, threads, or calls from the top down",
		"Esc      back",
		"s        sort by the next column",
		"/        show only names that contain a text",
		"e        the next event: cpu, page-faults, ... as far as it is sampled",
		"p, space pause: what is shown stays, sampling goes on",
		"q        quit",
		"",
		"CORES    CPUs kept busy in the time that the first line tells: two seconds where",
		"         jbpfd runs, else ten; THREADS that waited meanwhile; PER SEC of what is counted",
		"HOST%    share of the host: of its CPUs, or of all samples of the event; of waits,",
		"         where not everything is selected, SHARE% of what is",
		"SELF%    samples in the method itself; TOTAL% with what it calls",
		"",
		"Names end in _[k] in the kernel. Any key goes back.",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		top_screen_text(screen, (int)i, 0, screen->width,
				i ? TOP_STYLE_PLAIN : TOP_STYLE_STRONG, lines[i]);
}

void top_view_draw(struct top_screen *screen, const struct top_state *state,
		   const struct top_content *content, const struct top_facts *facts)
{
	if (state->is_help) {
		draw_help(screen);
		return;
	}
	draw_head(screen, state, content, facts);
	draw_place(screen, state, content, facts);
	draw_problems(screen, content, facts);
	draw_lines(screen, state, content);
	draw_foot(screen, state);
}
