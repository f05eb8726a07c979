// SPDX-License-Identifier: Apache-2.0
/* The words at the head of a picture. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "user/cli/selection_title.h"
#include "user/util/cleanup.h"

static const struct {
	struct selection selection;
	const char *by[2];
	const char *title;
	const char *subtitle;
} titles[] = {
	{ .title = "CPU of all processes", .subtitle = "" },
	{ { .comm = "java" }, { NULL }, "CPU of java", "" },
	{ { .comm = "java", .thread = "GC*", .kind = SELECT_KIND_NATIVE },
	  { NULL },
	  "CPU of java",
	  "thread GC*, kind native" },
	{ { .pid = 7 }, { NULL }, "CPU of process 7", "" },
	{ { .comm = "java", .container = "shop-1" },
	  { NULL },
	  "CPU of java in container shop-1",
	  "" },
	{ { .pod = "p", .namespace = "prod", .kind = SELECT_KIND_JAVA },
	  { "pid", "pod" },
	  "CPU of pod p",
	  "namespace prod, kind java, by pid, by pod" },
	{ { .container = "" }, { NULL }, "CPU of container (none)", "" },
	{ { .host = "web-7" }, { NULL }, "CPU of host web-7", "" },
	{ { .image = "shop:1", .namespace = "prod", .host = "web-*" },
	  { NULL },
	  "CPU of image shop:1",
	  "namespace prod, host web-*" },
	{ { .comm = "java", .pid = 7, .cgroup = "/a", .service = "s" },
	  { NULL },
	  "CPU of java, process 7 in service s",
	  "cgroup /a" },
	{ { .container = "a",
	    .more = { { "b", SELECT_BY_CONTAINER, false },
		      { "x", SELECT_BY_COMM, true },
		      { "c", SELECT_BY_CONTAINER, true },
		      { "d", SELECT_BY_CONTAINER, false },
		      { "n*", SELECT_BY_NAMESPACE, true } },
	    .more_cnt = 5 },
	  { NULL },
	  "CPU of not x in container a or b or d, not c",
	  "namespace not n*" },
};

static void title_names_the_narrowest_place_and_the_rest_follows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(titles); i++) {
		__cleanup_strbuf struct strbuf title = STRBUF_INIT, subtitle = STRBUF_INIT;
		size_t by_cnt = titles[i].by[0] ? ARRAY_SIZE(titles[i].by) : 0;

		selection_title(EVENT_CPU, &titles[i].selection, &title);
		selection_subtitle(&titles[i].selection, titles[i].by, by_cnt, &subtitle);
		assert_string_equal(strbuf_str(&title), titles[i].title);
		assert_string_equal(strbuf_str(&subtitle), titles[i].subtitle);
	}
}

/* Whatever is selected by is said, also by what is added to the enum later. */
static void no_selector_is_left_unsaid(void **state)
{
	(void)state;
	for (int by = 0; by <= SELECT_BY_THREAD; by++) {
		for (int other = 0; other <= SELECT_BY_THREAD; other++) {
			__cleanup_strbuf struct strbuf words = STRBUF_INIT;
			struct selection selection = { 0 };

			selection_set(&selection, (enum select_by)other, "<other>");
			selection_set(&selection, (enum select_by)by, "<this>");
			selection_title(EVENT_CPU, &selection, &words);
			strbuf_puts(&words, ": ");
			selection_subtitle(&selection, NULL, 0, &words);
			if (!strstr(strbuf_str(&words), "<this>") ||
			    (by != other && !strstr(strbuf_str(&words), "<other>")))
				fail_msg("%s, %s: '%s'", select_by_name((enum select_by)by),
					 select_by_name((enum select_by)other), strbuf_str(&words));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(title_names_the_narrowest_place_and_the_rest_follows),
		cmocka_unit_test(no_selector_is_left_unsaid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
