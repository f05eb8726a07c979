// SPDX-License-Identifier: Apache-2.0
/* Growing arrays: typed, doubling, and no number that is too large comes through. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "user/util/vec.h"

struct list {
	uint64_t *items;
	size_t cnt, cap;
};

static void appended_items_stay_as_they_are(void **state)
{
	struct list list = { 0 };
	size_t move_cnt = 0;

	(void)state;
	for (uint64_t i = 0; i < 10000; i++) {
		size_t before = list.cap;

		assert_int_equal(vec_room(list.items, list.cnt, list.cap, 16), 0);
		move_cnt += list.cap != before;
		list.items[list.cnt++] = i;
	}
	for (uint64_t i = 0; i < 10000; i++)
		assert_int_equal(list.items[i], i);
	assert_int_equal(list.cap, 16384);
	assert_int_equal(move_cnt, 11);
	free(list.items);
}

static void room_for_many_is_made_at_once(void **state)
{
	struct list list = { 0 };
	uint64_t *items;

	(void)state;
	assert_int_equal(vec_reserve(list.items, 0, list.cap, 4), 0);
	assert_null(list.items);
	assert_int_equal(vec_reserve(list.items, 33, list.cap, 4), 0);
	assert_int_equal(list.cap, 64);
	items = list.items;
	assert_int_equal(vec_reserve(list.items, 64, list.cap, 4), 0);
	assert_ptr_equal(list.items, items);
	free(list.items);
}

static void too_many_is_out_of_memory_and_changes_nothing(void **state)
{
	struct list list = { 0 };
	uint64_t *items;

	(void)state;
	assert_int_equal(vec_room(list.items, list.cnt, list.cap, 8), 0);
	items = list.items;
	assert_int_equal(vec_reserve(list.items, SIZE_MAX, list.cap, 8), -ENOMEM);
	assert_int_equal(vec_reserve(list.items, SIZE_MAX / 8 + 2, list.cap, 8), -ENOMEM);
	assert_ptr_equal(list.items, items);
	assert_int_equal(list.cap, 8);
	free(list.items);
}

static void a_small_capacity_does_not_wrap_around(void **state)
{
	char *items = NULL;
	uint8_t cap = 0;

	(void)state;
	for (size_t cnt = 0; cnt < 128; cnt++)
		assert_int_equal(vec_room(items, cnt, cap, 8), 0);
	assert_int_equal(cap, 128);
	assert_int_equal(vec_room(items, 128, cap, 8), -ENOMEM);
	assert_int_equal(cap, 128);
	assert_non_null(items);
	free(items);
}

static void several_arrays_grow_by_one_capacity(void **state)
{
	uint64_t *numbers = NULL;
	char *letters = NULL;

	(void)state;
	assert_int_equal(vec_next_cap(0, 1, 32, SIZE_MAX), 32);
	assert_int_equal(vec_next_cap(32, 33, 32, SIZE_MAX), 64);
	assert_int_equal(vec_next_cap(48, 100, 32, SIZE_MAX), 192);
	assert_int_equal(vec_next_cap(64, 65, 32, 127), 0);
	assert_int_equal(vec_next_cap(3, SIZE_MAX, 32, SIZE_MAX), 0);
	assert_int_equal(vec_resize(numbers, 64), 0);
	assert_int_equal(vec_resize(letters, 64), 0);
	numbers[63] = 1;
	letters[63] = 'x';
	assert_int_equal(vec_resize(numbers, SIZE_MAX / 4), -ENOMEM);
	assert_int_equal(numbers[63], 1);
	assert_int_equal(vec_resize(letters, 0), 0);
	assert_non_null(letters);
	free(numbers);
	free(letters);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(appended_items_stay_as_they_are),
		cmocka_unit_test(room_for_many_is_made_at_once),
		cmocka_unit_test(too_many_is_out_of_memory_and_changes_nothing),
		cmocka_unit_test(a_small_capacity_does_not_wrap_around),
		cmocka_unit_test(several_arrays_grow_by_one_capacity),
	};

	return cmocka_run_group_tests_name("util_vec", tests, NULL, NULL);
}
