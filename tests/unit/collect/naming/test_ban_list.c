// SPDX-License-Identifier: Apache-2.0
/* For how long whom: what doubles, what is forgotten, and who makes room. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "user/collect/naming/ban_list.h"

#define NOW_NS 1000000ull

static struct ban_list list;

static int setup(void **state)
{
	(void)state;
	list = (struct ban_list){ 0 };
	return 0;
}

static uint64_t add_account(uint64_t account, uint64_t now_ns)
{
	const struct ban who = { .account = account, .pid = 5, .start_ns = 50 };

	return ban_list_add(&list, &who, now_ns)->until_boot_ns - now_ns;
}

static void a_ban_is_of_the_whole_account_and_ends(void **state)
{
	(void)state;
	assert_null(ban_list_find(&list, 0, 0, 0, NOW_NS));
	assert_int_equal(add_account(7, NOW_NS), BAN_FIRST_NS);
	/* Any process of it. */
	assert_non_null(ban_list_find(&list, 7, 99, 990, NOW_NS));
	assert_null(ban_list_find(&list, 8, 99, 990, NOW_NS));
	assert_null(ban_list_find(&list, 0, 99, 990, NOW_NS));
	assert_non_null(ban_list_find(&list, 7, 99, 990, NOW_NS + BAN_FIRST_NS - 1));
	assert_null(ban_list_find(&list, 7, 99, 990, NOW_NS + BAN_FIRST_NS));
}

static void without_an_account_a_ban_is_of_one_process_life(void **state)
{
	const struct ban who = { .pid = 5, .start_ns = 50 };

	(void)state;
	(void)ban_list_add(&list, &who, NOW_NS);
	assert_non_null(ban_list_find(&list, 0, 5, 50, NOW_NS));
	assert_non_null(ban_list_find(&list, 7, 5, 50, NOW_NS));
	assert_null(ban_list_find(&list, 0, 5, 51, NOW_NS));
	assert_null(ban_list_find(&list, 0, 6, 50, NOW_NS));
}

static void each_time_is_twice_as_long_up_to_the_longest(void **state)
{
	uint64_t span_ns = BAN_FIRST_NS, now_ns = NOW_NS;

	(void)state;
	for (int i = 0; i < 70; i++) {
		assert_int_equal(add_account(7, now_ns), span_ns);
		now_ns += span_ns + 1;
		span_ns = span_ns * 2 < BAN_LONGEST_NS ? span_ns * 2 : BAN_LONGEST_NS;
	}
	assert_int_equal(span_ns, BAN_LONGEST_NS);
	/* Others begin at the beginning. */
	assert_int_equal(add_account(8, now_ns), BAN_FIRST_NS);
}

static void after_a_day_without_harm_all_is_forgotten(void **state)
{
	uint64_t end_ns;

	(void)state;
	(void)add_account(7, NOW_NS);
	end_ns = NOW_NS + BAN_FIRST_NS;
	assert_int_equal(add_account(7, end_ns + BAN_FORGOTTEN_NS - 1), 2 * BAN_FIRST_NS);
	end_ns += BAN_FORGOTTEN_NS - 1 + 2 * BAN_FIRST_NS;
	assert_int_equal(add_account(7, end_ns + BAN_FORGOTTEN_NS), BAN_FIRST_NS);
}

static void a_full_list_drops_what_ends_first(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < BAN_LIST_MAX; i++)
		(void)add_account(100 + i, NOW_NS + (i + 3) % BAN_LIST_MAX);
	/* The one of NOW_NS + 0 goes. */
	(void)add_account(9999, NOW_NS + 1000);
	assert_null(ban_list_find(&list, 100 + BAN_LIST_MAX - 3, 0, 0, NOW_NS + 1000));
	assert_non_null(ban_list_find(&list, 9999, 0, 0, NOW_NS + 1000));
	for (uint32_t i = 0; i < BAN_LIST_MAX; i++)
		if (i != BAN_LIST_MAX - 3)
			assert_non_null(ban_list_find(&list, 100 + i, 0, 0, NOW_NS + 1000));
}

static void a_ban_taken_over_is_in_force_as_it_was_and_once(void **state)
{
	struct ban ban = { .account = 7, .until_boot_ns = NOW_NS + 10 };
	size_t cnt = 0;

	(void)state;
	ban_list_put(&list, &ban);
	assert_non_null(ban_list_find(&list, 7, 1, 1, NOW_NS + 9));
	assert_null(ban_list_find(&list, 7, 1, 1, NOW_NS + 10));
	ban.until_boot_ns = NOW_NS + 20;
	ban_list_put(&list, &ban);
	assert_non_null(ban_list_find(&list, 7, 1, 1, NOW_NS + 19));
	for (size_t i = 0; i < BAN_LIST_MAX; i++)
		cnt += list.bans[i].cnt != 0;
	assert_int_equal(cnt, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_ban_is_of_the_whole_account_and_ends, setup),
		cmocka_unit_test_setup(without_an_account_a_ban_is_of_one_process_life, setup),
		cmocka_unit_test_setup(each_time_is_twice_as_long_up_to_the_longest, setup),
		cmocka_unit_test_setup(after_a_day_without_harm_all_is_forgotten, setup),
		cmocka_unit_test_setup(a_full_list_drops_what_ends_first, setup),
		cmocka_unit_test_setup(a_ban_taken_over_is_in_force_as_it_was_and_once, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
