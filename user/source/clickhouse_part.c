// SPDX-License-Identifier: Apache-2.0
/* See clickhouse_part.h. */
#include "user/source/clickhouse_part.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "user/remote/clickhouse_schema.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/lines.h"
#include "user/util/strtab.h"
#include "user/util/vec.h"

#define LIST_MAX_BYTES \
	(64u * 1024) /* of services or streams in a query; all are asked for past it */

/* ---- windows ---- */

uint64_t clickhouse_minute_of(const struct window *window)
{
	return window->start_unix_ns / CLICKHOUSE_MINUTE_NS *
	       (CLICKHOUSE_MINUTE_NS / CLOCK_NS_PER_S);
}

void clickhouse_part_meet(struct clickhouse_part *part, uint64_t minute_unix_s)
{
	if (!part->least_unix_s || minute_unix_s < part->least_unix_s)
		part->least_unix_s = minute_unix_s;
	if (minute_unix_s > part->most_unix_s)
		part->most_unix_s = minute_unix_s;
}

int clickhouse_part_keep(struct clickhouse_part *part, const struct clickhouse_field *fields)
{
	struct clickhouse_field copies[CLICKHOUSE_FIELDS_MAX];
	const size_t cnt = window_row_column_cnt();
	struct clickhouse_kept *kept;
	size_t bytes = 0;
	char *at;
	int err;

	for (size_t i = 0; i < cnt; i++)
		bytes += fields[i].len + 1;
	if (vec_room(part->kept, part->cnt, part->cap, 256))
		return -ENOMEM;
	kept = malloc(sizeof(*kept) + bytes);
	if (!kept)
		return -ENOMEM;
	at = kept->bytes;
	for (size_t i = 0; i < cnt; i++) {
		memcpy(at, fields[i].text, fields[i].len);
		at[fields[i].len] = '\0';
		copies[i] = (struct clickhouse_field){ .text = at, .len = fields[i].len };
		at += fields[i].len + 1;
	}
	err = window_row_decode(copies, &kept->row);
	if (err) {
		free(kept);
		return err;
	}
	part->kept[part->cnt++] = kept;
	clickhouse_part_meet(part, clickhouse_minute_of(&kept->row.window));
	return 0;
}

/* ---- samples ---- */

/* Tells `what` of the window. */
static void tell_damage(const struct clickhouse_part *part, const struct window *window,
			const char *what, bool is_unreadable)
{
	char path[256];
	const time_t unix_s = (time_t)(window->start_unix_ns / CLOCK_NS_PER_S);
	const struct store_damage damage = { .path = path,
					     .what = what,
					     .is_unreadable = is_unreadable };
	struct tm parts;

	if (!part->visitor->damage || !gmtime_r(&unix_s, &parts))
		return;
	(void)snprintf(path, sizeof(path), "%.120s, pid %" PRIu32 ", %04d-%02d-%02dT%02d:%02dZ",
		       window_row_service(window), window->pid, parts.tm_year + 1900,
		       parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min);
	part->visitor->damage(part->visitor->ctx, &damage);
}

/* Samples that are counted in the window, but not there as stacks. */
static void tell_missing(const struct clickhouse_part *part, const struct window *window,
			 uint64_t found)
{
	char what[128];

	(void)snprintf(what, sizeof(what), "of %" PRIu64 " samples the server has only %" PRIu64,
		       window->counts.samples, found);
	tell_damage(part, window, what, true);
}

void clickhouse_part_tell_ambiguous(const struct clickhouse_part *part, const struct window *window,
				    uint64_t samples)
{
	char what[160];

	(void)snprintf(
		what, sizeof(what),
		"%" PRIu64
		" samples are of one of several stacks with the same hash, shown as " WINDOW_TEXTS_AMBIGUOUS,
		samples);
	tell_damage(part, window, what, false);
}

/* The window is complete. */
static int hand_out(struct clickhouse_part *part)
{
	struct window *window = &part->kept[part->at++]->row.window;
	struct window_texts_sum sum;
	const struct strbuf *text;
	int err = window_texts__take(part->texts, &text, &sum);

	if (err)
		return err;
	if (sum.samples < window->counts.samples)
		tell_missing(part, window, sum.samples);
	if (sum.ambiguous) {
		clickhouse_part_tell_ambiguous(part, window, sum.ambiguous);
		/* They go by the order of the lines, which is another one now. */
		window->threads = NULL;
		window->threads_len = 0;
	}
	return part->visitor->window(part->visitor->ctx, window, strbuf_str(text), text->len);
}

static int compare_key(uint64_t minute, const char *service, size_t len, uint64_t stream,
		       const struct window_row *row)
{
	uint64_t other = clickhouse_minute_of(&row->window);
	const char *other_service = window_row_service(&row->window);
	int order;

	if (minute != other)
		return minute < other ? -1 : 1;
	/* As the server sorts them. */
	order = bytes_compare(service, len, other_service, strlen(other_service));
	return order ? order : (stream > row->stream) - (stream < row->stream);
}

static int take_samples(void *ctx, const struct clickhouse_field *fields)
{
	const struct clickhouse_field *service = &fields[1];
	struct clickhouse_part *part = ctx;
	uint64_t minute, stream, hash, samples;
	int order = 1, err = 0;

	if (clickhouse_field_u64(&fields[0], &minute) ||
	    clickhouse_field_u64(&fields[2], &stream) || clickhouse_field_u64(&fields[3], &hash) ||
	    clickhouse_field_u64(&fields[4], &samples))
		return -EBADMSG;
	while (part->at < part->cnt) {
		order = compare_key(minute, service->text, service->len, stream,
				    &part->kept[part->at]->row);
		if (order <= 0)
			break;
		err = hand_out(part);
		if (err)
			return err;
	}
	if (order) /* of a window that is not wanted, or not there yet */
		return 0;
	err = window_texts__add_samples(part->texts, service->text, service->len, hash, samples);
	return err == -ENOENT ? 0 : err; /* counted when the window is complete */
}

static int take_stack(void *ctx, const struct clickhouse_field *fields)
{
	struct clickhouse_part *part = ctx;
	uint64_t hash;

	if (clickhouse_field_u64(&fields[1], &hash) || memchr(fields[2].text, '\0', fields[2].len))
		return -EBADMSG;
	return window_texts__add_stack(part->texts, fields[0].text, fields[0].len, hash,
				       fields[2].text, fields[2].len);
}

static void put_service(const struct window_row *row, struct strbuf *out)
{
	const char *service = window_row_service(&row->window);

	clickhouse_quote(out, service, strlen(service));
}

static void put_stream(const struct window_row *row, struct strbuf *out)
{
	strbuf_printf(out, "%" PRIu64, row->stream);
}

/* "a,b" of the values of the windows that are wanted, each once; "" = too many. */
static int list_values(const struct clickhouse_part *part,
		       void (*put)(const struct window_row *row, struct strbuf *out),
		       struct strbuf *out)
{
	__cleanup_strbuf struct strbuf value = STRBUF_INIT;
	struct strtab *seen = strtab__new();
	int err = seen ? 0 : -ENOMEM;

	for (size_t i = 0; i < part->cnt && !err && out->len < LIST_MAX_BYTES; i++) {
		uint32_t id, cnt = strtab__count(seen);

		strbuf_clear(&value);
		put(&part->kept[i]->row, &value);
		err = strbuf_error(&value);
		if (!err)
			err = strtab__intern(seen, strbuf_str(&value), value.len, &id);
		if (err || id < cnt)
			continue;
		strbuf_puts(out, cnt ? "," : "");
		strbuf_add(out, &value);
	}
	strtab__free(seen);
	if (out->len >= LIST_MAX_BYTES)
		strbuf_clear(out);
	return err ? err : strbuf_error(out);
}

/* Samples of other minutes than those of the windows need not travel. */
static void narrow_minutes(struct clickhouse_part *part)
{
	struct clickhouse_select *select = &part->select;

	if (part->least_unix_s > select->begin_unix_s)
		select->begin_unix_s = (uint32_t)part->least_unix_s;
	if (part->most_unix_s + 1 < select->end_unix_s)
		select->end_unix_s = (uint32_t)part->most_unix_s + 1;
}

int clickhouse_part_narrow(struct clickhouse_part *part)
{
	int err = 0;

	if (!part->services.len)
		err = list_values(part, put_service, &part->services);
	if (!err && !part->streams.len)
		err = list_values(part, put_stream, &part->streams);
	narrow_minutes(part);
	part->select.services = part->services.len ? part->services.data : NULL;
	part->select.streams = part->streams.len ? part->streams.data : NULL;
	return err;
}

int clickhouse_part_read_stacks(struct clickhouse_part *part, const char *hashes)
{
	__cleanup_strbuf struct strbuf sql = STRBUF_INIT;

	if (!part->texts)
		part->texts = window_texts__new();
	if (!part->texts)
		return -ENOMEM;
	part->select.hashes = hashes;
	clickhouse_select_stacks(&part->select, &sql);
	part->select.hashes = NULL;
	return clickhouse_session_query(part->session, &sql, CLICKHOUSE_STACK_FIELDS, take_stack,
					part);
}

static int compare_kept(const void *left, const void *right)
{
	const struct window_row *a = &(*(struct clickhouse_kept *const *)left)->row;
	const struct window_row *b = &(*(struct clickhouse_kept *const *)right)->row;
	const char *service = window_row_service(&a->window);

	return compare_key(clickhouse_minute_of(&a->window), service, strlen(service), a->stream,
			   b);
}

int clickhouse_part_read_samples(struct clickhouse_part *part)
{
	__cleanup_strbuf struct strbuf sql = STRBUF_INIT;
	int err = clickhouse_part_narrow(part);

	if (!err)
		err = clickhouse_part_read_stacks(part, NULL);
	if (err)
		return err;
	qsort(part->kept, part->cnt, sizeof(part->kept[0]), compare_kept);
	clickhouse_select_samples(&part->select, &sql);
	err = clickhouse_session_query(part->session, &sql, CLICKHOUSE_SAMPLE_FIELDS, take_samples,
				       part);
	while (!err && part->at < part->cnt)
		err = hand_out(part);
	return err;
}

void clickhouse_part_release(struct clickhouse_part *part)
{
	for (size_t i = 0; i < part->cnt; i++)
		free(part->kept[i]);
	free(part->kept);
	part->kept = NULL;
	part->cnt = part->cap = 0;
	window_texts__free(part->texts);
	part->texts = NULL;
	strbuf_release(&part->services);
	strbuf_release(&part->streams);
}
