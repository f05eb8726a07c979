// SPDX-License-Identifier: Apache-2.0
/*
 * Windows for which there is no memory when they are to be sent to the namer: nobody will answer these,
 * and what is answered then is of others.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "tests/unit/collect/recorder_testing.h"
#include "user/util/packet_stream.h"

int real_packet_stream_put(struct packet_stream *stream, uint32_t kind, const struct iovec *parts,
			   size_t part_cnt);
#define packet_stream_put real_packet_stream_put
#include "user/util/packet_stream.c"
#undef packet_stream_put

static uint32_t
	unsent; /* a bit for each of the next windows that finds no memory, the first one's is 1 */

int packet_stream_put(struct packet_stream *stream, uint32_t kind, const struct iovec *parts,
		      size_t part_cnt)
{
	bool fails = kind == NAMING_WINDOW && (unsent & 1);

	if (kind == NAMING_WINDOW)
		unsent >>= 1;
	return fails ? -ENOMEM : real_packet_stream_put(stream, kind, parts, part_cnt);
}

static void a_window_that_could_not_be_sent_is_given_up_and_the_next_one_is_named(void **state)
{
	struct recorder *recorder = open_recorder();
	struct naming_end end = { 0 };
	uint32_t count_cnt;

	(void)state;
	unsent = 1;
	recorder__end_window(recorder);
	assert_int_equal(taken.end_cnt, 1);
	assert_int_equal(taken.host.lost[WINDOW_LOSS_GIVEN_UP], SAMPLES);
	assert_true(recorder__is_idle(recorder));

	source_.counts[0].value.count = SAMPLES + 1;
	recorder__end_window(recorder);
	end.window_id = heard_window(&count_cnt);
	assert_int_equal(end.window_id, 2);
	answer_stream(PID, 0, SAMPLES + 1);
	answer_end(&end);
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(link_.started_cnt, 1);
	assert_int_equal(taken.stream_cnt, 1);
	assert_int_equal(taken.samples, SAMPLES + 1);
	assert_int_equal(taken.end_cnt, 2);
	assert_int_equal(taken.lost, SAMPLES);
	assert_true(recorder__is_idle(recorder));
	recorder__free(recorder);
}

/* What is stored of a window is one piece. */
static void a_window_that_could_not_be_sent_is_handed_out_when_it_is_its_turn(void **state)
{
	struct recorder *recorder = open_recorder();
	struct naming_end end = { .window_id = 1 };

	(void)state;
	unsent = 2;
	for (uint64_t i = 1; i <= 3; i++) {
		source_.counts[0].value.count = i;
		recorder__end_window(recorder);
		assert_int_equal(taken.end_cnt, 0);
	}
	answer_stream(PID, 0, 1);
	answer_end(&end);
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(taken.end_cnt, 2);
	assert_int_equal(taken.stream_cnt, 2);
	assert_int_equal(taken.not_named, 2); /* it was recorded before */
	end.window_id = 3;
	answer_stream(PID, 0, 3);
	answer_end(&end);
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(link_.started_cnt, 1);
	assert_int_equal(taken.end_cnt, 3);
	assert_int_equal(taken.samples, 1 + 2 + 3);
	assert_int_equal(taken.lost, 0);
	assert_true(recorder__is_idle(recorder));
	recorder__free(recorder);
}

static void the_next_namer_is_asked_for_a_window_that_the_last_one_did_not_get(void **state)
{
	struct recorder *recorder = open_recorder();

	(void)state;
	unsent = 2;
	recorder__end_window(recorder);
	recorder__end_window(recorder);
	link_.is_dead = true;
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(answer_all(), 2);
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(taken.end_cnt, 2);
	assert_int_equal(taken.samples, 2 * SAMPLES);
	assert_int_equal(taken.lost + taken.not_named, 0);
	recorder__free(recorder);
}

/* None of the windows that are left finds memory, nor did one of them before. */
static void all_windows_that_could_not_be_sent_are_given_up_together(void **state)
{
	struct recorder *recorder = open_recorder();

	(void)state;
	unsent = 2;
	recorder__end_window(recorder);
	recorder__end_window(recorder);
	unsent = 3;
	link_.is_dead = true;
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(taken.end_cnt, 2);
	assert_int_equal(taken.lost, 2 * SAMPLES);
	assert_true(recorder__is_idle(recorder));
	recorder__end_window(recorder);
	assert_int_equal(answer_all(), 1);
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(taken.samples, SAMPLES);
	assert_int_equal(taken.lost, 2 * SAMPLES);
	recorder__free(recorder);
}

/* A window of a process that was named before and one that was not, and a namer that is new to both. */
static struct recorder *open_with_part(void)
{
	struct recorder *recorder = open_idle();
	const struct naming_end end = { .window_id = 1 };

	source_count(OTHER, 0, 0, SAMPLES);
	source_notice(JBPF_NOTICE_SEEN, OTHER, 0);
	recorder__end_window(recorder);
	answer_stream(OTHER, 0, SAMPLES);
	answer_end(&end);
	assert_int_equal(recorder__consume(recorder), 0);
	source_.count_cnt = 0;
	source_count(PID, 0, 0, 1);
	source_count(OTHER, 0, 0, SAMPLES);
	recorder__end_window(recorder);
	link_.is_dead = true;
	unsent = 2; /* the part was sent */
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(unsent, 0);
	assert_int_equal(taken.end_cnt, 1);
	return recorder;
}

static void a_window_that_was_sent_in_part_is_given_up_when_that_is_answered(void **state)
{
	struct recorder *recorder = open_with_part();
	struct naming_end end = { .window_id = 2, .goes_on = 1 };

	(void)state;
	recorder__end_window(recorder);
	answer_stream(OTHER, 0, SAMPLES);
	answer_end(&end);
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(taken.end_cnt, 2);
	assert_int_equal(taken.samples, 2 * SAMPLES);
	assert_int_equal(taken.lost, 1);
	end = (struct naming_end){ .window_id = 3 };
	answer_stream(OTHER, 0, SAMPLES);
	answer_stream(PID, 0, 1);
	answer_end(&end);
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(link_.started_cnt, 2);
	assert_int_equal(taken.end_cnt, 3);
	assert_int_equal(taken.samples, 3 * SAMPLES + 1);
	assert_int_equal(taken.lost, 1);
	assert_true(recorder__is_idle(recorder));
	recorder__free(recorder);
}

/* ... or when its time is over; the part that comes then is not the next window's. */
static void a_part_that_comes_too_late_of_a_window_that_was_not_sent_is_dropped(void **state)
{
	struct recorder *recorder = open_with_part();
	struct naming_end end = { .window_id = 2, .goes_on = 1 };

	(void)state;
	recorder__give_up(recorder);
	assert_int_equal(taken.end_cnt, 2);
	source_.counts[1].value.count = SAMPLES + 1;
	recorder__end_window(recorder);
	answer_stream(OTHER, 0, SAMPLES);
	answer_end(&end);
	end = (struct naming_end){ .window_id = 3 };
	answer_stream(OTHER, 0, SAMPLES + 1);
	answer_stream(PID, 0, 1);
	answer_end(&end);
	assert_int_equal(recorder__consume(recorder), 0);
	assert_int_equal(link_.started_cnt, 2);
	assert_int_equal(taken.end_cnt, 3);
	assert_int_equal(taken.host.lost[WINDOW_LOSS_GIVEN_UP], 0);
	assert_int_equal(taken.samples, SAMPLES + SAMPLES + SAMPLES + 2);
	assert_true(recorder__is_idle(recorder));
	recorder__free(recorder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_window_that_could_not_be_sent_is_given_up_and_the_next_one_is_named),
		cmocka_unit_test(a_window_that_could_not_be_sent_is_handed_out_when_it_is_its_turn),
		cmocka_unit_test(
			the_next_namer_is_asked_for_a_window_that_the_last_one_did_not_get),
		cmocka_unit_test(all_windows_that_could_not_be_sent_are_given_up_together),
		cmocka_unit_test(a_window_that_was_sent_in_part_is_given_up_when_that_is_answered),
		cmocka_unit_test(
			a_part_that_comes_too_late_of_a_window_that_was_not_sent_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
