// SPDX-License-Identifier: Apache-2.0
/* Merging stacks: counts are exact, text is canonical, bad lines are counted and harmless. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "user/model/profile.h"
#include "user/util/cleanup.h"

static void assert_folded(struct profile *profile, const char *expected)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;

	assert_int_equal(profile__to_folded(profile, &out), 0);
	assert_string_equal(strbuf_str(&out), expected);
}

static void new_profile_is_empty(void **state)
{
	struct profile *profile = profile__new();

	(void)state;
	assert_int_equal(profile__stack_count(profile), 0);
	assert_int_equal(profile__sample_count(profile), 0);
	profile__sort(profile);
	assert_folded(profile, "");
	profile__free(profile);
	profile__free(NULL);
}

static void equal_stacks_are_merged_and_sorted_by_bytes(void **state)
{
	struct profile *profile = profile__new();

	(void)state;
	assert_int_equal(profile__add(profile, "b;x", 3, 1), 0);
	assert_int_equal(profile__add(profile, "a", 1, 2), 0);
	assert_int_equal(profile__add(profile, "b;x", 3, 40), 0);
	assert_int_equal(profile__add(profile, "a;b", 3, 3), 0);
	assert_int_equal(profile__add(profile, "B", 1, 1), 0);
	assert_int_equal(profile__add(profile, "\xc3\xa9", 2, 1), 0);
	assert_int_equal(profile__stack_count(profile), 5);
	assert_int_equal(profile__sample_count(profile), 48);
	assert_string_equal(profile__stack(profile, 0).text, "b;x");
	assert_int_equal(profile__stack(profile, 0).count, 41);
	assert_folded(profile, "B 1\na 2\na;b 3\nb;x 41\n\xc3\xa9 1\n");
	assert_string_equal(profile__stack(profile, 0).text, "B");
	/* Known stacks are found after sorting; new ones come behind, until the next sort. */
	assert_int_equal(profile__add(profile, "a", 1, 1), 0);
	assert_int_equal(profile__add(profile, "A", 1, 9), 0);
	assert_string_equal(profile__stack(profile, 5).text, "A");
	assert_folded(profile, "A 9\nB 1\na 3\na;b 3\nb;x 41\n\xc3\xa9 1\n");
	profile__free(profile);
}

static void adding_nothing_adds_no_stack(void **state)
{
	struct profile *profile = profile__new();

	(void)state;
	assert_int_equal(profile__add(profile, "a", 1, 0), 0);
	assert_int_equal(profile__stack_count(profile), 0);
	profile__free(profile);
}

static void counts_saturate(void **state)
{
	struct profile *profile = profile__new();

	(void)state;
	assert_int_equal(profile__add(profile, "a", 1, UINT64_MAX - 1), 0);
	assert_int_equal(profile__add(profile, "a", 1, 5), 0);
	assert_int_equal(profile__add(profile, "b", 1, 5), 0);
	assert_true(profile__stack(profile, 0).count == UINT64_MAX);
	assert_true(profile__sample_count(profile) == UINT64_MAX);
	assert_folded(profile, "a 18446744073709551615\nb 5\n");
	profile__free(profile);
}

static void folded_text_is_read_line_by_line(void **state)
{
	static const struct {
		const char *text;
		const char *expected;
		size_t bad;
	} rows[] = {
		{ "", "", 0 },
		{ "a;b 1\n", "a;b 1\n", 0 },
		{ "a;b 1\na;b 2\n", "a;b 3\n", 0 },
		{ "a b 1\n", "a b 1\n", 0 }, /* blanks belong to the stack */
		{ "a  1\n", "a  1\n", 0 },   /* even at its end */
		{ "a 007\n", "a 7\n", 0 },
		{ "a 18446744073709551615\n", "a 18446744073709551615\n", 0 },
		{ "a 0\n", "", 0 },
		{ "\n", "", 1 },
		{ "a\n", "", 1 },
		{ " 5\n", "", 1 }, /* no stack */
		{ "5\n", "", 1 },
		{ "a 5", "", 1 }, /* no end: digits may be missing */
		{ "a 5\r\n", "", 1 },
		{ "a -5\n", "", 1 },
		{ "a 1.5\n", "", 1 },
		{ "a 5 \n", "", 1 },
		{ "a\t5\n", "", 1 },
		{ "a5\n", "", 1 },
		{ "a 18446744073709551616\n", "", 1 },
		{ "a 000000000000000000000000000001\n", "", 1 },
		{ "x\na 5\n\nb 6\ny", "a 5\nb 6\n", 3 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct profile *profile = profile__new();
		size_t bad = 99;

		assert_int_equal(
			profile__add_folded(profile, rows[i].text, strlen(rows[i].text), &bad), 0);
		assert_int_equal(bad, rows[i].bad);
		assert_folded(profile, rows[i].expected);
		profile__free(profile);
	}
}

static void bytes_behind_the_length_are_not_read(void **state)
{
	struct profile *profile = profile__new();
	__cleanup_free char *text = malloc(7);

	(void)state;
	/* Exactly allocated, so that ASan sees a step too far. */
	memcpy(text, "a 1\nb 2", 7);
	assert_int_equal(profile__add_folded(profile, text, 7, NULL), 0);
	assert_folded(profile, "a 1\n");
	profile__free(profile);
}

static void lines_with_nul_are_bad(void **state)
{
	static const char text[] = "a\0b 1\n\0\0\0\0\na 2\n";
	struct profile *profile = profile__new();
	size_t bad;

	(void)state;
	assert_int_equal(profile__add_folded(profile, text, sizeof(text) - 1, &bad), 0);
	assert_int_equal(bad, 2);
	assert_folded(profile, "a 2\n");
	profile__free(profile);
}

static void many_stacks_keep_their_counts_while_the_table_grows(void **state)
{
	enum { STACKS = 20000 };
	struct profile *profile = profile__new();
	char stack[64];

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < STACKS; i++) {
			int len = snprintf(stack, sizeof(stack), "java;frame_%d;leaf", i);

			assert_int_equal(profile__add(profile, stack, (size_t)len, (uint64_t)i + 1),
					 0);
		}
	}
	assert_int_equal(profile__stack_count(profile), STACKS);
	assert_int_equal(profile__sample_count(profile), (uint64_t)STACKS * (STACKS + 1));
	for (int i = 0; i < STACKS; i++) {
		struct profile_stack got = profile__stack(profile, (size_t)i);

		snprintf(stack, sizeof(stack), "java;frame_%d;leaf", i);
		assert_string_equal(got.text, stack);
		assert_int_equal(got.len, strlen(stack));
		assert_int_equal(got.count, 2 * (i + 1));
	}
	profile__free(profile);
}

static void written_text_reads_back_the_same(void **state)
{
	struct profile *one = profile__new(), *two = profile__new();
	__cleanup_strbuf struct strbuf first = STRBUF_INIT, second = STRBUF_INIT;
	size_t bad;

	(void)state;
	srand(3);
	for (int i = 0; i < 500; i++) {
		char stack[300];
		size_t len = 1 + (size_t)rand() % sizeof(stack);

		for (size_t k = 0; k < len; k++)
			stack[k] = "abc; 19"[rand() % 7];
		assert_int_equal(profile__add(one, stack, len, 1 + (uint64_t)rand()), 0);
	}
	assert_int_equal(profile__to_folded(one, &first), 0);
	assert_int_equal(profile__add_folded(two, first.data, first.len, &bad), 0);
	assert_int_equal(bad, 0);
	assert_int_equal(profile__sample_count(one), profile__sample_count(two));
	assert_int_equal(profile__to_folded(two, &second), 0);
	assert_string_equal(first.data, second.data);
	profile__free(one);
	profile__free(two);
}

static void stack_larger_than_a_chunk_is_kept(void **state)
{
	struct profile *profile = profile__new();
	size_t len = 1 << 20;
	__cleanup_free char *stack = malloc(len);

	(void)state;
	memset(stack, 's', len);
	assert_int_equal(profile__add(profile, "a", 1, 1), 0);
	assert_int_equal(profile__add(profile, stack, len, 1), 0);
	assert_int_equal(profile__add(profile, stack, len, 1), 0);
	assert_int_equal(profile__add(profile, "b", 1, 1), 0);
	assert_int_equal(profile__stack_count(profile), 3);
	assert_int_equal(profile__stack(profile, 1).len, len);
	assert_int_equal(profile__stack(profile, 1).text[len], '\0');
	assert_int_equal(profile__stack(profile, 99).count, 0);
	profile__free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(new_profile_is_empty),
		cmocka_unit_test(equal_stacks_are_merged_and_sorted_by_bytes),
		cmocka_unit_test(adding_nothing_adds_no_stack),
		cmocka_unit_test(counts_saturate),
		cmocka_unit_test(folded_text_is_read_line_by_line),
		cmocka_unit_test(bytes_behind_the_length_are_not_read),
		cmocka_unit_test(lines_with_nul_are_bad),
		cmocka_unit_test(many_stacks_keep_their_counts_while_the_table_grows),
		cmocka_unit_test(written_text_reads_back_the_same),
		cmocka_unit_test(stack_larger_than_a_chunk_is_kept),
	};

	return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
