/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reading one JVM costs and whether it goes on: the budget of CPU time, the end of reading, and
 * how restless the JVM is, which says how often to read. Below everything else of jit_vm.
 */
#ifndef JBPF_JIT_JIT_ACCOUNT_H
#define JBPF_JIT_JIT_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

/* CPU time for reading between two refreshes; beyond it addresses stay unknown. */
#define JIT_ACCOUNT_BUDGET_NS (500ull * 1000 * 1000)

/* While stacks are prefetched, what is in use is verified this often. */
#define JIT_ACCOUNT_ROUND_NS	      (900ull * 1000 * 1000)
#define JIT_ACCOUNT_RESTLESS_ROUND_NS (80ull * 1000 * 1000)
/* A JVM that put code or a method where another one was is restless for so long. */
#define JIT_ACCOUNT_RESTLESS_NS (30ull * 1000 * 1000 * 1000)

/* Zero-initialise. */
struct jit_account {
	uint64_t spent_ns;   /* CPU time since the last refresh */
	uint64_t reading_ns; /* CPU time at the first read for the present question; 0 = none yet */
	uint64_t read_cnt;   /* so far */
	uint64_t restless_ns; /* until then it counts as restless; CLOCK_BOOTTIME */
	bool is_ended;	      /* nothing can be read any more */
};

/* May something be read now? Counts it when so. */
bool jit_account_may_read(struct jit_account *account);
/* Notes what an error of reading means for all that follows; returns it. */
int jit_account_note(struct jit_account *account, int err);
/* End of a question: the CPU time of its reading counts against the budget. */
void jit_account_settle(struct jit_account *account);
/* The budget is whole again. */
void jit_account_renew(struct jit_account *account);

/* Something is where something else was. */
void jit_account_stir(struct jit_account *account, uint64_t now_ns);
bool jit_account_is_restless(const struct jit_account *account, uint64_t now_ns);
uint64_t jit_account_round_ns(const struct jit_account *account, uint64_t now_ns);

#endif
