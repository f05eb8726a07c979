// SPDX-License-Identifier: Apache-2.0
/*
 * A program at the worst that an event can do to it, as fast as it can:
 *   switches   two threads wake each other, so that each operation is a context switch
 *   faults     touches fresh pages of 4 KiB, so that each operation is a page fault
 *
 * Usage: bench_events switches|faults CPU     pinned to a CPU. For each line on stdin, one line of JSON
 * on what was since the last: operations, cpu_ns (of the process), ns. Of faults, each of which is timed,
 * also how many blocks, and the sums over these of what an ordinary fault took (ordinary_ns), and what a
 * sampled one took more (sampled_ns): the perf event counts the faults of a CPU, and one of PERIOD is
 * sampled, so that in a block of some periods all of these stand at one place. A block into which faults
 * of another program fell is left out. What slows the host slows all places alike.
 */
#include <inttypes.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/pinned_thread.h"
#include "user/util/parse.h"

#define PAGE_BYTES 4096
#define PERIOD	   64 /* of jbpfd's page-faults */
#define PERIODS	   20 /* of a block */
#define FASTEST \
	2 /* and SLOWEST of its faults at a place are left out: an interrupt came upon them */
#define SLOWEST	     4
#define MEMORY_BYTES ((size_t)PERIOD * PERIODS * PAGE_BYTES)

static _Atomic uint64_t operations;
static _Atomic uint64_t block_cnt, ordinary_ns, sampled_ns;
static int ping[2], pong[2];
static int counter_fd;

struct sight {
	uint64_t operations;
	uint64_t cpu_ns;
	uint64_t ns;
	uint64_t block_cnt;
	uint64_t ordinary_ns;
	uint64_t sampled_ns;
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
			       clock_ns(CLOCK_PROCESS_CPUTIME_ID),
			       clock_ns(CLOCK_MONOTONIC),
			       block_cnt,
			       ordinary_ns,
			       sampled_ns };
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

static int order(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* What a fault at this place of a period took. */
static uint64_t place_ns(const uint64_t *took_ns, size_t place)
{
	uint64_t sorted[PERIODS], sum = 0;

	for (size_t i = 0; i < PERIODS; i++)
		sorted[i] = took_ns[i * PERIOD + place];
	qsort(sorted, PERIODS, sizeof(*sorted), order);
	for (size_t i = FASTEST; i < PERIODS - SLOWEST; i++)
		sum += sorted[i];
	return sum / (PERIODS - SLOWEST - FASTEST);
}

static void block_note(const uint64_t *took_ns)
{
	uint64_t places[PERIOD];

	for (size_t place = 0; place < PERIOD; place++)
		places[place] = place_ns(took_ns, place);
	qsort(places, PERIOD, sizeof(*places), order);
	ordinary_ns += places[PERIOD / 2];
	sampled_ns += places[PERIOD - 1] - places[PERIOD / 2];
	block_cnt++;
}

/* Counts the faults of a CPU. */
static int open_counter(uint32_t cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_PAGE_FAULTS,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static uint64_t faults_of_cpu(void)
{
	uint64_t cnt = 0;

	return read(counter_fd, &cnt, sizeof(cnt)) == sizeof(cnt) ? cnt : 0;
}

static void *run_faults(void *arg)
{
	static uint64_t took_ns[PERIOD * PERIODS];

	for (;;) {
		uint64_t before_cnt;
		char *memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED)
			return arg;
		/* Huge pages would make one fault of 512. */
		(void)madvise(memory, MEMORY_BYTES, MADV_NOHUGEPAGE);
		before_cnt = faults_of_cpu();
		for (size_t i = 0; i < PERIOD * PERIODS; i++) {
			uint64_t begin_ns = clock_ns(CLOCK_MONOTONIC);

			((volatile char *)memory)[i * PAGE_BYTES] = 1;
			took_ns[i] = clock_ns(CLOCK_MONOTONIC) - begin_ns;
			atomic_fetch_add_explicit(&operations, 1, memory_order_relaxed);
		}
		/* A fault of another program moves the place. */
		if (faults_of_cpu() - before_cnt == PERIOD * PERIODS)
			block_note(took_ns);
		munmap(memory, MEMORY_BYTES);
	}
}

static int start_faults(uint32_t cpu)
{
	counter_fd = open_counter(cpu);
	return counter_fd < 0 ? -1 : pinned_thread_start(run_faults, NULL, cpu);
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
	if (is_faults ? start_faults(cpu) : start_switches(cpu)) {
		fprintf(stderr, "bench_events: cannot start on CPU %u\n", cpu);
		return 1;
	}
	last = look();
	while (fgets(line, sizeof(line), stdin)) {
		struct sight now = look();

		printf("{\"operations\": %" PRIu64 ", \"cpu_ns\": %" PRIu64 ", \"ns\": %" PRIu64
		       ", \"block_cnt\": %" PRIu64 ", \"ordinary_ns\": %" PRIu64
		       ", \"sampled_ns\": %" PRIu64 "}\n",
		       now.operations - last.operations, now.cpu_ns - last.cpu_ns, now.ns - last.ns,
		       now.block_cnt - last.block_cnt, now.ordinary_ns - last.ordinary_ns,
		       now.sampled_ns - last.sampled_ns);
		fflush(stdout);
		last = now;
	}
	return 0;
}
