// SPDX-License-Identifier: Apache-2.0
/* Sizes of maps and tables: room for what a host samples, and bounds of what that takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "user/collect/probe/probe.h"
#include "user/collect/probe/probe_sizes.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

#define MIB	    (1ull << 20)
#define COUNT_BYTES (2 * (48 + 48 + 48)) /* key, value, and what the kernel adds; two maps */
#define SEEN_BYTES  64

static const size_t cpu_cnts[] = { 1, 2, 16, 64, 128, 200 };

static struct probe_sizes sizes_of(size_t cpu_cnt)
{
	struct probe_sizes sizes;

	const struct probe_options options = { .frequency_hz = 99,
					       .window_ns = 10 * CLOCK_NS_PER_S };

	probe_sizes(&options, cpu_cnt, &sizes);
	return sizes;
}

static void every_sample_of_a_window_fits_and_a_quarter_more(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cpu_cnts); i++) {
		struct probe_sizes sizes = sizes_of(cpu_cnts[i]);

		assert_true(sizes.count_entries * 4 / 5 >= 990 * cpu_cnts[i]);
		assert_true(sizes.seen_entries >= 3 * sizes.count_entries);
		assert_true(sizes.known_entries >= 8192);
		assert_int_equal(sizes.stacks_bytes & (sizes.stacks_bytes - 1), 0);
	}
}

static void memory_grows_with_the_cpus_and_no_faster(void **state)
{
	static const struct {
		size_t cpu_cnt;
		uint64_t kernel_mib, table_mib;
	} rows[] = { { 2, 4, 36 }, { 16, 16, 60 }, { 64, 54, 240 }, { 128, 106, 256 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct probe_sizes sizes = sizes_of(rows[i].cpu_cnt);
		uint64_t kernel_bytes = (uint64_t)sizes.count_entries * COUNT_BYTES +
					(uint64_t)sizes.seen_entries * SEEN_BYTES +
					sizes.stacks_bytes;

		assert_true(kernel_bytes <= rows[i].kernel_mib * MIB);
		assert_true(sizes.table_max_bytes <= rows[i].table_mib * MIB);
	}
}

/* Under pressure a stack lives for four windows at most. */
static void the_table_holds_what_the_programs_may_send(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cpu_cnts); i++) {
		struct probe_sizes sizes = sizes_of(cpu_cnts[i]);

		assert_true(sizes.window_stack_bytes * 4 <= sizes.table_max_bytes);
		assert_true(sizes.table_soft_bytes * 4 <= sizes.table_max_bytes);
		/* Two thirds, at full depth: for each sample that is not the same as another. */
		assert_true(sizes.window_stack_bytes * 2 / 3 / (990 * cpu_cnts[i]) >= 200);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_sample_of_a_window_fits_and_a_quarter_more),
		cmocka_unit_test(memory_grows_with_the_cpus_and_no_faster),
		cmocka_unit_test(the_table_holds_what_the_programs_may_send),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
