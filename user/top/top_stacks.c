// SPDX-License-Identifier: Apache-2.0
/* Methods, calls and callers of one row; see top_stacks.h. */
#include "user/top/top_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/model/stack_text.h"
#include "user/output/tree.h"
#include "user/util/cleanup.h"
#include "user/util/strbuf.h"
#include "user/util/vec.h"

#define LEAST_SHARE 200 /* a two hundredth of the tree is shown */
#define FRAMES_MAX  (STACK_TEXT_MAX_BYTES / 2)

void top_lines_release(struct top_lines *lines)
{
	for (size_t i = 0; i < lines->cnt; i++)
		free(lines->items[i].name);
	free(lines->items);
	*lines = (struct top_lines){ 0 };
}

static char *name_of(const struct tree_frame *frame)
{
	__cleanup_strbuf struct strbuf name = STRBUF_INIT;

	strbuf_append(&name, frame->name, frame->name_len);
	if (frame->kind < TREE_KIND_UNKNOWN)
		strbuf_puts(&name, frame_kind_suffix((enum frame_kind)frame->kind));
	return strbuf_error(&name) ? NULL : strdup(strbuf_str(&name));
}

/* The line's name is made here. */
static int append_line(struct top_lines *lines, const struct tree_frame *frame,
		       struct top_line line)
{
	line.name = name_of(frame);
	if (!line.name || vec_room(lines->items, lines->cnt, lines->cap, 64)) {
		free(line.name);
		return -ENOMEM;
	}
	lines->items[lines->cnt++] = line;
	return 0;
}

/* ---- methods ---- */

static int compare_totals(const void *left, const void *right)
{
	const struct top_line *a = left;
	const struct top_line *b = right;

	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	return strcmp(a->name, b->name);
}

static int compare_names(const void *left, const void *right)
{
	const struct top_line *a = left;
	const struct top_line *b = right;

	return strcmp(a->name, b->name);
}

static int add_methods(const struct tree *tree, struct top_lines *lines)
{
	__cleanup_free struct tree_method *methods = NULL;
	size_t cnt = 0;
	int err = tree_methods(tree, &methods, &cnt);

	lines->samples = tree->nodes[0].total;
	for (size_t i = 0; i < cnt && lines->cnt < TOP_LINES_MAX && !err; i++) {
		const struct tree_frame *frame = &tree->frames[methods[i].frame];
		const struct top_line line = { .self = methods[i].self, .total = methods[i].total };

		if (frame->kind != TREE_KIND_PROCESS)
			err = append_line(lines, frame, line);
	}
	return err;
}

int top_stacks_methods(struct profile *profile, enum top_order order, struct top_lines *out)
{
	struct top_lines lines = { 0 };
	struct tree tree = { 0 };
	int err = tree_build(profile, &tree);

	if (err)
		return err;
	err = add_methods(&tree, &lines);
	tree_release(&tree);
	if (err) {
		top_lines_release(&lines);
		return err;
	}
	/* They come by self. */
	if (lines.cnt && order == TOP_ORDER_TOTAL)
		qsort(lines.items, lines.cnt, sizeof(*lines.items), compare_totals);
	if (lines.cnt && order == TOP_ORDER_NAME)
		qsort(lines.items, lines.cnt, sizeof(*lines.items), compare_names);
	*out = lines;
	return 0;
}

int top_stacks_names(const struct profile *profile, struct top_lines *out)
{
	struct top_lines lines = { .samples = profile__sample_count(profile) };
	size_t cnt = profile__stack_count(profile);
	int err = 0;

	for (size_t i = 0; i < cnt && lines.cnt < TOP_LINES_MAX && !err; i++) {
		struct profile_stack stack = profile__stack(profile, i);
		const struct tree_frame frame = { .name = stack.text,
						  .name_len = stack.len,
						  .kind = TREE_KIND_UNKNOWN };
		const struct top_line line = { .self = stack.count, .total = stack.count };

		err = append_line(&lines, &frame, line);
	}
	if (err) {
		top_lines_release(&lines);
		return err;
	}
	if (lines.cnt)
		qsort(lines.items, lines.cnt, sizeof(*lines.items), compare_totals);
	*out = lines;
	return 0;
}

/* ---- trees ---- */

struct walk {
	const struct tree *tree;
	uint32_t *first;	/* child of each node with the largest total; 0 = none */
	uint32_t *next;		/* sibling, in order of total */
	uint64_t least_samples; /* what has fewer is left out */
};

/* By parent, the heaviest first; equal ones in the tree's order, by name. */
static int compare_siblings(const void *left, const void *right, void *nodes)
{
	const struct tree_node *all = nodes;
	uint32_t i = *(const uint32_t *)left;
	uint32_t j = *(const uint32_t *)right;

	if (all[i].parent != all[j].parent)
		return all[i].parent < all[j].parent ? -1 : 1;
	if (all[i].total != all[j].total)
		return all[i].total < all[j].total ? 1 : -1;
	return (i > j) - (i < j);
}

/* 0 or -ENOMEM. */
static int chain_children(struct walk *walk)
{
	const struct tree *tree = walk->tree;
	size_t cnt = tree->node_cnt - 1; /* the root is nobody's child */
	__cleanup_free uint32_t *order = calloc(tree->node_cnt, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < cnt; i++)
		order[i] = i + 1;
	qsort_r(order, cnt, sizeof(*order), compare_siblings, tree->nodes);
	for (size_t i = cnt; i--;) {
		uint32_t *first = &walk->first[tree->nodes[order[i]].parent];

		walk->next[order[i]] = *first;
		*first = order[i];
	}
	return 0;
}

static bool is_branch(const struct walk *walk, uint32_t node)
{
	uint32_t first = walk->first[walk->tree->nodes[node].parent];
	uint32_t other = walk->next[first];

	return other && walk->tree->nodes[other].total >= walk->least_samples;
}

/* The next node in the order of lines: down, else to the side, else to the side of one above. 0 = the end. */
static uint32_t step(const struct walk *walk, uint32_t node, uint32_t *indents)
{
	const struct tree_node *nodes = walk->tree->nodes;
	uint32_t child = walk->first[node];

	if (child && nodes[child].total >= walk->least_samples) {
		indents[nodes[child].depth] = indents[nodes[node].depth] + is_branch(walk, child);
		return child;
	}
	for (; node; node = nodes[node].parent) {
		uint32_t other = walk->next[node];

		if (other && nodes[other].total >= walk->least_samples)
			return other;
	}
	return 0;
}

static int add_tree(const struct tree *tree, struct top_lines *lines)
{
	__cleanup_free uint32_t *first = calloc(tree->node_cnt, sizeof(*first));
	__cleanup_free uint32_t *next = calloc(tree->node_cnt, sizeof(*next));
	__cleanup_free uint32_t *indents = calloc(tree_depth(tree) + 1, sizeof(*indents));
	struct walk walk = {
		.tree = tree,
		.first = first,
		.next = next,
		.least_samples = tree->nodes[0].total / LEAST_SHARE + 1,
	};
	uint32_t node = 0;
	int err = 0;

	if (!first || !next || !indents || chain_children(&walk))
		return -ENOMEM;
	lines->samples = tree->nodes[0].total;
	while (!err && lines->cnt < TOP_LINES_MAX && (node = step(&walk, node, indents))) {
		const struct tree_node *at = &tree->nodes[node];
		const struct top_line line = { .indent = indents[at->depth],
					       .is_branch = is_branch(&walk, node),
					       .self = at->self,
					       .total = at->total };

		err = append_line(lines, &tree->frames[at->frame], line);
	}
	return err;
}

int top_stacks_tree(struct profile *profile, struct top_lines *out)
{
	struct top_lines lines = { 0 };
	struct tree tree = { 0 };
	int err = tree_build(profile, &tree);

	if (err)
		return err;
	err = add_tree(&tree, &lines);
	tree_release(&tree);
	if (err)
		top_lines_release(&lines);
	else
		*out = lines;
	return err;
}

/* ---- callers ---- */

/* Frames of a stack up to the last place of the method, which becomes the first: 0 = it is not there. */
static size_t find_method(const struct profile_stack *stack, const char *method,
			  struct stack_frame *frames)
{
	const char *text = stack->text;
	size_t method_len = strlen(method);
	size_t len = stack->len;
	size_t found = 0;
	size_t cnt = 0;

	while (cnt < FRAMES_MAX && stack_text_next(&text, &len, &frames[cnt])) {
		const struct stack_frame *frame = &frames[cnt++];

		if (frame->text_len == method_len && memcmp(frame->text, method, method_len) == 0)
			found = cnt;
	}
	return found;
}

static int add_reversed(struct profile *callers, const struct profile_stack *stack,
			const char *method, struct stack_frame *frames, struct strbuf *scratch)
{
	size_t cnt = find_method(stack, method, frames);

	if (!cnt)
		return 0;
	strbuf_clear(scratch);
	while (cnt--) {
		strbuf_append(scratch, frames[cnt].text, frames[cnt].text_len);
		if (cnt)
			strbuf_putc(scratch, ';');
	}
	if (strbuf_error(scratch))
		return -ENOMEM;
	return profile__add(callers, scratch->data, scratch->len, stack->count);
}

int top_stacks_callers(const struct profile *profile, const char *method, struct top_lines *out)
{
	__cleanup_free struct stack_frame *frames = calloc(FRAMES_MAX, sizeof(*frames));
	__cleanup_strbuf struct strbuf scratch = STRBUF_INIT;
	struct profile *callers = profile__new();
	size_t cnt = profile__stack_count(profile);
	int err = frames && callers ? 0 : -ENOMEM;

	for (size_t i = 0; i < cnt && !err; i++) {
		struct profile_stack stack = profile__stack(profile, i);

		err = add_reversed(callers, &stack, method, frames, &scratch);
	}
	if (!err)
		err = top_stacks_tree(callers, out);
	if (!err)
		out->samples = profile__sample_count(profile);
	profile__free(callers);
	return err;
}
