/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The part of the contract that says how to find frames of HotSpot's JIT code that was compiled
 * without -XX:+PreserveFramePointer: by the sizes that its code cache keeps. Includes nothing; see
 * jbpf.h. Names are HotSpot's: CodeHeap and HeapBlock are in share/memory/heap.hpp, CodeBlob in
 * share/code/codeBlob.hpp.
 *
 * A heap of the code cache is cut into segments, with a byte for each: 0 where a block begins, 255
 * where there is none, else how many segments to go back, perhaps several times. A block begins
 * with a HeapBlock and a CodeBlob.
 */
#ifndef JBPF_HOTSPOT_H
#define JBPF_HOTSPOT_H

#define JBPF_HOTSPOT_HEAPS_MAX	  4   /* HotSpot has 3 at most */
#define JBPF_HOTSPOT_HEADER_BYTES 128 /* of a block, within which all fields lie but the entry */
#define JBPF_HOTSPOT_SEGMENT_FREE 255

struct jbpf_hotspot_heap {
	__u64 low; /* of its memory */
	__u64 len; /* 0: there is no such heap */
	__u64 segmap;
	__u32 segment_shift; /* log2 of a segment's bytes */
	__u32 pad0;	     /* 0 */
};

/* A signed number in a block. */
struct jbpf_hotspot_field {
	__u16 at;  /* from the begin of the block, in bytes */
	__u8 bits; /* 8, 16, 32, 64; 0: this HotSpot has none */
	__u8 pad0; /* 0 */
};

/*
 * Value of the map `hotspots`; the key is the host tgid. User space writes it only for code that
 * keeps no frame pointers, as programs copy it at every sample. They use it only for the very run
 * of the program it was written for, and delete it when that executes or exits.
 */
struct jbpf_hotspot {
	__u64 start_ns;
	__u32 exec_id;
	__u32 flags; /* JBPF_HOTSPOT_* */
	/*
	 * Where virtual threads return to when their callers are on the heap: StubRoutines'
	 * cont_returnBarrier and what lies with it. 0: not known, or none.
	 */
	__u64 barrier_low;
	__u64 barrier_len;
	struct jbpf_hotspot_heap heaps[JBPF_HOTSPOT_HEAPS_MAX];
	struct jbpf_hotspot_field used;		  /* HeapBlock: not 0 */
	struct jbpf_hotspot_field length;	  /* HeapBlock: segments */
	struct jbpf_hotspot_field header_size;	  /* CodeBlob: sizeof(nmethod) in nmethods alone */
	struct jbpf_hotspot_field frame_size;	  /* CodeBlob: words; <= 0: not by size */
	struct jbpf_hotspot_field frame_complete; /* CodeBlob: from the code's begin; -1: never */
	struct jbpf_hotspot_field code;		  /* CodeBlob: begin of the code */
	struct jbpf_hotspot_field entry;	  /* nmethod: verified entry */
	struct jbpf_hotspot_field entry_bci;	  /* nmethod: -1, or it is compiled for OSR */
	__u16 block_size;   /* a CodeBlob begins so far behind its HeapBlock */
	__u16 nmethod_size; /* what header_size says of nmethods */
	__u32 pad0;	    /* 0 */
};

#define JBPF_HOTSPOTS_MAX 1024

/* All fields that frames need are there; else all frames are followed by frame pointers. */
#define JBPF_HOTSPOT_HAS_FRAME_SIZES (1u << 0)
#define JBPF_HOTSPOT_CODE_IS_OFFSET  (1u << 1) /* `code` is from the CodeBlob's begin, no address */
#define JBPF_HOTSPOT_ENTRY_IS_OFFSET (1u << 2) /* `entry` is from the code's begin, no address */

_Static_assert(sizeof(struct jbpf_hotspot_heap) == 32, "jbpf_hotspot_heap has no padding");
_Static_assert(sizeof(struct jbpf_hotspot_field) == 4, "jbpf_hotspot_field has no padding");
_Static_assert(sizeof(struct jbpf_hotspot) == 72 + 32 * JBPF_HOTSPOT_HEAPS_MAX,
	       "jbpf_hotspot has no padding");

#endif
