// SPDX-License-Identifier: Apache-2.0
/* The daemon's side of the metrics: see server.h. */
#include "user/serve/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/sandbox/child_process.h"
#include "user/serve/address.h"
#include "user/serve/child.h"
#include "user/serve/http_library.h"
#include "user/serve/page.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define RESTART_INTERVAL_NS (5 * CLOCK_NS_PER_S)

struct metrics_server {
	struct serve_address address;
	struct http_library library;
	struct serve_page *page;
	int listen_fd;
	dev_t socket_dev; /* of the Unix socket, as it was made */
	ino_t socket_ino;
	pid_t child; /* 0 = none */
	uint64_t started_boot_ns;
	uint64_t restart_cnt; /* also read by the thread that publishes */
	bool is_failing;      /* was logged, until a child lives for some seconds */
};

static int start_child(struct metrics_server *server)
{
	const struct serve_child child = {
		.library = &server->library,
		.listen_fd = server->listen_fd,
		.page_fd = serve_page__fd(server->page),
		.is_unix = server->address.is_unix,
	};
	int err = child_process_start(serve_child_main, &child, NULL, &server->child);

	if (!err)
		server->started_boot_ns = clock_boot_ns();
	return err;
}

static void explain_listen(const char *address, int err, char *why, size_t why_len)
{
	if (err == -EADDRINUSE)
		snprintf(why, why_len,
			 "--metrics %s is in use by another process; give another one", address);
	else if (err == -EEXIST)
		snprintf(
			why, why_len,
			"--metrics %s: the path is taken by something that is no socket; remove it or give another one",
			address);
	else
		snprintf(why, why_len, "--metrics %s cannot be listened on: %s; give another one",
			 address, errstr(err));
}

static int load_library(struct metrics_server *server, char *why, size_t why_len)
{
	int err = http_library_load(&server->library);

	if (err)
		snprintf(
			why, why_len,
			"--metrics needs libmicrohttpd, which cannot be loaded; install libmicrohttpd12");
	return err;
}

static int listen_on(struct metrics_server *server, const char *address, char *why, size_t why_len)
{
	const char *path;
	struct stat st;

	server->listen_fd = serve_address_listen(&server->address);
	if (server->listen_fd < 0) {
		explain_listen(address, server->listen_fd, why, why_len);
		return server->listen_fd;
	}
	path = serve_address_path(&server->address);
	if (path && lstat(path, &st) == 0) {
		server->socket_dev = st.st_dev;
		server->socket_ino = st.st_ino;
	}
	return 0;
}

int metrics_server__open(const char *address, struct metrics_server **out, char *why,
			 size_t why_len)
{
	struct metrics_server *server = calloc(1, sizeof(*server));
	int err;

	snprintf(why, why_len, "out of memory");
	if (!server)
		return -ENOMEM;
	server->listen_fd = -1;
	err = serve_address_parse(address, &server->address);
	if (err)
		snprintf(
			why, why_len,
			"--metrics '%s' is not valid; it wants unix:PATH, 127.0.0.1:PORT or [::1]:PORT",
			address);
	if (!err)
		err = load_library(server, why, why_len);
	if (!err)
		err = listen_on(server, address, why, why_len);
	if (!err) {
		err = serve_page__new(&server->page);
		if (!err)
			err = start_child(server);
		if (err)
			snprintf(why, why_len, "metrics cannot be served: %s", errstr(err));
	}
	if (err) {
		metrics_server__free(server);
		return err;
	}
	*out = server;
	return 0;
}

/* Only the very socket that was made here. */
static void remove_socket(const struct metrics_server *server)
{
	const char *path = serve_address_path(&server->address);
	struct stat st;

	if (path && server->socket_ino && lstat(path, &st) == 0 && S_ISSOCK(st.st_mode) &&
	    st.st_dev == server->socket_dev && st.st_ino == server->socket_ino)
		(void)unlink(path);
}

void metrics_server__free(struct metrics_server *server)
{
	if (!server)
		return;
	if (server->child)
		(void)child_process_end(server->child, CHILD_WAITS_FOREVER);
	remove_socket(server);
	if (server->listen_fd >= 0)
		close(server->listen_fd);
	serve_page__free(server->page);
	free(server);
}

int metrics_server__publish(struct metrics_server *server, const struct strbuf *text)
{
	return serve_page__write(server->page, text);
}

void metrics_server__beat(struct metrics_server *server, const struct serve_beat *beat)
{
	serve_page__beat(server->page, beat);
}

static void child_died(struct metrics_server *server, int status)
{
	server->child = 0;
	if (server->is_failing)
		return;
	server->is_failing = true;
	pr_warn("metrics: the process that serves them has ended (%s); it is started again\n",
		child_process_why(status));
}

void metrics_server__tick(struct metrics_server *server, uint64_t now_boot_ns)
{
	bool is_late = now_boot_ns - server->started_boot_ns >= RESTART_INTERVAL_NS;
	int status;
	int err;

	if (server->child && child_process_has_ended(server->child, &status))
		child_died(server, status);
	else if (server->child && is_late)
		server->is_failing = false;
	if (server->child || !is_late)
		return;
	err = start_child(server);
	if (err) {
		server->started_boot_ns = now_boot_ns;
		pr_debug("metrics: no process to serve them: %s\n", errstr(err));
	} else {
		__atomic_add_fetch(&server->restart_cnt, 1, __ATOMIC_RELAXED);
	}
}

uint64_t metrics_server__restarts(const struct metrics_server *server)
{
	return __atomic_load_n(&server->restart_cnt, __ATOMIC_RELAXED);
}
