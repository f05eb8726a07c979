// SPDX-License-Identifier: Apache-2.0
/*
 * From the interrupted instruction on, each path leads to a `ret` with the return address at [rsp],
 * so one path that is followed to its end shows where it lay at the leaf; leaf_repair_x86_stub.c
 * does that. Of compiled methods more is known: their frame has one size, and a leaf is in it, or
 * it is being made or taken down. What does not agree with that is not believed: a path may lead
 * through a call that never returns, with no code behind it.
 */
#include "symbols/leaf/leaf_rule.h"

#include <linux/types.h>
#include <string.h>

#include "bpf/jbpf.h"
#include "symbols/leaf/leaf_adapter_x86.h"
#include "symbols/leaf/leaf_interpreter_x86.h"
#include "symbols/leaf/leaf_repair_x86_judge.h"
#include "user/util/cleanup.h"
#include "user/util/saturate.h"

#define WORD	     8u
#define SHARE_BEFORE 4		/* so much of what is read is before the leaf: loops go back */
#define PUSHED_MAX   (8 * WORD) /* JDK 8 makes room for x87 code within a frame */

void leaf_rule_wants(const struct hotspot_blob *blob, uint64_t ip, enum leaf_rule_reach reach,
		     uint64_t *address_out, size_t *len_out)
{
	uint64_t most = reach == LEAF_RULE_FAR ? LEAF_RULE_FAR_BYTES : LEAF_RULE_NEAR_BYTES;
	uint64_t before = most / SHARE_BEFORE;

	if (blob->kind == HOTSPOT_BLOB_INTERPRETER) {
		before = LEAF_INTERPRETER_BYTES;
		most = 2 * before;
	}
	*address_out = 0;
	*len_out = 0;
	if (blob->kind == HOTSPOT_BLOB_VTABLE || ip < blob->code_begin || ip >= blob->code_end)
		return;
	*address_out = ip - min_u64(ip - blob->code_begin, before);
	*len_out = ip + min_u64(blob->code_end - ip, most - before) - *address_out;
}

/* Of a method whose frame has this size with the return address, or that has none right now. */
static bool fits_frame(const struct leaf_rule *rule, uint32_t frame_bytes)
{
	uint32_t ra = rule->ra;

	if (rule->place == LEAF_RULE_FROM_SAVED_SP)
		return ra == frame_bytes - WORD;
	if (rule->place != LEAF_RULE_FROM_SP)
		return false;
	if (ra == 0)
		return !rule->is_fp_saved;
	if (!rule->is_fp_saved || rule->fp != ra - WORD)
		/* Between sub rsp, n and mov [rsp + n - 16], rbp. */
		return ra == frame_bytes - WORD && !rule->is_fp_saved;
	return ra == WORD || (ra >= frame_bytes - WORD && ra - (frame_bytes - WORD) <= PUSHED_MAX);
}

/*
 * C1 pushes two classes for this stub of its runtime. Where it checks types it pops them into one
 * register behind the call (LIR_Assembler::emit_typecheck_helper()); elsewhere it may have pushed more
 * before, or not.
 */
static bool is_subtype_check(const struct hotspot_blob *blob)
{
	return blob->kind == HOTSPOT_BLOB_STUB && strstr(blob->name, "slow_subtype_check");
}

struct leaf_rule leaf_rule_prove(const struct leaf_code *leaf)
{
	struct leaf_rule none = { .place = LEAF_RULE_NOT_PROVED };
	struct leaf_rule rule = none;

#if defined(__x86_64__)
	/* These neither push nor call, and jump to the method: vtableStubs_x86_64.cpp. */
	if (leaf->blob->kind == HOTSPOT_BLOB_VTABLE)
		return (struct leaf_rule){ .place = LEAF_RULE_FROM_SP };
	if (leaf->blob->kind == HOTSPOT_BLOB_INTERPRETER)
		return leaf_interpreter_x86_prove(leaf);
	if (leaf_adapter_is_one(leaf->blob))
		return leaf_adapter_x86_prove(leaf);
	if (!leaf_repair_x86_follow(leaf, &rule))
		return none;
	if (leaf->blob->kind == HOTSPOT_BLOB_NMETHOD && !fits_frame(&rule, leaf->blob->frame_bytes))
		return none;
	if (is_subtype_check(leaf->blob) && rule.place == LEAF_RULE_FROM_SP) {
		rule.place = LEAF_RULE_CALLER_POPS;
		rule.arguments = 2 * WORD;
	}
#else
	(void)leaf;
	(void)fits_frame;
	(void)is_subtype_check;
#endif
	return rule;
}

bool leaf_rule_is_same(const struct leaf_rule *a, const struct leaf_rule *b)
{
	if (a->place != b->place)
		return false;
	return a->place == LEAF_RULE_FROM_FP || a->place == LEAF_RULE_NOT_PROVED ||
	       (a->ra == b->ra && a->arguments == b->arguments && a->saved_at == b->saved_at &&
		a->is_fp_saved == b->is_fp_saved && (!a->is_fp_saved || a->fp == b->fp));
}

uint32_t leaf_rule_refutes(const struct leaf_rule *rule, uint32_t frame_bytes)
{
	const struct leaf_rule ways[] = {
		[JBPF_LEAF_RULE_SP] = { .place = LEAF_RULE_FROM_SP },
		[JBPF_LEAF_RULE_SP_8] = { .place = LEAF_RULE_FROM_SP,
					  .ra = WORD,
					  .is_fp_saved = true },
		[JBPF_LEAF_RULE_FRAME] = { .place = LEAF_RULE_FROM_SP,
					   .ra = frame_bytes - WORD,
					   .is_fp_saved = true,
					   .fp = frame_bytes - 2 * WORD },
		[JBPF_LEAF_RULE_FRAME_FP] = { .place = LEAF_RULE_FROM_SP,
					      .ra = frame_bytes - WORD },
	};
	uint32_t refuted = 0;

	if (rule->place == LEAF_RULE_NOT_PROVED)
		return 0;
	for (uint32_t way = JBPF_LEAF_RULE_SP; way < ARRAY_SIZE(ways); way++)
		if (!leaf_rule_is_same(rule, &ways[way]))
			refuted |= 1u << way;
	return refuted;
}

uint16_t leaf_rule_as_guess(const struct leaf_rule *rule)
{
	uint32_t word = rule->ra / WORD + 1;

	if (rule->place == LEAF_RULE_FROM_FP)
		return JBPF_LEAF_GUESS_BY_FP;
	if (rule->place != LEAF_RULE_FROM_SP || word > JBPF_LEAF_GUESS_WORD_MASK ||
	    rule->arguments || (rule->is_fp_saved && rule->fp + WORD != rule->ra))
		return 0;
	return (uint16_t)(word | (rule->is_fp_saved ? JBPF_LEAF_GUESS_FP_SAVED : 0));
}

bool leaf_rule_confirms(uint16_t proved, uint16_t guess)
{
	if (proved & JBPF_LEAF_GUESS_BY_FP)
		return guess & JBPF_LEAF_GUESS_BY_FP;
	return proved && (guess & ~JBPF_LEAF_GUESS_BY_FP) == proved;
}
