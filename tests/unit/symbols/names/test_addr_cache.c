// SPDX-License-Identifier: Apache-2.0
/* A process chooses the addresses of its code: no choice of them makes the table as slow as a list. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "symbols/names/addr_cache.c" /* NOLINT(bugprone-suspicious-include) */

/* Of as many as fit; by chance the longest run is some 150 slots long. */
#define ADDRESS_CNT 43600u
#define RUN_MAX	    2000u

static size_t longest_run(const struct addr_cache *cache)
{
	size_t longest = 0, run = 0;

	/* Twice: one may go on behind the last slot. */
	for (size_t i = 0; i < 2 * cache->slot_cnt; i++) {
		const struct addr_cache_slot *slot = &cache->slots[i & (cache->slot_cnt - 1)];

		run = slot->answer.kind == ANSWER_KIND_NONE ? 0 : run + 1;
		if (run > longest)
			longest = run;
	}
	return longest;
}

static void chosen_addresses_make_no_long_run(void **state)
{
	/* The product of the first one with the multiplier of Fibonacci hashing has no bit of 32 to 47. */
	static const uint64_t steps[] = { 61478414, 1, 16, 4096, 1ull << 30, 1ull << 31 };

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		struct addr_cache cache = { 0 };

		for (uint64_t j = 0; j < ADDRESS_CNT; j++)
			addr_cache_put(&cache, 0x7f0000000000ull + j * steps[i],
				       (struct answer){ .kind = ANSWER_KIND_FIXED });
		assert_int_equal(cache.cnt, ADDRESS_CNT);
		assert_in_range(longest_run(&cache), 1, RUN_MAX);
		addr_cache_release(&cache);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chosen_addresses_make_no_long_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
