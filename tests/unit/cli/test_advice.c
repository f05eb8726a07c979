// SPDX-License-Identifier: Apache-2.0
/* What jbpf advises about a process's stacks and names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "symbols/hotspot/hotspot_vm.h"
#include "symbols/symbols.h"
#include "user/cli/advice.h"
#include "user/collect/attach/jvm_attach.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

#define S 1000000000ull

/* A JVM with nothing to complain about. */
static const struct window healthy = {
	.start_unix_ns = 1700000000 * S,
	.duration_ns = 10 * S,
	.pid = 42,
	.counts.samples = 100,
	.counts.frames = 1000,
	.counts.jit_frames = 800,
	.counts.unknown_jit_frames = 5,
	.jit_source = JIT_SOURCE_ATTACH,
	.attach_outcome = JVM_ATTACH_OK,
	.preserve_frame_pointer = WINDOW_FLAG_ON,
	.preserve_frame_pointer_origin = HOTSPOT_FLAG_COMMAND_LINE,
	.is_jvm = 1,
	.labels = { [WINDOW_LABEL_COMM] = "java", [WINDOW_LABEL_CONTAINER] = "shop-1" },
};

static void find(const struct window *window, struct advice *out)
{
	struct streams streams = { 0 };

	assert_int_equal(streams_add(&streams, window), 0);
	advice_find(&streams.items[0], out);
	streams_release(&streams);
}

static void assert_only_line(const struct window *window, const char *expected)
{
	struct advice advice;

	find(window, &advice);
	assert_int_equal(advice.cnt, 1);
	assert_string_equal(advice.lines[0], expected);
}

static void healthy_jvms_get_no_advice(void **state)
{
	struct window window = healthy;
	struct advice advice;

	(void)state;
	find(&window, &advice);
	assert_int_equal(advice.cnt, 0);
	window.jit_source = JIT_SOURCE_VMSTRUCTS;
	window.attach_outcome = JVM_ATTACH_NONE;
	find(&window, &advice);
	assert_int_equal(advice.cnt, 0);
}

static void missing_flag_comes_first_and_alone(void **state)
{
	struct window window = healthy;

	(void)state;
	window.preserve_frame_pointer = WINDOW_FLAG_OFF;
	window.preserve_frame_pointer_origin = HOTSPOT_FLAG_DEFAULT;
	window.counts.truncated_samples = 90; /* a consequence: not told twice */
	assert_only_line(&window,
			 "JVM of container shop-1 (pid 42) runs without -XX:+PreserveFramePointer: "
			 "its stacks are cut after the first compiled frame; add "
			 "-XX:+PreserveFramePointer to JAVA_TOOL_OPTIONS and restart it");

	window.labels[WINDOW_LABEL_POD] = "shop-7d9f";
	assert_only_line(&window,
			 "JVM of pod shop-7d9f (pid 42) runs without -XX:+PreserveFramePointer: "
			 "its stacks are cut after the first compiled frame; add "
			 "-XX:+PreserveFramePointer to JAVA_TOOL_OPTIONS and restart it");
	window.labels[WINDOW_LABEL_POD] = window.labels[WINDOW_LABEL_CONTAINER] = NULL;
	assert_only_line(&window, "JVM with pid 42 runs without -XX:+PreserveFramePointer: "
				  "its stacks are cut after the first compiled frame; add "
				  "-XX:+PreserveFramePointer to JAVA_TOOL_OPTIONS and restart it");
}

static void a_jvm_that_is_whole_without_the_flag_needs_no_advice(void **state)
{
	struct window window = healthy;
	struct advice advice;

	(void)state;
	window.preserve_frame_pointer = WINDOW_FLAG_OFF;
	window.counts.truncated_samples = 5;
	find(&window, &advice);
	assert_int_equal(advice.cnt, 0);
	window.counts.truncated_samples = 6;
	find(&window, &advice);
	assert_int_equal(advice.cnt, 1);
}

static void flag_that_somebody_switched_off_is_changed_there(void **state)
{
	struct window window = healthy;

	(void)state;
	window.preserve_frame_pointer = WINDOW_FLAG_OFF;
	window.counts.truncated_samples = 90;
	window.preserve_frame_pointer_origin = HOTSPOT_FLAG_COMMAND_LINE;
	assert_only_line(&window,
			 "JVM of container shop-1 (pid 42) runs with -XX:-PreserveFramePointer on "
			 "its command line: its stacks are cut after the first compiled frame; "
			 "replace it there by -XX:+PreserveFramePointer and restart it");
	window.preserve_frame_pointer_origin = HOTSPOT_FLAG_ENVIRONMENT;
	assert_only_line(&window,
			 "JVM of container shop-1 (pid 42) gets -XX:-PreserveFramePointer from its "
			 "environment: its stacks are cut after the first compiled frame; replace "
			 "it in JAVA_TOOL_OPTIONS by -XX:+PreserveFramePointer and restart it");
}

static void long_names_do_not_push_the_advice_out(void **state)
{
	struct window window = healthy;
	struct advice advice;
	char name[2049];

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	window.preserve_frame_pointer = WINDOW_FLAG_OFF;
	window.counts.truncated_samples = 90;
	window.preserve_frame_pointer_origin = HOTSPOT_FLAG_DEFAULT;
	window.labels[WINDOW_LABEL_POD] = name;
	find(&window, &advice);
	assert_non_null(strstr(advice.lines[0], "JAVA_TOOL_OPTIONS and restart it"));
}

static void cut_stacks_get_the_next_likely_cause(void **state)
{
	struct window window = healthy;
	struct advice advice;

	(void)state;
	window.counts.truncated_samples = 20;
	assert_only_line(&window, "20.0 % of its stacks are cut although the JVM keeps frame "
				  "pointers: a native library does not; build it with "
				  "-fno-omit-frame-pointer");
	window.preserve_frame_pointer = WINDOW_FLAG_UNKNOWN;
	assert_only_line(&window, "20.0 % of its stacks are cut, and its flags could not be read: "
				  "if it runs without -XX:+PreserveFramePointer, add that to "
				  "JAVA_TOOL_OPTIONS and restart it");
	window.is_jvm = 0;
	assert_only_line(&window, "20.0 % of its stacks are cut: code without frame pointers; "
				  "build it with -fno-omit-frame-pointer");
	window.counts.truncated_samples = 5;
	find(&window, &advice);
	assert_int_equal(advice.cnt, 0);
}

#define BY_SIZES "by=rules java=frame_sizes tables=14 fp=0"

/* Each reason has its advice; the flag is advised where it alone helps. */
static void each_reason_has_its_advice(void **state)
{
	static const struct {
		const char *label;
		enum stack_end end;
		enum window_flag flag;
		const char *line; /* NULL: nothing is to be done, or it is said elsewhere */
	} rows[] = {
		{ BY_SIZES, STACK_END_UNPROVED_LEAF, WINDOW_FLAG_OFF,
		  "20.0 % of its stacks are cut behind a method that was being entered or left, or a "
		  "stub of the JVM, as its caller is not proved yet: nothing to do, they become "
		  "fewer" },
		{ BY_SIZES " none=no_information:ld-musl-x86_64.so.1", STACK_END_NO_RULE,
		  WINDOW_FLAG_OFF,
		  "20.0 % of its stacks end in ld-musl-x86_64.so.1, which has no unwind "
		  "information; use an image with glibc" },
		{ BY_SIZES " none=large:a.so none=no_information:b.so ends=no_rule:b.so",
		  STACK_END_NO_RULE, WINDOW_FLAG_ON,
		  "20.0 % of its stacks end in b.so, which has no unwind information; build it with "
		  "-fasynchronous-unwind-tables, or with -fno-omit-frame-pointer" },
		{ BY_SIZES " none=full:a.so none=large:b.so ends=no_rule:a.so", STACK_END_NO_RULE,
		  WINDOW_FLAG_OFF,
		  "20.0 % of its stacks end in a.so, which has no table: all room for them is in "
		  "use; run fewer different large programs on this host" },
		{ BY_SIZES " ends=no_rule:libcrypto.so.3", STACK_END_NO_RULE, WINDOW_FLAG_OFF,
		  "20.0 % of its stacks end in libcrypto.so.3, in code that its unwind information "
		  "says nothing of, such as hand-written assembly" },
		{ BY_SIZES " none=large:a.so none=large:b.so", STACK_END_NO_RULE, WINDOW_FLAG_OFF,
		  "20.0 % of its stacks end in code without unwind information; build it with "
		  "-fasynchronous-unwind-tables" },
		{ BY_SIZES " ends=bad_cfa:liar.so", STACK_END_BAD_CFA, WINDOW_FLAG_OFF,
		  "20.0 % of its stacks end at unwind information that cannot be used, in liar.so" },
		{ BY_SIZES, STACK_END_UNSUPPORTED, WINDOW_FLAG_OFF,
		  "20.0 % of its stacks end at unwind information that cannot be used" },
		{ BY_SIZES, STACK_END_NO_MAPPING, WINDOW_FLAG_OFF,
		  "20.0 % of its stacks end in code that lies in no known file: a library that was "
		  "just loaded, which clears in seconds, or code of a JIT compiler, which should "
		  "keep frame pointers" },
		{ BY_SIZES, STACK_END_JIT, WINDOW_FLAG_OFF,
		  "JVM of container shop-1 (pid 42) runs without -XX:+PreserveFramePointer: its "
		  "stacks are cut in compiled code; add -XX:+PreserveFramePointer to "
		  "JAVA_TOOL_OPTIONS and restart it" },
		{ BY_SIZES, STACK_END_MAX_RULES, WINDOW_FLAG_OFF,
		  "JVM of container shop-1 (pid 42) runs without -XX:+PreserveFramePointer: its "
		  "stacks are deeper than what is walked without frame pointers; add "
		  "-XX:+PreserveFramePointer to JAVA_TOOL_OPTIONS and restart it" },
		{ "by=rules java=unknown tables=9 fp=0", STACK_END_BAD_FP, WINDOW_FLAG_OFF,
		  "JVM of container shop-1 (pid 42) runs without -XX:+PreserveFramePointer: its "
		  "stacks are cut after the first compiled frame; add -XX:+PreserveFramePointer to "
		  "JAVA_TOOL_OPTIONS and restart it" },
		{ BY_SIZES, STACK_END_BAD_FP, WINDOW_FLAG_OFF,
		  "20.0 % of its stacks end at a frame pointer that leads nowhere: code without "
		  "unwind tables, such as that of a JIT compiler, uses the register for something "
		  "else; have it keep frame pointers" },
		{ "by=frame_pointers", STACK_END_BAD_FP, WINDOW_FLAG_OFF,
		  "20.0 % of its stacks are cut: its code keeps no frame pointers, and jbpfd walks by "
		  "nothing else; run jbpfd with --unwind auto, or the JVM with "
		  "-XX:+PreserveFramePointer where jbpfd --check knows no unwind tables" },
		{ "by=frame_pointers", STACK_END_NO_FP, WINDOW_FLAG_ON,
		  "20.0 % of its stacks are cut: its code keeps no frame pointers, and jbpfd walks by "
		  "nothing else; run jbpfd with --unwind auto, or build it with "
		  "-fno-omit-frame-pointer where jbpfd --check knows no unwind tables" },
		{ "by=rules java=frame_pointers", STACK_END_JIT, WINDOW_FLAG_ON,
		  "20.0 % of its stacks end in compiled code that was thrown away while it ran; it "
		  "clears when the JVM has warmed up" },
		{ BY_SIZES, STACK_END_MAX_DEPTH, WINDOW_FLAG_OFF,
		  "20.0 % of its stacks are deeper than --max-depth of jbpfd; raise it" },
		{ BY_SIZES, STACK_END_FAULT, WINDOW_FLAG_OFF,
		  "20.0 % of its stacks end where its memory could not be read: paged out, or no "
		  "stack at all" },
		{ BY_SIZES, STACK_END_NO_WALK, WINDOW_FLAG_OFF,
		  "20.0 % of its stacks have their interrupted function only: it is a 32-bit "
		  "program; use a 64-bit one" },
		{ BY_SIZES, STACK_END_FROZEN, WINDOW_FLAG_OFF, NULL },
		{ BY_SIZES, STACK_END_OVER_BUDGET, WINDOW_FLAG_OFF, NULL },
		{ BY_SIZES, STACK_END_LOST, WINDOW_FLAG_OFF, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct window window = healthy;
		struct advice advice;

		window.preserve_frame_pointer = rows[i].flag;
		window.preserve_frame_pointer_origin = HOTSPOT_FLAG_DEFAULT;
		window.counts.truncated_samples = window.counts.ends[rows[i].end] = 20;
		window.labels[WINDOW_LABEL_UNWIND] = rows[i].label;
		if (rows[i].line) {
			assert_only_line(&window, rows[i].line);
			continue;
		}
		find(&window, &advice);
		assert_int_equal(advice.cnt, 0);
	}
}

/* Five reasons with a fifth each, and what is wrong with its names: the lines end, nothing else does. */
static void several_reasons_have_a_line_each(void **state)
{
	struct window window = healthy;
	struct advice advice;

	(void)state;
	window.labels[WINDOW_LABEL_UNWIND] = BY_SIZES;
	window.preserve_frame_pointer = WINDOW_FLAG_OFF;
	window.counts.truncated_samples = 100;
	for (int i = STACK_END_ROOT + 1; i < STACK_END_CNT; i++)
		window.counts.ends[i] = 7;
	find(&window, &advice);
	assert_int_equal(advice.cnt, ADVICE_LINES_MAX);
	assert_non_null(strstr(advice.lines[0], "PreserveFramePointer"));
	for (size_t i = 1; i < advice.cnt; i++)
		assert_null(strstr(advice.lines[i], "PreserveFramePointer"));
}

static void missing_names_have_a_reason(void **state)
{
	struct window window = healthy;
	struct advice advice;

	(void)state;
	window.jit_source = JIT_SOURCE_NONE;
	window.attach_outcome = JVM_ATTACH_NONE;
	assert_only_line(&window, "no names of compiled code yet: jbpfd has not asked this JVM");

	window.labels[WINDOW_LABEL_JIT_PROBLEM] = "the map is a symlink";
	assert_only_line(&window, "no names of compiled code: the map is a symlink");

	window.attach_outcome = JVM_ATTACH_NO_SIGNAL;
	find(&window, &advice);
	assert_int_equal(advice.cnt, 1);
	assert_non_null(strstr(advice.lines[0], jvm_attach_outcome_text(JVM_ATTACH_NO_SIGNAL)));

	window.labels[WINDOW_LABEL_JIT_FALLBACK] = "unknown layout";
	find(&window, &advice);
	assert_int_equal(advice.cnt, 2);
	assert_string_equal(advice.lines[1], "its own tables do not name its code: unknown layout");
}

static void names_that_could_be_better_have_a_reason(void **state)
{
	struct window window = healthy;

	(void)state;
	window.labels[WINDOW_LABEL_JIT_FALLBACK] = "unknown layout";
	assert_only_line(&window, "a perf map names its code, not its own tables: unknown layout");
	window.jit_source = JIT_SOURCE_VMSTRUCTS;
	assert_only_line(&window,
			 "its own tables name its code, but not all of it: unknown layout");
}

static void unnamed_code_is_explained_by_its_source(void **state)
{
	struct window window = healthy;

	(void)state;
	window.counts.unknown_jit_frames = 80;
	assert_only_line(&window, "10.0 % of its compiled frames have no name: they were compiled "
				  "after the map was read; it clears when the JVM has warmed up");
	window.jit_source = JIT_SOURCE_VMSTRUCTS;
	assert_only_line(&window, "10.0 % of its compiled frames have no name: the code was gone "
				  "before it was read; it clears when the JVM has warmed up");
	window.counts.ambiguous_frames = 48;
	assert_only_line(&window,
			 "6.0 % of its compiled frames were replaced while they were sampled and "
			 "are not named; it clears when the JVM has warmed up");
}

static void what_never_clears_is_not_said_to(void **state)
{
	struct window window = healthy;

	(void)state;
	window.process_start_ns = S;
	window.start_boot_ns = 2 * 3600 * S;
	window.jit_source = JIT_SOURCE_VMSTRUCTS;
	window.counts.unknown_jit_frames = 80;
	assert_only_line(&window,
			 "10.0 % of its compiled frames have no name: the code was gone before it "
			 "was read; it has run for long and still replaces its code: classes that "
			 "an agent redefines, or a code cache that is full "
			 "(-XX:ReservedCodeCacheSize)");
	window.start_boot_ns = 60 * S;
	assert_only_line(&window, "10.0 % of its compiled frames have no name: the code was gone "
				  "before it was read; it clears when the JVM has warmed up");
}

static void what_is_in_no_container_is_not_said_to_be_in_one(void **state)
{
	struct window window = healthy;

	(void)state;
	window.labels[WINDOW_LABEL_COST] = "CPU time of jbpfd for it: 0.3 s";
	assert_only_line(&window, "its container is within its budget, but uses much: CPU time of "
				  "jbpfd for it: 0.3 s");
	window.labels[WINDOW_LABEL_CONTAINER] = NULL;
	assert_only_line(&window, "its cgroup is within its budget, but uses much: CPU time of "
				  "jbpfd for it: 0.3 s");
}

static void stripped_native_code_is_told_from_compiled_code(void **state)
{
	struct window window = healthy;
	struct advice advice;

	(void)state;
	window.counts.unknown_frames = 205; /* 5 of them in compiled code */
	assert_only_line(&window,
			 "20.0 % of its frames are in native code without symbols, such "
			 "as a stripped libjvm.so; install its debug symbols in the image");
	window.is_jvm = 0;
	assert_only_line(&window, "20.0 % of its frames are in native code without symbols; "
				  "install its debug symbols in the image");
	window.counts.unknown_frames = 3; /* fewer than the compiled ones: nonsense */
	find(&window, &advice);
	assert_int_equal(advice.cnt, 0);
}

static void few_samples_are_no_ground_for_advice(void **state)
{
	struct window window = healthy;
	struct advice advice;

	(void)state;
	window.counts.samples = window.counts.truncated_samples = 19;
	window.counts.unknown_frames = window.counts.frames;
	window.counts.unknown_jit_frames = window.counts.ambiguous_frames =
		window.counts.jit_frames;
	find(&window, &advice);
	assert_int_equal(advice.cnt, 0);
	window.preserve_frame_pointer = WINDOW_FLAG_OFF; /* all are cut: no chance */
	find(&window, &advice);
	assert_int_equal(advice.cnt, 1);
}

static void values_of_a_later_version_do_no_harm(void **state)
{
	struct window window = healthy;
	struct advice advice;

	(void)state;
	window.jit_source = 77;
	window.attach_outcome = 4711;
	window.preserve_frame_pointer = 99;
	window.preserve_frame_pointer_origin = 99;
	find(&window, &advice);
	assert_int_equal(advice.cnt, 0);
	window.jit_source = JIT_SOURCE_NONE;
	find(&window, &advice);
	assert_int_equal(advice.cnt, 1);
}

static void everything_at_once_fits(void **state)
{
	struct window window = healthy;
	struct advice advice;

	(void)state;
	window.preserve_frame_pointer = WINDOW_FLAG_OFF;
	window.counts.ambiguous_frames = window.counts.unknown_jit_frames = 800;
	window.counts.truncated_samples = 100;
	window.labels[WINDOW_LABEL_JIT_FALLBACK] = "f";
	find(&window, &advice);
	assert_int_equal(advice.cnt, 3);
}

static void warning_names_the_busiest_jvm_and_counts_the_others(void **state)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct streams streams = { 0 };
	struct window window = healthy;

	(void)state;
	assert_int_equal(streams_add(&streams, &window), 0);
	assert_int_equal(advice_frame_pointers(&streams, &out), 0);
	assert_int_equal(out.len, 0);

	window.preserve_frame_pointer = WINDOW_FLAG_OFF;
	window.counts.truncated_samples = 90;
	window.preserve_frame_pointer_origin = HOTSPOT_FLAG_DEFAULT;
	window.pid = 43;
	window.labels[WINDOW_LABEL_CONTAINER] = "evil\033[2J";
	assert_int_equal(streams_add(&streams, &window), 0);
	assert_int_equal(advice_frame_pointers(&streams, &out), 0);
	assert_string_equal(
		strbuf_str(&out),
		"JVM of container evil_[2J (pid 43) runs without "
		"-XX:+PreserveFramePointer: its stacks are cut after the first compiled "
		"frame; add -XX:+PreserveFramePointer to JAVA_TOOL_OPTIONS and restart it");

	window.pid = 44;
	window.counts.samples = 101;
	assert_int_equal(streams_add(&streams, &window), 0);
	window.pid = 45;
	window.counts.samples = 0; /* nothing of it is shown */
	assert_int_equal(streams_add(&streams, &window), 0);
	strbuf_clear(&out);
	assert_int_equal(advice_frame_pointers(&streams, &out), 0);
	assert_non_null(strstr(strbuf_str(&out), "(pid 44)"));
	assert_non_null(strstr(strbuf_str(&out), " (and 1 more like it; see jbpf status)"));
	streams_release(&streams);
}

static void brief_programs_that_are_gone_are_not_warned_of(void **state)
{
	static const struct {
		uint64_t lived_s, silent_s;
		bool is_warned_of;
	} rows[] = {
		{ 599, 21, false },
		{ 599, 20, true },
		{ 601, 3600, true },
		{ 0, 3600, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__cleanup_strbuf struct strbuf out = STRBUF_INIT;
		struct streams streams = { 0 };
		struct window window = healthy, host = { .duration_ns = 10 * CLOCK_NS_PER_S };

		window.preserve_frame_pointer = WINDOW_FLAG_OFF;
		window.counts.truncated_samples = 90;
		window.start_unix_ns = 5000 * CLOCK_NS_PER_S;
		window.duration_ns = 10 * CLOCK_NS_PER_S;
		window.start_boot_ns = 4000 * CLOCK_NS_PER_S;
		/* 0: when it began is not known. */
		window.process_start_ns =
			rows[i].lived_s ? (4000 - rows[i].lived_s) * CLOCK_NS_PER_S : 0;
		host.start_unix_ns = window.start_unix_ns + rows[i].silent_s * CLOCK_NS_PER_S;
		assert_int_equal(streams_add(&streams, &window), 0);
		assert_int_equal(streams_add(&streams, &host), 0);
		assert_int_equal(advice_frame_pointers(&streams, &out), 0);
		if ((out.len > 0) != rows[i].is_warned_of)
			fail_msg("row %zu: '%s'", i, strbuf_str(&out));
		streams_release(&streams);
	}
}

static void warning_of_nothing_is_nothing(void **state)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	const struct streams streams = { 0 };

	(void)state;
	assert_int_equal(advice_frame_pointers(&streams, &out), 0);
	assert_int_equal(out.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(healthy_jvms_get_no_advice),
		cmocka_unit_test(missing_flag_comes_first_and_alone),
		cmocka_unit_test(a_jvm_that_is_whole_without_the_flag_needs_no_advice),
		cmocka_unit_test(flag_that_somebody_switched_off_is_changed_there),
		cmocka_unit_test(long_names_do_not_push_the_advice_out),
		cmocka_unit_test(cut_stacks_get_the_next_likely_cause),
		cmocka_unit_test(each_reason_has_its_advice),
		cmocka_unit_test(several_reasons_have_a_line_each),
		cmocka_unit_test(missing_names_have_a_reason),
		cmocka_unit_test(names_that_could_be_better_have_a_reason),
		cmocka_unit_test(unnamed_code_is_explained_by_its_source),
		cmocka_unit_test(what_never_clears_is_not_said_to),
		cmocka_unit_test(what_is_in_no_container_is_not_said_to_be_in_one),
		cmocka_unit_test(stripped_native_code_is_told_from_compiled_code),
		cmocka_unit_test(few_samples_are_no_ground_for_advice),
		cmocka_unit_test(values_of_a_later_version_do_no_harm),
		cmocka_unit_test(everything_at_once_fits),
		cmocka_unit_test(warning_names_the_busiest_jvm_and_counts_the_others),
		cmocka_unit_test(brief_programs_that_are_gone_are_not_warned_of),
		cmocka_unit_test(warning_of_nothing_is_nothing),
	};

	return cmocka_run_group_tests_name("cmd_advice", tests, NULL, NULL);
}
