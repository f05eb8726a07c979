// SPDX-License-Identifier: Apache-2.0
/*
 * What jbpf web knows of the window that runs: one connection, as long as somebody asks, and that nothing is
 * told that is stored already. jbpfd is played, time is the test's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/fake_tree.h"
#include "user/store/store_socket.h"
#include "user/util/cleanup.h"
#include "user/util/packet_stream.h"
#include "user/web/web_running_run.h"

#define S     1000000000ull
#define BEGIN 1700000000ull

static uint64_t passed_s;

int clock_gettime(clockid_t id, struct timespec *out)
{
	*out = (struct timespec){ .tv_sec = (time_t)((id == CLOCK_REALTIME ? BEGIN : 1000) +
						     passed_s) };
	return 0;
}

static struct fake_tree tree;
static struct web_running *running;
static struct packet_stream jbpfd;
static int listen_fd;

static int setup(void **state)
{
	(void)state;
	passed_s = 20;
	fake_tree_make(&tree);
	packet_stream_init(&jbpfd, -1, 0);
	listen_fd = store_socket_listen(tree.path);
	running = web_running__new(tree.path);
	return running && listen_fd >= 0 ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	packet_stream_release(&jbpfd);
	close(listen_fd);
	web_running__free(running);
	fake_tree_remove(&tree);
	return 0;
}

static bool is_called(void)
{
	int fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0)
		return false;
	packet_stream_release(&jbpfd);
	packet_stream_init(&jbpfd, fd, 0);
	return true;
}

static void put_stream(struct strbuf *out, const char *container, uint64_t samples)
{
	const struct window window = { .labels = { [WINDOW_LABEL_CONTAINER] = container } };
	struct running_stream stream = { .pid = 7, .samples = samples, .comm = "java" };
	__cleanup_strbuf struct strbuf labels = STRBUF_INIT;

	assert_int_equal(running_labels_put(&labels, &window), 0);
	stream.labels_len = (uint32_t)labels.len;
	assert_int_equal(running_stream_put(out, &stream, labels.data), 0);
}

/* The second up to `until_s` after BEGIN: 60 samples of shop, 30 of cart, 10 of who has no name yet. */
static void say(uint64_t until_s)
{
	const struct running_head head = { .begin_unix_ns = (BEGIN + until_s - 1) * S,
					   .end_unix_ns = (BEGIN + until_s) * S,
					   .frequency_hz = 100,
					   .cpu_cnt = 2,
					   .event_cnt = 1,
					   .stream_cnt = 2 };
	const struct running_event event = { .samples = 100,
					     .event = EVENT_CPU,
					     .period = S / 100 };
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;

	strbuf_append(&out, &head, sizeof(head));
	strbuf_append(&out, &event, sizeof(event));
	put_stream(&out, "shop", 60);
	put_stream(&out, "cart", 30);
	assert_int_equal(packet_stream_put_bytes(&jbpfd, RUNNING_SNAPSHOT_1, out.data, out.len), 0);
	assert_int_equal(packet_stream_flush(&jbpfd), 0);
	web_running__step(running);
}

static void listen_to(uint64_t from_s, uint64_t until_s)
{
	web_running__ask(running);
	assert_true(is_called());
	for (uint64_t second = from_s + 1; second <= until_s; second++)
		say(second);
}

/* `words`: arguments, up to NULL. */
static const char *told(const char *const *words)
{
	static struct strbuf out;
	char *argv[16] = { (char *)(uintptr_t) "jbpf-web" };
	struct web_timeline_request request;
	char why[256];
	int argc = 1;

	for (; *words; words++)
		argv[argc++] = (char *)(uintptr_t)*words;
	assert_int_equal(web_timeline_request_parse(argc, argv, &request, why, sizeof(why)), 0);
	strbuf_clear(&out);
	assert_int_equal(web_running_json(running, &request, &out), 0);
	return strbuf_str(&out);
}

#define TOLD(...) told((const char *const[]){ __VA_ARGS__, NULL })

static void must_have(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' has no '%s'", text, part);
}

static void all_pages_share_one_connection_that_ends_when_none_asks(void **state)
{
	(void)state;
	web_running__step(running);
	assert_false(is_called());
	web_running__ask(running);
	web_running__ask(running);
	assert_true(is_called());
	assert_false(is_called());
	say(1);
	passed_s += WEB_RUNNING_IDLE_S - 1;
	web_running__ask(running);
	passed_s += WEB_RUNNING_IDLE_S - 1;
	say(2);
	assert_int_equal(web_running__count(running), 1); /* the other one was too long ago */
	assert_true(web_running__fd(running) >= 0);
	passed_s++;
	web_running__step(running);
	assert_int_equal(web_running__fd(running), -1);
	assert_int_equal(web_running__count(running), 0);
	web_running__ask(running);
	assert_true(is_called());
}

static void the_oldest_gives_way(void **state)
{
	struct running_snapshot snapshot;

	(void)state;
	listen_to(0, WEB_RUNNING_SNAPSHOTS + 10);
	assert_int_equal(web_running__count(running), WEB_RUNNING_SNAPSHOTS);
	web_running__get(running, 0, &snapshot);
	assert_int_equal(snapshot.head.end_unix_ns, (BEGIN + 11) * S);
}

static void seconds_are_in_their_steps_and_say_how_much_of_each_they_are(void **state)
{
	const char *text;

	(void)state;
	listen_to(7, 13);
	text = TOLD("--since=@1700000000", "--step=10s");
	must_have(text, "\"told\":[3.000,3.000]");
	must_have(text, "\"name\":\"shop\",\"values\":[0.180,0.180]");
	must_have(text, "\"name\":\"cart\",\"values\":[0.090,0.090]");
	must_have(
		text,
		"\"until\":1700000013.000,\"span\":2.000,\"host\":1.000,\"unnamed\":0.100,\"cpus\":2");
	must_have(text, "\"name\":\"shop\",\"values\":[0.600]");
	must_have(text, "\"why\":\"\"");
}

static void what_is_stored_is_not_told_again(void **state)
{
	const char *text;

	(void)state;
	listen_to(7, 13);
	text = TOLD("--since=@1700000012.004", "--step=10s");
	must_have(text, "\"told\":[1.000]");
	must_have(text, "\"name\":\"shop\",\"values\":[0.060]");
	/* The two ends of a window are readings of two clocks. */
	for (int after = 0; after <= 1; after++) {
		text = TOLD(after ? "--since=@1700000013.004" : "--since=@1700000012.996",
			    "--step=10s");
		assert_null(strstr(text, "shop"));
		must_have(text, "nothing newer than the last window");
	}
}

static void what_is_not_selected_is_in_the_host_alone(void **state)
{
	const char *text;

	(void)state;
	listen_to(7, 13);
	text = TOLD("--since=@1700000000", "--container=c*");
	assert_null(strstr(text, "shop"));
	must_have(text, "\"name\":\"cart\",\"values\":[0.300]");
	must_have(text, "\"host\":1.000");
}

static void other_events_have_no_seconds_and_the_reason_is_told(void **state)
{
	(void)state;
	listen_to(7, 13);
	must_have(TOLD("--event=off-cpu"), "only windows that have ended are shown: of ");
	must_have(TOLD("--event=wall"), "only windows that have ended are shown: of ");
	assert_null(strstr(TOLD("--event=page-faults"), "shop"));
}

static void without_a_jbpfd_the_reason_is_told(void **state)
{
	(void)state;
	listen_to(7, 13);
	packet_stream_release(&jbpfd);
	store_socket_remove(tree.path);
	web_running__step(running);
	must_have(TOLD("--since=@1700000000"), "has ended");
	passed_s += 2;
	web_running__ask(running);
	must_have(TOLD("--since=@1700000000"), "no jbpfd listens beside the store");
}

static void a_time_that_cannot_be_is_not_told(void **state)
{
	(void)state;
	listen_to(1000000, 1000001);
	assert_null(strstr(TOLD("--since=@1700000000"), "shop"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_pages_share_one_connection_that_ends_when_none_asks),
		TEST(the_oldest_gives_way),
		TEST(seconds_are_in_their_steps_and_say_how_much_of_each_they_are),
		TEST(what_is_stored_is_not_told_again),
		TEST(what_is_not_selected_is_in_the_host_alone),
		TEST(other_events_have_no_seconds_and_the_reason_is_told),
		TEST(without_a_jbpfd_the_reason_is_told),
		TEST(a_time_that_cannot_be_is_not_told),
	};

	return cmocka_run_group_tests_name("web_running", tests, NULL, NULL);
}
