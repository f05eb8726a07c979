// SPDX-License-Identifier: Apache-2.0
/*
 * See opener_child.h. One request at a time, nothing is kept between two, nothing is logged.
 *
 * It needs CAP_DAC_READ_SEARCH, since files of containers belong to others, and no more: roots of
 * other processes are handed to it. Landlock lets it write nowhere; the flags of openat2(), which
 * follows paths inside a root, are in memory where a filter of system calls cannot see them.
 */
#include "user/files/opener_child.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "user/sandbox/child_process.h"
#include "user/sandbox/child_sandbox.h"
#include "user/sandbox/parser_sandbox.h"
#include "user/sandbox/capabilities.h"
#include "user/util/cleanup.h"
#include "user/util/fd_message.h"
#include "user/sandbox/landlock.h"
#include "user/sandbox/seccomp_rules.h"

#define CHILD_NAME   "jbpfd-opener" /* at most 15 bytes */
#define CHILD_SOCKET 0		    /* where child_process_become() leaves it */
#define IDLE_S	     60

/* ---- rights ---- */

static const int calls[] = {
	/* openat and memory are below */
	SCMP_SYS(openat2),
	SCMP_SYS(statx),
	SCMP_SYS(pread64),
	SCMP_SYS(dup),
	SCMP_SYS(close),
	SCMP_SYS(sendmsg),
	SCMP_SYS(recvmsg),
	/* calls of the C library; they change nothing */
	SCMP_SYS(munmap),
	SCMP_SYS(brk),
	SCMP_SYS(futex),
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(exit_group),
#if defined(__SANITIZE_ADDRESS__)
	SCMP_SYS(write),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(rt_sigprocmask),
#endif
};

static int filter_calls(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int err;

	if (!filter)
		return -ENOMEM;
	err = seccomp_rules_allow(filter, calls, ARRAY_SIZE(calls));
	if (!err)
		err = seccomp_rules_allow_without(filter, SCMP_SYS(openat), 2,
						  O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND);
	if (!err)
		err = seccomp_rules_allow_fresh_memory(filter);
	if (!err)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err;
}

int opener_child_confine(void)
{
	uint32_t features = parser_sandbox_features();
	const struct child_rights kept = {
		.capabilities.effective = CAPABILITY_BIT(CAP_DAC_READ_SEARCH),
		.capabilities.permitted = CAPABILITY_BIT(CAP_DAC_READ_SEARCH),
		.landlock = features & PARSER_SANDBOX_LANDLOCK ? landlock_write_only_below : NULL,
		.filter = features & PARSER_SANDBOX_SECCOMP ? filter_calls : NULL,
		.needs_kernel = true,
	};

	return child_sandbox_give_up(&kept);
}

static int become_opener(int *socket_fd)
{
	static const struct child_limit limits[] = {
		{ RLIMIT_CORE, 0 },
		{ RLIMIT_NOFILE, CHILD_SANDBOX_MAX_FDS },
		{ RLIMIT_FSIZE, 0 },
	};
	int *const kept[] = { socket_fd };
	const struct child_options options = {
		CHILD_OPTIONS_CONFINED,	      .name = CHILD_NAME, .kept = kept,
		.kept_cnt = ARRAY_SIZE(kept), .limits = limits,	  .limit_cnt = ARRAY_SIZE(limits),
	};
	int err = child_process_become(&options);

	return err ? err : opener_child_confine();
}

/* A process that had no request for a minute ends. */
static int limit_idle_time(int socket_fd)
{
	const struct timeval timeout = { .tv_sec = IDLE_S };

	return setsockopt(socket_fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) ? -errno :
											   0;
}

/* ---- work ---- */

static int open_wanted(const struct opener_request *request, int at_fd, struct stat *st)
{
	switch (request->what) {
	case OPENER_REOPEN:
		return container_file_reopen(at_fd, &request->rules, st);
	case OPENER_FILE:
		return container_file_open(at_fd, request->path, &request->rules, st);
	case OPENER_LIBRARY:
		return container_library_open(at_fd, request->path, &request->rules, st);
	case OPENER_PATH:
		return container_path_open(at_fd, request->path);
	default:
		return -EINVAL;
	}
}

/*
 * FUSE asks the server at each close of a file, and waits for it without end: here first, where that
 * costs one file, not where the file goes, which is the namer and the parser.
 */
static void close_for_trial(int fd)
{
	int copy = dup(fd);

	if (copy >= 0)
		close(copy);
}

int opener_child_open(const struct opener_request *request, int at_fd, struct opener_reply *reply)
{
	int fd = open_wanted(request, at_fd, &reply->st);
	ssize_t got;

	if (fd >= 0)
		close_for_trial(fd);
	if (fd < 0 || !request->wants_head)
		return fd;
	got = pread(fd, reply->head.bytes, sizeof(reply->head.bytes), 0);
	reply->head.len = got > 0 ? (size_t)got : 0;
	return fd;
}

static int say(struct opener_reply *reply, enum opener_says says, int fd)
{
	reply->says = says;
	return fd_message_send(CHILD_SOCKET, reply, sizeof(*reply), &fd, fd >= 0);
}

static int receive(struct opener_request *request, int *at_fd)
{
	size_t len, fd_cnt = 0;
	int err = fd_message_receive(CHILD_SOCKET, 0, request, sizeof(*request), &len, at_fd, 1,
				     &fd_cnt);

	if (err)
		return err;
	/* With at least the NUL of an empty path. */
	if (fd_cnt != 1 || len <= offsetof(struct opener_request, path) ||
	    request->path[len - offsetof(struct opener_request, path) - 1] != '\0')
		return -EBADMSG;
	return 0;
}

static int serve(void)
{
	struct opener_request request;
	struct opener_reply reply;
	int at_fd, fd;
	int err = receive(&request, &at_fd);

	if (err)
		return err;
	memset(&reply, 0, sizeof(reply));
	reply.id = request.id;
	fd = opener_child_open(&request, at_fd, &reply);
	reply.err = fd < 0 ? fd : 0;
	err = say(&reply, OPENER_HAS_OPENED, fd);
	if (fd >= 0)
		close(fd);
	close(at_fd);
	return err ? err : say(&reply, OPENER_IS_FREE, -1);
}

int opener_child_main(int socket_fd)
{
	struct opener_reply ready;
	int err = limit_idle_time(socket_fd);

	if (!err)
		err = become_opener(&socket_fd);
	if (err)
		return -err & 0xff;
	memset(&ready, 0, sizeof(ready));
	err = say(&ready, OPENER_IS_READY, -1);
	while (!err)
		err = serve();
	return err == -EPIPE || err == -EAGAIN ? 0 : -err & 0xff;
}
