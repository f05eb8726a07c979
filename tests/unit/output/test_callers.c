// SPDX-License-Identifier: Apache-2.0
/* The tree of a method's callers, as text. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/output_profiles.h"
#include "user/util/cleanup.h"

/* What stands below the header. */
static void assert_callers(const char *folded, const char *pattern, const char *expected)
{
	struct profile *profile = profile_of(folded);
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;
	const char *table;

	assert_int_equal(output_callers(profile, &output_profiles_info, pattern, &out), 0);
	table = strstr(strbuf_str(&out), "\n\n");
	assert_non_null(table);
	assert_string_equal(table + 2, expected);
	profile__free(profile);
}

#define HEAD "SHARE%  TOTAL  METHOD, AND ITS CALLERS\n"

static void the_heaviest_caller_comes_first(void **state)
{
	(void)state;
	assert_callers("java;m_[j];b_[j];x_[j] 1\njava;m_[j];a_[j];x_[j] 3\njava;m_[j] 9\n", "x",
		       HEAD "100.00      4  x\n"
			    " 75.00      3     <- a\n"
			    " 75.00      3        m\n"
			    " 75.00      3        java\n"
			    " 25.00      1     <- b\n"
			    " 25.00      1        m\n"
			    " 25.00      1        java\n");
}

static void tiers_are_one_method_and_what_it_calls_counts(void **state)
{
	static const char folded[] =
		"java;m_[0];x_[j];y 1\njava;m_[1];x_[i];sys_[k] 2\njava;m_[j];x_[0] 4\n";
	static const char expected[] = HEAD "100.00      7  x\n"
					    "100.00      7     m\n"
					    "100.00      7     java\n";

	(void)state;
	assert_callers(folded, "x", expected);
	assert_callers(folded, "x_[j]", expected);
	assert_callers(folded, "[x]", expected);
	assert_callers(folded, "s*",
		       HEAD "100.00      2  sys_[k]\n"
			    "100.00      2     x\n"
			    "100.00      2     m\n"
			    "100.00      2     java\n");
}

static void a_method_is_asked_for_with_and_without_its_parameters(void **state)
{
	static const char folded[] =
		"java;m_[j];a.B.c(int)_[j] 1\njava;m_[j];a.B.c(long[])_[j] 3\n";
	static const char *const of_all[] = { "a.B.c", "a.?.c", "a.B.c(*)" };

	(void)state;
	assert_callers(folded, "a.B.c(int)",
		       HEAD "100.00      1  a.B.c(int)\n"
			    "100.00      1     m\n"
			    "100.00      1     java\n");
	for (size_t i = 0; i < ARRAY_SIZE(of_all); i++)
		assert_callers(folded, of_all[i],
			       HEAD " 75.00      3  a.B.c(long[])\n"
				    " 75.00      3     m\n"
				    " 75.00      3     java\n"
				    " 25.00      1  a.B.c(int)\n"
				    " 25.00      1     m\n"
				    " 25.00      1     java\n");
}

static void a_recursive_method_does_not_call_itself(void **state)
{
	(void)state;
	assert_callers("p;m;r;r;z;r 2\np;r;r 3\n", "r",
		       HEAD "100.00      5  r\n"
			    " 60.00      3     <- p\n"
			    " 40.00      2     <- m\n"
			    " 40.00      2        p\n");
}

/* A thread may begin with a method that others call, too. */
static void where_stacks_begin_is_no_chain(void **state)
{
	(void)state;
	assert_callers("p;a;x 1\na;x 1\n", "x",
		       HEAD "100.00      2  x\n"
			    "100.00      2     a\n"
			    " 50.00      1     <- p\n");
}

static void small_branches_are_added_up(void **state)
{
	struct strbuf folded __cleanup_strbuf = STRBUF_INIT;

	(void)state;
	strbuf_puts(&folded, "p;big;x 1000\n");
	for (int i = 0; i < 30; i++)
		strbuf_printf(&folded, "p;small%d;x 1\n", i);
	assert_callers(strbuf_str(&folded), "x",
		       HEAD "100.00   1030  x\n"
			    " 97.09   1000     <- big\n"
			    " 97.09   1000        p\n"
			    "  2.91     30     <- 30 more, each below 1 %\n");
}

static void a_name_that_is_not_there_gets_the_nearest(void **state)
{
	struct profile *profile =
		profile_of("java;a.Cart.add_[j];a.Cart.total_[j] 5\njava;b.Shop.run_[0] 1\n");
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;

	(void)state;
	assert_int_equal(output_callers(profile, &output_profiles_info, "a.Cart.adt", &out),
			 -ENOENT);
	assert_string_equal(strbuf_str(&out), "a.Cart.add");
	strbuf_clear(&out);
	assert_int_equal(output_callers(profile, &output_profiles_info, "Shop.run", &out), -ENOENT);
	assert_string_equal(strbuf_str(&out), "b.Shop.run");
	strbuf_clear(&out);
	assert_int_equal(output_callers(profile, &output_profiles_info, "zzz", &out), -ENOENT);
	assert_int_equal(out.len, 0);
	profile__free(profile);
}

static void names_and_depth_are_anybodys(void **state)
{
	struct strbuf folded __cleanup_strbuf = STRBUF_INIT, out __cleanup_strbuf = STRBUF_INIT;
	struct profile *profile = profile_hostile();

	(void)state;
	assert_int_equal(output_callers(profile, &output_profiles_info, "*", &out), 0);
	for (size_t i = 0; i < out.len; i++)
		assert_true(out.data[i] == '\n' || (unsigned char)out.data[i] >= ' ');
	profile__free(profile);
	strbuf_puts(&folded, "p");
	for (int i = 0; i < 25000; i++)
		strbuf_puts(&folded, i % 2 ? ";a" : ";b");
	strbuf_puts(&folded, ";x 1\n");
	profile = profile_of(strbuf_str(&folded));
	strbuf_clear(&out);
	assert_int_equal(output_callers(profile, &output_profiles_info, "x", &out), 0);
	profile__free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_heaviest_caller_comes_first),
		cmocka_unit_test(tiers_are_one_method_and_what_it_calls_counts),
		cmocka_unit_test(a_method_is_asked_for_with_and_without_its_parameters),
		cmocka_unit_test(a_recursive_method_does_not_call_itself),
		cmocka_unit_test(where_stacks_begin_is_no_chain),
		cmocka_unit_test(small_branches_are_added_up),
		cmocka_unit_test(a_name_that_is_not_there_gets_the_nearest),
		cmocka_unit_test(names_and_depth_are_anybodys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
