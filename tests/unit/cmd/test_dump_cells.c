// SPDX-License-Identifier: Apache-2.0
/* jbpf dump --format cells: one line per cell with samples, in order of time, of the time asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "user/cmd/dump_cells.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

#define START_NS (1795262400ull * CLOCK_NS_PER_S) /* 2026-11-21T12:00:00Z */

static void add(struct dump_cells *cells, uint64_t start_ns, uint64_t samples, const char *code,
		size_t len)
{
	const struct window window = {
		.start_unix_ns = start_ns,
		.counts.samples = samples,
		.cells = (const uint8_t *)code,
		.cells_len = (uint32_t)len,
	};

	assert_int_equal(dump_cells_add(cells, &window), 0);
}

static void assert_text(struct dump_cells *cells, uint64_t since_ns, uint64_t until_ns,
			const char *expected)
{
	const struct selection range = { .since_unix_ns = since_ns, .until_unix_ns = until_ns };
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;

	assert_int_equal(dump_cells_text(cells, &range, &out), 0);
	assert_string_equal(strbuf_str(&out), expected);
}

static void cells_of_all_windows_are_lines_in_order_of_time(void **state)
{
	struct dump_cells cells;

	(void)state;
	assert_int_equal(dump_cells_init(&cells), 0);
	assert_text(&cells, 0, UINT64_MAX, "");
	add(&cells, START_NS + CLOCK_NS_PER_S, 5, "\0\2\1\3", 4);
	add(&cells, START_NS, 3, "\1\1\x30\2", 4);
	add(&cells, START_NS + 995 * CLOCK_NS_PER_MS, 9, "\1\7\0\2", 4); /* another stream */
	assert_text(&cells, 0, UINT64_MAX,
		    "2026-11-21T12:00:00.020Z 1\n"
		    "2026-11-21T12:00:01.000Z 11\n"
		    "2026-11-21T12:00:01.020Z 2\n"
		    "2026-11-21T12:00:01.040Z 3\n");
	assert_int_equal(cells.samples, 17);
	assert_int_equal(cells.in_cells, 17);
	dump_cells_release(&cells);
}

static void only_cells_that_the_time_reaches_into_come_out(void **state)
{
	static const char code[] = "\0\1\0\2\0\3\0\4";
	const uint64_t ms = CLOCK_NS_PER_MS;
	struct dump_cells cells;

	(void)state;
	assert_int_equal(dump_cells_init(&cells), 0);
	add(&cells, START_NS, 10, code, 8);
	assert_text(&cells, START_NS + 20 * ms, START_NS + 60 * ms,
		    "2026-11-21T12:00:00.020Z 2\n2026-11-21T12:00:00.040Z 3\n");
	assert_text(&cells, START_NS + 39 * ms, START_NS + 41 * ms,
		    "2026-11-21T12:00:00.020Z 2\n2026-11-21T12:00:00.040Z 3\n");
	assert_text(&cells, START_NS + 40 * ms, START_NS + 41 * ms, "2026-11-21T12:00:00.040Z 3\n");
	assert_text(&cells, START_NS + 80 * ms, UINT64_MAX, "");
	assert_text(&cells, 0, START_NS, "");
	dump_cells_release(&cells);
}

static void windows_without_cells_or_with_broken_ones_are_told_of(void **state)
{
	struct dump_cells cells;

	(void)state;
	assert_int_equal(dump_cells_init(&cells), 0);
	add(&cells, START_NS, 10, NULL, 0);
	add(&cells, START_NS, 20, "\0\1\0", 3);
	add(&cells, START_NS, 30, "\0\x1c", 2);
	assert_text(&cells, 0, UINT64_MAX, "2026-11-21T12:00:00.000Z 28\n");
	assert_int_equal(cells.samples, 60);
	assert_int_equal(cells.in_cells, 28);
	assert_int_equal(cells.bad_cnt, 1);
	dump_cells_release(&cells);
}

static void times_at_the_ends_of_the_clock_are_lines_too(void **state)
{
	struct dump_cells cells;

	(void)state;
	assert_int_equal(dump_cells_init(&cells), 0);
	add(&cells, 0, 1, "\0\1", 2);
	add(&cells, UINT64_MAX, 1, "\0\1", 2);
	assert_text(&cells, 0, UINT64_MAX,
		    "1970-01-01T00:00:00.000Z 1\n2554-07-21T23:34:33.700Z 1\n");
	dump_cells_release(&cells);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cells_of_all_windows_are_lines_in_order_of_time),
		cmocka_unit_test(only_cells_that_the_time_reaches_into_come_out),
		cmocka_unit_test(windows_without_cells_or_with_broken_ones_are_told_of),
		cmocka_unit_test(times_at_the_ends_of_the_clock_are_lines_too),
	};

	return cmocka_run_group_tests_name("cmd_dump_cells", tests, NULL, NULL);
}
