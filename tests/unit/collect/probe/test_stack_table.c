// SPDX-License-Identifier: Apache-2.0
/* The stack table: records in, stacks out, and forgetting in step with the kernel's `seen`. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "user/collect/probe/stack_table.h"
#include "user/util/cleanup.h"

#define IDLE_WINDOWS 3

struct record {
	struct jbpf_stack head;
	uint64_t ips[JBPF_MAX_DEPTH];
};

static struct record record_make(uint64_t hash, uint32_t frame_cnt)
{
	struct record record = { .head = { .hash = hash,
					   .frame_cnt = frame_cnt,
					   .kind = JBPF_STACK_USER,
					   .end = JBPF_END_FAULT } };

	for (uint32_t i = 0; i < frame_cnt && i < JBPF_MAX_DEPTH; i++)
		record.ips[i] = hash * 1000 + i;
	return record;
}

static int add(struct stack_table *table, uint64_t hash, uint32_t frame_cnt)
{
	struct record record = record_make(hash, frame_cnt);

	return stack_table__add(table, &record, sizeof(record.head) + frame_cnt * 8);
}

static struct stack_table *table_new(size_t soft_bytes, size_t max_bytes)
{
	const struct stack_table_options options = { .soft_bytes = soft_bytes,
						     .max_bytes = max_bytes,
						     .idle_windows = IDLE_WINDOWS };
	struct stack_table *table = stack_table__new(&options);

	assert_non_null(table);
	return table;
}

/* Ends a window; how many hashes are to be deleted from `seen`. */
static size_t end_window(struct stack_table *table)
{
	const uint64_t *forget;
	size_t forget_cnt;

	assert_int_equal(stack_table__end_window(table, &forget, &forget_cnt), 0);
	return forget_cnt;
}

static void a_record_is_found_by_its_hash_with_all_its_frames(void **state)
{
	static const uint32_t depths[] = { 1, 2, 127, 1023, JBPF_MAX_DEPTH };
	struct stack_table *table = table_new(SIZE_MAX, SIZE_MAX);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(depths); i++)
		assert_int_equal(add(table, 1ull << (40 + i), depths[i]), 0);
	for (size_t i = 0; i < ARRAY_SIZE(depths); i++) {
		struct record record = record_make(1ull << (40 + i), depths[i]);
		const struct stack_table_entry *entry = stack_table__find(table, record.head.hash);

		assert_non_null(entry);
		assert_int_equal(entry->frame_cnt, depths[i]);
		assert_int_equal(entry->end, JBPF_END_FAULT);
		assert_memory_equal(entry->ips, record.ips, depths[i] * 8);
	}
	assert_null(stack_table__find(table, 12345));
	assert_null(stack_table__find(table, 0));
	assert_null(stack_table__use(table, 0));
	stack_table__free(table);
}

static void malformed_records_are_refused(void **state)
{
	static const struct {
		uint64_t hash;
		uint32_t frame_cnt;
		size_t len;
		uint16_t flags;
	} rows[] = {
		{ 5, 1, 0, 0 },
		{ 5, 1, 63, 0 },			 /* no whole head */
		{ 5, 1, 64, 0 },			 /* no frame */
		{ 5, 3, 64 + 23, 0 },			 /* the last one cut */
		{ 5, 3, 64 + 25, 0 },			 /* more than said */
		{ 5, 0, 64, 0 },			 /* nothing said */
		{ 0, 3, 64 + 24, 0 },			 /* 0 is no hash */
		{ 5, JBPF_MAX_DEPTH + 1, 64 + 8192, 0 }, /* deeper than any */
		{ 5, UINT32_MAX, 64 + 8192, 0 },
		{ 5, 3, 64 + 24, 1u << 9 }, /* a guess where none was made */
	};
	struct stack_table *table = table_new(SIZE_MAX, SIZE_MAX);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct record record = record_make(rows[i].hash, rows[i].frame_cnt);

		record.head.flags = rows[i].flags;
		assert_int_equal(stack_table__add(table, &record, rows[i].len), -EINVAL);
	}
	assert_int_equal(stack_table__count(table), 0);
	stack_table__free(table);
}

static void what_was_taken_at_the_leaf_is_kept_and_costs_the_others_nothing(void **state)
{
	static const uint16_t flags[] = { 0, JBPF_STACK_LEAF_WORDS, JBPF_STACK_LEAF_CODE,
					  JBPF_STACK_LEAF_WORDS | JBPF_STACK_LEAF_CODE };
	static const uint32_t depths[] = { 1, 7, JBPF_MAX_DEPTH };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(flags) * ARRAY_SIZE(depths); i++) {
		struct stack_table *table = table_new(SIZE_MAX, SIZE_MAX);
		size_t empty_bytes = stack_table__bytes(table);
		uint32_t depth = depths[i / ARRAY_SIZE(flags)];
		struct record record = record_make(77, depth);
		const struct stack_table_entry *entry;

		record.head.flags = flags[i % ARRAY_SIZE(flags)];
		record.head.leaf_words[0] = 0x1111;
		record.head.leaf_words[1] = 0x2222;
		memset(record.head.leaf_code, 0x90, sizeof(record.head.leaf_code));
		assert_int_equal(stack_table__add(table, &record, sizeof(record.head) + depth * 8),
				 0);
		entry = stack_table__find(table, 77);
		assert_non_null(entry);
		assert_memory_equal(entry->ips, record.ips, depth * 8);
		if (record.head.flags & JBPF_STACK_LEAF_WORDS)
			assert_memory_equal(stack_table_entry_leaf_words(entry),
					    record.head.leaf_words, 16);
		else
			assert_null(stack_table_entry_leaf_words(entry));
		if (record.head.flags & JBPF_STACK_LEAF_CODE)
			assert_memory_equal(stack_table_entry_leaf_code(entry),
					    record.head.leaf_code, JBPF_LEAF_CODE_BYTES);
		else
			assert_null(stack_table_entry_leaf_code(entry));
		assert_int_equal(stack_table__bytes(table) - empty_bytes,
				 sizeof(*entry) + depth * 8 + (record.head.flags ? 32 : 0));
		for (int window = 0; window < IDLE_WINDOWS + 3; window++)
			end_window(table);
		assert_int_equal(stack_table__bytes(table), empty_bytes);
		stack_table__free(table);
	}
}

static void a_stack_that_comes_twice_is_kept_once(void **state)
{
	struct stack_table *table = table_new(SIZE_MAX, SIZE_MAX);
	size_t bytes;

	(void)state;
	assert_int_equal(add(table, 7, 10), 0);
	bytes = stack_table__bytes(table);
	assert_int_equal(add(table, 7, 10), 0);
	assert_int_equal(stack_table__count(table), 1);
	assert_int_equal(stack_table__bytes(table), bytes);
	stack_table__free(table);
}

static void an_unused_stack_leaves_seen_first_and_memory_two_windows_later(void **state)
{
	struct stack_table *table = table_new(SIZE_MAX, SIZE_MAX);
	size_t empty_bytes = stack_table__bytes(table);

	(void)state;
	assert_int_equal(add(table, 7, 10), 0);
	for (int i = 0; i < IDLE_WINDOWS; i++)
		assert_int_equal(end_window(table), 0);
	assert_int_equal(end_window(table), 1);
	assert_int_equal(end_window(table), 0);
	assert_non_null(stack_table__find(table, 7));
	assert_int_equal(end_window(table), 0);
	assert_null(stack_table__find(table, 7));
	assert_int_equal(stack_table__count(table), 0);
	assert_int_equal(stack_table__bytes(table), empty_bytes);
	stack_table__free(table);
}

static void a_stack_in_use_is_never_forgotten(void **state)
{
	struct stack_table *table = table_new(0, SIZE_MAX); /* even under pressure */

	(void)state;
	assert_int_equal(add(table, 7, 10), 0);
	for (int i = 0; i < 20; i++) {
		assert_non_null(stack_table__use(table, 7));
		assert_int_equal(end_window(table), 0);
	}
	stack_table__free(table);
}

static void a_stack_counted_before_it_left_seen_is_still_there(void **state)
{
	struct stack_table *table = table_new(SIZE_MAX, SIZE_MAX);

	(void)state;
	assert_int_equal(add(table, 7, 10), 0);
	for (int i = 0; i < IDLE_WINDOWS; i++)
		assert_int_equal(end_window(table), 0);
	assert_int_equal(end_window(table), 1);
	/* The window after: counted by a program that still found it in `seen`. */
	assert_non_null(stack_table__use(table, 7));
	end_window(table);
	end_window(table);
	assert_non_null(stack_table__find(table, 7));
	stack_table__free(table);
}

static void a_forgotten_stack_that_crosses_again_lives_on(void **state)
{
	struct stack_table *table = table_new(SIZE_MAX, SIZE_MAX);

	(void)state;
	assert_int_equal(add(table, 7, 10), 0);
	for (int i = 0; i <= IDLE_WINDOWS; i++)
		end_window(table);
	assert_int_equal(add(table, 7, 10), 0);
	for (int i = 0; i < IDLE_WINDOWS; i++) {
		assert_int_equal(end_window(table), 0);
		assert_non_null(stack_table__find(table, 7));
	}
	stack_table__free(table);
}

static void under_pressure_one_idle_window_is_enough(void **state)
{
	struct stack_table *table = table_new(0, SIZE_MAX);

	(void)state;
	assert_int_equal(add(table, 7, 10), 0);
	assert_int_equal(end_window(table), 0);
	assert_int_equal(end_window(table), 1);
	stack_table__free(table);
}

static void too_many_small_stacks_are_pressure_too(void **state)
{
	const struct stack_table_options options = {
		.soft_bytes = SIZE_MAX, .max_bytes = SIZE_MAX, .soft_cnt = 2, .idle_windows = 3
	};
	struct stack_table *table = stack_table__new(&options);

	(void)state;
	assert_non_null(table);
	for (uint64_t hash = 7; hash < 10; hash++)
		assert_int_equal(add(table, hash, 1), 0);
	assert_int_equal(end_window(table), 0);
	assert_int_equal(end_window(table), 3);
	stack_table__free(table);
}

static void a_full_table_refuses_new_stacks_and_keeps_the_old(void **state)
{
	struct stack_table *table = table_new(SIZE_MAX, 64 << 10);
	uint64_t hash = 1;
	int err;

	(void)state;
	while (!(err = add(table, hash, JBPF_MAX_DEPTH)))
		hash++;
	assert_int_equal(err, -ENOSPC);
	assert_true(stack_table__bytes(table) <= 64 << 10);
	assert_int_equal(stack_table__count(table), hash - 1);
	assert_int_equal(add(table, 1, JBPF_MAX_DEPTH), 0);
	assert_non_null(stack_table__find(table, hash - 1));
	assert_null(stack_table__find(table, hash));
	stack_table__free(table);
}

static void many_stacks_are_all_found_and_all_leave(void **state)
{
	const uint64_t cnt = 20000, step = 0x9e3779b97f4a7c15;
	struct stack_table *table = table_new(SIZE_MAX, SIZE_MAX);

	(void)state;
	for (uint64_t i = 1; i <= cnt; i++)
		assert_int_equal(add(table, i * step, 3), 0);
	for (uint64_t i = 1; i <= cnt; i++)
		assert_int_equal(stack_table__find(table, i * step)->ips[0], i * step * 1000);
	for (int i = 0; i < IDLE_WINDOWS; i++)
		end_window(table);
	assert_int_equal(end_window(table), cnt);
	end_window(table);
	end_window(table);
	assert_int_equal(stack_table__count(table), 0);
	stack_table__free(table);
}

/*
 * The protocol as a whole, against a model of the kernel: programs send what is not in `seen`, at
 * the first count in a window; deletions from `seen` come at some time after the swap. Whatever
 * the order, a counted stack is there when its window is drained.
 */
#define MODEL_STACKS 64

struct model {
	struct stack_table *table;
	uint64_t random;
	bool is_seen[MODEL_STACKS + 1];
	bool is_counted[2][MODEL_STACKS + 1];
	int active;
	size_t sent;
};

static uint32_t model_random(struct model *model, uint32_t below)
{
	model->random = model->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(model->random >> 33) % below;
}

/* Samples favour eight stacks that move on, so that others fall idle and come back. */
static void model_samples(struct model *model, uint32_t window)
{
	for (uint32_t i = model_random(model, 12); i; i--) {
		uint32_t hash = 1 + (window / 7 * 5 + model_random(model, 8)) % MODEL_STACKS;

		if (model_random(model, 20) == 0)
			hash = 1 + model_random(model, MODEL_STACKS);
		if (model->is_counted[model->active][hash])
			continue;
		if (!model->is_seen[hash]) {
			model->is_seen[hash] = true;
			model->sent++;
			assert_int_equal(add(model->table, hash, 4), 0);
		}
		model->is_counted[model->active][hash] = true;
	}
}

static void model_drain(struct model *model, uint32_t window)
{
	bool *idle = model->is_counted[model->active];
	const uint64_t *forget;
	size_t forget_cnt;

	model->active = !model->active;
	model_samples(model, window);
	for (uint64_t hash = 1; hash <= MODEL_STACKS; hash++) {
		if (idle[hash])
			assert_non_null(stack_table__use(model->table, hash));
		idle[hash] = false;
	}
	model_samples(model, window);
	assert_int_equal(stack_table__end_window(model->table, &forget, &forget_cnt), 0);
	for (size_t i = 0; i < forget_cnt; i++) {
		model_samples(model, window);
		model->is_seen[forget[i]] = false;
	}
}

static void every_counted_stack_is_there_when_its_window_is_drained(void **state)
{
	(void)state;
	for (size_t soft_bytes = 0; soft_bytes <= 1 << 20; soft_bytes += 1 << 20) {
		struct model model = { .table = table_new(soft_bytes, SIZE_MAX), .random = 1 };

		for (uint32_t window = 0; window < 20000; window++) {
			model_samples(&model, window);
			model_drain(&model, window);
		}
		/* Stacks were forgotten and came again, or nothing was tried. */
		assert_true(model.sent > 1000);
		assert_true(stack_table__count(model.table) <= MODEL_STACKS);
		stack_table__free(model.table);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_is_found_by_its_hash_with_all_its_frames),
		cmocka_unit_test(malformed_records_are_refused),
		cmocka_unit_test(what_was_taken_at_the_leaf_is_kept_and_costs_the_others_nothing),
		cmocka_unit_test(a_stack_that_comes_twice_is_kept_once),
		cmocka_unit_test(an_unused_stack_leaves_seen_first_and_memory_two_windows_later),
		cmocka_unit_test(a_stack_in_use_is_never_forgotten),
		cmocka_unit_test(a_stack_counted_before_it_left_seen_is_still_there),
		cmocka_unit_test(a_forgotten_stack_that_crosses_again_lives_on),
		cmocka_unit_test(under_pressure_one_idle_window_is_enough),
		cmocka_unit_test(too_many_small_stacks_are_pressure_too),
		cmocka_unit_test(a_full_table_refuses_new_stacks_and_keeps_the_old),
		cmocka_unit_test(many_stacks_are_all_found_and_all_leave),
		cmocka_unit_test(every_counted_stack_is_there_when_its_window_is_drained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
