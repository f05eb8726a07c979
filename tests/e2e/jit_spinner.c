// SPDX-License-Identifier: Apache-2.0
/*
 * A process with JIT code of known addresses: two functions in an anonymous executable mapping,
 * each called for half of the time. Prints "JIT first-address second-address size" in hexadecimal
 * and its pid, then works. What a perf map says about these addresses is up to the test.
 * Usage: jit_spinner SECONDS [PERCENT]     PERCENT of a CPU, default 100
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/e2e/countdown.h"

#define FUNCTION_BYTES 64

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void spin_for(countdown_fn function, uint64_t cpu_ns)
{
	uint64_t end_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;

	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns)
		function(100000);
}

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 1 ? strtoull(argv[1], NULL, 10) : 10;
	uint64_t percent = argc > 2 ? strtoull(argv[2], NULL, 10) : 100;
	uint64_t end_ns = now_ns(CLOCK_MONOTONIC) + seconds * 1000000000u;
	const size_t bytes = 4096;
	uint8_t *code =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	countdown_fn first, second;

	if (code == MAP_FAILED || percent < 1 || percent > 100)
		return 1;
	memcpy(code, countdown, sizeof(countdown));
	memcpy(code + FUNCTION_BYTES, countdown, sizeof(countdown));
	if (mprotect(code, bytes, PROT_READ | PROT_EXEC))
		return 1;
	__builtin___clear_cache((char *)code, (char *)code + bytes);
	first = (countdown_fn)(uintptr_t)code;
	second = (countdown_fn)(uintptr_t)(code + FUNCTION_BYTES);
	printf("JIT %lx %lx %x pid %d\n", (unsigned long)(uintptr_t)first,
	       (unsigned long)(uintptr_t)second, FUNCTION_BYTES, (int)getpid());
	fflush(stdout);

	while (now_ns(CLOCK_MONOTONIC) < end_ns) {
		spin_for(first, 5000000);
		spin_for(second, 5000000);
		if (percent < 100)
			usleep((useconds_t)(10000 * (100 - percent) / percent));
	}
	return 0;
}
