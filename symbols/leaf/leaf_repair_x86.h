/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86-64 instructions as far as leaf repair needs them: how long one is, and what it does to the
 * stack pointer and to the frame pointer. Of all else it only says that it does neither. Pure.
 */
#ifndef JBPF_LEAF_LEAF_REPAIR_X86_H
#define JBPF_LEAF_LEAF_REPAIR_X86_H

#include <stddef.h>
#include <stdint.h>

#include "symbols/leaf/leaf_repair.h"

enum leaf_x86_effect {
	LEAF_X86_UNKNOWN = 0, /* not decoded: cut off, not valid, or not known here */
	LEAF_X86_NEUTRAL,     /* goes on behind it; rsp and rbp stay as they are */
	LEAF_X86_PUSH,	      /* 8 bytes, any operand but rbp */
	LEAF_X86_PUSH_RBP,
	LEAF_X86_POP,
	LEAF_X86_POP_RBP,
	LEAF_X86_ADD_RSP,      /* `value` is added, negative for sub; also lea rsp, [rsp + value] */
	LEAF_X86_ADD_RBP,      /* `value` is added */
	LEAF_X86_RBP_FROM_RSP, /* rbp = rsp + `value`: mov or lea */
	LEAF_X86_RSP_FROM_RBP, /* rsp = rbp + `value` */
	LEAF_X86_STORE_RBP,    /* mov [rsp + value], rbp */
	LEAF_X86_LOAD_RBP,     /* mov rbp, [rsp + value] */
	LEAF_X86_LEAVE,	       /* rsp = rbp, pop rbp */
	LEAF_X86_CALL,	       /* and back: both registers as before */
	LEAF_X86_RET,	       /* without operand */
	LEAF_X86_JUMP,	       /* to `value` bytes from the instruction's end */
	LEAF_X86_BRANCH,       /* conditional, likewise */
	LEAF_X86_JUMP_INDIRECT, /* through a register or memory */
	LEAF_X86_STOP,		/* int3, hlt, ud2: nothing follows */
	LEAF_X86_CLOBBERS_RSP,	/* sets it to something else */
	LEAF_X86_CLOBBERS_RBP,
};

struct leaf_x86_insn {
	enum leaf_x86_effect effect;
	uint32_t len; /* bytes; 0 when UNKNOWN */
	int32_t value;
};

/* Looks at the first of the `len` bytes at `code`. What is not understood is UNKNOWN. */
struct leaf_x86_insn leaf_repair_x86_decode(const uint8_t *code, size_t len);

#endif
