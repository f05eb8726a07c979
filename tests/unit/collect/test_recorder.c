// SPDX-License-Identifier: Apache-2.0
/*
 * From samples to windows that are handed out, with namers that do not do as they should. The source
 * of samples, and what watches the namer, are this test's: nothing is sampled, and nobody waits.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/collect/recorder_testing.h"
#include "user/collect/probe/stream_fallback.h"
#include "user/collect/recorder.h"
#include "user/collect/recorder_internal.h"
#include "user/collect/running_wire.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

/* What is kept of a stream without names, where there may be no memory for it. */
int real_fallback_text(const char *comm, uint64_t samples, struct strbuf *out);
#define stream_fallback_text real_fallback_text
#include "user/collect/probe/stream_fallback.c"
#undef stream_fallback_text

static const char *no_memory_for; /* the comm of a stream; "" = all; NULL = there is enough */

int stream_fallback_text(const char *comm, uint64_t samples, struct strbuf *out)
{
	if (no_memory_for && (!*no_memory_for || strcmp(no_memory_for, comm) == 0))
		return -ENOMEM;
	return real_fallback_text(comm, samples, out);
}

/* ---- windows that are named ---- */

static void a_window_is_handed_out_when_it_is_answered(void **state)
{
	struct recorder *recorder = open_recorder();

	(void)state;
	recorder__end_window(recorder);
	assert_int_equal(taken.end_cnt, 0);
	assert_false(recorder__is_idle(recorder));
	assert_int_equal(answer_all(), 1);
	assert_int_equal(recorder__consume(recorder), 0);
	assert_true(recorder__is_idle(recorder));
	assert_int_equal(taken.stream_cnt, 1);
	assert_int_equal(taken.end_cnt, 1);
	assert_int_equal(taken.samples, SAMPLES);
	assert_int_equal(taken.lost, 0);
	recorder__free(recorder);
}

static void a_window_with_samples_of_two_processes_gives_two_streams(void **state)
{
	struct recorder *recorder = open_idle();
	struct naming_end end = { 0 };
	uint32_t count_cnt;

	(void)state;
	source_count(PID, 0, 1, 3);
	source_count(PID, 0, 2, 4);
	source_count(OTHER, 0, 3, 5);
	recorder__end_window(recorder);
	end.window_id = heard_window(&count_cnt);
	assert_int_equal(count_cnt, 3);
	answer_stream(PID, 0, 7);
	answer_stream(OTHER, 0, 5);
	answer_end(&end);
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(taken.stream_cnt, 2);
	assert_int_equal(taken.samples, 12);
	assert_int_equal(taken.host.counts.samples, 12);
	assert_int_equal(taken.lost, 0);
	recorder__free(recorder);
}

static void an_exec_in_mid_window_splits_the_stream(void **state)
{
	struct recorder *recorder = open_idle();
	struct naming_end end = { 0 };
	uint32_t count_cnt;

	(void)state;
	source_count(PID, 0, 1, 3);
	source_count(PID, 1, 1, 4);
	source_notice(JBPF_NOTICE_EXEC, PID, 1);
	recorder__end_window(recorder);
	end.window_id = heard_window(&count_cnt);
	assert_int_equal(count_cnt, 2);
	answer_stream(PID, 0, 3);
	answer_stream(PID, 1, 4);
	answer_end(&end);
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(taken.stream_cnt, 2);
	assert_int_equal(taken.exec_ids, 0x3);
	assert_int_equal(taken.samples, 7);
	recorder__free(recorder);
}

/* Its samples were counted before that was known. */
static void a_process_that_opted_out_gives_no_stream_and_is_counted(void **state)
{
	struct recorder *recorder = open_idle();
	struct naming_end end = { .opted_out = { 3 } };
	uint32_t count_cnt;

	(void)state;
	source_count(PID, 0, 1, 3);
	source_count(OTHER, 0, 1, 4);
	source_.counters[JBPF_CNT_OPTED_OUT] = 20; /* which the kernel left out */
	recorder__end_window(recorder);
	end.window_id = heard_window(&count_cnt);
	answer_stream(OTHER, 0, 4);
	answer_end(&end);
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(taken.stream_cnt, 1);
	assert_int_equal(taken.host.counts.samples, 4);
	assert_int_equal(taken.host.lost[WINDOW_LOSS_OPTED_OUT], 23);
	assert_int_equal(taken.host.lost[WINDOW_LOSS_MEMORY], 0);
	recorder__free(recorder);
}

static void a_stream_that_the_namer_left_out_without_a_word_is_lost(void **state)
{
	struct recorder *recorder = open_idle();
	struct naming_end end = { 0 };
	uint32_t count_cnt;

	(void)state;
	source_count(PID, 0, 1, 3);
	source_count(OTHER, 0, 1, 4);
	recorder__end_window(recorder);
	end.window_id = heard_window(&count_cnt);
	answer_stream(OTHER, 0, 4);
	answer_end(&end);
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(taken.host.lost[WINDOW_LOSS_MEMORY], 3);
	recorder__free(recorder);
}

static void losses_of_the_probe_appear_in_the_window_by_reason(void **state)
{
	static const struct {
		uint32_t counter;
		uint32_t loss;
		uint64_t value;
	} losses[] = {
		{ JBPF_CNT_LOST_COUNTS_FULL, WINDOW_LOSS_COUNTS_FULL, 1 },
		{ JBPF_CNT_STACK_BUFFER_FULL, WINDOW_LOSS_STACK_BUFFER, 2 },
		{ JBPF_CNT_NOTICE_LOST, WINDOW_LOSS_NOTICES, 3 },
		{ JBPF_CNT_KERNEL_STACK_ERROR, WINDOW_LOSS_KERNEL_STACK, 4 },
		{ JBPF_CNT_LOST_NO_MAP, WINDOW_LOSS_NO_MAP, 5 },
	};
	struct recorder *recorder = open_recorder();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(losses); i++)
		source_.counters[losses[i].counter] = losses[i].value;
	source_.counters[JBPF_CNT_LOST_UPDATE] = 6;
	recorder__end_window(recorder);
	assert_int_equal(answer_all(), 1);
	assert_int_equal(recorder__consume(recorder), 0);
	for (size_t i = 0; i < ARRAY_SIZE(losses) - 1; i++)
		assert_int_equal(taken.host.lost[losses[i].loss], losses[i].value);
	assert_int_equal(taken.host.lost[WINDOW_LOSS_NO_MAP], 5 + 6);
	recorder__free(recorder);
}

static void a_window_without_a_sample_has_a_host_record(void **state)
{
	struct recorder *recorder = open_idle();
	struct naming_end end = { 0 };
	uint32_t count_cnt = 1;

	(void)state;
	recorder__end_window(recorder);
	end.window_id = heard_window(&count_cnt);
	assert_int_equal(count_cnt, 0);
	answer_end(&end);
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(taken.stream_cnt, 0);
	assert_int_equal(taken.end_cnt, 1);
	assert_int_equal(taken.host.frequency_hz, 99);
	assert_int_equal(taken.host.cpu_cnt, SOURCE_CPUS);
	recorder__free(recorder);
}

static void a_drain_that_fails_costs_nothing_and_the_next_window_has_all(void **state)
{
	struct recorder *recorder = open_recorder();

	(void)state;
	recorder__end_window(recorder);
	assert_int_equal(answer_all(), 1);
	assert_int_equal(recorder__consume(recorder), 0);
	source_.drain_err = -EINTR;
	recorder__end_window(recorder);
	assert_true(recorder__is_idle(recorder));
	assert_int_equal(answer_all(), 0);
	recorder__end_window(recorder);
	assert_int_equal(answer_all(), 1);
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(taken.end_cnt, 2);
	assert_int_equal(taken.samples, 2 * SAMPLES);
	assert_int_equal(taken.lost, 0);
	recorder__free(recorder);
}

static void the_sink_learns_what_the_source_and_the_namer_cost(void **state)
{
	struct naming_end end = { .cpu_ns = 5, .process_cnt = 6, .parser_failures = 7 };
	struct recorder *recorder = open_recorder();
	uint32_t count_cnt;

	(void)state;
	recorder__end_window(recorder);
	end.window_id = heard_window(&count_cnt);
	answer_end(&end);
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(taken.stats.stack_bytes, 77);
	assert_int_equal(taken.stats.unsampled_cpu_cnt, SOURCE_UNSAMPLED);
	assert_int_equal(taken.stats.naming_cpu_ns, 5);
	assert_int_equal(taken.stats.process_cnt, 6);
	assert_int_equal(taken.stats.parser_failures, 7);
	assert_int_equal(recorder__map_bytes(recorder), SOURCE_MAP_BYTES);
	assert_int_equal(recorder__kernel_wakes_ns(recorder), SOURCE_KERNEL_WAKES_NS);
	recorder__free(recorder);
}

/* ---- windows that nobody names in time ---- */

/* Nobody but the namer that had it answers a window that was given up: the next one does not wait. */
static void windows_are_named_after_one_that_was_given_up_with_its_namer(void **state)
{
	struct recorder *recorder = open_recorder();

	(void)state;
	recorder__end_window(recorder);
	recorder__give_up(recorder);
	assert_int_equal(taken.end_cnt, 1);
	assert_int_equal(taken.lost, SAMPLES);
	link_.is_dead = true;
	assert_int_equal(recorder__consume(recorder), 0);
	for (size_t i = 0; i < 3; i++) {
		recorder__end_window(recorder);
		assert_int_equal(answer_all(), 1);
		assert_int_equal(recorder__consume(recorder), 0);
		assert_int_equal(taken.end_cnt, 2 + i);
		assert_int_equal(taken.stream_cnt, 1 + i);
	}
	assert_int_equal(taken.samples, 3 * SAMPLES);
	assert_int_equal(taken.lost, SAMPLES);
	recorder__free(recorder);
}

/* A window after the first, which was recorded, given up. `says`: what the namer says before. */
static void give_up_second(void (*says)(void))
{
	struct recorder *recorder = open_recorder();

	assert_int_equal(recorder__consume(recorder), 0);
	recorder__end_window(recorder);
	assert_int_equal(answer_all(), 1);
	if (says)
		says();
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(taken.samples, SAMPLES);
	recorder__end_window(recorder);
	recorder__give_up(recorder);
	assert_int_equal(taken.end_cnt, 2);
	recorder__free(recorder);
}

static void say_opt_out(void)
{
	const struct naming_opt_out said = { .process = { .start_ns = PID }, .pid = PID };

	namer_says(NAMING_OPT_OUT, &said, sizeof(said));
}

/* A label may say so of a process that was recorded for hours. */
static void who_opted_out_is_not_kept_when_a_window_is_given_up(void **state)
{
	(void)state;
	give_up_second(NULL);
	assert_int_equal(taken.stream_cnt, 2);
	assert_int_equal(taken.lost, 0);
	give_up_second(say_opt_out);
	assert_int_equal(taken.stream_cnt, 1);
	assert_int_equal(taken.lost, SAMPLES);
	assert_int_equal(source_.opted_out_pid, PID);
}

static void say_exit(void)
{
	source_notice(JBPF_NOTICE_EXIT, PID, 0);
}

static void a_process_that_exits_in_the_window_keeps_its_name(void **state)
{
	(void)state;
	give_up_second(say_exit);
	assert_int_equal(taken.stream_cnt, 2);
	assert_string_equal(taken.comm, "prog42");
	assert_string_equal(taken.text, "prog42;[not named] 7\n");
}

/* The namer was suspended, too. */
static void a_window_is_not_given_up_for_a_suspend(void **state)
{
	struct recorder *recorder = open_recorder();

	(void)state;
	recorder__end_window(recorder);
	suspended_ns = 3600 * CLOCK_NS_PER_S;
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(taken.end_cnt, 0);
	passed_ns = 9 * CLOCK_NS_PER_S;
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(taken.end_cnt, 0);
	passed_ns = 60 * CLOCK_NS_PER_S;
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(taken.end_cnt, 1);
	suspended_ns = passed_ns = 0;
	recorder__free(recorder);
}

static void what_finds_no_memory_when_a_window_is_given_up_is_lost_and_not_kept(void **state)
{
	(void)state;
	give_up_second(NULL);
	assert_int_equal(taken.stream_cnt, 2);
	assert_int_equal(taken.lost, 0);
	assert_int_equal(taken.not_named, SAMPLES);
	no_memory_for = "";
	give_up_second(NULL);
	no_memory_for = NULL;
	assert_int_equal(taken.stream_cnt, 1);
	assert_int_equal(taken.lost, SAMPLES);
	assert_int_equal(taken.not_named, 0);
}

static void no_memory_for_one_stream_costs_that_stream(void **state)
{
	struct recorder *recorder = open_idle();
	struct naming_end end = { 0 };
	uint32_t count_cnt;

	(void)state;
	source_count(PID, 0, 1, 3);
	source_count(OTHER, 0, 1, 4);
	source_notice(JBPF_NOTICE_SEEN, PID, 0);
	source_notice(JBPF_NOTICE_SEEN, OTHER, 0);
	recorder__end_window(recorder);
	end.window_id = heard_window(&count_cnt);
	answer_stream(PID, 0, 3);
	answer_stream(OTHER, 0, 4);
	answer_end(&end);
	assert_int_equal(recorder__consume(recorder), 0);
	memset(&taken, 0, sizeof(taken));

	recorder__end_window(recorder);
	no_memory_for = "prog42";
	recorder__give_up(recorder);
	no_memory_for = NULL;
	assert_int_equal(taken.stream_cnt, 1);
	assert_string_equal(taken.comm, "prog43");
	assert_int_equal(taken.host.lost[WINDOW_LOSS_MEMORY], 3);
	assert_int_equal(taken.host.lost[WINDOW_LOSS_NOT_NAMED], 4);
	recorder__free(recorder);
}

/* ---- namers ---- */

/* Not hanging, not dead, and of no use: what is kept for it would grow for ever. */
static void a_namer_that_answers_nothing_is_replaced(void **state)
{
	struct recorder *recorder = open_recorder();
	size_t cnt = 0;

	(void)state;
	do {
		recorder__end_window(recorder);
		recorder__give_up(recorder);
		assert_int_equal(recorder__consume(recorder), 0);
		cnt++;
	} while (!link_.broken && cnt < WINDOWS_MAX);
	assert_int_equal(link_.broken, -ETIME);
	assert_true(cnt > 6); /* a minute */
	assert_int_equal(taken.end_cnt, cnt);
	assert_int_equal(taken.lost, cnt * SAMPLES);

	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(link_.broken, 0);
	recorder__end_window(recorder);
	assert_int_equal(answer_all(), 1);
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(taken.samples, SAMPLES);
	recorder__free(recorder);
}

/* It says so of windows, however late, that it is through with them. */
static void a_namer_that_is_late_with_every_window_is_not_replaced(void **state)
{
	struct recorder *recorder = open_recorder();

	(void)state;
	for (size_t i = 0; i < WINDOWS_MAX; i++) {
		recorder__end_window(recorder);
		recorder__give_up(recorder);
		assert_int_equal(answer_all(), 1);
		assert_int_equal(recorder__consume(recorder), 0);
		assert_int_equal(link_.broken, 0);
	}
	assert_int_equal(taken.end_cnt, WINDOWS_MAX);
	assert_int_equal(taken.stream_cnt, 0);
	assert_int_equal(taken.lost, WINDOWS_MAX * SAMPLES);
	recorder__free(recorder);
}

static void the_next_namer_gets_all_processes_and_windows_that_are_left(void **state)
{
	struct recorder *recorder = open_recorder();
	struct jbpf_notice seen;
	struct packet packet;

	(void)state;
	recorder__end_window(recorder);
	link_.is_dead = true;
	assert_int_equal(recorder__consume(recorder), 0);
	assert_true(namer_hears(NAMING_NOTICE, &packet));
	memcpy(&seen, packet.bytes, sizeof(seen));
	assert_int_equal(seen.kind, JBPF_NOTICE_SEEN);
	assert_int_equal(seen.pid, PID);
	assert_int_equal(answer_all(), 1);
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(taken.samples, SAMPLES);
	recorder__free(recorder);
}

/* What the namer hears next: a notice, or a window, whose head is told. */
static uint32_t hears_next(struct naming_window *head)
{
	struct packet packet;
	int err = 0;

	do {
		while (packet_stream_next(&link_.namer, &packet, &err)) {
			if (packet.kind == NAMING_WINDOW)
				memcpy(head, packet.bytes, sizeof(*head));
			if (packet.kind == NAMING_WINDOW || packet.kind == NAMING_NOTICE)
				return packet.kind;
		}
		assert_int_equal(err, 0);
	} while (packet_stream_fill(&link_.namer) == 0);
	return NAMING_NONE;
}

/* One after the other hangs whoever reads it; they come first in each window. */
static void who_was_named_before_does_not_wait_for_those_that_hang_each_namer(void **state)
{
	struct recorder *recorder = open_idle();
	struct naming_end end = { .goes_on = 1 };
	struct naming_window head;

	(void)state;
	source_count(OTHER, 0, 0, SAMPLES);
	source_notice(JBPF_NOTICE_SEEN, OTHER, 0);
	recorder__end_window(recorder);
	answer_stream(OTHER, 0, SAMPLES);
	answer_end(&(struct naming_end){ .window_id = 1 });
	assert_int_equal(recorder__consume(recorder), 0);
	source_.count_cnt = 0;
	source_count(PID, 0, 0, 1);
	source_count(OTHER, 0, 0, SAMPLES);
	recorder__end_window(recorder);
	recorder__end_window(recorder);

	link_.is_dead = true;
	assert_int_equal(recorder__consume(recorder), 0);
	for (end.window_id = 2; end.window_id <= 3; end.window_id++) {
		assert_int_equal(hears_next(&head), NAMING_WINDOW);
		assert_int_equal(head.window_id, end.window_id);
		assert_int_equal(head.goes_on, 1);
		assert_int_equal(head.count_cnt, 1);
		answer_stream(OTHER, 0, SAMPLES);
		answer_end(&end);
	}
	assert_int_equal(hears_next(&head), NAMING_NOTICE);
	for (uint64_t id = 2; id <= 3; id++) {
		assert_int_equal(hears_next(&head), NAMING_WINDOW);
		assert_int_equal(head.window_id, id);
		assert_int_equal(head.goes_on, 0);
		assert_int_equal(head.count_cnt, 1);
	}
	assert_int_equal(recorder__consume(recorder), 0);
	link_.is_dead = true;
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(taken.end_cnt, 1);
	recorder__give_up(recorder);
	assert_int_equal(taken.end_cnt, 3);
	assert_int_equal(taken.samples, 3 * SAMPLES);
	assert_int_equal(taken.not_named, 0);
	assert_int_equal(taken.lost, 2); /* of the one that was not answered */
	recorder__free(recorder);
}

/* Half an answer, and what only the sampler says. */
static void a_namer_that_talks_nonsense_is_replaced_and_the_window_is_named(void **state)
{
	static const uint32_t kinds[] = { NAMING_END,	  NAMING_HOTSPOT, NAMING_CODE_RANGE,
					  NAMING_OPT_OUT, NAMING_STREAM,  NAMING_WINDOW };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct recorder *recorder = open_recorder();

		recorder__end_window(recorder);
		namer_says(kinds[i], "1234567", 8);
		assert_int_equal(recorder__consume(recorder), 0); /* it is replaced at once */
		assert_int_equal(taken.end_cnt, 0);
		assert_int_equal(link_.started_cnt, 2);
		assert_int_equal(answer_all(), 1);
		assert_int_equal(recorder__consume(recorder), 0);
		assert_int_equal(taken.stream_cnt, 1);
		recorder__free(recorder);
	}
}

static void the_end_of_the_launcher_ends_the_recorder(void **state)
{
	struct recorder *recorder = open_recorder();

	(void)state;
	link_.is_orphan = true;
	assert_int_equal(recorder__consume(recorder), -ECHILD);
	recorder__free(recorder);
}

/* ---- what the namer learnt ---- */

static void accounts_and_code_ranges_go_to_the_source(void **state)
{
	const struct naming_account account = { .cgroup_id = 12, .account = 34 };
	const struct naming_code_range range = { .pid = OTHER };
	struct recorder *recorder = open_recorder();

	(void)state;
	for (int i = 0; i < 2; i++) {
		source_.range_pid = 0;
		source_.account_cgroup = 0;
		namer_says(NAMING_ACCOUNT, &account, sizeof(account));
		namer_says(NAMING_CODE_RANGE, &range, sizeof(range));
		assert_int_equal(recorder__consume(recorder), 0);
		assert_int_equal(source_.account_cgroup, 12);
		assert_int_equal(source_.range_pid, OTHER);
		source_.order_err = -ENOSPC; /* the next one is refused: no reason to end */
	}
	recorder__free(recorder);
}

/* How many stacks the namer is asked to look at. */
static size_t stacks_to_look_at(void)
{
	struct packet packet;
	size_t cnt = 0;

	while (namer_hears(NAMING_STACKS, &packet)) {
		const uint8_t *at = packet.bytes, *end = at + packet.len;
		struct naming_stack head;
		struct probe_stack words;

		for (; naming_stack_next(&at, end, &head, &words); cnt++) {
			assert_int_equal(head.pid, PID);
			assert_true(clock_boot_ns() - head.since_boot_ns < 60 * CLOCK_NS_PER_S);
		}
	}
	return cnt;
}

/*
 * Its stacks came when nobody knew that they were a JVM's, and do not come as new ones again. Its
 * row of counts ends there: what comes then is younger than the reading of its code.
 */
static void a_jvm_that_is_met_in_a_window_is_drained_and_its_stacks_are_looked_at(void **state)
{
	const struct naming_code_range met = { .pid = PID, .is_first = 1 };
	struct recorder *recorder = open_idle();
	struct naming_end end = { 0 };
	uint32_t count_cnt;

	(void)state;
	source_count(PID, 0, HASH, SAMPLES);
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(stacks_to_look_at(), 0);
	namer_says(NAMING_CODE_RANGE, &met, sizeof(met));
	for (int i = 0; i < 2; i++)
		assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(source_.drain_cnt, 1);
	assert_int_equal(stacks_to_look_at(), 1);
	recorder__end_window(recorder);
	end.window_id = heard_window(&count_cnt);
	assert_int_equal(count_cnt, 2);
	answer_stream(PID, 0, 2 * SAMPLES); /* two rows of one stream */
	answer_end(&end);
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(taken.stream_cnt, 1);
	assert_int_equal(taken.samples, 2 * SAMPLES);
	recorder__free(recorder);
}

/* ---- life ---- */

/* ---- the window that runs ---- */

/* The container of the one stream that a snapshot tells, of so many samples; "" = none is told. */
static void take_snapshot(struct recorder *recorder, const char *container, uint64_t samples)
{
	struct strbuf out = STRBUF_INIT;
	struct running_snapshot snapshot;
	struct window window;
	size_t at = 0;

	assert_int_equal(recorder__snapshot(recorder, &out), 0);
	assert_int_equal(running_snapshot_read(out.data, out.len, &snapshot), 0);
	assert_int_equal(running_snapshot_stream(&snapshot, &at, &window), *container != 0);
	if (*container) {
		assert_string_equal(window_label(&window, WINDOW_LABEL_CONTAINER), container);
		assert_string_equal(window_label(&window, WINDOW_LABEL_HOST), HOST);
		assert_int_equal(window.counts.samples, samples);
	}
	strbuf_release(&out);
}

static void a_process_that_the_namer_has_met_is_told_of_before_its_window_ends(void **state)
{
	const struct window met = { .pid = PID,
				    .process_start_ns = PID,
				    .labels = { [WINDOW_LABEL_CONTAINER] = "shop-1" } };
	const struct window stranger = { .pid = OTHER, .process_start_ns = OTHER };
	struct recorder *recorder = open_recorder();

	(void)state;
	source_.begun_ns = clock_boot_ns();
	take_snapshot(recorder, "", 0);
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(naming_met_put(&link_.namer, &stranger), 0);
	assert_int_equal(naming_met_put(&link_.namer, &met), 0);
	assert_int_equal(packet_stream_flush_all(&link_.namer), 0);
	assert_int_equal(recorder__consume(recorder), 0);
	source_.counts[0].value.count += 5;
	take_snapshot(recorder, "shop-1", 5);
	recorder__end_snapshots(recorder);
	take_snapshot(recorder, "shop-1", SAMPLES + 5);
	/* It asked for nothing of the window: that is handed out as a whole. */
	assert_int_equal(source_.drain_cnt, 0);
	assert_int_equal(taken.stream_cnt, 0);
	recorder__free(recorder);
}

static void a_source_that_does_not_open_says_why(void **state)
{
	const struct recorder_options options = options_of(99);
	const struct recorder_sink sink = { .stream = take_stream, .end = take_end };
	struct recorder *recorder = NULL;
	char why[256] = "";

	(void)state;
	memset(&source_, 0, sizeof(source_));
	source_.open_err = -EPERM;
	assert_int_equal(recorder_open_with(&options, &sink, &source_ops, &recorder, why,
					    sizeof(why)),
			 -EPERM);
	assert_null(recorder);
	assert_string_equal(why, "no BPF here");
	recorder__free(recorder);
}

static void sampling_starts_and_stops_with_the_recorder(void **state)
{
	struct recorder *recorder = open_recorder();

	(void)state;
	assert_int_equal(recorder__try_maps(recorder), 0);
	assert_int_equal(recorder__start(recorder), 0);
	assert_true(source_.is_started);
	recorder__stop(recorder);
	assert_false(source_.is_started);
	recorder__free(recorder);
}

/* What is counted meanwhile is already counted as the next window says. */
static void a_change_is_in_force_when_the_window_has_ended(void **state)
{
	struct recorder *recorder = open_recorder();
	struct recorder_options options = options_of(11);
	char why[256];

	(void)state;
	options.keeps_parameters = true;
	assert_int_equal(recorder__may_change(recorder, &options, why, sizeof(why)), 0);
	assert_int_equal(recorder__change(recorder, &options, why, sizeof(why)), 0);
	assert_int_equal(link_.change_cnt, 0);
	for (int i = 0; i < 2; i++) {
		recorder__end_window(recorder);
		assert_int_equal(link_.change_cnt, 1);
		assert_true(link_.forgets && link_.keeps_parameters);
		assert_int_equal(answer_all(), 1);
		assert_int_equal(recorder__consume(recorder), 0);
		assert_int_equal(taken.host.frequency_hz, i ? 11 : 99);
	}
	recorder__free(recorder);
}

/* A probe that refuses all changes does not keep the rest from being changed. */
static void what_the_probe_has_no_part_in_is_changed_without_it(void **state)
{
	struct recorder *recorder = open_recorder();
	struct recorder_options options = options_of(99);

	(void)state;
	source_.change_err = -EOPNOTSUPP;
	options.host = "other";
	recorder__change_rest(recorder, &options);
	recorder__end_window(recorder);
	assert_int_equal(link_.change_cnt, 1); /* which tells it the level of the log */
	assert_false(link_.forgets);
	host_wanted = "other";
	assert_int_equal(answer_all(), 1);
	assert_int_equal(recorder__consume(recorder), 0);
	host_wanted = HOST;
	recorder__free(recorder);
}

static void a_change_that_is_refused_changes_nothing(void **state)
{
	struct recorder *recorder = open_recorder();
	const struct recorder_options options = options_of(11);
	char why[256] = "";

	(void)state;
	source_.change_err = -EOPNOTSUPP;
	assert_int_equal(recorder__change(recorder, &options, why, sizeof(why)), -EOPNOTSUPP);
	assert_string_equal(why, "it cannot be so");
	for (int i = 0; i < 2; i++) {
		recorder__end_window(recorder);
		assert_int_equal(answer_all(), 1);
		assert_int_equal(recorder__consume(recorder), 0);
		assert_int_equal(taken.host.frequency_hz, 99);
	}
	assert_int_equal(link_.change_cnt, 0);
	recorder__free(recorder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_window_is_handed_out_when_it_is_answered),
		cmocka_unit_test(a_window_with_samples_of_two_processes_gives_two_streams),
		cmocka_unit_test(an_exec_in_mid_window_splits_the_stream),
		cmocka_unit_test(a_process_that_opted_out_gives_no_stream_and_is_counted),
		cmocka_unit_test(a_stream_that_the_namer_left_out_without_a_word_is_lost),
		cmocka_unit_test(losses_of_the_probe_appear_in_the_window_by_reason),
		cmocka_unit_test(a_window_without_a_sample_has_a_host_record),
		cmocka_unit_test(a_drain_that_fails_costs_nothing_and_the_next_window_has_all),
		cmocka_unit_test(the_sink_learns_what_the_source_and_the_namer_cost),
		cmocka_unit_test(windows_are_named_after_one_that_was_given_up_with_its_namer),
		cmocka_unit_test(who_opted_out_is_not_kept_when_a_window_is_given_up),
		cmocka_unit_test(a_process_that_exits_in_the_window_keeps_its_name),
		cmocka_unit_test(a_window_is_not_given_up_for_a_suspend),
		cmocka_unit_test(
			what_finds_no_memory_when_a_window_is_given_up_is_lost_and_not_kept),
		cmocka_unit_test(no_memory_for_one_stream_costs_that_stream),
		cmocka_unit_test(a_namer_that_answers_nothing_is_replaced),
		cmocka_unit_test(a_namer_that_is_late_with_every_window_is_not_replaced),
		cmocka_unit_test(the_next_namer_gets_all_processes_and_windows_that_are_left),
		cmocka_unit_test(who_was_named_before_does_not_wait_for_those_that_hang_each_namer),
		cmocka_unit_test(a_namer_that_talks_nonsense_is_replaced_and_the_window_is_named),
		cmocka_unit_test(the_end_of_the_launcher_ends_the_recorder),
		cmocka_unit_test(accounts_and_code_ranges_go_to_the_source),
		cmocka_unit_test(
			a_jvm_that_is_met_in_a_window_is_drained_and_its_stacks_are_looked_at),
		cmocka_unit_test(
			a_process_that_the_namer_has_met_is_told_of_before_its_window_ends),
		cmocka_unit_test(a_source_that_does_not_open_says_why),
		cmocka_unit_test(sampling_starts_and_stops_with_the_recorder),
		cmocka_unit_test(a_change_is_in_force_when_the_window_has_ended),
		cmocka_unit_test(what_the_probe_has_no_part_in_is_changed_without_it),
		cmocka_unit_test(a_change_that_is_refused_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
