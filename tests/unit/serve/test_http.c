// SPDX-License-Identifier: Apache-2.0
/*
 * Requests for metrics: each gets one answer, whatever is sent. Client and server are one thread,
 * over a Unix socket, or one that pretends to be a port. Skipped where there is no libmicrohttpd.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "user/serve/address.h"
#include "user/serve/http.h"
#include "user/serve/page.h"
#include "user/util/clock.h"

#define RUNS_MAX 20 /* of half a second at most */

static struct http_library library;
static struct serve_page *page;
static struct serve_address address;
static struct http *http;
static char dir[] = "/tmp/jbpf-http-test.XXXXXX";

static int load(void **state)
{
	char text[64];

	(void)state;
	if (!mkdtemp(dir) || serve_page__new(&page))
		return -1;
	snprintf(text, sizeof(text), "unix:%s/socket", dir);
	if (serve_address_parse(text, &address))
		return -1;
	if (http_library_load(&library))
		library.start_daemon = NULL;
	return 0;
}

static int unload(void **state)
{
	(void)state;
	serve_page__free(page);
	return rmdir(dir);
}

static void write_page(const char *line)
{
	struct strbuf text = STRBUF_INIT;

	strbuf_puts(&text, line);
	assert_int_equal(serve_page__write(page, &text), 0);
	strbuf_release(&text);
}

static void open_http(bool is_unix)
{
	const struct serve_page_view *view = serve_page_view(serve_page__fd(page));
	int fd;

	if (!library.start_daemon)
		skip();
	assert_non_null(view);
	fd = serve_address_listen(&address);
	assert_true(fd >= 0);
	assert_int_equal(http__open(&library, fd, is_unix, view, &http), 0);
}

static void close_http(void)
{
	http__free(http);
	http = NULL;
	assert_int_equal(unlink(serve_address_path(&address)), 0);
}

static int client(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&address.addr, address.len), 0);
	return fd;
}

/* Serves until this end is closed by the server; what came is in `reply`. */
static void await(int fd, char *reply, size_t reply_len)
{
	size_t at = 0;
	ssize_t len = -1;

	for (int i = 0; i < RUNS_MAX && len != 0; i++) {
		assert_int_equal(http__run(http), 0);
		while ((len = recv(fd, reply + at, reply_len - 1 - at, MSG_DONTWAIT)) > 0)
			at += (size_t)len;
	}
	reply[at] = '\0';
	assert_true(len == 0 || errno == ECONNRESET);
	close(fd);
}

static void ask(const char *request, char *reply, size_t reply_len)
{
	int fd = client();

	assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
	await(fd, reply, reply_len);
}

static void must_begin(const char *reply, const char *begin)
{
	if (strncmp(reply, begin, strlen(begin)) != 0)
		fail_msg("'%s' does not begin with '%s'", reply, begin);
}

static void metrics_are_the_page_and_one_connection_has_one_answer(void **state)
{
	char reply[4096];

	(void)state;
	write_page("jbpf_up 1\n");
	open_http(true);
	ask("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", reply, sizeof(reply));
	must_begin(reply, "HTTP/1.1 200 ");
	assert_non_null(strstr(reply, "\r\n\r\njbpf_up 1\n"));
	assert_non_null(strstr(reply, "text/plain; version=0.0.4"));
	assert_non_null(strstr(reply, "Connection: close\r\n"));
	ask("HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n", reply, sizeof(reply));
	must_begin(reply, "HTTP/1.1 200 ");
	assert_null(strstr(reply, "jbpf_up"));
	close_http();
}

/* The text has no part in it: it comes from who waits for the disk. */
static void health_follows_the_beat(void **state)
{
	static const struct {
		const char *path;
		bool is_late;
		enum serve_naming naming;
		const char *status;
		const char *line;
	} rows[] = {
		{ "/healthz", false, SERVE_NAMING_GOES_ON, "HTTP/1.1 200 ", "ok\n" },
		{ "/healthz", true, SERVE_NAMING_GOES_ON, "HTTP/1.1 503 ",
		  "no window has ended in time; overdue by " },
		{ "/healthz", false, SERVE_NAMING_DEAD, "HTTP/1.1 503 ", "jbpf status says why\n" },
		{ "/healthz", false, SERVE_NAMING_STUCK, "HTTP/1.1 503 ",
		  "a restart may mend it\n" },
		{ "/livez", false, SERVE_NAMING_GOES_ON, "HTTP/1.1 200 ", "ok\n" },
		{ "/livez", true, SERVE_NAMING_GOES_ON, "HTTP/1.1 503 ", "overdue by " },
		{ "/livez", false, SERVE_NAMING_DEAD, "HTTP/1.1 200 ", "ok\n" },
		{ "/livez", false, SERVE_NAMING_STUCK, "HTTP/1.1 503 ", "a restart may mend it\n" },
	};
	char request[64], reply[4096];

	(void)state;
	open_http(true);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct serve_beat beat = {
			.until_boot_ns = rows[i].is_late ? 1 :
							   clock_boot_ns() + 3600 * CLOCK_NS_PER_S,
			.naming = rows[i].naming,
		};

		serve_page__beat(page, &beat);
		snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n",
			 rows[i].path);
		ask(request, reply, sizeof(reply));
		must_begin(reply, rows[i].status);
		assert_non_null(strstr(reply, rows[i].line));
	}
	close_http();
}

static void nothing_else_is_there_and_nothing_is_taken(void **state)
{
	static const struct {
		const char *request;
		const char *status;
	} rows[] = {
		{ "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 404 " },
		{ "GET /metrics/../healthz HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 404 " },
		{ "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
		  "HTTP/1.1 405 " },
		{ "DELETE /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 405 " },
	};
	char reply[4096];

	(void)state;
	open_http(true);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ask(rows[i].request, reply, sizeof(reply));
		must_begin(reply, rows[i].status);
	}
	close_http();
}

/* A page of another site whose name leads to this host. */
static void a_port_answers_its_own_names_only(void **state)
{
	char reply[4096];

	(void)state;
	open_http(false);
	ask("GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", reply, sizeof(reply));
	must_begin(reply, "HTTP/1.1 403 ");
	ask("GET /metrics HTTP/1.1\r\nHost: localhost:9464\r\n\r\n", reply, sizeof(reply));
	must_begin(reply, "HTTP/1.1 200 ");
	close_http();
}

static void whoever_holds_all_places_is_put_out_by_the_next(void **state)
{
	int held[HTTP_CONNECTIONS_MAX];
	char reply[4096], byte;

	(void)state;
	open_http(true);
	for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
		held[i] = client();
		assert_int_equal(http__run(http), 0);
	}
	ask("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", reply, sizeof(reply));
	must_begin(reply, "HTTP/1.1 200 ");
	assert_true(recv(held[0], &byte, 1, MSG_DONTWAIT) == 0); /* the oldest */
	for (size_t i = 0; i < HTTP_CONNECTIONS_MAX; i++)
		close(held[i]);
	close_http();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(metrics_are_the_page_and_one_connection_has_one_answer),
		cmocka_unit_test(health_follows_the_beat),
		cmocka_unit_test(nothing_else_is_there_and_nothing_is_taken),
		cmocka_unit_test(a_port_answers_its_own_names_only),
		cmocka_unit_test(whoever_holds_all_places_is_put_out_by_the_next),
	};

	return cmocka_run_group_tests(tests, load, unload);
}
