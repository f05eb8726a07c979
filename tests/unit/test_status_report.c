// SPDX-License-Identifier: Apache-2.0
/* How jbpf status looks. What it advises: test_advice.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "symbols/hotspot/hotspot_vm.h"
#include "symbols/symbols.h"
#include "user/cmd/status_report.h"
#include "user/collect/attach/jvm_attach.h"
#include "user/util/cleanup.h"
#include "user/util/fs.h"
#include "user/util/strbuf.h"

#define S 1000000000ull

/* A JVM with nothing to complain about. */
static const struct window healthy = {
	.start_unix_ns = 1700000000 * S,
	.duration_ns = 10 * S,
	.pid = 42,
	.ns_pid = 1,
	.counts.samples = 100,
	.counts.frames = 1000,
	.counts.unknown_frames = 5,
	.counts.jit_frames = 800,
	.counts.unknown_jit_frames = 5,
	.counts.ambiguous_frames = 1,
	.counts.inlined_frames = 300,
	.counts.interpreted_frames = 20,
	.counts.jit_leaf_samples = 80,
	.counts.repaired_samples = 25,
	.counts.unrepaired_samples = 3,
	.jit_source = JIT_SOURCE_ATTACH,
	.jit_age_ms = 12345,
	.jit_entries = 9000,
	.attach_outcome = JVM_ATTACH_OK,
	.attach_cnt = 2,
	.attach_command_ms = 30,
	.preserve_frame_pointer = WINDOW_FLAG_ON,
	.preserve_frame_pointer_origin = HOTSPOT_FLAG_ENVIRONMENT,
	.is_jvm = 1,
	.labels = { [WINDOW_LABEL_COMM] = "java",
		    [WINDOW_LABEL_CONTAINER] = "shop-1",
		    [WINDOW_LABEL_JVM_VERSION] = "17.0.15" },
};

static void fill(struct streams *streams)
{
	struct window cut = healthy;
	struct window plain = healthy;
	struct window host = { .counts.samples = 500, .lost = { [WINDOW_LOSS_COUNTS_FULL] = 4 } };

	cut.pid = 43;
	cut.preserve_frame_pointer = WINDOW_FLAG_OFF;
	cut.preserve_frame_pointer_origin = HOTSPOT_FLAG_DEFAULT;
	cut.jit_source = JIT_SOURCE_NONE;
	cut.counts.jit_frames = 0;
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
		"CONTAINER  PID  COMM  JVM      FP                SYMBOLS  AGE  ATTACH  UNKNOWN%  "
		"CUT%  STALE%  INLINED%  INTERP%  REPAIRED%  UNREPAIRED%  SAMPLES\n"
		"shop-1      42  java  17.0.15  on (environment)  attach   12s  ok           0.5  "
		" 0.0     0.1      30.0      2.0       25.0          3.0      100\n"
		"shop-1      43  java  17.0.15  off               -          -  -            0.5  "
		" 0.0     0.1      30.0      2.0       25.0          3.0      100\n"
		"    JVM of container shop-1 (pid 43) runs without -XX:+PreserveFramePointer: its "
		"stacks are cut after the first compiled frame; add -XX:+PreserveFramePointer to "
		"JAVA_TOOL_OPTIONS and restart it\n"
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
	assert_non_null(
		strstr(strbuf_str(&out),
		       "-            7  cron  -        -                 attach   12s  ok  "
		       "         0.5   0.0       -         -        -          -            -  "
		       "    100\n"));
	assert_null(strstr(strbuf_str(&out), "outside of containers"));
	streams_release(&streams);
}

static void status_report_without_jvms_has_no_columns_for_them(void **state)
{
	const struct status_report report = { .all = true };
	const struct window plain = {
		.start_unix_ns = 1700000000 * S,
		.pid = 7,
		.counts.samples = 80,
		.counts.frames = 100,
		.counts.truncated_samples = 20,
		.labels = { [WINDOW_LABEL_COMM] = "cron" },
	};
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct streams streams = { 0 };

	(void)state;
	assert_int_equal(streams_add(&streams, &plain), 0);
	assert_int_equal(status_report_table(&report, &streams, &out), 0);
	assert_string_equal(
		strbuf_str(&out),
		"CONTAINER  PID  COMM  UNKNOWN%  CUT%  SAMPLES\n"
		"-            7  cron       0.0  25.0       80\n"
		"    25.0 % of its stacks are cut: code without frame pointers; build it "
		"with -fno-omit-frame-pointer\n"
		"lost on this host: nothing\n");
	streams_release(&streams);
}

static void status_report_names_who_set_the_flag(void **state)
{
	static const struct {
		uint32_t flag;
		uint32_t origin;
		const char *cell;
	} rows[] = {
		{ WINDOW_FLAG_ON, HOTSPOT_FLAG_COMMAND_LINE, "  on (command line)  " },
		{ WINDOW_FLAG_ON, HOTSPOT_FLAG_ENVIRONMENT, "  on (environment)  " },
		{ WINDOW_FLAG_ON, HOTSPOT_FLAG_ERGONOMIC, "  on (JVM)  " },
		{ WINDOW_FLAG_ON, 3, "  on (other)  " },
		{ WINDOW_FLAG_ON, HOTSPOT_FLAG_DEFAULT, "  on  " },
		{ WINDOW_FLAG_OFF, HOTSPOT_FLAG_COMMAND_LINE, "  off (command line)  " },
		{ WINDOW_FLAG_OFF, HOTSPOT_FLAG_DEFAULT, "  off  " },
		{ WINDOW_FLAG_UNKNOWN, HOTSPOT_FLAG_COMMAND_LINE, "  ?   " },
		{ 99, 99, "  ? (other)  " },
	};
	const struct status_report report = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__cleanup_strbuf struct strbuf out = STRBUF_INIT;
		struct streams streams = { 0 };
		struct window window = healthy;

		window.preserve_frame_pointer = rows[i].flag;
		window.preserve_frame_pointer_origin = rows[i].origin;
		assert_int_equal(streams_add(&streams, &window), 0);
		assert_int_equal(status_report_table(&report, &streams, &out), 0);
		assert_non_null(strstr(strbuf_str(&out), rows[i].cell));
		streams_release(&streams);
	}
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
		"\"memory\":0,\"cells\":0,\"undecided\":0,\"not_named\":0,\"cut\":0},\"opted_out_samples\":0,\"windows\":0,\"window_ms\":0,"
		"\"last_window_age_ms\":0,\"is_well\":1,\"host_problems\":[],\"store_problem\":\"\",\"streams\":[\n"
		"{\"pid\":42,\"ns_pid\":1,\"comm\":\"java\",\"container\":\"shop-1\","
		"\"jvm_version\":\"17.0.15\",\"is_jvm\":1,\"preserve_frame_pointer\":\"on\","
		"\"preserve_frame_pointer_from\":\"environment\","
		"\"jit_source\":\"attach\",\"jit_age_ms\":12345,\"jit_entries\":9000,"
		"\"attach\":\"ok\",\"attach_requests\":2,\"attach_command_ms\":30,\"samples\":100,"
		"\"frames\":1000,\"unknown_frames\":5,\"truncated_samples\":0,\"jit_frames\":800,"
		"\"unknown_jit_frames\":5,\"ambiguous_frames\":1,\"inlined_frames\":300,"
		"\"interpreted_frames\":20,\"jit_leaf_samples\":80,\"repaired_samples\":25,"
		"\"unrepaired_samples\":3,"
		"\"problems\":[]}\n"
		"]}\n");
	streams_release(&streams);
}

/* Late by more than three windows, or more than one sample of a hundred lost. */
static void status_report_tells_whether_the_host_is_well(void **state)
{
	static const struct {
		uint64_t age_s, samples, lost;
		const char *problems;
	} rows[] = {
		{ 0, 1000, 0, "" },
		{ 30, 1000, 10, "" },
		{ 31, 1000, 0, "no window was written for 31 s: is jbpfd running?\n" },
		{ 5, 1000, 11, "11 of 1011 samples were lost\n" },
		{ 99, 0, 1,
		  "no window was written for 99 s: is jbpfd running?\n1 of 1 samples were lost\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__cleanup_strbuf struct strbuf problems = STRBUF_INIT, json = STRBUF_INIT;
		const struct window host = {
			.start_unix_ns = 1700000000 * S,
			.duration_ns = 10 * S,
			.counts.samples = rows[i].samples,
			.lost = { [WINDOW_LOSS_STORE] = rows[i].lost,
				  [WINDOW_LOSS_OPTED_OUT] = 5000 },
		};
		const struct status_report report = {
			.now_unix_ns = (1700000010 + rows[i].age_s) * S,
		};
		struct streams streams = { 0 };

		assert_int_equal(streams_add(&streams, &host), 0);
		assert_int_equal(status_report_health(&report, &streams, &problems), 0);
		assert_string_equal(strbuf_str(&problems), rows[i].problems);
		assert_int_equal(status_report_json(&report, &streams, &json), 0);
		assert_true((strstr(json.data, "\"is_well\":1") != NULL) == !*rows[i].problems);
		streams_release(&streams);
	}
}

/* Of the latest host record: what was wrong before is over. */
static void what_is_not_well_with_the_store_is_shown_while_it_lasts(void **state)
{
	static const char problem[] = "the clock is off";
	const struct status_report report = { .now_unix_ns = 1700000020 * S };
	const struct window first = {
		.start_unix_ns = 1700000000 * S,
		.duration_ns = 10 * S,
		.counts.samples = 5,
		.labels = { [WINDOW_LABEL_STORE_PROBLEM] = problem },
	};
	struct window second = first;

	(void)state;
	second.start_unix_ns += 10 * S;
	for (int i = 0; i < 2; i++) {
		__cleanup_strbuf struct strbuf table = STRBUF_INIT, json = STRBUF_INIT;
		struct streams streams = { 0 };

		second.labels[WINDOW_LABEL_STORE_PROBLEM] = i ? NULL : problem;
		assert_int_equal(streams_add(&streams, &first), 0);
		assert_int_equal(streams_add(&streams, &second), 0);
		assert_int_equal(status_report_table(&report, &streams, &table), 0);
		assert_int_equal(status_report_json(&report, &streams, &json), 0);
		assert_true((strstr(table.data, "\nstore: the clock is off\n") != NULL) == !i);
		assert_non_null(strstr(json.data, i ? "\"store_problem\":\"\"" :
						      "\"store_problem\":\"the clock is off\""));
		streams_release(&streams);
	}
}

/* Every member of the text is in the document, and the other way round. */
static void the_document_and_the_json_have_the_same_members(void **state)
{
	const struct status_report report = { .now_unix_ns = 1 };
	__cleanup_strbuf struct strbuf json = STRBUF_INIT, document = STRBUF_INIT;
	struct streams streams = { 0 };
	char wanted[96];

	(void)state;
	assert_int_equal(streams_add(&streams, &healthy), 0);
	assert_int_equal(status_report_json(&report, &streams, &json), 0);
	streams_release(&streams);
	assert_int_equal(fs_read_file(AT_FDCWD, "user/cmd/STATUS-JSON.md", 1 << 20, &document), 0);
	for (const char *at = strbuf_str(&document); (at = strstr(at, "\n| `")); at++) {
		snprintf(wanted, sizeof(wanted), "\"%.*s\":", (int)strcspn(at + 4, "`"), at + 4);
		if (!strstr(json.data, wanted))
			fail_msg("%s is documented and is not there", wanted);
	}
	for (const char *at = json.data; (at = strstr(at, "\":")); at++) {
		const char *name = at;

		while (name[-1] != '"')
			name--;
		snprintf(wanted, sizeof(wanted), "\n| `%.*s` |", (int)(at - name), name);
		if (!strstr(document.data, wanted))
			fail_msg("%s is not documented", wanted + 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(status_report_is_a_table_with_advice_below_its_row),
		cmocka_unit_test(status_report_all_hides_nothing),
		cmocka_unit_test(status_report_without_jvms_has_no_columns_for_them),
		cmocka_unit_test(status_report_names_who_set_the_flag),
		cmocka_unit_test(status_report_is_json),
		cmocka_unit_test(what_is_not_well_with_the_store_is_shown_while_it_lasts),
		cmocka_unit_test(the_document_and_the_json_have_the_same_members),
		cmocka_unit_test(status_report_tells_whether_the_host_is_well),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
