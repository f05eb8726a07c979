// SPDX-License-Identifier: Apache-2.0
/*
 * See diff_tally.h. A side wants its blocks in order of time, the store gives a merged file stream by stream. So there
 * is an entry of (block, rate, stack, samples), stacks by their number in the catalog, and they are dealt out at the
 * end. Windows of one block mostly follow each other: a stack seen again in the block it was last seen in at this rate
 * adds up in place.
 */
#include "user/diff/diff_tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/util/cleanup.h"
#include "user/util/saturate.h"
#include "user/util/vec.h"

#define NO_ENTRY     UINT32_MAX
#define RATE_UNKNOWN 0 /* its number */

/* There are millions of them. */
struct tally_entry {
	uint32_t stack; /* number in the catalog */
	uint32_t samples;
	uint16_t block;
	uint16_t rate;
};

_Static_assert(sizeof(struct tally_entry) == 12, "an entry is small");
_Static_assert(DIFF_SIDE_BLOCKS_MAX <= UINT16_MAX, "a block's number fits");

struct tally_block {
	struct diff_unit unit;
	size_t entry_cnt;
	bool has_unknown_rate;
};

struct tally_rate {
	struct diff_rate what;
	uint32_t *last_entry; /* by stack: its latest entry of this rate */
	size_t stack_cap;
	struct diff_sums *sums; /* by block */
};

/* An entry in the order in which stacks are counted. */
struct tally_place {
	uint64_t key;
	struct tally_entry entry;
};

struct diff_tally {
	struct diff_catalog *catalog;
	struct tally_block *blocks;
	size_t block_cnt;
	struct tally_rate *rates;
	size_t rate_cnt;
	size_t rate_cap;
	struct tally_entry *entries;
	size_t entry_cnt;
	size_t entry_cap;
	size_t *first; /* by block, once sorted: where its entries begin */
	struct tally_place *places;
	size_t place_cap;
	uint64_t carry; /* what stacks before had too much for whole counts */
};

static int add_rate(struct diff_tally *tally, const struct diff_rate *rate)
{
	struct tally_rate added = { .what = *rate };
	int err = vec_room(tally->rates, tally->rate_cnt, tally->rate_cap, 4);

	if (err)
		return err;
	added.sums = calloc(tally->block_cnt, sizeof(*added.sums));
	if (!added.sums)
		return -ENOMEM;
	tally->rates[tally->rate_cnt++] = added;
	return 0;
}

struct diff_tally *diff_tally__new(size_t block_cnt, struct diff_catalog *catalog)
{
	static const struct diff_rate unknown = { 0 };
	struct diff_tally *tally = calloc(1, sizeof(*tally));

	if (!tally)
		return NULL;
	tally->catalog = catalog;
	tally->block_cnt = block_cnt;
	tally->blocks = calloc(block_cnt, sizeof(*tally->blocks));
	if (!tally->blocks || add_rate(tally, &unknown)) {
		diff_tally__free(tally);
		return NULL;
	}
	return tally;
}

void diff_tally__free(struct diff_tally *tally)
{
	if (!tally)
		return;
	for (size_t i = 0; i < tally->rate_cnt; i++) {
		free(tally->rates[i].last_entry);
		free(tally->rates[i].sums);
	}
	free(tally->rates);
	free(tally->blocks);
	free(tally->entries);
	free(tally->first);
	free(tally->places);
	free(tally);
}

static bool is_rate(const struct diff_rate *a, const struct diff_rate *b)
{
	return a->period == b->period && a->unit.size == b->unit.size &&
	       a->unit.frequency_hz == b->unit.frequency_hz;
}

int diff_tally__rate(struct diff_tally *tally, const struct diff_rate *rate, uint16_t *out)
{
	bool is_known = rate->period && rate->unit.size && rate->unit.frequency_hz;
	int err = 0;

	*out = RATE_UNKNOWN;
	if (!is_known)
		return 0;
	for (size_t i = 0; i < tally->rate_cnt; i++) {
		if (is_rate(&tally->rates[i].what, rate)) {
			*out = (uint16_t)i;
			return 0;
		}
	}
	if (tally->rate_cnt >= DIFF_TALLY_RATES_MAX)
		return 0;
	err = add_rate(tally, rate);
	if (!err)
		*out = (uint16_t)(tally->rate_cnt - 1);
	return err;
}

struct diff_sums *diff_tally__sums(struct diff_tally *tally, uint32_t block, uint16_t rate)
{
	return &tally->rates[rate].sums[block];
}

/* ---- adding ---- */

static int reserve_stack(struct tally_rate *rate, uint32_t stack)
{
	size_t before = rate->stack_cap;
	int err = vec_room(rate->last_entry, stack, rate->stack_cap, 1024);

	for (size_t i = before; i < rate->stack_cap; i++)
		rate->last_entry[i] = NO_ENTRY;
	return err;
}

static void note_rate(struct diff_tally *tally, uint32_t block, uint16_t rate)
{
	if (rate == RATE_UNKNOWN)
		tally->blocks[block].has_unknown_rate = true;
	else
		diff_tally__raise_unit(tally, block, &tally->rates[rate].what.unit);
}

int diff_tally__add(struct diff_tally *tally, uint32_t block, uint16_t rate_number, uint32_t stack,
		    uint64_t samples)
{
	struct tally_rate *rate = &tally->rates[rate_number];
	int err = reserve_stack(rate, stack);

	if (err)
		return err;

	uint32_t at = rate->last_entry[stack];

	if (at != NO_ENTRY && tally->entries[at].block == block) {
		struct tally_entry *entry = &tally->entries[at];

		entry->samples = add_saturated_u32(entry->samples, samples);
		return 0;
	}
	if (tally->entry_cnt >= NO_ENTRY)
		return -E2BIG;
	err = vec_room(tally->entries, tally->entry_cnt, tally->entry_cap, 256);
	if (err)
		return err;
	rate->last_entry[stack] = (uint32_t)tally->entry_cnt;
	tally->entries[tally->entry_cnt++] = (struct tally_entry){
		.stack = stack,
		.samples = add_saturated_u32(0, samples),
		.block = (uint16_t)block,
		.rate = rate_number,
	};
	tally->blocks[block].entry_cnt++;
	note_rate(tally, block, rate_number);
	return 0;
}

/* ---- units ---- */

bool diff_tally__is_empty(const struct diff_tally *tally, size_t block)
{
	return tally->blocks[block].entry_cnt == 0;
}

struct diff_unit diff_tally__unit(const struct diff_tally *tally, size_t block)
{
	const struct tally_block *at = &tally->blocks[block];

	return at->has_unknown_rate ? (struct diff_unit){ 0 } : at->unit;
}

void diff_tally__raise_unit(struct diff_tally *tally, size_t block, const struct diff_unit *unit)
{
	struct diff_unit *at = &tally->blocks[block].unit;

	if (unit->size > at->size ||
	    (unit->size == at->size && unit->frequency_hz < at->frequency_hz))
		*at = *unit;
}

/* ---- counting ---- */

int diff_tally__sort(struct diff_tally *tally)
{
	struct tally_entry *sorted = reallocarray(NULL, tally->entry_cnt + 1, sizeof(*sorted));
	size_t *first = calloc(tally->block_cnt + 1, sizeof(*first));

	if (!sorted || !first) {
		free(sorted);
		free(first);
		return -ENOMEM;
	}
	for (size_t i = 0; i < tally->block_cnt; i++)
		first[i + 1] = first[i] + tally->blocks[i].entry_cnt;
	for (size_t i = 0; i < tally->entry_cnt; i++)
		sorted[first[tally->entries[i].block]++] = tally->entries[i];
	/* Each first[] has moved to where the next one began. */
	for (size_t i = tally->block_cnt; i > 0; i--)
		first[i] = first[i - 1];
	first[0] = 0;
	free(tally->entries);
	free(tally->first);
	tally->entries = sorted;
	tally->entry_cap = tally->entry_cnt + 1;
	tally->first = first;
	return 0;
}

static bool are_whole_counts(const struct diff_tally *tally, size_t block,
			     const struct diff_unit *unit)
{
	for (size_t i = tally->first[block]; unit->size && i < tally->first[block + 1]; i++)
		if (tally->rates[tally->entries[i].rate].what.period != unit->size)
			return false;
	return true;
}

/* Nothing is left over, so that any order will do. */
static int fill_whole(struct diff_tally *tally, size_t block, struct diff_side *side,
		      uint64_t *samples_out)
{
	int err = 0;

	for (size_t i = tally->first[block]; !err && i < tally->first[block + 1]; i++) {
		const struct tally_entry *entry = &tally->entries[i];

		err = diff_catalog__count(tally->catalog, side, entry->stack, entry->samples);
		*samples_out += entry->samples;
	}
	return err;
}

static int compare_places(const void *a, const void *b)
{
	const struct tally_place *left = a;
	const struct tally_place *right = b;

	if (left->key != right->key)
		return (left->key > right->key) - (left->key < right->key);
	return (left->entry.stack > right->entry.stack) - (left->entry.stack < right->entry.stack);
}

static int place_entries(struct diff_tally *tally, size_t block, size_t *cnt_out)
{
	size_t first = tally->first[block];
	size_t cnt = tally->first[block + 1] - first;

	if (vec_reserve(tally->places, cnt, tally->place_cap, 256))
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++) {
		const struct tally_entry *entry = &tally->entries[first + i];

		tally->places[i] = (struct tally_place){
			.key = diff_catalog__stack_key(tally->catalog, entry->stack),
			.entry = *entry,
		};
	}
	if (cnt)
		qsort(tally->places, cnt, sizeof(*tally->places), compare_places);
	*cnt_out = cnt;
	return 0;
}

static uint64_t amount_of(const struct diff_tally *tally, const struct tally_entry *entry)
{
	return multiply_saturated(entry->samples, tally->rates[entry->rate].what.period);
}

static int fill_weighed(struct diff_tally *tally, size_t block, uint64_t unit,
			struct diff_side *side, uint64_t *samples_out)
{
	size_t cnt = 0;
	int err = place_entries(tally, block, &cnt);

	for (size_t i = 0; !err && i < cnt;) {
		uint32_t stack = tally->places[i].entry.stack;
		uint64_t amount = tally->carry;

		/* At each rate, and once more where another block came between. */
		for (; i < cnt && tally->places[i].entry.stack == stack; i++)
			amount = add_saturated(amount, amount_of(tally, &tally->places[i].entry));
		tally->carry = amount % unit;
		*samples_out += amount / unit;
		err = diff_catalog__count(tally->catalog, side, stack, amount / unit);
	}
	return err;
}

static uint64_t weighed(uint64_t value, double weight)
{
	return (uint64_t)((double)value * weight + 0.5);
}

/* Shares of what is missing stay as they are. */
static void add_sums(const struct diff_tally *tally, size_t block, uint64_t unit,
		     struct diff_sums *out)
{
	for (size_t i = 0; i < tally->rate_cnt; i++) {
		const struct tally_rate *rate = &tally->rates[i];
		const struct diff_sums *sums = &rate->sums[block];
		double weight = unit ? (double)rate->what.period / (double)unit : 1;

		out->frames += weighed(sums->frames, weight);
		out->unknown_frames += weighed(sums->unknown_frames, weight);
		out->truncated_samples += weighed(sums->truncated_samples, weight);
		out->other_stack_samples += weighed(sums->other_stack_samples, weight);
	}
	out->truncated_samples = min_u64(out->truncated_samples, out->samples);
	out->other_stack_samples = min_u64(out->other_stack_samples, out->samples);
}

int diff_tally__fill(struct diff_tally *tally, size_t block, struct diff_side *side,
		     struct diff_sums *out)
{
	const struct diff_unit unit = diff_tally__unit(tally, block);
	struct diff_sums sums = { 0 };
	int err = are_whole_counts(tally, block, &unit) ?
			  fill_whole(tally, block, side, &sums.samples) :
			  fill_weighed(tally, block, unit.size, side, &sums.samples);

	if (err)
		return err;
	add_sums(tally, block, unit.size, &sums);
	*out = sums;
	return 0;
}
