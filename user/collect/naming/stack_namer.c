// SPDX-License-Identifier: Apache-2.0
/*
 * Names one stack. A line has room for STACK_TEXT_MAX_BYTES: when a deep stack with long names does
 * not fit, root frames are left out and "[truncated]" stands for them, since the leaf end tells
 * where the CPU was.
 */
#include "user/collect/naming/stack_namer.h"

#include <errno.h>
#include <string.h>

#include "user/collect/naming/syscall_names.h"
#include "user/model/stack_text.h"
#include "user/util/account.h"
#include "user/util/cleanup.h"

#define FRAME_STACK_LOST  "[stack lost]"
#define FRAME_SYSCALL	  "[system call]"
#define FRAME_CUT	  "[cut]"
#define FRAME_NOT_NAMED	  "[not named]"
#define FRAME_JIT_UNKNOWN "[unknown jit]"

void stack_namer_release(struct stack_namer *namer)
{
	frame_list_release(&namer->user);
	frame_list_release(&namer->kernel);
	strbuf_release(&namer->thread);
}

static bool frame_is_jit(const struct frame *frame)
{
	return frame->kind >= FRAME_KIND_JIT || strcmp(frame->name, FRAME_JIT_UNKNOWN) == 0;
}

static void count_frames(const struct frame_list *frames, uint64_t samples, struct window *window)
{
	for (size_t i = 0; i < frames->cnt; i++) {
		const struct frame *frame = &frames->items[i];

		window->counts.frames += samples;
		if (frame->is_unknown)
			window->counts.unknown_frames += samples;
		if (frame->kind == FRAME_KIND_INLINED)
			window->counts.inlined_frames += samples;
		if (frame->kind == FRAME_KIND_INTERPRETED)
			window->counts.interpreted_frames += samples;
		if (frame_is_jit(frame)) {
			window->counts.jit_frames += samples;
			if (frame->is_unknown)
				window->counts.unknown_jit_frames += samples;
		}
	}
}

static void count_leaf(enum leaf_repair repair, uint64_t samples, struct window *window)
{
	if (repair == LEAF_REPAIR_NONE)
		return;
	window->counts.jit_leaf_samples += samples;
	if (repair == LEAF_REPAIR_DONE)
		window->counts.repaired_samples += samples;
	else if (repair == LEAF_REPAIR_NOT_POSSIBLE)
		window->counts.unrepaired_samples += samples;
}

static void count_end(enum stack_end end, uint64_t samples, struct window *window)
{
	if (end == STACK_END_ROOT)
		return;
	window->counts.truncated_samples += samples;
	window->counts.ends[end] += samples;
}

/*
 * Does the user stack reach the thread's first frame? A chain that ends with a zero frame pointer
 * after a single frame does not prove it: code without frame pointers often has 0 in the register.
 */
static bool stack_is_whole(const struct probe_stack *stack, const struct frame_list *frames)
{
	if (symbols_reaches_root(frames->items, frames->cnt))
		return true;
	return stack->end == JBPF_END_ROOT && frames->cnt > 1;
}

/* How much of a stack may be written. */
struct room {
	size_t name_bytes;
	size_t frames;
};

static struct room room_of(enum account_text text)
{
	static const struct room rooms[ACCOUNT_TEXT_CNT] = {
		[ACCOUNT_TEXT_WHOLE] = { STACK_TEXT_NAME_BYTES, SIZE_MAX },
		[ACCOUNT_TEXT_SHORT_NAMES] = { ACCOUNT_TEXT_SHORT_NAME_BYTES, SIZE_MAX },
		[ACCOUNT_TEXT_SHALLOW] = { ACCOUNT_TEXT_SHORT_NAME_BYTES,
					   ACCOUNT_TEXT_SHALLOW_FRAMES },
		[ACCOUNT_TEXT_LEAF] = { ACCOUNT_TEXT_SHORT_NAME_BYTES, 1 },
		[ACCOUNT_TEXT_NOTHING] = { ACCOUNT_TEXT_SHORT_NAME_BYTES, 0 },
	};

	return rooms[text];
}

/* Writes frames, leaf first, and takes them off room->frames; false when not all are there. */
static bool write_frames(struct stack_line *line, const struct frame_list *frames,
			 struct room *room)
{
	for (size_t i = 0; i < frames->cnt; i++) {
		const struct frame *frame = &frames->items[i];

		if (room->frames == 0 || !stack_line_prepend(line, frame->name, frame->kind))
			return false;
		room->frames--;
	}
	return true;
}

/* How a user stack ended, as counted; and whether the text says so itself. */
struct ending {
	enum stack_end end;
	bool is_marked; /* a frame stands for the whole stack: no other is needed */
};

/* The line of what is in namer->kernel and namer->user. A line that is full is an end, too. */
static const char *build_text(struct stack_namer *namer, const char *comm, struct room room,
			      struct ending *ending, bool is_idle, size_t *len_out)
{
	struct stack_line *line = &namer->line;
	bool is_truncated = ending->end != STACK_END_ROOT && !ending->is_marked;
	bool is_whole;

	stack_line_begin(line, comm, room.name_bytes);
	if (is_idle)
		stack_line_idle(line);
	is_whole = write_frames(line, &namer->kernel, &room) &&
		   write_frames(line, &namer->user, &room);
	/* What an account has no room for is charged to it: bill_text(). */
	if (!is_whole && room.frames && ending->end == STACK_END_ROOT)
		ending->end = STACK_END_LONG_TEXT;
	return stack_line_finish(
		line, is_truncated || !is_whole ? STACK_LINE_CUT : STACK_LINE_WHOLE, len_out);
}

/* Charges what was cut to the account that pays for it. */
static void bill_text(struct account *account, enum account_text text, uint64_t samples)
{
	static const enum account_cut cuts[ACCOUNT_TEXT_CNT] = {
		[ACCOUNT_TEXT_SHORT_NAMES] = ACCOUNT_CUT_SHORT_NAMES,
		[ACCOUNT_TEXT_SHALLOW] = ACCOUNT_CUT_DEPTH,
		[ACCOUNT_TEXT_LEAF] = ACCOUNT_CUT_LEAF,
		[ACCOUNT_TEXT_NOTHING] = ACCOUNT_CUT_LEAF,
	};

	if (text != ACCOUNT_TEXT_WHOLE)
		account__note_cut(account, cuts[text], samples);
}

static void bill_names(struct account *account, const struct frame_list *frames, uint64_t samples)
{
	for (size_t i = 0; account && i < frames->cnt; i++)
		if (frames->items[i].is_unknown &&
		    strcmp(frames->items[i].name, NAMES_TOO_MANY) == 0)
			account__note_cut(account, ACCOUNT_CUT_NAMES, samples);
}

static int push_marker(struct frame_list *list, const char *name)
{
	struct frame frame = { .name = name, .kind = FRAME_KIND_NATIVE, .is_unknown = true };

	return frame_list_push(list, &frame);
}

/* Why the walk of a stack that is not whole ended. */
static enum stack_end end_of(const struct probe_stack *stack)
{
	static const enum stack_end ends[] = {
		[JBPF_END_ROOT] = STACK_END_NO_FP,
		[JBPF_END_MAX_DEPTH] = STACK_END_MAX_DEPTH,
		[JBPF_END_FAULT] = STACK_END_FAULT,
		[JBPF_END_BAD_FP] = STACK_END_BAD_FP,
		[JBPF_END_LEAF_ONLY] = STACK_END_NO_WALK,
		[JBPF_END_CUT_DEPTH] = STACK_END_OVER_BUDGET,
		[JBPF_END_CUT_LEAF] = STACK_END_OVER_BUDGET,
		[JBPF_END_CUT_ALL] = STACK_END_OVER_BUDGET,
		[JBPF_END_NO_RULE] = STACK_END_NO_RULE,
		[JBPF_END_NO_MAPPING] = STACK_END_NO_MAPPING,
		[JBPF_END_UNSUPPORTED] = STACK_END_UNSUPPORTED,
		[JBPF_END_JIT] = STACK_END_JIT,
		[JBPF_END_BAD_CFA] = STACK_END_BAD_CFA,
		[JBPF_END_FROZEN] = STACK_END_FROZEN,
		[JBPF_END_LEAF] = STACK_END_UNPROVED_LEAF,
		[JBPF_END_MAX_RULES] = STACK_END_MAX_RULES,
	};

	return (size_t)stack->end < ARRAY_SIZE(ends) ? ends[stack->end] : STACK_END_LOST;
}

/* Which file lacks the rule: users are told. */
static void note_end(struct process *process, const struct probe_stack *stack, enum stack_end end,
		     uint64_t samples)
{
	bool is_of_file = end == STACK_END_NO_RULE || end == STACK_END_UNSUPPORTED ||
			  end == STACK_END_BAD_CFA;

	if (is_of_file && stack->frame_cnt)
		symbols_process__note_end(process->symbols, stack->ips[stack->frame_cnt - 1], end,
					  samples);
}

static int push_ending(struct stack_namer *namer, const char *marker, enum stack_end end,
		       struct ending *out)
{
	*out = (struct ending){ .end = end, .is_marked = true };
	return push_marker(&namer->user, marker);
}

/* Fills namer->user and notes whether, and why, the root is missing. */
static int name_user(struct stack_namer *namer, struct process *process, uint64_t hash,
		     const struct jbpf_value *value, struct ending *ending)
{
	struct symbols_stack words;
	struct probe_stack stack;
	int err;

	namer->user.cnt = 0;
	namer->user.leaf_repair = LEAF_REPAIR_NONE;
	*ending = (struct ending){ .end = STACK_END_ROOT };
	if (!hash)
		return 0;
	if (naming_batch_stack(namer->batch, hash, &stack))
		return push_ending(namer, FRAME_STACK_LOST, STACK_END_LOST, ending);
	if (stack.end == JBPF_END_CUT_ALL)
		return push_ending(namer, FRAME_CUT, STACK_END_OVER_BUDGET, ending);
	words = stack_namer_words(&stack);
	words.until_boot_ns = value->last_ns;
	err = symbols_process__read_and_resolve(process->symbols, &words, value->first_ns,
						&namer->user);
	if (err == -ENOMEM)
		return err;
	/* Whatever else it may be, it belongs to this stack alone. */
	if (err) {
		namer->user.cnt = 0;
		return push_ending(namer, FRAME_NOT_NAMED, STACK_END_LOST, ending);
	}
	if (namer->user.is_leaf_refuted) {
		ending->end = STACK_END_UNPROVED_LEAF;
		/* A guess that is not proved does not count. */
		if (stack.leaf_rule != JBPF_LEAF_RULE_GUESSED)
			namer->refuted_samples += value->count;
	} else if (!stack_is_whole(&stack, &namer->user)) {
		ending->end = end_of(&stack);
		note_end(process, &stack, ending->end, value->count);
	}
	return 0;
}

static int push_syscall(struct frame_list *list, uint32_t number)
{
	const char *name = syscall_name(number);
	int err = push_marker(list, name ? name : FRAME_SYSCALL);

	if (!err && name) {
		list->items[list->cnt - 1].kind = FRAME_KIND_KERNEL;
		list->items[list->cnt - 1].is_unknown = false;
	}
	return err;
}

/* A fact, not a frame without a name. */
static int push_disk(struct frame_list *list)
{
	int err = push_marker(list, STACK_LINE_DISK);

	if (!err)
		list->items[list->cnt - 1].is_unknown = false;
	return err;
}

/* What is above the user stack: of the kernel, or the class of which an object is allocated. */
static int name_tip(struct stack_namer *namer, struct process *process,
		    const struct probe_count *count)
{
	const struct jbpf_key *key = &count->key;
	uint64_t hash = key->kernel_hash;
	struct probe_stack stack;

	namer->kernel.cnt = 0;
	if (!hash)
		return 0;
	if (key->kind == JBPF_KEY_ALLOC)
		return symbols_process__read_class(process->symbols, hash, count->value.first_ns,
						   &namer->kernel);
	if ((key->kind == JBPF_KEY_OFF_CPU || key->kind == JBPF_KEY_SCHED) &&
	    hash < JBPF_DISK_SLEEP)
		return push_syscall(&namer->kernel, (uint32_t)hash - 1);
	if (key->kind == JBPF_KEY_OFF_CPU && push_disk(&namer->kernel))
		return -ENOMEM;
	if (key->kind == JBPF_KEY_OFF_CPU && hash == JBPF_DISK_SLEEP)
		return 0;
	if (naming_batch_stack(namer->batch, hash, &stack))
		return push_marker(&namer->kernel, FRAME_STACK_LOST);
	if (symbolizer__read_and_resolve_kernel(namer->symbolizer, stack.ips, stack.frame_cnt,
						&namer->kernel) == 0)
		return 0;
	namer->kernel.cnt = 0;
	return -ENOMEM;
}

/* A sample in the kernel has no source line that would be its own. */
static int add_line(const struct stack_namer *namer, const struct probe_count *count,
		    struct source_lines *lines)
{
	bool is_in_kernel = namer->kernel.cnt && count->key.kind != JBPF_KEY_ALLOC;
	const struct frame *leaf = namer->user.items;

	if (is_in_kernel || !namer->user.cnt || !leaf->file)
		return 0;
	return source_lines__add(lines, leaf->name, leaf->kind, leaf->file, leaf->line,
				 count->value.count);
}

/* The name as it may be shown: a program gives its threads any bytes for names. */
static int add_thread(struct stack_namer *namer, const struct process *process,
		      const struct probe_count *count, uint32_t stack,
		      struct thread_counts *threads)
{
	const char *full = thread_names_find(&process->threads.names, count->value.thread);
	struct strbuf *name = &namer->thread;
	int err;

	strbuf_clear(name);
	if (!count->key.thread)
		strbuf_puts(name, THREAD_NAME_OTHERS);
	else if (!*count->value.thread)
		strbuf_puts(name, THREAD_NAME_UNKNOWN);
	else if (stack_text_append(name, full ? full : count->value.thread, FRAME_KIND_NATIVE))
		return -ENOMEM;
	err = strbuf_error(name);
	return err ? err :
		     thread_counts__add(threads, stack, name->data, name->len, count->value.count);
}

/* 0 or -ENOMEM. `stack` gets its number in the profile. */
static int add_text(struct stack_namer *namer, struct process *process, struct ending *ending,
		    const struct jbpf_value *value, struct profile *profile, uint32_t *stack)
{
	struct account *account = symbols_process__account(process->symbols);
	enum account_text text = account__text(account);
	size_t stack_cnt = profile__stack_count(profile);
	size_t len;
	uint64_t samples = value->count;
	const char *line = build_text(namer, process->comm, room_of(text), ending,
				      value->flags & JBPF_VALUE_IDLE, &len);
	int err = profile__add_numbered(profile, line, len, samples, stack);

	if (err)
		return err;
	if (profile__stack_count(profile) > stack_cnt)
		account__add_text(account, len);
	bill_text(account, text, samples);
	bill_names(account, &namer->user, samples);
	return 0;
}

int stack_namer_add(struct stack_namer *namer, struct process *process,
		    const struct probe_count *count, const struct stack_namer_target *target,
		    uint32_t *stack_out)
{
	struct window *window = target->window;
	uint64_t samples = count->value.count;
	struct ending ending;
	uint32_t stack;
	int err;

	if (!samples)
		return 0;
	err = name_user(namer, process, count->key.user_hash, &count->value, &ending);
	if (!err)
		err = name_tip(namer, process, count);
	if (!err)
		err = add_text(namer, process, &ending, &count->value, target->profile, &stack);
	if (!err)
		err = add_thread(namer, process, count, stack, target->threads);
	if (!err && add_line(namer, count, target->lines) == -ENOMEM)
		err = -ENOMEM;
	if (err)
		return err;
	*stack_out = stack;
	window->counts.samples += samples;
	count_end(ending.end, samples, window);
	count_leaf(namer->user.leaf_repair, samples, window);
	count_frames(&namer->user, samples, window);
	count_frames(&namer->kernel, samples, window);
	return 0;
}
