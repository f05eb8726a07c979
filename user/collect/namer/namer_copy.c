// SPDX-License-Identifier: Apache-2.0
/*
 * See namer_copy.h. The copy is a child of the launcher from the beginning (child_process_copy()),
 * so that it outlives its maker, also one that hangs and cannot die, and the launcher ends and
 * reaps it as all others.
 */
#include "user/collect/namer/namer_copy.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "user/sandbox/child_process.h"
#include "user/util/cleanup.h"

#define COPY_NAME "jbpfd-standby" /* at most 15 bytes */

int namer_copy_make(struct launcher *launcher, int *socket_out)
{
	int copy_fd = -1, copy_launcher_fd = -1;
	static const struct child_options options = { .name = COPY_NAME };
	/* Another thread may hold a lock of libc, which would stay locked in the copy. */
	int err = child_process_has_one_thread() ? 0 : -EBUSY;
	pid_t pid;

	if (!err)
		err = launcher__new_copy(launcher, &copy_fd, &copy_launcher_fd);
	if (err)
		return err;
	__cleanup_fd int socket_fd = copy_fd;
	__cleanup_fd int launcher_fd = copy_launcher_fd;
	pid = child_process_copy();
	if (pid < 0)
		return pid;
	if (pid > 0)
		return launcher__adopt_copy(launcher, pid);
	(void)child_process_become(&options);
	launcher__turn_to(launcher, take_fd(&launcher_fd));
	*socket_out = take_fd(&socket_fd);
	return 1;
}

void namer_copy_sleep(int socket_fd)
{
	char byte;
	ssize_t got;

	do {
		struct pollfd wait = { .fd = socket_fd, .events = POLLIN };

		(void)poll(&wait, 1, -1);
		got = recv(socket_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
	} while (got < 0 && (errno == EAGAIN || errno == EINTR));
	if (got <= 0)
		_exit(0);
}
