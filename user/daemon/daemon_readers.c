// SPDX-License-Identifier: Apache-2.0
/* See daemon_readers.h. */
#include "user/daemon/daemon_readers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "user/collect/running_wire.h"
#include "user/store/store_socket.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define STALLED_NS    (10 * CLOCK_NS_PER_S)
#define EVENTS_AT_ONE 8

/* ---- life ---- */

static int watch(const struct daemon_readers *readers, int op, int fd, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.fd = fd };

	return epoll_ctl(readers->epoll_fd, op, fd, &event) ? -errno : 0;
}

void daemon_readers_open(struct daemon_readers *readers, const char *store_dir)
{
	int err = 0;

	*readers = (struct daemon_readers){ .listen_fd = -1, .epoll_fd = -1 };
	readers->listen_fd = store_socket_listen(store_dir);
	if (readers->listen_fd < 0)
		err = readers->listen_fd;
	else
		readers->store_dir = strdup(store_dir);
	if (!err)
		readers->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (!err && (!readers->store_dir || readers->epoll_fd < 0))
		err = -ENOMEM;
	if (!err)
		err = watch(readers, EPOLL_CTL_ADD, readers->listen_fd, EPOLLIN);
	if (!err)
		return;
	pr_warn("the socket '%s/" STORE_SOCKET_NAME
		"' cannot be made: %s%s; jbpf top and jbpf web show windows when they have ended\n",
		store_dir, errstr(err),
		err == -EEXIST ? " (what has the name is no socket: remove it)" : "");
	daemon_readers_close(readers);
}

void daemon_readers_close(struct daemon_readers *readers)
{
	if (!readers->store_dir && readers->listen_fd <= 0)
		return;
	for (size_t i = 0; i < readers->cnt; i++)
		packet_stream_release(&readers->readers[i].stream);
	readers->cnt = 0;
	close_fd(&readers->listen_fd);
	close_fd(&readers->epoll_fd);
	if (readers->store_dir)
		store_socket_remove(readers->store_dir);
	free(take_ptr(readers->store_dir));
}

int daemon_readers_fd(const struct daemon_readers *readers)
{
	return readers->store_dir ? readers->epoll_fd : -1;
}

uint64_t daemon_readers_due_boot_ns(const struct daemon_readers *readers)
{
	uint64_t due_ns = readers->cnt ? readers->due_ns : UINT64_MAX;

	if (readers->is_resting && readers->second_ns < due_ns)
		due_ns = readers->second_ns;
	return due_ns;
}

/* ---- who comes and goes ---- */

static void put_out(struct daemon_readers *readers, size_t index)
{
	struct daemon_reader *reader = &readers->readers[index];

	/* Closed, it is gone from the set, too. */
	packet_stream_release(&reader->stream);
	*reader = readers->readers[--readers->cnt];
}

static void take_in(struct daemon_readers *readers, int fd)
{
	struct daemon_reader *reader = &readers->readers[readers->cnt];

	if (readers->cnt == DAEMON_READERS_MAX ||
	    watch(readers, EPOLL_CTL_ADD, fd, EPOLLIN | EPOLLRDHUP)) {
		close(fd);
		return;
	}
	*reader = (struct daemon_reader){ 0 };
	packet_stream_init(&reader->stream, fd, 0);
	/* The first one has not to wait for a second. */
	if (!readers->cnt)
		readers->due_ns = 0;
	readers->cnt++;
}

static void rest(struct daemon_readers *readers, bool is_resting)
{
	if (readers->is_resting != is_resting &&
	    !watch(readers, EPOLL_CTL_MOD, readers->listen_fd, is_resting ? 0 : EPOLLIN))
		readers->is_resting = is_resting;
}

static void take_all_in(struct daemon_readers *readers, uint64_t now_ns)
{
	if (now_ns >= readers->second_ns) {
		readers->second_ns = now_ns + DAEMON_READERS_PERIOD_NS;
		readers->accepts = 0;
		rest(readers, false);
	}
	while (!readers->is_resting) {
		int fd = accept4(readers->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0)
			take_in(readers, fd);
		/* It comes again where there is no descriptor for it: not in a circle. */
		else if (errno == EAGAIN)
			return;
		if (++readers->accepts >= DAEMON_READERS_ACCEPTS)
			rest(readers, true);
	}
}

/* What the sockets say. */
static void listen_to_all(struct daemon_readers *readers, uint64_t now_ns)
{
	struct epoll_event events[EVENTS_AT_ONE];
	int cnt = epoll_wait(readers->epoll_fd, events, EVENTS_AT_ONE, 0);

	for (int i = 0; i < cnt; i++) {
		size_t index = 0;

		while (index < readers->cnt &&
		       readers->readers[index].stream.fd != events[i].data.fd)
			index++;
		/* Gone, or it said something; one that only takes what waits for it stays. */
		if (index < readers->cnt && events[i].events & ~(uint32_t)EPOLLOUT)
			put_out(readers, index);
	}
	take_all_in(readers, now_ns);
}

/* ---- telling ---- */

/* Sends what the socket takes. False: it is to be put out. */
static bool serve(struct daemon_readers *readers, struct daemon_reader *reader, uint64_t now_ns)
{
	size_t waiting = packet_stream_waiting(&reader->stream);
	bool had_some = reader->waits_since_ns != 0;
	int err = waiting ? packet_stream_flush(&reader->stream) : 0;

	if (err && err != -EAGAIN)
		return false;
	if (packet_stream_waiting(&reader->stream) < waiting || !waiting)
		reader->waits_since_ns = 0;
	if (err && !reader->waits_since_ns)
		reader->waits_since_ns = now_ns;
	if ((err != 0) != had_some && watch(readers, EPOLL_CTL_MOD, reader->stream.fd,
					    EPOLLIN | EPOLLRDHUP | (err ? (uint32_t)EPOLLOUT : 0)))
		return false;
	return !err || now_ns - reader->waits_since_ns < STALLED_NS;
}

static void serve_all(struct daemon_readers *readers, uint64_t now_ns)
{
	for (size_t i = readers->cnt; i-- > 0;)
		if (!serve(readers, &readers->readers[i], now_ns))
			put_out(readers, i);
}

static void tell_all(struct daemon_readers *readers, struct recorder *recorder)
{
	__cleanup_strbuf struct strbuf packet = STRBUF_INIT;
	int err = recorder__snapshot(recorder, &packet);

	if (err && !readers->is_refused)
		pr_warn("the window that runs cannot be looked at: %s; jbpf top and jbpf web show windows when they have ended\n",
			errstr(err));
	readers->is_refused = err != 0;
	/* Who has not taken the last one gets no further one. */
	for (size_t i = 0; i < readers->cnt && !err; i++)
		if (!packet_stream_waiting(&readers->readers[i].stream) &&
		    packet_stream_put_bytes(&readers->readers[i].stream, RUNNING_SNAPSHOT_1,
					    packet.data, packet.len))
			pr_debug("a reader misses a second: no memory\n");
}

void daemon_readers_step(struct daemon_readers *readers, struct recorder *recorder)
{
	uint64_t now_ns = clock_boot_ns();

	if (!readers->store_dir)
		return;
	listen_to_all(readers, now_ns);
	if (readers->cnt && now_ns >= readers->due_ns) {
		readers->due_ns = now_ns + DAEMON_READERS_PERIOD_NS;
		tell_all(readers, recorder);
	}
	serve_all(readers, now_ns);
	if (!readers->cnt)
		recorder__end_snapshots(recorder);
}

void daemon_readers_end_window(struct daemon_readers *readers, struct recorder *recorder)
{
	if (!readers->cnt)
		return;
	readers->due_ns = 0;
	daemon_readers_step(readers, recorder);
}
