// SPDX-License-Identifier: Apache-2.0
/*
 * Building: stacks come sorted, so most of a stack is found by comparing it with the one before;
 * only the rest is looked up by (parent, frame). Then children are sorted and everything is laid
 * out in preorder. No recursion anywhere: stacks of 30,000 frames are legal text.
 */
#include "user/output/tree.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "user/model/stack_text.h"
#include "user/util/cleanup.h"
#include "user/util/lines.h"
#include "user/util/saturate.h"
#include "user/util/vec.h"

#define TREE_NONE      UINT32_MAX
#define TREE_ROOT_NAME "all"

/* Key of a node under construction; no padding, it is interned as bytes. */
struct tree_edge {
	uint32_t parent;
	uint32_t frame;
};

/* A frame of the stack added last: the node it became and where its text ended. */
struct tree_step {
	uint32_t node;
	size_t end;
};

/* Nodes in order of creation: a parent comes before its children. */
struct tree_builder {
	struct strtab *names; /* kind byte + name */
	struct strtab *edges; /* id + 1 = node */
	uint64_t *selfs;
	size_t self_cap;
	uint64_t (*tiers)[FRAME_KIND_CNT]; /* only of methods */
	struct tree_step *steps;
	size_t step_cnt;
	size_t step_cap;
	struct strbuf key;
};

/* Order in which a node's children are laid out. */
struct tree_slot {
	uint32_t parent;
	uint32_t rank; /* of the frame's name */
	uint32_t node;
};

static void tree_builder_release(struct tree_builder *builder)
{
	strtab__free(builder->names);
	strtab__free(builder->edges);
	free(builder->selfs);
	free(builder->tiers);
	free(builder->steps);
	strbuf_release(&builder->key);
}

static bool tree_name_is(const char *name, size_t len, const char *marker)
{
	return len == strlen(marker) && memcmp(name, marker, len) == 0;
}

enum tree_kind tree_kind_of_native(const char *name, size_t len)
{
	if (len < 2 || name[0] != '[' || name[len - 1] != ']')
		return TREE_KIND_NATIVE;
	if (tree_name_is(name, len, STACK_LINE_CPU_WAIT) ||
	    tree_name_is(name, len, STACK_LINE_DISK))
		return TREE_KIND_WAIT;
	return TREE_KIND_UNKNOWN;
}

static enum tree_kind tree_kind_of(const struct stack_frame *frame, bool is_first)
{
	if (frame->kind != FRAME_KIND_NATIVE)
		return (enum tree_kind)frame->kind;
	return is_first ? TREE_KIND_PROCESS : tree_kind_of_native(frame->name, frame->name_len);
}

static struct tree_frame tree_frame_of(const struct stack_frame *frame, bool is_first)
{
	return (struct tree_frame){ .name = frame->name,
				    .name_len = frame->name_len,
				    .kind = tree_kind_of(frame, is_first) };
}

static int tree_intern_frame(struct tree_builder *builder, const char *name, size_t len,
			     enum tree_kind kind, uint32_t *frame_out)
{
	int err;

	strbuf_clear(&builder->key);
	strbuf_putc(&builder->key, (char)kind);
	strbuf_append(&builder->key, name, len);
	err = strbuf_error(&builder->key);
	if (!err)
		err = strtab__intern(builder->names, builder->key.data, builder->key.len,
				     frame_out);
	return err;
}

static int tree_push_step(struct tree_builder *builder, struct tree_step step)
{
	if (vec_room(builder->steps, builder->step_cnt, builder->step_cap, 256))
		return -ENOMEM;
	builder->steps[builder->step_cnt++] = step;
	return 0;
}

/* The child of `parent` for a frame, made when new. */
static int tree_child(struct tree_builder *builder, uint32_t parent, const struct tree_frame *frame,
		      uint32_t *node_out)
{
	struct tree_edge edge = { .parent = parent };
	size_t old_cap;
	uint32_t id;
	int err;

	err = tree_intern_frame(builder, frame->name, frame->name_len, frame->kind, &edge.frame);
	if (!err)
		err = strtab__intern(builder->edges, &edge, sizeof(edge), &id);
	if (err)
		return err;
	*node_out = id + 1;
	old_cap = builder->self_cap;
	err = vec_room(builder->selfs, *node_out, builder->self_cap, 1);
	memset(builder->selfs + old_cap, 0,
	       (builder->self_cap - old_cap) * sizeof(*builder->selfs));
	return err;
}

/* `common` bytes of the text are those of the stack added before. */
static int tree_add(struct tree_builder *builder, const struct profile_stack *stack, size_t common)
{
	const char *text = stack->text;
	size_t len = stack->len;
	size_t old_cnt = builder->step_cnt;
	size_t depth = 0;
	uint32_t node = 0;
	struct stack_frame frame;

	while (stack_text_next(&text, &len, &frame)) {
		size_t end = (size_t)(frame.text - stack->text) + frame.text_len;
		struct tree_frame child;
		int err;

		if (depth < old_cnt && end <= common && builder->steps[depth].end == end) {
			node = builder->steps[depth++].node;
			continue;
		}
		old_cnt = 0;
		builder->step_cnt = depth++;
		child = tree_frame_of(&frame, node == 0);
		err = tree_child(builder, node, &child, &node);
		if (!err)
			err = tree_push_step(builder,
					     (struct tree_step){ .node = node, .end = end });
		if (err)
			return err;
	}
	builder->step_cnt = depth;
	builder->selfs[node] = add_saturated(builder->selfs[node], stack->count);
	return 0;
}

static size_t common_bytes(const struct profile_stack *a, const struct profile_stack *b)
{
	size_t max = a->len < b->len ? a->len : b->len;
	size_t i = 0;

	while (i < max && a->text[i] == b->text[i])
		i++;
	return i;
}

static int tree_add_all(struct tree_builder *builder, struct profile *profile)
{
	struct profile_stack last = { .text = "" };
	size_t cnt = profile__stack_count(profile);

	profile__sort(profile);
	for (size_t i = 0; i < cnt; i++) {
		struct profile_stack stack = profile__stack(profile, i);
		int err = tree_add(builder, &stack, common_bytes(&last, &stack));

		if (err)
			return err;
		last = stack;
	}
	return 0;
}

/* ---- from the order of creation to preorder ---- */

int tree_compare_frames(const struct tree_frame *a, const struct tree_frame *b)
{
	int order = bytes_compare(a->name, a->name_len, b->name, b->name_len);

	return order ? order : (a->kind > b->kind) - (a->kind < b->kind);
}

int tree_compare_frame_ids(const void *left, const void *right, void *frames)
{
	const struct tree_frame *all = frames;

	return tree_compare_frames(&all[*(const uint32_t *)left], &all[*(const uint32_t *)right]);
}

static int compare_slots(const void *left, const void *right)
{
	const struct tree_slot *a = left;
	const struct tree_slot *b = right;

	if (a->parent != b->parent)
		return a->parent > b->parent ? 1 : -1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

static struct tree_frame *tree_frames(const struct strtab *names)
{
	uint32_t cnt = strtab__count(names);
	struct tree_frame *frames = reallocarray(NULL, cnt, sizeof(*frames));

	if (!frames)
		return NULL;
	for (uint32_t i = 0; i < cnt; i++) {
		size_t len;
		const char *key = strtab__get(names, i, &len);

		frames[i] = (struct tree_frame){
			.name = key + 1,
			.name_len = len - 1,
			.kind = (enum tree_kind)(unsigned char)key[0],
		};
	}
	/* It was interned with a kind of its own so that a process may be called "all", too. */
	frames[0].kind = TREE_KIND_PROCESS;
	return frames;
}

/* Place of each frame in the order of names. */
static uint32_t *tree_ranks(struct tree_frame *frames, size_t cnt)
{
	__cleanup_free uint32_t *order = reallocarray(NULL, cnt, sizeof(*order));
	uint32_t *ranks = reallocarray(NULL, cnt, sizeof(*ranks));

	if (!order || !ranks) {
		free(ranks);
		return NULL;
	}
	for (size_t i = 0; i < cnt; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, cnt, sizeof(*order), tree_compare_frame_ids, frames);
	for (size_t i = 0; i < cnt; i++)
		ranks[order[i]] = (uint32_t)i;
	return ranks;
}

static struct tree_edge tree_edge_of(const struct tree_builder *builder, uint32_t node)
{
	struct tree_edge edge;

	memcpy(&edge, strtab__get(builder->edges, node - 1, NULL), sizeof(edge));
	return edge;
}

/* All nodes but the root, sorted so that siblings are neighbours. */
static struct tree_slot *tree_slots(const struct tree_builder *builder, const uint32_t *ranks)
{
	uint32_t cnt = strtab__count(builder->edges);
	struct tree_slot *slots = reallocarray(NULL, (size_t)cnt + 1, sizeof(*slots));

	if (!slots)
		return NULL;
	for (uint32_t i = 0; i < cnt; i++) {
		struct tree_edge edge = tree_edge_of(builder, i + 1);

		slots[i] = (struct tree_slot){
			.parent = edge.parent,
			.rank = ranks[edge.frame],
			.node = i + 1,
		};
	}
	if (cnt)
		qsort(slots, cnt, sizeof(*slots), compare_slots);
	slots[cnt] = (struct tree_slot){ .parent = TREE_NONE };
	return slots;
}

static void tree_sum(struct tree *tree)
{
	for (size_t i = 0; i < tree->node_cnt; i++)
		tree->nodes[i].total = tree->nodes[i].self;
	for (size_t i = tree->node_cnt - 1; i > 0; i--) {
		struct tree_node *parent = &tree->nodes[tree->nodes[i].parent];

		parent->total = add_saturated(parent->total, tree->nodes[i].total);
	}
}

/* Work still to do while laying out: a run of siblings. */
struct tree_pending {
	uint32_t slot;	 /* next sibling */
	uint32_t parent; /* in the new numbering */
};

static int tree_lay_out(const struct tree_builder *builder, const struct tree_slot *slots,
			struct tree *out)
{
	size_t node_cnt = out->node_cnt;
	__cleanup_free uint32_t *first = reallocarray(NULL, node_cnt, sizeof(*first));
	__cleanup_free struct tree_pending *todo = reallocarray(NULL, node_cnt + 1, sizeof(*todo));
	size_t todo_cnt = 0;
	uint32_t next = 1;

	if (!first || !todo)
		return -ENOMEM;
	memset(first, 0xff, node_cnt * sizeof(*first));
	for (size_t i = node_cnt - 1; i > 0; i--)
		first[slots[i - 1].parent] = (uint32_t)(i - 1);

	out->nodes[0] = (struct tree_node){ .self = builder->selfs[0] };
	if (first[0] != TREE_NONE)
		todo[todo_cnt++] = (struct tree_pending){ .slot = first[0], .parent = 0 };
	while (todo_cnt > 0) {
		struct tree_pending *top = &todo[todo_cnt - 1];
		const struct tree_slot *slot = &slots[top->slot];
		uint32_t parent = top->parent;

		if (slot[1].parent == slot->parent)
			top->slot++;
		else
			todo_cnt--;
		out->nodes[next] = (struct tree_node){
			.frame = tree_edge_of(builder, slot->node).frame,
			.parent = parent,
			.depth = out->nodes[parent].depth + 1,
			.tiers = slot->node,
			.self = builder->selfs[slot->node],
		};
		if (first[slot->node] != TREE_NONE)
			todo[todo_cnt++] =
				(struct tree_pending){ .slot = first[slot->node], .parent = next };
		next++;
	}
	tree_sum(out);
	return 0;
}

static int tree_finish(struct tree_builder *builder, struct tree *out)
{
	__cleanup_free uint32_t *ranks = NULL;
	__cleanup_free struct tree_slot *slots = NULL;
	struct tree tree = { .frame_cnt = strtab__count(builder->names),
			     .node_cnt = (size_t)strtab__count(builder->edges) + 1 };
	int err = -ENOMEM;

	tree.frames = tree_frames(builder->names);
	tree.nodes = reallocarray(NULL, tree.node_cnt, sizeof(*tree.nodes));
	if (tree.frames)
		ranks = tree_ranks(tree.frames, tree.frame_cnt);
	if (ranks)
		slots = tree_slots(builder, ranks);
	if (slots && tree.nodes)
		err = tree_lay_out(builder, slots, &tree);
	if (err) {
		tree_release(&tree);
		return err;
	}
	tree.names = take_ptr(builder->names);
	tree.tiers = take_ptr(builder->tiers);
	*out = tree;
	return 0;
}

/* Released by the caller, also when it fails. */
static int tree_begin(struct tree_builder *builder)
{
	uint32_t root_frame;

	*builder = (struct tree_builder){
		.names = strtab__new(),
		.edges = strtab__new(),
		.selfs = calloc(256, sizeof(*builder->selfs)),
		.self_cap = 256,
	};
	if (!builder->names || !builder->edges || !builder->selfs)
		return -ENOMEM;
	return tree_intern_frame(builder, TREE_ROOT_NAME, strlen(TREE_ROOT_NAME), TREE_KIND_CNT,
				 &root_frame);
}

/* In preorder, so that the node of a parent is known: places[] has it. */
static int tree_add_methods(struct tree_builder *builder, const struct tree *tree, uint32_t *places)
{
	places[0] = 0;
	builder->selfs[0] = tree->nodes[0].self;
	for (size_t i = 1; i < tree->node_cnt; i++) {
		const struct tree_node *node = &tree->nodes[i];
		struct tree_frame frame = tree->frames[node->frame];
		enum tree_kind tier = frame.kind;
		uint64_t *part;
		int err;

		if (tree_kind_is_java(tier))
			frame.kind = TREE_KIND_JIT;
		err = tree_child(builder, places[node->parent], &frame, &places[i]);
		if (err)
			return err;
		builder->selfs[places[i]] = add_saturated(builder->selfs[places[i]], node->self);
		if (!tree_kind_is_java(tier))
			continue;
		part = &builder->tiers[places[i]][tier];
		*part = add_saturated(*part, node->total);
	}
	return 0;
}

int tree_build_methods(struct profile *profile, struct tree *out)
{
	__cleanup_free uint32_t *places = NULL;
	struct tree_builder builder = { .names = NULL };
	struct tree tree;
	int err = tree_build(profile, &tree);

	if (err)
		return err;
	err = tree_begin(&builder);
	if (!err) {
		/* There are not more of them. */
		places = calloc(tree.node_cnt, sizeof(*places));
		builder.tiers = calloc(tree.node_cnt, sizeof(*builder.tiers));
		err = places && builder.tiers ? tree_add_methods(&builder, &tree, places) : -ENOMEM;
	}
	if (!err)
		err = tree_finish(&builder, out);
	tree_builder_release(&builder);
	tree_release(&tree);
	return err;
}

int tree_build(struct profile *profile, struct tree *out)
{
	struct tree_builder builder;
	int err = tree_begin(&builder);

	if (!err)
		err = tree_add_all(&builder, profile);
	if (!err)
		err = tree_finish(&builder, out);
	tree_builder_release(&builder);
	return err;
}

void tree_release(struct tree *tree)
{
	free(tree->nodes);
	free(tree->frames);
	free(tree->tiers);
	strtab__free(tree->names);
	*tree = (struct tree){ 0 };
}
