// SPDX-License-Identifier: Apache-2.0
/*
 * How the process that names is watched: what counts as hanging, whom it costs what, and who comes
 * next. Programs of this test are the namers, and moments are given, so that nobody waits.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/no_sandbox.h"
#include "user/collect/naming/ban_list.h"
#include "user/collect/namer/namer.h"
#include "user/collect/namer/namer_copy.h"
#include "user/collect/namer/namer_link_internal.h"
#include "user/collect/naming/naming_wire.h"
#include "user/sandbox/child_process.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/fs.h"
#include "user/util/log.h"

#define BURST	 16u
#define AWAIT_NS (20 * CLOCK_NS_PER_S)

/* What the next namer does: shared with it. */
enum task {
	TASK_SERVE,   /* idle until its socket is closed; says back what it is told */
	TASK_SLEEP,   /* busy on `work`, asleep */
	TASK_SPIN,    /* busy on `work`, running */
	TASK_STOP,    /* busy on `work`, stopped */
	TASK_CHANGES, /* busy, on another one after each byte */
	TASK_CRASH,   /* by SIGSEGV while busy on `work` */
	TASK_EXIT,    /* with status 5 while busy on `work` */
	TASK_EARLY,   /* exits before it has touched its note */
	TASK_REFUSES, /* exits with EPERM before it is ready */
	TASK_GARBAGE, /* says what is no packet */
};

struct orders {
	enum task task;
	struct work work;
	bool makes_copy; /* before it begins */
	uint32_t started;
	uint64_t numbers[LAUNCHER_NUMBERS];
};

static struct orders *orders;
static struct namer_link *link_;
static uint64_t now_ns;

/* ---- namers ---- */

static void serve(struct packet_stream *stream)
{
	struct pollfd wait = { .fd = stream->fd, .events = POLLIN };
	struct packet packet;
	int err = 0;

	while (!err || err == -EAGAIN) {
		(void)poll(&wait, 1, -1);
		err = packet_stream_fill(stream);
		while (!err && packet_stream_next(stream, &packet, &err))
			(void)packet_stream_put_bytes(stream, packet.kind, packet.bytes,
						      packet.len);
		if (!err)
			err = packet_stream_flush_all(stream);
	}
}

static void spin(void)
{
	(void)alarm(60);
	for (volatile uint64_t i = 0;; i = i + 1)
		;
}

static void do_task(struct packet_stream *stream, struct work_note *note)
{
	enum task task = orders->task;

	if (task == TASK_SERVE) {
		work_note__idle(note);
		serve(stream);
		return;
	}
	work_note__on(note, &orders->work);
	if (task == TASK_CRASH)
		raise(SIGSEGV);
	if (task == TASK_SPIN)
		spin();
	if (task == TASK_STOP)
		raise(SIGSTOP);
	while (task == TASK_SLEEP)
		pause();
	while (task == TASK_CHANGES) {
		char byte;

		if (recv(stream->fd, &byte, 1, 0) <= 0)
			_exit(0);
		work_note__on(note, &orders->work);
	}
}

/* Returns in both: the copy goes on when it is woken, by the orders of then. */
static bool copy_self(struct packet_stream *stream, int launcher_fd)
{
	struct launcher *launcher = launcher__from_fd(launcher_fd);
	int socket_fd;
	int err = namer_copy_make(launcher, &socket_fd);

	if (err <= 0)
		return err == 0;
	packet_stream_release(stream);
	packet_stream_init(stream, socket_fd, PACKET_MAX_BYTES);
	namer_copy_sleep(socket_fd);
	return true;
}

static int namer_of_test(const struct launcher_child *child)
{
	struct namer_context *context = child->ctx;
	int socket_fd = child->socket_fd, launcher_fd = child->launcher_fd;
	int *const kept[] = { &socket_fd, &launcher_fd };
	const struct child_options options = { .fds = CHILD_FDS_STANDARD,
					       .kept = kept,
					       .kept_cnt = ARRAY_SIZE(kept) };
	static const uint8_t garbage[16] = { [8] = 255, [15] = 255 };
	struct packet_stream stream;

	memcpy(orders->numbers, child->numbers, sizeof(orders->numbers));
	orders->started++;
	if (child_process_become(&options) || orders->task == TASK_EARLY)
		return 0;
	if (orders->task == TASK_REFUSES)
		return EPERM;
	packet_stream_init(&stream, socket_fd, PACKET_MAX_BYTES);
	if (orders->makes_copy && !copy_self(&stream, launcher_fd))
		return 6;
	if (orders->task == TASK_GARBAGE)
		(void)fs_write_all(socket_fd, garbage, sizeof(garbage));
	(void)packet_stream_put_bytes(&stream, NAMING_READY, NULL, 0);
	(void)packet_stream_flush_all(&stream);
	do_task(&stream, context->note);
	return 5;
}

/* ---- the link ---- */

static int open_link(char *why, size_t why_len)
{
	static const launcher_main_fn programs[LAUNCHER_KIND_CNT] = { [LAUNCHER_NAMER] =
									      namer_of_test };
	const struct namer_link_options options = { .jit = 2, .wants_ticks = true };

	return namer_link_open_with(&options, programs, &link_, why, why_len);
}

static int setup(void **state)
{
	char why[256];

	(void)state;
	log_set_level(LOG_LEVEL_ERR);
	orders = mmap(NULL, sizeof(*orders), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (orders == MAP_FAILED)
		return -1;
	orders->work = (struct work){ .id = { .pid = 4711, .start_ns = 99 }, .account = 7 };
	link_ = NULL;
	now_ns = clock_boot_ns();
	return open_link(why, sizeof(why));
}

static int teardown(void **state)
{
	(void)state;
	namer_link__free(link_);
	(void)munmap(orders, sizeof(*orders));
	return 0;
}

static struct namer_link_stats stats_of(void)
{
	struct namer_link_stats stats;

	namer_link__stats(link_, &stats);
	return stats;
}

static bool tick(void)
{
	now_ns += CLOCK_NS_PER_S;
	return namer_link__tick(link_, now_ns);
}

static char namer_state(void)
{
	struct strbuf text = STRBUF_INIT;
	char state = 0;

	if (!fs_read_filef(AT_FDCWD, 1024, &text, "/proc/%d/stat", (int)stats_of().namer_pid))
		state = strrchr(text.data, ')')[2];
	strbuf_release(&text);
	return state;
}

/* Ends the present namer, so that another one is started, with such orders, and is ready. */
static void replace_by(enum task task)
{
	struct packet_stream *stream;
	struct packet packet;
	uint64_t end_ns = clock_monotonic_ns() + AWAIT_NS;
	int err = -EAGAIN, broken;

	orders->task = task;
	namer_link__broke(link_, -EPIPE);
	assert_true(tick());
	stream = namer_link__stream(link_);
	while (err == -EAGAIN && clock_monotonic_ns() < end_ns) {
		(void)poll(NULL, 0, 1);
		err = packet_stream_fill(stream);
	}
	assert_int_equal(err, 0);
	assert_true(packet_stream_next(stream, &packet, &broken));
	assert_int_equal(packet.kind, NAMING_READY);
}

/* The same; and the one before it has just made its copy. */
static void replace_by_copier(enum task task)
{
	orders->makes_copy = true;
	replace_by(task);
	orders->makes_copy = false;
}

static void await_state(char wanted)
{
	uint64_t end_ns = clock_monotonic_ns() + AWAIT_NS;

	while (namer_state() != wanted && clock_monotonic_ns() < end_ns)
		(void)poll(NULL, 0, 1);
	assert_int_equal(namer_state(), wanted);
}

/* It has ended: what the sampler reads from its socket says so. */
static void await_end(void)
{
	struct packet_stream *stream = namer_link__stream(link_);
	uint64_t end_ns = clock_monotonic_ns() + AWAIT_NS;
	int err = -EAGAIN;

	while ((err == 0 || err == -EAGAIN) && clock_monotonic_ns() < end_ns) {
		(void)poll(NULL, 0, 1);
		err = packet_stream_fill(stream);
	}
	assert_int_equal(err, -EPIPE);
	namer_link__broke(link_, err);
}

/* The bans that the namer, which says all back, was told. */
static size_t bans_told(struct naming_banned *last)
{
	struct packet_stream *stream = namer_link__stream(link_);
	uint64_t end_ns = clock_monotonic_ns() + AWAIT_NS;
	struct packet packet;
	size_t cnt = 0;
	int broken;

	assert_int_equal(packet_stream_put_bytes(stream, NAMING_NONE, NULL, 0), 0);
	assert_int_equal(packet_stream_flush(stream), 0);
	while (clock_monotonic_ns() < end_ns) {
		while (packet_stream_next(stream, &packet, &broken)) {
			if (packet.kind == NAMING_NONE)
				return cnt;
			if (packet.kind != NAMING_BANNED)
				continue;
			assert_int_equal(packet.len, sizeof(*last));
			memcpy(last, packet.bytes, sizeof(*last));
			cnt++;
		}
		(void)poll(NULL, 0, 1);
		(void)packet_stream_fill(stream);
	}
	fail_msg("the namer says nothing back");
	return 0;
}

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
}

static void changed_options_reach_this_namer_and_the_next(void **state)
{
	(void)state;
	assert_int_equal(namer_link__change(link_, 1, true), 0);
	replace_by(TASK_SERVE);
	assert_int_equal(orders->numbers[NAMER_JIT], 1);
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
		assert_int_equal(banned.account, 7 + i);
		assert_int_equal(banned.pid, 4711);
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

/* ---- hanging ---- */

/* Ticks until another namer was started; 0: none within `max`. */
static uint32_t ticks_until_replaced(uint32_t max)
{
	for (uint32_t i = 1; i <= max; i++)
		if (tick())
			return i;
	return 0;
}

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
	assert_int_equal(banned.account, 7);
}

static void a_ban_lasts_as_long_as_a_namer_hangs_that_was_killed(void **state)
{
	struct naming_banned banned;
	uint64_t end_ns = clock_monotonic_ns() + AWAIT_NS;
	pid_t old;

	(void)state;
	replace_by(TASK_SLEEP);
	await_state('S');
	old = stats_of().namer_pid;
	/* A traced process stops before it ends, and no signal ends that. */
	if (ptrace(PTRACE_SEIZE, old, NULL, PTRACE_O_TRACEEXIT))
		skip();
	orders->task = TASK_SERVE;
	assert_true(ticks_until_replaced(2 * NAMER_LINK_HANGS_TICKS) > 0);
	assert_int_equal(bans_told(&banned), 1);
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
	assert_int_equal(namer_link__change(link_, 1, true), 0);
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
	assert_int_equal(options.wants_ticks, 1);
	assert_int_equal(options.log_level, LOG_LEVEL_ERR);
	assert_int_equal(bans_told(&banned), 1);
	assert_int_equal(banned.account, 7);
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_namer_gets_its_options_and_is_up),
		TEST(changed_options_reach_this_namer_and_the_next),
		TEST(a_refusal_to_start_gives_its_reason),
		TEST(a_namer_that_ends_is_replaced_and_its_work_banned),
		TEST(a_namer_that_is_killed_while_idle_costs_nobody),
		TEST(a_namer_that_ends_at_once_bans_nobody_for_the_one_before),
		TEST(a_ban_that_is_over_is_not_told),
		TEST(a_namer_that_sleeps_at_work_is_replaced_and_its_work_banned),
		TEST(a_ban_lasts_as_long_as_a_namer_hangs_that_was_killed),
		TEST(memory_that_is_short_here_is_not_the_fault_of_whom_it_worked_on),
		TEST(who_is_worked_on_without_an_account_is_banned_alone),
		TEST(hanging_over_nobody_in_particular_bans_nobody),
		TEST(an_idle_namer_is_left_alone),
		TEST(a_namer_that_computes_or_is_stopped_is_left_alone),
		TEST(a_namer_that_goes_on_to_others_is_left_alone),
		TEST(a_long_time_between_two_looks_is_one_look),
		TEST(looks_come_more_often_while_it_is_at_work),
		TEST(work_is_watched_from_the_moment_it_is_seen),
		TEST(a_namer_that_hangs_is_replaced_by_its_copy),
		TEST(a_namer_that_is_killed_is_replaced_by_its_copy),
		TEST(the_copy_of_one_that_crashes_or_breaks_a_rule_does_not_go_on),
		TEST(a_copy_that_hangs_before_it_made_another_is_replaced_by_a_new_one),
		TEST(restarts_are_limited_and_come_back),
		TEST(without_a_launcher_ticks_go_on_at_leisure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
