// SPDX-License-Identifier: Apache-2.0
/*
 * See web_server.h. A request for data suspends its connection until the child that answers it has
 * ended; libmicrohttpd then asks again.
 */
#include "user/web/web_server.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/serve/connections.h"
#include "user/util/clock.h"
#include "user/util/cleanup.h"
#include "user/util/strbuf.h"
#include "user/web/web_access.h"
#include "user/web/web_assets.h"

#define STEP_MS	   500
#define FIXED_FDS  4 /* before those of jobs */
#define SAID_BYTES 4096
#define TEXT_TYPE  "text/plain; charset=utf-8"

/* What the command said of an answer: a warning must not be less seen here than on a terminal. */
#define SAID_HEADER	"Jbpf-Said"
#define SAID_HEADER_MAX 3000 /* many a proxy has 4 KiB for all headers */
#define SAID_PLAIN	" !\"#$&'()*+,-./:;<=>?@[]_~"

/* The page runs its own files only, and reaches this server only. */
#define PAGE_POLICY                                                                     \
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " \
	"img-src 'self' data:; frame-src 'self'; base-uri 'none'; form-action 'none'; " \
	"frame-ancestors 'none'"
/*
 * What comes from the store: a flame graph is a page of one file. It is shut in: no origin, no
 * request, no other window.
 */
#define DATA_POLICY                                                                    \
	"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "  \
	"img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; " \
	"sandbox allow-scripts"

struct web_server {
	struct web_server_options options;
	struct MHD_Daemon *daemon;
	struct connections *connections;
	struct web_running *running;
	struct web_jobs *jobs;
	int epoll_fd;
};

/* A request whose answer is a job's. */
struct web_request {
	struct web_server *server;
	struct MHD_Connection *connection;
	int fd;
	struct web_job *job;
};

/* ---- answers ---- */

static enum MHD_Result answer(const struct web_server *server, struct MHD_Connection *connection,
			      unsigned int status, struct MHD_Response *response,
			      const char *media_type, const char *policy)
{
	const struct http_library *library = server->options.library;

	if (!response)
		return MHD_NO;
	(void)library->add_response_header(response, "Referrer-Policy", "no-referrer");
	(void)library->add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
	(void)library->add_response_header(response, "Content-Security-Policy", policy);
	return http_library_answer(library, connection, status, response, media_type);
}

static enum MHD_Result answer_line(const struct web_server *server,
				   struct MHD_Connection *connection, unsigned int status,
				   const char *line)
{
	struct MHD_Response *response = server->options.library->create_response_from_buffer(
		strlen(line), (void *)(uintptr_t)line, MHD_RESPMEM_MUST_COPY);

	return answer(server, connection, status, response, TEXT_TYPE, DATA_POLICY);
}

static enum MHD_Result answer_asset(const struct web_server *server,
				    struct MHD_Connection *connection,
				    const struct web_asset *asset)
{
	struct MHD_Response *response = server->options.library->create_response_from_buffer(
		asset->len, (void *)(uintptr_t)asset->bytes, MHD_RESPMEM_PERSISTENT);

	return answer(server, connection, MHD_HTTP_OK, response, asset->media_type,
		      asset->is_frame ? DATA_POLICY : PAGE_POLICY);
}

/* The memory file goes to the response, which closes it. */
static struct MHD_Response *response_of(const struct web_server *server, struct web_job *job)
{
	const struct http_library *library = server->options.library;
	const struct web_media *media = job->query.media;
	struct MHD_Response *response;
	char disposition[96];
	struct stat st;

	if (fstat(job->out_fd, &st))
		return NULL;
	response = library->create_response_from_fd64((uint64_t)st.st_size, job->out_fd);
	if (!response)
		return NULL;
	job->out_fd = -1;
	if (job->query.is_download) {
		(void)snprintf(disposition, sizeof(disposition), "attachment; filename=\"jbpf.%s\"",
			       media->suffix);
		(void)library->add_response_header(response, MHD_HTTP_HEADER_CONTENT_DISPOSITION,
						   disposition);
	}
	return response;
}

/* The lines that fit: their end is "%0a". */
static size_t whole_lines(const struct strbuf *text, size_t most)
{
	size_t len = text->len < most ? text->len : most;

	while (len && (len < 3 || memcmp(text->data + len - 3, "%0a", 3) != 0))
		len--;
	return len;
}

/* A header is one line of ASCII. */
static void add_said(const struct web_server *server, struct MHD_Response *response,
		     const char *said)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;

	strbuf_put_encoded(&text, said, SAID_PLAIN);
	if (!strbuf_error(&text))
		strbuf_truncate(&text, whole_lines(&text, SAID_HEADER_MAX));
	if (!strbuf_error(&text) && text.len)
		(void)server->options.library->add_response_header(response, SAID_HEADER,
								   strbuf_str(&text));
}

static enum MHD_Result answer_job(struct web_server *server, struct MHD_Connection *connection,
				  struct web_job *job)
{
	char said[SAID_BYTES];
	unsigned int status = web_job_result(job, said, sizeof(said));
	struct MHD_Response *response;

	if (status != MHD_HTTP_OK)
		return answer_line(server, connection, status, said);
	response = response_of(server, job);
	if (response && said[0])
		add_said(server, response, said);
	return answer(server, connection, status, response, job->query.media->media_type,
		      DATA_POLICY);
}

/* ---- requests ---- */

static const char *header(const struct web_server *server, struct MHD_Connection *connection,
			  const char *name)
{
	return server->options.library->lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* A request's parameters on their way into the query. */
struct taking {
	struct web_query query;
	char why[256];
	int err;
};

static enum MHD_Result take_parameter(void *ctx, enum MHD_ValueKind kind, const char *key,
				      const char *value)
{
	struct taking *taking = ctx;

	(void)kind;
	taking->err = web_query_add(&taking->query, key, value ? value : "", taking->why,
				    sizeof(taking->why));
	return taking->err ? MHD_NO : MHD_YES;
}

static int connection_fd(const struct web_server *server, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = server->options.library->get_connection_info(
		connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	return info ? info->connect_fd : -1;
}

static enum MHD_Result add_job(struct web_server *server, struct MHD_Connection *connection,
			       struct web_query *query, void **request_ctx)
{
	struct web_request *request = calloc(1, sizeof(*request));
	int err = -ENOMEM;

	if (request)
		err = web_jobs__add(server->jobs, query, request, &request->job);
	else
		web_query_release(query);
	if (err) {
		free(request);
		return answer_line(server, connection, MHD_HTTP_SERVICE_UNAVAILABLE,
				   "too many questions at a time; try again\n");
	}
	request->server = server;
	request->connection = connection;
	request->fd = connection_fd(server, connection);
	*request_ctx = request;
	connections__keep(server->connections, request->fd,
			  clock_boot_ns() + WEB_ANSWER_S * CLOCK_NS_PER_S);
	server->options.library->suspend_connection(connection);
	return MHD_YES;
}

static enum MHD_Result ask(struct web_server *server, struct MHD_Connection *connection,
			   enum web_endpoint endpoint, void **request_ctx)
{
	struct taking taking = { .err = 0 };

	taking.err = web_query_begin(&taking.query, endpoint, &server->options.source);
	if (!taking.err)
		(void)server->options.library->get_connection_values(
			connection, MHD_GET_ARGUMENT_KIND, take_parameter, &taking);
	if (endpoint == WEB_ENDPOINT_RUNNING)
		web_running__ask(server->running);
	if (!taking.err)
		return add_job(server, connection, &taking.query, request_ctx);
	web_query_release(&taking.query);
	if (taking.err == -EINVAL)
		return answer_line(server, connection, MHD_HTTP_BAD_REQUEST, taking.why);
	return answer_line(server, connection, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory\n");
}

static enum MHD_Result begin_request(struct web_server *server, struct MHD_Connection *connection,
				     const char *url, const char *method, void **request_ctx)
{
	const struct web_caller caller = {
		.host = header(server, connection, MHD_HTTP_HEADER_HOST),
		.origin = header(server, connection, MHD_HTTP_HEADER_ORIGIN),
		.fetch_site = header(server, connection, "Sec-Fetch-Site"),
		.authorization = header(server, connection, MHD_HTTP_HEADER_AUTHORIZATION),
		.token = server->options.library->lookup_connection_value(
			connection, MHD_GET_ARGUMENT_KIND, "token"),
	};
	const char *foreign = web_access_foreign(&caller);
	enum web_endpoint endpoint;
	struct web_asset asset;

	if (foreign)
		return answer_line(server, connection, MHD_HTTP_FORBIDDEN, foreign);
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return answer_line(server, connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET only\n");
	if (web_assets_find(url, &asset))
		return answer_asset(server, connection, &asset);
	if (!web_access_knows(&caller, server->options.token))
		return answer_line(
			server, connection, MHD_HTTP_FORBIDDEN,
			"the token is missing or wrong; open the address that jbpf web printed at its start\n");
	endpoint = web_query_endpoint(url);
	if (endpoint == WEB_ENDPOINT_NONE)
		return answer_line(server, connection, MHD_HTTP_NOT_FOUND,
				   "there is nothing of that name\n");
	return ask(server, connection, endpoint, request_ctx);
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_len, void **request_ctx)
{
	struct web_request *request = *request_ctx;

	(void)version;
	(void)upload;
	(void)upload_len;
	if (!request)
		return begin_request(ctx, connection, url, method, request_ctx);
	return answer_job(ctx, connection, request->job);
}

static void on_completed(void *ctx, struct MHD_Connection *connection, void **request_ctx,
			 enum MHD_RequestTerminationCode code)
{
	struct web_server *server = ctx;
	struct web_request *request = *request_ctx;

	(void)connection;
	(void)code;
	if (!request)
		return;
	web_jobs__end(server->jobs, request->job);
	free(request);
	*request_ctx = NULL;
}

static void on_connection(void *ctx, struct MHD_Connection *connection, void **socket_ctx,
			  enum MHD_ConnectionNotificationCode code)
{
	struct web_server *server = ctx;
	int fd = connection_fd(server, connection);

	(void)socket_ctx;
	if (fd < 0)
		return;
	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		connections__start(server->connections, fd, connections_peer(fd),
				   clock_boot_ns() + WEB_REQUEST_S * CLOCK_NS_PER_S);
	else
		connections__end(server->connections, fd);
}

/* ---- life ---- */

static int start_daemon(struct web_server *server)
{
	const struct http_library *library = server->options.library;
	const union MHD_DaemonInfo *info;

	server->daemon = library->start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, server,
		MHD_OPTION_LISTEN_SOCKET, server->options.listen_fd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned int)connections__places(server->connections),
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)WEB_IDLE_S,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)WEB_REQUEST_BYTES,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_NOTIFY_COMPLETED,
		on_completed, server, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
	if (!server->daemon)
		return -EIO;
	info = library->get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	if (!info)
		return -EIO;
	server->epoll_fd = info->epoll_fd;
	return 0;
}

int web_server__open(const struct web_server_options *options, struct web_server **out)
{
	struct web_server *server = calloc(1, sizeof(*server));
	int err = -ENOMEM;

	if (!server) {
		close(options->listen_fd);
		return err;
	}
	server->options = *options;
	server->connections = connections__new(WEB_CONNECTIONS_MAX);
	server->running = web_running__new(options->source.store);
	server->jobs = web_jobs__new(options->programs, server->running, options->engine);
	if (server->connections && server->running && server->jobs)
		err = start_daemon(server);
	if (err) {
		if (!server->daemon)
			close(options->listen_fd);
		web_server__free(server);
		return err;
	}
	*out = server;
	return 0;
}

/* Tells the askers of what is done. */
static void tell_askers(struct web_server *server)
{
	struct web_job *job;

	while ((job = web_jobs__next_done(server->jobs, clock_boot_ns()))) {
		struct web_request *request = job->asker;

		server->options.library->resume_connection(request->connection);
	}
}

void web_server__free(struct web_server *server)
{
	if (!server)
		return;
	if (server->jobs)
		web_jobs__end_all(server->jobs); /* so that no connection is suspended */
	if (server->daemon) {
		tell_askers(server);
		server->options.library->stop_daemon(server->daemon);
	}
	web_jobs__free(server->jobs);
	web_running__free(server->running);
	connections__free(server->connections);
	free(server);
}

/* The library may have work that no descriptor tells of. */
static int wait_ms(const struct web_server *server)
{
	MHD_UNSIGNED_LONG_LONG ms;

	if (server->options.library->get_timeout(server->daemon, &ms) != MHD_YES || ms > STEP_MS)
		return STEP_MS;
	return (int)ms;
}

/* The connections whose answer is in work: the library does not look at them. */
static size_t askers_poll(const struct web_server *server, struct web_job **jobs,
			  struct pollfd *fds)
{
	size_t cnt = web_jobs__open(server->jobs, jobs);

	for (size_t i = 0; i < cnt; i++) {
		const struct web_request *request = jobs[i]->asker;

		fds[i] = (struct pollfd){ .fd = request->fd, .events = POLLRDHUP };
	}
	return cnt;
}

/* A page that was closed, or asks for something newer, must not hold up the next question. */
static void give_up_unwanted(struct web_job **jobs, const struct pollfd *fds, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		if (fds[i].revents)
			web_job_give_up(jobs[i]);
}

int web_server__step(struct web_server *server)
{
	struct web_job *jobs[WEB_JOBS_MAX];
	struct pollfd fds[FIXED_FDS + WEB_JOBS_MAX + WEB_JOBS_RUNNING_MAX] = {
		{ .fd = server->epoll_fd, .events = POLLIN },
		{ .fd = server->options.end_fd, .events = POLLIN },
		{ .fd = web_running__fd(server->running), .events = POLLIN },
		{ .fd = server->options.engine ? web_engine__fd(server->options.engine) : -1,
		  .events = POLLIN },
	};
	size_t job_cnt = askers_poll(server, jobs, fds + FIXED_FDS);
	size_t cnt = FIXED_FDS + job_cnt;

	cnt += web_jobs__poll(server->jobs, fds + cnt);
	if (poll(fds, cnt, wait_ms(server)) < 0 && errno != EINTR)
		return -errno;
	if (server->options.end_fd >= 0 && fds[1].revents)
		return 1;
	if (fds[3].revents)
		return -EPIPE;
	web_running__step(server->running);
	give_up_unwanted(jobs, fds + FIXED_FDS, job_cnt);
	tell_askers(server);
	if (server->options.library->run_wait(server->daemon, 0) != MHD_YES)
		return -EIO;
	/* Questions that came just now. */
	tell_askers(server);
	connections__put_out_overdue(server->connections, clock_boot_ns());
	return 0;
}

int web_server__run(struct web_server *server)
{
	int result = 0;

	while (!result)
		result = web_server__step(server);
	return result < 0 ? result : 0;
}
