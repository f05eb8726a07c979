// SPDX-License-Identifier: Apache-2.0
/* A counting sort: how many entries each item has, where each begins, then one pass to place them. */
#include "user/diff/diff_counts.h"

#include <errno.h>
#include <stdlib.h>

void diff_counts_release(struct diff_counts *counts)
{
	free(counts->first);
	free(counts->entries);
	*counts = (struct diff_counts){ 0 };
}

/* first[i + 1] = where entries of item i + 1 begin. */
static void find_first(const struct diff_side *side, const struct diff_plan_side *plan,
		       uint32_t item_cnt, size_t *first)
{
	for (size_t b = 0; b < diff_side__block_count(side); b++) {
		size_t cnt = 0;
		const struct diff_count *counts = diff_side__counts(side, b, &cnt);

		if (plan->cluster_of[b] == DIFF_NONE)
			continue;
		for (size_t i = 0; i < cnt; i++)
			if (counts[i].item < item_cnt)
				first[counts[i].item + 1]++;
	}
	for (size_t i = 0; i < item_cnt; i++)
		first[i + 1] += first[i];
}

/* Moves first[i] to the end of item i, so to where item i + 1 begins. */
static void place(const struct diff_side *side, const struct diff_plan_side *plan,
		  uint32_t item_cnt, size_t *first, struct diff_counts_entry *entries)
{
	for (size_t b = 0; b < diff_side__block_count(side); b++) {
		size_t cnt = 0;
		const struct diff_count *counts = diff_side__counts(side, b, &cnt);

		if (plan->cluster_of[b] == DIFF_NONE)
			continue;
		for (size_t i = 0; i < cnt; i++)
			if (counts[i].item < item_cnt)
				entries[first[counts[i].item]++] = (struct diff_counts_entry){
					.block = (uint32_t)b,
					.count = counts[i].count,
				};
	}
	for (size_t i = item_cnt; i > 0; i--)
		first[i] = first[i - 1];
	first[0] = 0;
}

int diff_counts_make(const struct diff_side *side, const struct diff_plan_side *plan,
		     uint32_t item_cnt, struct diff_counts *out)
{
	struct diff_counts counts = { .first = calloc((size_t)item_cnt + 1, sizeof(size_t)) };

	if (!counts.first)
		return -ENOMEM;
	find_first(side, plan, item_cnt, counts.first);
	counts.entries = reallocarray(NULL, counts.first[item_cnt] + 1, sizeof(*counts.entries));
	if (!counts.entries) {
		diff_counts_release(&counts);
		return -ENOMEM;
	}
	place(side, plan, item_cnt, counts.first, counts.entries);
	*out = counts;
	return 0;
}
