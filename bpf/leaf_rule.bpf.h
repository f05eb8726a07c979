/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rules for interrupted JIT code that user space has proved (bpf/jbpf_leaf.h). They are asked before
 * anything is concluded from the code itself.
 */
#ifndef JBPF_LEAF_RULE_BPF_H
#define JBPF_LEAF_RULE_BPF_H

#include "bpf/code_range.bpf.h"
#include "bpf/jbpf_leaf.h"
#include "bpf/maps.bpf.h"

/*
 * Copies the rule of state->jit.pc to state->proof. False: there is none, or it was of other code.
 * An entry may be replaced while it is read: whose it is gets read last.
 */
static __always_inline bool leaf_proof_load(struct scratch *state)
{
	const __u64 *code = (const __u64 *)state->user.head.leaf_code;
	struct jbpf_leaf_key key = { .address = state->jit.pc, .pid = state->key.pid };
	const struct jbpf_leaf_proof *proof;

	if (state->depth != 1 || !(state->user.head.flags & JBPF_STACK_LEAF_CODE))
		return false;
	proof = bpf_map_lookup_elem(&leaf_rules, &key);
	if (!proof)
		return false;
	__builtin_memcpy(&state->proof, proof, sizeof(*proof));
	barrier();
	return proof->start_ns == state->key.start_ns && proof->exec_id == state->key.exec_id &&
	       state->proof.code[0] == code[0] && state->proof.code[1] == code[1] &&
	       state->proof.ra < JBPF_LEAF_RA_MAX;
}

/* Is it of the block state->jit.block? */
static __always_inline bool leaf_proof_is_of_block(const struct scratch *state)
{
	return state->proof.blob == state->jit.block + state->hotspot.block_size;
}

#endif
