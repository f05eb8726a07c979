// SPDX-License-Identifier: Apache-2.0
/* Windows that wait for their names: what is handed out when, and what is believed of an answer. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/collect/window_queue.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

#define PID	 42u
#define SAMPLES	 7u
#define START_NS (5 * CLOCK_NS_PER_S)
#define SENT_NS	 (100 * CLOCK_NS_PER_S)
#define MAX_NS	 (10 * CLOCK_NS_PER_S)

static struct {
	size_t stream_cnt;
	size_t end_cnt;
	uint64_t given_up_id;
	struct window named; /* the last one; its strings are not to be read */
	struct window host;
	struct window hosts[EVENT_CNT]; /* all of the last end; `host` is the first of them */
} taken;

static void take_stream(void *ctx, const struct window *named, const char *text, size_t len)
{
	(void)ctx;
	assert_true(len > 0 && text[len - 1] == '\n');
	taken.stream_cnt++;
	taken.named = *named;
}

static void take_end(void *ctx, const struct pending_window *window, struct window *host,
		     size_t host_cnt)
{
	(void)ctx;
	assert_int_equal(host_cnt, window->events ? __builtin_popcount(window->events) : 1);
	assert_int_equal(window->end_boot_ns - window->start_boot_ns, host->duration_ns);
	taken.end_cnt++;
	taken.host = *host;
	memcpy(taken.hosts, host, host_cnt * sizeof(*host));
}

static void take_give_up(void *ctx, uint64_t window_id)
{
	(void)ctx;
	taken.given_up_id = window_id;
}

static struct window_queue queue;

static int set_up(void **state)
{
	const struct window_queue_listener listener = {
		.stream = take_stream,
		.end = take_end,
		.give_up = take_give_up,
	};

	(void)state;
	memset(&taken, 0, sizeof(taken));
	window_queue_init(&queue, &listener, sight_table__new());
	return queue.sights ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	window_queue_release(&queue);
	sight_table__free(queue.sights);
	return 0;
}

static int no_stack(const struct probe *probe, uint64_t hash, struct probe_stack *out)
{
	(void)probe;
	(void)hash;
	(void)out;
	return -ENOENT;
}

/* A window with these counts, each of a stream of its own. */
static void add_window_with(const struct probe_count *counts, size_t cnt, uint32_t events)
{
	static const struct sample_source_ops ops = { .stack = no_stack };
	const struct sample_source source = { .ops = &ops };
	const struct probe_batch batch = {
		.counts = counts,
		.count_cnt = cnt,
		.start_boot_ns = START_NS,
		.end_boot_ns = START_NS + 10,
		.counters = { [JBPF_CNT_SAMPLES] = SAMPLES },
	};
	struct pending_window *window = calloc(1, sizeof(*window));

	assert_non_null(window);
	pending_window_add(window, &source, &batch);
	assert_int_equal(pending_window_close(window, START_NS + 20), 0);
	window->start_unix_ns = 1234;
	window->sent_ns = SENT_NS;
	window->frequency_hz = 99;
	window->cpu_cnt = 2;
	window->events = events;
	window_queue_add(&queue, window);
}

/* A window with one stream. */
static void add_window_of(const struct probe_count *count)
{
	add_window_with(count, 1, 0);
}

static void add_window(void)
{
	static const struct probe_count count = {
		.key = { .pid = PID, .start_ns = 1 },
		.value = { .count = SAMPLES, .comm = "busy" },
	};

	add_window_of(&count);
}

/* Whether an answer with this stream is taken. */
static int answer_text(const struct window *named, const char *text, size_t len)
{
	struct packet_stream stream;
	struct packet packet;
	int err;

	packet_stream_init(&stream, -1, PACKET_MAX_BYTES);
	assert_int_equal(naming_stream_put(&stream, named, text, len), 0);
	packet_stream_turn(&stream);
	assert_true(packet_stream_next(&stream, &packet, &err));
	err = window_queue_take_stream(&queue, packet.bytes, packet.len);
	packet_stream_release(&stream);
	return err;
}

static int answer(const struct window *named)
{
	static const char text[] = "busy;main 7\n";

	return answer_text(named, text, strlen(text));
}

static struct window named_stream(void)
{
	return (struct window){
		.pid = PID,
		.process_start_ns = 1,
		.counts = { .samples = SAMPLES },
	};
}

static void end_window(uint64_t id)
{
	const struct naming_end end = { .window_id = id };

	window_queue_take_end(&queue, &end);
}

static void windows_are_answered_in_the_order_of_their_ends(void **state)
{
	(void)state;
	add_window();
	add_window();
	assert_true(window_queue_awaits(&queue, 1));
	assert_false(window_queue_awaits(&queue, 2));
	end_window(2);
	assert_int_equal(taken.end_cnt, 0);
	end_window(1);
	assert_int_equal(taken.end_cnt, 1);
	end_window(2);
	assert_int_equal(taken.end_cnt, 2);
	assert_true(window_queue_is_idle(&queue));
}

static void a_stream_that_is_answered_twice_is_handed_out_once(void **state)
{
	const struct window named = named_stream();

	(void)state;
	add_window();
	for (int i = 0; i < 2; i++)
		assert_int_equal(answer(&named), 0);
	assert_int_equal(taken.stream_cnt, 1);
}

static void a_stream_that_nobody_asked_for_is_dropped(void **state)
{
	struct window named = named_stream();

	(void)state;
	assert_int_equal(answer(&named), 0); /* no window at all */
	add_window();
	named.pid++;
	assert_int_equal(answer(&named), 0);
	named.pid--;
	named.exec_id = 1;
	assert_int_equal(answer(&named), 0);
	assert_int_equal(taken.stream_cnt, 0);
}

/* Also of a stream without any sample: its threads had no CPU all the time. */
static void time_without_a_cpu_is_what_the_kernel_measured(void **state)
{
	static const struct probe_count count = {
		.key = { .pid = PID,
			 .start_ns = 1,
			 .kind = JBPF_KEY_OFF_CPU,
			 .user_hash = JBPF_HASH_RUN_DELAY },
		.value = { .run_delay_ns = 5000, .comm = "busy" },
	};
	struct window named = named_stream();

	(void)state;
	named.event = EVENT_OFF_CPU;
	named.counts.samples = 0;
	named.counts.run_delay_ns = 1;
	add_window_of(&count);
	assert_int_equal(answer(&named), 0);
	assert_int_equal(taken.stream_cnt, 1);
	assert_int_equal(taken.named.counts.run_delay_ns, 5000);
}

static void a_stream_with_other_samples_than_were_counted_is_refused(void **state)
{
	struct window named = named_stream();

	(void)state;
	add_window();
	named.counts.samples--;
	assert_int_equal(answer(&named), -EBADMSG);
	assert_int_equal(taken.stream_cnt, 0);
}

static void an_answer_does_not_say_when_the_window_was(void **state)
{
	struct window named = named_stream();

	(void)state;
	named.start_unix_ns = 1;
	named.duration_ns = 2;
	named.start_boot_ns = 3;
	named.frequency_hz = 4;
	named.cpu_cnt = 5;
	named.lost[WINDOW_LOSS_MEMORY] = 6;
	memset(named.boot_id, 7, sizeof(named.boot_id));
	add_window();
	assert_int_equal(answer(&named), 0);
	assert_int_equal(taken.named.start_unix_ns, 1234);
	assert_int_equal(taken.named.duration_ns, 10);
	assert_int_equal(taken.named.start_boot_ns, START_NS);
	assert_int_equal(taken.named.frequency_hz, 99);
	assert_int_equal(taken.named.cpu_cnt, 2);
	assert_int_equal(taken.named.lost[WINDOW_LOSS_MEMORY], 0);
	assert_memory_equal(taken.named.boot_id, queue.boot_id, sizeof(queue.boot_id));
}

static void what_is_no_stream_is_refused(void **state)
{
	(void)state;
	add_window();
	assert_int_equal(window_queue_take_stream(&queue, "1234567", 8), -EBADMSG);
}

static void a_window_is_given_up_after_its_time_and_not_before(void **state)
{
	(void)state;
	add_window();
	window_queue_give_up_late(&queue, SENT_NS + MAX_NS, MAX_NS);
	assert_int_equal(taken.end_cnt, 0);
	window_queue_give_up_late(&queue, SENT_NS + MAX_NS + 1, MAX_NS);
	assert_int_equal(taken.end_cnt, 1);
	assert_int_equal(taken.given_up_id, 1);
	window_queue_give_up_late(&queue, SENT_NS + 2 * MAX_NS, MAX_NS);
	assert_int_equal(taken.end_cnt, 1); /* once */
}

static void
of_a_process_that_was_never_recorded_nothing_is_kept_when_a_window_is_given_up(void **state)
{
	(void)state;
	add_window();
	window_queue_give_up_all(&queue);
	assert_int_equal(taken.stream_cnt, 0);
	assert_int_equal(taken.host.lost[WINDOW_LOSS_GIVEN_UP], SAMPLES);
	assert_int_equal(taken.host.lost[WINDOW_LOSS_UNDECIDED], 0);
	assert_int_equal(taken.host.lost[WINDOW_LOSS_NOT_NAMED], 0);
}

static void a_process_that_was_recorded_is_kept_without_names(void **state)
{
	const struct jbpf_notice seen = { .kind = JBPF_NOTICE_SEEN, .pid = PID, .start_ns = 1 };

	(void)state;
	sight_table__note(queue.sights, &seen);
	sight_table__note_recorded(queue.sights,
				   (struct process_life){ .start_ns = 1, .pid = PID });
	add_window();
	window_queue_give_up_all(&queue);
	assert_int_equal(taken.stream_cnt, 1);
	assert_int_equal(taken.named.counts.samples, SAMPLES);
	assert_int_equal(taken.host.lost[WINDOW_LOSS_NOT_NAMED], SAMPLES);
}

static void what_was_answered_before_its_window_is_given_up_is_not_handed_out_again(void **state)
{
	const struct jbpf_notice seen = { .kind = JBPF_NOTICE_SEEN, .pid = PID, .start_ns = 1 };
	const struct window named = named_stream();

	(void)state;
	sight_table__note(queue.sights, &seen);
	add_window();
	assert_int_equal(answer(&named), 0);
	window_queue_give_up_all(&queue);
	assert_int_equal(taken.stream_cnt, 1);
	assert_int_equal(taken.host.lost[WINDOW_LOSS_NOT_NAMED], 0);
}

static void what_is_said_of_a_window_that_was_given_up_is_dropped(void **state)
{
	const struct window named = named_stream();

	(void)state;
	add_window();
	window_queue_give_up_all(&queue);
	assert_int_equal(window_queue_given_up(&queue), 1);
	assert_int_equal(answer(&named), 0);
	assert_int_equal(taken.stream_cnt, 0);
	end_window(1);
	assert_int_equal(taken.end_cnt, 1);
	assert_int_equal(window_queue_given_up(&queue), 0);
}

static void windows_behind_those_that_were_given_up_stay_when_these_are_dropped(void **state)
{
	(void)state;
	add_window();
	add_window();
	window_queue_give_up_all(&queue);
	assert_true(window_queue_is_idle(&queue));
	add_window();
	assert_false(window_queue_is_idle(&queue));
	assert_int_equal(window_queue_given_up(&queue), 2);
	window_queue_drop_given_up(&queue);
	assert_int_equal(window_queue_given_up(&queue), 0);
	assert_true(window_queue_awaits(&queue, 3));
}

/* ---- parts of all windows, which are answered before any of them is ---- */

static void answer_part(uint64_t id, uint64_t opted_out)
{
	const struct naming_end end = {
		.window_id = id,
		.goes_on = 1,
		.opted_out = { opted_out },
		.not_named = { 1 },
	};

	window_queue_take_end(&queue, &end);
}

static void add_two_that_owe_a_part(void)
{
	add_window();
	add_window();
	queue.first->owes_part = queue.first->next->owes_part = true;
}

static void a_part_of_a_later_window_is_handed_out_when_it_is_its_turn(void **state)
{
	const struct window named = named_stream();

	(void)state;
	add_two_that_owe_a_part();
	assert_int_equal(answer(&named), 0);
	assert_int_equal(taken.stream_cnt, 1);
	end_window(1); /* not yet: its part is not over */
	assert_int_equal(taken.end_cnt, 0);
	answer_part(1, 0);
	assert_true(window_queue_awaits(&queue, 2));
	for (int i = 0; i < 2; i++)
		assert_int_equal(answer(&named), 0);
	assert_int_equal(taken.stream_cnt, 1);
	answer_part(2, 0);
	assert_true(window_queue_awaits(&queue, 1));
	end_window(1);
	assert_int_equal(taken.end_cnt, 1);
	assert_int_equal(taken.stream_cnt, 2);
	assert_int_equal(queue.early_bytes, 0);
	assert_int_equal(answer(&named), 0); /* it was answered */
	end_window(2);
	assert_int_equal(taken.stream_cnt, 2);
	assert_int_equal(taken.end_cnt, 2);
	assert_int_equal(taken.host.lost[WINDOW_LOSS_MEMORY], 0);
	assert_int_equal(taken.host.lost[WINDOW_LOSS_NOT_NAMED], 1);
}

static void a_part_that_was_answered_is_kept_when_windows_are_given_up(void **state)
{
	const struct window named = named_stream();

	(void)state;
	add_two_that_owe_a_part();
	answer_part(1, 0);
	assert_int_equal(answer(&named), 0);
	answer_part(2, 0);
	queue.first->next->sent_ns += MAX_NS;
	window_queue_give_up_late(&queue, SENT_NS + MAX_NS + 1, MAX_NS);
	assert_int_equal(taken.end_cnt, 1);
	assert_int_equal(taken.host.lost[WINDOW_LOSS_GIVEN_UP], SAMPLES);
	assert_int_equal(taken.stream_cnt, 1); /* the next one's turn has come */
	window_queue_give_up_all(&queue);
	assert_int_equal(taken.end_cnt, 2);
	assert_int_equal(taken.stream_cnt, 1);
	assert_int_equal(taken.host.lost[WINDOW_LOSS_GIVEN_UP], 0);
	assert_int_equal(taken.host.lost[WINDOW_LOSS_NOT_NAMED], 1);
}

static void who_is_left_out_of_a_part_is_not_lost(void **state)
{
	(void)state;
	add_two_that_owe_a_part();
	answer_part(1, SAMPLES);
	answer_part(2, 0);
	end_window(1);
	assert_int_equal(taken.host.lost[WINDOW_LOSS_MEMORY], 0);
	assert_int_equal(taken.host.lost[WINDOW_LOSS_OPTED_OUT], SAMPLES);
	end_window(2);
	assert_int_equal(taken.host.lost[WINDOW_LOSS_MEMORY], SAMPLES);
}

/* Of several windows, each as long as a packet may be. */
static void what_waits_for_its_turn_is_bounded_and_the_rest_is_counted(void **state)
{
	const struct window named = named_stream();
	size_t len = WINDOW_QUEUE_EARLY_MAX_BYTES / 2, at = 0;
	char *text = malloc(len + 1);

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i < len; i++)
		text[i] = i % 64 == 63 ? '\n' : i % 64 == 62 ? '1' : i % 64 == 61 ? ' ' : 'a';
	text[len] = '\0';
	for (int i = 0; i < 4; i++)
		add_window();
	for (struct pending_window *window = queue.first; window; window = window->next)
		window->owes_part = true;
	for (uint64_t id = 1; id <= 4; id++) {
		assert_int_equal(answer_text(&named, text, len), 0);
		assert_true(queue.early_bytes >= at &&
			    queue.early_bytes <= WINDOW_QUEUE_EARLY_MAX_BYTES);
		at = queue.early_bytes;
		answer_part(id, 0);
	}
	free(text);
	assert_int_equal(taken.stream_cnt, 1);
	for (uint64_t id = 1; id <= 4; id++) {
		end_window(id);
		assert_int_equal(taken.host.lost[WINDOW_LOSS_MEMORY], id > 2 ? SAMPLES : 0);
	}
	assert_int_equal(taken.stream_cnt, 2);
	assert_int_equal(queue.early_bytes, 0);
}

/* ---- several events ---- */

#define FAULTS 20u
#define WAITS  300u

/* The same process, with samples of three events. */
static void add_window_of_events(void)
{
	static const struct probe_count counts[] = {
		{ .key = { .pid = PID, .start_ns = 1 }, .value = { .count = SAMPLES } },
		{ .key = { .pid = PID, .start_ns = 1, .kind = JBPF_KEY_OFF_CPU },
		  .value = { .count = WAITS } },
		{ .key = { .pid = PID, .start_ns = 1, .kind = JBPF_KEY_SOFTWARE + 2 },
		  .value = { .count = FAULTS } },
	};

	add_window_with(counts, ARRAY_SIZE(counts),
			EVENT_BIT(EVENT_CPU) | EVENT_BIT(EVENT_PAGE_FAULTS) |
				EVENT_BIT(EVENT_OFF_CPU));
}

/* What each event's record says that was lost so. */
static void lost_are(enum window_loss loss, uint64_t cpu, uint64_t faults, uint64_t waits)
{
	assert_int_equal(taken.hosts[0].lost[loss], cpu);
	assert_int_equal(taken.hosts[1].lost[loss], faults);
	assert_int_equal(taken.hosts[2].lost[loss], waits);
}

static void samples_are(uint64_t cpu, uint64_t faults, uint64_t waits)
{
	assert_int_equal(taken.hosts[0].counts.samples, cpu);
	assert_int_equal(taken.hosts[1].counts.samples, faults);
	assert_int_equal(taken.hosts[2].counts.samples, waits);
}

static void what_is_given_up_is_lost_of_its_event(void **state)
{
	(void)state;
	add_window_of_events();
	window_queue_give_up_all(&queue);
	lost_are(WINDOW_LOSS_GIVEN_UP, SAMPLES, FAULTS, WAITS);
	samples_are(SAMPLES, FAULTS, WAITS);
}

static void what_is_not_answered_is_lost_of_its_event(void **state)
{
	const struct window named = named_stream();

	(void)state;
	add_window_of_events();
	assert_int_equal(answer(&named), 0);
	end_window(1);
	lost_are(WINDOW_LOSS_MEMORY, 0, FAULTS, WAITS);
}

static void who_is_left_out_is_left_out_of_each_event(void **state)
{
	struct naming_end end = { .window_id = 1 };

	(void)state;
	add_window_of_events();
	end.opted_out[EVENT_CPU] = SAMPLES;
	end.opted_out[EVENT_OFF_CPU] = WAITS;
	end.undecided[EVENT_PAGE_FAULTS] = FAULTS;
	window_queue_take_end(&queue, &end);
	lost_are(WINDOW_LOSS_OPTED_OUT, SAMPLES, 0, WAITS);
	lost_are(WINDOW_LOSS_UNDECIDED, 0, FAULTS, 0);
	lost_are(WINDOW_LOSS_MEMORY, 0, 0, 0);
	samples_are(0, FAULTS, 0);
}

static void samples_for_want_of_passes_are_lost_of_waits_alone(void **state)
{
	(void)state;
	add_window_of_events();
	queue.first->missed_samples = 40;
	end_window(1);
	lost_are(WINDOW_LOSS_PASSES, 0, 0, 40);
	assert_int_equal(window_lost_samples(taken.hosts[2].lost), WAITS + 40);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(windows_are_answered_in_the_order_of_their_ends),
		TEST(a_stream_that_is_answered_twice_is_handed_out_once),
		TEST(a_stream_that_nobody_asked_for_is_dropped),
		TEST(a_stream_with_other_samples_than_were_counted_is_refused),
		TEST(time_without_a_cpu_is_what_the_kernel_measured),
		TEST(an_answer_does_not_say_when_the_window_was),
		TEST(what_is_no_stream_is_refused),
		TEST(a_window_is_given_up_after_its_time_and_not_before),
		TEST(of_a_process_that_was_never_recorded_nothing_is_kept_when_a_window_is_given_up),
		TEST(a_process_that_was_recorded_is_kept_without_names),
		TEST(what_was_answered_before_its_window_is_given_up_is_not_handed_out_again),
		TEST(what_is_said_of_a_window_that_was_given_up_is_dropped),
		TEST(windows_behind_those_that_were_given_up_stay_when_these_are_dropped),
		TEST(a_part_of_a_later_window_is_handed_out_when_it_is_its_turn),
		TEST(a_part_that_was_answered_is_kept_when_windows_are_given_up),
		TEST(who_is_left_out_of_a_part_is_not_lost),
		TEST(what_waits_for_its_turn_is_bounded_and_the_rest_is_counted),
		TEST(what_is_given_up_is_lost_of_its_event),
		TEST(what_is_not_answered_is_lost_of_its_event),
		TEST(who_is_left_out_is_left_out_of_each_event),
		TEST(samples_for_want_of_passes_are_lost_of_waits_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
