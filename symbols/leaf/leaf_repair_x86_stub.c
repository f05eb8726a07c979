// SPDX-License-Identifier: Apache-2.0
/*
 * A leaf in a stub. No table says where inside a blob its stubs begin, so nothing is known about
 * the way in. Known is the way out: from the interrupted instruction on, each static path leads to
 * a `ret` with the return address at [rsp], and sane code comes to an instruction with one stack
 * depth only. So one path is followed, by the values of rsp and rbp relative to what they were at
 * the leaf, and at its `ret` it shows where the return address lay then:
 *
 *     at [rsp] or [rsp + 8], and rbp is again what it was     the caller is missing, and there
 *     behind `leave` or its like with that rbp                the chain has the caller
 *     anything else                                           nothing is proved
 */
#include "symbols/leaf/leaf_repair_x86_judge.h"

#include <stdbool.h>
#include <string.h>

#include "symbols/leaf/leaf_repair_x86.h"
#include "user/util/cleanup.h"

#define WORD	     8
#define INSNS_MAX    4000
#define FORKS_MAX    64
#define SAVED_MAX    4
#define DISTANCE_MAX (1 << 20)

enum value_kind {
	VALUE_RSP = 0, /* what rsp was at the leaf, plus an offset */
	VALUE_RBP,     /* what rbp was at the leaf, plus an offset */
	VALUE_OTHER,
};

struct value {
	enum value_kind kind;
	int64_t offset;
};

struct path {
	size_t at; /* offset in the window */
	struct value rsp;
	struct value rbp;
	struct {
		struct value at;
		struct value rbp;
	} saved[SAVED_MAX]; /* pushed and stored on the way, the oldest first */
	uint8_t saved_cnt;
	bool has_moved; /* rsp, at all */
};

struct search {
	const struct leaf_code *leaf;
	struct path forks[FORKS_MAX]; /* branches not followed yet */
	size_t fork_cnt;
	uint8_t seen[2][LEAF_ENTRY_BYTES_MAX / 8]; /* by whether rsp has moved on the way there */
};

static bool is_rbp_of_leaf(const struct value *value)
{
	return value->kind == VALUE_RBP && value->offset == 0;
}

/* rbp goes to [rsp + offset]. */
static void save_rbp(struct path *path, int64_t offset)
{
	struct value at = { .kind = path->rsp.kind, .offset = path->rsp.offset + offset };

	if (at.kind == VALUE_OTHER || path->saved_cnt == SAVED_MAX)
		return;
	path->saved[path->saved_cnt].at = at;
	path->saved[path->saved_cnt++].rbp = path->rbp;
}

/* And comes back from there: as it was, if that was seen. */
static void load_rbp(struct path *path, int64_t offset)
{
	int64_t from = path->rsp.offset + offset;

	path->rbp = (struct value){ .kind = VALUE_OTHER };
	if (path->rsp.kind == VALUE_OTHER)
		return;
	for (size_t i = 0; i < path->saved_cnt; i++) {
		if (path->saved[i].at.kind == path->rsp.kind && path->saved[i].at.offset == from)
			path->rbp = path->saved[i].rbp;
	}
}

static void pop_rbp(struct path *path)
{
	load_rbp(path, 0);
	path->rsp.offset += WORD;
}

/* rsp moves. False: not as far as is known. */
static bool path_step_rsp(struct path *path, const struct leaf_x86_insn *insn)
{
	switch (insn->effect) {
	case LEAF_X86_PUSH_RBP:
		path->rsp.offset -= WORD;
		save_rbp(path, 0);
		break;
	case LEAF_X86_PUSH:
		path->rsp.offset -= WORD;
		break;
	case LEAF_X86_POP:
		path->rsp.offset += WORD;
		break;
	case LEAF_X86_ADD_RSP:
		path->rsp.offset += insn->value;
		break;
	case LEAF_X86_POP_RBP:
		pop_rbp(path);
		break;
	case LEAF_X86_LEAVE:
		path->rsp = path->rbp;
		pop_rbp(path);
		break;
	case LEAF_X86_RSP_FROM_RBP:
		path->rsp = path->rbp;
		path->rsp.offset += insn->value;
		break;
	case LEAF_X86_CLOBBERS_RSP: /* aligned for a call; a frame is still found by its rbp */
		path->rsp = (struct value){ .kind = VALUE_OTHER };
		break;
	default:
		return false;
	}
	path->has_moved = true;
	return path->rsp.offset < DISTANCE_MAX && path->rsp.offset > -DISTANCE_MAX;
}

static bool path_step(struct path *path, const struct leaf_x86_insn *insn)
{
	switch (insn->effect) {
	case LEAF_X86_NEUTRAL:
	case LEAF_X86_BRANCH:
	case LEAF_X86_CALL:
		return true;
	case LEAF_X86_STORE_RBP:
		save_rbp(path, insn->value);
		return true;
	case LEAF_X86_LOAD_RBP:
		load_rbp(path, insn->value);
		return true;
	case LEAF_X86_CLOBBERS_RBP:
		path->rbp.kind = VALUE_OTHER;
		return true;
	case LEAF_X86_ADD_RBP:
		path->rbp.offset += insn->value;
		return true;
	case LEAF_X86_RBP_FROM_RSP:
		path->rbp = path->rsp;
		path->rbp.offset += insn->value;
		return true;
	default:
		return path_step_rsp(path, insn);
	}
}

/* Is the leaf at `mov rbp, rsp`? Then rbp still is the caller's, pushed by what precedes it. */
static bool sets_frame(const struct leaf_code *leaf)
{
	struct leaf_x86_insn insn = leaf_repair_x86_decode(leaf->at_ip, LEAF_CODE_BYTES);

	return insn.effect == LEAF_X86_RBP_FROM_RSP && insn.value == 0;
}

/* Is the leaf at `mov [rsp + d], rbp`? Then the second word is not [rsp + 8]. */
static bool stores_rbp(const struct leaf_code *leaf)
{
	return leaf_repair_x86_decode(leaf->at_ip, LEAF_CODE_BYTES).effect == LEAF_X86_STORE_RBP;
}

static enum leaf_verdict verdict_at_return(const struct path *path, const struct leaf_code *leaf)
{
	/* rsp went through the leaf's rbp, and one word above lies the return address. */
	if (path->rsp.kind == VALUE_RBP)
		return path->rsp.offset == WORD ? LEAF_NOT_NEEDED : LEAF_NOT_REPAIRABLE;
	if (path->rsp.kind != VALUE_RSP)
		return LEAF_NOT_REPAIRABLE;
	if (path->rsp.offset == WORD && sets_frame(leaf))
		return LEAF_CALLER_AT_SP_8;
	if (!is_rbp_of_leaf(&path->rbp))
		return LEAF_NOT_REPAIRABLE;
	if (path->rsp.offset == 0)
		return LEAF_CALLER_AT_SP;
	return path->rsp.offset == WORD && !stores_rbp(leaf) ? LEAF_CALLER_AT_SP_8 :
							       LEAF_NOT_REPAIRABLE;
}

static bool is_one_of(const struct hotspot_blob *blob, const char *const *names, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		if (strncmp(blob->name, names[i], strlen(names[i])) == 0)
			return true;
	}
	return false;
}

/*
 * Stubs that end in a jump to a method, the return address in its place, as linkers of method
 * handles do, which are native methods in name. Adapters move it about on the way, so this is of use only behind that.
 */
static bool leaves_by_jump(const struct hotspot_blob *blob)
{
	static const char *const names[] = { "I2C/C2I adapters", "MethodHandles adapters",
					     "InlineCacheBuffer" };

	return blob->kind == HOTSPOT_BLOB_NATIVE || is_one_of(blob, names, ARRAY_SIZE(names));
}

/* Not called but jumped to, these make up the return address they use in the end. */
static bool fakes_its_caller(const struct hotspot_blob *blob)
{
	static const char *const names[] = { "SafepointBlob", "DeoptimizationBlob",
					     "UncommonTrapBlob", "ExceptionBlob" };

	return is_one_of(blob, names, ARRAY_SIZE(names));
}

static bool is_tail_jump(const struct search *search, const struct path *path)
{
	return leaves_by_jump(search->leaf->blob) && !path->has_moved && is_rbp_of_leaf(&path->rbp);
}

static bool see(struct search *search, const struct path *path)
{
	uint8_t *bits = &search->seen[path->has_moved][path->at / 8];
	uint8_t bit = (uint8_t)(1u << (path->at % 8));

	if (*bits & bit)
		return false;
	*bits |= bit;
	return true;
}

/* Where a jump leads, as an offset in the window. False: out of it. */
static bool find_target(const struct search *search, size_t behind,
			const struct leaf_x86_insn *insn, size_t *target_out)
{
	int64_t target = (int64_t)behind + insn->value;

	if (target < 0 || (uint64_t)target >= search->leaf->entry_len)
		return false;
	*target_out = (size_t)target;
	return true;
}

static bool leads_out_of_blob(const struct leaf_code *leaf, size_t behind,
			      const struct leaf_x86_insn *insn)
{
	uint64_t target = leaf->entry_address + behind + (uint64_t)(int64_t)insn->value;

	return target < leaf->blob->code_begin || target >= leaf->blob->code_end;
}

/* Follows one path to its end. False: it ends without a proof, try another one. */
static bool follow(struct search *search, struct path path, size_t *budget,
		   enum leaf_verdict *verdict_out)
{
	const struct leaf_code *leaf = search->leaf;

	while (path.at<leaf->entry_len && * budget> 0 && see(search, &path)) {
		struct leaf_x86_insn insn =
			leaf_repair_x86_decode(leaf->entry + path.at, leaf->entry_len - path.at);
		size_t behind = path.at + insn.len;
		size_t target;

		(*budget)--;
		switch (insn.effect) {
		case LEAF_X86_RET:
			*verdict_out = verdict_at_return(&path, leaf);
			return true;
		case LEAF_X86_JUMP_INDIRECT:
			*verdict_out = LEAF_CALLER_AT_SP;
			return is_tail_jump(search, &path);
		case LEAF_X86_JUMP:
			if (leads_out_of_blob(leaf, behind, &insn)) {
				*verdict_out = LEAF_CALLER_AT_SP;
				return is_tail_jump(search, &path);
			}
			if (!find_target(search, behind, &insn, &behind))
				return false;
			break;
		case LEAF_X86_BRANCH:
			if (search->fork_cnt < FORKS_MAX &&
			    find_target(search, behind, &insn, &target)) {
				search->forks[search->fork_cnt] = path;
				search->forks[search->fork_cnt++].at = target;
			}
			break;
		default:
			if (!path_step(&path, &insn))
				return false;
		}
		path.at = behind;
	}
	return false;
}

enum leaf_verdict leaf_repair_x86_judge_stub(const struct leaf_code *leaf)
{
	struct search search = { .leaf = leaf };
	struct path start = { .rbp.kind = VALUE_RBP };
	enum leaf_verdict verdict = LEAF_NOT_REPAIRABLE;
	size_t budget = INSNS_MAX;
	size_t left;

	if (fakes_its_caller(leaf->blob))
		return LEAF_NOT_REPAIRABLE;
	if (!leaf->entry || leaf->entry_len > LEAF_ENTRY_BYTES_MAX ||
	    leaf->ip < leaf->entry_address || leaf->ip - leaf->entry_address >= leaf->entry_len)
		return LEAF_NOT_REPAIRABLE;
	start.at = leaf->ip - leaf->entry_address;
	left = leaf->entry_len - start.at;
	/* Other code lies there by now. */
	if (memcmp(leaf->entry + start.at, leaf->at_ip,
		   left < LEAF_CODE_BYTES ? left : LEAF_CODE_BYTES) != 0)
		return LEAF_NOT_REPAIRABLE;

	search.forks[search.fork_cnt++] = start;
	while (search.fork_cnt > 0) {
		struct path path = search.forks[--search.fork_cnt];

		if (follow(&search, path, &budget, &verdict))
			return verdict;
	}
	return LEAF_NOT_REPAIRABLE;
}
