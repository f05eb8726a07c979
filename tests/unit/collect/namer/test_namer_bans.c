// SPDX-License-Identifier: Apache-2.0
/* Whom it costs what that the process that names hung, or ended: no more than the proof is of. */
#include "tests/unit/collect/namer/namer_testing.h"

/* The proof is of one process; what its container has to do with it shows when a second one does it. */
static void the_second_process_of_an_account_is_banned_with_all_of_it(void **state)
{
	struct naming_banned banned;

	(void)state;
	replace_by(TASK_CRASH);
	await_end();
	replace_by(TASK_SERVE);
	assert_int_equal(bans_told(&banned), 1);
	assert_int_equal(banned.account, 0);
	orders->work.id.pid = 4712;
	replace_by(TASK_CRASH);
	await_end();
	replace_by(TASK_SERVE);
	assert_int_equal(stats_of().ban_cnt, 2);
	assert_int_equal(bans_told(&banned), 2);
	assert_int_equal(banned.account, 7);
}

static void kill_at_work(void)
{
	replace_by(TASK_SLEEP);
	await_state('S');
	assert_int_equal(kill(stats_of().namer_pid, SIGKILL), 0);
	await_end();
	replace_by(TASK_SERVE);
}

/* As it does when memory is short, by whomever. */
static void whose_work_is_killed_once_is_not_blamed(void **state)
{
	struct naming_banned banned;

	(void)state;
	kill_at_work();
	assert_int_equal(stats_of().ban_cnt, 0);
	assert_int_equal(bans_told(&banned), 0);
	orders->work.account = 8;
	kill_at_work();
	assert_int_equal(stats_of().ban_cnt, 0);
	now_ns += 10 * 60 * CLOCK_NS_PER_S;
	kill_at_work();
	assert_int_equal(stats_of().ban_cnt, 0);
	kill_at_work();
	assert_int_equal(stats_of().ban_cnt, 1);
	assert_int_equal(bans_told(&banned), 1);
	assert_int_equal(banned.account, 8);
}

/* What the one before it worked on is no business of the next. */
static void a_namer_that_ends_at_once_bans_nobody_for_the_one_before(void **state)
{
	(void)state;
	replace_by(TASK_EXIT);
	await_end();
	orders->task = TASK_EARLY;
	assert_true(tick());
	assert_int_equal(stats_of().ban_cnt, 1);
	await_end();
	orders->task = TASK_SERVE;
	assert_true(tick());
	assert_int_equal(stats_of().ban_cnt, 1);
}

static void a_ban_that_is_over_is_not_told(void **state)
{
	struct naming_banned banned;

	(void)state;
	replace_by(TASK_EXIT);
	await_end();
	replace_by(TASK_SERVE);
	assert_int_equal(stats_of().ban_cnt, 1);
	assert_int_equal(bans_told(&banned), 1);
	now_ns += BAN_FIRST_NS;
	replace_by(TASK_SERVE);
	assert_int_equal(bans_told(&banned), 0);
}

static void a_ban_lasts_as_long_as_a_namer_hangs_that_was_killed(void **state)
{
	struct naming_banned banned;
	uint64_t end_ns = clock_monotonic_ns() + AWAIT_NS;
	char text[NAMER_LINK_HANGING_BYTES];
	pid_t old;

	(void)state;
	strcpy(orders->work.comm, "java");
	strcpy(orders->work.owner, "/shop");
	replace_by(TASK_SLEEP);
	await_state('S');
	old = stats_of().namer_pid;
	/* A traced process stops before it ends, and no signal ends that. */
	if (ptrace(PTRACE_SEIZE, old, NULL, PTRACE_O_TRACEEXIT))
		skip();
	orders->task = TASK_SERVE;
	assert_true(ticks_until_replaced(2 * NAMER_LINK_HANGS_TICKS) > 0);
	assert_int_equal(bans_told(&banned), 1);
	namer_link__hanging(link_, text, sizeof(text));
	assert_non_null(strstr(text, "1 process of jbpf's hangs in the kernel"));
	/* It lives, though nobody here can see it: whoever worked on it has said who it is. */
	assert_non_null(strstr(text, "over process 4711 (java) of /shop"));
	for (int i = 0; i < 3; i++) {
		now_ns = banned.until_boot_ns - 5 * CLOCK_NS_PER_S;
		assert_false(tick());
		assert_int_equal(bans_told(&banned), 1);
		assert_int_equal(banned.account, 7);
		assert_true(banned.until_boot_ns >= now_ns + BAN_FIRST_NS / 2);
	}
	assert_int_equal(waitpid(old, NULL, __WALL), old);
	assert_int_equal(ptrace(PTRACE_CONT, old, NULL, NULL), 0);
	assert_int_equal(waitpid(old, NULL, __WALL), old);
	while (kill(old, 0) == 0 && clock_monotonic_ns() < end_ns)
		(void)poll(NULL, 0, 1);
	now_ns = banned.until_boot_ns - 5 * CLOCK_NS_PER_S;
	assert_false(tick());
	assert_int_equal(bans_told(&banned), 0);
	namer_link__hanging(link_, text, sizeof(text));
	assert_string_equal(text, "");
}

static void who_is_worked_on_without_an_account_is_banned_alone(void **state)
{
	struct naming_banned banned;

	(void)state;
	orders->work.account = 0;
	replace_by(TASK_SLEEP);
	await_state('S');
	orders->task = TASK_SERVE;
	assert_true(ticks_until_replaced(2 * NAMER_LINK_HANGS_TICKS) > 0);
	assert_int_equal(bans_told(&banned), 1);
	assert_int_equal(banned.account, 0);
	assert_int_equal(banned.pid, 4711);
}

static void hanging_over_nobody_in_particular_bans_nobody(void **state)
{
	(void)state;
	memset(&orders->work, 0, sizeof(orders->work));
	replace_by(TASK_SLEEP);
	await_state('S');
	orders->task = TASK_SERVE;
	assert_true(ticks_until_replaced(2 * NAMER_LINK_HANGS_TICKS) > 0);
	assert_int_equal(stats_of().ban_cnt, 0);
}

/* It waits for one of jbpfd's own, which is not the doing of whom it works on. */
static void a_namer_that_waits_for_the_launcher_is_left_alone(void **state)
{
	pid_t launcher = stats_of().launcher_pid;

	(void)state;
	replace_by(TASK_ASK);
	await_state('S');
	assert_int_equal(kill(launcher, SIGSTOP), 0);
	assert_int_equal(fs_write_all(namer_link__stream(link_)->fd, "a", 1), 0);
	for (uint32_t i = 0; i < NAMER_LINK_HANGS_TICKS + 5; i++) {
		(void)poll(NULL, 0, NAMER_LINK_TICK_NS / CLOCK_NS_PER_MS + 20);
		assert_false(tick());
	}
	assert_int_equal(kill(launcher, SIGCONT), 0);
	assert_int_equal(stats_of().ban_cnt, 0);
}

static void memory_that_is_short_here_is_not_the_fault_of_whom_it_worked_on(void **state)
{
	(void)state;
	replace_by(TASK_SLEEP);
	await_state('S');
	orders->task = TASK_SERVE;
	namer_link__broke(link_, -ENOMEM);
	assert_true(tick());
	assert_int_equal(stats_of().ban_cnt, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_second_process_of_an_account_is_banned_with_all_of_it),
		TEST(whose_work_is_killed_once_is_not_blamed),
		TEST(a_namer_that_ends_at_once_bans_nobody_for_the_one_before),
		TEST(a_ban_that_is_over_is_not_told),
		TEST(a_ban_lasts_as_long_as_a_namer_hangs_that_was_killed),
		TEST(who_is_worked_on_without_an_account_is_banned_alone),
		TEST(hanging_over_nobody_in_particular_bans_nobody),
		TEST(a_namer_that_waits_for_the_launcher_is_left_alone),
		TEST(memory_that_is_short_here_is_not_the_fault_of_whom_it_worked_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
