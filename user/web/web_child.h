/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that answers one question, from its start to its end: limits, the program that
 * answers, its exit code (user/cli/exit_codes.h). Its parent is the server, or who reaches the
 * engine of --from in its place (web_engine_run.h), and it has that one's rights.
 */
#ifndef JBPF_WEB_WEB_CHILD_H
#define JBPF_WEB_WEB_CHILD_H

#include "user/web/web_query.h"

#define WEB_JOB_SECONDS	  20
#define WEB_CHILD_SECONDS (2 * WEB_JOB_SECONDS) /* then it ends though nobody ends it */
#define WEB_JOB_MEMORY	  (3ull << 30)		/* address space */
#define WEB_JOB_ANSWER	  (256ull << 20)

/* Where such a process has the password of the engine. */
#define WEB_CHILD_SECRET_PATH "/proc/self/fd/3"

struct web_running;

/* What runs in the child: its exit code is one of exit_codes.h. Each is as a main(). */
struct web_programs {
	int (*profile)(int argc, char **argv);
	int (*diff)(int argc, char **argv);
};

struct web_child {
	const struct web_programs *programs;
	const struct web_running *running; /* for WEB_ENDPOINT_RUNNING alone */
	const struct web_query *query;
	int out_fd;
	int err_fd;
	int secret_fd; /* WEB_CHILD_SECRET_PATH is this; -1 = none */
};

/* A child_main_fn; `ctx` is a struct web_child. */
int web_child_main(int none, const void *ctx);

#endif
