// SPDX-License-Identifier: Apache-2.0
/*
 * The process that talks to strangers has no capability, no file, no other process, and only the
 * system calls that an HTTP server needs. Where the kernel is too old for one of these, the others
 * hold.
 */
#include "user/serve/child.h"

#include <errno.h>
#include <seccomp.h>
#include <sys/resource.h>

#include "user/serve/http.h"
#include "user/serve/page.h"
#include "user/sandbox/child_process.h"
#include "user/sandbox/child_sandbox.h"
#include "user/sandbox/landlock.h"
#include "user/sandbox/seccomp_rules.h"
#include "user/util/cleanup.h"

#define CHILD_NAME	"jbpfd-metrics" /* at most 15 bytes */
#define CHILD_FILES_MAX (2 * HTTP_CONNECTIONS_MAX + 16)

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

/* Signals to the terminal's group or to the service are the daemon's: it ends this one, too. */
static int become_server(int *listen_fd, int *page_fd)
{
	static const struct child_limit limits[] = {
		{ RLIMIT_NOFILE, CHILD_FILES_MAX },
		{ RLIMIT_CORE, 0 },
	};
	int *const kept[] = { listen_fd, page_fd };
	const struct child_options options = {
		.name = CHILD_NAME,
		.signals = CHILD_SIGNALS_OF_PARENT,
		.fds = CHILD_FDS_ERRORS,
		.kept = kept,
		.kept_cnt = ARRAY_SIZE(kept),
		.limits = limits,
		.limit_cnt = ARRAY_SIZE(limits),
		.ends_first = true,
		.is_undumpable = true,
	};

	return child_process_become(&options);
}

static int filter_calls(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int err = filter ? 0 : -ENOMEM;

	if (!err)
		err = seccomp_rules_allow(filter, calls, ARRAY_SIZE(calls));
	if (!err)
		err = seccomp_rules_allow_memory(filter);
	if (!err)
		err = seccomp_load(filter);
	if (filter)
		seccomp_release(filter);
	return err;
}

int serve_child_main(int none, const void *ctx)
{
	static const struct child_rights rights = {
		.landlock = landlock_only_below,
		.filter = filter_calls,
	};
	const struct serve_child *child = ctx;
	int listen_fd = child->listen_fd, page_fd = child->page_fd;
	const struct serve_page_view *view;
	struct http *http;
	int err = become_server(&listen_fd, &page_fd);

	(void)none;
	if (err)
		return err;
	view = serve_page_view(page_fd);
	if (!view)
		return -errno;
	err = http__open(child->library, listen_fd, child->is_unix, view, &http);
	if (err)
		return err;
	err = child_sandbox_give_up(&rights);
	while (!err)
		err = http__run(http);
	http__free(http);
	return err;
}
