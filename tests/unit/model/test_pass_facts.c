// SPDX-License-Identifier: Apache-2.0
/* What passes took, as words, and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "user/model/pass_facts.h"
#include "user/util/cleanup.h"

static void what_is_written_is_read(void **state)
{
	const struct pass_facts facts = { .passes = 100,
					  .threads = 412,
					  .cpu_ppm = 2100,
					  .put_off = 7,
					  .restarts = 1,
					  .unread = UINT64_MAX,
					  .has_run_delay = 1 };
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct pass_facts again;

	(void)state;
	pass_facts_append(&facts, &text);
	assert_string_equal(strbuf_str(&text),
			    "passes=100 threads=412 cpu_ppm=2100 put_off=7 "
			    "restarts=1 unread=18446744073709551615 run_delay=1");
	assert_true(pass_facts_read(strbuf_str(&text), &again));
	assert_memory_equal(&facts, &again, sizeof(facts));
}

static void words_of_others_are_passed_over(void **state)
{
	struct pass_facts facts;

	(void)state;
	assert_true(pass_facts_read("later=3 threads=9  threads_x=1 passes", &facts));
	assert_int_equal(facts.threads, 9);
	assert_int_equal(facts.passes, 0);
	assert_false(pass_facts_read("", &facts));
	assert_false(pass_facts_read("threads cpu_ppm", &facts));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(words_of_others_are_passed_over),
	};

	return cmocka_run_group_tests_name("pass_facts", tests, NULL, NULL);
}
