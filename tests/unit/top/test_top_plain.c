// SPDX-License-Identifier: Apache-2.0
/* The plain tables of jbpf top. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/unit/top/top_windows.h"
#include "user/top/top_plain.h"

static void assert_plain(struct top_model *model, const struct top_state *state, size_t row_max,
			 const char *wanted)
{
	const struct top_facts facts = { .host = "box",
					 .source = "store /s",
					 .now_unix_ns = TOP_START + 10 * S };
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct top_content content = { 0 };

	assert_int_equal(top_content_load(model, state, &content), 0);
	assert_int_equal(top_plain(state, &content, &facts, row_max, 0, &out), 0);
	assert_string_equal(strbuf_str(&out), wanted);
	top_content_release(&content);
}

static void a_list_has_a_head_and_a_row_for_each_container_and_process(void **state)
{
	struct top_model *model = top_two_rows();
	static const struct top_state list;

	(void)state;
	assert_plain(model, &list, 0,
		     "cpu: 1.25 of 2 cores (62.5 %), 10 s until 22:13:30 UTC, box, store /s\n"
		     "\n"
		     "CORES  HOST%  PROCESSES  JAVA       CONTAINER OR PROCESS  HOTTEST METHOD\n"
		     " 1.00   50.0          1  17.0.15+6  shop                  Tax.of\n"
		     " 0.25   12.5          1  -          sh                    read_loop\n");
	assert_plain(model, &list, 1,
		     "cpu: 1.25 of 2 cores (62.5 %), 10 s until 22:13:30 UTC, box, store /s\n"
		     "\n"
		     "CORES  HOST%  PROCESSES  JAVA       CONTAINER OR PROCESS  HOTTEST METHOD\n"
		     " 1.00   50.0          1  17.0.15+6  shop                  Tax.of\n"
		     "1 more not shown, see --rows\n");
	top_model__free(model);
}

static void methods_of_a_row_come_with_its_facts(void **state)
{
	struct top_model *model = top_two_rows();
	struct top_state inside = { .page = TOP_PAGE_METHODS };
	struct top_rows rows;

	(void)state;
	assert_int_equal(top_model__rows(model, EVENT_CPU, &rows), 0);
	for (size_t i = 0; i < rows.cnt; i++) {
		if (rows.items[i].is_jvm)
			strcpy(inside.key, rows.items[i].key);
	}
	top_rows_release(&rows);
	assert_plain(
		model, &inside, 2,
		"cpu: 1.25 of 2 cores (62.5 %), 10 s until 22:13:30 UTC, box, store /s\n"
		"shop: Java 17.0.15+6, frame pointers on, unknown frames 0.0 %, stacks whole 100.0 %\n"
		"\n"
		"CORES  SELF%  TOTAL%  METHOD\n"
		" 0.70   70.0    70.0  Tax.of\n"
		" 0.20   20.0    20.0  memcpy\n"
		"3 more not shown, see --rows\n");
	top_model__free(model);
}

/* Of a host with 1.25 cores busy, and with more waiting than the container has. */
static void with_a_selection_the_first_line_is_about_what_is_selected(void **state)
{
	static const struct selection shop = { .container = "shop" };
	static const struct top_state list;
	static const struct top_state waiting = { .event = EVENT_OFF_CPU };
	struct top_model *model = top_model__new(&shop, TOP_SPAN_LIVE);
	struct window waits = top_window(7, "shop", 0, 150), host = top_window(0, NULL, 0, 9000);

	(void)state;
	top_add_java(model, "shop", 0, 1000, "java;Tax.of_[j] 1000\n");
	top_end(model, 0, 1250);
	waits.event = host.event = EVENT_OFF_CPU;
	waits.period = host.period = S / 10;
	top_add(model, &waits, "java;a;futex_[k] 100\njava;[idle];b 50\n");
	top_add(model, &host, "");
	assert_plain(model, &list, 0,
		     "cpu: 1.00 of 2 cores (50.0 %), all of the host 1.25, "
		     "10 s until 22:13:30 UTC, box, store /s\n"
		     "\n"
		     "CORES  HOST%  PROCESSES  JAVA       CONTAINER OR PROCESS  HOTTEST METHOD\n"
		     " 1.00   50.0          1  17.0.15+6  shop                  Tax.of\n");
	assert_plain(model, &waiting, 0,
		     "off-cpu: 1.00 threads waiting (0.50 for work not shown), "
		     "10 s until 22:13:30 UTC, box, store /s\n"
		     "\n"
		     "THREADS  SHARE%  PROCESSES  CONTAINER OR PROCESS  HOTTEST METHOD\n"
		     "   1.00   100.0          1  shop                  futex_[k]\n");
	top_model__free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_has_a_head_and_a_row_for_each_container_and_process),
		cmocka_unit_test(methods_of_a_row_come_with_its_facts),
		cmocka_unit_test(with_a_selection_the_first_line_is_about_what_is_selected),
	};

	if (setenv("TZ", "UTC0", 1))
		return 1;
	tzset();
	return cmocka_run_group_tests_name("top_plain", tests, NULL, NULL);
}
