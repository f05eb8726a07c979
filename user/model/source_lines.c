// SPDX-License-Identifier: Apache-2.0
/*
 * A profile whose stacks are "method;file:line". A line of one frame only stands for the samples
 * that found no room.
 */
#include "user/model/source_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/model/folded_line.h"
#include "user/model/profile.h"
#include "user/model/stack_text.h"
#include "user/util/cleanup.h"
#include "user/util/lines.h"
#include "user/util/parse.h"
#include "user/util/saturate.h"

#define LEFT_OUT_NAME  "[other lines]"
#define FILE_MAX_BYTES 255 /* of a file's name */

struct source_lines {
	struct profile *profile;
	size_t max_rows;
	uint64_t left_out;
	struct strbuf row; /* scratch */
	size_t *order;	   /* rows by samples, after the sort */
};

struct source_lines *source_lines__new(size_t max_rows)
{
	struct source_lines *lines = calloc(1, sizeof(*lines));

	if (!lines)
		return NULL;
	lines->max_rows = max_rows ? max_rows : SIZE_MAX;
	lines->profile = profile__new();
	if (!lines->profile) {
		free(lines);
		return NULL;
	}
	return lines;
}

void source_lines__free(struct source_lines *lines)
{
	if (!lines)
		return;
	profile__free(lines->profile);
	strbuf_release(&lines->row);
	free(lines->order);
	free(lines);
}

static int add_row(struct source_lines *lines, const char *row, size_t len, uint64_t samples)
{
	if (profile__stack_count(lines->profile) >= lines->max_rows) {
		lines->left_out = add_saturated(lines->left_out, samples);
		return 0;
	}
	return profile__add(lines->profile, row, len, samples);
}

int source_lines__add(struct source_lines *lines, const char *name, enum frame_kind kind,
		      const char *file, uint32_t line, uint64_t samples)
{
	char place[FILE_MAX_BYTES + sizeof(":4294967295")];
	int err;

	if (!*file) {
		lines->left_out = add_saturated(lines->left_out, samples);
		return 0;
	}
	(void)snprintf(place, sizeof(place), "%.*s:%" PRIu32, FILE_MAX_BYTES, file, line);
	strbuf_clear(&lines->row);
	err = stack_text_append(&lines->row, name, kind);
	if (!err)
		err = stack_text_append(&lines->row, place, FRAME_KIND_NATIVE);
	return err ? err : add_row(lines, lines->row.data, lines->row.len, samples);
}

/* ---- rows ---- */

/* "method;file:line" taken apart. False when it is something else. */
static bool row_parse(const char *text, size_t len, struct source_line *out)
{
	struct stack_frame method, place;
	const char *colon;
	uint64_t number;

	if (!stack_text_next(&text, &len, &method) || !method.name_len ||
	    !stack_text_next(&text, &len, &place) || len)
		return false;
	colon = memrchr(place.text, ':', place.text_len);
	if (!colon || colon == place.text)
		return false;
	*out = (struct source_line){
		.name = method.name,
		.name_len = method.name_len,
		.kind = method.kind,
		.file = place.text,
		.file_len = (size_t)(colon - place.text),
	};
	if (parse_u64_n(colon + 1, place.text_len - out->file_len - 1, 10, &number) ||
	    number > UINT32_MAX)
		return false;
	out->line = (uint32_t)number;
	return true;
}

static int add_text_line(struct source_lines *lines, const char *text, size_t len,
			 size_t *bad_line_cnt)
{
	struct source_line row;
	uint64_t samples;
	size_t row_len;

	if (!folded_line_split(text, len, &row_len, &samples)) {
		(*bad_line_cnt)++;
		return 0;
	}
	if (row_len == strlen(LEFT_OUT_NAME) && memcmp(text, LEFT_OUT_NAME, row_len) == 0) {
		lines->left_out = add_saturated(lines->left_out, samples);
		return 0;
	}
	if (!row_parse(text, row_len, &row)) {
		(*bad_line_cnt)++;
		return 0;
	}
	return add_row(lines, text, row_len, samples);
}

int source_lines__add_text(struct source_lines *lines, const char *text, size_t len,
			   size_t *bad_line_cnt)
{
	struct lines rest = lines_init(text, len);
	struct line line;
	int err = 0;

	while (!err && lines_next(&rest, &line))
		err = add_text_line(lines, line.at, line.len, bad_line_cnt);
	return err;
}

/* ---- text ---- */

static int compare_counts(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a < b) - (a > b);
}

/* A row is written when it has more samples than *least, or as many while *room is left. */
static int find_least(const struct source_lines *lines, uint64_t *least, size_t *room)
{
	size_t cnt = profile__stack_count(lines->profile);
	__cleanup_free uint64_t *counts = NULL;

	*least = 0;
	*room = SIZE_MAX;
	if (cnt <= SOURCE_LINES_TEXT_ROWS)
		return 0;
	counts = reallocarray(NULL, cnt, sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		counts[i] = profile__stack(lines->profile, i).count;
	qsort(counts, cnt, sizeof(*counts), compare_counts);
	*least = counts[SOURCE_LINES_TEXT_ROWS - 1];
	*room = SOURCE_LINES_TEXT_ROWS;
	for (size_t i = 0; counts[i] > *least; i++)
		(*room)--;
	return 0;
}

static void append_row(struct strbuf *out, const char *text, size_t len, uint64_t samples)
{
	strbuf_append(out, text, len);
	strbuf_printf(out, " %" PRIu64 "\n", samples);
}

int source_lines__to_text(struct source_lines *lines, struct strbuf *out)
{
	size_t cnt = profile__stack_count(lines->profile), room;
	uint64_t least, left_out = lines->left_out;
	int err = find_least(lines, &least, &room);

	profile__sort(lines->profile);
	if (err)
		return err;
	for (size_t i = 0; i < cnt; i++) {
		struct profile_stack row = profile__stack(lines->profile, i);

		if (row.count > least || (row.count == least && room)) {
			room -= row.count == least;
			append_row(out, row.text, row.len, row.count);
		} else {
			left_out = add_saturated(left_out, row.count);
		}
	}
	if (left_out)
		append_row(out, LEFT_OUT_NAME, strlen(LEFT_OUT_NAME), left_out);
	return strbuf_error(out);
}

/* ---- reading ---- */

size_t source_lines__count(const struct source_lines *lines)
{
	return profile__stack_count(lines->profile);
}

uint64_t source_lines__left_out(const struct source_lines *lines)
{
	return lines->left_out;
}

/* Equal ones in order of their text, which is the profile's. */
static int compare_rows(const void *left, const void *right, void *ctx)
{
	const struct source_lines *lines = ctx;
	size_t a = *(const size_t *)left, b = *(const size_t *)right;
	uint64_t count_a = profile__stack(lines->profile, a).count;
	uint64_t count_b = profile__stack(lines->profile, b).count;

	if (count_a != count_b)
		return (count_a < count_b) - (count_a > count_b);
	return (a > b) - (a < b);
}

int source_lines__sort(struct source_lines *lines)
{
	size_t cnt = profile__stack_count(lines->profile);
	size_t *order = reallocarray(lines->order, cnt + 1, sizeof(*order));

	if (!order)
		return -ENOMEM;
	lines->order = order;
	profile__sort(lines->profile);
	for (size_t i = 0; i < cnt; i++)
		order[i] = i;
	qsort_r(order, cnt, sizeof(*order), compare_rows, lines);
	return 0;
}

struct source_line source_lines__get(const struct source_lines *lines, size_t index)
{
	struct profile_stack stack = profile__stack(lines->profile, lines->order[index]);
	struct source_line row = { .name = "" };

	(void)row_parse(stack.text, stack.len, &row);
	row.samples = stack.count;
	return row;
}
