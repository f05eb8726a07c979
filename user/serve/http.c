// SPDX-License-Identifier: Apache-2.0
/* libmicrohttpd in one thread, and which connections it has: see connections.h. */
#include "user/serve/http.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/serve/address.h"
#include "user/serve/connections.h"
#include "user/util/clock.h"

#define RUN_MS		  500
#define METRICS_MEDIATYPE "text/plain; version=0.0.4; charset=utf-8"
#define OTHER_MEDIATYPE	  "text/plain; charset=utf-8"

struct http {
	const struct http_library *library;
	struct MHD_Daemon *daemon;
	const struct serve_page_view *view;
	bool is_unix;
	struct strbuf text;
	struct connections *connections;
};

static enum MHD_Result answer(const struct http *http, struct MHD_Connection *connection,
			      unsigned int status, const char *media_type, const char *body,
			      size_t len)
{
	const struct http_library *library = http->library;
	struct MHD_Response *response = library->create_response_from_buffer(
		len, (void *)(uintptr_t)body, MHD_RESPMEM_MUST_COPY);

	return http_library_answer(library, connection, status, response, media_type);
}

static enum MHD_Result answer_line(const struct http *http, struct MHD_Connection *connection,
				   unsigned int status, const char *line)
{
	return answer(http, connection, status, OTHER_MEDIATYPE, line, strlen(line));
}

/* /livez asks whether a restart is wanted: it forgives what that would not mend (naming_beat.h). */
static enum MHD_Result answer_health(const struct http *http, struct MHD_Connection *connection,
				     bool is_live)
{
	uint64_t now_ns = clock_boot_ns();
	struct serve_beat beat;
	char line[96];

	serve_page_beat(http->view, &beat);
	if (now_ns > beat.until_boot_ns)
		snprintf(line, sizeof(line),
			 "no window has ended in time; overdue by %" PRIu64 " s\n",
			 (uint64_t)((now_ns - beat.until_boot_ns) / CLOCK_NS_PER_S));
	else if (beat.naming == SERVE_NAMING_STUCK)
		snprintf(line, sizeof(line), "naming is dead; a restart may mend it\n");
	else if (beat.naming == SERVE_NAMING_DEAD && !is_live)
		snprintf(line, sizeof(line), "naming is dead; jbpf status says why\n");
	else
		return answer_line(http, connection, MHD_HTTP_OK, "ok\n");
	return answer_line(http, connection, MHD_HTTP_SERVICE_UNAVAILABLE, line);
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_len, void **request_ctx)
{
	struct http *http = ctx;
	bool is_health = strcmp(url, "/healthz") == 0, is_live = strcmp(url, "/livez") == 0;

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
	if (is_health || is_live)
		return answer_health(http, connection, is_live);
	if (strcmp(url, "/metrics") != 0)
		return answer_line(http, connection, MHD_HTTP_NOT_FOUND,
				   "there are /metrics, /healthz and /livez\n");
	if (serve_page_read(http->view, &http->text))
		return answer_line(http, connection, MHD_HTTP_SERVICE_UNAVAILABLE, "try again\n");
	return answer(http, connection, MHD_HTTP_OK, METRICS_MEDIATYPE, strbuf_str(&http->text),
		      http->text.len);
}

static void on_connection(void *ctx, struct MHD_Connection *connection, void **socket_ctx,
			  enum MHD_ConnectionNotificationCode code)
{
	struct http *http = ctx;
	const union MHD_ConnectionInfo *info =
		http->library->get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	(void)socket_ctx;
	if (!info)
		return;
	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		connections__start(http->connections, info->connect_fd,
				   http->is_unix ? connections_peer(info->connect_fd) : 0,
				   clock_boot_ns() + HTTP_CONNECTION_S * CLOCK_NS_PER_S);
	else
		connections__end(http->connections, info->connect_fd);
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
	http->connections = connections__new(HTTP_CONNECTIONS_MAX);
	if (!http->connections) {
		free(http);
		return -ENOMEM;
	}
	http->daemon = library->start_daemon(
		MHD_USE_EPOLL, 0, NULL, NULL, on_request, http, MHD_OPTION_LISTEN_SOCKET, listen_fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned int)connections__places(http->connections),
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)HTTP_IDLE_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_REQUEST_BYTES,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, http, MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_END);
	if (!http->daemon) {
		connections__free(http->connections);
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
	connections__free(http->connections);
	free(http);
}

int http__run(struct http *http)
{
	if (http->library->run_wait(http->daemon, RUN_MS) != MHD_YES)
		return -EIO;
	connections__put_out_overdue(http->connections, clock_boot_ns());
	return 0;
}
