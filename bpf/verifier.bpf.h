/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is written only for the verifier: it must see a bound on the very register that is used, and
 * clang drops what it finds needless. In asm, therefore, which is BPF's; a test that runs the walk in
 * user space has a file of its own in place of this one.
 */
#ifndef JBPF_VERIFIER_BPF_H
#define JBPF_VERIFIER_BPF_H

/* number &= mask, a constant. */
#define KEEP_BITS(number, mask) asm volatile("%0 &= %1" : "+r"(number) : "i"(mask))

/* At most max, a constant. */
#define KEEP_BELOW(number, max) \
	asm volatile("if %0 <= %1 goto +1; %0 = %1" : "+r"(number) : "i"(max))

/* The number stays what it is, but may be anything to the verifier, as `any` may. */
#define FORGET_BOUNDS(number, any) asm volatile("%0 += %1; %0 -= %1" : "+r"(number) : "r"(any))

/* All ones for a negative number, else 0: without a branch. */
#define SIGN_MASK(number) asm volatile("%0 s>>= 63" : "+r"(number))

#endif
