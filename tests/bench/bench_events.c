// SPDX-License-Identifier: Apache-2.0
/*
 * A program at the worst that an event can do to it, as fast as it can:
 *   switches   two threads wake each other, so that each operation is a context switch
 *   faults     touches fresh pages of 4 KiB, so that each operation is a page fault
 *
 * Usage: bench_events switches|faults CPU     pinned to a CPU. For each line on stdin, one line of JSON
 * on what was since the last: operations, cpu_ns (of the process), ns.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/pinned_thread.h"
#include "user/util/parse.h"

#define PAGE_BYTES   4096
#define MEMORY_BYTES ((size_t)16 << 20)

static _Atomic uint64_t operations;
static int ping[2], pong[2];

struct sight {
	uint64_t operations;
	uint64_t cpu_ns;
	uint64_t ns;
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct sight look(void)
{
	return (struct sight){ atomic_load_explicit(&operations, memory_order_relaxed),
			       clock_ns(CLOCK_PROCESS_CPUTIME_ID), clock_ns(CLOCK_MONOTONIC) };
}

/* Gives back what it gets. On one CPU the other thread runs when this one waits. */
static void pass_on(int from, int to)
{
	char byte;

	while (read(from, &byte, 1) == 1 && write(to, &byte, 1) == 1)
		atomic_fetch_add_explicit(&operations, 1, memory_order_relaxed);
}

static void *run_ping(void *arg)
{
	pass_on(ping[0], pong[1]);
	return arg;
}

static void *run_pong(void *arg)
{
	pass_on(pong[0], ping[1]);
	return arg;
}

static void *run_faults(void *arg)
{
	for (;;) {
		char *memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED)
			return arg;
		/* Huge pages would make one fault of 512. */
		(void)madvise(memory, MEMORY_BYTES, MADV_NOHUGEPAGE);
		for (size_t at = 0; at < MEMORY_BYTES; at += PAGE_BYTES) {
			((volatile char *)memory)[at] = 1;
			atomic_fetch_add_explicit(&operations, 1, memory_order_relaxed);
		}
		munmap(memory, MEMORY_BYTES);
	}
}

static int start_switches(uint32_t cpu)
{
	int err;

	if (pipe(ping) || pipe(pong))
		return -1;
	err = pinned_thread_start(run_ping, NULL, cpu);
	if (!err)
		err = pinned_thread_start(run_pong, NULL, cpu);
	if (!err && write(ping[1], "", 1) != 1)
		err = -1;
	return err;
}

int main(int argc, char **argv)
{
	bool is_faults = argc == 3 && strcmp(argv[1], "faults") == 0;
	struct sight last;
	uint32_t cpu;
	char line[16];

	if (argc != 3 || (!is_faults && strcmp(argv[1], "switches") != 0) ||
	    parse_u32_range(argv[2], 0, CPU_SETSIZE - 1, &cpu)) {
		fprintf(stderr, "usage: bench_events switches|faults CPU\n");
		return 2;
	}
	if (is_faults ? pinned_thread_start(run_faults, NULL, cpu) : start_switches(cpu)) {
		fprintf(stderr, "bench_events: cannot start on CPU %u\n", cpu);
		return 1;
	}
	last = look();
	while (fgets(line, sizeof(line), stdin)) {
		struct sight now = look();

		printf("{\"operations\": %llu, \"cpu_ns\": %llu, \"ns\": %llu}\n",
		       (unsigned long long)(now.operations - last.operations),
		       (unsigned long long)(now.cpu_ns - last.cpu_ns),
		       (unsigned long long)(now.ns - last.ns));
		fflush(stdout);
		last = now;
	}
	return 0;
}
