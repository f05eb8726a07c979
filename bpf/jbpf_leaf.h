/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The part of the contract that says where the caller of interrupted JIT code is: user space proves it
 * from the code at an address, programs apply it where the very same code is interrupted there.
 * Includes nothing; see jbpf.h.
 */
#ifndef JBPF_LEAF_H
#define JBPF_LEAF_H

/* Key of the map `leaf_rules`. */
struct jbpf_leaf_key {
	__u64 address; /* of the interrupted instruction */
	__u32 pid;     /* host tgid */
	__u32 pad0;    /* 0 */
};

enum jbpf_leaf_place {
	JBPF_LEAF_NOWHERE = 0, /* no caller is to be found: the leaf alone is taken */
	JBPF_LEAF_FROM_SP = 1, /* return address at [sp + ra] */
	JBPF_LEAF_FROM_FP = 2, /* the frame is complete: at [fp + 8], the caller's fp at [fp] */
	/* An interpreted frame that is being made: likewise, and sp is `ra` bytes below fp. */
	JBPF_LEAF_INTERPRETED = 3,
	/* As FROM_SP, but from the stack pointer that was saved at [sp + saved_at]. */
	JBPF_LEAF_FROM_SAVED_SP = 4,
	/* As FROM_SP, if the code at the return address pops two words of arguments into one register. */
	JBPF_LEAF_CALLER_POPS = 5,
};

/* In place of an offset: the caller's frame pointer is in its register. */
#define JBPF_LEAF_FP_SAME 0xffffffffu

#define JBPF_LEAF_RA_MAX (1u << 20)

/* It holds only for this run of a program, and only while all of this is unchanged. */
struct jbpf_leaf_proof {
	__u64 start_ns;
	__u64 blob;    /* begin of the CodeBlob that has the address */
	__u64 code[2]; /* JBPF_LEAF_CODE_BYTES at the address */
	__u32 exec_id;
	__u16 place; /* enum jbpf_leaf_place */
	/*
	 * This many bytes above the return address are arguments and not the caller's: a multiple
	 * of 8.
	 */
	__u16 arguments;
	__u32 ra;	/* in bytes from sp, a multiple of 8 */
	__u32 fp;	/* the caller's frame pointer is at [sp + fp]; or JBPF_LEAF_FP_SAME */
	__u16 saved_at; /* of JBPF_LEAF_FROM_SAVED_SP, a multiple of 8 */
	__u16 pad0[3];	/* 0 */
};

#define JBPF_LEAF_RULES_MAX 4096

_Static_assert(sizeof(struct jbpf_leaf_key) == 16, "jbpf_leaf_key has no padding");
_Static_assert(sizeof(struct jbpf_leaf_proof) == 56, "jbpf_leaf_proof has no padding");

#endif
