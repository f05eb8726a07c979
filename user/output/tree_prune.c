// SPDX-License-Identifier: Apache-2.0
/*
 * Pruning to a budget of nodes. A node weighs at most what its parent weighs, so the heaviest ones
 * are a tree by themselves; among equals the first in preorder stay, a parent before its children.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/output/tree.h"
#include "user/util/cleanup.h"
#include "user/util/saturate.h"

/* A kept node whose subtree is still being walked. */
struct prune_open {
	uint32_t node; /* in the new numbering */
	uint32_t hidden_cnt;
	uint64_t hidden_total;
};

struct prune_cut {
	uint64_t total; /* heavier nodes stay */
	size_t tie_cnt; /* so many of exactly this weight stay */
};

static int compare_totals_down(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left;
	uint64_t b = *(const uint64_t *)right;

	return (a < b) - (a > b);
}

static int prune_find_cut(const struct tree *tree, size_t node_max, struct prune_cut *out)
{
	__cleanup_free uint64_t *totals = reallocarray(NULL, tree->node_cnt, sizeof(*totals));
	size_t heavier_cnt = node_max;

	if (!totals)
		return -ENOMEM;
	for (size_t i = 0; i < tree->node_cnt; i++)
		totals[i] = tree->nodes[i].total;
	qsort(totals, tree->node_cnt, sizeof(*totals), compare_totals_down);
	while (heavier_cnt > 0 && totals[heavier_cnt - 1] == totals[node_max - 1])
		heavier_cnt--;
	*out = (struct prune_cut){
		.total = totals[node_max - 1],
		.tie_cnt = node_max - heavier_cnt,
	};
	return 0;
}

static int prune_keeps(struct prune_cut *cut, const struct tree_node *node)
{
	if (node->total != cut->total)
		return node->total > cut->total;
	if (cut->tie_cnt == 0)
		return 0;
	cut->tie_cnt--;
	return 1;
}

/* Closes the open nodes from `depth` down: what each lost becomes its last child. */
static size_t prune_close(struct prune_open *open, size_t depth, size_t open_cnt,
			  struct tree_node *nodes, size_t node_cnt, uint32_t hidden_frame)
{
	while (open_cnt > depth) {
		const struct prune_open *closed = &open[--open_cnt];

		if (closed->hidden_cnt == 0)
			continue;
		nodes[node_cnt++] = (struct tree_node){
			.frame = hidden_frame,
			.parent = closed->node,
			.depth = nodes[closed->node].depth + 1,
			.hidden_cnt = closed->hidden_cnt,
			.self = closed->hidden_total,
			.total = closed->hidden_total,
		};
	}
	return node_cnt;
}

static size_t prune_walk(const struct tree *tree, struct prune_cut cut, struct prune_open *open,
			 struct tree_node *nodes)
{
	uint32_t hidden_frame = (uint32_t)tree->frame_cnt;
	uint32_t skip_depth = UINT32_MAX; /* of the pruned subtree being walked */
	size_t open_cnt = 0;
	size_t node_cnt = 0;

	for (size_t i = 0; i < tree->node_cnt; i++) {
		const struct tree_node *node = &tree->nodes[i];

		if (node->depth > skip_depth) {
			open[skip_depth - 1].hidden_cnt++;
			continue;
		}
		skip_depth = UINT32_MAX;
		node_cnt = prune_close(open, node->depth, open_cnt, nodes, node_cnt, hidden_frame);
		open_cnt = open_cnt > node->depth ? node->depth : open_cnt;
		if (prune_keeps(&cut, node)) {
			open[open_cnt] = (struct prune_open){ .node = (uint32_t)node_cnt };
			nodes[node_cnt] = *node;
			nodes[node_cnt].parent = open_cnt ? open[open_cnt - 1].node : 0;
			node_cnt++;
			open_cnt++;
		} else {
			struct prune_open *parent = &open[open_cnt - 1];

			parent->hidden_total = add_saturated(parent->hidden_total, node->total);
			parent->hidden_cnt++;
			skip_depth = node->depth;
		}
	}
	return prune_close(open, 0, open_cnt, nodes, node_cnt, hidden_frame);
}

int tree_prune(struct tree *tree, size_t node_max)
{
	__cleanup_free struct tree_node *nodes = NULL;
	__cleanup_free struct prune_open *open = NULL;
	struct tree_frame *frames;
	struct prune_cut cut;
	int err;

	if (tree->node_cnt <= node_max)
		return 0;
	err = prune_find_cut(tree, node_max, &cut);
	if (err)
		return err;
	/* Every kept node may get one child more; never deeper than there are kept nodes. */
	nodes = reallocarray(NULL, node_max * 2, sizeof(*nodes));
	open = reallocarray(NULL, node_max, sizeof(*open));
	frames = reallocarray(tree->frames, tree->frame_cnt + 1, sizeof(*frames));
	if (frames)
		tree->frames = frames;
	if (!nodes || !open || !frames)
		return -ENOMEM;
	tree->node_cnt = prune_walk(tree, cut, open, nodes);
	frames[tree->frame_cnt++] = (struct tree_frame){
		.name = "hidden",
		.name_len = strlen("hidden"),
		.kind = TREE_KIND_HIDDEN,
	};
	free(tree->nodes);
	tree->nodes = take_ptr(nodes);
	return 0;
}
