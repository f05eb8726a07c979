// SPDX-License-Identifier: Apache-2.0
/*
 * See child_starter.h. One that was killed may hang in the kernel, on a file whose server does not
 * answer: it is remembered, and reaped later.
 */
#include "user/sandbox/child_starter.h"

#include <errno.h>
#include <sys/wait.h>

#include "user/sandbox/child_process.h"
#include "user/util/log.h"

#define END_WAIT_MS 200

/* A pid of a copy's original is no child of this process: that counts as ended, too. */
static size_t count_hanging(struct child_forker *forker)
{
	size_t cnt = 0;

	for (size_t i = 0; i < CHILD_FORKER_MAX_HANGING; i++) {
		pid_t *pid = &forker->hanging[i];

		if (*pid && waitpid(*pid, NULL, WNOHANG) != 0)
			*pid = 0;
		cnt += *pid != 0;
	}
	return cnt;
}

static void remember_hanging(struct child_forker *forker, pid_t pid)
{
	size_t i = 0;

	while (i < CHILD_FORKER_MAX_HANGING - 1 && forker->hanging[i])
		i++;
	forker->hanging[i] = pid;
	pr_warn_limited(
		"helpers: process %d was killed and has not ended yet: it hangs on a file whose server does not answer, or the host is very busy\n",
		(int)pid);
}

static int run_program(int socket_fd, const void *ctx)
{
	const struct child_forker *forker = ctx;

	return forker->program(socket_fd);
}

static int forker_start(void *ctx, int *socket_out, pid_t *pid_out)
{
	struct child_forker *forker = ctx;

	if (count_hanging(forker) >= forker->max_hanging)
		return -EBUSY;
	return child_process_start(run_program, forker, socket_out, pid_out);
}

static int forker_end(void *ctx, pid_t pid)
{
	int status = child_process_end(pid, END_WAIT_MS);

	if (status < 0)
		remember_hanging(ctx, pid);
	return status;
}

struct child_starter child_forker_starter(struct child_forker *forker)
{
	return (struct child_starter){
		.start = forker_start,
		.end = forker_end,
		.ctx = forker,
	};
}
