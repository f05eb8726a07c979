// SPDX-License-Identifier: Apache-2.0
/* Keys of jbpf top, and the lines that they move over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/unit/top/top_windows.h"
#include "user/top/top_keys.h"

#define PAGE 3 /* lines of the screen */

struct world {
	struct top_model *model;
	struct top_state state;
	struct top_content content;
};

static void load(struct world *world)
{
	assert_int_equal(top_content_load(world->model, &world->state, &world->content), 0);
	top_keys_settle(&world->state, &world->content, PAGE);
}

static struct world *world_of(struct world *world, struct top_model *model)
{
	*world = (struct world){ .model = model };
	world->state.events = EVENT_BIT(EVENT_CPU) | EVENT_BIT(EVENT_PAGE_FAULTS);
	load(world);
	return world;
}

static void world_release(struct world *world)
{
	top_content_release(&world->content);
	top_model__free(world->model);
}

static void press(struct world *world, enum top_key key)
{
	const struct top_press one = { .key = key };

	top_keys_apply(&world->state, &world->content, one, PAGE);
	load(world);
}

static void type(struct world *world, const char *text)
{
	for (; *text; text++) {
		const struct top_press one = { .key = TOP_KEY_CHAR, .text = *text };

		top_keys_apply(&world->state, &world->content, one, PAGE);
		load(world);
	}
}

static const char *cursor_name(const struct world *world)
{
	size_t cursor = world->state.pages[world->state.page].cursor;

	assert_true(cursor < top_content_cnt(&world->content, &world->state));
	return world->state.page == TOP_PAGE_LIST ? world->content.list[cursor]->name :
						    world->content.lines.items[cursor].name;
}

/* Six containers; a has the most samples, f the fewest. */
static struct top_model *six_rows(uint64_t at)
{
	static const char *const names[] = { "a", "b", "c", "d", "e", "f" };
	struct top_model *model = top_model__new(&everything, TOP_SPAN_LIVE);

	assert_non_null(model);
	for (uint32_t i = 0; i < 6; i++) {
		struct window window = top_window(10 + i, names[i], at, 60 - 10 * i);

		top_add(model, &window, "java;x 1\n");
	}
	top_end(model, at, 210);
	return model;
}

static void the_busiest_row_stands_first_and_the_cursor_on_it(void **state)
{
	struct world world;

	(void)state;
	world_of(&world, top_two_rows());
	assert_string_equal(cursor_name(&world), "shop");
	assert_int_equal(top_content_cnt(&world.content, &world.state), 2);
	world_release(&world);
}

static void the_cursor_moves_and_the_page_with_it(void **state)
{
	struct world world;

	(void)state;
	world_of(&world, six_rows(0));
	type(&world, "jj");
	press(&world, TOP_KEY_DOWN);
	assert_string_equal(cursor_name(&world), "d");
	assert_int_equal(world.state.pages[TOP_PAGE_LIST].first, 1);
	press(&world, TOP_KEY_PAGE_DOWN);
	assert_string_equal(cursor_name(&world), "f");
	assert_int_equal(world.state.pages[TOP_PAGE_LIST].first, 3);
	press(&world, TOP_KEY_DOWN);
	assert_string_equal(cursor_name(&world), "f");
	press(&world, TOP_KEY_PAGE_UP);
	assert_string_equal(cursor_name(&world), "c");
	assert_int_equal(world.state.pages[TOP_PAGE_LIST].first, 2);
	type(&world, "k");
	press(&world, TOP_KEY_UP);
	press(&world, TOP_KEY_UP);
	press(&world, TOP_KEY_UP);
	assert_string_equal(cursor_name(&world), "a");
	press(&world, TOP_KEY_END);
	assert_string_equal(cursor_name(&world), "f");
	press(&world, TOP_KEY_HOME);
	assert_string_equal(cursor_name(&world), "a");
	world_release(&world);
}

static void the_cursor_follows_its_row_but_stays_at_the_top(void **state)
{
	struct world world;
	struct window busy;

	(void)state;
	world_of(&world, six_rows(0));
	for (uint32_t i = 0; i < 6; i++) {
		static const char *const names[] = { "a", "b", "c", "d", "e", "f" };

		busy = top_window(10 + i, names[i], 10, 10 + 10 * i); /* the other way round */
		top_add(world.model, &busy, "java;x 1\n");
	}
	type(&world, "j");
	assert_string_equal(cursor_name(&world), "b");
	top_end(world.model, 10, 210);
	load(&world);
	assert_string_equal(cursor_name(&world), "b");
	assert_int_equal(world.state.pages[TOP_PAGE_LIST].cursor, 4);
	press(&world, TOP_KEY_HOME);
	assert_string_equal(cursor_name(&world), "f");
	world_release(&world);
}

static void enter_leads_to_methods_and_callers_and_escape_back(void **state)
{
	struct world world;

	(void)state;
	world_of(&world, top_two_rows());
	press(&world, TOP_KEY_ENTER);
	assert_int_equal(world.state.page, TOP_PAGE_METHODS);
	assert_string_equal(world.content.row->name, "shop");
	assert_string_equal(cursor_name(&world), "Tax.of_[j]");
	press(&world, TOP_KEY_ENTER);
	assert_int_equal(world.state.page, TOP_PAGE_CALLERS);
	assert_int_equal(top_content_cnt(&world.content, &world.state), 3);
	assert_string_equal(world.content.lines.items[1].name, "Main.main_[j]");
	/* the callers of a caller */
	press(&world, TOP_KEY_DOWN);
	press(&world, TOP_KEY_ENTER);
	assert_string_equal(world.state.method, "Main.main_[j]");
	assert_int_equal(top_content_cnt(&world.content, &world.state), 2);
	press(&world, TOP_KEY_ESCAPE);
	assert_int_equal(world.state.page, TOP_PAGE_METHODS);
	press(&world, TOP_KEY_TAB);
	assert_int_equal(world.state.page, TOP_PAGE_THREADS);
	press(&world, TOP_KEY_TAB);
	assert_int_equal(world.state.page, TOP_PAGE_TREE);
	assert_string_equal(cursor_name(&world), "java");
	press(&world, TOP_KEY_TAB);
	assert_int_equal(world.state.page, TOP_PAGE_METHODS);
	press(&world, TOP_KEY_BACKSPACE);
	press(&world, TOP_KEY_ESCAPE);
	assert_int_equal(world.state.page, TOP_PAGE_LIST);
	assert_false(world.state.is_done);
	world_release(&world);
}

/* Whose threads are not known: it is one that has no name. */
static void a_thread_has_methods_and_calls_of_its_own(void **state)
{
	struct world world;

	(void)state;
	world_of(&world, top_two_rows());
	press(&world, TOP_KEY_ENTER);
	press(&world, TOP_KEY_TAB);
	assert_string_equal(cursor_name(&world), "[unknown thread]");
	assert_int_equal(top_content_cnt(&world.content, &world.state), 1);
	press(&world, TOP_KEY_ENTER);
	assert_int_equal(world.state.page, TOP_PAGE_METHODS);
	assert_string_equal(world.state.thread, "[unknown thread]");
	assert_string_equal(cursor_name(&world), "Tax.of_[j]");
	press(&world, TOP_KEY_TAB);
	assert_int_equal(world.state.page, TOP_PAGE_TREE);
	press(&world, TOP_KEY_ESCAPE);
	assert_int_equal(world.state.page, TOP_PAGE_THREADS);
	assert_string_equal(world.state.thread, "");
	press(&world, TOP_KEY_ESCAPE);
	assert_int_equal(world.state.page, TOP_PAGE_LIST);
	world_release(&world);
}

static void the_filter_hides_what_has_not_its_text(void **state)
{
	struct world world;

	(void)state;
	world_of(&world, top_two_rows());
	type(&world, "/SHq");
	assert_true(world.state.is_filtering && !world.state.is_done);
	assert_int_equal(top_content_cnt(&world.content, &world.state), 0);
	assert_int_equal(world.content.hidden_cnt, 2);
	press(&world, TOP_KEY_BACKSPACE);
	assert_int_equal(top_content_cnt(&world.content, &world.state), 2);
	type(&world, "o");
	press(&world, TOP_KEY_ENTER);
	assert_false(world.state.is_filtering);
	assert_int_equal(top_content_cnt(&world.content, &world.state), 1);
	/* the page below has a filter of its own, and this one stays */
	press(&world, TOP_KEY_ENTER);
	type(&world, "/tax");
	press(&world, TOP_KEY_ENTER);
	assert_int_equal(top_content_cnt(&world.content, &world.state), 1);
	press(&world, TOP_KEY_ESCAPE);
	assert_int_equal(world.state.page, TOP_PAGE_METHODS);
	assert_int_equal(top_content_cnt(&world.content, &world.state), 5);
	press(&world, TOP_KEY_ESCAPE);
	assert_int_equal(top_content_cnt(&world.content, &world.state), 1);
	/* it takes no more than it has room for */
	type(&world, "/");
	for (int i = 0; i < 2 * TOP_FILTER_BYTES; i++)
		type(&world, "x");
	assert_int_equal(strlen(world.state.pages[TOP_PAGE_LIST].filter), TOP_FILTER_BYTES - 1);
	press(&world, TOP_KEY_ESCAPE);
	assert_int_equal(top_content_cnt(&world.content, &world.state), 2);
	world_release(&world);
}

static void s_sorts_e_switches_the_event_and_p_pauses(void **state)
{
	struct world world;

	(void)state;
	world_of(&world, six_rows(0));
	type(&world, "ss");
	assert_int_equal(world.state.pages[TOP_PAGE_LIST].order, TOP_LIST_NAME);
	assert_string_equal(world.content.list[0]->name, "a");
	type(&world, "s");
	assert_int_equal(world.state.pages[TOP_PAGE_LIST].order, TOP_LIST_NOW);
	type(&world, "e");
	assert_int_equal(world.state.event, EVENT_PAGE_FAULTS);
	assert_int_equal(top_content_cnt(&world.content, &world.state), 0);
	/* nothing to enter, nowhere to move */
	press(&world, TOP_KEY_ENTER);
	press(&world, TOP_KEY_DOWN);
	assert_int_equal(world.state.page, TOP_PAGE_LIST);
	type(&world, "e");
	assert_int_equal(world.state.event, EVENT_CPU);
	type(&world, "p");
	assert_true(world.state.is_paused);
	type(&world, " ");
	assert_false(world.state.is_paused);
	world_release(&world);
}

static void a_key_leaves_the_help_and_q_and_control_c_the_program(void **state)
{
	struct world world;

	(void)state;
	world_of(&world, top_two_rows());
	type(&world, "?j");
	assert_false(world.state.is_help);
	assert_int_equal(world.state.pages[TOP_PAGE_LIST].cursor, 0);
	press(&world, TOP_KEY_RESIZE);
	press(&world, TOP_KEY_OTHER);
	type(&world, "?q");
	assert_true(world.state.is_done);
	world.state.is_done = false;
	type(&world, "/");
	press(&world, TOP_KEY_INTERRUPT);
	assert_true(world.state.is_done);
	world_release(&world);
}

static void the_only_row_that_was_asked_for_is_entered_once(void **state)
{
	const struct selection shop = { .container = "shop" };
	struct top_model *model = top_model__new(&shop, TOP_SPAN_LIVE);
	struct world world;

	(void)state;
	world_of(&world, model);
	world.state.is_inside = true;
	assert_false(top_keys_enter_only_row(&world.state, &world.content));
	top_add_java(model, "shop", 0, 10, "java;a_[j] 10\n");
	top_end(model, 0, 10);
	load(&world);
	assert_true(top_keys_enter_only_row(&world.state, &world.content));
	load(&world);
	assert_string_equal(cursor_name(&world), "a_[j]");
	press(&world, TOP_KEY_ESCAPE);
	assert_false(top_keys_enter_only_row(&world.state, &world.content));
	world_release(&world);

	world_of(&world, six_rows(0));
	world.state.is_inside = true;
	assert_false(top_keys_enter_only_row(&world.state, &world.content));
	world_release(&world);
}

/* With another process and container id its row is another one, and the old one stays for a minute. */
static void a_container_that_was_started_again_is_entered_where_it_runs(void **state)
{
	const struct selection shop = { .container = "shop" };
	struct top_model *model = top_model__new(&shop, TOP_SPAN_LIVE);
	struct window before = top_window(7, "shop", 0, 900), after = top_window(8, "shop", 10, 5);
	struct world world;

	(void)state;
	before.labels[WINDOW_LABEL_CONTAINER_ID] = "aaaaaaaaaaaa";
	after.labels[WINDOW_LABEL_CONTAINER_ID] = "bbbbbbbbbbbb";
	top_add(model, &before, "java;old_[j] 900\n");
	top_end(model, 0, 900);
	top_add(model, &after, "java;new_[j] 5\n");
	top_end(model, 10, 5);
	world_of(&world, model);
	assert_int_equal(world.content.rows.cnt, 2);
	world.state.is_inside = true;
	assert_true(top_keys_enter_only_row(&world.state, &world.content));
	load(&world);
	assert_string_equal(cursor_name(&world), "new_[j]");
	world_release(&world);
}

static void a_row_that_is_gone_has_an_empty_page(void **state)
{
	struct world world;

	(void)state;
	world_of(&world, top_two_rows());
	press(&world, TOP_KEY_DOWN);
	press(&world, TOP_KEY_ENTER);
	assert_string_equal(world.content.row->name, "sh");
	top_end(world.model, 300, 0);
	load(&world);
	assert_null(world.content.row);
	assert_int_equal(top_content_cnt(&world.content, &world.state), 0);
	press(&world, TOP_KEY_ENTER);
	assert_int_equal(world.state.page, TOP_PAGE_METHODS);
	world_release(&world);
}

static void into_what_only_the_running_window_has_it_goes_when_there_are_stacks(void **state)
{
	struct top_model *model = top_model__new(&everything, TOP_SPAN_LIVE);
	struct world world;

	(void)state;
	top_add_running(model, "shop", 9, 50, 50);
	world_of(&world, model);
	world.state.is_inside = true;
	assert_false(top_keys_enter_only_row(&world.state, &world.content));
	assert_int_equal(world.state.page, TOP_PAGE_LIST);
	top_add_java(model, "shop", 0, 700, "java;late 700\n");
	top_end(model, 0, 700);
	load(&world);
	assert_true(top_keys_enter_only_row(&world.state, &world.content));
	assert_int_equal(world.state.page, TOP_PAGE_METHODS);
	world_release(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_busiest_row_stands_first_and_the_cursor_on_it),
		cmocka_unit_test(the_cursor_moves_and_the_page_with_it),
		cmocka_unit_test(the_cursor_follows_its_row_but_stays_at_the_top),
		cmocka_unit_test(enter_leads_to_methods_and_callers_and_escape_back),
		cmocka_unit_test(a_thread_has_methods_and_calls_of_its_own),
		cmocka_unit_test(the_filter_hides_what_has_not_its_text),
		cmocka_unit_test(s_sorts_e_switches_the_event_and_p_pauses),
		cmocka_unit_test(a_key_leaves_the_help_and_q_and_control_c_the_program),
		cmocka_unit_test(the_only_row_that_was_asked_for_is_entered_once),
		cmocka_unit_test(a_container_that_was_started_again_is_entered_where_it_runs),
		cmocka_unit_test(a_row_that_is_gone_has_an_empty_page),
		cmocka_unit_test(
			into_what_only_the_running_window_has_it_goes_when_there_are_stacks),
	};

	return cmocka_run_group_tests_name("top_keys", tests, NULL, NULL);
}
