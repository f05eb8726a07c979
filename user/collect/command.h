/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program that a recording starts, `jbpf record -- COMMAND`: it waits until sampling runs, in a
 * cgroup of its own, so that the processes that it starts are sampled with it. Nothing ends with
 * jbpf: a program that outlives the recording goes on, and its cgroup goes when it has ended.
 *
 *   jbpf ----> runner, which makes the cgroup, waits for the program, and removes the cgroup
 *                 +--> the program
 */
#ifndef JBPF_COLLECT_COMMAND_H
#define JBPF_COLLECT_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

#include "user/util/attributes.h"

struct command;

/* Forks both; before the caller gives up its rights. `argv` ends with NULL. 0 or -errno. */
__must_check int command__start(char *const *argv, struct command **out);
void command__free(struct command *command); /* NULL is fine; what waits still ends unrun */

pid_t command__pid(const struct command *command); /* of the program, as this process sees it */
/* Directory of its cgroup; NULL: there could be none, and what the program starts cannot be told from others. */
const char *command__cgroup(const struct command *command);

/* The program begins. */
void command__go(struct command *command);

/*
 * Has it ended? Does not wait. Then *status is its wait status, or -errno where it could not be
 * executed (the error of execvp()).
 */
bool command__has_ended(struct command *command, int *status);

#endif
