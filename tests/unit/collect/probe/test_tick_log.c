// SPDX-License-Identifier: Apache-2.0
/*
 * The log of moments, with the test as the programs that fill it: what was noted comes back once,
 * of the set that was asked for, sorted, and whatever is in the words nothing beyond them is read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/jbpf_user.h"

#include "user/collect/probe/tick_log.h"
#include "user/util/clock.h"

#define CPUS	 3
#define UNIT_NS	 (1ull << JBPF_TICK_SHIFT)
#define START_NS (7 * UNIT_NS + 12345) /* within a unit */

static struct tick_log log_make(void)
{
	struct tick_log log;

	tick_log_size(&log, 99, CPUS, CLOCK_NS_PER_S);
	assert_int_equal(log.cpu_cnt, CPUS);
	log.words = calloc(tick_log_words(&log), sizeof(*log.words));
	assert_non_null(log.words);
	return log;
}

/* As tick_note() of the programs does; false when the log is full. */
static bool note(struct tick_log *log, uint32_t set, uint32_t cpu, uint32_t tag, uint64_t boot_ns)
{
	uint64_t *part = log->words + (set * log->cpu_cnt + cpu) * log->stride;

	if (part[0] >= log->stride - 1)
		return false;
	part[1 + part[0]++] = jbpf_tick(tag, boot_ns);
	return true;
}

static void the_size_covers_a_window_with_time_to_spare(void **state)
{
	static const struct {
		uint32_t hz, cpus;
		uint64_t window_ns;
	} rows[] = {
		{ 99, 1, 10 * CLOCK_NS_PER_S },	  { 99, 2, 10 * CLOCK_NS_PER_S },
		{ 99, 64, 10 * CLOCK_NS_PER_S },  { 999, 8, 10 * CLOCK_NS_PER_S },
		{ 1, 1, CLOCK_NS_PER_S },	  { 10000, 1, 10 * CLOCK_NS_PER_S },
		{ 99, 256, 10 * CLOCK_NS_PER_S }, { 99, 2, 1800 * CLOCK_NS_PER_S },
	};
	struct tick_log log;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double ticks = rows[i].hz * (1.25 * (double)rows[i].window_ns / 1e9 + 1);

		tick_log_size(&log, rows[i].hz, rows[i].cpus, rows[i].window_ns);
		assert_int_equal(log.cpu_cnt, rows[i].cpus);
		assert_true(log.stride - 1 >= ticks);
		assert_true(log.stride - 1 <= ticks + 16);
		assert_int_equal(log.stride % 8, 0);
		assert_true(tick_log_words(&log) * 8ull <= TICK_LOG_MAX_BYTES);
		assert_int_equal(tick_log_words(&log), 2 * rows[i].cpus * log.stride);
		assert_int_equal(tick_log_max(&log), rows[i].cpus * (log.stride - 1));
	}
}

static void a_log_that_would_be_too_large_is_none(void **state)
{
	static const struct {
		uint32_t hz, cpus;
		uint64_t window_ns;
	} rows[] = {
		{ 99, 64, 3600 * CLOCK_NS_PER_S },
		{ 99, 0, CLOCK_NS_PER_S },
		{ UINT32_MAX, 8192, UINT64_MAX },
		{ 1, UINT32_MAX, 1 },
	};
	struct probe_tick out[1];
	struct tick_log log;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		tick_log_size(&log, rows[i].hz, rows[i].cpus, rows[i].window_ns);
		assert_int_equal(log.stride, 0);
		assert_int_equal(log.cpu_cnt, 0);
		assert_int_equal(tick_log_words(&log), 1);
		assert_int_equal(tick_log_max(&log), 0);
		assert_int_equal(tick_log_map(&log, -1), 0);
		assert_int_equal(tick_log_take(&log, 0, 0, out), 0);
		tick_log_unmap(&log);
	}
}

static void ticks_come_back_once_sorted_by_tag_and_time(void **state)
{
	struct tick_log log = log_make();
	struct probe_tick *out = calloc(tick_log_max(&log), sizeof(*out));

	(void)state;
	assert_non_null(out);
	assert_true(note(&log, 0, 2, 5, START_NS + 40 * UNIT_NS));
	assert_true(note(&log, 0, 0, 9, START_NS + 20 * UNIT_NS));
	assert_true(note(&log, 0, 0, 5, START_NS + 30 * UNIT_NS));
	assert_true(note(&log, 1, 1, 5, START_NS + 50 * UNIT_NS)); /* of the other set */
	assert_int_equal(tick_log_take(&log, 0, START_NS, out), 3);
	for (int i = 0; i < 3; i++) {
		static const uint32_t tags[] = { 5, 5, 9 }, units[] = { 30, 40, 20 };
		uint64_t after_ns = units[i] * UNIT_NS;

		assert_int_equal(out[i].tag, tags[i]);
		/* Times are rounded down to the unit. */
		assert_true(out[i].after_us * 1000ull <= after_ns);
		assert_true(out[i].after_us * 1000ull + 1000 >= after_ns - UNIT_NS);
	}
	assert_int_equal(tick_log_take(&log, 0, START_NS, out), 0);
	assert_int_equal(tick_log_take(&log, 1, START_NS, out), 1);
	assert_int_equal(tick_log_take(&log, 1, START_NS, out), 0);
	free(out);
	free(log.words);
}

static void a_full_log_gives_all_it_has(void **state)
{
	struct tick_log log = log_make();
	struct probe_tick *out = calloc(tick_log_max(&log), sizeof(*out));
	size_t noted = 0;

	(void)state;
	assert_non_null(out);
	for (uint32_t set = 0; set < 2; set++) {
		for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
			for (uint32_t i = 0; note(&log, set, cpu, set, START_NS + i); i++)
				noted++;
		}
	}
	assert_int_equal(noted, 2 * tick_log_max(&log));
	for (int set = 0; set < 2; set++) {
		assert_int_equal(tick_log_take(&log, set, START_NS, out), tick_log_max(&log));
		for (size_t i = 0; i < tick_log_max(&log); i++)
			assert_int_equal(out[i].tag, set);
	}
	/* A count that nobody wrote. */
	log.words[0] = UINT64_MAX;
	assert_int_equal(tick_log_take(&log, 0, START_NS, out), log.stride - 1);
	free(out);
	free(log.words);
}

static void times_are_right_across_the_turn_of_their_32_bits(void **state)
{
	const uint64_t turn_ns = 1ull << (32 + JBPF_TICK_SHIFT);
	static const struct {
		int64_t start_ns, at_ns; /* from the turn on */
		uint32_t after_us;
	} rows[] = {
		{ -1000000000, -400000000, 600000 }, { -1000000000, 9000000000, 10000000 },
		{ 0, 5000000000, 5000000 },	     { 0, -1000000, 0 },
		{ 1000000000, 990000000, 0 },	     { 0, 1ll << 46, UINT32_MAX },
	};
	struct tick_log log = log_make();
	struct probe_tick out[1];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t start_ns = 3 * turn_ns + (uint64_t)rows[i].start_ns;

		assert_true(note(&log, 0, 0, 1, 3 * turn_ns + (uint64_t)rows[i].at_ns));
		assert_int_equal(tick_log_take(&log, 0, start_ns, out), 1);
		assert_true(out[0].after_us <= rows[i].after_us);
		assert_true(out[0].after_us + 2ull * UNIT_NS / 1000 >= rows[i].after_us);
	}
	free(log.words);
}

/* The process was stopped, or the machine slept: moments are late, or not known, and nothing else. */
static void a_window_of_days_gives_moments_within_it_in_order(void **state)
{
	static const uint64_t hours[] = { 0, 1, 2, 30, 38, 40, 77, 79 };
	struct tick_log log = log_make();
	struct probe_tick *out = calloc(tick_log_max(&log), sizeof(*out));

	(void)state;
	assert_non_null(out);
	for (size_t i = 0; i < sizeof(hours) / sizeof(hours[0]); i++)
		assert_true(note(&log, 0, 0, 5, START_NS + hours[i] * 3600 * CLOCK_NS_PER_S));
	assert_int_equal(tick_log_take(&log, 0, START_NS, out), 8);
	for (size_t i = 1; i < 8; i++)
		assert_true(out[i - 1].after_us <= out[i].after_us);
	assert_int_equal(out[0].after_us, 0);
	/* Above 71 minutes the number ends. */
	assert_int_equal(out[7].after_us, UINT32_MAX);
	assert_int_equal(tick_log_take(&log, 0, START_NS, out), 0);
	free(out);
	free(log.words);
}

/* An exec, a pid used again, a move to another cgroup: another stream each. */
static void keys_have_tags_of_their_own(void **state)
{
	const struct jbpf_key key = {
		.start_ns = 1,
		.cgroup_id = 2,
		.user_hash = 7,
		.kernel_hash = 8,
		.pid = 3,
		.exec_id = 4,
		.thread = 9,
	};
	struct jbpf_key others[] = { key, key, key, key, key, key, key, key };
	uint32_t tag = jbpf_key_tag(&key, 99);

	(void)state;
	others[0].start_ns++;
	others[1].cgroup_id++;
	others[2].pid++;
	others[3].exec_id++;
	others[4].user_hash ^= 1ull << 63;
	others[5].kernel_hash = 0;
	others[6].thread++;
	others[7].user_hash = key.kernel_hash;
	others[7].kernel_hash = key.user_hash;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_int_not_equal(jbpf_key_tag(&others[i], 99), tag);
	assert_int_not_equal(jbpf_key_tag(&key, 100), tag);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_size_covers_a_window_with_time_to_spare),
		cmocka_unit_test(a_log_that_would_be_too_large_is_none),
		cmocka_unit_test(ticks_come_back_once_sorted_by_tag_and_time),
		cmocka_unit_test(a_full_log_gives_all_it_has),
		cmocka_unit_test(times_are_right_across_the_turn_of_their_32_bits),
		cmocka_unit_test(a_window_of_days_gives_moments_within_it_in_order),
		cmocka_unit_test(keys_have_tags_of_their_own),
	};

	return cmocka_run_group_tests_name("tick_log", tests, NULL, NULL);
}
