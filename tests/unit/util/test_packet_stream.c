// SPDX-License-Identifier: Apache-2.0
/* Packets between two processes: cut anywhere, of any length, from somebody who may lie. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "user/util/packet_stream.h"

#define IN_MAX	    (8u << 20)
#define HEAD_BYTES  16u
#define QUIET_BYTES (16u << 10) /* that a stream keeps when nothing is on its way */

struct wire {
	struct packet_stream left;
	struct packet_stream right;
};

static void wire_make(struct wire *wire)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	packet_stream_init(&wire->left, fds[0], IN_MAX);
	packet_stream_init(&wire->right, fds[1], IN_MAX);
}

static void wire_release(struct wire *wire)
{
	packet_stream_release(&wire->left);
	packet_stream_release(&wire->right);
}

static void assert_packet(struct packet_stream *stream, uint32_t kind, const void *bytes,
			  size_t len)
{
	struct packet packet;
	int err;

	assert_true(packet_stream_next(stream, &packet, &err));
	assert_int_equal(err, 0);
	assert_int_equal(packet.kind, kind);
	assert_int_equal(packet.len, len);
	assert_int_equal((uintptr_t)packet.bytes % 8, 0);
	if (len)
		assert_memory_equal(packet.bytes, bytes, len);
}

static void assert_no_packet(struct packet_stream *stream)
{
	struct packet packet;
	int err = 77;

	assert_false(packet_stream_next(stream, &packet, &err));
	assert_int_equal(err, 0);
}

static void packets_arrive_in_order_with_kind_length_and_alignment(void **state)
{
	static const char text[] = "0123456789abcdefg";
	struct wire wire;

	(void)state;
	wire_make(&wire);
	for (uint32_t len = 0; len < sizeof(text); len++)
		assert_int_equal(packet_stream_put_bytes(&wire.left, 100 + len, text, len), 0);
	assert_int_equal(packet_stream_flush(&wire.left), 0);
	assert_int_equal(packet_stream_fill(&wire.right), 0);
	for (uint32_t len = 0; len < sizeof(text); len++)
		assert_packet(&wire.right, 100 + len, text, len);
	assert_no_packet(&wire.right);
	wire_release(&wire);
}

static void parts_of_a_packet_are_one_behind_the_other(void **state)
{
	char one[] = "one", two[] = "two";
	const struct iovec parts[] = { { one, 3 }, { NULL, 0 }, { two, 3 } };
	struct wire wire;

	(void)state;
	wire_make(&wire);
	assert_int_equal(packet_stream_put(&wire.left, 7, parts, 3), 0);
	assert_int_equal(packet_stream_put(&wire.left, 8, NULL, 0), 0);
	assert_int_equal(packet_stream_flush(&wire.left), 0);
	assert_int_equal(packet_stream_fill(&wire.right), 0);
	assert_packet(&wire.right, 7, "onetwo", 6);
	assert_packet(&wire.right, 8, NULL, 0);
	wire_release(&wire);
}

/* Two packets, of which the first `cut` bytes arrive before the others. */
static void check_cut(const struct strbuf *bytes, size_t cut)
{
	struct wire wire;
	size_t cnt = 0;

	wire_make(&wire);
	assert_int_equal(send(wire.left.fd, bytes->data, cut, 0), cut);
	assert_int_equal(packet_stream_fill(&wire.right), cut ? 0 : -EAGAIN);
	if (cut >= HEAD_BYTES + 16) {
		assert_packet(&wire.right, 1, "first bytes", 11);
		cnt++;
	}
	if (cut < bytes->len)
		assert_no_packet(&wire.right);
	assert_int_equal(send(wire.left.fd, bytes->data + cut, bytes->len - cut, 0),
			 bytes->len - cut);
	(void)packet_stream_fill(&wire.right);
	if (!cnt)
		assert_packet(&wire.right, 1, "first bytes", 11);
	assert_packet(&wire.right, 2, "then these", 10);
	assert_no_packet(&wire.right);
	wire_release(&wire);
}

static void packets_that_are_cut_anywhere_are_shown_when_whole(void **state)
{
	struct packet_stream queue;

	(void)state;
	packet_stream_init(&queue, -1, IN_MAX);
	assert_int_equal(packet_stream_put_bytes(&queue, 1, "first bytes", 11), 0);
	assert_int_equal(packet_stream_put_bytes(&queue, 2, "then these", 10), 0);
	assert_int_equal(queue.out.len, 2 * (HEAD_BYTES + 16));
	for (size_t cut = 0; cut < queue.out.len; cut++)
		check_cut(&queue.out, cut);
	packet_stream_release(&queue);
}

static void a_large_packet_crosses_without_waiting_and_its_memory_is_given_back(void **state)
{
	size_t len = IN_MAX - 3;
	uint8_t *bytes = malloc(len);
	struct wire wire;
	struct packet packet;
	int err = -EAGAIN, broken;

	(void)state;
	assert_non_null(bytes);
	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)(i * 7 >> 3);
	wire_make(&wire);
	assert_int_equal(packet_stream_put_bytes(&wire.left, 5, bytes, len), 0);
	assert_true(packet_stream_waiting(&wire.left) > len);
	assert_int_equal(packet_stream_flush(&wire.left), -EAGAIN);
	while (!packet_stream_next(&wire.right, &packet, &broken)) {
		assert_int_equal(broken, 0);
		err = packet_stream_flush(&wire.left);
		assert_true(err == 0 || err == -EAGAIN);
		assert_int_equal(packet_stream_fill(&wire.right), 0);
	}
	assert_int_equal(packet.len, len);
	assert_memory_equal(packet.bytes, bytes, len);
	assert_int_equal(packet_stream_flush(&wire.left), 0);
	assert_int_equal(packet_stream_waiting(&wire.left), 0);
	assert_true(wire.left.out.cap <= QUIET_BYTES);
	assert_int_equal(packet_stream_fill(&wire.right), -EAGAIN);
	assert_true(wire.right.in.cap <= QUIET_BYTES);
	free(bytes);
	wire_release(&wire);
}

/* The other side reads all the time, but never has read all. */
static void memory_follows_what_waits_and_not_what_was_ever_sent(void **state)
{
	static uint8_t bytes[64 << 10];
	struct wire wire;

	(void)state;
	wire_make(&wire);
	for (int i = 0; i < 32; i++)
		assert_int_equal(packet_stream_put_bytes(&wire.left, 1, bytes, sizeof(bytes)), 0);
	for (int i = 0; i < 512; i++) {
		struct packet packet;
		int err;

		assert_int_equal(packet_stream_put_bytes(&wire.left, 1, bytes, sizeof(bytes)), 0);
		assert_int_equal(packet_stream_flush(&wire.left), -EAGAIN);
		while (!packet_stream_next(&wire.right, &packet, &err))
			assert_int_equal(packet_stream_fill(&wire.right), 0);
	}
	assert_true(packet_stream_waiting(&wire.left) < 4u << 20);
	assert_true(wire.left.out.cap < 16u << 20);
	wire_release(&wire);
}

static void a_length_over_the_most_breaks_the_stream(void **state)
{
	static const uint64_t lengths[] = { IN_MAX + 1ull, 1ull << 32, UINT64_MAX, UINT64_MAX - 7 };

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		const uint64_t head[2] = { 1, lengths[i] };
		struct packet packet;
		struct wire wire;
		int err = 0;

		wire_make(&wire);
		assert_int_equal(packet_stream_put_bytes(&wire.left, 9, "good", 4), 0);
		assert_int_equal(packet_stream_flush(&wire.left), 0);
		assert_int_equal(send(wire.left.fd, head, sizeof(head), 0), sizeof(head));
		assert_int_equal(packet_stream_fill(&wire.right), 0);
		/* What was sent before is good. */
		assert_packet(&wire.right, 9, "good", 4);
		assert_false(packet_stream_next(&wire.right, &packet, &err));
		assert_int_equal(err, -EBADMSG);
		wire_release(&wire);
	}
}

static void a_packet_beyond_all_limits_is_not_queued(void **state)
{
	struct packet_stream queue;
	char byte = 0;

	(void)state;
	packet_stream_init(&queue, -1, IN_MAX);
	assert_int_equal(packet_stream_put_bytes(&queue, 1, &byte, PACKET_MAX_BYTES + 1ul),
			 -EMSGSIZE);
	assert_int_equal(packet_stream_waiting(&queue), 0);
	packet_stream_release(&queue);
}

static void a_silent_side_is_no_end_and_a_closed_one_is(void **state)
{
	struct wire wire;

	(void)state;
	wire_make(&wire);
	assert_int_equal(packet_stream_fill(&wire.right), -EAGAIN);
	assert_int_equal(packet_stream_put_bytes(&wire.left, 3, "last", 4), 0);
	assert_int_equal(packet_stream_flush_all(&wire.left), 0);
	packet_stream_release(&wire.left);
	/* What it sent before is still there. */
	assert_int_equal(packet_stream_fill(&wire.right), 0);
	assert_packet(&wire.right, 3, "last", 4);
	assert_int_equal(packet_stream_fill(&wire.right), -EPIPE);
	assert_int_equal(packet_stream_put_bytes(&wire.right, 3, "?", 1), 0);
	assert_int_equal(packet_stream_flush(&wire.right), -EPIPE);
	assert_int_equal(packet_stream_flush_all(&wire.right), -EPIPE);
	wire_release(&wire);
}

static void an_end_with_bytes_unread_is_an_end_too(void **state)
{
	struct wire wire;

	(void)state;
	wire_make(&wire);
	assert_int_equal(packet_stream_put_bytes(&wire.right, 3, "unread", 6), 0);
	assert_int_equal(packet_stream_flush(&wire.right), 0);
	packet_stream_release(&wire.left); /* the kernel says ECONNRESET */
	assert_int_equal(packet_stream_fill(&wire.right), -EPIPE);
	wire_release(&wire);
}

static void a_turned_stream_reads_what_was_put_into_it(void **state)
{
	struct packet_stream queue;

	(void)state;
	packet_stream_init(&queue, -1, IN_MAX);
	packet_stream_turn(&queue);
	assert_no_packet(&queue);
	assert_int_equal(packet_stream_put_bytes(&queue, 1, "one", 3), 0);
	assert_int_equal(packet_stream_put_bytes(&queue, 2, "two", 3), 0);
	packet_stream_turn(&queue);
	assert_int_equal(packet_stream_waiting(&queue), 0);
	assert_packet(&queue, 1, "one", 3);
	assert_packet(&queue, 2, "two", 3);
	assert_no_packet(&queue);
	packet_stream_release(&queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_arrive_in_order_with_kind_length_and_alignment),
		cmocka_unit_test(parts_of_a_packet_are_one_behind_the_other),
		cmocka_unit_test(packets_that_are_cut_anywhere_are_shown_when_whole),
		cmocka_unit_test(
			a_large_packet_crosses_without_waiting_and_its_memory_is_given_back),
		cmocka_unit_test(memory_follows_what_waits_and_not_what_was_ever_sent),
		cmocka_unit_test(a_length_over_the_most_breaks_the_stream),
		cmocka_unit_test(a_packet_beyond_all_limits_is_not_queued),
		cmocka_unit_test(a_silent_side_is_no_end_and_a_closed_one_is),
		cmocka_unit_test(an_end_with_bytes_unread_is_an_end_too),
		cmocka_unit_test(a_turned_stream_reads_what_was_put_into_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
