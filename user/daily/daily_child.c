// SPDX-License-Identifier: Apache-2.0
/*
 * The process of a service; see daily_child.h. Its answer is a file in memory, which has room
 * for any outcome and nobody has to read while it is written. That it has ended is seen at a socket
 * that says nothing else.
 */
#include "user/daily/daily_child.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/cli/cmd_stores.h"
#include "user/daily/daily_wire.h"
#include "user/sandbox/child_process.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/fs.h"
#include "user/util/log.h"

#define CHILD_NAME	   "jbpf-diff-days" /* at most 15 bytes */
#define KILL_WAIT_MS	   5000
#define SECONDS_PER_MINUTE 60

struct child_work {
	const struct daily_job *job;
	const struct daily_service *service;
	int answer_fd;
};

/* ---- the child ---- */

static int write_answer(int fd, const struct daily_outcome *outcome,
			const struct cmd_store_damage *damage)
{
	__cleanup_strbuf struct strbuf answer = STRBUF_INIT;
	int err = daily_wire_put(outcome, damage, &answer);

	return err ? err : fs_write_all(fd, strbuf_str(&answer), answer.len);
}

static int child_main(int socket_fd, const void *ctx)
{
	static const struct child_options options = {
		.name = CHILD_NAME,
		.memory_bytes = DAILY_CHILD_BYTES,
		.ends_first = true,
	};
	const struct child_work *work = ctx;
	struct daily_job job = *work->job;
	struct daily_outcome outcome = { 0 };
	int err = child_process_become(&options);

	(void)socket_fd;
	if (!err)
		err = cmd_stores_open_all(job.stores, job.event, &job.reader);
	if (!err)
		err = daily_service_run(&job, work->service, &outcome);
	if (!err)
		err = write_answer(work->answer_fd, &outcome, job.damage);
	daily_outcome_release(&outcome);
	store_source__free(job.reader);
	return err;
}

/* ---- the parent ---- */

/* Pages that are not kept are deleted: it may end between two of them. */
static int for_pages(const struct daily_job *job, const struct daily_service *service,
		     int (*what)(struct daily_dir *dir, const char *name))
{
	static const char *const suffixes[] = { "html", "json" };
	int err = 0;

	for (size_t i = 0; !err && i < ARRAY_SIZE(suffixes); i++) {
		char name[DAILY_DIR_NAME_MAX + 1];

		(void)snprintf(name, sizeof(name), "%s.%s", service->file, suffixes[i]);
		err = what(job->dir, name);
	}
	return err;
}

/* Waits for the other end of the socket to close; false when the time is over, or cannot be waited for. */
static bool wait_for_end(int socket_fd, uint64_t end_ns)
{
	for (;;) {
		struct pollfd socket = { .fd = socket_fd };
		uint64_t now_ns = clock_monotonic_ns();
		int ready;

		if (now_ns >= end_ns)
			return false;
		/* Errors and hang-ups are told without being asked for. */
		ready = poll(&socket, 1, (int)((end_ns - now_ns) / CLOCK_NS_PER_MS) + 1);
		if (ready > 0)
			return true;
		if (ready < 0 && errno != EINTR)
			return false;
	}
}

static int read_answer(int fd, const struct daily_job *job, struct daily_budget *budget,
		       struct daily_outcome *out)
{
	size_t max = budget->outcome_bytes < DAILY_WIRE_BYTES_MAX ? budget->outcome_bytes :
								    DAILY_WIRE_BYTES_MAX;

	__cleanup_strbuf struct strbuf answer = STRBUF_INIT;
	int err = lseek(fd, 0, SEEK_SET) < 0 ? -errno : 0;

	if (!err)
		err = fs_read_fd(fd, max, &answer);
	budget->outcome_bytes -= answer.len < budget->outcome_bytes ? answer.len :
								      budget->outcome_bytes;
	if (!err)
		err = daily_wire_get(strbuf_str(&answer), answer.len, out, job->damage);
	if (err && err != -ENOMEM)
		err = daily_outcome_say(out, DAILY_STATE_FAILED, "its process gave no answer: %s",
					errstr(err));
	return err;
}

static int take_end(const struct child_work *work, int status, struct daily_budget *budget,
		    struct daily_outcome *out)
{
	int err = child_process_err(status);

	if (status < 0)
		return daily_outcome_say(out, DAILY_STATE_FAILED, "its process hangs");
	if (WIFSIGNALED(status))
		return daily_outcome_say(out, DAILY_STATE_FAILED, "ended by signal %d (%s)",
					 WTERMSIG(status), child_process_why(status));
	if (err == -ENOMEM)
		return daily_outcome_say(out, DAILY_STATE_FAILED,
					 "too many different stacks: out of memory");
	if (err)
		return daily_outcome_say(out, DAILY_STATE_FAILED, "%s", child_process_why(status));
	return read_answer(work->answer_fd, work->job, budget, out);
}

static int run_child(const struct child_work *work, struct daily_budget *budget,
		     struct daily_outcome *out)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t end_ns = now_ns + DAILY_CHILD_S * CLOCK_NS_PER_S;
	__cleanup_fd int socket_fd = -1;
	pid_t pid = 0;
	bool has_ended;
	int err, status;

	if (now_ns >= budget->end_ns)
		return daily_outcome_say(out, DAILY_STATE_FAILED,
					 "not begun: the others took the %d minutes of a run",
					 DAILY_RUN_S / SECONDS_PER_MINUTE);
	end_ns = end_ns < budget->end_ns ? end_ns : budget->end_ns;
	err = child_process_start(child_main, work, &socket_fd, &pid);
	if (err)
		return daily_outcome_say(out, DAILY_STATE_FAILED, "there is no process for it: %s",
					 errstr(err));
	has_ended = wait_for_end(socket_fd, end_ns);
	status = child_process_end(pid, KILL_WAIT_MS);
	if (!has_ended && end_ns == budget->end_ns)
		return daily_outcome_say(out, DAILY_STATE_FAILED,
					 "not done when the %d minutes of a run were over",
					 DAILY_RUN_S / SECONDS_PER_MINUTE);
	if (!has_ended)
		return daily_outcome_say(out, DAILY_STATE_FAILED, "not done within %d minutes",
					 DAILY_CHILD_S / SECONDS_PER_MINUTE);
	return take_end(work, status, budget, out);
}

int daily_child_run(const struct daily_job *job, const struct daily_service *service,
		    struct daily_budget *budget, struct daily_outcome *out)
{
	__cleanup_fd int answer_fd = memfd_create(CHILD_NAME, MFD_CLOEXEC);
	const struct child_work work = { .job = job, .service = service, .answer_fd = answer_fd };
	int err;

	*out = (struct daily_outcome){ .detectable = NAN };
	err = answer_fd < 0 ?
		      daily_outcome_say(out, DAILY_STATE_FAILED,
					"there is no room for its answer: %s", errstr(errno)) :
		      for_pages(job, service, daily_dir_expect);
	if (!err && answer_fd >= 0)
		err = run_child(&work, budget, out);
	out->service = service;
	if (!err && out->has_page)
		err = for_pages(job, service, daily_dir_keep);
	return err;
}
