// SPDX-License-Identifier: Apache-2.0
/* Looks come out in order, when they are due, and never more than there is room for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "user/collect/naming/retry_queue.h"

static struct retry_queue queue;

static int setup(void **state)
{
	(void)state;
	queue = (struct retry_queue){ 0 };
	return 0;
}

static bool push(uint32_t pid, uint64_t due_ns)
{
	struct retry retry = { .id = { .pid = pid }, .due_ns = due_ns };

	return retry_queue_push(&queue, &retry);
}

static void empty_queue_is_never_due(void **state)
{
	struct retry retry;

	(void)state;
	assert_true(retry_queue_due_ns(&queue) == UINT64_MAX);
	assert_false(retry_queue_pop(&queue, UINT64_MAX, &retry));
}

static void looks_come_out_in_order_once_they_are_due(void **state)
{
	struct retry retry;

	(void)state;
	assert_true(push(1, 100));
	assert_true(push(2, 200));
	assert_true(retry_queue_due_ns(&queue) == 100);
	assert_false(retry_queue_pop(&queue, 99, &retry));
	assert_true(retry_queue_pop(&queue, 150, &retry));
	assert_int_equal(retry.id.pid, 1);
	assert_false(retry_queue_pop(&queue, 150, &retry));
	assert_true(retry_queue_pop(&queue, 200, &retry));
	assert_int_equal(retry.id.pid, 2);
}

static void full_queue_refuses_and_keeps_what_it_has(void **state)
{
	struct retry retry;

	(void)state;
	/* Past the end of the ring, too. */
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < RETRY_QUEUE_MAX; i++)
			assert_true(push(i, round));
		assert_false(push(RETRY_QUEUE_MAX, round));
		for (uint32_t i = 0; i < RETRY_QUEUE_MAX; i++) {
			assert_true(retry_queue_pop(&queue, round, &retry));
			assert_int_equal(retry.id.pid, i);
		}
		assert_false(retry_queue_pop(&queue, round, &retry));
	}
}

static uint32_t looks_of(uint32_t vain_cnt, uint64_t until)
{
	struct retry retry = { .vain_cnt = vain_cnt };
	uint32_t cnt = 0;

	for (uint64_t nth = 0; nth < until; nth++)
		cnt += retry_is_looked_at(&retry, nth);
	return cnt;
}

static void what_grows_in_vain_is_looked_at_less_often_but_never_given_up(void **state)
{
	(void)state;
	assert_int_equal(looks_of(0, 64), 64);
	assert_int_equal(looks_of(1, 64), 32);
	assert_int_equal(looks_of(2, 64), 16);
	for (uint32_t vain_cnt = 3; vain_cnt < 100; vain_cnt++)
		assert_int_equal(looks_of(vain_cnt, 64), 8);
	assert_int_equal(looks_of(UINT32_MAX, 64), 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(empty_queue_is_never_due, setup),
		cmocka_unit_test_setup(looks_come_out_in_order_once_they_are_due, setup),
		cmocka_unit_test(what_grows_in_vain_is_looked_at_less_often_but_never_given_up),
		cmocka_unit_test_setup(full_queue_refuses_and_keeps_what_it_has, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
