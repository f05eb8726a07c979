// SPDX-License-Identifier: Apache-2.0
/*
 * A plain C program to profile: 70 % of its CPU time in burn_seventy, 30 % in burn_thirty.
 * Usage: native_spinner SECONDS [PERCENT [stopped]]     PERCENT of a CPU, default 100; `stopped`: before
 * it works it stops, with all that it needs of its file in memory, until SIGCONT.
 */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile double sink = 1.5;

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static __attribute__((noinline)) void burn_seventy(uint64_t until_ns)
{
	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns)
		for (int i = 0; i < 20000; i++)
			sink = sink * 1.0000001 + 0.5;
}

static __attribute__((noinline)) void burn_thirty(uint64_t until_ns)
{
	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns)
		for (int i = 0; i < 20000; i++)
			sink = sink * 0.9999999 + 0.25;
}

static void stop(void)
{
	burn_seventy(0);
	burn_thirty(0);
	sink = 1.0 + (double)(random() % 2);
	usleep(1);
	(void)raise(SIGSTOP);
}

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 10) : 10;
	uint64_t percent = argc > 2 ? strtoull(argv[2], NULL, 10) : 100;
	uint64_t end_ns = now_ns(CLOCK_MONOTONIC) + seconds * 1000000000u;

	if (percent < 1 || percent > 100)
		return 1;
	if (argc > 3)
		stop();
	while (now_ns(CLOCK_MONOTONIC) < end_ns) {
		/* Slices of ever other length: equal ones fall into step with the sampling. */
		uint64_t unit_ns = 500000 + (uint64_t)(random() % 1000000);

		burn_seventy(now_ns(CLOCK_THREAD_CPUTIME_ID) + 7 * unit_ns);
		burn_thirty(now_ns(CLOCK_THREAD_CPUTIME_ID) + 3 * unit_ns);
		if (percent < 100)
			usleep((useconds_t)(unit_ns / 100 * (100 - percent) / percent));
	}
	return 0;
}
