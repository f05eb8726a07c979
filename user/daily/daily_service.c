// SPDX-License-Identifier: Apache-2.0
/*
 * One service's day; see daily_service.h. Days are loaded one after the other with one catalog,
 * and at most two are held: each is measured against the one before it, and the last two are what
 * is compared when the sides are of a day each.
 */
#include "user/daily/daily_service.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/daily/daily_series.h"
#include "user/daily/daily_verdict.h"
#include "user/compare/compare_load.h"
#include "user/compare/compare_notes.h"
#include "user/output/diff/diff_output.h"
#include "user/output/info.h"
#include "user/store/series/series_file.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"

#define FILE_NAME_BYTES (DAILY_FILE_BYTES + 16)

/* A day, or the days of a side, as they were loaded. */
struct service_slot {
	bool is_loaded;
	uint32_t number;
	struct compare_loaded loaded;
};

struct service_work {
	const struct daily_job *job;
	const struct daily_service *service;
	struct daily_outcome *out;
	struct series *series;
	bool keeps_series; /* it may be written */
	struct diff_catalog *catalog;
	struct service_slot previous;
	struct service_slot current;
	bool has_many_stacks; /* a side before had more than are kept */
	bool is_cut;	      /* of what is loaded, items with few samples are forgotten */
	struct compare_notes notes;
};

static void slot_release(struct service_slot *slot)
{
	if (slot->is_loaded)
		compare_loaded_release(&slot->loaded);
	*slot = (struct service_slot){ 0 };
}

/* ---- the series ---- */

static void series_name(const struct daily_service *service, char out[static FILE_NAME_BYTES])
{
	(void)snprintf(out, FILE_NAME_BYTES, "%s" SERIES_FILE_SUFFIX, service->file);
}

/* What cannot be read is not written over; the day then goes without. */
static int read_series(struct service_work *work)
{
	const struct daily_dir *dir = work->job->dir;
	struct series_file_state state = { .is_damaged = false };
	char name[FILE_NAME_BYTES];
	int err;

	series_name(work->service, name);
	err = series_file_read(dir->series_fd, name, work->service->key, &work->series, &state);
	if (err == -ENOMEM)
		return err;
	work->keeps_series = !err;
	if (err == -EEXIST)
		pr_warn("%s/%s is the series of another service, left alone\n", dir->series, name);
	else if (err == -EPROTO)
		pr_warn("%s/%s was written by a newer jbpf, left alone\n", dir->series, name);
	else if (err && daily_outcome_say(work->out, DAILY_STATE_FAILED,
					  "%s/%s cannot be read, left alone: %s", dir->series, name,
					  errstr(err)))
		return -ENOMEM;
	if (state.is_damaged) {
		pr_warn("%s/%s is damaged from byte %" PRIu64
			" on (%s), kept as %s" SERIES_FILE_DAMAGED_SUFFIX
			"; what the store still has is measured again\n",
			dir->series, name, state.damage.offset, state.damage.what, name);
		err = compare_notes_add(&work->notes,
					"the series was damaged: older days may be missing");
		if (err)
			return err;
	}
	if (!work->series)
		work->series = series__new();
	return work->series ? 0 : -ENOMEM;
}

static int write_series(struct service_work *work)
{
	char name[FILE_NAME_BYTES];
	int err;

	if (!work->keeps_series)
		return 0;
	series_name(work->service, name);
	err = series_file_write(work->job->dir->series_fd, name, work->service->key, work->series);
	if (err == -ENOMEM)
		return err;
	if (err)
		return daily_outcome_say(work->out, DAILY_STATE_FAILED,
					 "the series cannot be written: %s", errstr(err));
	return 0;
}

static int load(struct service_work *work, uint64_t since_unix_ns, uint64_t until_unix_ns,
		struct compare_loaded *out)
{
	const struct compare_load what = {
		.selection = &work->service->selection,
		.event = work->job->event,
		.since_unix_ns = since_unix_ns,
		.until_unix_ns = until_unix_ns,
		.block_ns = diff_side_block_length_ns(until_unix_ns - since_unix_ns),
		.warm_up_s = work->job->statistics->warm_up_s,
		.wants_streams = true,
		.stacks_max = DAILY_STACKS_MAX,
		.expects_more_stacks = work->has_many_stacks,
	};
	int err =
		compare_load_range(work->job->reader, &what, work->catalog, work->job->damage, out);

	if (!err && out->other_stack_samples)
		work->has_many_stacks = true;
	return err;
}

/* Of the days so far only what the series has stays: else the stacks of 30 days add up. */
static int forget_days(struct service_work *work)
{
	slot_release(&work->previous);
	slot_release(&work->current);
	work->is_cut = false;
	diff_catalog__free(work->catalog);
	work->catalog = diff_catalog__new();
	return work->catalog ? 0 : -ENOMEM;
}

/* What is loaded is all that was counted with the catalog. */
static int cut_items(struct service_work *work)
{
	struct diff_side *sides[2];
	uint32_t item_cnt = 0;
	size_t cnt = 0;

	if (work->previous.is_loaded)
		sides[cnt++] = work->previous.loaded.side;
	if (work->current.is_loaded)
		sides[cnt++] = work->current.loaded.side;
	(void)diff_catalog__items(work->catalog, &item_cnt);
	if (item_cnt <= DAILY_ITEMS_MAX)
		return 0;
	work->is_cut = true;
	return diff_catalog__cut(work->catalog, sides, cnt, DAILY_ITEM_SAMPLES_MIN);
}

/* The day becomes the current one, and what was current the previous one. */
static int load_day(struct service_work *work, const struct daily_date *date)
{
	struct service_slot slot = { .is_loaded = true, .number = date->number };
	int err;

	if (work->current.is_loaded && work->current.number == date->number)
		return 0;
	slot_release(&work->previous);
	work->previous = work->current;
	work->current = (struct service_slot){ 0 };
	err = load(work, date->since_unix_ns, date->until_unix_ns, &slot.loaded);
	if (!err)
		work->current = slot;
	return err;
}

static int measure_day(struct service_work *work, const struct daily_date *date)
{
	const struct service_slot *previous = &work->previous;
	bool has_before = previous->is_loaded && previous->number + 1 == date->number &&
			  diff_side__block_count(previous->loaded.side);
	struct diff_output_side words = { 0 };
	struct daily_measure day = {
		.date = date,
		.before = has_before ? previous->loaded.side : NULL,
		.side = work->current.loaded.side,
		.catalog = work->catalog,
	};

	compare_loaded_describe(&work->current.loaded, &words);
	day.jvm_version = words.jvm_version;
	day.image = words.image;
	return daily_series_put(work->series, &day);
}

/*
 * Measures the days of the after side, and earlier ones that the series lacks and the store has: on
 * the first run, after damage, and when jobs were missed.
 */
static int fill_series(struct service_work *work)
{
	const struct daily_job *job = work->job;
	uint32_t back = DAILY_FILL_MAX > job->days ? DAILY_FILL_MAX : job->days;
	int err = 0;

	for (; !err && back >= 1; back--) {
		bool is_after = back <= job->days;
		struct daily_date date, before;

		err = daily_date_before(job->now_unix_ns, back, &date);
		if (err || date.until_unix_ns <= job->store_first_unix_ns ||
		    (!is_after && series__find(work->series, date.number)))
			continue;
		err = daily_date_before(job->now_unix_ns, back + 1, &before);
		if (!err && (work->has_many_stacks || work->is_cut))
			err = forget_days(work);
		if (!err)
			err = load_day(work, &before);
		if (!err)
			err = load_day(work, &date);
		if (!err)
			err = cut_items(work);
		if (!err)
			err = measure_day(work, &date);
		/* Should time or memory not be enough for all, the next run goes on from here. */
		if (!err && (work->has_many_stacks || job->stores->from))
			err = write_series(work);
	}
	return err ? err : write_series(work);
}

/* ---- the comparison ---- */

static const char *side_name(const struct daily_date *first, const struct daily_date *last,
			     char *text, size_t text_len)
{
	if (first->number == last->number)
		return last->text;
	(void)snprintf(text, text_len, "%s to %s", first->text, last->text);
	return text;
}

/* Longer sides than a day are loaded; one of a day is there already. */
static int load_sides(struct service_work *work)
{
	const struct daily_job *job = work->job;
	int err;

	if (job->days == 1) {
		if (work->previous.is_loaded && work->current.is_loaded &&
		    work->previous.number == job->before_last.number &&
		    work->current.number == job->after_last.number)
			return 0;
		err = load_day(work, &job->before_last);
		if (!err)
			err = load_day(work, &job->after_last);
		return err ? err : cut_items(work);
	}
	err = forget_days(work);
	if (err)
		return err;
	err = load(work, job->before_first.since_unix_ns, job->before_last.until_unix_ns,
		   &work->previous.loaded);
	work->previous.is_loaded = !err;
	if (!err)
		err = load(work, job->after_first.since_unix_ns, job->after_last.until_unix_ns,
			   &work->current.loaded);
	work->current.is_loaded = !err;
	return err ? err : cut_items(work);
}

static int write_page(struct service_work *work, const char *suffix, const struct strbuf *text)
{
	char name[FILE_NAME_BYTES];

	(void)snprintf(name, sizeof(name), "%s.%s", work->service->file, suffix);
	return daily_dir_write(work->job->dir, name, text);
}

static int write_pages(struct service_work *work, const struct diff_output *page)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	int err = diff_output_html(page, &text);

	if (!err)
		err = write_page(work, "html", &text);
	strbuf_clear(&text);
	if (!err)
		err = diff_output_json(page, &text);
	if (!err)
		err = write_page(work, "json", &text);
	if (err == -ENOMEM)
		return err;
	work->out->has_page = !err;
	return err ? daily_outcome_say(work->out, DAILY_STATE_FAILED,
				       "the page cannot be written: %s", errstr(err)) :
		     0;
}

static int note_side(struct service_work *work, const char *side,
		     const struct compare_loaded *loaded)
{
	if (!loaded->other_stack_samples)
		return 0;
	return compare_notes_add(&work->notes,
				 "%s: %" PRIu64
				 " samples are of stacks beyond the %d with most samples, counted "
				 "as " COMPARE_LOAD_OTHER_STACKS,
				 side, loaded->other_stack_samples, DAILY_STACKS_MAX);
}

static int note_cut(struct service_work *work)
{
	if (!work->is_cut)
		return 0;
	return compare_notes_add(
		&work->notes,
		"methods and places with fewer than %d samples on each side are left out: there "
		"are more than %d",
		DAILY_ITEM_SAMPLES_MIN, DAILY_ITEMS_MAX);
}

static int make_pages(struct service_work *work, const struct diff_result *result)
{
	const struct daily_job *job = work->job;
	char names[2][64];
	struct diff_output page = {
		.title = work->service->title,
		.event = work->job->event,
		.subtitle = "",
		.before = {
			.name = side_name(&job->before_first, &job->before_last, names[0],
					  sizeof(names[0])),
			.since_unix_ns = job->before_first.since_unix_ns,
			.until_unix_ns = job->before_last.until_unix_ns,
		},
		.after = {
			.name = side_name(&job->after_first, &job->after_last, names[1],
					  sizeof(names[1])),
			.since_unix_ns = job->after_first.since_unix_ns,
			.until_unix_ns = job->after_last.until_unix_ns,
		},
		.result = result,
		.catalog = work->catalog,
		.options = job->statistics,
	};
	int err;

	compare_loaded_describe(&work->previous.loaded, &page.before);
	compare_loaded_describe(&work->current.loaded, &page.after);
	err = daily_verdict_notes(work->out, &work->notes);
	if (!err)
		err = note_side(work, "before", &work->previous.loaded);
	if (!err)
		err = note_side(work, "after", &work->current.loaded);
	if (!err)
		err = note_cut(work);
	if (err)
		return err;
	page.notes = (const char *const *)work->notes.items;
	page.note_cnt = work->notes.cnt;
	return write_pages(work, &page);
}

static int keep_images(struct service_work *work)
{
	struct diff_output_side before = { 0 }, after = { 0 };

	compare_loaded_describe(&work->previous.loaded, &before);
	compare_loaded_describe(&work->current.loaded, &after);
	work->out->image_before = before.image ? strdup(before.image) : NULL;
	work->out->image_after = after.image ? strdup(after.image) : NULL;
	return (before.image && !work->out->image_before) ||
			       (after.image && !work->out->image_after) ?
		       -ENOMEM :
		       0;
}

static int judge(struct service_work *work, struct diff_result **result_out)
{
	const struct daily_verdict verdict = {
		.statistics = work->job->statistics,
		.series = work->series,
		.catalog = work->catalog,
		.before = work->previous.loaded.side,
		.after = work->current.loaded.side,
		.before_day = work->job->before_first.number,
		.last_day = work->job->after_last.number,
		.event = work->job->event,
	};

	return daily_verdict_find(&verdict, work->out, result_out);
}

/*
 * Only now: what was not compared, and whose process ended before this, told nobody, and the changes of
 * its last day are news on the day after.
 */
static int keep_judged(struct service_work *work)
{
	int err;

	if (work->out->state == DAILY_STATE_FAILED)
		return 0;
	err = daily_series_set_judged(work->series, work->job->after_last.number,
				      work->out->told_p_max);
	return err ? err : write_series(work);
}

static int compare(struct service_work *work)
{
	const struct daily_service *service = work->service;
	struct diff_result *result = NULL;
	int err;

	if (service->samples_before < DAILY_SAMPLES_MIN ||
	    service->samples_after < DAILY_SAMPLES_MIN)
		return daily_outcome_say(work->out, DAILY_STATE_NOT_COMPARED,
					 "%" PRIu64 " sample%s before and %" PRIu64
					 " after, %d are needed on each side",
					 service->samples_before,
					 info_plural(service->samples_before),
					 service->samples_after, DAILY_SAMPLES_MIN);
	err = load_sides(work);
	if (!err)
		err = keep_images(work);
	if (!err)
		err = judge(work, &result);
	if (!err)
		err = make_pages(work, result);
	if (!err)
		err = keep_judged(work);
	diff_result__free(result);
	return err;
}

int daily_service_run(const struct daily_job *job, const struct daily_service *service,
		      struct daily_outcome *out)
{
	struct service_work work = { .job = job, .service = service, .out = out };
	int err;

	*out = (struct daily_outcome){ .service = service,
				       .state = DAILY_STATE_QUIET,
				       .detectable = NAN };
	work.catalog = diff_catalog__new();
	err = work.catalog ? read_series(&work) : -ENOMEM;
	if (!err)
		err = fill_series(&work);
	if (!err && out->state != DAILY_STATE_FAILED)
		err = compare(&work);
	slot_release(&work.previous);
	slot_release(&work.current);
	diff_catalog__free(work.catalog);
	series__free(work.series);
	compare_notes_release(&work.notes);
	if (err && err != -ENOMEM)
		err = daily_outcome_say(out, DAILY_STATE_FAILED, "%s",
					err == -E2BIG ? "too many different stacks" :
							store_source__failure(job->reader, err));
	return err;
}
