// SPDX-License-Identifier: Apache-2.0
/* Labels in front of stacks, kinds of leaves, and titles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "user/cmd/dump_stacks.h"
#include "user/model/event_view.h"
#include "user/util/cleanup.h"
#include "user/util/strbuf.h"

static const struct window shop = {
	.pid = 42,
	.event = EVENT_OFF_CPU,
	.period = 100000000,
	.labels = { [WINDOW_LABEL_CONTAINER] = "shop-1", [WINDOW_LABEL_SERVICE] = "sh;op\n" },
};

#define TEXT                              \
	"java;a.B.c_[j] 5\n"              \
	"java;a.B.c_[j];sys_read_[k] 2\n" \
	"java;a.B.d_[0] 3\n"              \
	"java;libc.so 1\n"

#define WAITS                                                            \
	"java;[idle];a 9\njava;a.B.c_[j] 2\n"                            \
	"java;java.util.concurrent.ThreadPoolExecutor.getTask_[j];"      \
	"java.util.concurrent.locks.LockSupport.park_[j];futex_[k] 40\n" \
	"java;sun.nio.ch.EPoll.wait_[0];epoll_wait_[k] 6\n"

struct stacks_case {
	enum dump_by by[DUMP_BY_CNT];
	size_t by_cnt;
	enum select_kind kind;
	const char *text;
	const char *folded;
	size_t bad_line_cnt;
	bool hides_idle;
	bool hides_waiting;
	uint64_t hidden[WAITING_PLACE_CNT];
	enum event event;
};

static const struct stacks_case cases[] = {
	{ .text = TEXT, .folded = TEXT },
	{ .text = "", .folded = "" },
	{ .kind = SELECT_KIND_JAVA,
	  .text = TEXT,
	  .folded = "java;a.B.c_[j] 5\njava;a.B.d_[0] 3\n" },
	{ .kind = SELECT_KIND_KERNEL, .text = TEXT, .folded = "java;a.B.c_[j];sys_read_[k] 2\n" },
	{ .kind = SELECT_KIND_NATIVE, .text = TEXT, .folded = "java;libc.so 1\n" },
	{ .by = { DUMP_BY_CONTAINER },
	  .by_cnt = 1,
	  .text = "java;a 1\n",
	  .folded = "shop-1;java;a 1\n" },
	{ .by = { DUMP_BY_PID, DUMP_BY_POD, DUMP_BY_SERVICE, DUMP_BY_CONTAINER },
	  .by_cnt = 4,
	  .text = "java;a 1\njava;b 2\n",
	  .folded = "42;(none);sh:op_;shop-1;java;a 1\n42;(none);sh:op_;shop-1;java;b 2\n" },
	{ .by = { DUMP_BY_CONTAINER },
	  .by_cnt = 1,
	  .kind = SELECT_KIND_KERNEL,
	  .text = TEXT,
	  .folded = "shop-1;java;a.B.c_[j];sys_read_[k] 2\n" },
	/* idle threads are those of waiting only */
	{ .hides_idle = true,
	  .text = "java;[idle];a;futex_[k] 9\njava;a;[idle] 2\njava;[idle] 1\n[idle] 3\n",
	  .folded = "[idle] 3\njava;a;[idle] 2\n",
	  .hidden = { [WAITING_IDLE] = 10 } },
	{ .hides_idle = true,
	  .by = { DUMP_BY_PID },
	  .by_cnt = 1,
	  .text = "java;[idle];a 9\njava;a 2\n",
	  .folded = "42;java;a 2\n",
	  .hidden = { [WAITING_IDLE] = 9 } },
	/* and in tables those that wait for work */
	{ .hides_idle = true,
	  .hides_waiting = true,
	  .by = { DUMP_BY_PID },
	  .by_cnt = 1,
	  .text = WAITS,
	  .folded = "42;java;a.B.c_[j] 2\n",
	  .hidden = { [WAITING_IDLE] = 9, [WAITING_POOL] = 40, [WAITING_SELECTOR] = 6 } },
	{ .hides_idle = true,
	  .hides_waiting = true,
	  .event = EVENT_LOCK,
	  .text = WAITS,
	  .folded = "",
	  .hidden = { [WAITING_POOL] = 40 } },
	{ .hides_idle = true,
	  .text = "java;java.util.concurrent.ThreadPoolExecutor.getTask_[j];futex_[k] 4\n",
	  .folded = "java;java.util.concurrent.ThreadPoolExecutor.getTask_[j];futex_[k] 4\n" },
	/* views: samples as microseconds, and some stacks only */
	{ .event = EVENT_WALL,
	  .hides_idle = true,
	  .text = "java;[idle];a 9\njava;a 2\n",
	  .folded = "java;a 200000\n",
	  .hidden = { [WAITING_IDLE] = 900000 } },
	{ .event = EVENT_LOCK,
	  .text = "java;a;pthread_mutex_lock;futex_[k] 2\njava;a;read_[k] 3\n",
	  .folded = "java;a;pthread_mutex_lock;futex_[k] 2\n" },
	{ .event = EVENT_DISK,
	  .by = { DUMP_BY_PID },
	  .by_cnt = 1,
	  .text = "java;a;fsync_[k];[disk sleep] 2\njava;a;read_[k] 3\n",
	  .folded = "42;java;a;fsync_[k];[disk sleep] 2\n" },
	{ .text = "java;[idle];a 9\njava;a 2\n", .folded = "java;[idle];a 9\njava;a 2\n" },
	{ .text = "java;[idle];a 9\n", .folded = "java;[idle];a 9\n" },
	/* garbage is skipped and counted, also without a last newline */
	{ .by = { DUMP_BY_PID },
	  .by_cnt = 1,
	  .text = "\njava\n 5\njava;a x\njava;a -1\njava;a 99999999999999999999\njava;a 7",
	  .folded = "42;java;a 7\n",
	  .bad_line_cnt = 6 },
};

static void dump_stacks_put_labels_in_front_and_keep_one_kind(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__cleanup_strbuf struct strbuf out = STRBUF_INIT;
		uint64_t hidden[WAITING_PLACE_CNT] = { 0 };
		const struct selection selection = { .kind = cases[i].kind };
		const struct dump_stacks wanted = {
			.selection = &selection,
			.event = cases[i].event,
			.by = cases[i].by,
			.by_cnt = cases[i].by_cnt,
			.hidden_samples = cases[i].hides_idle ? hidden : NULL,
			.hides_waiting = cases[i].hides_waiting,
			.known = event_stacks__new(cases[i].event),
		};
		struct profile *profile = profile__new();
		size_t bad_cnt = 0;

		assert_non_null(profile);
		assert_int_equal(dump_stacks_add(&wanted, &shop, cases[i].text,
						 strlen(cases[i].text), profile, &bad_cnt),
				 0);
		assert_int_equal(profile__to_folded(profile, &out), 0);
		if (strcmp(strbuf_str(&out), cases[i].folded) != 0 ||
		    bad_cnt != cases[i].bad_line_cnt ||
		    memcmp(hidden, cases[i].hidden, sizeof(hidden)) != 0)
			fail_msg("case %zu: %zu bad, '%s'", i, bad_cnt, strbuf_str(&out));
		event_stacks__free(wanted.known);
		profile__free(profile);
	}
}

/* EVENT_WALL has both: a worker that takes the next task from its queue has something to do. */
static void time_on_a_cpu_is_never_hidden(void **state)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	uint64_t hidden[WAITING_PLACE_CNT] = { 0 };
	const struct selection selection = { 0 };
	const struct window window = { .pid = 42, .event = EVENT_CPU, .frequency_hz = 100 };
	const struct dump_stacks wanted = {
		.selection = &selection,
		.event = EVENT_WALL,
		.hidden_samples = hidden,
		.hides_waiting = true,
		.known = event_stacks__new(EVENT_WALL),
	};
	static const char text[] = "java;java.util.concurrent.ThreadPoolExecutor.getTask_[j] 3\n";
	struct profile *profile = profile__new();
	size_t bad_cnt = 0;

	(void)state;
	assert_non_null(profile);
	assert_int_equal(dump_stacks_add(&wanted, &window, text, strlen(text), profile, &bad_cnt),
			 0);
	assert_int_equal(profile__to_folded(profile, &out), 0);
	assert_string_equal(strbuf_str(&out),
			    "java;java.util.concurrent.ThreadPoolExecutor.getTask_[j] 30000\n");
	assert_int_equal(hidden[WAITING_POOL], 0);
	event_stacks__free(wanted.known);
	profile__free(profile);
}

struct cpu_wait_case {
	struct selection selection;
	enum dump_by by[1];
	size_t by_cnt;
	bool marks_threads;
	bool labels_only;
	enum event event;
	const char *text;
	const char *folded;
};

/* 250,000,999 ns of it. */
static const struct cpu_wait_case cpu_wait_cases[] = {
	{ .event = EVENT_WALL,
	  .text = "java;a 2\n",
	  .folded = "java;[waiting for a CPU] 250000\njava;a 200000\n" },
	{ .event = EVENT_WALL, .text = "", .folded = "java;[waiting for a CPU] 250000\n" },
	{ .event = EVENT_WALL,
	  .by = { DUMP_BY_THREAD },
	  .by_cnt = 1,
	  .text = "java;a 2\n",
	  .folded = "[unknown thread];java;[waiting for a CPU] 250000\n"
		    "[unknown thread];java;a 200000\n" },
	{ .event = EVENT_WALL,
	  .by = { DUMP_BY_PID },
	  .by_cnt = 1,
	  .labels_only = true,
	  .text = "java;a 2\n",
	  .folded = "42 450000\n" },
	{ .event = EVENT_WALL,
	  .marks_threads = true,
	  .text = "",
	  .folded = "java;[waiting for a CPU]\1[unknown thread] 250000\n" },
	/* what is idle is hidden, this is not */
	{ .event = EVENT_WALL,
	  .text = "java;[idle];a 2\n",
	  .folded = "java;[waiting for a CPU] 250000\n" },
	/* it is known of processes as a whole */
	{ .event = EVENT_WALL, .selection.thread = "main", .text = "java;a 2\n", .folded = "" },
	{ .event = EVENT_WALL,
	  .selection.kind = SELECT_KIND_JAVA,
	  .text = "java;a_[j] 2\n",
	  .folded = "java;a_[j] 200000\n" },
	{ .event = EVENT_OFF_CPU, .text = "java;a 2\n", .folded = "java;a 2\n" },
};

static void of_wall_waiting_for_a_cpu_is_a_frame_below_the_process(void **state)
{
	struct window window = {
		.pid = 42,
		.event = EVENT_OFF_CPU,
		.period = 100000000,
		.counts = { .run_delay_ns = 250000999 },
	};

	(void)state;
	window.labels[WINDOW_LABEL_COMM] = "java";
	for (size_t i = 0; i < ARRAY_SIZE(cpu_wait_cases); i++) {
		const struct cpu_wait_case *test = &cpu_wait_cases[i];
		__cleanup_strbuf struct strbuf out = STRBUF_INIT;
		uint64_t hidden[WAITING_PLACE_CNT] = { 0 };
		const struct dump_stacks wanted = {
			.selection = &test->selection,
			.event = test->event,
			.by = test->by,
			.by_cnt = test->by_cnt,
			.labels_only = test->labels_only,
			.marks_threads = test->marks_threads,
			.hidden_samples = hidden,
			.known = event_stacks__new(test->event),
		};
		struct profile *profile = profile__new();
		size_t bad_cnt = 0;

		assert_non_null(profile);
		assert_int_equal(dump_stacks_add(&wanted, &window, test->text, strlen(test->text),
						 profile, &bad_cnt),
				 0);
		assert_int_equal(profile__to_folded(profile, &out), 0);
		if (strcmp(strbuf_str(&out), test->folded) != 0 || bad_cnt)
			fail_msg("case %zu: %zu bad, '%s'", i, bad_cnt, strbuf_str(&out));
		event_stacks__free(wanted.known);
		profile__free(profile);
	}
}

/* Line 0: pool-# 3, main 2; line 1: not known 1, main 1; line 2: main 4. */
static const char thread_code[] = "\2\4main\0\6pool-#\0\3\2\1\1\2\0\1\2\1\0\1";

struct threads_case {
	enum dump_by by[2];
	size_t by_cnt;
	bool marks_threads;
	bool is_old; /* nothing is known of its threads */
	struct selection selection;
	const char *folded;
};

#define THREADS_TEXT "java;a_[j] 5\njava;b_[k] 2\njava;c 4\n"

static const struct threads_case threads_cases[] = {
	{ .by = { DUMP_BY_THREAD },
	  .by_cnt = 1,
	  .folded = "[unknown thread];java;b_[k] 1\nmain;java;a_[j] 2\nmain;java;b_[k] 1\n"
		    "main;java;c 4\npool-#;java;a_[j] 3\n" },
	{ .by = { DUMP_BY_THREAD, DUMP_BY_PID },
	  .by_cnt = 2,
	  .selection.kind = SELECT_KIND_JAVA,
	  .folded = "main;42;java;a_[j] 2\npool-#;42;java;a_[j] 3\n" },
	{ .selection.thread = "main", .folded = "java;a_[j] 2\njava;b_[k] 1\njava;c 4\n" },
	{ .by = { DUMP_BY_PID },
	  .by_cnt = 1,
	  .selection.thread = "pool-*",
	  .folded = "42;java;a_[j] 3\n" },
	{ .selection.thread = "[unknown thread]", .folded = "java;b_[k] 1\n" },
	{ .selection.thread = "nobody", .folded = "" },
	{ .marks_threads = true,
	  .folded = "java;a_[j]\1main 2\njava;a_[j]\1pool-# 3\n"
		    "java;b_[k]\1[unknown thread] 1\njava;b_[k]\1main 1\njava;c\1main 4\n" },
	{ .by = { DUMP_BY_THREAD },
	  .by_cnt = 1,
	  .is_old = true,
	  .folded = "[unknown thread];java;a_[j] 5\n[unknown thread];java;b_[k] 2\n"
		    "[unknown thread];java;c 4\n" },
	{ .is_old = true, .selection.thread = "main", .folded = "" },
};

static const char *folded_of(const struct dump_stacks *wanted, const struct window *window,
			     struct strbuf *out, size_t *bad_cnt)
{
	struct profile *profile = profile__new();

	assert_non_null(profile);
	strbuf_clear(out);
	*bad_cnt = 0;
	assert_int_equal(dump_stacks_add(wanted, window, THREADS_TEXT, strlen(THREADS_TEXT),
					 profile, bad_cnt),
			 0);
	assert_int_equal(profile__to_folded(profile, out), 0);
	profile__free(profile);
	return strbuf_str(out);
}

static void stacks_are_divided_among_their_threads(void **state)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	size_t bad_cnt;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(threads_cases); i++) {
		const struct threads_case *at = &threads_cases[i];
		const struct dump_stacks wanted = {
			.selection = &at->selection,
			.by = at->by,
			.by_cnt = at->by_cnt,
			.marks_threads = at->marks_threads,
		};
		struct window window = shop;

		assert_true(dump_stacks_wants_threads(&wanted));
		if (!at->is_old) {
			window.threads = (const uint8_t *)thread_code;
			window.threads_len = sizeof(thread_code) - 1;
		}
		if (strcmp(folded_of(&wanted, &window, &out, &bad_cnt), at->folded) != 0 || bad_cnt)
			fail_msg("case %zu: '%s'", i, strbuf_str(&out));
	}
}

static void a_broken_code_of_threads_costs_their_names_and_is_counted(void **state)
{
	static const enum dump_by by = DUMP_BY_THREAD;
	static const struct selection selection = { .kind = SELECT_KIND_NATIVE };
	static const struct dump_stacks wanted = { .selection = &selection,
						   .by = &by,
						   .by_cnt = 1 };
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct window window = shop;
	size_t bad_cnt;

	(void)state;
	window.threads = (const uint8_t *)thread_code;
	window.threads_len = sizeof(thread_code) - 2;
	assert_string_equal(folded_of(&wanted, &window, &out, &bad_cnt),
			    "[unknown thread];java;c 4\n");
	assert_int_equal(bad_cnt, 1);
}

static void a_table_of_labels_has_no_stacks(void **state)
{
	static const enum dump_by by[] = { DUMP_BY_CONTAINER, DUMP_BY_PID };
	static const struct selection selection = { .kind = SELECT_KIND_KERNEL };
	static const struct dump_stacks wanted = {
		.selection = &selection, .by = by, .by_cnt = 2, .labels_only = true
	};
	struct window window = shop;
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct profile *profile = profile__new();
	size_t bad_cnt = 0;

	(void)state;
	assert_non_null(profile);
	assert_int_equal(dump_stacks_add(&wanted, &window, TEXT, strlen(TEXT), profile, &bad_cnt),
			 0);
	window.counts.samples = 11;
	window.pid = 7;
	assert_int_equal(dump_stacks_add_labels(&wanted, &window, profile), 0);
	assert_int_equal(profile__to_folded(profile, &out), 0);
	assert_string_equal(strbuf_str(&out), "shop-1;42 2\nshop-1;7 11\n");
	profile__free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dump_stacks_put_labels_in_front_and_keep_one_kind),
		cmocka_unit_test(time_on_a_cpu_is_never_hidden),
		cmocka_unit_test(of_wall_waiting_for_a_cpu_is_a_frame_below_the_process),
		cmocka_unit_test(stacks_are_divided_among_their_threads),
		cmocka_unit_test(a_broken_code_of_threads_costs_their_names_and_is_counted),
		cmocka_unit_test(a_table_of_labels_has_no_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
