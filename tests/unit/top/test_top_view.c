// SPDX-License-Identifier: Apache-2.0
/* The screens of jbpf top as text, at several widths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/unit/top/top_windows.h"
#include "user/top/top_keys.h"
#include "user/top/top_view.h"

struct picture {
	struct top_model *model;
	struct top_state state;
	struct top_content content;
	struct top_facts facts;
	struct top_screen screen;
	struct strbuf text;
};

static void picture_begin(struct picture *picture, struct top_model *model)
{
	*picture = (struct picture){
		.model = model,
		.facts = { .host = "box", .source = "store /s", .now_unix_ns = TOP_START + 14 * S },
	};
}

/* The screen's text, line after line. */
static const char *draw(struct picture *picture, int width, int height)
{
	strbuf_clear(&picture->text);
	assert_int_equal(top_content_load(picture->model, &picture->state, &picture->content), 0);
	top_keys_settle(&picture->state, &picture->content, top_view_lines(height));
	assert_int_equal(top_screen_clear(&picture->screen, width, height), 0);
	top_view_draw(&picture->screen, &picture->state, &picture->content, &picture->facts);
	for (int y = 0; y < height; y++) {
		top_screen_row(&picture->screen, y, &picture->text);
		strbuf_putc(&picture->text, '\n');
	}
	return strbuf_str(&picture->text);
}

static void picture_end(struct picture *picture)
{
	top_content_release(&picture->content);
	top_screen_release(&picture->screen);
	strbuf_release(&picture->text);
	top_model__free(picture->model);
}

static void press(struct picture *picture, enum top_key key, char text)
{
	const struct top_press one = { .key = key, .text = text };

	top_keys_apply(&picture->state, &picture->content, one, 10);
}

static void a_narrow_screen_has_numbers_and_names(void **state)
{
	struct picture picture;

	(void)state;
	picture_begin(&picture, top_two_rows());
	assert_string_equal(draw(&picture, 40, 8),
			    "cpu: 1.25 of 2 cores (62.5 %)  10 s unt\xe2\x80\xa6\n"
			    "1 container, 1 other\n"
			    "\n"
			    "  CORES  HOST% CONTAINER OR PROCESS\n"
			    "   1.00   50.0 shop\n"
			    "   0.25   12.5 sh\n"
			    "\n"
			    "q quit  ? help  Enter methods  s sort: \xe2\x80\xa6\n");
	picture_end(&picture);
}

static void a_wide_screen_has_charts_versions_and_hottest_methods(void **state)
{
	struct picture picture;
	const char *text;

	(void)state;
	picture_begin(&picture, top_two_rows());
	text = draw(&picture, 200, 8);
	assert_non_null(strstr(text,
			       "cpu: 1.25 of 2 cores (62.5 %)  10 s until 22:13:30 UTC, 4 s ago  "
			       "box  store /s\n"));
	assert_non_null(strstr(text, "CORES  HOST% LAST MINUTE"));
	assert_non_null(strstr(text, "17.0.15   shop"));
	assert_non_null(strstr(text, " Tax.of\n"));
	assert_non_null(strstr(text, " read_loop\n"));
	/* ten seconds of a minute, at the right end of sixty columns; a quarter of the full height */
	assert_non_null(strstr(text,
			       " \xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88"
			       "\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88\xe2\x96\x88  17"));
	assert_non_null(strstr(text,
			       " \xe2\x96\x82\xe2\x96\x82\xe2\x96\x82\xe2\x96\x82\xe2\x96\x82"
			       "\xe2\x96\x82\xe2\x96\x82\xe2\x96\x82\xe2\x96\x82\xe2\x96\x82  "));
	picture_end(&picture);
}

static void no_line_is_longer_than_the_screen_at_any_size(void **state)
{
	struct picture picture;

	(void)state;
	picture_begin(&picture, top_two_rows());
	for (int width = 1; width < 220; width += 3) {
		for (int height = 1; height < 12; height++)
			(void)draw(&picture, width, height);
	}
	picture_end(&picture);
}

static void methods_stand_below_the_facts_of_their_jvm(void **state)
{
	struct picture picture;

	(void)state;
	picture_begin(&picture, top_two_rows());
	(void)draw(&picture, 120, 12);
	press(&picture, TOP_KEY_ENTER, 0);
	assert_string_equal(
		draw(&picture, 120, 10),
		"cpu: 1.25 of 2 cores (62.5 %)  10 s until 22:13:30 UTC, 4 s ago  box  store /s\n"
		"shop  Java 17.0.15+6, frame pointers on, unknown frames 0.0 %, stacks whole 100.0 %\n"
		"\n"
		"  CORES  SELF% TOTAL% METHOD\n"
		"   0.70   70.0   70.0 Tax.of\n"
		"   0.20   20.0   20.0 memcpy\n"
		"   0.10   10.0   10.0 do_idle_[k]\n"
		"   0.00    0.0  100.0 Main.main\n"
		"   0.00    0.0   20.0 Cart.add\n"
		"q quit  ? help  Enter callers  Tab threads, calls  Esc back  s sort: self  / filter  p pause  e event\n");
	assert_int_equal(picture.screen.cells[4 * 120].style, TOP_STYLE_SELECTED);
	assert_int_equal(picture.screen.cells[6 * 120 + 22].style, TOP_STYLE_KERNEL);
	assert_int_equal(picture.screen.cells[7 * 120 + 22].style, TOP_STYLE_JAVA);
	picture_end(&picture);
}

static void calls_and_callers_are_trees(void **state)
{
	struct picture picture;

	(void)state;
	picture_begin(&picture, top_two_rows());
	(void)draw(&picture, 100, 12);
	press(&picture, TOP_KEY_ENTER, 0);
	press(&picture, TOP_KEY_TAB, 0);
	assert_non_null(strstr(draw(&picture, 100, 12),
			       "  CORES SHARE% THREADS, DIGITS OF THEIR NAMES AS #\n"
			       "   1.00  100.0 [unknown thread]\n"));
	press(&picture, TOP_KEY_TAB, 0);
	assert_non_null(strstr(draw(&picture, 100, 12),
			       "  CORES  SELF% TOTAL% CALLS, FROM THE TOP DOWN\n"
			       "   1.00    0.0  100.0 java\n"
			       "   1.00    0.0  100.0 Main.main\n"
			       "   0.70   70.0   70.0 - Tax.of\n"
			       "   0.20    0.0   20.0 - Cart.add\n"
			       "   0.20   20.0   20.0   memcpy\n"
			       "   0.10   10.0   10.0 - do_idle_[k]\n"));
	press(&picture, TOP_KEY_TAB, 0);
	(void)draw(&picture, 100, 12);
	press(&picture, TOP_KEY_ENTER, 0);
	assert_non_null(strstr(draw(&picture, 100, 12), "  CORES  SELF% TOTAL% CALLERS OF Tax.of\n"
							"   0.70    0.0   70.0 Tax.of\n"
							"   0.70    0.0   70.0 Main.main\n"
							"   0.70   70.0   70.0 java\n"));
	picture_end(&picture);
}

static void losses_problems_filter_pause_and_other_events_are_told(void **state)
{
	struct picture picture;
	struct window host = top_window(0, NULL, 0, 0);
	const char *text;

	(void)state;
	picture_begin(&picture, top_two_rows());
	host.lost[WINDOW_LOSS_COUNTS_FULL] = 1;
	top_add(picture.model, &host, "");
	picture.facts.note = "parts cannot be read";
	picture.state.is_paused = true;
	picture.state.is_filtering = true;
	strcpy(picture.state.pages[TOP_PAGE_LIST].filter, "sho");
	text = draw(&picture, 100, 8);
	assert_ptr_equal(strstr(text, "PAUSED  cpu: "), text);
	assert_non_null(strstr(text, "1 container, 1 other  filter 'sho' hides 1\n"
				     "parts cannot be read; the host lost 1 sample\n"));
	assert_non_null(strstr(text, "\nfilter: sho_ "));
	picture.state.event = EVENT_PAGE_FAULTS;
	text = draw(&picture, 100, 8);
	assert_non_null(strstr(text, "page-faults: no samples yet  box"));
	assert_non_null(strstr(text, "PER SEC  HOST%"));
	picture_end(&picture);
}

static void waiting_is_told_in_threads(void **state)
{
	struct top_model *model = top_model__new(&everything, TOP_SPAN_LIVE);
	struct window waits = top_window(7, "shop", 0, 250), host = top_window(0, NULL, 0, 625);
	struct picture picture;

	(void)state;
	waits.event = host.event = EVENT_OFF_CPU;
	waits.period = host.period = S / 10;
	top_add(model, &waits, "java;a;futex_[k] 125\njava;[idle];b 125\n");
	top_add(model, &host, "");
	picture_begin(&picture, model);
	picture.state.event = EVENT_OFF_CPU;
	assert_string_equal(draw(&picture, 50, 6),
			    "off-cpu: 5.00 threads waiting (1.25 for work not \xe2\x80\xa6\n"
			    "1 container, 0 others\n"
			    "\n"
			    "THREADS  HOST% CONTAINER OR PROCESS\n"
			    "   1.25   25.0 shop\n"
			    "q quit  ? help  Enter methods  s sort: now  / fil\xe2\x80\xa6\n");
	picture_end(&picture);
}

static void hostile_names_do_not_reach_the_terminal(void **state)
{
	struct top_model *model = top_model__new(&everything, TOP_SPAN_LIVE);
	struct window evil = top_window(7, "a\x1b]0;owned\x07", 0, 10);
	struct picture picture;
	const char *text;

	(void)state;
	evil.is_jvm = 1;
	evil.labels[WINDOW_LABEL_JVM_VERSION] = "\x1b[2J";
	evil.labels[WINDOW_LABEL_JIT_PROBLEM] = "\x1b[3J";
	top_add(model, &evil, "java;\x1b[31mx 10\n");
	top_end(model, 0, 10);
	picture_begin(&picture, model);
	picture.facts.host = "\x1b[4J";
	text = draw(&picture, 150, 8);
	assert_null(strchr(text, '\x1b'));
	assert_null(strchr(text, '\x07'));
	assert_non_null(strstr(text, "a_]0;owned_"));
	press(&picture, TOP_KEY_ENTER, 0);
	text = draw(&picture, 150, 8);
	assert_null(strchr(text, '\x1b'));
	assert_non_null(strstr(text, "_[31mx"));
	assert_non_null(strstr(text, "_[3J"));
	picture_end(&picture);
}

static void help_says_what_every_key_does(void **state)
{
	struct picture picture;
	const char *text;

	(void)state;
	picture_begin(&picture, top_two_rows());
	picture.state.is_help = true;
	text = draw(&picture, 80, 24);
	for (const char *key = "\nEnter \0\nTab \0\nEsc \0\ns \0\n/ \0\ne \0\np, space\0\nq \0";
	     *key; key += strlen(key) + 1)
		assert_non_null(strstr(text, key));
	picture_end(&picture);
}

static void of_the_running_window_it_says_which_time_is_whose(void **state)
{
	struct picture picture;
	const char *text;

	(void)state;
	picture_begin(&picture, top_two_rows());
	top_add_running(picture.model, "shop", 12, 50, 60);
	top_add_running(picture.model, "shop", 13, 50, 60);
	text = draw(&picture, 200, 8);
	assert_non_null(strstr(
		text, "cpu: 0.60 of 2 cores (30.0 %)  2 s until 22:13:34 UTC  box  store /s\n"));
	assert_non_null(strstr(text, "HOTTEST UNTIL 22:13:30\n"));
	assert_non_null(strstr(text, "   0.50   25.0 "));
	press(&picture, TOP_KEY_ENTER, 0);
	text = draw(&picture, 120, 8);
	assert_non_null(strstr(text, "shop  stacks: 10 s until 22:13:30 UTC, 4 s ago  Java 17"));
	/* amounts of methods are of those ten seconds */
	assert_non_null(strstr(text, "   0.70   70.0   70.0 Tax.of\n"));
	picture_end(&picture);
}

static void before_the_first_window_has_ended_it_says_that_there_are_no_stacks_yet(void **state)
{
	struct picture picture;
	const char *text;

	(void)state;
	picture_begin(&picture, top_model__new(&everything, TOP_SPAN_LIVE));
	top_add_running(picture.model, "shop", 13, 50, 60);
	text = draw(&picture, 200, 8);
	assert_non_null(strstr(text, "HOTTEST METHOD, none yet\n"));
	assert_non_null(strstr(text, "   0.50   25.0 "));
	press(&picture, TOP_KEY_ENTER, 0);
	text = draw(&picture, 120, 8);
	assert_non_null(strstr(text, "shop  stacks: none before the window has ended\n"));
	picture_end(&picture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_narrow_screen_has_numbers_and_names),
		cmocka_unit_test(a_wide_screen_has_charts_versions_and_hottest_methods),
		cmocka_unit_test(no_line_is_longer_than_the_screen_at_any_size),
		cmocka_unit_test(methods_stand_below_the_facts_of_their_jvm),
		cmocka_unit_test(calls_and_callers_are_trees),
		cmocka_unit_test(losses_problems_filter_pause_and_other_events_are_told),
		cmocka_unit_test(waiting_is_told_in_threads),
		cmocka_unit_test(hostile_names_do_not_reach_the_terminal),
		cmocka_unit_test(of_the_running_window_it_says_which_time_is_whose),
		cmocka_unit_test(
			before_the_first_window_has_ended_it_says_that_there_are_no_stacks_yet),
		cmocka_unit_test(help_says_what_every_key_does),
	};

	if (!setlocale(LC_CTYPE, "C.UTF-8") || setenv("TZ", "UTC0", 1))
		return 1;
	tzset();
	return cmocka_run_group_tests_name("top_view", tests, NULL, NULL);
}
