// SPDX-License-Identifier: Apache-2.0
/* The table of source lines for terminals: where within its methods the CPU was. */
#include "user/output/output.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "user/output/escape.h"
#include "user/output/info.h"
#include "user/util/cleanup.h"

#define PLACE_MAX_WIDTH 40

/* "Cart.java:42", inert. */
static void append_place(struct strbuf *out, const struct source_line *row)
{
	escape_terminal(out, row->file, row->file_len);
	strbuf_printf(out, ":%" PRIu32, row->line);
}

/* Of the rows shown; wider ones push their method to the right. */
static int place_width(const struct source_lines *lines, size_t cnt, int *out)
{
	__cleanup_strbuf struct strbuf place = STRBUF_INIT;

	*out = (int)strlen("LINE");
	for (size_t i = 0; i < cnt; i++) {
		struct source_line row = source_lines__get(lines, i);

		strbuf_clear(&place);
		append_place(&place, &row);
		if (strbuf_error(&place))
			return strbuf_error(&place);
		if (place.len <= PLACE_MAX_WIDTH && (int)place.len > *out)
			*out = (int)place.len;
	}
	return 0;
}

static void append_row(struct strbuf *out, const struct output_info *info,
		       const struct source_line *row, uint64_t samples, int count_width, int width)
{
	__cleanup_strbuf struct strbuf place = STRBUF_INIT;
	const char *suffix = frame_kind_suffix(row->kind);
	size_t before = out->len;

	append_place(&place, row);
	strbuf_fail(out, strbuf_error(&place));
	strbuf_printf(out, "%6.2f  %*" PRIu64 "  %-*s  ", info_percent(row->samples, samples),
		      count_width, row->samples, width, strbuf_str(&place));
	escape_terminal_within(out, row->name, row->name_len,
			       info_name_columns(info, out->len - before + strlen(suffix)));
	strbuf_printf(out, "%s\n", suffix);
}

static int append_rows(const struct output_info *info, uint64_t samples, size_t limit,
		       struct strbuf *out)
{
	const struct source_lines *lines = info->lines;
	size_t cnt = source_lines__count(lines);
	size_t shown = limit && limit < cnt ? limit : cnt;
	int count_width = snprintf(NULL, 0, "%" PRIu64, samples);
	int width;
	int err = place_width(lines, shown, &width);

	if (err)
		return err;
	if (count_width < (int)strlen("SELF"))
		count_width = (int)strlen("SELF");
	strbuf_printf(out, " SELF%%  %*s  %-*s  METHOD\n", count_width, "SELF", width, "LINE");
	for (size_t i = 0; i < shown; i++) {
		struct source_line row = source_lines__get(lines, i);

		append_row(out, info, &row, samples, count_width, width);
	}
	if (shown < cnt)
		strbuf_printf(out, "%zu more line%s not shown\n", cnt - shown,
			      cnt - shown == 1 ? "" : "s");
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
