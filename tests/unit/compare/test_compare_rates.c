// SPDX-License-Identifier: Apache-2.0
/* Samples of hosts that visit their waiting threads more or less often become counts of equal weight. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/compare_world.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

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
		assert_int_equal(world.loaded.other_rate_samples, 0);
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

static void a_rate_that_is_not_said_is_not_made_up(void **state)
{
	const struct window window = waits_of("web-1", 1, 0, 7);
	const struct window other = waits_of("web-2", 2, 100, 5);
	struct world world = { 0 };
	const struct diff_block *block;

	(void)state;
	world_begin(&world, EVENT_OFF_CPU, 1);
	give(&world, &window, STACK " 7\n");
	give(&world, &other, STACK " 5\n");
	block = world_finish(&world, 1);
	assert_int_equal(block->samples, 7);
	assert_int_equal(block->frequency_hz, 0);
	assert_int_equal(world.loaded.other_rate_samples, 5);
	world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_of_hosts_of_other_rates_add_up),
		cmocka_unit_test(samples_of_a_higher_rate_are_counts),
		cmocka_unit_test(shares_of_what_is_missing_stay_as_they_are),
		cmocka_unit_test(parts_are_scaled_as_their_samples_are),
		cmocka_unit_test(a_rate_that_is_not_said_is_not_made_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
