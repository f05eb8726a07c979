// SPDX-License-Identifier: Apache-2.0
/* Moments of a stream's samples become cells of wall time, never more than there are samples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "user/collect/naming/window_cells.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

#define CELL_US	 20000u
#define START_NS (1795262400000000000ull + 15000000) /* 5 ms before its cell ends */

static struct window window_of(uint64_t duration_ns)
{
	return (struct window){ .start_unix_ns = START_NS, .duration_ns = duration_ns };
}

static void assert_cells(const struct window *window, const struct cell *expected, size_t cnt)
{
	struct cells_reader reader = cells_reader_init(window->cells, window->cells_len);
	struct cell cell;

	for (size_t i = 0; i < cnt; i++) {
		assert_true(cells_next(&reader, &cell));
		assert_int_equal(cell.index, expected[i].index);
		assert_int_equal(cell.count, expected[i].count);
	}
	assert_false(cells_next(&reader, &cell));
	assert_false(reader.is_bad);
}

static void moments_go_into_cells_of_wall_time(void **state)
{
	static const struct counted_tick ticks[] = {
		{ 1, 0 },	/* first moment of the window */
		{ 1, 4999 },	/* last moment of its cell */
		{ 1, 5000 },	/* first of the next */
		{ 1, 24999 },	/* last of that one */
		{ 1, 1005000 }, /* one second later */
		{ 1, 1005001 },
	};
	static const struct cell expected[] = { { 0, 2 }, { 1, 2 }, { 51, 2 } };
	struct window window = window_of(10 * CLOCK_NS_PER_S);
	struct window_cells cells = { 0 };

	(void)state;
	assert_int_equal(window_cells_fill(&cells, ticks, 6, &window), 6);
	assert_cells(&window, expected, 3);
	window_cells_release(&cells);
}

static void what_was_counted_after_the_end_is_in_the_last_cell(void **state)
{
	static const struct counted_tick ticks[] = {
		{ 1, 24999 }, { 1, 25000 }, { 1, 26000 }, { 1, 900000 }, { 1, UINT32_MAX }
	};
	static const struct cell two[] = { { 1, 5 } }, three[] = { { 1, 1 }, { 2, 4 } };
	static const struct cell one[] = { { 0, 5 } };
	struct window_cells cells = { 0 };
	struct window window = window_of(25000000); /* ends where a cell ends */

	(void)state;
	assert_int_equal(window_cells_fill(&cells, ticks, 5, &window), 5);
	assert_cells(&window, two, 1);
	window = window_of(25000001);
	assert_int_equal(window_cells_fill(&cells, ticks, 5, &window), 5);
	assert_cells(&window, three, 2);
	window = window_of(0);
	assert_int_equal(window_cells_fill(&cells, ticks, 5, &window), 5);
	assert_cells(&window, one, 1);
	window_cells_release(&cells);
}

static void no_moments_are_no_cells(void **state)
{
	struct window window = window_of(CLOCK_NS_PER_S);
	struct window_cells cells = { 0 };

	(void)state;
	window.cells = (const uint8_t *)"x";
	window.cells_len = 1;
	assert_int_equal(window_cells_fill(&cells, NULL, 0, &window), 0);
	assert_null(window.cells);
	assert_int_equal(window.cells_len, 0);
	window_cells_release(&cells);
}

/* Every cell of a window with two samples: two bytes each. */
static uint64_t fill_all(struct window_cells *cells, uint32_t cell_cnt, struct window *window)
{
	struct counted_tick *ticks = calloc(2 * (size_t)cell_cnt, sizeof(*ticks));
	uint64_t filled;

	assert_non_null(ticks);
	*window = window_of(3600 * CLOCK_NS_PER_S);
	window->start_unix_ns -= START_NS % CELL_NS;
	for (uint32_t i = 0; i < 2 * cell_cnt; i++)
		ticks[i] = (struct counted_tick){ .after_us = i / 2 * CELL_US };
	filled = window_cells_fill(cells, ticks, 2 * cell_cnt, window);
	free(ticks);
	return filled;
}

static void cells_too_long_for_the_store_are_none(void **state)
{
	const uint32_t most = CELLS_MAX_LEN / 2;
	struct window_cells cells = { 0 };
	struct window window;

	(void)state;
	assert_int_equal(fill_all(&cells, most, &window), 2 * most);
	assert_int_equal(window.cells_len, CELLS_MAX_LEN);
	assert_int_equal(fill_all(&cells, most + 1, &window), 0);
	assert_null(window.cells);
	window_cells_release(&cells);
}

/* The moments that have lines fall into the cells that are counted, whatever the window begins with. */
static void ticks_are_in_the_cells_that_are_counted(void **state)
{
	static const uint64_t starts[] = { START_NS, START_NS + 1, START_NS + 999999,
					   START_NS + 4999999, START_NS - 15000000 };
	const uint32_t lines[] = { 2, 0, 1 };
	const struct window_places places = { .lines = lines, .first = 10, .line_cnt = 3 };
	struct counted_tick ticks[300];
	struct window_cells cells = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		struct window window = window_of(CLOCK_NS_PER_S);
		uint64_t counts[60] = { 0 }, base;
		struct ticks_reader reader;
		struct cells_reader counted;
		struct cell cell;
		struct tick tick;
		size_t cnt = 0;

		window.start_unix_ns = starts[i];
		/* The last ones come after the window's end. */
		for (uint32_t j = 0; j < ARRAY_SIZE(ticks); j++)
			ticks[j] = (struct counted_tick){ 10 + j % 3, j * 3391 };
		assert_int_equal(window_cells_fill(&cells, ticks, ARRAY_SIZE(ticks), &window),
				 ARRAY_SIZE(ticks));
		window_ticks_fill(&cells, ticks, ARRAY_SIZE(ticks), &places, &window);
		assert_int_equal(ticks_reader_open(&reader, window.ticks, window.ticks_len), 0);
		assert_int_equal(reader.line_cnt, 3);
		base = cell_of(window.start_unix_ns);
		for (; ticks_next(&reader, &tick); cnt++)
			counts[cell_of((window.start_unix_ns / TICK_MS_NS + tick.ms) * TICK_MS_NS) -
			       base]++;
		assert_int_equal(cnt, ARRAY_SIZE(ticks));
		counted = cells_reader_init(window.cells, window.cells_len);
		while (cells_next(&counted, &cell)) {
			assert_int_equal(counts[cell.index], cell.count);
			counts[cell.index] = 0;
		}
		for (size_t j = 0; j < ARRAY_SIZE(counts); j++)
			assert_int_equal(counts[j], 0);
	}
	window_cells_release(&cells);
}

static void each_tick_has_the_line_of_its_count(void **state)
{
	static const struct counted_tick ticks[] = {
		{ 7, 0 }, { 5, 999 }, { 6, 1500 }, { 5, 9000 }
	};
	static const struct tick expected[] = { { 0, 1 }, { 0, 4 }, { 1, 0 }, { 9, 4 } };
	const uint32_t lines[] = { 4, 0, 1 };
	const struct window_places places = { .lines = lines, .first = 5, .line_cnt = 5 };
	struct window window = window_of(CLOCK_NS_PER_S);
	struct window_cells cells = { 0 };
	struct ticks_reader reader;
	struct tick tick;

	(void)state;
	window_ticks_fill(&cells, ticks, ARRAY_SIZE(ticks), &places, &window);
	assert_int_equal(ticks_reader_open(&reader, window.ticks, window.ticks_len), 0);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_true(ticks_next(&reader, &tick));
		assert_memory_equal(&tick, &expected[i], sizeof(tick));
	}
	assert_false(ticks_next(&reader, &tick));
	window_ticks_fill(&cells, NULL, 0, &places, &window);
	assert_null(window.ticks);
	assert_int_equal(window.ticks_len, 0);
	window_cells_release(&cells);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moments_go_into_cells_of_wall_time),
		cmocka_unit_test(what_was_counted_after_the_end_is_in_the_last_cell),
		cmocka_unit_test(no_moments_are_no_cells),
		cmocka_unit_test(cells_too_long_for_the_store_are_none),
		cmocka_unit_test(ticks_are_in_the_cells_that_are_counted),
		cmocka_unit_test(each_tick_has_the_line_of_its_count),
	};

	return cmocka_run_group_tests_name("window_cells", tests, NULL, NULL);
}
