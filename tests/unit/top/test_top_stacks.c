// SPDX-License-Identifier: Apache-2.0
/* Methods, calls and callers of a row of jbpf top. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "user/top/top_stacks.h"
#include "user/util/strbuf.h"

static struct profile *profile_of(const char *text)
{
	struct profile *profile = profile__new();

	assert_non_null(profile);
	assert_int_equal(profile__add_folded(profile, text, strlen(text), NULL), 0);
	return profile;
}

/* "indent name self/total", and + for a branch. */
static void assert_lines(struct top_lines *lines, const char *wanted)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i < lines->cnt; i++) {
		const struct top_line *line = &lines->items[i];

		strbuf_printf(&text, "%u%s %s %d/%d\n", line->indent, line->is_branch ? "+" : "",
			      line->name, (int)line->self, (int)line->total);
	}
	assert_string_equal(strbuf_str(&text), wanted);
	top_lines_release(lines);
}

static const char shop[] = "java;run_[j];tax_[j] 60\n"
			   "java;run_[j];tax_[j];fmod 20\n"
			   "java;run_[j];cart_[j];fmod 15\n"
			   "java;read_[k] 5\n";

static void methods_come_by_self_by_total_or_by_name_without_the_process(void **state)
{
	struct profile *profile = profile_of(shop);
	struct top_lines lines;

	(void)state;
	assert_int_equal(top_stacks_methods(profile, TOP_ORDER_SELF, &lines), 0);
	assert_int_equal(lines.samples, 100);
	assert_lines(&lines, "0 tax_[j] 60/80\n0 fmod 35/35\n0 read_[k] 5/5\n"
			     "0 run_[j] 0/95\n0 cart_[j] 0/15\n");
	assert_int_equal(top_stacks_methods(profile, TOP_ORDER_TOTAL, &lines), 0);
	assert_lines(&lines, "0 run_[j] 0/95\n0 tax_[j] 60/80\n0 fmod 35/35\n"
			     "0 cart_[j] 0/15\n0 read_[k] 5/5\n");
	assert_int_equal(top_stacks_methods(profile, TOP_ORDER_NAME, &lines), 0);
	assert_lines(&lines, "0 cart_[j] 0/15\n0 fmod 35/35\n0 read_[k] 5/5\n"
			     "0 run_[j] 0/95\n0 tax_[j] 60/80\n");
	profile__free(profile);
}

static void the_tree_goes_down_heaviest_first_and_indents_branches_only(void **state)
{
	struct profile *profile = profile_of(shop);
	struct top_lines lines;

	(void)state;
	assert_int_equal(top_stacks_tree(profile, &lines), 0);
	assert_lines(&lines, "0 java 0/100\n"
			     "1+ run_[j] 0/95\n"
			     "2+ tax_[j] 60/80\n"
			     "2 fmod 20/20\n"
			     "2+ cart_[j] 0/15\n"
			     "2 fmod 15/15\n"
			     "1+ read_[k] 5/5\n");
	profile__free(profile);
}

static void callers_go_up_from_the_last_place_of_the_method(void **state)
{
	struct profile *profile =
		profile_of("java;a;fmod;b;fmod;c 10\njava;a;fmod 30\njava;d 60\n");
	struct top_lines lines;

	(void)state;
	assert_int_equal(top_stacks_callers(profile, "fmod", &lines), 0);
	assert_int_equal(lines.samples, 100);
	assert_lines(&lines, "0 fmod 0/40\n"
			     "1+ a 0/30\n"
			     "1 java 30/30\n"
			     "1+ b 0/10\n"
			     "1 fmod 0/10\n"
			     "1 a 0/10\n"
			     "1 java 10/10\n");
	assert_int_equal(top_stacks_callers(profile, "nothing", &lines), 0);
	assert_lines(&lines, "");
	profile__free(profile);
}

static void what_is_less_than_half_a_per_cent_is_left_out_of_trees(void **state)
{
	struct profile *profile = profile_of("java;a 1000\njava;b 6\njava;c 5\njava;d 1\n");
	struct top_lines lines;

	(void)state;
	assert_int_equal(top_stacks_tree(profile, &lines), 0);
	assert_lines(&lines, "0 java 0/1012\n1+ a 1000/1000\n1+ b 6/6\n");
	profile__free(profile);
}

static void nothing_has_no_lines(void **state)
{
	struct profile *profile = profile_of("");
	struct top_lines lines;

	(void)state;
	assert_int_equal(top_stacks_methods(profile, TOP_ORDER_TOTAL, &lines), 0);
	assert_lines(&lines, "");
	assert_int_equal(top_stacks_tree(profile, &lines), 0);
	assert_lines(&lines, "");
	profile__free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(methods_come_by_self_by_total_or_by_name_without_the_process),
		cmocka_unit_test(the_tree_goes_down_heaviest_first_and_indents_branches_only),
		cmocka_unit_test(callers_go_up_from_the_last_place_of_the_method),
		cmocka_unit_test(what_is_less_than_half_a_per_cent_is_left_out_of_trees),
		cmocka_unit_test(nothing_has_no_lines),
	};

	return cmocka_run_group_tests_name("top_stacks", tests, NULL, NULL);
}
