// SPDX-License-Identifier: Apache-2.0
/* Who may have how many rules for leafs, and when they go. No map is there: it is not looked at. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "user/collect/probe/probe_ranges.h"

#define MINE   1
#define OTHERS 2

static struct probe_leafs leafs;

static int set_up(void **state)
{
	(void)state;
	memset(&leafs, 0, sizeof(leafs));
	leafs.map_fd = -1;
	return 0;
}

static void fill(uint64_t account_id, uint32_t pid, uint32_t cnt)
{
	for (uint32_t i = 0; i < cnt; i++)
		leafs.owners[leafs.cnt++] = (struct probe_leaf_owner){
			.key = { .address = 16 * i, .pid = pid },
			.account_id = account_id,
			.start_ns = 100,
			.exec_id = 3,
		};
}

static void an_account_has_at_most_as_many_as_are_free(void **state)
{
	const struct jbpf_leaf_key key = { .address = 7, .pid = 42 };

	(void)state;
	fill(MINE, 42, JBPF_LEAF_RULES_MAX / 2 - 1);
	assert_int_equal(probe_leafs_place(&leafs, MINE, &key), leafs.cnt);
	fill(MINE, 42, 1);
	/* One of its own goes; that of another is not touched. */
	assert_in_range(probe_leafs_place(&leafs, MINE, &key), 0, leafs.cnt - 1);
	assert_int_equal(probe_leafs_place(&leafs, OTHERS, &key), leafs.cnt);
}

static void where_all_is_taken_by_others_there_is_no_room(void **state)
{
	const struct jbpf_leaf_key key = { .address = 7, .pid = 42 };

	(void)state;
	fill(OTHERS, 43, JBPF_LEAF_RULES_MAX);
	assert_int_equal(probe_leafs_place(&leafs, MINE, &key), -EDQUOT);
}

static void a_rule_replaces_that_of_its_address(void **state)
{
	const struct jbpf_leaf_key key = { .address = 32, .pid = 42 };

	(void)state;
	fill(OTHERS, 43, 5);
	fill(MINE, 42, 5);
	assert_int_equal(probe_leafs_place(&leafs, MINE, &key), 7);
}

static void old_rules_of_an_account_take_turns(void **state)
{
	const struct jbpf_leaf_key key = { .address = 7, .pid = 42 };
	int first, second;

	(void)state;
	fill(OTHERS, 43, JBPF_LEAF_RULES_MAX / 2);
	fill(MINE, 42, JBPF_LEAF_RULES_MAX / 2 - 1);
	first = probe_leafs_place(&leafs, MINE, &key);
	second = probe_leafs_place(&leafs, MINE, &key);
	assert_int_equal(leafs.owners[first].account_id, MINE);
	assert_int_equal(leafs.owners[second].account_id, MINE);
	assert_int_not_equal(first, second);
}

static void rules_go_with_their_process_and_no_other(void **state)
{
	const struct jbpf_notice exit = { .kind = JBPF_NOTICE_EXIT, .pid = 42, .start_ns = 100 };
	const struct jbpf_notice seen = { .kind = JBPF_NOTICE_SEEN, .pid = 43, .start_ns = 100 };
	const struct jbpf_notice older = { .kind = JBPF_NOTICE_EXIT, .pid = 43, .start_ns = 99 };

	(void)state;
	fill(OTHERS, 43, 5);
	fill(MINE, 42, 5);
	probe_leafs_expire(&leafs, &seen);
	probe_leafs_expire(&leafs, &older);
	assert_int_equal(leafs.cnt, 10);
	probe_leafs_expire(&leafs, &exit);
	assert_int_equal(leafs.cnt, 5);
	for (uint32_t i = 0; i < leafs.cnt; i++)
		assert_int_equal(leafs.owners[i].key.pid, 43);
}

static void what_no_code_does_is_refused(void **state)
{
	const struct jbpf_leaf_key key = { .address = 0x7f0000001000, .pid = 42 };
	const struct jbpf_leaf_proof good = { .place = JBPF_LEAF_FROM_SP,
					      .ra = 16,
					      .fp = JBPF_LEAF_FP_SAME };
	struct jbpf_leaf_key bad_key = key;
	struct jbpf_leaf_proof bad = good;

	(void)state;
	assert_true(probe_leaf_is_valid(&key, &good));
	bad.ra = 12;
	assert_false(probe_leaf_is_valid(&key, &bad));
	bad = good;
	bad.ra = JBPF_LEAF_RA_MAX;
	assert_false(probe_leaf_is_valid(&key, &bad));
	bad = good;
	bad.fp = 4;
	assert_false(probe_leaf_is_valid(&key, &bad));
	bad = good;
	bad.place = JBPF_LEAF_CALLER_POPS + 1;
	assert_false(probe_leaf_is_valid(&key, &bad));
	bad = good;
	bad.saved_at = 4;
	assert_false(probe_leaf_is_valid(&key, &bad));
	bad_key.pid = 0;
	assert_false(probe_leaf_is_valid(&bad_key, &good));
	bad_key = key;
	bad_key.address = ~0ull;
	assert_false(probe_leaf_is_valid(&bad_key, &good));
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_account_has_at_most_as_many_as_are_free),
		TEST(where_all_is_taken_by_others_there_is_no_room),
		TEST(a_rule_replaces_that_of_its_address),
		TEST(old_rules_of_an_account_take_turns),
		TEST(rules_go_with_their_process_and_no_other),
		TEST(what_no_code_does_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
