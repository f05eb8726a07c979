// SPDX-License-Identifier: Apache-2.0
/*
 * aarch64: where the frame is not set up the return address is in the link register, which a sample
 * does not have, so nothing is ever repaired; this only tells leaves that need no repair. From
 * reading the macro assembler of 11 to 25 (build_frame, remove_frame); not run on such a machine.
 *
 *     entry   [stack bang] sub sp, sp, #n; stp x29, x30, [sp, #n - 16]; add x29, sp, #n - 16
 *             or stp x29, x30, [sp, #-16]!; mov x29, sp; sub sp, sp, x9
 *     exit    ldp x29, x30, [sp, #n - 16]; add sp, sp, #n; [return poll]; ret
 *             or ldp x29, x30, [sp], #16; ...
 */
#include "symbols/leaf/leaf_repair_arm64.h"

#include <stdbool.h>

#define INSN_BYTES 4

static uint32_t load_insn(const uint8_t *code)
{
	return (uint32_t)code[0] | (uint32_t)code[1] << 8 | (uint32_t)code[2] << 16 |
	       (uint32_t)code[3] << 24;
}

/* add x29, sp, #n; mov x29, sp is the one of n = 0 */
static bool sets_frame_pointer(uint32_t insn)
{
	return (insn & 0xffc003ff) == 0x910003fd;
}

/* add sp, sp, #n; with `lsl #12`, too */
static bool drops_stack(uint32_t insn)
{
	return (insn & 0xff8003ff) == 0x910003ff;
}

/* ret x30; retaa, retab */
static bool is_return(uint32_t insn)
{
	return insn == 0xd65f03c0 || insn == 0xd65f0bff || insn == 0xd65f0fff;
}

/* ldp x29, x30, [sp ...] of all three ways to address */
static bool loads_frame(uint32_t insn)
{
	return (insn & 0xfe407fff) == 0xa8407bfd;
}

/* b, br */
static bool is_jump(uint32_t insn)
{
	return (insn & 0xfc000000) == 0x14000000 || (insn & 0xfffffc1f) == 0xd61f0000;
}

/* Address of the first instruction of the body; 0: no frame pointer is set. */
static uint64_t find_body(const struct leaf_code *leaf)
{
	uint64_t entry = leaf->blob->verified_entry;

	if (!leaf->entry || entry < leaf->entry_address)
		return 0;
	for (size_t at = entry - leaf->entry_address; at + INSN_BYTES <= leaf->entry_len;
	     at += INSN_BYTES) {
		if (sets_frame_pointer(load_insn(leaf->entry + at)))
			return leaf->entry_address + at + INSN_BYTES;
	}
	return 0;
}

/* Is the leaf on its way out, where x29 is the caller's again? */
static bool is_leaving(const uint8_t *code)
{
	for (size_t at = 0; at < LEAF_CODE_BYTES; at += INSN_BYTES) {
		uint32_t insn = load_insn(code + at);

		if (loads_frame(insn))
			return false;
		if (is_return(insn) || drops_stack(insn))
			return true;
	}
	return is_jump(load_insn(code));
}

enum leaf_verdict leaf_repair_arm64_judge_compiled(const struct leaf_code *leaf)
{
	uint64_t body = find_body(leaf);

	if (body == 0 || leaf->ip < body || is_leaving(leaf->at_ip))
		return LEAF_NOT_REPAIRABLE;
	/* C1 sets up a second frame in the midst of such a method. */
	if (leaf->blob->entry_bci != -1)
		return LEAF_NOT_REPAIRABLE;
	return LEAF_NOT_NEEDED;
}
