// SPDX-License-Identifier: Apache-2.0
/*
 * Records of accounts among the entries of a count map: told apart, read whole, in order, bounded. And
 * which cgroups have an account in the kernel, where more are named than fit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "user/collect/probe/probe_accounts.h"

static struct probe_accounts accounts;

/* In place of the kernel's map: as many entries, and no more. */
static struct {
	uint64_t cgroup_id;
	uint64_t account_id;
} entries[JBPF_ACCOUNTS_OF_MAX];
static size_t entry_cnt;

static size_t entry_find(uint64_t cgroup_id)
{
	size_t i = 0;

	while (i < entry_cnt && entries[i].cgroup_id != cgroup_id)
		i++;
	return i;
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	size_t i;

	(void)fd;
	(void)flags;
	i = entry_find(*(const uint64_t *)key);
	if (i == JBPF_ACCOUNTS_OF_MAX)
		return -E2BIG;
	entry_cnt += i == entry_cnt;
	entries[i].cgroup_id = *(const uint64_t *)key;
	entries[i].account_id = *(const uint64_t *)value;
	return 0;
}

int bpf_map_delete_elem(int fd, const void *key)
{
	size_t i = entry_find(*(const uint64_t *)key);

	(void)fd;
	if (i == entry_cnt)
		return -ENOENT;
	entries[i] = entries[--entry_cnt];
	return 0;
}

int bpf_map_get_next_key(int fd, const void *key, void *next)
{
	size_t i = key ? entry_find(*(const uint64_t *)key) + 1 : 0;

	(void)fd;
	if (i >= entry_cnt)
		return -ENOENT;
	*(uint64_t *)next = entries[i].cgroup_id;
	return 0;
}

/* 0: it has none. */
static uint64_t account_in_map(uint64_t cgroup_id)
{
	size_t i = entry_find(cgroup_id);

	return i == entry_cnt ? 0 : entries[i].account_id;
}

static void begin(void)
{
	memset(&accounts, 0, sizeof(accounts));
	entry_cnt = 0;
}

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
	probe_accounts_end_drain(&accounts);
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

/* A window that has samples of these accounts. */
static void drain(uint64_t first_account, uint64_t cnt)
{
	const struct jbpf_account record = { .entries = 1 };

	accounts.cnt = 0;
	for (uint64_t i = 0; i < cnt; i++)
		assert_true(take(first_account + i, &record));
	probe_accounts_end_drain(&accounts);
}

static void a_cgroup_has_the_account_that_was_set_last(void **state)
{
	(void)state;
	begin();
	assert_int_equal(probe_accounts_set(&accounts, 100, 7), 0);
	assert_int_equal(account_in_map(100), 7);
	assert_int_equal(probe_accounts_set(&accounts, 100, 8), 0);
	assert_int_equal(account_in_map(100), 8);
	assert_int_equal(probe_accounts_set(&accounts, 100, 0), 0);
	assert_int_equal(account_in_map(100), 0);
	assert_int_equal(probe_accounts_set(&accounts, 100, 0), 0);
}

static void a_cgroup_with_samples_keeps_its_account_whatever_others_do(void **state)
{
	uint64_t next = 1000;

	(void)state;
	begin();
	assert_int_equal(probe_accounts_set(&accounts, 100, 7), 0);
	for (int window = 0; window < 8; window++) {
		for (int i = 0; i < 2 * JBPF_ACCOUNTS_OF_MAX; i++, next++)
			(void)probe_accounts_set(&accounts, next, next);
		drain(7, 1);
		assert_int_equal(account_in_map(100), 7);
	}
}

/* One that makes cgroup after cgroup, or a service that is started again and again. */
static void cgroups_of_one_account_take_room_from_nobody(void **state)
{
	uint64_t next = 1000;

	(void)state;
	begin();
	for (uint64_t account = 10; account < 60; account++) {
		for (int i = 0; i < JBPF_ACCOUNTS_OF_MAX; i++, next++)
			assert_int_equal(probe_accounts_set(&accounts, next, 7), 0);
		assert_int_equal(probe_accounts_set(&accounts, account, account), 0);
		drain(7, 100);
		for (uint64_t i = 10; i <= account; i++)
			assert_int_equal(account_in_map(i), i);
	}
}

static void cgroups_without_samples_make_room_for_new_ones(void **state)
{
	(void)state;
	begin();
	for (uint64_t i = 1; i <= JBPF_ACCOUNTS_OF_MAX; i++)
		assert_int_equal(probe_accounts_set(&accounts, i, i), 0);
	/* All may have samples in the window that runs. */
	assert_int_equal(probe_accounts_set(&accounts, 5000, 5000), -ENOSPC);
	for (int window = 0; window < 4; window++)
		drain(2, JBPF_ACCOUNTS_OF_MAX);
	assert_int_equal(probe_accounts_set(&accounts, 5000, 5000), 0);
	assert_int_equal(account_in_map(5000), 5000);
	assert_int_equal(account_in_map(1), 0);
	assert_int_equal(probe_accounts_set(&accounts, 5001, 5001), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_is_no_record),
		cmocka_unit_test(a_record_is_read_whole),
		cmocka_unit_test(records_come_in_the_order_of_their_accounts),
		cmocka_unit_test(more_records_than_there_is_room_for_are_left_out),
		cmocka_unit_test(a_cgroup_has_the_account_that_was_set_last),
		cmocka_unit_test(a_cgroup_with_samples_keeps_its_account_whatever_others_do),
		cmocka_unit_test(cgroups_of_one_account_take_room_from_nobody),
		cmocka_unit_test(cgroups_without_samples_make_room_for_new_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
