// SPDX-License-Identifier: Apache-2.0
/* How often waiting threads are visited, and when a pass hangs; live.py and test_off_cpu.py see the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bpf/jbpf_user.h"
#include "bpf/jbpf_offcpu.h"
#include "user/collect/offcpu/offcpu.h"

#define SECOND 1000000000ull

static void rate_follows_the_number_of_threads(void **state)
{
	static const struct {
		uint64_t threads;
		uint32_t rate_max;
		uint32_t rate;
	} rows[] = {
		{ 0, 10, 10 },	   { 1000, 10, 10 }, { 1001, 10, 5 }, { 2000, 10, 5 },
		{ 2001, 10, 2 },   { 5000, 10, 2 },  { 5001, 10, 1 }, { 1000000, 10, 1 },
		{ 100, 100, 100 }, { 101, 100, 10 }, { 5000, 3, 2 },  { 4000, 1, 1 },
		{ 20000, 1, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(offcpu_rate(rows[i].threads, rows[i].rate_max), rows[i].rate);
}

static void pass_hangs_when_it_reads_memory_for_longer_than_a_second(void **state)
{
	struct jbpf_pass pass = { .begin_ns = 10 * SECOND, .end_ns = 9 * SECOND, .tgid = 7 };

	(void)state;
	assert_true(offcpu_is_hung(&pass, 11 * SECOND + 1));
	assert_false(offcpu_is_hung(&pass, 11 * SECOND));
	pass.tgid = 0; /* it waits for a CPU */
	assert_false(offcpu_is_hung(&pass, 20 * SECOND));
	pass.tgid = 7;
	pass.end_ns = 10 * SECOND; /* it is over */
	assert_false(offcpu_is_hung(&pass, 20 * SECOND));
}

static void process_is_lost_when_there_is_no_pass_for_seconds(void **state)
{
	struct jbpf_pass pass = { .begin_ns = 10 * SECOND, .end_ns = 11 * SECOND };

	(void)state;
	assert_false(offcpu_is_silent(&pass, 11 * SECOND + OFFCPU_SILENT_NS));
	assert_true(offcpu_is_silent(&pass, 11 * SECOND + OFFCPU_SILENT_NS + 1));
	pass.begin_ns = 12 * SECOND; /* one that never ends, and reads nothing */
	assert_false(offcpu_is_silent(&pass, 12 * SECOND + OFFCPU_SILENT_NS));
	assert_true(offcpu_is_silent(&pass, 12 * SECOND + OFFCPU_SILENT_NS + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rate_follows_the_number_of_threads),
		cmocka_unit_test(process_is_lost_when_there_is_no_pass_for_seconds),
		cmocka_unit_test(pass_hangs_when_it_reads_memory_for_longer_than_a_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
