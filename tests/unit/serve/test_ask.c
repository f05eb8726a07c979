// SPDX-License-Identifier: Apache-2.0
/* What a probe makes of answers, good and bad: the other end is this test. */
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
#include <sys/wait.h>
#include <unistd.h>

#include "user/serve/ask.h"
#include "user/util/cleanup.h"

static char dir[] = "/tmp/jbpf-ask-test.XXXXXX";
static struct serve_address address;

static int set_up(void **state)
{
	char text[64];

	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(text, sizeof(text), "unix:%s/socket", dir);
	return serve_address_parse(text, &address);
}

static int tear_down(void **state)
{
	(void)state;
	return rmdir(dir);
}

/* A child that answers once, when it has heard the whole request. */
static pid_t answer_once(int listen_fd, const char *answer)
{
	static const char wanted[] = "GET /livez HTTP/1.1\r\nHost: localhost\r\n";
	pid_t pid = fork();
	char text[256] = "";
	size_t at = 0;
	int fd;

	if (pid)
		return pid;
	while ((fd = accept(listen_fd, NULL, NULL)) < 0 && (errno == EAGAIN || errno == EINTR))
		usleep(1000);
	while (!strstr(text, "\r\n\r\n")) {
		ssize_t len = recv(fd, text + at, sizeof(text) - 1 - at, 0);

		if (len <= 0)
			_exit(1);
		at += (size_t)len;
		text[at] = '\0';
	}
	if (strncmp(text, wanted, strlen(wanted)) != 0 ||
	    send(fd, answer, strlen(answer), MSG_NOSIGNAL) != (ssize_t)strlen(answer))
		_exit(2);
	_exit(0);
}

static void an_answer_is_its_status_and_its_first_line(void **state)
{
	static const struct {
		const char *answer;
		int err, status;
		const char *line;
	} rows[] = {
		{ "HTTP/1.1 200 OK\r\nA: b\r\n\r\nok\n", 0, 200, "ok" },
		{ "HTTP/1.1 503 No\r\n\r\nnaming is dead\nmore\n", 0, 503, "naming is dead" },
		{ "HTTP/1.1 204 No\r\n\r\n", 0, 204, "" },
		{ "HTTP/1.1 200 OK\r\n", -EPROTO, 0, "" },
		{ "HTTP/1.1 abc\r\n\r\n", -EPROTO, 0, "" },
		{ "HTTP/1.1 999\r\n\r\n", -EPROTO, 0, "" },
		{ "SSH-2.0\r\n\r\n", -EPROTO, 0, "" },
		{ "", -EPROTO, 0, "" },
	};
	int listen_fd = serve_address_listen(&address);

	(void)state;
	assert_true(listen_fd >= 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct serve_answer answer = { 0 };
		pid_t pid = answer_once(listen_fd, rows[i].answer);
		int status;

		assert_int_equal(serve_ask(&address, "/livez", &answer), rows[i].err);
		assert_int_equal(answer.status, rows[i].status);
		assert_string_equal(answer.line, rows[i].line);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	close(listen_fd);
}

static void where_nobody_listens_there_is_no_answer(void **state)
{
	struct serve_answer answer;

	(void)state;
	assert_int_equal(serve_ask(&address, "/livez", &answer), -ECONNREFUSED);
	assert_int_equal(unlink(serve_address_path(&address)), 0);
	assert_int_equal(serve_ask(&address, "/livez", &answer), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_is_its_status_and_its_first_line),
		cmocka_unit_test(where_nobody_listens_there_is_no_answer),
	};

	return cmocka_run_group_tests_name("ask", tests, set_up, tear_down);
}
