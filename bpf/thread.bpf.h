/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which thread a sample is of, by its name. A pool's threads are one: runs of digits become '#'. There
 * are no branches in that, so that the verifier follows one path instead of one per character.
 */
#ifndef JBPF_THREAD_BPF_H
#define JBPF_THREAD_BPF_H

#include "bpf/maps.bpf.h"
#include "bpf/verifier.bpf.h"

/* Keeps the compiler from making a branch of arithmetic. */
#define THREAD_OPAQUE(value) asm volatile("" : "+r"(value))

/* Folds the 16 bytes of a name, NULs behind it, given as two words, into `out`. */
static __always_inline void thread_fold(__u64 low, __u64 high, char *out)
{
	__u64 len = 0, was_digit = 0;

	((__u64 *)out)[0] = 0;
	((__u64 *)out)[1] = 0;
#pragma clang loop unroll(full)
	for (int i = 0; i < JBPF_COMM_LEN; i++) {
		__u64 byte = ((i < 8 ? low : high) >> (i % 8 * 8)) & 0xff;
		__u64 is_digit = (byte - '0') & 0xff;
		__u64 at;

		THREAD_OPAQUE(is_digit);
		is_digit = (is_digit - 10) >> 63;
		THREAD_OPAQUE(is_digit);
		/* The digits that follow another write the same '#' once more. */
		at = len - (is_digit & was_digit);
		byte ^= (byte ^ '#') & -is_digit;
		KEEP_BITS(at, 15);
		out[at] = (char)byte;
		len = at + 1;
		was_digit = is_digit;
	}
}

/*
 * Folds the name in the value, and returns its tag for the key. Two names may have one tag: then, of the
 * same stack of the same process, the first one's is kept. The seed keeps programs from choosing such
 * names.
 */
static __always_inline __u32 thread_tag(struct jbpf_value *value)
{
	__u64 *words = (__u64 *)value->thread;
	__u64 hash;

	if (!keeps_digits)
		thread_fold(words[0], words[1], value->thread);
	hash = ((hash_seed ^ words[0]) * JBPF_FNV_PRIME ^ words[1]) * JBPF_FNV_PRIME;
	hash ^= hash >> 33;
	hash *= JBPF_MIX_1;
	return (__u32)(hash >> 32) | 1;
}

/*
 * Puts the name of the running thread into the value. Its tag, or 0. Folding takes longer than
 * reading the name, and most samples of a CPU are of the same thread as the sample before.
 */
static __always_inline __u32 thread_take(struct scratch *state)
{
	struct thread_memo *memo = &state->thread_memo;
	__u64 *out = (__u64 *)state->value.thread;
	char name[JBPF_COMM_LEN] __attribute__((aligned(8)));
	__u64 low, high;

	if (bpf_get_current_comm(name, sizeof(name)))
		return 0;
	low = ((__u64 *)name)[0];
	high = ((__u64 *)name)[1];
	if (!memo->tag || memo->name[0] != low || memo->name[1] != high) {
		memo->name[0] = out[0] = low;
		memo->name[1] = out[1] = high;
		memo->tag = thread_tag(&state->value);
		memo->folded[0] = out[0];
		memo->folded[1] = out[1];
		return memo->tag;
	}
	out[0] = memo->folded[0];
	out[1] = memo->folded[1];
	return memo->tag;
}

#endif
