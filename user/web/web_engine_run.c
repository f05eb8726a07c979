// SPDX-License-Identifier: Apache-2.0
/*
 * See web_engine_run.h. The password is in a sealed memory file, which the questions' processes read
 * by the name that they have it under: the user whom they run as may not be the one who may read
 * the file of the password.
 */
#include "user/web/web_engine_run.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "user/remote/http_client.h"
#include "user/remote/remote_secret.h"
#include "user/remote/remote_url.h"
#include "user/sandbox/child_process.h"
#include "user/util/cleanup.h"
#include "user/util/fd_message.h"
#include "user/util/fs.h"
#include "user/util/log.h"
#include "user/web/web_rights.h"

#define NAME		"jbpf-web-engine"
#define CREDENTIAL_NAME "clickhouse-password"
#define QUESTIONS_MAX	8 /* the server asks fewer at a time */
#define MESSAGE_MAX	(64 * 1024)
#define END_MS		1000
#define POLL_MS		500 /* for children of which there is no descriptor */

/* Arguments before the parameters: the program and the source. */
#define FIXED_ARGUMENTS 2

struct question {
	pid_t pid; /* 0 = there is none */
	int pidfd; /* -1 = none */
	int status_fd;
};

struct engine {
	const struct web_engine_options *options;
	struct web_source source; /* `from` has the password by its name here */
	int socket_fd;
	int secret_fd; /* -1 = no password */
	struct question questions[QUESTIONS_MAX];
	char message[MESSAGE_MAX]; /* the question that came last */
};

/* ---- questions on their way ---- */

void web_engine_put_question(const struct web_query *query, struct strbuf *out)
{
	const uint32_t endpoint = query->endpoint;

	strbuf_append(out, &endpoint, sizeof(endpoint));
	for (int i = FIXED_ARGUMENTS; i < query->argument_cnt; i++)
		strbuf_append(out, query->arguments[i], strlen(query->arguments[i]) + 1);
}

/* "--key=value" */
static int take_parameter(struct web_query *query, char *argument)
{
	char *sign = strchr(argument, '='), why[256];

	if (strncmp(argument, "--", 2) != 0 || !sign)
		return -EBADMSG;
	*sign = '\0';
	return web_query_add(query, argument + 2, sign + 1, why, sizeof(why));
}

int web_engine_take_question(const void *bytes, size_t len, const struct web_source *source,
			     struct web_query *query)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	uint32_t endpoint;
	int err;

	*query = (struct web_query){ .argument_cnt = 0 };
	if (len < sizeof(endpoint) ||
	    (len > sizeof(endpoint) && ((const char *)bytes)[len - 1] != '\0'))
		return -EBADMSG;
	memcpy(&endpoint, bytes, sizeof(endpoint));
	if (endpoint != WEB_ENDPOINT_INFO && endpoint != WEB_ENDPOINT_TIMELINE &&
	    endpoint != WEB_ENDPOINT_PROFILE && endpoint != WEB_ENDPOINT_DIFF)
		return -EBADMSG;
	strbuf_append(&text, (const char *)bytes + sizeof(endpoint), len - sizeof(endpoint));
	err = strbuf_error(&text);
	if (!err)
		err = web_query_begin(query, (enum web_endpoint)endpoint, source);
	for (size_t at = 0; at < text.len && !err;) {
		size_t part = strlen(text.data + at) + 1;

		err = take_parameter(query, text.data + at);
		at += part;
	}
	if (err)
		web_query_release(query);
	return err == -EINVAL ? -EBADMSG : err;
}

/* ---- before anybody asks ---- */

/* What it needs the rights for that it gives up: the password, the libraries of a client. */
static int read_secret(const struct remote_url *url, int *fd_out, char *why, size_t why_len)
{
	__cleanup_strbuf struct strbuf secret = STRBUF_INIT;
	__cleanup_fd int fd = -1;
	int err = remote_secret_find(url->password_file, CREDENTIAL_NAME, &secret, why, why_len);

	if (err || !secret.len)
		return err;
	fd = memfd_create("jbpf-secret", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	err = fd < 0 ? -errno : fs_write_all(fd, secret.data, secret.len);
	explicit_bzero(secret.data, secret.len);
	/* There is no writable view of it; F_SEAL_WRITE waits until each CPU has made sure of that. */
	if (!err &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL))
		err = -errno;
	if (err) {
		(void)snprintf(why, why_len, "the password cannot be kept: %s", errstr(err));
		return err;
	}
	*fd_out = take_fd(&fd);
	return 0;
}

static int load_libraries(const struct remote_url *url, char *why, size_t why_len)
{
	const struct http_options none = { .connect_timeout_ms = HTTP_CONNECT_TIMEOUT_MS };
	struct addrinfo *addresses = NULL;
	struct http_client *client;
	int err;

	(void)snprintf(why, why_len, "out of memory");
	err = http_client__open(&none, &client, why, why_len);
	if (err)
		return err;
	http_client__free(client);
	/* Whether that host is known is for the first question to say. */
	if (getaddrinfo(url->host, NULL, NULL, &addresses) == 0)
		freeaddrinfo(addresses);
	return 0;
}

static int become_engine(struct engine *engine)
{
	int *const kept[] = { &engine->socket_fd, &engine->secret_fd };
	const struct child_options options = {
		.name = NAME,
		.signals = CHILD_SIGNALS_OF_PARENT,
		.fds = CHILD_FDS_STANDARD,
		.kept = kept,
		.kept_cnt = ARRAY_SIZE(kept),
		.is_undumpable = true,
	};

	return child_process_become(&options);
}

/* Everything that needs a right, and then without it. Says why not. */
static int prepare(struct engine *engine, struct strbuf *from)
{
	__cleanup_remote_url struct remote_url url = { 0 };
	pid_t parent = getppid();
	char why[512] = "";
	int err = remote_url_parse(engine->options->url, &url, why, sizeof(why));

	tzset();
	if (!err)
		err = read_secret(&url, &engine->secret_fd, why, sizeof(why));
	if (!err)
		err = load_libraries(&url, why, sizeof(why));
	if (err) {
		pr_err("--from: %s\n", *why ? why : errstr(err));
		return err;
	}
	remote_url_write(&url, engine->secret_fd < 0 ? NULL : WEB_CHILD_SECRET_PATH, from);
	err = strbuf_error(from);
	if (!err)
		err = become_engine(engine);
	if (!err)
		err = web_rights_of_engine(&url);
	/* A change of ids has cleared it. */
	if (!err)
		err = child_process_end_with(parent);
	if (err)
		pr_err("rights cannot be given up: %s\n", errstr(err));
	return err;
}

/* The page's first question. Its answer says when the engine is not there, refuses, or is empty. */
static int try_engine(const struct engine *engine)
{
	struct web_query query;
	__cleanup_fd int fd = memfd_create("jbpf-answer", MFD_CLOEXEC);
	const struct web_child child = {
		.programs = engine->options->programs,
		.query = &query,
		.out_fd = fd,
		.err_fd = STDERR_FILENO,
		.secret_fd = engine->secret_fd,
	};
	int err = fd < 0 ? -errno : web_query_begin(&query, WEB_ENDPOINT_INFO, &engine->source);

	if (err)
		return err;
	err = child_process_run(web_child_main, &child);
	web_query_release(&query);
	if (err == -EIO) /* it was killed, without a word */
		pr_err("--from: the server did not answer within %d s\n", WEB_CHILD_SECONDS);
	return err;
}

/* ---- questions ---- */

static int start_question(struct engine *engine, size_t len, const int *fds)
{
	struct question *place = NULL;
	struct web_query query;
	const struct web_child child = {
		.programs = engine->options->programs,
		.query = &query,
		.out_fd = fds[0],
		.err_fd = fds[1],
		.secret_fd = engine->secret_fd,
	};
	int err;

	for (size_t i = 0; i < QUESTIONS_MAX && !place; i++)
		if (!engine->questions[i].pid)
			place = &engine->questions[i];
	if (!place)
		return -EBUSY;
	err = web_engine_take_question(engine->message, len, &engine->source, &query);
	if (err)
		return err;
	err = child_process_start(web_child_main, &child, NULL, &place->pid);
	web_query_release(&query);
	if (err) {
		place->pid = 0;
		return err;
	}
	place->pidfd = (int)syscall(SYS_pidfd_open, place->pid, 0);
	place->status_fd = fds[2];
	return 0;
}

/* 0, or -EPIPE: the server has ended. */
static int take_question(struct engine *engine)
{
	int fds[FD_MESSAGE_MAX_FDS], err;
	size_t len, fd_cnt = 0;
	bool is_started;

	err = fd_message_receive(engine->socket_fd, MSG_DONTWAIT, engine->message,
				 sizeof(engine->message), &len, fds, ARRAY_SIZE(fds), &fd_cnt);
	if (err)
		return err == -EPIPE ? err : 0;
	is_started = fd_cnt == WEB_ENGINE_FDS && !start_question(engine, len, fds);
	/* The status stays open until there is one. */
	for (size_t i = 0; i < fd_cnt; i++)
		if (!is_started || i < WEB_ENGINE_FDS - 1)
			close(fds[i]);
	return 0;
}

static void close_question(struct question *question)
{
	if (question->pidfd >= 0)
		close(question->pidfd);
	close(question->status_fd);
	*question = (struct question){ .pid = 0 };
}

/* `is_given_up`: nobody wants its answer any more. */
static void end_if_over(struct question *question, bool is_given_up)
{
	int status;

	if (is_given_up)
		(void)child_process_end(question->pid, END_MS);
	else if (child_process_has_ended(question->pid, &status))
		(void)!write(question->status_fd, &status, sizeof(status));
	else
		return;
	close_question(question);
}

static int serve(struct engine *engine)
{
	int err = 0;

	while (!err) {
		int wait_ms = -1;
		struct pollfd fds[1 + 2 * QUESTIONS_MAX] = { { .fd = engine->socket_fd,
							       .events = POLLIN } };

		for (size_t i = 0; i < QUESTIONS_MAX; i++) {
			const struct question *question = &engine->questions[i];
			bool is_there = question->pid != 0;

			if (is_there && question->pidfd < 0)
				wait_ms = POLL_MS;
			fds[1 + 2 * i] = (struct pollfd){ .fd = is_there ? question->pidfd : -1,
							  .events = POLLIN };
			/* POLLERR: the reading end is closed. */
			fds[2 + 2 * i] =
				(struct pollfd){ .fd = is_there ? question->status_fd : -1 };
		}
		if (poll(fds, ARRAY_SIZE(fds), wait_ms) < 0 && errno != EINTR)
			return -errno;
		for (size_t i = 0; i < QUESTIONS_MAX; i++)
			if (engine->questions[i].pid)
				end_if_over(&engine->questions[i],
					    fds[2 + 2 * i].revents & POLLERR);
		if (fds[0].revents)
			err = take_question(engine);
	}
	return err;
}

int web_engine_run(int socket_fd, const void *ctx)
{
	__cleanup_strbuf struct strbuf from = STRBUF_INIT;
	struct engine engine = { .options = ctx, .socket_fd = socket_fd, .secret_fd = -1 };
	int err = prepare(&engine, &from);

	if (err)
		return err;
	engine.source.from = strbuf_str(&from);
	err = try_engine(&engine);
	if (!err)
		err = fd_message_send(engine.socket_fd, "", 1, NULL, 0);
	return err ? err : serve(&engine);
}
