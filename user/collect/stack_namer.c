// SPDX-License-Identifier: Apache-2.0
/*
 * Names one stack. A line has room for STACK_TEXT_MAX_BYTES: when a deep stack with long names does
 * not fit, root frames are left out and "[truncated]" stands for them, since the leaf end tells
 * where the CPU was.
 */
#include "user/collect/stack_namer.h"

#include <string.h>

#include "user/model/stack_text.h"

#define FRAME_STACK_LOST  "[stack lost]"
#define FRAME_CUT	  "[cut]"
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

/* Writes frames, leaf first; false when there is no room for all. */
static bool write_frames(struct stack_line *line, const struct frame_list *frames)
{
	for (size_t i = 0; i < frames->cnt; i++)
		if (!stack_line_prepend(line, frames->items[i].name, frames->items[i].kind))
			return false;
	return true;
}

/* The line of what is in namer->kernel and namer->user. */
static const char *build_text(struct stack_namer *namer, const char *comm, bool is_truncated,
			      size_t *len_out)
{
	struct stack_line *line = &namer->line;
	bool is_whole;

	stack_line_begin(line, comm, STACK_TEXT_NAME_BYTES);
	is_whole = write_frames(line, &namer->kernel) && write_frames(line, &namer->user);
	return stack_line_finish(
		line, is_truncated || !is_whole ? STACK_LINE_CUT : STACK_LINE_WHOLE, len_out);
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
	err = symbols_process__resolve(process->symbols, &words, value->first_ns, &namer->user);
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
	return symbolizer__resolve_kernel(namer->symbolizer, stack.ips, stack.frame_cnt,
					  &namer->kernel);
}

/* A sample in the kernel has no source line that would be its own. */
static int add_line(const struct stack_namer *namer, uint64_t samples, struct source_lines *lines)
{
	const struct frame *leaf = namer->user.items;

	if (namer->kernel.cnt || !namer->user.cnt || !leaf->file)
		return 0;
	return source_lines__add(lines, leaf->name, leaf->kind, leaf->file, leaf->line, samples);
}

int stack_namer_add(struct stack_namer *namer, struct process *process,
		    const struct probe_count *count, const struct stack_namer_target *target)
{
	struct window *window = target->window;
	uint64_t samples = count->value.count;
	bool is_truncated;
	const char *text;
	size_t len;
	int err;

	err = name_user(namer, process, count->key.user_hash, &count->value, &is_truncated);
	if (!err)
		err = name_kernel(namer, count->key.kernel_hash);
	if (err)
		return err;
	text = build_text(namer, process->comm, is_truncated, &len);
	err = profile__add(target->profile, text, len, samples);
	if (!err)
		err = add_line(namer, samples, target->lines);
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
