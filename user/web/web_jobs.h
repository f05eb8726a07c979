/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions are answered by child processes, a few at a time, each with a limit of time and memory:
 * one that hangs or takes too much costs its own answer. Answers are memory files, so that
 * a slow client delays no other.
 */
#ifndef JBPF_WEB_WEB_JOBS_H
#define JBPF_WEB_WEB_JOBS_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/util/attributes.h"
#include "user/web/web_child.h"
#include "user/web/web_engine.h"
#include "user/web/web_query.h"
#include "user/web/web_running.h"

#define WEB_JOBS_RUNNING_MAX 3
#define WEB_JOBS_MAX	     24 /* that wait, run, or whose answers are being taken */

enum web_job_state {
	WEB_JOB_WAITS = 0,
	WEB_JOB_RUNS,
	WEB_JOB_IS_DONE,
};

struct web_job {
	enum web_job_state state;
	struct web_query query;
	bool is_engine_s; /* a child of web_engine_run.h; then pid is not known */
	pid_t pid;
	int pidfd; /* readable when the child has ended; -1 = none */
	int out_fd;
	int err_fd;
	uint64_t until_boot_ns;
	int status;	 /* of the child, when it is done; -1: it could not be started */
	bool is_overdue; /* it was killed for its time */
	void *asker;	 /* the caller's */
	uint64_t number; /* in the order in which they came */
};

struct web_jobs;

/*
 * Borrows all; a question sees `running` as it is when its process starts. `engine`: what answers
 * instead of a store, or NULL. NULL when memory is short.
 */
struct web_jobs *web_jobs__new(const struct web_programs *programs,
			       const struct web_running *running, struct web_engine *engine);
/* Kills what runs. NULL is fine. */
void web_jobs__free(struct web_jobs *jobs);

/* Takes over `query` in any case. 0, -EBUSY: there are too many, -errno. */
__must_check int web_jobs__add(struct web_jobs *jobs, struct web_query *query, void *asker,
			       struct web_job **out);
/* Kills it if it runs. */
void web_jobs__end(struct web_jobs *jobs, struct web_job *job);

/* One that waits or runs is done, without an answer; its asker is told. */
void web_job_give_up(struct web_job *job);
/* So are all. */
void web_jobs__end_all(struct web_jobs *jobs);

/* Those that wait and run, at most WEB_JOBS_MAX. How many. */
size_t web_jobs__open(const struct web_jobs *jobs, struct web_job **out);

/* Descriptors to wait for, at most WEB_JOBS_RUNNING_MAX. How many. */
size_t web_jobs__poll(const struct web_jobs *jobs, struct pollfd *fds);
/*
 * Starts those that wait, kills those that are overdue. One that is done now, whose asker was not
 * told yet; NULL when there is none (any more).
 */
struct web_job *web_jobs__next_done(struct web_jobs *jobs, uint64_t now_boot_ns);

/*
 * The answer: HTTP status; for 200 it is in job->out_fd, and `said` has what the command said of
 * it, such as what it lacks, mostly nothing; else why there is none. Whole lines.
 */
unsigned int web_job_result(const struct web_job *job, char *said, size_t said_len);

#endif
