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

#include "tests/unit/top_windows.h"
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_has_a_head_and_a_row_for_each_container_and_process),
		cmocka_unit_test(methods_of_a_row_come_with_its_facts),
	};

	if (setenv("TZ", "UTC0", 1))
		return 1;
	tzset();
	return cmocka_run_group_tests_name("top_plain", tests, NULL, NULL);
}
