// SPDX-License-Identifier: Apache-2.0
/* See web_jobs.h. */
#include "user/web/web_jobs.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/cli/exit_codes.h"
#include "user/sandbox/child_process.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

#define CHILD_END_MS  1000
#define STATUS_OK     200
#define STATUS_WRONG  400
#define STATUS_NONE   404
#define STATUS_FAILED 500
#define STATUS_LATE   504

struct web_jobs {
	const struct web_programs *programs;
	const struct web_running *running;
	struct web_engine *engine;	     /* of --from; NULL = a store is read */
	struct web_job *items[WEB_JOBS_MAX]; /* NULL = free */
	bool is_told[WEB_JOBS_MAX];
	uint64_t number;
};

/* ---- starting and ending ---- */

struct web_jobs *web_jobs__new(const struct web_programs *programs,
			       const struct web_running *running, struct web_engine *engine)
{
	struct web_jobs *jobs = calloc(1, sizeof(*jobs));

	if (!jobs)
		return NULL;
	jobs->programs = programs;
	jobs->running = running;
	jobs->engine = engine;
	return jobs;
}

/* Its wait status, or -1. What the engine's process runs ends when nobody listens for its end. */
static int end_child(const struct web_job *job)
{
	return job->is_engine_s ? -1 : child_process_end(job->pid, CHILD_END_MS);
}

static void free_job(struct web_job *job)
{
	const int fds[] = { job->pidfd, job->out_fd, job->err_fd };

	if (job->state == WEB_JOB_RUNS)
		(void)end_child(job);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	web_query_release(&job->query);
	free(job);
}

void web_jobs__free(struct web_jobs *jobs)
{
	if (!jobs)
		return;
	for (size_t i = 0; i < WEB_JOBS_MAX; i++)
		if (jobs->items[i])
			free_job(jobs->items[i]);
	free(jobs);
}

int web_jobs__add(struct web_jobs *jobs, struct web_query *query, void *asker, struct web_job **out)
{
	struct web_job *job;
	size_t place = 0;

	while (place < WEB_JOBS_MAX && jobs->items[place])
		place++;
	job = place < WEB_JOBS_MAX ? calloc(1, sizeof(*job)) : NULL;
	if (!job) {
		web_query_release(query);
		return place < WEB_JOBS_MAX ? -ENOMEM : -EBUSY;
	}
	*job = (struct web_job){
		.query = *query,
		.pidfd = -1,
		.out_fd = -1,
		.err_fd = -1,
		.asker = asker,
		.number = jobs->number++,
	};
	*query = (struct web_query){ .argument_cnt = 0 };
	jobs->items[place] = job;
	jobs->is_told[place] = false;
	*out = job;
	return 0;
}

void web_jobs__end(struct web_jobs *jobs, struct web_job *job)
{
	for (size_t i = 0; i < WEB_JOBS_MAX; i++)
		if (jobs->items[i] == job)
			jobs->items[i] = NULL;
	free_job(job);
}

void web_job_give_up(struct web_job *job)
{
	job->status = job->state == WEB_JOB_RUNS ? end_child(job) : -1;
	job->state = WEB_JOB_IS_DONE;
}

size_t web_jobs__open(const struct web_jobs *jobs, struct web_job **out)
{
	size_t cnt = 0;

	for (size_t i = 0; i < WEB_JOBS_MAX; i++)
		if (jobs->items[i] && jobs->items[i]->state != WEB_JOB_IS_DONE)
			out[cnt++] = jobs->items[i];
	return cnt;
}

void web_jobs__end_all(struct web_jobs *jobs)
{
	struct web_job *open[WEB_JOBS_MAX];
	size_t cnt = web_jobs__open(jobs, open);

	for (size_t i = 0; i < cnt; i++)
		web_job_give_up(open[i]);
}

/* In a process of its own, or in one that reaches the engine. */
static int start_child(const struct web_jobs *jobs, struct web_job *job)
{
	const struct web_child child = {
		.programs = jobs->programs,
		.running = jobs->running,
		.query = &job->query,
		.out_fd = job->out_fd,
		.err_fd = job->err_fd,
		.secret_fd = -1,
	};
	int err;

	job->is_engine_s = jobs->engine && job->query.endpoint != WEB_ENDPOINT_RUNNING;
	if (job->is_engine_s)
		return web_engine__ask(jobs->engine, &job->query, job->out_fd, job->err_fd,
				       &job->pidfd);
	err = child_process_start(web_child_main, &child, NULL, &job->pid);
	/* Without it the child's end is seen at the next look, half a second later at most. */
	if (!err)
		job->pidfd = (int)syscall(SYS_pidfd_open, job->pid, 0);
	return err;
}

static void start(const struct web_jobs *jobs, struct web_job *job)
{
	int err = 0;

	job->out_fd = memfd_create("jbpf-answer", MFD_CLOEXEC);
	job->err_fd = memfd_create("jbpf-answer-errors", MFD_CLOEXEC);
	if (job->out_fd < 0 || job->err_fd < 0)
		err = -errno;
	if (!err)
		err = start_child(jobs, job);
	if (err) {
		job->state = WEB_JOB_IS_DONE;
		job->status = -1;
		return;
	}
	job->state = WEB_JOB_RUNS;
	job->until_boot_ns = clock_boot_ns() + WEB_JOB_SECONDS * CLOCK_NS_PER_S;
}

/* ---- progress ---- */

static size_t count_running(const struct web_jobs *jobs)
{
	size_t cnt = 0;

	for (size_t i = 0; i < WEB_JOBS_MAX; i++)
		cnt += jobs->items[i] && jobs->items[i]->state == WEB_JOB_RUNS;
	return cnt;
}

static struct web_job *first_waiting(const struct web_jobs *jobs)
{
	struct web_job *first = NULL;

	for (size_t i = 0; i < WEB_JOBS_MAX; i++) {
		struct web_job *job = jobs->items[i];

		if (job && job->state == WEB_JOB_WAITS && (!first || job->number < first->number))
			first = job;
	}
	return first;
}

static void poll_job(struct web_job *job, uint64_t now_boot_ns)
{
	bool has_ended = job->is_engine_s ? web_engine_has_ended(job->pidfd, &job->status) :
					    child_process_has_ended(job->pid, &job->status);

	if (!has_ended && now_boot_ns > job->until_boot_ns) {
		job->is_overdue = true;
		job->status = end_child(job);
		has_ended = true;
	}
	if (has_ended)
		job->state = WEB_JOB_IS_DONE;
}

size_t web_jobs__poll(const struct web_jobs *jobs, struct pollfd *fds)
{
	size_t cnt = 0;

	for (size_t i = 0; i < WEB_JOBS_MAX; i++) {
		const struct web_job *job = jobs->items[i];

		if (job && job->state == WEB_JOB_RUNS && job->pidfd >= 0)
			fds[cnt++] = (struct pollfd){ .fd = job->pidfd, .events = POLLIN };
	}
	return cnt;
}

struct web_job *web_jobs__next_done(struct web_jobs *jobs, uint64_t now_boot_ns)
{
	struct web_job *waiting;

	for (size_t i = 0; i < WEB_JOBS_MAX; i++)
		if (jobs->items[i] && jobs->items[i]->state == WEB_JOB_RUNS)
			poll_job(jobs->items[i], now_boot_ns);
	while (count_running(jobs) < WEB_JOBS_RUNNING_MAX && (waiting = first_waiting(jobs)))
		start(jobs, waiting);
	for (size_t i = 0; i < WEB_JOBS_MAX; i++) {
		struct web_job *job = jobs->items[i];

		if (job && job->state == WEB_JOB_IS_DONE && !jobs->is_told[i]) {
			jobs->is_told[i] = true;
			return job;
		}
	}
	return NULL;
}

/* ---- answers ---- */

/* All lines, as far as they fit: of a failure, too, the first may be a warning. How long. */
static size_t read_said(const struct web_job *job, char *said, size_t said_len)
{
	ssize_t got = job->err_fd < 0 ? 0 : pread(job->err_fd, said, said_len - 1, 0);
	size_t len = got > 0 ? (size_t)got : 0;

	/* One that was cut could end within a character. */
	while (len == said_len - 1 && len && said[len - 1] != '\n')
		said[--len] = '\0';
	said[len] = '\0';
	return len;
}

static unsigned int killed(const struct web_job *job, char *line, size_t line_len)
{
	if (job->is_overdue) {
		(void)snprintf(
			line, line_len,
			"the query took more than %d s and was ended; take a shorter time or fewer processes\n",
			WEB_JOB_SECONDS);
		return STATUS_LATE;
	}
	if (job->status >= 0 && WIFSIGNALED(job->status) && WTERMSIG(job->status) == SIGXFSZ)
		(void)snprintf(
			line, line_len,
			"the answer is larger than %llu MiB; take a shorter time or fewer processes\n",
			WEB_JOB_ANSWER >> 20);
	else if (job->status < 0)
		(void)snprintf(line, line_len,
			       "no process could be started for the query; try again\n");
	else
		(void)snprintf(line, line_len, "the query's process ended (%s); try again\n",
			       child_process_why(job->status));
	return STATUS_FAILED;
}

unsigned int web_job_result(const struct web_job *job, char *said, size_t said_len)
{
	if (job->is_overdue || job->status < 0 || !WIFEXITED(job->status))
		return killed(job, said, said_len);
	if (!read_said(job, said, said_len) && WEXITSTATUS(job->status) != CMD_EXIT_DONE)
		(void)snprintf(said, said_len, "the query failed without a word\n");
	switch (WEXITSTATUS(job->status)) {
	case CMD_EXIT_DONE:
		return STATUS_OK;
	case CMD_EXIT_USAGE:
		return STATUS_WRONG;
	case CMD_EXIT_NO_SAMPLES:
		return STATUS_NONE;
	default:
		return STATUS_FAILED;
	}
}
