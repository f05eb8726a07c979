/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frames of HotSpot's JIT code in a walk by rules. Code that was compiled with
 * -XX:+PreserveFramePointer is walked by frame pointers, as is all code of a HotSpot of which
 * nothing else is known. Other frames have the size that is in the CodeBlob of their code, except
 * interpreted ones and those of stubs without a size, which keep frame pointers.
 */
#ifndef JBPF_HOTSPOT_BPF_H
#define JBPF_HOTSPOT_BPF_H

#include "bpf/code_range.bpf.h"
#include "bpf/core_compat.bpf.h"
#include "bpf/hotspot_blob.bpf.h"
#include "bpf/hotspot_guess.bpf.h"
#include "bpf/hotspot_leaf.bpf.h"
#include "bpf/jbpf_leaf.h"
#include "bpf/jbpf_unwind.h"
#include "bpf/maps.bpf.h"
#include "bpf/walk.bpf.h"

#define SENDER_SP_BELOW	  8 /* interpreted frames keep their caller's sp this far below fp */
#define LAST_SP_BELOW	  16
#define CALLEE_MAX_BYTES  4096 /* of arguments and locals, while its frame is not there */
#define INTERPRETED_BYTES 64   /* and what they have below it takes this much; frame_x86.hpp */
#define FRAME_MAX_BYTES	  (1u << 20) /* of compiled code, and between fp and the caller's sp */

/*
 * Fills state->hotspot for the process of state->key. An entry may be replaced, or deleted and used
 * for another process, while it is read, as in code_range_load().
 */
static __always_inline void hotspot_load(struct scratch *state)
{
	const struct jbpf_hotspot *hotspot;

	state->hotspot.flags = 0;
	if (!state->code.len)
		return;
	hotspot = bpf_map_lookup_elem(&hotspots, &state->key.pid);
	if (!hotspot)
		return;
	__builtin_memcpy(&state->hotspot, hotspot, sizeof(*hotspot));
	barrier();
	if (hotspot->start_ns != state->key.start_ns || hotspot->exec_id != state->key.exec_id)
		state->hotspot.flags = 0;
}

/* Does its JIT code keep no frame pointers, and are its frames' sizes known? */
static __always_inline bool jit_is_by_size(const struct scratch *state)
{
	return state->hotspot.flags & JBPF_HOTSPOT_HAS_FRAME_SIZES;
}

/* The process runs another program, or ended: the entry is nobody's. */
static __always_inline void hotspot_forget(void)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;

	bpf_map_delete_elem(&hotspots, &pid);
}

/* ---- rules for interrupted code that user space has proved: they are asked before its code ---- */

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

/* ---- frames ---- */

/* What a step found: the caller's address and registers. */
struct jit_frame {
	__u64 address;
	__u64 sp;
	__u64 fp;
	bool is_java_called; /* only JIT code calls such code */
};

/* A frame that keeps a frame pointer. */
static __always_inline int jit_frame_by_fp(struct scratch *state, struct jit_frame *out)
{
	__u64 fp = state->fp;

	if (!fp)
		return JBPF_END_ROOT;
	if (fp < state->unwind.sp || fp & 7)
		return JBPF_END_BAD_FP;
	if (!stack_word(state, fp, &out->fp) || !stack_word(state, fp + 8, &out->address))
		return JBPF_END_FAULT;
	out->sp = fp + FRAME_BYTES;
	out->is_java_called = false;
	return RULE_OK;
}

/* Of a stub that called something. */
static __always_inline int jit_frame_of_stub(struct scratch *state, struct jit_frame *out)
{
	int end = jit_frame_by_fp(state, out);
	struct barrier_frame frame;

	if (end != RULE_OK || out->address != BARRIER_COOKIE)
		return end;
	if (!barrier_frame_read(state, state->address, &frame))
		return JBPF_END_BAD_FP;
	out->fp = frame.fp;
	out->address = frame.address;
	out->sp = state->fp + sizeof(frame);
	return RULE_OK;
}

/* This many bytes of an interpreted frame exist already, as user space has proved. */
static __always_inline bool is_made_so_far(struct scratch *state, __u64 bytes)
{
	if (!leaf_proof_load(state) || state->proof.place != JBPF_LEAF_INTERPRETED ||
	    state->proof.ra != bytes)
		return false;
	state->user.head.flags |= JBPF_LEAF_RULE_PROVED << JBPF_STACK_LEAF_RULE_SHIFT;
	return true;
}

#if defined(__TARGET_ARCH_x86)

#define ENTRY_BYTES 96 /* from a method's entry to where its frame is begun, and more */
#define MOV_RBP_PUSH_R13 \
	0x5541ec8b48	     /* generate_fixed_frame(), templateInterpreterGenerator_x86.cpp */
#define MOV_RSP_RBX 0xe38b48 /* remove_activation(), interp_masm_x86.cpp */
#define JMP_R13	    0xe5ff41 /* TemplateTable::_return(), templateTable_x86.cpp */
#define LEAVE	    0xc9

/* Where the interpreter was interrupted, the frame at fp must be one of its own. */
static __always_inline bool leaf_is_by_frame(const struct scratch *state, __u64 address)
{
	return is_interpreted(state, address);
}

/*
 * Is the code at state->jit.pc, of the interpreter, that of a method's entry before the frame is begun, or that
 * behind its leave? What rbp points to is another frame then: a compiled caller's has words that an earlier
 * interpreted frame has left there, which nothing tells from one that lives.
 */
__noinline int leaf_lacks_frame(struct bpf_perf_event_data *ctx)
{
	struct scratch *state;
	bool has_left = false;

	asm volatile("" ::"r"(ctx));
	state = scratch_get();
	if (!state)
		return 0;
	state->unwind.window_base = ~0ull;
	state->unwind.window_len = sizeof(__u64);
	if (bpf_probe_read_user(state->window, ENTRY_BYTES + sizeof(__u64), (void *)state->jit.pc))
		return 0;
	for (int i = 0; i < ENTRY_BYTES; i++) {
		__u64 bytes = *(const volatile __u64 *)(state->window + i);

		if ((bytes & 0xffffffffff) == MOV_RBP_PUSH_R13)
			return 1;
		if ((bytes & 0xff) == LEAVE)
			has_left = true;
		if (!has_left &&
		    ((bytes & 0xffffff) == MOV_RSP_RBX || (bytes & 0xffffff) == JMP_R13))
			return 1;
	}
	return 0;
}

#else

/* Frames have another form there. */
static __always_inline bool leaf_is_by_frame(const struct scratch *state, __u64 address)
{
	return false;
}

static __always_inline int leaf_lacks_frame(struct bpf_perf_event_data *ctx)
{
	return 0;
}

#endif

/*
 * May it be a frame of the interpreter? Linkers of method handles pop their last argument, which the
 * sender's sp still counts (generate_method_handle_dispatch(), methodHandles_x86.cpp).
 */
static __always_inline bool is_interpreted_frame(__u64 fp, const struct jit_frame *frame)
{
	return frame->sp - fp - (FRAME_BYTES - 8) <= FRAME_MAX_BYTES && !(frame->sp & 7);
}

/*
 * Is the frame at fp, of the interpreter, in a call whose callee is at sp? It notes what its sp was before the
 * return address until it is back (prepare_to_jump_from_interpreted(), interp_masm_x86.cpp; from JDK 22 on
 * as words from fp); what a frame that is gone left has 0.
 */
static __always_inline bool is_calling(struct scratch *state)
{
	__u64 fp = state->fp, last_sp;

	if (!stack_word(state, fp - LAST_SP_BELOW, &last_sp))
		return false;
	if (last_sp & 1ull << 63)
		last_sp = fp + last_sp * 8;
	return last_sp - state->unwind.sp <= CALLEE_MAX_BYTES && !(last_sp & 7);
}

/*
 * Is it not certain that the interpreter, interrupted at state->jit.pc, is in the frame at fp, or called from
 * it? That may be being made, which user space can prove, or be another one's.
 */
static __always_inline bool is_unmade(struct bpf_perf_event_data *ctx, struct scratch *state,
				      __u64 bytes)
{
	if (bytes < INTERPRETED_BYTES)
		return !is_made_so_far(state, bytes);
	return leaf_lacks_frame(ctx) && !is_calling(state);
}

/* Of an interpreted frame the Method* is taken, too. */
static __always_inline int jit_frame_interpreted(struct bpf_perf_event_data *ctx,
						 struct scratch *state, struct jit_frame *out)
{
	__u64 fp = state->fp, bytes = fp - state->unwind.sp, method = 0;
	bool is_frame;

	if (fp < state->unwind.sp || fp & 7)
		return JBPF_END_BAD_FP;
	if (state->unwind.is_exact && is_unmade(ctx, state, bytes))
		return JBPF_END_LEAF;
	if ((bytes >= METHOD_BYTES_BELOW && !stack_word(state, fp - METHOD_BYTES_BELOW, &method)) ||
	    !stack_word(state, fp - SENDER_SP_BELOW, &out->sp) ||
	    !stack_word(state, fp, &out->fp) || !stack_word(state, fp + 8, &out->address))
		return JBPF_END_FAULT;
	is_frame = is_interpreted_frame(fp, out);
	if (state->unwind.is_exact && (!is_frame || !code_view_has(&state->code, out->address - 1)))
		return JBPF_END_LEAF;
	if (method_is_plausible(method)) {
		int end = address_take_method(state, method);

		if (end != RULE_OK)
			return end;
	}
	out->is_java_called = true;
	return is_frame ? RULE_OK : JBPF_END_JIT;
}

static __always_inline int jit_frame_by_size(struct scratch *state, bool has_fp,
					     struct jit_frame *out)
{
	__u64 words = header_field(state, state->hotspot.frame_size);
	__u64 cfa = state->unwind.sp + 8 * words;

	if (words - 2 > FRAME_MAX_BYTES / 8)
		return JBPF_END_JIT;
	out->fp = state->fp;
	if ((has_fp && !stack_word(state, cfa - 16, &out->fp)) ||
	    !stack_word(state, cfa - 8, &out->address))
		return JBPF_END_FAULT;
	out->sp = cfa;
	out->is_java_called = true;
	return RULE_OK;
}

/* pop r; pop r */
static __always_inline bool is_pop_twice(__u64 address)
{
	__u32 code = 0;

	if (bpf_probe_read_user(&code, sizeof(code), (void *)address))
		return false;
	if ((code & 0xf8) == 0x58)
		return (code & 0xff) == (code >> 8 & 0xff);
	return (code & 0xf8ff) == 0x5841 && (code & 0xffff) == code >> 16;
}

/* As user space has proved it; the caller may be anything. */
static __always_inline int jit_frame_proved(struct scratch *state, struct jit_frame *out)
{
	__u64 sp = state->unwind.sp, fp_at = state->proof.fp, ra;

	state->user.head.flags |= JBPF_LEAF_RULE_PROVED << JBPF_STACK_LEAF_RULE_SHIFT;
	if (state->proof.place == JBPF_LEAF_FROM_FP)
		return jit_frame_by_fp(state, out);
	if (state->proof.place == JBPF_LEAF_FROM_SAVED_SP) {
		if (!stack_word(state, sp + state->proof.saved_at, &sp))
			return JBPF_END_FAULT;
		if (sp - state->unwind.sp > FRAME_MAX_BYTES)
			return JBPF_END_LEAF;
	} else if (state->proof.place != JBPF_LEAF_FROM_SP &&
		   state->proof.place != JBPF_LEAF_CALLER_POPS) {
		return JBPF_END_LEAF;
	}
	ra = sp + (state->proof.ra & ~7u);
	out->fp = state->fp;
	if ((fp_at != JBPF_LEAF_FP_SAME && !stack_word(state, sp + fp_at, &out->fp)) ||
	    !stack_word(state, ra, &out->address))
		return JBPF_END_FAULT;
	if (state->proof.place == JBPF_LEAF_CALLER_POPS && !is_pop_twice(out->address))
		return JBPF_END_LEAF;
	out->sp = ra + 8 + (state->proof.arguments & ~7u);
	out->is_java_called = false;
	return RULE_OK;
}

/* As a guess; `words`: see jit_state. */
static __always_inline int jit_frame_guessed(struct bpf_perf_event_data *ctx, struct scratch *state,
					     __u32 words, struct jit_frame *out)
{
	__u32 guess;
	__u64 ra;

	state->jit.frame_words = words;
	guess = leaf_guess_find(ctx) & (JBPF_STACK_LEAF_GUESS_MASK >> JBPF_STACK_LEAF_GUESS_SHIFT);
	if (!guess)
		return JBPF_END_LEAF;
	state->user.head.flags = (state->user.head.flags & ~JBPF_STACK_LEAF_RULE_MASK) |
				 JBPF_LEAF_RULE_GUESSED << JBPF_STACK_LEAF_RULE_SHIFT |
				 guess << JBPF_STACK_LEAF_GUESS_SHIFT;
	if (guess & JBPF_LEAF_GUESS_BY_FP)
		return jit_frame_by_fp(state, out);
	ra = state->unwind.sp + 8ull * (guess & JBPF_LEAF_GUESS_WORD_MASK) - 8;
	out->fp = state->fp;
	if ((guess & JBPF_LEAF_GUESS_FP_SAVED && !stack_word(state, ra - 8, &out->fp)) ||
	    !stack_word(state, ra, &out->address))
		return JBPF_END_FAULT;
	out->sp = ra + 8;
	out->is_java_called = true;
	return RULE_OK;
}

/* By the frame's size. If no return address lies there, more was pushed. */
static __always_inline int jit_frame_of_body(struct bpf_perf_event_data *ctx, struct scratch *state,
					     struct jit_frame *out)
{
	int end = jit_frame_by_size(state, true, out);

	if (end != RULE_OK || code_view_has(&state->code, return_address(out->address) - 1))
		return end;
	return jit_frame_guessed(ctx, state, header_field(state, state->hotspot.frame_size), out);
}

/* Of interrupted code: its frame may be missing or incomplete. */
static __always_inline int jit_frame_of_leaf(struct bpf_perf_event_data *ctx, struct scratch *state,
					     struct jit_frame *out)
{
	__u64 sp = state->unwind.sp;
	enum jbpf_leaf_rule rule;

	if (leaf_proof_load(state) && leaf_proof_is_of_block(state))
		return jit_frame_proved(state, out);
	rule = leaf_rule_find(ctx);
	if (state->depth == 1)
		state->user.head.flags |= rule << JBPF_STACK_LEAF_RULE_SHIFT;
	if (rule == JBPF_LEAF_RULE_FRAME)
		return jit_frame_of_body(ctx, state, out);
	if (rule == JBPF_LEAF_RULE_FRAME_FP)
		return jit_frame_by_size(state, false, out);
	if (rule == JBPF_LEAF_RULE_NONE)
		return jit_frame_guessed(ctx, state, 0, out);
	out->is_java_called = true;
	out->fp = state->fp;
	if (rule == JBPF_LEAF_RULE_SP) {
		out->sp = sp + 8;
	} else {
		out->sp = sp + 16;
		if (!stack_word(state, sp, &out->fp))
			return JBPF_END_FAULT;
	}
	return stack_word(state, out->sp - 8, &out->address) ? RULE_OK : JBPF_END_FAULT;
}

static __always_inline int jit_frame_find(struct bpf_perf_event_data *ctx, struct scratch *state,
					  struct jit_frame *out)
{
	state->jit.pc = state->address - !state->unwind.is_exact;
	if (is_interpreted(state, state->jit.pc))
		return jit_frame_interpreted(ctx, state, out);
	blob_find(ctx);
	if (!state->jit.block)
		return JBPF_END_JIT;
	if (state->unwind.is_exact)
		return jit_frame_of_leaf(ctx, state, out);
	if (header_field(state, state->hotspot.frame_size) <= 0)
		return jit_frame_of_stub(state, out);
	return jit_frame_by_size(state, true, out);
}

/* Takes the caller of state->address, which lies in JIT code without frame pointers. */
__noinline int jit_step_by_size(struct bpf_perf_event_data *ctx)
{
	struct scratch *state;
	struct jit_frame frame = {};
	int end;

	asm volatile("" ::"r"(ctx));
	state = scratch_get();
	if (!state)
		return WALK_DONE;
	end = jit_frame_find(ctx, state, &frame);
	if (end == JBPF_END_JIT && state->unwind.search_cnt >= JBPF_UNWIND_SEARCHES_MAX)
		end = JBPF_END_MAX_RULES;
	frame.address = return_address(frame.address);
	if (end == RULE_OK && frame.is_java_called &&
	    !code_view_has(&state->code, frame.address - 1))
		end = JBPF_END_JIT;
	if (end == RULE_OK)
		end = address_take(state, frame.address);
	if (end == RULE_OK && jit_is_by_size(state) &&
	    frame.address - state->hotspot.barrier_low < state->hotspot.barrier_len)
		end = JBPF_END_FROZEN;
	if (end != RULE_OK) {
		state->end = end;
		return WALK_DONE;
	}
	state->address = frame.address;
	state->unwind.sp = frame.sp;
	state->fp = frame.fp;
	state->unwind.is_exact = 0;
	state->unwind.frame_cnt++;
	state->jit.frame_cnt++;
	return WALK_MORE;
}

/*
 * Takes the callers of state->address, which lies in JIT code, as long as they lie there, too, and
 * then the first one outside. Code that was compiled with -XX:+PreserveFramePointer is walked by
 * frame pointers; address, fp and unwind.sp are then those of the last caller taken. Other code
 * gives a single caller, by its frame's size. WALK_DONE: state->end says why.
 */
static __always_inline int jit_step(struct bpf_perf_event_data *ctx, struct scratch *state)
{
	if (jit_is_by_size(state) ||
	    (state->unwind.is_exact && leaf_is_by_frame(state, state->address)))
		return jit_step_by_size(ctx);
	if (!state->fp) {
		state->end = JBPF_END_ROOT;
		return WALK_DONE;
	}
	if (state->fp < state->unwind.sp || state->fp & 7) {
		state->end = JBPF_END_BAD_FP;
		return WALK_DONE;
	}
	state->unwind.is_exact = 0;
	return walk_window_jit(ctx);
}

#endif
