/* SPDX-License-Identifier: Apache-2.0 */
/* The few facts of /proc/PID/stat and /proc/PID/status that several stages need. */
#ifndef JBPF_HOST_PROC_STAT_H
#define JBPF_HOST_PROC_STAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/util/attributes.h"

struct proc_stat {
	char state;	      /* R S D T t Z X I */
	uint64_t start_ticks; /* field 22: clock ticks (sysconf(_SC_CLK_TCK)) since boot */
};

/* 0, -ENOENT/-ESRCH when the process is gone, -EINVAL when the text is odd. */
__must_check int proc_stat_read(int proc_fd, uint32_t pid, struct proc_stat *out) __no_null;

/* Does it want a CPU, or have one? Then nothing that it asked for keeps it. False when it is gone. */
bool proc_stat_wants_cpu(pid_t pid);

/*
 * Is the process `pid` still the one that started at `start_ns` (CLOCK_BOOTTIME)? The kernel rounds
 * start_boottime down to ticks for field 22. 0 yes; -ESRCH no or gone; -errno.
 */
__must_check int proc_stat_check_start(int proc_fd, uint32_t pid, uint64_t start_ns);

/* CLOCK_BOOTTIME ns of the start, to one tick, as field 22 has it. 0 or -errno. */
__must_check int proc_stat_start_ns(int proc_fd, uint32_t pid, uint64_t *start_ns_out) __no_null;

struct proc_status {
	uid_t uid;  /* real, as the host sees it */
	uid_t euid; /* effective */
	gid_t egid;
	uint32_t tgid;
	/* In the innermost pid namespace; tgid where NSpid is missing (before 4.1). */
	uint32_t ns_pid;
	uint64_t sig_caught;
	uint64_t sig_ignored;
	uint64_t sig_blocked;  /* of the main thread */
	uint64_t cap_bounding; /* bits CAP_* that it can ever have; all of them where not known */
};

/* 0, -ENOENT/-ESRCH when the process is gone, -EINVAL when a needed line is missing. */
__must_check int proc_status_read(int proc_fd, uint32_t pid, struct proc_status *out) __no_null;

#endif
