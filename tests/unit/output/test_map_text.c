// SPDX-License-Identifier: Apache-2.0
/* The text of a perf map is what perf can read, whatever the names are. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "user/output/map_text.h"
#include "user/util/cleanup.h"

static void no_entries_give_no_text(void **state)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct map_text map = { .cnt = 0 };

	(void)state;
	assert_int_equal(map_text_render(&map, &out), 0);
	assert_int_equal(out.len, 0);
	map_text_release(&map);
}

static void lines_are_sorted_by_address(void **state)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct map_text map = { .cnt = 0 };

	(void)state;
	assert_int_equal(map_text_add(&map, 0x7f0000002000, 0x40, "shop.Cart.add"), 0);
	assert_int_equal(map_text_add(&map, 0x7f0000001000, 0x1f, "Interpreter"), 0);
	assert_int_equal(map_text_add(&map, UINT64_MAX - 1, 1, "last"), 0);
	assert_int_equal(map_text_add(&map, 0x7f0000001000, 0x20, "at the same place"), 0);
	assert_int_equal(map_text_render(&map, &out), 0);
	assert_string_equal(strbuf_str(&out), "7f0000001000 1f Interpreter\n"
					      "7f0000001000 20 at the same place\n"
					      "7f0000002000 40 shop.Cart.add\n"
					      "fffffffffffffffe 1 last\n");
	map_text_release(&map);
}

static void names_cannot_end_or_garble_a_line(void **state)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct map_text map = { .cnt = 0 };

	(void)state;
	assert_int_equal(map_text_add(&map, 1, 1, "a\n2 2 forged\r\033[2J\177\t;b"), 0);
	assert_int_equal(map_text_add(&map, 2, 1, "caf\xc3\xa9.\xff.<init>"), 0);
	assert_int_equal(map_text_render(&map, &out), 0);
	assert_string_equal(strbuf_str(&out), "1 1 a_2 2 forged__[2J__;b\n"
					      "2 1 caf\xc3\xa9.\xff.<init>\n");
	map_text_release(&map);
}

static void what_perf_could_not_read_is_left_out(void **state)
{
	static const struct {
		uint64_t start, len;
		const char *name;
	} rows[] = {
		{ 1, 1, "" },		{ 1, 1, NULL },		{ 1, 0, "x" },
		{ UINT64_MAX, 1, "x" }, { 2, UINT64_MAX, "x" },
	};
	struct map_text map = { .cnt = 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(map_text_add(&map, rows[i].start, rows[i].len, rows[i].name), 0);
	assert_int_equal(map.cnt, 0);
	map_text_release(&map);
}

static void many_entries_are_kept_and_too_many_refused(void **state)
{
	struct map_text map = { .cnt = 0 };
	size_t cnt = 0;

	(void)state;
	while (cnt < 100000)
		assert_int_equal(map_text_add(&map, ++cnt, 1, "n"), 0);
	assert_int_equal(map.cnt, cnt);
	assert_string_equal(map.names.data + map.entries[cnt - 1].name_at, "n");
	cnt = map.cnt;
	map.cnt = MAP_TEXT_MAX_ENTRIES; /* as if */
	assert_int_equal(map_text_add(&map, 1, 1, "n"), -E2BIG);
	map.cnt = cnt;
	map_text_release(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_entries_give_no_text),
		cmocka_unit_test(lines_are_sorted_by_address),
		cmocka_unit_test(names_cannot_end_or_garble_a_line),
		cmocka_unit_test(what_perf_could_not_read_is_left_out),
		cmocka_unit_test(many_entries_are_kept_and_too_many_refused),
	};

	return cmocka_run_group_tests_name("cmd_map_text", tests, NULL, NULL);
}
