/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the walk by rules is told (bpf/jbpf_unwind.h), and what it remembers. Values are large and few
 * are in use, so these hashes are not preallocated where the kernel lets programs of perf events have
 * such: user space finds out, and sets the flag and sizes.
 */
#ifndef JBPF_UNWIND_MAPS_BPF_H
#define JBPF_UNWIND_MAPS_BPF_H

#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#include "bpf/jbpf.h"
#include "bpf/jbpf_unwind.h"

struct unwind_chunk {
	__u32 words[JBPF_UNWIND_CHUNK_WORDS];
};

/* Written by user space alone. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, JBPF_UNWIND_CHUNKS_MAX);
	__type(key, __u32);
	__type(value, struct unwind_chunk);
} unwind_chunks SEC(".maps");

/* By tgid; written by user space. Programs delete entries whose process has executed or exited. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, JBPF_SPACES_MAX);
	__type(key, __u32);
	__type(value, struct jbpf_space);
} spaces SEC(".maps");

/* The row of an address of a process whose mappings have this generation. */
struct rule {
	__u64 pc;
	__u32 generation;
	__u32 row;
};

/*
 * At 99 Hz a search takes some 15 lines of memory that are in no cache, and most addresses are those
 * of the last sample. A value for each CPU may have 32 KiB.
 */
#define RULE_MEMO_BITS 11

/*
 * Of a number whose upper bits say where in a CPU's memo it belongs. Addresses of one stack may lie
 * at regular distances, as functions that were generated do: after one multiplication alone some
 * of these distances share a few slots, and a stack with more addresses than searches is never whole.
 */
static __always_inline __u64 memo_hash(__u64 of)
{
	of *= JBPF_MIX_1;
	of ^= of >> 33;
	return of * JBPF_MIX_2;
}

struct rule_memo {
	struct rule rules[1 << RULE_MEMO_BITS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rule_memo);
} rule_memo SEC(".maps");

#endif
