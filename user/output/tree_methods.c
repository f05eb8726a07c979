// SPDX-License-Identifier: Apache-2.0
/*
 * Self and total per frame, or per method, whichever tiers ran it. One walk in preorder; a count
 * per method of how often it stands on the path from the root keeps recursion from being counted
 * twice.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/output/tree.h"
#include "user/util/cleanup.h"
#include "user/util/saturate.h"

struct ordering {
	const struct tree_frame *frames;
	enum tree_order order;
};

static int compare_methods(const void *left, const void *right, void *ctx)
{
	const struct tree_method *a = left;
	const struct tree_method *b = right;
	const struct ordering *ordering = ctx;
	int by_self = (a->self < b->self) - (a->self > b->self);
	int by_total = (a->total < b->total) - (a->total > b->total);
	int first = ordering->order == TREE_ORDER_TOTAL ? by_total : by_self;
	int second = ordering->order == TREE_ORDER_TOTAL ? by_self : by_total;

	if (first || second)
		return first ? first : second;
	return tree_compare_frames(&ordering->frames[a->frame], &ordering->frames[b->frame]);
}

size_t tree_depth(const struct tree *tree)
{
	size_t depth = 0;

	for (size_t i = 0; i < tree->node_cnt; i++) {
		if (tree->nodes[i].depth > depth)
			depth = tree->nodes[i].depth;
	}
	return depth;
}

bool tree_kind_is_java(enum tree_kind kind)
{
	return kind == TREE_KIND_JIT || kind == TREE_KIND_C1 || kind == TREE_KIND_INTERPRETED ||
	       kind == TREE_KIND_INLINED;
}

static bool is_same_method(const struct tree_frame *a, const struct tree_frame *b)
{
	return tree_kind_is_java(a->kind) && tree_kind_is_java(b->kind) &&
	       a->name_len == b->name_len && memcmp(a->name, b->name, a->name_len) == 0;
}

uint32_t *tree_method_ids(const struct tree *tree)
{
	const struct tree_frame *frames = tree->frames;
	__cleanup_free uint32_t *order = reallocarray(NULL, tree->frame_cnt, sizeof(*order));
	uint32_t *ids = reallocarray(NULL, tree->frame_cnt, sizeof(*ids));
	uint32_t last_java = 0;

	if (!order || !ids) {
		free(ids);
		return NULL;
	}
	for (size_t i = 0; i < tree->frame_cnt; i++)
		order[i] = (uint32_t)i;
	/* Frames of one name lie together then, but one of another kind may lie between its tiers. */
	qsort_r(order, tree->frame_cnt, sizeof(*order), tree_compare_frame_ids, tree->frames);
	for (size_t i = 0; i < tree->frame_cnt; i++) {
		uint32_t frame = order[i];

		ids[frame] = frame;
		if (!tree_kind_is_java(frames[frame].kind))
			continue;
		if (last_java && is_same_method(&frames[last_java], &frames[frame]))
			ids[frame] = ids[last_java];
		last_java = frame;
	}
	return ids;
}

/* The walk: what stands on the path from the root to where it is. */
struct method_path {
	uint32_t *on_path; /* by method: how often */
	uint32_t *path;	   /* methods by depth */
	size_t len;
};

static void tree_count_methods(const struct tree *tree, const uint32_t *ids,
			       struct tree_method *methods, struct method_path *path)
{
	for (size_t i = 1; i < tree->node_cnt; i++) {
		const struct tree_node *node = &tree->nodes[i];
		enum tree_kind kind = tree->frames[node->frame].kind;
		uint32_t id = ids[node->frame];
		struct tree_method *method = &methods[id];

		while (path->len >= node->depth)
			path->on_path[path->path[--path->len]]--;
		method->self = add_saturated(method->self, node->self);
		if (path->on_path[id]++ == 0) {
			method->total = add_saturated(method->total, node->total);
			if (tree_kind_is_java(kind))
				method->tiers[kind] =
					add_saturated(method->tiers[kind], node->total);
		}
		path->path[path->len++] = id;
	}
}

/* A frame's id is that of the method that it counts for. */
static int collect(const struct tree *tree, const uint32_t *ids, enum tree_order order,
		   struct tree_method **out, size_t *cnt_out)
{
	struct ordering ordering = { .frames = tree->frames, .order = order };
	struct tree_method *methods = calloc(tree->frame_cnt, sizeof(*methods));
	__cleanup_free uint32_t *on_path = calloc(tree->frame_cnt, sizeof(*on_path));
	__cleanup_free uint32_t *path = calloc(tree_depth(tree) + 1, sizeof(*path));
	size_t cnt = 0;

	if (!methods || !on_path || !path) {
		free(methods);
		return -ENOMEM;
	}
	tree_count_methods(tree, ids, methods,
			   &(struct method_path){ .on_path = on_path, .path = path });
	/* Frame 0 is the root's and has no place in the list. */
	for (uint32_t i = 1; i < tree->frame_cnt; i++) {
		if (ids[i] != i)
			continue;
		methods[cnt] = methods[i];
		methods[cnt++].frame = i;
	}
	qsort_r(methods, cnt, sizeof(*methods), compare_methods, &ordering);
	*cnt_out = cnt;
	*out = methods;
	return 0;
}

int tree_methods(const struct tree *tree, struct tree_method **out, size_t *cnt_out)
{
	__cleanup_free uint32_t *ids = reallocarray(NULL, tree->frame_cnt, sizeof(*ids));

	if (!ids)
		return -ENOMEM;
	for (size_t i = 0; i < tree->frame_cnt; i++)
		ids[i] = (uint32_t)i;
	return collect(tree, ids, TREE_ORDER_SELF, out, cnt_out);
}

int tree_methods_merged(const struct tree *tree, enum tree_order order, struct tree_method **out,
			size_t *cnt_out)
{
	__cleanup_free uint32_t *ids = tree_method_ids(tree);

	return ids ? collect(tree, ids, order, out, cnt_out) : -ENOMEM;
}
