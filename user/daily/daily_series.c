// SPDX-License-Identifier: Apache-2.0
/* Days of a series; see daily_series.h. */
#include "user/daily/daily_series.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "user/diff/diff_math.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

#define WHOLE_SHARE_MIN	  0.5 /* of the usual number of blocks */
#define HISTORY_SPAN_DAYS 90  /* what is older says little about how the service is today */

/* A row that might be kept. */
struct candidate {
	struct diff_history_row row;
	enum diff_kind kind;
};

/* Which rows go first when there is no room for all: alarms are of methods. */
static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *left = a;
	const struct candidate *right = b;

	if (left->kind != right->kind)
		return (left->kind > right->kind) - (left->kind < right->kind);
	if (left->row.value != right->row.value)
		return (left->row.value < right->row.value) - (left->row.value > right->row.value);
	return (left->row.item > right->row.item) - (left->row.item < right->row.item);
}

/* Rows with names that a series takes, the most important first. */
static size_t choose_rows(const struct daily_measure *day, const struct diff_history_row *rows,
			  size_t cnt, struct candidate *out)
{
	uint32_t item_cnt;
	const struct diff_item *items = diff_catalog__items(day->catalog, &item_cnt);
	size_t chosen = 0;

	for (size_t i = 0; i < cnt; i++) {
		enum diff_kind kind = items[rows[i].item].kind;
		struct diff_catalog_name name = diff_catalog__name(day->catalog, rows[i].item);

		if (kind == DIFF_KIND_PATH || name.len == 0 || name.len > SERIES_NAME_MAX ||
		    !isfinite(rows[i].value) || !isfinite(rows[i].variance))
			continue;
		out[chosen++] = (struct candidate){ .row = rows[i], .kind = kind };
	}
	if (chosen)
		qsort(out, chosen, sizeof(*out), compare_candidates);
	return chosen;
}

/* What is named in `chosen` as rows of the series. */
static int name_rows(struct series *series, const struct diff_catalog *catalog,
		     const struct candidate *chosen, size_t cnt, struct series_row *out)
{
	for (size_t i = 0; i < cnt; i++) {
		struct diff_catalog_name name = diff_catalog__name(catalog, chosen[i].row.item);
		int err = series__item_id(series, (uint8_t)chosen[i].kind, (uint8_t)name.kind,
					  name.text, name.len, &out[i].item);

		if (err)
			return err;
		out[i].value = fminf(chosen[i].row.value, 0);
		out[i].variance = chosen[i].row.variance;
	}
	if (cnt)
		qsort(out, cnt, sizeof(*out), series_compare_rows);
	return 0;
}

/*
 * That of most blocks: jbpfd may have been started again with another. Rows go by all blocks, whose
 * samples have weights for it (diff_plan.h). 0 when the rate of one is not known.
 */
static uint32_t usual_frequency(const struct diff_side *side)
{
	size_t cnt = diff_side__block_count(side);
	uint32_t usual_hz = 0;
	size_t most = 0;

	/* A day has a hundred blocks. */
	for (size_t i = 0; i < cnt; i++) {
		uint32_t frequency_hz = diff_side__block(side, i)->frequency_hz;
		size_t same = 0;

		if (!frequency_hz)
			return 0;
		for (size_t at = 0; at < cnt; at++)
			same += diff_side__block(side, at)->frequency_hz == frequency_hz;
		if (same > most) {
			most = same;
			usual_hz = frequency_hz;
		}
	}
	return usual_hz;
}

static void add_blocks(const struct diff_side *side, struct series_day *out)
{
	double recorded_s = 0;
	double cpu_s = 0;

	for (size_t i = 0; i < diff_side__block_count(side); i++) {
		const struct diff_block *block = diff_side__block(side, i);

		recorded_s += (double)block->length_ns / CLOCK_NS_PER_S;
		cpu_s += block->cpu_s;
		out->samples += block->samples;
		/* Of which method those of other stacks are is not known, either. */
		out->lost_samples += block->lost_samples + block->other_stack_samples;
		out->frames += block->frames;
		out->unknown_frames += block->unknown_frames;
		out->truncated_samples += block->truncated_samples;
		out->blocks++;
	}
	out->frequency_hz = usual_frequency(side);
	out->recorded_s = (uint64_t)(recorded_s + 0.5);
	out->cpu_ms = (uint64_t)(cpu_s * 1000 + 0.5);
}

/* Cut where it is too long, at a character's start. */
static char *copy_label(const char *label)
{
	size_t len = label ? strnlen(label, SERIES_LABEL_MAX + 1) : 0;

	if (len > SERIES_LABEL_MAX) {
		len = SERIES_LABEL_MAX;
		while (len && ((uint8_t)label[len] & 0xc0) == 0x80)
			len--;
	}
	return strndup(label ? label : "", len);
}

int daily_series_put(struct series *series, const struct daily_measure *day)
{
	struct series_day out = {
		.day = day->date->number,
		.start_unix_s = day->date->since_unix_ns / CLOCK_NS_PER_S,
		.length_s = (uint32_t)((day->date->until_unix_ns - day->date->since_unix_ns) /
				       CLOCK_NS_PER_S),
	};
	__cleanup_free struct diff_history_row *measured = NULL;
	__cleanup_free char *jvm_version = copy_label(day->jvm_version);
	__cleanup_free char *image = copy_label(day->image);
	const struct series_day *earlier = series__find(series, day->date->number);
	uint32_t item_cnt;
	size_t cnt = 0;
	int err;

	out.is_judged = earlier && earlier->is_judged;
	out.told_p_max = earlier ? earlier->told_p_max : 0;
	(void)diff_catalog__items(day->catalog, &item_cnt);
	err = diff_history_measure_day(day->before, day->side, item_cnt, DAILY_SHARE_MIN, &measured,
				       &cnt);
	if (err)
		return err;

	__cleanup_free struct candidate *chosen = calloc(cnt + 1, sizeof(*chosen));
	__cleanup_free struct series_row *rows = calloc(cnt + 1, sizeof(*rows));

	if (!jvm_version || !image || !chosen || !rows)
		return -ENOMEM;
	out.jvm_version = jvm_version;
	out.image = image;
	out.row_cnt = choose_rows(day, measured, cnt, chosen);
	if (out.row_cnt > SERIES_ROWS_MAX) {
		out.left_out = (uint32_t)(out.row_cnt - SERIES_ROWS_MAX);
		out.row_cnt = SERIES_ROWS_MAX;
	}
	add_blocks(day->side, &out);
	err = name_rows(series, day->catalog, chosen, out.row_cnt, rows);
	out.rows = rows;
	return err ? err : series__put(series, &out);
}

int daily_series_set_judged(struct series *series, uint32_t day, double told_p_max)
{
	const struct series_day *found = series__find(series, day);
	struct series_day judged;

	if (!found || (found->is_judged && found->told_p_max >= (float)told_p_max))
		return 0;
	judged = *found;
	judged.is_judged = true;
	judged.told_p_max = fmaxf(judged.told_p_max, (float)told_p_max);
	return series__put(series, &judged);
}

/* ---- which days are good ---- */

static double share(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static double unknown_share(const struct series_day *day)
{
	return share(day->unknown_frames, day->frames);
}

static double truncated_share(const struct series_day *day)
{
	return share(day->truncated_samples, day->samples);
}

static bool is_good_alone(const struct series_day *day, const struct diff_options *options)
{
	return day->samples >= DAILY_SAMPLES_MIN && day->blocks >= options->blocks_min &&
	       day->row_cnt && day->frequency_hz &&
	       share(day->lost_samples, day->samples + day->lost_samples) <= options->lost_max &&
	       unknown_share(day) <= options->unknown_max;
}

/* Drops days whose `figure` is far from the usual one; names were missing, or more stacks cut. */
static size_t keep_usual(const struct series_day **days, size_t cnt,
			 double (*figure)(const struct series_day *day), double gap_max,
			 double *room)
{
	size_t kept = 0;
	double usual;

	if (!cnt)
		return 0;
	for (size_t i = 0; i < cnt; i++)
		room[i] = figure(days[i]);
	usual = diff_math_median(room, cnt);
	for (size_t i = 0; i < cnt; i++)
		if (fabs(figure(days[i]) - usual) <= gap_max)
			days[kept++] = days[i];
	return kept;
}

/* Drops days of which much less was seen than usual: other hours have another mix. */
static size_t keep_whole(const struct series_day **days, size_t cnt, double *room)
{
	size_t kept = 0;
	double usual;

	if (!cnt)
		return 0;
	for (size_t i = 0; i < cnt; i++)
		room[i] = days[i]->blocks;
	usual = diff_math_median(room, cnt);
	for (size_t i = 0; i < cnt; i++)
		if (days[i]->blocks >= WHOLE_SHARE_MIN * usual)
			days[kept++] = days[i];
	return kept;
}

int daily_series_good(const struct series *series, uint32_t first, uint32_t last, size_t max,
		      const struct diff_options *options, const struct series_day ***out,
		      size_t *cnt_out)
{
	size_t all = 0;
	const struct series_day *days = series__days(series, &all);
	__cleanup_free const struct series_day **good = calloc(all + 1, sizeof(const void *));
	__cleanup_free double *room = calloc(all + 1, sizeof(*room));
	size_t cnt = 0;

	if (!good || !room)
		return -ENOMEM;
	for (size_t i = 0; i < all; i++)
		if (days[i].day >= first && days[i].day <= last && is_good_alone(&days[i], options))
			good[cnt++] = &days[i];
	cnt = keep_usual(good, cnt, unknown_share, options->gap_max, room);
	cnt = keep_usual(good, cnt, truncated_share, options->gap_max, room);
	cnt = keep_whole(good, cnt, room);
	if (cnt > max) {
		memmove(good, good + (cnt - max), max * sizeof(const void *));
		cnt = max;
	}
	*out = take_ptr(good);
	*cnt_out = cnt;
	return 0;
}

/* ---- history ---- */

static int compare_history(const void *a, const void *b)
{
	const struct diff_history_row *left = a;
	const struct diff_history_row *right = b;

	return (left->item > right->item) - (left->item < right->item);
}

/* A day's rows under today's numbers; what is not there today is left out. */
static int translate_day(const struct series_day *day, const uint32_t *items,
			 struct diff_history_row **rows_out, size_t *cnt_out)
{
	struct diff_history_row *rows = calloc(day->row_cnt + 1, sizeof(*rows));
	size_t cnt = 0;

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < day->row_cnt; i++) {
		uint32_t item = items[day->rows[i].item];

		if (item != DIFF_NONE)
			rows[cnt++] = (struct diff_history_row){
				.item = item,
				.value = day->rows[i].value,
				.variance = day->rows[i].variance,
			};
	}
	if (cnt)
		qsort(rows, cnt, sizeof(*rows), compare_history);
	*rows_out = rows;
	*cnt_out = cnt;
	return 0;
}

/* By number in the series: number in the catalog or DIFF_NONE. */
static uint32_t *find_items(const struct series *series, const struct diff_catalog *catalog)
{
	uint32_t cnt = series__item_count(series);
	uint32_t *items = reallocarray(NULL, (size_t)cnt + 1, sizeof(*items));

	for (uint32_t i = 0; items && i < cnt; i++) {
		struct series_item item = series__item(series, i);

		items[i] = diff_catalog__find(catalog, (enum diff_kind)item.item_kind,
					      (enum frame_kind)item.frame_kind, item.name,
					      item.name_len);
	}
	return items;
}

int daily_series_history(const struct series *series, const struct diff_catalog *catalog,
			 uint32_t before, const struct diff_options *options,
			 struct daily_history *out)
{
	__cleanup_free const struct series_day **days = NULL;
	__cleanup_free uint32_t *items = find_items(series, catalog);
	size_t cnt = 0;
	int err = items ? 0 : -ENOMEM;

	*out = (struct daily_history){ .history.kind = DIFF_HISTORY_DAYS };
	if (!err && before)
		err = daily_series_good(series,
					before > HISTORY_SPAN_DAYS ? before - HISTORY_SPAN_DAYS : 0,
					before - 1, DAILY_HISTORY_MAX, options, &days, &cnt);
	for (size_t i = 0; !err && i < cnt; i++) {
		size_t row_cnt = 0;

		err = translate_day(days[i], items, &out->rows[i], &row_cnt);
		if (!err)
			out->sets[i] = (struct diff_history_set){ .rows = out->rows[i],
								  .row_cnt = row_cnt };
	}
	out->history.sets = out->sets;
	out->history.set_cnt = cnt;
	return err;
}

void daily_history_release(struct daily_history *history)
{
	for (size_t i = 0; i < DAILY_HISTORY_MAX; i++)
		free(history->rows[i]);
	*history = (struct daily_history){ 0 };
}
