// SPDX-License-Identifier: Apache-2.0
/* See web_timeline.h. */
#include "user/web/web_timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "user/output/json_writer.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/strtab.h"
#include "user/util/vec.h"

#define STEPS_WANTED 720 /* a picture is about so many pixels wide */
#define NO_GROUP     "(none)"

struct group {
	double *amounts; /* by step: ns of CPU time, or events */
	double total;
};

/* A JVM, and when it began: in the range or before it; 0 = not known. */
struct start {
	uint64_t unix_ns;
	uint32_t group;
	uint32_t service;
	uint32_t image;
	uint32_t image_before; /* of its service, another one; STRTAB_NONE = there is none */
};

struct web_timeline {
	struct web_timeline_options options;
	size_t step_cnt;
	struct strtab *names; /* of groups: id = index in groups */
	struct group *groups;
	size_t group_cnt;
	size_t group_cap;
	double *others;	   /* of groups beyond the maximum */
	uint64_t *lost;	   /* samples, by step */
	bool *is_recorded; /* by step: was anything written at all? */
	struct strtab *images;
	struct strtab *services;  /* of JVMs */
	struct strtab *processes; /* JVMs that were looked at */
	struct start *starts;
	size_t start_cnt;
	size_t start_cap;
	uint64_t unscaled_samples;  /* what one stands for is not known */
	uint64_t recorded_until_ns; /* 0 = not known */
};

/* The process's life, without padding. Of a fleet, hosts may begin alike. */
struct process_key {
	uint64_t process_start_ns;
	uint64_t pid;
	uint64_t host; /* hash of its name */
};

uint64_t web_timeline_step(uint64_t range_ns)
{
	static const uint32_t round_s[] = { 10,	 20,   30,   60,   120,	  300,	 600,
					    900, 1800, 3600, 7200, 21600, 43200, 86400 };

	for (size_t i = 0; i < ARRAY_SIZE(round_s); i++) {
		uint64_t step_ns = round_s[i] * CLOCK_NS_PER_S;

		if (range_ns / step_ns <= STEPS_WANTED)
			return step_ns;
	}
	return (range_ns / STEPS_WANTED / (86400 * CLOCK_NS_PER_S) + 1) * 86400 * CLOCK_NS_PER_S;
}

struct web_timeline *web_timeline__new(const struct web_timeline_options *options)
{
	struct web_timeline *timeline = calloc(1, sizeof(*timeline));
	uint64_t range_ns = options->until_unix_ns - options->since_unix_ns;

	if (!timeline)
		return NULL;
	timeline->options = *options;
	if (!timeline->options.series_max)
		timeline->options.series_max = WEB_TIMELINE_SERIES_MAX;
	timeline->step_cnt = (size_t)((range_ns + options->step_ns - 1) / options->step_ns);
	timeline->names = strtab__new();
	timeline->images = strtab__new();
	timeline->services = strtab__new();
	timeline->processes = strtab__new();
	timeline->others = calloc(timeline->step_cnt, sizeof(*timeline->others));
	timeline->lost = calloc(timeline->step_cnt, sizeof(*timeline->lost));
	timeline->is_recorded = calloc(timeline->step_cnt, sizeof(*timeline->is_recorded));
	if (timeline->names && timeline->images && timeline->services && timeline->processes &&
	    timeline->others && timeline->lost && timeline->is_recorded)
		return timeline;
	web_timeline__free(timeline);
	return NULL;
}

void web_timeline__free(struct web_timeline *timeline)
{
	if (!timeline)
		return;
	for (size_t i = 0; i < timeline->group_cnt; i++)
		free(timeline->groups[i].amounts);
	free(timeline->groups);
	free(timeline->others);
	free(timeline->lost);
	free(timeline->is_recorded);
	free(timeline->starts);
	strtab__free(timeline->names);
	strtab__free(timeline->images);
	strtab__free(timeline->services);
	strtab__free(timeline->processes);
	free(timeline);
}

/* ---- groups ---- */

/* *out is STRTAB_NONE when there are too many. 0 or -ENOMEM. */
static int find_group(struct web_timeline *timeline, const struct window *window, uint32_t *out)
{
	enum window_label by = timeline->options.by;
	const char *name = by == WINDOW_LABEL_CNT ? "host" : window_label(window, by);
	struct group *group;
	int err;

	name = *name ? name : NO_GROUP;
	*out = strtab__find(timeline->names, name, strlen(name));
	if (*out != STRTAB_NONE || timeline->group_cnt == WEB_TIMELINE_GROUPS_MAX)
		return 0;
	err = vec_room(timeline->groups, timeline->group_cnt, timeline->group_cap, 16);
	if (err)
		return err;
	group = &timeline->groups[timeline->group_cnt];
	*group = (struct group){ .total = 0 };
	group->amounts = calloc(timeline->step_cnt, sizeof(*group->amounts));
	if (!group->amounts)
		return -ENOMEM;
	err = strtab__intern(timeline->names, name, strlen(name), out);
	if (err)
		free(group->amounts);
	else
		timeline->group_cnt++;
	return err;
}

/* ---- time ---- */

/* The steps that a window reaches into: [*first, *end). */
static void steps_of(const struct web_timeline *timeline, const struct window *window,
		     size_t *first, size_t *end)
{
	const struct web_timeline_options *options = &timeline->options;
	uint64_t from = window->start_unix_ns, until = window_end_unix_ns(window);

	from = from < options->since_unix_ns ? options->since_unix_ns : from;
	until = until > options->until_unix_ns ? options->until_unix_ns : until;
	*first = *end = 0;
	if (from >= options->until_unix_ns || until <= options->since_unix_ns)
		return;
	*first = (size_t)((from - options->since_unix_ns) / options->step_ns);
	*end = *first + 1;
	if (until > from)
		*end = (size_t)((until - 1 - options->since_unix_ns) / options->step_ns) + 1;
}

/* The part of a window that lies in a step; a window without a length lies in one. */
static double part_in(const struct web_timeline *timeline, const struct window *window, size_t step)
{
	uint64_t begin = timeline->options.since_unix_ns + step * timeline->options.step_ns;
	uint64_t end = begin + timeline->options.step_ns;
	uint64_t from = window->start_unix_ns, until = window_end_unix_ns(window);

	if (until <= from)
		return 1;
	begin = begin > from ? begin : from;
	end = end < until ? end : until;
	return end > begin ? (double)(end - begin) / (double)(until - from) : 0;
}

static void add_host(struct web_timeline *timeline, const struct window *window)
{
	size_t first, end;

	steps_of(timeline, window, &first, &end);
	if (end > first)
		timeline->lost[first] += window_lost_samples(window->lost);
	for (size_t step = first; step < end; step++)
		timeline->is_recorded[step] = true;
}

/* ---- starts of JVMs ---- */

/* Before the window's begin or within the window; 0 when it is not known. */
static uint64_t started_at(const struct window *window)
{
	uint64_t age_ns;

	if (!window->process_start_ns)
		return 0;
	if (window->process_start_ns > window->start_boot_ns) {
		uint64_t later_ns = window->process_start_ns - window->start_boot_ns;

		return later_ns <= window->duration_ns ? window->start_unix_ns + later_ns : 0;
	}
	age_ns = window->start_boot_ns - window->process_start_ns;
	return age_ns < window->start_unix_ns ? window->start_unix_ns - age_ns : 0;
}

static int note_start(struct web_timeline *timeline, const struct window *window, uint32_t group_id)
{
	const char *host = window_label(window, WINDOW_LABEL_HOST);
	const struct process_key key = { window->process_start_ns, window->pid,
					 XXH3_64bits(host, strlen(host)) };
	const char *service = window_label(window, WINDOW_LABEL_SERVICE);
	const char *image = window_label(window, WINDOW_LABEL_IMAGE);
	struct start start = { .unix_ns = started_at(window), .group = group_id };
	uint32_t cnt = strtab__count(timeline->processes), id;
	int err = strtab__intern(timeline->processes, &key, sizeof(key), &id);

	if (err || id < cnt)
		return err; /* it is known */
	err = strtab__intern(timeline->images, image, strlen(image), &start.image);
	if (!err)
		err = strtab__intern(timeline->services, service, strlen(service), &start.service);
	if (!err)
		err = vec_room(timeline->starts, timeline->start_cnt, timeline->start_cap, 16);
	if (!err)
		timeline->starts[timeline->start_cnt++] = start;
	return err;
}

static int compare_starts(const void *left, const void *right)
{
	const struct start *a = left, *b = right;

	if (a->unix_ns != b->unix_ns)
		return a->unix_ns < b->unix_ns ? -1 : 1;
	return (a->image > b->image) - (a->image < b->image);
}

/*
 * Services keep their name over restarts and roll-outs, so an image is compared with that of its
 * service, whatever makes a series; by time, for a store that was merged has streams in another
 * order. 0 or -ENOMEM.
 */
static int find_new_images(struct web_timeline *timeline)
{
	uint32_t cnt = strtab__count(timeline->services);
	__cleanup_free uint32_t *newest = calloc(cnt + 1, sizeof(*newest));

	if (!newest)
		return -ENOMEM;
	for (uint32_t i = 0; i < cnt; i++)
		newest[i] = STRTAB_NONE;
	if (timeline->start_cnt)
		qsort(timeline->starts, timeline->start_cnt, sizeof(*timeline->starts),
		      compare_starts);
	for (size_t i = 0; i < timeline->start_cnt; i++) {
		struct start *start = &timeline->starts[i];
		uint32_t *image = &newest[start->service];

		start->image_before = *image == start->image ? STRTAB_NONE : *image;
		*image = start->image;
	}
	return 0;
}

/* ---- adding ---- */

static double amount_of(struct web_timeline *timeline, const struct window *window)
{
	uint64_t period = window_period(window);

	if (!period)
		timeline->unscaled_samples += window->counts.samples;
	return (double)window->counts.samples * (double)period +
	       (timeline->options.event == EVENT_WALL ? (double)window->counts.run_delay_ns : 0);
}

int web_timeline__add(struct web_timeline *timeline, const struct window *window)
{
	double *amounts = timeline->others;
	size_t first, end;
	double amount;
	uint32_t id;
	int err;

	if (window->pid == 0) {
		add_host(timeline, window);
		return 0;
	}
	err = find_group(timeline, window, &id);
	if (!err && id != STRTAB_NONE && window->is_jvm)
		err = note_start(timeline, window, id);
	if (err)
		return err;
	amount = amount_of(timeline, window);
	if (id != STRTAB_NONE)
		amounts = timeline->groups[id].amounts;
	steps_of(timeline, window, &first, &end);
	for (size_t step = first; step < end; step++) {
		double part = amount * part_in(timeline, window, step);

		amounts[step] += part;
		timeline->is_recorded[step] = true;
		if (id != STRTAB_NONE)
			timeline->groups[id].total += part;
	}
	return 0;
}

void web_timeline__note_end(struct web_timeline *timeline, const struct window *window)
{
	uint64_t end_ns = window_end_unix_ns(window);

	/* One without a length ends nothing. */
	if (window->duration_ns && end_ns > timeline->recorded_until_ns)
		timeline->recorded_until_ns = end_ns;
}

/* ---- JSON ---- */

/* Of the last one what is recorded: over all of it, what runs on as before would seem to fade. */
static uint64_t known_ns(const struct web_timeline *timeline, size_t step)
{
	uint64_t step_ns = timeline->options.step_ns;
	uint64_t begin = timeline->options.since_unix_ns + step * step_ns;
	uint64_t until = timeline->recorded_until_ns;

	return until > begin && until < begin + step_ns ? until - begin : step_ns;
}

/* CPU time as cores, events as events a second. */
static double rate_of(const struct web_timeline *timeline, size_t step, double amount)
{
	double length_ns = (double)known_ns(timeline, step);

	if (event_unit(timeline->options.event) == EVENT_UNIT_NANOSECONDS)
		return amount / length_ns;
	return amount * (double)CLOCK_NS_PER_S / length_ns;
}

static void write_values(const struct web_timeline *timeline, const double *amounts,
			 struct json_writer *json)
{
	json_writer_member_begin(json, "values", '[');
	for (size_t step = 0; step < timeline->step_cnt; step++) {
		if (timeline->is_recorded[step])
			json_writer_decimal(json, rate_of(timeline, step, amounts[step]));
		else
			json_writer_null(json);
	}
	json_writer_end(json, ']');
}

static void write_one(const struct web_timeline *timeline, const char *name, const double *amounts,
		      struct json_writer *json)
{
	json_writer_newline(json);
	json_writer_begin(json, '{');
	json_writer_member_string(json, "name", name);
	write_values(timeline, amounts, json);
	json_writer_end(json, '}');
}

static int compare_totals(const void *left, const void *right, void *ctx)
{
	const struct group *groups = ctx;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	double x = groups[a].total, y = groups[b].total;

	if (x > y || x < y)
		return x < y ? 1 : -1;
	return (a > b) - (a < b);
}

static int write_series(struct web_timeline *timeline, struct json_writer *json)
{
	__cleanup_free uint32_t *order = calloc(timeline->group_cnt + 1, sizeof(*order));
	size_t rest_cnt = 0;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < timeline->group_cnt; i++)
		order[i] = (uint32_t)i;
	if (timeline->group_cnt)
		qsort_r(order, timeline->group_cnt, sizeof(*order), compare_totals,
			timeline->groups);
	json_writer_member_begin(json, "series", '[');
	for (size_t i = 0; i < timeline->group_cnt; i++) {
		const struct group *group = &timeline->groups[order[i]];

		if (i < timeline->options.series_max) {
			write_one(timeline, strtab__get(timeline->names, order[i], NULL),
				  group->amounts, json);
			continue;
		}
		rest_cnt++;
		for (size_t step = 0; step < timeline->step_cnt; step++)
			timeline->others[step] += group->amounts[step];
	}
	json_writer_end(json, ']');
	json_writer_newline(json);
	json_writer_member_begin(json, "others", '{');
	json_writer_member_u64(json, "count", rest_cnt);
	write_values(timeline, timeline->others, json);
	json_writer_end(json, '}');
	return 0;
}

static void write_lost(const struct web_timeline *timeline, struct json_writer *json)
{
	json_writer_newline(json);
	json_writer_member_begin(json, "lost", '[');
	for (size_t step = 0; step < timeline->step_cnt; step++)
		json_writer_u64(json, timeline->lost[step]);
	json_writer_end(json, ']');
}

static void write_start(const struct web_timeline *timeline, const struct start *start,
			struct json_writer *json)
{
	bool is_new = start->image_before != STRTAB_NONE;

	json_writer_newline(json);
	json_writer_begin(json, '{');
	json_writer_member_number(json, "time", (double)start->unix_ns / (double)CLOCK_NS_PER_S);
	json_writer_member_string(json, "name", strtab__get(timeline->names, start->group, NULL));
	json_writer_member_string(json, "service",
				  strtab__get(timeline->services, start->service, NULL));
	json_writer_member_string(json, "image", strtab__get(timeline->images, start->image, NULL));
	json_writer_member_string(
		json, "image_before",
		is_new ? strtab__get(timeline->images, start->image_before, NULL) : "");
	json_writer_member_bool(json, "is_new_image", is_new);
	json_writer_end(json, '}');
}

static bool is_in_range(const struct web_timeline *timeline, const struct start *start)
{
	return start->unix_ns >= timeline->options.since_unix_ns &&
	       start->unix_ns < timeline->options.until_unix_ns;
}

/* Those with a new image first: there may be more than are told. 0 or -ENOMEM. */
static int write_starts(struct web_timeline *timeline, struct json_writer *json)
{
	uint64_t cnt = 0;
	int err = find_new_images(timeline);

	if (err)
		return err;
	json_writer_newline(json);
	json_writer_member_begin(json, "starts", '[');
	for (int is_old = 0; is_old <= 1; is_old++) {
		for (size_t i = 0; i < timeline->start_cnt; i++) {
			const struct start *start = &timeline->starts[i];

			if (!is_in_range(timeline, start) ||
			    (start->image_before == STRTAB_NONE) != is_old)
				continue;
			if (cnt++ < WEB_TIMELINE_STARTS_MAX)
				write_start(timeline, start, json);
		}
	}
	json_writer_end(json, ']');
	json_writer_member_u64(json, "start_count", cnt);
	return 0;
}

int web_timeline__json(struct web_timeline *timeline, struct strbuf *out)
{
	const struct web_timeline_options *options = &timeline->options;
	struct json_writer json = { .out = out };
	bool is_time = event_unit(options->event) == EVENT_UNIT_NANOSECONDS;
	int err;

	json_writer_begin(&json, '{');
	json_writer_member_string(&json, "format", "jbpf-timeline");
	json_writer_member_string(&json, "event", event_name(options->event));
	json_writer_member_string(&json, "title", event_title(options->event));
	json_writer_member_string(&json, "unit",
				  options->event == EVENT_CPU ? "cores" :
				  is_time		      ? "threads" :
								"events/s");
	json_writer_member_number(&json, "since",
				  (double)(options->since_unix_ns / CLOCK_NS_PER_S));
	json_writer_member_number(&json, "step", (double)(options->step_ns / CLOCK_NS_PER_S));
	json_writer_member_u64(&json, "steps", timeline->step_cnt);
	if (timeline->recorded_until_ns) {
		json_writer_key(&json, "recorded_until");
		json_writer_decimal(&json,
				    (double)timeline->recorded_until_ns / (double)CLOCK_NS_PER_S);
	}
	json_writer_member_u64(&json, "unscaled_samples", timeline->unscaled_samples);
	if (options->is_without_idle)
		json_writer_member_bool(&json, "is_without_idle", true);
	err = write_series(timeline, &json);
	if (err)
		return err;
	write_lost(timeline, &json);
	err = write_starts(timeline, &json);
	if (err)
		return err;
	json_writer_end(&json, '}');
	strbuf_putc(out, '\n');
	return strbuf_error(out);
}
