/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets of any length over a stream socket between two processes of ours, without ever waiting:
 * what the socket does not take yet is kept in memory, what has not arrived as a whole is not shown.
 * A packet is a kind and bytes; the bytes are aligned to 8, so that structures can be read in place.
 * The other side is not trusted: lengths are checked here, contents by the reader.
 */
#ifndef JBPF_UTIL_PACKET_STREAM_H
#define JBPF_UTIL_PACKET_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "user/util/attributes.h"
#include "user/util/strbuf.h"

#define PACKET_MAX_BYTES (256u << 20)

struct packet {
	uint32_t kind;
	const void *bytes; /* aligned to 8; borrowed until the next packet_stream_fill() */
	size_t len;
};

struct packet_stream {
	int fd; /* owned; O_NONBLOCK is not needed */
	struct strbuf in;
	size_t in_at; /* read and shown so far */
	struct strbuf out;
	size_t out_at; /* written so far */
	size_t in_max; /* packets above it are refused */
};

/* Takes `fd` over. `in_max_bytes`: the longest packet to expect, at most PACKET_MAX_BYTES. */
void packet_stream_init(struct packet_stream *stream, int fd, size_t in_max_bytes);
/* Closes the descriptor; what was not sent is dropped. */
void packet_stream_release(struct packet_stream *stream);

/* Queues a packet made of these parts. 0, -ENOMEM or -EMSGSIZE: nothing was queued. */
__must_check int packet_stream_put(struct packet_stream *stream, uint32_t kind,
				   const struct iovec *parts, size_t part_cnt);
/* The same for one part. */
__must_check int packet_stream_put_bytes(struct packet_stream *stream, uint32_t kind,
					 const void *bytes, size_t len);

/* What was put and not sent can be read from this very stream: without a socket it is a queue in memory. */
void packet_stream_turn(struct packet_stream *stream);

/* Bytes that wait to be written. */
size_t packet_stream_waiting(const struct packet_stream *stream);
/* Writes what the socket takes now. 0: all is written; -EAGAIN: some waits; -EPIPE; -errno. */
__must_check int packet_stream_flush(struct packet_stream *stream);
/* Writes all of it and waits for the other side meanwhile. 0, -EPIPE or -errno. */
__must_check int packet_stream_flush_all(struct packet_stream *stream);

/*
 * Reads what is there. 0: something; -EAGAIN: nothing; -EPIPE: the other side has closed it; -ENOMEM;
 * -errno. Packets that were shown before are void.
 */
__must_check int packet_stream_fill(struct packet_stream *stream);
/* The next whole packet. False: there is none; *err_out is -EBADMSG when the stream is broken. */
bool packet_stream_next(struct packet_stream *stream, struct packet *out, int *err_out);

#endif
