// SPDX-License-Identifier: Apache-2.0
/*
 * Self and total per method. One walk in preorder; a count per frame of how often it stands on the
 * path from the root keeps recursion from being counted twice.
 */
#include <errno.h>
#include <stdlib.h>

#include "user/output/tree.h"
#include "user/util/cleanup.h"
#include "user/util/saturate.h"

static int compare_methods(const void *left, const void *right, void *frames)
{
	const struct tree_method *a = left;
	const struct tree_method *b = right;
	const struct tree_frame *all = frames;

	if (a->self != b->self)
		return a->self < b->self ? 1 : -1;
	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	return tree_compare_frames(&all[a->frame], &all[b->frame]);
}

static size_t tree_depth(const struct tree *tree)
{
	size_t depth = 0;

	for (size_t i = 0; i < tree->node_cnt; i++) {
		if (tree->nodes[i].depth > depth)
			depth = tree->nodes[i].depth;
	}
	return depth;
}

static void tree_count_methods(const struct tree *tree, struct tree_method *methods,
			       uint32_t *on_path, uint32_t *path)
{
	size_t path_len = 0;

	for (size_t i = 1; i < tree->node_cnt; i++) {
		const struct tree_node *node = &tree->nodes[i];
		struct tree_method *method = &methods[node->frame];

		while (path_len >= node->depth)
			on_path[path[--path_len]]--;
		method->self = add_saturated(method->self, node->self);
		if (on_path[node->frame]++ == 0)
			method->total = add_saturated(method->total, node->total);
		path[path_len++] = node->frame;
	}
}

int tree_methods(const struct tree *tree, struct tree_method **out, size_t *cnt_out)
{
	struct tree_method *methods = calloc(tree->frame_cnt, sizeof(*methods));
	__cleanup_free uint32_t *on_path = calloc(tree->frame_cnt, sizeof(*on_path));
	__cleanup_free uint32_t *path = calloc(tree_depth(tree) + 1, sizeof(*path));

	if (!methods || !on_path || !path) {
		free(methods);
		return -ENOMEM;
	}
	for (size_t i = 0; i < tree->frame_cnt; i++)
		methods[i].frame = (uint32_t)i;
	tree_count_methods(tree, methods, on_path, path);
	/* Frame 0 is the root's and has no place in the list. */
	methods[0] = methods[tree->frame_cnt - 1];
	qsort_r(methods, tree->frame_cnt - 1, sizeof(*methods), compare_methods, tree->frames);
	*cnt_out = tree->frame_cnt - 1;
	*out = methods;
	return 0;
}
