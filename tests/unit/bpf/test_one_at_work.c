// SPDX-License-Identifier: Apache-2.0
/* One program at a time is at work on a CPU: here threads that interrupt each other wherever they can. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>

#include "tests/unit/bpf/vmlinux.h"

#include "bpf/core_compat.bpf.h"

static long bpf_probe_read_kernel(void *to, __u32 len, const void *from)
{
	return -EFAULT;
}

#define WORKERS 4
#define ROUNDS	200000

static struct {
	__u32 cnt;
	unsigned int inside;
	unsigned int met; /* one that was there already */
} host;

static void *work(void *ctx)
{
	(void)ctx;
	for (int i = 0; i < ROUNDS; i++) {
		if (!work_begins(&host.cnt))
			continue;
		if (__atomic_add_fetch(&host.inside, 1, __ATOMIC_SEQ_CST) != 1)
			__atomic_add_fetch(&host.met, 1, __ATOMIC_SEQ_CST);
		__atomic_sub_fetch(&host.inside, 1, __ATOMIC_SEQ_CST);
		work_ends(&host.cnt);
	}
	return NULL;
}

static void one_alone_is_at_work_whenever_others_come(void **state)
{
	pthread_t workers[WORKERS];

	(void)state;
	for (int i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_create(&workers[i], NULL, work, NULL), 0);
	for (int i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_join(workers[i], NULL), 0);
	assert_int_equal(host.met, 0);
	assert_int_equal(host.cnt, 0);
	assert_true(work_begins(&host.cnt));
	assert_false(work_begins(&host.cnt));
	work_ends(&host.cnt);
	assert_int_equal(host.cnt, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_alone_is_at_work_whenever_others_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
