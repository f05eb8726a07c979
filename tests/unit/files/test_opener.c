// SPDX-License-Identifier: Apache-2.0
/*
 * What a file that hangs costs, and whom. Processes of this test stand in for openers on which a server
 * hangs: they do not answer, and a starter that does not kill them stands for the kernel that cannot.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/files/opener_child.h"
#include "user/files/opener_internal.h"
#include "user/files/opener_wire.h"
#include "user/sandbox/parser_sandbox.h"
#include "user/util/account.h"
#include "tests/unit/forking.h"
#include "tests/unit/remove_tree.h"
#include "user/sandbox/capabilities.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/fd_message.h"
#include "user/util/log.h"

/* One that does not answer is given up soon; one that has no CPU is not. */
static const struct opener_limits short_limits = {
	.start = { HELPER_LIMITS_NO_CPU, .tick_ms = 10, .max_ticks = 2000, .max_all_ticks = 4000 },
	.work = { HELPER_LIMITS_NO_CPU, .tick_ms = 10, .max_ticks = 5, .max_all_ticks = 2005 },
};

/* ---- the process ---- */

#define SOCKET_FD 3

static int say(struct opener_reply *reply, enum opener_says says, int fd)
{
	reply->says = says;
	return fd_message_send(SOCKET_FD, reply, sizeof(*reply), &fd, fd >= 0);
}

static void wait_for_ever(void)
{
	for (;;)
		(void)pause();
}

/* What it is asked for says what it does. */
static int serve(void)
{
	struct opener_request request;
	struct opener_reply reply = { .id = 0 };
	size_t len, fd_cnt;
	int at_fd, fd;

	if (fd_message_receive(SOCKET_FD, 0, &request, sizeof(request), &len, &at_fd, 1, &fd_cnt))
		return 0;
	if (strcmp(request.path, "/hangs") == 0)
		wait_for_ever();
	if (strcmp(request.path, "/dies") == 0)
		_exit(1);
	if (strcmp(request.path, "/late") == 0) {
		(void)raise(SIGSTOP);
		strcpy(request.path, "/other");
	}
	fd = opener_child_open(&request, at_fd, &reply);
	reply.id = strcmp(request.path, "/lies") == 0 ? request.id + 1 : request.id;
	reply.err = fd < 0 ? fd : 0;
	if (say(&reply, OPENER_HAS_OPENED, fd))
		return 0;
	close(fd);
	close(at_fd);
	if (strcmp(request.path, "/closes-never") == 0)
		wait_for_ever();
	return say(&reply, OPENER_IS_FREE, -1) == 0;
}

static int test_main(int socket_fd)
{
	struct opener_reply ready = { .id = 0 };

	(void)alarm(120);
	if (dup2(socket_fd, SOCKET_FD) < 0 || close_range(SOCKET_FD + 1, ~0u, 0) ||
	    say(&ready, OPENER_IS_READY, -1))
		return 1;
	while (serve())
		;
	return 0;
}

/* ---- who starts it ---- */

#define MAX_PIDS 64

static pid_t pids[MAX_PIDS];
static size_t pid_cnt;
static bool kills; /* else they hang in the kernel */

static int test_start(void *ctx, int *socket_out, pid_t *pid_out)
{
	int sockets[2];
	pid_t pid;

	(void)ctx;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	pid = fork();
	if (pid == 0)
		_exit(test_main(sockets[1]));
	close(sockets[1]);
	assert_true(pid > 0 && pid_cnt < MAX_PIDS);
	pids[pid_cnt++] = pid;
	*socket_out = sockets[0];
	*pid_out = pid;
	return 0;
}

static int end_pid(pid_t pid)
{
	int status = -1;

	(void)kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	for (size_t i = 0; i < pid_cnt; i++)
		if (pids[i] == pid)
			pids[i] = 0;
	return status;
}

static int test_end(void *ctx, pid_t pid)
{
	(void)ctx;
	return kills ? end_pid(pid) : -1;
}

static const struct child_starter test_starter = { .start = test_start, .end = test_end };

/* ---- the scene ---- */

static const struct container_file_rules anybody = { .owner = CONTAINER_FILE_ANY_OWNER };
static struct accounts *accounts;
static struct account *one, *other;
static struct opener *opener;
static char tree[64];
static int roots[3];

static void put(const char *name, const char *text)
{
	__cleanup_fd int fd = openat(AT_FDCWD, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static int scene_make(void **state)
{
	static const char *const files[] = { "file", "other", "closes-never", "lies" };

	(void)state;
	log_set_level(LOG_LEVEL_ERR);
	pid_cnt = 0;
	kills = false;
	strcpy(tree, "/tmp/jbpf-opener-XXXXXX");
	assert_non_null(mkdtemp(tree));
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		char path[128];

		snprintf(path, sizeof(path), "%s/%zu", tree, i);
		assert_int_equal(mkdir(path, 0755), 0);
		roots[i] = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		for (size_t j = 0; j < ARRAY_SIZE(files); j++) {
			snprintf(path, sizeof(path), "%s/%zu/%s", tree, i, files[j]);
			put(path, files[j]);
		}
	}
	accounts = accounts__new();
	one = accounts__get(accounts, 1, "one");
	other = accounts__get(accounts, 2, "other");
	opener = opener__new_with(&test_starter, &short_limits);
	return one && other && opener ? 0 : -1;
}

static int scene_remove(void **state)
{
	(void)state;
	opener__free(opener);
	accounts__free(accounts);
	for (size_t i = 0; i < pid_cnt; i++)
		if (pids[i])
			(void)end_pid(pids[i]);
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++)
		close(roots[i]);
	return remove_tree(tree);
}

static struct opener_stats stats_of(void)
{
	struct opener_stats stats;

	opener__stats(opener, &stats);
	return stats;
}

/* 0 when its text is its name, or -errno. */
static int ask(struct account *account, int root_fd, const char *path)
{
	char text[32] = "";
	int fd;

	opener__charge(opener, account);
	fd = opener__file(opener, root_fd, path, &anybody, NULL, NULL);
	if (fd < 0)
		return fd;
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_true(read(fd, text, sizeof(text) - 1) >= 0);
	assert_string_equal(text, path + 1);
	close(fd);
	return 0;
}

static size_t open_fds(void)
{
	size_t cnt = 0;

	for (int fd = 0; fd < 1024; fd++)
		cnt += fcntl(fd, F_GETFD) >= 0;
	return cnt;
}

/* ---- claims ---- */

static void no_process_is_started_before_the_first_request(void **state)
{
	struct opener *real = opener__new(forking(opener_child_main));

	(void)state;
	assert_int_equal(stats_of().start_cnt, 0);
	assert_int_equal(ask(one, roots[0], "/file"), 0);
	assert_int_equal(ask(one, roots[0], "/none"), -ENOENT);
	assert_int_equal(ask(other, roots[1], "/other"), 0);
	assert_int_equal(stats_of().start_cnt, 1);
	assert_int_equal(stats_of().hanging_cnt, 0);
	assert_non_null(real);
	opener__free(real);
}

static void an_open_that_hangs_costs_its_account_and_nobody_else(void **state)
{
	(void)state;
	assert_int_equal(ask(one, roots[0], "/hangs"), -ETIMEDOUT);
	assert_int_equal(stats_of().hanging_cnt, 1);
	/* The same root is another's, too: it is asked at once, and by another process. */
	assert_int_equal(ask(other, roots[0], "/file"), 0);
	assert_int_equal(stats_of().start_cnt, 2);
	/* Who waited in vain there does not for a while, but goes on elsewhere. */
	assert_int_equal(ask(one, roots[0], "/file"), -ETIMEDOUT);
	assert_int_equal(ask(one, roots[1], "/file"), 0);
	assert_int_equal(stats_of().start_cnt, 2);
}

static void a_file_system_that_hangs_rests_for_all_that_have_mapped_files_of_it(void **state)
{
	__cleanup_fd int path_fd = openat(roots[0], "file", O_PATH | O_CLOEXEC);
	int fd;

	(void)state;
	kills = true;
	opener__charge(opener, one);
	fd = opener__reopen(opener, path_fd, &anybody, NULL);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(kill(stats_of().pid, SIGSTOP), 0);
	assert_int_equal(waitpid(stats_of().pid, NULL, WUNTRACED), stats_of().pid);
	assert_int_equal(opener__reopen(opener, path_fd, &anybody, NULL), -ETIMEDOUT);
	opener__charge(opener, other);
	assert_int_equal(opener__reopen(opener, path_fd, &anybody, NULL), -ETIMEDOUT);
	assert_int_equal(stats_of().start_cnt, 1);
	assert_int_equal(ask(other, roots[0], "/file"), 0);
}

static void two_that_hang_are_all_that_an_account_has(void **state)
{
	pid_t first;

	(void)state;
	assert_int_equal(ask(one, roots[0], "/hangs"), -ETIMEDOUT);
	first = pids[0];
	assert_int_equal(ask(one, roots[1], "/hangs"), -ETIMEDOUT);
	assert_int_equal(ask(one, roots[2], "/file"), -EBUSY);
	assert_int_equal(stats_of().start_cnt, 2);
	assert_int_equal(account__cut_cnt(one, ACCOUNT_CUT_HANGING), 1);
	assert_int_equal(ask(other, roots[2], "/file"), 0);
	assert_int_equal(account__cut_cnt(other, ACCOUNT_CUT_HANGING), 0);
	/* The server answers one of them, or its container ends. */
	(void)end_pid(first);
	assert_int_equal(ask(one, roots[2], "/file"), 0);
	assert_int_equal(stats_of().hanging_cnt, 1);
}

/* One that can be killed hangs no longer, but each second of waiting counts. */
static void waiting_in_vain_uses_up_the_accounts_failures(void **state)
{
	int err = 0;

	(void)state;
	kills = true;
	for (size_t i = 0; i <= ACCOUNT_FAILURES_BURST && err != -EBUSY; i++) {
		char path[128];

		snprintf(path, sizeof(path), "%s/root%zu", tree, i);
		assert_int_equal(mkdir(path, 0755), 0);

		__cleanup_fd int root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

		err = ask(one, root_fd, "/hangs");
		assert_int_equal(err, i < ACCOUNT_FAILURES_BURST ? -ETIMEDOUT : -EBUSY);
	}
	assert_int_equal(stats_of().hanging_cnt, 0);
	assert_int_equal(ask(other, roots[0], "/file"), 0);
}

static void what_is_answered_too_late_is_never_used(void **state)
{
	size_t fds = open_fds();
	pid_t late;

	(void)state;
	assert_int_equal(ask(one, roots[0], "/late"), -ETIMEDOUT);
	late = pids[0];
	assert_int_equal(waitpid(late, NULL, WUNTRACED), late);
	assert_int_equal(kill(late, SIGCONT), 0); /* it answers, with another file */
	assert_int_equal(ask(one, roots[1], "/file"), 0);
	assert_int_equal(ask(other, roots[1], "/file"), 0);
	assert_int_equal(stats_of().start_cnt, 2);
	assert_int_equal(stats_of().hanging_cnt, 1);
	(void)end_pid(late);
	assert_int_equal(ask(one, roots[1], "/file"), 0);
	assert_int_equal(stats_of().hanging_cnt, 0);
	assert_int_equal(open_fds(), fds + 1); /* the second one's socket */
}

static void a_file_that_hangs_when_it_is_closed_is_at_the_cost_of_whoever_wanted_it(void **state)
{
	(void)state;
	assert_int_equal(ask(one, roots[0], "/closes-never"), 0);
	assert_int_equal(ask(other, roots[0], "/file"), 0);
	assert_int_equal(stats_of().start_cnt, 2);
	assert_int_equal(stats_of().hanging_cnt, 1);
	assert_int_equal(ask(one, roots[0], "/file"), -ETIMEDOUT);
	assert_int_equal(ask(other, roots[0], "/other"), 0);
	assert_int_equal(ask(one, roots[1], "/hangs"), -ETIMEDOUT);
	assert_int_equal(ask(one, roots[2], "/file"), -EBUSY);
}

static void one_that_ended_meanwhile_is_nobodys_fault(void **state)
{
	(void)state;
	kills = true;
	assert_int_equal(ask(one, roots[0], "/file"), 0);
	assert_int_equal(kill(pids[0], SIGKILL), 0);
	assert_int_equal(ask(one, roots[0], "/file"), 0);
	assert_int_equal(stats_of().start_cnt, 2);
	for (size_t i = 0; i < ACCOUNT_FAILURES_BURST; i++) {
		assert_true(account__may_open(one, clock_boot_ns()));
		account__note_failure(one, clock_boot_ns());
	}
}

static void one_that_dies_or_lies_costs_that_file(void **state)
{
	static const char *const paths[] = { "/dies", "/lies" };

	(void)state;
	kills = true;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		assert_int_equal(ask(one, roots[0], paths[i]), -EIO);
		assert_int_equal(ask(one, roots[0], "/file"), 0);
	}
	for (size_t i = 0; i < ACCOUNT_FAILURES_BURST - ARRAY_SIZE(paths); i++)
		account__note_failure(one, clock_boot_ns());
	assert_false(account__may_open(one, clock_boot_ns()));
}

static void accounts_together_have_a_limit_that_ends(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < OPENER_MAX_HANGING; i++) {
		struct account *account = accounts__get(accounts, 100 + i, "");

		assert_int_equal(ask(account, roots[0], "/hangs"), -ETIMEDOUT);
		account__put(account);
	}
	assert_int_equal(ask(one, roots[0], "/file"), -EBUSY);
	(void)end_pid(pids[7]);
	assert_int_equal(ask(one, roots[0], "/file"), 0);
	assert_int_equal(stats_of().hanging_cnt, OPENER_MAX_HANGING - 1);
}

static void no_account_keeps_a_user_when_the_opener_is_gone(void **state)
{
	(void)state;
	assert_int_equal(ask(one, roots[0], "/hangs"), -ETIMEDOUT);
	assert_int_equal(ask(one, roots[1], "/closes-never"), 0);
	opener__free(opener);
	opener = NULL;
	account__put(one);
	account__put(other);
	/* Once its failure is forgotten. */
	accounts__begin_window(accounts, clock_boot_ns());
	accounts__begin_window(accounts, clock_boot_ns() + 3600 * CLOCK_NS_PER_S);
	assert_int_equal(accounts__count(accounts), 0);
}

static int refuse_to_start(void *ctx, int *socket_out, pid_t *pid_out)
{
	(void)ctx;
	(void)socket_out;
	(void)pid_out;
	return -EAGAIN;
}

static void without_a_process_nothing_is_opened(void **state)
{
	const struct child_starter starter = { .start = refuse_to_start, .end = test_end };
	struct opener *none = opener__new(&starter);

	(void)state;
	assert_int_equal(opener__path(none, roots[0], "/file"), -EBUSY);
	opener__free(none);
}

static int lend_starter(void *ctx, int *socket_out, pid_t *pid_out)
{
	return *(bool *)ctx ? test_start(NULL, socket_out, pid_out) : -EAGAIN;
}

/* Lines that it says. */
static size_t lines_of(struct opener *asked, int tries)
{
	char text[4096];
	int fds[2], saved = dup(STDERR_FILENO);
	size_t cnt = 0;
	ssize_t len;

	/* Whom it starts has the other end, too. */
	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	dup2(fds[1], STDERR_FILENO);
	log_set_level(LOG_LEVEL_WARN);
	for (int i = 0; i < tries; i++) {
		int fd = opener__path(asked, roots[0], "/file");

		if (fd >= 0)
			close(fd);
	}
	log_set_level(LOG_LEVEL_ERR);
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(fds[1]);
	len = read(fds[0], text, sizeof(text));
	close(fds[0]);
	for (ssize_t i = 0; i < len; i++)
		cnt += text[i] == '\n';
	return cnt;
}

static void that_none_can_be_started_is_said_once_until_one_could_be(void **state)
{
	bool lends = false;
	const struct child_starter starter = { .start = lend_starter,
					       .end = test_end,
					       .ctx = &lends };
	struct opener *single = opener__new(&starter);

	(void)state;
	opener__charge(single, one);
	assert_int_equal(lines_of(single, 4), 1);
	lends = true;
	assert_int_equal(lines_of(single, 2), 0);
	opener__forget_process(single);
	lends = false;
	assert_int_equal(lines_of(single, 4), 1);
	opener__free(single);
}

/* ---- rights ---- */

static int writes_by_openat2(int root_fd)
{
	const struct open_how how = { .flags = O_RDWR };
	int fd = (int)syscall(SYS_openat2, root_fd, "file", &how, sizeof(how));

	return fd >= 0 ? 1 : errno == EACCES ? 0 : 2;
}

static int creates_by_openat2(int root_fd)
{
	const struct open_how how = { .flags = O_RDONLY | O_CREAT, .mode = 0644 };
	int fd = (int)syscall(SYS_openat2, root_fd, "new", &how, sizeof(how));

	return fd >= 0 ? 1 : errno == EACCES ? 0 : 2;
}

static int reads(int root_fd)
{
	int path_fd = container_path_open(root_fd, "/file");
	int fd = container_file_reopen(path_fd, &anybody, NULL);

	return fd < 0;
}

static int opens_to_write(int root_fd)
{
	return openat(root_fd, "file", O_WRONLY | O_CLOEXEC) >= 0;
}

static int forks(int root_fd)
{
	(void)root_fd;
	return fork() >= 0;
}

static int makes_a_socket(int root_fd)
{
	(void)root_fd;
	return socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
}

static int signals_its_parent(int root_fd)
{
	(void)root_fd;
	return kill(getppid(), 0) == 0;
}

static int executes(int root_fd)
{
	char *const none[] = { NULL };

	(void)root_fd;
	return execve("/bin/true", none, none);
}

static int lists(int root_fd)
{
	char bytes[256];

	return syscall(SYS_getdents64, root_fd, bytes, sizeof(bytes)) >= 0;
}

/* Its wait status. */
static int confined(int (*act)(int root_fd))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		(void)alarm(60);
		_exit(opener_child_confine() ? 99 : act(roots[0]));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void the_process_reads_and_changes_nothing(void **state)
{
	static int (*const deadly[])(int) = { opens_to_write,	  forks,    makes_a_socket,
					      signals_its_parent, executes, lists };

	(void)state;
	assert_int_equal(confined(reads), 0);
	if (parser_sandbox_features() & PARSER_SANDBOX_LANDLOCK) {
		assert_int_equal(confined(writes_by_openat2), 0);
		assert_int_equal(confined(creates_by_openat2), 0);
	}
	if (!(parser_sandbox_features() & PARSER_SANDBOX_SECCOMP))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(deadly); i++) {
		int status = confined(deadly[i]);

		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
			fail_msg("%zu: status %#x instead of SIGSYS", i, (unsigned int)status);
	}
}

static uint64_t capabilities_of(pid_t pid)
{
	unsigned long long bits = ~0ull;
	char path[64], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		(void)sscanf(line, "CapPrm: %llx", &bits);
	(void)fclose(file);
	return bits;
}

static void the_process_has_one_right_at_most(void **state)
{
	struct opener *real = opener__new(forking(opener_child_main));
	struct opener_stats stats;
	int fd;

	(void)state;
	opener__charge(real, one);
	fd = opener__path(real, roots[0], "/file");
	assert_true(fd >= 0);
	close(fd);
	opener__stats(real, &stats);
	assert_true((capabilities_of(stats.pid) & ~CAPABILITY_BIT(CAP_DAC_READ_SEARCH)) == 0);
	opener__free(real);
}

/* As a copy of the process has it. */
static int in_copy(struct opener *real, pid_t original)
{
	struct opener_stats stats;
	int fd;

	opener__forget_process(real);
	opener__stats(real, &stats);
	if (stats.pid || kill(original, 0))
		return 1;
	fd = opener__path(real, roots[0], "/file");
	opener__stats(real, &stats);
	return fd < 0 || stats.pid == original ? 2 : 0;
}

static void a_copy_starts_one_of_its_own_and_leaves_that_of_the_original(void **state)
{
	struct opener *real = opener__new(forking(opener_child_main));
	struct opener_stats first, now;
	int fd, status;
	pid_t copy;

	(void)state;
	opener__charge(real, one);
	fd = opener__path(real, roots[0], "/file");
	assert_true(fd >= 0);
	close(fd);
	opener__stats(real, &first);
	copy = fork();
	if (copy == 0)
		_exit(in_copy(real, first.pid));
	assert_int_equal(waitpid(copy, &status, 0), copy);
	assert_int_equal(status, 0);
	fd = opener__path(real, roots[0], "/file");
	assert_true(fd >= 0);
	close(fd);
	opener__stats(real, &now);
	assert_int_equal(now.pid, first.pid);
	opener__free(real);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_make, scene_remove)
	const struct CMUnitTest tests[] = {
		TEST(no_process_is_started_before_the_first_request),
		TEST(an_open_that_hangs_costs_its_account_and_nobody_else),
		TEST(a_file_system_that_hangs_rests_for_all_that_have_mapped_files_of_it),
		TEST(two_that_hang_are_all_that_an_account_has),
		TEST(waiting_in_vain_uses_up_the_accounts_failures),
		TEST(what_is_answered_too_late_is_never_used),
		TEST(a_file_that_hangs_when_it_is_closed_is_at_the_cost_of_whoever_wanted_it),
		TEST(one_that_ended_meanwhile_is_nobodys_fault),
		TEST(one_that_dies_or_lies_costs_that_file),
		TEST(accounts_together_have_a_limit_that_ends),
		TEST(no_account_keeps_a_user_when_the_opener_is_gone),
		TEST(without_a_process_nothing_is_opened),
		TEST(that_none_can_be_started_is_said_once_until_one_could_be),
		TEST(the_process_reads_and_changes_nothing),
		TEST(the_process_has_one_right_at_most),
		TEST(a_copy_starts_one_of_its_own_and_leaves_that_of_the_original),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
