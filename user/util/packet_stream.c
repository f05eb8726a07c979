// SPDX-License-Identifier: Apache-2.0
/* See packet_stream.h. A head of 16 bytes, the bytes, and zeros up to the next multiple of 8. */
#include "user/util/packet_stream.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define KEEP_BYTES  (16u << 10)	     /* of an empty buffer; more is given back */
#define READ_BYTES  (KEEP_BYTES - 1) /* at least; a strbuf has room for one more */
#define ALIGN_BYTES 8u

struct packet_head {
	uint32_t kind;
	uint32_t reserved; /* 0 */
	uint64_t len;	   /* of the bytes, without padding */
};

static size_t padded(size_t len)
{
	return (len + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
}

void packet_stream_init(struct packet_stream *stream, int fd, size_t in_max_bytes)
{
	*stream = (struct packet_stream){ .fd = fd, .in_max = in_max_bytes };
}

void packet_stream_release(struct packet_stream *stream)
{
	if (stream->fd >= 0)
		close(stream->fd);
	stream->fd = -1;
	strbuf_release(&stream->in);
	strbuf_release(&stream->out);
	stream->in_at = stream->out_at = 0;
}

/* Moves what is left to the front, or gives the memory back when nothing is. */
static void consume(struct strbuf *buf, size_t *at)
{
	size_t left = buf->len - *at;

	if (!left && buf->cap > KEEP_BYTES)
		strbuf_release(buf);
	else if (!left)
		strbuf_clear(buf);
	else if (*at) {
		memmove(buf->data, buf->data + *at, left);
		strbuf_truncate(buf, left);
	}
	*at = 0;
}

/* ---- writing ---- */

int packet_stream_put(struct packet_stream *stream, uint32_t kind, const struct iovec *parts,
		      size_t part_cnt)
{
	static const char zeros[ALIGN_BYTES];
	struct packet_head head = { .kind = kind };
	size_t len = 0;
	int err;

	for (size_t i = 0; i < part_cnt; i++)
		len += parts[i].iov_len;
	if (len > PACKET_MAX_BYTES)
		return -EMSGSIZE;
	head.len = len;
	err = strbuf_reserve(&stream->out, sizeof(head) + padded(len));
	if (err)
		return err;
	strbuf_append(&stream->out, &head, sizeof(head));
	for (size_t i = 0; i < part_cnt; i++)
		strbuf_append(&stream->out, parts[i].iov_base, parts[i].iov_len);
	strbuf_append(&stream->out, zeros, padded(len) - len);
	return 0;
}

int packet_stream_put_bytes(struct packet_stream *stream, uint32_t kind, const void *bytes,
			    size_t len)
{
	const struct iovec part = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = len };

	return packet_stream_put(stream, kind, &part, 1);
}

void packet_stream_turn(struct packet_stream *stream)
{
	strbuf_release(&stream->in);
	stream->in = stream->out;
	stream->in_at = stream->out_at;
	stream->out = (struct strbuf)STRBUF_INIT;
	stream->out_at = 0;
}

size_t packet_stream_waiting(const struct packet_stream *stream)
{
	return stream->out.len - stream->out_at;
}

/* Somebody who reads all the time and never all of it: what was sent does not pile up. */
static int sent_part(struct packet_stream *stream, int err)
{
	if (stream->out_at > packet_stream_waiting(stream))
		consume(&stream->out, &stream->out_at);
	return err == -ECONNRESET ? -EPIPE : err;
}

static int flush(struct packet_stream *stream, int flags)
{
	while (packet_stream_waiting(stream)) {
		ssize_t sent = send(stream->fd, stream->out.data + stream->out_at,
				    packet_stream_waiting(stream), flags | MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return sent_part(stream, -errno);
		stream->out_at += (size_t)sent;
	}
	consume(&stream->out, &stream->out_at);
	return 0;
}

int packet_stream_flush(struct packet_stream *stream)
{
	return flush(stream, MSG_DONTWAIT);
}

int packet_stream_flush_all(struct packet_stream *stream)
{
	return flush(stream, 0);
}

/* ---- reading ---- */

int packet_stream_fill(struct packet_stream *stream)
{
	ssize_t got;

	consume(&stream->in, &stream->in_at);
	if (strbuf_reserve(&stream->in, READ_BYTES))
		return -ENOMEM;
	do
		got = recv(stream->fd, stream->in.data + stream->in.len,
			   stream->in.cap - stream->in.len - 1, MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	if (got == 0)
		return -EPIPE;
	stream->in.len += (size_t)got;
	return 0;
}

bool packet_stream_next(struct packet_stream *stream, struct packet *out, int *err_out)
{
	size_t left = stream->in.len - stream->in_at;
	struct packet_head head;

	*err_out = 0;
	if (left < sizeof(head))
		return false;
	memcpy(&head, stream->in.data + stream->in_at, sizeof(head));
	if (head.len > stream->in_max) {
		*err_out = -EBADMSG;
		return false;
	}
	if (left - sizeof(head) < padded((size_t)head.len))
		return false;
	*out = (struct packet){
		.kind = head.kind,
		.bytes = stream->in.data + stream->in_at + sizeof(head),
		.len = (size_t)head.len,
	};
	stream->in_at += sizeof(head) + padded((size_t)head.len);
	return true;
}
