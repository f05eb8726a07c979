// SPDX-License-Identifier: Apache-2.0
/* See web_child.h. */
#include "user/web/web_child.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "user/cli/exit_codes.h"
#include "user/sandbox/child_process.h"
#include "user/util/cleanup.h"
#include "user/util/log.h"
#include "user/web/web_info.h"
#include "user/web/web_running_run.h"
#include "user/web/web_timeline_run.h"

#define CHILD_NAME "jbpf-web-query"

#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1 /* reserves terabytes of address space */
#else
#define IS_SANITIZED 0
#endif

static int become_query(const struct web_child *child)
{
	static const struct child_limit limits[] = {
		{ RLIMIT_CORE, 0 },
		{ RLIMIT_FSIZE, WEB_JOB_ANSWER },
		{ RLIMIT_CPU, 4 * WEB_JOB_SECONDS },
		{ RLIMIT_AS, WEB_JOB_MEMORY },
	};
	int secret_fd = child->secret_fd;
	int *const kept[] = { &secret_fd };
	const struct child_options options = {
		.name = CHILD_NAME,
		.signals = CHILD_SIGNALS_NO_PIPE,
		.fds = CHILD_FDS_STANDARD,
		.kept = kept,
		.kept_cnt = ARRAY_SIZE(kept),
		.limits = limits,
		.limit_cnt = ARRAY_SIZE(limits) - IS_SANITIZED,
		.ends_first = true,
		.is_undumpable = true,
	};

	if (dup2(child->out_fd, STDOUT_FILENO) < 0 || dup2(child->err_fd, STDERR_FILENO) < 0)
		return -errno;
	return child_process_become(&options);
}

static int run_program(const struct web_child *child)
{
	const struct web_query *query = child->query;
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

int web_child_main(int none, const void *ctx)
{
	const struct web_child *child = ctx;
	int err = become_query(child);
	int code;

	(void)none;
	if (err)
		return err;
	(void)alarm(WEB_CHILD_SECONDS);
	log_set_program(child->query->arguments[0]);
	code = run_program(child);
	if (fflush(stdout) && code == CMD_EXIT_DONE)
		code = CMD_EXIT_FAILED;
	return code;
}
