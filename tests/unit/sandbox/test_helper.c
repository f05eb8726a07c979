// SPDX-License-Identifier: Apache-2.0
/*
 * A helper process as its user sees it: how it starts and ends, when it is given up, how often another one may start.
 * The test itself starts the helpers and watches them as its children. It counts time in ticks and never reads a clock.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/forking.h"
#include "user/sandbox/helper.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

/* ---- start and end ---- */

#define FAKE_PID 4711

/* A starter without processes. */
struct fake {
	int start_err;
	int end_status;
	int their_fd; /* the helper's end of the socket */
	int end_cnt;
	bool was_open_at_end;
};

static bool is_closed_there(int fd)
{
	struct pollfd look = { .fd = fd };

	assert_true(poll(&look, 1, 0) >= 0);
	return look.revents & POLLHUP;
}

static int fake_start(void *ctx, int *socket_out, pid_t *pid_out)
{
	struct fake *fake = ctx;
	int fds[2];

	if (fake->start_err)
		return fake->start_err;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	*socket_out = fds[0];
	fake->their_fd = fds[1];
	*pid_out = FAKE_PID;
	return 0;
}

static int fake_end(void *ctx, pid_t pid)
{
	struct fake *fake = ctx;

	assert_int_equal(pid, FAKE_PID);
	fake->end_cnt++;
	fake->was_open_at_end = !is_closed_there(fake->their_fd);
	return fake->end_status;
}

static struct helper faked(struct fake *fake)
{
	return helper_of(
		&(struct child_starter){ .start = fake_start, .end = fake_end, .ctx = fake });
}

static void assert_none_runs(const struct helper *helper)
{
	assert_int_equal(helper->pid, 0);
	assert_int_equal(helper->socket_fd, -1);
}

static void nothing_is_started_before_it_is_wanted(void **state)
{
	struct fake fake = { .their_fd = -1 };
	struct helper helper = faked(&fake);
	int left = 0;

	(void)state;
	assert_none_runs(&helper);
	assert_int_equal(helper_end(&helper, &left), -1);
	assert_int_equal(left, -1);
	assert_int_equal(fake.end_cnt, 0); /* nobody is killed */
	assert_int_equal(helper.start_cnt, 0);
}

static void a_start_that_fails_leaves_none_and_is_not_counted(void **state)
{
	struct fake fake = { .start_err = -EBUSY };
	struct helper helper = faked(&fake);

	(void)state;
	assert_int_equal(helper_start(&helper), -EBUSY);
	assert_none_runs(&helper);
	assert_int_equal(helper.start_cnt, 0);
}

static void it_is_killed_before_its_socket_is_closed_and_can_be_started_again(void **state)
{
	struct fake fake = { .end_status = 7 << 8 };
	struct helper helper = faked(&fake);

	(void)state;
	for (int i = 1; i <= 2; i++) {
		int left = 0;

		assert_int_equal(helper_start(&helper), 0);
		assert_int_equal(helper.pid, FAKE_PID);
		assert_int_equal(helper.start_cnt, i);
		assert_int_equal(helper_end(&helper, &left), 7 << 8);
		assert_int_equal(fake.end_cnt, i);
		assert_true(fake.was_open_at_end);
		assert_none_runs(&helper);
		assert_int_equal(left, -1);
		assert_true(is_closed_there(fake.their_fd));
		close(fake.their_fd);
	}
}

static void the_socket_of_one_that_hangs_is_left_to_who_asks_for_it(void **state)
{
	struct fake fake = { .end_status = -1 };
	struct helper helper = faked(&fake);
	int left = -1;

	(void)state;
	assert_int_equal(helper_start(&helper), 0);
	assert_int_equal(helper_end(&helper, &left), -1);
	assert_none_runs(&helper);
	assert_true(left >= 0);
	assert_false(is_closed_there(fake.their_fd));
	close(left);
	close(fake.their_fd);

	assert_int_equal(helper_start(&helper), 0);
	assert_int_equal(helper_end(&helper, NULL), -1);
	assert_true(is_closed_there(fake.their_fd));
	close(fake.their_fd);
}

static void one_that_is_forgotten_lives_on(void **state)
{
	struct fake fake = { 0 };
	struct helper helper = faked(&fake);

	(void)state;
	assert_int_equal(helper_start(&helper), 0);
	helper_forget(&helper);
	assert_none_runs(&helper);
	assert_int_equal(fake.end_cnt, 0);
	assert_true(is_closed_there(fake.their_fd)); /* our copy of the socket */
	close(fake.their_fd);
}

/* ---- watching ---- */

#define CPU_NS (20 * CLOCK_NS_PER_MS)

static struct helper_limits endless(void)
{
	return (struct helper_limits){
		.tick_ms = 1,
		.max_ticks = UINT32_MAX,
		.max_all_ticks = UINT32_MAX,
		HELPER_LIMITS_NO_CPU,
	};
}

/* Says that it has come so far. */
static void say(int socket_fd)
{
	if (write(socket_fd, "!", 1) != 1)
		_exit(1);
}

static int ends(int socket_fd)
{
	(void)socket_fd;
	return 0;
}

static int waits(int socket_fd)
{
	say(socket_fd);
	while (pause() < 0)
		;
	return 0;
}

static int spin(void)
{
	static volatile bool is_over;

	while (!is_over)
		;
	return 0;
}

static int is_busy(int socket_fd)
{
	say(socket_fd);
	return spin();
}

static void stay_on_one_cpu(void)
{
	cpu_set_t allowed, one;
	size_t cpu = 0;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		_exit(1);
	while (!CPU_ISSET(cpu, &allowed))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		_exit(1);
}

static int takes_all(int socket_fd)
{
	stay_on_one_cpu();
	return is_busy(socket_fd);
}

/* Next to nothing, where another one takes all. */
static int gets_none(int socket_fd)
{
	stay_on_one_cpu();
	say(socket_fd);
	if (sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){ 0 }))
		return 1;
	return spin();
}

/* Its wait status, however long that takes on a busy host. */
static int end(struct helper *helper)
{
	int status;

	assert_int_equal(kill(helper->pid, SIGKILL), 0);
	assert_int_equal(waitpid(helper->pid, &status, 0), helper->pid);
	helper_forget(helper);
	return status;
}

/* Starts one, and watches it from when it has said that it is there until it is given up. */
static struct helper_watch watched(struct helper *helper, const struct helper_limits *limits)
{
	const struct helper_limits first_limits = endless();
	struct helper_watch watch;
	char said;

	assert_int_equal(helper_start(helper), 0);
	watch = helper_watch_begin(helper, &first_limits);
	assert_int_equal(helper_await(helper, &watch), 0);
	assert_int_equal(read(helper->socket_fd, &said, 1), 1);
	watch = helper_watch_begin(helper, limits);
	assert_int_equal(helper_await(helper, &watch), -ETIMEDOUT);
	return watch;
}

static void the_end_of_one_is_received_and_not_waited_for(void **state)
{
	const struct helper_limits limits = endless();
	struct helper helper = helper_of(forking(ends));
	struct helper_watch watch;
	char said;

	(void)state;
	assert_int_equal(helper_start(&helper), 0);
	watch = helper_watch_begin(&helper, &limits);
	assert_int_equal(helper_await(&helper, &watch), 0);
	assert_int_equal(read(helper.socket_fd, &said, 1), 0);
	assert_int_equal(end(&helper), 0);
}

static void one_that_waits_is_given_up_when_it_has_stalled_for_so_many_ticks(void **state)
{
	struct helper helper = helper_of(forking(waits));
	struct helper_limits limits = endless();

	(void)state;
	limits.max_stalled_ticks = 5;
	assert_int_equal(watched(&helper, &limits).stalled_ticks, 5);
	assert_int_equal(end(&helper), SIGKILL);
}

static void one_that_waits_is_given_up_when_its_ticks_are_used_up(void **state)
{
	struct helper helper = helper_of(forking(waits));
	struct helper_limits limits = endless();

	(void)state;
	limits.max_ticks = 5;
	assert_int_equal(watched(&helper, &limits).ticks, 5);
	assert_int_equal(end(&helper), SIGKILL);
}

/* It has or wants a CPU in every tick: what would end one that waits does not end it. */
static void one_that_is_busy_is_given_up_by_its_cpu_time(void **state)
{
	struct helper helper = helper_of(forking(is_busy));
	struct helper_limits limits = endless();
	struct helper_watch watch;

	(void)state;
	limits.max_ticks = 5;
	limits.max_stalled_ticks = 5;
	limits.max_cpu_ns = CPU_NS;
	watch = watched(&helper, &limits);
	assert_true(watch.cpu_ns - watch.cpu_begin_ns >= CPU_NS);
	assert_int_equal(end(&helper), SIGKILL);
}

/* That is the host's fault. */
static void one_that_gets_no_cpu_is_not_stalled_and_its_ticks_do_not_count(void **state)
{
	struct helper other = helper_of(forking(takes_all));
	struct helper helper = helper_of(forking(gets_none));
	struct helper_limits limits = endless();

	(void)state;
	limits.max_ticks = 5;
	limits.max_stalled_ticks = 5;
	limits.max_all_ticks = 30;
	assert_int_equal(helper_start(&other), 0);
	assert_int_equal(watched(&helper, &limits).all_ticks, 30);
	assert_int_equal(end(&other), SIGKILL);
	assert_int_equal(end(&helper), SIGKILL);
}

/* ---- how often ---- */

static void starts_are_a_burst_and_then_one_in_each_interval(void **state)
{
	static const struct {
		uint64_t now_ns;
		bool is_allowed;
	} rows[] = {
		{ 100, true },	{ 100, true },	{ 105, true },	{ 105, false }, { 109, false },
		{ 110, true },	{ 119, false }, { 125, true },	{ 129, false }, { 130, true },
		{ 130, false }, { 150, true },	{ 150, true },	{ 150, false }, { 900, true },
		{ 900, true },	{ 900, true },	{ 900, false }, { 909, false }, { 910, true },
	};
	struct start_budget budget = { .burst = 3, .interval_ns = 10 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(start_budget_take(&budget, rows[i].now_ns), rows[i].is_allowed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_started_before_it_is_wanted),
		cmocka_unit_test(a_start_that_fails_leaves_none_and_is_not_counted),
		cmocka_unit_test(it_is_killed_before_its_socket_is_closed_and_can_be_started_again),
		cmocka_unit_test(the_socket_of_one_that_hangs_is_left_to_who_asks_for_it),
		cmocka_unit_test(one_that_is_forgotten_lives_on),
		cmocka_unit_test(the_end_of_one_is_received_and_not_waited_for),
		cmocka_unit_test(one_that_waits_is_given_up_when_it_has_stalled_for_so_many_ticks),
		cmocka_unit_test(one_that_waits_is_given_up_when_its_ticks_are_used_up),
		cmocka_unit_test(one_that_is_busy_is_given_up_by_its_cpu_time),
		cmocka_unit_test(one_that_gets_no_cpu_is_not_stalled_and_its_ticks_do_not_count),
		cmocka_unit_test(starts_are_a_burst_and_then_one_in_each_interval),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
