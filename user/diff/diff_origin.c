// SPDX-License-Identifier: Apache-2.0
/*
 * Where a change comes from: from the place of the changed method where most of it shows, down the
 * merged tree as long as one child explains nearly all of its parent's change.
 */
#include "user/diff/diff_verdict.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "user/diff/diff_math.h"
#include "user/diff/diff_tree.h"
#include "user/util/cleanup.h"

#define EXPLAINS_MIN 0.8

/*
 * The child with the largest change in that direction that is sure among its siblings, if it
 * explains enough of the parent's; else DIFF_NONE.
 */
static int next_down(const struct diff_case *diff, const struct diff_tree *tree, uint32_t path,
		     double sign, double *room, uint32_t *out)
{
	const uint32_t *children = &tree->children.list[tree->children.first[path]];
	size_t cnt = tree->children.first[path + 1] - tree->children.first[path];
	double most = EXPLAINS_MIN * sign * diff->rows[path].points.value;

	*out = DIFF_NONE;
	for (size_t i = 0; i < cnt; i++)
		room[i] = diff->rows[children[i]].p;

	int err = diff_math_bh(room, cnt, room);

	if (err)
		return err;
	for (size_t i = 0; i < cnt; i++) {
		double change = sign * diff->rows[children[i]].points.value;

		if (room[i] <= diff->options->q_shown && change >= most) {
			most = change;
			*out = children[i];
		}
	}
	return 0;
}

static int find_origin(const struct diff_case *diff, const struct diff_tree *tree, uint32_t item,
		       double *room)
{
	struct diff_row *row = &diff->rows[item];
	double sign = row->change.value > 0 ? 1 : -1;
	uint32_t path = diff_tree_main_place(tree, diff->items, diff->rows, item, sign);

	row->origin = path;
	/* What a method does itself has no deeper cause. */
	while (path != DIFF_NONE && diff->items[item].kind == DIFF_KIND_METHOD_TOTAL) {
		int err = next_down(diff, tree, path, sign, room, &path);

		if (err)
			return err;
		if (path != DIFF_NONE)
			row->origin = path;
	}
	return 0;
}

int diff_origin_find(const struct diff_case *diff)
{
	__cleanup_free double *room = reallocarray(NULL, (size_t)diff->item_cnt + 1, sizeof(*room));
	struct diff_tree tree;

	if (!room)
		return -ENOMEM;

	int err = diff_tree_make(diff->items, diff->item_cnt, &tree);

	if (err)
		return err;
	for (uint32_t i = 0; !err && i < diff->item_cnt; i++) {
		enum diff_kind kind = diff->items[i].kind;

		if ((kind == DIFF_KIND_METHOD_SELF || kind == DIFF_KIND_METHOD_TOTAL) &&
		    diff_verdict_is_found(diff, i))
			err = find_origin(diff, &tree, i, room);
	}
	diff_tree_release(&tree);
	return err;
}
