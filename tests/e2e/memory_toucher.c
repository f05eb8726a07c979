// SPDX-License-Identifier: Apache-2.0
/*
 * A plain C program that touches fresh memory: three pages in touch_three for one in touch_one. At its
 * end it prints how many page faults its thread really took in each: "TRUTH three one".
 * Usage: memory_toucher SECONDS
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define PAGE_BYTES 4096
#define UNIT_BYTES (4 << 20)

static uint64_t faults_now(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return (uint64_t)usage.ru_minflt;
}

static __attribute__((noinline)) void touch_three(volatile char *memory)
{
	for (size_t at = 0; at < 3 * UNIT_BYTES; at += PAGE_BYTES)
		memory[at] = 1;
}

static __attribute__((noinline)) void touch_one(volatile char *memory)
{
	for (size_t at = 0; at < UNIT_BYTES; at += PAGE_BYTES)
		memory[at] = 2;
}

int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 5);
	uint64_t in_three = 0, in_one = 0;

	while (time(NULL) < end) {
		char *memory = mmap(NULL, 4 * UNIT_BYTES, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		uint64_t begin, middle;

		if (memory == MAP_FAILED)
			return 1;
		(void)madvise(memory, 4 * UNIT_BYTES, MADV_NOHUGEPAGE);
		begin = faults_now();
		touch_three(memory);
		middle = faults_now();
		touch_one(memory + 3 * UNIT_BYTES);
		in_three += middle - begin;
		in_one += faults_now() - middle;
		munmap(memory, 4 * UNIT_BYTES);
		usleep(20000);
	}
	printf("TRUTH %llu %llu\n", (unsigned long long)in_three, (unsigned long long)in_one);
	return 0;
}
