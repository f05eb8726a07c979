// SPDX-License-Identifier: Apache-2.0
/*
 * The copy of a namer that waits for its maker's end: what it has, whose it is, and that there is never more
 * than one. Programs of this test are the namers, and do what a byte tells them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/sandbox/launcher.h"
#include "user/collect/namer/namer_copy.h"
#include "user/sandbox/child_process.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define AWAIT_NS (20 * CLOCK_NS_PER_S)
#define COPIES	 50

enum order {
	ORDER_SAY,    /* only what it says with each answer */
	ORDER_LEARN,  /* counts up what it knows */
	ORDER_COPY,   /* makes a copy of itself */
	ORDER_THREAD, /* has a second thread from then on */
	ORDER_FORGE,  /* asks for what it may not */
};

enum forgery {
	FORGERY_UNASKED, /* adopts without having asked for sockets */
	FORGERY_ITSELF,
	FORGERY_SAMPLER,
	FORGERY_TAKES,
	FORGERY_CNT,
};

struct answer {
	pid_t pid;
	pid_t parent;
	uint32_t learnt;
	char name[16];
	int err; /* of ORDER_COPY */
	int errs[FORGERY_CNT];
};

struct namer {
	struct launcher *launcher;
	int socket_fd;
	uint32_t learnt;
};

/* ---- namers ---- */

static void *wait_for_ever(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

static int start_thread(void)
{
	pthread_t thread;

	return -pthread_create(&thread, NULL, wait_for_ever, NULL);
}

static int forge(struct namer *namer, pid_t pid)
{
	int fds[2];
	int err = launcher__new_copy(namer->launcher, &fds[0], &fds[1]);

	if (err)
		return err;
	err = launcher__adopt_copy(namer->launcher, pid);
	close(fds[0]);
	close(fds[1]);
	return err;
}

static void forge_all(struct namer *namer, struct answer *answer)
{
	pid_t pid, sampler = 1;
	int fd;

	answer->errs[FORGERY_UNASKED] = launcher__adopt_copy(namer->launcher, getpid());
	answer->errs[FORGERY_ITSELF] = forge(namer, getpid());
	answer->errs[FORGERY_SAMPLER] = forge(namer, sampler);
	answer->errs[FORGERY_TAKES] = launcher__take_copy(namer->launcher, &fd, &pid);
}

static void obey(struct namer *namer, enum order order, struct answer *answer)
{
	int copy_fd;

	switch (order) {
	case ORDER_LEARN:
		namer->learnt++;
		break;
	case ORDER_COPY:
		answer->err = namer_copy_make(namer->launcher, &copy_fd);
		if (answer->err <= 0)
			break;
		close(namer->socket_fd);
		namer->socket_fd = copy_fd;
		namer_copy_sleep(copy_fd);
		break;
	case ORDER_THREAD:
		answer->err = start_thread();
		break;
	case ORDER_FORGE:
		forge_all(namer, answer);
		break;
	case ORDER_SAY:
	default:
		break;
	}
}

static int namer_main(const struct launcher_child *child)
{
	struct launcher_child own = *child;
	int *const kept[] = { &own.socket_fd, &own.launcher_fd };
	const struct child_options options = { .fds = CHILD_FDS_STANDARD,
					       .kept = kept,
					       .kept_cnt = ARRAY_SIZE(kept) };
	struct namer namer = { 0 };
	char order;

	if (child_process_become(&options))
		return 1;
	namer.socket_fd = own.socket_fd;
	namer.launcher = launcher__from_fd(own.launcher_fd);
	while (recv(namer.socket_fd, &order, 1, 0) > 0) {
		struct answer answer = { 0 };

		obey(&namer, (enum order)order, &answer);
		if (answer.err > 0)
			continue; /* the copy, which was woken by an order of its own */
		answer.pid = getpid();
		answer.parent = getppid();
		answer.learnt = namer.learnt;
		(void)prctl(PR_GET_NAME, answer.name);
		(void)send(namer.socket_fd, &answer, sizeof(answer), MSG_NOSIGNAL);
	}
	return 0;
}

/* ---- the sampler ---- */

static struct launcher *launcher;

/* It keeps the rights of the test. */
static int not_confined(void *ctx)
{
	(void)ctx;
	return 0;
}

static int setup(void **state)
{
	static const struct launcher_options options = {
		.programs = { [LAUNCHER_NAMER] = namer_main },
		.confine = not_confined,
	};

	(void)state;
	log_set_level(LOG_LEVEL_ERR);
	return launcher__open(&options, &launcher);
}

static int teardown(void **state)
{
	(void)state;
	launcher__free(launcher);
	return 0;
}

static pid_t start(int *socket_out)
{
	pid_t pid;

	assert_int_equal(launcher__start(launcher, LAUNCHER_NAMER, NULL, socket_out, &pid), 0);
	return pid;
}

static struct answer tell(int socket_fd, enum order order)
{
	char byte = (char)order;
	struct answer answer;

	assert_int_equal(send(socket_fd, &byte, 1, MSG_NOSIGNAL), 1);
	assert_int_equal(recv(socket_fd, &answer, sizeof(answer), MSG_WAITALL), sizeof(answer));
	return answer;
}

static void await_gone(pid_t pid)
{
	uint64_t end_ns = clock_monotonic_ns() + AWAIT_NS;

	while (kill(pid, 0) == 0 && clock_monotonic_ns() < end_ns)
		(void)poll(NULL, 0, 1);
	assert_int_equal(kill(pid, 0), -1);
}

static size_t count_fds(pid_t pid)
{
	char path[64];
	size_t cnt = 0;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	assert_non_null(dir);
	while (readdir(dir))
		cnt++;
	closedir(dir);
	return cnt;
}

/* Living ones and zombies; *last_out is the youngest. */
static size_t children_of(pid_t pid, pid_t *last_out)
{
	char path[64];
	size_t cnt = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	file = fopen(path, "re");
	assert_non_null(file);
	while (fscanf(file, "%d", last_out) == 1)
		cnt++;
	(void)fclose(file);
	return cnt;
}

static void await_children(size_t wanted)
{
	uint64_t end_ns = clock_monotonic_ns() + AWAIT_NS;
	pid_t last;

	while (children_of(launcher__pid(launcher), &last) != wanted &&
	       clock_monotonic_ns() < end_ns)
		(void)poll(NULL, 0, 1);
	assert_int_equal(children_of(launcher__pid(launcher), &last), wanted);
}

/* ---- tests ---- */

static void a_copy_has_what_its_maker_had_learnt_and_outlives_it(void **state)
{
	int maker_fd, copy_fd, status;
	struct answer answer;
	pid_t maker = start(&maker_fd), copy;

	(void)state;
	(void)tell(maker_fd, ORDER_LEARN);
	answer = tell(maker_fd, ORDER_COPY);
	assert_int_equal(answer.err, 0);
	assert_int_equal(answer.pid, maker);
	(void)tell(maker_fd, ORDER_LEARN);
	(void)launcher__end(launcher, maker);
	await_gone(maker);
	assert_int_equal(launcher__take_copy(launcher, &copy_fd, &copy), 0);
	answer = tell(copy_fd, ORDER_SAY);
	assert_int_equal(answer.pid, copy);
	assert_int_not_equal(copy, maker);
	assert_int_equal(answer.parent, launcher__pid(launcher));
	assert_int_equal(answer.learnt, 1);
	assert_string_equal(answer.name, "jbpfd-standby");
	/* It is a namer as any other: it is ended, and makes a copy of its own. */
	assert_int_equal(tell(copy_fd, ORDER_COPY).err, 0);
	status = launcher__end(launcher, copy);
	assert_true(status >= 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	close(copy_fd);
	assert_int_equal(launcher__take_copy(launcher, &copy_fd, &copy), 0);
	assert_int_equal(tell(copy_fd, ORDER_LEARN).learnt, 2);
	close(copy_fd);
	close(maker_fd);
}

/* The sampler sees that, and the launcher, as if there was none. */
static void a_copy_does_not_hide_its_makers_end(void **state)
{
	struct pollfd wait;
	int maker_fd;
	pid_t maker = start(&maker_fd);
	char byte;

	(void)state;
	assert_int_equal(tell(maker_fd, ORDER_COPY).err, 0);
	assert_int_equal(kill(maker, SIGKILL), 0);
	wait = (struct pollfd){ .fd = maker_fd, .events = POLLIN };
	assert_int_equal(poll(&wait, 1, (int)(AWAIT_NS / CLOCK_NS_PER_MS)), 1);
	assert_int_equal(recv(maker_fd, &byte, 1, 0), 0);
	close(maker_fd);
}

static void of_many_copies_one_is_left_and_nothing_of_the_others(void **state)
{
	pid_t pid = launcher__pid(launcher), copy;
	int maker_fd, copy_fd;
	size_t fd_cnt, own_cnt;

	(void)state;
	(void)start(&maker_fd);
	assert_int_equal(tell(maker_fd, ORDER_COPY).err, 0);
	fd_cnt = count_fds(pid);
	own_cnt = count_fds(tell(maker_fd, ORDER_SAY).pid);
	for (int i = 0; i < COPIES; i++) {
		(void)tell(maker_fd, ORDER_LEARN);
		assert_int_equal(tell(maker_fd, ORDER_COPY).err, 0);
	}
	await_children(2);
	assert_int_equal(count_fds(pid), fd_cnt);
	assert_int_equal(count_fds(tell(maker_fd, ORDER_SAY).pid), own_cnt);
	assert_int_equal(launcher__take_copy(launcher, &copy_fd, &copy), 0);
	assert_int_equal(tell(copy_fd, ORDER_SAY).learnt, COPIES);
	close(copy_fd);
	close(maker_fd);
}

static void a_copy_is_taken_once_and_not_after_it_ended(void **state)
{
	uint64_t end_ns = clock_monotonic_ns() + AWAIT_NS;
	int maker_fd, copy_fd, err;
	pid_t copy, other;

	(void)state;
	(void)start(&maker_fd);
	assert_int_equal(launcher__take_copy(launcher, &copy_fd, &copy), -ENOENT);
	assert_int_equal(tell(maker_fd, ORDER_COPY).err, 0);
	assert_int_equal(launcher__take_copy(launcher, &copy_fd, &copy), 0);
	assert_int_equal(launcher__take_copy(launcher, &copy_fd, &other), -ENOENT);
	/* Now one that is killed while it sleeps. */
	assert_int_equal(tell(copy_fd, ORDER_COPY).err, 0);
	(void)launcher__end(launcher, copy);
	close(copy_fd);
	(void)children_of(launcher__pid(launcher), &other);
	assert_int_equal(kill(other, SIGKILL), 0);
	await_gone(other);
	do
		err = launcher__take_copy(launcher, &copy_fd, &copy);
	while (!err && clock_monotonic_ns() < end_ns);
	assert_int_equal(err, -ENOENT);
	close(maker_fd);
}

static void a_new_namer_ends_the_copy_of_the_one_before(void **state)
{
	int first_fd, second_fd, copy_fd;
	pid_t copy;

	(void)state;
	(void)start(&first_fd);
	assert_int_equal(tell(first_fd, ORDER_COPY).err, 0);
	(void)start(&second_fd);
	assert_int_equal(launcher__take_copy(launcher, &copy_fd, &copy), -ENOENT);
	await_children(2);
	close(first_fd);
	close(second_fd);
}

static void a_namer_has_no_other_process_adopted(void **state)
{
	struct answer answer;
	int maker_fd, copy_fd, unused_fd;
	pid_t copy;

	(void)state;
	(void)start(&maker_fd);
	answer = tell(maker_fd, ORDER_FORGE);
	assert_int_equal(answer.errs[FORGERY_UNASKED], -EPERM);
	assert_int_equal(answer.errs[FORGERY_ITSELF], -EEXIST);
	assert_int_equal(answer.errs[FORGERY_SAMPLER], -ECHILD);
	assert_int_equal(answer.errs[FORGERY_TAKES], -EPERM);
	assert_int_equal(launcher__new_copy(launcher, &unused_fd, &copy_fd), -EPERM);
	assert_int_equal(launcher__adopt_copy(launcher, getpid()), -EPERM);
	assert_int_equal(launcher__take_copy(launcher, &copy_fd, &copy), -ENOENT);
	/* Nothing of that is in the way of one that is right. */
	assert_int_equal(tell(maker_fd, ORDER_COPY).err, 0);
	assert_int_equal(launcher__take_copy(launcher, &copy_fd, &copy), 0);
	close(copy_fd);
	close(maker_fd);
}

static void there_is_no_copy_while_another_thread_runs(void **state)
{
	int maker_fd, copy_fd;
	pid_t copy;

	(void)state;
	(void)start(&maker_fd);
	assert_int_equal(tell(maker_fd, ORDER_THREAD).err, 0);
	assert_int_equal(tell(maker_fd, ORDER_COPY).err, -EBUSY);
	assert_int_equal(launcher__take_copy(launcher, &copy_fd, &copy), -ENOENT);
	close(maker_fd);
}

/* What a sampler leaves that is killed: a socket that is closed. */
static void a_sleeping_copy_ends_with_the_sampler(void **state)
{
	int maker_fd, status;
	pid_t maker = start(&maker_fd), pid;
	size_t cnt = 0;

	(void)state;
	assert_int_equal(tell(maker_fd, ORDER_COPY).err, 0);
	/* What the launcher leaves becomes this process's, so that it is seen to end. */
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	launcher__free(launcher);
	close(maker_fd);
	while ((pid = waitpid(-1, &status, 0)) > 0)
		cnt += pid != maker;
	assert_int_equal(errno, ECHILD);
	assert_int_equal(cnt, 1);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
	assert_int_equal(setup(NULL), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_copy_has_what_its_maker_had_learnt_and_outlives_it),
		TEST(a_copy_does_not_hide_its_makers_end),
		TEST(of_many_copies_one_is_left_and_nothing_of_the_others),
		TEST(a_copy_is_taken_once_and_not_after_it_ended),
		TEST(a_new_namer_ends_the_copy_of_the_one_before),
		TEST(a_namer_has_no_other_process_adopted),
		TEST(there_is_no_copy_while_another_thread_runs),
		TEST(a_sleeping_copy_ends_with_the_sampler),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
