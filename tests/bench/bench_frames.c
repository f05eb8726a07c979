// SPDX-License-Identifier: Apache-2.0
/*
 * Burns a CPU for ever below a known number of frames that only unwind tables describe: it is compiled
 * without frame pointers.
 *
 * Usage: bench_frames DEPTH
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "user/util/parse.h"

#define FRAME_PAD 5 /* words */
#define DEPTH_MAX 4096

static volatile uint64_t sink;
static volatile bool is_over; /* never */

static __attribute__((noinline)) void burn(void)
{
	while (!is_over)
		sink++;
}

static __attribute__((noinline)) void descend(uint64_t depth)
{
	volatile uint64_t pad[FRAME_PAD] = { depth };

	if (depth > 1)
		descend(depth - 1);
	else
		burn();
	sink += pad[0];
}

int main(int argc, char **argv)
{
	uint32_t depth;

	if (argc != 2 || parse_u32_range(argv[1], 1, DEPTH_MAX, &depth)) {
		(void)fprintf(stderr, "usage: bench_frames DEPTH (1 to %d)\n", DEPTH_MAX);
		return 2;
	}
	descend(depth);
	return 0;
}
