// SPDX-License-Identifier: Apache-2.0
/* What comes from the probe while a window runs: what the namer hears at once, and what waits. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/fake_link.h"
#include "tests/unit/fake_source.h"
#include "user/collect/intake.h"
#include "user/util/clock.h"

#define PID   42u
#define OTHER 43u
#define HASH  5u

static const struct sample_source source = { .ops = &source_ops, .probe = &source_ };
static struct sight_table *sights;
static struct intake intake;

static int set_up(void **state)
{
	(void)state;
	memset(&source_, 0, sizeof(source_));
	link_open();
	sights = sight_table__new();
	return sights ? intake_init(&intake, &source, sights, NULL) : -1;
}

static int tear_down(void **state)
{
	(void)state;
	intake_release(&intake);
	sight_table__free(sights);
	namer_link__free(NULL);
	return 0;
}

static void consume(void)
{
	assert_int_equal(intake_consume(&intake), 0);
	(void)packet_stream_flush(&link_.stream);
}

static void end_window(size_t stream_cnt, uint64_t samples)
{
	struct pending_window *window = intake_end_window(&intake);
	uint64_t unanswered[EVENT_CNT];

	assert_non_null(window);
	assert_int_equal(window->stream_cnt, stream_cnt);
	pending_window_unanswered(window, unanswered);
	assert_int_equal(unanswered[EVENT_CPU], samples);
	pending_window_release(window);
	free(window);
}

static void new_stack(void)
{
	source_.stacks[source_.stack_cnt++] =
		(struct probe_new_stack){ .life = { .start_ns = PID, .pid = PID } };
}

static size_t stacks_heard(void)
{
	struct packet packet;
	size_t cnt = 0;

	(void)packet_stream_flush(&link_.stream);
	while (namer_hears(NAMING_STACKS, &packet)) {
		const uint8_t *at = packet.bytes, *end = at + packet.len;
		struct naming_stack head;
		struct probe_stack words;

		while (naming_stack_next(&at, end, &head, &words))
			cnt++;
	}
	return cnt;
}

static void a_notice_goes_to_the_namer_at_once_and_is_noted(void **state)
{
	struct packet packet;

	(void)state;
	source_notice(JBPF_NOTICE_SEEN, PID, 0);
	consume();
	assert_true(namer_hears(NAMING_NOTICE, &packet));
	assert_int_equal(packet.len, sizeof(struct jbpf_notice));
	assert_int_equal(sight_table__count(sights), 1);
}

static void what_was_noted_while_there_was_no_namer_is_passed_on_later(void **state)
{
	struct packet packet;

	(void)state;
	link_.broken = -EPIPE;
	source_notice(JBPF_NOTICE_SEEN, PID, 0);
	consume();
	start_namer();
	assert_false(namer_hears(NAMING_NOTICE, &packet));
	intake_pass_sights(&intake);
	(void)packet_stream_flush(&link_.stream);
	assert_true(namer_hears(NAMING_NOTICE, &packet));
	assert_false(namer_hears(NAMING_NOTICE, &packet));
}

static void new_stacks_are_passed_on_only_while_there_are_jvms(void **state)
{
	(void)state;
	new_stack();
	consume();
	assert_int_equal(stacks_heard(), 0);
	assert_int_equal(source_.stack_cnt, 0); /* nor kept */
	assert_int_equal(intake_due_boot_ns(&intake), UINT64_MAX);

	intake_jvm(&intake);
	assert_true(intake_due_boot_ns(&intake) <= clock_boot_ns() + CLOCK_NS_PER_S);
	new_stack();
	consume();
	assert_int_equal(stacks_heard(), 0); /* it is not time yet */
	intake.next_prefetch_ns = 0;
	consume();
	assert_int_equal(stacks_heard(), 1);
}

static void looks_come_as_often_as_the_namer_wants(void **state)
{
	(void)state;
	intake_set_prefetch_interval(&intake, 1);
	assert_int_equal(intake_due_boot_ns(&intake), UINT64_MAX); /* no JVM */
	intake_jvm(&intake);
	intake_set_prefetch_interval(&intake, 3600 * CLOCK_NS_PER_S);
	intake_set_prefetch_interval(&intake, 0);
	intake.next_prefetch_ns = 0;
	consume();
	assert_true(intake_due_boot_ns(&intake) > clock_boot_ns() + 3000 * CLOCK_NS_PER_S);
}

static void counts_of_a_window_are_drained_at_its_end(void **state)
{
	(void)state;
	source_count(PID, 0, 1, 3);
	source_count(PID, 0, 2, 4);
	source_count(OTHER, 0, 1, 5);
	consume();
	assert_int_equal(source_.drain_cnt, 0);
	end_window(2, 12);
	assert_int_equal(source_.drain_cnt, 1);
}

static void a_window_that_cannot_be_drained_goes_on(void **state)
{
	(void)state;
	source_count(PID, 0, 1, 3);
	source_.drain_err = -ENOMEM;
	assert_null(intake_end_window(&intake));
	end_window(1, 3);
}

static void a_split_in_mid_window_adds_to_the_window(void **state)
{
	(void)state;
	source_count(PID, 0, HASH, 3);
	source_count(OTHER, 0, HASH, 4);
	intake_split(&intake, PID);
	consume();
	assert_int_equal(source_.drain_cnt, 1);
	assert_int_equal(stacks_heard(), 1); /* of the JVM that was met only */
	end_window(2, 2 * 7);
}

static void a_second_split_waits_a_second(void **state)
{
	(void)state;
	source_count(PID, 0, HASH, 3);
	for (int i = 0; i < 2; i++) {
		intake_split(&intake, PID);
		consume();
	}
	assert_int_equal(source_.drain_cnt, 1);
	assert_int_equal(stacks_heard(), 1);
	intake.last_split_ns -= 2 * CLOCK_NS_PER_S;
	consume();
	assert_int_equal(source_.drain_cnt, 2);
}

static void a_stack_that_was_lost_is_not_looked_at(void **state)
{
	(void)state;
	source_count(PID, 0, SOURCE_LOST_STACK, 3);
	intake_split(&intake, PID);
	consume();
	assert_int_equal(source_.drain_cnt, 1);
	assert_int_equal(stacks_heard(), 0);
}

static void more_jvms_than_fit_are_left_out_of_a_split(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < INTAKE_SPLIT_PIDS_MAX; i++)
		intake_split(&intake, OTHER);
	intake_split(&intake, PID);
	source_count(PID, 0, HASH, 3);
	consume();
	assert_int_equal(source_.drain_cnt, 1);
	assert_int_equal(stacks_heard(), 0);
}

static void an_error_of_the_source_is_passed_on(void **state)
{
	(void)state;
	source_.consume_err = -EIO;
	assert_int_equal(intake_consume(&intake), -EIO);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_notice_goes_to_the_namer_at_once_and_is_noted),
		TEST(what_was_noted_while_there_was_no_namer_is_passed_on_later),
		TEST(new_stacks_are_passed_on_only_while_there_are_jvms),
		TEST(looks_come_as_often_as_the_namer_wants),
		TEST(counts_of_a_window_are_drained_at_its_end),
		TEST(a_window_that_cannot_be_drained_goes_on),
		TEST(a_split_in_mid_window_adds_to_the_window),
		TEST(a_second_split_waits_a_second),
		TEST(a_stack_that_was_lost_is_not_looked_at),
		TEST(more_jvms_than_fit_are_left_out_of_a_split),
		TEST(an_error_of_the_source_is_passed_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
