/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The walk by rules, for processes whose executable mappings user space has written down: each
 * frame is taken as the code at its address makes it. JIT code: see hotspot.bpf.h. A file with a
 * table: by the row of the address. A file without one that keeps frame pointers: by these.
 * Anything else ends the walk, with the reason: where code uses the frame pointer's register for
 * something else, it leads anywhere.
 */
#ifndef JBPF_UNWIND_BPF_H
#define JBPF_UNWIND_BPF_H

#include "bpf/code_range.bpf.h"
#include "bpf/core_compat.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/hotspot.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/unwind_maps.bpf.h"
#include "bpf/verifier.bpf.h"
#include "bpf/walk.bpf.h"

#define CHUNK_SEARCH_STEPS 10 /* of 1,008 rows */
#define SPACE_SEARCH_STEPS 6

_Static_assert(JBPF_UNWIND_CHUNK_WORDS <= 1 << CHUNK_SEARCH_STEPS, "a search ends");
_Static_assert(JBPF_SPACE_MAX_MAPPINGS == 1 << SPACE_SEARCH_STEPS, "a search ends");

/* Special rows beside those of the contract, for what is found without a table. */
#define SPECIAL_KEEPS_FP   0x3feu
#define SPECIAL_NO_MAPPING 0x3ffu

#define FRAME_PUSH_BYTES 3 /* mov rbp, rsp, at the end of what makes a frame */
#define X86_RET		 0xc3

static __always_inline __u32 special_row(__u32 what)
{
	return jbpf_row(0, JBPF_ROW_SPECIAL, 0, what);
}

/*
 * Does the process of state->key have mappings written down? An entry may be replaced, or deleted
 * and used for another process, while it is read, as in code_range_load().
 */
static __always_inline bool space_load(struct scratch *state)
{
	const struct jbpf_space *space = bpf_map_lookup_elem(&spaces, &state->key.pid);

	state->unwind.generation = 0;
	if (!space)
		return false;
	state->unwind.generation = space->generation;
	barrier();
	if (space->start_ns == state->key.start_ns && space->exec_id == state->key.exec_id)
		return true;
	state->unwind.generation = 0; /* no row is of it */
	return false;
}

/* The process runs another program, or ended: the entry is nobody's. */
static __always_inline void space_forget(void)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;

	bpf_map_delete_elem(&spaces, &pid);
}

/* All ones where `less` is smaller; both below 2^63. A branch would double the verifier's paths. */
static __always_inline __u64 mask_if_less(__u64 less, __u64 than)
{
	less -= than;
	SIGN_MASK(less);
	return less;
}

/* The last mapping that begins at pc or below; starts are of pages. */
static __always_inline __u64 mapping_search(const struct jbpf_space *space, __u64 pc)
{
	__u64 at = 0;

	for (__u64 step = JBPF_SPACE_MAX_MAPPINGS / 2; step; step /= 2) {
		__u64 next = at + step;

		KEEP_BITS(next, JBPF_SPACE_MAX_MAPPINGS - 1);
		at += step & ~mask_if_less(pc >> JBPF_UNWIND_PAGE_SHIFT,
					   space->start[next] >> JBPF_UNWIND_PAGE_SHIFT);
	}
	KEEP_BITS(at, JBPF_SPACE_MAX_MAPPINGS - 1);
	return at;
}

static __always_inline const struct unwind_chunk *chunk_find(__u32 table, __u32 number)
{
	__u32 key = table << JBPF_UNWIND_CHUNK_BITS | number;

	return bpf_map_lookup_elem(&unwind_chunks, &key);
}

static __always_inline bool chunk_word(const struct unwind_chunk *chunk, __u64 at, __u32 *out)
{
	/* The check must be on the register that is used: 6.1 does not track copies of it. */
	asm volatile("" : "+r"(at));
	if (at >= JBPF_UNWIND_CHUNK_WORDS)
		return false;
	*out = chunk->words[at];
	return true;
}

/* The last of `cnt` rows from word `at` on that is of `offset` in the page or before. */
static __always_inline bool row_search(const struct unwind_chunk *chunk, __u64 at, __u64 cnt,
				       __u64 offset, __u32 *row)
{
#pragma unroll
	for (int i = 0; i < CHUNK_SEARCH_STEPS; i++) {
		__u64 half = cnt / 2;
		__u32 word;

		if (!chunk_word(chunk, at + half, &word))
			return false;
		at += half & ~mask_if_less(offset, word & JBPF_ROW_PC_MASK);
		cnt -= half;
	}
	return chunk_word(chunk, at, row);
}

/* The row of state->unwind.pc, in that page of a table. False: the table is not there. */
static __always_inline bool table_search(struct scratch *state, __u32 table, __u32 page)
{
	const struct unwind_chunk *chunk = chunk_find(table, page / JBPF_UNWIND_CHUNK_WORDS);
	__u32 word, first, cnt;

	if (!chunk || !chunk_word(chunk, page % JBPF_UNWIND_CHUNK_WORDS, &word))
		return false;
	if (!word)
		return true;
	first = word >> JBPF_UNWIND_PAGE_CNT_BITS;
	cnt = (word & ((1u << JBPF_UNWIND_PAGE_CNT_BITS) - 1)) + 1;
	if (first / JBPF_UNWIND_CHUNK_WORDS != page / JBPF_UNWIND_CHUNK_WORDS)
		chunk = chunk_find(table, first / JBPF_UNWIND_CHUNK_WORDS);
	if (!chunk)
		return false;
	return row_search(chunk, first % JBPF_UNWIND_CHUNK_WORDS, cnt,
			  state->unwind.pc & JBPF_ROW_PC_MASK, &state->unwind.row);
}

/* Fills state->unwind.row for its pc. True: that stays so as long as the generation does. */
static __always_inline bool row_find(struct scratch *state)
{
	const struct jbpf_space *space = bpf_map_lookup_elem(&spaces, &state->key.pid);
	__u64 pc = state->unwind.pc;
	struct jbpf_mapping mapping;
	bool is_sure = true;
	__u64 at, page;

	state->unwind.row = special_row(SPECIAL_NO_MAPPING);
	if (!space)
		return false;
	at = mapping_search(space, pc);
	page = (pc - space->start[at]) >> JBPF_UNWIND_PAGE_SHIFT;
	mapping = space->mappings[at];
	if (page < mapping.page_cnt) {
		__u32 none = mapping.flags & JBPF_MAPPING_KEEPS_FP ? SPECIAL_KEEPS_FP :
								     JBPF_SPECIAL_NONE;

		state->unwind.row = special_row(none);
		if (mapping.table)
			is_sure = table_search(state, mapping.table, mapping.page + (__u32)page);
		if (!is_sure)
			state->unwind.row = special_row(JBPF_SPECIAL_NONE);
	}
	barrier();
	if (space->generation == state->unwind.generation)
		return is_sure;
	state->unwind.row = special_row(SPECIAL_NO_MAPPING);
	return false;
}

static __always_inline struct rule *memo_slot(__u64 pc, __u32 generation)
{
	__u64 at = memo_hash(pc ^ (__u64)generation << 32) >> (64 - RULE_MEMO_BITS);
	struct rule_memo *memo;
	__u32 zero = 0;

	memo = bpf_map_lookup_elem(&rule_memo, &zero);
	if (!memo)
		return NULL;
	KEEP_BITS(at, (1 << RULE_MEMO_BITS) - 1);
	return &memo->rules[at];
}

/* Fills state->unwind.row, and the CPU's memo, for state->unwind.pc. */
__noinline int rule_search(struct bpf_perf_event_data *ctx)
{
	struct scratch *state;
	struct rule *rule;

	asm volatile("" ::"r"(ctx));
	state = scratch_get();
	if (!state)
		return 0;
	count(JBPF_CNT_RULE_MISS);
	if (!row_find(state))
		return 0;
	rule = memo_slot(state->unwind.pc, state->unwind.generation);
	if (rule) {
		rule->pc = state->unwind.pc;
		rule->generation = state->unwind.generation;
		rule->row = state->unwind.row;
	}
	return 0;
}

/*
 * Fills state->unwind.row for this address. False: too many rows were searched for this stack. A
 * search costs some 1 us where its lines are cold, and interrupts are off; frames of rows that the memo
 * has are cheap, as those of a deep recursion are. A stack of more addresses than that is whole from
 * its second or third sample on.
 */
static __always_inline bool rule_get(struct bpf_perf_event_data *ctx, struct scratch *state,
				     __u64 pc)
{
	struct rule *rule = memo_slot(pc, state->unwind.generation);

	if (rule && rule->pc == pc && rule->generation == state->unwind.generation) {
		state->unwind.row = rule->row;
		return true;
	}
	if (state->unwind.search_cnt >= JBPF_UNWIND_SEARCHES_MAX)
		return false;
	state->unwind.search_cnt++;
	state->unwind.pc = pc;
	rule_search(ctx);
	return true;
}

/* Where a frame lies, and what is saved in it. */
struct frame {
	__u64 cfa;
	__u64 slot; /* see jbpf_row() */
};

#if defined(__TARGET_ARCH_x86)

/* JBPF_SPECIAL_FRAME: only where the function was interrupted itself, its frame may not be there. */
static __always_inline void frame_of_function(const struct scratch *state, __u32 row,
					      struct frame *out)
{
	__u32 made_at = row >> JBPF_ROW_SLOT_SHIFT & JBPF_ROW_SLOT_MASK;
	__u32 offset = ((__u32)state->address - row) & JBPF_ROW_PC_MASK;
	__u8 code = 0;

	out->cfa = state->fp + 16;
	out->slot = 2;
	if (!state->unwind.is_exact)
		return;
	if (offset < made_at) {
		bool is_saved = offset + FRAME_PUSH_BYTES >= made_at;

		out->cfa = state->unwind.sp + (is_saved ? 16 : 8);
		out->slot = is_saved ? 2 : 0;
	} else if (!bpf_probe_read_user(&code, sizeof(code), (void *)state->address) &&
		   code == X86_RET) {
		out->cfa = state->unwind.sp + 8;
		out->slot = 0;
	}
}

/* Reads what the frame saved. RULE_OK, or why the walk ends; nothing is touched then. */
static __always_inline int frame_read(struct scratch *state, const struct frame *frame,
				      __u64 *address, __u64 *fp)
{
	__u64 saved = frame->slot == JBPF_SLOT_AT_FP ? state->fp : frame->cfa - 8 * frame->slot;

	if (frame->cfa <= state->unwind.sp || frame->cfa & 7)
		return JBPF_END_BAD_CFA;
	if (frame->slot && !stack_word(state, saved, fp))
		return JBPF_END_FAULT;
	return stack_word(state, frame->cfa - 8, address) ? RULE_OK : JBPF_END_FAULT;
}

static __always_inline bool signal_link_read(struct scratch *state, __u64 sp)
{
	return true;
}

#else

static __always_inline void frame_of_function(const struct scratch *state, __u32 row,
					      struct frame *out)
{
	out->cfa = state->fp + 16;
	out->slot = 2;
}

/* A function that saved nothing has its return address in x30; only what was interrupted still has. */
static __always_inline int frame_read(struct scratch *state, const struct frame *frame,
				      __u64 *address, __u64 *fp)
{
	__u64 saved = frame->cfa - 8 * frame->slot;

	if (frame->cfa < state->unwind.sp || frame->cfa & 7)
		return JBPF_END_BAD_CFA;
	if (!frame->slot) {
		*address = state->unwind.lr;
		return state->unwind.is_exact ? RULE_OK : JBPF_END_NO_RULE;
	}
	if (frame->cfa == state->unwind.sp)
		return JBPF_END_BAD_CFA;
	if (!stack_word(state, saved, fp) || !stack_word(state, saved + 8, address))
		return JBPF_END_FAULT;
	return RULE_OK;
}

static __always_inline bool signal_link_read(struct scratch *state, __u64 sp)
{
	return stack_word(state, sp + SIGNAL_LR, &state->unwind.lr);
}

#endif

static __always_inline int frame_of_special(const struct scratch *state, __u32 row,
					    struct frame *out)
{
	__u32 what = row >> JBPF_ROW_VALUE_SHIFT;

	if (what == JBPF_SPECIAL_FRAME) {
		frame_of_function(state, row, out);
		return RULE_OK;
	}
	if (what == JBPF_SPECIAL_END)
		return JBPF_END_ROOT;
	if (what == JBPF_SPECIAL_PLT) {
		out->cfa = state->unwind.sp + 8 + ((state->address & 15) >= 11 ? 8 : 0);
		out->slot = 0;
		return RULE_OK;
	}
	if (what == SPECIAL_KEEPS_FP) {
		out->cfa = state->fp + 16;
		out->slot = 2;
		return state->fp ? RULE_OK : JBPF_END_ROOT;
	}
	if (what == JBPF_SPECIAL_UNSUPPORTED)
		return JBPF_END_UNSUPPORTED;
	return what == SPECIAL_NO_MAPPING ? JBPF_END_NO_MAPPING : JBPF_END_NO_RULE;
}

/* CFA = *(base + 8 * n) + 8 * m, n and m in the row's value. */
static __always_inline int frame_at(struct scratch *state, __u64 base, __u32 value,
				    struct frame *out)
{
	__u64 at = base + (__s64)((__s32)(value << 22) >> 25) * 8;

	if (!stack_word(state, at, &out->cfa))
		return JBPF_END_FAULT;
	out->cfa += 8 * (value & 7);
	return RULE_OK;
}

static __always_inline int frame_find(struct scratch *state, __u32 row, struct frame *out)
{
	__u32 kind = row >> JBPF_ROW_KIND_SHIFT & JBPF_ROW_KIND_MASK;
	__u64 value = row >> JBPF_ROW_VALUE_SHIFT;

	out->slot = row >> JBPF_ROW_SLOT_SHIFT & JBPF_ROW_SLOT_MASK;
	if (kind == JBPF_ROW_SP) {
		out->cfa = state->unwind.sp + 8 * value;
		return RULE_OK;
	}
	if (kind == JBPF_ROW_FP) {
		out->cfa = state->fp + 8 * value;
		return RULE_OK;
	}
	if (kind == JBPF_ROW_SPECIAL)
		return frame_of_special(state, row, out);
	if (kind == JBPF_ROW_BIG) {
		value = row >> JBPF_ROW_SLOT_SHIFT;
		out->slot = value & 7;
		out->cfa = state->unwind.sp + (value >> 3) * 8;
		return RULE_OK;
	}
	if (kind == JBPF_ROW_AT_FP)
		return frame_at(state, state->fp, value, out);
	if (kind == JBPF_ROW_AT_SP)
		return frame_at(state, state->unwind.sp, value, out);
	return JBPF_END_UNSUPPORTED;
}

/*
 * A handler returns to the first instruction of a signal's frame, with no call before it: its word,
 * the last one taken, becomes one more. A reader takes one less of each word, and so finds it.
 */
static __always_inline void signal_word_correct(struct scratch *state)
{
	__u64 word = state->address + 1;

	if (state->unwind.is_exact)
		return;
	state->hash = hash_add(state->unwind.hash, word);
	put_word(state, state->depth - 1, word);
}

/*
 * Behind a signal's frame is what the signal interrupted, at an address that is no return address
 * either. The stack may be another one, anywhere.
 */
static __always_inline int signal_step(struct scratch *state)
{
	__u64 sp = state->unwind.sp, fp, next_sp, address;
	int end;

	if (!stack_word(state, sp + SIGNAL_FP, &fp) ||
	    !stack_word(state, sp + SIGNAL_SP, &next_sp) ||
	    !stack_word(state, sp + SIGNAL_IP, &address))
		return JBPF_END_FAULT;
	signal_word_correct(state);
	end = address_take(state, address + 1);
	if (end != RULE_OK)
		return end;
	state->address = address;
	state->unwind.sp = next_sp;
	state->fp = fp;
	state->unwind.is_exact = 1;
	return signal_link_read(state, sp) ? RULE_OK : JBPF_END_FAULT;
}

static __always_inline int rule_step(struct scratch *state, __u32 row)
{
	__u64 address, fp = state->fp;
	struct frame frame;
	int end;

	if ((row & ~JBPF_ROW_PC_MASK) == special_row(JBPF_SPECIAL_SIGNAL))
		return signal_step(state);
	end = frame_find(state, row, &frame);
	if (end == RULE_OK)
		end = frame_read(state, &frame, &address, &fp);
	if (end != RULE_OK)
		return end;
	address = return_address(address);
	end = address_take(state, address);
	if (end != RULE_OK)
		return end;
	state->address = address;
	state->unwind.sp = frame.cfa;
	state->fp = fp;
	state->unwind.is_exact = 0;
	return RULE_OK;
}

/* One frame, or a run of frames of JIT code. */
__noinline int walk_frame(struct bpf_perf_event_data *ctx)
{
	struct scratch *state;
	__u32 row;
	__u64 pc;
	int end;

	asm volatile("" ::"r"(ctx));
	state = scratch_get();
	if (!state)
		return WALK_DONE;
	pc = state->address - !state->unwind.is_exact;
	if (code_view_has(&state->code, pc))
		return jit_step(ctx, state);
	/* No mappings are known: what calls JIT code is libjvm.so, which keeps frame pointers. */
	if (!state->unwind.generation && state->jit.frame_cnt) {
		state->unwind.row = special_row(SPECIAL_KEEPS_FP);
	} else if (!rule_get(ctx, state, pc)) {
		state->end = JBPF_END_MAX_RULES;
		return WALK_DONE;
	}
	row = state->unwind.row;
	end = rule_step(state, row);
	if (end == RULE_OK) {
		state->unwind.frame_cnt += row != special_row(SPECIAL_KEEPS_FP);
		return WALK_MORE;
	}
	state->end = end;
	return WALK_DONE;
}

/* Each takes one word at least. */
__noinline int walk_frames(struct bpf_perf_event_data *ctx)
{
	for (int i = 0; i < WALK_ROUND; i++) {
		if (walk_frame(ctx))
			return WALK_DONE;
	}
	return WALK_MORE;
}

/* `fp`: of the leaf, where that is not what its register says. */
static __always_inline void walk_by_rules_begin(struct scratch *state, const struct user_regs *regs,
						__u64 fp)
{
	state->address = regs->ip;
	state->fp = fp;
	state->unwind.sp = regs->sp;
	state->unwind.lr = regs->lr;
	state->unwind.window_base = ~0ull;
	state->unwind.window_len = sizeof(__u64);
	state->unwind.frame_cnt = 0;
	state->unwind.search_cnt = 0;
	state->jit.frame_cnt = 0;
	state->unwind.is_exact = 1;
	state->end = JBPF_END_MAX_DEPTH;
}

static __always_inline enum jbpf_stack_end walk_by_rules_end(const struct scratch *state)
{
	count_add(JBPF_CNT_FRAMES_TABLE, state->unwind.frame_cnt - state->jit.frame_cnt);
	count_add(JBPF_CNT_FRAMES_JIT, state->jit.frame_cnt);
	return state->end;
}

static __always_inline enum jbpf_stack_end walk_by_rules(struct bpf_perf_event_data *ctx,
							 struct scratch *state,
							 const struct user_regs *regs, __u64 fp)
{
	walk_by_rules_begin(state, regs, fp);
	for (int i = 0; i < WALK_ROUNDS; i++) {
		if (walk_frames(ctx))
			break;
	}
	return walk_by_rules_end(state);
}

#endif
