// SPDX-License-Identifier: Apache-2.0
/*
 * A process whose samples all have the very stack that it is told to have. Usage:
 *
 *   fake_stack SECONDS ADDRESS WORD...     (hexadecimal)
 *   fake_stack SECONDS random N THREADS
 *
 * Maps a page at ADDRESS, where an endless loop of one instruction is its leaf, and runs it with
 * WORDs as return addresses in a chain of frames; the last frame's pointer is 0. A WORD of ~0 is the
 * cookie of an entry barrier's frame: what is next lies a word further up, in the same frame. At a
 * WORD with "stub" behind it lies what follows the call in the barrier's stub. With "random", each
 * of the threads has N random frames, other ones after some microseconds. Prints "ready" when the
 * work begins, and is killed, or ended by SIGALRM.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FRAMES_MAX 2048
#define PAGE	   4096
#define ROUNDS	   20000
#define COOKIE	   UINT64_MAX
#define LEAF	   0x5000000000ull /* of "random" */

struct chain {
	uint64_t below[64]; /* what an interrupt in user mode may write below the stack pointer */
	uint64_t frames[FRAMES_MAX][2];
};

#if defined(__x86_64__)

/* loop: dec rdi; jnz loop; ret-less for ever when rdi is 0 at the beginning */
static const uint8_t forever[] = { 0xeb, 0xfe };

/* movdqu xmm0, [rsp]; movdqu xmm1, [rsp + 16] */
static const uint8_t stub[] = { 0xf3, 0x0f, 0x6f, 0x04, 0x24, 0xf3, 0x0f, 0x6f, 0x4c, 0x24, 0x10 };

static __attribute__((noreturn)) void run(uint64_t address, struct chain *chain)
{
	__asm__ volatile("mov %0, %%rsp\n\tmov %0, %%rbp\n\tjmp *%1"
			 :
			 : "r"(chain->frames), "r"(address)
			 : "memory");
	__builtin_unreachable();
}

/* Burns for a while with the chain as its own callers. */
static __attribute__((noinline)) void burn_with(struct chain *chain, uint64_t rounds)
{
	__asm__ volatile("push %%rbp\n\tmov %%rsp, %%r12\n\tmov %0, %%rsp\n\tmov %0, %%rbp\n"
			 "1:\tdec %1\n\tjnz 1b\n\tmov %%r12, %%rsp\n\tpop %%rbp"
			 : "+r"(chain), "+r"(rounds)
			 :
			 : "r12", "memory", "cc");
}

#elif defined(__aarch64__)

static const uint8_t forever[] = { 0x00, 0x00, 0x00, 0x14 };
static const uint8_t stub[] = { 0x00, 0x00, 0x00, 0x14 };

static __attribute__((noreturn)) void run(uint64_t address, struct chain *chain)
{
	__asm__ volatile("mov sp, %0\n\tmov x29, %0\n\tbr %1"
			 :
			 : "r"(chain->frames), "r"(address)
			 : "memory");
	__builtin_unreachable();
}

static __attribute__((noinline)) void burn_with(struct chain *chain, uint64_t rounds)
{
	__asm__ volatile("mov x20, sp\n\tmov x21, x29\n\tmov sp, %0\n\tmov x29, %0\n"
			 "1:\tsubs %1, %1, #1\n\tb.ne 1b\n\tmov sp, x20\n\tmov x29, x21"
			 : "+r"(chain), "+r"(rounds)
			 :
			 : "x20", "x21", "memory", "cc");
}

#endif

static void chain_link(struct chain *chain, long cnt)
{
	for (long i = 0; i < cnt; i++)
		chain->frames[i][0] = i + 1 < cnt ? (uintptr_t)chain->frames[i + 1] : 0;
}

/* False: something else is there. */
static bool code_map(uint64_t address, const uint8_t *code, size_t len)
{
	void *page = (void *)(uintptr_t)(address & ~(uint64_t)(PAGE - 1));
	void *got = mmap(page, PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (got != page)
		return false;
	memcpy((void *)(uintptr_t)address, code, len);
	if (mprotect(page, PAGE, PROT_READ | PROT_EXEC))
		return false;
	__builtin___clear_cache(page, (char *)page + PAGE);
	return true;
}

static int run_fixed(uint64_t address, char **words, long cnt)
{
	static struct chain chain;

	if (cnt > FRAMES_MAX || !code_map(address, forever, sizeof(forever)))
		return 1;
	chain_link(&chain, cnt);
	for (long i = 0; i < cnt; i++) {
		char *end;

		chain.frames[i][1] = strtoull(words[i], &end, 16);
		if (strcmp(end, "stub") == 0 && !code_map(chain.frames[i][1], stub, sizeof(stub)))
			return 1;
		if (chain.frames[i][1] == COOKIE && i + 1 < cnt) {
			chain.frames[i][0] = chain.frames[i + 1][0];
			chain.frames[i + 1][0] = strtoull(words[i + 1], NULL, 16);
			i++;
		}
	}
	puts("ready");
	fflush(stdout);
	run(address, &chain);
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

struct randoms {
	pthread_t thread;
	long frame_cnt;
	uint64_t seed;
};

static void *run_random(void *arg)
{
	const struct randoms *randoms = arg;
	struct chain *chain = calloc(1, sizeof(*chain));
	uint64_t state = randoms->seed;

	if (!chain)
		return NULL;
	chain_link(chain, randoms->frame_cnt);
	for (;;) {
		for (long i = 0; i < randoms->frame_cnt; i++)
			chain->frames[i][1] = LEAF + (next_random(&state) & 0xffffffff);
		burn_with((struct chain *)chain->frames, ROUNDS);
	}
	return NULL;
}

static int run_threads(long frame_cnt, long thread_cnt)
{
	static struct randoms threads[64];

	if (frame_cnt < 1 || frame_cnt > FRAMES_MAX || thread_cnt < 1 || thread_cnt > 64)
		return 1;
	puts("ready");
	fflush(stdout);
	for (long i = 0; i < thread_cnt; i++) {
		threads[i].frame_cnt = frame_cnt;
		threads[i].seed = 0x9e3779b97f4a7c15ull * (uint64_t)(i + 1) ^ (uint64_t)getpid();
		if (pthread_create(&threads[i].thread, NULL, run_random, &threads[i]))
			return 1;
	}
	pause();
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "usage: fake_stack SECONDS ADDRESS WORD... | random N THREADS\n");
		return 2;
	}
	alarm((unsigned int)atoi(argv[1]));
	if (strcmp(argv[2], "random") == 0)
		return argc == 5 ? run_threads(atol(argv[3]), atol(argv[4])) : 2;
	return run_fixed(strtoull(argv[2], NULL, 16), argv + 3, argc - 3);
}
