// SPDX-License-Identifier: Apache-2.0
/*
 * How long a program stands still, as it sees it itself: below a known number of frames it reads the
 * clock without end; each hole between two readings was taken from it. Sampling makes holes whose
 * length is all of a sample's cost in the kernel: interrupt, perf, BPF program and their caches.
 * BPF statistics show the program alone, and of `perf record` nothing.
 *
 * Usage: bench_interrupt DEPTH CPU     pinned to a CPU. For each line on stdin, one line of JSON on
 * what was since the last: ran_ns (without the time others had the CPU), hole_ns and holes (of at least
 * HOLE_MIN_NS). A hole within which the thread was switched out is another's that ran, however short.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/pinned_thread.h"
#include "user/util/parse.h"

#define HOLE_MIN_NS 500
#define FRAME_PAD   5 /* words; frames are 96 bytes apart on x86_64, about as in Java */
#define DEPTH_MAX   4096

static struct {
	_Atomic uint64_t others_ns;
	_Atomic uint64_t hole_ns;
	_Atomic uint64_t holes;
} seen;

static volatile uint64_t sink;
static volatile bool is_over; /* never: the process ends with its main thread */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now); /* in the vDSO: no system call */
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* How often this thread was switched out; it never sleeps. */
static long switches(void)
{
	struct rusage usage = { 0 };

	(void)getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nivcsw + usage.ru_nvcsw;
}

static void count_hole(uint64_t gap, long *switched)
{
	long now = switches();

	if (now != *switched) {
		*switched = now;
		atomic_fetch_add_explicit(&seen.others_ns, gap, memory_order_relaxed);
		return;
	}
	atomic_fetch_add_explicit(&seen.hole_ns, gap, memory_order_relaxed);
	atomic_fetch_add_explicit(&seen.holes, 1, memory_order_relaxed);
}

static __attribute__((noinline)) void watch(void)
{
	long switched = switches();
	uint64_t last = now_ns();

	while (!is_over) {
		uint64_t now = now_ns(), gap = now - last;

		last = now;
		if (gap < HOLE_MIN_NS)
			continue;
		count_hole(gap, &switched);
		last = now_ns(); /* the question to the kernel is no hole */
	}
}

static __attribute__((noinline)) void descend(long depth)
{
	volatile uint64_t pad[FRAME_PAD] = { (uint64_t)depth };

	if (depth > 1)
		descend(depth - 1);
	else
		watch();
	sink += pad[0];
}

static void *run(void *depth)
{
	/* watch(), run(), and what starts a thread are frames, too. */
	descend((long)(intptr_t)depth > 4 ? (long)(intptr_t)depth - 4 : 1);
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t since, hole_ns = 0, others_ns = 0, holes = 0;
	uint32_t depth, cpu;
	char line[16];
	int err;

	if (argc != 3 || parse_u32_range(argv[1], 1, DEPTH_MAX, &depth) ||
	    parse_u32_range(argv[2], 0, CPU_SETSIZE - 1, &cpu)) {
		fprintf(stderr, "usage: bench_interrupt DEPTH CPU\n");
		return 2;
	}
	err = pinned_thread_start(run, (void *)(intptr_t)depth, cpu);
	if (err) {
		fprintf(stderr, "bench_interrupt: CPU %u: %s\n", cpu, strerror(-err));
		return 1;
	}
	since = now_ns();
	while (fgets(line, sizeof(line), stdin)) {
		uint64_t now = now_ns(), others = seen.others_ns, hole = seen.hole_ns,
			 cnt = seen.holes;
		uint64_t away = others - others_ns;

		printf("{\"ran_ns\": %llu, \"hole_ns\": %llu, \"holes\": %llu}\n",
		       (unsigned long long)(now - since > away ? now - since - away : 0),
		       (unsigned long long)(hole - hole_ns), (unsigned long long)(cnt - holes));
		fflush(stdout);
		since = now;
		others_ns = others;
		hole_ns = hole;
		holes = cnt;
	}
	return 0;
}
