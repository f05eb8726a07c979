// SPDX-License-Identifier: Apache-2.0
/* Numbers of addresses, in order of first sight; a process chooses the addresses. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "symbols/hotspot/hotspot_method_ids.h"

#define ADDRESS_CNT 30000u
#define RUN_MAX	    1000u /* of slots in use, by chance some 50 */

static size_t add(struct address_ids *ids, uint64_t address)
{
	size_t id = SIZE_MAX;

	assert_int_equal(address_ids_add(ids, address, &id), 0);
	return id;
}

static void address_has_the_number_of_its_first_sight(void **state)
{
	struct address_ids ids;
	size_t id;

	(void)state;
	assert_int_equal(address_ids_init(&ids, 2), 0);
	assert_int_equal(add(&ids, 0x1000), 0);
	assert_int_equal(add(&ids, 0x2000), 1);
	assert_int_equal(add(&ids, 0x1000), 0);
	assert_int_equal(address_ids_add(&ids, 0x3000, &id), -ENOSPC);
	address_ids_clear(&ids);
	assert_int_equal(add(&ids, 0x3000), 0);
	assert_int_equal(add(&ids, 0x1000), 1);
	address_ids_release(&ids);
}

static size_t longest_run(const struct address_ids *ids)
{
	size_t longest = 0, run = 0;

	/* Twice: one may go on behind the last slot. */
	for (size_t i = 0; i < 2 * ids->slot_cnt; i++) {
		run = ids->slots[i & (ids->slot_cnt - 1)] ? run + 1 : 0;
		if (run > longest)
			longest = run;
	}
	return longest;
}

static void chosen_addresses_make_no_long_run(void **state)
{
	/* The product of the first one with the multiplier of Fibonacci hashing has no bit of 32 to 47. */
	static const uint64_t steps[] = { 61478414, 1, 16, 1ull << 27 };

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		struct address_ids ids;

		assert_int_equal(address_ids_init(&ids, ADDRESS_CNT), 0);
		for (uint64_t j = 0; j < ADDRESS_CNT; j++)
			assert_int_equal(add(&ids, 0x7f0000000000ull + j * 8 * steps[i]), j);
		assert_in_range(longest_run(&ids), 1, RUN_MAX);
		address_ids_release(&ids);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(address_has_the_number_of_its_first_sight),
		cmocka_unit_test(chosen_addresses_make_no_long_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
