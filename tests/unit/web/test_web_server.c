// SPDX-License-Identifier: Apache-2.0
/*
 * Requests for the page and for data, over a Unix socket that pretends to be a port. Client and
 * server are one thread; the commands behind it are played. Skipped without libmicrohttpd.
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
#include "user/util/cleanup.h"
#include "user/util/strbuf.h"
#include "user/web/web_server.h"

#define TOKEN	  "0123456789abcdef0123456789abcdef"
#define HOST	  "Host: localhost:7099\r\n"
#define BEARER	  "Authorization: Bearer " TOKEN "\r\n"
#define STEPS_MAX 200 /* of half a second at most */

static struct http_library library;
static struct serve_address address;
static struct web_server *server;
static char dir[] = "/tmp/jbpf-web-test.XXXXXX";

/* Says what it was asked, or does what the service's name says. */
static int play(int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		if (strcmp(argv[i], "--service=hang") == 0)
			pause();
		if (strcmp(argv[i], "--service=none") == 0) {
			fputs("no samples match\n", stderr);
			return 3;
		}
		for (int line = 0; line < 50 && strcmp(argv[i], "--service=warn-much") == 0; line++)
			fprintf(stderr,
				"%02d: 'a\303\244' is damaged, and more than that is not known of it\n",
				line);
		if (strcmp(argv[i], "--service=warn") == 0)
			fputs("damage in 100 % of 'a\303\244'\nand more\n", stderr);
		printf("%s\n", argv[i]);
	}
	return 0;
}

static const struct web_programs programs = { .profile = play, .diff = play };

static int load(void **state)
{
	char text[64];

	(void)state;
	if (!mkdtemp(dir))
		return -1;
	(void)snprintf(text, sizeof(text), "unix:%s/socket", dir);
	if (serve_address_parse(text, &address))
		return -1;
	if (http_library_load(&library))
		library.start_daemon = NULL;
	return 0;
}

static int unload(void **state)
{
	(void)state;
	return rmdir(dir);
}

static int open_server(void **state)
{
	struct web_server_options options = {
		.library = &library,
		.programs = &programs,
		.source = { .store = "/store" },
		.token = TOKEN,
		.end_fd = -1,
	};

	(void)state;
	if (!library.start_daemon)
		return 0;
	options.listen_fd = serve_address_listen(&address);
	return options.listen_fd < 0 ? -1 : web_server__open(&options, &server);
}

static int close_server(void **state)
{
	(void)state;
	web_server__free(server);
	server = NULL;
	return library.start_daemon ? unlink(serve_address_path(&address)) : 0;
}

static int client(const char *request)
{
	int fd;

	if (!server)
		skip();
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&address.addr, address.len), 0);
	assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
	return fd;
}

/* 0: the server has closed it; -1: it may have more. */
static ssize_t serve_once(int fd, struct strbuf *reply)
{
	char bytes[4096];
	ssize_t len;

	assert_int_equal(web_server__step(server), 0);
	while ((len = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
		strbuf_append(reply, bytes, (size_t)len);
	return len;
}

/* Serves until the server has closed this one; what came is in `reply`. */
static void await(int fd, struct strbuf *reply)
{
	ssize_t len = -1;

	strbuf_clear(reply);
	for (int i = 0; i < STEPS_MAX && len != 0; i++)
		len = serve_once(fd, reply);
	assert_true(len == 0 || errno == ECONNRESET);
	assert_int_equal(strbuf_error(reply), 0);
	close(fd);
}

static void must_answer(const char *request, const char *status, const char *part)
{
	__cleanup_strbuf struct strbuf reply = STRBUF_INIT;

	await(client(request), &reply);
	if (strncmp(strbuf_str(&reply), status, strlen(status)) != 0)
		fail_msg("%s: '%s' does not begin with '%s'", request, strbuf_str(&reply), status);
	if (!strstr(strbuf_str(&reply), part))
		fail_msg("%s: '%s' has no '%s'", request, strbuf_str(&reply), part);
}

static void the_page_is_for_all_who_ask_for_this_host(void **state)
{
	(void)state;
	must_answer("GET / HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 200 ", "<!DOCTYPE html>");
	must_answer("GET / HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 200 ", "script-src 'self';");
	must_answer("GET /frame.html HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 200 ",
		    "sandbox allow-scripts");
	must_answer("GET /uPlot.js HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 200 ", "uPlot");
	must_answer("GET /none HTTP/1.1\r\n" HOST BEARER "\r\n", "HTTP/1.1 404 ", "");
	must_answer("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "HTTP/1.1 403 ", "localhost");
	must_answer("POST / HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", "HTTP/1.1 405 ",
		    "Allow: GET, HEAD");
}

static void data_are_for_who_knows_the_token(void **state)
{
	static const char *const refused[] = {
		"GET /api/v1/profile HTTP/1.1\r\n" HOST "\r\n",
		"GET /api/v1/profile?token=x HTTP/1.1\r\n" HOST "\r\n",
		"GET /api/v1/profile HTTP/1.1\r\n" HOST "Authorization: Bearer x\r\n\r\n",
		"GET /api/v1/none HTTP/1.1\r\n" HOST "\r\n",
		"GET /api/v1/profile HTTP/1.1\r\n" HOST BEARER
		"Origin: http://evil.example\r\n\r\n",
		"GET /api/v1/profile HTTP/1.1\r\n" HOST BEARER "Sec-Fetch-Site: cross-site\r\n\r\n",
		"GET /api/v1/profile?token=" TOKEN " HTTP/1.1\r\nHost: evil.example\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		must_answer(refused[i], "HTTP/1.1 403 ", "");
	must_answer("GET /api/v1/profile HTTP/1.1\r\n" HOST BEARER "\r\n", "HTTP/1.1 200 ",
		    "--store=/store\n");
	must_answer("GET /api/v1/profile?token=" TOKEN " HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 200 ",
		    "sandbox allow-scripts");
}

static void parameters_reach_the_command(void **state)
{
	(void)state;
	must_answer(
		"GET /api/v1/diff?before=%401..%402&service=a%20b%2A&format=folded&download=1 HTTP/1.1\r\n" HOST
			BEARER "\r\n",
		"HTTP/1.1 200 ",
		"\r\n\r\njbpf-diff\n--store=/store\n--format=folded\n--before=@1..@2\n--service=a b*\n");
	must_answer("GET /api/v1/diff?download=1 HTTP/1.1\r\n" HOST BEARER "\r\n", "HTTP/1.1 200 ",
		    "Content-Disposition: attachment; filename=\"jbpf.html\"");
	must_answer("GET /api/v1/profile?output=/tmp/x HTTP/1.1\r\n" HOST BEARER "\r\n",
		    "HTTP/1.1 400 ", "no parameter 'output'");
	must_answer("GET /api/v1/profile?service=none HTTP/1.1\r\n" HOST BEARER "\r\n",
		    "HTTP/1.1 404 ", "\r\n\r\nno samples match\n");
}

static void what_an_answer_lacks_is_told_with_it(void **state)
{
	__cleanup_strbuf struct strbuf reply = STRBUF_INIT;

	(void)state;
	must_answer("GET /api/v1/profile?service=warn HTTP/1.1\r\n" HOST BEARER "\r\n",
		    "HTTP/1.1 200 ",
		    "\r\nJbpf-Said: damage in 100 %25 of 'a%c3%a4'%0aand more%0a\r\n");
	/* The first lines of many, whole ones. */
	must_answer("GET /api/v1/profile?service=warn-much HTTP/1.1\r\n" HOST BEARER "\r\n",
		    "HTTP/1.1 200 ", "known of it%0a\r\n");
	await(client("GET /api/v1/profile?service=warn-much HTTP/1.1\r\n" HOST BEARER "\r\n"),
	      &reply);
	assert_non_null(strstr(strbuf_str(&reply), "\r\nJbpf-Said: 00: "));
	assert_true(strstr(strbuf_str(&reply), "\r\n\r\n") - strbuf_str(&reply) < 4096);
	await(client("GET /api/v1/profile HTTP/1.1\r\n" HOST BEARER "\r\n"), &reply);
	assert_null(strstr(strbuf_str(&reply), "Jbpf-Said"));
}

static void questions_that_hang_hold_up_no_page(void **state)
{
	int hanging[WEB_JOBS_RUNNING_MAX];

	(void)state;
	for (size_t i = 0; i < WEB_JOBS_RUNNING_MAX; i++)
		hanging[i] =
			client("GET /api/v1/profile?service=hang HTTP/1.1\r\n" HOST BEARER "\r\n");
	must_answer("GET / HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 200 ", "<!DOCTYPE html>");
	for (size_t i = 0; i < WEB_JOBS_RUNNING_MAX; i++)
		close(hanging[i]);
}

/* Each turn ends when something happens, or after half a second: before a question is overdue. */
static void a_question_that_nobody_waits_for_is_ended(void **state)
{
	__cleanup_strbuf struct strbuf reply = STRBUF_INIT;
	int gone[WEB_JOBS_RUNNING_MAX + 1], asked;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(gone); i++)
		gone[i] =
			client("GET /api/v1/profile?service=hang HTTP/1.1\r\n" HOST BEARER "\r\n");
	/* Some run now, and one waits. */
	for (size_t i = 0; i < ARRAY_SIZE(gone); i++)
		assert_int_equal(web_server__step(server), 0);
	for (size_t i = 0; i < ARRAY_SIZE(gone); i++)
		close(gone[i]);
	asked = client("GET /api/v1/profile HTTP/1.1\r\n" HOST BEARER "\r\n");
	for (int i = 0; i < WEB_JOB_SECONDS && !reply.len; i++)
		serve_once(asked, &reply);
	close(asked);
	assert_non_null(strstr(strbuf_str(&reply), "200 OK"));
}

static void who_asks_nothing_is_put_out_and_who_asked_is_not(void **state)
{
	__cleanup_strbuf struct strbuf reply = STRBUF_INIT;
	int asked, silent[WEB_CONNECTIONS_MAX + 10];

	(void)state;
	asked = client("GET /api/v1/profile HTTP/1.1\r\n" HOST BEARER "\r\n");
	assert_int_equal(web_server__step(server), 0);
	for (size_t i = 0; i < ARRAY_SIZE(silent); i++) {
		silent[i] = client("");
		assert_int_equal(web_server__step(server), 0);
	}
	await(asked, &reply);
	assert_non_null(strstr(strbuf_str(&reply), "200 OK"));
	must_answer("GET / HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 200 ", "<!DOCTYPE html>");
	for (size_t i = 0; i < ARRAY_SIZE(silent); i++)
		close(silent[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_server, close_server)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_page_is_for_all_who_ask_for_this_host),
		TEST(data_are_for_who_knows_the_token),
		TEST(parameters_reach_the_command),
		TEST(what_an_answer_lacks_is_told_with_it),
		TEST(questions_that_hang_hold_up_no_page),
		TEST(a_question_that_nobody_waits_for_is_ended),
		TEST(who_asks_nothing_is_put_out_and_who_asked_is_not),
	};

	return cmocka_run_group_tests(tests, load, unload);
}
