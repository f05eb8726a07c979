// SPDX-License-Identifier: Apache-2.0
/* Interning: dense ids in order of first sight, stable bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "user/util/cleanup.h"
#include "user/util/strtab.h"

static uint32_t intern(struct strtab *tab, const void *bytes, size_t len)
{
	uint32_t id = STRTAB_NONE;

	assert_int_equal(strtab__intern(tab, bytes, len, &id), 0);
	return id;
}

static void empty_table_knows_nothing(void **state)
{
	struct strtab *tab = strtab__new();

	(void)state;
	assert_int_equal(strtab__count(tab), 0);
	assert_int_equal(strtab__find(tab, "a", 1), STRTAB_NONE);
	assert_true(strtab__bytes(tab) > 0);
	strtab__free(tab);
	strtab__free(NULL);
}

static void equal_bytes_get_the_same_id(void **state)
{
	struct strtab *tab = strtab__new();
	size_t len;

	(void)state;
	assert_int_equal(intern(tab, "a", 1), 0);
	assert_int_equal(intern(tab, "b", 1), 1);
	assert_int_equal(intern(tab, "a", 1), 0);
	assert_int_equal(intern(tab, "", 0), 2);
	assert_int_equal(intern(tab, "a\0b", 3), 3);
	assert_int_equal(intern(tab, "a\0c", 3), 4);
	assert_int_equal(strtab__count(tab), 5);
	assert_int_equal(strtab__find(tab, "a\0b", 3), 3);
	assert_int_equal(strtab__find(tab, "a\0", 2), STRTAB_NONE);
	assert_string_equal(strtab__get(tab, 2, &len), "");
	assert_int_equal(len, 0);
	assert_memory_equal(strtab__get(tab, 4, &len), "a\0c", 4);
	assert_int_equal(len, 3);
	assert_string_equal(strtab__get(tab, 1, NULL), "b");
	strtab__free(tab);
}

static void bytes_stay_where_they_are_while_the_table_grows(void **state)
{
	enum { CNT = 30000 };
	struct strtab *tab = strtab__new();
	const char **seen = calloc(CNT, sizeof(*seen));
	size_t before;
	char name[40];

	(void)state;
	assert_non_null(seen);
	before = strtab__bytes(tab);
	for (uint32_t i = 0; i < CNT; i++) {
		int len = snprintf(name, sizeof(name), "java.lang.Name%u", i);

		assert_int_equal(intern(tab, name, (size_t)len), i);
		seen[i] = strtab__get(tab, i, NULL);
	}
	for (uint32_t i = 0; i < CNT; i++) {
		int len = snprintf(name, sizeof(name), "java.lang.Name%u", i);

		assert_int_equal(strtab__find(tab, name, (size_t)len), i);
		assert_ptr_equal(strtab__get(tab, i, NULL), seen[i]);
		assert_string_equal(seen[i], name);
	}
	assert_true(strtab__bytes(tab) > before + CNT * 15);
	free(seen);
	strtab__free(tab);
}

static void string_larger_than_a_chunk_is_kept(void **state)
{
	const size_t len = 1 << 20;
	struct strtab *tab = strtab__new();
	__cleanup_free char *big = malloc(len);

	(void)state;
	memset(big, 'z', len);
	assert_int_equal(intern(tab, "a", 1), 0);
	assert_int_equal(intern(tab, big, len), 1);
	assert_int_equal(intern(tab, "b", 1), 2);
	assert_int_equal(intern(tab, big, len), 1);
	assert_int_equal(intern(tab, big, len - 1), 3);
	assert_int_equal(strlen(strtab__get(tab, 1, NULL)), len);
	strtab__free(tab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_table_knows_nothing),
		cmocka_unit_test(equal_bytes_get_the_same_id),
		cmocka_unit_test(bytes_stay_where_they_are_while_the_table_grows),
		cmocka_unit_test(string_larger_than_a_chunk_is_kept),
	};

	return cmocka_run_group_tests_name("util_strtab", tests, NULL, NULL);
}
