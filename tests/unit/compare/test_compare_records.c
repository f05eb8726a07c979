// SPDX-License-Identifier: Apache-2.0
/* What hosts recorded and lost counts where a side ran, and as much of it as is the side's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/compare_world.h"
#include "user/util/clock.h"

#define STACK "java;a.B.run_[j];a.B.c_[j] 7\n"

/* Of a process, with 7 samples. */
static void give(struct world *world, const char *host, uint64_t at_s)
{
	const struct window window = {
		.start_unix_ns = (START_S + at_s) * CLOCK_NS_PER_S,
		.duration_ns = 10 * CLOCK_NS_PER_S,
		.frequency_hz = 100,
		.pid = 40,
		.counts = { .samples = 7 },
		.labels = { [WINDOW_LABEL_HOST] = host },
	};

	assert_true(compare_loader__want(world->loader, &window));
	assert_int_equal(compare_loader__add(world->loader, &window, STACK, strlen(STACK)), 0);
}

static void give_record(struct world *world, const char *host, uint64_t at_s, uint64_t samples,
			uint64_t lost)
{
	const struct window record = {
		.start_unix_ns = (START_S + at_s) * CLOCK_NS_PER_S,
		.duration_ns = 10 * CLOCK_NS_PER_S,
		.frequency_hz = 100,
		.counts = { .samples = samples },
		.lost = { [WINDOW_LOSS_COUNTS_FULL] = lost },
		.labels = { [WINDOW_LABEL_HOST] = host },
	};

	assert_false(compare_loader__want(world->loader, &record));
}

static void hosts_where_the_side_never_ran_lost_nothing_of_it(void **state)
{
	struct world world = { 0 };

	(void)state;
	world_begin(&world, EVENT_CPU, 2);
	give(&world, "web-1", 0);
	give_record(&world, "web-1", 0, 7, 2);
	give_record(&world, "web-2", 0, 900, 900);
	assert_int_equal(world_finish(&world, 1)->lost_samples, 2);
	world_end(&world);
}

/* Each by its own share: of the first a half, of the second all. */
static void losses_are_shared_host_by_host(void **state)
{
	struct world world = { 0 };

	(void)state;
	world_begin(&world, EVENT_CPU, 2);
	give_record(&world, "web-1", 0, 14, 10);
	give(&world, "web-1", 0);
	give(&world, "web-2", 0);
	give_record(&world, "web-2", 0, 7, 3);
	assert_int_equal(world_finish(&world, 1)->lost_samples, 5 + 3);
	world_end(&world);
}

static void a_host_counts_in_the_blocks_in_which_the_side_ran_there(void **state)
{
	struct world world = { 0 };

	(void)state;
	world_begin(&world, EVENT_CPU, 2);
	for (uint64_t block = 0; block < 2; block++) {
		give(&world, block ? "web-2" : "web-1", block * BLOCK_S);
		give_record(&world, "web-1", block * BLOCK_S, 7, 1);
		give_record(&world, "web-2", block * BLOCK_S, 7, 5);
	}
	assert_int_equal(world_finish(&world, 2)->lost_samples, 1);
	assert_int_equal(diff_side__block(world.loaded.side, 1)->lost_samples, 5);
	world_end(&world);
}

/* Two that are recorded at the same time are recorded once. */
static void time_of_several_hosts_is_no_longer_than_it_was(void **state)
{
	struct world world = { 0 };

	(void)state;
	world_begin(&world, EVENT_CPU, 2);
	for (uint64_t at = 0; at < 100; at += 10) {
		give(&world, "web-1", at);
		give(&world, "web-2", at);
		give_record(&world, "web-1", at, 7, 0);
		give_record(&world, "web-2", at, 7, 0);
	}
	assert_int_equal(world_finish(&world, 1)->length_ns, 100 * CLOCK_NS_PER_S);
	world_end(&world);
}

static void who_has_no_name_is_one_host(void **state)
{
	struct world world = { 0 };

	(void)state;
	world_begin(&world, EVENT_CPU, 2);
	give(&world, NULL, 0);
	give_record(&world, "", 0, 14, 4);
	assert_int_equal(world_finish(&world, 1)->lost_samples, 2);
	world_end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_where_the_side_never_ran_lost_nothing_of_it),
		cmocka_unit_test(losses_are_shared_host_by_host),
		cmocka_unit_test(a_host_counts_in_the_blocks_in_which_the_side_ran_there),
		cmocka_unit_test(time_of_several_hosts_is_no_longer_than_it_was),
		cmocka_unit_test(who_has_no_name_is_one_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
