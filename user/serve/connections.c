// SPDX-License-Identifier: Apache-2.0
/* See connections.h. */
#include "user/serve/connections.h"

#include <stdlib.h>
#include <sys/socket.h>

struct connection {
	int fd;	   /* -1: unused */
	uid_t uid; /* of a Unix socket's other end */
	uint64_t until_boot_ns;
	bool is_put_out;
	bool is_kept;
};

struct connections {
	size_t max;
	size_t open_cnt; /* without those that are put out */
	struct connection places[];
};

struct connections *connections__new(size_t max)
{
	struct connections *connections =
		calloc(1, sizeof(*connections) + 2 * max * sizeof(connections->places[0]));

	if (!connections)
		return NULL;
	connections->max = max;
	for (size_t i = 0; i < connections__places(connections); i++)
		connections->places[i].fd = -1;
	return connections;
}

void connections__free(struct connections *connections)
{
	free(connections);
}

size_t connections__places(const struct connections *connections)
{
	return 2 * connections->max;
}

uid_t connections_peer(int fd)
{
	struct ucred peer = { .uid = 0 };
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) ? 0 : peer.uid;
}

static void put_out(struct connections *connections, struct connection *connection)
{
	(void)shutdown(connection->fd, SHUT_RDWR);
	connection->is_put_out = true;
	connections->open_cnt--;
}

static size_t count_of(const struct connections *connections, uid_t uid)
{
	size_t cnt = 0;

	for (size_t i = 0; i < connections__places(connections); i++) {
		const struct connection *connection = &connections->places[i];

		cnt += connection->fd >= 0 && !connection->is_put_out && connection->uid == uid;
	}
	return cnt;
}

/* The oldest connection of the user that has most. */
static void make_room(struct connections *connections)
{
	struct connection *oldest = NULL;
	size_t most = 0;

	for (size_t i = 0; i < connections__places(connections); i++) {
		struct connection *connection = &connections->places[i];
		size_t cnt;

		if (connection->fd < 0 || connection->is_put_out || connection->is_kept)
			continue;
		cnt = count_of(connections, connection->uid);
		if (!oldest || cnt > most ||
		    (cnt == most && connection->until_boot_ns < oldest->until_boot_ns))
			oldest = connection;
		if (cnt > most)
			most = cnt;
	}
	if (oldest)
		put_out(connections, oldest);
}

static struct connection *find(struct connections *connections, int fd)
{
	for (size_t i = 0; i < connections__places(connections); i++) {
		if (connections->places[i].fd == fd)
			return &connections->places[i];
	}
	return NULL;
}

void connections__start(struct connections *connections, int fd, uid_t uid, uint64_t until_boot_ns)
{
	struct connection *connection;

	if (connections->open_cnt >= connections->max)
		make_room(connections);
	connection = find(connections, -1);
	if (!connection)
		return;
	*connection = (struct connection){
		.fd = fd,
		.uid = uid,
		.until_boot_ns = until_boot_ns,
	};
	connections->open_cnt++;
}

void connections__keep(struct connections *connections, int fd, uint64_t until_boot_ns)
{
	struct connection *connection = find(connections, fd);

	if (!connection || fd < 0)
		return;
	connection->is_kept = true;
	connection->until_boot_ns = until_boot_ns;
}

void connections__end(struct connections *connections, int fd)
{
	struct connection *connection = fd < 0 ? NULL : find(connections, fd);

	if (!connection)
		return;
	if (!connection->is_put_out)
		connections->open_cnt--;
	connection->fd = -1;
}

void connections__put_out_overdue(struct connections *connections, uint64_t now_boot_ns)
{
	for (size_t i = 0; i < connections__places(connections); i++) {
		struct connection *connection = &connections->places[i];

		if (connection->fd >= 0 && !connection->is_put_out &&
		    now_boot_ns > connection->until_boot_ns)
			put_out(connections, connection);
	}
}
