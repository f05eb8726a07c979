/* SPDX-License-Identifier: Apache-2.0 */
/* Machine code for programs that run code without a symbol, as a JIT compiler's. */
#ifndef JBPF_TESTS_E2E_COUNTDOWN_H
#define JBPF_TESTS_E2E_COUNTDOWN_H

#include <stdint.h>

/* Counts its argument down to zero, with a frame of its own. */
#if defined(__x86_64__)
static const uint8_t countdown[] = {
	0x55,		  /* push %rbp */
	0x48, 0x89, 0xe5, /* mov %rsp,%rbp */
	0x48, 0xff, 0xcf, /* 1: dec %rdi */
	0x75, 0xfb,	  /* jnz 1b */
	0x5d,		  /* pop %rbp */
	0xc3,		  /* ret */
};
#elif defined(__aarch64__)
static const uint32_t countdown[] = {
	0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
	0x910003fd, /* mov x29, sp */
	0xf1000400, /* 1: subs x0, x0, #1 */
	0x54ffffe1, /* b.ne 1b */
	0xa8c17bfd, /* ldp x29, x30, [sp], #16 */
	0xd65f03c0, /* ret */
};
#else
#error "no machine code for this architecture"
#endif

typedef void (*countdown_fn)(uint64_t count);

#endif
