// SPDX-License-Identifier: Apache-2.0
/*
 * libmicrohttpd in one thread. Its own time limit starts again with each byte that comes; so that
 * nobody can hold a connection by sending one now and then, an overdue one is shut down here. Nor
 * can anybody take all places: a new connection puts out the oldest of the user that has most of
 * them (of a port users are not known: just the oldest). An honest request needs milliseconds.
 */
#include "user/serve/http.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "user/serve/address.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

#define RUN_MS		  500
#define METRICS_MEDIATYPE "text/plain; version=0.0.4; charset=utf-8"
#define OTHER_MEDIATYPE	  "text/plain; charset=utf-8"

/* MHD's own limit: those that were put out stay until it has noticed. */
#define PLACES (2 * HTTP_CONNECTIONS_MAX)

struct http_connection {
	int fd;	   /* -1: unused */
	uid_t uid; /* of a Unix socket's other end */
	uint64_t until_boot_ns;
	bool is_put_out;
};

struct http {
	const struct http_library *library;
	struct MHD_Daemon *daemon;
	const struct serve_page_view *view;
	bool is_unix;
	struct strbuf text;
	struct http_connection connections[PLACES];
	size_t open_cnt; /* of connections, without those that are put out */
};

static enum MHD_Result answer(const struct http *http, struct MHD_Connection *connection,
			      unsigned int status, const char *media_type, const char *body,
			      size_t len)
{
	const struct http_library *library = http->library;
	struct MHD_Response *response = library->create_response_from_buffer(
		len, (void *)(uintptr_t)body, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	(void)library->add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, media_type);
	(void)library->add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	(void)library->add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	(void)library->add_response_header(response, "X-Content-Type-Options", "nosniff");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		(void)library->add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = library->queue_response(connection, status, response);
	library->destroy_response(response);
	return result;
}

static enum MHD_Result answer_line(const struct http *http, struct MHD_Connection *connection,
				   unsigned int status, const char *line)
{
	return answer(http, connection, status, OTHER_MEDIATYPE, line, strlen(line));
}

static enum MHD_Result answer_health(const struct http *http, struct MHD_Connection *connection,
				     uint64_t fresh_until_ns)
{
	uint64_t now_ns = clock_boot_ns();
	char line[96];

	if (now_ns <= fresh_until_ns)
		return answer_line(http, connection, MHD_HTTP_OK, "ok\n");
	snprintf(line, sizeof(line), "no window was written in time; overdue by %" PRIu64 " s\n",
		 (uint64_t)((now_ns - fresh_until_ns) / CLOCK_NS_PER_S));
	return answer_line(http, connection, MHD_HTTP_SERVICE_UNAVAILABLE, line);
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_len, void **request_ctx)
{
	struct http *http = ctx;
	uint64_t fresh_until_ns;
	bool is_health = strcmp(url, "/healthz") == 0;

	(void)version;
	(void)upload;
	(void)upload_len;
	(void)request_ctx;
	/* At once, without the body that may follow. */
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return answer_line(http, connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET only\n");
	if (!http->is_unix && serve_host_is_foreign(http->library->lookup_connection_value(
				      connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST)))
		return answer_line(http, connection, MHD_HTTP_FORBIDDEN,
				   "this is for localhost only\n");
	if (!is_health && strcmp(url, "/metrics") != 0)
		return answer_line(http, connection, MHD_HTTP_NOT_FOUND,
				   "there are /metrics and /healthz\n");
	if (serve_page_read(http->view, &http->text, &fresh_until_ns))
		return answer_line(http, connection, MHD_HTTP_SERVICE_UNAVAILABLE, "try again\n");
	if (is_health)
		return answer_health(http, connection, fresh_until_ns);
	return answer(http, connection, MHD_HTTP_OK, METRICS_MEDIATYPE, strbuf_str(&http->text),
		      http->text.len);
}

static void put_out(struct http *http, struct http_connection *connection)
{
	(void)shutdown(connection->fd, SHUT_RDWR);
	connection->is_put_out = true;
	http->open_cnt--;
}

static size_t connections_of(const struct http *http, uid_t uid)
{
	size_t cnt = 0;

	for (size_t i = 0; i < PLACES; i++) {
		const struct http_connection *connection = &http->connections[i];

		cnt += connection->fd >= 0 && !connection->is_put_out && connection->uid == uid;
	}
	return cnt;
}

/* The oldest connection of the user that has most. */
static void make_room(struct http *http)
{
	struct http_connection *oldest = NULL;
	size_t most = 0;

	for (size_t i = 0; i < PLACES; i++) {
		struct http_connection *connection = &http->connections[i];
		size_t cnt;

		if (connection->fd < 0 || connection->is_put_out)
			continue;
		cnt = connections_of(http, connection->uid);
		if (!oldest || cnt > most ||
		    (cnt == most && connection->until_boot_ns < oldest->until_boot_ns))
			oldest = connection;
		if (cnt > most)
			most = cnt;
	}
	if (oldest)
		put_out(http, oldest);
}

static struct http_connection *find_connection(struct http *http, int fd)
{
	for (size_t i = 0; i < PLACES; i++) {
		if (http->connections[i].fd == fd)
			return &http->connections[i];
	}
	return NULL;
}

static uid_t peer_uid(int fd)
{
	struct ucred peer = { .uid = 0 };
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) ? 0 : peer.uid;
}

static void connection_starts(struct http *http, int fd)
{
	struct http_connection *connection;

	if (http->open_cnt >= HTTP_CONNECTIONS_MAX)
		make_room(http);
	connection = find_connection(http, -1);
	if (!connection)
		return;
	*connection = (struct http_connection){
		.fd = fd,
		.uid = http->is_unix ? peer_uid(fd) : 0,
		.until_boot_ns = clock_boot_ns() + HTTP_CONNECTION_S * CLOCK_NS_PER_S,
	};
	http->open_cnt++;
}

static void on_connection(void *ctx, struct MHD_Connection *connection, void **socket_ctx,
			  enum MHD_ConnectionNotificationCode code)
{
	struct http *http = ctx;
	const union MHD_ConnectionInfo *info =
		http->library->get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct http_connection *ended;

	(void)socket_ctx;
	if (!info)
		return;
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		connection_starts(http, info->connect_fd);
		return;
	}
	ended = find_connection(http, info->connect_fd);
	if (!ended)
		return;
	if (!ended->is_put_out)
		http->open_cnt--;
	ended->fd = -1;
}

static void end_overdue(struct http *http)
{
	uint64_t now_ns = clock_boot_ns();

	for (size_t i = 0; i < PLACES; i++) {
		struct http_connection *connection = &http->connections[i];

		if (connection->fd >= 0 && !connection->is_put_out &&
		    now_ns > connection->until_boot_ns)
			put_out(http, connection);
	}
}

int http__open(const struct http_library *library, int listen_fd, bool is_unix,
	       const struct serve_page_view *view, struct http **out)
{
	struct http *http = calloc(1, sizeof(*http));

	if (!http)
		return -ENOMEM;
	http->library = library;
	http->view = view;
	http->is_unix = is_unix;
	for (size_t i = 0; i < PLACES; i++)
		http->connections[i].fd = -1;
	http->daemon = library->start_daemon(
		MHD_USE_EPOLL, 0, NULL, NULL, on_request, http, MHD_OPTION_LISTEN_SOCKET, listen_fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned int)PLACES, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned int)HTTP_IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)HTTP_REQUEST_BYTES, MHD_OPTION_NOTIFY_CONNECTION, on_connection, http,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
	if (!http->daemon) {
		free(http);
		return -EIO;
	}
	*out = http;
	return 0;
}

void http__free(struct http *http)
{
	if (!http)
		return;
	http->library->stop_daemon(http->daemon);
	strbuf_release(&http->text);
	free(http);
}

int http__run(struct http *http)
{
	if (http->library->run_wait(http->daemon, RUN_MS) != MHD_YES)
		return -EIO;
	end_overdue(http);
	return 0;
}
