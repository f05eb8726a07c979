/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the caller of interrupted JIT code is while the frame is incomplete: before it was made,
 * half-way, or after it was removed. Decided only where the code at the address leaves no doubt:
 * these are the ways in which C1 and C2 begin and end methods (MacroAssembler::verified_entry(),
 * build_frame(), MachEpilogNode::emit() and LIR_Assembler::return_op() of HotSpot's cpu/x86).
 */
#ifndef JBPF_HOTSPOT_LEAF_BPF_H
#define JBPF_HOTSPOT_LEAF_BPF_H

#include "bpf/hotspot_blob.bpf.h"
#include "bpf/maps.bpf.h"

#if defined(__TARGET_ARCH_x86)

#define X86_RET_NEAR 0xc3
#define X86_POP_RBP  0x5d
#define X86_PUSH_RBP 0x55
#define X86_JMP	     0xe9

/* Bytes of the code from the leaf's address on, as a number whose low byte is the first. */
static __always_inline __u64 code_bytes(const struct scratch *state, int at, int cnt)
{
	__u64 word = 0;

	__builtin_memcpy(&word, state->jit.code + JBPF_LEAF_CODE_BYTES + at, cnt);
	return word;
}

/* A ret, or the safepoint poll right before one, when the frame is gone already. */
static __always_inline bool is_return(const struct scratch *state)
{
	if (code_bytes(state, 0, 1) == X86_RET_NEAR)
		return true;
	/* cmp rsp, [r15 + d]; ja (16+) */
	if (code_bytes(state, 0, 3) == 0xa73b49)
		return code_bytes(state, 7, 2) == 0x870f &&
		       code_bytes(state, 13, 1) == X86_RET_NEAR;
	if (code_bytes(state, 0, 3) == 0x673b49)
		return code_bytes(state, 4, 2) == 0x870f &&
		       code_bytes(state, 10, 1) == X86_RET_NEAR;
	if (code_bytes(state, 0, 2) == 0x870f)
		return code_bytes(state, 6, 1) == X86_RET_NEAR;
	/* mov r10, [r15 + d]; test [r10], eax (10 to 15) */
	if (code_bytes(state, 0, 3) == 0x978b4d)
		return code_bytes(state, 7, 4) == 0xc3028541;
	if (code_bytes(state, 0, 4) == 0xc3028541)
		return true;
	/* test [rip + d], eax (8); mov r10, address; test [r10], eax */
	if (code_bytes(state, 0, 2) == 0x0585)
		return code_bytes(state, 6, 1) == X86_RET_NEAR;
	return code_bytes(state, 0, 2) == 0xba49 && code_bytes(state, 10, 4) == 0xc3028541;
}

/* sub rsp, n */
static __always_inline bool is_sub_rsp(const struct scratch *state)
{
	__u64 bytes = code_bytes(state, 0, 3);

	return bytes == 0xec8348 || bytes == 0xec8148;
}

/* cmp [r15 + d], n: the entry barrier, which stops code of unloaded classes. */
static __always_inline bool is_barrier_compare(const struct scratch *state, int at, bool is_short)
{
	return code_bytes(state, at, 3) == (is_short ? 0x7f8141 : 0xbf8141);
}

/* That, or the jne or je behind it: the frame is made. */
static __always_inline bool is_entry_barrier(const struct scratch *state)
{
	__u64 jump = code_bytes(state, 0, 2);

	if (is_barrier_compare(state, 0, true) || is_barrier_compare(state, 0, false))
		return true;
	if (jump != 0x850f && jump != 0x840f && (jump & 0xfe) != 0x74)
		return false;
	return is_barrier_compare(state, -8, true) || is_barrier_compare(state, -11, false);
}

/* Between the entry and where the frame is complete. */
static __always_inline enum jbpf_leaf_rule rule_of_begin(const struct scratch *state)
{
	__u64 bytes = code_bytes(state, 0, 4);

	/* push rbp, or before it mov [rsp - n], eax, which checks for stack overflow */
	if ((bytes & 0xff) == X86_PUSH_RBP || (bytes & 0xffffff) == 0x248489)
		return JBPF_LEAF_RULE_SP;
	/* after push rbp: sub rsp, n; or mov rbp, rsp; or between these */
	if ((is_sub_rsp(state) || (bytes & 0xffffff) == 0xec8b48) &&
	    code_bytes(state, -1, 1) == X86_PUSH_RBP)
		return JBPF_LEAF_RULE_SP_8;
	if (is_sub_rsp(state) && code_bytes(state, -4, 4) == 0xec8b4855)
		return JBPF_LEAF_RULE_SP_8;
	/* mov [rsp + n], rbp after sub rsp, n */
	if (bytes == 0x246c8948 || bytes == 0x24ac8948)
		return JBPF_LEAF_RULE_FRAME_FP;
	return is_entry_barrier(state) ? JBPF_LEAF_RULE_FRAME : JBPF_LEAF_RULE_NONE;
}

/* Where the frame is complete, until it is gone. */
static __always_inline enum jbpf_leaf_rule rule_of_body(const struct scratch *state, bool is_osr)
{
	__u64 first = code_bytes(state, 0, 1);

	if (is_return(state))
		return JBPF_LEAF_RULE_SP;
	if (first == X86_POP_RBP)
		return JBPF_LEAF_RULE_SP_8;
	/*
	 * Behind pop rbp: an exception is passed on to the caller. OSR code has an entry of another
	 * form.
	 */
	if (first == X86_JMP && code_bytes(state, -1, 1) == X86_POP_RBP)
		return JBPF_LEAF_RULE_NONE;
	if (is_osr && (first == X86_PUSH_RBP || is_sub_rsp(state)))
		return JBPF_LEAF_RULE_NONE;
	return JBPF_LEAF_RULE_FRAME;
}

/* A field of the nmethod behind what header_read() takes. */
static __always_inline bool nmethod_field(const struct scratch *state,
					  struct jbpf_hotspot_field field, __s64 *out)
{
	__u64 word = 0;

	if (bpf_probe_read_user(&word, sizeof(word), (void *)(state->jit.block + field.at)))
		return false;
	*out = field_value(word, field);
	return true;
}

static __always_inline enum jbpf_leaf_rule rule_of_nmethod(const struct scratch *state)
{
	__s64 complete = header_field(state, state->hotspot.frame_complete);
	__u64 pc = state->jit.pc, code = blob_code(state);
	__s64 entry, entry_bci;

	if (!nmethod_field(state, state->hotspot.entry, &entry) ||
	    !nmethod_field(state, state->hotspot.entry_bci, &entry_bci) || complete < 0 ||
	    header_field(state, state->hotspot.frame_size) <= 0)
		return JBPF_LEAF_RULE_NONE;
	if (state->hotspot.flags & JBPF_HOTSPOT_ENTRY_IS_OFFSET)
		entry += code;
	if (entry_bci == -1 && pc <= (__u64)entry)
		return JBPF_LEAF_RULE_SP;
	if (pc < code + complete)
		return rule_of_begin(state);
	return rule_of_body(state, entry_bci != -1);
}

/* The rule of state->jit.pc, an interrupted address, in the blob that blob_find() found. */
__noinline int leaf_rule_find(struct bpf_perf_event_data *ctx)
{
	struct scratch *state;

	asm volatile("" ::"r"(ctx));
	state = scratch_get();
	if (!state || bpf_probe_read_user(state->jit.code, sizeof(state->jit.code),
					  (void *)(state->jit.pc - JBPF_LEAF_CODE_BYTES)))
		return JBPF_LEAF_RULE_NONE;
	if (code_bytes(state, 0, 1) == X86_RET_NEAR)
		return JBPF_LEAF_RULE_SP;
	if (header_field(state, state->hotspot.header_size) != state->hotspot.nmethod_size)
		return JBPF_LEAF_RULE_NONE;
	return rule_of_nmethod(state);
}

#else

__noinline int leaf_rule_find(struct bpf_perf_event_data *ctx)
{
	asm volatile("" ::"r"(ctx));
	return JBPF_LEAF_RULE_NONE;
}

#endif

#endif
