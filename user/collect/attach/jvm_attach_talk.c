// SPDX-License-Identifier: Apache-2.0
/*
 * Protocol version 1, which every HotSpot speaks (attachListener_linux.cpp, from JDK 25 on
 * attachListener_posix.cpp): "1", command, three arguments, each with a NUL; the answer is a
 * decimal status line and text up to end of file.
 *
 * The socket is reached through /proc/self/fd/N of an O_PATH descriptor: no length limit of
 * sun_path, and the socket that was checked is the one that is connected to.
 */
#include "user/collect/attach/jvm_attach_talk.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "user/collect/attach/jvm_gates.h"
#include "user/sandbox/role_sandbox.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

#define REPLY_MAX_BYTES	      (16u << 10) /* the answer to this command is a line */
#define SOCKET_POLL_MIN_MS    1
#define SOCKET_POLL_MAX_MS    20
#define PROC_STATUS_MAX_BYTES 8192

static const char request[] = "1\0jcmd\0Compiler.perfmap\0\0"; /* and the literal's own NUL */

/* Milliseconds to the deadline for poll(2), rounded up; 0 when it has passed. */
static int ms_left(const struct jvm_talk *talk)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t left_ms;

	if (now_ns >= talk->deadline_ns)
		return 0;
	left_ms = (talk->deadline_ns - now_ns + CLOCK_NS_PER_MS - 1) / CLOCK_NS_PER_MS;
	return left_ms > INT32_MAX ? INT32_MAX : (int)left_ms;
}

/*
 * Waits for `events` on `fd` (-1: only for time to pass) at most `max_ms`. JVM_ATTACH_OK: go on;
 * JVM_ATTACH_GONE: the JVM ended; JVM_ATTACH_TIMEOUT: the deadline passed.
 */
static enum jvm_attach_outcome talk_wait(const struct jvm_talk *talk, int fd, short events,
					 int max_ms)
{
	struct pollfd fds[] = { { .fd = fd, .events = events },
				{ .fd = talk->pid_fd, .events = POLLIN } };
	int left_ms = ms_left(talk);

	if (left_ms == 0)
		return JVM_ATTACH_TIMEOUT;
	if (poll(fds, 2, left_ms < max_ms ? left_ms : max_ms) < 0 && errno != EINTR)
		return JVM_ATTACH_ERROR;
	/* An answer of a JVM that has ended is still worth reading. */
	if (fds[1].revents && !fds[0].revents)
		return JVM_ATTACH_GONE;
	return JVM_ATTACH_OK;
}

/* ---- trigger and signal ---- */

/* The JVM may have exec'ed something else since the gates were passed. */
static bool may_signal_now(const struct jvm_talk *talk)
{
	char text[PROC_STATUS_MAX_BYTES];
	ssize_t len = pread(talk->status_fd, text, sizeof(text) - 1, 0);

	if (len <= 0)
		return false;
	text[len] = '\0';
	return jvm_gate_status_catches_quit(text);
}

static enum jvm_attach_outcome wait_for_socket(const struct jvm_talk *talk)
{
	int interval_ms = SOCKET_POLL_MIN_MS;

	for (;;) {
		int appeared = jvm_tmp_socket_appeared(talk->tmp);
		enum jvm_attach_outcome outcome;

		if (appeared == 1)
			return JVM_ATTACH_OK;
		if (appeared < 0)
			return JVM_ATTACH_TMP_HOSTILE;
		outcome = talk_wait(talk, -1, 0, interval_ms);
		if (outcome != JVM_ATTACH_OK)
			return outcome;
		if (interval_ms < SOCKET_POLL_MAX_MS)
			interval_ms++;
	}
}

static enum jvm_attach_outcome signal_and_wait(struct jvm_talk *talk)
{
	enum jvm_attach_outcome outcome;

	if (!may_signal_now(talk))
		return JVM_ATTACH_NO_SIGNAL;
	if (syscall(SYS_pidfd_send_signal, talk->pid_fd, SIGQUIT, NULL, 0))
		return errno == ESRCH ? JVM_ATTACH_GONE : JVM_ATTACH_ERROR;
	outcome = wait_for_socket(talk);
	if (outcome == JVM_ATTACH_OK)
		talk->listener_started = true;
	return outcome;
}

static enum jvm_attach_outcome start_listener(struct jvm_talk *talk)
{
	enum jvm_attach_outcome outcome;
	int err = jvm_tmp_make_trigger(talk->tmp);

	switch (err) {
	case 0:
		outcome = signal_and_wait(talk);
		/* A JVM that has no CPU may take the signal at any time, and prints a thread dump when
		 * the trigger is gone by then: jvm_talk_end_trigger() removes it later. */
		if (outcome != JVM_ATTACH_TIMEOUT)
			jvm_tmp_remove_trigger(talk->tmp);
		return outcome;
	case -EEXIST: /* another attach: a second SIGQUIT could print a thread dump */
		return wait_for_socket(talk);
	case -ELOOP:
		return JVM_ATTACH_TMP_HOSTILE;
	default:
		return JVM_ATTACH_TMP_NOT_WRITABLE;
	}
}

void jvm_talk_end_trigger(const struct jvm_talk *talk)
{
	enum jvm_attach_outcome outcome = wait_for_socket(talk);

	if (outcome == JVM_ATTACH_OK || outcome == JVM_ATTACH_GONE)
		jvm_tmp_remove_trigger(talk->tmp);
}

/* ---- connection ---- */

/* Is the other end the JVM? Two containers that share a /tmp have equal names there. */
static enum jvm_attach_outcome check_peer(const struct jvm_talk *talk, int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len))
		return JVM_ATTACH_ERROR;
	return peer.pid == talk->pid ? JVM_ATTACH_OK : JVM_ATTACH_WRONG_PEER;
}

static enum jvm_attach_outcome connect_to(const struct jvm_talk *talk, int fd, int socket_fd)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", socket_fd);
	while (connect(fd, (const struct sockaddr *)&address, sizeof(address))) {
		enum jvm_attach_outcome outcome;

		if (errno == EINTR)
			continue;
		if (errno != EAGAIN) /* EAGAIN: the backlog is full */
			return errno == ECONNREFUSED ? JVM_ATTACH_REFUSED : JVM_ATTACH_ERROR;
		outcome = talk_wait(talk, -1, 0, SOCKET_POLL_MAX_MS);
		if (outcome != JVM_ATTACH_OK)
			return outcome;
	}
	return check_peer(talk, fd);
}

/* Connected descriptor in *fd_out when JVM_ATTACH_OK. */
static enum jvm_attach_outcome talk_connect(const struct jvm_talk *talk, int *fd_out)
{
	enum jvm_attach_outcome outcome;

	__cleanup_fd int socket_fd = jvm_tmp_open_socket(talk->tmp);
	if (socket_fd < 0)
		return socket_fd == -ENOENT ? JVM_ATTACH_REFUSED : JVM_ATTACH_TMP_HOSTILE;
	__cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return JVM_ATTACH_ERROR;
	outcome = connect_to(talk, fd, socket_fd);
	if (outcome == JVM_ATTACH_OK)
		*fd_out = take_fd(&fd);
	return outcome;
}

/* ---- request and reply ---- */

static enum jvm_attach_outcome send_request(const struct jvm_talk *talk, int fd)
{
	size_t sent = 0;

	while (sent < sizeof(request)) {
		ssize_t cnt = send(fd, request + sent, sizeof(request) - sent, MSG_NOSIGNAL);
		enum jvm_attach_outcome outcome;

		if (cnt > 0) {
			sent += (size_t)cnt;
			continue;
		}
		if (errno == EINTR)
			continue;
		if (errno != EAGAIN) /* EPIPE, ECONNRESET: it did not like our ids */
			return JVM_ATTACH_REFUSED;
		outcome = talk_wait(talk, fd, POLLOUT, INT32_MAX);
		if (outcome != JVM_ATTACH_OK)
			return outcome;
	}
	return JVM_ATTACH_OK;
}

/* To end of file: from JDK 25 on the status line may come before the work is done. */
static enum jvm_attach_outcome read_reply(const struct jvm_talk *talk, int fd, char *reply,
					  size_t *len_out)
{
	size_t len = 0;

	for (;;) {
		ssize_t cnt = recv(fd, reply + len, REPLY_MAX_BYTES - len, 0);
		enum jvm_attach_outcome outcome;

		if (cnt > 0) {
			len += (size_t)cnt;
			if (len == REPLY_MAX_BYTES)
				return JVM_ATTACH_REFUSED; /* that is no answer to our command */
			continue;
		}
		if (cnt == 0)
			break;
		if (errno == ECONNRESET)
			return JVM_ATTACH_REFUSED;
		if (errno != EAGAIN && errno != EINTR)
			return JVM_ATTACH_ERROR;
		outcome = talk_wait(talk, fd, POLLIN, INT32_MAX);
		if (outcome != JVM_ATTACH_OK)
			return outcome;
	}
	*len_out = len;
	return JVM_ATTACH_OK;
}

enum jvm_attach_outcome jvm_talk_judge_reply(const char *reply, size_t len)
{
	static const char unknown_command[] = "Unknown diagnostic command";
	static const char unknown_operation[] = "not recognized!";

	if (len == 0)
		return JVM_ATTACH_REFUSED;
	if (memmem(reply, len, unknown_command, sizeof(unknown_command) - 1) ||
	    memmem(reply, len, unknown_operation, sizeof(unknown_operation) - 1))
		return JVM_ATTACH_UNSUPPORTED;
	if (len >= 2 && reply[0] == '0' && reply[1] == '\n')
		return JVM_ATTACH_OK;
	return JVM_ATTACH_REFUSED;
}

static enum jvm_attach_outcome converse(struct jvm_talk *talk, int fd)
{
	char reply[REPLY_MAX_BYTES];
	size_t len = 0;
	uint64_t start_ns = clock_monotonic_ns();
	enum jvm_attach_outcome outcome = send_request(talk, fd);

	if (outcome == JVM_ATTACH_OK)
		outcome = read_reply(talk, fd, reply, &len);
	talk->command_ms = (uint32_t)((clock_monotonic_ns() - start_ns) / CLOCK_NS_PER_MS);
	if (outcome == JVM_ATTACH_OK)
		outcome = jvm_talk_judge_reply(reply, len);
	/* JDK 17 and 21 say "0" too when they could not write the file. */
	if (outcome == JVM_ATTACH_OK)
		outcome = jvm_tmp_judge_map(talk->tmp);
	/* Half a map is of no use, and no process would remove it. */
	if (outcome != JVM_ATTACH_OK && !talk->tmp->map_existed)
		(void)jvm_tmp_remove_map(talk->tmp);
	return outcome;
}

enum jvm_attach_outcome jvm_talk_request_map(struct jvm_talk *talk)
{
	enum jvm_attach_outcome outcome = jvm_tmp_check_writable(talk->tmp);
	int connected = -1;

	if (outcome == JVM_ATTACH_OK && !talk->tmp->has_socket)
		outcome = start_listener(talk);
	if (outcome == JVM_ATTACH_OK)
		outcome = talk_connect(talk, &connected);
	if (outcome != JVM_ATTACH_OK)
		return outcome;

	__cleanup_fd int fd = connected;
	if (role_sandbox_asker(talk->tmp->dir_fd))
		return JVM_ATTACH_ERROR;
	return converse(talk, fd);
}
