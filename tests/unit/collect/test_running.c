// SPDX-License-Identifier: Apache-2.0
/* What each snapshot reports of the running window: which processes, and which it must not report. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "tests/unit/fake_source.h"
#include "user/collect/running.h"
#include "user/collect/running_wire.h"

#define SHOP   42u
#define OTHER  43u
#define CGROUP 9u

static const uint8_t boot_id[16] = { 1, 2, 3 };
static const struct sample_source source = { .ops = &source_ops, .probe = &source_ };
static struct sight_table *sights;
static struct running *running;

static int setup(void **state)
{
	(void)state;
	memset(&source_, 0, sizeof(source_));
	source_.begun_ns = clock_boot_ns();
	sights = sight_table__new();
	running = running__new(&source, sights);
	return sights && running ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	running__free(running);
	sight_table__free(sights);
	return 0;
}

/* The kernel has reported it. */
static void see(uint32_t pid)
{
	const struct jbpf_notice notice = { .kind = JBPF_NOTICE_SEEN, .pid = pid, .start_ns = pid };

	sight_table__note(sights, &notice);
}

static void call(uint32_t pid, const char *container)
{
	const struct window window = { .pid = pid,
				       .process_start_ns = pid,
				       .labels = { [WINDOW_LABEL_CONTAINER] = container } };

	running_note_called(sights, &window);
}

/* What a snapshot has told. */
static struct {
	uint64_t host;
	uint64_t shop;
	uint64_t other;
	size_t stream_cnt;
	uint64_t span_ns;
	char container[32]; /* of the last stream */
	char comm[32];
} told;

static int take(uint32_t events)
{
	const struct probe_options options = { .frequency_hz = 99, .events = events };
	const struct running_facts facts = {
		.host = "node-7", .boot_id = boot_id, .options = &options, .cpu_cnt = 2
	};
	struct strbuf out = STRBUF_INIT;
	struct running_snapshot snapshot;
	struct window window;
	size_t at = 0;
	int err = running__snapshot(running, &facts, &out);

	memset(&told, 0, sizeof(told));
	if (err)
		return err;
	assert_int_equal(running_snapshot_read(out.data, out.len, &snapshot), 0);
	while (running_snapshot_stream(&snapshot, &at, &window)) {
		*(window.pid == SHOP ? &told.shop : &told.other) += window.counts.samples;
		told.stream_cnt++;
		snprintf(told.container, sizeof(told.container), "%s",
			 window_label(&window, WINDOW_LABEL_CONTAINER));
		snprintf(told.comm, sizeof(told.comm), "%s",
			 window_label(&window, WINDOW_LABEL_COMM));
	}
	at = 0;
	while (running_snapshot_event(&snapshot, &at, &window))
		if (window.event == EVENT_CPU)
			told.host += window.counts.samples;
	told.span_ns = snapshot.head.end_unix_ns - snapshot.head.begin_unix_ns;
	strbuf_release(&out);
	return 0;
}

static void the_first_snapshot_tells_all_so_far_and_the_next_what_came_since(void **state)
{
	(void)state;
	see(SHOP);
	call(SHOP, "shop-1");
	source_count(SHOP, 0, 1, 30);
	source_count(SHOP, 0, 2, 12);
	assert_int_equal(take(0), 0);
	assert_int_equal(told.shop, 42);
	assert_int_equal(told.host, 42);
	assert_int_equal(told.stream_cnt, 1);
	assert_string_equal(told.container, "shop-1");
	assert_string_equal(told.comm, "prog42");
	source_.counts[0].value.count += 5;
	source_count(SHOP, 0, 3, 2);
	assert_int_equal(take(0), 0);
	assert_int_equal(told.shop, 7);
	assert_int_equal(take(0), 0);
	assert_int_equal(told.stream_cnt, 0);
	assert_int_equal(told.host, 0);
}

static void a_snapshot_drains_nothing(void **state)
{
	(void)state;
	see(SHOP);
	call(SHOP, "shop-1");
	source_count(SHOP, 0, 1, 30);
	for (int i = 0; i < 3; i++)
		assert_int_equal(take(0), 0);
	assert_int_equal(source_.drain_cnt, 0);
}

/* At the end of a window, or in the middle when a JVM is met. */
static void when_counting_began_again_all_of_it_is_new(void **state)
{
	(void)state;
	see(SHOP);
	call(SHOP, "shop-1");
	source_count(SHOP, 0, 1, 30);
	assert_int_equal(take(0), 0);
	source_.begun_ns = clock_boot_ns();
	source_.counts[0].value.count = 31;
	assert_int_equal(take(0), 0);
	assert_int_equal(told.shop, 31);
	assert_true(told.span_ns <= clock_boot_ns() - source_.begun_ns);
}

static void who_may_want_to_be_left_out_is_counted_and_not_named(void **state)
{
	(void)state;
	see(SHOP);
	source_count(SHOP, 0, 1, 30);
	assert_int_equal(take(0), 0);
	assert_int_equal(told.stream_cnt, 0);
	assert_int_equal(told.host, 30);
	call(SHOP, "shop-1");
	source_.counts[0].value.count += 5;
	assert_int_equal(take(0), 0);
	assert_int_equal(told.shop, 5);
}

static void who_opted_out_is_not_even_counted(void **state)
{
	(void)state;
	see(SHOP);
	call(SHOP, "shop-1");
	sight_table__note_opted_out(sights, (struct process_life){ .start_ns = SHOP, .pid = SHOP });
	source_count(SHOP, 0, 1, 30);
	assert_int_equal(take(0), 0);
	assert_int_equal(told.stream_cnt, 0);
	assert_int_equal(told.host, 0);
}

/* It is another cgroup's name by now; the window's end tells the new one. */
static void who_has_moved_to_another_cgroup_is_not_called_by_the_old_name(void **state)
{
	(void)state;
	see(SHOP);
	call(SHOP, "shop-1");
	source_count(SHOP, 0, 1, 30);
	source_.counts[0].key.cgroup_id = CGROUP;
	assert_int_equal(take(0), 0);
	assert_int_equal(told.stream_cnt, 0);
	assert_int_equal(told.host, 30);
}

static void threads_of_the_kernel_need_no_name(void **state)
{
	(void)state;
	source_count(OTHER, 0, 1, 3);
	source_.counts[0].value.flags = JBPF_VALUE_KERNEL_THREAD;
	assert_int_equal(take(0), 0);
	assert_int_equal(told.other, 3);
	assert_string_equal(told.container, "");
}

/* Of waits some are known at the end only; accounts are no samples. */
static void what_is_not_whole_before_the_end_is_not_told(void **state)
{
	(void)state;
	see(SHOP);
	call(SHOP, "shop-1");
	source_count(SHOP, 0, 1, 30);
	source_.counts[0].key.kind = JBPF_KEY_OFF_CPU;
	source_count(SHOP, 0, 1, 31);
	source_.counts[1].key.kind = JBPF_KEY_ACCOUNT;
	assert_int_equal(take(EVENT_BIT(EVENT_CPU) | EVENT_BIT(EVENT_OFF_CPU)), 0);
	assert_int_equal(told.stream_cnt, 0);
	assert_int_equal(told.host, 0);
}

static void a_snapshot_that_fails_costs_nothing(void **state)
{
	(void)state;
	see(SHOP);
	call(SHOP, "shop-1");
	source_count(SHOP, 0, 1, 30);
	source_.peek_err = -EINVAL;
	assert_int_equal(take(0), -EINVAL);
	source_.peek_err = 0;
	assert_int_equal(take(0), 0);
	assert_int_equal(told.shop, 30);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_snapshot_tells_all_so_far_and_the_next_what_came_since),
		TEST(a_snapshot_drains_nothing),
		TEST(when_counting_began_again_all_of_it_is_new),
		TEST(who_may_want_to_be_left_out_is_counted_and_not_named),
		TEST(who_opted_out_is_not_even_counted),
		TEST(who_has_moved_to_another_cgroup_is_not_called_by_the_old_name),
		TEST(threads_of_the_kernel_need_no_name),
		TEST(what_is_not_whole_before_the_end_is_not_told),
		TEST(a_snapshot_that_fails_costs_nothing),
	};

	return cmocka_run_group_tests_name("running", tests, NULL, NULL);
}
