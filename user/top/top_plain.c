// SPDX-License-Identifier: Apache-2.0
/* Plain tables of jbpf top; see top_plain.h. */
#include "user/top/top_plain.h"

#include <string.h>

#include "user/cli/text_table.h"
#include "user/output/escape.h"
#include "user/util/cleanup.h"

static const struct text_table_column list_columns[] = {
	{ .title = "CORES", .is_number = true },
	{ .title = "HOST%", .is_number = true },
	{ .title = "PROCESSES", .is_number = true },
	{ .title = "JAVA", .is_optional = true },
	{ .title = "CONTAINER OR PROCESS", .is_name = true },
	{ .title = "HOTTEST METHOD", .is_name = true },
};

static const struct text_table_column method_columns[] = {
	{ .title = "CORES", .is_number = true },
	{ .title = "SELF%", .is_number = true },
	{ .title = "TOTAL%", .is_number = true },
	{ .title = "METHOD", .is_name = true },
};

#define COLUMNS_MAX ARRAY_SIZE(list_columns)

static void add_amount(struct text_table *table, const struct top_host *host, enum event event,
		       uint64_t samples)
{
	text_table_cellf(table, "%.*f", top_view_decimals(event), top_amount(host, event, samples));
}

static void add_frame(struct text_table *table, const char *name)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;

	top_view_append_frame(&text, name);
	if (strbuf_error(&text))
		table->err = strbuf_error(&text);
	else
		text_table_cell(table, strbuf_str(&text));
}

static void add_row(struct text_table *table, const struct top_state *state,
		    const struct top_content *content, const struct top_row *row)
{
	add_amount(table, &content->rows.host, state->event, row->samples);
	text_table_cellf(table, "%.1f",
			 100 * top_share(&content->rows.host, state->event, row->samples));
	text_table_cellf(table, "%zu", row->process_cnt);
	text_table_cell(table, row->is_jvm ? row->jvm_version : "");
	text_table_cell(table, row->name);
	add_frame(table, row->hottest);
}

static void add_line(struct text_table *table, const struct top_state *state,
		     const struct top_content *content, const struct top_line *line)
{
	double samples = content->lines.samples ? (double)content->lines.samples : 1;

	add_amount(table, &content->rows.named, state->event, line->self);
	text_table_cellf(table, "%.1f", 100 * (double)line->self / samples);
	text_table_cellf(table, "%.1f", 100 * (double)line->total / samples);
	add_frame(table, line->name);
}

/* Takes the line, made inert, and its error. */
static void append_line(struct strbuf *out, struct strbuf *line)
{
	escape_terminal(out, strbuf_str(line), line->len);
	strbuf_putc(out, '\n');
	strbuf_fail(out, strbuf_error(line));
	strbuf_clear(line);
}

static void append_head(const struct top_state *state, const struct top_content *content,
			const struct top_facts *facts, struct strbuf *out)
{
	__cleanup_strbuf struct strbuf line = STRBUF_INIT;

	strbuf_printf(&line, "%s: ", event_name(state->event));
	top_view_append_load(&line, content, state->event);
	strbuf_puts(&line, ", ");
	top_view_append_time(&line, &content->rows.host, facts->now_unix_ns);
	strbuf_printf(&line, ", %s, %s", facts->host, facts->source);
	append_line(out, &line);
	if (content->row) {
		strbuf_printf(&line, "%s: ", content->row->name);
		top_view_append_row_facts(&line, content->row);
		append_line(out, &line);
	}
	top_view_append_named_time(&line, &content->rows, facts->now_unix_ns);
	if (line.len || strbuf_error(&line))
		append_line(out, &line);
	top_view_append_problems(&line, content, facts);
	if (line.len || strbuf_error(&line))
		append_line(out, &line);
	strbuf_putc(out, '\n');
}

int top_plain(const struct top_state *state, const struct top_content *content,
	      const struct top_facts *facts, size_t row_max, size_t columns_max, struct strbuf *out)
{
	bool is_list = state->page == TOP_PAGE_LIST;
	struct text_table_column columns[COLUMNS_MAX];
	struct text_table table = {
		.columns = columns,
		.column_cnt = is_list ? ARRAY_SIZE(list_columns) : ARRAY_SIZE(method_columns),
		.width = columns_max,
	};
	size_t cnt = top_content_cnt(content, state);
	size_t shown = row_max && row_max < cnt ? row_max : cnt;
	int err;

	memcpy(columns, is_list ? list_columns : method_columns,
	       table.column_cnt * sizeof(*columns));
	columns[0].title = top_view_unit(state->event);
	if (is_list)
		columns[1].title = top_view_share(&content->rows.host, state->event);
	append_head(state, content, facts, out);
	for (size_t i = 0; i < shown; i++) {
		if (is_list)
			add_row(&table, state, content, content->list[i]);
		else
			add_line(&table, state, content, &content->lines.items[i]);
	}
	err = text_table_render(&table, out);
	text_table_release(&table);
	if (shown < cnt)
		strbuf_printf(out, "%zu more not shown, see --rows\n", cnt - shown);
	return err ? err : strbuf_error(out);
}
