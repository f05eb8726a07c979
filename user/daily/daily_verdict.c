// SPDX-License-Identifier: Apache-2.0
/* Alarms of a service's day; see daily_verdict.h. */
#include "user/daily/daily_verdict.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/compare/compare_alarms.h"
#include "user/daily/daily_changes.h"
#include "user/daily/daily_series.h"
#include "user/diff/diff_math.h"
#include "user/util/cleanup.h"

#define NAME_SHOWN_MAX	 512  /* bytes */
#define LARGER_SHARE_MIN 0.01 /* methods whose smallest visible change is told */
#define KNOWN_DAYS_MAX	 60   /* what changed longer ago is how things are */

static char *copy_name(const char *name, size_t len)
{
	return strndup(name, len < NAME_SHOWN_MAX ? len : NAME_SHOWN_MAX);
}

/* ---- against the days before ---- */

static struct daily_alarm row_alarm(const struct diff_row *row, enum diff_kind kind)
{
	return (struct daily_alarm){
		.kind = DAILY_ALARM_REGRESSION,
		.is_self = kind == DIFF_KIND_METHOD_SELF,
		.change = diff_relative(row->change.value),
		.low = diff_relative(row->change.low),
		.high = diff_relative(row->change.high),
		.share_before = row->share_a,
		/* Agrees with the change: as if the median method had kept its share. */
		.share_after = row->share_a + row->points.value,
	};
}

/* One alarm per cause: callers of a method that needs more need more, too. */
static int keep_alarms(const struct daily_verdict *verdict, const struct diff_result *result,
		       struct daily_outcome *out)
{
	__cleanup_free struct compare_alarm *list = NULL;
	uint32_t item_cnt;
	const struct diff_item *items = diff_catalog__items(verdict->catalog, &item_cnt);
	size_t cnt = 0;
	int err = compare_alarms_list(result, verdict->catalog, &list, &cnt);

	if (err)
		return err;
	cnt = cnt < DAILY_ALARMS_MAX ? cnt : DAILY_ALARMS_MAX;
	out->alarms = calloc(cnt + 1, sizeof(*out->alarms));
	if (!out->alarms)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++) {
		struct diff_catalog_name name = diff_catalog__name(verdict->catalog, list[i].item);
		struct diff_catalog_name origin =
			diff_catalog__name(verdict->catalog, list[i].origin);
		struct daily_alarm *alarm = &out->alarms[out->alarm_cnt++];

		*alarm = row_alarm(&result->rows[list[i].item], items[list[i].item].kind);
		alarm->event = verdict->event;
		alarm->caller_cnt = list[i].caller_cnt;
		alarm->method = copy_name(name.text, name.len);
		if (!alarm->method)
			return -ENOMEM;
		if (name.len == origin.len && memcmp(name.text, origin.text, name.len) == 0)
			continue;
		alarm->origin = copy_name(origin.text, origin.len);
		if (!alarm->origin)
			return -ENOMEM;
	}
	return 0;
}

/* What would have been seen of methods that matter; the median, since they differ little. */
static int measure_detectable(const struct daily_verdict *verdict, const struct diff_result *result,
			      struct daily_outcome *out)
{
	__cleanup_free double *room = calloc((size_t)result->row_cnt + 1, sizeof(*room));
	uint32_t item_cnt;
	const struct diff_item *items = diff_catalog__items(verdict->catalog, &item_cnt);
	size_t cnt = 0;

	if (!room)
		return -ENOMEM;
	for (uint32_t i = 0; i < result->row_cnt; i++) {
		const struct diff_row *row = &result->rows[i];

		if (items[i].kind == DIFF_KIND_METHOD_SELF && row->is_tested &&
		    row->share_a >= LARGER_SHARE_MIN && isfinite(row->detectable))
			room[cnt++] = row->detectable;
	}
	out->detectable = cnt ? diff_math_median(room, cnt) : NAN;
	return 0;
}

static int put_why(struct daily_outcome *out, enum daily_state state, char *why)
{
	if (!why)
		return -ENOMEM;
	free(out->why);
	out->why = why;
	out->state = state;
	return 0;
}

/* Why there can be no alarms, if so. */
static int explain(const struct daily_verdict *verdict, const struct diff_result *result,
		   struct daily_outcome *out)
{
	const struct diff_summary *summary = &result->summary;
	const char *obstacle = compare_alarms_obstacle(summary, verdict->statistics);
	char *text = NULL;

	if (!*obstacle)
		return 0;
	if (!summary->gates_passed || summary->mode != DIFF_MODE_STATISTICAL)
		return put_why(out, DAILY_STATE_NOT_COMPARED, strdup(obstacle));
	if (asprintf(&text,
		     "how much methods drift is not known yet: %" PRIu32
		     " pairs of earlier days, %" PRIu32 " are needed",
		     summary->history_pairs, verdict->statistics->history_min) < 0)
		return -ENOMEM;
	return put_why(out, DAILY_STATE_LEARNING, text);
}

/* ---- the series ---- */

static bool is_listed(const struct daily_alarm *alarms, size_t cnt, const struct daily_alarm *alarm)
{
	for (size_t i = 0; i < cnt; i++)
		/* A method by itself also says it for what it calls, not the other way round. */
		if (strcmp(alarms[i].method, alarm->method) == 0 &&
		    (alarms[i].is_self || !alarm->is_self))
			return true;
	return false;
}

static struct daily_alarm change_alarm(const struct daily_change *change,
				       const struct series_item *item)
{
	return (struct daily_alarm){
		.kind = change->change.shape == DIFF_CHANGE_CREEP ? DAILY_ALARM_CREEP :
								    DAILY_ALARM_STEP,
		.is_self = item->item_kind == DIFF_KIND_METHOD_SELF,
		.change = diff_relative(change->change.after - change->change.before),
		.low = NAN,
		.high = NAN,
		.share_before = change->share_before,
		.share_after = change->share_after,
		.first_day = change->change.first_day,
		.last_day = change->change.last_day,
	};
}

/* Adds a copy to a list, unless the method is there already or the list is full. */
static int add_alarm(struct daily_alarm **list, size_t *cnt, size_t max,
		     const struct daily_alarm *alarm, const struct series_item *item)
{
	struct daily_alarm copy = *alarm;
	struct daily_alarm *bigger;

	copy.method = copy_name(item->name, item->name_len);
	if (!copy.method)
		return -ENOMEM;
	if (*cnt >= max || is_listed(*list, *cnt, &copy)) {
		free(copy.method);
		return 0;
	}
	bigger = reallocarray(*list, *cnt + 1, sizeof(**list));
	if (!bigger) {
		free(copy.method);
		return -ENOMEM;
	}
	*list = bigger;
	bigger[(*cnt)++] = copy;
	return 0;
}

/* Methods by themselves first: they say it for what they call, too. */
static int keep_changes(const struct daily_verdict *verdict, const struct daily_changes *changes,
			bool is_self, struct daily_outcome *out)
{
	int err = 0;

	for (size_t i = 0; !err && i < changes->cnt; i++) {
		const struct daily_change *change = &changes->items[i];
		struct series_item item = series__item(verdict->series, change->item);
		struct daily_alarm alarm = change_alarm(change, &item);

		alarm.event = verdict->event;
		if (!change->is_sure || alarm.is_self != is_self)
			continue;
		if (daily_change_is_alarm(change))
			err = add_alarm(&out->alarms, &out->alarm_cnt, DAILY_ALARMS_MAX, &alarm,
					&item);
		else if (change->change.last_day + KNOWN_DAYS_MAX >= verdict->last_day)
			err = add_alarm(&out->known, &out->known_cnt, DAILY_KNOWN_MAX, &alarm,
					&item);
	}
	return err;
}

static int find_changes(const struct daily_verdict *verdict, struct daily_outcome *out)
{
	struct daily_changes changes = { 0 };
	int err = daily_changes_find(verdict->series, verdict->last_day, verdict->statistics,
				     &changes);

	if (!err)
		err = keep_changes(verdict, &changes, true, out);
	if (!err)
		err = keep_changes(verdict, &changes, false, out);
	out->told_p_max = changes.p_max;
	free(changes.items);
	return err;
}

static void read_days(const struct daily_verdict *verdict, struct daily_alarm *alarms, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		daily_spark_read(verdict->series, verdict->last_day, alarms[i].method,
				 alarms[i].is_self, alarms[i].shares);
}

/* ---- both ---- */

static int compare(const struct daily_verdict *verdict, struct diff_result **out)
{
	struct daily_history history;
	uint32_t item_cnt;
	const struct diff_item *items = diff_catalog__items(verdict->catalog, &item_cnt);
	const struct diff_input input = {
		.items = items,
		.item_cnt = item_cnt,
		.a = verdict->before,
		.b = verdict->after,
		.history = &history.history,
	};
	int err = daily_series_history(verdict->series, verdict->catalog, verdict->before_day,
				       verdict->statistics, &history);

	if (!err)
		err = diff_run(&input, verdict->statistics, out);
	daily_history_release(&history);
	return err;
}

int daily_verdict_find(const struct daily_verdict *verdict, struct daily_outcome *out,
		       struct diff_result **result_out)
{
	struct diff_result *result = NULL;
	int err = compare(verdict, &result);

	if (err)
		return err;
	out->history_pairs = result->summary.history_pairs;
	out->state = DAILY_STATE_QUIET;
	err = explain(verdict, result, out);
	if (!err)
		err = keep_alarms(verdict, result, out);
	if (!err)
		err = measure_detectable(verdict, result, out);
	if (!err)
		err = find_changes(verdict, out);
	if (err) {
		diff_result__free(result);
		return err;
	}
	read_days(verdict, out->alarms, out->alarm_cnt);
	read_days(verdict, out->known, out->known_cnt);
	if (out->alarm_cnt)
		out->state = DAILY_STATE_REGRESSION;
	*result_out = result;
	return 0;
}

static int put_notes(const struct daily_alarm *alarms, size_t cnt, const char *word,
		     struct compare_notes *notes)
{
	int err = 0;

	for (size_t i = 0; !err && i < cnt && i < DAILY_ALARMS_SHOWN; i++) {
		__cleanup_strbuf struct strbuf text = STRBUF_INIT;

		if (alarms[i].kind == DAILY_ALARM_REGRESSION)
			continue; /* the page is about them */
		daily_alarm_text(&alarms[i], &text);
		err = strbuf_error(&text);
		if (!err)
			err = compare_notes_add(notes, "%s: %s", word, strbuf_str(&text));
	}
	return err;
}

int daily_verdict_notes(const struct daily_outcome *outcome, struct compare_notes *notes)
{
	int err = put_notes(outcome->alarms, outcome->alarm_cnt, "daily series", notes);

	if (!err)
		err = put_notes(outcome->known, outcome->known_cnt, "daily series, known", notes);
	if (!err && outcome->image_before && outcome->image_after &&
	    strcmp(outcome->image_before, outcome->image_after) != 0)
		err = compare_notes_add(notes, "the image changed: %s before, %s after",
					outcome->image_before, outcome->image_after);
	if (!err && outcome->why)
		err = compare_notes_add(notes, "%s", outcome->why);
	return err;
}
