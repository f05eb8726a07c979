// SPDX-License-Identifier: Apache-2.0
/*
 * Helper processes: each property that the header's table names is there in the child, and no more; they
 * end with their parent whatever happens to it, and leave no zombie.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/sandbox/child_process.h"
#include "user/util/cleanup.h"

#define FD_CNT 8

static ino_t inode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) ? 0 : st.st_ino;
}

static int run_check(int none, const void *ctx)
{
	int (*const *check)(void) = ctx;

	(void)none;
	return (*check)();
}

/* What `check` returns in a child: 0, or the negative number of the claim that does not hold. */
static int child_run(int (*check)(void))
{
	return child_process_run(run_check, &check);
}

/* ---- descriptors ---- */

static int keep(enum child_fds fds, int *const kept[], size_t cnt)
{
	const struct child_options options = { .fds = fds, .kept = kept, .kept_cnt = cnt };

	return child_process_become(&options);
}

static int fds_above_are_closed(int first)
{
	for (int fd = first; fd < 2048; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			return 0;
	return 1;
}

static int pipes_make(int fds[FD_CNT])
{
	for (int i = 0; i < FD_CNT; i += 2)
		if (pipe(fds + i))
			return -1;
	return 0;
}

/* In the reverse order, so that each one's new place is another one's old place. */
static int keeps_in_reverse(void)
{
	int fds[FD_CNT], kept[FD_CNT], *places[FD_CNT], none = -1;
	ino_t inodes[FD_CNT];

	if (close_range(3, ~0u, 0) || pipes_make(fds))
		return 1;
	for (int i = 0; i < FD_CNT; i++) {
		kept[i] = fds[FD_CNT - 1 - i];
		inodes[i] = inode_of(kept[i]);
		places[i] = &kept[i];
	}
	places[2] = &none;
	if (keep(CHILD_FDS_STANDARD, places, FD_CNT) || none != -1)
		return 2;
	for (int i = 0; i < FD_CNT; i++) {
		if (i == 2)
			continue;
		if (kept[i] != 3 + i - (i > 2) || inode_of(kept[i]) != inodes[i])
			return 3;
		if (!(fcntl(kept[i], F_GETFD) & FD_CLOEXEC))
			return 4;
	}
	if (!fds_above_are_closed(3 + FD_CNT - 1))
		return 5;
	return fcntl(0, F_GETFD) < 0 || fcntl(2, F_GETFD) < 0 ? 6 : 0;
}

static int keeps_none(void)
{
	int none = -1;
	int *const places[] = { &none };
	int fds[FD_CNT];

	if (pipes_make(fds) || keep(CHILD_FDS_STANDARD, places, 1) || none != -1)
		return 1;
	return !fds_above_are_closed(3);
}

static int keeps_those_above_the_others(void)
{
	int one = fcntl(0, F_DUPFD, 700), two = fcntl(0, F_DUPFD, 3);
	int *const places[] = { &one, &two };

	if (keep(CHILD_FDS_STANDARD, places, 2) || one != 3 || two != 4)
		return 1;
	return !fds_above_are_closed(5);
}

static int refuses_what_is_not_open(void)
{
	int closed = 900;
	int *const places[] = { &closed };

	return keep(CHILD_FDS_STANDARD, places, 1) != -EBADF;
}

/* Bit n: descriptor n is open; bit 63: one from 62 on is. */
static uint64_t open_fds(void)
{
	uint64_t open = 0;

	for (int fd = 0; fd < 2048; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			open |= 1ull << (fd < 63 ? fd : 63);
	return open;
}

/* Two are kept, of a dozen that are open; one of them is the socket to the parent. */
static int has_exactly(enum child_fds fds, int socket_fd, uint64_t wanted, int first)
{
	int pipes[FD_CNT], none = -1;
	int *const kept[] = { &pipes[5], &none, &socket_fd };
	ino_t inodes[2];

	if (pipes_make(pipes))
		return 1;
	inodes[0] = inode_of(pipes[5]);
	inodes[1] = inode_of(socket_fd);
	if (keep(fds, kept, ARRAY_SIZE(kept)))
		return 2;
	if (pipes[5] != first || socket_fd != first + 1 || none != -1)
		return 3;
	if (inode_of(first) != inodes[0] || inode_of(first + 1) != inodes[1])
		return 4;
	return open_fds() == wanted ? 0 : 5;
}

static int has_those_of_its_kind(int socket_fd, const void *ctx)
{
	const enum child_fds *fds = ctx;

	switch (*fds) {
	case CHILD_FDS_STANDARD:
		return has_exactly(*fds, socket_fd, 0x1f, 3);
	case CHILD_FDS_ERRORS:
		return has_exactly(*fds, socket_fd, 0x1c, 3);
	case CHILD_FDS_KEPT:
		return has_exactly(*fds, socket_fd, 0x3, 0);
	default:
		return open_fds() & 0x7 ? 0 : 6;
	}
}

static void a_child_has_exactly_the_descriptors_of_its_kind(void **state)
{
	(void)state;
	for (enum child_fds fds = CHILD_FDS_INHERITED; fds <= CHILD_FDS_KEPT; fds++) {
		int socket_fd, status;
		pid_t pid;
		char byte;

		assert_int_equal(child_process_start(has_those_of_its_kind, &fds, &socket_fd, &pid),
				 0);
		assert_true(fcntl(socket_fd, F_GETFD) & FD_CLOEXEC);
		/* It has ended, and with it the other end. */
		assert_int_equal(recv(socket_fd, &byte, 1, 0), 0);
		close(socket_fd);
		status = child_process_end(pid, CHILD_WAITS_FOREVER);
		if (status != 0)
			fail_msg("kind %d: claim %d", (int)fds, -child_process_err(status));
	}
}

/* ---- signals ---- */

static void note_signal(int signo)
{
	(void)signo;
}

static bool is_handled_by(int signo, void (*handler)(int))
{
	struct sigaction action;

	return sigaction(signo, NULL, &action) == 0 && action.sa_handler == handler;
}

static bool blocks(int signo)
{
	sigset_t blocked;

	return sigprocmask(SIG_SETMASK, NULL, &blocked) == 0 && sigismember(&blocked, signo) == 1;
}

static int take_signals(enum child_signals signals)
{
	const struct child_options options = { .signals = signals };
	sigset_t some;

	(void)signal(SIGUSR1, note_signal);
	(void)signal(SIGTERM, note_signal);
	(void)signal(SIGCHLD, SIG_IGN);
	sigemptyset(&some);
	sigaddset(&some, SIGUSR2);
	(void)sigprocmask(SIG_BLOCK, &some, NULL);
	return child_process_become(&options);
}

static int signals_are_inherited(void)
{
	if (take_signals(CHILD_SIGNALS_INHERITED))
		return 1;
	return is_handled_by(SIGUSR1, note_signal) && blocks(SIGUSR2) ? 0 : 2;
}

static int signals_are_plain(void)
{
	if (take_signals(CHILD_SIGNALS_PLAIN))
		return 1;
	for (int signo = 1; signo < 32; signo++)
		if (!is_handled_by(signo, SIG_DFL) || blocks(signo))
			return 2;
	return 0;
}

static int only_pipe_is_ignored(void)
{
	if (take_signals(CHILD_SIGNALS_NO_PIPE))
		return 1;
	if (!is_handled_by(SIGPIPE, SIG_IGN) || !is_handled_by(SIGTERM, SIG_DFL))
		return 2;
	return is_handled_by(SIGCHLD, SIG_DFL) && !blocks(SIGUSR2) ? 0 : 3;
}

static int those_to_a_group_are_ignored(void)
{
	static const int ignored[] = { SIGPIPE, SIGINT, SIGTERM, SIGHUP };

	if (take_signals(CHILD_SIGNALS_OF_PARENT))
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		if (!is_handled_by(ignored[i], SIG_IGN))
			return 2;
	return is_handled_by(SIGUSR1, SIG_DFL) && !blocks(SIGUSR2) ? 0 : 3;
}

static int all_are_blocked(void)
{
	if (take_signals(CHILD_SIGNALS_BLOCKED))
		return 1;
	return is_handled_by(SIGUSR1, SIG_DFL) && is_handled_by(SIGCHLD, SIG_DFL) &&
			       blocks(SIGTERM) && blocks(SIGINT) && blocks(SIGUSR2) ?
		       0 :
		       2;
}

static void a_child_takes_the_signals_of_its_kind(void **state)
{
	(void)state;
	assert_int_equal(child_run(signals_are_inherited), 0);
	assert_int_equal(child_run(signals_are_plain), 0);
	assert_int_equal(child_run(only_pipe_is_ignored), 0);
	assert_int_equal(child_run(those_to_a_group_are_ignored), 0);
	assert_int_equal(child_run(all_are_blocked), 0);
}

/* ---- memory, limits, name, priority ---- */

static long number_in(const char *path)
{
	char text[64] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	if (fd >= 0)
		close(fd);
	return strtol(text, NULL, 10);
}

static bool is_limited_to(int resource, uint64_t value)
{
	struct rlimit now;

	return getrlimit((__rlimit_resource_t)resource, &now) == 0 && now.rlim_cur == value &&
	       now.rlim_max == value;
}

static int has_its_limits(void)
{
	const struct rlimit lower = { .rlim_cur = 10, .rlim_max = 10 };
	static const struct child_limit limits[] = {
		{ RLIMIT_CORE, 0 },
		{ RLIMIT_NOFILE, 16 },
		{ RLIMIT_FSIZE, 512 },
	};
	struct child_options options = { .limits = limits, .limit_cnt = ARRAY_SIZE(limits) };

	if (child_process_become(&options) || !is_limited_to(RLIMIT_CORE, 0) ||
	    !is_limited_to(RLIMIT_NOFILE, 16) || !is_limited_to(RLIMIT_FSIZE, 512))
		return 1;
	/* A lower one stays, and is no error. */
	if (setrlimit(RLIMIT_NOFILE, &lower) || child_process_become(&options))
		return 2;
	return is_limited_to(RLIMIT_NOFILE, 10) ? 0 : 3;
}

static int has_no_limits_that_were_not_asked_for(void)
{
	static const int resources[] = { RLIMIT_CORE, RLIMIT_NOFILE, RLIMIT_FSIZE, RLIMIT_AS };
	const struct child_options options = { .name = "jbpf-test-child" };
	struct rlimit before, after;
	int nice_before = getpriority(PRIO_PROCESS, 0);

	for (size_t i = 0; i < ARRAY_SIZE(resources); i++) {
		__rlimit_resource_t resource = (__rlimit_resource_t)resources[i];

		if (getrlimit(resource, &before) || child_process_become(&options) ||
		    getrlimit(resource, &after) || before.rlim_cur != after.rlim_cur)
			return 1;
	}
	return prctl(PR_GET_DUMPABLE) == 1 && getpriority(PRIO_PROCESS, 0) == nice_before ? 0 : 2;
}

#if !defined(__SANITIZE_ADDRESS__)
#define MEMORY_BYTES (64ull << 20)

static int has_so_much_memory_more(void)
{
	const struct child_options options = { .memory_bytes = MEMORY_BYTES };

	if (child_process_become(&options))
		return 1;
	if (mmap(NULL, MEMORY_BYTES / 2, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
	    MAP_FAILED)
		return 2;
	return mmap(NULL, MEMORY_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
			       MAP_FAILED ?
		       0 :
		       3;
}
#endif

static unsigned char *shared, *own;

static int has_no_shared_memory(void)
{
	const struct child_options options = { .unmaps_shared = true };
	unsigned char is_there;

	if (child_process_become(&options))
		return 1;
	if (mincore(own, 4096, &is_there))
		return 2;
	return mincore(shared, 4096, &is_there) && errno == ENOMEM ? 0 : 3;
}

static int goes_before_its_parent(void)
{
	const struct child_options options = { .ends_first = true };

	if (child_process_become(&options))
		return 1;
	return number_in("/proc/self/oom_score_adj") == 1000 ? 0 : 2;
}

static int has_its_name_and_no_core(void)
{
	const struct child_options options = { .name = "jbpf-test-child", .is_undumpable = true };
	char name[16] = "";

	if (child_process_become(&options) || prctl(PR_GET_NAME, name))
		return 1;
	return strcmp(name, "jbpf-test-child") == 0 && prctl(PR_GET_DUMPABLE) == 0 ? 0 : 2;
}

static int runs_when_nobody_else_does(void)
{
	const struct child_options options = { .is_idle = true };

	if (child_process_become(&options))
		return 1;
	return getpriority(PRIO_PROCESS, 0) == 19 && sched_getscheduler(0) == SCHED_IDLE ? 0 : 2;
}

static void a_child_is_what_its_options_say(void **state)
{
	(void)state;
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	own = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(shared != MAP_FAILED && own != MAP_FAILED);
	assert_int_equal(child_run(has_its_limits), 0);
	assert_int_equal(child_run(has_no_limits_that_were_not_asked_for), 0);
#if !defined(__SANITIZE_ADDRESS__)
	assert_int_equal(child_run(has_so_much_memory_more), 0);
#endif
	assert_int_equal(child_run(has_no_shared_memory), 0);
	assert_int_equal(child_run(goes_before_its_parent), 0);
	assert_int_equal(child_run(has_its_name_and_no_core), 0);
	assert_int_equal(child_run(runs_when_nobody_else_does), 0);
	munmap(shared, 4096);
	munmap(own, 4096);
}

/* ---- life ---- */

static int __attribute__((noreturn)) waits(int socket_fd, const void *ctx)
{
	(void)socket_fd;
	(void)ctx;
	for (;;)
		(void)pause();
}

/* The other ends of a pipe are the descendants': it is at its end when all of them have ended. */
static void await_end_of_pipe(int fd)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	char byte;

	assert_int_equal(poll(&wait, 1, 20000), 1);
	assert_int_equal(read(fd, &byte, 1), 0);
}

/* Starts a child that waits, says so, and waits. */
static int starts_one(int socket_fd, const void *ctx)
{
	static const struct child_options stubborn = { .signals = CHILD_SIGNALS_BLOCKED };
	pid_t pid;

	(void)ctx;
	if (child_process_become(&stubborn) || child_process_start(waits, NULL, NULL, &pid) ||
	    send(socket_fd, "s", 1, 0) != 1)
		return 1;
	waits(socket_fd, NULL);
}

static void a_child_ends_with_its_parent_however_that_ends(void **state)
{
	int socket_fd, pipe_fds[2];
	pid_t pid;
	char byte;

	(void)state;
	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	assert_int_equal(child_process_start(starts_one, NULL, &socket_fd, &pid), 0);
	close(pipe_fds[1]);
	assert_int_equal(recv(socket_fd, &byte, 1, 0), 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	await_end_of_pipe(pipe_fds[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(pipe_fds[0]);
	close(socket_fd);
}

static int end_with_another(void)
{
	return child_process_end_with(1) != -ESRCH;
}

static void a_child_does_not_begin_after_its_parent_has_ended(void **state)
{
	(void)state;
	assert_int_equal(child_run(end_with_another), 0);
}

/* Makes a copy, and says whose child it is. */
static int copies_itself(int socket_fd, const void *ctx)
{
	pid_t parent = getppid(), copy;

	(void)ctx;
	copy = child_process_copy();
	if (copy == 0) {
		int signo = 0;

		parent = getppid() == parent ? parent : -1;
		if (prctl(PR_GET_PDEATHSIG, &signo) || signo != SIGKILL)
			parent = -1;
		(void)send(socket_fd, &parent, sizeof(parent), 0);
		return 7;
	}
	(void)send(socket_fd, &copy, sizeof(copy), 0);
	return copy > 0 ? 0 : 1;
}

static void a_copy_is_the_child_of_its_makers_parent(void **state)
{
	pid_t pid, copy = 0, parent = 0, got;
	int socket_fd, status;

	(void)state;
	assert_int_equal(child_process_start(copies_itself, NULL, &socket_fd, &pid), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(recv(socket_fd, &got, sizeof(got), 0), sizeof(got));
		*(got == getpid() ? &parent : &copy) = got;
	}
	assert_int_equal(parent, getpid());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(waitpid(copy, &status, 0), copy);
	assert_int_equal(child_process_err(status), -7);
	close(socket_fd);
}

/* ---- the end ---- */

static int returns_what_it_is_given(int socket_fd, const void *ctx)
{
	(void)socket_fd;
	return *(const int *)ctx;
}

static int kills_itself(int socket_fd, const void *ctx)
{
	(void)socket_fd;
	(void)ctx;
	(void)kill(getpid(), SIGKILL);
	return 0;
}

static void await_zombie(pid_t pid)
{
	siginfo_t info;

	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

static void what_a_child_returns_is_its_exit_status(void **state)
{
	static const int results[] = { 0, -EPERM, -ENOSPC, 3 };
	int status = -1;
	pid_t pid;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(results); i++) {
		int result = results[i], wanted = result > 0 ? -result : result;

		assert_int_equal(child_process_run(returns_what_it_is_given, &result), wanted);
		assert_int_equal(child_process_start(returns_what_it_is_given, &result, NULL, &pid),
				 0);
		await_zombie(pid);
		assert_true(child_process_has_ended(pid, &status));
		assert_int_equal(child_process_err(status), wanted);
	}
	assert_int_equal(child_process_run(kills_itself, NULL), -EIO);
	assert_int_equal(child_process_err(-1), 0);
}

static void a_child_is_killed_and_leaves_no_zombie(void **state)
{
	static const int result = -EPERM;
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(child_process_start(starts_one, NULL, NULL, &pid), 0);
	status = child_process_end(pid, 20000);
	assert_true(status >= 0 && (WIFSIGNALED(status) || WIFEXITED(status)));
	assert_int_equal(child_process_start(waits, NULL, NULL, &pid), 0);
	assert_false(child_process_has_ended(pid, &status));
	status = child_process_end(pid, CHILD_WAITS_FOREVER);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(child_process_err(status), 0);
	/* One that had ended by itself keeps its status. */
	assert_int_equal(child_process_start(returns_what_it_is_given, &result, NULL, &pid), 0);
	await_zombie(pid);
	assert_int_equal(child_process_err(child_process_end(pid, 1000)), -EPERM);
	assert_int_equal(child_process_end(pid, 1000), -1);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void one_that_hangs_is_given_up_after_its_time(void **state)
{
	pid_t pid;

	(void)state;
	assert_int_equal(child_process_start(waits, NULL, NULL, &pid), 0);
	assert_int_equal(child_process_end(pid, 0), -1);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* As a shell's `ulimit -n` may leave it. */
static int keeps_them_where_few_may_be_open(void)
{
	const struct rlimit few = { .rlim_cur = 3 + 2 * FD_CNT, .rlim_max = 3 + 2 * FD_CNT };

	return setrlimit(RLIMIT_NOFILE, &few) ? 100 : keeps_in_reverse();
}

static void descriptors_are_kept_where_few_may_be_open(void **state)
{
	(void)state;
	assert_int_equal(child_run(keeps_them_where_few_may_be_open), 0);
}

static void kept_descriptors_become_the_first_and_all_others_close(void **state)
{
	(void)state;
	assert_int_equal(child_run(keeps_in_reverse), 0);
	assert_int_equal(child_run(keeps_none), 0);
	assert_int_equal(child_run(keeps_those_above_the_others), 0);
}

static void a_descriptor_that_is_not_open_cannot_be_kept(void **state)
{
	(void)state;
	assert_int_equal(child_run(refuses_what_is_not_open), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kept_descriptors_become_the_first_and_all_others_close),
		cmocka_unit_test(descriptors_are_kept_where_few_may_be_open),
		cmocka_unit_test(a_descriptor_that_is_not_open_cannot_be_kept),
		cmocka_unit_test(a_child_has_exactly_the_descriptors_of_its_kind),
		cmocka_unit_test(a_child_takes_the_signals_of_its_kind),
		cmocka_unit_test(a_child_is_what_its_options_say),
		cmocka_unit_test(a_child_ends_with_its_parent_however_that_ends),
		cmocka_unit_test(a_child_does_not_begin_after_its_parent_has_ended),
		cmocka_unit_test(a_copy_is_the_child_of_its_makers_parent),
		cmocka_unit_test(what_a_child_returns_is_its_exit_status),
		cmocka_unit_test(a_child_is_killed_and_leaves_no_zombie),
		cmocka_unit_test(one_that_hangs_is_given_up_after_its_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
