// SPDX-License-Identifier: Apache-2.0
/*
 * See namer_copy.h. Not by fork(): the copy is to be the launcher's child from the beginning
 * (CLONE_PARENT), so that it outlives its maker, also one that hangs and cannot die, and the launcher
 * ends and reaps it as all others. What libc does for fork() beside that is for processes with threads.
 */
#include "user/collect/namer/namer_copy.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "user/util/cleanup.h"

#define COPY_NAME "jbpfd-standby" /* at most 15 bytes */

/* Another one may hold a lock of libc's, which nobody would give back in the copy. */
static bool is_only_thread(void)
{
	struct stat st;

	/* "." and "..", and one for each thread. */
	return stat("/proc/self/task", &st) == 0 && st.st_nlink == 3;
}

static void begin_copy(pid_t parent)
{
	(void)prctl(PR_SET_NAME, COPY_NAME);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
}

int namer_copy_make(struct launcher *launcher, int *socket_out)
{
	int copy_fd = -1, copy_launcher_fd = -1;
	pid_t parent = getppid(), pid;
	int err = is_only_thread() ? 0 : -EBUSY;

	if (!err)
		err = launcher__new_copy(launcher, &copy_fd, &copy_launcher_fd);
	if (err)
		return err;
	__cleanup_fd int socket_fd = copy_fd;
	__cleanup_fd int launcher_fd = copy_launcher_fd;
	pid = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
	if (pid < 0)
		return -errno;
	if (pid > 0)
		return launcher__adopt_copy(launcher, pid);
	begin_copy(parent);
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
