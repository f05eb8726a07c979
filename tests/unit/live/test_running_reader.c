// SPDX-License-Identifier: Apache-2.0
/* Reading along: what jbpfd says, whatever else somebody may say in its place, and silence. Time is the test's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/fake_tree.h"
#include "user/collect/running_wire.h"
#include "user/store/store_socket.h"
#include "user/live/running_reader.h"
#include "user/util/cleanup.h"

static uint64_t passed_s;

int clock_gettime(clockid_t id, struct timespec *out)
{
	(void)id;
	*out = (struct timespec){ .tv_sec = 1000 + (time_t)passed_s };
	return 0;
}

static struct fake_tree tree;
static struct running_reader running;
static uint64_t samples;	   /* of the container, in what was told last */
static struct packet_stream jbpfd; /* of the one connection; fd -1 = none yet */
static int listen_fd;

#define S     1000000000ull
#define BEGIN (1700000000 * S)

static int take(void *ctx, const struct packet *packet, const struct running_snapshot *snapshot)
{
	struct window window;
	size_t at = 0;

	(void)ctx;
	assert_true(packet->len > sizeof(snapshot->head));
	assert_true(running_snapshot_stream(snapshot, &at, &window));
	assert_string_equal(window_label(&window, WINDOW_LABEL_CONTAINER), "shop");
	samples = window.counts.samples;
	return 0;
}

static void forget(void *ctx)
{
	(void)ctx;
	assert_true(samples > 0);
	samples = 0;
}

static const struct running_listener listener = { take, forget, NULL };

static int setup(void **state)
{
	(void)state;
	fake_tree_make(&tree);
	running_reader_init(&running);
	packet_stream_init(&jbpfd, -1, 0);
	samples = 0;
	listen_fd = -1;
	return 0;
}

static void end_jbpfd(void)
{
	packet_stream_release(&jbpfd);
	if (listen_fd >= 0)
		close(listen_fd);
	listen_fd = -1;
}

static int teardown(void **state)
{
	(void)state;
	end_jbpfd();
	running_reader_release(&running);
	fake_tree_remove(&tree);
	return 0;
}

static void step(void)
{
	assert_int_equal(running_reader_step(&running, tree.path, &listener), 0);
}

static void begin_jbpfd(void)
{
	int fd;

	listen_fd = store_socket_listen(tree.path);
	assert_true(listen_fd >= 0);
	step();
	fd = accept(listen_fd, NULL, NULL);
	assert_true(fd >= 0);
	packet_stream_init(&jbpfd, fd, 0);
}

static void say(uint32_t kind, const void *bytes, size_t len)
{
	assert_int_equal(packet_stream_put_bytes(&jbpfd, kind, bytes, len), 0);
	assert_int_equal(packet_stream_flush(&jbpfd), 0);
}

/* One second of a container, up to `until_s` after BEGIN. */
static void say_snapshot(uint64_t until_s, uint64_t cnt)
{
	const struct running_head head = { .begin_unix_ns = BEGIN + (until_s - 1) * S,
					   .end_unix_ns = BEGIN + until_s * S,
					   .frequency_hz = 100,
					   .cpu_cnt = 2,
					   .event_cnt = 1,
					   .stream_cnt = 1 };
	const struct running_event event = { .samples = cnt,
					     .event = EVENT_CPU,
					     .period = S / 100 };
	const struct window shop = { .labels = { [WINDOW_LABEL_CONTAINER] = "shop" } };
	struct running_stream stream = { .pid = 7, .samples = cnt, .comm = "java" };
	struct strbuf labels = STRBUF_INIT;
	struct strbuf out = STRBUF_INIT;

	assert_int_equal(running_labels_put(&labels, &shop), 0);
	stream.labels_len = (uint32_t)labels.len;
	strbuf_append(&out, &head, sizeof(head));
	strbuf_append(&out, &event, sizeof(event));
	assert_int_equal(running_stream_put(&out, &stream, labels.data), 0);
	say(RUNNING_SNAPSHOT_1, out.data, out.len);
	strbuf_release(&labels);
	strbuf_release(&out);
}

static const char *why(void)
{
	static char text[200];

	running_reader_why(&running, text, sizeof(text));
	return text;
}

static void what_jbpfd_says_is_handed_on_and_needs_no_word(void **state)
{
	(void)state;
	begin_jbpfd();
	assert_string_equal(why(), "");
	assert_true(running_reader_is_awaited(&running));
	say_snapshot(1, 42);
	step();
	assert_int_equal(samples, 42);
	assert_string_equal(why(), "");
}

static void without_a_jbpfd_the_reason_is_told_and_it_is_tried_again(void **state)
{
	(void)state;
	step();
	assert_non_null(strstr(why(), "no jbpfd listens beside the store"));
	assert_int_equal(running_reader_fd(&running), -1);
	passed_s += 2;
	begin_jbpfd();
	say_snapshot(1, 42);
	step();
	assert_int_equal(samples, 42);
}

static void when_jbpfd_ends_what_it_said_is_forgotten(void **state)
{
	(void)state;
	begin_jbpfd();
	say_snapshot(1, 42);
	step();
	end_jbpfd();
	step();
	assert_int_equal(samples, 0);
	assert_non_null(strstr(why(), "has ended"));
}

static void what_is_silent_is_not_called_now_and_may_speak_again(void **state)
{
	(void)state;
	begin_jbpfd();
	say_snapshot(1, 42);
	step();
	passed_s += 6;
	step();
	assert_int_equal(samples, 0);
	assert_non_null(strstr(why(), "tells nothing"));
	say_snapshot(7, 43);
	step();
	assert_int_equal(samples, 43);
}

static void another_version_is_told_and_not_read(void **state)
{
	(void)state;
	begin_jbpfd();
	say(RUNNING_SNAPSHOT_1 + 1, "?", 1);
	step();
	assert_non_null(strstr(why(), "another version"));
	assert_int_equal(running_reader_fd(&running), -1);
	assert_int_equal(samples, 0);
}

static void nonsense_ends_the_connection(void **state)
{
	static const char zeros[64];
	static const uint64_t too_long[2] = { RUNNING_SNAPSHOT_1, 1ull << 40 };

	(void)state;
	begin_jbpfd();
	say(RUNNING_SNAPSHOT_1, zeros, sizeof(zeros));
	step();
	assert_non_null(strstr(why(), "makes no sense"));
	end_jbpfd();
	passed_s += 2;
	begin_jbpfd();
	assert_int_equal(send(jbpfd.fd, too_long, sizeof(too_long), 0), sizeof(too_long));
	step();
	assert_non_null(strstr(why(), "makes no sense"));
	assert_int_equal(samples, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_jbpfd_says_is_handed_on_and_needs_no_word),
		TEST(without_a_jbpfd_the_reason_is_told_and_it_is_tried_again),
		TEST(when_jbpfd_ends_what_it_said_is_forgotten),
		TEST(what_is_silent_is_not_called_now_and_may_speak_again),
		TEST(another_version_is_told_and_not_read),
		TEST(nonsense_ends_the_connection),
	};

	return cmocka_run_group_tests_name("running_reader", tests, NULL, NULL);
}
