// SPDX-License-Identifier: Apache-2.0
/* The queue of new stacks: in order, each once, and the newest when it overflows. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

#include "user/collect/probe/probe_queue.h"

static struct probe_queue *queue_new(void)
{
	struct probe_queue *queue = calloc(1, sizeof(*queue));

	assert_non_null(queue);
	return queue;
}

static void push(struct probe_queue *queue, uint64_t number)
{
	const struct probe_queue_item item = { .hash = number,
					       .life = { number + 1, (uint32_t)number + 3,
							 (uint32_t)number + 4 },
					       .since_boot_ns = number + 2 };

	probe_queue_push(queue, &item);
}

static void expect(struct probe_queue *queue, uint64_t number)
{
	struct probe_queue_item item;

	assert_true(probe_queue_pop(queue, &item));
	assert_int_equal(item.hash, number);
	assert_int_equal(item.life.start_ns, number + 1);
	assert_int_equal(item.since_boot_ns, number + 2);
	assert_int_equal(item.life.pid, number + 3);
	assert_int_equal(item.life.exec_id, number + 4);
}

static void expect_empty(struct probe_queue *queue)
{
	struct probe_queue_item item = { .hash = 99 };

	assert_false(probe_queue_pop(queue, &item));
	assert_int_equal(item.hash, 99);
}

static void what_was_pushed_comes_once_in_order(void **state)
{
	struct probe_queue *queue = queue_new();

	(void)state;
	expect_empty(queue);
	push(queue, 5);
	push(queue, 7);
	expect(queue, 5);
	push(queue, 6);
	expect(queue, 7);
	expect(queue, 6);
	expect_empty(queue);
	free(queue);
}

static void all_that_fits_is_kept_and_beyond_that_the_newest(void **state)
{
	static const uint64_t excesses[] = { 0, 1, 2, PROBE_QUEUE_MAX, 3 * PROBE_QUEUE_MAX + 1 };

	(void)state;
	for (size_t i = 0; i < sizeof(excesses) / sizeof(excesses[0]); i++) {
		struct probe_queue *queue = queue_new();
		uint64_t cnt = PROBE_QUEUE_MAX + excesses[i];

		for (uint64_t number = 0; number < cnt; number++)
			push(queue, number);
		for (uint64_t number = excesses[i]; number < cnt; number++)
			expect(queue, number);
		expect_empty(queue);
		push(queue, 1);
		expect(queue, 1);
		expect_empty(queue);
		free(queue);
	}
}

static void a_reader_that_lags_by_less_than_all_loses_nothing(void **state)
{
	struct probe_queue *queue = queue_new();
	uint64_t pushed = 0, taken = 0;

	(void)state;
	while (taken < 10 * PROBE_QUEUE_MAX) {
		while (pushed - taken < PROBE_QUEUE_MAX)
			push(queue, pushed++);
		for (int i = 0; i < 1001; i++)
			expect(queue, taken++);
	}
	free(queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_pushed_comes_once_in_order),
		cmocka_unit_test(all_that_fits_is_kept_and_beyond_that_the_newest),
		cmocka_unit_test(a_reader_that_lags_by_less_than_all_loses_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
