// SPDX-License-Identifier: Apache-2.0
/* Samples of hosts that sample, or visit their waiting threads, more or less often become counts of equal weight. */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/compare_world.h"
#include "user/diff/diff_tally.h"
#include "user/diff/diff.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/strbuf.h"

#define STACK "java;a.B.run_[j];java.util.concurrent.locks.LockSupport.park_[j]"

static struct window waits_of(const char *host, uint32_t pid, uint64_t period_ms, uint64_t samples)
{
	return (struct window){
		.start_unix_ns = START_S * CLOCK_NS_PER_S,
		.duration_ns = 10 * CLOCK_NS_PER_S,
		.event = EVENT_OFF_CPU,
		.period = period_ms * CLOCK_NS_PER_MS,
		.pid = pid,
		.counts = { .samples = samples, .frames = 3 * samples },
		.labels = { [WINDOW_LABEL_HOST] = host },
	};
}

static void give(struct world *world, const struct window *window, const char *text)
{
	assert_int_equal(compare_loader__want(world->loader, window), window->pid != 0);
	if (window->pid)
		assert_int_equal(compare_loader__add(world->loader, window, text, strlen(text)), 0);
}

static void waits_of_hosts_of_other_rates_add_up(void **state)
{
	static const enum event views[] = { EVENT_OFF_CPU, EVENT_LOCK };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(views); i++) {
		const struct window often = waits_of("web-1", 1, 100, 10);
		const struct window rarely = waits_of("web-2", 2, 200, 7);
		struct world world = { 0 };
		const struct diff_block *block;

		world_begin(&world, views[i], 1);
		give(&world, &often, STACK " 10\n");
		give(&world, &rarely, STACK " 7\n");
		block = world_finish(&world, 1);
		assert_int_equal(block->samples, 10 + 14);
		assert_int_equal(block->frequency_hz, 10);
		assert_true(fabs(block->cpu_s - 2.4) < 1e-9);
		/* What people read are samples. */
		assert_int_equal(world.loaded.counts.samples, 17);
		world_end(&world);
	}
}

/* --off-cpu-rate 100: ten samples would be one count, and those of rare stacks none. */
static void samples_of_a_higher_rate_are_counts(void **state)
{
	const struct window window = waits_of("web-1", 1, 10, 10);
	struct world world = { 0 };
	const struct diff_block *block;

	(void)state;
	world_begin(&world, EVENT_OFF_CPU, 1);
	give(&world, &window, STACK " 10\n");
	block = world_finish(&world, 1);
	assert_int_equal(block->samples, 10);
	assert_int_equal(block->frequency_hz, 100);
	world_end(&world);
}

/* A host with many threads visits each once a second. */
static void shares_of_what_is_missing_stay_as_they_are(void **state)
{
	struct window window = waits_of("web-1", 1, 1000, 20);
	struct window record = waits_of("web-1", 0, 1000, 40);
	struct world world = { 0 };
	const struct diff_block *block;

	(void)state;
	window.counts.unknown_frames = 6;
	window.counts.truncated_samples = 2;
	record.lost[WINDOW_LOSS_COUNTS_FULL] = 4;
	world_begin(&world, EVENT_OFF_CPU, 1);
	give(&world, &window, STACK " 20\n");
	give(&world, &record, "");
	block = world_finish(&world, 1);
	assert_int_equal(block->samples, 200);
	assert_int_equal(block->frames, 600);
	assert_int_equal(block->unknown_frames, 60);
	assert_int_equal(block->truncated_samples, 20);
	assert_int_equal(block->lost_samples, 20);
	world_end(&world);
}

/* Of the stacks that are wanted, as with --thread and --kind. */
static void parts_are_scaled_as_their_samples_are(void **state)
{
	struct window window = waits_of("web-1", 1, 200, 20);
	struct window record = waits_of("web-1", 0, 200, 20);
	struct world world = { .selection.kind = SELECT_KIND_KERNEL };
	const struct diff_block *block;

	(void)state;
	record.lost[WINDOW_LOSS_COUNTS_FULL] = 4;
	world_begin(&world, EVENT_OFF_CPU, 1);
	give(&world, &window, STACK " 15\njava;a.B.run_[j];futex_[k] 5\n");
	give(&world, &record, "");
	block = world_finish(&world, 1);
	assert_int_equal(block->samples, 10);
	assert_int_equal(block->frames, 30);
	assert_int_equal(block->lost_samples, 2);
	assert_int_equal(world.loaded.counts.samples, 5);
	world_end(&world);
}

/* Then nothing of the block is weighed, in whichever order they come. */
static void a_rate_that_is_not_said_is_not_made_up(void **state)
{
	const struct window windows[] = {
		waits_of("web-1", 1, 0, 7),
		waits_of("web-2", 2, 200, 5),
	};

	(void)state;
	for (size_t first = 0; first < 2; first++) {
		struct world world = { 0 };
		const struct diff_block *block;

		world_begin(&world, EVENT_OFF_CPU, 1);
		give(&world, &windows[first], first ? STACK " 5\n" : STACK " 7\n");
		give(&world, &windows[!first], first ? STACK " 7\n" : STACK " 5\n");
		block = world_finish(&world, 1);
		assert_int_equal(block->samples, 12);
		assert_int_equal(block->frequency_hz, 0);
		assert_true(block->cpu_s == 0);
		world_end(&world);
	}
}

/* ---- CPU time ---- */

#define METHODS	    300 /* seen once at most in a window */
#define SIDE_BLOCKS 12
#define SECONDS	    300

static const uint32_t rates[] = { 49, 99 };

static struct window cpu_of(const char *host, uint32_t pid, uint32_t frequency_hz, uint64_t samples)
{
	return (struct window){
		.start_unix_ns = START_S * CLOCK_NS_PER_S,
		.duration_ns = 10 * CLOCK_NS_PER_S,
		.frequency_hz = frequency_hz,
		.pid = pid,
		.counts = { .samples = samples, .frames = 3 * samples },
		.labels = { [WINDOW_LABEL_HOST] = host },
	};
}

static uint32_t count_of(const struct world *world, size_t block, const char *method)
{
	uint32_t item = diff_catalog__find(world->catalog, DIFF_KIND_METHOD_SELF, FRAME_KIND_JIT,
					   method, strlen(method));
	size_t cnt = 0;
	const struct diff_count *counts = diff_side__counts(world->loaded.side, block, &cnt);

	for (size_t i = 0; i < cnt; i++)
		if (counts[i].item == item)
			return counts[i].count;
	return 0;
}

/* One sample of each method from the first to the last, backwards where the second comes first. */
static void put_methods(struct strbuf *text, int first, int last)
{
	int step = first < last ? 1 : -1;

	strbuf_clear(text);
	for (int i = first; i != last + step; i += step)
		strbuf_printf(text, "java;a.B.run_[j];a.B.rare%d_[j] 1\n", i);
}

/* Nearly all counts are of less than a whole one; none is lost for it, and the order makes no difference. */
static void rare_stacks_of_two_rates_add_up_in_any_order(void **state)
{
	__cleanup_strbuf struct strbuf often = STRBUF_INIT, rarely = STRBUF_INIT;
	const struct window windows[] = {
		cpu_of("ha", 1, 49, METHODS / 3),
		cpu_of("hb", 2, 99, METHODS),
	};
	uint32_t counts[2][METHODS];

	(void)state;
	for (size_t order = 0; order < 2; order++) {
		struct world world = { 0 };
		const struct diff_block *block;
		uint64_t sum = 0;

		world_begin(&world, EVENT_CPU, 1);
		put_methods(&often, order ? METHODS - 1 : 0, order ? 0 : METHODS - 1);
		put_methods(&rarely, order ? METHODS / 3 - 1 : 0, order ? 0 : METHODS / 3 - 1);
		give(&world, &windows[order], strbuf_str(order ? &often : &rarely));
		give(&world, &windows[!order], strbuf_str(order ? &rarely : &often));
		block = world_finish(&world, 1);
		for (int i = 0; i < METHODS; i++) {
			char name[32];

			(void)snprintf(name, sizeof(name), "a.B.rare%d", i);
			counts[order][i] = count_of(&world, 0, name);
			sum += counts[order][i];
		}
		assert_int_equal(block->frequency_hz, 49);
		assert_int_equal(block->samples, METHODS / 3 + METHODS * 49 / 99);
		assert_int_equal(sum, block->samples);
		assert_in_range(block->frames, 3 * block->samples, 3 * block->samples + 3);
		assert_int_equal(world.loaded.counts.samples, METHODS / 3 + METHODS);
		world_end(&world);
	}
	assert_memory_equal(counts[0], counts[1], sizeof(counts[0]));
}

/* jbpfd was started again: five minutes at 99 a second, then at 49, of one CPU. */
static void time_is_the_same_before_and_after_a_change_of_rate(void **state)
{
	struct world world = { 0 };
	const struct diff_block *block;

	(void)state;
	world_begin(&world, EVENT_CPU, 2);
	for (uint64_t at = 0; at < 2 * SECONDS; at += 10) {
		uint32_t hz = at < SECONDS / 2 ? 99 : 49;
		struct window window = cpu_of("ha", 1, hz, 10 * (uint64_t)hz);
		char line[128];

		window.start_unix_ns += at * CLOCK_NS_PER_S;
		(void)snprintf(line, sizeof(line), STACK " %u\n", 10 * hz);
		give(&world, &window, line);
	}
	block = world_finish(&world, 2);
	for (int i = 0; i < 2; i++) {
		block = diff_side__block(world.loaded.side, i);
		assert_int_equal(block->frequency_hz, 49);
		assert_true(fabs(block->cpu_s - SECONDS) < 1.0 / 49);
	}
	world_end(&world);
}

static void a_block_of_one_rate_keeps_its_samples(void **state)
{
	const struct window early = cpu_of("ha", 1, 49, 7);
	struct window late = cpu_of("hb", 2, 99, 11);
	struct world world = { 0 };

	(void)state;
	late.start_unix_ns += BLOCK_S * CLOCK_NS_PER_S;
	world_begin(&world, EVENT_CPU, 2);
	give(&world, &late, STACK " 11\n");
	give(&world, &early, STACK " 7\n");
	assert_int_equal(world_finish(&world, 2)->samples, 7);
	assert_int_equal(diff_side__block(world.loaded.side, 1)->samples, 11);
	assert_int_equal(diff_side__block(world.loaded.side, 1)->frequency_hz, 99);
	world_end(&world);
}

/* A third of what hb had, which is 99 samples there and 49 of the block's. */
static void losses_count_at_the_rate_of_their_block(void **state)
{
	const struct window own[] = { cpu_of("ha", 1, 49, 10), cpu_of("hb", 2, 99, 198) };
	struct window record = cpu_of("hb", 0, 99, 198);
	struct world world = { 0 };

	(void)state;
	record.lost[WINDOW_LOSS_COUNTS_FULL] = 99;
	world_begin(&world, EVENT_CPU, 1);
	give(&world, &record, "");
	give(&world, &own[0], STACK " 10\n");
	give(&world, &own[1], STACK " 198\n");
	assert_int_equal(world_finish(&world, 1)->lost_samples, 49);
	assert_int_equal(world.loaded.lost_samples, 99);
	world_end(&world);
}

static void more_rates_than_are_told_apart_are_not_known(void **state)
{
	struct world world = { 0 };
	const struct diff_block *block;

	(void)state;
	world_begin(&world, EVENT_CPU, 1);
	for (uint32_t hz = 1; hz <= DIFF_TALLY_RATES_MAX; hz++) {
		const struct window window = cpu_of("ha", 1, hz, 1);

		give(&world, &window, STACK " 1\n");
	}
	block = world_finish(&world, 1);
	assert_int_equal(block->frequency_hz, 0);
	assert_int_equal(block->samples, DIFF_TALLY_RATES_MAX);
	world_end(&world);
}

/* ---- of hosts, and to the verdict ---- */

static void sides_that_agree_add_up(void **state)
{
	const struct diff_side *sides[2];
	struct world worlds[2] = { 0 };
	struct compare_loader *loaders[2];
	struct diff_side *sum = NULL;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const struct window window = cpu_of("h", 1, rates[i], 2 * rates[i]);
		char line[128];

		world_begin(&worlds[i], EVENT_CPU, 1);
		(void)snprintf(line, sizeof(line), STACK " %u\n", 2 * rates[i]);
		give(&worlds[i], &window, line);
		loaders[i] = worlds[i].loader;
	}
	compare_loaders_agree(loaders, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(world_finish(&worlds[i], 1)->frequency_hz, 49);
		sides[i] = worlds[i].loaded.side;
	}
	assert_int_equal(diff_side_sum(sides, 2, &sum), 0);
	assert_int_equal(diff_side__block(sum, 0)->frequency_hz, 49);
	assert_in_range(diff_side__block(sum, 0)->samples, 2 * 98 - 1, 2 * 98);
	diff_side__free(sum);
	for (size_t i = 0; i < 2; i++)
		world_end(&worlds[i]);
}

/* Ten methods of a tenth each on both hosts; the first is slower by half on the second host, on the side after. */
static void put_block(struct strbuf *text, uint32_t hz, bool is_slower, uint64_t seed)
{
	strbuf_clear(text);
	for (uint64_t i = 0; i < 10; i++) {
		uint64_t samples = hz * SECONDS / 10;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		samples += (seed >> 33) % 81;
		if (is_slower && i == 0)
			samples += samples / 2;
		strbuf_printf(text, "java;a.B.run_[j];a.B.m%" PRIu64 "_[j] %" PRIu64 "\n", i,
			      samples);
	}
}

static void load_side(struct diff_catalog *catalog, bool is_after, bool is_reversed,
		      struct compare_loaded *out)
{
	const struct selection selection = { 0 };
	const struct compare_load what = {
		.selection = &selection,
		.since_unix_ns = START_S * CLOCK_NS_PER_S,
		.until_unix_ns = (START_S + SIDE_BLOCKS * BLOCK_S) * CLOCK_NS_PER_S,
		.block_ns = BLOCK_S * CLOCK_NS_PER_S,
	};
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct compare_loader *loader;

	assert_int_equal(compare_loader__new(&what, catalog, &loader), 0);
	for (size_t i = 0; i < 2 * SIDE_BLOCKS; i++) {
		size_t host = (i + is_reversed) % 2;
		struct window window =
			cpu_of(host ? "hb" : "ha", (uint32_t)host + 1, rates[host], 1);

		put_block(&text, rates[host], is_after && host, i / 2 * 4 + host * 2 + is_after);
		window.start_unix_ns += i / 2 * BLOCK_S * CLOCK_NS_PER_S;
		window.duration_ns = SECONDS * CLOCK_NS_PER_S;
		assert_true(compare_loader__want(loader, &window));
		assert_int_equal(compare_loader__add(loader, &window, strbuf_str(&text), text.len),
				 0);
	}
	assert_int_equal(compare_loader__finish(loader, out), 0);
	compare_loader__free(loader);
}

/* Samples of the second host, which comes last, are as good as those of the first. */
static void the_verdict_is_the_same_in_any_order(void **state)
{
	struct diff_options options = diff_options_default();
	struct diff_row rows[2];

	(void)state;
	for (size_t order = 0; order < 2; order++) {
		struct diff_catalog *catalog = diff_catalog__new();
		struct compare_loaded before = { 0 }, after = { 0 };
		struct diff_input input = { 0 };
		struct diff_result *result = NULL;
		uint32_t slow;

		assert_non_null(catalog);
		load_side(catalog, false, order, &before);
		load_side(catalog, true, order, &after);
		input.items = diff_catalog__items(catalog, &input.item_cnt);
		input.a = before.side;
		input.b = after.side;
		assert_int_equal(diff_run(&input, &options, &result), 0);
		slow = diff_catalog__find(catalog, DIFF_KIND_METHOD_SELF, FRAME_KIND_JIT, "a.B.m0",
					  strlen("a.B.m0"));
		rows[order] = result->rows[slow];
		assert_int_equal(rows[order].verdict, DIFF_VERDICT_UP);
		/* Of the time of two CPUs a tenth on each; half of that more on one of them. */
		assert_true(fabs(rows[order].cores_b / rows[order].cores_a - 1.25) < 0.02);
		diff_result__free(result);
		compare_loaded_release(&before);
		compare_loaded_release(&after);
		diff_catalog__free(catalog);
	}
	assert_int_equal(rows[0].samples_a, rows[1].samples_a);
	assert_int_equal(rows[0].samples_b, rows[1].samples_b);
	assert_true(rows[0].p == rows[1].p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_of_hosts_of_other_rates_add_up),
		cmocka_unit_test(samples_of_a_higher_rate_are_counts),
		cmocka_unit_test(shares_of_what_is_missing_stay_as_they_are),
		cmocka_unit_test(parts_are_scaled_as_their_samples_are),
		cmocka_unit_test(a_rate_that_is_not_said_is_not_made_up),
		cmocka_unit_test(rare_stacks_of_two_rates_add_up_in_any_order),
		cmocka_unit_test(time_is_the_same_before_and_after_a_change_of_rate),
		cmocka_unit_test(a_block_of_one_rate_keeps_its_samples),
		cmocka_unit_test(losses_count_at_the_rate_of_their_block),
		cmocka_unit_test(more_rates_than_are_told_apart_are_not_known),
		cmocka_unit_test(sides_that_agree_add_up),
		cmocka_unit_test(the_verdict_is_the_same_in_any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
