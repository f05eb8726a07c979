/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the caller of interrupted JIT code is, as a rule that holds each time when that very code is
 * interrupted there: for code without frame pointers, and for stubs. Said only when the code proves
 * it. Pure.
 */
#ifndef JBPF_LEAF_LEAF_RULE_H
#define JBPF_LEAF_LEAF_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/leaf/leaf_repair.h"

#define LEAF_RULE_RA_MAX	(1 << 20)
#define LEAF_RULE_ARGUMENTS_MAX (1 << 15)
#define LEAF_RULE_SAVED_AT_MAX	(1 << 15)

/*
 * How far from the leaf code is read and followed. Far is for stacks that were cut: the `ret` of a
 * large method with many others inlined is not near, and a proof takes up to a millisecond then.
 */
enum leaf_rule_reach { LEAF_RULE_NEAR, LEAF_RULE_FAR };

#define LEAF_RULE_NEAR_BYTES LEAF_ENTRY_BYTES_MAX
#define LEAF_RULE_FAR_BYTES  (32 << 10)

enum leaf_rule_place {
	LEAF_RULE_NOT_PROVED = 0,
	LEAF_RULE_FROM_SP,     /* return address at [sp + ra] */
	LEAF_RULE_FROM_FP,     /* the frame is complete, and found by its frame pointer */
	LEAF_RULE_INTERPRETED, /* likewise, but an interpreted one of which `ra` bytes are there */
	LEAF_RULE_CALLER_POPS, /* as FROM_SP, if the caller goes on with pop r; pop r */
	LEAF_RULE_FROM_SAVED_SP, /* as FROM_SP, but for sp what was saved at [sp + saved_at] */
};

struct leaf_rule {
	enum leaf_rule_place place;
	uint32_t ra;	  /* bytes, a multiple of 8, below LEAF_RULE_RA_MAX */
	bool is_fp_saved; /* the caller's frame pointer lies at [sp + fp]; else it is in its register */
	uint32_t fp;
	uint32_t arguments; /* bytes of them above the return address that are not the caller's */
	uint32_t saved_at;
};

/* Which code has to be read for that: address and length, LEAF_RULE_*_BYTES at most; 0 = none. */
void leaf_rule_wants(const struct hotspot_blob *blob, uint64_t ip, enum leaf_rule_reach reach,
		     uint64_t *address_out, size_t *len_out);

/* `leaf->entry` is what leaf_rule_wants() said. */
struct leaf_rule leaf_rule_prove(const struct leaf_code *leaf);

/*
 * Which ways of the kernel's walk to find the caller (bits by enum jbpf_leaf_rule) lead elsewhere than
 * a rule that is proved, in code with a frame of this size.
 */
uint32_t leaf_rule_refutes(const struct leaf_rule *rule, uint32_t frame_bytes);

/*
 * The guess of the kernel's walk (JBPF_LEAF_GUESS_*) that agrees with this proof; 0 when none can.
 */
uint16_t leaf_rule_as_guess(const struct leaf_rule *rule);
/* `proved`: what leaf_rule_as_guess() said. */
bool leaf_rule_confirms(uint16_t proved, uint16_t guess);

bool leaf_rule_is_same(const struct leaf_rule *a, const struct leaf_rule *b);

#endif
