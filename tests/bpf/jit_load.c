// SPDX-License-Identifier: Apache-2.0
/*
 * A program whose registers, stack and code are as its input says, to the word: what the BPF side
 * makes of each state of a JVM's thread can be told beforehand. Usage: jit_load < FILE, lines of
 *
 *   map ADDRESS BYTES        memory to read, write and execute, all 0
 *   hole ADDRESS BYTES       nothing there
 *   word ADDRESS VALUE       8 bytes
 *   run IP SP FP ROUNDS      a state: the code at IP is entered with these registers
 *
 * Numbers are hexadecimal. States take turns for ever. The code at IP counts a register (rcx, x2)
 * down from ROUNDS and then jumps to where another (rbx, x3) points; one that never does so stays.
 * Prints "ready" when the work begins.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define STATES_MAX 65536

struct state {
	uint64_t ip, sp, fp, rounds;
};

static struct state states[STATES_MAX];
static size_t state_cnt;
static uint64_t saved[2]; /* our own stack and frame pointer */

#if defined(__x86_64__)

static __attribute__((noinline)) void run(const struct state *state)
{
	asm volatile("mov %%rsp, (%[saved])\n\t"
		     "mov %%rbp, 8(%[saved])\n\t"
		     "lea 1f(%%rip), %%rbx\n\t"
		     "mov %[rounds], %%rcx\n\t"
		     "mov %[ip], %%rax\n\t"
		     "mov %[sp], %%rsp\n\t"
		     "mov %[fp], %%rbp\n\t"
		     "jmp *%%rax\n"
		     "1:\n\t"
		     "lea %[saved_memory], %%rdx\n\t"
		     "mov (%%rdx), %%rsp\n\t"
		     "mov 8(%%rdx), %%rbp\n\t"
		     : [saved_memory] "+m"(saved)
		     : [saved] "d"(saved), [rounds] "r"(state->rounds), [ip] "r"(state->ip),
		       [sp] "r"(state->sp), [fp] "D"(state->fp)
		     : "rax", "rbx", "rcx", "r11", "memory", "cc");
}

#elif defined(__aarch64__)

static __attribute__((noinline)) void run(const struct state *state)
{
	asm volatile("mov x4, sp\n\t"
		     "stp x4, x29, [%[saved]]\n\t"
		     "adr x3, 1f\n\t"
		     "mov x2, %[rounds]\n\t"
		     "mov x19, %[saved]\n\t"
		     "mov x5, %[ip]\n\t"
		     "mov sp, %[sp]\n\t"
		     "mov x29, %[fp]\n\t"
		     "br x5\n"
		     "1:\n\t"
		     "ldp x4, x29, [x19]\n\t"
		     "mov sp, x4\n\t"
		     : "+m"(saved)
		     : [saved] "r"(saved), [rounds] "r"(state->rounds), [ip] "r"(state->ip),
		       [sp] "r"(state->sp), [fp] "r"(state->fp)
		     : "x2", "x3", "x4", "x5", "x19", "memory", "cc");
}

#endif

static int act(const char *verb, const uint64_t *numbers, int cnt)
{
	void *at = (void *)numbers[0];

	if (strcmp(verb, "map") == 0 && cnt == 2)
		return mmap(at, numbers[1], PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != at;
	if (strcmp(verb, "hole") == 0 && cnt == 2)
		return munmap(at, numbers[1]);
	if (strcmp(verb, "word") == 0 && cnt == 2) {
		memcpy(at, &numbers[1], sizeof(numbers[1]));
		return 0;
	}
	if (strcmp(verb, "run") == 0 && cnt == 4 && state_cnt < STATES_MAX) {
		states[state_cnt++] =
			(struct state){ numbers[0], numbers[1], numbers[2], numbers[3] };
		return 0;
	}
	return 1;
}

int main(void)
{
	char line[256], verb[8];

	while (fgets(line, sizeof(line), stdin)) {
		uint64_t numbers[4];
		int cnt = sscanf(line, "%7s %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64, verb,
				 &numbers[0], &numbers[1], &numbers[2], &numbers[3]);

		if (cnt < 1 || act(verb, numbers, cnt - 1)) {
			fprintf(stderr, "jit_load: cannot do: %s", line);
			return 1;
		}
	}
	if (!state_cnt)
		return 2;
	puts("ready");
	fflush(stdout);
	for (size_t i = 0;; i = (i + 1) % state_cnt)
		run(&states[i]);
}
