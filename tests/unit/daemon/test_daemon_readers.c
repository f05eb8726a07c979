// SPDX-License-Identifier: Apache-2.0
/* Live readers: what each is told, who is refused, and who is put out. The recorder and time are the test's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include "tests/unit/fake_tree.h"
#include "user/collect/running_wire.h"
#include "user/daemon/daemon_readers.h"
#include "user/store/store_socket.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

#define BIG (300u << 10) /* more than a socket takes at once */

/* ---- time and the recorder ---- */

static uint64_t passed_s;

/* Time stands still but for what passes here. */
int clock_gettime(clockid_t id, struct timespec *out)
{
	(void)id;
	*out = (struct timespec){ .tv_sec = 1000 + (time_t)passed_s };
	return 0;
}

static size_t snapshot_cnt, end_cnt;
static size_t snapshot_len;
static int snapshot_err;

int recorder__snapshot(struct recorder *recorder, struct strbuf *out)
{
	static char bytes[BIG];

	assert_null(recorder);
	snapshot_cnt++;
	if (!snapshot_err)
		strbuf_append(out, bytes, snapshot_len);
	return snapshot_err;
}

void recorder__end_snapshots(struct recorder *recorder)
{
	assert_null(recorder);
	end_cnt++;
}

/* ---- */

static struct fake_tree tree;
static struct daemon_readers readers;

static int setup(void **state)
{
	(void)state;
	fake_tree_make(&tree);
	snapshot_cnt = end_cnt = 0;
	snapshot_len = 64;
	snapshot_err = 0;
	daemon_readers_open(&readers, tree.path);
	return daemon_readers_fd(&readers) >= 0 ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	daemon_readers_close(&readers);
	fake_tree_remove(&tree);
	return 0;
}

static int connect_one(void)
{
	int fd = store_socket_connect(tree.path);

	assert_true(fd >= 0);
	return fd;
}

static void step(void)
{
	daemon_readers_step(&readers, NULL);
}

static void step_later(uint64_t seconds)
{
	passed_s += seconds;
	step();
}

/* Takes all that is there. How many bytes; -1: the other side has closed it and nothing was left. */
static ssize_t hear(int fd)
{
	static char bytes[BIG];
	ssize_t sum = 0;
	ssize_t got;

	while ((got = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
		sum += got;
	return sum == 0 && (got == 0 || errno == ECONNRESET) ? -1 : sum;
}

static void without_readers_nobody_asks_and_nothing_is_due(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++)
		step_later(1);
	daemon_readers_end_window(&readers, NULL);
	assert_int_equal(snapshot_cnt, 0);
	assert_true(daemon_readers_due_boot_ns(&readers) == UINT64_MAX);
}

static void a_reader_is_told_at_once_and_then_each_second(void **state)
{
	__cleanup_fd int fd = connect_one();
	ssize_t one;

	(void)state;
	step();
	one = hear(fd);
	assert_true(one > 64);
	step();
	assert_int_equal(hear(fd), 0);
	assert_true(daemon_readers_due_boot_ns(&readers) <= clock_boot_ns() + CLOCK_NS_PER_S);
	step_later(1);
	assert_int_equal(hear(fd), one);
	/* What the window still has is told before it goes. */
	daemon_readers_end_window(&readers, NULL);
	assert_int_equal(hear(fd), one);
	assert_int_equal(snapshot_cnt, 3);
}

static void all_readers_are_told_by_one_snapshot(void **state)
{
	int fds[3];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = connect_one();
	step();
	assert_int_equal(snapshot_cnt, 1);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		assert_true(hear(fds[i]) > 64);
		close(fds[i]);
	}
}

static void when_the_last_one_goes_nobody_asks_any_more(void **state)
{
	int fd = connect_one();

	(void)state;
	step();
	close(fd);
	end_cnt = 0;
	step();
	assert_int_equal(end_cnt, 1);
	for (int i = 0; i < 3; i++)
		step_later(1);
	assert_int_equal(snapshot_cnt, 1);
}

static void one_that_says_something_is_put_out(void **state)
{
	__cleanup_fd int fd = connect_one();

	(void)state;
	step();
	assert_true(hear(fd) > 0);
	assert_int_equal(send(fd, "hello", 5, MSG_NOSIGNAL), 5);
	step();
	assert_int_equal(hear(fd), -1);
	assert_int_equal(readers.cnt, 0);
}

static void one_that_takes_nothing_gets_no_more_and_is_put_out(void **state)
{
	__cleanup_fd int deaf_fd = connect_one();
	__cleanup_fd int fd = connect_one();
	size_t kept;

	(void)state;
	(void)deaf_fd; /* takes nothing */
	snapshot_len = BIG;
	step();
	assert_int_equal(readers.cnt, 2);
	for (int i = 0; i < 9; i++) {
		step_later(1);
		while (hear(fd) > 0)
			step();
		kept = 0;
		for (size_t j = 0; j < readers.cnt; j++)
			kept += packet_stream_waiting(&readers.readers[j].stream);
		assert_true(kept <= 2 * BIG);
	}
	assert_int_equal(readers.cnt, 2);
	step_later(2);
	assert_int_equal(readers.cnt, 1);
	while (hear(fd) > 0)
		step();
	step_later(1);
	assert_true(hear(fd) > 0);
}

/* It takes some now and then: that is slow, and no reason. */
static void a_slow_one_gets_whole_packets_and_stays(void **state)
{
	__cleanup_fd int fd = connect_one();
	size_t whole = 16 + BIG;
	size_t got = 0;

	(void)state;
	snapshot_len = BIG;
	step();
	for (int i = 0; i < 40; i++) {
		char bytes[64 << 10];
		ssize_t some = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

		got += some > 0 ? (size_t)some : 0;
		step_later(5);
		assert_int_equal(readers.cnt, 1);
	}
	assert_true(got > whole);
}

static void beyond_the_limit_they_are_refused_and_the_others_stay(void **state)
{
	int fds[DAEMON_READERS_MAX + 8];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = connect_one();
		if (i % 8 == 7)
			step_later(1);
	}
	step_later(1);
	assert_int_equal(readers.cnt, DAEMON_READERS_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		assert_true((hear(fds[i]) > 0) == (i < DAEMON_READERS_MAX));
	close(fds[0]);
	step_later(1);
	fds[0] = connect_one();
	step_later(1);
	assert_true(hear(fds[0]) > 0);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
}

/* Connecting without end takes jbpfd no more than so many calls in a second. */
static void a_flood_of_connections_waits_for_the_next_second(void **state)
{
	struct pollfd wait = { .fd = daemon_readers_fd(&readers), .events = POLLIN };

	(void)state;
	step_later(1);
	for (size_t i = 0; i < DAEMON_READERS_ACCEPTS; i++) {
		assert_false(readers.is_resting);
		close(connect_one());
		step();
	}
	assert_true(readers.is_resting);
	close(connect_one());
	assert_int_equal(poll(&wait, 1, 0), 0);
	assert_true(daemon_readers_due_boot_ns(&readers) <= clock_boot_ns() + CLOCK_NS_PER_S);
	step_later(1);
	assert_false(readers.is_resting);
}

static void a_snapshot_that_fails_is_tried_again(void **state)
{
	__cleanup_fd int fd = connect_one();

	(void)state;
	snapshot_err = -EINVAL;
	step();
	assert_int_equal(hear(fd), 0);
	snapshot_err = 0;
	step_later(1);
	assert_true(hear(fd) > 0);
}

static void the_end_closes_all_and_takes_the_socket_away(void **state)
{
	__cleanup_fd int fd = connect_one();

	(void)state;
	step();
	assert_true(hear(fd) > 0);
	daemon_readers_close(&readers);
	assert_int_equal(hear(fd), -1);
	assert_int_equal(store_socket_connect(tree.path), -ENOENT);
	assert_int_equal(daemon_readers_fd(&readers), -1);
}

static void where_there_can_be_no_socket_there_are_no_readers(void **state)
{
	struct daemon_readers none;

	(void)state;
	daemon_readers_open(&none, "/proc");
	assert_int_equal(daemon_readers_fd(&none), -1);
	assert_true(daemon_readers_due_boot_ns(&none) == UINT64_MAX);
	daemon_readers_step(&none, NULL);
	daemon_readers_close(&none);
	assert_int_equal(snapshot_cnt, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_readers_nobody_asks_and_nothing_is_due),
		TEST(a_reader_is_told_at_once_and_then_each_second),
		TEST(all_readers_are_told_by_one_snapshot),
		TEST(when_the_last_one_goes_nobody_asks_any_more),
		TEST(one_that_says_something_is_put_out),
		TEST(one_that_takes_nothing_gets_no_more_and_is_put_out),
		TEST(a_slow_one_gets_whole_packets_and_stays),
		TEST(beyond_the_limit_they_are_refused_and_the_others_stay),
		TEST(a_flood_of_connections_waits_for_the_next_second),
		TEST(a_snapshot_that_fails_is_tried_again),
		TEST(the_end_closes_all_and_takes_the_socket_away),
		TEST(where_there_can_be_no_socket_there_are_no_readers),
	};

	return cmocka_run_group_tests_name("daemon_readers", tests, NULL, NULL);
}
