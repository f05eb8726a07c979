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
#include <unistd.h>

#include "user/collect/naming/naming.h"
#include "user/host/proc_stat.h"
#include "user/util/clock.h"

#define HASH	   5ull
#define OTHER_HASH 6ull
#define LOST_HASH  404ull
#define NOWHERE	   0x10ull /* in no mapping of any process */

static char text_[4096];
static struct window_counts counts_;

static int on_stream(void *ctx, const struct window *window, const char *text, size_t len)
{
	(void)ctx;
	snprintf(text_, sizeof(text_), "%.*s", (int)len, text);
	counts_ = window->counts;
	return 0;
}

static void on_code_range(void *ctx, const struct naming_code_range *range)
{
	(void)ctx;
	(void)range;
}

static void on_opt_out(void *ctx, const struct naming_opt_out *opt_out)
{
	(void)ctx;
	(void)opt_out;
}

static void on_account(void *ctx, const struct naming_account *account)
{
	(void)ctx;
	(void)account;
}

static struct naming *naming;

static int set_up(void **state)
{
	const struct naming_config config = {
		.jit = JIT_MODE_OFF,
		.ignores_opt_out = true,
		.kallsyms_fd = -1,
		.listener = { .stream = on_stream,
			      .code_range = on_code_range,
			      .opt_out = on_opt_out,
			      .account = on_account },
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
		.value = { .count = samples, .comm = "test" },
	};
}

static void put_stack(struct strbuf *records, uint64_t hash, enum jbpf_stack_end end,
		      const uint64_t *ips, uint32_t cnt)
{
	const struct naming_stack head = { .hash = hash };
	const struct probe_stack stack = { .ips = ips, .frame_cnt = cnt, .end = end };

	assert_int_equal(naming_stack_put(records, &head, &stack), 0);
}

/* Names a window of these rows, of one stream, whose stacks are these. */
static void name(const struct probe_count *counts, uint32_t cnt, struct strbuf *records)
{
	const struct naming_window head = {
		.start_boot_ns = clock_boot_ns() - 1,
		.end_boot_ns = clock_boot_ns(),
		.count_cnt = cnt,
		.frequency_hz = 99,
		.cpu_cnt = 1,
	};
	const struct naming_window_parts parts = { .counts = counts, .stacks = records };
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
	assert_int_equal(end.not_named, 0);
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

/* Code without frame pointers often has 0 in the register. */
static void a_single_frame_does_not_prove_that_it_is_the_root(void **state)
{
	const uint64_t ip = (uintptr_t)own_start_ns + 1;

	(void)state;
	name_stack(HASH, JBPF_END_ROOT, &ip, 1);
	assert_string_equal(text_, "test;[truncated];own_start_ns 7\n");
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
}

static void a_stack_that_was_cut_whole_says_so(void **state)
{
	(void)state;
	name_stack(HASH, JBPF_END_CUT_ALL, NULL, 0);
	assert_string_equal(text_, "test;[cut] 7\n");
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_sample_without_a_stack_is_the_programs),
		TEST(functions_of_the_process_have_their_names_root_first),
		TEST(a_stack_whose_walk_broke_off_shows_that_its_root_is_missing),
		TEST(a_single_frame_does_not_prove_that_it_is_the_root),
		TEST(an_address_in_no_mapping_is_unknown_and_counted),
		TEST(a_stack_that_did_not_arrive_is_lost),
		TEST(a_stack_that_was_cut_whole_says_so),
		TEST(rows_with_the_same_names_become_one_line),
		TEST(a_kernel_stack_that_did_not_arrive_is_lost_above_the_users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
