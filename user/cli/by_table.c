// SPDX-License-Identifier: Apache-2.0
/* See by_table.h. */
#include "user/cli/by_table.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/cli/text_table.h"
#include "user/model/stack_text.h"
#include "user/output/info.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

#define COUNT_COLUMNS 3
#define LABELS_MAX    (TEXT_TABLE_COLUMNS_MAX - COUNT_COLUMNS)
#define TITLE_BYTES   32

static int compare(const void *left, const void *right)
{
	const struct profile_stack *a = left, *b = right;

	if (a->count != b->count)
		return a->count < b->count ? 1 : -1;
	return strcmp(a->text, b->text);
}

static void add_row(struct text_table *table, const struct output_info *info,
		    const struct profile_stack *row, uint64_t samples)
{
	double seconds = (double)info->covered_ns / (double)CLOCK_NS_PER_S;
	const char *text = row->text;
	size_t len = row->len;
	struct stack_frame label;

	if (info_cores(info, row->count) >= 0)
		text_table_cellf(table, "%.2f", info_cores(info, row->count));
	else if (event_unit(info->event) == EVENT_UNIT_NANOSECONDS && info->covered_ns &&
		 info_events(info, row->count))
		text_table_cellf(table, "%.2f",
				 (double)info_events(info, row->count) / (double)info->covered_ns);
	else if (info_events(info, row->count) && info->covered_ns)
		text_table_cellf(table, "%.1f", (double)info_events(info, row->count) / seconds);
	else
		text_table_cell(table, "");
	text_table_cellf(table, "%.2f", info_percent(row->count, samples));
	text_table_cellf(table, "%" PRIu64, row->count);
	while (stack_text_next(&text, &len, &label)) {
		__cleanup_strbuf struct strbuf cell = STRBUF_INIT;

		strbuf_append(&cell, label.text, label.text_len);
		text_table_cell(table, strbuf_str(&cell));
		if (!table->err)
			table->err = strbuf_error(&cell);
	}
}

/* What one count is. */
static const char *count_title(enum event event)
{
	if (event == EVENT_WALL || event == EVENT_SCHED)
		return "MICROSECONDS";
	return event_unit(event) == EVENT_UNIT_BYTES ? "KIB" : "SAMPLES";
}

/* Of time per time it is how many threads wait, or run, on average. */
static const char *rate_title(enum event event)
{
	if (event == EVENT_CPU)
		return "CORES";
	if (event_unit(event) == EVENT_UNIT_BYTES)
		return "BYTES/S";
	return event_unit(event) == EVENT_UNIT_NANOSECONDS ? "THREADS" : "EVENTS/S";
}

static void set_titles(const struct output_info *info, struct text_table_column *columns,
		       char (*titles)[TITLE_BYTES])
{
	columns[0] = (struct text_table_column){
		.title = rate_title(info->event),
		.is_number = true,
		.is_optional = true,
	};
	columns[1] = (struct text_table_column){ .title = "SHARE%", .is_number = true };
	columns[2] = (struct text_table_column){
		.title = count_title(info->event),
		.is_number = true,
	};
	for (size_t i = 0; i < info->label_cnt; i++) {
		(void)snprintf(titles[i], TITLE_BYTES, "%s", info->labels[i].name);
		for (char *c = titles[i]; *c; c++)
			*c = (char)toupper((unsigned char)*c);
		columns[COUNT_COLUMNS + i] =
			(struct text_table_column){ .title = titles[i],
						    .is_number = info->labels[i].is_number,
						    .is_name = !info->labels[i].is_number };
	}
}

static int add_rows(struct profile *labels, const struct output_info *info, size_t limit,
		    struct text_table *table)
{
	size_t cnt = profile__stack_count(labels);
	__cleanup_free struct profile_stack *rows = reallocarray(NULL, cnt + 1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		rows[i] = profile__stack(labels, i);
	qsort(rows, cnt, sizeof(*rows), compare);
	for (size_t i = 0; i < cnt && (!limit || i < limit); i++)
		add_row(table, info, &rows[i], profile__sample_count(labels));
	return 0;
}

int by_table(struct profile *labels, const struct output_info *info, size_t limit,
	     struct strbuf *out)
{
	struct text_table_column columns[TEXT_TABLE_COLUMNS_MAX];
	char titles[LABELS_MAX][TITLE_BYTES];
	struct text_table table = { .columns = columns,
				    .column_cnt = COUNT_COLUMNS + info->label_cnt,
				    .width = info->columns };
	size_t cnt = profile__stack_count(labels);
	int err;

	if (info->label_cnt > LABELS_MAX)
		return -EINVAL;
	set_titles(info, columns, titles);
	info_append_header(out, info, profile__sample_count(labels));
	err = add_rows(labels, info, limit, &table);
	if (!err)
		err = text_table_render(&table, out);
	if (limit && cnt > limit)
		strbuf_printf(out, "%zu more row%s not shown\n", cnt - limit,
			      cnt - limit == 1 ? "" : "s");
	text_table_release(&table);
	return err ? err : strbuf_error(out);
}
