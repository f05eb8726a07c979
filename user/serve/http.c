// SPDX-License-Identifier: Apache-2.0
/*
 * libmicrohttpd in one thread. Its own time limit starts anew with each byte that comes; so that
 * nobody can hold a connection by sending one now and then, an overdue one is shut down here.
 */
#include "user/serve/http.h"

#include <errno.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "user/serve/address.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

#define RUN_MS		  500
#define METRICS_MEDIATYPE "text/plain; version=0.0.4; charset=utf-8"
#define OTHER_MEDIATYPE	  "text/plain; charset=utf-8"

struct http_connection {
	int fd; /* -1: unused */
	uint64_t until_boot_ns;
};

struct http {
	struct MHD_Daemon *daemon;
	const struct serve_page_view *view;
	bool is_unix;
	struct strbuf text;
	struct http_connection connections[HTTP_CONNECTIONS_MAX];
};

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned int status,
			      const char *media_type, const char *body, size_t len)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		len, (void *)(uintptr_t)body, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	(void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, media_type);
	(void)MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	(void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	(void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		(void)MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result answer_line(struct MHD_Connection *connection, unsigned int status,
				   const char *line)
{
	return answer(connection, status, OTHER_MEDIATYPE, line, strlen(line));
}

static enum MHD_Result answer_health(struct MHD_Connection *connection, uint64_t fresh_until_ns)
{
	uint64_t now_ns = clock_boot_ns();
	char line[96];

	if (now_ns <= fresh_until_ns)
		return answer_line(connection, MHD_HTTP_OK, "ok\n");
	snprintf(line, sizeof(line), "no window was written in time; overdue by %" PRIu64 " s\n",
		 (uint64_t)((now_ns - fresh_until_ns) / CLOCK_NS_PER_S));
	return answer_line(connection, MHD_HTTP_SERVICE_UNAVAILABLE, line);
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
		return answer_line(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET only\n");
	if (!http->is_unix && serve_host_is_foreign(MHD_lookup_connection_value(
				      connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST)))
		return answer_line(connection, MHD_HTTP_FORBIDDEN, "this is for localhost only\n");
	if (!is_health && strcmp(url, "/metrics") != 0)
		return answer_line(connection, MHD_HTTP_NOT_FOUND,
				   "there are /metrics and /healthz\n");
	if (serve_page_read(http->view, &http->text, &fresh_until_ns))
		return answer_line(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "try again\n");
	if (is_health)
		return answer_health(connection, fresh_until_ns);
	return answer(connection, MHD_HTTP_OK, METRICS_MEDIATYPE, strbuf_str(&http->text),
		      http->text.len);
}

static void on_connection(void *ctx, struct MHD_Connection *connection, void **socket_ctx,
			  enum MHD_ConnectionNotificationCode code)
{
	struct http_connection *connections = ((struct http *)ctx)->connections;
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	int wanted = code == MHD_CONNECTION_NOTIFY_STARTED ? -1 : info ? info->connect_fd : -2;

	(void)socket_ctx;
	for (size_t i = 0; info && i < HTTP_CONNECTIONS_MAX; i++) {
		if (connections[i].fd != wanted)
			continue;
		connections[i].fd = code == MHD_CONNECTION_NOTIFY_STARTED ? info->connect_fd : -1;
		connections[i].until_boot_ns = clock_boot_ns() + HTTP_CONNECTION_S * CLOCK_NS_PER_S;
		break;
	}
}

static void end_overdue(struct http *http)
{
	uint64_t now_ns = clock_boot_ns();

	for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
		if (http->connections[i].fd >= 0 && now_ns > http->connections[i].until_boot_ns)
			(void)shutdown(http->connections[i].fd, SHUT_RDWR);
	}
}

int http__open(int listen_fd, bool is_unix, const struct serve_page_view *view, struct http **out)
{
	struct http *http = calloc(1, sizeof(*http));

	if (!http)
		return -ENOMEM;
	http->view = view;
	http->is_unix = is_unix;
	for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++)
		http->connections[i].fd = -1;
	http->daemon = MHD_start_daemon(
		MHD_USE_EPOLL, 0, NULL, NULL, on_request, http, MHD_OPTION_LISTEN_SOCKET, listen_fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned int)HTTP_CONNECTIONS_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)HTTP_IDLE_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_REQUEST_BYTES,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, http, MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_END);
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
	MHD_stop_daemon(http->daemon);
	strbuf_release(&http->text);
	free(http);
}

int http__run(struct http *http)
{
	if (MHD_run_wait(http->daemon, RUN_MS) != MHD_YES)
		return -EIO;
	end_overdue(http);
	return 0;
}
