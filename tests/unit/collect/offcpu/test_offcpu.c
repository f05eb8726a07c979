// SPDX-License-Identifier: Apache-2.0
/* How often waiting threads are visited, and when a pass hangs; live.py and test_off_cpu.py see the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bpf/jbpf_user.h"
#include "bpf/jbpf_offcpu.h"
#include "user/collect/offcpu/hang_watch.h"
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

/* Ten passes a second. */
static uint64_t missed(struct pass_debt *debt, uint64_t seconds, uint64_t passes, uint64_t visits)
{
	return offcpu_missed(debt, seconds * SECOND, SECOND / 10, passes, visits);
}

static void passes_that_do_not_come_are_lost_with_their_samples(void **state)
{
	struct pass_debt debt = { 0 };

	(void)state;
	assert_int_equal(missed(&debt, 10, 100, 5000), 0);
	assert_int_equal(missed(&debt, 10, 60, 3000), 40 * 50);
	assert_int_equal(missed(&debt, 10, 0, 0), 100 * 50);
	assert_int_equal(missed(&debt, 10, 100, 200), 0);
}

static void a_pass_on_either_side_of_a_window_s_end_is_not_lost(void **state)
{
	struct pass_debt debt = { 0 };

	(void)state;
	for (int i = 0; i < 10; i++)
		assert_int_equal(missed(&debt, 1, i % 2 ? 11 : 9, 90), 0);
	for (int i = 0; i < 10; i++)
		assert_int_equal(missed(&debt, 1, i % 2 ? 9 : 11, 90), 0);
}

static void one_that_is_left_out_of_each_window_is_lost_in_the_end(void **state)
{
	struct pass_debt debt = { 0 };
	uint64_t sum = 0;

	(void)state;
	for (int i = 0; i < 20; i++)
		sum += missed(&debt, 1, 9, 90);
	assert_int_equal(sum, 20 * 10);
	/* More than are due make up for nothing later. */
	assert_int_equal(missed(&debt, 1, 20, 200), 0);
	assert_int_equal(missed(&debt, 1, 7, 70), 20);
}

/* Of a pass that is reading memory of process 7 since its begin. */
static struct jbpf_pass reading(void)
{
	return (struct jbpf_pass){
		.begin_ns = 10 * SECOND, .end_ns = 9 * SECOND, .tgid = 7, .copies = 5
	};
}

static void pass_hangs_when_one_piece_of_memory_takes_seconds(void **state)
{
	struct jbpf_pass pass = reading();
	struct hang_watch watch = { 0 };

	(void)state;
	assert_int_equal(hang_watch_poll(&watch, &pass, 20 * SECOND),
			 0); /* since when is not known */
	assert_int_equal(hang_watch_poll(&watch, &pass, 21 * SECOND), 0);
	assert_int_equal(hang_watch_poll(&watch, &pass, 22 * SECOND), 0);
	assert_int_equal(hang_watch_poll(&watch, &pass, 23 * SECOND), 7);
}

/* Whoever looks had no CPU for long, and then looks several times in a row: the other one had none, too. */
static void polls_that_come_late_and_at_once_prove_nothing(void **state)
{
	struct jbpf_pass pass = reading();
	struct hang_watch watch = { 0 };

	(void)state;
	assert_int_equal(hang_watch_poll(&watch, &pass, 20 * SECOND), 0);
	for (uint64_t i = 0; i < 20; i++)
		assert_int_equal(hang_watch_poll(&watch, &pass, 60 * SECOND + i * SECOND / 50), 0);
	pass.copies++;
	for (uint64_t i = 0; i < 20; i++)
		assert_int_equal(hang_watch_poll(&watch, &pass, 61 * SECOND + i * SECOND / 50), 0);
}

/* On an overloaded host: it waits for a CPU between any two pieces. */
static void pass_that_is_slow_and_goes_on_does_not_hang(void **state)
{
	struct jbpf_pass pass = reading();
	struct hang_watch watch = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 60; i++) {
		assert_int_equal(hang_watch_poll(&watch, &pass, (20 + i) * SECOND), 0);
		pass.copies++;
	}
	pass.tgid = 0; /* it does not read */
	assert_int_equal(hang_watch_poll(&watch, &pass, 90 * SECOND), 0);
	assert_int_equal(hang_watch_poll(&watch, &pass, 99 * SECOND), 0);
	pass = reading(); /* it is over, or has been killed while it read */
	pass.end_ns = pass.begin_ns;
	assert_int_equal(hang_watch_poll(&watch, &pass, 100 * SECOND), 0);
	assert_int_equal(hang_watch_poll(&watch, &pass, 110 * SECOND), 0);
	pass.end_ns = 9 * SECOND; /* two passes that read the same process */
	assert_int_equal(hang_watch_poll(&watch, &pass, 120 * SECOND), 0);
	pass.begin_ns++;
	assert_int_equal(hang_watch_poll(&watch, &pass, 130 * SECOND), 0);
}

static void who_a_pass_hung_on_is_read_again_later_and_later(void **state)
{
	static const uint64_t for_s[] = { 60, 600, 3600, 3600 };
	struct hang_watch watch = { 0 };
	uint32_t tgids[JBPF_HUNG_MAX];
	uint64_t now_ns = 20 * SECOND;

	(void)state;
	assert_int_equal(hang_watch_banned(&watch, now_ns, tgids), 0);
	for (size_t i = 0; i < sizeof(for_s) / sizeof(for_s[0]); i++) {
		hang_watch_ban(&watch, 7, now_ns);
		now_ns += for_s[i] * SECOND;
		assert_int_equal(hang_watch_banned(&watch, now_ns - 1, tgids), 1);
		assert_int_equal(tgids[0], 7);
		assert_int_equal(hang_watch_banned(&watch, now_ns, tgids), 0);
	}
}

static void of_many_that_passes_hung_on_the_last_ones_are_left_alone(void **state)
{
	struct hang_watch watch = { 0 };
	uint32_t tgids[JBPF_HUNG_MAX];

	(void)state;
	for (uint32_t i = 0; i < 2 * JBPF_HUNG_MAX; i++)
		hang_watch_ban(&watch, 100 + i, (20 + i) * SECOND);
	assert_int_equal(hang_watch_banned(&watch, 40 * SECOND, tgids), JBPF_HUNG_MAX);
	for (uint32_t i = 0; i < JBPF_HUNG_MAX; i++)
		assert_in_range(tgids[i], 100 + JBPF_HUNG_MAX, 100 + 2 * JBPF_HUNG_MAX - 1);
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
		cmocka_unit_test(passes_that_do_not_come_are_lost_with_their_samples),
		cmocka_unit_test(a_pass_on_either_side_of_a_window_s_end_is_not_lost),
		cmocka_unit_test(one_that_is_left_out_of_each_window_is_lost_in_the_end),
		cmocka_unit_test(rate_follows_the_number_of_threads),
		cmocka_unit_test(process_is_lost_when_there_is_no_pass_for_seconds),
		cmocka_unit_test(pass_hangs_when_one_piece_of_memory_takes_seconds),
		cmocka_unit_test(polls_that_come_late_and_at_once_prove_nothing),
		cmocka_unit_test(pass_that_is_slow_and_goes_on_does_not_hang),
		cmocka_unit_test(who_a_pass_hung_on_is_read_again_later_and_later),
		cmocka_unit_test(of_many_that_passes_hung_on_the_last_ones_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
