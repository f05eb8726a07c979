// SPDX-License-Identifier: Apache-2.0
/*
 * How many children that ask JVMs an account may have, and what becomes of those that hang. A process of
 * this test stands in for the launcher: its children are sockets, and it says of each whether it ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbols/symbols_process.h"
#include "symbols/symbols_shared.h"
#include "user/collect/naming/jvm.h"
#include "user/sandbox/launcher_wire.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/fd_message.h"
#include "user/util/log.h"

/* ---- in place of jvm_attach.c: all gates are open ---- */

enum jvm_attach_outcome jvm_attach_check(const struct jvm_attach_request *request, int *feature_out)
{
	(void)request;
	*feature_out = 17;
	return JVM_ATTACH_OK;
}

int jvm_attach_main(const struct jvm_attach_job *job, int report_fd)
{
	(void)job;
	(void)report_fd;
	return 1;
}

/* ---- the launcher ---- */

#define FIRST_PID	 1000
#define PIDS		 256
#define REQUEST_HANGS	 1000u /* from now on nothing that is ended ends */
#define REQUEST_HAS_DIED 1001u
#define REQUEST_ANSWERS	 1002u /* with outcome numbers[0] */

struct fake_launcher {
	int fds[PIDS]; /* of the children, by pid */
	int cnt;
	bool hangs;
};

static int serve_start(struct fake_launcher *fake, struct reply *reply)
{
	int ends[2];

	if (fake->cnt == PIDS || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -EAGAIN;
	fake->fds[fake->cnt] = ends[1];
	reply->fds[0] = ends[0];
	reply->answer.pid = FIRST_PID + fake->cnt++;
	return 0;
}

static int serve_one(struct fake_launcher *fake, const struct request *request, struct reply *reply)
{
	int *fd = &fake->fds[(size_t)(request->pid - FIRST_PID) % PIDS];
	const struct jvm_attach_report report = { .result.outcome = (int)request->numbers[0] };

	switch (request->kind) {
	case LAUNCHER_ATTACH:
		return serve_start(fake, reply);
	case REQUEST_HANGS:
		fake->hangs = true;
		return 0;
	case REQUEST_ANSWERS:
		return send(*fd, &report, sizeof(report), MSG_NOSIGNAL) > 0 ? 0 : -EPIPE;
	case REQUEST_END:
		if (fake->hangs)
			return -EBUSY;
		break;
	default:
		break;
	}
	close_fd(fd);
	return 0;
}

static void __attribute__((noreturn)) launcher_run(int socket_fd)
{
	struct fake_launcher fake = { .cnt = 0 };
	struct request request;
	size_t len;

	(void)alarm(120);
	while (fd_message_receive(socket_fd, 0, &request, sizeof(request), &len, NULL, 0, NULL) ==
	       0) {
		struct reply reply = { .fds = { -1, -1 } };

		reply.answer.err = serve_one(&fake, &request, &reply);
		if (fd_message_send(socket_fd, &reply.answer, sizeof(reply.answer), reply.fds,
				    reply.fds[0] >= 0))
			break;
		cleanup_fd_(&reply.fds[0]);
	}
	_exit(0);
}

/* ---- who asks ---- */

struct fixture {
	pid_t launcher_pid;
	int control_fd; /* of the same socket */
	struct accounts *accounts;
	struct account *one, *other;
	struct jvm_asks asks;
};

static void fixture_make(struct fixture *fixture)
{
	int ends[2];

	*fixture = (struct fixture){ .accounts = accounts__new() };
	log_set_level(LOG_LEVEL_ERR);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	fixture->launcher_pid = fork();
	if (fixture->launcher_pid == 0) {
		close(ends[0]);
		launcher_run(ends[1]);
	}
	assert_true(fixture->launcher_pid > 0);
	close(ends[1]);
	fixture->control_fd = dup(ends[0]);
	fixture->asks.launcher = launcher__from_fd(ends[0]);
	fixture->one = accounts__get(fixture->accounts, 1, "one");
	fixture->other = accounts__get(fixture->accounts, 2, "other");
	assert_non_null(fixture->asks.launcher);
	assert_non_null(fixture->other);
}

/* Nobody has a user of an account or a descriptor left. */
static void fixture_remove(struct fixture *fixture)
{
	jvm_asks_release(&fixture->asks);
	for (size_t i = 0; i < JVM_ASKS_MAX; i++)
		assert_int_equal(fixture->asks.children[i].state, JVM_CHILD_NONE);
	account__put(fixture->one);
	account__put(fixture->other);
	accounts__begin_window(fixture->accounts, clock_boot_ns());
	assert_int_equal(accounts__count(fixture->accounts), 0);
	accounts__free(fixture->accounts);
	close(fixture->control_fd);
	launcher__free(fixture->asks.launcher);
	assert_int_equal(waitpid(fixture->launcher_pid, NULL, 0), fixture->launcher_pid);
}

static void tell(const struct fixture *fixture, uint32_t kind, pid_t pid, int outcome)
{
	const struct request request = { .kind = kind,
					 .pid = pid,
					 .numbers = { (uint64_t)outcome } };
	struct launcher_answer answer;

	assert_int_equal(send(fixture->control_fd, &request, sizeof(request), MSG_NOSIGNAL),
			 sizeof(request));
	assert_int_equal(recv(fixture->control_fd, &answer, sizeof(answer), 0), sizeof(answer));
	assert_int_equal(answer.err, 0);
}

static bool start(struct fixture *fixture, struct account *account, struct jvm_ask *ask)
{
	const struct jvm_attach_request request = { .pid = 42, .timeout_ms = 2000 };
	struct jvm_attach_result result;

	return jvm_ask_start(ask, &fixture->asks, account, &request, &result);
}

static void poll_until_answered(struct jvm_ask *ask, enum jvm_attach_outcome outcome)
{
	struct jvm_attach_result result;

	assert_true(jvm_ask_poll(ask, &result));
	assert_int_equal(result.outcome, outcome);
	assert_null(ask->child);
}

static void an_account_whose_children_hang_is_asked_no_more_until_one_has_ended(void **state)
{
	struct jvm_ask asks[JVM_ASKS_MAX_PER_ACCOUNT], more = { 0 };
	pid_t first = 0;
	struct fixture fixture;

	(void)state;
	fixture_make(&fixture);
	tell(&fixture, REQUEST_HANGS, 0, 0);
	for (size_t i = 0; i < ARRAY_SIZE(asks); i++) {
		assert_int_equal(jvm_asks_room(&fixture.asks, fixture.one), JVM_ASK_ROOM_NOW);
		assert_true(start(&fixture, fixture.one, &asks[i]));
		if (!first)
			first = asks[i].child->pid;
		asks[i].child->deadline_ns = 1;
		poll_until_answered(&asks[i], JVM_ATTACH_TIMEOUT);
	}
	jvm_asks_look(&fixture.asks);
	assert_int_equal(jvm_asks_room(&fixture.asks, fixture.one), JVM_ASK_ROOM_NONE);
	assert_false(start(&fixture, fixture.one, &more));
	assert_false(jvm_asks_remove(&fixture.asks, fixture.one, 42, 0, JVM_ATTACH_REMOVES_MAP));
	/* Nor is a file of it opened, which may lie there, too. */
	assert_false(account__may_open(fixture.one, clock_boot_ns()));
	assert_int_equal(jvm_asks_room(&fixture.asks, fixture.other), JVM_ASK_ROOM_NOW);
	tell(&fixture, REQUEST_HAS_DIED, first, 0);
	jvm_asks_look(&fixture.asks);
	assert_int_equal(jvm_asks_room(&fixture.asks, fixture.one), JVM_ASK_ROOM_NOW);
	assert_true(account__may_open(fixture.one, clock_boot_ns()));
	fixture_remove(&fixture);
}

static void an_account_whose_files_hang_is_not_asked(void **state)
{
	struct fixture fixture;

	(void)state;
	fixture_make(&fixture);
	for (size_t i = 0; i < ACCOUNT_MAX_HANGING; i++)
		account__note_hanging(fixture.one);
	assert_int_equal(jvm_asks_room(&fixture.asks, fixture.one), JVM_ASK_ROOM_NONE);
	assert_int_equal(jvm_asks_room(&fixture.asks, NULL), JVM_ASK_ROOM_NONE);
	for (size_t i = 0; i < ACCOUNT_MAX_HANGING; i++)
		account__note_answered(fixture.one);
	assert_int_equal(jvm_asks_room(&fixture.asks, fixture.one), JVM_ASK_ROOM_NOW);
	fixture_remove(&fixture);
}

/* Before it is known whether they will hang. */
static void an_account_has_few_children_at_once(void **state)
{
	struct jvm_ask asks[JVM_ASKS_MAX_PER_ACCOUNT], more = { 0 };
	struct fixture fixture;

	(void)state;
	fixture_make(&fixture);
	for (size_t i = 0; i < ARRAY_SIZE(asks); i++)
		assert_true(start(&fixture, fixture.one, &asks[i]));
	assert_int_equal(jvm_asks_room(&fixture.asks, fixture.one), JVM_ASK_ROOM_SOON);
	assert_false(start(&fixture, fixture.one, &more));
	assert_null(more.child);
	assert_true(start(&fixture, fixture.other, &more));
	tell(&fixture, REQUEST_ANSWERS, asks[0].child->pid, JVM_ATTACH_OK);
	poll_until_answered(&asks[0], JVM_ATTACH_OK);
	assert_int_equal(jvm_asks_room(&fixture.asks, fixture.one), JVM_ASK_ROOM_NOW);
	jvm_ask_release(&asks[1]);
	jvm_ask_release(&more);
	jvm_ask_release(&more);
	fixture_remove(&fixture);
}

static void a_file_that_is_removed_is_waited_for(void **state)
{
	struct fixture fixture;

	(void)state;
	fixture_make(&fixture);
	for (uint32_t pid = 7; pid < 7 + JVM_ASKS_MAX_PER_ACCOUNT; pid++)
		assert_true(jvm_asks_remove(&fixture.asks, fixture.one, pid, 5,
					    JVM_ATTACH_REMOVES_MAP));
	assert_int_equal(jvm_asks_room(&fixture.asks, fixture.one), JVM_ASK_ROOM_SOON);
	fixture_remove(&fixture);
}

static void what_takes_a_minute_to_remove_is_not_waited_for(void **state)
{
	struct fixture fixture;

	(void)state;
	fixture_make(&fixture);
	for (uint32_t pid = 7; pid < 7 + JVM_ASKS_MAX_PER_ACCOUNT; pid++)
		assert_true(jvm_asks_remove(&fixture.asks, fixture.one, pid, 5,
					    JVM_ATTACH_REMOVES_TRIGGER));
	assert_int_equal(jvm_asks_room(&fixture.asks, fixture.one), JVM_ASK_ROOM_NONE);
	assert_true(jvm_asks_removes(&fixture.asks, 7, 5));
	assert_false(jvm_asks_removes(&fixture.asks, 7, 6));
	jvm_asks_look(&fixture.asks);
	assert_true(jvm_asks_removes(&fixture.asks, 7, 5));
	tell(&fixture, REQUEST_ANSWERS, FIRST_PID, JVM_ATTACH_NONE);
	jvm_asks_look(&fixture.asks);
	assert_false(jvm_asks_removes(&fixture.asks, 7, 5));
	assert_int_equal(jvm_asks_room(&fixture.asks, fixture.one), JVM_ASK_ROOM_NOW);
	fixture_remove(&fixture);
}

/* ---- JVMs ---- */

static int no_tables(const void *state, struct hotspot_vm **out)
{
	(void)state;
	(void)out;
	return -EAGAIN;
}

static const struct jit_source_ops source_ops = { .tables = no_tables };

/* Of one account, with code that has no name. */
static bool ask_jvm(struct fixture *fixture, struct jvm *jvm, uint32_t pid, bool polls)
{
	const struct window window = { .counts = { .jit_frames = 9, .unknown_jit_frames = 9 } };
	struct symbols_share share = { .account = fixture->one };
	struct symbols_process symbols = { .share = &share, .jit_sources[0].ops = &source_ops };
	const struct jvm_asker asker = {
		.asks = &fixture->asks,
		.symbols = &symbols,
		.id = { .pid = pid, .start_ns = 5 },
		.timeout_ms = 2000,
	};

	jvm->is_hotspot = true;
	jvm->limiter = (struct jvm_attach_limiter){ 0 };
	if (polls)
		return jvm_poll_map(jvm, &asker);
	return jvm_ask_for_map(jvm, &asker, &window);
}

static void a_jvm_waits_for_others_of_its_account_and_is_asked_then(void **state)
{
	struct jvm jvms[JVM_ASKS_MAX_PER_ACCOUNT + 1] = { 0 };
	struct jvm *last = &jvms[JVM_ASKS_MAX_PER_ACCOUNT];
	struct fixture fixture;

	(void)state;
	fixture_make(&fixture);
	for (uint32_t i = 0; i < ARRAY_SIZE(jvms); i++) {
		assert_true(ask_jvm(&fixture, &jvms[i], 10 + i, false));
		assert_true(jvm_is_asked(&jvms[i]));
	}
	assert_null(last->ask.child);
	assert_false(ask_jvm(&fixture, last, 12, true));
	assert_true(jvm_is_asked(last));
	assert_null(last->ask.child);
	assert_int_equal(last->outcome, JVM_ATTACH_NONE);
	tell(&fixture, REQUEST_ANSWERS, jvms[0].ask.child->pid, JVM_ATTACH_REFUSED);
	assert_false(ask_jvm(&fixture, &jvms[0], 10, true));
	assert_false(jvm_is_asked(&jvms[0]));
	assert_false(ask_jvm(&fixture, last, 12, true));
	assert_non_null(last->ask.child);
	for (size_t i = 0; i < ARRAY_SIZE(jvms); i++)
		jvm_release(&jvms[i]);
	fixture_remove(&fixture);
}

static void a_jvm_is_asked_again_once_what_the_last_time_made_is_removed(void **state)
{
	struct jvm jvm = { 0 };
	struct fixture fixture;

	(void)state;
	fixture_make(&fixture);
	assert_true(ask_jvm(&fixture, &jvm, 10, false));
	tell(&fixture, REQUEST_ANSWERS, jvm.ask.child->pid, JVM_ATTACH_TIMEOUT);
	assert_false(ask_jvm(&fixture, &jvm, 10, true));
	assert_int_equal(jvm.outcome, JVM_ATTACH_TIMEOUT);
	assert_true(jvm_asks_removes(&fixture.asks, 10, 5));
	assert_false(ask_jvm(&fixture, &jvm, 10, false));
	tell(&fixture, REQUEST_ANSWERS, FIRST_PID + 1, JVM_ATTACH_NONE);
	assert_true(ask_jvm(&fixture, &jvm, 10, false));
	jvm_release(&jvm);
	fixture_remove(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			an_account_whose_children_hang_is_asked_no_more_until_one_has_ended),
		cmocka_unit_test(an_account_whose_files_hang_is_not_asked),
		cmocka_unit_test(an_account_has_few_children_at_once),
		cmocka_unit_test(a_file_that_is_removed_is_waited_for),
		cmocka_unit_test(what_takes_a_minute_to_remove_is_not_waited_for),
		cmocka_unit_test(a_jvm_waits_for_others_of_its_account_and_is_asked_then),
		cmocka_unit_test(a_jvm_is_asked_again_once_what_the_last_time_made_is_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
