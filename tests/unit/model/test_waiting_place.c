// SPDX-License-Identifier: Apache-2.0
/* Unit tests of user/model/waiting_place.c: which stacks wait for work, and which for something. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "user/model/waiting_place.h"
#include "user/util/cleanup.h"

static const struct {
	const char *stack;
	enum waiting_place place;
} stacks[] = {
	{ "", WAITING_PLACE_CNT },
	{ "java", WAITING_PLACE_CNT },
	{ "java;[idle];a", WAITING_IDLE },
	{ "java;a.B.c_[j];java.util.concurrent.ThreadPoolExecutor.getTask_[j];futex_[k]",
	  WAITING_POOL },
	{ "java;java.util.concurrent.ThreadPoolExecutor.getTask", WAITING_POOL },
	{ "java;java.util.concurrent.ThreadPoolExecutor.getTaskNow_[j]", WAITING_PLACE_CNT },
	{ "java;xjava.util.concurrent.ThreadPoolExecutor.getTask_[j]", WAITING_PLACE_CNT },
	{ "java;java.util.concurrent.ThreadPoolExecutor.runWorker_[j];a.Task.run_[j]",
	  WAITING_PLACE_CNT },
	{ "java;java.util.concurrent.ForkJoinPool.awaitWork_[1];park_[k]", WAITING_POOL },
	{ "java;java.util.concurrent.ForkJoinPool.await_[1];park_[k]", WAITING_PLACE_CNT },
	{ "java;java.util.TimerThread.mainLoop_[j];java.lang.Object.wait_[j];x_[k]", WAITING_POOL },
	{ "java;java.util.TimerThread.mainLoop_[j];java.lang.Object.wait0_[j];x_[k]",
	  WAITING_POOL },
	{ "java;java.util.TimerThread.mainLoop_[j];a.Task.run_[j];java.lang.Object.wait_[j]",
	  WAITING_PLACE_CNT },
	{ "java;java.util.TimerThread.mainLoop()_[j];java.lang.Object.wait(long)_[j];x_[k]",
	  WAITING_POOL },
	{ "java;java.util.TimerThread.mainLoop_[j]", WAITING_PLACE_CNT },
	{ "java;org.apache.tomcat.util.threads.TaskQueue.poll_[j];x", WAITING_POOL },
	{ "java;sun.nio.ch.EPollArrayWrapper.epollWait_[0];epoll_wait_[k]", WAITING_SELECTOR },
	{ "java;sun.nio.ch.NioSocketImpl.timedAccept_[j]", WAITING_SELECTOR },
	{ "java;sun.nio.ch.NioSocketImpl.read_[j]", WAITING_PLACE_CNT },
	{ "java;java.lang.ref.Reference$ReferenceHandler.run_[i];java.lang.Object.wait_[j]",
	  WAITING_REFERENCE },
	{ "java;java.lang.ref.FooCleanerBar.run_[i];java.lang.ref.ReferenceQueue.remove_[j]",
	  WAITING_REFERENCE },
	{ "java;a.Own.run_[i];java.lang.ref.ReferenceQueue.remove_[j]", WAITING_PLACE_CNT },
	{ "java;CompileQueue::get;futex_[k]", WAITING_JVM },
	{ "java;VMThread::run;VMThread::wait_for_operation;Monitor::wait;futex_[k]", WAITING_JVM },
	{ "java;G1ConcurrentRefineThread::run_service;Monitor::wait_without_safepoint_check;futex_[k]",
	  WAITING_JVM },
	{ "java;WatcherThread::sleep;os::PlatformMonitor::wait;futex_[k]", WAITING_JVM },
	{ "java;GangWorker::loop;PosixSemaphore::timedwait;futex_[k]", WAITING_JVM },
	{ "java;ServiceThread::service_thread_entry;Monitor::wait;futex_[k]", WAITING_JVM },
	{ "java;JavaThread::sleep;os::PlatformEvent::park;futex_[k]", WAITING_PLACE_CNT },
	{ "java;VMThread::execute;Monitor::wait;futex_[k]", WAITING_PLACE_CNT },
	{ "java;VMThread::run;VMThread::loop;VM_GC::doit", WAITING_PLACE_CNT },
	{ "java;ContinueInNewThread0;__pthread_clockjoin_ex;futex_[k]", WAITING_JVM },
	{ "java;main;pthread_join", WAITING_PLACE_CNT },
};

static void each_stack_waits_where_its_frames_say(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(stacks); i++) {
		enum waiting_place place =
			waiting_place_of(stacks[i].stack, strlen(stacks[i].stack));

		if (place != stacks[i].place)
			fail_msg("'%s': '%s'", stacks[i].stack, waiting_place_name(place));
	}
}

static void patterns_are_globs_with_choices(void **state)
{
	static const struct {
		const char *pattern, *name;
		bool is_like;
	} rows[] = {
		{ "a", "a", true },
		{ "a", "", false },
		{ "a", "ab", false },
		{ "ab", "a", false },
		{ "a b", "b", true },
		{ "a b", "a b", false },
		{ "*", "", true },
		{ "*", "abc", true },
		{ "a*", "a", true },
		{ "*a", "ba", true },
		{ "*a", "ab", false },
		{ "*a*b*", "xaybz", true },
		{ "*a*b*", "xbya", false },
		{ "(a|bc)d", "ad", true },
		{ "(a|bc)d", "bcd", true },
		{ "(a|bc)d", "bd", false },
		{ "(a|ab)", "ab", true },
		{ "(a|ab)c", "abc", true },
		{ "*(a|b)::*", "xb::y", true },
		{ "*(a|b)::(c|d)", "b::cd", false },
		{ "*(a|b)::c", "x::b::c", true },
		{ "*(a|b)::c", "x::b::d", false },
		{ "*(a|b)::c", "::c", false },
		{ "*(a|xb)", "xxb", true },
		{ "*(a|xb)", "xbx", false },
		{ "*(a|xb)", "", false },
		{ "*(a|b)*", "xbx", true },
		{ "*(a|b)(c|d)", "xad", true },
		{ "*(a|b)(c|d)", "xda", false },
		{ "*(a|b) c", "xb", true },
		{ "*(a|b) c", "c", true },
		{ "(a|b) c", "c", true },
		{ "(a|b)", "", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (waiting_is_like(rows[i].pattern, rows[i].name, strlen(rows[i].name)) !=
		    rows[i].is_like)
			fail_msg("'%s' and '%s'", rows[i].pattern, rows[i].name);
	}
	assert_true(waiting_is_like("ab", "abc", 2));
}

/* The page makes regular expressions of them: only brackets, bars and stars mean something. */
static void each_rule_has_a_pattern_and_a_place_with_a_name(void **state)
{
	size_t of_place[WAITING_PLACE_CNT] = { [WAITING_IDLE] = 1 };

	(void)state;
	for (const struct waiting_rule *rule = waiting_rules; rule->frame; rule++) {
		assert_in_range(rule->place, WAITING_POOL, WAITING_JVM);
		of_place[rule->place]++;
		assert_null(strstr(rule->frame, "  "));
		assert_null(strstr(rule->frame, "|*"));
	}
	for (int i = 0; i < WAITING_PLACE_CNT; i++) {
		assert_true(of_place[i] > 0);
		assert_true(*waiting_place_name((enum waiting_place)i) != '\0');
	}
	assert_string_equal(waiting_place_name(WAITING_PLACE_CNT), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_stack_waits_where_its_frames_say),
		cmocka_unit_test(patterns_are_globs_with_choices),
		cmocka_unit_test(each_rule_has_a_pattern_and_a_place_with_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
