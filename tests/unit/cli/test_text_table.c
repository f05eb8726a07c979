// SPDX-License-Identifier: Apache-2.0
/* Tables for people: as wide as their cells, or as a terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "user/cli/text_table.h"
#include "user/util/cleanup.h"

#define ELLIPSIS "\xe2\x80\xa6"

static const struct text_table_column columns[] = {
	{ .title = "CONTAINER", .is_name = true },
	{ .title = "POD", .is_name = true, .is_optional = true },
	{ .title = "STATE" },
	{ .title = "AGE", .is_number = true, .is_extra = true },
	{ .title = "SAMPLES", .is_number = true },
	{ .title = "SYMBOLS", .is_extra = true },
};

static void assert_rendered(const char *const *cells, size_t cnt, size_t width, const char *note,
			    const char *expected)
{
	struct text_table table = { .columns = columns,
				    .column_cnt = ARRAY_SIZE(columns),
				    .width = width };
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;

	for (size_t i = 0; i < cnt; i++)
		text_table_cell(&table, cells[i]);
	if (note)
		text_table_note(&table, note);
	assert_int_equal(text_table_render(&table, &out), 0);
	assert_string_equal(strbuf_str(&out), expected);
	text_table_release(&table);
}

static const char *const shop[] = {
	"shop-checkout-in-the-middle-of-it-all-1", "", "running", "3s", "10", "vmstructs",
};

static void columns_are_as_wide_as_their_widest_cell(void **state)
{
	(void)state;
	assert_rendered(
		shop, 6, 0, "a line of its own",
		"CONTAINER                                STATE    AGE  SAMPLES  SYMBOLS\n"
		"shop-checkout-in-the-middle-of-it-all-1  running   3s       10  vmstructs\n"
		"    a line of its own\n");
}

static void a_table_that_fits_is_left_alone(void **state)
{
	(void)state;
	assert_rendered(
		shop, 6, 73, NULL,
		"CONTAINER                                STATE    AGE  SAMPLES  SYMBOLS\n"
		"shop-checkout-in-the-middle-of-it-all-1  running   3s       10  vmstructs\n");
}

static void names_lose_their_middle_where_there_is_no_room(void **state)
{
	(void)state;
	assert_rendered(shop, 6, 60, NULL,
			"CONTAINER                   STATE    AGE  SAMPLES  SYMBOLS\n"
			"shop-che" ELLIPSIS
			"iddle-of-it-all-1  running   3s       10  vmstructs\n");
}

static void extra_columns_go_first_and_are_told(void **state)
{
	(void)state;
	assert_rendered(shop, 6, 40, NULL,
			"CONTAINER          STATE    AGE  SAMPLES\n"
			"shop-" ELLIPSIS "of-it-all-1  running   3s       10\n"
			"no room here for SYMBOLS\n");
	assert_rendered(shop, 6, 30, NULL,
			"CONTAINER     STATE    SAMPLES\n"
			"sho" ELLIPSIS "it-all-1  running       10\n"
			"no room here for AGE, SYMBOLS\n");
}

/* What is left is whole, or recognizable: a terminal that narrow wraps it. */
static void nothing_else_gives_way(void **state)
{
	(void)state;
	assert_rendered(shop, 6, 5, NULL,
			"CONTAINER     STATE    SAMPLES\n"
			"sho" ELLIPSIS "it-all-1  running       10\n"
			"no room here for AGE, SYMBOLS\n");
}

static void the_longest_names_give_way_first(void **state)
{
	const char *const cells[] = {
		"cart-in-a-container-1", "pod-with-a-longer-name-5d8f7", "up", "1s", "7", ""
	};

	(void)state;
	assert_rendered(cells, 6, 60, NULL,
			"CONTAINER       POD             STATE  AGE  SAMPLES  SYMBOLS\n"
			"cart" ELLIPSIS "ntainer-1  pod-" ELLIPSIS
			"ame-5d8f7  up      1s        7  -\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
		cmocka_unit_test(a_table_that_fits_is_left_alone),
		cmocka_unit_test(names_lose_their_middle_where_there_is_no_room),
		cmocka_unit_test(extra_columns_go_first_and_are_told),
		cmocka_unit_test(nothing_else_gives_way),
		cmocka_unit_test(the_longest_names_give_way_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
