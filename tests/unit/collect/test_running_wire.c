// SPDX-License-Identifier: Apache-2.0
/* The bytes that report the running window, and any other bytes that somebody may send instead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/sweep.h"
#include "user/collect/running_wire.h"

#define PACKET_MAX 4096u

/* Alone on the heap, so that a read beyond its end is seen by the sanitizer. */
struct packet_bytes {
	uint8_t *at;
	size_t len;
};

static void append_stream(struct strbuf *out, uint32_t pid, const char *comm,
			  const struct window *labelled)
{
	struct strbuf labels = STRBUF_INIT;
	struct running_stream stream = { .process_start_ns = 10 * pid,
					 .cgroup_id = 77,
					 .samples = 100 + pid,
					 .pid = pid,
					 .ns_pid = 1,
					 .exec_id = 3,
					 .event = EVENT_CPU };

	assert_int_equal(running_labels_put(&labels, labelled), 0);
	strcpy(stream.comm, comm);
	stream.labels_len = (uint32_t)labels.len;
	assert_int_equal(running_stream_put(out, &stream, labels.data), 0);
	strbuf_release(&labels);
}

static struct packet_bytes packet_new(void)
{
	static const struct window nobody;
	struct window shop = { .labels = { [WINDOW_LABEL_CONTAINER] = "shop-1",
					   [WINDOW_LABEL_CONTAINER_ID] = "3fa2",
					   [WINDOW_LABEL_EXE] = "/bin/java" } };
	struct running_head head = { .begin_unix_ns = 5000,
				     .end_unix_ns = 7000,
				     .left_out = 4,
				     .frequency_hz = 99,
				     .cpu_cnt = 2,
				     .event_cnt = 2,
				     .stream_cnt = 2,
				     .host = "node-7",
				     .boot_id = "0123456789abcde" };
	const struct running_event events[] = {
		{ .period = 10, .samples = 203, .event = EVENT_CPU },
		{ .period = 64, .samples = 0, .event = EVENT_PAGE_FAULTS },
	};
	struct packet_bytes packet;
	struct strbuf out = STRBUF_INIT;

	strbuf_append(&out, &head, sizeof(head));
	strbuf_append(&out, events, sizeof(events));
	append_stream(&out, 1, "java", &shop);
	append_stream(&out, 2, "kworker/0:1", &nobody);
	packet.len = out.len;
	packet.at = malloc(out.len);
	assert_non_null(packet.at);
	memcpy(packet.at, out.data, out.len);
	strbuf_release(&out);
	return packet;
}

static void what_is_told_is_what_is_read(void **state)
{
	struct packet_bytes packet = packet_new();
	struct running_snapshot snapshot;
	struct window window;
	size_t at = 0;

	(void)state;
	assert_int_equal(running_snapshot_read(packet.at, packet.len, &snapshot), 0);
	assert_true(running_snapshot_stream(&snapshot, &at, &window));
	assert_int_equal(window.pid, 1);
	assert_int_equal(window.process_start_ns, 10);
	assert_int_equal(window.cgroup_id, 77);
	assert_int_equal(window.exec_id, 3);
	assert_int_equal(window.counts.samples, 101);
	assert_int_equal(window.period, 10);
	assert_int_equal(window.start_unix_ns, 5000);
	assert_int_equal(window.duration_ns, 2000);
	assert_string_equal(window_label(&window, WINDOW_LABEL_COMM), "java");
	assert_string_equal(window_label(&window, WINDOW_LABEL_CONTAINER), "shop-1");
	assert_string_equal(window_label(&window, WINDOW_LABEL_CONTAINER_ID), "3fa2");
	assert_string_equal(window_label(&window, WINDOW_LABEL_EXE), "/bin/java");
	assert_string_equal(window_label(&window, WINDOW_LABEL_HOST), "node-7");
	assert_true(running_snapshot_stream(&snapshot, &at, &window));
	assert_string_equal(window_label(&window, WINDOW_LABEL_COMM), "kworker/0:1");
	assert_null(window.labels[WINDOW_LABEL_CONTAINER]);
	assert_false(running_snapshot_stream(&snapshot, &at, &window));
	at = 0;
	assert_true(running_snapshot_event(&snapshot, &at, &window));
	assert_int_equal(window.pid, 0);
	assert_int_equal(window.event, EVENT_CPU);
	assert_int_equal(window.counts.samples, 203);
	assert_int_equal(window.frequency_hz, 99);
	assert_int_equal(window.lost[WINDOW_LOSS_MEMORY], 4);
	assert_true(running_snapshot_event(&snapshot, &at, &window));
	assert_int_equal(window.event, EVENT_PAGE_FAULTS);
	assert_int_equal(window.period, 64);
	assert_int_equal(window.frequency_hz, 0);
	assert_false(running_snapshot_event(&snapshot, &at, &window));
	free(packet.at);
}

/* Whatever is read ends where the packet ends, and texts end with a NUL: the sanitizer looks on. */
static void read_all(const uint8_t *bytes, size_t len)
{
	struct running_snapshot snapshot;
	struct window window;
	size_t letters = 0;
	size_t at = 0;
	int err = running_snapshot_read(bytes, len, &snapshot);

	assert_true(err == 0 || err == -EBADMSG);
	if (err)
		return;
	while (running_snapshot_stream(&snapshot, &at, &window)) {
		assert_true(window.pid != 0);
		for (int i = 0; i < WINDOW_LABEL_CNT; i++)
			letters += strlen(window_label(&window, (enum window_label)i));
	}
	at = 0;
	while (running_snapshot_event(&snapshot, &at, &window))
		letters += strlen(window_label(&window, WINDOW_LABEL_HOST));
	assert_true(letters <= PACKET_MAX * 4);
}

static void a_packet_that_is_cut_is_none(void **state)
{
	struct packet_bytes packet = packet_new();
	struct running_snapshot snapshot;

	(void)state;
	for (size_t len = 0; len < packet.len; len++) {
		uint8_t *cut = malloc(len + 1);

		assert_non_null(cut);
		memcpy(cut, packet.at, len);
		cut = realloc(cut, len ? len : 1);
		assert_non_null(cut);
		assert_int_equal(running_snapshot_read(cut, len, &snapshot), -EBADMSG);
		free(cut);
	}
	free(packet.at);
}

static void a_packet_with_any_byte_changed_is_read_to_its_end_at_most(void **state)
{
	static const uint8_t others[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
	struct packet_bytes packet = packet_new();

	(void)state;
	assert_true(packet.len < PACKET_MAX);
	for (size_t at = 0; at < packet.len; at += sweep_step()) {
		uint8_t was = packet.at[at];

		for (size_t i = 0; i < sizeof(others); i++) {
			packet.at[at] = others[i];
			read_all(packet.at, packet.len);
		}
		packet.at[at] = was;
	}
	free(packet.at);
}

static void what_more_follows_the_last_stream_is_no_packet(void **state)
{
	struct packet_bytes packet = packet_new();
	struct running_snapshot snapshot;

	(void)state;
	packet.at = realloc(packet.at, packet.len + 8);
	assert_non_null(packet.at);
	memset(packet.at + packet.len, 0, 8);
	assert_int_equal(running_snapshot_read(packet.at, packet.len + 8, &snapshot), -EBADMSG);
	free(packet.at);
}

/* Of whoever has so many nothing is kept: a packet has a limit. */
static void too_many_bytes_of_labels_are_refused_as_a_whole(void **state)
{
	static char name[RUNNING_LABELS_MAX];
	struct window window = { .labels = { [WINDOW_LABEL_CGROUP] = name } };
	struct strbuf out = STRBUF_INIT;

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	strbuf_puts(&out, "before");
	assert_int_equal(running_labels_put(&out, &window), -E2BIG);
	assert_string_equal(strbuf_str(&out), "before");
	strbuf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_told_is_what_is_read),
		cmocka_unit_test(a_packet_that_is_cut_is_none),
		cmocka_unit_test(a_packet_with_any_byte_changed_is_read_to_its_end_at_most),
		cmocka_unit_test(what_more_follows_the_last_stream_is_no_packet),
		cmocka_unit_test(too_many_bytes_of_labels_are_refused_as_a_whole),
	};

	return cmocka_run_group_tests_name("running_wire", tests, NULL, NULL);
}
