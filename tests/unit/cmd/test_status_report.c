// SPDX-License-Identifier: Apache-2.0
/* How jbpf status looks. What it advises: test_advice.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
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
	cut.counts.truncated_samples = 90;
	cut.counts.ends[STACK_END_JIT] = 90;
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
	const struct status_report report = { .state_err = -ENOENT };
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
		"90.0     0.1      30.0      2.0       25.0          3.0      100\n"
		"    stacks whole 10.0 %; the rest: jit 90.0 %\n"
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
	const struct status_report report = { .all = true, .state_err = -ENOENT };
	const struct window plain = {
		.start_unix_ns = 1700000000 * S,
		.pid = 7,
		.counts.samples = 80,
		.counts.frames = 100,
		.counts.truncated_samples = 20,
		.counts.ends = { [STACK_END_FAULT] = 4, [STACK_END_NO_RULE] = 16 },
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
		"    stacks whole 75.0 %; the rest: no_rule 20.0 %, fault 5.0 %\n"
		"    20.0 % of its stacks end in code without unwind information; build it with "
		"-fasynchronous-unwind-tables\n"
		"lost on this host: nothing\n");
	streams_release(&streams);
}

/* A JVM on musl: of whom jbpfd knows how it is walked, and where that ends. */
static const char walk_label[] =
	"by=rules java=frame_sizes tables=14 fp=1 none=no_information:ld-musl-x86_64.so.1 "
	"none=large:evil%0a.so more=3 ends=no_rule:ld-musl-x86_64.so.1";

static void fill_walk(struct streams *streams, uint64_t cut_samples)
{
	struct window window = healthy;
	const struct window host = {
		.counts.samples = 100,
		.labels = { [WINDOW_LABEL_UNWIND] =
				    "tables=12 bytes=1048576 evicted=2 leafs_proved=77 "
				    "leafs_refuted=1 refused=large:1 refused=full:20" },
	};

	window.counts.truncated_samples = window.counts.ends[STACK_END_NO_RULE] = cut_samples;
	window.preserve_frame_pointer = WINDOW_FLAG_OFF;
	window.labels[WINDOW_LABEL_UNWIND] = walk_label;
	assert_int_equal(streams_add(streams, &window), 0);
	assert_int_equal(streams_add(streams, &host), 0);
}

static void how_stacks_are_walked_is_told_of_each_jvm_and_of_the_host(void **state)
{
	const struct status_report report = { 0 };
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct streams streams = { 0 };

	(void)state;
	fill_walk(&streams, 20);
	assert_int_equal(status_report_table(&report, &streams, &out), 0);
	assert_non_null(strstr(
		out.data,
		"    walked by the tables of 14 files and the frame pointers of 1; Java by the sizes of "
		"its frames; without: ld-musl-x86_64.so.1 (has no unwind information), evil_.so "
		"(has more unwind information than a table holds) and 3 more; stacks ended in "
		"ld-musl-x86_64.so.1 (no_rule)\n"
		"    stacks whole 80.0 %; the rest: no_rule 20.0 %\n"
		"    20.0 % of its stacks end in ld-musl-x86_64.so.1, which has no unwind "
		"information; use an image with glibc\n"));
	assert_non_null(strstr(out.data,
			       "\nunwind tables on this host: 12, 1.0 MiB; leaf rules proved: 77, "
			       "samples with a wrong caller cut: 1; evicted: 2; refused: large 1, "
			       "full 20\n"));
	assert_null(strstr(out.data, "PreserveFramePointer"));
	streams_release(&streams);
}

/* Each row: all, samples of the second process that were cut, what is said. */
static void the_check_says_by_what_jvms_are_walked(void **state)
{
	static const char jvm[] =
		"java 42 in shop-1: 80.0 % of 100 stacks whole; walked by the tables of 14 files and "
		"the frame pointers of 1; Java by the sizes of its frames; without: "
		"ld-musl-x86_64.so.1 (has no unwind information), evil_.so (has more unwind "
		"information than a table holds) and 3 more; stacks ended in ld-musl-x86_64.so.1 "
		"(no_rule)\n";
	static const char plain[] =
		"cron 7: 75.0 % of 80 stacks whole; not known yet how they are walked\n";
	static const struct {
		bool all;
		uint64_t cut;
		bool is_told;
	} rows[] = { { false, 20, false }, { true, 20, true }, { true, 0, false } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct status_report report = { .all = rows[i].all };
		const struct window other = {
			.start_unix_ns = 1700000000 * S,
			.pid = 7,
			.counts.samples = 80,
			.counts.truncated_samples = rows[i].cut,
			.labels = { [WINDOW_LABEL_COMM] = "cron" },
		};
		__cleanup_strbuf struct strbuf out = STRBUF_INIT;
		struct streams streams = { 0 };

		fill_walk(&streams, 20);
		assert_int_equal(streams_add(&streams, &other), 0);
		assert_int_equal(status_report_walks(&report, &streams, &out), 0);
		assert_memory_equal(out.data, jvm, strlen(jvm));
		assert_string_equal(out.data + strlen(jvm), rows[i].is_told ? plain : "");
		streams_release(&streams);
	}
}

static void how_stacks_are_walked_is_in_the_json(void **state)
{
	const struct status_report report = { 0 };
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct streams streams = { 0 };

	(void)state;
	fill_walk(&streams, 20);
	assert_int_equal(status_report_json(&report, &streams, &out), 0);
	assert_non_null(strstr(
		out.data,
		"\"walk\":{\"by\":\"rules\",\"java\":\"frame_sizes\",\"files_with_table\":14,"
		"\"files_by_frame_pointers\":1,\"files_without_table\":5,\"without_table\":["
		"{\"file\":\"ld-musl-x86_64.so.1\",\"why\":\"no_information\"},"
		"{\"file\":\"evil_.so\",\"why\":\"large\"}],"
		"\"ended_in\":[{\"file\":\"ld-musl-x86_64.so.1\",\"why\":\"no_rule\"}]}"));
	assert_non_null(strstr(out.data,
			       "\"unwind\":{\"tables\":12,\"bytes\":1048576,\"evicted\":2,"
			       "\"leafs_proved\":77,\"leafs_refuted\":1,\"refused\":"
			       "{\"large\":1,\"damaged\":0,\"unreadable\":0,\"share\":0,"
			       "\"full\":20,\"kernel\":0}}"));
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
		.state_err = -ENOENT,
	};
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct streams streams = { 0 };

	(void)state;
	assert_int_equal(streams_add(&streams, &healthy), 0);
	assert_int_equal(status_report_json(&report, &streams, &out), 0);
	assert_string_equal(
		strbuf_str(&out),
		"{\"format\":\"jbpf-status\",\"version\":1,\"since\":\"2023-11-14T22:13:20Z\","
		"\"until\":\"2023-11-14T22:14:20Z\",\"event\":\"cpu\",\"events\":{},\"samples\":0,\"lost\":{\"counts_full\":0,"
		"\"no_map\":0,\"stack_buffer\":0,\"notices\":0,\"kernel_stack\":0,\"store\":0,"
		"\"memory\":0,\"cells\":0,\"undecided\":0,\"not_named\":0,\"cut\":0,\"given_up\":0,\"passes\":0},\"opted_out_samples\":0,\"windows\":0,\"window_ms\":0,"
		"\"last_window_age_ms\":0,\"is_well\":0,\"host_problems\":[\"jbpfd was stopped 0 s ago\"],\"jbpfd\":null,\"store_problem\":\"\",\"naming_problem\":\"\",\"unwind\":null,\"streams\":[\n"
		"{\"pid\":42,\"ns_pid\":1,\"comm\":\"java\",\"container\":\"shop-1\","
		"\"jvm_version\":\"17.0.15\",\"is_jvm\":1,\"preserve_frame_pointer\":\"on\","
		"\"preserve_frame_pointer_from\":\"environment\","
		"\"jit_source\":\"attach\",\"jit_age_ms\":12345,\"jit_entries\":9000,"
		"\"attach\":\"ok\",\"attach_requests\":2,\"attach_command_ms\":30,\"walk\":null,\"samples\":100,"
		"\"frames\":1000,\"unknown_frames\":5,\"truncated_samples\":0,\"jit_frames\":800,"
		"\"unknown_jit_frames\":5,\"ambiguous_frames\":1,\"inlined_frames\":300,"
		"\"interpreted_frames\":20,\"jit_leaf_samples\":80,\"repaired_samples\":25,"
		"\"unrepaired_samples\":3,\"truncated_by\":{},"
		"\"problems\":[]}\n"
		"]}\n");
	streams_release(&streams);
}

/* When it ends in order it takes what it says of itself with it. */
static void a_jbpfd_that_was_stopped_is_not_well_at_once(void **state)
{
	static const struct {
		uint64_t duration_s, age_s;
		const char *problem;
	} rows[] = {
		{ 10, 3, "jbpfd was stopped 3 s ago\n" },
		{ 1, 4, "jbpfd was stopped 4 s ago\n" },
		{ 10, 4000, "jbpfd was stopped 4000 s ago\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__cleanup_strbuf struct strbuf problems = STRBUF_INIT;
		const struct window host = {
			.start_unix_ns = 1700000000 * S,
			.duration_ns = rows[i].duration_s * S,
			.counts.samples = 1000,
		};
		const struct status_report report = {
			.now_unix_ns = (1700000000 + rows[i].duration_s + rows[i].age_s) * S,
			.state_err = -ENOENT,
		};
		struct streams streams = { 0 };

		assert_int_equal(streams_add(&streams, &host), 0);
		assert_int_equal(status_report_health(&report, &streams, &problems), 0);
		assert_string_equal(strbuf_str(&problems), rows[i].problem);
		streams_release(&streams);
	}
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
		  "no window was written for 99 s: is jbpfd running?\n1 of 1 sample was lost\n" },
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

/* The store is late: does jbpfd run, and what is known of it? */
static void what_jbpfd_says_of_itself_is_told_with_its_age(void **state)
{
	static const struct {
		int err;
		uint64_t age_s;
		const char *line, *problem, *json;
	} rows[] = {
		{ 0, 4, "\njbpfd: v1_[2J, started ", ", though jbpfd runs",
		  "\"jbpfd\":{\"jbpfd_version\":\"v1_[2J\",\"runs\":1,\"said_age_ms\":4000,"
		  "\"started\":\"2023-11-14T22:13:20Z\",\"cpu_ms\":2500,\"resident_bytes\":3145728,"
		  "\"windows_written\":1,\"windows_failed\":2,"
		  "\"unsampled_cpus\":0}" },
		{ 0, 400, "\njbpfd: said nothing for 400 s: is it running? It was v1_[2J, started ",
		  ": is jbpfd running?", "\"runs\":0,\"said_age_ms\":400000," },
		{ -ENOENT, 0, "lost on this host: nothing\n", "jbpfd was stopped 990 s ago",
		  "\"jbpfd\":null" },
		{ -EBADMSG, 0, "\njbpfd: what it says of itself is damaged", ": is jbpfd running?",
		  "\"jbpfd\":null" },
		{ -EPROTONOSUPPORT, 0, "\njbpfd: what it says of itself is of another version",
		  ": is jbpfd running?", "\"jbpfd\":null" },
		{ -EACCES, 0, "\njbpfd: what it says of itself may not be read by this user",
		  ": is jbpfd running?", "\"jbpfd\":null" },
	};
	const struct window host = {
		.start_unix_ns = 1700000000 * S,
		.duration_ns = 10 * S,
		.counts.samples = 1000,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__cleanup_strbuf struct strbuf table = STRBUF_INIT, json = STRBUF_INIT,
					       problems = STRBUF_INIT;
		struct status_report report = {
			.now_unix_ns = 1700001000 * S,
			.state_err = rows[i].err,
			.state = {
				.written_unix_ns = (1700001000 - rows[i].age_s) * S,
				.start_unix_ns = 1700000000 * S,
				.window_ns = 10 * S,
				.cpu_ns = 5 * S / 2,
				.resident_bytes = 3 << 20,
				.windows_written = 1,
				.windows_failed = 2,
				.version = "v1\033[2J",
			},
		};
		struct streams streams = { 0 };

		assert_int_equal(streams_add(&streams, &host), 0);
		assert_int_equal(status_report_runs(&report), i == 0);
		assert_int_equal(status_report_table(&report, &streams, &table), 0);
		assert_non_null(strstr(table.data, rows[i].line));
		assert_true((strstr(table.data, "\njbpfd: ") != NULL) == (rows[i].err != -ENOENT));
		assert_true(
			(strstr(table.data, " % of a CPU, 3.0 MiB; 1 window written, 2 not\n") !=
			 NULL) == !rows[i].err);
		assert_int_equal(status_report_json(&report, &streams, &json), 0);
		assert_non_null(strstr(json.data, rows[i].json));
		assert_int_equal(status_report_health(&report, &streams, &problems), 0);
		assert_non_null(strstr(problems.data, rows[i].problem));
		streams_release(&streams);
	}
}

/* It gave up the right to sample CPUs that come later; one that is back after it was off is such. */
static void cpus_that_are_not_sampled_are_not_well_while_jbpfd_runs(void **state)
{
	static const struct {
		uint64_t cpus, age_s;
		const char *problem;
	} rows[] = {
		{ 0, 4, "" },
		{ 1, 4,
		  "1 CPU that came online later is not sampled: restart jbpfd, which gave up the "
		  "right to\n" },
		{ 3, 4,
		  "3 CPUs that came online later are not sampled: restart jbpfd, which gave up the "
		  "right to\n" },
		{ 3, 400, "" },
	};
	const struct window host = {
		.start_unix_ns = 1700000990 * S,
		.duration_ns = 10 * S,
		.counts.samples = 1000,
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__cleanup_strbuf struct strbuf json = STRBUF_INIT, problems = STRBUF_INIT;
		const struct status_report report = {
			.now_unix_ns = 1700001000 * S,
			.state = {
				.written_unix_ns = (1700001000 - rows[i].age_s) * S,
				.start_unix_ns = 1700000000 * S,
				.window_ns = 10 * S,
				.unsampled_cpus = rows[i].cpus,
			},
		};
		struct streams streams = { 0 };

		assert_int_equal(streams_add(&streams, &host), 0);
		assert_int_equal(status_report_health(&report, &streams, &problems), 0);
		assert_string_equal(strbuf_str(&problems), rows[i].problem);
		assert_int_equal(status_report_json(&report, &streams, &json), 0);
		assert_non_null(strstr(json.data, rows[i].cpus ? "\"unsampled_cpus\":" :
								 "\"unsampled_cpus\":0}"));
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

/* Of the last window; names of others reach no terminal as they are. */
static void naming_that_is_dead_is_not_well_while_it_lasts(void **state)
{
	static const char problem[] = "naming is dead: \033[2J of /shop";
	const struct status_report report = { .now_unix_ns = 1700000020 * S };
	const struct window first = {
		.start_unix_ns = 1700000000 * S,
		.duration_ns = 10 * S,
		.counts.samples = 5,
		.labels = { [WINDOW_LABEL_NAMING_PROBLEM] = problem },
	};
	struct window second = first;

	(void)state;
	second.start_unix_ns += 10 * S;
	for (int i = 0; i < 2; i++) {
		__cleanup_strbuf struct strbuf table = STRBUF_INIT, json = STRBUF_INIT,
					       health = STRBUF_INIT;
		struct streams streams = { 0 };

		second.labels[WINDOW_LABEL_NAMING_PROBLEM] = i ? NULL : problem;
		assert_int_equal(streams_add(&streams, &first), 0);
		assert_int_equal(streams_add(&streams, &second), 0);
		assert_int_equal(status_report_health(&report, &streams, &health), 0);
		assert_int_equal(status_report_table(&report, &streams, &table), 0);
		assert_int_equal(status_report_json(&report, &streams, &json), 0);
		assert_true((strncmp(strbuf_str(&health), "naming is dead: ", 16) == 0) == !i);
		assert_null(strchr(strbuf_str(&health), 033));
		assert_true((strstr(table.data, "\nnaming: naming is dead: ") != NULL) == !i);
		assert_null(strchr(table.data, 033));
		assert_true((strstr(json.data, "\"is_well\":1") != NULL) == i);
		streams_release(&streams);
	}
}

/* Where there is nothing but CPU time nobody has to read of events. */
static void events_are_told_when_there_are_several(void **state)
{
	struct status_report report = {
		.now_unix_ns = 1,
		.events = { [EVENT_CPU] = { .is_stored = true, .is_on = true, .samples = 7 } },
	};
	__cleanup_strbuf struct strbuf alone = STRBUF_INIT, table = STRBUF_INIT, json = STRBUF_INIT;
	struct streams streams = { 0 };

	(void)state;
	assert_int_equal(streams_add(&streams, &healthy), 0);
	assert_int_equal(status_report_table(&report, &streams, &alone), 0);
	assert_null(strstr(alone.data, "event"));
	report.events[EVENT_PAGE_FAULTS] = (struct status_event){
		.is_stored = true, .is_on = true, .samples = 9, .period = 64
	};
	report.events[EVENT_MAJOR_FAULTS].is_stored = true;
	assert_int_equal(status_report_table(&report, &streams, &table), 0);
	assert_non_null(strstr(table.data, "\nevent cpu: on, 7 samples\n"
					   "event page-faults: on, 9 samples, one for 64 faults\n"
					   "event major-faults: off (jbpfd --event)\n"));
	assert_int_equal(status_report_json(&report, &streams, &json), 0);
	assert_non_null(strstr(json.data, "\"page-faults\":{\"on\":1,\"samples\":9,"
					  "\"unit\":\"faults\",\"period\":64,"
					  "\"truncated_samples\":0}"));
	streams_release(&streams);
}

/* What it cost to visit waiting threads, how whole their stacks are, and what went wrong. */
static void passes_are_told_of_off_cpu(void **state)
{
	struct status_report report = {
		.now_unix_ns = 1,
		.events = { [EVENT_OFF_CPU] = { .is_stored = true,
						.is_on = true,
						.samples = 200,
						.period = 100000000,
						.counts = { .samples = 200,
							    .truncated_samples = 1 },
						.has_passes = true,
						.passes = { .passes = 99,
							    .threads = 412,
							    .cpu_ppm = 2100 },
						.put_off = 5 } },
	};
	struct status_event *event = &report.events[EVENT_OFF_CPU];
	__cleanup_strbuf struct strbuf table = STRBUF_INIT, json = STRBUF_INIT;
	struct streams streams = { 0 };

	(void)state;
	assert_int_equal(streams_add(&streams, &healthy), 0);
	assert_int_equal(status_report_table(&report, &streams, &table), 0);
	assert_non_null(strstr(table.data,
			       "event off-cpu: on, 200 samples, one for 100 ms of waiting, "
			       "stacks whole 99.5 %; 412 threads, 0.21 % of a CPU, 5 samples "
			       "waited for their stacks; how long threads waited for a CPU is "
			       "not known\n"));
	event->put_off = 0;
	event->passes.has_run_delay = 1;
	event->counts.run_delay_ns = 1234567890;
	event->passes.restarts = 2;
	event->passes.unread = 1;
	strbuf_clear(&table);
	assert_int_equal(status_report_table(&report, &streams, &table), 0);
	assert_non_null(strstr(table.data,
			       "0.21 % of a CPU, its process was begun again 2 times, the "
			       "memory of 1 process is not read; threads waited 1.23 s for a "
			       "CPU\n"));
	assert_int_equal(status_report_json(&report, &streams, &json), 0);
	assert_non_null(strstr(json.data, "\"truncated_samples\":1,\"passes\":99,\"threads\":412,"
					  "\"cpu_ppm\":2100,\"put_off_samples\":0,\"restarts\":2,"
					  "\"unread_processes\":1,"
					  "\"run_delay_ns\":1234567890,"
					  "\"virtual_thread_jvms\":0}"));
	streams_release(&streams);
}

/* Nobody outside of a JVM sees parked virtual threads: it is said where there may be some, and only there. */
static void virtual_threads_that_no_pass_sees_are_said(void **state)
{
	static const struct {
		const char *version;
		bool is_said;
	} jvms[] = { { "25.402-b06", false },
		     { "17.0.15", false },
		     { "21.0.1", true },
		     { "25.0.5+8", true } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(jvms); i++) {
		struct status_report report = {
			.now_unix_ns = 1,
			.events = { [EVENT_OFF_CPU] = { .is_stored = true } },
		};
		__cleanup_strbuf struct strbuf off = STRBUF_INIT, on = STRBUF_INIT,
					       json = STRBUF_INIT;
		struct streams streams = { 0 };
		struct window jvm = healthy;

		jvm.labels[WINDOW_LABEL_JVM_VERSION] = jvms[i].version;
		assert_int_equal(streams_add(&streams, &jvm), 0);
		assert_int_equal(status_report_table(&report, &streams, &off), 0);
		assert_null(strstr(off.data, "virtual"));
		report.events[EVENT_OFF_CPU].is_on = true;
		assert_int_equal(status_report_table(&report, &streams, &on), 0);
		assert_int_equal(strstr(on.data, "\nnot seen: what parked virtual threads wait "
						 "for, as they are on no thread; 1 JVM here can "
						 "have some (JDK 21 and later)\n") != NULL,
				 jvms[i].is_said);
		assert_int_equal(status_report_json(&report, &streams, &json), 0);
		assert_non_null(strstr(json.data, jvms[i].is_said ? "\"virtual_thread_jvms\":1}" :
								    "\"virtual_thread_jvms\":0}"));
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
	fill_walk(&streams, 0);
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
		cmocka_unit_test(how_stacks_are_walked_is_told_of_each_jvm_and_of_the_host),
		cmocka_unit_test(the_check_says_by_what_jvms_are_walked),
		cmocka_unit_test(how_stacks_are_walked_is_in_the_json),
		cmocka_unit_test(status_report_names_who_set_the_flag),
		cmocka_unit_test(status_report_is_json),
		cmocka_unit_test(cpus_that_are_not_sampled_are_not_well_while_jbpfd_runs),
		cmocka_unit_test(what_is_not_well_with_the_store_is_shown_while_it_lasts),
		cmocka_unit_test(naming_that_is_dead_is_not_well_while_it_lasts),
		cmocka_unit_test(events_are_told_when_there_are_several),
		cmocka_unit_test(passes_are_told_of_off_cpu),
		cmocka_unit_test(virtual_threads_that_no_pass_sees_are_said),
		cmocka_unit_test(what_jbpfd_says_of_itself_is_told_with_its_age),
		cmocka_unit_test(the_document_and_the_json_have_the_same_members),
		cmocka_unit_test(status_report_tells_whether_the_host_is_well),
		cmocka_unit_test(a_jbpfd_that_was_stopped_is_not_well_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
