/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the small programs that tests profile have in common: the time, work that costs CPU, the word that
 * they are at it, and a frame pointer that points where they like. All of it is inlined: a profile shows
 * the function that asked for it as the leaf.
 */
#ifndef JBPF_TESTS_E2E_PROGRAM_H
#define JBPF_TESTS_E2E_PROGRAM_H

#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define NS_PER_MS 1000000ull
#define NS_PER_S  1000000000ull

/* A frame as frame pointers chain them. */
struct frame {
	struct frame *next;
	uintptr_t address;
};

static inline __attribute__((always_inline)) uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Works for so much CPU time of the thread. */
static inline __attribute__((always_inline)) void burn(uint64_t cpu_ns)
{
	static volatile double sink = 1.5;
	uint64_t until_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) + cpu_ns;

	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns)
		for (int i = 0; i < 20000; i++)
			sink = sink * 1.0000001 + 0.5;
}

static inline void say_ready(void)
{
	puts("READY");
	fflush(stdout);
}

/* Counts down with the frame pointer at `frame`. */
static inline __attribute__((always_inline)) void burn_at(const struct frame *frame, uint64_t loops)
{
#if defined(__x86_64__)
	asm volatile("mov %%rbp, %%r9\n\tmov %1, %%rbp\n1:\tdec %0\n\tjnz 1b\n\tmov %%r9, %%rbp"
		     : "+r"(loops)
		     : "r"(frame)
		     : "r9", "memory", "cc");
#elif defined(__aarch64__)
	asm volatile("mov x9, x29\n\tmov x29, %1\n1:\tsubs %0, %0, #1\n\tb.ne 1b\n\tmov x29, x9"
		     : "+r"(loops)
		     : "r"(frame)
		     : "x9", "memory", "cc");
#else
#error "which register is the frame pointer?"
#endif
}

#endif
