// SPDX-License-Identifier: Apache-2.0
/*
 * Stacks are forgotten by windows, and a window may have many drains. When that is done is seen by
 * nobody outside of the file but the kernel, so it is part of this program; the kernel's side is ours.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define count_map_drain	   fake_count_map_drain
#define count_map_forget   fake_count_map_forget
#define counter_sum_add	   fake_counter_sum_add
#define cpus_online	   fake_cpus_online
#define offcpu__end_window fake_offcpu__end_window

#include "user/collect/probe/probe.c" /* NOLINT(bugprone-suspicious-include) */

#define HASH   4711u
#define DRAINS 8

static struct {
	struct jbpf_bpf skel;
	struct jbpf_bpf__bss bss;
	struct probe_accounts accounts;
	struct probe_jvms jvms;
	struct probe_unwind unwind;
	struct probe_queue queue;
	struct probe probe;
	struct probe_count counts[1];
	size_t forgotten_cnt;
	bool waits; /* a thread, with this stack */
} host;

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	return 0;
}

int bpf_map_delete_elem(int fd, const void *key)
{
	return 0;
}

int ring_buffer__consume(struct ring_buffer *ring)
{
	return 0;
}

int fake_count_map_drain(int map_fd, struct jbpf_key *keys, struct jbpf_value *values, uint32_t max,
			 uint32_t *cnt_out)
{
	*cnt_out = 0;
	return 0;
}

void fake_count_map_forget(int map_fd, const uint64_t *hashes, size_t cnt)
{
	host.forgotten_cnt += cnt;
}

int fake_counter_sum_add(struct counter_sum *sum, int map_fd, uint64_t *gained)
{
	return 0;
}

int fake_cpus_online(uint32_t **cpus_out, size_t *cnt_out)
{
	return -EIO; /* they are as they were */
}

void fake_offcpu__end_window(struct offcpu *offcpu, offcpu_take_fn take, void *ctx,
			     uint64_t *period_out, uint64_t *missed_out)
{
	const struct jbpf_key key = { .user_hash = HASH, .kind = JBPF_KEY_OFF_CPU };
	const struct jbpf_value value = { .count = 1 };

	if (host.waits)
		take(ctx, &key, &value);
}

static void notice_nothing(void *ctx, const struct jbpf_notice *notice)
{
}

/* A probe that has one stack. */
static int begin(void **state)
{
	const struct stack_table_options options = {
		.soft_bytes = 1 << 20,
		.max_bytes = 1 << 20,
		.idle_windows = PROBE_IDLE_WINDOWS,
	};
	struct {
		struct jbpf_stack head;
		uint64_t ip;
	} record = {
		.head = { .hash = HASH, .frame_cnt = 1, .kind = JBPF_STACK_USER },
		.ip = 0x401000,
	};

	memset(&host, 0, sizeof(host));
	host.skel.bss = &host.bss;
	host.probe = (struct probe){
		.skel = &host.skel,
		.accounts = &host.accounts,
		.counts = host.counts,
		.jvms = &host.jvms,
		.unwind = &host.unwind,
		.new_stacks = &host.queue,
		.stacks = stack_table__new(&options),
	};
	return !host.probe.stacks || on_stack(&host.probe, &record, sizeof(record));
}

static int end(void **state)
{
	stack_table__free(host.probe.stacks);
	probe_waits_release(&host.probe.waits);
	return 0;
}

/* A window of so many drains. */
static void window(int drains)
{
	struct probe_batch batch;

	for (int i = 0; i < drains; i++)
		assert_int_equal(probe__drain(&host.probe, notice_nothing, NULL, &batch), 0);
	probe__end_window(&host.probe, &batch);
}

static void stack_of_a_thread_that_waits_stays_known_however_often_counts_are_drained(void **state)
{
	struct probe_stack stack;

	host.waits = true;
	for (int i = 0; i < PROBE_IDLE_WINDOWS + 3; i++) {
		window(DRAINS);
		assert_int_equal(host.forgotten_cnt, 0);
		assert_int_equal(probe__stack(&host.probe, HASH, &stack), 0);
	}
}

static void stack_that_nobody_uses_is_forgotten_after_some_windows(void **state)
{
	struct probe_stack stack;

	for (int i = 0; i < PROBE_IDLE_WINDOWS; i++) {
		assert_int_equal(host.forgotten_cnt, 0);
		window(DRAINS);
	}
	window(1);
	assert_int_equal(host.forgotten_cnt, 1);
	for (int i = 0; i < 3; i++)
		window(1);
	assert_int_equal(probe__stack(&host.probe, HASH, &stack), -ENOENT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(stack_of_a_thread_that_waits_stays_known_however_often_counts_are_drained),
		TEST(stack_that_nobody_uses_is_forgotten_after_some_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
