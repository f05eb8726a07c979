// SPDX-License-Identifier: Apache-2.0
/* Two counting sorts: PATHs by parent, and PATHs by method. */
#include "user/diff/diff_tree.h"

#include <errno.h>
#include <stdlib.h>

static void lists_release(struct diff_tree_lists *lists)
{
	free(lists->first);
	free(lists->list);
	*lists = (struct diff_tree_lists){ 0 };
}

/* Sorts PATHs by link[item]; DIFF_NONE is left out. */
static int lists_make(const struct diff_item *items, uint32_t item_cnt, size_t link_offset,
		      struct diff_tree_lists *out)
{
	struct diff_tree_lists lists = {
		.first = calloc((size_t)item_cnt + 1, sizeof(uint32_t)),
		.list = calloc((size_t)item_cnt + 1, sizeof(uint32_t)),
	};

	if (!lists.first || !lists.list) {
		lists_release(&lists);
		return -ENOMEM;
	}
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < item_cnt; i++) {
			uint32_t link = *(const uint32_t *)((const char *)&items[i] + link_offset);

			if (items[i].kind != DIFF_KIND_PATH || link == DIFF_NONE)
				continue;
			if (pass == 0)
				lists.first[link + 1]++;
			else
				lists.list[lists.first[link]++] = i;
		}
		for (uint32_t i = 0; pass == 0 && i < item_cnt; i++)
			lists.first[i + 1] += lists.first[i];
	}
	/* The second pass moved each beginning to its end. */
	for (uint32_t i = item_cnt; i > 0; i--)
		lists.first[i] = lists.first[i - 1];
	lists.first[0] = 0;
	*out = lists;
	return 0;
}

int diff_tree_make(const struct diff_item *items, uint32_t item_cnt, struct diff_tree *out)
{
	struct diff_tree tree = { 0 };
	int err = lists_make(items, item_cnt, offsetof(struct diff_item, parent), &tree.children);

	if (!err)
		err = lists_make(items, item_cnt, offsetof(struct diff_item, method), &tree.places);
	if (err) {
		diff_tree_release(&tree);
		return err;
	}
	*out = tree;
	return 0;
}

void diff_tree_release(struct diff_tree *tree)
{
	lists_release(&tree->children);
	lists_release(&tree->places);
}

uint32_t diff_tree_main_place(const struct diff_tree *tree, const struct diff_item *items,
			      const struct diff_row *rows, uint32_t item, double sign)
{
	uint32_t method = items[item].kind == DIFF_KIND_METHOD_TOTAL ? item : items[item].method;
	uint32_t best = DIFF_NONE;
	double most = 0;

	if (method == DIFF_NONE)
		return DIFF_NONE;
	for (uint32_t i = tree->places.first[method]; i < tree->places.first[method + 1]; i++) {
		uint32_t path = tree->places.list[i];
		double change = sign * rows[path].points.value;

		if (change > most) {
			most = change;
			best = path;
		}
	}
	return best;
}
