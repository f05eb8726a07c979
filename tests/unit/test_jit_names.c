// SPDX-License-Identifier: Apache-2.0
/*
 * What perf maps of several processes may take together: who comes too late stays unnamed, is told
 * so, and gets its names when there is room again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "symbols/jit_names.h"
#include "tests/unit/fake_proc.h"
#include "user/util/cleanup.h"
#include "user/util/log.h"

#define NAMES_CNT 3

static struct fake_proc tree;
static struct jit_budget budget;
static struct jit_names names[NAMES_CNT]; /* of pid 100 and so on */

static int tree_make(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_ERR);
	budget = (struct jit_budget){ .max_bytes = SIZE_MAX };
	for (size_t i = 0; i < NAMES_CNT; i++)
		names[i] = (struct jit_names){ .budget = &budget };
	return fake_proc_make(&tree);
}

static int tree_remove(void **state)
{
	(void)state;
	for (size_t i = 0; i < NAMES_CNT; i++)
		jit_names_release(&names[i]);
	return budget.bytes != 0 || fake_proc_remove(&tree);
}

static void put_map(size_t nth, const char *text)
{
	char path[64];

	fake_proc_process(&tree, (uint32_t)(100 + nth), 5000, 1, geteuid());
	snprintf(path, sizeof(path), "%zu/root/tmp/perf-1.map", 100 + nth);
	fake_proc_text(&tree, path, "%s", text);
}

static void refresh(size_t nth)
{
	assert_int_equal(jit_names_refresh(&names[nth], tree.fd, (uint32_t)(100 + nth),
					   JIT_SOURCE_PERFMAP, JIT_NAMES_WHEN_CHANGED),
			 0);
}

static void map_past_the_memory_of_all_is_refused_until_there_is_room(void **state)
{
	size_t one;

	(void)state;
	for (size_t i = 0; i < NAMES_CNT; i++)
		put_map(i, "1000 10 f\n");
	refresh(0);
	one = budget.bytes;
	assert_int_equal(one, jit_names_bytes(&names[0]));
	budget.max_bytes = 2 * one;
	refresh(1);
	refresh(2);
	assert_non_null(names[1].current);
	assert_null(names[2].current);
	assert_non_null(strstr(names[2].problem, "refused"));
	assert_int_equal(names[2].rejected_cnt, 1);
	assert_int_equal(budget.bytes, 2 * one);
	/* Said and counted once. */
	refresh(2);
	assert_int_equal(names[2].rejected_cnt, 1);

	jit_names_release(&names[0]);
	assert_int_equal(budget.bytes, one);
	refresh(2);
	assert_non_null(names[2].current);
	assert_null(names[2].problem);
	assert_int_equal(budget.bytes, 2 * one);
}

static void map_that_is_replaced_counts_until_it_is_forgotten(void **state)
{
	size_t one;

	(void)state;
	put_map(0, "1000 10 f\n");
	refresh(0);
	one = budget.bytes;
	put_map(0, "1000 10 g\n");
	refresh(0);
	assert_int_equal(budget.bytes, 2 * one);
	for (int i = 0; i < 3; i++)
		refresh(0);
	assert_int_equal(budget.bytes, one);
	assert_int_equal(budget.bytes, jit_names_bytes(&names[0]));
	/* No room for a third one: what was known stays. */
	budget.max_bytes = one;
	put_map(0, "1000 10 h\n");
	refresh(0);
	assert_int_equal(names[0].entry_cnt, 1);
	assert_non_null(names[0].problem);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(map_past_the_memory_of_all_is_refused_until_there_is_room),
		TEST(map_that_is_replaced_counts_until_it_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
