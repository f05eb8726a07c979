// SPDX-License-Identifier: Apache-2.0
/* See ask.h. One request and one answer, which ends with the connection. */
#include "user/serve/ask.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "user/util/cleanup.h"
#include "user/util/parse.h"

#define ANSWER_BYTES 2048u
#define STATUS_CHARS 3

static int connect_to(const struct serve_address *address)
{
	const struct timeval patience = { .tv_sec = SERVE_ASK_S };
	__cleanup_fd int fd = socket(address->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* A place in a full backlog is waited for as long as one may send. */
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) ||
	    connect(fd, (const struct sockaddr *)&address->addr, address->len))
		return -errno;
	return take_fd(&fd);
}

static int send_request(int fd, const char *path)
{
	char text[128];
	int len = snprintf(text, sizeof(text),
			   "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
	ssize_t sent;

	if (len < 0 || (size_t)len >= sizeof(text))
		return -EINVAL;
	sent = send(fd, text, (size_t)len, MSG_NOSIGNAL);
	if (sent < 0)
		return -errno;
	return sent == len ? 0 : -EAGAIN;
}

/* All of it, or as much as there is room for, with a NUL behind it. */
static int receive(int fd, char text[ANSWER_BYTES])
{
	size_t at = 0;
	ssize_t len = 1;

	while (len > 0 && at < ANSWER_BYTES - 1) {
		len = recv(fd, text + at, ANSWER_BYTES - 1 - at, 0);
		at += len > 0 ? (size_t)len : 0;
	}
	text[at] = '\0';
	return len < 0 ? -errno : 0;
}

static int parse(const char *text, struct serve_answer *out)
{
	static const char begin[] = "HTTP/1.1 ", gap[] = "\r\n\r\n";
	const char *body = strstr(text, gap);
	char status[STATUS_CHARS + 1];
	uint32_t number;

	if (!body || strncmp(text, begin, strlen(begin)) != 0)
		return -EPROTO;
	snprintf(status, sizeof(status), "%.*s", STATUS_CHARS, text + strlen(begin));
	if (parse_u32_range(status, 100, 599, &number))
		return -EPROTO;
	body += strlen(gap);
	out->status = (int)number;
	snprintf(out->line, sizeof(out->line), "%.*s", (int)strcspn(body, "\r\n"), body);
	return 0;
}

int serve_ask(const struct serve_address *address, const char *path, struct serve_answer *out)
{
	char text[ANSWER_BYTES];
	__cleanup_fd int fd = connect_to(address);
	int err;

	if (fd < 0)
		return fd;
	err = send_request(fd, path);
	if (!err)
		err = receive(fd, text);
	return err ? err : parse(text, out);
}
