// SPDX-License-Identifier: Apache-2.0
/* Records of accounts among the entries of a count map: told apart, read whole, in order, bounded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "user/collect/probe_accounts.h"

static struct probe_accounts accounts;

static bool take(uint64_t account_id, const struct jbpf_account *record)
{
	const struct jbpf_key key = { .start_ns = account_id, .kind = JBPF_KEY_ACCOUNT };
	struct jbpf_value value;

	memcpy(&value, record, sizeof(value));
	return probe_accounts_take(&accounts, &key, &value);
}

static void a_sample_is_no_record(void **state)
{
	const struct jbpf_key key = { .start_ns = 7, .pid = 1, .kind = JBPF_KEY_SAMPLE };
	const struct jbpf_value value = { .count = 3 };

	(void)state;
	accounts.cnt = 0;
	assert_false(probe_accounts_take(&accounts, &key, &value));
	assert_int_equal(accounts.cnt, 0);
}

static void a_record_is_read_whole(void **state)
{
	const struct jbpf_account record = {
		.stack_bytes = 1ull << 40,
		.entries = 2,
		.processes = 3,
		.cut_samples = 4,
		.leaf_samples = 5,
		.bare_samples = 6,
		.lost_samples = UINT32_MAX,
	};
	const struct probe_account *got = &accounts.items[0];

	(void)state;
	accounts.cnt = 0;
	assert_true(take(UINT64_MAX, &record));
	assert_int_equal(accounts.cnt, 1);
	assert_true(got->account_id == UINT64_MAX);
	assert_true(got->stack_bytes == 1ull << 40);
	assert_int_equal(got->entries, 2);
	assert_int_equal(got->processes, 3);
	assert_int_equal(got->cut_samples, 4);
	assert_int_equal(got->leaf_samples, 5);
	assert_int_equal(got->bare_samples, 6);
	assert_int_equal(got->lost_samples, UINT32_MAX);
}

static void records_come_in_the_order_of_their_accounts(void **state)
{
	static const uint64_t ids[] = { 5, UINT64_MAX, 0, 1ull << 32, 4 };
	const struct jbpf_account record = { .entries = 1 };

	(void)state;
	accounts.cnt = 0;
	for (size_t i = 0; i < 5; i++)
		assert_true(take(ids[i], &record));
	probe_accounts_sort(&accounts);
	assert_int_equal(accounts.cnt, 5);
	for (size_t i = 1; i < 5; i++)
		assert_true(accounts.items[i - 1].account_id < accounts.items[i].account_id);
}

static void more_records_than_there_is_room_for_are_left_out(void **state)
{
	const struct jbpf_account record = { .entries = 1 };

	(void)state;
	accounts.cnt = 0;
	for (uint64_t i = 0; i < PROBE_ACCOUNTS_MAX + 10; i++)
		assert_true(take(i, &record));
	assert_int_equal(accounts.cnt, PROBE_ACCOUNTS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_is_no_record),
		cmocka_unit_test(a_record_is_read_whole),
		cmocka_unit_test(records_come_in_the_order_of_their_accounts),
		cmocka_unit_test(more_records_than_there_is_room_for_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
