// SPDX-License-Identifier: Apache-2.0
/* Collecting a side: counts add up block by block, nonsense is refused, nothing leaks over. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "user/diff/diff_counts.h"
#include "user/diff/diff_side.h"
#include "user/util/cleanup.h"

#define SECOND 1000000000ull

static struct diff_block block_at(uint64_t second)
{
	return (struct diff_block){
		.start_unix_ns = second * SECOND,
		.length_ns = 60 * SECOND,
		.time_of_day_s = (uint32_t)(second % 86400),
		.frequency_hz = 49,
		.samples = 100,
	};
}

static uint32_t count_of(const struct diff_side *side, size_t block, uint32_t item)
{
	size_t cnt = 0;
	const struct diff_count *counts = diff_side__counts(side, block, &cnt);
	uint32_t found = 0;
	uint32_t sum = 0;

	for (size_t i = 0; i < cnt; i++) {
		if (counts[i].item != item)
			continue;
		found++;
		sum += counts[i].count;
	}
	assert_true(found <= 1);
	return sum;
}

static void counts_add_up_in_their_block(void **state)
{
	struct diff_side *side = diff_side__new(7);
	struct diff_block first = block_at(0);
	struct diff_block second = block_at(60);

	(void)state;
	assert_int_equal(diff_side__event(side), 7);
	assert_int_equal(diff_side__add(side, 5, 2), 0);
	assert_int_equal(diff_side__add(side, 1000, 1), 0);
	assert_int_equal(diff_side__add(side, 5, 3), 0);
	assert_int_equal(diff_side__add(side, 6, 0), 0);
	assert_int_equal(diff_side__close_block(side, &first), 0);
	assert_int_equal(diff_side__add(side, 1000, 9), 0);
	assert_int_equal(diff_side__close_block(side, &second), 0);
	assert_int_equal(diff_side__add(side, 5, 77), 0); /* never closed */
	assert_int_equal(diff_side__block_count(side), 2);
	assert_int_equal(count_of(side, 0, 5), 5);
	assert_int_equal(count_of(side, 0, 6), 0);
	assert_int_equal(count_of(side, 0, 1000), 1);
	assert_int_equal(count_of(side, 1, 1000), 9);
	assert_int_equal(count_of(side, 1, 5), 0);
	diff_side__free(side);
	diff_side__free(NULL);
}

static void counts_saturate(void **state)
{
	struct diff_side *side = diff_side__new(0);
	struct diff_block block = block_at(0);

	(void)state;
	assert_int_equal(diff_side__add(side, 0, UINT32_MAX - 1u), 0);
	assert_int_equal(diff_side__add(side, 0, 5), 0);
	assert_int_equal(diff_side__add(side, 1, UINT64_MAX), 0);
	assert_int_equal(diff_side__close_block(side, &block), 0);
	assert_int_equal(count_of(side, 0, 0), UINT32_MAX);
	assert_int_equal(count_of(side, 0, 1), UINT32_MAX);
	diff_side__free(side);
}

static void nonsense_is_refused_and_changes_nothing(void **state)
{
	struct diff_side *side = diff_side__new(0);
	struct diff_block good = block_at(1000);
	struct diff_block rows[] = {
		block_at(1059), /* overlaps */
		block_at(10),	/* earlier */
		block_at(2000), block_at(2000), block_at(2000),
		block_at(2000), block_at(2000), block_at(2000),
	};

	(void)state;
	rows[2].length_ns = 0;
	rows[3].time_of_day_s = 86400;
	rows[4].cpu_s = NAN;
	rows[5].cpu_s = -1;
	rows[6].cpu_s = INFINITY;
	rows[7].length_ns = UINT64_MAX;
	assert_int_equal(diff_side__add(side, DIFF_SIDE_ITEMS_MAX, 1), -E2BIG);
	assert_int_equal(diff_side__add(side, DIFF_NONE, 1), -E2BIG);
	assert_int_equal(diff_side__close_block(side, &good), 0);
	assert_int_equal(diff_side__add(side, 3, 4), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(diff_side__close_block(side, &rows[i]), -EINVAL);
	assert_int_equal(diff_side__block_count(side), 1);
	good = block_at(1060);
	assert_int_equal(diff_side__close_block(side, &good), 0);
	assert_int_equal(count_of(side, 0, 3), 0);
	assert_int_equal(count_of(side, 1, 3), 4);
	diff_side__free(side);
}

static void blocks_are_short_only_for_short_sides(void **state)
{
	(void)state;
	assert_int_equal(diff_side_block_length_ns(0), 60 * SECOND);
	assert_int_equal(diff_side_block_length_ns(40 * 60 * SECOND - 1), 60 * SECOND);
	assert_int_equal(diff_side_block_length_ns(40 * 60 * SECOND), 300 * SECOND);
	assert_int_equal(diff_side_block_length_ns(4 * 3600 * SECOND - 1), 300 * SECOND);
	assert_int_equal(diff_side_block_length_ns(4 * 3600 * SECOND), 900 * SECOND);
	assert_int_equal(diff_side_block_length_ns(UINT64_MAX), 900 * SECOND);
}

static void blocks_are_no_longer_than_fits_and_no_shorter_than_windows(void **state)
{
	(void)state;
	assert_int_equal(diff_side_block_fitting_ns(900 * SECOND, 600 * SECOND), 60 * SECOND);
	assert_int_equal(diff_side_block_fitting_ns(60 * SECOND, 4 * 3600 * SECOND), 60 * SECOND);
	assert_int_equal(diff_side_block_holding_ns(60 * SECOND, 90 * SECOND), 60 * SECOND);
	assert_int_equal(diff_side_block_holding_ns(60 * SECOND, 90 * SECOND + 1), 300 * SECOND);
	assert_int_equal(diff_side_block_holding_ns(300 * SECOND, 600 * SECOND), 900 * SECOND);
	assert_int_equal(diff_side_block_holding_ns(900 * SECOND, UINT64_MAX), 900 * SECOND);
}

static void counts_by_item_are_those_of_compared_blocks(void **state)
{
	struct diff_side *side = diff_side__new(0);
	uint32_t cluster_of[] = { 0, DIFF_NONE, 1 };
	struct diff_plan_side plan = { .cluster_of = cluster_of };
	struct diff_counts counts;

	(void)state;
	for (uint32_t b = 0; b < 3; b++) {
		struct diff_block block = block_at(60 * b);

		assert_int_equal(diff_side__add(side, 4, 10 + b), 0);
		assert_int_equal(diff_side__add(side, b, 1), 0);
		assert_int_equal(diff_side__add(side, 9, 1), 0); /* past item_cnt */
		assert_int_equal(diff_side__close_block(side, &block), 0);
	}
	assert_int_equal(diff_counts_make(side, &plan, 5, &counts), 0);

	static const size_t first[] = { 0, 1, 1, 2, 2, 4 };

	assert_memory_equal(counts.first, first, sizeof(first));
	assert_int_equal(counts.entries[0].block, 0);
	assert_int_equal(counts.entries[1].block, 2);
	assert_int_equal(counts.entries[2].count, 10);
	assert_int_equal(counts.entries[3].count, 12);
	assert_int_equal(counts.entries[3].block, 2);
	diff_counts_release(&counts);
	assert_int_equal(diff_counts_make(side, &plan, 0, &counts), 0);
	assert_int_equal(counts.first[0], 0);
	diff_counts_release(&counts);
	diff_side__free(side);
}

static void assert_count(const struct diff_side *side, size_t block, uint32_t item, uint32_t count)
{
	size_t cnt;
	const struct diff_count *counts = diff_side__counts(side, block, &cnt);
	uint32_t found = 0;

	for (size_t i = 0; i < cnt; i++)
		if (counts[i].item == item)
			found = counts[i].count;
	assert_int_equal(found, count);
}

/* Of two hosts one was away in the middle. */
static void sum_of_sides_without_one_is_the_other(void **state)
{
	struct diff_side *parts[2] = { diff_side__new(1), diff_side__new(1) };
	struct diff_side *sum, *rest;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		for (uint32_t p = 0; p < 2; p++) {
			struct diff_block block = { .start_unix_ns = (1 + i) * 1000,
						    .length_ns = 500 + 100 * p,
						    .frequency_hz = 49,
						    .samples = 10 + p,
						    .frames = 20,
						    .cpu_s = 1 };

			if (i == 1 && p == 0)
				continue;
			assert_int_equal(diff_side__add(parts[p], 5, 3 + p), 0);
			assert_int_equal(diff_side__add(parts[p], p, 7), 0);
			assert_int_equal(diff_side__close_block(parts[p], &block), 0);
		}
	}
	assert_int_equal(diff_side_sum((const struct diff_side *const *)parts, 2, &sum), 0);
	assert_int_equal(diff_side__block_count(sum), 3);
	assert_int_equal(diff_side__block(sum, 0)->samples, 21);
	assert_int_equal(diff_side__block(sum, 0)->length_ns, 600);
	assert_int_equal(diff_side__block(sum, 1)->samples, 11);
	assert_count(sum, 0, 5, 7);
	assert_count(sum, 1, 5, 4);
	assert_int_equal(diff_side_without(sum, parts[1], 6, &rest), 0);
	assert_int_equal(diff_side__block_count(rest), 2); /* nothing is left of the middle */
	assert_int_equal(diff_side__block(rest, 1)->start_unix_ns, 3000);
	assert_int_equal(diff_side__block(rest, 1)->samples, 10);
	assert_count(rest, 1, 5, 3);
	assert_count(rest, 1, 0, 7);
	assert_count(rest, 1, 1, 0);
	diff_side__free(rest);
	diff_side__free(sum);
	diff_side__free(parts[0]);
	diff_side__free(parts[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sum_of_sides_without_one_is_the_other),
		cmocka_unit_test(counts_add_up_in_their_block),
		cmocka_unit_test(counts_saturate),
		cmocka_unit_test(nonsense_is_refused_and_changes_nothing),
		cmocka_unit_test(blocks_are_short_only_for_short_sides),
		cmocka_unit_test(blocks_are_no_longer_than_fits_and_no_shorter_than_windows),
		cmocka_unit_test(counts_by_item_are_those_of_compared_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
