// SPDX-License-Identifier: Apache-2.0
/* See web_engine.h. */
#include "user/web/web_engine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "user/sandbox/child_process.h"
#include "user/util/cleanup.h"
#include "user/util/fd_message.h"
#include "user/util/strbuf.h"
#include "user/web/web_engine_run.h"

#define END_MS 1000

struct web_engine {
	pid_t pid;
	int socket_fd;
};

int web_engine__start(const char *url, const struct web_programs *programs, struct web_engine **out)
{
	const struct web_engine_options options = { .url = url, .programs = programs };
	struct web_engine *engine = calloc(1, sizeof(*engine));
	char ready;
	size_t len;
	int err;

	if (!engine)
		return -ENOMEM;
	err = child_process_start(web_engine_run, &options, &engine->socket_fd, &engine->pid);
	if (err) {
		free(engine);
		return err;
	}
	err = fd_message_receive(engine->socket_fd, 0, &ready, sizeof(ready), &len, NULL, 0, NULL);
	if (err) {
		web_engine__free(engine);
		return err;
	}
	*out = engine;
	return 0;
}

void web_engine__free(struct web_engine *engine)
{
	if (!engine)
		return;
	close(engine->socket_fd);
	(void)child_process_end(engine->pid, END_MS);
	free(engine);
}

int web_engine__fd(const struct web_engine *engine)
{
	return engine->socket_fd;
}

int web_engine__ask(const struct web_engine *engine, const struct web_query *query, int out_fd,
		    int err_fd, int *status_fd_out)
{
	__cleanup_strbuf struct strbuf message = STRBUF_INIT;
	int status_fds[2], err;

	web_engine_put_question(query, &message);
	if (strbuf_error(&message))
		return strbuf_error(&message);
	if (pipe2(status_fds, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	err = fd_message_send(engine->socket_fd, message.data, message.len,
			      (const int[]){ out_fd, err_fd, status_fds[1] }, WEB_ENGINE_FDS);
	close(status_fds[1]);
	if (err)
		close(status_fds[0]);
	else
		*status_fd_out = status_fds[0];
	return err;
}

bool web_engine_has_ended(int status_fd, int *status_out)
{
	int status = -1;
	ssize_t len = read(status_fd, &status, sizeof(status));

	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	*status_out = len == sizeof(status) ? status : -1;
	return true;
}
