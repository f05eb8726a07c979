// SPDX-License-Identifier: Apache-2.0
/*
 * From addresses to a line of text, by way of naming.h: this program is the one that was sampled, so
 * that its own functions are known to the test.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tests/unit/naming_listener.h"
#include "user/collect/naming/naming.h"
#include "user/host/proc_stat.h"
#include "user/model/cells.h"
#include "user/model/folded_line.h"
#include "user/model/thread_counts.h"
#include "user/util/cleanup.h"
#include "user/util/lines.h"
#include "user/util/clock.h"

#define COMM	   "test"
#define HASH	   5ull
#define OTHER_HASH 6ull
#define LOST_HASH  404ull
#define NOWHERE	   0x10ull /* in no mapping of any process */

/* Windows begin just before a cell ends, and their first sample was taken just behind that. */
#define START_UNIX_NS (1000 * CELL_NS - 2000)
#define AFTER_US      3

static char text_[4096];
static struct window_counts counts_;
static char threads_[4096]; /* "name count" of each line, one after the other */
static struct cell cell_;   /* the first one */
static uint64_t start_unix_ns_;

static void note_threads(const struct window *window, const char *text, size_t len)
{
	__cleanup_thread_reader struct thread_reader reader = { .names = NULL };
	struct lines lines = lines_init(text, len);
	struct thread_part part;
	struct line line;
	size_t at = 0;

	assert_int_equal(thread_reader_open(&reader, window->threads, (size_t)window->threads_len),
			 0);
	threads_[0] = '\0';
	while (lines_next(&lines, &line)) {
		size_t stack_len;
		uint64_t count;

		assert_true(folded_line_split(line.at, line.len, &stack_len, &count));
		thread_reader_line(&reader, count);
		while (thread_reader_next(&reader, &part))
			at += (size_t)snprintf(threads_ + at, sizeof(threads_) - at, "%s %llu\n",
					       part.name ? part.name : "-",
					       (unsigned long long)part.count);
	}
}

static int on_stream(void *ctx, const struct window *window, const char *text, size_t len)
{
	struct cells_reader cells;

	(void)ctx;
	snprintf(text_, sizeof(text_), "%.*s", (int)len, text);
	counts_ = window->counts;
	start_unix_ns_ = window->start_unix_ns;
	note_threads(window, text, len);
	cells = cells_reader_init(window->cells, window->cells_len);
	if (!cells_next(&cells, &cell_))
		cell_ = (struct cell){ .count = 0 };
	return 0;
}

static struct naming *naming;

static int set_up(void **state)
{
	const struct naming_config config = {
		.jit = JIT_MODE_OFF,
		.proc = "/proc",
		.ignores_opt_out = true,
		.wants_ticks = true,
		.launcher = dead_launcher(),
		.kallsyms_fd = -1,
		.listener = naming_listener(on_stream),
	};
	char why[256];

	(void)state;
	text_[0] = '\0';
	return naming__open(&config, &naming, why, sizeof(why));
}

static int tear_down(void **state)
{
	(void)state;
	naming__free(naming);
	return 0;
}

static uint64_t own_start_ns(void)
{
	int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t start_ns = 0;

	assert_int_equal(proc_stat_start_ns(proc_fd, (uint32_t)getpid(), &start_ns), 0);
	close(proc_fd);
	return start_ns;
}

/* A row of counts of this process. */
static struct probe_count count_of(uint64_t user_hash, uint64_t kernel_hash, uint64_t samples)
{
	return (struct probe_count){
		.key = { .start_ns = own_start_ns(),
			 .pid = (uint32_t)getpid(),
			 .user_hash = user_hash,
			 .kernel_hash = kernel_hash },
		.value = { .count = samples, .comm = COMM },
	};
}

static void put_stack(struct strbuf *records, uint64_t hash, enum jbpf_stack_end end,
		      const uint64_t *ips, uint32_t cnt)
{
	const struct naming_stack head = { .hash = hash };
	const struct probe_stack stack = { .ips = ips, .frame_cnt = cnt, .end = end };

	assert_int_equal(naming_stack_put(records, &head, &stack), 0);
}

/* Names a window of these rows, of one stream, whose stacks are these. Of the first row one moment is known. */
static void name(const struct probe_count *counts, uint32_t cnt, struct strbuf *records)
{
	const struct naming_window head = {
		.start_boot_ns = clock_boot_ns() - CELL_NS,
		.start_unix_ns = START_UNIX_NS,
		.end_boot_ns = clock_boot_ns(),
		.count_cnt = cnt,
		.tick_cnt = 1,
		.frequency_hz = 99,
		.cpu_cnt = 1,
	};
	const struct probe_tick tick = { .tag = jbpf_key_tag(&counts->key, 0),
					 .after_us = AFTER_US };
	const struct naming_window_parts parts = { .counts = counts,
						   .ticks = &tick,
						   .stacks = records };
	struct packet_stream stream;
	struct naming_batch batch;
	struct naming_end end;
	struct packet packet;
	int err;

	packet_stream_init(&stream, -1, PACKET_MAX_BYTES);
	assert_int_equal(naming_window_put(&stream, &head, &parts), 0);
	packet_stream_turn(&stream);
	assert_true(packet_stream_next(&stream, &packet, &err));
	assert_int_equal(naming_batch_read(packet.bytes, packet.len, &batch), 0);
	naming__window(naming, &batch, &end);
	assert_int_equal(end.not_named[EVENT_CPU], 0);
	naming_batch_release(&batch);
	packet_stream_release(&stream);
	strbuf_release(records);
}

/* One stack, seven samples. */
static void name_stack(uint64_t hash, enum jbpf_stack_end end, const uint64_t *ips, uint32_t cnt)
{
	struct strbuf records = STRBUF_INIT;
	struct probe_count count = count_of(hash, 0, 7);

	if (cnt || end == JBPF_END_CUT_ALL)
		put_stack(&records, hash, end, ips, cnt);
	name(&count, 1, &records);
}

static void a_sample_without_a_stack_is_the_programs(void **state)
{
	(void)state;
	name_stack(0, JBPF_END_ROOT, NULL, 0);
	assert_string_equal(text_, "test 7\n");
	assert_int_equal(counts_.samples, 7);
	assert_int_equal(counts_.frames, 0);
	assert_int_equal(counts_.truncated_samples, 0);
}

static void functions_of_the_process_have_their_names_root_first(void **state)
{
	/* Return addresses lie behind the call. */
	const uint64_t ips[] = { (uintptr_t)own_start_ns + 1, (uintptr_t)name_stack + 8 };

	(void)state;
	name_stack(HASH, JBPF_END_ROOT, ips, 2);
	assert_string_equal(text_, "test;name_stack;own_start_ns 7\n");
	assert_int_equal(counts_.frames, 14);
	assert_int_equal(counts_.unknown_frames, 0);
	assert_int_equal(counts_.truncated_samples, 0);
}

static void a_stack_whose_walk_broke_off_shows_that_its_root_is_missing(void **state)
{
	const uint64_t ips[] = { (uintptr_t)own_start_ns + 1, (uintptr_t)name_stack + 8 };

	(void)state;
	name_stack(HASH, JBPF_END_FAULT, ips, 2);
	assert_string_equal(text_, "test;[truncated];name_stack;own_start_ns 7\n");
	assert_int_equal(counts_.truncated_samples, 7);
}

static void samples_of_cut_stacks_are_counted_by_why(void **state)
{
	static const struct {
		enum jbpf_stack_end end;
		enum stack_end reason;
	} cases[] = {
		{ JBPF_END_MAX_DEPTH, STACK_END_MAX_DEPTH },
		{ JBPF_END_FAULT, STACK_END_FAULT },
		{ JBPF_END_BAD_FP, STACK_END_BAD_FP },
		{ JBPF_END_LEAF_ONLY, STACK_END_NO_WALK },
		{ JBPF_END_CUT_DEPTH, STACK_END_OVER_BUDGET },
		{ JBPF_END_CUT_LEAF, STACK_END_OVER_BUDGET },
		{ JBPF_END_NO_RULE, STACK_END_NO_RULE },
		{ JBPF_END_NO_MAPPING, STACK_END_NO_MAPPING },
		{ JBPF_END_UNSUPPORTED, STACK_END_UNSUPPORTED },
		{ JBPF_END_JIT, STACK_END_JIT },
		{ JBPF_END_BAD_CFA, STACK_END_BAD_CFA },
		{ JBPF_END_FROZEN, STACK_END_FROZEN },
		{ JBPF_END_LEAF, STACK_END_UNPROVED_LEAF },
		{ JBPF_END_MAX_RULES, STACK_END_MAX_RULES },
		{ (enum jbpf_stack_end)77, STACK_END_LOST },
	};
	const uint64_t ips[] = { (uintptr_t)own_start_ns + 1, (uintptr_t)name_stack + 8 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		name_stack(HASH, cases[i].end, ips, 2);
		assert_int_equal(counts_.truncated_samples, 7);
		for (int end = 0; end < STACK_END_CNT; end++)
			assert_int_equal(counts_.ends[end], end == (int)cases[i].reason ? 7 : 0);
	}
}

/* A stack that is whole by its names is so however its walk ended. */
static void a_whole_stack_has_no_reason(void **state)
{
	const uint64_t ips[] = { (uintptr_t)own_start_ns + 1, (uintptr_t)name_stack + 8 };

	(void)state;
	name_stack(HASH, JBPF_END_ROOT, ips, 2);
	for (int end = 0; end < STACK_END_CNT; end++)
		assert_int_equal(counts_.ends[end], 0);
}

#define LONG_NAME \
	a_function_whose_name_is_so_long_that_a_thousand_of_it_are_longer_than_a_line_may_be

static void __attribute__((noinline)) LONG_NAME(uint64_t *ips)
{
	for (int i = 0; i < JBPF_MAX_DEPTH; i++)
		ips[i] = (uintptr_t)LONG_NAME + 4;
}

/* Its root is missing, whatever its walk reached. */
static void a_stack_that_is_longer_than_a_line_is_counted_as_cut(void **state)
{
	static uint64_t ips[JBPF_MAX_DEPTH];
	static const char begin[] = "test;[truncated];a_function_whose_name_is_so_long";

	(void)state;
	LONG_NAME(ips);
	name_stack(HASH, JBPF_END_ROOT, ips, JBPF_MAX_DEPTH / 2);
	assert_int_equal(counts_.truncated_samples, 0);
	name_stack(HASH, JBPF_END_ROOT, ips, JBPF_MAX_DEPTH);
	assert_memory_equal(text_, begin, strlen(begin));
	assert_int_equal(counts_.truncated_samples, 7);
	assert_int_equal(counts_.ends[STACK_END_LONG_TEXT], 7);
	/* What ended its walk says more. */
	name_stack(HASH, JBPF_END_MAX_DEPTH, ips, JBPF_MAX_DEPTH);
	assert_int_equal(counts_.ends[STACK_END_LONG_TEXT], 0);
	assert_int_equal(counts_.ends[STACK_END_MAX_DEPTH], 7);
}

/* Code without frame pointers often has 0 in the register. */
static void a_single_frame_does_not_prove_that_it_is_the_root(void **state)
{
	const uint64_t ip = (uintptr_t)own_start_ns + 1;

	(void)state;
	name_stack(HASH, JBPF_END_ROOT, &ip, 1);
	assert_string_equal(text_, "test;[truncated];own_start_ns 7\n");
	assert_int_equal(counts_.ends[STACK_END_NO_FP], 7);
}

static void an_address_in_no_mapping_is_unknown_and_counted(void **state)
{
	const uint64_t ips[] = { NOWHERE, (uintptr_t)name_stack + 8 };

	(void)state;
	name_stack(HASH, JBPF_END_ROOT, ips, 2);
	assert_int_equal(strncmp(text_, "test;name_stack;[", strlen("test;name_stack;[")), 0);
	assert_int_equal(counts_.unknown_frames, 7);
	assert_int_equal(counts_.frames, 14);
}

static void a_stack_that_did_not_arrive_is_lost(void **state)
{
	(void)state;
	name_stack(LOST_HASH, JBPF_END_ROOT, NULL, 0);
	assert_string_equal(text_, "test;[stack lost] 7\n");
	assert_int_equal(counts_.samples, 7);
	assert_int_equal(counts_.unknown_frames, 7);
	assert_int_equal(counts_.ends[STACK_END_LOST], 7);
}

static void a_stack_that_was_cut_whole_says_so(void **state)
{
	(void)state;
	name_stack(HASH, JBPF_END_CUT_ALL, NULL, 0);
	assert_string_equal(text_, "test;[cut] 7\n");
	assert_int_equal(counts_.truncated_samples, 7);
	assert_int_equal(counts_.ends[STACK_END_OVER_BUDGET], 7);
}

static void rows_with_the_same_names_become_one_line(void **state)
{
	const uint64_t leafs[] = { (uintptr_t)own_start_ns + 1, (uintptr_t)own_start_ns + 2 };
	const struct probe_count counts[] = { count_of(HASH, 0, 3), count_of(OTHER_HASH, 0, 4) };
	struct strbuf records = STRBUF_INIT;

	(void)state;
	put_stack(&records, HASH, JBPF_END_MAX_DEPTH, &leafs[0], 1);
	put_stack(&records, OTHER_HASH, JBPF_END_MAX_DEPTH, &leafs[1], 1);
	name(counts, 2, &records);
	assert_string_equal(text_, "test;[truncated];own_start_ns 7\n");
	assert_int_equal(counts_.samples, 7);
}

/* A row of a thread; the tag is what tells threads apart. */
static struct probe_count count_of_thread(uint64_t hash, const char *thread, uint64_t samples)
{
	struct probe_count count = count_of(hash, 0, samples);

	count.key.thread = 5;
	snprintf(count.value.thread, sizeof(count.value.thread), "%s", thread);
	return count;
}

static void lines_know_their_threads_in_the_order_of_the_text(void **state)
{
	const uint64_t ips[] = { (uintptr_t)own_start_ns + 1, (uintptr_t)name_stack + 8 };
	const struct probe_count counts[] = {
		count_of_thread(HASH, "pool-#", 3),
		count_of_thread(0, "main", 2),
		count_of_thread(HASH, "a;b 7", 1),
		count_of_thread(0, "", 1),
		count_of(0, 0, 5), /* its account was over its budget */
	};
	struct strbuf records = STRBUF_INIT;

	(void)state;
	put_stack(&records, HASH, JBPF_END_ROOT, ips, 2);
	name(counts, 5, &records);
	assert_string_equal(text_, "test 8\ntest;name_stack;own_start_ns 4\n");
	assert_string_equal(threads_, "main 2\n[unknown thread] 1\n[other threads] 5\n"
				      "a:b_7 1\npool-# 3\n");
}

static void a_program_cannot_make_more_names_of_threads_than_there_is_room(void **state)
{
	struct probe_count counts[THREAD_NAMES_MAX + 44];
	struct strbuf records = STRBUF_INIT;

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(counts); i++) {
		char thread[16];

		snprintf(thread, sizeof(thread), "t%u", i);
		counts[i] = count_of_thread(0, thread, 1);
	}
	name(counts, ARRAY_SIZE(counts), &records);
	assert_string_equal(text_, "test 300\n");
	assert_non_null(strstr(threads_, "t255 1\n[other threads] 44\n"));
}

static void a_kernel_stack_that_did_not_arrive_is_lost_above_the_users(void **state)
{
	const uint64_t ips[] = { (uintptr_t)own_start_ns + 1, (uintptr_t)name_stack + 8 };
	const struct probe_count count = count_of(HASH, LOST_HASH, 7);
	struct strbuf records = STRBUF_INIT;

	(void)state;
	put_stack(&records, HASH, JBPF_END_ROOT, ips, 2);
	name(&count, 1, &records);
	assert_string_equal(text_, "test;name_stack;own_start_ns;[stack lost] 7\n");
}

/* What is stored begins when the sampler says. By another clock the cells would lie beside it. */
static void a_moment_lies_in_the_cell_that_the_sampler_s_start_of_the_window_says(void **state)
{
	(void)state;
	name_stack(0, JBPF_END_ROOT, NULL, 0);
	assert_int_equal(start_unix_ns_, START_UNIX_NS);
	assert_int_equal(cell_.count, 1);
	assert_int_equal(cell_.index, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_sample_without_a_stack_is_the_programs),
		TEST(functions_of_the_process_have_their_names_root_first),
		TEST(a_stack_whose_walk_broke_off_shows_that_its_root_is_missing),
		TEST(samples_of_cut_stacks_are_counted_by_why),
		TEST(a_stack_that_is_longer_than_a_line_is_counted_as_cut),
		TEST(a_whole_stack_has_no_reason),
		TEST(a_single_frame_does_not_prove_that_it_is_the_root),
		TEST(an_address_in_no_mapping_is_unknown_and_counted),
		TEST(a_stack_that_did_not_arrive_is_lost),
		TEST(a_stack_that_was_cut_whole_says_so),
		TEST(rows_with_the_same_names_become_one_line),
		TEST(lines_know_their_threads_in_the_order_of_the_text),
		TEST(a_program_cannot_make_more_names_of_threads_than_there_is_room),
		TEST(a_kernel_stack_that_did_not_arrive_is_lost_above_the_users),
		TEST(a_moment_lies_in_the_cell_that_the_sampler_s_start_of_the_window_says),
	};

	/* As its samples say: one of another name has called execve() since. */
	if (prctl(PR_SET_NAME, COMM))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
