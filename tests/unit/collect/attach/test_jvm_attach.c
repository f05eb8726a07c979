// SPDX-License-Identifier: Apache-2.0
/*
 * The attach conversation with a fake JVM: a forked process that takes SIGQUIT, opens the socket and
 * answers, or misbehaves in every way a container can think of. Also the files in /tmp and the reading
 * of replies. Real JVMs are in tests/e2e/test_attach.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "tests/unit/fake_tree.h"
#include "tests/unit/no_sandbox.h"
#include "user/collect/attach/jvm_attach_talk.h"
#include "user/collect/attach/jvm_attach_tmp.h"
#include "user/collect/naming/jvm_ask.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

#define NS_PID	      7
#define SOCKET_NAME   ".java_pid7"
#define TRIGGER_NAME  ".attach_pid7"
#define MAP_NAME      "perf-7.map"
#define WHOLE_MAP     "1000 10 int A.b()\n"
#define SHORT_WAIT_MS 150 /* for answers that never come */
#define LATE_MS	      1000
#define LONG_WAIT_MS  10000
#define REQUEST_BYTES 26

/* ---- replies ---- */

static void jvm_reply_tells_what_the_jvm_can(void **state)
{
	static const struct {
		const char *reply;
		enum jvm_attach_outcome outcome;
	} rows[] = {
		{ "0\n", JVM_ATTACH_OK },
		{ "0\nWarning: Failed to create /tmp/perf-1.map\n", JVM_ATTACH_OK },
		{ "-1\njava.lang.IllegalArgumentException: Unknown diagnostic command\n",
		  JVM_ATTACH_UNSUPPORTED },
		{ "0\njava.lang.IllegalArgumentException: Unknown diagnostic command\n",
		  JVM_ATTACH_UNSUPPORTED },
		{ "-1\nOperation jcmd not recognized!\n", JVM_ATTACH_UNSUPPORTED },
		{ "101\n", JVM_ATTACH_REFUSED },
		{ "-1\n", JVM_ATTACH_REFUSED },
		{ "0", JVM_ATTACH_REFUSED },
		{ "00\n", JVM_ATTACH_REFUSED },
		{ "", JVM_ATTACH_REFUSED },
		{ "\n0\n", JVM_ATTACH_REFUSED },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(jvm_talk_judge_reply(rows[i].reply, strlen(rows[i].reply)),
				 rows[i].outcome);
}

/* ---- /tmp ---- */

static void tmp_make(struct fake_tree *tree, struct jvm_tmp *tmp)
{
	fake_tree_make(tree);
	jvm_tmp_init(tmp, tree->fd, NS_PID, geteuid());
}

static int exists(const struct fake_tree *tree, const char *name)
{
	return faccessat(tree->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A socket nobody listens on. */
static void socket_make(const struct fake_tree *tree, const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	__cleanup_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", tree->path, name);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
}

enum planted {
	PLANTED_NOTHING,
	PLANTED_FILE,
	PLANTED_SYMLINK,
	PLANTED_DANGLING,
	PLANTED_HARD_LINK,
	PLANTED_FIFO,
	PLANTED_DIRECTORY,
	PLANTED_SOCKET,
};

static void plant(const struct fake_tree *tree, const char *name, enum planted what)
{
	fake_tree_write(tree, "victim", "precious\n");
	switch (what) {
	case PLANTED_NOTHING:
		break;
	case PLANTED_FILE:
		fake_tree_write(tree, name, WHOLE_MAP);
		break;
	case PLANTED_SYMLINK:
		assert_int_equal(symlinkat("victim", tree->fd, name), 0);
		break;
	case PLANTED_DANGLING:
		assert_int_equal(symlinkat("/nowhere/at/all", tree->fd, name), 0);
		break;
	case PLANTED_HARD_LINK:
		assert_int_equal(linkat(tree->fd, "victim", tree->fd, name, 0), 0);
		break;
	case PLANTED_FIFO:
		assert_int_equal(mkfifoat(tree->fd, name, 0644), 0);
		break;
	case PLANTED_DIRECTORY:
		assert_int_equal(mkdirat(tree->fd, name, 0755), 0);
		break;
	case PLANTED_SOCKET:
		socket_make(tree, name);
		break;
	}
}

static void jvm_tmp_starts_nothing_when_something_is_planted(void **state)
{
	static const struct {
		enum planted map, socket;
		enum jvm_attach_outcome outcome;
	} rows[] = {
		{ PLANTED_NOTHING, PLANTED_NOTHING, JVM_ATTACH_OK },
		{ PLANTED_FILE, PLANTED_SOCKET, JVM_ATTACH_OK },
		{ PLANTED_SYMLINK, PLANTED_NOTHING, JVM_ATTACH_TMP_HOSTILE },
		{ PLANTED_DANGLING, PLANTED_NOTHING, JVM_ATTACH_TMP_HOSTILE },
		{ PLANTED_HARD_LINK, PLANTED_NOTHING, JVM_ATTACH_TMP_HOSTILE },
		{ PLANTED_FIFO, PLANTED_NOTHING, JVM_ATTACH_TMP_HOSTILE },
		{ PLANTED_DIRECTORY, PLANTED_NOTHING, JVM_ATTACH_TMP_HOSTILE },
		{ PLANTED_SOCKET, PLANTED_NOTHING, JVM_ATTACH_TMP_HOSTILE },
		{ PLANTED_NOTHING, PLANTED_FILE, JVM_ATTACH_TMP_HOSTILE },
		{ PLANTED_NOTHING, PLANTED_SYMLINK, JVM_ATTACH_TMP_HOSTILE },
		{ PLANTED_NOTHING, PLANTED_FIFO, JVM_ATTACH_TMP_HOSTILE },
		{ PLANTED_NOTHING, PLANTED_DIRECTORY, JVM_ATTACH_TMP_HOSTILE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fake_tree tree;
		struct jvm_tmp tmp;

		tmp_make(&tree, &tmp);
		plant(&tree, MAP_NAME, rows[i].map);
		plant(&tree, SOCKET_NAME, rows[i].socket);
		assert_int_equal(jvm_tmp_check(&tmp), rows[i].outcome);
		if (rows[i].outcome == JVM_ATTACH_OK) {
			assert_int_equal(tmp.map_existed, rows[i].map == PLANTED_FILE);
			assert_int_equal(tmp.has_socket, rows[i].socket == PLANTED_SOCKET);
		}
		fake_tree_remove(&tree);
	}
}

static void jvm_tmp_of_another_owner_is_hostile(void **state)
{
	struct fake_tree tree;
	struct jvm_tmp tmp;

	(void)state;
	tmp_make(&tree, &tmp);
	plant(&tree, MAP_NAME, PLANTED_FILE);
	jvm_tmp_init(&tmp, tree.fd, NS_PID, geteuid() + 1);
	assert_int_equal(jvm_tmp_check(&tmp), JVM_ATTACH_TMP_HOSTILE);
	assert_int_equal(jvm_tmp_judge_map(&tmp), JVM_ATTACH_NO_MAP);
	assert_int_equal(jvm_tmp_remove_map(&tmp), -EPERM);
	assert_true(exists(&tree, MAP_NAME));

	assert_int_equal(unlinkat(tree.fd, MAP_NAME, 0), 0);
	plant(&tree, SOCKET_NAME, PLANTED_SOCKET);
	assert_int_equal(jvm_tmp_check(&tmp), JVM_ATTACH_TMP_HOSTILE);
	assert_int_equal(jvm_tmp_open_socket(&tmp), -ELOOP);
	/* A trigger that the JVM would not take for its own is taken back at once. */
	assert_int_equal(jvm_tmp_make_trigger(&tmp), -EACCES);
	assert_false(exists(&tree, TRIGGER_NAME));
	fake_tree_remove(&tree);
}

static void jvm_tmp_trigger_is_made_once_and_never_through_a_link(void **state)
{
	static const struct {
		enum planted what;
		int err;
	} rows[] = {
		{ PLANTED_FILE, -EEXIST },     { PLANTED_SYMLINK, -ELOOP },
		{ PLANTED_DANGLING, -ELOOP },  { PLANTED_FIFO, -ELOOP },
		{ PLANTED_DIRECTORY, -ELOOP }, { PLANTED_SOCKET, -ELOOP },
	};
	const struct timespec long_ago[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	struct fake_tree tree;
	struct jvm_tmp tmp;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tmp_make(&tree, &tmp);
		plant(&tree, TRIGGER_NAME, rows[i].what);
		assert_int_equal(jvm_tmp_make_trigger(&tmp), rows[i].err);
		assert_true(exists(&tree, TRIGGER_NAME));
		fake_tree_remove(&tree);
	}
	tmp_make(&tree, &tmp);
	assert_int_equal(jvm_tmp_make_trigger(&tmp), 0);
	assert_int_equal(jvm_tmp_make_trigger(&tmp), -EEXIST);
	/* One that was left behind is replaced. */
	assert_int_equal(utimensat(tree.fd, TRIGGER_NAME, long_ago, 0), 0);
	assert_int_equal(jvm_tmp_make_trigger(&tmp), 0);
	jvm_tmp_remove_trigger(&tmp);
	assert_false(exists(&tree, TRIGGER_NAME));
	fake_tree_remove(&tree);
}

static void jvm_tmp_judges_the_map_by_the_file(void **state)
{
	static const struct {
		const char *text; /* NULL: something is planted instead */
		enum planted what;
		enum jvm_attach_outcome outcome;
	} rows[] = {
		{ WHOLE_MAP, PLANTED_NOTHING, JVM_ATTACH_OK },
		{ "", PLANTED_NOTHING, JVM_ATTACH_NO_MAP },
		{ "1000 10 cut of", PLANTED_NOTHING, JVM_ATTACH_NO_MAP },
		{ NULL, PLANTED_NOTHING, JVM_ATTACH_NO_MAP },
		{ NULL, PLANTED_SYMLINK, JVM_ATTACH_NO_MAP },
		{ NULL, PLANTED_HARD_LINK, JVM_ATTACH_NO_MAP },
		{ NULL, PLANTED_FIFO, JVM_ATTACH_NO_MAP },
		{ NULL, PLANTED_DIRECTORY, JVM_ATTACH_NO_MAP },
	};
	struct fake_tree tree;
	struct jvm_tmp tmp;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		tmp_make(&tree, &tmp);
		assert_int_equal(jvm_tmp_check(&tmp), JVM_ATTACH_OK);
		plant(&tree, MAP_NAME, rows[i].what);
		if (rows[i].text)
			fake_tree_write(&tree, MAP_NAME, rows[i].text);
		assert_int_equal(jvm_tmp_judge_map(&tmp), rows[i].outcome);
		fake_tree_remove(&tree);
	}
	/* One that lay there before and was not touched is not an answer. */
	tmp_make(&tree, &tmp);
	plant(&tree, MAP_NAME, PLANTED_FILE);
	assert_int_equal(jvm_tmp_check(&tmp), JVM_ATTACH_OK);
	assert_int_equal(jvm_tmp_judge_map(&tmp), JVM_ATTACH_NO_MAP);
	fake_tree_write(&tree, MAP_NAME, WHOLE_MAP WHOLE_MAP);
	assert_int_equal(jvm_tmp_judge_map(&tmp), JVM_ATTACH_OK);
	fake_tree_remove(&tree);
}

static void jvm_tmp_removes_only_a_file_of_the_jvm(void **state)
{
	static const struct {
		enum planted what;
		int err;
	} rows[] = {
		{ PLANTED_NOTHING, 0 },	     { PLANTED_FILE, 0 },
		{ PLANTED_SYMLINK, -EPERM }, { PLANTED_HARD_LINK, -EPERM },
		{ PLANTED_FIFO, -EPERM },    { PLANTED_DIRECTORY, -EPERM },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fake_tree tree;
		struct jvm_tmp tmp;

		tmp_make(&tree, &tmp);
		plant(&tree, MAP_NAME, rows[i].what);
		assert_int_equal(jvm_tmp_remove_map(&tmp), rows[i].err);
		assert_int_equal(exists(&tree, MAP_NAME), rows[i].err != 0);
		assert_true(exists(&tree, "victim"));
		fake_tree_remove(&tree);
	}
}

/* ---- a fake JVM ---- */

enum fake_kind {
	FAKE_POLITE,	     /* writes the map, says "0" */
	FAKE_IN_PIECES,	     /* the same, byte by byte */
	FAKE_NO_FILE,	     /* says "0" and writes nothing */
	FAKE_CUT_FILE,	     /* disk full: half a line */
	FAKE_OLD,	     /* does not know the command */
	FAKE_MUTE,	     /* closes without an answer */
	FAKE_ENDLESS,	     /* never stops answering */
	FAKE_SILENT,	     /* never answers */
	FAKE_DIES_ASKED,     /* ends when asked */
	FAKE_DIES_SIGNALLED, /* ends on SIGQUIT */
	FAKE_DEAF,	     /* takes SIGQUIT and does nothing */
	FAKE_LATE,	     /* takes the signal when nobody waits for it any more */
	FAKE_PLANTS_FILE,    /* puts a file where the socket belongs */
	FAKE_OTHER_LISTENS,  /* another process has the socket */
};

struct fake_jvm {
	struct fake_tree tree;
	struct jvm_tmp tmp;
	struct jvm_talk talk;
	pid_t pid;
	int pid_fd;
	int status_fd;
};

/* Everything below runs in the fake's own process: it ends with _exit() and may not assert. */

static void fake_need(int condition)
{
	if (!condition)
		_exit(99);
}

static int fake_listen(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = SOCKET_NAME ".tmp" };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	fake_need(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	fake_need(listen(fd, 5) == 0);
	/* As HotSpot does: whoever sees the name can connect. */
	fake_need(rename(SOCKET_NAME ".tmp", SOCKET_NAME) == 0);
	return fd;
}

static void fake_write_map(const char *text)
{
	int fd = open(MAP_NAME, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	fake_need(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static void fake_say(int fd, const char *text, size_t piece)
{
	for (size_t at = 0; at < strlen(text); at += piece)
		fake_need(send(fd, text + at, piece, MSG_NOSIGNAL) == (ssize_t)piece);
}

static void fake_answer(int fd, enum fake_kind kind)
{
	switch (kind) {
	case FAKE_POLITE:
	case FAKE_OTHER_LISTENS:
		fake_write_map(WHOLE_MAP);
		fake_say(fd, "0\n", 2);
		break;
	case FAKE_IN_PIECES:
		fake_say(fd, "0\n", 1);
		fake_write_map(WHOLE_MAP);
		fake_say(fd, "done", 1);
		break;
	case FAKE_NO_FILE:
		fake_say(fd, "0\n", 2);
		break;
	case FAKE_CUT_FILE:
		fake_write_map("1000 10 int A.");
		fake_say(fd, "0\n", 2);
		break;
	case FAKE_OLD:
		fake_say(fd, "-1\njava.lang.IllegalArgumentException: Unknown diagnostic command\n",
			 1);
		break;
	case FAKE_ENDLESS:
		while (send(fd, "0\n0\n0\n0\n", 8, MSG_NOSIGNAL) > 0)
			;
		break;
	case FAKE_SILENT:
		for (;;)
			pause();
	default: /* FAKE_MUTE, FAKE_DIES_ASKED */
		break;
	}
}

static void fake_serve(int listen_fd, enum fake_kind kind)
{
	static const char expected[REQUEST_BYTES] = "1\0jcmd\0Compiler.perfmap\0\0";
	char request[REQUEST_BYTES + 8];
	size_t len = 0;
	int fd = accept(listen_fd, NULL, NULL);

	if (kind == FAKE_OTHER_LISTENS) {
		/* It must be left before anything is said. */
		fake_need(recv(fd, request, sizeof(request), 0) == 0);
		return;
	}
	while (len < REQUEST_BYTES) {
		ssize_t cnt = recv(fd, request + len, sizeof(request) - len, 0);

		fake_need(cnt > 0);
		len += (size_t)cnt;
	}
	fake_need(len == REQUEST_BYTES && memcmp(request, expected, REQUEST_BYTES) == 0);
	if (kind != FAKE_DIES_ASKED)
		fake_answer(fd, kind);
	close(fd);
}

static void __attribute__((noreturn))
fake_main(const struct fake_tree *tree, enum fake_kind kind, int ready_fd)
{
	sigset_t quit;
	int listen_fd, signo;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	fake_need(fchdir(tree->fd) == 0);
	sigemptyset(&quit);
	sigaddset(&quit, SIGQUIT);
	fake_need(sigprocmask(SIG_BLOCK, &quit, NULL) == 0);
	fake_need(write(ready_fd, "", 1) == 1);
	if (kind == FAKE_LATE)
		(void)usleep(LATE_MS * 1000);
	fake_need(sigwait(&quit, &signo) == 0);
	if (kind == FAKE_DIES_SIGNALLED)
		_exit(0);
	/* HotSpot prints a thread dump otherwise. */
	fake_need(access(TRIGGER_NAME, F_OK) == 0);
	if (kind == FAKE_PLANTS_FILE)
		fake_need(close(open(SOCKET_NAME, O_WRONLY | O_CREAT, 0600)) == 0);
	if (kind == FAKE_DEAF || kind == FAKE_PLANTS_FILE) {
		for (;;)
			pause();
	}
	if (kind == FAKE_OTHER_LISTENS && fork() > 0) {
		for (;;)
			pause();
	}
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	listen_fd = fake_listen();
	fake_serve(listen_fd, kind);
	if (kind == FAKE_DIES_ASKED)
		_exit(0);
	for (;;)
		pause();
}

static void fake_start(struct fake_jvm *jvm, enum fake_kind kind, uint32_t wait_ms)
{
	int ready[2];
	char byte;

	memset(jvm, 0, sizeof(*jvm));
	tmp_make(&jvm->tree, &jvm->tmp);
	fake_tree_write(&jvm->tree, "status",
			"Name:\tjava\nState:\tS (sleeping)\nSigIgn:\t0\nSigCgt:\t4\n");
	jvm->status_fd = openat(jvm->tree.fd, "status", O_RDONLY | O_CLOEXEC);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	jvm->pid = fork();
	assert_true(jvm->pid >= 0);
	if (jvm->pid == 0)
		fake_main(&jvm->tree, kind, ready[1]);
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	jvm->pid_fd = (int)syscall(SYS_pidfd_open, jvm->pid, 0);
	assert_true(jvm->pid_fd >= 0);
	jvm->talk = (struct jvm_talk){
		.tmp = &jvm->tmp,
		.pid_fd = jvm->pid_fd,
		.status_fd = jvm->status_fd,
		.pid = jvm->pid,
		.deadline_ns = clock_monotonic_ns() + wait_ms * CLOCK_NS_PER_MS,
	};
	assert_int_equal(jvm_tmp_check(&jvm->tmp), JVM_ATTACH_OK);
}

static void fake_stop(struct fake_jvm *jvm)
{
	int status;

	(void)kill(jvm->pid, SIGKILL);
	assert_int_equal(waitpid(jvm->pid, &status, 0), jvm->pid);
	/* 99: something of the fake's own expectations failed. */
	assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 99);
	close(jvm->pid_fd);
	close(jvm->status_fd);
	fake_tree_remove(&jvm->tree);
}

static void jvm_talk_ends_well_or_says_why_with_every_jvm(void **state)
{
	static const struct {
		enum fake_kind kind;
		uint32_t wait_ms;
		enum jvm_attach_outcome outcome;
		bool listener_started;
		bool has_map;
	} rows[] = {
		{ FAKE_POLITE, LONG_WAIT_MS, JVM_ATTACH_OK, true, true },
		{ FAKE_IN_PIECES, LONG_WAIT_MS, JVM_ATTACH_OK, true, true },
		{ FAKE_NO_FILE, LONG_WAIT_MS, JVM_ATTACH_NO_MAP, true, false },
		{ FAKE_CUT_FILE, LONG_WAIT_MS, JVM_ATTACH_NO_MAP, true, false },
		{ FAKE_OLD, LONG_WAIT_MS, JVM_ATTACH_UNSUPPORTED, true, false },
		{ FAKE_MUTE, LONG_WAIT_MS, JVM_ATTACH_REFUSED, true, false },
		{ FAKE_ENDLESS, LONG_WAIT_MS, JVM_ATTACH_REFUSED, true, false },
		{ FAKE_SILENT, 1000 /* it must have heard */, JVM_ATTACH_TIMEOUT, true, false },
		{ FAKE_DIES_SIGNALLED, LONG_WAIT_MS, JVM_ATTACH_GONE, false, false },
		{ FAKE_DEAF, SHORT_WAIT_MS, JVM_ATTACH_TIMEOUT, false, false },
		{ FAKE_PLANTS_FILE, LONG_WAIT_MS, JVM_ATTACH_TMP_HOSTILE, false, false },
		{ FAKE_OTHER_LISTENS, LONG_WAIT_MS, JVM_ATTACH_WRONG_PEER, true, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fake_jvm jvm;

		fake_start(&jvm, rows[i].kind, rows[i].wait_ms);
		assert_int_equal(jvm_talk_request_map(&jvm.talk), rows[i].outcome);
		assert_int_equal(jvm.talk.listener_started, rows[i].listener_started);
		assert_int_equal(exists(&jvm.tree, MAP_NAME), rows[i].has_map);
		/* One that did not show in time that it has taken the signal may still do so. */
		assert_int_equal(exists(&jvm.tree, TRIGGER_NAME), rows[i].kind == FAKE_DEAF);
		fake_stop(&jvm);
	}
}

/* As a JVM without CPU for a while: what is asked of it ends in time, before it has seen the trigger. */
static void start_without_an_answer(struct fake_jvm *jvm, enum fake_kind kind)
{
	fake_start(jvm, kind, SHORT_WAIT_MS);
	assert_int_equal(jvm_talk_request_map(&jvm->talk), JVM_ATTACH_TIMEOUT);
	assert_true(exists(&jvm->tree, TRIGGER_NAME));
}

static void end_trigger_within(struct fake_jvm *jvm, uint32_t wait_ms)
{
	jvm->talk.deadline_ns = clock_monotonic_ns() + wait_ms * CLOCK_NS_PER_MS;
	jvm_talk_end_trigger(&jvm->talk);
}

/* With no CPU for two seconds; without the trigger it would print a thread dump. */
static void jvm_talk_leaves_the_trigger_to_a_jvm_that_is_late(void **state)
{
	struct fake_jvm jvm;

	(void)state;
	start_without_an_answer(&jvm, FAKE_LATE);
	end_trigger_within(&jvm, LONG_WAIT_MS);
	assert_true(exists(&jvm.tree, SOCKET_NAME));
	assert_false(exists(&jvm.tree, TRIGGER_NAME));
	fake_stop(&jvm);
}

static void jvm_talk_takes_the_trigger_back_when_the_jvm_has_ended(void **state)
{
	struct fake_jvm jvm;

	(void)state;
	start_without_an_answer(&jvm, FAKE_DEAF);
	end_trigger_within(&jvm, SHORT_WAIT_MS);
	assert_true(exists(&jvm.tree, TRIGGER_NAME));
	assert_int_equal(kill(jvm.pid, SIGKILL), 0);
	end_trigger_within(&jvm, LONG_WAIT_MS);
	assert_false(exists(&jvm.tree, TRIGGER_NAME));
	fake_stop(&jvm);
}

static void jvm_talk_with_one_that_ends_while_asked(void **state)
{
	enum jvm_attach_outcome outcome;
	struct fake_jvm jvm;

	(void)state;
	fake_start(&jvm, FAKE_DIES_ASKED, LONG_WAIT_MS);
	outcome = jvm_talk_request_map(&jvm.talk);
	/* Which of the two is seen first is up to the kernel. */
	assert_true(outcome == JVM_ATTACH_GONE || outcome == JVM_ATTACH_REFUSED);
	fake_stop(&jvm);
}

static void jvm_talk_does_not_signal_what_no_longer_catches(void **state)
{
	struct fake_jvm jvm;
	struct pollfd ended;

	(void)state;
	fake_start(&jvm, FAKE_DIES_SIGNALLED, LONG_WAIT_MS);
	fake_tree_write(&jvm.tree, "status",
			"Name:\tsh\nState:\tS (sleeping)\nSigIgn:\t0\nSigCgt:\t0\n");
	assert_int_equal(jvm_talk_request_map(&jvm.talk), JVM_ATTACH_NO_SIGNAL);
	assert_false(exists(&jvm.tree, TRIGGER_NAME));
	ended = (struct pollfd){ .fd = jvm.pid_fd, .events = POLLIN };
	assert_int_equal(poll(&ended, 1, 0), 0);
	fake_stop(&jvm);
}

static void jvm_talk_waits_for_an_attach_of_somebody_else(void **state)
{
	struct fake_jvm jvm;
	struct pollfd ended;

	(void)state;
	fake_start(&jvm, FAKE_DIES_SIGNALLED, SHORT_WAIT_MS);
	fake_tree_write(&jvm.tree, TRIGGER_NAME, "");
	assert_int_equal(jvm_talk_request_map(&jvm.talk), JVM_ATTACH_TIMEOUT);
	/* Not ours: neither signalled nor removed. */
	assert_true(exists(&jvm.tree, TRIGGER_NAME));
	ended = (struct pollfd){ .fd = jvm.pid_fd, .events = POLLIN };
	assert_int_equal(poll(&ended, 1, 0), 0);
	fake_stop(&jvm);
}

static void jvm_talk_with_a_socket_nobody_listens_on_is_refused(void **state)
{
	struct fake_jvm jvm;

	(void)state;
	fake_start(&jvm, FAKE_DEAF, LONG_WAIT_MS);
	socket_make(&jvm.tree, SOCKET_NAME);
	assert_int_equal(jvm_tmp_check(&jvm.tmp), JVM_ATTACH_OK);
	assert_true(jvm.tmp.has_socket);
	assert_int_equal(jvm_talk_request_map(&jvm.talk), JVM_ATTACH_REFUSED);
	assert_false(jvm.talk.listener_started);
	fake_stop(&jvm);
}

/* ---- requests that end at once ---- */

static size_t open_fd_cnt(void)
{
	size_t cnt = 0;

	for (int fd = 0; fd < 256; fd++)
		cnt += fcntl(fd, F_GETFD) >= 0;
	return cnt;
}

static void jvm_attach_looks_and_leaves_nothing_open(void **state)
{
	struct jvm_attach_request request = { .pid = (uint32_t)getpid(),
					      .start_ns = CLOCK_NS_PER_S,
					      .timeout_ms = 1000,
					      .vm_err = -ENOENT };
	struct fake_tree proc;
	int feature = -1;
	size_t before;
	char path[32];

	(void)state;
	fake_tree_make(&proc);
	snprintf(path, sizeof(path), "%u/stat", request.pid);
	fake_tree_writef(&proc, path, "%u (x) S 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 30 0 %ld 0 0\n",
			 request.pid, sysconf(_SC_CLK_TCK));
	snprintf(path, sizeof(path), "%u/cgroup", request.pid);
	fake_tree_write(&proc, path, "");
	request.proc_fd = proc.fd;
	before = open_fd_cnt();
	for (int i = 0; i < 3; i++)
		assert_int_equal(jvm_attach_check(&request, &feature), JVM_ATTACH_NOT_HOTSPOT);
	assert_int_equal(feature, 0);
	/* Another start time: it is another process by now. */
	request.start_ns += CLOCK_NS_PER_S;
	assert_int_equal(jvm_attach_check(&request, &feature), JVM_ATTACH_GONE);
	/* No process has such a pid. */
	request.pid = 0x7fffffff;
	assert_int_equal(jvm_attach_check(&request, &feature), JVM_ATTACH_GONE);
	assert_int_equal(open_fd_cnt(), before);
	fake_tree_remove(&proc);
}

static void jvm_attach_reports_a_jvm_that_is_gone(void **state)
{
	/* No process has the first pid; the other lives, but did not begin then. */
	static const uint32_t pids[] = { 0x7fffffff, 1 };

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(pids); i++) {
		const struct jvm_attach_job job = { .pid = pids[i / 2],
						    .start_ns = UINT64_MAX / 2,
						    .removes = i & 1 };
		struct jvm_attach_report report = { 0 };
		size_t before = open_fd_cnt();
		int fds[2];

		assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
		assert_int_equal(jvm_attach_main(&job, fds[1]), 0);
		assert_int_equal(read(fds[0], &report, sizeof(report)), sizeof(report));
		assert_int_equal(report.err, -ESRCH);
		assert_int_equal(report.result.outcome, JVM_ATTACH_GONE);
		close(fds[0]);
		close(fds[1]);
		assert_int_equal(open_fd_cnt(), before);
	}
}

/* Such a number could only be of a namer that is no longer its own master. */
static void jvm_ask_refuses_a_job_that_nobody_gives(void **state)
{
	struct launcher_child child;

	(void)state;
	memset(&child, 0xff, sizeof(child));
	assert_int_equal(jvm_ask_child_main(&child), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jvm_reply_tells_what_the_jvm_can),
		cmocka_unit_test(jvm_tmp_starts_nothing_when_something_is_planted),
		cmocka_unit_test(jvm_tmp_of_another_owner_is_hostile),
		cmocka_unit_test(jvm_tmp_trigger_is_made_once_and_never_through_a_link),
		cmocka_unit_test(jvm_tmp_judges_the_map_by_the_file),
		cmocka_unit_test(jvm_tmp_removes_only_a_file_of_the_jvm),
		cmocka_unit_test(jvm_talk_ends_well_or_says_why_with_every_jvm),
		cmocka_unit_test(jvm_talk_leaves_the_trigger_to_a_jvm_that_is_late),
		cmocka_unit_test(jvm_talk_takes_the_trigger_back_when_the_jvm_has_ended),
		cmocka_unit_test(jvm_talk_with_one_that_ends_while_asked),
		cmocka_unit_test(jvm_talk_does_not_signal_what_no_longer_catches),
		cmocka_unit_test(jvm_talk_waits_for_an_attach_of_somebody_else),
		cmocka_unit_test(jvm_talk_with_a_socket_nobody_listens_on_is_refused),
		cmocka_unit_test(jvm_attach_looks_and_leaves_nothing_open),
		cmocka_unit_test(jvm_attach_reports_a_jvm_that_is_gone),
		cmocka_unit_test(jvm_ask_refuses_a_job_that_nobody_gives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
