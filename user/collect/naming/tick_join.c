// SPDX-License-Identifier: Apache-2.0
/* See tick_join.h. Both sides are sorted by tag and walked once. */
#include "user/collect/naming/tick_join.h"

#include <stdlib.h>
#include <string.h>

#include "user/util/vec.h"

#define JOIN_FIRST 256

struct tagged_count {
	uint64_t first_ns;
	uint32_t tag;
	uint32_t count;
};

void tick_join_release(struct tick_join *join)
{
	free(join->tagged);
	free(join->ticks);
	*join = (struct tick_join){ .ticks = NULL };
}

/* Of one key that was drained twice, what was counted first comes first. */
static int tagged_compare(const void *left, const void *right)
{
	const struct tagged_count *a = left, *b = right;

	if (a->tag != b->tag)
		return a->tag > b->tag ? 1 : -1;
	if (a->first_ns != b->first_ns)
		return a->first_ns > b->first_ns ? 1 : -1;
	return (a->count > b->count) - (a->count < b->count);
}

/* Moments are noted of CPU time only. */
static size_t tag_counts(const struct naming_batch *batch, struct tagged_count *out)
{
	size_t cnt = 0;

	for (uint32_t i = 0; i < batch->head.count_cnt; i++) {
		const struct probe_count *count = &batch->counts[i];

		if (count->key.kind != JBPF_KEY_SAMPLE)
			continue;
		out[cnt++] = (struct tagged_count){
			.first_ns = count->value.first_ns,
			.tag = jbpf_key_tag(&count->key, batch->head.tick_seed),
			.count = i,
		};
	}
	if (cnt)
		qsort(out, cnt, sizeof(*out), tagged_compare);
	return cnt;
}

/* Are they one key, of which so many ticks can be? */
static bool is_sure(const struct naming_batch *batch, const struct tagged_count *tagged, size_t cnt,
		    size_t tick_cnt)
{
	const struct probe_count *first = &batch->counts[tagged[0].count];
	uint64_t samples = 0;

	for (size_t i = 0; i < cnt; i++) {
		const struct probe_count *count = &batch->counts[tagged[i].count];

		if (memcmp(&count->key, &first->key, sizeof(first->key)) != 0)
			return false;
		samples += count->value.count;
	}
	return tick_cnt <= samples;
}

/* One tag's ticks to its counts, in order of time. */
static void join_tag(struct tick_join *join, const struct naming_batch *batch,
		     const struct tagged_count *tagged, const struct probe_tick *ticks,
		     size_t tick_cnt)
{
	uint64_t left = batch->counts[tagged->count].value.count;

	for (size_t i = 0; i < tick_cnt; i++) {
		for (; !left; left = batch->counts[tagged->count].value.count)
			tagged++;
		left--;
		join->ticks[join->cnt++] = (struct counted_tick){
			.count = tagged->count,
			.after_us = ticks[i].after_us,
		};
	}
}

static int by_count(const void *left, const void *right)
{
	const struct counted_tick *a = left, *b = right;

	if (a->count != b->count)
		return a->count > b->count ? 1 : -1;
	return (a->after_us > b->after_us) - (a->after_us < b->after_us);
}

static int by_time(const void *left, const void *right)
{
	const struct counted_tick *a = left, *b = right;

	if (a->after_us != b->after_us)
		return a->after_us > b->after_us ? 1 : -1;
	return (a->count > b->count) - (a->count < b->count);
}

void tick_join_take(struct tick_join *join, const struct naming_batch *batch)
{
	const struct probe_tick *ticks = batch->ticks;
	size_t tick_cnt = batch->head.tick_cnt, tagged_cnt, at = 0, end, tagged_end;

	join->cnt = 0;
	if (!tick_cnt || !batch->head.count_cnt ||
	    vec_reserve(join->tagged, batch->head.count_cnt, join->tagged_cap, JOIN_FIRST) ||
	    vec_reserve(join->ticks, tick_cnt, join->cap, JOIN_FIRST))
		return;
	tagged_cnt = tag_counts(batch, join->tagged);
	for (size_t i = 0; i < tick_cnt; i = end) {
		for (end = i; end < tick_cnt && ticks[end].tag == ticks[i].tag;)
			end++;
		while (at < tagged_cnt && join->tagged[at].tag < ticks[i].tag)
			at++;
		for (tagged_end = at;
		     tagged_end < tagged_cnt && join->tagged[tagged_end].tag == ticks[i].tag;)
			tagged_end++;
		if (tagged_end > at && is_sure(batch, &join->tagged[at], tagged_end - at, end - i))
			join_tag(join, batch, &join->tagged[at], &ticks[i], end - i);
		at = tagged_end;
	}
	if (join->cnt)
		qsort(join->ticks, join->cnt, sizeof(*join->ticks), by_count);
}

/* Place of the first tick of this count, or of one behind it. */
static size_t place_of(const struct tick_join *join, size_t count)
{
	size_t low = 0, high = join->cnt;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (join->ticks[middle].count < count)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* In their place: whoever looks for another stream passes all of this one or none. */
const struct counted_tick *tick_join_stream(struct tick_join *join, size_t first, size_t cnt,
					    size_t *cnt_out)
{
	size_t begin = place_of(join, first), end = place_of(join, first + cnt);

	if (end > begin)
		qsort(join->ticks + begin, end - begin, sizeof(*join->ticks), by_time);
	*cnt_out = end - begin;
	return join->ticks + begin;
}
