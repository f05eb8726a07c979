// SPDX-License-Identifier: Apache-2.0
/* See jvm_ask.h. */
#include "user/collect/naming/jvm_ask.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "user/sandbox/child_process.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

#define CHILD_GRACE_MS	  500 /* for the child to tidy up after its own deadline */
#define REMOVE_TIMEOUT_MS 2000
#define SOON_MS		  3000 /* a question's time, and not that of SEEN_TIMEOUT_MS */
#define SEEN_TIMEOUT_MS \
	60000 /* a JVM that ran so little meanwhile has the trigger left in its /tmp */

enum job_number {
	JOB_PID,
	JOB_TIMEOUT_MS,
	JOB_START_NS,
	JOB_FEATURE,
	JOB_REMOVES,
};

/* ---- children ---- */

/* A child that does not end counts as a file of its account that hangs, until its socket hangs up. */
static void child_end(struct jvm_asks *asks, struct jvm_child *child)
{
	if (launcher__end(asks->launcher, child->pid) < 0) {
		child->state = JVM_CHILD_HANGS;
		account__note_hanging(child->account);
		return;
	}
	close(child->socket_fd);
	account__put(child->account);
	child->state = JVM_CHILD_NONE;
}

static void child_forget_hanging(struct jvm_child *child)
{
	close(child->socket_fd);
	account__note_answered(child->account);
	account__put(child->account);
	child->state = JVM_CHILD_NONE;
}

/* 0 with a report; -EAGAIN; -ETIMEDOUT; -EPIPE: the child ended without one. */
static int child_read(const struct jvm_child *child, struct jvm_attach_report *report)
{
	struct pollfd wait = { .fd = child->socket_fd, .events = POLLIN };

	if (poll(&wait, 1, 0) > 0)
		return read(child->socket_fd, report, sizeof(*report)) == sizeof(*report) ? 0 :
											    -EPIPE;
	return clock_monotonic_ns() < child->deadline_ns ? -EAGAIN : -ETIMEDOUT;
}

static void child_look(struct jvm_asks *asks, struct jvm_child *child)
{
	struct pollfd end = { .fd = child->socket_fd };
	struct jvm_attach_report report;

	if (child->state == JVM_CHILD_REMOVES && child_read(child, &report) != -EAGAIN)
		child_end(asks, child);
	else if (child->state == JVM_CHILD_HANGS && poll(&end, 1, 0) > 0)
		child_forget_hanging(child);
}

void jvm_asks_look(struct jvm_asks *asks)
{
	for (size_t i = 0; i < JVM_ASKS_MAX; i++)
		child_look(asks, &asks->children[i]);
}

void jvm_asks_release(struct jvm_asks *asks)
{
	for (size_t i = 0; i < JVM_ASKS_MAX; i++) {
		struct jvm_child *child = &asks->children[i];

		if (child->state == JVM_CHILD_ASKS || child->state == JVM_CHILD_REMOVES)
			child_end(asks, child);
		if (child->state == JVM_CHILD_HANGS)
			child_forget_hanging(child);
	}
}

/* How many children an account has; *soon_out: of them, such as end within seconds or are killed. */
static size_t count_children(const struct jvm_asks *asks, const struct account *account,
			     size_t *soon_out)
{
	uint64_t soon_ns = clock_monotonic_ns() + SOON_MS * CLOCK_NS_PER_MS;
	size_t cnt = 0;

	*soon_out = 0;
	for (size_t i = 0; i < JVM_ASKS_MAX; i++) {
		const struct jvm_child *child = &asks->children[i];

		if (child->state == JVM_CHILD_NONE || child->account != account)
			continue;
		cnt++;
		*soon_out += child->state != JVM_CHILD_HANGS && child->deadline_ns <= soon_ns;
	}
	return cnt;
}

static struct jvm_child *free_child(struct jvm_asks *asks)
{
	for (size_t i = 0; i < JVM_ASKS_MAX; i++)
		if (asks->children[i].state == JVM_CHILD_NONE)
			return &asks->children[i];
	return NULL;
}

enum jvm_ask_room jvm_asks_room(const struct jvm_asks *asks, struct account *account)
{
	size_t soon;

	if (count_children(asks, account, &soon) >= JVM_ASKS_MAX_PER_ACCOUNT)
		return soon ? JVM_ASK_ROOM_SOON : JVM_ASK_ROOM_NONE;
	return account__may_open(account, clock_boot_ns()) ? JVM_ASK_ROOM_NOW : JVM_ASK_ROOM_NONE;
}

bool jvm_asks_removes(const struct jvm_asks *asks, uint32_t pid, uint64_t start_ns)
{
	for (size_t i = 0; i < JVM_ASKS_MAX; i++) {
		const struct jvm_child *child = &asks->children[i];

		if (child->state == JVM_CHILD_REMOVES && child->jvm_pid == pid &&
		    child->jvm_start_ns == start_ns)
			return true;
	}
	return false;
}

/* The child, or NULL. */
static struct jvm_child *child_launch(struct jvm_asks *asks, struct account *account,
				      const struct jvm_attach_job *job)
{
	uint64_t numbers[LAUNCHER_NUMBERS] = {
		[JOB_PID] = job->pid,		[JOB_TIMEOUT_MS] = job->timeout_ms,
		[JOB_START_NS] = job->start_ns, [JOB_FEATURE] = (uint64_t)job->feature,
		[JOB_REMOVES] = job->removes,
	};
	uint64_t now_ns = clock_monotonic_ns();
	struct jvm_child *child = free_child(asks);
	size_t soon;

	if (!child || count_children(asks, account, &soon) >= JVM_ASKS_MAX_PER_ACCOUNT)
		return NULL;
	*child = (struct jvm_child){
		.jvm_pid = job->pid,
		.jvm_start_ns = job->start_ns,
		.begin_ns = now_ns,
		.deadline_ns = now_ns + (job->timeout_ms + CHILD_GRACE_MS) * CLOCK_NS_PER_MS,
	};
	if (launcher__start(asks->launcher, LAUNCHER_ATTACH, numbers, &child->socket_fd,
			    &child->pid))
		return NULL;
	child->state = job->removes ? JVM_CHILD_REMOVES : JVM_CHILD_ASKS;
	child->account = account__ref(account);
	return child;
}

/* ---- requests ---- */

bool jvm_ask_start(struct jvm_ask *ask, struct jvm_asks *asks, struct account *account,
		   const struct jvm_attach_request *request, struct jvm_attach_result *result)
{
	struct jvm_attach_job job = {
		.pid = request->pid,
		.timeout_ms = request->timeout_ms,
		.start_ns = request->start_ns,
	};

	*result = (struct jvm_attach_result){ .outcome = jvm_attach_check(request, &job.feature) };
	if (result->outcome != JVM_ATTACH_OK)
		return false;
	result->outcome = JVM_ATTACH_ERROR;
	*ask = (struct jvm_ask){ .asks = asks, .child = child_launch(asks, account, &job) };
	return ask->child != NULL;
}

bool jvm_ask_poll(struct jvm_ask *ask, struct jvm_attach_result *result)
{
	struct jvm_attach_report report;
	int err = child_read(ask->child, &report);

	if (err == -EAGAIN)
		return false;
	*result = (struct jvm_attach_result){ .outcome = err == -ETIMEDOUT ? JVM_ATTACH_TIMEOUT :
									     JVM_ATTACH_ERROR };
	if (!err && (unsigned int)report.result.outcome < JVM_ATTACH_OUTCOME_CNT)
		*result = report.result;
	result->wall_ms =
		(uint32_t)((clock_monotonic_ns() - ask->child->begin_ns) / CLOCK_NS_PER_MS);
	jvm_ask_release(ask);
	return true;
}

void jvm_ask_release(struct jvm_ask *ask)
{
	if (ask->child)
		child_end(ask->asks, ask->child);
	ask->child = NULL;
}

bool jvm_asks_remove(struct jvm_asks *asks, struct account *account, uint32_t pid,
		     uint64_t start_ns, enum jvm_attach_removes what)
{
	const struct jvm_attach_job job = {
		.pid = pid,
		.timeout_ms = what == JVM_ATTACH_REMOVES_TRIGGER ? SEEN_TIMEOUT_MS :
								   REMOVE_TIMEOUT_MS,
		.start_ns = start_ns,
		.removes = what,
	};

	return child_launch(asks, account, &job) != NULL;
}

int jvm_ask_child_main(const struct launcher_child *child)
{
	const uint64_t *numbers = child->numbers;
	const struct jvm_attach_job job = {
		.pid = (uint32_t)numbers[JOB_PID],
		.timeout_ms = (uint32_t)numbers[JOB_TIMEOUT_MS],
		.start_ns = numbers[JOB_START_NS],
		.feature = (int)numbers[JOB_FEATURE],
		.removes = (enum jvm_attach_removes)numbers[JOB_REMOVES],
	};
	int report_fd = child->socket_fd;
	int *const kept[] = { &report_fd };
	const struct child_options options = {
		.fds = CHILD_FDS_STANDARD,
		.kept = kept,
		.kept_cnt = ARRAY_SIZE(kept),
	};
	int err;

	/* The launcher hands on what a namer wrote, which reads strangers' memory. */
	if (numbers[JOB_REMOVES] >= JVM_ATTACH_REMOVES_CNT)
		return -EINVAL;
	err = child_process_become(&options);
	return err ? err : jvm_attach_main(&job, report_fd);
}
