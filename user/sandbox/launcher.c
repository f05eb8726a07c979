// SPDX-License-Identifier: Apache-2.0
/*
 * See launcher.h; launcher_handle.c is the side of those that ask. The launcher's sockets: one of the
 * sampler, one of each namer that lives. A request is a message, answered by one. The life of a child:
 *
 *           started, adopted          END; its asker is gone
 *     FREE -----------------> RUNS -------------------------> KILLED
 *      ^                        |                               |
 *      |                        +---- reaped, on SIGCHLD -------+
 *      |                        v
 *      +--------------------- ENDED
 *        END tells its status; nobody will ask for it; no other place is free
 *
 * One that stays KILLED hangs in the kernel, on a file server or a page fault. Such children are counted,
 * and when there are too many none like them is started until one of them has ended.
 *
 * The copy that a namer makes of itself (namer_copy.h):
 *
 *           NEW_COPY               ADOPT             TAKE
 *     none ----------> being made ---------> asleep ---------> a namer as any other
 *                          |                    |
 *                          | its maker asks     | another one is adopted, a new namer is started,
 *                          | again, is gone, or | or it does not keep its end of a socket
 *                          v names no copy      v
 *                        none                 none, and it is killed
 */
#include "user/sandbox/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "user/host/proc_stat.h"
#include "user/sandbox/child_process.h"
#include "user/sandbox/launcher_wire.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/fd_message.h"
#include "user/util/log.h"

#define LAUNCHER_NAME	    "jbpfd-launcher" /* at most 15 bytes */
#define MAX_ASKERS	    12u /* the sampler, namers that work or are about to end, and their copies */
#define MAX_CHILDREN	    256u
#define MAX_HANGING_OPENERS 32u
#define END_WAIT_MS	    100
#define NOBODY		    UINT32_MAX
#define SEND_TRIES	    100 /* the kernel may be short of memory for a moment */

/* ---- in the launcher ---- */

enum child_state {
	CHILD_FREE = 0,
	CHILD_RUNS,
	CHILD_KILLED,
	CHILD_ENDED,
};

struct child {
	enum child_state state;
	pid_t pid;
	int status;	/* of wait(), once it has ENDED */
	uint32_t asker; /* index of the process that started it, or NOBODY */
	uint32_t place; /* where it asks itself; 0: it does not */
	enum launcher_kind kind;
};

/* A copy that a namer makes of itself. */
struct copy {
	int socket_fd; /* the end that the sampler gets when it takes the copy; -1 = there is none */
	uint32_t place; /* where it asks */
	uint32_t maker; /* where the namer that makes it asks */
	pid_t pid;
};

static const struct copy no_copy = { .socket_fd = -1 };

struct state {
	const struct launcher_options *options;
	int signal_fd;
	int asker_fds[MAX_ASKERS]; /* [0]: the sampler; -1 = free */
	struct child children[MAX_CHILDREN];
	struct copy asleep;
	struct copy being_made; /* it has no pid yet */
};

/* ---- children ---- */

static bool is_alive(const struct child *child)
{
	return child->state == CHILD_RUNS || child->state == CHILD_KILLED;
}

static void note_reaped(struct child *child, int status)
{
	child->status = status;
	child->state = child->asker == NOBODY ? CHILD_FREE : CHILD_ENDED;
}

/* Nobody will ask for it any more. */
static void drop_child(struct child *child)
{
	child->asker = NOBODY;
	if (is_alive(child))
		(void)kill(child->pid, SIGKILL);
	child->state = is_alive(child) ? CHILD_KILLED : CHILD_FREE;
}

static struct child *find_alive(struct state *state, pid_t pid)
{
	for (size_t i = 0; i < MAX_CHILDREN; i++)
		if (state->children[i].pid == pid && is_alive(&state->children[i]))
			return &state->children[i];
	return NULL;
}

static struct child *child_of(struct state *state, pid_t pid, uint32_t asker)
{
	for (size_t i = 0; i < MAX_CHILDREN; i++) {
		struct child *child = &state->children[i];

		if (child->state != CHILD_FREE && child->pid == pid && child->asker == asker)
			return child;
	}
	return NULL;
}

static void reap(struct state *state)
{
	struct child *child;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		child = find_alive(state, pid);
		if (child)
			note_reaped(child, status);
	}
}

/* Ended ones of which nobody has asked yet give their place away when there is no other. */
static struct child *new_child(struct state *state)
{
	struct child *unasked = NULL;

	for (size_t i = 0; i < MAX_CHILDREN; i++) {
		struct child *child = &state->children[i];

		if (child->state == CHILD_FREE)
			return child;
		if (child->state == CHILD_ENDED && !unasked)
			unasked = child;
	}
	return unasked;
}

/*
 * Those that work on files of containers are counted apart, since a container may have several of them:
 * without namer and parser nobody has names.
 */
static enum launcher_kind counted_as(enum launcher_kind kind)
{
	return kind == LAUNCHER_OPENER || kind == LAUNCHER_ATTACH ? kind : LAUNCHER_NONE;
}

static bool too_many_hang(const struct state *state, enum launcher_kind kind)
{
	static const size_t max[] = {
		[LAUNCHER_NONE] = LAUNCHER_MAX_HANGING,
		[LAUNCHER_OPENER] = MAX_HANGING_OPENERS,
		[LAUNCHER_ATTACH] = LAUNCHER_MAX_HANGING_ATTACH,
	};
	size_t cnt = 0;

	for (size_t i = 0; i < MAX_CHILDREN; i++)
		cnt += state->children[i].state == CHILD_KILLED &&
		       counted_as(state->children[i].kind) == counted_as(kind);
	return cnt >= max[counted_as(kind)];
}

static int free_asker(const struct state *state)
{
	for (uint32_t i = 1; i < MAX_ASKERS; i++)
		if (state->asker_fds[i] < 0)
			return (int)i;
	return -EAGAIN;
}

/* A child and its program, for the moment of the fork. */
struct birth {
	const struct state *state;
	enum launcher_kind kind;
	struct launcher_child child;
};

/* Each program closes the other descriptors itself, in child_process_become(). */
static int child_main(int none, const void *ctx)
{
	static const struct child_options options = { .signals = CHILD_SIGNALS_OF_PARENT };
	const struct birth *birth = ctx;
	const struct state *state = birth->state;
	int err = child_process_become(&options);

	(void)none;
	if (err)
		return err;
	for (size_t i = 0; i < MAX_ASKERS; i++)
		if (state->asker_fds[i] >= 0)
			close(state->asker_fds[i]);
	close(state->signal_fd);
	return state->options->programs[birth->kind](&birth->child);
}

/* What a child talks over: [0] is the other's end, [1] its own; -1 = none. */
struct channels {
	int to_asker[2];
	int to_launcher[2]; /* of a namer, which asks itself */
	uint32_t place;	    /* where the launcher listens to it; 0: nowhere */
};

static void channels_release(struct channels *channels)
{
	for (int i = 0; i < 2; i++) {
		cleanup_fd_(&channels->to_asker[i]);
		cleanup_fd_(&channels->to_launcher[i]);
	}
}

#define __cleanup_channels __attribute__((cleanup(channels_release)))
#define NO_CHANNELS                                               \
	{                                                         \
		.to_asker = { -1, -1 }, .to_launcher = { -1, -1 } \
	}

/* Of NO_CHANNELS; what is left of them is released by the caller. */
static int channels_open(const struct state *state, bool is_namer, struct channels *out)
{
	int place = is_namer ? free_asker(state) : 0;

	out->place = (uint32_t)place;
	if (place < 0)
		return place;
	if (socketpair(AF_UNIX, (is_namer ? SOCK_STREAM : SOCK_SEQPACKET) | SOCK_CLOEXEC, 0,
		       out->to_asker))
		return -errno;
	/* A namer that does not read its answers must not keep the others waiting. */
	if (is_namer && (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, out->to_launcher) ||
			 fcntl(out->to_launcher[0], F_SETFL, O_NONBLOCK)))
		return -errno;
	return 0;
}

/* ---- askers, and copies of them ---- */

/* The place is free from now on: whoever had it has none, even if it lives. */
static void close_asker(struct state *state, uint32_t asker)
{
	for (size_t i = 0; i < MAX_CHILDREN; i++)
		if (state->children[i].place == asker)
			state->children[i].place = 0;
	close_fd(&state->asker_fds[asker]);
}

/* A copy that sleeps ends when its socket is closed; one that does not is killed. */
static void drop_copy(struct state *state, struct copy *copy)
{
	struct child *child = copy->pid ? find_alive(state, copy->pid) : NULL;

	if (copy->socket_fd < 0)
		return;
	close(copy->socket_fd);
	close_asker(state, copy->place);
	*copy = no_copy;
	if (child)
		drop_child(child);
}

/* Children of a namer that is gone are of no use any more, except for the copy that it has made. */
static void drop_asker(struct state *state, uint32_t asker)
{
	close_asker(state, asker);
	for (size_t i = 0; i < MAX_CHILDREN; i++)
		if (state->children[i].state != CHILD_FREE && state->children[i].asker == asker)
			drop_child(&state->children[i]);
	if (state->asleep.place == asker)
		drop_copy(state, &state->asleep);
	if (state->being_made.place == asker || state->being_made.maker == asker)
		drop_copy(state, &state->being_made);
}

/* Its sockets, one to the sampler and one to the launcher. */
static int serve_new_copy(struct state *state, uint32_t asker, struct reply *reply)
{
	__cleanup_channels struct channels channels = NO_CHANNELS;
	int err;

	drop_copy(state, &state->being_made);
	err = asker == 0 ? -EPERM : channels_open(state, true, &channels);
	if (err)
		return err;
	state->asker_fds[channels.place] = take_fd(&channels.to_launcher[0]);
	state->being_made = (struct copy){
		.socket_fd = take_fd(&channels.to_asker[0]),
		.place = channels.place,
		.maker = asker,
	};
	reply->fds[0] = take_fd(&channels.to_asker[1]);
	reply->fds[1] = take_fd(&channels.to_launcher[1]);
	return 0;
}

/*
 * The namer says which process it is. It is believed only of a child of the launcher's that the
 * launcher did not start: no other can be killed by that, and none that has the number later.
 */
static int adopt(struct state *state, pid_t pid, uint32_t asker)
{
	siginfo_t info;
	struct child *slot;

	if (state->being_made.socket_fd < 0 || state->being_made.maker != asker)
		return -EPERM;
	if (find_alive(state, pid))
		return -EEXIST;
	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT))
		return -errno;
	slot = new_child(state);
	if (!slot)
		return -EAGAIN;
	*slot = (struct child){ .state = CHILD_RUNS,
				.pid = pid,
				.place = state->being_made.place,
				.kind = LAUNCHER_NAMER };
	drop_copy(state, &state->asleep);
	state->asleep = state->being_made;
	state->asleep.pid = pid;
	state->being_made = no_copy;
	return 0;
}

static int serve_adopt(struct state *state, pid_t pid, uint32_t asker)
{
	int err = adopt(state, pid, asker);

	if (err && state->being_made.maker == asker)
		drop_copy(state, &state->being_made);
	return err;
}

/* From now on it is a namer as any other. */
static int serve_take(struct state *state, uint32_t asker, struct reply *reply)
{
	if (asker != 0)
		return -EPERM;
	if (state->asleep.socket_fd < 0)
		return -ENOENT;
	if (!find_alive(state, state->asleep.pid)) {
		drop_copy(state, &state->asleep);
		return -ENOENT;
	}
	reply->answer.pid = state->asleep.pid;
	reply->fds[0] = state->asleep.socket_fd;
	state->asleep = no_copy;
	return 0;
}

/* ---- requests ---- */

/* pid or -errno; *socket_out is the asker's end. */
static pid_t child_fork(struct state *state, const struct request *request, uint32_t asker,
			int *socket_out)
{
	enum launcher_kind kind = (enum launcher_kind)request->kind;
	struct birth birth = { .state = state, .kind = kind, .child.ctx = state->options->ctx };
	__cleanup_channels struct channels channels = NO_CHANNELS;
	struct child *slot = new_child(state);
	int err = slot ? channels_open(state, kind == LAUNCHER_NAMER, &channels) : -EAGAIN;
	pid_t pid;

	if (err)
		return err;
	birth.child.socket_fd = channels.to_asker[1];
	birth.child.launcher_fd = channels.to_launcher[1];
	memcpy(birth.child.numbers, request->numbers, sizeof(birth.child.numbers));
	err = child_process_start(child_main, &birth, NULL, &pid);
	if (err)
		return err;
	*slot = (struct child){
		.state = CHILD_RUNS,
		.pid = pid,
		.asker = asker,
		.place = channels.place,
		.kind = kind,
	};
	if (channels.place)
		state->asker_fds[channels.place] = take_fd(&channels.to_launcher[0]);
	*socket_out = take_fd(&channels.to_asker[0]);
	return pid;
}

static int serve_start(struct state *state, const struct request *request, uint32_t asker,
		       struct reply *reply)
{
	uint32_t kind = request->kind;
	bool is_sampler = asker == 0;
	pid_t pid;

	if (kind == LAUNCHER_NONE || kind >= LAUNCHER_KIND_CNT ||
	    is_sampler != (kind == LAUNCHER_NAMER || kind == LAUNCHER_LOOKER))
		return -EPERM;
	if (!state->options->programs[kind])
		return -ENOTSUP;
	if (too_many_hang(state, (enum launcher_kind)kind))
		return -EBUSY;
	/* A copy of an earlier namer is not wanted any more. */
	if (kind == LAUNCHER_NAMER) {
		drop_copy(state, &state->asleep);
		drop_copy(state, &state->being_made);
	}
	pid = child_fork(state, request, asker, &reply->fds[0]);
	if (pid < 0)
		return pid;
	reply->answer.pid = pid;
	return 0;
}

/* Of one that has not ended, whose number is its own. */
static int serve_state(struct state *state, pid_t pid, uint32_t asker,
		       struct launcher_answer *answer)
{
	const struct child *child = child_of(state, pid, asker);
	struct proc_stat stat;
	int err;

	if (!child || !is_alive(child))
		return -ESRCH;
	__cleanup_fd int proc_fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = proc_fd < 0 ? -errno : proc_stat_read(proc_fd, (uint32_t)pid, &stat);
	if (err)
		/* There is no such child only where the launcher says so. */
		return err == -ESRCH ? -ENOENT : err;
	answer->state = stat.state;
	return 0;
}

/* Kills and waits a moment. 0 with a status, or -EBUSY. */
static int serve_end(struct state *state, pid_t pid, uint32_t asker, struct launcher_answer *answer)
{
	struct child *child = child_of(state, pid, asker);

	if (!child)
		return -ESRCH;
	/* The pid of one that was reaped may be another's by now. */
	if (is_alive(child)) {
		int status = child_process_end(pid, END_WAIT_MS);

		child->state = CHILD_KILLED;
		if (status >= 0)
			note_reaped(child, status);
	}
	if (is_alive(child)) {
		/* It asks nothing any more, and may hang for ever: its place is another's. */
		if (child->place)
			drop_asker(state, child->place);
		return -EBUSY;
	}
	answer->status = child->status;
	child->state = CHILD_FREE;
	return 0;
}

static int serve_request(struct state *state, const struct request *request, uint32_t asker,
			 struct reply *reply)
{
	switch (request->kind) {
	case REQUEST_END:
		return serve_end(state, request->pid, asker, &reply->answer);
	case REQUEST_STATE:
		return serve_state(state, request->pid, asker, &reply->answer);
	case REQUEST_NEW_COPY:
		return serve_new_copy(state, asker, reply);
	case REQUEST_ADOPT:
		return serve_adopt(state, request->pid, asker);
	case REQUEST_TAKE:
		return serve_take(state, asker, reply);
	default:
		return serve_start(state, request, asker, reply);
	}
}

/* 0 or -errno: a child that was not reported ends, as nobody has the other end of its socket. */
static int send_answer(int asker_fd, const struct reply *reply, size_t fd_cnt)
{
	const struct timespec pause = { .tv_nsec = (long)CLOCK_NS_PER_MS };
	int err = 0;

	for (int i = 0; i < SEND_TRIES; i++) {
		err = fd_message_send(asker_fd, &reply->answer, sizeof(reply->answer), reply->fds,
				      fd_cnt);
		if (!err || err == -EPIPE || err == -EAGAIN)
			break;
		(void)nanosleep(&pause, NULL);
	}
	return err;
}

/* False: the other side is gone, or does not read its answers. */
static bool serve(struct state *state, uint32_t asker)
{
	struct reply reply = { .answer = { .status = -1 }, .fds = { -1, -1 } };
	struct request request;
	size_t len, fd_cnt;
	int err = fd_message_receive(state->asker_fds[asker], MSG_DONTWAIT, &request,
				     sizeof(request), &len, NULL, 0, NULL);

	if (err && err != -EPIPE && err != -EBADMSG)
		return true; /* none is there, or the next turn gets it */
	if (err || len != sizeof(request))
		return false;
	reply.answer.err = serve_request(state, &request, asker, &reply);
	__cleanup_fd int first_fd = reply.fds[0];
	__cleanup_fd int second_fd = reply.fds[1];
	fd_cnt = reply.answer.err ? 0 : (size_t)(first_fd >= 0) + (second_fd >= 0);
	err = send_answer(state->asker_fds[asker], &reply, fd_cnt);
	return err != -EPIPE && err != -EAGAIN;
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

static int open_signals(void)
{
	sigset_t wanted;

	sigemptyset(&wanted);
	sigaddset(&wanted, SIGCHLD);
	return signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
}

/*
 * A child may hang for as long as others please. Whoever reads the output of this program's caller does
 * not wait for the child then, and a reader that stops reading does not hold up the child.
 */
static int become_silent(int log_fd)
{
	__cleanup_fd int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	int from_fd = null_fd < 0 ? log_fd : null_fd;

	log_keep_form();
	if (dup2(from_fd, STDIN_FILENO) < 0 || dup2(from_fd, STDOUT_FILENO) < 0 ||
	    dup2(log_fd, STDERR_FILENO) < 0)
		return -errno;
	close(log_fd);
	return 0;
}

/* Signals to the whole group are for the sampler, which still wants its last window named. */
static int become_launcher(const struct launcher_options *options, int *socket_fd, int log_fd)
{
	int none = -1;
	int *const kept[] = { socket_fd, options->kept_fd ? options->kept_fd : &none, &log_fd };
	const struct child_options child = {
		.name = LAUNCHER_NAME,
		.signals = CHILD_SIGNALS_BLOCKED,
		.fds = CHILD_FDS_STANDARD,
		.kept = kept,
		.kept_cnt = ARRAY_SIZE(kept),
	};
	int err = child_process_become(&child);

	return err ? err : become_silent(log_fd);
}

int launcher_main(int socket_fd, const void *ctx)
{
	static struct state state; /* for the child's whole life */
	const struct launcher_birth *birth = ctx;
	const struct launcher_options *options = birth->options;
	struct launcher_answer ready = { 0 };
	int err = become_launcher(options, &socket_fd, birth->log_fd);

	if (err)
		return err;
	state.options = options;
	state.asleep = state.being_made = no_copy;
	for (size_t i = 1; i < MAX_ASKERS; i++)
		state.asker_fds[i] = -1;
	state.asker_fds[0] = socket_fd;
	state.signal_fd = open_signals();
	ready.err = options->confine(options->ctx);
	if (!ready.err && state.signal_fd < 0)
		ready.err = -EIO;
	err = fd_message_send(socket_fd, &ready, sizeof(ready), NULL, 0);
	if (!err && !ready.err)
		launcher_loop(&state);
	return 0;
}
