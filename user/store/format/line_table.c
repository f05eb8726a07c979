// SPDX-License-Identifier: Apache-2.0
/* See line_table.h. */
#include "user/store/format/line_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/model/folded_line.h"
#include "user/store/format/format.h"
#include "user/util/lines.h"
#include "user/util/saturate.h"

#define SPARSE_FACTOR 16 /* fewer lines than that part of all are sorted, not searched */

/* A line without its count. */
struct line_place {
	uint32_t offset;
	uint32_t len;
};

void line_table_release(struct line_table *table)
{
	free(table->lines);
	free(table->sums);
	free(table->touched);
	strbuf_release(&table->out);
	*table = (struct line_table){ .text = NULL };
}

static int reserve_lines(struct line_table *table, uint32_t cnt)
{
	struct line_place *lines;

	if (cnt <= table->line_cap)
		return 0;
	lines = reallocarray(NULL, cnt, sizeof(*lines));
	if (!lines)
		return -ENOMEM;
	free(table->lines);
	table->lines = lines;
	table->line_cap = cnt;
	return 0;
}

int line_table_load(struct line_table *table, const char *text, size_t len, uint32_t line_cnt)
{
	struct lines lines = lines_init(text, len);
	struct line line;
	int err;

	/* Left over from a text that was given up. */
	while (table->touched_cnt)
		table->sums[table->touched[--table->touched_cnt]] = 0;
	table->text = text;
	table->line_cnt = 0;
	/*
	 * A line takes four bytes at least: the claimed number alone is no reason to allocate
	 * memory.
	 */
	if (line_cnt > len / 4 || len > UINT32_MAX)
		return -EINVAL;
	err = reserve_lines(table, line_cnt);
	if (err)
		return err;
	while (lines_next(&lines, &line)) {
		size_t stack_len = line.is_whole ? folded_line_stack_bytes(line.at, line.len) : 0;

		if (!stack_len || table->line_cnt == line_cnt)
			return -EINVAL;
		table->lines[table->line_cnt++] = (struct line_place){
			.offset = (uint32_t)(line.at - text),
			.len = (uint32_t)stack_len,
		};
	}
	return table->line_cnt == line_cnt ? 0 : -EINVAL;
}

int line_table_put(struct line_table *table, uint64_t line, uint64_t count)
{
	char digits[FOLDED_COUNT_MAX_DIGITS + 1];
	size_t at = sizeof(digits);
	const struct line_place *place;
	char *to;
	int err;

	if (line >= table->line_cnt)
		return -EINVAL;
	place = &table->lines[line];
	digits[--at] = '\n';
	do {
		digits[--at] = (char)('0' + count % 10);
		count /= 10;
	} while (count);
	if (table->out.len + place->len > FORMAT_TEXT_MAX_BYTES)
		return -EINVAL;
	err = strbuf_reserve(&table->out, place->len + 1 + sizeof(digits));
	if (err)
		return err;
	to = table->out.data + table->out.len;
	memcpy(to, table->text + place->offset, place->len);
	to[place->len] = ' ';
	memcpy(to + place->len + 1, digits + at, sizeof(digits) - at);
	table->out.len += place->len + 1 + sizeof(digits) - at;
	table->out.data[table->out.len] = '\0';
	return 0;
}

/* ---- sums ---- */

static int reserve_sums(struct line_table *table)
{
	if (table->line_cnt <= table->sum_cap)
		return 0;
	free(table->sums);
	free(table->touched);
	table->sum_cap = 0;
	table->sums = calloc(table->line_cnt, sizeof(*table->sums));
	table->touched = reallocarray(NULL, table->line_cnt, sizeof(*table->touched));
	if (!table->sums || !table->touched)
		return -ENOMEM;
	table->sum_cap = table->line_cnt;
	return 0;
}

int line_table_add(struct line_table *table, uint64_t line, uint64_t count)
{
	int err = table->touched_cnt ? 0 : reserve_sums(table);

	if (err)
		return err;
	if (line >= table->line_cnt)
		return -EINVAL;
	if (count == 0)
		return 0;
	if (table->sums[line] == 0)
		table->touched[table->touched_cnt++] = (uint32_t)line;
	table->sums[line] = add_saturated(table->sums[line], count);
	return 0;
}

static int compare_lines(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

static int put_sum(struct line_table *table, uint32_t line)
{
	uint64_t sum = table->sums[line];

	table->sums[line] = 0;
	return sum ? line_table_put(table, line, sum) : 0;
}

int line_table_put_sums(struct line_table *table)
{
	bool is_sparse = table->touched_cnt < table->line_cnt / SPARSE_FACTOR;
	uint32_t cnt = is_sparse ? table->touched_cnt : table->line_cnt;
	int err = 0;

	if (table->touched_cnt == 0)
		return 0;
	if (is_sparse)
		qsort(table->touched, cnt, sizeof(*table->touched), compare_lines);
	for (uint32_t i = 0; i < cnt; i++) {
		int put_err = put_sum(table, is_sparse ? table->touched[i] : i);

		/* All sums become 0 also then. */
		if (!err)
			err = put_err;
	}
	table->touched_cnt = 0;
	return err;
}
