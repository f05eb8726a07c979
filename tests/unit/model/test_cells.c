// SPDX-License-Identifier: Apache-2.0
/*
 * Cells of time: what is encoded is what is read, bytes that are no code are refused whatever they
 * look like, and sums over windows lie on one grid whatever window they came from.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "user/model/cells.h"
#include "user/util/cleanup.h"

#define TEST_NS 1795262400000000000ull /* a moment at which a cell begins */

static void assert_code(const struct cell *cells, size_t cnt, const char *code, size_t len)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct cells_reader reader;
	struct cell cell;

	assert_int_equal(cells_encode(cells, cnt, &out), 0);
	assert_int_equal(out.len, len);
	if (len)
		assert_memory_equal(out.data, code, len);
	reader = cells_reader_init((const uint8_t *)out.data, out.len);
	for (size_t i = 0; i < cnt; i++) {
		assert_true(cells_next(&reader, &cell));
		assert_int_equal(cell.index, cells[i].index);
		assert_int_equal(cell.count, cells[i].count);
	}
	assert_false(cells_next(&reader, &cell));
	assert_false(reader.is_bad);
}

#define ASSERT_CODE(code, ...)                                                                \
	assert_code((const struct cell[]){ __VA_ARGS__ },                                     \
		    sizeof((const struct cell[]){ __VA_ARGS__ }) / sizeof(struct cell), code, \
		    sizeof(code) - 1)

static void cells_are_pairs_of_short_numbers(void **state)
{
	(void)state;
	assert_code(NULL, 0, "", 0);
	ASSERT_CODE("\0\1", { 0, 1 });
	ASSERT_CODE("\0\1\0\2\1\3", { 0, 1 }, { 1, 2 }, { 3, 3 });
	ASSERT_CODE("\x7f\x7f", { 127, 127 });
	ASSERT_CODE("\x80\1\x80\1", { 128, 128 });
	ASSERT_CODE("\xa0\xfe\x0a\xff\xff\xff\xff\x0f", { CELLS_MAX - 1, UINT32_MAX });
}

static void the_longest_window_is_read_as_written(void **state)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct cells_reader reader;
	struct cell cell;
	uint32_t cnt = 0;

	(void)state;
	for (uint32_t i = 0; i < CELLS_MAX; i++) {
		uint8_t pair[] = { 0, (uint8_t)(1 + i % 100) };

		strbuf_append(&out, pair, sizeof(pair));
	}
	reader = cells_reader_init((const uint8_t *)out.data, out.len);
	for (; cells_next(&reader, &cell); cnt++) {
		assert_int_equal(cell.index, cnt);
		assert_int_equal(cell.count, 1 + cnt % 100);
	}
	assert_false(reader.is_bad);
	assert_int_equal(cnt, CELLS_MAX);

	/* One more is beyond the longest window. */
	strbuf_append(&out, "\0\1", 2);
	reader = cells_reader_init((const uint8_t *)out.data, out.len);
	for (cnt = 0; cells_next(&reader, &cell); cnt++)
		;
	assert_true(reader.is_bad);
	assert_int_equal(cnt, CELLS_MAX);
}

static void what_is_no_row_of_cells_is_not_encoded(void **state)
{
	static const struct {
		struct cell cells[2];
	} rows[] = {
		{ { { 5, 1 }, { 5, 1 } } },	     { { { 5, 1 }, { 4, 1 } } },
		{ { { 5, 1 }, { 6, 0 } } },	     { { { 5, 1 }, { CELLS_MAX, 1 } } },
		{ { { 5, 1 }, { UINT32_MAX, 1 } } },
	};
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;

	(void)state;
	strbuf_puts(&out, "before");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(cells_encode(rows[i].cells, 2, &out), -EINVAL);
		assert_string_equal(strbuf_str(&out), "before");
	}
}

static void broken_code_is_refused(void **state)
{
	static const struct {
		const char *code;
		size_t len;
		size_t good; /* cells before the break */
	} rows[] = {
		{ "\0", 1, 0 },				/* no count */
		{ "\x80", 1, 0 },			/* cut in the skip */
		{ "\0\1\0\x80", 4, 1 },			/* cut in the count */
		{ "\0\0", 2, 0 },			/* count of 0 */
		{ "\x80\0\1", 3, 0 },			/* longer than need be */
		{ "\0\x81\x80\0", 4, 0 },		/* the same in the count */
		{ "\0\xff\xff\xff\xff\x1f", 6, 0 },	/* 33 bits */
		{ "\0\xff\xff\xff\xff\xff\x0f", 7, 0 }, /* 6 bytes */
		{ "\xa1\xfe\x0a\1", 4, 0 },		/* behind the longest window */
		{ "\xa0\xfe\x0a\1\0\1", 6, 1 },		/* the same by steps */
		{ "\0\1\xff\xff\xff\xff\x0f\1", 8, 1 }, /* a skip that would overflow */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct cells_reader reader =
			cells_reader_init((const uint8_t *)rows[i].code, rows[i].len);
		struct cell cell;
		size_t good = 0;

		while (cells_next(&reader, &cell))
			good++;
		assert_true(reader.is_bad);
		assert_int_equal(good, rows[i].good);
		assert_false(cells_next(&reader, &cell));
	}
}

/* Every string of bytes is either refused or the one code of what it gives. */
static void garbage_is_refused_or_means_one_thing(void **state)
{
	uint64_t random = 88172645463325252ull;
	size_t good_cnt = 0, bad_cnt = 0;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		__cleanup_strbuf struct strbuf again = STRBUF_INIT;
		struct cell cells[16];
		uint8_t bytes[16];
		size_t len = (size_t)round % (sizeof(bytes) + 1), cnt = 0;
		struct cells_reader reader;

		for (size_t i = 0; i < len; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			bytes[i] = (uint8_t)(random >> (round & 1 ? 57 : 56));
		}
		reader = cells_reader_init(bytes, len);
		while (cells_next(&reader, &cells[cnt]))
			cnt++;
		bad_cnt += reader.is_bad;
		if (reader.is_bad)
			continue;
		good_cnt++;
		assert_int_equal(cells_encode(cells, cnt, &again), 0);
		assert_int_equal(again.len, len);
		if (len)
			assert_memory_equal(again.data, bytes, len);
	}
	assert_true(good_cnt > 100 && bad_cnt > 100);
}

static void add(struct cells_sum *sum, uint64_t start_unix_ns, const struct cell *cells, size_t cnt)
{
	__cleanup_strbuf struct strbuf code = STRBUF_INIT;

	assert_int_equal(cells_encode(cells, cnt, &code), 0);
	assert_int_equal(cells_sum__add(sum, start_unix_ns, (const uint8_t *)code.data, code.len),
			 0);
}

static void windows_that_begin_in_other_cells_add_up_by_wall_time(void **state)
{
	static const struct cell first[] = { { 0, 1 }, { 2, 5 } };
	static const struct cell second[] = { { 0, 10 }, { 1, 20 } };
	struct cells_sum *sum = cells_sum__new();
	const struct cell_total *totals;
	size_t cnt;

	(void)state;
	assert_non_null(sum);
	totals = cells_sum__view(sum, &cnt);
	assert_int_equal(cnt, 0);
	add(sum, TEST_NS + 3 * CELL_NS, second, 2);
	add(sum, TEST_NS + CELL_NS + CELL_NS / 2, first, 2); /* begins within a cell */
	totals = cells_sum__view(sum, &cnt);
	assert_int_equal(cnt, 3);
	assert_true(totals[0].number == TEST_NS / CELL_NS + 1 && totals[0].count == 1);
	assert_true(totals[1].number == TEST_NS / CELL_NS + 3 && totals[1].count == 15);
	assert_true(totals[2].number == TEST_NS / CELL_NS + 4 && totals[2].count == 20);
	cells_sum__free(sum);
}

static void a_sum_is_taken_once_relative_to_any_start(void **state)
{
	static const struct cell cells[] = { { 1, 300 }, { 7, 2 } };
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct cells_sum *sum = cells_sum__new();

	(void)state;
	assert_non_null(sum);
	assert_int_equal(cells_sum__take(sum, TEST_NS, &out), 0);
	assert_int_equal(out.len, 0);
	add(sum, TEST_NS, cells, 2);
	add(sum, TEST_NS, cells, 2);
	/* The first cell lies before the start; the last one too far behind it. */
	strbuf_puts(&out, "x");
	assert_int_equal(cells_sum__take(sum, TEST_NS + 2 * CELL_NS, &out), -EINVAL);
	assert_int_equal(cells_sum__take(sum, TEST_NS + 7 * CELL_NS - CELLS_MAX * CELL_NS, &out),
			 -EINVAL);
	assert_string_equal(strbuf_str(&out), "x");
	strbuf_clear(&out);
	assert_int_equal(cells_sum__take(sum, TEST_NS + CELL_NS, &out), 0);
	assert_int_equal(out.len, 5);
	assert_memory_equal(out.data, "\0\xd8\4\5\4", 5);
	strbuf_clear(&out);
	assert_int_equal(cells_sum__take(sum, TEST_NS, &out), 0);
	assert_int_equal(out.len, 0);
	cells_sum__free(sum);
}

static void broken_cells_leave_a_sum_as_it_was(void **state)
{
	static const struct cell cells[] = { { 4, 7 } };
	struct cells_sum *sum = cells_sum__new();
	const struct cell_total *totals;
	size_t cnt;

	(void)state;
	assert_non_null(sum);
	add(sum, TEST_NS, cells, 1);
	assert_int_equal(cells_sum__add(sum, TEST_NS, (const uint8_t *)"\0\1\0", 3), -EINVAL);
	assert_int_equal(cells_sum__add(sum, TEST_NS, NULL, 0), 0);
	totals = cells_sum__view(sum, &cnt);
	assert_int_equal(cnt, 1);
	assert_int_equal(totals[0].count, 7);
	cells_sum__free(sum);
}

static void counts_saturate(void **state)
{
	static const struct cell cells[] = { { 0, UINT32_MAX } };
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct cells_sum *sum = cells_sum__new();

	(void)state;
	assert_non_null(sum);
	add(sum, TEST_NS, cells, 1);
	add(sum, TEST_NS, cells, 1);
	assert_int_equal(cells_sum__take(sum, TEST_NS, &out), 0);
	assert_int_equal(out.len, 6);
	assert_memory_equal(out.data, "\0\xff\xff\xff\xff\x0f", 6);
	cells_sum__free(sum);
}

/* Many streams over many windows, in no order: the sum is that of a plain array. */
static void a_sum_of_many_windows_is_exact(void **state)
{
	enum { WINDOWS = 400, CELLS = 500, SPAN = WINDOWS * 97 % 4096 + CELLS + 4096 };
	static uint64_t expected[SPAN];
	struct cells_sum *sum = cells_sum__new();
	const struct cell_total *totals;
	size_t cnt, at = 0;

	(void)state;
	assert_non_null(sum);
	memset(expected, 0, sizeof(expected));
	for (uint32_t i = 0; i < WINDOWS; i++) {
		uint32_t offset = i * 97 % 4096, cell_cnt = 0;
		struct cell cells[CELLS];

		for (uint32_t k = 0; k < CELLS; k += 1 + (i * k) % 5) {
			cells[cell_cnt++] = (struct cell){ .index = k, .count = 1 + (i + k) % 9 };
			expected[offset + k] += 1 + (i + k) % 9;
		}
		add(sum, TEST_NS + offset * CELL_NS, cells, cell_cnt);
	}
	totals = cells_sum__view(sum, &cnt);
	for (size_t i = 0; i < SPAN; i++) {
		if (!expected[i])
			continue;
		assert_true(at < cnt);
		assert_int_equal(totals[at].number, TEST_NS / CELL_NS + i);
		assert_int_equal(totals[at].count, expected[i]);
		at++;
	}
	assert_int_equal(at, cnt);
	cells_sum__free(sum);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cells_are_pairs_of_short_numbers),
		cmocka_unit_test(the_longest_window_is_read_as_written),
		cmocka_unit_test(what_is_no_row_of_cells_is_not_encoded),
		cmocka_unit_test(broken_code_is_refused),
		cmocka_unit_test(garbage_is_refused_or_means_one_thing),
		cmocka_unit_test(windows_that_begin_in_other_cells_add_up_by_wall_time),
		cmocka_unit_test(a_sum_is_taken_once_relative_to_any_start),
		cmocka_unit_test(broken_cells_leave_a_sum_as_it_was),
		cmocka_unit_test(counts_saturate),
		cmocka_unit_test(a_sum_of_many_windows_is_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
