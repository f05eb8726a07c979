// SPDX-License-Identifier: Apache-2.0
/* See running_reader.h. What comes is checked as a stranger's (running_wire.h). */
#include "user/live/running_reader.h"

#include <errno.h>
#include <stdio.h>

#include "user/store/store_socket.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define RETRY_NS  (2 * CLOCK_NS_PER_S)
#define SILENT_NS (5 * CLOCK_NS_PER_S) /* then what was told is too old to be called now */

void running_reader_init(struct running_reader *reader)
{
	*reader = (struct running_reader){ 0 };
	packet_stream_init(&reader->stream, -1, 0);
}

void running_reader_release(struct running_reader *reader)
{
	packet_stream_release(&reader->stream);
}

static void forget(struct running_reader *reader, const struct running_listener *listener)
{
	if (reader->has_told)
		listener->forget(listener->ctx);
	reader->has_told = false;
}

static void hang_up(struct running_reader *reader, int err, const struct running_listener *listener)
{
	packet_stream_release(&reader->stream);
	reader->err = err;
	forget(reader, listener);
}

static void call(struct running_reader *reader, const char *dir)
{
	uint64_t now_ns = clock_boot_ns();
	int fd;

	if (reader->tried_boot_ns && now_ns - reader->tried_boot_ns < RETRY_NS)
		return;
	reader->tried_boot_ns = reader->heard_boot_ns = now_ns;
	fd = store_socket_connect(dir);
	reader->err = fd < 0 ? fd : 0;
	if (fd >= 0)
		packet_stream_init(&reader->stream, fd, RUNNING_BYTES_MAX);
}

static int take(const struct packet *packet, const struct running_listener *listener)
{
	struct running_snapshot snapshot;
	int err;

	if (packet->kind != RUNNING_SNAPSHOT_1)
		return -EPROTONOSUPPORT;
	err = running_snapshot_read(packet->bytes, packet->len, &snapshot);
	return err ? err : listener->take(listener->ctx, packet, &snapshot);
}

static int read_along(struct running_reader *reader, const struct running_listener *listener)
{
	struct packet packet;
	int err = packet_stream_fill(&reader->stream);

	while (!err && packet_stream_next(&reader->stream, &packet, &err)) {
		err = take(&packet, listener);
		if (err)
			return err;
		reader->heard_boot_ns = clock_boot_ns();
		reader->has_told = true;
	}
	return err;
}

int running_reader_step(struct running_reader *reader, const char *dir,
			const struct running_listener *listener)
{
	int err = 0;

	if (reader->stream.fd < 0)
		call(reader, dir);
	if (reader->stream.fd < 0)
		return 0;
	while (!err)
		err = read_along(reader, listener);
	if (err != -EAGAIN)
		hang_up(reader, err, listener);
	else if (clock_boot_ns() - reader->heard_boot_ns > SILENT_NS)
		forget(reader, listener);
	return err == -ENOMEM ? err : 0;
}

int running_reader_fd(const struct running_reader *reader)
{
	return reader->stream.fd;
}

bool running_reader_is_awaited(const struct running_reader *reader)
{
	return reader->stream.fd >= 0 && clock_boot_ns() - reader->heard_boot_ns <= SILENT_NS;
}

static const char *reason(const struct running_reader *reader)
{
	switch (-reader->err) {
	case 0:
		return "jbpfd tells nothing of the one that runs";
	case ENOENT:
	case ECONNREFUSED:
		return "no jbpfd listens beside the store";
	case EACCES:
	case EPERM:
		return "only the store's group may read along";
	case EPIPE:
	case EAGAIN:
		return "jbpfd has no place for one more reader, or has ended";
	case EPROTONOSUPPORT:
		return "jbpfd is of another version; restart it";
	case EBADMSG:
		return "what jbpfd said makes no sense";
	default:
		return errstr(reader->err);
	}
}

void running_reader_why(const struct running_reader *reader, char *why, size_t why_len)
{
	*why = '\0';
	if (!reader->has_told && !running_reader_is_awaited(reader))
		(void)snprintf(why, why_len, "only windows that have ended are shown: %s",
			       reason(reader));
}
