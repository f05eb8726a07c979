// SPDX-License-Identifier: Apache-2.0
/*
 * What became of a change. Refactored code: one item grows, another shrinks, and the class, package or
 * caller that holds both is as it was. "As it was" must be told, not assumed: the roof's interval
 * contains 0 and is narrow enough to exclude the item's own change. Likewise a method and one that it calls:
 * where one begins and the other ends within compiled code is the compiler's choice. And where a change comes from: from
 * the place of the changed method where most of it shows, down the merged tree as long as one child
 * explains nearly all of its parent's change.
 */
#include "user/diff/diff_verdict.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "user/diff/diff_math.h"
#include "user/diff/diff_tree.h"
#include "user/util/cleanup.h"

#define ROOFS_MAX    16 /* class, package, outer packages: more is a ring */
#define EXPLAINS_MIN 0.8

/* ---- moved ---- */

enum { SHRANK = 0, GREW = 1, DIRECTIONS = 2 };

/* By roof: the member that changed most in each direction, or DIFF_NONE. */
struct moved_roof {
	uint32_t member[DIRECTIONS];
};

struct moved_search {
	const struct diff_case *diff;
	struct diff_tree tree;
	struct moved_roof *roofs; /* by item */
	uint32_t *self_of;	  /* by METHOD_TOTAL: what it does itself, or DIFF_NONE */
};

static int direction(const struct diff_row *row)
{
	return row->change.value > 0 ? GREW : SHRANK;
}

static double size_of(const struct diff_case *diff, uint32_t item)
{
	double points = diff->rows[item].points.value;

	return points < 0 ? -points : points;
}

static void put_under(const struct diff_case *diff, struct moved_roof *roofs, uint32_t roof,
		      uint32_t item)
{
	uint32_t *member = &roofs[roof].member[direction(&diff->rows[item])];

	if (*member == DIFF_NONE || size_of(diff, item) > size_of(diff, *member))
		*member = item;
}

static void put_under_groups(const struct diff_case *diff, struct moved_roof *roofs, uint32_t first,
			     uint32_t item)
{
	uint32_t roof = first;

	for (int i = 0; i < ROOFS_MAX && roof != DIFF_NONE; i++) {
		put_under(diff, roofs, roof, item);
		roof = diff->items[roof].group;
	}
}

/* Registers a changed item with every roof it lives under. */
static void put_item(const struct diff_case *diff, const struct diff_tree *tree,
		     struct moved_roof *roofs, uint32_t item)
{
	const struct diff_item *at = &diff->items[item];

	put_under_groups(diff, roofs, at->group, item);
	if (at->kind == DIFF_KIND_PATH && at->parent != DIFF_NONE)
		put_under(diff, roofs, at->parent, item);
	if (at->kind != DIFF_KIND_METHOD_SELF || at->method == DIFF_NONE)
		return;
	/* What a method does itself also counts in its class with all it calls, and below each of
	 * its places: so a part that became a method of its own is seen as moved out of it. */
	put_under_groups(diff, roofs, diff->items[at->method].group, item);
	for (uint32_t i = tree->places.first[at->method]; i < tree->places.first[at->method + 1];
	     i++)
		put_under(diff, roofs, tree->places.list[i], item);
}

static bool is_balanced(const struct diff_case *diff, const struct moved_roof *roofs, uint32_t roof,
			uint32_t item, uint32_t *partner_out)
{
	const struct diff_row *row = &diff->rows[item];
	const struct diff_row *above = &diff->rows[roof];
	uint32_t partner = roofs[roof].member[direction(row) == GREW ? SHRANK : GREW];

	if (partner == DIFF_NONE || !(above->points.low <= 0 && above->points.high >= 0))
		return false;
	if (row->points.value <= above->points.high && row->points.value >= above->points.low)
		return false;
	*partner_out = partner;
	return true;
}

static bool find_partner(const struct diff_case *diff, const struct diff_tree *tree,
			 const struct moved_roof *roofs, uint32_t item, uint32_t *partner_out)
{
	const struct diff_item *at = &diff->items[item];
	double sign = diff->rows[item].change.value > 0 ? 1 : -1;
	uint32_t roof = at->group;

	for (int i = 0; i < ROOFS_MAX && roof != DIFF_NONE; i++) {
		if (is_balanced(diff, roofs, roof, item, partner_out))
			return true;
		roof = diff->items[roof].group;
	}

	uint32_t place = item;

	if (at->kind == DIFF_KIND_METHOD_SELF || at->kind == DIFF_KIND_METHOD_TOTAL)
		place = diff_tree_main_place(tree, diff->items, diff->rows, item, sign);
	else if (at->kind != DIFF_KIND_PATH)
		return false;
	if (place == DIFF_NONE || diff->items[place].parent == DIFF_NONE)
		return false;
	return is_balanced(diff, roofs, diff->items[place].parent, item, partner_out);
}

/* Both changed, and their sum is as it was: it might be 0, and is surely none of the two changes. */
static bool is_balanced_pair(const struct diff_case *diff, uint32_t item, uint32_t other)
{
	const struct diff_interval *a = &diff->rows[item].points;
	const struct diff_interval *b = &diff->rows[other].points;
	double half = hypot((a->high - a->low) / 2, (b->high - b->low) / 2);

	return fabs(a->value + b->value) <= half && fabs(a->value) > half && fabs(b->value) > half;
}

/* A method by itself that changed the other way, at the place `path`. */
static void try_neighbour(const struct moved_search *search, uint32_t item, uint32_t path,
			  uint32_t *best)
{
	const struct diff_case *diff = search->diff;
	uint32_t method = path == DIFF_NONE ? DIFF_NONE : diff->items[path].method;
	uint32_t other = method == DIFF_NONE ? DIFF_NONE : search->self_of[method];

	if (other == DIFF_NONE || other == item || !diff_verdict_is_found(diff, other) ||
	    !is_balanced_pair(diff, item, other))
		return;
	if (*best == DIFF_NONE || size_of(diff, other) > size_of(diff, *best))
		*best = other;
}

/* A caller, or of what a method does itself also a callee, that changed as much the other way. */
static bool find_neighbour(const struct moved_search *search, uint32_t item, uint32_t *partner_out)
{
	const struct diff_item *items = search->diff->items;
	const struct diff_tree *tree = &search->tree;
	bool is_self = items[item].kind == DIFF_KIND_METHOD_SELF;
	uint32_t method = is_self ? items[item].method : item;

	if ((!is_self && items[item].kind != DIFF_KIND_METHOD_TOTAL) || method == DIFF_NONE)
		return false;
	*partner_out = DIFF_NONE;
	for (uint32_t i = tree->places.first[method]; i < tree->places.first[method + 1]; i++) {
		uint32_t place = tree->places.list[i];

		try_neighbour(search, item, items[place].parent, partner_out);
		for (uint32_t c = tree->children.first[place];
		     is_self && c < tree->children.first[place + 1]; c++)
			try_neighbour(search, item, tree->children.list[c], partner_out);
	}
	return *partner_out != DIFF_NONE;
}

static void search_init(struct moved_search *search)
{
	const struct diff_case *diff = search->diff;

	for (uint32_t i = 0; i < diff->item_cnt; i++) {
		search->roofs[i] = (struct moved_roof){ .member = { DIFF_NONE, DIFF_NONE } };
		search->self_of[i] = DIFF_NONE;
	}
	for (uint32_t i = 0; i < diff->item_cnt; i++) {
		if (diff_verdict_is_found(diff, i))
			put_item(diff, &search->tree, search->roofs, i);
		if (diff->items[i].kind == DIFF_KIND_METHOD_SELF &&
		    diff->items[i].method != DIFF_NONE)
			search->self_of[diff->items[i].method] = i;
	}
}

int diff_moved_mark(const struct diff_case *diff)
{
	size_t cnt = (size_t)diff->item_cnt + 1;
	__cleanup_free struct moved_roof *roofs = reallocarray(NULL, cnt, sizeof(*roofs));
	__cleanup_free uint32_t *self_of = reallocarray(NULL, cnt, sizeof(*self_of));
	struct moved_search search = { .diff = diff, .roofs = roofs, .self_of = self_of };

	if (!roofs || !self_of)
		return -ENOMEM;

	int err = diff_tree_make(diff->items, diff->item_cnt, &search.tree);

	if (err)
		return err;
	search_init(&search);
	for (uint32_t i = 0; i < diff->item_cnt; i++) {
		uint32_t partner = DIFF_NONE;

		if (diff_verdict_is_found(diff, i) &&
		    (find_partner(diff, &search.tree, roofs, i, &partner) ||
		     find_neighbour(&search, i, &partner))) {
			diff->rows[i].verdict = DIFF_VERDICT_MOVED;
			diff->rows[i].moved_with = partner;
		}
	}
	diff_tree_release(&search.tree);
	return 0;
}

/* ---- where it comes from ---- */

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
