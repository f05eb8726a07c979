// SPDX-License-Identifier: Apache-2.0
/* Whether an event has been on; what the kernel does with it is in tests/unit/host/test_ksymbol_watch.c. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <unistd.h>

#include "user/host/perf_event.h"

static void an_event_that_cannot_be_asked_is_kept(void **state)
{
	uint64_t enabled_ns = 7;

	(void)state;
	assert_true(perf_event_has_run(-1, &enabled_ns));
	assert_int_equal(enabled_ns, 7);
}

static void an_event_has_run_when_its_time_has_gone_on(void **state)
{
	const uint64_t said[] = { 1, 100, 1, 100, 1, 101 };
	uint64_t enabled_ns = 0;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], said, sizeof(said)), sizeof(said));
	close(fds[1]);
	assert_true(perf_event_has_run(fds[0], &enabled_ns));
	assert_false(perf_event_has_run(fds[0], &enabled_ns));
	assert_true(perf_event_has_run(fds[0], &enabled_ns));
	/* In error state it says nothing (perf_read() in kernel/events/core.c). */
	assert_false(perf_event_has_run(fds[0], &enabled_ns));
	close(fds[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_that_cannot_be_asked_is_kept),
		cmocka_unit_test(an_event_has_run_when_its_time_has_gone_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
