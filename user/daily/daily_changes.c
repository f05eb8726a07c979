// SPDX-License-Identifier: Apache-2.0
/*
 * Shares of a day are first set against the median method: for every method by itself that is there
 * nearly always, its distance from its own mean; the median of those is what the day's mix did to
 * all. Then each method's row of days is searched for changes by diff_series.h, and the p-values are
 * adjusted over the methods (Benjamini and Hochberg), because hundreds are looked at every day.
 */
#include "user/daily/daily_changes.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "user/daily/daily_series.h"
#include "user/diff/diff_math.h"
#include "user/util/cleanup.h"
#include "user/util/vec.h"

#define STEADY_SHARE	 0.8 /* of the days, on which a method is there that helps to find the mix */
#define STEADY_VARIANCE	 0.01	 /* of its values by the blocks, at most */
#define STEADY_ITEMS_MIN 5	 /* fewer: the mix is not known, shares stay as they are */
#define KNOWN_DAYS	 14	 /* was it sure on a day before, not more days ago than these? */
#define KNOWN_NEAR_DAYS	 5	 /* a date that moved by so much is the same change */
#define STANDS_DAYS	 3	 /* the last days say whether a level still stands */
#define P_NONE		 FLT_MIN /* nothing was tested; 0 is that of days of which it is not known */

/* One item's days; `first` and `cnt` say where they are among all. */
struct changes_item {
	size_t first;
	size_t cnt;
	double sum; /* of its values */
	double variance;
	double p; /* NaN = not looked at */
};

struct changes {
	const struct series *series;
	const struct diff_options *options;
	const struct series_day **days;
	size_t day_cnt;
	double *mix;			/* by day */
	struct changes_item *items;	/* by item */
	struct diff_series_day *values; /* by item, then day; as they are set against the mix */
	struct daily_change *found;
	size_t found_cnt;
	size_t found_cap;
	double p_max; /* just enough for an alarm among so many methods */
};

/* What the days of an item up to some day show. */
struct change_list {
	const struct diff_series_day *days;
	size_t day_cnt;
	const struct diff_change *items;
	size_t cnt;
};

static void changes_release(struct changes *changes)
{
	free(changes->days);
	free(changes->mix);
	free(changes->items);
	free(changes->values);
	free(changes->found);
}

static bool is_method(const struct series *series, uint32_t item)
{
	uint8_t kind = series__item(series, item).item_kind;

	return kind == DIFF_KIND_METHOD_SELF || kind == DIFF_KIND_METHOD_TOTAL;
}

/* Sums by item, and where each item's days will be. */
static int count_items(struct changes *changes)
{
	uint32_t item_cnt = series__item_count(changes->series);
	size_t total = 0;

	changes->items = calloc((size_t)item_cnt + 1, sizeof(*changes->items));
	if (!changes->items)
		return -ENOMEM;
	for (size_t d = 0; d < changes->day_cnt; d++) {
		const struct series_day *day = changes->days[d];

		for (size_t i = 0; i < day->row_cnt; i++) {
			struct changes_item *item = &changes->items[day->rows[i].item];

			item->cnt++;
			item->sum += day->rows[i].value;
			item->variance += day->rows[i].variance;
		}
	}
	for (uint32_t i = 0; i < item_cnt; i++) {
		changes->items[i].p = NAN;
		changes->items[i].first = total;
		total += changes->items[i].cnt;
	}
	changes->values = calloc(total + 1, sizeof(*changes->values));
	return changes->values ? 0 : -ENOMEM;
}

static bool is_steady(const struct changes *changes, uint32_t item)
{
	const struct changes_item *at = &changes->items[item];

	return series__item(changes->series, item).item_kind == DIFF_KIND_METHOD_SELF &&
	       (double)at->cnt >= STEADY_SHARE * (double)changes->day_cnt &&
	       at->variance <= STEADY_VARIANCE * (double)at->cnt;
}

static int measure_mix(struct changes *changes)
{
	__cleanup_free double *room = calloc(SERIES_ROWS_MAX, sizeof(*room));

	changes->mix = calloc(changes->day_cnt + 1, sizeof(*changes->mix));
	if (!room || !changes->mix)
		return -ENOMEM;
	for (size_t d = 0; d < changes->day_cnt; d++) {
		const struct series_day *day = changes->days[d];
		size_t cnt = 0;

		for (size_t i = 0; i < day->row_cnt; i++) {
			const struct changes_item *at = &changes->items[day->rows[i].item];

			if (is_steady(changes, day->rows[i].item))
				room[cnt++] = day->rows[i].value - at->sum / (double)at->cnt;
		}
		if (cnt >= STEADY_ITEMS_MIN)
			changes->mix[d] = diff_math_median(room, cnt);
	}
	return 0;
}

static void sort_values(struct changes *changes)
{
	uint32_t item_cnt = series__item_count(changes->series);

	for (uint32_t i = 0; i < item_cnt; i++)
		changes->items[i].cnt = 0;
	for (size_t d = 0; d < changes->day_cnt; d++) {
		const struct series_day *day = changes->days[d];

		for (size_t i = 0; i < day->row_cnt; i++) {
			struct changes_item *item = &changes->items[day->rows[i].item];

			changes->values[item->first + item->cnt++] = (struct diff_series_day){
				.day = day->day,
				.value = day->rows[i].value - changes->mix[d],
				.variance = day->rows[i].variance,
			};
		}
	}
}

/* What does not matter for an item of this size. */
static double relevant(const struct changes *changes, const struct changes_item *item)
{
	double share = exp(item->sum / (double)item->cnt);

	return log1p(fmax(changes->options->relevant_relative,
			  changes->options->relevant_points / share));
}

static int search(const struct changes *changes, const struct changes_item *item, size_t cnt,
		  struct diff_change **out, size_t *cnt_out)
{
	struct diff_series_options options = diff_series_options_default();

	options.relevant = relevant(changes, item);
	return diff_series_changes(changes->values + item->first, cnt, &options, out, cnt_out);
}

static double mean_share(const struct diff_series_day *days, size_t cnt, uint32_t first,
			 uint32_t end)
{
	double sum = 0;
	size_t used = 0;

	for (size_t i = 0; i < cnt; i++) {
		if (days[i].day < first || days[i].day >= end)
			continue;
		sum += days[i].value;
		used++;
	}
	return used ? exp(sum / (double)used) : NAN;
}

/* Are the last days nearer to what came after the change than to what was before? */
static bool still_stands(const struct diff_series_day *days, size_t cnt,
			 const struct diff_change *change)
{
	double room[STANDS_DAYS];
	size_t used = cnt < STANDS_DAYS ? cnt : STANDS_DAYS;
	double last;

	for (size_t i = 0; i < used; i++)
		room[i] = days[cnt - used + i].value;
	last = diff_math_median(room, used);
	return fabs(last - change->after) <= fabs(last - change->before);
}

static int keep(struct changes *changes, uint32_t item, const struct diff_change *list, size_t cnt)
{
	const struct changes_item *at = &changes->items[item];
	const struct diff_series_day *days = changes->values + at->first;
	bool is_there = days[at->cnt - 1].day == changes->days[changes->day_cnt - 1]->day;

	for (size_t i = 0; i < cnt; i++) {
		const struct diff_change *change = &list[i];
		uint32_t before = i ? list[i - 1].last_day : 0;
		uint32_t after = i + 1 < cnt ? list[i + 1].first_day : UINT32_MAX;

		if (vec_room(changes->found, changes->found_cnt, changes->found_cap, 32))
			return -ENOMEM;
		changes->found[changes->found_cnt++] = (struct daily_change){
			.item = item,
			.change = *change,
			.share_before = mean_share(days, at->cnt, before, change->first_day),
			.share_after = mean_share(days, at->cnt, change->last_day, after),
			/* Only the last change can be what stands today. */
			.is_sure = is_there && i + 1 == cnt && still_stands(days, at->cnt, change),
		};
	}
	return 0;
}

static int search_items(struct changes *changes)
{
	uint32_t item_cnt = series__item_count(changes->series);
	int err = 0;

	for (uint32_t i = 0; !err && i < item_cnt; i++) {
		struct changes_item *item = &changes->items[i];
		__cleanup_free struct diff_change *list = NULL;
		size_t cnt = 0;

		if (item->cnt < DIFF_SERIES_DAYS_MIN || !is_method(changes->series, i))
			continue;
		err = search(changes, item, item->cnt, &list, &cnt);
		if (err)
			break;
		item->p = 1;
		for (size_t c = 0; c < cnt; c++)
			item->p = fmin(item->p, list[c].p);
		err = keep(changes, i, list, cnt);
	}
	return err;
}

/* Sets q, is_sure and p_max. */
static int adjust(struct changes *changes)
{
	uint32_t item_cnt = series__item_count(changes->series);
	__cleanup_free double *numbers = calloc((size_t)item_cnt + 1, sizeof(*numbers));
	double q_alarm = changes->options->q_alarm;
	size_t tested = 0;
	size_t accepted = 0;
	int err;

	if (!numbers)
		return -ENOMEM;
	for (uint32_t i = 0; i < item_cnt; i++)
		numbers[i] = changes->items[i].p;
	err = diff_math_bh(numbers, item_cnt, numbers);
	if (err)
		return err;
	for (uint32_t i = 0; i < item_cnt; i++) {
		tested += !isnan(numbers[i]);
		accepted += numbers[i] <= q_alarm;
	}
	for (size_t i = 0; i < changes->found_cnt; i++) {
		struct daily_change *at = &changes->found[i];

		at->q = numbers[at->item];
		at->is_sure = at->is_sure && at->q <= q_alarm;
	}
	changes->p_max = tested ? q_alarm * (double)(accepted ? accepted : 1) / (double)tested :
				  P_NONE;
	return 0;
}

static bool is_same_change(const struct diff_change *a, const struct diff_change *b)
{
	uint32_t apart = a->first_day > b->first_day ? a->first_day - b->first_day :
						       b->first_day - a->first_day;

	return (a->after > a->before) == (b->after > b->before) &&
	       (apart <= KNOWN_NEAR_DAYS ||
		(a->first_day <= b->last_day && b->first_day <= a->last_day));
}

/* Did it end a comparison, lately but before today? */
static bool was_told(const struct changes *changes, const struct series_day *day)
{
	uint32_t last = changes->days[changes->day_cnt - 1]->day;

	return day->is_judged && day->day < last && last - day->day <= KNOWN_DAYS;
}

/*
 * Did the comparison of this day tell of it? `list` is what the `cnt` days until then show. How many other methods
 * changed by then decided what was sure, and was another number than today's. Of days of an earlier jbpf that p is
 * not known: they go by today's.
 */
static bool has_told(const struct changes *changes, const struct series_day *day,
		     const struct change_list *list, const struct diff_change *change)
{
	const struct diff_change *last = &list->items[list->cnt - 1];
	double p = 1;

	for (size_t i = 0; i < list->cnt; i++) {
		if (day->told_p_max == 0 && list->items[i].p <= changes->p_max &&
		    is_same_change(&list->items[i], change))
			return true;
		p = fmin(p, list->items[i].p);
	}
	/* As keep() and adjust() did that day. */
	return p <= (double)day->told_p_max && list->days[list->day_cnt - 1].day == day->day &&
	       is_same_change(last, change) && still_stands(list->days, list->day_cnt, last);
}

/* Did an earlier comparison report the change? */
static int was_known(const struct changes *changes, const struct daily_change *change, bool *out)
{
	const struct changes_item *item = &changes->items[change->item];
	const struct diff_series_day *values = changes->values + item->first;
	size_t known = 0; /* of its values: up to the day in hand */

	*out = false;
	for (size_t d = 0; !*out && d < changes->day_cnt; d++) {
		__cleanup_free struct diff_change *found = NULL;
		struct change_list list = { .days = values };
		int err;

		while (known < item->cnt && values[known].day <= changes->days[d]->day)
			known++;
		if (!was_told(changes, changes->days[d]))
			continue;
		err = search(changes, item, known, &found, &list.cnt);
		if (err)
			return err;
		list.items = found;
		list.day_cnt = known;
		*out = list.cnt && has_told(changes, changes->days[d], &list, &change->change);
	}
	return 0;
}

static int compare_found(const void *a, const void *b)
{
	const struct daily_change *left = a;
	const struct daily_change *right = b;

	if (left->q != right->q)
		return (left->q > right->q) - (left->q < right->q);
	if (left->item != right->item)
		return (left->item > right->item) - (left->item < right->item);
	return (left->change.first_day > right->change.first_day) -
	       (left->change.first_day < right->change.first_day);
}

static int find(struct changes *changes)
{
	int err = count_items(changes);

	if (!err)
		err = measure_mix(changes);
	if (err)
		return err;
	sort_values(changes);
	err = search_items(changes);
	if (!err)
		err = adjust(changes);
	for (size_t i = 0; !err && i < changes->found_cnt; i++) {
		bool is_known = false;

		if (!changes->found[i].is_sure)
			continue;
		err = was_known(changes, &changes->found[i], &is_known);
		changes->found[i].is_new = !is_known;
	}
	if (!err && changes->found_cnt)
		qsort(changes->found, changes->found_cnt, sizeof(*changes->found), compare_found);
	return err;
}

int daily_changes_find(const struct series *series, uint32_t last,
		       const struct diff_options *options, struct daily_changes *out)
{
	struct changes changes = { .series = series, .options = options, .p_max = P_NONE };
	uint32_t first = last >= DAILY_CHANGES_WINDOW ? last - DAILY_CHANGES_WINDOW + 1 : 0;
	int err = daily_series_good(series, first, last, DAILY_CHANGES_WINDOW, options,
				    &changes.days, &changes.day_cnt);

	if (!err && changes.day_cnt >= DIFF_SERIES_DAYS_MIN &&
	    changes.days[changes.day_cnt - 1]->day == last)
		err = find(&changes);
	if (!err)
		*out = (struct daily_changes){ .items = take_ptr(changes.found),
					       .cnt = changes.found_cnt,
					       .p_max = changes.p_max };
	changes_release(&changes);
	return err;
}

bool daily_change_is_alarm(const struct daily_change *change)
{
	return change->is_sure && change->is_new && change->change.after > change->change.before;
}
