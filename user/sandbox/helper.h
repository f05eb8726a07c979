/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A helper process as its user sees it, which may not fork, so that somebody else starts it (launcher.h).
 * Parser and opener are such helpers.
 *
 *           helper_start()            helper_end()
 *     none ---------------> runs ----------------------> none   it has ended, or was killed and hangs in the
 *                            |                                  kernel: then its socket is left
 *                            +----- helper_forget() ---> none   in a copy of its user, which does not own it
 */
#ifndef JBPF_SANDBOX_HELPER_H
#define JBPF_SANDBOX_HELPER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/util/attributes.h"

struct child_starter {
	/*
	 * A process that runs its program on the other end of *socket_out. 0 or -errno; -EBUSY:
	 * too many of them hang.
	 */
	int (*start)(void *ctx, int *socket_out, pid_t *pid_out);
	/* Kills it. Its wait status, or -1: it hangs, or that is not known. */
	int (*end)(void *ctx, pid_t pid);
	void *ctx;
};

/* Runs in the child on its end of the socket. Its exit status, as of child_main_fn. */
typedef int (*child_program_fn)(int socket_fd);

struct helper {
	struct child_starter starter;
	pid_t pid; /* 0 = none runs */
	int socket_fd;
	uint64_t start_cnt;
};

/* Starts nothing yet. */
struct helper helper_of(const struct child_starter *starter) __no_null;
/* None may run. 0 or -errno of the starter. */
__must_check int helper_start(struct helper *helper) __no_null;
/*
 * Kills it where it runs. Its wait status, or -1: it hangs, or that is not known. `left_out`: the
 * socket of one that hangs, the caller's, else -1; may be NULL.
 */
int helper_end(struct helper *helper, int *left_out) __no_null_at(1);
/* It is another process's. */
void helper_forget(struct helper *helper) __no_null;

/* ---- watching ---- */

/* Time passes in ticks, so that a suspended host or a frozen cgroup is no reason to give up. */
struct helper_limits {
	uint32_t tick_ms;
	uint32_t max_ticks; /* in which it does not want a CPU */
	uint32_t max_all_ticks;
	uint32_t max_stalled_ticks; /* in a row, without using the CPU or wanting it */
	uint64_t max_cpu_ns;
};

/* Of one whose time alone counts. */
#define HELPER_LIMITS_NO_CPU .max_stalled_ticks = UINT32_MAX, .max_cpu_ns = UINT64_MAX

/* Time that an answer may use up. */
struct helper_watch {
	const struct helper_limits *limits; /* borrowed */
	uint64_t cpu_begin_ns;
	uint64_t cpu_ns; /* at the last tick */
	uint32_t ticks;
	uint32_t all_ticks;
	uint32_t stalled_ticks;
};

struct helper_watch helper_watch_begin(const struct helper *helper,
				       const struct helper_limits *limits) __no_null;
/* Until its next message, or its end, can be received. 0; -ETIMEDOUT: the watch has run out; -errno. */
__must_check int helper_await(const struct helper *helper, struct helper_watch *watch) __no_null;

/* ---- how often ---- */

/* Starts that are allowed: so many at once, then one in this time. None is used up at first. */
struct start_budget {
	uint32_t burst;
	uint64_t interval_ns;
	uint32_t used_cnt;
	uint64_t since_ns; /* CLOCK_BOOTTIME: from then on the next one comes back */
};

/* False: there is none left just now. */
bool start_budget_take(struct start_budget *budget, uint64_t now_boot_ns) __no_null;

#endif
