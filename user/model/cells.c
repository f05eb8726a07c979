// SPDX-License-Identifier: Apache-2.0
/*
 * See cells.h. The code may come from a damaged or hostile file: each number has one spelling, and
 * whatever else stands there ends the reading. A sum is an array in order of time; windows that
 * come in that order are appended, others are sorted in when the array is looked at or full.
 */
#include "user/model/cells.h"

#include <errno.h>
#include <stdlib.h>

#include "user/util/cleanup.h"
#include "user/util/saturate.h"
#include "user/util/vec.h"

#define LEB_BITS      7
#define LEB_MORE      0x80u
#define LEB_BYTES_MAX 5 /* of 32 bits */
#define SUM_MIN_CAP   1024

/* ---- code ---- */

static size_t leb_put(uint32_t value, uint8_t *out)
{
	size_t len = 0;

	for (; value >= LEB_MORE; value >>= LEB_BITS)
		out[len++] = (uint8_t)(value | LEB_MORE);
	out[len++] = (uint8_t)value;
	return len;
}

/* False: cut, more than 32 bits, or longer than it need be. */
static bool leb_take(struct cells_reader *reader, uint32_t *out)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < LEB_BYTES_MAX && reader->at < reader->end; i++) {
		uint8_t byte = *reader->at++;

		value |= (uint64_t)(byte & ~LEB_MORE) << (i * LEB_BITS);
		if (byte & LEB_MORE)
			continue;
		if ((byte == 0 && i) || value > UINT32_MAX)
			return false;
		*out = (uint32_t)value;
		return true;
	}
	return false;
}

/* Appends one cell; `next` is the index its skip is counted from. */
static void cell_put(const struct cell *cell, uint32_t next, struct strbuf *out)
{
	uint8_t code[2 * LEB_BYTES_MAX];
	size_t len = leb_put(cell->index - next, code);

	len += leb_put(cell->count, code + len);
	strbuf_append(out, code, len);
}

int cells_encode(const struct cell *cells, size_t cnt, struct strbuf *out)
{
	struct strbuf_mark before = strbuf_mark(out);
	uint32_t next = 0;

	for (size_t i = 0; i < cnt; i++) {
		if (cells[i].index < next || cells[i].index >= CELLS_MAX || cells[i].count == 0)
			return strbuf_settle(out, before, -EINVAL);
		cell_put(&cells[i], next, out);
		next = cells[i].index + 1;
	}
	return strbuf_settle(out, before, 0);
}

struct cells_reader cells_reader_init(const uint8_t *cells, size_t len)
{
	return (struct cells_reader){ .at = cells, .end = cells ? cells + len : NULL };
}

bool cells_next(struct cells_reader *reader, struct cell *out)
{
	uint32_t skip, count;

	if (reader->is_bad || reader->at == reader->end)
		return false;
	if (!leb_take(reader, &skip) || !leb_take(reader, &count) || count == 0 ||
	    skip >= CELLS_MAX - reader->next) {
		reader->is_bad = true;
		return false;
	}
	out->index = reader->next + skip;
	out->count = count;
	reader->next = out->index + 1;
	return true;
}

/* ---- sums ---- */

struct cells_sum {
	struct cell_total *totals;
	size_t cnt;
	size_t cap;
	bool is_tidy; /* in order, each number once */
};

struct cells_sum *cells_sum__new(void)
{
	struct cells_sum *sum = calloc(1, sizeof(*sum));

	if (sum)
		sum->is_tidy = true;
	return sum;
}

void cells_sum__free(struct cells_sum *sum)
{
	if (!sum)
		return;
	free(sum->totals);
	free(sum);
}

static int compare_totals(const void *left, const void *right)
{
	uint64_t a = ((const struct cell_total *)left)->number;
	uint64_t b = ((const struct cell_total *)right)->number;

	return (a > b) - (a < b);
}

static void sum_tidy(struct cells_sum *sum)
{
	size_t kept = 0;

	if (sum->is_tidy)
		return;
	qsort(sum->totals, sum->cnt, sizeof(*sum->totals), compare_totals);
	for (size_t i = 1; i < sum->cnt; i++) {
		struct cell_total *last = &sum->totals[kept];

		if (sum->totals[i].number != last->number)
			sum->totals[++kept] = sum->totals[i];
		else
			last->count = add_saturated(last->count, sum->totals[i].count);
	}
	sum->cnt = kept + 1;
	sum->is_tidy = true;
}

/* Room for `extra` more; grows when adding up what is there leaves less than half of it free. */
static int sum_reserve(struct cells_sum *sum, size_t extra)
{
	if (sum->cap - sum->cnt >= extra)
		return 0;
	sum_tidy(sum);
	return vec_reserve(sum->totals, sum->cnt + (extra > sum->cnt ? extra : sum->cnt), sum->cap,
			   SUM_MIN_CAP);
}

int cells_sum__add(struct cells_sum *sum, uint64_t start_unix_ns, const uint8_t *cells, size_t len)
{
	struct cells_reader reader = cells_reader_init(cells, len);
	uint64_t base = cell_of(start_unix_ns);
	struct cell cell;
	size_t cnt = 0;
	int err;

	while (cells_next(&reader, &cell))
		cnt++;
	if (reader.is_bad)
		return -EINVAL;
	err = sum_reserve(sum, cnt);
	if (err)
		return err;
	reader = cells_reader_init(cells, len);
	while (cells_next(&reader, &cell)) {
		uint64_t number = base + cell.index;

		if (sum->cnt && number <= sum->totals[sum->cnt - 1].number)
			sum->is_tidy = false;
		sum->totals[sum->cnt++] =
			(struct cell_total){ .number = number, .count = cell.count };
	}
	return 0;
}

const struct cell_total *cells_sum__view(struct cells_sum *sum, size_t *cnt_out)
{
	sum_tidy(sum);
	*cnt_out = sum->cnt;
	return sum->totals;
}

int cells_sum__take(struct cells_sum *sum, uint64_t start_unix_ns, struct strbuf *out)
{
	uint64_t base = cell_of(start_unix_ns);
	struct strbuf_mark before = strbuf_mark(out);
	uint32_t next = 0;
	int err;

	sum_tidy(sum);
	for (size_t i = 0; i < sum->cnt; i++) {
		const struct cell_total *total = &sum->totals[i];
		struct cell cell = {
			.index = (uint32_t)(total->number - base),
			.count = total->count < UINT32_MAX ? (uint32_t)total->count : UINT32_MAX,
		};

		if (total->number < base || total->number - base >= CELLS_MAX)
			return strbuf_settle(out, before, -EINVAL);
		cell_put(&cell, next, out);
		next = cell.index + 1;
	}
	err = strbuf_settle(out, before, 0);
	if (!err)
		sum->cnt = 0;
	return err;
}
