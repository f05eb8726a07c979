// SPDX-License-Identifier: Apache-2.0
/*
 * From the words of a user stack to its frames: what lies in the code of a source that knows its own
 * (HotSpot's) may be several frames
 * (inlined), need the word behind it (interpreted), lack its caller (leaf) or have no callers on
 * this stack at all (virtual threads); everything else is one address, one frame.
 */
#include <errno.h>
#include <linux/types.h>
#include <string.h>

#include "bpf/jbpf.h"
#include "bpf/jbpf_leaf.h"
#include "symbols/symbols_frames.h"
#include "symbols/symbols_process.h"
#include "user/util/clock.h"

/*
 * A virtual thread runs on the stack of a carrier thread, whose frames say nothing about it: they
 * are left out, and this stands for them. Where its own callers are not on the stack but in a
 * continuation object, another one stands for those.
 */
#define FRAME_VTHREAD	  "[vthread]"
#define FRAME_FROZEN	  "[frozen frames]"
#define FRAME_UNKNOWN_JIT "[unknown jit]"

struct stack_walk {
	struct symbols_process *process;
	const struct symbols_stack *stack;
	struct jit_vm_query query; /* what all words share */
	struct frame_list *out;	   /* NULL: only prefetching */
	bool is_over;		   /* the rest is the carrier thread's, or nobody's */
	bool is_refuted;	   /* the leaf's caller is not where the walk found it */
};

static bool answer_holds(const struct symbols_process *process, const struct answer *answer,
			 uint64_t since_boot_ns)
{
	if (answer->kind == ANSWER_KIND_JIT)
		return answer->epoch == symbols_process_jit_epoch(process, since_boot_ns);
	if (answer->kind == ANSWER_KIND_MISSING)
		return answer->epoch == (process->refresh_cnt & ANSWER_EPOCH_MASK);
	return true;
}

static int push_text(struct stack_walk *walk, const char *name, bool is_unknown)
{
	struct frame frame = {
		.name = name,
		.kind = FRAME_KIND_NATIVE,
		.is_unknown = is_unknown,
	};

	return walk->out ? frame_list_push(walk->out, &frame) : 0;
}

/* ---- one word ---- */

static int push_address(struct stack_walk *walk, uint64_t address)
{
	struct symbols_process *process = walk->process;
	const struct answer *known = addr_cache_find(&process->answers, address);
	uint64_t since_boot_ns = walk->query.since_boot_ns;
	struct answer answer;
	int err;

	if (!walk->out)
		return 0;
	if (known && answer_holds(process, known, since_boot_ns)) {
		answer = *known;
	} else {
		err = symbols_process_read_answer(process, address, since_boot_ns, &answer);
		if (err)
			return err;
		addr_cache_put(&process->answers, address, answer);
	}
	return frame_list_add(walk->out, process->names, &answer);
}

static int push_vm_frames(struct stack_walk *walk, const struct jit_vm_answer *answer)
{
	const struct name_table *names = walk->process->names;
	int err = 0;

	for (size_t i = 0; i < answer->cnt && walk->out && !err; i++) {
		const struct jit_vm_frame *from = &answer->frames[i];
		bool has_file = from->file != JIT_VM_NO_FILE;
		struct frame frame = {
			.name = name_table__text(names, from->name),
			.file = has_file ? name_table__text(names, from->file) : NULL,
			.line = from->line,
			.kind = (enum frame_kind)from->kind,
			.is_unknown = from->is_unknown || name_table__is_unknown(names, from->name),
		};

		err = frame_list_push(walk->out, &frame);
		if (frame.is_unknown && answer->is_new && walk->query.mode == JIT_VM_RESOLVE)
			walk->process->unknown_jit_cnt++;
	}
	return err;
}

/* No name: -ENOENT or -EXDEV. */
static int push_vm_unknown(struct stack_walk *walk, const struct jit_vm_answer *answer, int why)
{
	if (answer->is_new && walk->query.mode == JIT_VM_RESOLVE) {
		if (why == -EXDEV)
			walk->process->ambiguous_jit_cnt++;
		else
			walk->process->unknown_jit_cnt++;
	}
	return push_text(walk, FRAME_UNKNOWN_JIT, true);
}

static int push_vm_place(struct stack_walk *walk, const struct jit_vm_answer *answer, bool is_leaf)
{
	int err = 0;

	if (answer->frames[0].place == JIT_VM_PLACE_FROZEN) {
		/* The stub itself runs only as a leaf; as a caller it stands for those that are not here. */
		if (is_leaf)
			err = push_vm_frames(walk, answer);
		if (!err)
			err = push_text(walk, FRAME_FROZEN, false);
		walk->is_over = true;
	} else if (answer->frames[0].place == JIT_VM_PLACE_ENTER && !is_leaf) {
		walk->is_over = true;
	} else {
		err = push_vm_frames(walk, answer);
	}
	if (walk->is_over && !err)
		err = push_text(walk, FRAME_VTHREAD, false);
	return err;
}

static void prove_leaf(struct symbols_process *process, const struct jit_source_use *source,
		       const struct jit_vm_query *query)
{
	if (!source->ops->prove_leaf ||
	    !source->ops->prove_leaf(source->state, query, &process->leaf.proof))
		return;
	process->leaf.is_there = true;
	process->leaf.address = query->word;
	memcpy(process->leaf.code, query->leaf_code, sizeof(process->leaf.code));
}

static bool stack_is_guessed(const struct symbols_stack *stack)
{
	return stack->leaf_rule == JBPF_LEAF_RULE_GUESSED;
}

/* 0: it is no address. */
static uint64_t leaf_word(const struct symbols_stack *stack, size_t i)
{
	uint64_t word = stack->leaf_words ? stack->leaf_words[i] : 0;

	return word & SYMBOLS_WORD_METHOD ? 0 : word;
}

/* The Method* of the interpreted frame that this word is of; 0: not known. */
static uint64_t leaf_method(const struct symbols_stack *stack, size_t i)
{
	uint64_t other = stack->leaf_words[1 - i];

	return other & SYMBOLS_WORD_METHOD ? other : 0;
}

/*
 * Is the leaf's caller another one than the walk found, going by the code that is there; or was it
 * guessed, and is not proved? By which rule a proved one was found is not known, and the code may be
 * another one by now that begins with the same bytes: but where the caller is next to the stack
 * pointer, it is known which one it is.
 */
static bool leaf_is_refuted(const struct symbols_stack *stack, const struct jit_vm_frame *leaf)
{
	uint8_t refuted = leaf->refuted;

	if (stack_is_guessed(stack))
		return !leaf_rule_confirms(leaf->proved, stack->leaf_guess);
	if (stack->leaf_rule != JBPF_LEAF_RULE_PROVED)
		return refuted >> stack->leaf_rule & 1;
	if (!refuted || !stack->leaf_words || stack->word_cnt < 2)
		return false;
	for (uint32_t way = JBPF_LEAF_RULE_SP; way <= JBPF_LEAF_RULE_SP_8; way++) {
		uint64_t caller = leaf_word(stack, way - JBPF_LEAF_RULE_SP);

		if (!(refuted >> way & 1))
			return caller && caller != stack->words[1];
	}
	return false;
}

/* A word in the code of a source. *verdict_out is that of a leaf, if there is one. */
static int push_vm(struct stack_walk *walk, const struct jit_source_use *source, uint64_t word,
		   uint64_t method, bool is_leaf, enum leaf_verdict *verdict_out)
{
	struct jit_vm_query query = walk->query;
	struct jit_vm_answer answer;
	int err;

	query.word = word;
	query.is_leaf = is_leaf;
	query.method = method & ~SYMBOLS_WORD_METHOD;
	query.leaf_code = is_leaf ? walk->stack->leaf_code : NULL;
	query.is_guessed = query.leaf_code && stack_is_guessed(walk->stack);
	err = source->ops->read_frames(source->state, &query, &answer);
	if (err == -ENOENT || err == -EXDEV)
		return push_vm_unknown(walk, &answer, err);
	if (err)
		return err;
	if (query.leaf_code) {
		*verdict_out = (enum leaf_verdict)answer.frames[0].verdict;
		walk->is_refuted = leaf_is_refuted(walk->stack, &answer.frames[0]);
		if (query.mode == JIT_VM_PREFETCH &&
		    (walk->is_refuted || walk->stack->is_cut_at_leaf))
			prove_leaf(walk->process, source, &query);
	}
	return push_vm_place(walk, &answer, is_leaf);
}

static const struct jit_source_use *walk_owner(const struct stack_walk *walk, uint64_t word,
					       bool is_leaf)
{
	const struct symbols_process *process = walk->process;
	uint64_t address = word - (!is_leaf && word > 0);

	/* Most words of most processes lie in no code of a source. */
	if (address < process->jit_low || address >= process->jit_high)
		return NULL;
	return symbols_process_jit_owner(process, address);
}

/* ---- the leaf's caller ---- */

static int walk_repair(struct stack_walk *walk, enum leaf_verdict verdict)
{
	const struct symbols_stack *stack = walk->stack;
	enum leaf_repair repair = LEAF_REPAIR_NOT_POSSIBLE;
	const struct jit_source_use *source = NULL;
	size_t which = verdict == LEAF_CALLER_AT_SP_8;
	uint64_t caller = 0;
	int err = 0;

	if (verdict == LEAF_CALLER_AT_SP || verdict == LEAF_CALLER_AT_SP_8)
		caller = leaf_word(stack, which);
	if (caller)
		source = walk_owner(walk, caller, false);
	/* The walk knew where the caller is. */
	if (verdict == LEAF_NOT_NEEDED || (stack->leaf_rule && !walk->is_refuted)) {
		repair = LEAF_REPAIR_NOT_NEEDED;
	} else if (source) {
		enum leaf_verdict ignored;
		uint64_t method = leaf_method(stack, which);
		/*
		 * All interpreted callers have the same few return addresses, but where the method is
		 * known, the walk began at its frame, and so behind the return address into it.
		 */
		bool is_there = !method && !walk->is_refuted && stack->word_cnt > 1 &&
				stack->words[1] == caller;

		repair = is_there ? LEAF_REPAIR_NOT_NEEDED : LEAF_REPAIR_DONE;
		if (!is_there)
			err = push_vm(walk, source, caller, method, false, &ignored);
	}
	if (walk->out)
		walk->out->leaf_repair = repair;
	return err;
}

/* ---- all words ---- */

static int walk_word(struct stack_walk *walk, size_t index)
{
	enum leaf_verdict verdict = LEAF_NOT_JUDGED;
	const struct symbols_stack *stack = walk->stack;
	uint64_t word = stack->words[index];
	uint64_t next = index + 1 < stack->word_cnt ? stack->words[index + 1] : 0;
	bool is_leaf = index == 0;
	const struct jit_source_use *source = walk_owner(walk, word, is_leaf);
	int err;

	walk->is_refuted = is_leaf && stack_is_guessed(stack);
	if (source)
		err = push_vm(walk, source, word, next & SYMBOLS_WORD_METHOD ? next : 0, is_leaf,
			      &verdict);
	else
		/* A call may be the last instruction of a function that never returns. */
		err = push_address(walk, word - (!is_leaf && word > 0));
	if (!err && verdict != LEAF_NOT_JUDGED && !walk->is_over)
		err = walk_repair(walk, verdict);
	if (walk->is_refuted) {
		walk->is_over = true;
		if (walk->out)
			walk->out->is_leaf_refuted = true;
	}
	return err;
}

static int walk_all(struct stack_walk *walk)
{
	int err = 0;

	for (size_t i = 0; i < walk->stack->word_cnt && !walk->is_over && !err; i++)
		/* The first is an address, however odd. */
		if (i == 0 || !(walk->stack->words[i] & SYMBOLS_WORD_METHOD))
			err = walk_word(walk, i);
	return err;
}

int symbols_process__read_and_resolve(struct symbols_process *process,
				      const struct symbols_stack *stack, uint64_t since_boot_ns,
				      struct frame_list *out)
{
	struct stack_walk walk = {
		.process = process,
		.stack = stack,
		.query = {
			.mode = JIT_VM_RESOLVE,
			.since_boot_ns = since_boot_ns,
			.until_boot_ns = stack->until_boot_ns,
		},
		.out = out,
	};

	out->leaf_repair = LEAF_REPAIR_NONE;
	out->is_leaf_refuted = false;
	return walk_all(&walk);
}

/* ---- prefetching ---- */

static void prefetch_begin(struct symbols_process *process, uint64_t now_ns, uint64_t read_cnt)
{
	if (process->prefetched_ns)
		return;
	process->prefetched_ns = now_ns;
	process->prefetched_read_cnt = read_cnt;
	process->next_prefetched = process->shared->prefetched;
	process->shared->prefetched = process;
}

int symbols_process__prefetch(struct symbols_process *process, const struct symbols_stack *stack,
			      uint64_t sampled_boot_ns)
{
	uint64_t now_ns = clock_boot_ns();
	uint64_t read_cnt = symbols_process_jit_read_cnt(process);
	bool is_late = now_ns > sampled_boot_ns && now_ns - sampled_boot_ns > JIT_VM_PROMPT_NS;
	struct stack_walk walk = {
		.process = process,
		.stack = stack,
		.query = {
			.mode = is_late ? JIT_VM_PREFETCH_LATE : JIT_VM_PREFETCH,
			.since_boot_ns = sampled_boot_ns,
		},
	};

	process->leaf.is_there = false;
	if (!symbols_process_begin_jit_prefetch(process))
		return 0;
	prefetch_begin(process, now_ns, read_cnt);
	return walk_all(&walk);
}

static enum jbpf_leaf_place kernel_place(enum leaf_rule_place place)
{
	switch (place) {
	case LEAF_RULE_FROM_SP:
		return JBPF_LEAF_FROM_SP;
	case LEAF_RULE_FROM_FP:
		return JBPF_LEAF_FROM_FP;
	case LEAF_RULE_INTERPRETED:
		return JBPF_LEAF_INTERPRETED;
	case LEAF_RULE_CALLER_POPS:
		return JBPF_LEAF_CALLER_POPS;
	case LEAF_RULE_FROM_SAVED_SP:
		return JBPF_LEAF_FROM_SAVED_SP;
	case LEAF_RULE_NOT_PROVED:
		break;
	}
	return JBPF_LEAF_NOWHERE;
}

bool symbols_process__take_leaf_proof(struct symbols_process *process, struct jbpf_leaf_key *key,
				      struct jbpf_leaf_proof *out)
{
	const struct leaf_rule *rule = &process->leaf.proof.rule;

	if (!process->leaf.is_there)
		return false;
	process->leaf.is_there = false;
	*key = (struct jbpf_leaf_key){ .address = process->leaf.address };
	*out = (struct jbpf_leaf_proof){
		.blob = process->leaf.proof.blob,
		.place = (uint16_t)kernel_place(rule->place),
		.arguments = (uint16_t)rule->arguments,
		.saved_at = (uint16_t)rule->saved_at,
		.ra = rule->ra,
		.fp = rule->is_fp_saved ? rule->fp : JBPF_LEAF_FP_SAME,
	};
	memcpy(out->code, process->leaf.code, sizeof(out->code));
	return true;
}

uint64_t symbols_process_end_prefetch(struct symbols_process *process)
{
	/* What was read is another program's if the pid went to one meanwhile. */
	if (symbols_process_jit_read_cnt(process) != process->prefetched_read_cnt &&
	    symbols_process_check(process) == -ESRCH)
		symbols_process_end_jit(process, process->prefetched_ns);
	process->prefetched_ns = 0;
	return symbols_process_jit_prefetch_interval_ns(process);
}
