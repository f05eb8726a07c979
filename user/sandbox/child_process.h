/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Helper processes: their start, their properties, their end. All of them are forked here and none
 * executes a program, so that a helper is the same version as its parent even if another one was
 * installed meanwhile. Each ends with its parent, also when the parent is killed.
 *
 * A helper calls child_process_become() first, with the properties of its row:
 *
 *   process     forked by  signals    descriptors              memory short, limits, other
 *   launcher    sampler    BLOCKED    0-2, socket, kallsyms    (SIGCHLD is read from a signalfd) 0 and 1 of
 *                                                              it and its children are /dev/null, 2 is a
 *                                                              pipe to the sampler (launcher.h)
 *   namer       launcher   OF_PARENT  0-2, two sockets,        ends first
 *                                     kallsyms
 *   standby     namer      as namer   as namer, two sockets    ends first; sibling of its maker
 *                                     of its own
 *   parser      launcher   BLOCKED    socket (0)               ends first; no core, 16 files, files of
 *                                                              512 MiB, 1 GiB more memory; nothing shared
 *                                                              with others; not dumpable
 *   opener      launcher   BLOCKED    socket (0)               ends first; no core, 16 files, writes no
 *                                                              byte; nothing shared; not dumpable
 *   asker       launcher   NO_PIPE    0-2, socket              ends at its deadline (alarm)
 *   looker      launcher   OF_PARENT  0-2, socket              ends first; lives for one question
 *   metrics     sampler    OF_PARENT  2, listening socket,     ends first; no core, files for its
 *                                     page                     connections; not dumpable
 *   offcpu      sampler    BLOCKED    socket (0), BPF program  ends first; no core, 16 files; nothing shared with
 *                                     (1)                      others; not dumpable
 *   compaction  sampler    PLAIN      0-2                      ends first; lowest priority of CPU, disk
 *   service     jbpf-diff  INHERITED  all                      ends first; 1.5 GiB more memory
 *   jbpf-web-engine  jbpf web OF_PARENT  0-2, socket, password  jbpf web --from; not dumpable
 *   jbpf-sampler  jbpf top OF_PARENT  0-2, socket              jbpf top's sampler, where no jbpfd runs
 *   trial       sampler    INHERITED  all                      lives for one attempt (daemon_sandbox.c)
 *   trial       jbpf-diff  INHERITED  all                      the same (daily.c)
 *
 * It then gives up the rights of its row in child_sandbox.h. `jbpf` without a daemon forks parser
 * and opener itself (helper.h).
 *
 * The sampler has threads when it forks. child_process_start() and child_process_become() make
 * async-signal-safe calls only, except for `unmaps_shared`, which allocates memory. That, and the
 * work of the children, relies on glibc: its fork() gives the child an allocator that works
 * (malloc/arena.c, __malloc_fork_lock_parent()).
 */
#ifndef JBPF_SANDBOX_CHILD_PROCESS_H
#define JBPF_SANDBOX_CHILD_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/util/attributes.h"

/* ---- starting ---- */

/*
 * Runs in the child. `socket_fd`: to the parent, or -1. The return value becomes the exit status:
 * 0..255, or -errno, which becomes errno.
 */
typedef int (*child_main_fn)(int socket_fd, const void *ctx);

/*
 * Forks a child that runs `main` and ends with this thread. *socket_out is to it (SOCK_SEQPACKET),
 * the caller's; NULL: there is no socket. The child has a copy of *ctx. 0 or -errno.
 */
__must_check int child_process_start(child_main_fn main, const void *ctx, int *socket_out,
				     pid_t *pid_out);

/* Runs `main` in a child and waits for it. 0, -errno as it returned, -EIO: it was killed; of fork(). */
__must_check int child_process_run(child_main_fn main, const void *ctx);

/*
 * Copies this process as a further child of its parent, which reaps it: a copy outlives its maker.
 * fork() cannot do that; the locks of libc that it takes care of need no care in a process without
 * other threads, which this one must be. Returns the pid, 0 in the copy, or -errno.
 */
pid_t child_process_copy(void);

/* Has this process one thread only? False also when /proc is missing. */
bool child_process_has_one_thread(void);

/*
 * This process is killed when `parent`, its parent, ends. Done for all that are started here; again
 * after a change of ids, which clears it (kernel/cred.c, commit_creds()). 0; -ESRCH: it has ended
 * already; -errno.
 */
__must_check int child_process_end_with(pid_t parent);

/* ---- properties ---- */

enum child_signals {
	CHILD_SIGNALS_INHERITED = 0,
	CHILD_SIGNALS_PLAIN = 1,   /* all as by default, none blocked */
	CHILD_SIGNALS_NO_PIPE = 2, /* as PLAIN, but SIGPIPE is ignored */
	CHILD_SIGNALS_OF_PARENT =
		3, /* as NO_PIPE; SIGINT, SIGTERM, SIGHUP to a whole terminal or service
				      * are for the parent, which ends this one: ignored */
	CHILD_SIGNALS_BLOCKED = 4, /* all as by default, all blocked */
};

enum child_fds {
	CHILD_FDS_INHERITED = 0,
	CHILD_FDS_STANDARD = 1, /* 0, 1, 2; the kept ones are 3, 4, ... */
	CHILD_FDS_ERRORS = 2,	/* 2 only; the kept ones are 3, 4, ... */
	CHILD_FDS_KEPT = 3,	/* none but the kept ones, which are 0, 1, ... */
};

struct child_limit {
	int resource; /* RLIMIT_... */
	uint64_t value;
};

struct child_options {
	const char *name; /* at most 15 bytes; NULL: as its parent */
	enum child_signals signals;
	enum child_fds fds;
	/* Descriptors that stay open; each gets its new number. One that is -1 stays -1. */
	int *const *kept;
	size_t kept_cnt;
	/* A limit that is lower already stays. */
	const struct child_limit *limits;
	size_t limit_cnt;
	uint64_t memory_bytes; /* address space that it may add to its present one; 0 = no limit */
	bool unmaps_shared;    /* memory that others write to, such as BPF maps, is unmapped */
	bool ends_first;       /* when memory is short: rather this one than its parent */
	bool is_undumpable;    /* no core, no ptrace() by processes of its user */
	bool is_idle;	       /* runs when no other process wants the CPU or the disk */
};

/* Of one that meets what strangers made: it keeps nothing but `kept`. */
#define CHILD_OPTIONS_CONFINED                                                          \
	.signals = CHILD_SIGNALS_BLOCKED, .fds = CHILD_FDS_KEPT, .unmaps_shared = true, \
	.ends_first = true, .is_undumpable = true

/*
 * This process is such a child from now on. 0, or -errno: then it must end. Where ends_first and
 * is_idle are not possible, they are left out.
 */
__must_check int child_process_become(const struct child_options *options);

/* ---- ending ---- */

#define CHILD_WAITS_FOREVER UINT32_MAX

/*
 * Kills a child of this process and reaps it. Its wait status, which is its own where it had ended
 * before; -1: it did not end within `wait_ms` (it hangs in the kernel), or is no child of this
 * process.
 */
int child_process_end(pid_t pid, uint32_t wait_ms);

/* Reaps it if it has ended; then *status_out is its wait status. */
bool child_process_has_ended(pid_t pid, int *status_out);

/* The -errno with which it exited; 0: with none, or it was killed, or `status` is -1. */
__must_check int child_process_err(int status);

/* Why it ended, for a message: an error's text, or a signal's. */
const char *child_process_why(int status);

#endif
