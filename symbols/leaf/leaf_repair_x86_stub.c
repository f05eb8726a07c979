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

#include "symbols/x86/x86_insn.h"
#include "user/util/cleanup.h"

#define WORD	     8
#define INSNS_MAX    10000
#define FORKS_MAX    256
#define SAVED_MAX    4
#define DISTANCE_MAX (1 << 20)

enum value_kind {
	VALUE_RSP = 0, /* what rsp was at the leaf, plus an offset */
	VALUE_RBP,     /* what rbp was at the leaf, plus an offset */
	VALUE_OTHER,
	VALUE_LOADED, /* what lay at the leaf's rsp plus an offset, above it */
	/* String.indexOf() of C2 saves rsp on a stack that it makes longer by a length that varies. */
	VALUE_SAVED_RSP,    /* what lay at the leaf's rsp plus saved_at, plus an offset */
	VALUE_LOADED_SAVED, /* what lay there */
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
	int64_t saved_at; /* of VALUE_SAVED_RSP */
	bool has_moved;	  /* rsp, at all */
};

struct search {
	const struct leaf_code *leaf;
	struct path forks[FORKS_MAX]; /* branches not followed yet */
	size_t fork_cnt;
	struct path end;			  /* the path that proved it, at its return */
	bool ends_in_jump;			  /* or at a jump to a method */
	uint8_t seen[2][LEAF_RULE_FAR_BYTES / 8]; /* by whether rsp has moved on the way there */
};

static bool is_rbp_of_leaf(const struct value *value)
{
	return value->kind == VALUE_RBP && value->offset == 0;
}

/* rbp goes to [rsp + offset]. */
static void save_rbp(struct path *path, int64_t offset)
{
	struct value at = { .kind = path->rsp.kind, .offset = path->rsp.offset + offset };

	if ((at.kind != VALUE_RSP && at.kind != VALUE_RBP) || path->saved_cnt == SAVED_MAX)
		return;
	path->saved[path->saved_cnt].at = at;
	path->saved[path->saved_cnt++].rbp = path->rbp;
}

/* Restored from there: as it was, if that was seen. */
static void load_rbp(struct path *path, int64_t offset)
{
	int64_t from = path->rsp.offset + offset;

	path->rbp = (struct value){ .kind = VALUE_OTHER };
	if (path->rsp.kind == VALUE_SAVED_RSP && from >= 0)
		path->rbp = (struct value){ .kind = VALUE_LOADED_SAVED, .offset = from };
	if (path->rsp.kind != VALUE_RSP && path->rsp.kind != VALUE_RBP)
		return;
	if (path->rsp.kind == VALUE_RSP && from >= 0)
		path->rbp = (struct value){ .kind = VALUE_LOADED, .offset = from };
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

/* False: it was saved on the way here, where registers are not followed. */
static bool pop_rsp(struct path *path)
{
	if (path->rsp.kind != VALUE_RSP || path->rsp.offset < 0)
		return false;
	path->saved_at = path->rsp.offset;
	path->rsp = (struct value){ .kind = VALUE_SAVED_RSP };
	return true;
}

/* rsp moves. False: it is not known how far. */
static bool path_step_rsp(struct path *path, const struct x86_insn *insn)
{
	switch (insn->effect) {
	case X86_INSN_PUSH_RBP:
		path->rsp.offset -= WORD;
		save_rbp(path, 0);
		break;
	case X86_INSN_PUSH:
		path->rsp.offset -= WORD;
		break;
	case X86_INSN_POP:
		path->rsp.offset += WORD;
		break;
	case X86_INSN_ADD_RSP:
		path->rsp.offset += insn->value;
		break;
	case X86_INSN_POP_RBP:
		pop_rbp(path);
		break;
	case X86_INSN_POP_RSP:
		if (!pop_rsp(path))
			return false;
		break;
	case X86_INSN_LEAVE:
		path->rsp = path->rbp;
		pop_rbp(path);
		break;
	case X86_INSN_RSP_FROM_RBP:
		path->rsp = path->rbp;
		path->rsp.offset += insn->value;
		break;
	case X86_INSN_CLOBBERS_RSP: /* aligned for a call; a frame is still found by its rbp */
		path->rsp = (struct value){ .kind = VALUE_OTHER };
		break;
	default:
		return false;
	}
	path->has_moved = true;
	return path->rsp.offset < DISTANCE_MAX && path->rsp.offset > -DISTANCE_MAX;
}

static bool path_step(struct path *path, const struct x86_insn *insn)
{
	switch (insn->effect) {
	case X86_INSN_NEUTRAL:
	case X86_INSN_BRANCH:
	case X86_INSN_CALL:
		return true;
	case X86_INSN_STORE_RBP:
		save_rbp(path, insn->value);
		return true;
	case X86_INSN_LOAD_RBP:
		load_rbp(path, insn->value);
		return true;
	case X86_INSN_CLOBBERS_RBP:
		path->rbp.kind = VALUE_OTHER;
		return true;
	case X86_INSN_ADD_RBP:
		path->rbp.offset += insn->value;
		if (path->rbp.kind == VALUE_LOADED)
			path->rbp.kind = VALUE_OTHER;
		return true;
	case X86_INSN_RBP_FROM_RSP:
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
	struct x86_insn insn = x86_insn_decode(leaf->at_ip, LEAF_CODE_BYTES);

	return insn.effect == X86_INSN_RBP_FROM_RSP && insn.value == 0;
}

/* Is the leaf at `mov [rsp + d], rbp`? Then the second word is not [rsp + 8]. */
static bool stores_rbp(const struct leaf_code *leaf)
{
	return x86_insn_decode(leaf->at_ip, LEAF_CODE_BYTES).effect == X86_INSN_STORE_RBP;
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
 * handles do, which are native methods in name. Adapters move it about on the way, so this is of
 * use only behind that.
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
static bool find_target(const struct search *search, size_t behind, const struct x86_insn *insn,
			size_t *target_out)
{
	int64_t target = (int64_t)behind + insn->value;

	if (target < 0 || (uint64_t)target >= search->leaf->entry_len)
		return false;
	*target_out = (size_t)target;
	return true;
}

static bool leads_out_of_blob(const struct leaf_code *leaf, size_t behind,
			      const struct x86_insn *insn)
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
		struct x86_insn insn =
			x86_insn_decode(leaf->entry + path.at, leaf->entry_len - path.at);
		size_t behind = path.at + insn.len;
		size_t target;

		(*budget)--;
		switch (insn.effect) {
		case X86_INSN_RET:
			search->end = path;
			search->ends_in_jump = false;
			*verdict_out = verdict_at_return(&path, leaf);
			return true;
		case X86_INSN_JUMP_INDIRECT:
			search->end = path;
			search->ends_in_jump = true;
			*verdict_out = LEAF_CALLER_AT_SP;
			return is_tail_jump(search, &path);
		case X86_INSN_JUMP:
			if (leads_out_of_blob(leaf, behind, &insn)) {
				search->end = path;
				search->ends_in_jump = true;
				*verdict_out = LEAF_CALLER_AT_SP;
				return is_tail_jump(search, &path);
			}
			if (!find_target(search, behind, &insn, &behind))
				return false;
			break;
		case X86_INSN_BRANCH:
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

/* Follows paths until one ends in a proof: search->end. */
static bool search_run(struct search *search, enum leaf_verdict *verdict_out)
{
	const struct leaf_code *leaf = search->leaf;
	struct path start = { .rbp.kind = VALUE_RBP };
	size_t budget = INSNS_MAX;
	size_t left;

	if (fakes_its_caller(leaf->blob))
		return false;
	if (!leaf->entry || leaf->entry_len > LEAF_RULE_FAR_BYTES ||
	    leaf->ip < leaf->entry_address || leaf->ip - leaf->entry_address >= leaf->entry_len)
		return false;
	start.at = leaf->ip - leaf->entry_address;
	left = leaf->entry_len - start.at;
	/* Other code lies there by now. */
	if (memcmp(leaf->entry + start.at, leaf->at_ip,
		   left < LEAF_CODE_BYTES ? left : LEAF_CODE_BYTES) != 0)
		return false;

	search->forks[search->fork_cnt++] = start;
	while (search->fork_cnt > 0) {
		struct path path = search->forks[--search->fork_cnt];

		if (follow(search, path, &budget, verdict_out))
			return true;
	}
	return false;
}

enum leaf_verdict leaf_repair_x86_judge_stub(const struct leaf_code *leaf)
{
	struct search search = { .leaf = leaf };
	enum leaf_verdict verdict;

	return search_run(&search, &verdict) ? verdict : LEAF_NOT_REPAIRABLE;
}

/*
 * Where a stub ends in a jump, does the caller's stack end right above its return address? The
 * interpreter's arguments make compiled callers' stacks longer, and linkers of method handles are
 * called by interpreted code through such adapters, too.
 */
static bool is_above_return_address(const struct leaf_code *leaf)
{
	static const char *const names[] = { "InlineCacheBuffer" };

	return leaf->blob->kind == HOTSPOT_BLOB_NATIVE ||
	       is_one_of(leaf->blob, names, ARRAY_SIZE(names));
}

/* The method's own frame lies there, with the caller's frame pointer right below the return address. */
static bool rule_of_saved(const struct path *end, struct leaf_rule *out)
{
	*out = (struct leaf_rule){
		.place = LEAF_RULE_FROM_SAVED_SP,
		.ra = (uint32_t)end->rsp.offset,
		.is_fp_saved = true,
		.fp = (uint32_t)end->rbp.offset,
		.saved_at = (uint32_t)end->saved_at,
	};
	return end->rsp.offset >= WORD && end->rsp.offset < LEAF_RULE_RA_MAX &&
	       end->rsp.offset % WORD == 0 && end->rbp.kind == VALUE_LOADED_SAVED &&
	       end->rbp.offset == end->rsp.offset - WORD && end->saved_at % WORD == 0 &&
	       end->saved_at < LEAF_RULE_SAVED_AT_MAX;
}

bool leaf_repair_x86_follow(const struct leaf_code *leaf, struct leaf_rule *out)
{
	struct search search = { .leaf = leaf };
	const struct path *end = &search.end;
	enum leaf_verdict ignored;

	if (!search_run(&search, &ignored) ||
	    (search.ends_in_jump && !is_above_return_address(leaf)))
		return false;
	if (end->rsp.kind == VALUE_RBP && end->rsp.offset == WORD) {
		*out = (struct leaf_rule){ .place = LEAF_RULE_FROM_FP };
		return true;
	}
	if (end->rsp.kind == VALUE_SAVED_RSP)
		return rule_of_saved(end, out);
	if (end->rsp.kind != VALUE_RSP || end->rsp.offset < 0 || end->rsp.offset % WORD ||
	    end->rsp.offset >= LEAF_RULE_RA_MAX)
		return false;
	*out = (struct leaf_rule){
		.place = LEAF_RULE_FROM_SP,
		.ra = (uint32_t)end->rsp.offset,
	};
	if (is_rbp_of_leaf(&end->rbp))
		return true;
	/* Its register holds something else by now; it was put below the return address. */
	if (end->rbp.kind != VALUE_LOADED || end->rbp.offset >= end->rsp.offset)
		return false;
	out->is_fp_saved = true;
	out->fp = (uint32_t)end->rbp.offset;
	return true;
}
