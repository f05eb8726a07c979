// SPDX-License-Identifier: Apache-2.0
/* See child_process.h. Nothing here fails: a child that cannot do it is only a little less modest. */
#include "user/sandbox/child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "user/util/cleanup.h"
#include "user/util/fs.h"

void child_process_reset_signals(const int *ignored, size_t ignored_cnt)
{
	sigset_t none;

	for (int signo = 1; signo < NSIG; signo++)
		(void)signal(signo, SIG_DFL);
	for (size_t i = 0; i < ignored_cnt; i++)
		(void)signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

#define FIRST_FD 3

int child_process_keep_fds(int *const fds[], size_t cnt)
{
	int next = FIRST_FD;
	int aside = FIRST_FD + (int)cnt; /* no place of one that is kept */

	for (size_t i = 0; i < cnt; i++) {
		if (*fds[i] < 0)
			continue;
		*fds[i] = fcntl(*fds[i], F_DUPFD_CLOEXEC, aside);
		if (*fds[i] < 0)
			return -errno;
	}
	for (size_t i = 0; i < cnt; i++) {
		if (*fds[i] < 0)
			continue;
		if (dup3(*fds[i], next, O_CLOEXEC) < 0)
			return -errno;
		*fds[i] = next++;
	}
	return close_range((unsigned int)next, ~0u, 0) ? -errno : 0;
}

void child_process_offer_to_oom(void)
{
	static const char worst[] = "1000"; /* proc(5): /proc/PID/oom_score_adj */
	__cleanup_fd int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)fs_write_all(fd, worst, strlen(worst));
}
