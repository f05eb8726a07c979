// SPDX-License-Identifier: Apache-2.0
/* Each moment comes to the count whose key has its tag, or to none, and to no count come too many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "user/collect/naming/tick_join.h"
#include "user/collect/probe/stream_fallback.h"
#include "user/collect/probe/tick_log.h"
#include "user/util/cleanup.h"

#define SEED	  0x1234567890abcdefull
#define MANY_KEYS 300u
#define PROCESSES 7u

static struct probe_count count_of(uint32_t pid, uint64_t user_hash, uint64_t samples)
{
	return (struct probe_count){
		.key = { .start_ns = pid * 100ull,
			 .cgroup_id = 9,
			 .user_hash = user_hash,
			 .pid = pid },
		.value = { .count = samples, .first_ns = 1000 },
	};
}

static struct naming_batch batch_of(const struct probe_count *counts, size_t cnt,
				    const struct probe_tick *ticks, size_t tick_cnt)
{
	return (struct naming_batch){
		.head = { .tick_seed = SEED,
			  .count_cnt = (uint32_t)cnt,
			  .tick_cnt = (uint32_t)tick_cnt },
		.counts = counts,
		.ticks = ticks,
	};
}

static struct probe_tick tick_of(const struct probe_count *count, uint32_t after_us)
{
	return (struct probe_tick){ .tag = jbpf_key_tag(&count->key, SEED), .after_us = after_us };
}

static void sort_ticks(struct probe_tick *ticks, size_t cnt)
{
	qsort(ticks, cnt, sizeof(*ticks), tick_compare);
}

static void ticks_of_a_stream_come_in_order_of_time_with_their_counts(void **state)
{
	const struct probe_count counts[] = { count_of(1, 11, 2), count_of(1, 12, 3),
					      count_of(2, 11, 1), count_of(3, 11, 4) };
	struct probe_tick ticks[] = {
		tick_of(&counts[0], 50), tick_of(&counts[1], 10), tick_of(&counts[2], 30),
		tick_of(&counts[1], 70), tick_of(&counts[0], 20),
	};
	static const struct counted_tick first[] = { { 1, 10 }, { 0, 20 }, { 0, 50 }, { 1, 70 } };
	const struct naming_batch batch =
		batch_of(counts, ARRAY_SIZE(counts), ticks, ARRAY_SIZE(ticks));
	struct tick_join join = { .ticks = NULL };
	const struct counted_tick *found;
	size_t cnt;

	(void)state;
	sort_ticks(ticks, ARRAY_SIZE(ticks));
	tick_join_take(&join, &batch);
	for (int i = 0; i < 2; i++) { /* a stream may be named twice */
		found = tick_join_stream(&join, 0, 2, &cnt);
		assert_int_equal(cnt, ARRAY_SIZE(first));
		assert_memory_equal(found, first, sizeof(first));
		found = tick_join_stream(&join, 2, 1, &cnt);
		assert_int_equal(cnt, 1);
		assert_int_equal(found->count, 2);
		assert_int_equal(found->after_us, 30);
		(void)tick_join_stream(&join, 3, 1, &cnt);
		assert_int_equal(cnt, 0);
	}
	tick_join_release(&join);
}

static void what_may_be_of_two_keys_is_of_none(void **state)
{
	const struct probe_count one = count_of(1, 11, 3), other = count_of(2, 12, 3);
	struct probe_count counts[] = { one, other };
	struct probe_tick ticks[4];
	struct tick_join join = { .ticks = NULL };
	struct naming_batch batch = batch_of(counts, 2, ticks, 4);
	size_t cnt;

	(void)state;
	/* More than the key has samples: some are of a key that is not there. */
	for (uint32_t i = 0; i < 4; i++)
		ticks[i] = tick_of(&one, i);
	tick_join_take(&join, &batch);
	(void)tick_join_stream(&join, 0, 2, &cnt);
	assert_int_equal(cnt, 0);
	batch.head.tick_cnt = 3;
	tick_join_take(&join, &batch);
	(void)tick_join_stream(&join, 0, 2, &cnt);
	assert_int_equal(cnt, 3);
	/* A key that nobody has drained. */
	batch.counts = &other;
	batch.head.count_cnt = 1;
	tick_join_take(&join, &batch);
	(void)tick_join_stream(&join, 0, 1, &cnt);
	assert_int_equal(cnt, 0);
	tick_join_release(&join);
}

/* Two keys of one tag: with 32 bits some 100,000 keys have such a pair nearly surely. */
static void keys_with_one_tag_leave_their_ticks_out(void **state)
{
	struct probe_count counts[2] = { count_of(1, 1, 9), count_of(1, 1, 9) };
	struct {
		uint32_t tag, hash;
	} *seen = calloc(1u << 20, sizeof(*seen));
	struct tick_join join = { .ticks = NULL };
	struct probe_tick ticks[2];
	struct naming_batch batch = batch_of(counts, 2, ticks, 2);
	bool is_found = false;
	size_t cnt;

	(void)state;
	assert_non_null(seen);
	for (uint32_t hash = 1; !is_found && hash < 1u << 19; hash++) {
		uint32_t slot;

		counts[1].key.user_hash = hash;
		ticks[1] = tick_of(&counts[1], 0);
		for (slot = ticks[1].tag >> 12; seen[slot].hash && seen[slot].tag != ticks[1].tag;)
			slot = (slot + 1) & ((1u << 20) - 1);
		is_found = seen[slot].hash != 0;
		if (is_found)
			counts[0].key.user_hash = seen[slot].hash;
		else
			seen[slot].tag = ticks[1].tag, seen[slot].hash = hash;
	}
	free(seen);
	assert_true(is_found);
	ticks[0] = tick_of(&counts[0], 5);
	ticks[1] = tick_of(&counts[1], 6);
	assert_int_equal(ticks[0].tag, ticks[1].tag);
	tick_join_take(&join, &batch);
	(void)tick_join_stream(&join, 0, 2, &cnt);
	assert_int_equal(cnt, 0);
	tick_join_release(&join);
}

static void a_key_that_was_drained_twice_has_its_ticks_in_order(void **state)
{
	struct probe_count counts[] = { count_of(1, 11, 2), count_of(1, 11, 2) };
	struct probe_tick ticks[] = { tick_of(counts, 1), tick_of(counts, 2), tick_of(counts, 3) };
	static const struct counted_tick expected[] = { { 1, 1 }, { 1, 2 }, { 0, 3 } };
	const struct naming_batch batch = batch_of(counts, 2, ticks, 3);
	struct tick_join join = { .ticks = NULL };
	const struct counted_tick *found;
	size_t cnt;

	(void)state;
	counts[0].value.first_ns = 2000; /* the second drain's */
	tick_join_take(&join, &batch);
	found = tick_join_stream(&join, 0, 2, &cnt);
	assert_int_equal(cnt, 3);
	assert_memory_equal(found, expected, sizeof(expected));
	tick_join_release(&join);
}

static int compare_us(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

/* The cells are made of these: what a tag of the stream alone would give. */
static void a_stream_has_the_moments_of_all_its_samples(void **state)
{
	struct probe_count counts[MANY_KEYS];
	struct probe_tick ticks[MANY_KEYS * 8];
	uint32_t moments[PROCESSES][MANY_KEYS * 8];
	size_t tick_cnt = 0, moment_cnt[PROCESSES] = { 0 };
	struct tick_join join = { .ticks = NULL };
	struct naming_batch batch;

	(void)state;
	srand(7);
	for (uint32_t i = 0; i < MANY_KEYS; i++)
		counts[i] = count_of(i % PROCESSES + 1, 1000 + i, 1 + (uint64_t)rand() % 8);
	qsort(counts, MANY_KEYS, sizeof(counts[0]), stream_count_compare);
	for (uint32_t i = 0; i < MANY_KEYS; i++) {
		uint32_t process = counts[i].key.pid - 1;

		for (uint64_t j = 0; j < counts[i].value.count; j++) {
			uint32_t after_us = (uint32_t)rand() % 10000000;

			ticks[tick_cnt++] = tick_of(&counts[i], after_us);
			moments[process][moment_cnt[process]++] = after_us;
		}
	}
	sort_ticks(ticks, tick_cnt);
	batch = batch_of(counts, MANY_KEYS, ticks, tick_cnt);
	tick_join_take(&join, &batch);
	for (size_t at = 0; at < MANY_KEYS;) {
		struct stream_counts stream = stream_next(counts, MANY_KEYS, at);
		uint32_t process = counts[at].key.pid - 1;
		const struct counted_tick *found;
		size_t cnt;

		qsort(moments[process], moment_cnt[process], sizeof(uint32_t), compare_us);
		found = tick_join_stream(&join, at, stream.cnt, &cnt);
		assert_int_equal(cnt, moment_cnt[process]);
		for (size_t i = 0; i < cnt; i++) {
			assert_int_equal(found[i].after_us, moments[process][i]);
			assert_in_range(found[i].count, at, at + stream.cnt - 1);
		}
		at += stream.cnt;
	}
	tick_join_release(&join);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ticks_of_a_stream_come_in_order_of_time_with_their_counts),
		cmocka_unit_test(what_may_be_of_two_keys_is_of_none),
		cmocka_unit_test(keys_with_one_tag_leave_their_ticks_out),
		cmocka_unit_test(a_key_that_was_drained_twice_has_its_ticks_in_order),
		cmocka_unit_test(a_stream_has_the_moments_of_all_its_samples),
	};

	return cmocka_run_group_tests_name("tick_join", tests, NULL, NULL);
}
