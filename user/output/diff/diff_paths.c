// SPDX-License-Identifier: Apache-2.0
/*
 * Places come numbered with a place's parent before it, so sizes add up from the back and positions
 * in preorder follow from the front; nothing is recursive and nothing looks at a place twice.
 */
#include "user/output/diff/diff_paths.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "user/output/diff/diff_words.h"
#include "user/util/cleanup.h"
#include "user/util/saturate.h"

#define WEIGHT_ALL   (1ull << 63) /* the root stays */
#define WEIGHT_FOUND (1ull << 62) /* more than any share: what was found stays as long as it can */
#define WEIGHT_UNIT  1e15	  /* of a share of 1 */

/* While being made; places are numbered 1, 2, ... and 0 is the root. */
struct paths_builder {
	const struct diff_output *diff;
	size_t cnt; /* places and the root */
	uint32_t *items;
	uint32_t *parents;
	uint32_t *ranks;
	uint32_t *sizes; /* of subtrees */
	uint32_t *positions;
	uint64_t *weights;
	struct tree_frame *frames;
	struct tree_node *nodes;
	struct diff_paths_sum *totals; /* by place here */
};

static void builder_release(struct paths_builder *builder)
{
	free(builder->items);
	free(builder->parents);
	free(builder->ranks);
	free(builder->sizes);
	free(builder->positions);
	free(builder->weights);
	free(builder->frames);
	free(builder->nodes);
	free(builder->totals);
}

static int builder_reserve(struct paths_builder *builder)
{
	size_t cnt = builder->cnt;

	/* One more for the hidden frame of a pruned tree. */
	builder->items = calloc(cnt + 1, sizeof(*builder->items));
	builder->parents = calloc(cnt, sizeof(*builder->parents));
	builder->ranks = calloc(cnt, sizeof(*builder->ranks));
	builder->sizes = calloc(cnt, sizeof(*builder->sizes));
	builder->positions = calloc(cnt, sizeof(*builder->positions));
	builder->weights = calloc(cnt, sizeof(*builder->weights));
	builder->frames = calloc(cnt, sizeof(*builder->frames));
	builder->nodes = calloc(cnt, sizeof(*builder->nodes));
	builder->totals = calloc(cnt, sizeof(*builder->totals));
	return builder->items && builder->parents && builder->ranks && builder->sizes &&
			       builder->positions && builder->weights && builder->frames &&
			       builder->nodes && builder->totals ?
		       0 :
		       -ENOMEM;
}

enum tree_kind diff_paths_kind(const struct diff_catalog_name *name, bool is_process)
{
	if (is_process)
		return TREE_KIND_PROCESS;
	if (name->kind != FRAME_KIND_NATIVE)
		return (enum tree_kind)name->kind;
	return tree_kind_of_native(name->text, name->len);
}

static void sum_add(struct diff_paths_sum *sum, const struct diff_paths_sum *part)
{
	for (int side = 0; side < DIFF_PATHS_SIDES; side++) {
		sum->samples[side] = add_saturated(sum->samples[side], part->samples[side]);
		sum->share[side] += part->share[side];
	}
}

/* What is left never goes below nothing: counts may have saturated, shares were rounded. */
static void sum_subtract(struct diff_paths_sum *sum, const struct diff_paths_sum *part)
{
	for (int side = 0; side < DIFF_PATHS_SIDES; side++) {
		sum->samples[side] -= sum->samples[side] < part->samples[side] ?
					      sum->samples[side] :
					      part->samples[side];
		sum->share[side] = fmax(sum->share[side] - part->share[side], 0);
	}
}

static int collect_places(struct paths_builder *builder, const struct diff_item *items,
			  uint32_t item_cnt)
{
	__cleanup_free uint32_t *place_of = calloc((size_t)item_cnt + 1, sizeof(*place_of));
	uint32_t place = 0;

	if (!place_of)
		return -ENOMEM;
	builder->items[0] = builder->items[builder->cnt] = DIFF_NONE;
	builder->frames[0] =
		(struct tree_frame){ .name = "all", .name_len = 3, .kind = TREE_KIND_PROCESS };
	for (uint32_t i = 0; i < item_cnt; i++) {
		const struct diff_row *row = &builder->diff->result->rows[i];
		struct diff_catalog_name name;

		if (items[i].kind != DIFF_KIND_PATH)
			continue;
		name = diff_catalog__name(builder->diff->catalog, i);
		place_of[i] = ++place;
		builder->items[place] = i;
		builder->parents[place] = items[i].parent < i ? place_of[items[i].parent] : 0;
		builder->frames[place] = (struct tree_frame){
			.name = name.text,
			.name_len = name.len,
			.kind = diff_paths_kind(&name, items[i].method == DIFF_NONE),
		};
		builder->totals[place] = (struct diff_paths_sum){
			.samples = { row->samples_a, row->samples_b },
			.share = { row->share_a, row->share_b },
		};
		builder->weights[place] =
			(uint64_t)(WEIGHT_UNIT * fmax(row->share_a, row->share_b)) +
			(diff_words_is_found(row->verdict) ? WEIGHT_FOUND : 0);
	}
	return 0;
}

/* A place weighs no less than what is below it. */
static void add_up(struct paths_builder *builder)
{
	builder->sizes[0] = 1;
	for (size_t i = builder->cnt - 1; i > 0; i--) {
		uint32_t parent = builder->parents[i];

		builder->sizes[i]++;
		builder->sizes[parent] += builder->sizes[i];
		if (builder->weights[parent] < builder->weights[i])
			builder->weights[parent] = builder->weights[i];
		if (parent == 0)
			sum_add(&builder->totals[0], &builder->totals[i]);
	}
	builder->weights[0] = WEIGHT_ALL;
}

static int compare_names(const void *left, const void *right, void *frames)
{
	uint32_t a = *(const uint32_t *)left;
	uint32_t b = *(const uint32_t *)right;
	const struct tree_frame *all = frames;
	int order = tree_compare_frames(&all[a], &all[b]);

	return order ? order : (a > b) - (a < b);
}

static int compare_siblings(const void *left, const void *right, void *ctx)
{
	uint32_t a = *(const uint32_t *)left;
	uint32_t b = *(const uint32_t *)right;
	const struct paths_builder *builder = ctx;

	if (builder->parents[a] != builder->parents[b])
		return builder->parents[a] > builder->parents[b] ? 1 : -1;
	return (builder->ranks[a] > builder->ranks[b]) - (builder->ranks[a] < builder->ranks[b]);
}

/* Nodes in preorder. Siblings come in groups, a group after the one that holds its parent. */
static int lay_out(struct paths_builder *builder)
{
	size_t cnt = builder->cnt;
	__cleanup_free uint32_t *order = calloc(cnt, sizeof(*order));
	uint32_t next = 0;
	uint32_t group = DIFF_NONE;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		order[i] = (uint32_t)i;
	qsort_r(order + 1, cnt - 1, sizeof(*order), compare_names, builder->frames);
	for (size_t i = 1; i < cnt; i++)
		builder->ranks[order[i]] = (uint32_t)i;
	qsort_r(order + 1, cnt - 1, sizeof(*order), compare_siblings, builder);
	builder->nodes[0] =
		(struct tree_node){ .self = builder->weights[0], .total = builder->weights[0] };
	for (size_t i = 1; i < cnt; i++) {
		uint32_t place = order[i];
		uint32_t parent = builder->parents[place];
		const struct tree_node *above = &builder->nodes[builder->positions[parent]];

		if (parent != group)
			next = builder->positions[parent] + 1;
		group = parent;
		builder->positions[place] = next;
		builder->nodes[next] = (struct tree_node){
			.frame = place,
			.parent = builder->positions[parent],
			.depth = above->depth + 1,
			.self = builder->weights[place],
			.total = builder->weights[place],
		};
		next += builder->sizes[place];
	}
	return 0;
}

static int builder_finish(struct paths_builder *builder, struct diff_paths *out)
{
	size_t cnt = builder->cnt;
	struct diff_paths_sum *totals = calloc(cnt, sizeof(*totals));
	struct diff_paths_sum *selfs = calloc(cnt, sizeof(*selfs));

	if (!totals || !selfs) {
		free(totals);
		free(selfs);
		return -ENOMEM;
	}
	for (size_t i = 0; i < cnt; i++)
		totals[i] = selfs[i] = builder->totals[builder->nodes[i].frame];
	for (size_t i = 1; i < cnt; i++)
		sum_subtract(&selfs[builder->nodes[i].parent], &totals[i]);
	*out = (struct diff_paths){
		.tree = { .nodes = take_ptr(builder->nodes),
			  .node_cnt = cnt,
			  .frames = take_ptr(builder->frames),
			  .frame_cnt = cnt },
		.items = take_ptr(builder->items),
		.totals = totals,
		.selfs = selfs,
	};
	return 0;
}

int diff_paths_make(const struct diff_output *diff, struct diff_paths *out)
{
	struct paths_builder builder = { .diff = diff, .cnt = 1 };
	uint32_t item_cnt;
	const struct diff_item *items = diff_catalog__items(diff->catalog, &item_cnt);
	int err;

	if (item_cnt > diff->result->row_cnt)
		item_cnt = diff->result->row_cnt;
	for (uint32_t i = 0; i < item_cnt; i++)
		builder.cnt += items[i].kind == DIFF_KIND_PATH;
	err = builder_reserve(&builder);
	if (!err)
		err = collect_places(&builder, items, item_cnt);
	if (!err) {
		add_up(&builder);
		err = lay_out(&builder);
	}
	if (!err)
		err = builder_finish(&builder, out);
	builder_release(&builder);
	return err;
}

/* Sums by frame, which a node keeps when it is pruned or moves. */
struct paths_kept {
	struct diff_paths_sum *totals;
	struct diff_paths_sum *selfs;
};

static int keep_sums(const struct diff_paths *paths, struct paths_kept *kept)
{
	size_t cnt = paths->tree.node_cnt;

	kept->totals = calloc(cnt, sizeof(*kept->totals));
	kept->selfs = calloc(cnt, sizeof(*kept->selfs));
	if (!kept->totals || !kept->selfs)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++) {
		kept->totals[paths->tree.nodes[i].frame] = paths->totals[i];
		kept->selfs[paths->tree.nodes[i].frame] = paths->selfs[i];
	}
	return 0;
}

/* What is not a place's own and not in the children it kept is in its hidden child, the last. */
static int restore_sums(struct diff_paths *paths, struct paths_kept *kept)
{
	size_t cnt = paths->tree.node_cnt;
	struct diff_paths_sum *totals = calloc(cnt, sizeof(*totals));
	struct diff_paths_sum *selfs = calloc(cnt, sizeof(*selfs));

	free(paths->totals);
	free(paths->selfs);
	paths->totals = totals;
	paths->selfs = selfs;
	if (!totals || !selfs)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++) {
		const struct tree_node *node = &paths->tree.nodes[i];

		if (node->hidden_cnt)
			continue;
		totals[i] = kept->totals[node->frame];
		selfs[i] = kept->selfs[node->frame];
	}
	for (size_t i = cnt - 1; i > 0; i--) {
		const struct tree_node *node = &paths->tree.nodes[i];
		struct diff_paths_sum *above = &kept->totals[paths->tree.nodes[node->parent].frame];

		if (!node->hidden_cnt)
			sum_subtract(above, &totals[i]);
	}
	for (size_t i = 1; i < cnt; i++) {
		const struct tree_node *node = &paths->tree.nodes[i];
		uint32_t above = paths->tree.nodes[node->parent].frame;

		if (!node->hidden_cnt)
			continue;
		totals[i] = kept->totals[above];
		sum_subtract(&totals[i], &kept->selfs[above]);
		selfs[i] = totals[i];
	}
	return 0;
}

int diff_paths_prune(struct diff_paths *paths, size_t node_max)
{
	struct paths_kept kept = { 0 };
	int err;

	if (paths->tree.node_cnt <= node_max)
		return 0;
	err = keep_sums(paths, &kept);
	if (!err)
		err = tree_prune(&paths->tree, node_max);
	if (!err)
		err = restore_sums(paths, &kept);
	free(kept.totals);
	free(kept.selfs);
	return err;
}

void diff_paths_release(struct diff_paths *paths)
{
	tree_release(&paths->tree);
	free(paths->items);
	free(paths->totals);
	free(paths->selfs);
	*paths = (struct diff_paths){ 0 };
}
