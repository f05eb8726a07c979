// SPDX-License-Identifier: Apache-2.0
/* A window between being counted and being named: several drains, and more than one namer. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "user/collect/namer/pending_window.h"
#include "user/util/cleanup.h"

#define START_NS      5000000000ull
#define START_UNIX_NS 5

/*
 * In place of BPF's stacks: each hash but 404 has a stack of one frame, the hash itself; from DEEP on
 * the hash says how many frames it has.
 */
#define DEEP 100000ull
static uint64_t asked_cnt;

static int stack_of(const struct probe *probe, uint64_t hash, struct probe_stack *out)
{
	static uint64_t ips[JBPF_MAX_DEPTH];

	assert_null(probe);
	asked_cnt++;
	if (hash == 404)
		return -ENOENT;
	ips[0] = hash;
	*out = (struct probe_stack){
		.ips = ips,
		.frame_cnt = hash < DEEP ? 1 : (uint32_t)(hash / DEEP),
		.end = 0,
	};
	return 0;
}

static const struct sample_source_ops ops = { .stack = stack_of };
static const struct sample_source source = { .ops = &ops };

static struct probe_count count_of(uint32_t pid, uint64_t hash, uint64_t samples)
{
	return (struct probe_count){
		.key = { .start_ns = pid * 100ull, .pid = pid, .cgroup_id = 9, .user_hash = hash },
		.value = { .count = samples, .last_ns = START_NS + hash, .comm = "java" },
	};
}

static void two_drains(struct pending_window *window)
{
	const struct probe_count first[] = { count_of(1, 11, 5), count_of(3, 31, 7) };
	const struct probe_count second[] = { count_of(1, 12, 1), count_of(1, 11, 2),
					      count_of(2, 21, 3), count_of(3, 404, 4) };
	const struct probe_tick early[] = { { 1, 10 }, { 3, 20 } };
	const struct probe_tick late[] = { { 1, 5 }, { 2, 0 }, { 3, 1 } };
	const struct probe_batch batches[] = {
		{ .counts = first,
		  .count_cnt = 2,
		  .ticks = early,
		  .tick_cnt = 2,
		  .start_boot_ns = START_NS,
		  .end_boot_ns = START_NS + 1000000,
		  .stack_bytes = 100,
		  .counters = { [0] = 12, [JBPF_CNT_MAX - 1] = 1 } },
		{ .counts = second,
		  .count_cnt = 4,
		  .ticks = late,
		  .tick_cnt = 3,
		  .start_boot_ns = START_NS + 1000000,
		  .end_boot_ns = START_NS + 3000000,
		  .stack_bytes = 200,
		  .counters = { [0] = 10 } },
	};

	window->id = 77;
	window->start_unix_ns = START_UNIX_NS;
	pending_window_add(window, &source, &batches[0]);
	pending_window_add(window, &source, &batches[1]);
	assert_int_equal(pending_window_close(window, START_NS + 4000000), 0);
}

/* A JVM is met in the middle of a window: its stacks came before anybody looked at them. */
static void stacks_that_came_before_their_jvm_was_met_can_be_looked_at(void **state)
{
	static const uint32_t first = 1, third = 3;
	uint64_t sum = 0;
	size_t cnt = 0;
	struct pending_window window = { 0 };
	__cleanup_strbuf struct strbuf records = STRBUF_INIT;
	struct probe_stack words;
	struct naming_stack head;
	const uint8_t *at, *end;

	(void)state;
	two_drains(&window);
	assert_int_equal(pending_window_stacks(&window, &source, &first, 1, &records), 0);
	at = (const uint8_t *)records.data;
	end = at + records.len;
	for (; naming_stack_next(&at, end, &head, &words); cnt++) {
		assert_int_equal(head.pid, 1);
		assert_int_equal(head.start_ns, 100);
		assert_int_equal(head.since_boot_ns, START_NS + words.ips[0]);
		sum += words.ips[0];
	}
	assert_int_equal(cnt, 3);
	assert_int_equal(sum, 11 + 12 + 11);
	/* Of another one's stacks one is lost: the other is there. */
	strbuf_clear(&records);
	assert_int_equal(pending_window_stacks(&window, &source, &third, 1, &records), 0);
	at = (const uint8_t *)records.data;
	end = at + records.len;
	assert_true(naming_stack_next(&at, end, &head, &words));
	assert_false(naming_stack_next(&at, end, &head, &words));
	pending_window_release(&window);
}

static void drains_of_one_window_become_one_in_order(void **state)
{
	static const uint32_t pids[] = { 1, 1, 1, 2, 3, 3 };
	/* Those of the second drain count from the window's start: 1000 us more. */
	static const struct probe_tick ticks[] = {
		{ 1, 10 }, { 1, 1005 }, { 2, 1000 }, { 3, 20 }, { 3, 1001 }
	};
	struct pending_window window = { 0 };
	const struct probe_count *counts;
	uint64_t samples = 0;

	(void)state;
	two_drains(&window);
	assert_int_equal(window.start_boot_ns, START_NS);
	assert_int_equal(window.end_boot_ns, START_NS + 3000000);
	assert_int_equal(window.closed_ns, START_NS + 4000000);
	assert_int_equal(window.stack_bytes, 200);
	assert_int_equal(window.counters[0], 22);
	assert_int_equal(window.counters[JBPF_CNT_MAX - 1], 1);
	assert_int_equal(window.lost_memory[0], 0);
	assert_int_equal(window.counts.len, 6 * sizeof(*counts));
	counts = pending_window_counts(&window);
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++) {
		assert_int_equal(counts[i].key.pid, pids[i]);
		samples += counts[i].value.count;
	}
	assert_int_equal(samples, 22);
	assert_int_equal(window.ticks.len, sizeof(ticks));
	assert_memory_equal(window.ticks.data, ticks, sizeof(ticks));
	pending_window_release(&window);
	assert_int_equal(window.stream_cnt, 0);
}

static struct window named_of(uint32_t pid)
{
	return (struct window){ .pid = pid, .process_start_ns = pid * 100ull, .cgroup_id = 9 };
}

static void each_stream_is_found_by_what_is_named_and_no_other_is(void **state)
{
	struct pending_window window = { 0 };
	struct pending_stream *one;
	struct window named;

	(void)state;
	named = named_of(1);
	assert_null(pending_window_find(&window, &named));
	two_drains(&window);
	assert_int_equal(window.stream_cnt, 3);
	for (uint32_t pid = 1; pid <= 3; pid++) {
		named = named_of(pid);
		one = pending_window_find(&window, &named);
		assert_non_null(one);
		assert_int_equal(pending_window_counts(&window)[one->at].key.pid, pid);
		assert_false(one->is_answered);
	}
	assert_int_equal(window.streams[0].cnt, 3);
	named = named_of(4);
	assert_null(pending_window_find(&window, &named));
	named = named_of(2);
	named.exec_id = 1;
	assert_null(pending_window_find(&window, &named));
	named = named_of(2);
	named.cgroup_id = 8;
	assert_null(pending_window_find(&window, &named));
	named = named_of(2);
	named.process_start_ns = 201;
	assert_null(pending_window_find(&window, &named));
	named = named_of(0); /* a host record */
	assert_null(pending_window_find(&window, &named));
	pending_window_release(&window);
}

static struct sight_table *sights;

static void sent_part(struct pending_window *window, enum pending_part part,
		      struct packet_stream *stream, struct naming_batch *batch)
{
	const struct naming_window head = { .tick_seed = 5, .frequency_hz = 99, .cpu_cnt = 2 };
	struct packet packet;
	int err;

	packet_stream_init(stream, -1, PACKET_MAX_BYTES);
	assert_int_equal(pending_window_send(window, part, sights, &head, stream), 0);
	packet_stream_turn(stream);
	*batch = (struct naming_batch){ .head = { .window_id = 0 } };
	if (!packet_stream_next(stream, &packet, &err))
		return;
	assert_int_equal(packet.kind, NAMING_WINDOW);
	assert_int_equal(naming_batch_read(packet.bytes, packet.len, batch), 0);
}

static void sent(struct pending_window *window, struct packet_stream *stream,
		 struct naming_batch *batch)
{
	struct sight_table *own = sights ? NULL : sight_table__new();

	sights = sights ? sights : own;
	assert_non_null(sights);
	sent_part(window, PENDING_LEFT, stream, batch);
	assert_int_equal(batch->head.goes_on, 0);
	sights = own ? NULL : sights;
	sight_table__free(own);
}

static void sent_release(struct packet_stream *stream, struct naming_batch *batch)
{
	naming_batch_release(batch);
	packet_stream_release(stream);
}

static void a_namer_gets_all_with_every_stack_that_is_there(void **state)
{
	static const uint64_t hashes[] = { 11, 12, 21, 31 };
	struct pending_window window = { 0 };
	struct packet_stream stream;
	struct naming_batch batch;
	struct probe_stack stack;

	(void)state;
	two_drains(&window);
	sent(&window, &stream, &batch);
	assert_int_equal(batch.head.window_id, 77);
	assert_int_equal(batch.head.start_boot_ns, START_NS);
	assert_int_equal(batch.head.start_unix_ns, START_UNIX_NS);
	assert_int_equal(batch.head.end_boot_ns, START_NS + 3000000);
	assert_int_equal(batch.head.tick_seed, 5);
	assert_int_equal(batch.head.frequency_hz, 99);
	assert_int_equal(batch.head.cpu_cnt, 2);
	assert_int_equal(batch.head.count_cnt, 6);
	assert_int_equal(batch.head.tick_cnt, 5);
	assert_memory_equal(batch.counts, window.counts.data, window.counts.len);
	assert_memory_equal(batch.ticks, window.ticks.data, window.ticks.len);
	for (size_t i = 0; i < ARRAY_SIZE(hashes); i++) {
		assert_int_equal(naming_batch_stack(&batch, hashes[i], &stack), 0);
		assert_int_equal(stack.frame_cnt, 1);
		assert_int_equal(stack.ips[0], hashes[i]);
	}
	assert_int_equal(naming_batch_stack(&batch, 404, &stack), -ENOENT);
	sent_release(&stream, &batch);
	pending_window_release(&window);
}

static void note_recorded(uint32_t pid)
{
	const struct jbpf_notice seen = {
		.kind = JBPF_NOTICE_SEEN,
		.pid = pid,
		.start_ns = pid * 100ull,
	};

	sight_table__note(sights, &seen);
	sight_table__note_recorded(sights,
				   (struct process_life){ .start_ns = pid * 100ull, .pid = pid });
}

static void note_end(uint32_t pid, uint32_t kind)
{
	const struct jbpf_notice end = {
		.kind = kind,
		.pid = pid,
		.start_ns = pid * 100ull,
		.exec_id = kind == JBPF_NOTICE_EXEC,
	};

	sight_table__note(sights, &end);
}

/* Each of the others may be one over which whoever reads it hangs. */
static void who_has_a_profile_comes_first_also_as_a_part(void **state)
{
	struct pending_window window = { 0 };
	struct packet_stream stream;
	struct naming_batch batch;
	struct window named = named_of(3);

	(void)state;
	two_drains(&window);
	sights = sight_table__new();
	assert_non_null(sights);
	sent_part(&window, PENDING_KNOWN, &stream, &batch);
	assert_int_equal(batch.head.window_id, 0); /* there is nothing to ask for */
	assert_false(window.owes_part);
	packet_stream_release(&stream);

	note_recorded(3);
	sent(&window, &stream, &batch);
	assert_int_equal(batch.head.count_cnt, 6);
	assert_int_equal(batch.counts[0].key.pid, 3);
	assert_int_equal(batch.counts[2].key.pid, 1);
	sent_release(&stream, &batch);

	window.said.opted_out[0] = window.said.not_named[0] = 4;
	sent_part(&window, PENDING_KNOWN, &stream, &batch);
	assert_int_equal(batch.head.window_id, 77);
	assert_int_equal(batch.head.goes_on, 1);
	assert_int_equal(batch.head.count_cnt, 2);
	assert_int_equal(batch.counts[0].key.pid, 3);
	assert_int_equal(batch.head.account_cnt, 0);
	assert_true(window.owes_part);
	assert_int_equal(window.said.opted_out[0], 0);
	assert_int_equal(window.said.not_named[0], 4);
	sent_release(&stream, &batch);
	sent(&window, &stream, &batch); /* the others */
	assert_int_equal(batch.head.count_cnt, 4);
	assert_int_equal(batch.counts[0].key.pid, 1);
	assert_true(window.owes_part);
	sent_release(&stream, &batch);

	pending_window_find(&window, &named)->is_answered = true;
	sent_part(&window, PENDING_KNOWN, &stream, &batch);
	assert_int_equal(batch.head.window_id, 0);
	assert_false(window.owes_part);
	packet_stream_release(&stream);

	pending_window_find(&window, &named)->is_answered = false;
	note_end(3, JBPF_NOTICE_EXEC); /* what it is now was never read */
	sent_part(&window, PENDING_KNOWN, &stream, &batch);
	assert_int_equal(batch.head.window_id, 0);
	packet_stream_release(&stream);
	sight_table__free(take_ptr(sights));
	pending_window_release(&window);
}

static void the_next_namer_gets_only_what_was_not_answered(void **state)
{
	struct pending_window window = { 0 };
	struct packet_stream stream;
	struct naming_batch batch;
	struct window named = named_of(1);

	(void)state;
	two_drains(&window);
	pending_window_find(&window, &named)->is_answered = true;
	sent(&window, &stream, &batch);
	assert_int_equal(batch.head.count_cnt, 3);
	assert_int_equal(batch.counts[0].key.pid, 2);
	assert_int_equal(batch.counts[1].key.pid, 3);
	assert_int_equal(batch.counts[2].key.pid, 3);
	sent_release(&stream, &batch);
	for (uint32_t pid = 2; pid <= 3; pid++) {
		named = named_of(pid);
		pending_window_find(&window, &named)->is_answered = true;
	}
	sent(&window, &stream, &batch);
	assert_int_equal(batch.head.count_cnt, 0);
	assert_int_equal(batch.head.window_id, 77);
	sent_release(&stream, &batch);
	pending_window_release(&window);
}

static void stacks_that_several_counts_share_are_asked_for_once(void **state)
{
	const struct probe_count counts[] = { count_of(1, 11, 5), count_of(2, 11, 7),
					      count_of(3, 0, 1) };
	const struct probe_batch batch = { .counts = counts, .count_cnt = 3 };
	struct pending_window window = { 0 };

	(void)state;
	asked_cnt = 0;
	pending_window_add(&window, &source, &batch);
	assert_int_equal(asked_cnt, 1);
	assert_int_equal(window.stacks.len, sizeof(struct naming_stack) + sizeof(uint64_t));
	pending_window_release(&window);
}

/* One of 1000 frames, and many of 100, beside those of others that have 1 and 50. */
static void deep_window(struct pending_window *window)
{
	struct probe_count counts[23] = { count_of(1, 11, 1), count_of(2, 50 * DEEP, 1),
					  count_of(3, 1000 * DEEP, 1) };
	const struct probe_batch batch = {
		.counts = counts,
		.count_cnt = 23,
		.start_boot_ns = START_NS,
		.end_boot_ns = START_NS + 1,
	};

	for (uint64_t i = 3; i < 23; i++)
		counts[i] = count_of(4, 100 * DEEP + i, 1);
	pending_window_add(window, &source, &batch);
}

static void what_is_too_much_for_a_packet_costs_the_deepest_stacks(void **state)
{
	static const struct {
		size_t max_bytes;
		size_t left_out;
	} cases[] = { { SIZE_MAX, 0 }, { 30000, 0 }, { 20000, 1 }, { 10000, 10 },
		      { 504, 21 },     { 100, 22 },  { 0, 23 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pending_window window = { 0 };
		struct packet_stream stream;
		struct naming_batch batch;
		struct probe_stack stack;
		bool is_whole = cases[i].left_out < 23;

		deep_window(&window);
		assert_int_equal(pending_window_trim(&window, cases[i].max_bytes),
				 cases[i].left_out);
		assert_true(window.stacks.len <= cases[i].max_bytes);
		assert_int_equal(pending_window_close(&window, START_NS + 2), 0);
		sent(&window, &stream, &batch);
		assert_int_equal(batch.head.count_cnt, 23);
		assert_int_equal(naming_batch_stack(&batch, 11, &stack), is_whole ? 0 : -ENOENT);
		assert_int_equal(naming_batch_stack(&batch, 50 * DEEP, &stack),
				 cases[i].left_out < 22 ? 0 : -ENOENT);
		assert_int_equal(naming_batch_stack(&batch, 1000 * DEEP, &stack),
				 cases[i].left_out ? -ENOENT : 0);
		sent_release(&stream, &batch);
		pending_window_release(&window);
	}
}

static void a_window_without_samples_has_no_streams_and_is_sent(void **state)
{
	const struct probe_batch nothing = { .start_boot_ns = START_NS,
					     .end_boot_ns = START_NS + 1 };
	struct pending_window window = { 0 };
	struct packet_stream stream;
	struct naming_batch batch;

	(void)state;
	pending_window_add(&window, &source, &nothing);
	assert_int_equal(pending_window_close(&window, START_NS + 2), 0);
	assert_int_equal(window.stream_cnt, 0);
	sent(&window, &stream, &batch);
	assert_int_equal(batch.head.count_cnt, 0);
	assert_int_equal(batch.head.start_boot_ns, START_NS);
	sent_release(&stream, &batch);
	pending_window_release(&window);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_that_came_before_their_jvm_was_met_can_be_looked_at),
		cmocka_unit_test(drains_of_one_window_become_one_in_order),
		cmocka_unit_test(each_stream_is_found_by_what_is_named_and_no_other_is),
		cmocka_unit_test(a_namer_gets_all_with_every_stack_that_is_there),
		cmocka_unit_test(who_has_a_profile_comes_first_also_as_a_part),
		cmocka_unit_test(the_next_namer_gets_only_what_was_not_answered),
		cmocka_unit_test(stacks_that_several_counts_share_are_asked_for_once),
		cmocka_unit_test(what_is_too_much_for_a_packet_costs_the_deepest_stacks),
		cmocka_unit_test(a_window_without_samples_has_no_streams_and_is_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
