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
#define SEEN_TIMEOUT_MS \
	60000 /* a JVM that ran so little meanwhile has the trigger left in its /tmp */

enum job_number {
	JOB_PID,
	JOB_TIMEOUT_MS,
	JOB_START_NS,
	JOB_FEATURE,
	JOB_REMOVES,
};

static int ask_launch(struct jvm_ask *ask, struct launcher *launcher,
		      const struct jvm_attach_job *job)
{
	uint64_t numbers[LAUNCHER_NUMBERS] = {
		[JOB_PID] = job->pid,		[JOB_TIMEOUT_MS] = job->timeout_ms,
		[JOB_START_NS] = job->start_ns, [JOB_FEATURE] = (uint64_t)job->feature,
		[JOB_REMOVES] = job->removes,
	};
	uint64_t now_ns = clock_monotonic_ns();
	int err = launcher__start(launcher, LAUNCHER_ATTACH, numbers, &ask->socket_fd, &ask->child);

	if (err)
		return err;
	ask->begin_ns = now_ns;
	ask->deadline_ns = now_ns + (job->timeout_ms + CHILD_GRACE_MS) * CLOCK_NS_PER_MS;
	ask->launcher = launcher;
	ask->is_open = true;
	return 0;
}

bool jvm_ask_start(struct jvm_ask *ask, struct launcher *launcher,
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
	return ask_launch(ask, launcher, &job) == 0;
}

bool jvm_ask_start_removal(struct jvm_ask *ask, struct launcher *launcher, uint32_t pid,
			   uint64_t start_ns, enum jvm_attach_removes what)
{
	const struct jvm_attach_job job = {
		.pid = pid,
		.timeout_ms = what == JVM_ATTACH_REMOVES_TRIGGER ? SEEN_TIMEOUT_MS :
								   REMOVE_TIMEOUT_MS,
		.start_ns = start_ns,
		.removes = what,
	};

	return ask_launch(ask, launcher, &job) == 0;
}

/* 0 with a report; -EAGAIN; -ETIMEDOUT; -EPIPE: the child ended without one. */
static int ask_read(const struct jvm_ask *ask, struct jvm_attach_report *report)
{
	struct pollfd wait = { .fd = ask->socket_fd, .events = POLLIN };

	if (poll(&wait, 1, 0) > 0)
		return read(ask->socket_fd, report, sizeof(*report)) == sizeof(*report) ? 0 :
											  -EPIPE;
	return clock_monotonic_ns() < ask->deadline_ns ? -EAGAIN : -ETIMEDOUT;
}

bool jvm_ask_poll(struct jvm_ask *ask, struct jvm_attach_result *result)
{
	struct jvm_attach_report report;
	int err = ask_read(ask, &report);

	if (err == -EAGAIN)
		return false;
	*result = (struct jvm_attach_result){ .outcome = err == -ETIMEDOUT ? JVM_ATTACH_TIMEOUT :
									     JVM_ATTACH_ERROR };
	if (!err && (unsigned int)report.result.outcome < JVM_ATTACH_OUTCOME_CNT)
		*result = report.result;
	result->wall_ms = (uint32_t)((clock_monotonic_ns() - ask->begin_ns) / CLOCK_NS_PER_MS);
	jvm_ask_release(ask);
	return true;
}

void jvm_ask_release(struct jvm_ask *ask)
{
	if (!ask->is_open)
		return;
	(void)launcher__end(ask->launcher, ask->child);
	close(ask->socket_fd);
	ask->is_open = false;
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
