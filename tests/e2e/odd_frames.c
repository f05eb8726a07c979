// SPDX-License-Identifier: Apache-2.0
/*
 * A process that made up its callers: a chain of frames through an empty page of executable memory,
 * and a perf map that names each place in it. The first 14 names are as long as names may be, all
 * others hold a NUL before everything else.
 * Usage: odd_frames SECONDS
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define LONG_CNT   14
#define FRAME_CNT  (LONG_CNT + 690)
#define NAME_BYTES 4096
#define STEP_BYTES 16

struct frame {
	const struct frame *caller;
	uint64_t return_address;
};

static void write_map(uint64_t page)
{
	static char name[NAME_BYTES];
	char path[64];
	FILE *map;

	memset(name, 'x', sizeof(name));
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	if (!map)
		exit(1);
	for (uint64_t i = 0; i < FRAME_CNT; i++) {
		size_t len = i < LONG_CNT ? sizeof(name) : 1;

		fprintf(map, "%llx %x ", (unsigned long long)(page + i * STEP_BYTES), STEP_BYTES);
		fwrite(i < LONG_CNT ? name : "", 1, len, map);
		fputc('\n', map);
	}
	if (fclose(map))
		exit(1);
}

/* Turns with the frame pointer at the chain. */
static __attribute__((noinline)) void turn(const struct frame *chain, uint64_t turns)
{
#if defined(__x86_64__)
	__asm__ volatile("push %%rbp\n\tmov %0, %%rbp\n1:\tdec %1\n\tjnz 1b\n\tpop %%rbp"
			 : "+r"(chain), "+r"(turns)
			 :
			 : "cc", "memory");
#elif defined(__aarch64__)
	__asm__ volatile(
		"mov x19, x29\n\tmov x29, %0\n1:\tsubs %1, %1, #1\n\tb.ne 1b\n\tmov x29, x19"
		: "+r"(chain), "+r"(turns)
		:
		: "cc", "memory", "x19");
#endif
}

int main(int argc, char **argv)
{
	struct frame chain[FRAME_CNT];
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 10);
	void *page = mmap(NULL, FRAME_CNT * STEP_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < FRAME_CNT; i++) {
		chain[i].caller = i + 1 < FRAME_CNT ? &chain[i + 1] : NULL;
		chain[i].return_address =
			(uint64_t)(uintptr_t)page + i * STEP_BYTES + STEP_BYTES / 2;
	}
	write_map((uint64_t)(uintptr_t)page);
	puts("READY");
	fflush(stdout);
	while (time(NULL) < end)
		turn(chain, 100000000);
	return 0;
}
