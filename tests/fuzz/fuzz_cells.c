// SPDX-License-Identifier: Apache-2.0
/*
 * Cells of time of any bytes: what is read of them is in order, has one code, and comes out of a
 * sum as it went in; broken ones leave a sum as it was. See tests/fuzz/fuzz_leaf_repair.c for how to
 * run it.
 *
 * Input: length of a first window's cells (1 byte), these, the second window's; they overlap.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "user/model/cells.h"

#define START_NS  1795262400000000000ull
#define SECOND_NS (START_NS + 3 * CELL_NS)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void expect(bool is_so)
{
	if (!is_so)
		abort();
}

/* Samples in the cells before the end or the break; *is_bad tells which. */
static uint64_t read_all(const uint8_t *cells, size_t len, bool *is_bad)
{
	struct cells_reader reader = cells_reader_init(cells, len);
	struct strbuf again = STRBUF_INIT;
	struct cell cell, *all = calloc(len + 1, sizeof(*all));
	uint64_t samples = 0;
	size_t cnt = 0;

	expect(all != NULL);
	for (; cells_next(&reader, &cell); cnt++) {
		expect(cell.count && cell.index < CELLS_MAX);
		expect(!cnt || cell.index > all[cnt - 1].index);
		all[cnt] = cell;
		samples += cell.count;
	}
	expect(!cells_next(&reader, &cell));
	*is_bad = reader.is_bad;
	expect(cells_encode(all, cnt, &again) == 0);
	expect(again.len <= len && (*is_bad || again.len == len));
	expect(!again.len || memcmp(again.data, cells, again.len) == 0);
	strbuf_release(&again);
	free(all);
	return samples;
}

static uint64_t add(struct cells_sum *sum, uint64_t start_ns, const uint8_t *cells, size_t len)
{
	bool is_bad;
	uint64_t samples = read_all(cells, len, &is_bad);

	expect(cells_sum__add(sum, start_ns, cells, len) == (is_bad ? -EINVAL : 0));
	return is_bad ? 0 : samples;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct cells_sum *sum = cells_sum__new();
	size_t first = len ? data[0] : 0, cnt;
	const struct cell_total *totals;
	struct strbuf out = STRBUF_INIT;
	uint64_t samples, in_sum = 0;

	expect(sum != NULL);
	data += len > 0;
	len -= len > 0;
	if (first > len)
		first = len;
	samples = add(sum, SECOND_NS, data, first);
	samples += add(sum, START_NS, data + first, len - first);
	totals = cells_sum__view(sum, &cnt);
	for (size_t i = 0; i < cnt; i++) {
		expect(!i || totals[i].number > totals[i - 1].number);
		in_sum += totals[i].count;
	}
	expect(in_sum == samples);
	/* Only what the second window has at its end can lie too far from the first's start. */
	if (cells_sum__take(sum, START_NS, &out) == 0) {
		bool is_bad;

		expect(read_all((const uint8_t *)out.data, out.len, &is_bad) <= samples && !is_bad);
	} else {
		expect(cnt && totals[cnt - 1].number - cell_of(START_NS) >= CELLS_MAX);
	}
	strbuf_release(&out);
	cells_sum__free(sum);
	return 0;
}
