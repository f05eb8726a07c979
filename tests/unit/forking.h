/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Helper processes that this process forks itself, for tests and benches. What is shipped has the
 * launcher start them, and none of this.
 */
#ifndef JBPF_TESTS_FORKING_H
#define JBPF_TESTS_FORKING_H

#include <errno.h>
#include <stddef.h>

#include "user/sandbox/child_process.h"
#include "user/sandbox/helper.h"

#define FORKING_END_WAIT_MS 200
#define FORKING_PROGRAMS    16u

struct forking_program {
	child_program_fn run;
};

static inline int forking_run(int socket_fd, const void *ctx)
{
	const struct forking_program *program = ctx;

	return program->run(socket_fd);
}

static inline int forking_start(void *ctx, int *socket_out, pid_t *pid_out)
{
	return child_process_start(forking_run, ctx, socket_out, pid_out);
}

static inline int forking_end(void *ctx, pid_t pid)
{
	(void)ctx;
	return child_process_end(pid, FORKING_END_WAIT_MS);
}

/* Borrowed for the life of this process. */
static inline const struct child_starter *forking(child_program_fn run)
{
	static struct forking_program programs[FORKING_PROGRAMS];
	static struct child_starter starters[FORKING_PROGRAMS];
	size_t i = 0;

	while (i < FORKING_PROGRAMS - 1 && programs[i].run && programs[i].run != run)
		i++;
	programs[i].run = run;
	starters[i] = (struct child_starter){
		.start = forking_start,
		.end = forking_end,
		.ctx = &programs[i],
	};
	return &starters[i];
}

#endif
