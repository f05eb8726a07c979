/* SPDX-License-Identifier: Apache-2.0 */
/* The clocks jbpf uses, in nanoseconds. */
#ifndef JBPF_UTIL_CLOCK_H
#define JBPF_UTIL_CLOCK_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define CLOCK_NS_PER_MS 1000000ull
#define CLOCK_NS_PER_S	1000000000ull

static inline uint64_t clock_ns(clockid_t id)
{
	struct timespec ts = { 0 };

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * CLOCK_NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* Since 1970, may step. */
static inline uint64_t clock_unix_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

/* Since boot, never steps; the clock of process start times (task->start_boottime). */
static inline uint64_t clock_boot_ns(void)
{
	return clock_ns(CLOCK_BOOTTIME);
}

static inline uint64_t clock_monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/*
 * CPU time of a process, also of one that has ended and was not reaped; 0 when there is none. The clock is
 * that of clock_getcpuclockid(), which asks the kernel for it first (linux/posix-timers.h,
 * MAKE_PROCESS_CPUCLOCK()).
 */
static inline uint64_t clock_process_ns(pid_t pid)
{
	return pid ? clock_ns((clockid_t)(~(unsigned int)pid << 3 | 2)) : 0;
}

#endif
