// SPDX-License-Identifier: Apache-2.0
/* Which full name stands for what the kernel has of it, and that none does where it might be another's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "user/collect/naming/thread_names.h"

static struct thread_names names;
static uint64_t window;

static int setup(void **state)
{
	(void)state;
	window = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	thread_names_release(&names);
	return 0;
}

/* Lists end with NULL. False: nothing was due. */
static bool read_window(const char *const *wanted, const char *const *java,
			const char *const *tasks)
{
	bool is_due;

	window++;
	for (; *wanted; wanted++)
		assert_int_equal(thread_names_want(&names, *wanted, window), 0);
	is_due = thread_names_are_due(&names);
	if (is_due) {
		thread_names_begin(&names);
		for (; *java; java++)
			assert_int_equal(thread_names_add_java(&names, *java, strlen(*java)), 0);
		for (; *tasks; tasks++)
			thread_names_add_task(&names, *tasks, strlen(*tasks));
		(void)thread_names_settle(&names);
	}
	thread_names_end(&names);
	return is_due;
}

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define NOBODY	  ((const char *const[]){ NULL })

static const char *found(const char *comm)
{
	const char *full = thread_names_find(&names, comm);

	return full ? full : comm;
}

static void cut_name_is_told_in_full(void **state)
{
	(void)state;
	assert_string_equal(found("http-nio-#-e"), "http-nio-#-e");
	read_window(LIST("http-nio-#-e", "order-processor"),
		    LIST("http-nio-8080-exec-1", "http-nio-8080-exec-12", "order-processor-main",
			 "x"),
		    LIST("http-nio-8080-e", "http-nio-8080-e", "order-processor", "x"));
	assert_string_equal(found("http-nio-#-e"), "http-nio-#-exec-#");
	assert_string_equal(found("order-processor"), "order-processor-main");
}

static void name_that_was_cut_in_its_middle_is_told_in_full(void **state)
{
	(void)state;
	read_window(LIST("Dispatc..read#"),
		    LIST("DispatcherWorkerThread21", "DispatcherWorkerThread22"),
		    LIST("Dispatc..read21", "Dispatc..read22"));
	assert_string_equal(found("Dispatc..read#"), "DispatcherWorkerThread#");
}

static void two_names_for_one_comm_keep_the_comm_for_good(void **state)
{
	(void)state;
	read_window(LIST("order-processor"), LIST("order-processor-in", "order-processor-out"),
		    LIST("order-processor", "order-processor"));
	assert_string_equal(found("order-processor"), "order-processor");
	read_window(LIST("order-processor"), LIST("order-processor-in"), LIST("order-processor"));
	assert_string_equal(found("order-processor"), "order-processor");
	thread_names_release(&names);
	read_window(LIST("order-processor"), LIST("order-processor-in", "order-processor"),
		    LIST("order-processor", "order-processor"));
	assert_string_equal(found("order-processor"), "order-processor");
}

static void thread_that_is_not_java_s_keeps_the_comm_as_long_as_it_is_there(void **state)
{
	(void)state;
	read_window(LIST("order-processor"), LIST("order-processor-in"),
		    LIST("order-processor", "order-processor"));
	assert_string_equal(found("order-processor"), "order-processor");
	read_window(LIST("order-processor"), LIST("order-processor-in"), LIST("order-processor"));
	assert_string_equal(found("order-processor"), "order-processor-in");
	read_window(LIST("order-processor"), LIST("order-processor-in"), NOBODY);
	assert_string_equal(found("order-processor"), "order-processor");
}

static void full_name_is_proved_anew_in_each_window(void **state)
{
	(void)state;
	read_window(LIST("order-processor"), LIST("order-processor-in"), LIST("order-processor"));
	assert_string_equal(found("order-processor"), "order-processor-in");
	assert_true(read_window(LIST("order-processor"),
				LIST("order-processor-in", "order-processor-b"),
				LIST("order-processor", "order-processor")));
	assert_string_equal(found("order-processor"), "order-processor");
}

static void comm_without_a_full_name_is_read_again_seldom(void **state)
{
	size_t cnt = 0;

	(void)state;
	for (unsigned i = 0; i < 24; i++)
		cnt += read_window(LIST("GC Thread##"), NOBODY, LIST("GC Thread#1"));
	assert_in_range(cnt, 4, 5);
	assert_false(read_window(LIST("main", "Signal"), NOBODY, NOBODY));
}

static void one_window_reads_once_for_all_events(void **state)
{
	(void)state;
	read_window(LIST("order-processor"), LIST("order-processor-in"), LIST("order-processor"));
	window--;
	assert_false(read_window(LIST("order-processor"), NOBODY, NOBODY));
	assert_string_equal(found("order-processor"), "order-processor-in");
}

static void without_settling_all_stays_as_it_was(void **state)
{
	(void)state;
	read_window(LIST("order-processor"), LIST("order-processor-in"), LIST("order-processor"));
	assert_int_equal(thread_names_want(&names, "order-processor", 99), 0);
	thread_names_begin(&names);
	assert_int_equal(thread_names_add_java(&names, "order-processor-x", 17), 0);
	thread_names_end(&names);
	assert_string_equal(found("order-processor"), "order-processor-in");
}

static void exact_names_keep_the_digits_that_tell_them_apart(void **state)
{
	(void)state;
	read_window(LIST("pool-1-thread-2", "http-nio-8080-e", "Dispatc..read21"),
		    LIST("pool-1-thread-2", "http-nio-8080-exec-1", "http-nio-8080-exec-2",
			 "DispatcherWorkerThread21"),
		    LIST("pool-1-thread-2", "http-nio-8080-e", "http-nio-8080-e",
			 "Dispatc..read21"));
	assert_string_equal(found("pool-1-thread-2"), "pool-1-thread-2");
	assert_string_equal(found("http-nio-8080-e"), "http-nio-8080-exec-#");
	assert_string_equal(found("Dispatc..read21"), "DispatcherWorkerThread21");
	read_window(LIST("pool-1-thread-1"), LIST("pool-1-thread-1", "pool-1-thread-10"),
		    LIST("pool-1-thread-1", "pool-1-thread-1"));
	assert_string_equal(found("pool-1-thread-1"), "pool-1-thread-1");
}

static void comms_past_the_bound_stay(void **state)
{
	char comm[THREAD_COMM_BYTES], full[32];

	(void)state;
	window = 1;
	for (unsigned i = 0; i < THREAD_COMMS_MAX + 1; i++) {
		memcpy(comm, "..-a-long-name-o", sizeof(comm) - 1);
		comm[sizeof(comm) - 1] = '\0';
		comm[0] = (char)('a' + i / 26);
		comm[1] = (char)('a' + i % 26);
		assert_int_equal(thread_names_want(&names, comm, window), 0);
	}
	snprintf(full, sizeof(full), "%sther", comm);
	thread_names_begin(&names);
	assert_int_equal(thread_names_add_java(&names, full, strlen(full)), 0);
	thread_names_add_task(&names, comm, strlen(comm));
	assert_true(thread_names_settle(&names));
	assert_string_equal(found(comm), comm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(cut_name_is_told_in_full, setup, teardown),
		cmocka_unit_test_setup_teardown(name_that_was_cut_in_its_middle_is_told_in_full,
						setup, teardown),
		cmocka_unit_test_setup_teardown(two_names_for_one_comm_keep_the_comm_for_good,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			thread_that_is_not_java_s_keeps_the_comm_as_long_as_it_is_there, setup,
			teardown),
		cmocka_unit_test_setup_teardown(full_name_is_proved_anew_in_each_window, setup,
						teardown),
		cmocka_unit_test_setup_teardown(comm_without_a_full_name_is_read_again_seldom,
						setup, teardown),
		cmocka_unit_test_setup_teardown(one_window_reads_once_for_all_events, setup,
						teardown),
		cmocka_unit_test_setup_teardown(without_settling_all_stays_as_it_was, setup,
						teardown),
		cmocka_unit_test_setup_teardown(exact_names_keep_the_digits_that_tell_them_apart,
						setup, teardown),
		cmocka_unit_test_setup_teardown(comms_past_the_bound_stay, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
