/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of the link to the process that names: namers that misbehave on order, and moments that
 * are given, so that nobody waits.
 */
#ifndef JBPF_TESTS_NAMER_TESTING_H
#define JBPF_TESTS_NAMER_TESTING_H

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

#define AWAIT_NS (20 * CLOCK_NS_PER_S)

/* What the next namer does: shared with it. */
enum task {
	TASK_SERVE,   /* idle until its socket is closed; says back what it is told */
	TASK_SLEEP,   /* busy on `work`, asleep */
	TASK_SPIN,    /* busy on `work`, running */
	TASK_STOP,    /* busy on `work`, stopped; asleep when it is continued */
	TASK_CHANGES, /* busy, on another one after each byte */
	TASK_ASK,     /* busy on `work`, asks the launcher after a byte */
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
	bool is_at_work; /* its note says so */
	uint32_t started;
	uint64_t numbers[LAUNCHER_NUMBERS];
};

static struct orders *orders;
static struct namer_link *link_;
static uint64_t now_ns;

/* ---- namers ---- */

static inline void serve(struct packet_stream *stream)
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

static inline void spin(void)
{
	(void)alarm(60);
	for (volatile uint64_t i = 0;; i = i + 1)
		;
}

static inline void ask_launcher(struct packet_stream *stream, int launcher_fd)
{
	struct launcher *launcher = launcher__from_fd(launcher_fd);
	int fds[2];
	char byte;

	if (recv(stream->fd, &byte, 1, 0) == 1 && launcher__new_copy(launcher, &fds[0], &fds[1]))
		_exit(7);
}

static inline void do_task(enum task task, struct packet_stream *stream, struct work_note *note,
			   int launcher_fd)
{
	if (task == TASK_SERVE) {
		work_note__idle(note);
		serve(stream);
		return;
	}
	work_note__on(note, &orders->work);
	orders->is_at_work = true;
	if (task == TASK_CRASH)
		raise(SIGSEGV);
	if (task == TASK_ASK)
		ask_launcher(stream, launcher_fd);
	if (task == TASK_SPIN)
		spin();
	if (task == TASK_STOP)
		raise(SIGSTOP);
	while (task == TASK_SLEEP || task == TASK_STOP)
		pause();
	while (task == TASK_CHANGES) {
		char byte;

		if (recv(stream->fd, &byte, 1, 0) <= 0)
			_exit(0);
		work_note__on(note, &orders->work);
	}
}

/* Returns in both: the copy goes on when it is woken, by the orders of then. */
static inline bool copy_self(struct packet_stream *stream, int launcher_fd)
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

static inline int namer_of_test(const struct launcher_child *child)
{
	struct namer_context *context = child->ctx;
	int socket_fd = child->socket_fd, launcher_fd = child->launcher_fd;
	int *const kept[] = { &socket_fd, &launcher_fd };
	const struct child_options options = { .fds = CHILD_FDS_STANDARD,
					       .kept = kept,
					       .kept_cnt = ARRAY_SIZE(kept) };
	static const uint8_t garbage[16] = { [8] = 255, [15] = 255 };
	struct packet_stream stream;
	enum task task;

	memcpy(orders->numbers, child->numbers, sizeof(orders->numbers));
	orders->started++;
	if (child_process_become(&options) || orders->task == TASK_EARLY)
		return 0;
	if (orders->task == TASK_REFUSES)
		return EPERM;
	packet_stream_init(&stream, socket_fd, PACKET_MAX_BYTES);
	if (orders->makes_copy && !copy_self(&stream, launcher_fd))
		return 6;
	/* The next one gets other orders as soon as this one says that it is ready. */
	task = orders->task;
	if (task == TASK_GARBAGE)
		(void)fs_write_all(socket_fd, garbage, sizeof(garbage));
	(void)packet_stream_put_bytes(&stream, NAMING_READY, NULL, 0);
	(void)packet_stream_flush_all(&stream);
	do_task(task, &stream, context->note, launcher_fd);
	return 5;
}

/* ---- the link ---- */

static inline int open_link(char *why, size_t why_len)
{
	static const launcher_main_fn programs[LAUNCHER_KIND_CNT] = { [LAUNCHER_NAMER] =
									      namer_of_test };
	const struct namer_link_options options = { .jit = 2, .wants_ticks = true };

	return namer_link_open_with(&options, programs, &link_, why, why_len);
}

static inline int setup(void **state)
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

static inline int teardown(void **state)
{
	(void)state;
	namer_link__free(link_);
	(void)munmap(orders, sizeof(*orders));
	return 0;
}

static inline struct namer_link_stats stats_of(void)
{
	struct namer_link_stats stats;

	namer_link__stats(link_, &stats);
	return stats;
}

static inline bool tick(void)
{
	now_ns += CLOCK_NS_PER_S;
	return namer_link__tick(link_, now_ns);
}

static inline char namer_state(void)
{
	struct strbuf text = STRBUF_INIT;
	char state = 0;

	if (!fs_read_filef(AT_FDCWD, 1024, &text, "/proc/%d/stat", (int)stats_of().namer_pid))
		state = strrchr(text.data, ')')[2];
	strbuf_release(&text);
	return state;
}

/* Ends the present namer, so that another one is started, with such orders, and is ready. */
static inline void replace_by(enum task task)
{
	struct packet_stream *stream;
	struct packet packet;
	uint64_t end_ns = clock_monotonic_ns() + AWAIT_NS;
	int err = -EAGAIN, broken;

	orders->task = task;
	orders->is_at_work = false;
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
static inline void replace_by_copier(enum task task)
{
	orders->makes_copy = true;
	replace_by(task);
	orders->makes_copy = false;
}

static inline void await_state(char wanted)
{
	uint64_t end_ns = clock_monotonic_ns() + AWAIT_NS;

	/* On its way there it may sleep for a moment, too. */
	while (((orders->task != TASK_SERVE && !orders->is_at_work) || namer_state() != wanted) &&
	       clock_monotonic_ns() < end_ns)
		(void)poll(NULL, 0, 1);
	assert_int_equal(namer_state(), wanted);
}

/* It has ended: what the sampler reads from its socket says so. */
static inline void await_end(void)
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

/* Is it of the same as one of these? It is told again, and for longer, while who was killed is not reaped. */
static inline bool is_told(const struct naming_banned *told, size_t cnt,
			   const struct naming_banned *one)
{
	for (size_t i = 0; i < cnt; i++)
		if (told[i].account == one->account && told[i].pid == one->pid &&
		    told[i].start_ns == one->start_ns)
			return true;
	return false;
}

/* The bans that the namer, which says all back, was told: of how many. */
static inline size_t bans_told(struct naming_banned *last)
{
	struct naming_banned told[8], one;
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
			memcpy(&one, packet.bytes, sizeof(one));
			if (is_told(told, cnt, &one))
				continue;
			assert_true(cnt < ARRAY_SIZE(told));
			told[cnt++] = *last = one;
		}
		(void)poll(NULL, 0, 1);
		(void)packet_stream_fill(stream);
	}
	fail_msg("the namer says nothing back");
	return 0;
}

/* Ticks until another namer was started; 0: none within `max`. */
static inline uint32_t ticks_until_replaced(uint32_t max)
{
	for (uint32_t i = 1; i <= max; i++)
		if (tick())
			return i;
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
