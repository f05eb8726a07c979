// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/names/kallsyms_names.h"

#define BLOCK_BYTES 4096 /* as in kallsyms_names.c */
#define NAME_CNT    5000
#define NAME_BYTES  64

/* Of many lengths, so that some would lie across the border of two blocks. */
static void name_of(int i, char *out)
{
	int len = snprintf(out, NAME_BYTES, "symbol_%d_", i);

	memset(out + len, 'a' + i % 26, (size_t)(i % 40));
	out[len + i % 40] = '\0';
}

static void assert_all_there(struct kallsyms_names *names, const uint32_t *at)
{
	/* From block to block and back. */
	for (int step = 0; step < NAME_CNT; step++) {
		int i = step % 2 ? NAME_CNT - step : step;
		char name[NAME_BYTES];

		name_of(i, name);
		assert_string_equal(kallsyms_names__get(names, at[i]), name);
	}
}

static void test_names_are_the_same_packed(void **state)
{
	static uint32_t at[NAME_CNT];
	struct kallsyms_names *names = kallsyms_names__new();
	size_t bytes;

	(void)state;
	assert_non_null(names);
	for (int i = 0; i < NAME_CNT; i++) {
		char name[NAME_BYTES];

		name_of(i, name);
		assert_int_equal(kallsyms_names__add(names, name, strlen(name), &at[i]), 0);
	}
	assert_all_there(names, at);
	bytes = kallsyms_names__bytes(names);
	assert_int_equal(kallsyms_names__pack(names), 0);
	assert_true(kallsyms_names__bytes(names) < bytes / 2);
	assert_all_there(names, at);
	kallsyms_names__free(names);
}

static void test_no_names_can_be_packed(void **state)
{
	struct kallsyms_names *names = kallsyms_names__new();

	(void)state;
	assert_non_null(names);
	assert_int_equal(kallsyms_names__pack(names), 0);
	kallsyms_names__free(names);
}

static void test_a_name_as_long_as_a_block_is_refused_and_none_is_lost(void **state)
{
	struct kallsyms_names *names = kallsyms_names__new();
	char *longest = calloc(1, BLOCK_BYTES);
	uint32_t first, second, third;

	(void)state;
	assert_non_null(names);
	assert_non_null(longest);
	memset(longest, 'x', BLOCK_BYTES);
	assert_int_equal(kallsyms_names__add(names, "first", 5, &first), 0);
	assert_int_equal(kallsyms_names__add(names, longest, BLOCK_BYTES, &second), -E2BIG);
	assert_int_equal(kallsyms_names__add(names, longest, BLOCK_BYTES - 1, &second), 0);
	assert_int_equal(kallsyms_names__add(names, "", 0, &third), 0);
	assert_int_equal(kallsyms_names__pack(names), 0);
	assert_string_equal(kallsyms_names__get(names, third), "");
	assert_int_equal(strlen(kallsyms_names__get(names, second)), BLOCK_BYTES - 1);
	assert_string_equal(kallsyms_names__get(names, first), "first");
	free(longest);
	kallsyms_names__free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_are_the_same_packed),
		cmocka_unit_test(test_no_names_can_be_packed),
		cmocka_unit_test(test_a_name_as_long_as_a_block_is_refused_and_none_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
