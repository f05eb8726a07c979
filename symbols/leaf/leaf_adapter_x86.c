// SPDX-License-Identifier: Apache-2.0
/*
 * Forward from the begin of the blob to the leaf, with the distance of rsp from where it was at the
 * entry. Code behind a jump is what an earlier branch leads to, in the state that it had there, or
 * an entry.
 */
#include "symbols/leaf/leaf_adapter_x86.h"

#include <string.h>

#include "symbols/x86/x86_insn.h"

#define WORD	     8
#define BRANCHES_MAX 32

enum place {
	PLACE_LOST = 0, /* not known */
	PLACE_AT_ENTRY, /* at [rsp - moved], where the caller pushed it */
	PLACE_IN_RAX,	/* taken from there */
	PLACE_BELOW,	/* at [rsp], below arguments */
};

struct state {
	enum place place;
	int64_t moved;	 /* rsp, from where it was at the entry */
	bool is_aligned; /* by how much it moved is not known */
	bool is_in_r13;	 /* rsp as it was at the entry */
	bool is_in_rax;	 /* a copy of the return address */
};

struct walk {
	const struct leaf_code *leaf;
	struct state state;
	bool is_from_compiled;
	struct {
		size_t target;
		struct state state;
	} branches[BRANCHES_MAX];
	size_t branch_cnt;
};

static bool is_code(const struct walk *walk, size_t at, const uint8_t *bytes, size_t len)
{
	return walk->leaf->entry_len - at >= len && memcmp(walk->leaf->entry + at, bytes, len) == 0;
}

#define IS_CODE(walk, at, ...)                              \
	is_code(walk, at, (const uint8_t[]){ __VA_ARGS__ }, \
		sizeof((const uint8_t[]){ __VA_ARGS__ }))

static bool is_at_entry(const struct state *state)
{
	return state->place == PLACE_AT_ENTRY && !state->moved && !state->is_aligned;
}

/* Moves of the return address and of rsp that have one meaning here. False: another instruction. */
static bool step_special(struct walk *walk, size_t at)
{
	struct state *state = &walk->state;

	if (IS_CODE(walk, at, 0x58) && is_at_entry(state)) { /* pop rax */
		state->place = PLACE_IN_RAX;
		state->moved = WORD;
	} else if (IS_CODE(walk, at, 0x48, 0x8b, 0x04, 0x24) && is_at_entry(state)) {
		state->is_in_rax = true;      /* mov rax, [rsp] */
	} else if (IS_CODE(walk, at, 0x50) && /* push rax */
		   (state->place == PLACE_IN_RAX ||
		    (state->is_in_rax && !walk->is_from_compiled))) {
		state->place = PLACE_BELOW;
		state->moved -= WORD;
	} else if (IS_CODE(walk, at, 0x48, 0x89, 0x04, 0x24) && state->place == PLACE_IN_RAX) {
		state->place = PLACE_BELOW; /* mov [rsp], rax */
	} else if (IS_CODE(walk, at, 0x4c, 0x8b, 0xec) && is_at_entry(state)) {
		state->is_in_r13 = true; /* mov r13, rsp */
	} else if (IS_CODE(walk, at, 0x49, 0x8b, 0xe5) && state->is_in_r13) {
		state->moved = 0; /* mov rsp, r13 */
		state->is_aligned = false;
	} else {
		return false;
	}
	return true;
}

static void note_branch(struct walk *walk, size_t behind, int32_t distance)
{
	if (distance <= 0)
		return;
	if (walk->branch_cnt == BRANCHES_MAX) {
		walk->state.place = PLACE_LOST;
		return;
	}
	walk->branches[walk->branch_cnt].target = behind + (size_t)distance;
	walk->branches[walk->branch_cnt++].state = walk->state;
}

/* What stands behind a jump is an entry, unless a branch leads there. */
static void take_branch(struct walk *walk, size_t behind)
{
	walk->state = (struct state){ .place = PLACE_AT_ENTRY };
	for (size_t i = 0; i < walk->branch_cnt; i++) {
		if (walk->branches[i].target == behind)
			walk->state = walk->branches[i].state;
	}
}

/* rsp moves, or the way ends. */
static void step(struct walk *walk, const struct x86_insn *insn, size_t behind)
{
	struct state *state = &walk->state;

	switch (insn->effect) {
	case X86_INSN_NEUTRAL:
	case X86_INSN_CALL:
	case X86_INSN_STORE_RBP:
	case X86_INSN_LOAD_RBP:
		break;
	case X86_INSN_PUSH:
	case X86_INSN_PUSH_RBP:
		state->moved -= WORD;
		break;
	case X86_INSN_POP:
	case X86_INSN_POP_RBP:
		state->moved += WORD;
		break;
	case X86_INSN_ADD_RSP:
		state->moved += insn->value;
		break;
	case X86_INSN_CLOBBERS_RSP: /* and rsp, -16 */
		state->is_aligned = true;
		break;
	case X86_INSN_BRANCH:
		note_branch(walk, behind, insn->value);
		break;
	case X86_INSN_JUMP:
		note_branch(walk, behind, insn->value);
		if (state->place != PLACE_LOST)
			take_branch(walk, behind);
		break;
	case X86_INSN_JUMP_INDIRECT:
		if (walk->is_from_compiled) {
			take_branch(walk, behind);
			break;
		}
		walk->is_from_compiled = true;
		*state = (struct state){ .place = PLACE_AT_ENTRY };
		break;
	default:
		state->place = PLACE_LOST;
		break;
	}
}

static struct leaf_rule rule_of(const struct walk *walk)
{
	const struct state *state = &walk->state;
	struct leaf_rule rule = { .place = LEAF_RULE_NOT_PROVED };

	if (is_at_entry(state)) {
		rule.place = LEAF_RULE_FROM_SP;
	} else if (state->place == PLACE_BELOW && !walk->is_from_compiled) {
		rule.place = LEAF_RULE_FROM_SP; /* interpreted callers are found by rbp */
	} else if (state->place == PLACE_BELOW && !state->is_aligned && state->moved <= 0 &&
		   -state->moved < LEAF_RULE_ARGUMENTS_MAX) {
		rule.place = LEAF_RULE_FROM_SP;
		rule.arguments = (uint32_t)-state->moved;
	}
	return rule;
}

bool leaf_adapter_is_one(const struct hotspot_blob *blob)
{
	static const char name[] = "I2C/C2I adapters";

	return blob->kind == HOTSPOT_BLOB_STUB && strncmp(blob->name, name, sizeof(name) - 1) == 0;
}

struct leaf_rule leaf_adapter_x86_prove(const struct leaf_code *leaf)
{
	struct walk walk = { .leaf = leaf, .state.place = PLACE_AT_ENTRY };
	struct leaf_rule none = { .place = LEAF_RULE_NOT_PROVED };
	size_t ip = leaf->ip - leaf->blob->code_begin;
	size_t at = 0, same_len;

	if (!leaf->entry || leaf->entry_address != leaf->blob->code_begin || ip >= leaf->entry_len)
		return none;
	same_len = leaf->entry_len - ip < LEAF_CODE_BYTES ? leaf->entry_len - ip : LEAF_CODE_BYTES;
	if (memcmp(leaf->entry + ip, leaf->at_ip, same_len) != 0)
		return none;
	while (at < ip) {
		struct x86_insn insn = x86_insn_decode(leaf->entry + at, leaf->entry_len - at);

		if (insn.effect == X86_INSN_UNKNOWN)
			return none;
		if (walk.state.place == PLACE_LOST)
			return none;
		if (!step_special(&walk, at))
			step(&walk, &insn, at + insn.len);
		at += insn.len;
	}
	return at == ip ? rule_of(&walk) : none;
}
