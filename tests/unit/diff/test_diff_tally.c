// SPDX-License-Identifier: Apache-2.0
/* Samples of several rates become counts of one weight, none is lost, and their order makes no difference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "user/diff/diff_tally.h"
#include "user/util/clock.h"

#define BLOCKS 3

static const struct diff_rate rate_49 = { 20408163, { 20408163, 49 } };
static const struct diff_rate rate_99 = { 10101010, { 10101010, 99 } };
static const struct diff_rate rate_rare = { CLOCK_NS_PER_S, { CLOCK_NS_PER_S / 10, 10 } };

struct world {
	struct diff_catalog *catalog;
	struct diff_tally *tally;
	struct diff_side *side;
};

static void world_begin(struct world *world)
{
	world->catalog = diff_catalog__new();
	assert_non_null(world->catalog);
	world->tally = diff_tally__new(BLOCKS, world->catalog);
	assert_non_null(world->tally);
	world->side = diff_side__new(1);
	assert_non_null(world->side);
}

static void world_end(struct world *world)
{
	diff_side__free(world->side);
	diff_tally__free(world->tally);
	diff_catalog__free(world->catalog);
}

static void add(struct world *world, uint32_t block, const struct diff_rate *rate,
		const char *method, uint64_t samples)
{
	char stack[64];
	uint16_t number;
	uint32_t id = 0;
	int len = snprintf(stack, sizeof(stack), "java;a.B.%s_[j]", method);

	assert_int_equal(diff_tally__rate(world->tally, rate, &number), 0);
	assert_int_equal(diff_catalog__learn(world->catalog, stack, (size_t)len, &id), 0);
	assert_int_equal(diff_tally__add(world->tally, block, number, id, samples), 0);
	diff_tally__sums(world->tally, block, number)->frames += 2 * samples;
}

static struct diff_sums fill(struct world *world, uint32_t block)
{
	const struct diff_block closed = { .start_unix_ns = block * CLOCK_NS_PER_S,
					   .length_ns = 1 };
	struct diff_sums sums;

	assert_int_equal(diff_tally__fill(world->tally, block, world->side, &sums), 0);
	assert_int_equal(diff_side__close_block(world->side, &closed), 0);
	return sums;
}

static uint32_t count_of(const struct world *world, size_t block, const char *method)
{
	uint32_t item = diff_catalog__find(world->catalog, DIFF_KIND_METHOD_SELF, FRAME_KIND_JIT,
					   method, strlen(method));
	size_t cnt = 0;
	const struct diff_count *counts = diff_side__counts(world->side, block, &cnt);

	for (size_t i = 0; i < cnt; i++)
		if (counts[i].item == item)
			return counts[i].count;
	return 0;
}

static void a_block_has_its_lowest_rate(void **state)
{
	struct world world;
	struct diff_sums sums;

	(void)state;
	world_begin(&world);
	add(&world, 1, &rate_99, "x", 9900);
	add(&world, 0, &rate_99, "x", 99);
	add(&world, 1, &rate_49, "x", 100);
	assert_int_equal(diff_tally__unit(world.tally, 0).frequency_hz, 99);
	assert_int_equal(diff_tally__unit(world.tally, 1).frequency_hz, 49);
	assert_int_equal(diff_tally__unit(world.tally, 2).size, 0);
	assert_true(diff_tally__is_empty(world.tally, 2));
	assert_int_equal(diff_tally__sort(world.tally), 0);
	sums = fill(&world, 0);
	assert_int_equal(sums.samples, 99);
	assert_int_equal(sums.frames, 2 * 99);
	/* 4900 but for the nanoseconds that the periods are short of. */
	sums = fill(&world, 1);
	assert_in_range(sums.samples, 100 + 4899, 100 + 4900);
	assert_in_range(sums.frames, 2 * (100 + 4899), 2 * (100 + 4900));
	assert_int_equal(count_of(&world, 1, "a.B.x"), sums.samples);
	world_end(&world);
}

/* Half a count of each method: which of them get one is the same in any order. */
static void what_is_left_over_goes_to_the_next(void **state)
{
	uint32_t first[100];

	(void)state;
	for (int order = 0; order < 2; order++) {
		uint64_t sum = 0;
		struct world world;

		world_begin(&world);
		for (int i = 0; i < 100; i++) {
			char name[16];

			(void)snprintf(name, sizeof(name), "m%d", order ? 99 - i : i);
			add(&world, 0, &rate_99, name, 1);
		}
		diff_tally__raise_unit(world.tally, 0, &rate_49.unit);
		assert_int_equal(diff_tally__sort(world.tally), 0);
		assert_int_equal(fill(&world, 0).samples, 49);
		for (int i = 0; i < 100; i++) {
			char name[16];
			uint32_t count;

			(void)snprintf(name, sizeof(name), "a.B.m%d", i);
			count = count_of(&world, 0, name);
			if (order)
				assert_int_equal(count, first[i]);
			first[i] = count;
			sum += count;
		}
		assert_int_equal(sum, 49);
		world_end(&world);
	}
}

static void what_a_block_leaves_over_goes_to_the_next_one(void **state)
{
	struct world world;
	uint64_t sum = 0;

	(void)state;
	world_begin(&world);
	for (uint32_t block = 0; block < BLOCKS; block++) {
		add(&world, block, &rate_99, "x", 33);
		diff_tally__raise_unit(world.tally, block, &rate_49.unit);
	}
	assert_int_equal(diff_tally__sort(world.tally), 0);
	for (uint32_t block = 0; block < BLOCKS; block++)
		sum += fill(&world, block).samples;
	assert_int_equal(sum, 49); /* where each alone is 16.33 */
	world_end(&world);
}

static void a_rare_sample_is_several_counts(void **state)
{
	struct world world;

	(void)state;
	world_begin(&world);
	add(&world, 0, &rate_rare, "x", 3);
	assert_int_equal(diff_tally__sort(world.tally), 0);
	assert_int_equal(fill(&world, 0).samples, 30);
	world_end(&world);
}

static void with_a_rate_that_is_not_known_nothing_is_weighed(void **state)
{
	const struct diff_rate unknown[] = { { 0, { 1, 1 } }, { 1, { 0, 1 } }, { 1, { 1, 0 } } };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct world world;
		struct diff_sums sums;

		world_begin(&world);
		add(&world, 0, &rate_99, "x", 5);
		add(&world, 0, &unknown[i], "x", 7);
		add(&world, 0, &rate_rare, "x", 1);
		assert_int_equal(diff_tally__unit(world.tally, 0).size, 0);
		assert_int_equal(diff_tally__unit(world.tally, 0).frequency_hz, 0);
		assert_int_equal(diff_tally__sort(world.tally), 0);
		sums = fill(&world, 0);
		assert_int_equal(sums.samples, 13);
		assert_int_equal(sums.frames, 26);
		world_end(&world);
	}
}

static void rates_past_the_limit_are_not_known(void **state)
{
	struct world world;
	uint16_t number, again;

	(void)state;
	world_begin(&world);
	for (uint32_t i = 1; i < DIFF_TALLY_RATES_MAX; i++) {
		const struct diff_rate rate = { i, { i, 1 } };

		assert_int_equal(diff_tally__rate(world.tally, &rate, &number), 0);
		assert_int_equal(number, i);
		assert_int_equal(diff_tally__rate(world.tally, &rate, &again), 0);
		assert_int_equal(again, i);
	}
	assert_int_equal(diff_tally__rate(world.tally, &rate_99, &number), 0);
	assert_int_equal(number, 0);
	world_end(&world);
}

static void numbers_saturate(void **state)
{
	const struct diff_rate huge = { UINT64_MAX, { UINT64_MAX, 1 } };
	struct world world;

	(void)state;
	world_begin(&world);
	add(&world, 0, &huge, "x", UINT32_MAX);
	add(&world, 0, &huge, "x", UINT32_MAX);
	add(&world, 0, &rate_99, "x", UINT64_MAX / 4);
	assert_int_equal(diff_tally__sort(world.tally), 0);
	assert_int_equal(fill(&world, 0).samples, 1);
	world_end(&world);
}

static void nothing_is_no_samples(void **state)
{
	struct world world;
	struct diff_sums sums;

	(void)state;
	world_begin(&world);
	assert_int_equal(diff_tally__sort(world.tally), 0);
	assert_int_equal(diff_tally__fill(world.tally, 0, world.side, &sums), 0);
	assert_int_equal(sums.samples, 0);
	world_end(&world);
	diff_tally__free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_block_has_its_lowest_rate),
		cmocka_unit_test(what_is_left_over_goes_to_the_next),
		cmocka_unit_test(what_a_block_leaves_over_goes_to_the_next_one),
		cmocka_unit_test(a_rare_sample_is_several_counts),
		cmocka_unit_test(with_a_rate_that_is_not_known_nothing_is_weighed),
		cmocka_unit_test(rates_past_the_limit_are_not_known),
		cmocka_unit_test(numbers_saturate),
		cmocka_unit_test(nothing_is_no_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
