// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <errno.h>

#include "user/collect/probe/probe_host.h"

/* In place of the kernel's. */
static int answers[8], answer_cnt, asked_cnt;

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	(void)fd;
	(void)key;
	(void)value;
	(void)flags;
	return asked_cnt < answer_cnt ? answers[asked_cnt++] : -ENOMEM;
}

static int put_with(const int *said, int cnt)
{
	uint32_t key = 1, value = 2;

	for (int i = 0; i < cnt; i++)
		answers[i] = said[i];
	answer_cnt = cnt;
	asked_cnt = 0;
	return probe_host_map_put(3, &key, &value);
}

static void test_memory_that_the_kernel_has_a_moment_later_is_asked_for_again(void **state)
{
	(void)state;
	assert_int_equal(put_with((const int[]){ -ENOMEM, -ENOMEM, 0 }, 3), 0);
	assert_int_equal(asked_cnt, 3);
}

static void test_memory_that_does_not_come_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(put_with((const int[]){ 0 }, 0), -ENOMEM);
}

static void test_a_map_that_is_full_is_not_asked_twice(void **state)
{
	(void)state;
	assert_int_equal(put_with((const int[]){ -E2BIG, 0 }, 2), -E2BIG);
	assert_int_equal(asked_cnt, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_that_the_kernel_has_a_moment_later_is_asked_for_again),
		cmocka_unit_test(test_memory_that_does_not_come_is_an_error),
		cmocka_unit_test(test_a_map_that_is_full_is_not_asked_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
