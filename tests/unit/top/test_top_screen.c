// SPDX-License-Identifier: Apache-2.0
/* The grid of cells that jbpf top draws into. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <string.h>

#include "user/top/top_screen.h"

static void assert_row(const struct top_screen *screen, int y, const char *wanted)
{
	__cleanup_strbuf struct strbuf row = STRBUF_INIT;

	top_screen_row(screen, y, &row);
	assert_string_equal(strbuf_str(&row), wanted);
}

static struct top_screen screen_of(int width, int height)
{
	struct top_screen screen = { 0 };

	assert_int_equal(top_screen_clear(&screen, width, height), 0);
	return screen;
}

static void text_is_cut_with_an_ellipsis_and_never_leaves_its_width(void **state)
{
	struct top_screen screen = screen_of(10, 2);

	(void)state;
	assert_int_equal(top_screen_text(&screen, 0, 2, 5, TOP_STYLE_STRONG, "abcdefgh"), 5);
	assert_row(&screen, 0, "  abcd\xe2\x80\xa6");
	assert_int_equal(screen.cells[2].style, TOP_STYLE_STRONG);
	assert_int_equal(top_screen_text(&screen, 1, 7, 99, TOP_STYLE_PLAIN, "abc"), 3);
	assert_row(&screen, 1, "       abc");
	assert_int_equal(top_screen_text(&screen, 1, 10, 5, TOP_STYLE_PLAIN, "x"), 0);
	assert_int_equal(top_screen_text(&screen, 2, 0, 5, TOP_STYLE_PLAIN, "x"), 0);
	assert_row(&screen, 1, "       abc");
	top_screen_release(&screen);
}

static void hostile_names_are_inert(void **state)
{
	struct top_screen screen = screen_of(40, 1);

	(void)state;
	/* an escape sequence, a byte that is no UTF-8, a character that turns the direction */
	(void)top_screen_text(&screen, 0, 0, 40, TOP_STYLE_PLAIN,
			      "a\x1b[2Jb\xff\xe2\x80\xae"
			      "c\x07");
	assert_row(&screen, 0, "a_[2Jb?_c_");
	top_screen_release(&screen);
}

static void wide_characters_take_two_columns_and_marks_none(void **state)
{
	struct top_screen screen = screen_of(6, 2);

	(void)state;
	assert_int_equal(top_screen_text(&screen, 0, 0, 6, TOP_STYLE_PLAIN, "a\xe4\xb8\x80z"), 4);
	assert_int_equal(screen.cells[1].code, 0x4e00);
	assert_int_equal(screen.cells[2].code, TOP_CELL_TAIL);
	assert_int_equal(screen.cells[3].code, 'z');
	/* no half of one at the end */
	assert_int_equal(
		top_screen_text(&screen, 1, 0, 2, TOP_STYLE_PLAIN, "\xe4\xb8\x80\xe4\xb8\x80"), 1);
	assert_row(&screen, 1, "\xe2\x80\xa6");
	assert_int_equal(top_screen_text(&screen, 1, 0, 6, TOP_STYLE_PLAIN, "e\xcc\x81x"), 2);
	top_screen_release(&screen);
}

static void a_terminal_without_utf8_gets_ascii(void **state)
{
	struct top_screen screen = screen_of(6, 2);
	const float values[] = { 0, 1, 8, 99 };

	(void)state;
	screen.is_ascii = true;
	(void)top_screen_text(&screen, 0, 0, 6, TOP_STYLE_PLAIN,
			      "a\xc3\xa4\xe4\xb8\x80"
			      "1234");
	assert_row(&screen, 0, "a??12>");
	top_screen_chart(&screen, 1, 0, 4, values, 4, 8);
	assert_row(&screen, 1, " _##");
	top_screen_release(&screen);
}

static void a_chart_shows_means_and_whatever_is_not_nothing(void **state)
{
	const float values[] = { 0, 0, 0.01f, 0, 4, 4, 8, 8 };
	struct top_screen screen = screen_of(8, 3);

	(void)state;
	top_screen_chart(&screen, 0, 0, 4, values, 8, 8);
	assert_row(&screen, 0, " \xe2\x96\x81\xe2\x96\x84\xe2\x96\x88");
	assert_int_equal(screen.cells[1].style, TOP_STYLE_CHART);
	/* more columns than values */
	top_screen_chart(&screen, 1, 0, 4, values + 6, 2, 8);
	assert_row(&screen, 1, "\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88");
	top_screen_chart(&screen, 2, 0, 4, values, 8, 0);
	assert_row(&screen, 2, "");
	top_screen_release(&screen);
}

static void another_size_is_an_empty_screen_of_that_size(void **state)
{
	struct top_screen screen = screen_of(10, 2);

	(void)state;
	(void)top_screen_text(&screen, 0, 0, 10, TOP_STYLE_PLAIN, "abc");
	assert_int_equal(top_screen_clear(&screen, 4, 3), 0);
	assert_int_equal(screen.width, 4);
	assert_row(&screen, 0, "");
	assert_int_equal(top_screen_printf(&screen, 2, 0, 9, TOP_STYLE_PLAIN, "%d", 7), 1);
	top_screen_style(&screen, 2, TOP_STYLE_SELECTED);
	assert_int_equal(screen.cells[11].style, TOP_STYLE_SELECTED);
	assert_row(&screen, 2, "7");
	/* terminals tell odd sizes while they are made */
	assert_int_equal(top_screen_clear(&screen, 0, -1), 0);
	assert_int_equal(screen.width, 1);
	top_screen_release(&screen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_cut_with_an_ellipsis_and_never_leaves_its_width),
		cmocka_unit_test(hostile_names_are_inert),
		cmocka_unit_test(wide_characters_take_two_columns_and_marks_none),
		cmocka_unit_test(a_terminal_without_utf8_gets_ascii),
		cmocka_unit_test(a_chart_shows_means_and_whatever_is_not_nothing),
		cmocka_unit_test(another_size_is_an_empty_screen_of_that_size),
	};

	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return 1;
	return cmocka_run_group_tests_name("top_screen", tests, NULL, NULL);
}
