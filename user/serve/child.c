// SPDX-License-Identifier: Apache-2.0
/*
 * What talks to strangers has nothing to lose: no capability, no file, no other process, and the
 * system calls that an HTTP server needs. What the kernel is too old for is left out; the rest holds.
 */
#include "user/serve/child.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "user/serve/http.h"
#include "user/serve/page.h"
#include "user/sandbox/capabilities.h"
#include "user/sandbox/child_process.h"
#include "user/util/cleanup.h"
#include "user/sandbox/landlock.h"
#include "user/sandbox/seccomp_rules.h"

#define CHILD_NAME	"jbpfd-metrics" /* at most 15 bytes */
#define CHILD_FILES_MAX (2 * HTTP_CONNECTIONS_MAX + 16)
#define CHILD_LISTEN_FD 3
#define CHILD_PAGE_FD	4
#define CHILD_SPARE_FD	16 /* above both */

static const int calls[] = {
	/* answering */
	SCMP_SYS(accept4),
	SCMP_SYS(accept),
	SCMP_SYS(recvfrom),
	SCMP_SYS(recvmsg),
	SCMP_SYS(read),
	SCMP_SYS(sendto),
	SCMP_SYS(sendmsg),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	SCMP_SYS(shutdown),
	SCMP_SYS(close),
	SCMP_SYS(setsockopt),
	SCMP_SYS(getsockopt),
	SCMP_SYS(getsockname),
	SCMP_SYS(getpeername),
	SCMP_SYS(fcntl),
	/* waiting */
	SCMP_SYS(epoll_wait),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(time),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(nanosleep),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(futex),
	/* memory, and the end */
	SCMP_SYS(brk),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(getrandom),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(tgkill),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
};

/* Listening socket and page at known numbers, and nothing else but standard error. */
static int keep_two(const struct serve_child *child)
{
	int listen_fd = fcntl(child->listen_fd, F_DUPFD_CLOEXEC, CHILD_SPARE_FD);
	int page_fd = fcntl(child->page_fd, F_DUPFD_CLOEXEC, CHILD_SPARE_FD);

	if (listen_fd < 0 || page_fd < 0 || dup2(listen_fd, CHILD_LISTEN_FD) < 0 ||
	    dup2(page_fd, CHILD_PAGE_FD) < 0 || close_range(CHILD_PAGE_FD + 1, ~0u, 0))
		return -errno;
	(void)close(STDIN_FILENO);
	(void)close(STDOUT_FILENO);
	return 0;
}

static void reset_signals(void)
{
	/* A signal to the terminal's group or to the service is the daemon's: it ends this one, too. */
	static const int ignored[] = { SIGPIPE, SIGINT, SIGTERM, SIGHUP };

	child_process_reset_signals(ignored, ARRAY_SIZE(ignored));
}

static void step_back(void)
{
	const struct rlimit files = { CHILD_FILES_MAX, CHILD_FILES_MAX }, none = { 0, 0 };

	child_process_offer_to_oom();
	(void)prctl(PR_SET_NAME, CHILD_NAME);
	(void)prctl(PR_SET_DUMPABLE, 0);
	(void)setrlimit(RLIMIT_NOFILE, &files);
	(void)setrlimit(RLIMIT_CORE, &none);
}

static int filter_calls(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int err = filter ? 0 : -ENOMEM;

	if (!err)
		err = seccomp_rules_allow(filter, calls, ARRAY_SIZE(calls));
	/* Memory yes, code no. */
	if (!err)
		err = seccomp_rules_allow_without(filter, SCMP_SYS(mmap), 2, PROT_EXEC);
	if (!err)
		err = seccomp_rules_allow_without(filter, SCMP_SYS(mprotect), 2, PROT_EXEC);
	if (!err)
		err = seccomp_load(filter);
	if (filter)
		seccomp_release(filter);
	return err;
}

static bool is_unknown_to_kernel(int err)
{
	return err == -ENOSYS || err == -EOPNOTSUPP;
}

static int give_up_rights(void)
{
	const struct capabilities none = { 0, 0 };
	int err = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;

	if (!err)
		err = capabilities_limit(&none);
	if (!err)
		err = landlock_only_below(NULL);
	if (!err || is_unknown_to_kernel(err))
		err = filter_calls();
	return is_unknown_to_kernel(err) || err == -EINVAL ? 0 : err;
}

int serve_child_run(const struct serve_child *child)
{
	const struct serve_page_view *view;
	struct http *http;
	int err;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != child->parent)
		return -ESRCH;
	err = keep_two(child);
	if (err)
		return err;
	reset_signals();
	step_back();
	view = serve_page_view(CHILD_PAGE_FD);
	if (!view)
		return -errno;
	err = http__open(child->library, CHILD_LISTEN_FD, child->is_unix, view, &http);
	if (err)
		return err;
	err = give_up_rights();
	while (!err)
		err = http__run(http);
	http__free(http);
	return err;
}
