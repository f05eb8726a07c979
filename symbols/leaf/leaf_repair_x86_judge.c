// SPDX-License-Identifier: Apache-2.0
/*
 * Two ways to prove where a return address is, both without any constant offset.
 *
 * Forward from a method's entry: as long as nothing but known instructions move the stack pointer,
 * its distance from the return address is known; once rbp points at the saved rbp right below the
 * return address, the frame is complete and the chain is right in all of the body. A method that
 * never sets rbp was compiled without -XX:+PreserveFramePointer: there the chain is broken anyway,
 * and nothing is said to be repairable.
 *
 * Forward from the interrupted instruction to a return: at `ret` the return address is at [rsp],
 * so when nothing on the way there touches either register, it was there all the time, and rbp
 * already is the caller's. This is the way out of a method (add rsp; pop rbp; then, here, the poll:
 * 8 `test eax, [rip + d]`, 11 `mov r10, [r15 + d]; test [r10], eax`, 17 and later
 * `cmp rsp, [r15 + d]; ja slow`; `ret`) and in stubs all there is to go by: no table says where
 * inside a blob a stub begins.
 *
 * Note that at `pop rbp` itself the chain still is right: rbp is the frame's own.
 */
#include "symbols/leaf/leaf_repair_x86_judge.h"

#include <stdbool.h>
#include <string.h>

#include "symbols/x86/x86_insn.h"

#define DISP8_MAX	     0x78
#define WORD		     8
#define OPCODE_POP_RBP	     0x5d
#define OPCODE_PUSH_RBP	     0x55
#define OPCODE_TWO_BYTES     0x0f
#define OPCODE_JB	     0x72
#define OPCODE_JB_NEAR	     0x82
#define OPCODE_JE	     0x74
#define INVOCATION_ENTRY_BCI (-1) /* of everything that is entered by a call */
#define OPCODE_JUMP	     0xe9
#define PATCHED_JUMP_BYTES   5
#define PATCHED_INSN_BYTES   7 /* of the stack bang or of `sub rsp, imm32` */
#define STACK_PAGE	     4096

enum rbp_state {
	RBP_CALLERS = 0,
	RBP_FRAME, /* points at the saved rbp, right below the return address */
	RBP_OTHER, /* on its way there */
};

/* Distances are bytes up to the word with the return address. */
struct frame {
	int64_t rsp_distance;
	int64_t rbp_distance; /* unless RBP_CALLERS */
	enum rbp_state rbp;
	bool is_saved; /* the caller's rbp lies right below the return address */
};

enum entry_kind {
	ENTRY_UNKNOWN = 0, /* an instruction that no entry has, or the bytes ended */
	ENTRY_FRAME,	   /* a frame with frame pointer is complete at `complete` */
	ENTRY_NO_FRAME_POINTER,
	ENTRY_FRAMELESS, /* left by a jump before any frame: linkToStatic and its like */
};

struct entry_walk {
	enum entry_kind kind;
	uint64_t complete;  /* ENTRY_FRAME: address of the first instruction of the body */
	bool has_ip;	    /* the leaf's instruction was passed on the way ... */
	struct frame at_ip; /* ... in this state */
};

/* Compiled for on-stack replacement; this still shows when it was thrown away (then -2). */
static bool is_osr(const struct hotspot_blob *blob)
{
	return blob->entry_bci != INVOCATION_ENTRY_BCI;
}

static bool fits(int64_t value)
{
	return value >= 0 && value <= INT32_MAX;
}

/* False: nothing that builds a frame. */
static bool frame_step(struct frame *frame, const struct x86_insn *insn)
{
	switch (insn->effect) {
	case X86_INSN_NEUTRAL:
	case X86_INSN_BRANCH:
		return true;
	case X86_INSN_PUSH_RBP:
		frame->rsp_distance += WORD;
		frame->is_saved |= frame->rsp_distance == WORD;
		return true;
	case X86_INSN_ADD_RSP:
		frame->rsp_distance -= insn->value;
		return fits(frame->rsp_distance);
	case X86_INSN_STORE_RBP:
		frame->is_saved |= frame->rsp_distance - insn->value == WORD;
		return true;
	case X86_INSN_RBP_FROM_RSP:
		frame->rbp_distance = frame->rsp_distance - insn->value;
		break;
	case X86_INSN_ADD_RBP:
		if (frame->rbp == RBP_CALLERS)
			return false;
		frame->rbp_distance -= insn->value;
		break;
	default:
		return false;
	}
	frame->rbp = frame->rbp_distance == WORD && frame->is_saved ? RBP_FRAME : RBP_OTHER;
	return fits(frame->rbp_distance);
}

static enum leaf_verdict verdict_of(const struct frame *frame)
{
	if (frame->rbp == RBP_FRAME)
		return LEAF_NOT_NEEDED;
	if (frame->rbp == RBP_OTHER)
		return LEAF_NOT_REPAIRABLE;
	if (frame->rsp_distance == 0)
		return LEAF_CALLER_AT_SP;
	return frame->rsp_distance == WORD ? LEAF_CALLER_AT_SP_8 : LEAF_NOT_REPAIRABLE;
}

/*
 * Frames without a stack bang that are not the smallest have the return address beyond [rsp + 8]
 * while they are made: see leaf_repair.h for how it still gets here.
 */
static enum leaf_verdict verdict_of_store(const struct leaf_code *leaf, const struct frame *frame)
{
	static const uint8_t store[] = { 0x48, 0x89, 0x6c, 0x24 };
	static const uint8_t move_add[] = { 0x48, 0x8b, 0xec, 0x48, 0x83, 0xc5 };
	const uint8_t *code = leaf->at_ip;
	int64_t above = frame->rsp_distance - WORD; /* where rbp is stored */

	if (above <= 0 || above > DISP8_MAX)
		return LEAF_NOT_REPAIRABLE;
	if (frame->rbp == RBP_CALLERS && memcmp(code, store, sizeof(store)) == 0)
		return code[sizeof(store)] == above ? LEAF_CALLER_AT_SP_8 : LEAF_NOT_REPAIRABLE;
	if (frame->rbp == RBP_CALLERS && memcmp(code, move_add, sizeof(move_add)) == 0)
		return code[sizeof(move_add)] == above ? LEAF_CALLER_AT_SP_8 : LEAF_NOT_REPAIRABLE;
	/* rbp is rsp, and this adds the rest. */
	if (frame->rbp == RBP_OTHER && frame->rbp_distance == frame->rsp_distance &&
	    memcmp(code, move_add + 3, 3) == 0 && code[3] == above)
		return LEAF_NOT_NEEDED;
	return LEAF_NOT_REPAIRABLE;
}

/*
 * A method that must not be entered any more has a jump over its first instruction, which is a
 * stack bang, a `sub rsp, imm32` or a nop of 5 bytes; the leaf may have been taken before.
 */
static bool step_over_patch(const struct leaf_code *leaf, size_t *at, struct frame *frame)
{
	size_t left = leaf->entry_len - *at;
	const uint8_t *code = leaf->entry + *at;
	struct x86_insn insn;

	if (left <= PATCHED_INSN_BYTES || code[0] != OPCODE_JUMP)
		return false;
	if (code[PATCHED_JUMP_BYTES] == OPCODE_PUSH_RBP) {
		*at += PATCHED_JUMP_BYTES;
		return true;
	}
	*at += PATCHED_INSN_BYTES;
	insn = x86_insn_decode(leaf->entry + *at, leaf->entry_len - *at);
	if (insn.effect == X86_INSN_STORE_RBP && fits(insn.value))
		frame->rsp_distance = (int64_t)insn.value + WORD; /* what the lost `sub` did */
	return true;
}

/* Is this instruction where a method with frame pointer goes on? They follow each other at once. */
static bool may_follow(const struct frame *frame, enum x86_insn_effect effect)
{
	if (frame->rbp == RBP_OTHER)
		return effect == X86_INSN_ADD_RBP;
	if (frame->is_saved)
		return effect == X86_INSN_RBP_FROM_RSP;
	if (frame->rsp_distance != 0)
		return effect == X86_INSN_STORE_RBP;
	return true;
}

/*
 * Before there is a frame: a jump to other code, or a return with an answer found at once
 * (Object.hashCode).
 */
static bool leaves(enum x86_insn_effect effect)
{
	return effect == X86_INSN_JUMP || effect == X86_INSN_JUMP_INDIRECT ||
	       effect == X86_INSN_STOP || effect == X86_INSN_RET;
}

static void walk_entry(const struct leaf_code *leaf, uint64_t from, struct entry_walk *walk)
{
	struct frame frame = { 0 };
	size_t at = from - leaf->entry_address;

	while (at < leaf->entry_len) {
		uint64_t address = leaf->entry_address + at;
		struct x86_insn insn;

		if (address == leaf->ip) {
			walk->has_ip = true;
			walk->at_ip = frame;
		}
		if (frame.rbp == RBP_FRAME) {
			walk->kind = ENTRY_FRAME;
			walk->complete = address;
			return;
		}
		if (address == leaf->blob->verified_entry && step_over_patch(leaf, &at, &frame))
			continue;
		insn = x86_insn_decode(leaf->entry + at, leaf->entry_len - at);
		if (insn.effect == X86_INSN_CALL && is_osr(leaf->blob) &&
		    address == leaf->blob->verified_entry) {
			/* C2 puts this trap where only the interpreter may come in, behind it. */
			at += insn.len;
			continue;
		}
		if (!may_follow(&frame, insn.effect)) {
			if (frame.is_saved && frame.rbp == RBP_CALLERS)
				walk->kind = ENTRY_NO_FRAME_POINTER;
			return;
		}
		if (leaves(insn.effect) && frame.rsp_distance == 0) {
			/* Branches from before it continue behind it, in the same state. */
			walk->kind = ENTRY_FRAMELESS;
		} else if (!frame_step(&frame, &insn)) {
			return;
		} else if (frame.rsp_distance != 0) {
			walk->kind = ENTRY_UNKNOWN;
		}
		at += insn.len;
	}
}

static struct entry_walk find_entry(const struct leaf_code *leaf)
{
	struct entry_walk walk = { 0 };
	uint64_t entry = leaf->blob->verified_entry;

	if (!leaf->entry || entry < leaf->entry_address ||
	    entry - leaf->entry_address >= leaf->entry_len)
		return walk;
	/*
	 * From before the verified entry for a leaf there. Wrappers always: Continuation.enterSpecial
	 * has a second way in, and a way out that jumps, of which no wrapper of a method has any.
	 */
	if (leaf->ip < entry || leaf->blob->kind == HOTSPOT_BLOB_NATIVE)
		entry = leaf->entry_address;
	walk_entry(leaf, entry, &walk);
	return walk;
}

/*
 * The way from the leaf's instruction to a return, nothing but these bytes: true when nothing on it
 * touches rsp or rbp.
 */
static bool returns_at_once(const uint8_t *code)
{
	size_t at = 0;

	while (at < LEAF_CODE_BYTES) {
		struct x86_insn insn = x86_insn_decode(code + at, LEAF_CODE_BYTES - at);

		if (insn.effect == X86_INSN_RET)
			return true;
		if (insn.effect != X86_INSN_NEUTRAL && insn.effect != X86_INSN_BRANCH)
			return false;
		at += insn.len;
	}
	return false;
}

static bool jumps_out_of_blob(const struct leaf_code *leaf, size_t at)
{
	struct x86_insn insn = x86_insn_decode(leaf->at_ip + at, LEAF_CODE_BYTES - at);
	uint64_t target = leaf->ip + at + insn.len + (uint64_t)(int64_t)insn.value;

	return insn.effect == X86_INSN_JUMP &&
	       (target < leaf->blob->code_begin || target >= leaf->blob->code_end);
}

static uint64_t load_u64(const uint8_t *bytes)
{
	uint64_t value = 0;

	for (size_t i = 0; i < sizeof(value); i++)
		value |= (uint64_t)bytes[i] << (8 * i);
	return value;
}

/* `mov r10, imm64`: an address in the blob. */
static bool loads_own_address(const struct leaf_code *leaf, size_t at, uint64_t *address_out)
{
	static const uint8_t move[] = { 0x49, 0xba };

	if (memcmp(leaf->at_ip + at, move, sizeof(move)) != 0)
		return false;
	*address_out = load_u64(leaf->at_ip + at + sizeof(move));
	return *address_out >= leaf->blob->code_begin && *address_out < leaf->blob->code_end;
}

/*
 * The slow path of the return poll of 17 and later, when the frame is gone: the poll's address into
 * r10 (mov imm64, or lea [rip + d]), mov [r15 + d], r10, jmp to the safepoint blob. Compiled methods
 * store an address of their own nowhere else.
 */
static bool is_poll_stub(const struct leaf_code *leaf)
{
	static const uint8_t load[] = { 0x4c, 0x8d, 0x15 };
	static const uint8_t store[] = { 0x4d, 0x89, 0x97 };
	const uint8_t *code = leaf->at_ip;
	size_t move_len = 2 + sizeof(uint64_t);
	size_t load_len = sizeof(load) + sizeof(int32_t);
	size_t store_len = sizeof(store) + sizeof(int32_t);
	uint64_t poll;

	if (memcmp(code, store, sizeof(store)) == 0)
		return jumps_out_of_blob(leaf, store_len);
	if (memcmp(code, load, sizeof(load)) == 0)
		return memcmp(code + load_len, store, sizeof(store)) == 0 &&
		       code[load_len + store_len] == OPCODE_JUMP;
	return leaf->blob->kind == HOTSPOT_BLOB_NMETHOD && loads_own_address(leaf, 0, &poll) &&
	       memcmp(code + move_len, store, sizeof(store)) == 0;
}

/*
 * Wrappers of 24 and later poll behind `leave`: test byte [r15 + d], 1; je over; then the slow path
 * as above. Its first instruction looks like the one before the native call, so it is told by what
 * it loads: the address of the poll right before it.
 */
static bool is_wrapper_poll(const struct leaf_code *leaf)
{
	static const uint8_t test[] = { 0x41, 0xf6, 0x47 };
	const size_t test_len = 5;
	const size_t branch_len = 2;
	const uint8_t *code = leaf->at_ip;
	uint64_t low_bytes = UINT64_MAX >> 8;
	size_t slow = test_len + branch_len;
	uint64_t poll;

	if (leaf->blob->kind != HOTSPOT_BLOB_NATIVE)
		return false;
	if (memcmp(code, test, sizeof(test)) == 0 && code[test_len] == OPCODE_JE)
		/* The highest byte of the address did not fit in. */
		return code[slow] == 0x49 && code[slow + 1] == 0xba &&
		       (load_u64(code + LEAF_CODE_BYTES - 8) >> 8) == (leaf->ip & low_bytes);
	if (code[0] == OPCODE_JE)
		return loads_own_address(leaf, branch_len, &poll) && poll == leaf->ip - test_len;
	return loads_own_address(leaf, 0, &poll) && poll == leaf->ip - slow;
}

/* `mov [rsp - d], eax` far below the stack: only ever before a frame is built. */
static bool is_stack_bang(const uint8_t *code)
{
	static const uint8_t bang[] = { 0x89, 0x84, 0x24 };
	int32_t disp;

	if (memcmp(code, bang, sizeof(bang)) != 0)
		return false;
	disp = (int32_t)(uint32_t)(load_u64(code + sizeof(bang)) & UINT32_MAX);
	return disp <= -STACK_PAGE;
}

/*
 * C1 builds the frame once more where the interpreter comes in, in the midst of a method compiled
 * for on-stack replacement: no table says where. The interpreter has left the return address at
 * [rsp] and the caller's rbp.
 */
static bool is_second_entry(const struct leaf_code *leaf, enum leaf_verdict *verdict_out)
{
	struct x86_insn insn = x86_insn_decode(leaf->at_ip, LEAF_CODE_BYTES);
	struct x86_insn next;

	if (!is_osr(leaf->blob))
		return false;
	if (is_stack_bang(leaf->at_ip)) {
		*verdict_out = LEAF_CALLER_AT_SP;
		return true;
	}
	next = x86_insn_decode(leaf->at_ip + insn.len, LEAF_CODE_BYTES - insn.len);
	if (insn.effect == X86_INSN_PUSH_RBP && next.effect == X86_INSN_RBP_FROM_RSP) {
		*verdict_out = LEAF_CALLER_AT_SP;
		return true;
	}
	if (insn.effect == X86_INSN_RBP_FROM_RSP && next.effect == X86_INSN_ADD_RSP &&
	    next.value < 0) {
		*verdict_out = LEAF_CALLER_AT_SP_8;
		return true;
	}
	return false;
}

static bool ends_with(const uint8_t *code, size_t len, const uint8_t *tail, size_t tail_len)
{
	return len >= tail_len && memcmp(code + len - tail_len, tail, tail_len) == 0;
}

/* add rsp, imm8 or imm32; pop rbp */
static bool ends_with_frame_removal(const uint8_t *code, size_t len)
{
	static const uint8_t add8[] = { 0x48, 0x83, 0xc4 };
	static const uint8_t add32[] = { 0x48, 0x81, 0xc4 };

	if (len == 0 || code[len - 1] != OPCODE_POP_RBP)
		return false;
	return (len > 2 && ends_with(code, len - 2, add8, sizeof(add8))) ||
	       (len > 5 && ends_with(code, len - 5, add32, sizeof(add32)));
}

/*
 * At a jump to other code. The frame is gone when an exception goes on to the caller, behind
 * `pop rbp`, and at the end of a return poll's slow path; it is there where the deoptimization or
 * an exception handler begins. What comes before it tells, if it was read.
 */
static enum leaf_verdict judge_jump_out(const struct leaf_code *leaf)
{
	static const uint8_t store[] = { 0x4d, 0x89, 0x97 };
	size_t len = leaf->ip - leaf->entry_address;

	if (len > leaf->entry_len)
		return LEAF_NOT_REPAIRABLE;
	if (ends_with_frame_removal(leaf->entry, len))
		return LEAF_CALLER_AT_SP;
	/* See is_poll_stub(). */
	if (len > sizeof(int32_t) &&
	    ends_with(leaf->entry, len - sizeof(int32_t), store, sizeof(store)))
		return LEAF_CALLER_AT_SP;
	return LEAF_NOT_REPAIRABLE;
}

/* `cmp rsp, [r15 + d]`: only behind `pop rbp`, for the poll or the check that follows here. */
static bool is_rsp_check(const uint8_t *code)
{
	return code[0] == 0x49 && code[1] == 0x3b && (code[2] == 0x67 || code[2] == 0xa7);
}

/*
 * Methods that may use the reserved part of a stack (ReentrantLock's) check on their way out
 * whether they did, `cmp rsp, [r15 + d32]; jb over`, and then have to call the VM.
 */
static bool is_in_reserved_check(const struct leaf_code *leaf, enum leaf_verdict *verdict_out)
{
	const size_t check_len = 1 + 7; /* with pop rbp */
	const size_t slow_len = 64;
	size_t ip = leaf->ip - leaf->entry_address;

	if (ip > leaf->entry_len)
		return false;
	for (size_t at = ip > slow_len ? ip - slow_len : 0; at + check_len <= ip; at++) {
		const uint8_t *code = leaf->entry + at;

		if (code[0] != OPCODE_POP_RBP || !is_rsp_check(code + 1))
			continue;
		if (at + check_len == ip) {
			*verdict_out = LEAF_CALLER_AT_SP;
			return true;
		}
		if (code[check_len] == OPCODE_JB ||
		    (code[check_len] == OPCODE_TWO_BYTES && at + check_len + 1 < ip &&
		     code[check_len + 1] == OPCODE_JB_NEAR)) {
			*verdict_out = LEAF_NOT_REPAIRABLE;
			return true;
		}
	}
	return false;
}

/* Behind the entry of a method that builds a frame. */
static enum leaf_verdict judge_body(const struct leaf_code *leaf)
{
	struct x86_insn insn = x86_insn_decode(leaf->at_ip, LEAF_CODE_BYTES);
	enum leaf_verdict verdict;

	if (returns_at_once(leaf->at_ip) || is_rsp_check(leaf->at_ip) || is_poll_stub(leaf) ||
	    is_wrapper_poll(leaf))
		return LEAF_CALLER_AT_SP;
	if (is_second_entry(leaf, &verdict))
		return verdict;
	if (jumps_out_of_blob(leaf, 0))
		return judge_jump_out(leaf);
	if (is_in_reserved_check(leaf, &verdict))
		return verdict;
	/* 8 keeps rsp in rbp around calls of method handles. */
	if (insn.effect == X86_INSN_RSP_FROM_RBP || insn.effect == X86_INSN_CLOBBERS_RBP ||
	    insn.effect == X86_INSN_LOAD_RBP)
		return LEAF_NOT_REPAIRABLE;
	return LEAF_NOT_NEEDED;
}

static enum leaf_verdict verdict_at_entry(const struct leaf_code *leaf, const struct frame *frame)
{
	enum leaf_verdict verdict = verdict_of(frame);

	return verdict == LEAF_NOT_REPAIRABLE ? verdict_of_store(leaf, frame) : verdict;
}

/* Was the instruction at the leaf what is there now? At the entry a jump may have replaced it. */
static bool is_same_instruction(const struct leaf_code *leaf)
{
	size_t at = leaf->ip - leaf->entry_address;
	struct x86_insn insn = x86_insn_decode(leaf->at_ip, LEAF_CODE_BYTES);

	return leaf->ip == leaf->blob->verified_entry ||
	       (insn.len > 0 && insn.len <= leaf->entry_len - at &&
		memcmp(leaf->at_ip, leaf->entry + at, insn.len) == 0);
}

enum leaf_verdict leaf_repair_x86_judge_compiled(const struct leaf_code *leaf)
{
	struct entry_walk walk = find_entry(leaf);

	if (walk.has_ip && !is_same_instruction(leaf))
		return LEAF_NOT_REPAIRABLE;
	switch (walk.kind) {
	case ENTRY_FRAME:
		if (walk.has_ip)
			return verdict_at_entry(leaf, &walk.at_ip);
		/*
		 * It lies between two instructions of the entry, or in none of them: no leaf can be
		 * there.
		 */
		if (leaf->ip < walk.complete)
			return LEAF_NOT_REPAIRABLE;
		return judge_body(leaf);
	case ENTRY_FRAMELESS: /* a linker of method handles; compiled Java always builds a frame */
		if (walk.has_ip && leaf->blob->kind == HOTSPOT_BLOB_NATIVE)
			return verdict_at_entry(leaf, &walk.at_ip);
		break;
	case ENTRY_UNKNOWN:
		/* A linker with a barrier of the garbage collector that pushes registers. */
		if (leaf->blob->kind == HOTSPOT_BLOB_NATIVE)
			return leaf_repair_x86_judge_stub(leaf);
		break;
	case ENTRY_NO_FRAME_POINTER:
		break;
	}
	return LEAF_NOT_REPAIRABLE;
}
