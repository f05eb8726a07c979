// SPDX-License-Identifier: Apache-2.0
/* The label `unwind`: what is written is what is read, and what others wrote does no harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "user/model/unwind_facts.h"
#include "user/util/cleanup.h"

static const struct unwind_facts mixed = {
	.by = UNWIND_BY_RULES,
	.java = UNWIND_JAVA_SIZES,
	.table_cnt = 14,
	.fp_cnt = 2,
	.without = { { "ld-musl-x86_64.so.1", UNWIND_WHY_NO_INFORMATION },
		     { "libbig.so", UNWIND_WHY_LARGE } },
	.without_cnt = 2,
	.ends = { { "ld-musl-x86_64.so.1", STACK_END_NO_RULE } },
	.end_cnt = 1,
};

static void check_same(const struct unwind_facts *a, const struct unwind_facts *b)
{
	assert_int_equal(a->by, b->by);
	assert_int_equal(a->java, b->java);
	assert_int_equal(a->table_cnt, b->table_cnt);
	assert_int_equal(a->fp_cnt, b->fp_cnt);
	assert_int_equal(a->without_cnt, b->without_cnt);
	assert_int_equal(a->more_cnt, b->more_cnt);
	assert_int_equal(a->end_cnt, b->end_cnt);
	for (size_t i = 0; i < UNWIND_FACTS_FILES; i++) {
		assert_string_equal(a->without[i].name, b->without[i].name);
		assert_int_equal(a->without[i].why, b->without[i].why);
		assert_string_equal(a->ends[i].name, b->ends[i].name);
		assert_int_equal(a->ends[i].end, b->ends[i].end);
	}
}

static void check_kept(const struct unwind_facts *facts)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct unwind_facts read;

	unwind_facts_append(facts, &text);
	unwind_facts_read(strbuf_str(&text), &read);
	check_same(facts, &read);
}

static void facts_are_read_as_they_were_written(void **state)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct unwind_facts facts = { .by = UNWIND_BY_FP };

	(void)state;
	unwind_facts_append(&mixed, &text);
	assert_string_equal(strbuf_str(&text),
			    "by=rules java=frame_sizes tables=14 fp=2 "
			    "none=no_information:ld-musl-x86_64.so.1 none=large:libbig.so "
			    "ends=no_rule:ld-musl-x86_64.so.1");
	check_kept(&mixed);
	check_kept(&facts);
}

static void files_beyond_the_named_ones_are_counted(void **state)
{
	struct unwind_facts facts = mixed;

	(void)state;
	for (size_t i = 0; i < UNWIND_FACTS_FILES; i++)
		facts.without[i].name[0] = (char)('a' + i);
	facts.without_cnt = UNWIND_FACTS_FILES;
	facts.more_cnt = 900;
	check_kept(&facts);
}

static void names_cannot_end_a_word(void **state)
{
	static const char *const names[] = { "a b", "=",	 "x none=large:y", "100%", "%20",
					     "a:b", "\n\033[2J", "\xff\xfe",	   "",	   "%zz" };
	struct unwind_facts facts = mixed;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		strcpy(facts.without[0].name, names[i]);
		strcpy(facts.ends[0].name, names[i]);
		check_kept(&facts);
	}
	memset(facts.without[0].name, '%', UNWIND_FACTS_NAME_BYTES - 1);
	facts.without[0].name[UNWIND_FACTS_NAME_BYTES - 1] = '\0';
	check_kept(&facts);
}

static void words_of_others_do_no_harm(void **state)
{
	static const struct {
		const char *text;
		uint32_t without, ends;
	} rows[] = {
		{ "", 0, 0 },
		{ "   ", 0, 0 },
		{ "by", 0, 0 },
		{ "by= java= tables= fp= none= ends= more=", 0, 0 },
		{ "by=magic java=magic tables=-1 fp=x none=magic:f ends=magic:f later=1", 1, 0 },
		{ "none=large:a none=large:b none=large:c none=large:d none=large:e", 4, 0 },
		{ "ends=jit:a ends=jit:b ends=jit:c ends=jit:d ends=jit:e", 0, 4 },
		{ "ends=root:a", 0, 0 },
		{ "tables=18446744073709551616 none=full:%", 1, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct unwind_facts facts;

		unwind_facts_read(rows[i].text, &facts);
		assert_int_equal(facts.by, UNWIND_BY_UNKNOWN);
		assert_int_equal(facts.java, UNWIND_JAVA_NONE);
		assert_int_equal(facts.table_cnt, 0);
		assert_int_equal(facts.without_cnt, rows[i].without);
		assert_int_equal(facts.end_cnt, rows[i].ends);
	}
}

static void a_long_name_is_cut(void **state)
{
	char text[300] = "none=large:";
	struct unwind_facts facts;

	(void)state;
	memset(text + 11, 'x', 200);
	unwind_facts_read(text, &facts);
	assert_int_equal(strlen(facts.without[0].name), UNWIND_FACTS_NAME_BYTES - 1);
}

static void why_is_known_of_the_named_files_only(void **state)
{
	const enum unwind_why *why = unwind_facts_why(&mixed, "libbig.so");

	(void)state;
	assert_non_null(why);
	assert_int_equal(*why, UNWIND_WHY_LARGE);
	assert_null(unwind_facts_why(&mixed, "libc.so.6"));
	for (int i = 0; i < UNWIND_WHY_CNT + 2; i++) {
		assert_true(*unwind_why_name((enum unwind_why)i));
		assert_true(*unwind_why_text((enum unwind_why)i));
	}
}

static void the_hosts_are_read_as_they_were_written(void **state)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	const struct unwind_host host = {
		.table_cnt = 12,
		.bytes = 934912,
		.evicted = 3,
		.leafs_proved = 77,
		.leafs_refuted = 1,
		.refused = { [UNWIND_WHY_LARGE] = 1, [UNWIND_WHY_FULL] = 20 },
	};
	struct unwind_host read;

	(void)state;
	unwind_host_append(&host, &text);
	assert_string_equal(strbuf_str(&text),
			    "tables=12 bytes=934912 evicted=3 leafs_proved=77 leafs_refuted=1 "
			    "refused=large:1 refused=full:20");
	unwind_host_read(strbuf_str(&text), &read);
	assert_memory_equal(&read, &host, sizeof(host));
	unwind_host_read("refused=later:5 tables=x more", &read);
	assert_int_equal(read.refused[UNWIND_WHY_UNKNOWN], 5);
	assert_int_equal(read.table_cnt, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(facts_are_read_as_they_were_written),
		cmocka_unit_test(files_beyond_the_named_ones_are_counted),
		cmocka_unit_test(names_cannot_end_a_word),
		cmocka_unit_test(words_of_others_do_no_harm),
		cmocka_unit_test(a_long_name_is_cut),
		cmocka_unit_test(why_is_known_of_the_named_files_only),
		cmocka_unit_test(the_hosts_are_read_as_they_were_written),
	};

	return cmocka_run_group_tests_name("unwind_facts", tests, NULL, NULL);
}
