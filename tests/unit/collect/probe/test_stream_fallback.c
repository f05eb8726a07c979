// SPDX-License-Identifier: Apache-2.0
/* Where one stream ends and the next begins, and what is kept of one that nobody could name. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "user/collect/probe/stream_fallback.h"

static void a_stream_is_a_run_of_counts_of_one_process_in_one_cgroup(void **state)
{
	const struct probe_count counts[] = {
		{ .key = { .start_ns = 1, .pid = 1, .user_hash = 1 }, .value.count = 2 },
		{ .key = { .start_ns = 1, .pid = 1, .kernel_hash = 9 }, .value.count = 3 },
		{ .key = { .start_ns = 1, .pid = 1, .cgroup_id = 4 }, .value.count = 5 },
		{ .key = { .start_ns = 1, .pid = 1, .exec_id = 1, .cgroup_id = 4 },
		  .value.count = 7 },
		{ .key = { .start_ns = 1, .pid = 2, .exec_id = 1, .cgroup_id = 4 },
		  .value.count = 11 },
		{ .key = { .start_ns = 2, .pid = 2, .exec_id = 1, .cgroup_id = 4 },
		  .value.count = 13 },
	};
	static const uint64_t samples[] = { 5, 5, 7, 11, 13 };
	size_t cnt = sizeof(counts) / sizeof(*counts), stream_cnt = 0;

	(void)state;
	for (size_t at = 0; at < cnt; stream_cnt++) {
		struct stream_counts stream = stream_next(counts, cnt, at);

		assert_ptr_equal(stream.counts, counts + at);
		assert_true(stream_cnt < 5);
		assert_int_equal(stream_samples(&stream), samples[stream_cnt]);
		at += stream.cnt;
	}
	assert_int_equal(stream_cnt, 5);
	/* The last one ends where the counts do. */
	assert_int_equal(stream_next(counts, 1, 0).cnt, 1);
}

static void time_without_a_cpu_is_summed_and_is_no_sample(void **state)
{
	const struct probe_count counts[] = {
		{ .key = { .user_hash = 1, .kind = JBPF_KEY_OFF_CPU },
		  .value = { .count = 2, .first_ns = 77 } },
		{ .key = { .user_hash = JBPF_HASH_RUN_DELAY, .kind = JBPF_KEY_OFF_CPU },
		  .value.run_delay_ns = 5000 },
		/* Of the second part of a window. */
		{ .key = { .user_hash = JBPF_HASH_RUN_DELAY, .kind = JBPF_KEY_OFF_CPU },
		  .value.run_delay_ns = 300 },
		{ .key = { .user_hash = JBPF_HASH_CUT_ALL, .kind = JBPF_KEY_OFF_CPU },
		  .value = { .count = 1, .first_ns = 99 } },
	};
	const struct probe_count of_another[] = {
		{ .key = { .user_hash = JBPF_HASH_RUN_DELAY, .kind = JBPF_KEY_SAMPLE },
		  .value = { .count = 4, .first_ns = 9 } },
	};
	const struct stream_counts stream = { .counts = counts, .cnt = 4 };
	const struct stream_counts other = { .counts = of_another, .cnt = 1 };

	(void)state;
	assert_int_equal(stream_run_delay_ns(&stream), 5300);
	assert_int_equal(stream_samples(&stream), 3);
	assert_int_equal(stream_run_delay_ns(&other), 0);
}

static void check_text(const char *comm, const char *expected)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;

	strbuf_puts(&text, "what stood there before");
	assert_int_equal(stream_fallback_text(comm, 42, &text), 0);
	assert_string_equal(strbuf_str(&text), expected);
}

static void without_samples_there_is_no_stack(void **state)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;

	(void)state;
	assert_int_equal(stream_fallback_text("java", 0, &text), 0);
	assert_int_equal(text.len, 0);
}

static void what_nobody_could_name_is_one_stack_under_its_comm(void **state)
{
	(void)state;
	check_text("java", "java;[not named] 42\n");
	check_text("GC Thread#0", "GC Thread#0;[not named] 42\n");
}

/* prctl(PR_SET_NAME) takes any bytes. */
static void a_hostile_comm_is_still_one_line_of_two_frames(void **state)
{
	static const char *const comms[] = { "a;b", "a\nb 9", "\x1b[31mred", " 7", "", "\xff\xfe" };

	(void)state;
	for (size_t i = 0; i < sizeof(comms) / sizeof(*comms); i++) {
		__cleanup_strbuf struct strbuf text = STRBUF_INIT;
		const char *line;

		assert_int_equal(stream_fallback_text(comms[i], 42, &text), 0);
		line = strbuf_str(&text);
		assert_ptr_equal(strchr(line, '\n'), line + text.len - 1);
		assert_non_null(strstr(line, ";[not named] 42\n"));
		assert_ptr_equal(strchr(line, ';'), strrchr(line, ';'));
		assert_null(strchr(line, '\x1b'));
	}
}

static void its_counts_say_one_unknown_frame_per_sample(void **state)
{
	struct window_counts counts = stream_fallback_counts(42);

	(void)state;
	assert_int_equal(counts.samples, 42);
	assert_int_equal(counts.frames, 42);
	assert_int_equal(counts.unknown_frames, 42);
	assert_int_equal(counts.truncated_samples, 42);
	assert_int_equal(counts.ends[STACK_END_LOST], 42);
	assert_int_equal(counts.jit_frames, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stream_is_a_run_of_counts_of_one_process_in_one_cgroup),
		cmocka_unit_test(time_without_a_cpu_is_summed_and_is_no_sample),
		cmocka_unit_test(without_samples_there_is_no_stack),
		cmocka_unit_test(what_nobody_could_name_is_one_stack_under_its_comm),
		cmocka_unit_test(a_hostile_comm_is_still_one_line_of_two_frames),
		cmocka_unit_test(its_counts_say_one_unknown_frame_per_sample),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
