// SPDX-License-Identifier: Apache-2.0
/* Budgets of containers: what one spends is its own, and what is cut is on its bill. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "user/util/account.h"

#define S	  1000000000ull
#define MS	  1000000ull
#define MIB	  ((size_t)1 << 20)
#define BEGIN_NS  (100 * S)
#define POOL_MIB  192u /* of perf maps */
#define EMPTY_MIB 8u   /* what one is given in a full pool */

static struct accounts *accounts;
static struct account *one, *other;

static int setup(void **state)
{
	(void)state;
	accounts = accounts__new();
	if (!accounts)
		return -1;
	one = accounts__get(accounts, 1, "/docker/one");
	other = accounts__get(accounts, 2, "/docker/other");
	return one && other ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	accounts__free(accounts);
	return 0;
}

static void assert_bill(const struct account *account, const char *expected)
{
	char bill[ACCOUNT_BILL_BYTES];

	account__bill(account, bill, sizeof(bill));
	assert_string_equal(bill, expected);
}

/* What it used up, though nothing was cut; on the bill is nothing then. */
static void assert_cost(const struct account *account, const char *expected)
{
	char cost[ACCOUNT_COST_BYTES];

	account__cost(account, cost, sizeof(cost));
	assert_string_equal(cost, expected);
	assert_bill(account, "");
}

static void one_that_spends_too_much_rests_and_others_do_not(void **state)
{
	uint64_t now_ns = BEGIN_NS;
	uint64_t spent_ns = 0;

	(void)state;
	for (; account__may_read(one, now_ns); now_ns += 100 * MS) {
		account__spend(one, 500 * MS, now_ns);
		spent_ns += 500 * MS;
	}
	assert_true(spent_ns >= ACCOUNT_CPU_BURST_NS);
	assert_true(spent_ns <= ACCOUNT_CPU_BURST_NS + 600 * MS);
	assert_true(account__may_read(other, now_ns));
	account__note_cut(one, ACCOUNT_CUT_FILES, 1);
	assert_bill(other, "");
	assert_bill(one, "files not read: 1; CPU time of jbpfd for it: 4.5 s");
	/* One percent comes back. */
	spent_ns = 0;
	for (uint64_t end_ns = now_ns + 1000 * S; now_ns < end_ns; now_ns += 100 * MS)
		if (account__may_read(one, now_ns)) {
			account__spend(one, 500 * MS, now_ns);
			spent_ns += 500 * MS;
		}
	assert_true(spent_ns > 9 * S && spent_ns < 11 * S);
}

static void naming_one_for_long_ends_and_comes_back_and_others_do_not_notice(void **state)
{
	uint64_t now_ns = BEGIN_NS, worked_ns = 0, end_ns;

	(void)state;
	accounts__scale(accounts, 10, 10 * S); /* so 40 % of a CPU come back */
	for (; account__may_work(one, now_ns); now_ns += 100 * MS, worked_ns += 100 * MS)
		account__note_work(one, 100 * MS);
	assert_true(worked_ns >= ACCOUNT_WORK_BURST_NS && worked_ns <= 2 * ACCOUNT_WORK_BURST_NS);
	assert_true(account__may_work(other, now_ns));
	assert_true(account__may_read(one, now_ns)); /* that is another budget */
	accounts__begin_window(accounts, now_ns);
	account__note_cut(one, ACCOUNT_CUT_WORK, 1234);
	assert_true(!account__may_work(one, now_ns));
	assert_bill(one, "samples not named, as it takes too much CPU time: 1,234");
	worked_ns = 0;
	for (end_ns = now_ns + 1000 * S; now_ns < end_ns; now_ns += 100 * MS)
		if (account__may_work(one, now_ns)) {
			account__note_work(one, 90 * MS);
			worked_ns += 90 * MS;
		}
	assert_true(worked_ns > 395 * S && worked_ns < 405 * S);
}

static void one_large_file_of_somebody_new_is_always_read(void **state)
{
	uint64_t now_ns = BEGIN_NS;

	(void)state;
	/* Some hundred containers that start at once and read as much as they may. */
	for (uint64_t id = 10; id < 500; id++) {
		struct account *account = accounts__get(accounts, id, "");

		while (account__may_read(account, now_ns))
			account__spend(account, 300 * MS, now_ns);
		account__put(account);
	}
	assert_true(account__may_read(one, now_ns));
	account__spend(one, 1500 * MS, now_ns);
	assert_true(account__may_read(one, now_ns));
}

static void all_together_are_bounded(void **state)
{
	uint64_t spent_ns = 0, now_ns;

	(void)state;
	for (now_ns = BEGIN_NS; now_ns < BEGIN_NS + 3600 * S; now_ns += S)
		for (uint64_t id = 10; id < 110; id++) {
			struct account *account = accounts__get(accounts, id, "");

			if (account__may_read(account, now_ns)) {
				account__spend(account, 200 * MS, now_ns);
				spent_ns += 200 * MS;
			}
			account__put(account);
		}
	/* Each its burst at most, and then a tenth of a CPU for all. */
	assert_true(spent_ns < 100 * ACCOUNT_CPU_BURST_NS + 400 * S);
	assert_true(spent_ns > 100 * ACCOUNT_CPU_BURST_NS / 2);
}

static void files_that_fail_cost_their_own_container(void **state)
{
	uint64_t now_ns = BEGIN_NS;
	size_t cnt = 0;

	(void)state;
	for (; account__may_read(one, now_ns); cnt++)
		account__note_failure(one, now_ns);
	assert_int_equal(cnt, ACCOUNT_FAILURES_BURST);
	assert_true(account__may_read(other, now_ns));
	assert_false(account__may_read(one, now_ns + ACCOUNT_FAILURES_INTERVAL_NS / 2));
	assert_true(account__may_read(one, now_ns + ACCOUNT_FAILURES_INTERVAL_NS));
	account__note_failure(one, now_ns + ACCOUNT_FAILURES_INTERVAL_NS);
	assert_false(account__may_read(one, now_ns + ACCOUNT_FAILURES_INTERVAL_NS));
}

static void two_files_that_hang_are_enough_and_only_for_their_container(void **state)
{
	(void)state;
	for (size_t i = 0; i < ACCOUNT_MAX_HANGING; i++) {
		assert_true(account__may_open(one, BEGIN_NS));
		account__note_hanging(one);
	}
	assert_false(account__may_open(one, BEGIN_NS));
	assert_true(account__may_open(other, BEGIN_NS));
	assert_bill(one, "files not opened because others hang: 1");
	account__note_answered(one);
	assert_true(account__may_open(one, BEGIN_NS));
}

/* A server that answers after the deadline has none that hangs, and still costs a second each time. */
static void files_waited_for_in_vain_use_up_the_failures_of_their_container(void **state)
{
	uint64_t cnt = 0;

	(void)state;
	for (; account__may_open(one, BEGIN_NS); cnt++)
		account__note_failure(one, BEGIN_NS);
	assert_int_equal(cnt, ACCOUNT_FAILURES_BURST);
	assert_true(account__may_open(other, BEGIN_NS));
	assert_true(account__may_open(one, BEGIN_NS + ACCOUNT_FAILURES_INTERVAL_NS));
}

static size_t take_all(struct account *account)
{
	size_t cnt = 0;

	while (account__take(account, ACCOUNT_POOL_MAPS, MIB) == 0)
		cnt++;
	return cnt;
}

static void one_that_takes_all_it_can_leaves_room_for_the_next(void **state)
{
	size_t cnt = take_all(one);

	(void)state;
	assert_int_equal(cnt, POOL_MIB / 2);
	cnt = take_all(other);
	assert_int_equal(cnt, POOL_MIB / 4);
	for (uint64_t id = 10; id < 20; id++) {
		struct account *account = accounts__get(accounts, id, "");

		assert_true(take_all(account) >= EMPTY_MIB);
		account__put(account);
	}
	/* But not for any number of them. */
	for (uint64_t id = 20; id < 200; id++)
		(void)take_all(accounts__get(accounts, id, ""));
	assert_true(accounts__held(accounts, ACCOUNT_POOL_MAPS) <= 2 * POOL_MIB * MIB + MIB);
}

static void room_that_is_given_back_is_there_again(void **state)
{
	size_t cnt = take_all(one);

	(void)state;
	account__give(one, ACCOUNT_POOL_MAPS, cnt * MIB);
	assert_int_equal(accounts__held(accounts, ACCOUNT_POOL_MAPS), 0);
	assert_int_equal(take_all(one), cnt);
	/* The other pools are others. */
	assert_int_equal(account__take(one, ACCOUNT_POOL_NAMES, MIB), 0);
	assert_int_equal(account__take(one, ACCOUNT_POOL_MAPS, SIZE_MAX), -EDQUOT);
}

static void who_holds_more_than_others_is_over_its_share(void **state)
{
	(void)state;
	assert_int_equal(account__take(one, ACCOUNT_POOL_TABLES, 3 * MIB), 0);
	assert_false(account__is_over_share(one, ACCOUNT_POOL_TABLES));
	assert_int_equal(account__take(other, ACCOUNT_POOL_TABLES, MIB), 0);
	assert_true(account__is_over_share(one, ACCOUNT_POOL_TABLES));
	assert_false(account__is_over_share(other, ACCOUNT_POOL_TABLES));
}

static void text_is_cut_step_by_step_and_in_the_next_window_is_whole(void **state)
{
	enum account_text level = ACCOUNT_TEXT_WHOLE;
	size_t bytes = 0;

	(void)state;
	while (level < ACCOUNT_TEXT_NOTHING) {
		account__add_text(one, 64 << 10);
		bytes += 64 << 10;
		assert_true(account__text(one) >= level && account__text(one) <= level + 1);
		level = account__text(one);
	}
	assert_true(bytes <= ACCOUNT_TEXT_MIN_BYTES + ACCOUNT_TEXT_MIN_BYTES / 2);
	assert_int_equal(account__text(other), ACCOUNT_TEXT_WHOLE);
	accounts__begin_window(accounts, BEGIN_NS);
	assert_int_equal(account__text(one), ACCOUNT_TEXT_WHOLE);
	/* More CPUs take more samples, but memory has an end. */
	accounts__scale(accounts, 4, 10 * S);
	account__add_text(one, 4 * ACCOUNT_TEXT_BYTES_PER_CPU - 1);
	assert_int_equal(account__text(one), ACCOUNT_TEXT_WHOLE);
	accounts__scale(accounts, 1024, 10 * S);
	account__add_text(one, ACCOUNT_TEXT_MAX_BYTES);
	assert_int_not_equal(account__text(one), ACCOUNT_TEXT_WHOLE);
}

static void bill_says_all_that_was_cut_and_begins_again(void **state)
{
	char bill[ACCOUNT_BILL_BYTES];
	char small[16];

	(void)state;
	account__note_cut(one, ACCOUNT_CUT_NAMES, 1234567);
	account__note_cut(one, ACCOUNT_CUT_MAPS, 3);
	assert_bill(one, "frames without names: 1,234,567; perf maps not kept: 3");
	account__bill(one, small, sizeof(small));
	assert_string_equal(small, "frames without ");
	for (int i = 0; i < ACCOUNT_CUT_CNT; i++)
		account__note_cut(one, (enum account_cut)i, UINT64_MAX / 2);
	account__spend(one, 4100 * MS, BEGIN_NS);
	account__bill(one, bill, sizeof(bill));
	assert_non_null(strstr(bill, "samples lost: 9,223,372,036,854,775,807; samples not named, "
				     "as it takes too much CPU time: 9,223,372,036,854,775,807; "
				     "CPU time of jbpfd for it: 4.1 s"));
	accounts__begin_window(accounts, BEGIN_NS);
	assert_bill(one, "");
}

static void what_is_used_is_said_though_nothing_was_cut_and_is_no_bill(void **state)
{
	char cost[ACCOUNT_COST_BYTES];

	(void)state;
	accounts__scale(accounts, 2, 10 * S);
	account__note_work(one, 150 * MS);
	account__spend(one, 50 * MS, BEGIN_NS);
	account__note_stacks(one, 2 * MIB);
	account__add_text(one, 2 * MIB);
	assert_int_equal(account__take(one, ACCOUNT_POOL_MAPS, 16 * MIB), 0);
	assert_cost(one, "");
	account__note_work(one, 1 * MS);
	assert_cost(one, "CPU time of jbpfd for it: 0.2 s");
	account__note_stacks(one, MIB);
	account__add_text(one, MIB / 2);
	assert_int_equal(account__take(one, ACCOUNT_POOL_NAMES, MIB / 2), 0);
	assert_cost(one, "memory for its names, maps and tables: 16.5 MiB; new stacks: 3.0 MiB; "
			 "text: 2.5 MiB; CPU time of jbpfd for it: 0.2 s");
	account__note_reading(one, 40 * MIB);
	account__note_reading(one, 33 * MIB);
	account__note_reading(one, 1 * MIB);
	assert_cost(
		one,
		"memory for its names, maps and tables: 16.5 MiB; memory while one of its files was read: "
		"40.0 MiB; new stacks: 3.0 MiB; text: 2.5 MiB; CPU time of jbpfd for it: 0.2 s");
	assert_cost(other, "");
	account__note_reading(other, 32 * MIB);
	assert_cost(other, "");
	account__give(one, ACCOUNT_POOL_NAMES, MIB / 2);
	account__give(one, ACCOUNT_POOL_MAPS, 16 * MIB);
	accounts__begin_window(accounts, BEGIN_NS);
	assert_cost(one, "");
	/* Little in each window, but more than it may for long. */
	accounts__scale(accounts, 2, S);
	for (int i = 0; i < 3; i++) {
		account__note_work(other, 80 * MS);
		if (i < 2)
			assert_cost(other, "");
		accounts__begin_window(accounts, BEGIN_NS);
	}
	account__note_work(other, 1 * MS);
	assert_cost(other, "CPU time of jbpfd for it: 0.0 s");
	account__note_work(other, 400 * MS);
	account__note_cut(other, ACCOUNT_CUT_FILES, 1);
	assert_bill(other, "files not read: 1; CPU time of jbpfd for it: 0.4 s");
	account__cost(other, cost, sizeof(cost));
	assert_string_equal(cost, "");
}

static void count_text(void *ctx, const struct account *account)
{
	struct account_usage used;

	account__usage(account, &used);
	*(size_t *)ctx += used.text_bytes;
}

static void what_is_used_of_each_budget_can_be_read(void **state)
{
	struct account_usage used;
	size_t text_bytes = 0;

	(void)state;
	account__add_text(one, 5);
	account__add_text(other, 2);
	account__note_work(one, 3 * MS);
	account__spend(one, 4 * MS, BEGIN_NS);
	account__note_stacks(one, 6);
	assert_int_equal(account__take(one, ACCOUNT_POOL_MAPS, 7), 0);
	account__usage(one, &used);
	assert_int_equal(used.text_bytes, 5);
	assert_int_equal(used.text_max_bytes, ACCOUNT_TEXT_MIN_BYTES);
	assert_int_equal(used.cpu_ns, 7 * MS);
	assert_int_equal(used.credit_ns, ACCOUNT_CPU_BURST_NS - 4 * MS);
	assert_int_equal(used.stack_bytes, 6);
	assert_int_equal(used.held[ACCOUNT_POOL_MAPS], 7);
	assert_int_equal(used.held[ACCOUNT_POOL_NAMES], 0);
	accounts__each(accounts, count_text, &text_bytes);
	assert_int_equal(text_bytes, 7);
}

static void account_is_kept_while_it_is_used_or_owes(void **state)
{
	(void)state;
	account__spend(one, S, BEGIN_NS);
	account__put(one);
	account__put(other);
	accounts__begin_window(accounts, BEGIN_NS);
	assert_int_equal(accounts__count(accounts), 1);
	/* Ending and starting again pays no debt. */
	assert_ptr_equal(accounts__get(accounts, 1, ""), one);
	assert_string_equal(account__name(one), "/docker/one");
	accounts__begin_window(accounts, BEGIN_NS + 1000 * S);
	assert_int_equal(accounts__count(accounts), 1);
	account__put(one);
	accounts__begin_window(accounts, BEGIN_NS + 1001 * S);
	assert_int_equal(accounts__count(accounts), 0);
	assert_null(accounts__find(accounts, 1));
}

/* As a caller has one whose memory was short. */
static void nothing_may_be_done_for_no_account(void **state)
{
	(void)state;
	assert_false(account__may_read(NULL, 0));
	assert_false(account__may_open(NULL, 0));
	assert_false(account__may_work(NULL, 0));
	assert_int_equal(account__take(NULL, ACCOUNT_POOL_MAPS, 1), -EDQUOT);
	assert_int_equal(account__text(NULL), ACCOUNT_TEXT_NOTHING);
	assert_int_equal(account__id(NULL), ACCOUNT_NONE);
	assert_bill(NULL, "");
	account__put(NULL);
	accounts__free(NULL);
}

static void the_host_may_do_all(void **state)
{
	struct account *host = account_of_host();

	(void)state;
	account__spend(host, 60 * S, 0);
	for (uint32_t i = 0; i < 2 * ACCOUNT_FAILURES_BURST; i++) {
		account__note_failure(host, 0);
		account__note_hanging(host);
	}
	account__note_work(host, 60 * S);
	account__add_text(host, SIZE_MAX);
	account__note_cut(host, ACCOUNT_CUT_NAMES, 1);
	assert_true(account__may_read(host, 0));
	assert_true(account__may_open(host, 0));
	assert_true(account__may_work(host, 0));
	assert_int_equal(account__take(host, ACCOUNT_POOL_MAPS, SIZE_MAX), 0);
	assert_int_equal(account__take(host, ACCOUNT_POOL_MAPS, SIZE_MAX), 0);
	account__give(host, ACCOUNT_POOL_MAPS, SIZE_MAX);
	assert_int_equal(account__text(host), ACCOUNT_TEXT_WHOLE);
	assert_int_equal(account__id(host), ACCOUNT_NONE);
	assert_bill(host, "");
	assert_ptr_equal(account__ref(host), host);
	account__put(host);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(one_that_spends_too_much_rests_and_others_do_not),
		TEST(naming_one_for_long_ends_and_comes_back_and_others_do_not_notice),
		TEST(one_large_file_of_somebody_new_is_always_read),
		TEST(all_together_are_bounded),
		TEST(files_that_fail_cost_their_own_container),
		TEST(two_files_that_hang_are_enough_and_only_for_their_container),
		TEST(files_waited_for_in_vain_use_up_the_failures_of_their_container),
		TEST(one_that_takes_all_it_can_leaves_room_for_the_next),
		TEST(room_that_is_given_back_is_there_again),
		TEST(who_holds_more_than_others_is_over_its_share),
		TEST(text_is_cut_step_by_step_and_in_the_next_window_is_whole),
		TEST(bill_says_all_that_was_cut_and_begins_again),
		TEST(what_is_used_is_said_though_nothing_was_cut_and_is_no_bill),
		TEST(what_is_used_of_each_budget_can_be_read),
		TEST(account_is_kept_while_it_is_used_or_owes),
		TEST(nothing_may_be_done_for_no_account),
		TEST(the_host_may_do_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
