// SPDX-License-Identifier: Apache-2.0
/* See notify_ready.h. A manager that does not listen loses a message; nothing here can wait or fail. */
#include "user/host/notify_ready.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "user/util/cleanup.h"
#include "user/util/parse.h"

#define WATCHDOG_WINDOWS 6
#define NS_PER_US	 1000

int notify_ready_open(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const char *wanted = getenv("NOTIFY_SOCKET");
	size_t len = wanted ? strlen(wanted) : 0;

	/* "@": an abstract address. */
	if (len < 2 || len >= sizeof(addr.sun_path) || (wanted[0] != '/' && wanted[0] != '@'))
		return -1;
	memcpy(addr.sun_path, wanted, len);
	if (addr.sun_path[0] == '@')
		addr.sun_path[0] = '\0';
	(void)unsetenv("NOTIFY_SOCKET");

	__cleanup_fd int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)&addr,
			      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)))
		return -1;
	return take_fd(&fd);
}

static void say(int fd, const char *text)
{
	if (fd >= 0)
		(void)send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void notify_ready_started(int fd, uint64_t window_ns)
{
	const char *wanted = getenv("WATCHDOG_USEC");
	uint64_t watchdog_us, windows_us = WATCHDOG_WINDOWS * (window_ns / NS_PER_US);
	char text[64];

	if (!wanted || parse_u64(wanted, &watchdog_us) || watchdog_us == 0) {
		say(fd, "READY=1");
		return;
	}
	(void)snprintf(text, sizeof(text), "READY=1\nWATCHDOG_USEC=%" PRIu64,
		       windows_us > watchdog_us ? windows_us : watchdog_us);
	say(fd, text);
}

void notify_ready_alive(int fd)
{
	say(fd, "WATCHDOG=1");
}

void notify_ready_stopping(int fd)
{
	say(fd, "STOPPING=1");
}
