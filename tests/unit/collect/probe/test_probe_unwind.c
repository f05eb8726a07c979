// SPDX-License-Identifier: Apache-2.0
/* Which mappings of a process may be handed to the BPF programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "user/collect/probe/probe_unwind.h"
#include "user/util/cleanup.h"

#define PAGE 4096ull

static struct jbpf_space space;

static struct jbpf_mapping *add(uint64_t start, uint32_t page_cnt)
{
	struct jbpf_mapping *mapping = &space.mappings[space.mapping_cnt];

	space.start[space.mapping_cnt++] = start;
	*mapping = (struct jbpf_mapping){ .page_cnt = page_cnt, .table = 1 };
	return mapping;
}

static int clear(void **state)
{
	(void)state;
	memset(&space, 0, sizeof(space));
	memset(space.start, 0xff, sizeof(space.start));
	return 0;
}

static void mappings_in_order_are_taken(void **state)
{
	(void)state;
	assert_true(probe_unwind_space_is_valid(&space));
	add(PAGE, 2);
	add(3 * PAGE, 1)->table = 0;
	add(9 * PAGE, 1)->flags = JBPF_MAPPING_KEEPS_FP;
	add(JBPF_USER_ADDRESS_END - PAGE, 1)->table = JBPF_UNWIND_MAX_TABLE;
	space.flags = JBPF_SPACE_IS_PARTIAL;
	assert_true(probe_unwind_space_is_valid(&space));
}

static void as_many_mappings_as_fit_are_taken_and_not_one_more(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < JBPF_SPACE_MAX_MAPPINGS; i++)
		add((i + 1) * PAGE, 1);
	assert_true(probe_unwind_space_is_valid(&space));
	space.mapping_cnt++;
	assert_false(probe_unwind_space_is_valid(&space));
}

static void mappings_that_overlap_or_go_back_are_refused(void **state)
{
	(void)state;
	add(8 * PAGE, 2);
	add(9 * PAGE, 1);
	assert_false(probe_unwind_space_is_valid(&space));
	space.start[1] = PAGE;
	assert_false(probe_unwind_space_is_valid(&space));
	space.start[1] = 10 * PAGE;
	assert_true(probe_unwind_space_is_valid(&space));
}

static void a_mapping_is_of_pages_of_user_memory(void **state)
{
	static const struct {
		uint64_t start;
		struct jbpf_mapping mapping;
	} rows[] = {
		{ PAGE + 8, { 1, 0, 1, 0 } },
		{ JBPF_USER_ADDRESS_END, { 1, 0, 1, 0 } },
		{ JBPF_USER_ADDRESS_END - PAGE, { 2, 0, 1, 0 } },
		{ PAGE, { 0, 0, 1, 0 } },
		{ PAGE, { 1, 0, JBPF_UNWIND_MAX_TABLE + 1, 0 } },
		{ PAGE, { 1, 0, 1, 1u << 1 } },
		{ PAGE, { 1, JBPF_UNWIND_MAX_WORDS, 1, 0 } },
		{ PAGE, { JBPF_UNWIND_MAX_WORDS, 1, 1, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		(void)clear(NULL);
		*add(rows[i].start, 1) = rows[i].mapping;
		assert_false(probe_unwind_space_is_valid(&space));
	}
}

static void what_is_behind_the_last_mapping_finds_nothing(void **state)
{
	(void)state;
	add(PAGE, 1);
	space.start[1] = 0;
	assert_false(probe_unwind_space_is_valid(&space));
	space.start[1] = UINT64_MAX;
	space.flags = 1u << 1;
	assert_false(probe_unwind_space_is_valid(&space));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(mappings_in_order_are_taken, clear),
		cmocka_unit_test_setup(as_many_mappings_as_fit_are_taken_and_not_one_more, clear),
		cmocka_unit_test_setup(mappings_that_overlap_or_go_back_are_refused, clear),
		cmocka_unit_test_setup(a_mapping_is_of_pages_of_user_memory, clear),
		cmocka_unit_test_setup(what_is_behind_the_last_mapping_finds_nothing, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
