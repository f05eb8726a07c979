// SPDX-License-Identifier: Apache-2.0
/*
 * Names one stack. A line has room for STACK_TEXT_MAX_BYTES: when a deep stack with long names does
 * not fit, root frames are left out and "[truncated]" stands for them, since the leaf end tells
 * where the CPU was.
 */
#include "user/collect/naming/stack_namer.h"

#include <errno.h>
#include <string.h>

#include "user/model/stack_text.h"
#include "user/util/account.h"

#define FRAME_STACK_LOST  "[stack lost]"
#define FRAME_CUT	  "[cut]"
#define FRAME_NOT_NAMED	  "[not named]"
#define FRAME_JIT_UNKNOWN "[unknown jit]"

void stack_namer_release(struct stack_namer *namer)
{
	frame_list_release(&namer->user);
	frame_list_release(&namer->kernel);
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

/* The line of what is in namer->kernel and namer->user. */
static const char *build_text(struct stack_namer *namer, const char *comm, struct room room,
			      bool is_truncated, size_t *len_out)
{
	struct stack_line *line = &namer->line;
	bool is_whole;

	stack_line_begin(line, comm, room.name_bytes);
	is_whole = write_frames(line, &namer->kernel, &room) &&
		   write_frames(line, &namer->user, &room);
	return stack_line_finish(
		line, is_truncated || !is_whole ? STACK_LINE_CUT : STACK_LINE_WHOLE, len_out);
}

/* What is not as it would be, on the bill of whose it is. */
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

/* Fills namer->user and tells whether the root is missing. */
static int name_user(struct stack_namer *namer, struct process *process, uint64_t hash,
		     const struct jbpf_value *value, bool *is_truncated)
{
	struct symbols_stack words;
	struct probe_stack stack;
	int err;

	namer->user.cnt = 0;
	namer->user.leaf_repair = LEAF_REPAIR_NONE;
	*is_truncated = false;
	if (!hash)
		return 0;
	if (naming_batch_stack(namer->batch, hash, &stack))
		return push_marker(&namer->user, FRAME_STACK_LOST);
	if (stack.end == JBPF_END_CUT_ALL)
		return push_marker(&namer->user, FRAME_CUT);
	words = stack_namer_words(&stack);
	words.until_boot_ns = value->last_ns;
	err = symbols_process__read_and_resolve(process->symbols, &words, value->first_ns,
						&namer->user);
	if (err == -ENOMEM)
		return err;
	/* Whatever else it is, it is this stack's and nobody else's. */
	if (err) {
		namer->user.cnt = 0;
		err = push_marker(&namer->user, FRAME_NOT_NAMED);
	}
	if (err)
		return err;
	*is_truncated = !stack_is_whole(&stack, &namer->user);
	return 0;
}

static int name_kernel(struct stack_namer *namer, uint64_t hash)
{
	struct probe_stack stack;

	namer->kernel.cnt = 0;
	if (!hash)
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
static int add_line(const struct stack_namer *namer, uint64_t samples, struct source_lines *lines)
{
	const struct frame *leaf = namer->user.items;

	if (namer->kernel.cnt || !namer->user.cnt || !leaf->file)
		return 0;
	return source_lines__add(lines, leaf->name, leaf->kind, leaf->file, leaf->line, samples);
}

/* 0 or -ENOMEM. */
static int add_text(struct stack_namer *namer, struct process *process, bool is_truncated,
		    uint64_t samples, struct profile *profile)
{
	struct account *account = symbols_process__account(process->symbols);
	enum account_text text = account__text(account);
	size_t stack_cnt = profile__stack_count(profile);
	size_t len;
	const char *line = build_text(namer, process->comm, room_of(text), is_truncated, &len);
	int err = profile__add(profile, line, len, samples);

	if (err)
		return err;
	if (profile__stack_count(profile) > stack_cnt)
		account__add_text(account, len);
	bill_text(account, text, samples);
	bill_names(account, &namer->user, samples);
	return 0;
}

int stack_namer_add(struct stack_namer *namer, struct process *process,
		    const struct probe_count *count, const struct stack_namer_target *target)
{
	struct window *window = target->window;
	uint64_t samples = count->value.count;
	bool is_truncated;
	int err;

	err = name_user(namer, process, count->key.user_hash, &count->value, &is_truncated);
	if (!err)
		err = name_kernel(namer, count->key.kernel_hash);
	if (!err)
		err = add_text(namer, process, is_truncated, samples, target->profile);
	if (!err && add_line(namer, samples, target->lines) == -ENOMEM)
		err = -ENOMEM;
	if (err)
		return err;
	window->counts.samples += samples;
	if (is_truncated)
		window->counts.truncated_samples += samples;
	count_leaf(namer->user.leaf_repair, samples, window);
	count_frames(&namer->user, samples, window);
	count_frames(&namer->kernel, samples, window);
	return 0;
}
