// SPDX-License-Identifier: Apache-2.0
/*
 * Counts lie block after block in one array. While a block is open, slot[item] says where its
 * count lies; a slot is believed only when it points into the open block at that very item, so
 * nothing has to be cleared between blocks.
 */
#include "user/diff/diff_side.h"
#include "user/util/saturate.h"

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

/* Room for one more element than `cnt`. */
static int grow(void **array, size_t cnt, size_t *cap, size_t element_bytes)
{
	if (cnt < *cap)
		return 0;

	size_t wanted = *cap ? *cap + *cap / 2 : 64;
	void *bigger = reallocarray(*array, wanted, element_bytes);

	if (!bigger)
		return -ENOMEM;
	*array = bigger;
	*cap = wanted;
	return 0;
}

static int grow_slots(struct diff_side *side, uint32_t item)
{
	size_t wanted = side->slot_cnt ? side->slot_cnt : 256;

	if (item >= DIFF_SIDE_ITEMS_MAX)
		return -E2BIG;
	if (item < side->slot_cnt)
		return 0;
	while (wanted <= item)
		wanted *= 2;

	uint32_t *slots = reallocarray(side->slots, wanted, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	memset(&slots[side->slot_cnt], 0, (wanted - side->slot_cnt) * sizeof(*slots));
	side->slots = slots;
	side->slot_cnt = wanted;
	return 0;
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
	err = grow((void **)&side->counts, side->count_cnt, &side->count_cap,
		   sizeof(*side->counts));
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

	int err = grow((void **)&side->blocks, side->block_cnt, &side->block_cap,
		       sizeof(*side->blocks));

	if (err)
		return err;
	side->blocks[side->block_cnt++] =
		(struct side_block){ .block = *block, .count_end = side->count_cnt };
	return 0;
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

uint64_t diff_side_block_length_ns(uint64_t shorter_ns)
{
	return shorter_ns < SHORT_BLOCKS_BELOW_NS ? SHORT_BLOCK_NS : LONG_BLOCK_NS;
}
