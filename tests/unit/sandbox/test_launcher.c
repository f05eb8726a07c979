// SPDX-License-Identifier: Apache-2.0
/*
 * The process that starts, ends and reaps the others: what its children get, who may ask for what,
 * and that it and they end when nobody needs them. Programs of this test run as its children.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/sandbox/launcher.h"
#include "user/sandbox/child_process.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define HANGING_MAX ((int)LAUNCHER_MAX_HANGING)

/* What a child says of itself, and what it is told to do; [0] of its numbers. */
enum task {
	TASK_WAIT,     /* until its socket is closed, then exits with numbers[1] */
	TASK_EXIT,     /* at once, with numbers[1] */
	TASK_CRASH,    /* by SIGSEGV */
	TASK_STUBBORN, /* blocks and ignores all signals, and waits for ever */
	TASK_ASK,      /* a namer: starts one child of each kind and says what came of it */
	TASK_MANY, /* a namer: starts HANGING_MAX of kind numbers[1] and names them, then waits */
	TASK_ASK_AGAIN, /* a namer: ends what it did not start */
	TASK_FLOOD,	/* a namer: asks without end, and reads no answer */
	TASK_HANG_UP,	/* a namer: closes its socket to the launcher, then waits */
	TASK_ASK_LATER, /* a namer: as TASK_ASK, once it was told to */
};

struct report {
	pid_t pid;
	pid_t launcher;
	int launcher_fd;
	uint64_t numbers[LAUNCHER_NUMBERS];
	void *ctx;
	bool blocks_signals;
	bool ignores_pipe;
	int err[LAUNCHER_KIND_CNT];
	int status;
	pid_t pids[HANGING_MAX];
};

static int context; /* its address is what children get as ctx */

static void report_fill(struct report *report, const struct launcher_child *child)
{
	struct sigaction action;
	sigset_t blocked;

	memset(report, 0, sizeof(*report));
	report->pid = getpid();
	report->launcher = getppid();
	report->launcher_fd = child->launcher_fd;
	report->ctx = child->ctx;
	memcpy(report->numbers, child->numbers, sizeof(report->numbers));
	sigprocmask(SIG_SETMASK, NULL, &blocked);
	for (int signo = 1; signo < NSIG; signo++)
		report->blocks_signals |= sigismember(&blocked, signo) == 1;
	report->ignores_pipe = sigaction(SIGPIPE, NULL, &action) == 0 &&
			       action.sa_handler == SIG_IGN;
}

static void wait_for_end(int fd)
{
	char byte;

	while (recv(fd, &byte, 1, 0) > 0)
		;
}

static void wait_for_word(int fd)
{
	char byte;

	(void)recv(fd, &byte, 1, 0);
}

/* What may a namer ask for? */
static void ask_all(const struct launcher_child *child, struct report *report)
{
	struct launcher *launcher = launcher__from_fd(child->launcher_fd);

	for (int kind = 0; kind < LAUNCHER_KIND_CNT; kind++) {
		const uint64_t numbers[LAUNCHER_NUMBERS] = { TASK_EXIT, 7 };
		int socket_fd = -1;
		pid_t pid;

		report->err[kind] = launcher__start(launcher, (enum launcher_kind)kind, numbers,
						    &socket_fd, &pid);
		if (report->err[kind])
			continue;
		wait_for_end(socket_fd);
		report->status = launcher__end(launcher, pid);
	}
}

static void start_many(const struct launcher_child *child, struct report *report)
{
	struct launcher *launcher = launcher__from_fd(child->launcher_fd);
	const uint64_t numbers[LAUNCHER_NUMBERS] = { TASK_STUBBORN };

	for (int i = 0; i < HANGING_MAX; i++)
		(void)launcher__start(launcher, (enum launcher_kind)child->numbers[1], numbers,
				      NULL, &report->pids[i]);
}

static void ask_for_anothers(const struct launcher_child *child, struct report *report)
{
	struct launcher *launcher = launcher__from_fd(child->launcher_fd);

	report->status = launcher__end(launcher, (pid_t)child->numbers[1]);
}

#define REQUEST_BYTES 72u
#define FLOOD_TRIES   50

/* Until it is refused, or the launcher has read nothing for a while. */
static void flood(const struct launcher_child *child)
{
	static const uint32_t request[REQUEST_BYTES / sizeof(uint32_t)] = { 100, 1 };
	int full = 0;

	while (full < FLOOD_TRIES) {
		if (send(child->launcher_fd, request, sizeof(request),
			 MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
			full = 0;
			continue;
		}
		if (errno != EAGAIN)
			return;
		full++;
		(void)poll(NULL, 0, 1);
	}
}

static void __attribute__((noreturn)) be_stubborn(int fd)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	for (int signo = 1; signo < NSIG; signo++)
		(void)signal(signo, SIG_IGN);
	(void)send(fd, "s", 1, MSG_NOSIGNAL);
	for (;;)
		pause();
}

static int child_main(const struct launcher_child *given)
{
	struct launcher_child own = *given;
	const struct launcher_child *child = &own;
	int *const kept[] = { &own.socket_fd, &own.launcher_fd };
	const struct child_options options = { .fds = CHILD_FDS_STANDARD,
					       .kept = kept,
					       .kept_cnt = ARRAY_SIZE(kept) };
	struct report report;

	/* As all programs do: else it would have both ends of its socket. */
	if (child_process_become(&options))
		return 1;
	report_fill(&report, child);
	if (child->numbers[0] == TASK_EXIT)
		return (int)child->numbers[1];
	if (child->numbers[0] == TASK_CRASH) {
		(void)signal(SIGSEGV, SIG_DFL);
		raise(SIGSEGV);
	}
	if (child->numbers[0] == TASK_STUBBORN)
		be_stubborn(child->socket_fd);
	if (child->numbers[0] == TASK_ASK_LATER)
		wait_for_word(child->socket_fd);
	if (child->numbers[0] == TASK_ASK || child->numbers[0] == TASK_ASK_LATER)
		ask_all(child, &report);
	if (child->numbers[0] == TASK_MANY)
		start_many(child, &report);
	if (child->numbers[0] == TASK_ASK_AGAIN)
		ask_for_anothers(child, &report);
	if (child->numbers[0] == TASK_FLOOD)
		flood(child);
	if (child->numbers[0] == TASK_HANG_UP)
		close(child->launcher_fd);
	(void)send(child->socket_fd, &report, sizeof(report), MSG_NOSIGNAL);
	wait_for_end(child->socket_fd);
	return (int)child->numbers[1];
}

/* It keeps the rights of the test. */
static int not_confined(void *ctx)
{
	(void)ctx;
	return 0;
}

static const struct launcher_options all_kinds = {
	.programs = { [LAUNCHER_NAMER] = child_main,
		      [LAUNCHER_PARSER] = child_main,
		      [LAUNCHER_ATTACH] = child_main },
	.confine = not_confined,
	.ctx = &context,
};

static int quiet(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_ERR);
	return 0;
}

static struct launcher *launcher_make(void)
{
	struct launcher *launcher;

	assert_int_equal(launcher__open(&all_kinds, &launcher), 0);
	return launcher;
}

static pid_t namer_start(struct launcher *launcher, enum task task, uint64_t number, int *socket)
{
	const uint64_t numbers[LAUNCHER_NUMBERS] = { task, number, [7] = 99 };
	pid_t pid;

	assert_int_equal(launcher__start(launcher, LAUNCHER_NAMER, numbers, socket, &pid), 0);
	return pid;
}

static void read_report(int fd, struct report *report)
{
	assert_int_equal(recv(fd, report, sizeof(*report), MSG_WAITALL), sizeof(*report));
}

/* Until the process is no more, or is a zombie of somebody else's. */
static void await_gone(pid_t pid)
{
	uint64_t end_ns = clock_monotonic_ns() + 20 * CLOCK_NS_PER_S;

	while (kill(pid, 0) == 0 && clock_monotonic_ns() < end_ns)
		(void)poll(NULL, 0, 1);
	assert_int_equal(kill(pid, 0), -1);
}

static void a_child_gets_what_it_was_started_with_and_plain_signals(void **state)
{
	struct launcher *launcher = launcher_make();
	struct report report;
	int socket_fd;
	pid_t pid = namer_start(launcher, TASK_WAIT, 3, &socket_fd);

	(void)state;
	read_report(socket_fd, &report);
	assert_int_equal(report.pid, pid);
	assert_int_equal(report.launcher, launcher__pid(launcher));
	assert_true(report.launcher_fd >= 0);
	assert_ptr_equal(report.ctx, &context);
	assert_int_equal(report.numbers[0], TASK_WAIT);
	assert_int_equal(report.numbers[1], 3);
	assert_int_equal(report.numbers[7], 99);
	assert_false(report.blocks_signals);
	assert_true(report.ignores_pipe);
	assert_true(fcntl(socket_fd, F_GETFD) & FD_CLOEXEC);
	close(socket_fd);
	launcher__free(launcher);
}

static void a_namer_may_start_all_but_a_namer(void **state)
{
	struct launcher *launcher = launcher_make();
	struct report report;
	int socket_fd;

	(void)state;
	(void)namer_start(launcher, TASK_ASK, 0, &socket_fd);
	read_report(socket_fd, &report);
	assert_int_equal(report.err[LAUNCHER_NONE], -EPERM);
	assert_int_equal(report.err[LAUNCHER_NAMER], -EPERM);
	assert_int_equal(report.err[LAUNCHER_PARSER], 0);
	assert_int_equal(report.err[LAUNCHER_OPENER], -ENOTSUP);
	assert_int_equal(report.err[LAUNCHER_ATTACH], 0);
	assert_int_equal(report.err[LAUNCHER_LOOKER], -EPERM);
	assert_true(WIFEXITED(report.status) || WTERMSIG(report.status) == SIGKILL);
	close(socket_fd);
	launcher__free(launcher);
}

static void the_sampler_may_start_a_namer_and_a_looker_and_nothing_else(void **state)
{
	static const enum launcher_kind others[] = { LAUNCHER_NONE, LAUNCHER_PARSER,
						     LAUNCHER_OPENER, LAUNCHER_ATTACH,
						     LAUNCHER_KIND_CNT };
	struct launcher *launcher = launcher_make();
	int socket_fd = -1;
	pid_t pid;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_int_equal(launcher__start(launcher, others[i], NULL, &socket_fd, &pid),
				 -EPERM);
	/* Here there is no such program. */
	assert_int_equal(launcher__start(launcher, LAUNCHER_LOOKER, NULL, &socket_fd, &pid),
			 -ENOTSUP);
	assert_int_equal(socket_fd, -1);
	launcher__free(launcher);
}

/* A launcher of the test's own: answers are four numbers, err, pid, status and nothing. */
static void __attribute__((noreturn)) answer_once(int socket_fd, pid_t pid)
{
	const int32_t answer[4] = { 0, pid, 0, 0 };
	char request[256];

	if (recv(socket_fd, request, sizeof(request), 0) <= 0)
		_exit(1);
	_exit(send(socket_fd, answer, sizeof(answer), 0) == sizeof(answer) ? 0 : 1);
}

static void an_answer_that_came_too_late_is_not_that_to_the_next_request(void **state)
{
	static const int32_t late[4] = { 0, 111, 0, 0 };
	struct launcher *launcher;
	int sockets[2], status;
	pid_t child, pid = 0;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
	assert_int_equal(send(sockets[1], late, sizeof(late), 0), sizeof(late));
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		answer_once(sockets[1], 222);
	launcher = launcher__from_fd(sockets[0]);
	assert_non_null(launcher);
	assert_int_equal(launcher__start(launcher, LAUNCHER_PARSER, NULL, NULL, &pid), 0);
	assert_int_equal(pid, 222);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	launcher__free(launcher);
	close(sockets[1]);
}

static void nobody_ends_what_another_one_started(void **state)
{
	struct launcher *launcher = launcher_make();
	struct report report;
	int first_fd, second_fd;
	pid_t first = namer_start(launcher, TASK_WAIT, 0, &first_fd);

	(void)state;
	read_report(first_fd, &report);
	(void)namer_start(launcher, TASK_ASK_AGAIN, (uint64_t)first, &second_fd);
	read_report(second_fd, &report);
	assert_int_equal(report.status, -1);
	assert_int_equal(kill(first, 0), 0);
	/* Nor does the sampler end what the launcher did not start. */
	assert_int_equal(launcher__end(launcher, getpid()), -1);
	assert_int_equal(launcher__end(launcher, 1), -1);
	close(first_fd);
	close(second_fd);
	launcher__free(launcher);
}

static void a_namer_that_reads_no_answers_keeps_nobody_waiting(void **state)
{
	struct launcher *launcher = launcher_make();
	struct report report;
	int flood_fd, socket_fd;
	pid_t pid;

	(void)state;
	(void)namer_start(launcher, TASK_FLOOD, 0, &flood_fd);
	read_report(flood_fd, &report);
	pid = namer_start(launcher, TASK_WAIT, 3, &socket_fd);
	read_report(socket_fd, &report);
	assert_int_equal(report.pid, pid);
	close(socket_fd);
	close(flood_fd);
	launcher__free(launcher);
}

static void the_status_of_one_that_ended_is_kept_until_it_is_asked_for(void **state)
{
	struct launcher *launcher = launcher_make();
	int fds[3], status;
	pid_t exited = namer_start(launcher, TASK_EXIT, 42, &fds[0]);
	pid_t crashed = namer_start(launcher, TASK_CRASH, 0, &fds[1]);
	pid_t third;

	(void)state;
	wait_for_end(fds[0]);
	wait_for_end(fds[1]);
	await_gone(exited);
	await_gone(crashed);
	/* Another one does not take the place of those. */
	third = namer_start(launcher, TASK_WAIT, 0, &fds[2]);
	status = launcher__end(launcher, exited);
	assert_true(status >= 0 && WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 42);
	status = launcher__end(launcher, crashed);
	assert_true(status >= 0 && WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSEGV);
	/* It is told once. */
	assert_int_equal(launcher__end(launcher, exited), -1);
	status = launcher__end(launcher, third);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	launcher__free(launcher);
}

static void hundreds_that_nobody_asks_for_take_no_place(void **state)
{
	struct launcher *launcher = launcher_make();

	(void)state;
	for (int i = 0; i < 300; i++) {
		int socket_fd;

		(void)namer_start(launcher, TASK_EXIT, 0, &socket_fd);
		wait_for_end(socket_fd);
		close(socket_fd);
	}
	launcher__free(launcher);
}

static void a_child_that_ignores_all_signals_is_killed(void **state)
{
	struct launcher *launcher = launcher_make();
	int socket_fd, status;
	pid_t pid = namer_start(launcher, TASK_STUBBORN, 0, &socket_fd);
	char byte;

	(void)state;
	assert_int_equal(recv(socket_fd, &byte, 1, 0), 1);
	status = launcher__end(launcher, pid);
	assert_true(status >= 0 && WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGKILL);
	close(socket_fd);
	launcher__free(launcher);
}

static void all_end_when_the_sampler_closes_its_socket(void **state)
{
	struct launcher *launcher = launcher_make();
	pid_t pids[2];
	int fds[2];
	char byte;

	(void)state;
	/* What the launcher leaves becomes this process's, so that it is seen to end. */
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	for (int i = 0; i < 2; i++) {
		pids[i] = namer_start(launcher, TASK_STUBBORN, 0, &fds[i]);
		assert_int_equal(recv(fds[i], &byte, 1, 0), 1);
	}
	launcher__free(launcher); /* waits for it */
	for (int i = 0; i < 2; i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		close(fds[i]);
	}
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
}

static void children_of_a_namer_that_is_gone_end(void **state)
{
	struct launcher *launcher = launcher_make();
	struct report report;
	int socket_fd;

	(void)state;
	(void)namer_start(launcher, TASK_MANY, LAUNCHER_PARSER, &socket_fd);
	read_report(socket_fd, &report);
	close(socket_fd); /* it ends by itself */
	for (int i = 0; i < HANGING_MAX; i++) {
		assert_true(report.pids[i] > 0);
		await_gone(report.pids[i]);
	}
	launcher__free(launcher);
}

/*
 * Children of a namer that is gone then. A killed one that is traced cannot be reaped before its tracer
 * has looked: it hangs.
 */
static void hang_many(struct launcher *launcher, enum launcher_kind kind, struct report *report)
{
	int socket_fd;

	(void)namer_start(launcher, TASK_MANY, kind, &socket_fd);
	read_report(socket_fd, report);
	for (int i = 0; i < HANGING_MAX; i++)
		if (ptrace(PTRACE_SEIZE, report->pids[i], NULL, NULL)) {
			launcher__free(launcher);
			skip();
		}
	close(socket_fd);
}

static int try_namer(struct launcher *launcher)
{
	const uint64_t numbers[LAUNCHER_NUMBERS] = { TASK_EXIT };

	return launcher__start(launcher, LAUNCHER_NAMER, numbers, NULL, NULL);
}

static void nothing_is_started_while_too_many_hang(void **state)
{
	struct launcher *launcher = launcher_make();
	uint64_t end_ns = clock_monotonic_ns() + 20 * CLOCK_NS_PER_S;
	struct report report;
	int err;

	(void)state;
	hang_many(launcher, LAUNCHER_PARSER, &report);
	do
		err = try_namer(launcher);
	while (!err && clock_monotonic_ns() < end_ns);
	assert_int_equal(err, -EBUSY); /* and not what fork() says of a host that is full */
	/* One has ended: there is room again. */
	assert_int_equal(waitpid(report.pids[5], NULL, __WALL), report.pids[5]);
	do
		err = try_namer(launcher);
	while (err == -EBUSY && clock_monotonic_ns() < end_ns);
	assert_int_equal(err, 0);
	for (int i = 0; i < HANGING_MAX; i++)
		if (i != 5)
			assert_int_equal(waitpid(report.pids[i], NULL, __WALL), report.pids[i]);
	launcher__free(launcher);
}

static void children_that_hang_over_jvms_keep_only_their_like_from_being_started(void **state)
{
	uint64_t end_ns = clock_monotonic_ns() + 20 * CLOCK_NS_PER_S;
	struct launcher *launcher = launcher_make();
	struct report many, report;
	int socket_fd;

	(void)state;
	hang_many(launcher, LAUNCHER_ATTACH, &many);
	do {
		(void)namer_start(launcher, TASK_ASK, 0, &socket_fd);
		read_report(socket_fd, &report);
		assert_int_equal(report.err[LAUNCHER_PARSER], 0);
		close(socket_fd);
	} while (!report.err[LAUNCHER_ATTACH] && clock_monotonic_ns() < end_ns);
	assert_int_equal(report.err[LAUNCHER_ATTACH], -EBUSY);
	for (int i = 0; i < HANGING_MAX; i++)
		assert_int_equal(waitpid(many.pids[i], NULL, __WALL), many.pids[i]);
	launcher__free(launcher);
}

#define HANGING_NAMERS 33 /* more than openers may hang */

/*
 * As one is that waits for a file server: killed, and not ended, with all its descriptors. A traced
 * process stops before it closes them.
 */
/* Nor do they keep an opener from being started: without one no new program would have names. */
static void namers_that_hang_give_their_place_to_the_next(void **state)
{
	struct launcher_options options = all_kinds;
	struct launcher *launcher;
	pid_t pids[HANGING_NAMERS];
	struct report report;
	int socket_fd;

	(void)state;
	options.programs[LAUNCHER_OPENER] = child_main;
	assert_int_equal(launcher__open(&options, &launcher), 0);
	for (int i = 0; i < HANGING_NAMERS; i++) {
		pids[i] = namer_start(launcher, TASK_WAIT, 0, &socket_fd);
		read_report(socket_fd, &report);
		if (ptrace(PTRACE_SEIZE, pids[i], NULL, PTRACE_O_TRACEEXIT)) {
			assert_int_equal(i, 0);
			close(socket_fd);
			launcher__free(launcher);
			skip();
		}
		assert_int_equal(launcher__end(launcher, pids[i]), -1);
		close(socket_fd);
	}
	(void)namer_start(launcher, TASK_ASK, 0, &socket_fd);
	read_report(socket_fd, &report);
	assert_int_equal(report.err[LAUNCHER_OPENER], 0);
	close(socket_fd);
	for (int i = 0; i < HANGING_NAMERS; i++) {
		assert_int_equal(waitpid(pids[i], NULL, __WALL), pids[i]);
		assert_int_equal(ptrace(PTRACE_CONT, pids[i], NULL, NULL), 0);
		assert_int_equal(waitpid(pids[i], NULL, __WALL), pids[i]);
	}
	launcher__free(launcher);
}

/* Its place is given away while it lives: who ends it does not hang up the namer that has it by then. */
static void a_namer_that_hung_up_and_hangs_takes_no_other_with_it(void **state)
{
	struct launcher *launcher = launcher_make();
	struct report report;
	int hung_up, working;
	pid_t first = namer_start(launcher, TASK_HANG_UP, 0, &hung_up);

	(void)state;
	read_report(hung_up, &report);
	(void)namer_start(launcher, TASK_ASK_LATER, 0, &working);
	if (ptrace(PTRACE_SEIZE, first, NULL, PTRACE_O_TRACEEXIT)) {
		launcher__free(launcher);
		skip();
	}
	assert_int_equal(launcher__end(launcher, first), -1);
	assert_int_equal(send(working, "w", 1, MSG_NOSIGNAL), 1);
	read_report(working, &report);
	assert_int_equal(report.err[LAUNCHER_PARSER], 0);
	close(working);
	close(hung_up);
	assert_int_equal(waitpid(first, NULL, __WALL), first);
	assert_int_equal(ptrace(PTRACE_CONT, first, NULL, NULL), 0);
	assert_int_equal(waitpid(first, NULL, __WALL), first);
	launcher__free(launcher);
}

static int refuse(void *ctx)
{
	return ctx == &context ? -EOPNOTSUPP : 0;
}

static int keep_check(const struct launcher_child *child)
{
	const int *kept = child->ctx;
	char byte = 'k';

	return write(*kept, &byte, 1) == 1 ? 0 : 1;
}

static void one_descriptor_of_the_sampler_reaches_the_children(void **state)
{
	int ends[2], kept, status, socket_fd;
	struct launcher_options options = { .programs = { [LAUNCHER_NAMER] = keep_check },
					    .confine = not_confined,
					    .ctx = &kept,
					    .kept_fd = &kept };
	struct launcher *launcher;
	char byte;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	kept = fcntl(ends[1], F_DUPFD_CLOEXEC, 300);
	close(ends[1]);
	assert_int_equal(launcher__open(&options, &launcher), 0);
	assert_true(kept >= 300); /* it may have another number only there */
	assert_int_equal(launcher__start(launcher, LAUNCHER_NAMER, NULL, &socket_fd, &pid), 0);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	assert_int_equal(byte, 'k');
	wait_for_end(socket_fd);
	status = launcher__end(launcher, pid);
	assert_true(WIFEXITED(status) || WTERMSIG(status) == SIGKILL);
	close(socket_fd);
	close(kept);
	close(ends[0]);
	launcher__free(launcher);
}

/* The pipe's writing end is in the launcher only if it kept what is not its own. */
static void other_descriptors_of_the_sampler_do_not_live_on_in_the_launcher(void **state)
{
	struct launcher *launcher;
	int ends[2];
	char byte;

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	launcher = launcher_make();
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 0);
	close(ends[0]);
	launcher__free(launcher);
}

static void a_launcher_that_cannot_be_confined_is_not_opened(void **state)
{
	struct launcher_options options = all_kinds;
	struct launcher *launcher = NULL;

	(void)state;
	options.confine = refuse;
	assert_int_equal(launcher__open(&options, &launcher), -EOPNOTSUPP);
	options.confine = NULL;
	assert_int_equal(launcher__open(&options, &launcher), -EINVAL);
	assert_null(launcher);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void without_a_launcher_requests_fail_at_once(void **state)
{
	struct launcher *launcher = launcher_make();
	int socket_fd = -1;
	pid_t pid;

	(void)state;
	assert_int_equal(kill(launcher__pid(launcher), SIGKILL), 0);
	assert_int_equal(launcher__start(launcher, LAUNCHER_NAMER, NULL, &socket_fd, &pid), -EPIPE);
	assert_int_equal(launcher__end(launcher, 1), -1);
	/* Nobody is left to say anything. */
	assert_int_equal(poll(&(struct pollfd){ .fd = launcher__log_fd(launcher) }, 1, 20000), 1);
	launcher__relay(launcher);
	assert_int_equal(launcher__log_fd(launcher), -1);
	launcher__free(launcher);
	launcher__free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_gets_what_it_was_started_with_and_plain_signals),
		cmocka_unit_test(a_namer_may_start_all_but_a_namer),
		cmocka_unit_test(the_sampler_may_start_a_namer_and_a_looker_and_nothing_else),
		cmocka_unit_test(an_answer_that_came_too_late_is_not_that_to_the_next_request),
		cmocka_unit_test(nobody_ends_what_another_one_started),
		cmocka_unit_test(a_namer_that_reads_no_answers_keeps_nobody_waiting),
		cmocka_unit_test(the_status_of_one_that_ended_is_kept_until_it_is_asked_for),
		cmocka_unit_test(hundreds_that_nobody_asks_for_take_no_place),
		cmocka_unit_test(a_child_that_ignores_all_signals_is_killed),
		cmocka_unit_test(all_end_when_the_sampler_closes_its_socket),
		cmocka_unit_test(children_of_a_namer_that_is_gone_end),
		cmocka_unit_test(nothing_is_started_while_too_many_hang),
		cmocka_unit_test(
			children_that_hang_over_jvms_keep_only_their_like_from_being_started),
		cmocka_unit_test(namers_that_hang_give_their_place_to_the_next),
		cmocka_unit_test(a_namer_that_hung_up_and_hangs_takes_no_other_with_it),
		cmocka_unit_test(one_descriptor_of_the_sampler_reaches_the_children),
		cmocka_unit_test(other_descriptors_of_the_sampler_do_not_live_on_in_the_launcher),
		cmocka_unit_test(a_launcher_that_cannot_be_confined_is_not_opened),
		cmocka_unit_test(without_a_launcher_requests_fail_at_once),
	};

	return cmocka_run_group_tests(tests, quiet, NULL);
}
