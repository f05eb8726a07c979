// SPDX-License-Identifier: Apache-2.0
/* The clause after "no samples match": which selector, and what comes near it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "user/cli/unmatched.h"
#include "user/util/cleanup.h"

static void add(struct streams *streams, uint32_t pid, const char *comm, const char *container,
		uint64_t samples)
{
	struct window window = { .pid = pid, .process_start_ns = pid, .counts.samples = samples };

	window.labels[WINDOW_LABEL_COMM] = comm;
	window.labels[WINDOW_LABEL_CONTAINER] = container;
	assert_int_equal(streams_add(streams, &window), 0);
}

static void the_selector_that_nothing_matches_is_named_with_what_is_near(void **state)
{
	static const struct {
		struct selection selection;
		const char *see, *hint;
	} rows[] = {
		{ { .container = "shpo" }, "", "no container 'shpo'; did you mean 'shop'?" },
		{ { .container = "sho" },
		  "",
		  "no container 'sho'; did you mean 'shop-2' or 'shop'?" },
		{ { .container = "zzzzzz" },
		  "",
		  "no container 'zzzzzz' in that time, which has 'shop-2', 'shop', 'a', 'b', 'c' and 1 more" },
		{ { .container = "zzzzzz" },
		  "--list",
		  "no container 'zzzzzz' in that time, which has 'shop-2', 'shop', 'a', 'b', 'c' and 1 more; see --list" },
		{ { .pod = "x" }, "", "no pod 'x' in that time, which has none at all" },
		/* Of two the one that nothing matches. */
		{ { .container = "shop", .comm = "jvaa" },
		  "",
		  "no comm 'jvaa'; did you mean 'java'?" },
		/* Each alone matches some. */
		{ { .container = "shop", .comm = "sh" }, "", "" },
		{ { .pid = 7 }, "", "" },
	};
	struct streams streams = { 0 };

	(void)state;
	add(&streams, 1, "java", "shop", 10);
	add(&streams, 2, "java", "shop-2", 9);
	add(&streams, 3, "java", "shop-2", 9);
	add(&streams, 4, "sh", NULL, 100);
	add(&streams, 5, "sh", "a", 4);
	add(&streams, 6, "sh", "b", 3);
	add(&streams, 7, "sh", "c", 2);
	add(&streams, 8, "sh", "d", 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		__cleanup_strbuf struct strbuf out = STRBUF_INIT;

		assert_int_equal(unmatched_hint(&rows[i].selection, &streams, rows[i].see, &out),
				 0);
		assert_string_equal(strbuf_str(&out), rows[i].hint);
	}
	streams_release(&streams);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_selector_that_nothing_matches_is_named_with_what_is_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
