// SPDX-License-Identifier: Apache-2.0
/*
 * Nothing but pushes moves rsp while such a frame is made, and no code jumps into its midst, so
 * that the way from its begin to the leaf is the code that lies between them. A branch in it, over
 * a missing method data, goes forward.
 */
#include "symbols/leaf/leaf_interpreter_x86.h"

#include <stdbool.h>
#include <string.h>

#include "symbols/x86/x86_insn.h"

#define WORD 8u

/* push rbp; mov rbp, rsp; push r13 */
static const uint8_t begin[] = { 0x55, 0x48, 0x8b, 0xec, 0x41, 0x55 };

/* Where the code before the leaf begins a frame, as the offset behind that. False: nowhere. */
static bool find_begin(const struct leaf_code *leaf, size_t ip, size_t *behind_out)
{
	for (size_t at = ip; at-- > 0;) {
		if (ip - at >= sizeof(begin) &&
		    memcmp(leaf->entry + at, begin, sizeof(begin)) == 0) {
			*behind_out = at + sizeof(begin);
			return true;
		}
	}
	return false;
}

/* Bytes that the code pushes from there up to the leaf. False: it does something else, too. */
static bool count_pushed(const struct leaf_code *leaf, size_t at, size_t ip, uint32_t *bytes_out)
{
	uint32_t bytes = 0;

	while (at < ip) {
		struct x86_insn insn = x86_insn_decode(leaf->entry + at, leaf->entry_len - at);

		if (insn.effect == X86_INSN_PUSH)
			bytes += WORD;
		else if (insn.effect != X86_INSN_NEUTRAL &&
			 (insn.effect != X86_INSN_BRANCH || insn.value < 0))
			return false;
		at += insn.len;
	}
	*bytes_out = bytes;
	return at == ip;
}

struct leaf_rule leaf_interpreter_x86_prove(const struct leaf_code *leaf)
{
	struct leaf_rule rule = { .place = LEAF_RULE_NOT_PROVED };
	size_t ip, left, at;
	uint32_t bytes;

	if (!leaf->entry || leaf->ip < leaf->entry_address ||
	    leaf->ip - leaf->entry_address >= leaf->entry_len)
		return rule;
	ip = leaf->ip - leaf->entry_address;
	left = leaf->entry_len - ip;
	if (memcmp(leaf->entry + ip, leaf->at_ip,
		   left < LEAF_CODE_BYTES ? left : LEAF_CODE_BYTES) != 0)
		return rule;
	if (!find_begin(leaf, ip, &at) || !count_pushed(leaf, at, ip, &bytes))
		return rule;
	rule.place = LEAF_RULE_INTERPRETED;
	rule.ra = WORD + bytes;
	return rule;
}
