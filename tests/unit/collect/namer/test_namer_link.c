// SPDX-License-Identifier: Apache-2.0
/*
 * How the process that names is watched: what counts as hanging, whom it costs what, and who comes
 * next. Programs of this test are the namers, and moments are given, so that nobody waits.
 */
#include "tests/unit/collect/namer/namer_testing.h"

#define BURST 16u

/* ---- starting ---- */

static void a_namer_gets_its_options_and_is_up(void **state)
{
	(void)state;
	assert_true(namer_link__is_up(link_));
	assert_true(stats_of().namer_pid > 0 && stats_of().launcher_pid > 0);
	assert_int_equal(stats_of().restart_cnt, 0);
	assert_int_equal(stats_of().ban_cnt, 0);
	assert_int_equal(orders->numbers[NAMER_JIT], 2);
	assert_int_equal(orders->numbers[NAMER_WANTS_TICKS], 1);
	assert_int_equal(orders->numbers[NAMER_IGNORES_OPT_OUT], 0);
	assert_int_equal(orders->numbers[NAMER_LOG_LEVEL], LOG_LEVEL_ERR);
	assert_int_equal(orders->numbers[NAMER_KEEPS_PARAMETERS], 0);
}

static const struct namer_link_options other_options = {
	.jit = 1,
	.keeps_parameters = true,
	.wants_ticks = true,
};

static void changed_options_reach_this_namer_and_the_next(void **state)
{
	(void)state;
	assert_int_equal(namer_link__change(link_, &other_options, true), 0);
	replace_by(TASK_SERVE);
	assert_int_equal(orders->numbers[NAMER_JIT], 1);
	assert_int_equal(orders->numbers[NAMER_KEEPS_PARAMETERS], 1);
}

static void a_refusal_to_start_gives_its_reason(void **state)
{
	char why[256] = "";

	(void)state;
	namer_link__free(link_);
	link_ = NULL;
	orders->task = TASK_REFUSES;
	assert_int_equal(open_link(why, sizeof(why)), -EPERM);
	assert_null(link_);
	assert_non_null(strstr(why, "cannot be started"));
	assert_non_null(strstr(why, strerror(EPERM)));
	orders->task = TASK_EARLY;
	assert_int_equal(open_link(why, sizeof(why)), -EPIPE);
	orders->task = TASK_GARBAGE;
	assert_int_equal(open_link(why, sizeof(why)), -EBADMSG);
	assert_null(link_);
}

/* ---- dying ---- */

static void a_namer_that_ends_is_replaced_and_its_work_banned(void **state)
{
	static const enum task tasks[] = { TASK_EXIT, TASK_CRASH };
	struct naming_banned banned;

	(void)state;
	for (uint32_t i = 0; i < ARRAY_SIZE(tasks); i++) {
		orders->work.account = 7 + i;
		orders->work.id.pid = 4711 + i;
		replace_by(tasks[i]);
		await_end();
		assert_false(namer_link__is_up(link_));
		assert_int_equal(namer_link__due_boot_ns(link_, now_ns), now_ns);
		orders->task = TASK_SERVE;
		assert_true(tick());
		assert_true(namer_link__is_up(link_));
		assert_int_equal(stats_of().ban_cnt, 1 + i);
		/* The next one is told, of those before, too. */
		assert_int_equal(bans_told(&banned), 1 + i);
		assert_int_equal(banned.account, 0);
		assert_int_equal(banned.pid, 4711 + i);
		assert_int_equal(banned.start_ns, 99);
		assert_true(banned.until_boot_ns == now_ns + BAN_FIRST_NS);
	}
}

static void a_namer_that_is_killed_while_idle_costs_nobody(void **state)
{
	struct naming_banned banned;

	(void)state;
	assert_int_equal(kill(stats_of().namer_pid, SIGKILL), 0);
	await_end();
	assert_true(tick());
	assert_int_equal(stats_of().restart_cnt, 1);
	assert_int_equal(stats_of().ban_cnt, 0);
	assert_int_equal(bans_told(&banned), 0);
}

/* ---- hanging ---- */

static void a_namer_that_sleeps_at_work_is_replaced_and_its_work_banned(void **state)
{
	struct naming_banned banned;
	pid_t old;
	uint32_t ticks;

	(void)state;
	replace_by(TASK_SLEEP);
	await_state('S');
	old = stats_of().namer_pid;
	orders->task = TASK_SERVE;
	ticks = ticks_until_replaced(2 * NAMER_LINK_HANGS_TICKS);
	assert_in_range(ticks, NAMER_LINK_HANGS_TICKS, NAMER_LINK_HANGS_TICKS + 2);
	assert_int_equal(stats_of().ban_cnt, 1);
	assert_int_not_equal(stats_of().namer_pid, old);
	assert_int_equal(kill(old, 0), -1);
	assert_int_equal(bans_told(&banned), 1);
	assert_int_equal(banned.account, 0);
	assert_int_equal(banned.pid, 4711);
}

static void an_idle_namer_is_left_alone(void **state)
{
	(void)state;
	assert_int_equal(ticks_until_replaced(3 * NAMER_LINK_HANGS_TICKS), 0);
	assert_int_equal(stats_of().restart_cnt, 0);
}

static void a_namer_that_computes_or_is_stopped_is_left_alone(void **state)
{
	(void)state;
	replace_by(TASK_SPIN);
	await_state('R');
	assert_int_equal(ticks_until_replaced(3 * NAMER_LINK_HANGS_TICKS), 0);
	replace_by(TASK_STOP);
	await_state('T');
	assert_int_equal(ticks_until_replaced(3 * NAMER_LINK_HANGS_TICKS), 0);
}

static pid_t launcher_pid(void)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	int pid = 0;

	if (!fs_read_filef(AT_FDCWD, 1024, &text, "/proc/%d/stat", (int)stats_of().namer_pid))
		(void)sscanf(strrchr(text.data, ')'), ") %*c %d", &pid);
	return pid;
}

/* While the link waits for the launcher's word on its state, the namer goes on, and falls asleep. */
static pid_t continue_both_later(pid_t launcher)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	(void)poll(NULL, 0, 100);
	(void)kill(stats_of().namer_pid, SIGCONT);
	for (int i = 0; i < 2000 && namer_state() != 'S'; i++)
		(void)poll(NULL, 0, 1);
	(void)kill(launcher, SIGCONT);
	_exit(0);
}

/* Of a host that stood still: it had no CPU for as long, has one now, and waits for a helper. */
static void a_namer_that_went_on_when_its_state_was_asked_is_left_alone(void **state)
{
	pid_t launcher, helper;

	(void)state;
	replace_by(TASK_STOP);
	await_state('T');
	launcher = launcher_pid();
	assert_true(launcher > 1);
	assert_false(tick());
	assert_int_equal(ticks_until_replaced(NAMER_LINK_HANGS_TICKS - 1), 0);
	assert_int_equal(kill(launcher, SIGSTOP), 0);
	helper = continue_both_later(launcher);
	assert_true(helper > 0);
	assert_false(tick());
	assert_int_equal(waitpid(helper, NULL, 0), helper);
	assert_int_equal(namer_state(), 'S');
	assert_int_equal(stats_of().restart_cnt, 1); /* to get this one */
	assert_int_equal(stats_of().ban_cnt, 0);
}

static void a_namer_that_goes_on_to_others_is_left_alone(void **state)
{
	struct packet_stream *stream;

	(void)state;
	replace_by(TASK_CHANGES);
	stream = namer_link__stream(link_);
	for (uint32_t i = 0; i < 3; i++) {
		await_state('S');
		assert_int_equal(ticks_until_replaced(NAMER_LINK_HANGS_TICKS - 1), 0);
		assert_int_equal(fs_write_all(stream->fd, "n", 1), 0);
	}
	assert_int_equal(stats_of().ban_cnt, 0);
}

/* The daemon was stopped, or its host suspended, for a day: one look. */
static void a_long_time_between_two_looks_is_one_look(void **state)
{
	(void)state;
	replace_by(TASK_SLEEP);
	await_state('S');
	assert_int_equal(ticks_until_replaced(3), 0);
	now_ns += 24 * 3600 * CLOCK_NS_PER_S;
	assert_false(tick());
	assert_int_equal(stats_of().ban_cnt, 0);
}

static void looks_come_more_often_while_it_is_at_work(void **state)
{
	(void)state;
	assert_false(tick());
	assert_int_equal(namer_link__due_boot_ns(link_, now_ns) - now_ns, 10 * CLOCK_NS_PER_S);
	assert_false(namer_link__tick(link_, now_ns + 1));
	replace_by(TASK_SLEEP);
	await_state('S');
	assert_in_range(namer_link__due_boot_ns(link_, now_ns) - now_ns, 0, NAMER_LINK_TICK_NS);
	assert_false(tick());
	assert_int_equal(namer_link__due_boot_ns(link_, now_ns) - now_ns, NAMER_LINK_TICK_NS);
}

/* However far off the look at an idle one was. */
static void work_is_watched_from_the_moment_it_is_seen(void **state)
{
	(void)state;
	replace_by(TASK_SLEEP);
	await_state('S');
	for (uint32_t i = 0; i < NAMER_LINK_HANGS_TICKS + 2; i++) {
		now_ns += NAMER_LINK_TICK_NS;
		if (namer_link__tick(link_, now_ns))
			return;
	}
	fail_msg("a namer that hangs was not replaced in time");
}

/* ---- copies ---- */

/* What the copy was told first; it says all back. */
static struct naming_options awakened(void)
{
	struct packet_stream *stream = namer_link__stream(link_);
	uint64_t end_ns = clock_monotonic_ns() + AWAIT_NS;
	struct naming_options options = { 0 };
	struct packet packet;
	int broken;

	assert_int_equal(packet_stream_flush(stream), 0);
	while (clock_monotonic_ns() < end_ns) {
		while (packet_stream_next(stream, &packet, &broken)) {
			if (packet.kind == NAMING_READY)
				continue;
			assert_int_equal(packet.kind, NAMING_AWAKE);
			assert_int_equal(packet.len, sizeof(options));
			memcpy(&options, packet.bytes, sizeof(options));
			return options;
		}
		(void)poll(NULL, 0, 1);
		(void)packet_stream_fill(stream);
	}
	fail_msg("the copy says nothing back");
	return options;
}

static void a_namer_that_hangs_is_replaced_by_its_copy(void **state)
{
	struct naming_options options;
	struct naming_banned banned;
	uint32_t started;
	pid_t old;

	(void)state;
	replace_by_copier(TASK_SLEEP);
	await_state('S');
	old = stats_of().namer_pid;
	started = orders->started;
	assert_int_equal(namer_link__change(link_, &other_options, true), 0);
	orders->task = TASK_SERVE;
	assert_true(ticks_until_replaced(2 * NAMER_LINK_HANGS_TICKS) > 0);
	assert_true(namer_link__is_up(link_));
	assert_int_equal(orders->started, started);
	assert_int_not_equal(stats_of().namer_pid, old);
	assert_int_equal(stats_of().restart_cnt, 2);
	assert_true(namer_link__is_copy(link_));
	/* What it may have missed. */
	options = awakened();
	assert_int_equal(options.jit, 1);
	assert_int_equal(options.keeps_parameters, 1);
	assert_int_equal(options.wants_ticks, 1);
	assert_int_equal(options.log_level, LOG_LEVEL_ERR);
	assert_int_equal(bans_told(&banned), 1);
	assert_int_equal(banned.pid, 4711);
}

static void a_namer_that_is_killed_is_replaced_by_its_copy(void **state)
{
	uint32_t started;

	(void)state;
	replace_by_copier(TASK_SERVE);
	started = orders->started;
	assert_int_equal(kill(stats_of().namer_pid, SIGKILL), 0);
	await_end();
	assert_true(tick());
	assert_int_equal(orders->started, started);
	assert_int_equal(awakened().jit, 2);
}

/* What it crashed of may be in its tables: its copy has it, too. */
static void the_copy_of_one_that_crashes_or_breaks_a_rule_does_not_go_on(void **state)
{
	static const enum task tasks[] = { TASK_CRASH, TASK_EXIT, TASK_GARBAGE };
	struct naming_banned banned;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(tasks); i++) {
		uint32_t started;

		replace_by_copier(tasks[i] == TASK_GARBAGE ? TASK_SERVE : tasks[i]);
		started = orders->started;
		if (tasks[i] == TASK_GARBAGE)
			namer_link__broke(link_, -EBADMSG);
		else
			await_end();
		orders->task = TASK_SERVE;
		assert_true(tick());
		(void)bans_told(&banned); /* it is there */
		assert_int_equal(orders->started, started + 1);
		assert_false(namer_link__is_copy(link_));
	}
}

static void a_copy_that_hangs_before_it_made_another_is_replaced_by_a_new_one(void **state)
{
	uint32_t started;

	(void)state;
	replace_by_copier(TASK_SLEEP);
	await_state('S');
	started = orders->started;
	assert_true(ticks_until_replaced(2 * NAMER_LINK_HANGS_TICKS) > 0);
	assert_int_equal(orders->started, started);
	assert_int_equal(packet_stream_flush(namer_link__stream(link_)), 0);
	await_state('S');
	orders->task = TASK_SERVE;
	for (uint32_t i = 0; orders->started == started && i < 1000; i++) {
		(void)tick();
		(void)poll(NULL, 0, 1);
	}
	assert_int_equal(orders->started, started + 1);
}

/* ---- limits ---- */

static void restarts_are_limited_and_come_back(void **state)
{
	uint64_t end_ns;
	uint32_t cnt = 0;

	(void)state;
	for (uint32_t i = 0; i < 3 * BURST; i++) {
		namer_link__broke(link_, -EPIPE);
		now_ns += CLOCK_NS_PER_MS;
		cnt += namer_link__tick(link_, now_ns);
	}
	assert_int_equal(cnt, BURST);
	assert_false(namer_link__is_up(link_));
	assert_int_equal(stats_of().namer_pid, 0);
	assert_true(namer_link__due_boot_ns(link_, now_ns) > now_ns);
	/* Without being asked again, by ticks alone. */
	end_ns = now_ns + 10 * CLOCK_NS_PER_S;
	while (!namer_link__is_up(link_) && now_ns < end_ns)
		(void)tick();
	assert_true(namer_link__is_up(link_));
}

/* Each took the ticks that tell it: however many they are, they come slowly. */
static void one_that_hung_is_replaced_at_once_however_many_did(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 2 * BURST; i++) {
		namer_link__broke(link_, -ETIME);
		now_ns += CLOCK_NS_PER_MS;
		assert_true(namer_link__tick(link_, now_ns));
	}
	assert_true(namer_link__is_up(link_));
}

static void without_a_launcher_ticks_go_on_at_leisure(void **state)
{
	(void)state;
	assert_int_equal(kill(stats_of().launcher_pid, SIGKILL), 0);
	await_end();
	for (int i = 0; i < 3; i++) {
		assert_false(tick());
		assert_false(namer_link__is_up(link_));
		assert_true(namer_link__due_boot_ns(link_, now_ns) > now_ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_namer_gets_its_options_and_is_up),
		TEST(changed_options_reach_this_namer_and_the_next),
		TEST(a_refusal_to_start_gives_its_reason),
		TEST(a_namer_that_ends_is_replaced_and_its_work_banned),
		TEST(a_namer_that_is_killed_while_idle_costs_nobody),
		TEST(a_namer_that_sleeps_at_work_is_replaced_and_its_work_banned),
		TEST(an_idle_namer_is_left_alone),
		TEST(a_namer_that_computes_or_is_stopped_is_left_alone),
		TEST(a_namer_that_went_on_when_its_state_was_asked_is_left_alone),
		TEST(a_namer_that_goes_on_to_others_is_left_alone),
		TEST(a_long_time_between_two_looks_is_one_look),
		TEST(looks_come_more_often_while_it_is_at_work),
		TEST(work_is_watched_from_the_moment_it_is_seen),
		TEST(a_namer_that_hangs_is_replaced_by_its_copy),
		TEST(a_namer_that_is_killed_is_replaced_by_its_copy),
		TEST(the_copy_of_one_that_crashes_or_breaks_a_rule_does_not_go_on),
		TEST(a_copy_that_hangs_before_it_made_another_is_replaced_by_a_new_one),
		TEST(restarts_are_limited_and_come_back),
		TEST(one_that_hung_is_replaced_at_once_however_many_did),
		TEST(without_a_launcher_ticks_go_on_at_leisure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
