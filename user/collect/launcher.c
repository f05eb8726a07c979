// SPDX-License-Identifier: Apache-2.0
/*
 * See launcher.h. The launcher's sockets: one of the sampler, one of each namer that lives. A request
 * is a message, answered by one. What ends is reaped when SIGCHLD says so; what was killed and does not
 * end (it hangs in the kernel on a file server or a page fault) is counted, and beyond some of them
 * nothing more is started until one has ended.
 */
#include "user/collect/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "user/util/child_process.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/fd_message.h"
#include "user/util/log.h"

#define LAUNCHER_NAME "jbpfd-launcher" /* at most 15 bytes */
#define MAX_ASKERS    8u	       /* the sampler, and namers, of which old ones may hang */
#define MAX_CHILDREN  256u
#define MAX_HANGING   64u
#define MAX_HANGING_OPENERS \
	32u /* whoever makes them hang does not keep namer and parser from starting */
#define END_WAIT_MS	  100
#define REQUEST_END	  100 /* beside enum launcher_kind */
#define ANSWER_TIMEOUT_MS 5000
#define SEND_TRIES	  100 /* the kernel may be short of memory for a moment */

struct request {
	uint32_t kind; /* enum launcher_kind or REQUEST_END */
	int32_t pid;   /* of REQUEST_END */
	uint64_t numbers[LAUNCHER_NUMBERS];
};

struct answer {
	int32_t err;
	int32_t pid;
	int32_t status;
	int32_t pad;
};

struct launcher {
	int socket_fd;
	pid_t pid; /* 0: only a handle of the namer's */
};

/* ---- in the launcher ---- */

struct child {
	pid_t pid;
	int status;
	uint32_t asker; /* index of who started it */
	bool has_ended; /* `status` is what it left */
	bool is_killed;
};

struct state {
	const struct launcher_options *options;
	int signal_fd;
	int asker_fds[MAX_ASKERS]; /* [0]: the sampler; -1 = free */
	struct child children[MAX_CHILDREN];
	size_t child_cnt;
};

static void reap(struct state *state)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (size_t i = 0; i < state->child_cnt; i++) {
			struct child *child = &state->children[i];

			if (child->pid != pid || child->has_ended)
				continue;
			child->has_ended = true;
			child->status = status;
		}
	}
}

/* Ended ones of which nobody has asked yet give their place away when there is no other. */
static struct child *new_child(struct state *state)
{
	struct child *unasked = NULL;

	for (size_t i = 0; i < state->child_cnt; i++) {
		struct child *child = &state->children[i];

		if (child->has_ended && !child->pid)
			return child;
		if (child->has_ended && !unasked)
			unasked = child;
	}
	if (state->child_cnt == MAX_CHILDREN)
		return unasked;
	state->children[state->child_cnt].has_ended = true; /* until it is filled */
	return &state->children[state->child_cnt++];
}

static size_t count_hanging(const struct state *state)
{
	size_t cnt = 0;

	for (size_t i = 0; i < state->child_cnt; i++)
		cnt += state->children[i].is_killed && !state->children[i].has_ended;
	return cnt;
}

static int free_asker(const struct state *state)
{
	for (uint32_t i = 1; i < MAX_ASKERS; i++)
		if (state->asker_fds[i] < 0)
			return (int)i;
	return -EAGAIN;
}

/* Never returns. Descriptors of others are closed by each program as its sandbox begins. */
static void __attribute__((noreturn))
child_main(const struct state *state, enum launcher_kind kind, struct launcher_child *child)
{
	/* Signals to the whole group or service are for the sampler, which ends this one at last. */
	static const int ignored[] = { SIGPIPE, SIGINT, SIGTERM, SIGHUP };

	child_process_reset_signals(ignored, ARRAY_SIZE(ignored));
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != child->launcher)
		_exit(1);
	for (size_t i = 0; i < MAX_ASKERS; i++)
		if (state->asker_fds[i] >= 0)
			close(state->asker_fds[i]);
	close(state->signal_fd);
	_exit(state->options->programs[kind](child) & 0xff);
}

/* Both ends of what connects the child with the one who asked. 0 or -errno. */
static int make_sockets(enum launcher_kind kind, int handed_fd, int pair[2])
{
	pair[0] = pair[1] = -1;
	if (kind == LAUNCHER_ATTACH) {
		pair[1] = handed_fd;
		return handed_fd >= 0 ? 0 : -EBADF;
	}
	return socketpair(AF_UNIX,
			  (kind == LAUNCHER_NAMER ? SOCK_STREAM : SOCK_SEQPACKET) | SOCK_CLOEXEC, 0,
			  pair) ?
		       -errno :
		       0;
}

/* A namer asks the launcher itself: a further socket, whose other end becomes an asker. */
static int make_asker(enum launcher_kind kind, int pair[2])
{
	pair[0] = pair[1] = -1;
	if (kind != LAUNCHER_NAMER)
		return 0;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) ? -errno : 0;
}

/* pid or -errno; *socket_out is the asker's end. */
static pid_t child_fork(struct state *state, const struct request *request, uint32_t asker,
			int handed_fd, int *socket_out)
{
	enum launcher_kind kind = (enum launcher_kind)request->kind;
	struct launcher_child child = { .launcher = getpid(), .ctx = state->options->ctx };
	struct child *slot = new_child(state);
	int sockets[2], askers[2], place = 0, err;
	pid_t pid;

	err = !slot ? -EAGAIN : make_sockets(kind, handed_fd, sockets);
	if (err)
		return err;
	*socket_out = sockets[0];
	__cleanup_fd int child_fd = kind == LAUNCHER_ATTACH ? -1 : sockets[1];
	err = make_asker(kind, askers);
	if (!err && kind == LAUNCHER_NAMER)
		place = free_asker(state);
	__cleanup_fd int namer_fd = askers[1];
	__cleanup_fd int asker_fd = askers[0];
	if (err || place < 0)
		return err ? err : place;
	child.socket_fd = kind == LAUNCHER_ATTACH ? handed_fd : child_fd;
	child.launcher_fd = namer_fd;
	memcpy(child.numbers, request->numbers, sizeof(child.numbers));
	pid = fork();
	if (pid == 0)
		child_main(state, kind, &child);
	if (pid < 0)
		return -errno;
	*slot = (struct child){ .pid = pid, .asker = asker };
	if (kind == LAUNCHER_NAMER)
		state->asker_fds[place] = take_fd(&asker_fd);
	return pid;
}

static int serve_start(struct state *state, const struct request *request, uint32_t asker,
		       int handed_fd, struct answer *answer, int *socket_out)
{
	uint32_t kind = request->kind;
	bool is_sampler = asker == 0;
	pid_t pid;

	if (kind == LAUNCHER_NONE || kind >= LAUNCHER_KIND_CNT ||
	    is_sampler != (kind == LAUNCHER_NAMER))
		return -EPERM;
	if (!state->options->programs[kind])
		return -ENOTSUP;
	if (count_hanging(state) >= (kind == LAUNCHER_OPENER ? MAX_HANGING_OPENERS : MAX_HANGING))
		return -EAGAIN;
	pid = child_fork(state, request, asker, handed_fd, socket_out);
	if (pid < 0)
		return pid;
	answer->pid = pid;
	return 0;
}

/* Kills and waits a moment. 0 with a status, or -EBUSY. */
static int serve_end(struct state *state, pid_t pid, uint32_t asker, struct answer *answer)
{
	const struct timespec pause = { .tv_nsec = (long)CLOCK_NS_PER_MS };
	struct child *child = NULL;

	for (size_t i = 0; i < state->child_cnt; i++)
		if (state->children[i].pid == pid && state->children[i].asker == asker)
			child = &state->children[i];
	if (!child)
		return -ESRCH;
	/* One that has ended by itself keeps its own status; its pid may be another's by now. */
	if (!child->has_ended)
		(void)kill(pid, SIGKILL);
	child->is_killed = true;
	for (int i = 0; i < END_WAIT_MS && !child->has_ended; i++) {
		reap(state);
		if (!child->has_ended)
			(void)nanosleep(&pause, NULL);
	}
	if (!child->has_ended)
		return -EBUSY;
	answer->status = child->status;
	child->pid = 0;
	return 0;
}

/* What a namer that is gone had started is of no use to anybody. */
static void drop_asker(struct state *state, uint32_t asker)
{
	close(state->asker_fds[asker]);
	state->asker_fds[asker] = -1;
	for (size_t i = 0; i < state->child_cnt; i++) {
		struct child *child = &state->children[i];

		if (child->asker != asker || child->has_ended)
			continue;
		(void)kill(child->pid, SIGKILL);
		child->is_killed = true;
	}
}

/* 0 or -errno: what was started and not told of ends, as nobody has the other end of its socket. */
static int send_answer(int asker_fd, const struct answer *answer, const int *fd, size_t fd_cnt)
{
	const struct timespec pause = { .tv_nsec = (long)CLOCK_NS_PER_MS };
	int err = fd_message_send(asker_fd, answer, sizeof(*answer), fd, fd_cnt);

	for (int i = 1; i < SEND_TRIES && err && err != -EPIPE; i++) {
		(void)nanosleep(&pause, NULL);
		err = fd_message_send(asker_fd, answer, sizeof(*answer), fd, fd_cnt);
	}
	return err;
}

/* False: the other side is gone. */
static bool serve(struct state *state, uint32_t asker)
{
	struct answer answer = { .status = -1 };
	struct request request;
	int handed = -1, socket_fd = -1;
	size_t len, fd_cnt = 0;
	int err = fd_message_receive(state->asker_fds[asker], MSG_DONTWAIT, &request,
				     sizeof(request), &len, &handed, 1, &fd_cnt);
	__cleanup_fd int handed_fd = fd_cnt ? handed : -1;

	if (err && err != -EPIPE && err != -EBADMSG)
		return true; /* none is there, or the next turn gets it */
	if (err || len != sizeof(request))
		return false;
	if (request.kind == REQUEST_END)
		answer.err = serve_end(state, request.pid, asker, &answer);
	else
		answer.err = serve_start(state, &request, asker, handed_fd, &answer, &socket_fd);
	__cleanup_fd int answer_fd = socket_fd;
	return send_answer(state->asker_fds[asker], &answer, &answer_fd,
			   answer_fd >= 0 && !answer.err) != -EPIPE;
}

static void drain_signals(int signal_fd)
{
	struct signalfd_siginfo info;

	while (read(signal_fd, &info, sizeof(info)) == sizeof(info))
		;
}

static void launcher_loop(struct state *state)
{
	for (;;) {
		struct pollfd fds[MAX_ASKERS + 1];

		for (size_t i = 0; i < MAX_ASKERS; i++)
			fds[i] = (struct pollfd){ .fd = state->asker_fds[i], .events = POLLIN };
		fds[MAX_ASKERS] = (struct pollfd){ .fd = state->signal_fd, .events = POLLIN };
		if (poll(fds, MAX_ASKERS + 1, -1) < 0 && errno != EINTR)
			return;
		drain_signals(state->signal_fd);
		reap(state);
		for (uint32_t i = 0; i < MAX_ASKERS; i++) {
			if (!fds[i].revents || state->asker_fds[i] < 0 || serve(state, i))
				continue;
			if (i == 0)
				return;
			drop_asker(state, i);
		}
	}
}

/* Signals to the whole group are for the sampler, which still wants its last window named. */
static int open_signals(void)
{
	sigset_t all, wanted;

	sigfillset(&all);
	sigemptyset(&wanted);
	sigaddset(&wanted, SIGCHLD);
	child_process_reset_signals(NULL, 0);
	if (sigprocmask(SIG_SETMASK, &all, NULL))
		return -errno;
	return signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int launcher_main(const struct launcher_options *options, int socket_fd, pid_t parent)
{
	static struct state state; /* for the child's whole life */
	struct answer ready = { 0 };
	int none = -1;
	int *const kept[] = { &socket_fd, options->kept_fd ? options->kept_fd : &none };
	int err;

	/* The store's lock, BPF objects: they live as long as somebody has them open. */
	if (child_process_keep_fds(kept, ARRAY_SIZE(kept)))
		return 1;
	state.options = options;
	for (size_t i = 1; i < MAX_ASKERS; i++)
		state.asker_fds[i] = -1;
	state.asker_fds[0] = socket_fd;
	(void)prctl(PR_SET_NAME, LAUNCHER_NAME);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		return 1;
	state.signal_fd = open_signals();
	ready.err = options->confine ? options->confine(options->ctx) : 0;
	if (!ready.err && state.signal_fd < 0)
		ready.err = -EIO;
	err = fd_message_send(socket_fd, &ready, sizeof(ready), NULL, 0);
	if (!err && !ready.err)
		launcher_loop(&state);
	return 0;
}

/* ---- in those who ask ---- */

/* It answers at once, unless the host is so busy that nothing works. */
static int await_answer(const struct launcher *launcher, struct answer *answer, int *fd_out)
{
	struct pollfd wait = { .fd = launcher->socket_fd, .events = POLLIN };
	size_t len, fd_cnt = 0;
	int err;

	do
		err = poll(&wait, 1, ANSWER_TIMEOUT_MS);
	while (err < 0 && errno == EINTR);
	if (err <= 0)
		return err ? -errno : -ETIMEDOUT;
	err = fd_message_receive(launcher->socket_fd, MSG_DONTWAIT, answer, sizeof(*answer), &len,
				 fd_out, 1, &fd_cnt);
	if (!err && !fd_cnt)
		*fd_out = -1;
	if (!err && len != sizeof(*answer))
		err = -EBADMSG;
	return err;
}

/* What came too late, or could not be read, would be taken for the answer to the next request. */
static void forget_answers(const struct launcher *launcher)
{
	struct answer answer;
	size_t len, fd_cnt = 0;
	int fd = -1;

	while (fd_message_receive(launcher->socket_fd, MSG_DONTWAIT, &answer, sizeof(answer), &len,
				  &fd, 1, &fd_cnt) == 0)
		if (fd_cnt)
			close(fd);
}

int launcher__open(const struct launcher_options *options, struct launcher **out)
{
	struct launcher *launcher = calloc(1, sizeof(*launcher));
	struct answer ready;
	pid_t parent = getpid();
	int sockets[2], none = -1, err;

	if (!launcher)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets)) {
		err = -errno;
		free(launcher);
		return err;
	}
	launcher->socket_fd = sockets[0];
	launcher->pid = fork();
	if (launcher->pid == 0) {
		close(sockets[0]);
		_exit(launcher_main(options, sockets[1], parent));
	}
	close(sockets[1]);
	err = launcher->pid < 0 ? -errno : await_answer(launcher, &ready, &none);
	if (!err)
		err = ready.err;
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

	if (launcher)
		launcher->socket_fd = launcher_fd;
	return launcher;
}

void launcher__free(struct launcher *launcher)
{
	if (!launcher)
		return;
	close(launcher->socket_fd);
	/* It ends when its socket is closed, and waits for nobody. */
	if (launcher->pid > 0)
		while (waitpid(launcher->pid, NULL, 0) < 0 && errno == EINTR)
			;
	free(launcher);
}

pid_t launcher__pid(const struct launcher *launcher)
{
	return launcher->pid;
}

int launcher__start(struct launcher *launcher, enum launcher_kind kind, const uint64_t *numbers,
		    int handed_fd, int *socket_out, pid_t *pid_out)
{
	struct request request = { .kind = kind };
	struct answer answer;
	int socket_fd = -1;
	int err;

	if (numbers)
		memcpy(request.numbers, numbers, sizeof(request.numbers));
	forget_answers(launcher);
	err = fd_message_send(launcher->socket_fd, &request, sizeof(request), &handed_fd,
			      handed_fd >= 0);
	if (!err)
		err = await_answer(launcher, &answer, &socket_fd);
	__cleanup_fd int fd = socket_fd;
	if (!err)
		err = answer.err;
	if (err)
		return err;
	if (socket_out)
		*socket_out = take_fd(&fd);
	if (pid_out)
		*pid_out = answer.pid;
	return 0;
}

int launcher__end(struct launcher *launcher, pid_t pid)
{
	struct request request = { .kind = REQUEST_END, .pid = pid };
	struct answer answer;
	int none = -1, err;

	forget_answers(launcher);
	err = fd_message_send(launcher->socket_fd, &request, sizeof(request), NULL, 0);
	if (!err)
		err = await_answer(launcher, &answer, &none);
	return err || answer.err ? -1 : answer.status;
}
