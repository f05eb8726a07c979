// SPDX-License-Identifier: Apache-2.0
/* See web_jobs.h. */
#include "user/web/web_jobs.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/cli/exit_codes.h"
#include "user/sandbox/child_process.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"
#include "user/web/web_info.h"
#include "user/web/web_running_run.h"
#include "user/web/web_timeline_run.h"

#define CHILD_NAME    "jbpf-web-query"
#define CHILD_END_MS  1000
#define STATUS_OK     200
#define STATUS_WRONG  400
#define STATUS_NONE   404
#define STATUS_FAILED 500
#define STATUS_LATE   504

#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1 /* reserves terabytes of address space */
#else
#define IS_SANITIZED 0
#endif

struct web_jobs {
	const struct web_programs *programs;
	const struct web_running *running;
	struct web_job *items[WEB_JOBS_MAX]; /* NULL = free */
	bool is_told[WEB_JOBS_MAX];
	uint64_t number;
};

struct child {
	const struct web_programs *programs;
	const struct web_running *running;
	const struct web_job *job;
};

/* ---- in the child ---- */

static int become_query(const struct web_job *job)
{
	static const struct child_limit limits[] = {
		{ RLIMIT_CORE, 0 },
		{ RLIMIT_FSIZE, WEB_JOB_ANSWER },
		{ RLIMIT_CPU, 4 * WEB_JOB_SECONDS },
		{ RLIMIT_AS, WEB_JOB_MEMORY },
	};
	const struct child_options options = {
		.name = CHILD_NAME,
		.signals = CHILD_SIGNALS_NO_PIPE,
		.fds = CHILD_FDS_STANDARD,
		.limits = limits,
		.limit_cnt = ARRAY_SIZE(limits) - IS_SANITIZED,
		.ends_first = true,
		.is_undumpable = true,
	};

	if (dup2(job->out_fd, STDOUT_FILENO) < 0 || dup2(job->err_fd, STDERR_FILENO) < 0)
		return -errno;
	return child_process_become(&options);
}

static int run_program(const struct child *child)
{
	const struct web_query *query = &child->job->query;
	char **arguments = (char **)(uintptr_t)query->arguments;

	switch (query->endpoint) {
	case WEB_ENDPOINT_INFO:
		return web_info_run(query->argument_cnt, arguments);
	case WEB_ENDPOINT_TIMELINE:
		return web_timeline_run(query->argument_cnt, arguments);
	case WEB_ENDPOINT_PROFILE:
		return child->programs->profile(query->argument_cnt, arguments);
	case WEB_ENDPOINT_DIFF:
		return child->programs->diff(query->argument_cnt, arguments);
	case WEB_ENDPOINT_RUNNING:
		return web_running_run(query->argument_cnt, arguments, child->running);
	case WEB_ENDPOINT_NONE:
		break;
	}
	return -EINVAL;
}

static int child_main(int none, const void *ctx)
{
	const struct child *child = ctx;
	int err = become_query(child->job);
	int code;

	(void)none;
	if (err)
		return err;
	log_set_program(child->job->query.arguments[0]);
	code = run_program(child);
	if (fflush(stdout) && code == CMD_EXIT_DONE)
		code = CMD_EXIT_FAILED;
	return code;
}

/* ---- starting and ending ---- */

struct web_jobs *web_jobs__new(const struct web_programs *programs,
			       const struct web_running *running)
{
	struct web_jobs *jobs = calloc(1, sizeof(*jobs));

	if (!jobs)
		return NULL;
	jobs->programs = programs;
	jobs->running = running;
	return jobs;
}

static void free_job(struct web_job *job)
{
	const int fds[] = { job->pidfd, job->out_fd, job->err_fd };

	if (job->state == WEB_JOB_RUNS)
		(void)child_process_end(job->pid, CHILD_END_MS);
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

void web_jobs__end_all(struct web_jobs *jobs)
{
	for (size_t i = 0; i < WEB_JOBS_MAX; i++) {
		struct web_job *job = jobs->items[i];

		if (!job || job->state == WEB_JOB_IS_DONE)
			continue;
		job->status =
			job->state == WEB_JOB_RUNS ? child_process_end(job->pid, CHILD_END_MS) : -1;
		job->state = WEB_JOB_IS_DONE;
	}
}

static void start(const struct web_jobs *jobs, struct web_job *job)
{
	const struct child child = {
		.programs = jobs->programs,
		.running = jobs->running,
		.job = job,
	};
	int err = 0;

	job->out_fd = memfd_create("jbpf-answer", MFD_CLOEXEC);
	job->err_fd = memfd_create("jbpf-answer-errors", MFD_CLOEXEC);
	if (job->out_fd < 0 || job->err_fd < 0)
		err = -errno;
	if (!err)
		err = child_process_start(child_main, &child, NULL, &job->pid);
	if (err) {
		job->state = WEB_JOB_IS_DONE;
		job->status = -1;
		return;
	}
	/* Without it the child's end is seen at the next look, half a second later at most. */
	job->pidfd = (int)syscall(SYS_pidfd_open, job->pid, 0);
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
	bool has_ended = child_process_has_ended(job->pid, &job->status);

	if (!has_ended && now_boot_ns > job->until_boot_ns) {
		job->is_overdue = true;
		job->status = child_process_end(job->pid, CHILD_END_MS);
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

/* What it said, all lines: the first may be a warning. */
static void read_errors(const struct web_job *job, char *line, size_t line_len)
{
	ssize_t len = job->err_fd < 0 ? 0 : pread(job->err_fd, line, line_len - 1, 0);

	line[len > 0 ? len : 0] = '\0';
	if (len <= 0)
		(void)snprintf(line, line_len, "the query failed without a word\n");
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

unsigned int web_job_result(const struct web_job *job, char *line, size_t line_len)
{
	if (job->is_overdue || job->status < 0 || !WIFEXITED(job->status))
		return killed(job, line, line_len);
	if (WEXITSTATUS(job->status) == CMD_EXIT_DONE)
		return STATUS_OK;
	read_errors(job, line, line_len);
	switch (WEXITSTATUS(job->status)) {
	case CMD_EXIT_USAGE:
		return STATUS_WRONG;
	case CMD_EXIT_NO_SAMPLES:
		return STATUS_NONE;
	default:
		return STATUS_FAILED;
	}
}
