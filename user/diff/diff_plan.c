// SPDX-License-Identifier: Apache-2.0
/*
 * Pairing. The day is cut into slots of one block length. In a slot with m blocks of A and n of B,
 * min(m, n) clusters are made and the blocks of each side dealt out to them in order of time: seven
 * days against seven give seven pairs, seven against one give one cluster of seven and one.
 */
#include "user/diff/diff_plan.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "user/util/cleanup.h"
#include "user/util/clock.h"

#define SECONDS_PER_DAY	 86400.0
#define SLOT_MIN_S	 60u
#define SLOT_MAX_S	 3600u
#define SLOT_DEFAULT_S	 900u
#define PAIRS_MIN	 8   /* fewer: not paired */
#define PAIRED_SHARE_MIN 0.5 /* of the shorter side's blocks */
#define LATE_SHARE	 4   /* the last quarter */

struct plan_block {
	uint32_t slot;
	uint32_t side;
	uint32_t index; /* in its side */
};

struct plan_cluster {
	uint64_t start_unix_ns; /* of its first block of B */
	uint32_t number;	/* before sorting */
};

void diff_plan_release(struct diff_plan *plan)
{
	for (int s = 0; s < DIFF_PLAN_SIDES; s++) {
		struct diff_plan_side *side = &plan->sides[s];

		free(side->cluster_of);
		free(side->weight_of);
		free(side->samples);
		free(side->cpu_s);
		free(side->seconds);
	}
	*plan = (struct diff_plan){ 0 };
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a;
	uint64_t right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* The usual distance between starts of neighbours, in seconds. */
static int slot_length(const struct diff_side *sides[DIFF_PLAN_SIDES], uint32_t *out)
{
	size_t room = diff_side__block_count(sides[0]) + diff_side__block_count(sides[1]);
	__cleanup_free uint64_t *gaps = reallocarray(NULL, room + 1, sizeof(*gaps));
	size_t cnt = 0;

	if (!gaps)
		return -ENOMEM;
	for (int s = 0; s < DIFF_PLAN_SIDES; s++)
		for (size_t i = 1; i < diff_side__block_count(sides[s]); i++)
			gaps[cnt++] = diff_side__block(sides[s], i)->start_unix_ns -
				      diff_side__block(sides[s], i - 1)->start_unix_ns;
	*out = SLOT_DEFAULT_S;
	if (cnt) {
		qsort(gaps, cnt, sizeof(*gaps), compare_u64);

		uint64_t seconds = gaps[cnt / 2] / CLOCK_NS_PER_S;

		*out = seconds < SLOT_MIN_S ? SLOT_MIN_S :
		       seconds > SLOT_MAX_S ? SLOT_MAX_S :
					      (uint32_t)seconds;
	}
	return 0;
}

static int compare_blocks(const void *a, const void *b)
{
	const struct plan_block *left = a;
	const struct plan_block *right = b;

	if (left->slot != right->slot)
		return (left->slot > right->slot) - (left->slot < right->slot);
	if (left->side != right->side)
		return (left->side > right->side) - (left->side < right->side);
	return (left->index > right->index) - (left->index < right->index);
}

static int compare_clusters(const void *a, const void *b)
{
	const struct plan_cluster *left = a;
	const struct plan_cluster *right = b;

	if (left->start_unix_ns != right->start_unix_ns)
		return (left->start_unix_ns > right->start_unix_ns) -
		       (left->start_unix_ns < right->start_unix_ns);
	return (left->number > right->number) - (left->number < right->number);
}

/* All blocks; none has a cluster yet. */
static size_t list_blocks(const struct diff_side *sides[DIFF_PLAN_SIDES], uint32_t slot_s,
			  struct diff_plan *plan, struct plan_block *out)
{
	size_t cnt = 0;

	for (uint32_t s = 0; s < DIFF_PLAN_SIDES; s++) {
		for (size_t i = 0; i < diff_side__block_count(sides[s]); i++) {
			const struct diff_block *block = diff_side__block(sides[s], i);

			plan->sides[s].cluster_of[i] = DIFF_NONE;
			out[cnt++] = (struct plan_block){
				.slot = block->time_of_day_s / slot_s,
				.side = s,
				.index = (uint32_t)i,
			};
		}
	}
	return cnt;
}

/* One slot's blocks, those of A first. Units get provisional numbers. */
static void pair_slot(const struct plan_block *blocks, size_t cnt, const struct diff_side *side_b,
		      struct diff_plan *plan, struct plan_cluster *clusters)
{
	size_t cnt_a = 0;

	while (cnt_a < cnt && blocks[cnt_a].side == DIFF_PLAN_A)
		cnt_a++;

	size_t cnt_b = cnt - cnt_a;
	size_t pairs = cnt_a < cnt_b ? cnt_a : cnt_b;

	for (size_t i = 0; pairs && i < cnt; i++) {
		const struct plan_block *at = &blocks[i];
		size_t cluster = at->side == DIFF_PLAN_A ? i * pairs / cnt_a :
							   (i - cnt_a) * pairs / cnt_b;
		uint32_t number = plan->cluster_cnt + (uint32_t)cluster;

		plan->sides[at->side].cluster_of[at->index] = number;
		if (at->side == DIFF_PLAN_A)
			clusters[number] = (struct plan_cluster){ .start_unix_ns = UINT64_MAX,
								  .number = number };
		else if (clusters[number].start_unix_ns == UINT64_MAX)
			clusters[number].start_unix_ns =
				diff_side__block(side_b, at->index)->start_unix_ns;
	}
	plan->cluster_cnt += (uint32_t)pairs;
}

/* Numbers clusters by time. */
static int sort_clusters(const struct diff_side *sides[DIFF_PLAN_SIDES], struct diff_plan *plan,
			 struct plan_cluster *clusters)
{
	__cleanup_free uint32_t *place = reallocarray(NULL, plan->cluster_cnt + 1u, sizeof(*place));

	if (!place)
		return -ENOMEM;
	qsort(clusters, plan->cluster_cnt, sizeof(*clusters), compare_clusters);
	for (uint32_t i = 0; i < plan->cluster_cnt; i++)
		place[clusters[i].number] = i;
	for (int s = 0; s < DIFF_PLAN_SIDES; s++)
		for (size_t i = 0; i < diff_side__block_count(sides[s]); i++)
			if (plan->sides[s].cluster_of[i] != DIFF_NONE)
				plan->sides[s].cluster_of[i] = place[plan->sides[s].cluster_of[i]];
	return 0;
}

static void leave_unpaired(const struct plan_block *blocks, size_t cnt, struct diff_plan *plan)
{
	uint32_t next[DIFF_PLAN_SIDES] = { 0 };

	plan->is_paired = false;
	for (size_t i = 0; i < cnt; i++)
		next[DIFF_PLAN_B] += blocks[i].side == DIFF_PLAN_A;
	plan->first_b = next[DIFF_PLAN_B];
	plan->cluster_cnt = (uint32_t)cnt;
	/* Blocks are sorted by slot here; clusters go by time, which is the order of the index. */
	for (size_t i = 0; i < cnt; i++)
		plan->sides[blocks[i].side].cluster_of[blocks[i].index] = 0;
}

static void number_unpaired(const struct diff_side *sides[DIFF_PLAN_SIDES], struct diff_plan *plan)
{
	uint32_t cluster = 0;

	for (int s = 0; s < DIFF_PLAN_SIDES; s++)
		for (size_t i = 0; i < diff_side__block_count(sides[s]); i++)
			if (plan->sides[s].cluster_of[i] != DIFF_NONE)
				plan->sides[s].cluster_of[i] = cluster++;
}

/* Pairs what can be paired; gives that up when it is too little. */
static int assign_clusters(const struct diff_side *sides[DIFF_PLAN_SIDES], struct diff_plan *plan)
{
	size_t room = diff_side__block_count(sides[0]) + diff_side__block_count(sides[1]);
	__cleanup_free struct plan_block *blocks = reallocarray(NULL, room + 1, sizeof(*blocks));
	__cleanup_free struct plan_cluster *clusters =
		reallocarray(NULL, room + 1, sizeof(*clusters));
	uint32_t slot_s = 0;

	if (!blocks || !clusters)
		return -ENOMEM;

	int err = slot_length(sides, &slot_s);

	if (err)
		return err;

	size_t cnt = list_blocks(sides, slot_s, plan, blocks);
	uint32_t usable[DIFF_PLAN_SIDES] = { 0 };
	uint32_t paired[DIFF_PLAN_SIDES] = { 0 };

	qsort(blocks, cnt, sizeof(*blocks), compare_blocks);
	for (size_t first = 0, end; first < cnt; first = end) {
		for (end = first; end < cnt && blocks[end].slot == blocks[first].slot;)
			end++;
		pair_slot(&blocks[first], end - first, sides[DIFF_PLAN_B], plan, clusters);
	}
	for (size_t i = 0; i < cnt; i++) {
		usable[blocks[i].side]++;
		paired[blocks[i].side] += plan->sides[blocks[i].side].cluster_of[blocks[i].index] !=
					  DIFF_NONE;
	}

	int shorter = usable[DIFF_PLAN_A] <= usable[DIFF_PLAN_B] ? DIFF_PLAN_A : DIFF_PLAN_B;

	if (plan->cluster_cnt < PAIRS_MIN || paired[shorter] < PAIRED_SHARE_MIN * usable[shorter]) {
		leave_unpaired(blocks, cnt, plan);
		number_unpaired(sides, plan);
		return 0;
	}
	plan->is_paired = true;
	for (int s = 0; s < DIFF_PLAN_SIDES; s++)
		plan->sides[s].unpaired_cnt = usable[s] - paired[s];
	return sort_clusters(sides, plan, clusters);
}

static double block_cpu_s(const struct diff_block *block)
{
	if (block->cpu_s > 0 || !block->samples)
		return block->cpu_s;
	return block->frequency_hz ? (double)block->samples / block->frequency_hz : NAN;
}

static void add_block(struct diff_plan_side *side, uint32_t cluster, const struct diff_block *block,
		      double weight)
{
	double seconds = (double)block->length_ns / (double)CLOCK_NS_PER_S;
	double samples = weight * (double)block->samples;

	side->samples[cluster] += samples;
	side->cpu_s[cluster] += block_cpu_s(block);
	side->seconds[cluster] += seconds;
	side->sample_total += samples;
	side->cpu_total_s += block_cpu_s(block);
	side->second_total += seconds;
	side->block_cnt++;
	side->raw_samples += (double)block->samples;
	side->lost += (double)block->lost_samples;
	side->frames += (double)block->frames;
	side->unknown_frames += (double)block->unknown_frames;
	side->truncated += (double)block->truncated_samples;
	side->other_stacks += (double)block->other_stack_samples;
}

/* The first known frequency: samples at another one are weighted to stand for the same time. */
static uint32_t reference_frequency(const struct diff_side *sides[DIFF_PLAN_SIDES])
{
	for (int s = 0; s < DIFF_PLAN_SIDES; s++)
		for (size_t i = 0; i < diff_side__block_count(sides[s]); i++)
			if (diff_side__block(sides[s], i)->frequency_hz)
				return diff_side__block(sides[s], i)->frequency_hz;
	return 0;
}

/* From the first block that is compared to the end of the last, be they of one side or of both. */
static double span_of(const struct diff_side *sides[DIFF_PLAN_SIDES], const struct diff_plan *plan)
{
	uint64_t first = UINT64_MAX;
	uint64_t end = 0;

	for (int s = 0; s < DIFF_PLAN_SIDES; s++) {
		for (size_t i = 0; i < diff_side__block_count(sides[s]); i++) {
			const struct diff_block *block = diff_side__block(sides[s], i);

			if (plan->sides[s].cluster_of[i] == DIFF_NONE)
				continue;
			if (block->start_unix_ns < first)
				first = block->start_unix_ns;
			if (block->start_unix_ns + block->length_ns > end)
				end = block->start_unix_ns + block->length_ns;
		}
	}
	return end > first ? (double)(end - first) / (double)CLOCK_NS_PER_S : 0;
}

static int sum_clusters(const struct diff_side *sides[DIFF_PLAN_SIDES], struct diff_plan *plan)
{
	plan->frequency_hz = reference_frequency(sides);
	plan->span_s = span_of(sides, plan);
	for (int s = 0; s < DIFF_PLAN_SIDES; s++) {
		struct diff_plan_side *side = &plan->sides[s];

		side->samples = calloc(plan->cluster_cnt + 1u, sizeof(double));
		side->cpu_s = calloc(plan->cluster_cnt + 1u, sizeof(double));
		side->seconds = calloc(plan->cluster_cnt + 1u, sizeof(double));
		if (!side->samples || !side->cpu_s || !side->seconds)
			return -ENOMEM;
		for (size_t i = 0; i < diff_side__block_count(sides[s]); i++) {
			const struct diff_block *block = diff_side__block(sides[s], i);
			bool is_known = plan->frequency_hz && block->frequency_hz;

			side->weight_of[i] =
				is_known ? (double)plan->frequency_hz / block->frequency_hz : 1;
			if (side->cluster_of[i] != DIFF_NONE)
				add_block(side, side->cluster_of[i], block, side->weight_of[i]);
		}
		side->days = fmax(1, side->second_total / SECONDS_PER_DAY);
	}
	return 0;
}

static int plan_fill(const struct diff_side *sides[DIFF_PLAN_SIDES], struct diff_plan *plan)
{
	for (int s = 0; s < DIFF_PLAN_SIDES; s++) {
		size_t cnt = diff_side__block_count(sides[s]);

		plan->sides[s].cluster_of = calloc(cnt + 1, sizeof(uint32_t));
		plan->sides[s].weight_of = calloc(cnt + 1, sizeof(double));
		if (!plan->sides[s].cluster_of || !plan->sides[s].weight_of)
			return -ENOMEM;
	}

	int err = assign_clusters(sides, plan);

	if (err)
		return err;

	uint32_t clusters_b = plan->cluster_cnt - plan->first_b;

	plan->late_first = plan->cluster_cnt - clusters_b / LATE_SHARE;
	return sum_clusters(sides, plan);
}

int diff_plan_make(const struct diff_side *a, const struct diff_side *b, struct diff_plan *out)
{
	const struct diff_side *sides[DIFF_PLAN_SIDES] = { a, b };
	struct diff_plan plan = { 0 };
	int err = plan_fill(sides, &plan);

	if (err) {
		diff_plan_release(&plan);
		return err;
	}
	*out = plan;
	return 0;
}
