// SPDX-License-Identifier: Apache-2.0
/* Views of stored events: from what they are read, which stacks they have, and what a sample counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "user/model/event_view.h"
#include "user/util/cleanup.h"

static void stored_events_are_views_of_themselves(void **state)
{
	(void)state;
	for (int i = 0; i < EVENT_CNT; i++) {
		const struct window window = { .event = (uint32_t)i, .frequency_hz = 99 };

		assert_false(event_is_view((enum event)i));
		assert_int_equal(event_sources((enum event)i), EVENT_BIT(i));
		assert_int_equal(event_weight((enum event)i, &window), 1);
		assert_true(event_takes_stack((enum event)i, "a;b", 3));
		assert_true(event_counts_time((enum event)i, &window));
	}
}

static void wall_counts_microseconds(void **state)
{
	const struct window cpu = { .event = EVENT_CPU, .frequency_hz = 99 };
	const struct window waits = { .event = EVENT_OFF_CPU, .period = 100000000 };
	const struct window untold = { .event = EVENT_OFF_CPU };

	(void)state;
	assert_int_equal(event_sources(EVENT_WALL),
			 EVENT_BIT(EVENT_CPU) | EVENT_BIT(EVENT_OFF_CPU));
	assert_int_equal(event_weight(EVENT_WALL, &cpu), 10101);
	assert_int_equal(event_weight(EVENT_WALL, &waits), 100000);
	assert_int_equal(event_weight(EVENT_WALL, &untold), 0);
	assert_int_equal(event_weight(EVENT_LOCK, &waits), 1);
	/* Both trees have a record of each time. */
	assert_true(event_counts_time(EVENT_WALL, &cpu));
	assert_false(event_counts_time(EVENT_WALL, &waits));
	assert_true(event_counts_time(EVENT_DISK, &waits));
}

static void waiting_for_a_cpu_is_of_wall_and_of_whole_processes(void **state)
{
	const struct selection all = { 0 }, main_only = { .thread = "main" },
			       java = { .kind = SELECT_KIND_JAVA }, shop = { .container = "shop" };
	const struct window waits = { .event = EVENT_OFF_CPU, .counts = { .run_delay_ns = 7 } };
	const struct window cpu = { .event = EVENT_CPU, .counts = { .run_delay_ns = 7 } };

	(void)state;
	assert_int_equal(event_cpu_wait_ns(EVENT_WALL, &all, &waits), 7);
	assert_int_equal(event_cpu_wait_ns(EVENT_WALL, &shop, &waits), 7);
	assert_int_equal(event_cpu_wait_ns(EVENT_WALL, &main_only, &waits), 0);
	assert_int_equal(event_cpu_wait_ns(EVENT_WALL, &java, &waits), 0);
	assert_int_equal(event_cpu_wait_ns(EVENT_WALL, &all, &cpu), 0);
	assert_int_equal(event_cpu_wait_ns(EVENT_OFF_CPU, &all, &waits), 0);
	assert_int_equal(event_cpu_wait_ns(EVENT_LOCK, &all, &waits), 0);
}

static void waiting_for_a_cpu_is_a_frame_below_the_escaped_name_of_the_process(void **state)
{
	const struct window window = { .labels = { [WINDOW_LABEL_COMM] = "a;b" } };
	__cleanup_strbuf struct strbuf stack = STRBUF_INIT;

	(void)state;
	assert_int_equal(event_cpu_wait_stack(&stack, &window), 0);
	assert_string_equal(strbuf_str(&stack), "a:b;[waiting for a CPU]");
}

static void idle_threads_are_of_what_waits(void **state)
{
	(void)state;
	for (int i = 0; i < EVENT_VIEW_END; i++)
		assert_int_equal(event_has_idle((enum event)i),
				 i >= EVENT_WALL || i == EVENT_OFF_CPU);
}

static void views_have_the_stacks_of_their_waits(void **state)
{
	const struct {
		const char *stack;
		bool is_lock;
		bool is_disk;
	} rows[] = {
		{ "java;A.run_[0];A.sync_[j];_complete_monitor_locking_Java;futex_[k]", true,
		  false },
		{ "java;A.sync_[0];InterpreterRuntime::monitorenter(JavaThread*, BasicObjectLock*);"
		  "ObjectMonitor::enter(JavaThread*);futex_[k]",
		  true, false },
		{ "java;java.util.concurrent.locks.LockSupport.park_[0];futex_[k]", true, false },
		{ "java;jdk.internal.misc.Unsafe.park_[0];futex_[k]", true, false },
		{ "java;jdk.internal.misc.Unsafe.park(boolean, long)_[0];futex_[k]", true, false },
		{ "java;jdk.internal.misc.Unsafe.parked(boolean, long)_[0];futex_[k]", false,
		  false },
		{ "app;main;pthread_mutex_lock;futex_[k]", true, false },
		{ "app;main;malloc;__lll_lock_wait_private;futex_[k]", true, false },
		{ "app;main;__pthread_rwlock_wrlock_full64;futex_[k]", true, false },
		/* it waits to be notified, which is no lock */
		{ "java;java.lang.Object.wait_[0];ObjectMonitor::wait(long, bool, JavaThread*);futex_[k]",
		  false, false },
		{ "java;A.sleep_[0];JVM_Sleep;futex_[k]", false, false },
		{ "app;main;read;read_[k]", false, false },
		{ "app;mutex;my_pthread_mutex_lock;futex_[k]", false, false },
		{ "app;main;rwsem_[k];pthread_mutex_lock_[k]", false, false },
		{ "app;main;fsync;fsync_[k];[disk sleep]", false, true },
		{ "app;main;[disk sleep];fsync_[k]", false, false },
		{ "app", false, false },
		{ "", false, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *stack = rows[i].stack;

		if (event_takes_stack(EVENT_LOCK, stack, strlen(stack)) != rows[i].is_lock ||
		    event_takes_stack(EVENT_DISK, stack, strlen(stack)) != rows[i].is_disk)
			fail_msg("'%s'", stack);
		assert_true(event_takes_stack(EVENT_WALL, stack, strlen(stack)));
	}
}

/* More of them than are remembered: what a stack is does not depend on what was asked before. */
static void what_is_remembered_is_what_is_found(void **state)
{
	struct event_stacks *stacks = event_stacks__new(EVENT_LOCK);
	static char stack[2048];

	(void)state;
	assert_non_null(stacks);
	for (int i = 0; i < 50000; i++) {
		static const char *const ends[] = {
			"ObjectMonitor::enter;futex_[k]",
			"java.util.concurrent.ThreadPoolExecutor.getTask_[j];pthread_mutex_lock",
			"read_[k]",
			"[idle];java.util.concurrent.locks.LockSupport.park_[j]",
		};
		int kind = i % 4, number = i / 8 * 4 + kind;
		int len = kind == 3 ? snprintf(stack, sizeof(stack), "java;%s;a.B.m%0*d",
					       ends[kind], 1500, number) :
				      snprintf(stack, sizeof(stack), "java;a.B.m%0*d_[j];%s", 1500,
					       number, ends[kind]);
		struct event_stack found = event_stacks__get(stacks, stack, (size_t)len);

		assert_int_equal(found.is_taken, kind != 2);
		assert_int_equal(found.place, kind == 1 ? WAITING_POOL :
					      kind == 3 ? WAITING_IDLE :
							  WAITING_PLACE_CNT);
	}
	event_stacks__free(stacks);
	event_stacks__free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stored_events_are_views_of_themselves),
		cmocka_unit_test(wall_counts_microseconds),
		cmocka_unit_test(waiting_for_a_cpu_is_of_wall_and_of_whole_processes),
		cmocka_unit_test(
			waiting_for_a_cpu_is_a_frame_below_the_escaped_name_of_the_process),
		cmocka_unit_test(idle_threads_are_of_what_waits),
		cmocka_unit_test(views_have_the_stacks_of_their_waits),
		cmocka_unit_test(what_is_remembered_is_what_is_found),
	};

	return cmocka_run_group_tests_name("event_view", tests, NULL, NULL);
}
