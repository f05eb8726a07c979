/* SPDX-License-Identifier: Apache-2.0 */
/* Links between items the other way round: below each item its paths, and its children. */
#ifndef JBPF_DIFF_TREE_H
#define JBPF_DIFF_TREE_H

#include <stdint.h>

#include "user/util/attributes.h"
#include "user/diff/diff.h"

/* Members of item i are list[first[i]] .. list[first[i + 1] - 1], in ascending order. */
struct diff_tree_lists {
	uint32_t *first; /* item_cnt + 1 */
	uint32_t *list;
};

struct diff_tree {
	struct diff_tree_lists children; /* of a PATH: PATHs right below */
	struct diff_tree_lists places;	 /* of a METHOD_TOTAL: PATHs that are this method */
};

/* 0 and a tree for diff_tree_release(), or -ENOMEM. */
__must_check int diff_tree_make(const struct diff_item *items, uint32_t item_cnt,
				struct diff_tree *out);
void diff_tree_release(struct diff_tree *tree);

/*
 * The PATH of the method of METHOD_x `item` with the largest change in the direction of `sign`;
 * DIFF_NONE when it has none.
 */
uint32_t diff_tree_main_place(const struct diff_tree *tree, const struct diff_item *items,
			      const struct diff_row *rows, uint32_t item, double sign);

#endif
