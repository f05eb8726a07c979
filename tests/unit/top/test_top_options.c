// SPDX-License-Identifier: Apache-2.0
/* The command line of jbpf top. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "user/top/top_options.h"
#include "user/util/clock.h"

#define NOW (1700000000 * CLOCK_NS_PER_S)

/* Words with blanks between them. */
static int parse(const char *line, struct top_options *out, char *why, size_t why_len)
{
	static char words[256];
	static char name[] = "top";
	char *argv[16] = { name };
	int argc = 1;

	assert_true(strlen(line) < sizeof(words));
	strcpy(words, line);
	for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	return top_options_parse(argc, argv, NOW, out, why, why_len);
}

static void without_options_it_is_live_and_takes_the_best_source(void **state)
{
	struct top_options options;
	char why[256];

	(void)state;
	assert_int_equal(parse("", &options, why, sizeof(why)), 0);
	assert_false(options.once || options.has_selection);
	assert_int_equal(options.from, TOP_FROM_BEST);
	assert_int_equal(options.event, EVENT_CPU);
	assert_int_equal(options.rows, 50);
	assert_string_equal(options.store, STORE_DEFAULT_DIR);
	assert_true(options.selection.since_unix_ns == 0);
}

static void a_store_and_a_time_read_the_store_and_a_time_is_once(void **state)
{
	struct top_options options;
	char why[256];

	(void)state;
	assert_int_equal(
		parse("--store /s --pod x --event page-faults", &options, why, sizeof(why)), 0);
	assert_int_equal(options.from, TOP_FROM_STORE);
	assert_int_equal(options.event, EVENT_PAGE_FAULTS);
	assert_true(options.has_selection && !options.once);
	assert_int_equal(parse("--since 15m --rows 3", &options, why, sizeof(why)), 0);
	assert_int_equal(options.from, TOP_FROM_STORE);
	assert_true(options.once);
	assert_int_equal(options.rows, 3);
	assert_true(options.selection.since_unix_ns == NOW - 900 * CLOCK_NS_PER_S);
	assert_true(options.selection.until_unix_ns == NOW);
	assert_int_equal(parse("--sample --once", &options, why, sizeof(why)), 0);
	assert_int_equal(options.from, TOP_FROM_SAMPLING);
}

static void what_does_not_go_together_is_refused_with_the_reason(void **state)
{
	static const struct {
		const char *line;
		const char *why;
	} rows[] = {
		{ "--sample --store /s", "--sample does not go with --store" },
		{ "--sample --since 1h", "--sample does not go with --since" },
		{ "--since @1800000000", "--since lies in the future" },
		{ "--event nothing", "nothing" },
		{ "--rows many", "many" },
		{ "stray", "stray" },
		{ "--from clickhouse://h/d", "use jbpf web --from URL" },
		{ "--from=clickhouse://h/d --once", "use jbpf web --from URL" },
	};
	struct top_options options;
	char why[256];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_not_equal(parse(rows[i].line, &options, why, sizeof(why)), 0);
		if (!strstr(why, rows[i].why))
			fail_msg("%s: %s", rows[i].line, why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_options_it_is_live_and_takes_the_best_source),
		cmocka_unit_test(a_store_and_a_time_read_the_store_and_a_time_is_once),
		cmocka_unit_test(what_does_not_go_together_is_refused_with_the_reason),
	};

	return cmocka_run_group_tests_name("top_options", tests, NULL, NULL);
}
