/* SPDX-License-Identifier: Apache-2.0 */
/* A loader of one side, which tests give its windows one by one. */
#ifndef JBPF_TESTS_COMPARE_WORLD_H
#define JBPF_TESTS_COMPARE_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "user/compare/compare_load.h"
#include "user/util/clock.h"

#define BLOCK_S 300
#define START_S 1700000100ull /* a multiple of BLOCK_S */

struct world {
	struct selection selection;
	struct diff_catalog *catalog;
	struct compare_loader *loader;
	struct compare_loaded loaded;
};

/* A side of so many blocks. */
static inline void world_begin(struct world *world, enum event event, uint64_t blocks)
{
	const struct compare_load what = {
		.selection = &world->selection,
		.event = event,
		.since_unix_ns = START_S * CLOCK_NS_PER_S,
		.until_unix_ns = (START_S + blocks * BLOCK_S) * CLOCK_NS_PER_S,
		.block_ns = BLOCK_S * CLOCK_NS_PER_S,
	};

	world->catalog = diff_catalog__new();
	assert_non_null(world->catalog);
	assert_int_equal(compare_loader__new(&what, world->catalog, &world->loader), 0);
}

static inline void world_end(struct world *world)
{
	compare_loaded_release(&world->loaded);
	compare_loader__free(world->loader);
	diff_catalog__free(world->catalog);
}

/* The first block of the side, which has so many. */
static inline const struct diff_block *world_finish(struct world *world, size_t block_cnt)
{
	assert_int_equal(compare_loader__finish(world->loader, &world->loaded), 0);
	assert_int_equal(diff_side__block_count(world->loaded.side), block_cnt);
	return diff_side__block(world->loaded.side, 0);
}

#endif
