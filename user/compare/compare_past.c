// SPDX-License-Identifier: Apache-2.0
/*
 * Which earlier times to read, and what they measure; see compare_past.h.
 *
 * Days: the hours that both sides have, on the seven days before the last such day of the earlier
 * side, and on that day itself. Neighbours are compared, so seven pairs come out. Days of which too
 * little was recorded are left out.
 */
#include "user/compare/compare_past.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "user/diff/diff_plan.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

#define DAY_NS	   (86400 * CLOCK_NS_PER_S)
#define BLOCKS_MIN 4	 /* of a day that counts */
#define SHARE_MIN  0.001 /* items below have no history of their own */

struct past_range {
	uint64_t since;
	uint64_t until;
};

/* What all steps share. */
struct past_reading {
	struct store_source *reader;
	struct compare_load what;
	struct diff_catalog *catalog;
	struct cmd_store_damage *damage;
	size_t blocks_min;
};

void compare_past_release(struct compare_past *past)
{
	for (size_t i = 0; i < ARRAY_SIZE(past->sets); i++)
		free((void *)past->sets[i].rows);
	memset(past, 0, sizeof(*past));
}

static struct past_range range_of(const struct diff_side *side, uint64_t block_ns)
{
	size_t cnt = diff_side__block_count(side);

	return (struct past_range){
		.since = diff_side__block(side, 0)->start_unix_ns,
		.until = diff_side__block(side, cnt - 1)->start_unix_ns + block_ns,
	};
}

static uint64_t length_of(struct past_range range)
{
	return range.until - range.since;
}

/* The hours that both sides have, on the last day of the earlier side that has them all. */
static struct past_range last_day(struct past_range before, struct past_range after)
{
	struct past_range shorter = length_of(before) <= length_of(after) ? before : after;
	struct past_range earlier = before.since <= after.since ? before : after;
	uint64_t length = length_of(shorter) < DAY_NS ? length_of(shorter) : DAY_NS;
	uint64_t until = shorter.since + length;

	while (until > earlier.until && until >= DAY_NS)
		until -= DAY_NS;
	while (until + DAY_NS <= earlier.until)
		until += DAY_NS;
	return (struct past_range){ .since = until > length ? until - length : 0, .until = until };
}

static bool is_same(struct past_range a, struct past_range b)
{
	return a.since == b.since && a.until == b.until;
}

/* The range that many days earlier. *out stays NULL when it holds too little. */
static int load_earlier(struct past_reading *reading, struct past_range range, uint64_t days,
			struct diff_side **out)
{
	struct compare_loaded loaded = { 0 };

	if (range.since < days * DAY_NS || range.since >= range.until)
		return 0;
	reading->what.since_unix_ns = range.since - days * DAY_NS;
	reading->what.until_unix_ns = range.until - days * DAY_NS;

	int err = compare_load_range(reading->reader, &reading->what, reading->catalog,
				     reading->damage, &loaded);

	if (err)
		return err;
	if (diff_side__block_count(loaded.side) >= reading->blocks_min)
		*out = take_ptr(loaded.side);
	compare_loaded_release(&loaded);
	return 0;
}

static void take_set(struct compare_past *past, struct diff_history_row *rows, size_t cnt)
{
	if (cnt)
		past->sets[past->history.set_cnt++] =
			(struct diff_history_set){ .rows = rows, .row_cnt = cnt };
	else
		free(rows);
}

/* Of a day and the one before it, or of a pair: one of diff_history.h. */
typedef int (*measure_fn)(const struct diff_side *before, const struct diff_side *after,
			  uint32_t item_cnt, double share_min, struct diff_history_row **rows_out,
			  size_t *cnt_out);

static int measure(const struct past_reading *reading, measure_fn measure_sides,
		   const struct diff_side *before, const struct diff_side *after,
		   struct compare_past *past)
{
	struct diff_history_row *rows = NULL;
	uint32_t item_cnt = 0;
	size_t cnt = 0;

	(void)diff_catalog__items(reading->catalog, &item_cnt);

	int err = measure_sides(before, after, item_cnt, SHARE_MIN, &rows, &cnt);

	if (!err)
		take_set(past, rows, cnt);
	return err;
}

static int load_days(struct past_reading *reading, struct past_range range,
		     const struct diff_side *last, struct compare_past *past)
{
	struct diff_side *before = NULL;
	int err = 0;

	past->history.kind = DIFF_HISTORY_DAYS;
	for (uint64_t days = COMPARE_PAST_PAIRS; !err && days <= COMPARE_PAST_PAIRS; days--) {
		struct diff_side *day = NULL;

		if (days == 0 && last) {
			err = measure(reading, diff_history_measure_day, before, last, past);
			break;
		}
		err = load_earlier(reading, range, days, &day);
		if (err || !day)
			continue;
		err = measure(reading, diff_history_measure_day, before, day, past);
		diff_side__free(before);
		before = day;
	}
	diff_side__free(before);
	return err;
}

static int load_pairs(struct past_reading *reading, struct past_range before,
		      struct past_range after, struct compare_past *past)
{
	int err = 0;

	past->history.kind = DIFF_HISTORY_PAIRS;
	for (uint64_t days = COMPARE_PAST_PAIRS; !err && days; days--) {
		struct diff_side *a = NULL;
		struct diff_side *b = NULL;

		err = load_earlier(reading, before, days, &a);
		if (!err && a)
			err = load_earlier(reading, after, days, &b);
		if (!err && b)
			err = measure(reading, diff_history_measure_pair, a, b, past);
		diff_side__free(a);
		diff_side__free(b);
	}
	return err;
}

static int is_paired(const struct diff_side *before, const struct diff_side *after, bool *out)
{
	struct diff_plan plan;
	int err = diff_plan_make(before, after, &plan);

	if (err)
		return err;
	*out = plan.is_paired;
	diff_plan_release(&plan);
	return 0;
}

int compare_past_load(struct store_source *reader, const struct compare_load *what,
		      struct diff_catalog *catalog, const struct diff_side *before,
		      const struct diff_side *after, struct cmd_store_damage *damage,
		      struct compare_past *out)
{
	size_t cnt_a = diff_side__block_count(before);
	size_t cnt_b = diff_side__block_count(after);
	struct past_reading reading = {
		.reader = reader,
		.what = *what,
		.catalog = catalog,
		.damage = damage,
	};
	struct compare_past past = { 0 };
	bool paired = false;

	if (!cnt_a || !cnt_b) {
		*out = past;
		return 0;
	}
	/* A day like any other had whatever image and hosts. */
	reading.what.labels = NULL;
	reading.what.others = NULL;
	reading.what.wants_streams = false;

	struct past_range range_a = range_of(before, what->block_ns);
	struct past_range range_b = range_of(after, what->block_ns);
	struct past_range day = last_day(range_a, range_b);
	size_t shorter = cnt_a < cnt_b ? cnt_a : cnt_b;
	size_t per_day = (size_t)(length_of(day) / what->block_ns);
	int err = is_paired(before, after, &paired);

	reading.blocks_min = (shorter < per_day ? shorter : per_day) / 2;
	if (reading.blocks_min < BLOCKS_MIN)
		reading.blocks_min = BLOCKS_MIN;
	if (!err && paired)
		err = load_days(&reading, day,
				!what->labels && is_same(day, range_a) ? before : NULL, &past);
	else if (!err)
		err = load_pairs(&reading, range_a, range_b, &past);
	if (err) {
		compare_past_release(&past);
		return err;
	}
	*out = past;
	out->history.sets = out->sets;
	return 0;
}
