// SPDX-License-Identifier: Apache-2.0
/*
 * Counts lie block after block in one array. While a block is open, slot[item] says where its
 * count lies; a slot is believed only when it points into the open block at that very item, so
 * nothing has to be cleared between blocks.
 */
#include "user/diff/diff_side.h"
#include "user/util/saturate.h"
#include "user/util/vec.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS_PER_DAY	      86400
#define NS_PER_MINUTE	      (60 * 1000000000ull)
#define LONG_BLOCK_NS	      (15 * NS_PER_MINUTE)
#define SHORT_BLOCK_NS	      (5 * NS_PER_MINUTE)
#define SHORT_BLOCKS_BELOW_NS (4 * 60 * NS_PER_MINUTE)
#define MINUTES_BELOW_NS      (40 * NS_PER_MINUTE) /* where those were fewer than are needed */

struct side_block {
	struct diff_block block;
	size_t count_end; /* its counts end here; they begin where the block before ends */
};

struct diff_side {
	uint32_t event;
	struct side_block *blocks;
	size_t block_cnt;
	size_t block_cap;
	struct diff_count *counts;
	size_t count_cnt;
	size_t count_cap;
	uint32_t young_cnt;
	uint32_t *slots; /* by item: distance from the open block's first count */
	size_t slot_cnt;
};

struct diff_side *diff_side__new(uint32_t event)
{
	struct diff_side *side = calloc(1, sizeof(*side));

	if (side)
		side->event = event;
	return side;
}

void diff_side__free(struct diff_side *side)
{
	if (!side)
		return;
	free(side->blocks);
	free(side->counts);
	free(side->slots);
	free(side);
}

static int grow_slots(struct diff_side *side, uint32_t item)
{
	size_t before = side->slot_cnt;
	int err;

	if (item >= DIFF_SIDE_ITEMS_MAX)
		return -E2BIG;
	err = vec_room(side->slots, item, side->slot_cnt, 256);
	if (side->slot_cnt > before)
		memset(&side->slots[before], 0, (side->slot_cnt - before) * sizeof(*side->slots));
	return err;
}

static size_t open_first(const struct diff_side *side)
{
	return side->block_cnt ? side->blocks[side->block_cnt - 1].count_end : 0;
}

int diff_side__add(struct diff_side *side, uint32_t item, uint64_t count)
{
	int err = grow_slots(side, item);

	if (err || !count)
		return err;

	size_t first = open_first(side);
	size_t at = first + side->slots[item];

	if (at < side->count_cnt && side->counts[at].item == item) {
		side->counts[at].count = add_saturated_u32(side->counts[at].count, count);
		return 0;
	}
	err = vec_room(side->counts, side->count_cnt, side->count_cap, 64);
	if (err)
		return err;
	side->slots[item] = (uint32_t)(side->count_cnt - first);
	side->counts[side->count_cnt++] =
		(struct diff_count){ .item = item, .count = add_saturated_u32(0, count) };
	return 0;
}

static bool is_amount(double value)
{
	return isfinite(value) && value >= 0;
}

int diff_side__close_block(struct diff_side *side, const struct diff_block *block)
{
	if (!block->length_ns || block->time_of_day_s >= SECONDS_PER_DAY ||
	    block->length_ns > UINT64_MAX - block->start_unix_ns || !is_amount(block->cpu_s))
		return -EINVAL;
	if (side->block_cnt >= DIFF_SIDE_BLOCKS_MAX)
		return -E2BIG;
	if (side->block_cnt) {
		const struct diff_block *last = &side->blocks[side->block_cnt - 1].block;

		if (block->start_unix_ns < last->start_unix_ns + last->length_ns)
			return -EINVAL;
	}

	int err = vec_room(side->blocks, side->block_cnt, side->block_cap, 64);

	if (err)
		return err;
	side->blocks[side->block_cnt++] =
		(struct side_block){ .block = *block, .count_end = side->count_cnt };
	return 0;
}

void diff_side__renumber(struct diff_side *side, const uint32_t *to, uint32_t item_cnt)
{
	size_t kept = 0, at = 0;

	for (size_t i = 0; i < side->block_cnt; i++) {
		for (; at < side->blocks[i].count_end; at++) {
			struct diff_count count = side->counts[at];

			if (count.item >= item_cnt || to[count.item] == DIFF_NONE)
				continue;
			count.item = to[count.item];
			side->counts[kept++] = count;
		}
		side->blocks[i].count_end = kept;
	}
	side->count_cnt = kept;
	/* Where less is wanted there is no reason to fail. */
	if (kept && !vec_resize(side->counts, kept))
		side->count_cap = kept;
	free(side->slots);
	side->slots = NULL;
	side->slot_cnt = 0;
}

void diff_side__leave_out_young(struct diff_side *side)
{
	side->young_cnt++;
}

uint32_t diff_side__young_count(const struct diff_side *side)
{
	return side->young_cnt;
}

uint32_t diff_side__event(const struct diff_side *side)
{
	return side->event;
}

size_t diff_side__block_count(const struct diff_side *side)
{
	return side->block_cnt;
}

const struct diff_block *diff_side__block(const struct diff_side *side, size_t index)
{
	return &side->blocks[index].block;
}

const struct diff_count *diff_side__counts(const struct diff_side *side, size_t index,
					   size_t *cnt_out)
{
	size_t first = index ? side->blocks[index - 1].count_end : 0;

	*cnt_out = side->blocks[index].count_end - first;
	return side->counts ? &side->counts[first] : NULL;
}

/* ---- several sides of one time ---- */

/* A block's place among those of its side. */
struct part_block {
	const struct diff_side *side;
	size_t index;
	uint64_t start_unix_ns;
};

static int compare_starts(const void *a, const void *b)
{
	const struct part_block *left = a;
	const struct part_block *right = b;

	return (left->start_unix_ns > right->start_unix_ns) -
	       (left->start_unix_ns < right->start_unix_ns);
}

static struct part_block *list_blocks(const struct diff_side *const *parts, size_t part_cnt,
				      size_t *cnt_out)
{
	struct part_block *list;
	size_t cnt = 0;

	for (size_t i = 0; i < part_cnt; i++)
		cnt += parts[i]->block_cnt;
	list = reallocarray(NULL, cnt + 1, sizeof(*list));
	cnt = 0;
	for (size_t i = 0; list && i < part_cnt; i++)
		for (size_t block = 0; block < parts[i]->block_cnt; block++)
			list[cnt++] =
				(struct part_block){ parts[i], block,
						     parts[i]->blocks[block].block.start_unix_ns };
	if (list)
		qsort(list, cnt, sizeof(*list), compare_starts);
	*cnt_out = cnt;
	return list;
}

static void add_totals(struct diff_block *sum, const struct diff_block *part)
{
	/* Samples of another rate cannot be added up; then it is not known. */
	if (sum->frequency_hz != part->frequency_hz)
		sum->frequency_hz = 0;
	if (part->length_ns > sum->length_ns)
		sum->length_ns = part->length_ns;
	sum->samples += part->samples;
	sum->cpu_s += part->cpu_s;
	sum->lost_samples += part->lost_samples;
	sum->frames += part->frames;
	sum->unknown_frames += part->unknown_frames;
	sum->truncated_samples += part->truncated_samples;
	sum->other_stack_samples += part->other_stack_samples;
}

static int add_counts(struct diff_side *sum, const struct part_block *from)
{
	size_t cnt;
	const struct diff_count *counts = diff_side__counts(from->side, from->index, &cnt);
	int err = 0;

	for (size_t i = 0; !err && i < cnt; i++)
		err = diff_side__add(sum, counts[i].item, counts[i].count);
	return err;
}

int diff_side_sum(const struct diff_side *const *parts, size_t part_cnt, struct diff_side **out)
{
	struct diff_side *sum = diff_side__new(part_cnt ? parts[0]->event : 0);
	size_t cnt = 0;
	struct part_block *list = sum ? list_blocks(parts, part_cnt, &cnt) : NULL;
	int err = list ? 0 : -ENOMEM;

	for (size_t first = 0, end; !err && first < cnt; first = end) {
		struct diff_block block = list[first].side->blocks[list[first].index].block;

		err = add_counts(sum, &list[first]);
		for (end = first + 1;
		     !err && end < cnt && list[end].start_unix_ns == list[first].start_unix_ns;
		     end++) {
			add_totals(&block, &list[end].side->blocks[list[end].index].block);
			err = add_counts(sum, &list[end]);
		}
		if (!err)
			err = diff_side__close_block(sum, &block);
	}
	free(list);
	if (err) {
		diff_side__free(sum);
		return err;
	}
	*out = sum;
	return 0;
}

static void subtract_totals(struct diff_block *sum, const struct diff_block *part)
{
	sum->samples -= part->samples;
	sum->cpu_s = sum->cpu_s > part->cpu_s ? sum->cpu_s - part->cpu_s : 0;
	sum->lost_samples -= part->lost_samples;
	sum->frames -= part->frames;
	sum->unknown_frames -= part->unknown_frames;
	sum->truncated_samples -= part->truncated_samples;
	sum->other_stack_samples -= part->other_stack_samples;
}

/* `minus` is by item, and 0 again afterwards. */
static int add_difference(struct diff_side *out, const struct diff_side *sum, size_t block,
			  uint32_t *minus)
{
	size_t cnt;
	const struct diff_count *counts = diff_side__counts(sum, block, &cnt);
	int err = 0;

	for (size_t i = 0; !err && i < cnt; i++) {
		uint32_t part = minus[counts[i].item];

		minus[counts[i].item] = 0;
		if (counts[i].count > part)
			err = diff_side__add(out, counts[i].item, counts[i].count - part);
	}
	return err;
}

int diff_side_without(const struct diff_side *sum, const struct diff_side *part, uint32_t item_cnt,
		      struct diff_side **out)
{
	struct diff_side *rest = diff_side__new(sum->event);
	uint32_t *minus = calloc((size_t)item_cnt + 1, sizeof(*minus));
	size_t at = 0;
	int err = rest && minus ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < sum->block_cnt; i++) {
		struct diff_block block = sum->blocks[i].block;

		if (at < part->block_cnt &&
		    part->blocks[at].block.start_unix_ns == block.start_unix_ns) {
			size_t cnt;
			const struct diff_count *counts = diff_side__counts(part, at, &cnt);

			for (size_t c = 0; c < cnt; c++)
				minus[counts[c].item] = counts[c].count;
			subtract_totals(&block, &part->blocks[at++].block);
		}
		err = add_difference(rest, sum, i, minus);
		if (!err && block.samples)
			err = diff_side__close_block(rest, &block);
	}
	free(minus);
	if (err) {
		diff_side__free(rest);
		return err;
	}
	*out = rest;
	return 0;
}

uint64_t diff_side_block_length_ns(uint64_t shorter_ns)
{
	if (shorter_ns < MINUTES_BELOW_NS)
		return NS_PER_MINUTE;
	return shorter_ns < SHORT_BLOCKS_BELOW_NS ? SHORT_BLOCK_NS : LONG_BLOCK_NS;
}

uint64_t diff_side_block_fitting_ns(uint64_t block_ns, uint64_t shorter_ns)
{
	uint64_t fitting_ns = diff_side_block_length_ns(shorter_ns);

	return fitting_ns < block_ns ? fitting_ns : block_ns;
}

uint64_t diff_side_block_holding_ns(uint64_t block_ns, uint64_t window_ns)
{
	/* Half a window more is one that ends late. */
	if (window_ns <= block_ns + block_ns / 2)
		return block_ns;
	return block_ns < SHORT_BLOCK_NS ? SHORT_BLOCK_NS : LONG_BLOCK_NS;
}
