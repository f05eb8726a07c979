// SPDX-License-Identifier: Apache-2.0
/* See child_process.h. Nothing here fails: a child that cannot do it is only a little less modest. */
#include "user/util/child_process.h"

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

void child_process_offer_to_oom(void)
{
	static const char worst[] = "1000"; /* proc(5): /proc/PID/oom_score_adj */
	__cleanup_fd int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)fs_write_all(fd, worst, strlen(worst));
}
