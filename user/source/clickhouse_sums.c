// SPDX-License-Identifier: Apache-2.0
/* See clickhouse_sums.h. */
#include "user/source/clickhouse_sums.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "user/util/cleanup.h"
#include "user/util/saturate.h"
#include "user/util/vec.h"

#define STREAMS_MAX_BYTES (64u * 1024) /* of streams with their classes in a query */
#define HASHES_MAX_BYTES \
	(128u * 1024)	  /* in a query; a server takes 256 KiB, unless it is told otherwise */
#define HASHES_MAX 40000u /* in all queries */

struct sum {
	uint64_t hash;
	uint64_t samples;
};

struct sums {
	struct clickhouse_part *part;
	const struct window_classes *classes;
	struct sum *items; /* class by class */
	size_t cnt;
	size_t cap;
	size_t begins[WINDOW_CLASSES_MAX]; /* in `items`, of each class */
	size_t ends[WINDOW_CLASSES_MAX];   /* 0 = it has none */
	uint64_t found[WINDOW_CLASSES_MAX];
	size_t last;	 /* class of the last row */
	bool by_service; /* a service is a class: the server has less to do */
	bool is_foreign; /* there are samples of no class */
};

static const char *service_of(const struct sums *sums, size_t class)
{
	return window_row_service(window_classes__get(sums->classes, class)->window);
}

/* Rows of a service follow each other: of each but the first the class is that of the row before. */
static size_t class_of_service(const struct sums *sums, const char *service)
{
	return strcmp(service_of(sums, sums->last), service) == 0 ?
		       sums->last :
		       window_classes__of_service(sums->classes, service);
}

static int take_sum(void *ctx, const struct clickhouse_field *fields)
{
	struct sums *sums = ctx;
	uint64_t class, hash, samples;

	if (clickhouse_field_u64(&fields[2], &hash) || clickhouse_field_u64(&fields[3], &samples) ||
	    (!sums->by_service && clickhouse_field_u64(&fields[1], &class)))
		return -EBADMSG;
	if (sums->by_service)
		class = class_of_service(sums, fields[0].text);
	if (class >= window_classes__cnt(sums->classes)) {
		sums->is_foreign = true;
		return 0;
	}
	if (vec_room(sums->items, sums->cnt, sums->cap, 4096))
		return -ENOMEM;
	sums->last = class;
	if (!sums->ends[class])
		sums->begins[class] = sums->cnt;
	else if (sums->ends[class] != sums->cnt)
		sums->is_foreign = true; /* they are not in order */
	sums->items[sums->cnt++] = (struct sum){ hash, samples };
	sums->ends[class] = sums->cnt;
	sums->found[class] = add_saturated(sums->found[class], samples);
	return 0;
}

/* Has each class the samples that its windows count? Else there is something to tell, window by window. */
static bool is_whole(const struct sums *sums)
{
	for (size_t i = 0; i < window_classes__cnt(sums->classes); i++)
		if (sums->found[i] != window_classes__get(sums->classes, i)->samples)
			return false;
	return !sums->is_foreign;
}

/* What was received. */
static void forget(struct sums *sums)
{
	sums->cnt = 0;
	sums->last = 0;
	sums->is_foreign = false;
	memset(sums->ends, 0, sizeof(sums->ends));
	memset(sums->found, 0, sizeof(sums->found));
}

/* ---- stacks ---- */

static int compare_hashes(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* "1,2" of as many as a query takes; returns how many these are. */
static size_t put_hashes(const uint64_t *hashes, size_t cnt, struct strbuf *out)
{
	size_t i;

	strbuf_clear(out);
	for (i = 0; i < cnt && out->len < HASHES_MAX_BYTES; i++)
		strbuf_printf(out, "%s%" PRIu64, i ? "," : "", hashes[i]);
	return i;
}

static bool is_there(const struct sums *sums, size_t class, uint64_t hash)
{
	const char *service = service_of(sums, class);

	return sums->part->texts &&
	       window_texts__has(sums->part->texts, service, strlen(service), hash);
}

/* Of stacks that are not there, each once, in order; returns how many. `hashes` has room for all items. */
static size_t list_missing(const struct sums *sums, uint64_t *hashes)
{
	size_t cnt = 0, unique = 0;

	for (size_t class = 0; class < window_classes__cnt(sums->classes); class ++) {
		for (size_t i = sums->begins[class]; i < sums->ends[class]; i++)
			if (!is_there(sums, class, sums->items[i].hash))
				hashes[cnt++] = sums->items[i].hash;
	}
	qsort(hashes, cnt, sizeof(*hashes), compare_hashes);
	for (size_t i = 0; i < cnt; i++)
		if (!unique || hashes[i] != hashes[unique - 1])
			hashes[unique++] = hashes[i];
	return unique;
}

/* By their hashes, unless these are very many: to find them by their samples is most of the work. */
static int ask_for_stacks(const struct sums *sums, const uint64_t *hashes, size_t cnt)
{
	__cleanup_strbuf struct strbuf list = STRBUF_INIT;
	int err = 0;

	if (cnt > HASHES_MAX)
		return clickhouse_part_read_stacks(sums->part, NULL);
	for (size_t i = 0; i < cnt && !err;) {
		i += put_hashes(&hashes[i], cnt - i, &list);
		err = strbuf_error(&list);
		if (!err)
			err = clickhouse_part_read_stacks(sums->part, list.data);
	}
	return err;
}

/* *are_there: does the server have all of them? */
static int read_stacks(const struct sums *sums, bool *are_there)
{
	uint64_t *hashes = calloc(sums->cnt + 1, sizeof(*hashes));
	int err = hashes ? 0 : -ENOMEM;

	if (!err)
		err = ask_for_stacks(sums, hashes, list_missing(sums, hashes));
	*are_there = !err && !list_missing(sums, hashes);
	free(hashes);
	return err;
}

/* ---- to the visitor ---- */

static int hand_out_class(const struct sums *sums, size_t number)
{
	const struct store_visitor *visitor = sums->part->visitor;
	struct window window = *window_classes__get(sums->classes, number)->window;
	const char *service = window_row_service(&window);
	struct window_texts_sum sum;
	const struct strbuf *text;
	int err = 0;

	for (size_t i = sums->begins[number]; i < sums->ends[number] && !err; i++)
		err = window_texts__add_samples(sums->part->texts, service, strlen(service),
						sums->items[i].hash, sums->items[i].samples);
	if (!err)
		err = window_texts__take(sums->part->texts, &text, &sum);
	if (err)
		return err;
	if (sum.ambiguous)
		clickhouse_part_tell_ambiguous(sums->part, &window, sum.ambiguous);
	window.counts.samples = sum.samples;
	window.lines = NULL;
	window.lines_len = 0;
	return visitor->window(visitor->ctx, &window, strbuf_str(text), text->len);
}

static int hand_out_sums(const struct sums *sums)
{
	int err = 0;

	for (size_t i = 0; i < window_classes__cnt(sums->classes) && !err; i++)
		err = hand_out_class(sums, i);
	return err;
}

/* The streams with their classes, unless a service is a class. 0, -E2BIG: they are too many, -ENOMEM. */
static int list_streams(const struct sums *sums, struct strbuf *streams, struct strbuf *numbers)
{
	if (sums->by_service)
		return 0;
	window_classes__put_streams(sums->classes, streams, numbers);
	if (strbuf_error(streams) || strbuf_error(numbers))
		return -ENOMEM;
	return streams->len < STREAMS_MAX_BYTES ? 0 : -E2BIG;
}

static int ask(struct sums *sums, bool is_once)
{
	__cleanup_strbuf struct strbuf sql = STRBUF_INIT, streams = STRBUF_INIT,
				       numbers = STRBUF_INIT;
	struct clickhouse_select select = sums->part->select;
	int err = list_streams(sums, &streams, &numbers);

	if (err)
		return err;
	forget(sums);
	select.is_once = is_once;
	select.class_streams = streams.data;
	select.class_numbers = numbers.data;
	clickhouse_select_sums(&select, &sql);
	return clickhouse_session_query(sums->part->session, &sql, CLICKHOUSE_SUM_FIELDS, take_sum,
					sums);
}

/*
 * Where the samples are not those that the windows count, the server is asked once more, with FINAL, which takes several
 * times as long: it leaves out rows that were sent again, and samples that were missing may have arrived by now.
 */
static int ask_and_hand_out(struct sums *sums, bool *is_done)
{
	int err = clickhouse_part_narrow(sums->part);

	if (!err)
		err = ask(sums, true);
	if (!err && !is_whole(sums))
		err = ask(sums, false);
	if (err || !is_whole(sums))
		return err == -E2BIG ? 0 : err;
	err = read_stacks(sums, is_done);
	return *is_done ? hand_out_sums(sums) : err;
}

int clickhouse_sums_read(struct clickhouse_part *part, const struct window_classes *classes,
			 bool *is_done)
{
	struct sums *sums = calloc(1, sizeof(*sums));
	int err;

	*is_done = false;
	if (!sums)
		return -ENOMEM;
	sums->part = part;
	sums->classes = classes;
	sums->by_service = window_classes__are_services(classes);
	err = ask_and_hand_out(sums, is_done);
	free(sums->items);
	free(sums);
	return err;
}
