/* SPDX-License-Identifier: Apache-2.0 */
/*
 * x86-64 instructions as far as finding callers needs them: how long one is, and what it does to the
 * stack pointer and to the frame pointer. Of all else it only says that it does neither. Pure.
 */
#ifndef JBPF_X86_X86_INSN_H
#define JBPF_X86_X86_INSN_H

#include <stddef.h>
#include <stdint.h>

enum x86_insn_effect {
	X86_INSN_UNKNOWN = 0, /* not decoded: cut off, not valid, or not known here */
	X86_INSN_NEUTRAL,     /* goes on behind it; rsp and rbp stay as they are */
	X86_INSN_PUSH,	      /* 8 bytes, any operand but rbp */
	X86_INSN_PUSH_RBP,
	X86_INSN_POP,
	X86_INSN_POP_RBP,
	X86_INSN_POP_RSP,      /* rsp = what lies there */
	X86_INSN_ADD_RSP,      /* `value` is added, negative for sub; also lea rsp, [rsp + value] */
	X86_INSN_ADD_RBP,      /* `value` is added */
	X86_INSN_RBP_FROM_RSP, /* rbp = rsp + `value`: mov or lea */
	X86_INSN_RSP_FROM_RBP, /* rsp = rbp + `value` */
	X86_INSN_STORE_RBP,    /* mov [rsp + value], rbp */
	X86_INSN_LOAD_RBP,     /* mov rbp, [rsp + value] */
	X86_INSN_LEAVE,	       /* rsp = rbp, pop rbp */
	X86_INSN_CALL,	       /* and back: both registers as before */
	X86_INSN_RET,	       /* without operand */
	X86_INSN_JUMP,	       /* to `value` bytes from the instruction's end */
	X86_INSN_BRANCH,       /* conditional, likewise */
	X86_INSN_JUMP_INDIRECT, /* through a register or memory */
	X86_INSN_STOP,		/* int3, hlt, ud2: nothing follows */
	X86_INSN_CLOBBERS_RSP,	/* sets it to something else */
	X86_INSN_CLOBBERS_RBP,
};

struct x86_insn {
	enum x86_insn_effect effect;
	uint32_t len; /* bytes; 0 when UNKNOWN */
	int32_t value;
};

/* Looks at the first of the `len` bytes at `code`. What is not understood is UNKNOWN. */
struct x86_insn x86_insn_decode(const uint8_t *code, size_t len);

#endif
