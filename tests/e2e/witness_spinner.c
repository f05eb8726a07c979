// SPDX-License-Identifier: Apache-2.0
/*
 * A plain program with one chain of calls: main, serve, real_caller, leaf. It is linked statically and
 * at a fixed address, so that its stack is the same in every process: what a neighbour needs to find
 * another stack with the same hash. `plant` is that neighbour: the same program with made-up frames.
 *
 *   witness_spinner SECONDS PERCENT              works so much of the time
 *   witness_spinner SECONDS PERCENT late         by main, serve_late, late_caller, leaf
 *   witness_spinner SECONDS PERCENT plant FILE   as `late`, but two words of its stack differ: a bit of
 *                                                the first, and the second by a number of FILE (hex, a
 *                                                line each), each number for long enough to be sampled
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/e2e/program.h"

#define MAX_CHANGES    4096
#define MAX_FRAMES     32
#define VARIANT_NS     11000000ull /* longer than between two samples at 99 Hz */
#define FLIPPED_BIT    4
#define LOOPS_PER_LOOK 1000000

static uint64_t changes[MAX_CHANGES];
static size_t change_cnt;
static struct frame
	*made_up; /* on the stack, above all frames of the chain: elsewhere it is none */

/* The frames from `real` on, as a profiler would walk them, but for the two words. */
static void frames_copy(const struct frame *real, uint64_t change, struct frame *copy)
{
	for (size_t i = 0; i < MAX_FRAMES; i++, real = real->next) {
		copy[i] = *real;
		if (real->next <= real)
			break;
		copy[i].next = &copy[i + 1];
	}
	copy[0].address ^= 1u << FLIPPED_BIT;
	copy[1].address ^= change;
}

/* Counts down with the frame pointer at its own frame, or with a change at frames that are made up. */
static __attribute__((noinline, noclone)) void leaf(uint64_t loops, uint64_t change)
{
	const struct frame *frame = __builtin_frame_address(0);

	if (change) {
		frames_copy(frame, change, made_up);
		frame = made_up;
	}
	burn_at(frame, loops);
}

static __attribute__((noinline, noclone)) void real_caller(void)
{
	leaf(LOOPS_PER_LOOK, 0);
	asm volatile("");
}

static __attribute__((noinline, noclone)) void serve(void)
{
	real_caller();
	asm volatile("");
}

static __attribute__((noinline, noclone)) void late_caller(uint64_t change)
{
	leaf(LOOPS_PER_LOOK, change);
	asm volatile("");
}

static __attribute__((noinline, noclone)) void serve_late(uint64_t change)
{
	late_caller(change);
	asm volatile("");
}

static int changes_read(const char *path)
{
	FILE *file = fopen(path, "re");

	if (!file)
		return -1;
	while (change_cnt < MAX_CHANGES && fscanf(file, "%lx", &changes[change_cnt]) == 1)
		change_cnt++;
	fclose(file);
	return change_cnt ? 0 : -1;
}

int main(int argc, char **argv)
{
	uint64_t seconds = argc > 2 ? strtoull(argv[1], NULL, 10) : 0;
	uint64_t percent = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	uint64_t end_ns = now_ns(CLOCK_MONOTONIC) + seconds * NS_PER_S;
	const int is_late = argc > 3;
	struct frame room[MAX_FRAMES];

	if (percent < 1 || percent > 100 || (argc > 4 && changes_read(argv[4])))
		return 2;
	made_up = room;
	say_ready();
	while (now_ns(CLOCK_MONOTONIC) < end_ns) {
		uint64_t cpu_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
		/* Slices of ever other length: equal ones fall into step with the sampling. */
		uint64_t slice_ns = change_cnt ? VARIANT_NS :
						 5000000 + (uint64_t)(random() % 10000000);

		while (now_ns(CLOCK_THREAD_CPUTIME_ID) < cpu_ns + slice_ns) {
			if (is_late)
				serve_late(change_cnt ? changes[cpu_ns / VARIANT_NS % change_cnt] :
							0);
			else
				serve();
		}
		if (percent < 100)
			usleep((useconds_t)(slice_ns / 1000 * (100 - percent) / percent));
	}
	return 0;
}
