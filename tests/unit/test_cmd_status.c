// SPDX-License-Identifier: Apache-2.0
/* What jbpf status advises, and how it looks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "symbols/symbols.h"
#include "user/cmd/status_report.h"
#include "user/collect/jvm_attach.h"
#include "user/util/cleanup.h"
#include "user/util/strbuf.h"

#define S 1000000000ull

/* A JVM with nothing to complain about. */
static const struct window healthy = {
	.start_unix_ns = 1700000000 * S,
	.duration_ns = 10 * S,
	.pid = 42,
	.ns_pid = 1,
	.samples = 100,
	.frames = 1000,
	.unknown_frames = 5,
	.jit_frames = 800,
	.unknown_jit_frames = 5,
	.jit_source = JIT_SOURCE_ATTACH,
	.jit_age_ms = 12345,
	.jit_entries = 9000,
	.attach_outcome = JVM_ATTACH_OK,
	.attach_cnt = 2,
	.attach_command_ms = 30,
	.preserve_frame_pointer = WINDOW_FLAG_ON,
	.is_jvm = 1,
	.labels = { [WINDOW_LABEL_COMM] = "java",
		    [WINDOW_LABEL_CONTAINER] = "shop-1",
		    [WINDOW_LABEL_JVM_VERSION] = "17.0.15" },
};

static void find(const struct window *window, struct status_problems *out)
{
	struct streams streams = { 0 };

	assert_int_equal(streams_add(&streams, window), 0);
	status_problems_find(&streams.items[0], out);
	streams_release(&streams);
}

static void status_problems_leave_a_healthy_jvm_alone(void **state)
{
	struct status_problems problems;

	(void)state;
	find(&healthy, &problems);
	assert_int_equal(problems.cnt, 0);
}

static void status_problems_name_the_missing_flag_first(void **state)
{
	struct window window = healthy;
	struct status_problems problems;

	(void)state;
	window.preserve_frame_pointer = WINDOW_FLAG_OFF;
	window.truncated_samples = 90; /* a consequence: not told twice */
	window.labels[WINDOW_LABEL_JIT_PROBLEM] = "stacks are cut: the same in other words";
	find(&window, &problems);
	assert_int_equal(problems.cnt, 1);
	assert_string_equal(problems.lines[0], "stacks are cut: add -XX:+PreserveFramePointer to "
					       "this JVM's options and restart it");
}

static void status_problems_say_why_there_are_no_names(void **state)
{
	struct window window = healthy;
	struct status_problems problems;

	(void)state;
	window.jit_source = JIT_SOURCE_NONE;
	window.attach_outcome = JVM_ATTACH_NONE;
	find(&window, &problems);
	assert_int_equal(problems.cnt, 1);
	assert_string_equal(problems.lines[0],
			    "no names of compiled code yet: jbpfd has not asked this JVM");

	window.labels[WINDOW_LABEL_JIT_PROBLEM] = "the map is a symlink";
	find(&window, &problems);
	assert_int_equal(problems.cnt, 1);
	assert_string_equal(problems.lines[0], "no names of compiled code: the map is a symlink");

	window.attach_outcome = JVM_ATTACH_NO_SIGNAL;
	find(&window, &problems);
	assert_int_equal(problems.cnt, 1);
	assert_non_null(strstr(problems.lines[0], jvm_attach_outcome_text(JVM_ATTACH_NO_SIGNAL)));
}

static void status_problems_tell_stale_maps_and_cut_stacks(void **state)
{
	struct window window = healthy;
	struct status_problems problems;

	(void)state;
	window.unknown_jit_frames = 80;
	window.truncated_samples = 20;
	find(&window, &problems);
	assert_int_equal(problems.cnt, 2);
	assert_non_null(strstr(problems.lines[0], "10.0 % of its compiled frames have no name"));
	assert_non_null(strstr(problems.lines[1], "20.0 % of its stacks are cut"));
}

static void status_problems_survive_values_of_a_later_version(void **state)
{
	struct window window = healthy;
	struct status_problems problems;

	(void)state;
	window.jit_source = 77;
	window.attach_outcome = 4711;
	window.preserve_frame_pointer = 99;
	find(&window, &problems);
	window.jit_source = JIT_SOURCE_NONE;
	find(&window, &problems);
	assert_int_equal(problems.cnt, 1);
}

static void fill(struct streams *streams)
{
	struct window cut = healthy;
	struct window plain = healthy;
	struct window host = { .samples = 500, .lost = { [WINDOW_LOSS_COUNTS_FULL] = 4 } };

	cut.pid = 43;
	cut.preserve_frame_pointer = WINDOW_FLAG_OFF;
	cut.jit_source = JIT_SOURCE_NONE;
	cut.jit_frames = 0;
	cut.attach_outcome = JVM_ATTACH_NONE;
	plain.pid = 7;
	plain.is_jvm = 0;
	plain.labels[WINDOW_LABEL_CONTAINER] = NULL;
	plain.labels[WINDOW_LABEL_JVM_VERSION] = NULL;
	plain.labels[WINDOW_LABEL_COMM] = "cron";
	assert_int_equal(streams_add(streams, &healthy), 0);
	assert_int_equal(streams_add(streams, &cut), 0);
	assert_int_equal(streams_add(streams, &plain), 0);
	assert_int_equal(streams_add(streams, &host), 0);
}

static void status_report_is_a_table_with_advice_below_its_row(void **state)
{
	const struct status_report report = { 0 };
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct streams streams = { 0 };

	(void)state;
	fill(&streams);
	assert_int_equal(status_report_table(&report, &streams, &out), 0);
	assert_string_equal(
		strbuf_str(&out),
		"CONTAINER  POD  PID  COMM  JVM      FP   SYMBOLS  AGE  ATTACH  UNKNOWN%  CUT%  "
		"SAMPLES\n"
		"shop-1     -     42  java  17.0.15  on   attach   12s  ok           0.5   0.0  "
		"    100\n"
		"shop-1     -     43  java  17.0.15  off  -          -  -            0.5   0.0  "
		"    100\n"
		"    stacks are cut: add -XX:+PreserveFramePointer to this JVM's options and "
		"restart it\n"
		"and 1 more outside of containers with 100 samples; see --all\n"
		"lost on this host: 4 samples: too many distinct stacks in a window; give jbpfd a "
		"shorter --window\n");
	streams_release(&streams);
}

static void status_report_all_hides_nothing(void **state)
{
	const struct status_report report = { .all = true };
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct streams streams = { 0 };

	(void)state;
	fill(&streams);
	assert_int_equal(status_report_table(&report, &streams, &out), 0);
	assert_non_null(strstr(strbuf_str(&out), "cron"));
	assert_null(strstr(strbuf_str(&out), "outside of containers"));
	streams_release(&streams);
}

static void status_report_is_json(void **state)
{
	const struct status_report report = {
		.since_unix_ns = 1700000000 * S,
		.until_unix_ns = 1700000060 * S,
	};
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct streams streams = { 0 };

	(void)state;
	assert_int_equal(streams_add(&streams, &healthy), 0);
	assert_int_equal(status_report_json(&report, &streams, &out), 0);
	assert_string_equal(
		strbuf_str(&out),
		"{\"format\":\"jbpf-status\",\"version\":1,\"since\":\"2023-11-14T22:13:20Z\","
		"\"until\":\"2023-11-14T22:14:20Z\",\"samples\":0,\"lost\":{\"counts_full\":0,"
		"\"no_map\":0,\"stack_buffer\":0,\"notices\":0,\"kernel_stack\":0,\"store\":0,"
		"\"memory\":0},\"streams\":[\n"
		"{\"pid\":42,\"ns_pid\":1,\"comm\":\"java\",\"container\":\"shop-1\","
		"\"jvm_version\":\"17.0.15\",\"is_jvm\":1,\"preserve_frame_pointer\":\"on\","
		"\"jit_source\":\"attach\",\"jit_age_ms\":12345,\"jit_entries\":9000,"
		"\"attach\":\"ok\",\"attach_requests\":2,\"attach_command_ms\":30,\"samples\":100,"
		"\"frames\":1000,\"unknown_frames\":5,\"jit_frames\":800,"
		"\"unknown_jit_frames\":5,\"ambiguous_frames\":0,\"truncated_samples\":0,"
		"\"problems\":[]}\n"
		"]}\n");
	streams_release(&streams);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(status_problems_leave_a_healthy_jvm_alone),
		cmocka_unit_test(status_problems_name_the_missing_flag_first),
		cmocka_unit_test(status_problems_say_why_there_are_no_names),
		cmocka_unit_test(status_problems_tell_stale_maps_and_cut_stacks),
		cmocka_unit_test(status_problems_survive_values_of_a_later_version),
		cmocka_unit_test(status_report_is_a_table_with_advice_below_its_row),
		cmocka_unit_test(status_report_all_hides_nothing),
		cmocka_unit_test(status_report_is_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
