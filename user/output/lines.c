// SPDX-License-Identifier: Apache-2.0
/* The table of source lines for terminals: where within its methods the CPU was. */
#include "user/output/output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/output/escape.h"
#include "user/output/info.h"
#include "user/util/cleanup.h"
#include "user/util/lines.h"

#define PLACE_MAX_WIDTH 40

/* A line of a method, whichever tier ran it. */
struct line_row {
	struct source_line line; /* its samples are those of all tiers */
	uint64_t tiers[FRAME_KIND_CNT];
};

struct line_rows {
	struct line_row *items;
	size_t cnt;
};

static int compare_places(const void *left, const void *right)
{
	const struct source_line *a = &((const struct line_row *)left)->line;
	const struct source_line *b = &((const struct line_row *)right)->line;
	int order = bytes_compare(a->name, a->name_len, b->name, b->name_len);

	if (!order)
		order = bytes_compare(a->file, a->file_len, b->file, b->file_len);
	return order ? order : (a->line > b->line) - (a->line < b->line);
}

/* Hottest first, equal ones by name. */
static int compare_samples(const void *left, const void *right)
{
	const struct line_row *a = left, *b = right;

	if (a->line.samples != b->line.samples)
		return a->line.samples < b->line.samples ? 1 : -1;
	return compare_places(left, right);
}

/* One row per line of a method. The items are the caller's to free. 0 or -ENOMEM. */
static int merge_tiers(const struct source_lines *lines, struct line_rows *out)
{
	size_t cnt = source_lines__count(lines);
	struct line_row *rows = calloc(cnt + 1, sizeof(*rows));
	size_t last = 0;

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++) {
		rows[i].line = source_lines__get(lines, i);
		if (rows[i].line.kind < FRAME_KIND_CNT)
			rows[i].tiers[rows[i].line.kind] = rows[i].line.samples;
	}
	qsort(rows, cnt, sizeof(*rows), compare_places);
	for (size_t i = 1; i < cnt; i++) {
		if (compare_places(&rows[last], &rows[i]) != 0) {
			rows[++last] = rows[i];
			continue;
		}
		rows[last].line.samples += rows[i].line.samples;
		for (int tier = 0; tier < FRAME_KIND_CNT; tier++)
			rows[last].tiers[tier] += rows[i].tiers[tier];
	}
	*out = (struct line_rows){ .items = rows, .cnt = cnt ? last + 1 : 0 };
	qsort(rows, out->cnt, sizeof(*rows), compare_samples);
	return 0;
}

/* "Cart.java:42", inert; the compiler tells 0 where it knows the method alone. */
static void append_place(struct strbuf *out, const struct source_line *row)
{
	escape_terminal(out, row->file, row->file_len);
	if (row->line)
		strbuf_printf(out, ":%" PRIu32, row->line);
	else
		strbuf_puts(out, " (no line)");
}

/* Of the rows shown; wider ones push their method to the right. */
static int place_width(const struct line_rows *rows, size_t cnt, int *out)
{
	__cleanup_strbuf struct strbuf place = STRBUF_INIT;

	*out = (int)strlen("LINE");
	for (size_t i = 0; i < cnt; i++) {
		strbuf_clear(&place);
		append_place(&place, &rows->items[i].line);
		if (strbuf_error(&place))
			return strbuf_error(&place);
		if (place.len <= PLACE_MAX_WIDTH && (int)place.len > *out)
			*out = (int)place.len;
	}
	return 0;
}

static void append_row(struct strbuf *out, const struct output_info *info,
		       const struct line_row *row, uint64_t samples, int count_width, int width)
{
	__cleanup_strbuf struct strbuf place = STRBUF_INIT, end = STRBUF_INIT;
	const struct source_line *line = &row->line;
	size_t before = out->len;

	append_place(&place, line);
	info_append_tiers(&end, row->tiers, line->samples);
	strbuf_fail(out, strbuf_error(&place));
	strbuf_fail(out, strbuf_error(&end));
	strbuf_printf(out, "%6.2f  %*" PRIu64 "  %-*s  ", info_percent(line->samples, samples),
		      count_width, line->samples, width, strbuf_str(&place));
	escape_terminal_within(out, line->name, line->name_len,
			       info_name_columns(info, out->len - before + end.len));
	strbuf_printf(out, "%s\n", strbuf_str(&end));
}

static int append_rows(const struct output_info *info, uint64_t samples, size_t limit,
		       struct strbuf *out)
{
	__cleanup_free struct line_row *items = NULL;
	struct line_rows rows;
	int count_width = snprintf(NULL, 0, "%" PRIu64, samples);
	int err = merge_tiers(info->lines, &rows);
	size_t shown;
	int width;

	if (err)
		return err;
	items = rows.items;
	shown = limit && limit < rows.cnt ? limit : rows.cnt;
	err = place_width(&rows, shown, &width);
	if (err)
		return err;
	if (count_width < (int)strlen("SELF"))
		count_width = (int)strlen("SELF");
	strbuf_printf(out, " SELF%%  %*s  %-*s  METHOD\n", count_width, "SELF", width, "LINE");
	for (size_t i = 0; i < shown; i++)
		append_row(out, info, &rows.items[i], samples, count_width, width);
	if (shown < rows.cnt)
		strbuf_printf(out, "%zu more line%s not shown\n", rows.cnt - shown,
			      rows.cnt - shown == 1 ? "" : "s");
	return strbuf_error(out);
}

/* What the rows do not add up to, so that nobody takes them for the whole. */
static void append_rest(const struct source_lines *lines, uint64_t samples, struct strbuf *out)
{
	uint64_t known = 0;

	for (size_t i = 0; i < source_lines__count(lines); i++)
		known += source_lines__get(lines, i).samples;
	if (known >= samples)
		return;
	strbuf_printf(out, "%.2f %% of the samples have no line: native code, the kernel, %s\n",
		      info_percent(samples - known, samples), "and Java whose line is not known");
}

int output_lines(const struct profile *profile, const struct output_info *info, size_t limit,
		 struct strbuf *out)
{
	uint64_t samples = profile__sample_count(profile);
	int err = source_lines__sort(info->lines);

	if (err)
		return err;
	info_append_header(out, info, samples);
	err = append_rows(info, samples, limit, out);
	append_rest(info->lines, samples, out);
	return err ? err : strbuf_error(out);
}
