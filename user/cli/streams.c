// SPDX-License-Identifier: Apache-2.0
/* Windows added up per stream; see streams.h. */
#include "user/cli/streams.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/util/strtab.h"
#include "user/util/vec.h"

static int keep_labels(struct streams *streams, struct window *window)
{
	for (int i = 0; i < WINDOW_LABEL_CNT; i++) {
		const char *text = window->labels[i];
		uint32_t id;
		int err;

		if (!text)
			continue;
		err = strtab__intern(streams->labels, text, strlen(text), &id);
		if (err)
			return err;
		window->labels[i] = strtab__get(streams->labels, id, NULL);
	}
	return 0;
}

static int add_item(struct streams *streams, size_t index)
{
	if (index < streams->cnt)
		return 0;
	if (vec_room(streams->items, streams->cnt, streams->cap, 64))
		return -ENOMEM;
	memset(&streams->items[streams->cnt], 0, sizeof(*streams->items));
	streams->items[streams->cnt++].first_unix_ns = UINT64_MAX;
	return 0;
}

static int prepare(struct streams *streams)
{
	if (!streams->keys)
		streams->keys = strtab__new();
	if (!streams->labels)
		streams->labels = strtab__new();
	return streams->keys && streams->labels ? 0 : -ENOMEM;
}

static int keep_host_label(struct streams *streams, const char *text, const char **out)
{
	uint32_t id;
	int err;

	*out = NULL;
	if (!text || !*text)
		return 0;
	err = prepare(streams);
	if (!err)
		err = strtab__intern(streams->labels, text, strlen(text), &id);
	if (!err)
		*out = strtab__get(streams->labels, id, NULL);
	return err;
}

static int keep_host_labels(struct streams *streams, const struct window *window)
{
	int err = keep_host_label(streams, window->labels[WINDOW_LABEL_STORE_PROBLEM],
				  &streams->store_problem);

	if (!err)
		err = keep_host_label(streams, window->labels[WINDOW_LABEL_NAMING_PROBLEM],
				      &streams->naming_problem);
	if (!err)
		err = keep_host_label(streams, window->labels[WINDOW_LABEL_UNWIND],
				      &streams->unwind);
	return err;
}

/*
 * Windows of one host do not overlap, so that their sum is within the time from first to last. What
 * several hosts recorded at the same time is not more time.
 */
static void cover(struct streams *streams, const struct window *window)
{
	uint64_t end = window_end_unix_ns(window);
	uint64_t span_ns;

	streams->recorded_ns += window->window_cnt > 1 ? window->recorded_ns : window->duration_ns;
	if (!streams->window_cnt || window->start_unix_ns < streams->first_window_unix_ns)
		streams->first_window_unix_ns = window->start_unix_ns;
	end = end > streams->last_window_unix_ns ? end : streams->last_window_unix_ns;
	span_ns = end - streams->first_window_unix_ns;
	streams->covered_ns = streams->recorded_ns < span_ns ? streams->recorded_ns : span_ns;
}

static int add_host_record(struct streams *streams, const struct window *window)
{
	int err = 0;

	streams->host_samples += window->counts.samples;
	cover(streams, window);
	streams->window_cnt += window->window_cnt ? window->window_cnt : 1;
	if (window_end_unix_ns(window) >= streams->last_window_unix_ns) {
		streams->last_window_unix_ns = window_end_unix_ns(window);
		streams->last_window_ns = window->window_cnt > 1 ?
						  window->recorded_ns / window->window_cnt :
						  window->duration_ns;
		err = keep_host_labels(streams, window);
	}
	for (int i = 0; i < WINDOW_LOSS_CNT; i++)
		streams->lost[i] += window->lost[i];
	return err;
}

static void add_counts(struct stream *stream, const struct window *window)
{
	if (window->start_unix_ns < stream->first_unix_ns)
		stream->first_unix_ns = window->start_unix_ns;
	window_counts_add(&stream->counts, &window->counts);
}

/* Of a process that nobody looked at in time its name alone is known: see window_queue.c. */
static bool was_looked_at(const struct window *window)
{
	return *window_label(window, WINDOW_LABEL_EXE) ||
	       *window_label(window, WINDOW_LABEL_CGROUP) ||
	       *window_label(window, WINDOW_LABEL_CONTAINER);
}

/* What was known of the process before stays, but for why the last window was not named. */
static void set_latest(struct stream *stream, const struct window *latest)
{
	const char *why = latest->labels[WINDOW_LABEL_OVER_BUDGET];

	if (was_looked_at(latest) || !was_looked_at(&stream->latest))
		stream->latest = *latest;
	stream->latest.labels[WINDOW_LABEL_OVER_BUDGET] = why;
}

int streams_add(struct streams *streams, const struct window *window)
{
	const struct stream_id key = window_stream_id(window);
	struct window latest = *window; /* without its lines: they are not kept */
	struct stream *stream;
	uint32_t index;
	int err;

	if (window->pid == 0)
		return add_host_record(streams, window);
	err = prepare(streams);
	if (!err)
		err = strtab__intern(streams->keys, &key, sizeof(key), &index);
	if (!err)
		err = add_item(streams, index);
	if (!err)
		err = keep_labels(streams, &latest);
	if (err)
		return err;
	latest.lines = NULL;
	latest.lines_len = 0;
	stream = &streams->items[index];
	add_counts(stream, window);
	if (window_end_unix_ns(window) >= stream->last_unix_ns) {
		stream->last_unix_ns = window_end_unix_ns(window);
		set_latest(stream, &latest);
	}
	return 0;
}

void streams_release(struct streams *streams)
{
	free(streams->items);
	strtab__free(streams->keys);
	strtab__free(streams->labels);
	memset(streams, 0, sizeof(*streams));
}

const char *streams_common_label(const struct streams *streams, enum window_label label)
{
	const char *common = NULL;

	for (size_t i = 0; i < streams->cnt; i++) {
		const struct stream *stream = &streams->items[i];
		const char *text = window_label(&stream->latest, label);

		if (!stream->counts.samples)
			continue;
		if (!*text || (common && strcmp(common, text) != 0))
			return NULL;
		common = text;
	}
	return common;
}

/* Processes outside of containers come last: a busy host has many, and few of them matter. */
static int compare_label(const struct stream *a, const struct stream *b, enum window_label label)
{
	const char *text_a = window_label(&a->latest, label);
	const char *text_b = window_label(&b->latest, label);

	if (!*text_a != !*text_b)
		return *text_a ? -1 : 1;
	return strcmp(text_a, text_b);
}

/* The order is total: qsort() is not stable when memory is short. */
static int compare_ids(const struct window *left, const struct window *right)
{
	const struct stream_id a = window_stream_id(left), b = window_stream_id(right);
	int order = process_life_compare(&a.life, &b.life);

	if (!order)
		order = (a.cgroup_id > b.cgroup_id) - (a.cgroup_id < b.cgroup_id);
	return order ? order : memcmp(a.boot_id, b.boot_id, sizeof(a.boot_id));
}

static int compare(const void *left, const void *right)
{
	const struct stream *a = left;
	const struct stream *b = right;
	int order = compare_label(a, b, WINDOW_LABEL_CONTAINER);

	if (!order)
		order = compare_label(a, b, WINDOW_LABEL_POD);
	if (!order)
		order = compare_label(a, b, WINDOW_LABEL_HOST);
	if (!order)
		order = (a->counts.samples < b->counts.samples) -
			(a->counts.samples > b->counts.samples);
	if (!order)
		order = compare_label(a, b, WINDOW_LABEL_COMM);
	if (!order)
		order = (a->latest.pid > b->latest.pid) - (a->latest.pid < b->latest.pid);
	if (!order)
		order = (a->first_unix_ns > b->first_unix_ns) -
			(a->first_unix_ns < b->first_unix_ns);
	return order ? order : compare_ids(&a->latest, &b->latest);
}

void streams_sort(struct streams *streams)
{
	if (streams->cnt)
		qsort(streams->items, streams->cnt, sizeof(*streams->items), compare);
}
