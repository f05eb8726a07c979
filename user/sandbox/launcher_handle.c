// SPDX-License-Identifier: Apache-2.0
/*
 * See launcher.h: the side of the sampler, which forks the launcher, and of the namers. Its unit test
 * is test_launcher.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/sandbox/child_process.h"
#include "user/sandbox/launcher_wire.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/fd_message.h"
#include "user/util/fs.h"

#define ANSWER_TIMEOUT_MS 5000
#define ANSWER_LOOK_MS	  50
#define LOG_BYTES	  4096
#define RELAY_READS_MAX	  16 /* at once: all that a pipe holds, unless it was made larger */

struct launcher {
	int socket_fd;
	pid_t pid;  /* 0: only a handle of the namer's */
	int log_fd; /* what the children say on stderr; -1 = nobody is left to say anything */
};

/*
 * It answers at once, unless the host is far too busy. Whoever waits looks up now and then: one that
 * uses no CPU time would be taken for one that hangs (namer_link.h). Descriptors in the reply are the
 * caller's.
 */
static int await_reply(const struct launcher *launcher, struct reply *reply)
{
	struct pollfd wait = { .fd = launcher->socket_fd, .events = POLLIN };
	uint64_t end_ns = clock_monotonic_ns() + ANSWER_TIMEOUT_MS * CLOCK_NS_PER_MS;
	size_t len, fd_cnt = 0;
	int err;

	do
		err = poll(&wait, 1, ANSWER_LOOK_MS);
	while ((err < 0 && errno == EINTR) || (err == 0 && clock_monotonic_ns() < end_ns));
	reply->fds[0] = reply->fds[1] = -1;
	if (err <= 0)
		return err ? -errno : -ETIMEDOUT;
	err = fd_message_receive(launcher->socket_fd, MSG_DONTWAIT, &reply->answer,
				 sizeof(reply->answer), &len, reply->fds, ANSWER_FDS, &fd_cnt);
	for (size_t i = err ? 0 : fd_cnt; i < ANSWER_FDS; i++)
		reply->fds[i] = -1;
	if (!err && len != sizeof(reply->answer))
		err = -EBADMSG;
	return err;
}

/* A late answer, or one that could not be read, would be taken for the answer to the next request. */
static void forget_answers(const struct launcher *launcher)
{
	struct launcher_answer answer;
	size_t len, fd_cnt = 0;
	int fds[ANSWER_FDS];

	while (fd_message_receive(launcher->socket_fd, MSG_DONTWAIT, &answer, sizeof(answer), &len,
				  fds, ANSWER_FDS, &fd_cnt) == 0)
		for (size_t i = 0; i < fd_cnt; i++)
			close(fds[i]);
}

/* Closes the descriptors that nobody took. */
static void reply_release(struct reply *reply)
{
	for (size_t i = 0; i < ANSWER_FDS; i++)
		cleanup_fd_(&reply->fds[i]);
}

#define __cleanup_reply __attribute__((cleanup(reply_release)))

/* 0 and the answer; -errno, also one that the launcher answered. */
static int ask(const struct launcher *launcher, const struct request *request, struct reply *reply)
{
	int err;

	forget_answers(launcher);
	err = fd_message_send(launcher->socket_fd, request, sizeof(*request), NULL, 0);
	*reply = (struct reply){ .fds = { -1, -1 } };
	if (!err)
		err = await_reply(launcher, reply);
	return err ? err : reply->answer.err;
}

/* Neither end is ever waited for. */
static int launcher_fork(struct launcher *launcher, const struct launcher_options *options)
{
	struct launcher_birth birth = { .options = options };
	int ends[2];
	int err;

	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	launcher->log_fd = ends[0];
	birth.log_fd = ends[1];
	err = child_process_start(launcher_main, &birth, &launcher->socket_fd, &launcher->pid);
	close(ends[1]);
	return err;
}

int launcher__open(const struct launcher_options *options, struct launcher **out)
{
	struct launcher *launcher;
	struct reply ready;
	int err;

	if (!options->confine)
		return -EINVAL;
	launcher = launcher__from_fd(-1);
	if (!launcher)
		return -ENOMEM;
	err = launcher_fork(launcher, options);
	if (!err)
		err = await_reply(launcher, &ready);
	if (!err)
		err = ready.answer.err;
	if (err) {
		launcher__free(launcher);
		return err;
	}
	*out = launcher;
	return 0;
}

struct launcher *launcher__from_fd(int launcher_fd)
{
	struct launcher *launcher = calloc(1, sizeof(*launcher));

	if (launcher) {
		launcher->socket_fd = launcher_fd;
		launcher->log_fd = -1;
	}
	return launcher;
}

int launcher__log_fd(const struct launcher *launcher)
{
	return launcher->log_fd;
}

void launcher__relay(struct launcher *launcher)
{
	char text[LOG_BYTES];
	ssize_t len = 1;

	if (launcher->log_fd < 0)
		return;
	/* A namer may write on and on: the rest is there for the next call, and it waits for room meanwhile. */
	for (int i = 0; i < RELAY_READS_MAX && len > 0; i++) {
		len = read(launcher->log_fd, text, sizeof(text));
		if (len > 0)
			(void)fs_write_all(STDERR_FILENO, text, (size_t)len);
	}
	if (len == 0)
		close_fd(&launcher->log_fd); /* all of them have ended */
}

void launcher__free(struct launcher *launcher)
{
	if (!launcher)
		return;
	if (launcher->socket_fd >= 0)
		close(launcher->socket_fd);
	/* It ends when its socket is closed, and waits for nobody. */
	if (launcher->pid > 0)
		while (waitpid(launcher->pid, NULL, 0) < 0 && errno == EINTR)
			;
	launcher__relay(launcher);
	close_fd(&launcher->log_fd);
	free(launcher);
}

pid_t launcher__pid(const struct launcher *launcher)
{
	return launcher->pid;
}

int launcher__start(struct launcher *launcher, enum launcher_kind kind, const uint64_t *numbers,
		    int *socket_out, pid_t *pid_out)
{
	struct request request = { .kind = kind };
	__cleanup_reply struct reply reply;
	int err;

	if (numbers)
		memcpy(request.numbers, numbers, sizeof(request.numbers));
	err = ask(launcher, &request, &reply);
	if (!err && socket_out)
		*socket_out = take_fd(&reply.fds[0]);
	if (!err && pid_out)
		*pid_out = reply.answer.pid;
	return err;
}

int launcher__end(struct launcher *launcher, pid_t pid)
{
	__cleanup_reply struct reply reply;
	int err = ask(launcher, &(struct request){ .kind = REQUEST_END, .pid = pid }, &reply);

	return err ? -1 : reply.answer.status;
}

int launcher__state(struct launcher *launcher, pid_t pid)
{
	__cleanup_reply struct reply reply;
	int err = ask(launcher, &(struct request){ .kind = REQUEST_STATE, .pid = pid }, &reply);

	if (err)
		return err == -ESRCH ? 0 : err;
	return reply.answer.state;
}

int launcher__new_copy(struct launcher *launcher, int *socket_out, int *launcher_fd_out)
{
	__cleanup_reply struct reply reply;
	int err = ask(launcher, &(struct request){ .kind = REQUEST_NEW_COPY }, &reply);

	if (!err && (reply.fds[0] < 0 || reply.fds[1] < 0))
		err = -EBADMSG;
	if (err)
		return err;
	*socket_out = take_fd(&reply.fds[0]);
	*launcher_fd_out = take_fd(&reply.fds[1]);
	return 0;
}

int launcher__adopt_copy(struct launcher *launcher, pid_t pid)
{
	__cleanup_reply struct reply reply;

	return ask(launcher, &(struct request){ .kind = REQUEST_ADOPT, .pid = pid }, &reply);
}

int launcher__take_copy(struct launcher *launcher, int *socket_out, pid_t *pid_out)
{
	__cleanup_reply struct reply reply;
	int err = ask(launcher, &(struct request){ .kind = REQUEST_TAKE }, &reply);

	if (!err) {
		*socket_out = take_fd(&reply.fds[0]);
		*pid_out = reply.answer.pid;
	}
	return err;
}

void launcher__turn_to(struct launcher *launcher, int launcher_fd)
{
	close(launcher->socket_fd);
	launcher->socket_fd = launcher_fd;
}
