// SPDX-License-Identifier: Apache-2.0
/*
 * Lets hours pass in seconds, for one program: preloaded, it replaces CLOCK_REALTIME by a clock that
 * runs at its usual pace but only from some seconds before a full hour to some seconds behind it, and
 * then goes on before the next one. All other clocks are the system's. So windows keep their length,
 * and every HOUR_STEP seconds (even) an hour's file is closed.
 *
 * HOUR_STEP_START: seconds since 1970, a multiple of HOUR_STEP, the same in all programs of one run.
 *
 * Or the clocks jump: from CLOCK_JUMP_AT on, seconds since boot, CLOCK_REALTIME is CLOCK_JUMP_REALTIME
 * seconds ahead and CLOCK_BOOTTIME CLOCK_JUMP_BOOTTIME, as when a host was asleep.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HOUR_S 3600

int clock_gettime(clockid_t id, struct timespec *out);

/* 0 when it is not set or no number: then the clock is the system's. */
static int64_t setting(const char *name)
{
	const char *text = getenv(name);

	return text ? strtoll(text, NULL, 10) : 0;
}

static void jump(clockid_t id, struct timespec *out)
{
	int64_t at_s = setting("CLOCK_JUMP_AT");
	struct timespec boot;

	if (at_s <= 0 || syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &boot) || boot.tv_sec < at_s)
		return;
	if (id == CLOCK_REALTIME)
		out->tv_sec += setting("CLOCK_JUMP_REALTIME");
	else if (id == CLOCK_BOOTTIME)
		out->tv_sec += setting("CLOCK_JUMP_BOOTTIME");
}

int clock_gettime(clockid_t id, struct timespec *out)
{
	int64_t step_s = setting("HOUR_STEP"), start_s = setting("HOUR_STEP_START");
	int err = (int)syscall(SYS_clock_gettime, id, out);

	if (!err)
		jump(id, out);
	if (err || id != CLOCK_REALTIME || step_s <= 0 || start_s <= 0 || out->tv_sec < start_s)
		return err;
	int64_t run_s = out->tv_sec - start_s;
	int64_t first_hour_s = start_s / HOUR_S * HOUR_S;

	out->tv_sec = first_hour_s + (run_s / step_s + 1) * HOUR_S - step_s / 2 + run_s % step_s;
	return 0;
}
