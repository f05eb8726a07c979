// SPDX-License-Identifier: Apache-2.0
/* When the daemon's merging child is begun, what becomes of it, and what it holds on to. */
#include "tests/unit/store_testing.h"

#include <errno.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "user/daemon/daemon_compact.h"
#include "user/util/cleanup.h"
#include "user/util/log.h"

#define FIRST_NS (5 * CLOCK_NS_PER_S)
#define LATER_NS (TEST_NS + 48 * HOUR_NS) /* all hours of the test's windows are over */
#define NOBODY	 INT_MAX		  /* above what kernel.pid_max can be */

/* Waits for its end, and leaves the status to whoever asks for it. */
static void wait_for(pid_t pid)
{
	siginfo_t info;

	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

static void closed_hours_are_merged_soon_after_the_start_and_then_each_hour(void **state)
{
	struct daemon_compactor compactor;
	struct test_store store;
	struct got before, after;
	pid_t first;

	(void)state;
	test_store_make(&store);
	test_fill(&store, 0, 3);
	test_write(&store, TEST_HOUR "-1.zst", "", 0);
	test_visit_all(&store, &before);
	daemon_compactor_init(&compactor, 1000);
	daemon_compactor_tick(&compactor, store.dir, 1000, LATER_NS);
	assert_int_equal(compactor.pid, 0);
	daemon_compactor_tick(&compactor, store.dir, 1000 + FIRST_NS, LATER_NS);
	assert_true(compactor.pid > 0);
	first = compactor.pid;
	/* 12:00:00: four minutes behind the next hour, and up to five more. */
	assert_in_range(compactor.next_boot_ns, 1000 + FIRST_NS + HOUR_NS + 240 * CLOCK_NS_PER_S,
			1000 + FIRST_NS + HOUR_NS + 540 * CLOCK_NS_PER_S);
	wait_for(first);
	daemon_compactor_tick(&compactor, store.dir, 2000 + FIRST_NS, LATER_NS);
	assert_int_equal(compactor.pid, 0);
	assert_false(compactor.is_failing);
	/* The empty file was there to be removed: it has been at work. */
	assert_false(test_exists(&store, TEST_HOUR "-1.zst"));
	test_visit_all(&store, &after);
	assert_int_equal(after.cnt, before.cnt);
	daemon_compactor_tick(&compactor, store.dir, compactor.next_boot_ns, LATER_NS + HOUR_NS);
	assert_true(compactor.pid > 0 && compactor.pid != first);
	daemon_compactor_stop(&compactor);
	assert_int_equal(compactor.pid, 0);
	test_store_remove(&store);
}

static void a_failure_is_remembered_until_it_is_over(void **state)
{
	struct daemon_compactor compactor;
	struct test_store store;

	(void)state;
	test_store_make(&store);
	test_fill(&store, 0, 1);
	/* A directory where the lock should be. */
	test_write(&store, "v1/.compact.lock/x", "", 0);
	daemon_compactor_init(&compactor, 0);
	for (int i = 0; i < 2; i++) {
		daemon_compactor_tick(&compactor, store.dir, compactor.next_boot_ns, LATER_NS);
		wait_for(compactor.pid);
		daemon_compactor_tick(&compactor, store.dir, 0, LATER_NS);
		assert_int_equal(compactor.pid, 0);
		assert_true(compactor.is_failing);
	}
	test_store_remove(&store);
	/* No store any more is no failure, and no success either. */
	daemon_compactor_tick(&compactor, store.dir, compactor.next_boot_ns, LATER_NS);
	wait_for(compactor.pid);
	daemon_compactor_tick(&compactor, store.dir, 0, LATER_NS);
	assert_true(compactor.is_failing);
	test_store_make(&store);
	test_fill(&store, 0, 1);
	daemon_compactor_tick(&compactor, store.dir, compactor.next_boot_ns, LATER_NS);
	wait_for(compactor.pid);
	daemon_compactor_tick(&compactor, store.dir, 0, LATER_NS);
	assert_false(compactor.is_failing);
	test_store_remove(&store);
}

/* It is killed, unless it has ended by itself by now. */
static void cancel_and_wait(struct daemon_compactor *compactor)
{
	daemon_compactor_cancel(compactor);
	if (compactor->pid)
		wait_for(compactor->pid);
}

/* What merging that is switched off leaves behind is reaped when it ends, and is no failure. */
static void a_child_that_is_not_wanted_any_more_is_killed_and_reaped_later(void **state)
{
	struct daemon_compactor compactor;
	struct test_store store;
	pid_t first;

	(void)state;
	test_store_make(&store);
	daemon_compactor_init(&compactor, 0);
	daemon_compactor_cancel(&compactor);
	daemon_compactor_tick(&compactor, store.dir, compactor.next_boot_ns, LATER_NS);
	first = compactor.pid;
	assert_true(first > 0);
	cancel_and_wait(&compactor);
	daemon_compactor_cancel(&compactor);
	assert_int_equal(compactor.pid, 0);
	assert_int_equal(waitpid(first, NULL, WNOHANG), -1);
	/* The same where it is switched on again before that. */
	daemon_compactor_tick(&compactor, store.dir, compactor.next_boot_ns, LATER_NS);
	cancel_and_wait(&compactor);
	daemon_compactor_tick(&compactor, store.dir, 0, LATER_NS);
	assert_int_equal(compactor.pid, 0);
	assert_int_equal(compactor.failed_cnt, 0);
	assert_false(compactor.is_failing);
	test_store_remove(&store);
}

static void a_killed_child_that_hangs_is_not_waited_for_and_none_begins_beside_it(void **state)
{
	struct daemon_compactor compactor;
	struct test_store store;

	(void)state;
	test_store_make(&store);
	daemon_compactor_init(&compactor, 0);
	/* As a child in an uninterruptible wait: no signal ends it, and no wait4() ever reports it. */
	compactor.pid = NOBODY;
	for (int i = 0; i < 2; i++) {
		daemon_compactor_cancel(&compactor);
		assert_int_equal(compactor.pid, NOBODY);
		daemon_compactor_tick(&compactor, store.dir, compactor.next_boot_ns, LATER_NS);
		assert_int_equal(compactor.pid, NOBODY);
	}
	test_store_remove(&store);
}

static void the_child_leaves_the_lock_of_the_store_to_the_writer(void **state)
{
	const struct store_writer_options options = { .keeps_ticks = true };
	struct daemon_compactor compactor;
	struct store_writer *writer;
	struct test_store store;

	(void)state;
	test_store_make(&store);
	writer = test_writer(&store);
	test_add(writer, 0);
	test_commit(writer);
	daemon_compactor_init(&compactor, 0);
	daemon_compactor_tick(&compactor, store.dir, compactor.next_boot_ns, LATER_NS);
	/* As SIGHUP does, at once behind the fork. */
	store_writer__free(writer);
	assert_int_equal(store_writer__open(store.dir, &options, &writer), 0);
	store_writer__free(writer);
	daemon_compactor_stop(&compactor);
	test_store_remove(&store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(closed_hours_are_merged_soon_after_the_start_and_then_each_hour),
		cmocka_unit_test(a_failure_is_remembered_until_it_is_over),
		cmocka_unit_test(a_child_that_is_not_wanted_any_more_is_killed_and_reaped_later),
		cmocka_unit_test(
			a_killed_child_that_hangs_is_not_waited_for_and_none_begins_beside_it),
		cmocka_unit_test(the_child_leaves_the_lock_of_the_store_to_the_writer),
	};

	log_set_level(LOG_LEVEL_ERR);
	return cmocka_run_group_tests_name("daemon_compact", tests, NULL, NULL);
}
