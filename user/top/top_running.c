// SPDX-License-Identifier: Apache-2.0
/* See top_running.h. What comes is checked as a stranger's (running_wire.h). */
#include "user/top/top_running.h"

#include <errno.h>
#include <stdio.h>

#include "user/collect/running_wire.h"
#include "user/store/store_socket.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define RETRY_NS  (2 * CLOCK_NS_PER_S)
#define SILENT_NS (5 * CLOCK_NS_PER_S) /* then what was told is too old to be called now */

void top_running_init(struct top_running *running)
{
	*running = (struct top_running){ 0 };
	packet_stream_init(&running->stream, -1, 0);
}

void top_running_release(struct top_running *running)
{
	packet_stream_release(&running->stream);
}

static void forget(struct top_running *running, struct top_model *model)
{
	if (running->has_told)
		top_model__forget_running(model);
	running->has_told = false;
}

static void hang_up(struct top_running *running, int err, struct top_model *model)
{
	packet_stream_release(&running->stream);
	running->err = err;
	forget(running, model);
}

static void call(struct top_running *running, const char *dir)
{
	uint64_t now_ns = clock_boot_ns();
	int fd;

	if (running->tried_boot_ns && now_ns - running->tried_boot_ns < RETRY_NS)
		return;
	running->tried_boot_ns = running->heard_boot_ns = now_ns;
	fd = store_socket_connect(dir);
	running->err = fd < 0 ? fd : 0;
	if (fd >= 0)
		packet_stream_init(&running->stream, fd, RUNNING_BYTES_MAX);
}

/* Streams first: the host record says that there are no more. */
static int take_snapshot(const struct packet *packet, struct top_model *model)
{
	struct running_snapshot snapshot;
	struct window window;
	size_t at = 0;
	int err;

	if (packet->kind != RUNNING_SNAPSHOT_1)
		return -EPROTONOSUPPORT;
	err = running_snapshot_read(packet->bytes, packet->len, &snapshot);
	while (!err && running_snapshot_stream(&snapshot, &at, &window))
		err = top_model__add_running(model, &window);
	at = 0;
	while (!err && running_snapshot_event(&snapshot, &at, &window))
		err = top_model__add_running(model, &window);
	return err;
}

static int read_along(struct top_running *running, struct top_model *model)
{
	struct packet packet;
	int err = packet_stream_fill(&running->stream);

	while (!err && packet_stream_next(&running->stream, &packet, &err)) {
		err = take_snapshot(&packet, model);
		if (err)
			return err;
		running->heard_boot_ns = clock_boot_ns();
		running->has_told = true;
	}
	return err;
}

int top_running_step(struct top_running *running, const char *dir, struct top_model *model)
{
	int err = 0;

	if (running->stream.fd < 0)
		call(running, dir);
	if (running->stream.fd < 0)
		return 0;
	while (!err)
		err = read_along(running, model);
	if (err != -EAGAIN)
		hang_up(running, err, model);
	else if (clock_boot_ns() - running->heard_boot_ns > SILENT_NS)
		forget(running, model);
	return err == -ENOMEM ? err : 0;
}

int top_running_fd(const struct top_running *running)
{
	return running->stream.fd;
}

bool top_running_is_awaited(const struct top_running *running)
{
	return running->stream.fd >= 0 && clock_boot_ns() - running->heard_boot_ns <= SILENT_NS;
}

static const char *reason(const struct top_running *running)
{
	switch (-running->err) {
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
		return errstr(running->err);
	}
}

void top_running_why(const struct top_running *running, char *why, size_t why_len)
{
	*why = '\0';
	if (!running->has_told && !top_running_is_awaited(running))
		(void)snprintf(why, why_len, "only windows that have ended are shown: %s",
			       reason(running));
}
