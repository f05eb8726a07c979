/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The CodeBlob in which an address of HotSpot's code cache lies. The begin of its block is
 * remembered; its header is read each time, as code comes and goes. A block that is free, or does
 * not contain the address, is searched for again.
 */
#ifndef JBPF_HOTSPOT_BLOB_BPF_H
#define JBPF_HOTSPOT_BLOB_BPF_H

#include "bpf/jbpf_unwind.h"
#include "bpf/jbpf_hotspot.h"
#include "bpf/maps.bpf.h"
#include "bpf/unwind_maps.bpf.h"
#include "bpf/verifier.bpf.h"

/*
 * A hop goes back 254 segments at most, and since JDK 16 only one segment where free blocks were
 * joined; a block that was made there later has many such (CodeHeap::mark_segmap_as_used()).
 */
#define SEGMENT_HOPS_MAX      128
#define SEGMENT_HOPS_A_SEARCH 8 /* this many count as one more search */

#define BLOB_MEMO_BITS 10

/* In this process, the block of this address begins this far below it; 0: nothing is remembered. */
struct blob_place {
	__u64 pc;
	__u32 pid;
	__u32 distance;
};

struct blob_memo {
	struct blob_place places[1 << BLOB_MEMO_BITS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct blob_memo);
} blob_memo SEC(".maps");

static __always_inline struct blob_place *blob_place_of(__u64 pc)
{
	__u32 zero = 0;
	struct blob_memo *memo = bpf_map_lookup_elem(&blob_memo, &zero);
	__u64 at = memo_hash(pc) >> (64 - BLOB_MEMO_BITS);

	return memo ? &memo->places[at & ((1 << BLOB_MEMO_BITS) - 1)] : NULL;
}

/* The low bits of `word`: a field of this many. */
static __always_inline __s64 field_value(__u64 word, struct jbpf_hotspot_field field)
{
	__u64 unused_bits = 64 - field.bits;

	return (__s64)(word << unused_bits) >> unused_bits;
}

/* A field in the header that was read last. */
static __always_inline __s64 header_field(const struct scratch *state,
					  struct jbpf_hotspot_field field)
{
	__u64 at = field.at;

	KEEP_BITS(at, JBPF_HOTSPOT_HEADER_BYTES - 1);
	return field_value(*(const volatile __u64 *)(state->jit.header + at), field);
}

/* Where the code of that header's blob begins. */
static __always_inline __u64 blob_code(const struct scratch *state)
{
	__u64 code = header_field(state, state->hotspot.code);

	if (state->hotspot.flags & JBPF_HOTSPOT_CODE_IS_OFFSET)
		code += state->jit.block + state->hotspot.block_size;
	return code;
}

/* Reads the header of the block, which is in a heap of these segments. Is state->jit.pc in its code? */
static __always_inline bool header_read(struct scratch *state, __u64 block, __u64 shift)
{
	__u64 len;

	state->jit.block = block;
	if (bpf_probe_read_user(state->jit.header, JBPF_HOTSPOT_HEADER_BYTES, (void *)block) ||
	    !header_field(state, state->hotspot.used))
		return false;
	len = (__u64)header_field(state, state->hotspot.length) << (shift & 63);
	return state->jit.pc - block < len && state->jit.pc >= blob_code(state);
}

static __always_inline const struct jbpf_hotspot_heap *heap_of(const struct scratch *state)
{
	__u64 pc = state->jit.pc;

#pragma unroll
	for (int i = 0; i < JBPF_HOTSPOT_HEAPS_MAX; i++) {
		const struct jbpf_hotspot_heap *heap = &state->hotspot.heaps[i];

		if (pc - heap->low < heap->len)
			return heap;
	}
	return NULL;
}

/* By the segment map: the begin of the block, 0: there is none. */
static __always_inline __u64 block_search(struct scratch *state, __u64 low, __u64 segmap,
					  __u64 shift)
{
	__u64 segment = (state->jit.pc - low) >> (shift & 63);

	for (int i = 0; i < SEGMENT_HOPS_MAX; i++) {
		__u8 back = JBPF_HOTSPOT_SEGMENT_FREE;

		if (bpf_probe_read_user(&back, sizeof(back), (void *)(segmap + segment)) ||
		    back == JBPF_HOTSPOT_SEGMENT_FREE)
			return 0;
		if (i % SEGMENT_HOPS_A_SEARCH == 0)
			state->unwind.search_cnt++;
		if (!back)
			return low + (segment << (shift & 63));
		segment -= back;
	}
	return 0;
}

/*
 * Puts the block of state->jit.pc and its header into state->jit. 0: there is no code, or it is
 * changing right now.
 */
__noinline int blob_find(struct bpf_perf_event_data *ctx)
{
	const struct jbpf_hotspot_heap *heap;
	struct blob_place *place;
	struct scratch *state;
	__u64 low, segmap, shift, block;

	asm volatile("" ::"r"(ctx));
	state = scratch_get();
	if (!state)
		return 0;
	heap = heap_of(state);
	state->jit.block = 0;
	if (!heap)
		return 0;
	low = heap->low;
	segmap = heap->segmap;
	shift = heap->segment_shift;
	place = blob_place_of(state->jit.pc);
	if (place && place->pc == state->jit.pc && place->pid == state->key.pid &&
	    header_read(state, state->jit.pc - place->distance, shift))
		return 0;
	state->jit.block = 0;
	/* This reads cold memory with interrupts off: a stack may do it this often. */
	if (state->unwind.search_cnt >= JBPF_UNWIND_SEARCHES_MAX)
		return 0;
	block = block_search(state, low, segmap, shift);
	if (!block || !header_read(state, block, shift)) {
		state->jit.block = 0;
		return 0;
	}
	if (place) {
		place->pc = state->jit.pc;
		place->pid = state->key.pid;
		place->distance = state->jit.pc - block;
	}
	return 0;
}

#endif
