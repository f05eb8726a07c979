// SPDX-License-Identifier: Apache-2.0
/* See clickhouse_source.h. */
#include "user/source/clickhouse_source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "user/model/event_view.h"
#include "user/remote/clickhouse.h"
#include "user/remote/clickhouse_schema.h"
#include "user/remote/window_row.h"
#include "user/source/clickhouse_select.h"
#include "user/source/window_classes.h"
#include "user/source/window_texts.h"
#include "user/util/saturate.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/lines.h"
#include "user/util/log.h"
#include "user/util/strtab.h"
#include "user/util/vec.h"

#define HOUR_S 3600u
/*
 * So many windows are asked for at once, if one hour does not have more: each question for stacks makes the server
 * read all of a service's, which lie in the order of their texts and are wanted by hash.
 */
#define PART_WINDOWS 30000u
#define LIST_MAX_BYTES \
	(64u * 1024) /* of services or streams in a query; all are asked for past it */

struct clickhouse_source {
	struct clickhouse *server;
	enum event event;
	bool is_cluster;
	char failure[640]; /* of the last visit; "" = none */
};

/* A window that is wanted. */
struct kept {
	char *bytes; /* its fields' texts; the window borrows */
	struct window_row row;
};

/* Some hours, which are asked for at once. */
struct part {
	struct clickhouse_source *source;
	const struct store_visitor *visitor;
	struct clickhouse_select select;
	uint64_t received; /* rows of windows */
	struct kept *kept; /* in the order of the answer */
	size_t cnt;
	size_t cap;
	size_t at; /* of kept, whose samples come now */
	struct window_texts *texts;
	uint64_t missing; /* samples of that window whose stack is not there */
};

struct hours {
	struct {
		uint64_t unix_s;
		uint64_t windows;
	} * items;
	size_t cnt;
	size_t cap;
};

static int fail(struct clickhouse_source *source, int err, const char *format, ...)
	__printf_like(3, 4);

static int fail(struct clickhouse_source *source, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(source->failure, sizeof(source->failure), format, args);
	va_end(args);
	return err;
}

/* Of the server, unless a row's taker said better. */
static int query(struct clickhouse_source *source, const struct strbuf *sql, size_t field_cnt,
		 int (*row)(void *ctx, const struct clickhouse_field *fields), void *ctx)
{
	int err = strbuf_error(sql);

	if (!err)
		err = clickhouse__query(source->server, sql->data, field_cnt, row, ctx);
	if (err == -EBADMSG)
		return fail(source, -EIO, "%s: a row that jbpf did not write",
			    clickhouse__name(source->server));
	if (err < 0 && err != -ENOMEM && !source->failure[0])
		return fail(source, -EIO, "%s", clickhouse__failure(source->server)->words);
	return err;
}

/* ---- windows ---- */

static int keep(struct part *part, const struct clickhouse_field *fields, size_t cnt)
{
	struct clickhouse_field copies[CLICKHOUSE_FIELDS_MAX];
	size_t bytes = 0;
	struct kept kept;
	char *at;
	int err;

	for (size_t i = 0; i < cnt; i++)
		bytes += fields[i].len + 1;
	if (vec_room(part->kept, part->cnt, part->cap, 256))
		return -ENOMEM;
	kept.bytes = at = malloc(bytes);
	if (!at)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++) {
		memcpy(at, fields[i].text, fields[i].len);
		at[fields[i].len] = '\0';
		copies[i] = (struct clickhouse_field){ .text = at, .len = fields[i].len };
		at += fields[i].len + 1;
	}
	err = window_row_decode(copies, &kept.row);
	if (err)
		free(kept.bytes);
	else
		part->kept[part->cnt++] = kept;
	return err;
}

static int take_window(void *ctx, const struct clickhouse_field *fields)
{
	struct part *part = ctx;
	const struct store_visitor *visitor = part->visitor;
	struct window_row row;
	int err = window_row_decode(fields, &row);

	if (err)
		return err;
	part->received++;
	row.window.lines = NULL;
	row.window.cells = NULL;
	row.window.threads = NULL;
	row.window.lines_len = row.window.cells_len = 0;
	row.window.threads_len = 0;
	if (visitor->want && !visitor->want(visitor->ctx, &row.window))
		return 0;
	return visitor->window ? keep(part, fields, window_row_column_cnt()) : 0;
}

static int read_windows(struct part *part, uint64_t expected)
{
	__cleanup_strbuf struct strbuf sql = STRBUF_INIT;
	int err;

	clickhouse_select_windows(&part->select, &sql);
	err = query(part->source, &sql, window_row_column_cnt(), take_window, part);
	/* More may have come meanwhile. */
	if (!err && part->received < expected)
		err = fail(part->source, -EIO,
			   "%s: of %" PRIu64 " windows only %" PRIu64
			   " came; has the user a limit on the rows of an answer?",
			   clickhouse__name(part->source->server), expected, part->received);
	return err;
}

/* ---- samples ---- */

/* Tells samples that are counted in the window, but not there as stacks. */
static void tell_missing(struct part *part, const struct window *window, uint64_t found)
{
	char path[256], what[128];
	const time_t unix_s = (time_t)(window->start_unix_ns / CLOCK_NS_PER_S);
	const struct store_damage damage = { .path = path, .what = what, .is_unreadable = true };
	struct tm parts;

	if (!part->visitor->damage || !gmtime_r(&unix_s, &parts))
		return;
	(void)snprintf(path, sizeof(path), "%.120s, pid %" PRIu32 ", %04d-%02d-%02dT%02d:%02dZ",
		       window_row_service(window), window->pid, parts.tm_year + 1900,
		       parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min);
	(void)snprintf(what, sizeof(what), "of %" PRIu64 " samples the server has only %" PRIu64,
		       window->counts.samples, found);
	part->visitor->damage(part->visitor->ctx, &damage);
}

/* The window is complete. */
static int hand_out(struct part *part)
{
	const struct window *window = &part->kept[part->at++].row.window;
	const struct strbuf *text;
	uint64_t samples;
	int err = window_texts__take(part->texts, &text, &samples);

	if (err)
		return err;
	if (samples < window->counts.samples)
		tell_missing(part, window, samples);
	return part->visitor->window(part->visitor->ctx, window, strbuf_str(text), text->len);
}

static uint64_t minute_of(const struct window *window)
{
	return window->start_unix_ns / CLICKHOUSE_MINUTE_NS *
	       (CLICKHOUSE_MINUTE_NS / CLOCK_NS_PER_S);
}

static int compare_key(uint64_t minute, const struct clickhouse_field *service, uint64_t stream,
		       const struct window_row *row)
{
	uint64_t other = minute_of(&row->window);
	const char *other_service = window_row_service(&row->window);
	int order;

	if (minute != other)
		return minute < other ? -1 : 1;
	/* As the server sorts them. */
	order = bytes_compare(service->text, service->len, other_service, strlen(other_service));
	return order ? order : (stream > row->stream) - (stream < row->stream);
}

static int take_samples(void *ctx, const struct clickhouse_field *fields)
{
	const struct clickhouse_field *service = &fields[1];
	struct part *part = ctx;
	uint64_t minute, stream, hash, samples;
	int order = 1, err = 0;

	if (clickhouse_field_u64(&fields[0], &minute) ||
	    clickhouse_field_u64(&fields[2], &stream) || clickhouse_field_u64(&fields[3], &hash) ||
	    clickhouse_field_u64(&fields[4], &samples))
		return -EBADMSG;
	while (part->at < part->cnt) {
		order = compare_key(minute, service, stream, &part->kept[part->at].row);
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
	struct part *part = ctx;
	uint64_t hash;
	int err;

	if (clickhouse_field_u64(&fields[1], &hash) || memchr(fields[2].text, '\0', fields[2].len))
		return -EBADMSG;
	err = window_texts__add_stack(part->texts, fields[0].text, fields[0].len, hash,
				      fields[2].text, fields[2].len);
	if (err == -EEXIST)
		return fail(part->source, -EIO,
			    "%s: two stacks of the service %.100s have the hash %" PRIu64,
			    clickhouse__name(part->source->server), fields[0].text, hash);
	return err;
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
static int list_values(const struct part *part,
		       void (*put)(const struct window_row *row, struct strbuf *out),
		       struct strbuf *out)
{
	__cleanup_strbuf struct strbuf value = STRBUF_INIT;
	struct strtab *seen = strtab__new();
	int err = seen ? 0 : -ENOMEM;

	for (size_t i = 0; i < part->cnt && !err && out->len < LIST_MAX_BYTES; i++) {
		uint32_t id, cnt = strtab__count(seen);

		strbuf_clear(&value);
		put(&part->kept[i].row, &value);
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

/* Samples of other minutes than those of the wanted windows need not travel. */
static void narrow_minutes(struct part *part)
{
	uint64_t begin = part->select.begin_unix_s, last = part->select.end_unix_s - 1ull;
	uint64_t least = last, most = begin;

	for (size_t i = 0; i < part->cnt; i++) {
		uint64_t minute = minute_of(&part->kept[i].row.window);

		least = minute < least ? minute : least;
		most = minute > most ? minute : most;
	}
	part->select.first_unix_s = (uint32_t)(least > begin ? least : begin);
	part->select.last_unix_s = (uint32_t)(most < last ? most : last);
}

/* Texts of the lists that narrow a part's questions; `select` borrows them. */
struct lists {
	struct strbuf services, streams;
};

static void lists_release(struct lists *lists)
{
	strbuf_release(&lists->services);
	strbuf_release(&lists->streams);
}

/* What is asked for, and the stacks. */
static int begin_samples(struct part *part, struct lists *lists)
{
	__cleanup_strbuf struct strbuf sql = STRBUF_INIT;
	int err = list_values(part, put_service, &lists->services);

	if (!err)
		err = list_values(part, put_stream, &lists->streams);
	if (err)
		return err;
	narrow_minutes(part);
	part->select.services = lists->services.len ? lists->services.data : NULL;
	part->select.streams = lists->streams.len ? lists->streams.data : NULL;
	if (part->texts)
		return 0; /* the stacks are there */
	part->texts = window_texts__new();
	if (!part->texts)
		return -ENOMEM;
	clickhouse_select_stacks(&part->select, &sql);
	return query(part->source, &sql, CLICKHOUSE_STACK_FIELDS, take_stack, part);
}

static int read_samples(struct part *part)
{
	__cleanup_strbuf struct strbuf sql = STRBUF_INIT;
	struct lists lists = { STRBUF_INIT, STRBUF_INIT };
	int err = begin_samples(part, &lists);

	clickhouse_select_samples(&part->select, &sql);
	if (!err)
		err = query(part->source, &sql, CLICKHOUSE_SAMPLE_FIELDS, take_samples, part);
	while (!err && part->at < part->cnt)
		err = hand_out(part);
	lists_release(&lists);
	return err;
}

/* ---- sums of samples, where windows are the same to the visitor ---- */

struct sum {
	uint64_t hash;
	uint64_t samples;
};

struct sums {
	struct part *part;
	const struct window_classes *classes;
	struct sum *items; /* class by class */
	size_t cnt;
	size_t cap;
	size_t begins[WINDOW_CLASSES_MAX]; /* in `items`, of each class */
	size_t ends[WINDOW_CLASSES_MAX];   /* 0 = it has none */
	uint64_t found[WINDOW_CLASSES_MAX];
	size_t last;	 /* class of the last row */
	bool by_service; /* a service is a class: the server has less to do */
	bool is_foreign; /* there are samples of no class, or of a stack that is not there */
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

static bool is_known(const struct sums *sums, size_t class, uint64_t hash)
{
	const char *service = service_of(sums, class);

	return window_texts__has(sums->part->texts, service, strlen(service), hash);
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
	if (class >= window_classes__cnt(sums->classes) || !is_known(sums, class, hash)) {
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

static int hand_out_class(const struct sums *sums, size_t number)
{
	const struct store_visitor *visitor = sums->part->visitor;
	struct window window = *window_classes__get(sums->classes, number)->window;
	const char *service = window_row_service(&window);
	const struct strbuf *text;
	uint64_t samples;
	int err = 0;

	for (size_t i = sums->begins[number]; i < sums->ends[number] && !err; i++)
		err = window_texts__add_samples(sums->part->texts, service, strlen(service),
						sums->items[i].hash, sums->items[i].samples);
	if (!err)
		err = window_texts__take(sums->part->texts, &text, &samples);
	if (err)
		return err;
	window.counts.samples = samples;
	window.lines = NULL;
	window.lines_len = 0;
	return visitor->window(visitor->ctx, &window, strbuf_str(text), text->len);
}

static int hand_out_sums(const struct sums *sums)
{
	const struct part *part = sums->part;
	int err = 0;

	for (size_t i = 0; i < part->cnt && !err; i++) {
		const struct window *window = &part->kept[i].row.window;

		if (window->lines_len)
			err = part->visitor->window(part->visitor->ctx, window, "", 0);
	}
	for (size_t i = 0; i < window_classes__cnt(sums->classes) && !err; i++)
		err = hand_out_class(sums, i);
	return err;
}

static int sum_classes(struct part *part, const struct window_classes *classes, bool *is_done)
{
	__cleanup_strbuf struct strbuf sql = STRBUF_INIT, streams = STRBUF_INIT,
				       numbers = STRBUF_INIT;
	struct sums *sums = calloc(1, sizeof(*sums));
	struct lists lists = { STRBUF_INIT, STRBUF_INIT };
	int err = sums ? begin_samples(part, &lists) : -ENOMEM;

	if (sums)
		sums->by_service = window_classes__are_services(classes);
	if (!err && !sums->by_service)
		window_classes__put_streams(classes, &streams, &numbers);
	if (!err)
		err = strbuf_error(&streams) ? strbuf_error(&streams) : strbuf_error(&numbers);
	if (!err && streams.len < LIST_MAX_BYTES) {
		sums->part = part;
		sums->classes = classes;
		part->select.class_streams = streams.data;
		part->select.class_numbers = numbers.data;
		clickhouse_select_sums(&part->select, &sql);
		err = query(part->source, &sql, CLICKHOUSE_SUM_FIELDS, take_sum, sums);
		*is_done = !err && is_whole(sums);
	}
	if (*is_done)
		err = hand_out_sums(sums);
	if (sums)
		free(sums->items);
	free(sums);
	lists_release(&lists);
	return err;
}

/* Unless *is_done, nothing was handed out. */
static int read_sums(struct part *part, bool *is_done)
{
	struct window_classes *classes;
	int err = 0;

	if (!part->visitor->same)
		return 0;
	classes = window_classes__new(part->visitor);
	if (!classes)
		return -ENOMEM;
	for (size_t i = 0; i < part->cnt && !err; i++)
		err = window_classes__add(classes, &part->kept[i].row);
	if (!err)
		err = sum_classes(part, classes, is_done);
	window_classes__free(classes);
	return err == -ENOTSUP ? 0 : err;
}

static int visit_part(struct part *part, uint64_t expected)
{
	int err = read_windows(part, expected);
	bool is_done = false;

	if (!err && part->cnt)
		err = read_sums(part, &is_done);
	if (!err && part->cnt && !is_done)
		err = read_samples(part);
	for (size_t i = 0; i < part->cnt; i++)
		free(part->kept[i].bytes);
	free(part->kept);
	window_texts__free(part->texts);
	return err;
}

/* ---- the source ---- */

static int take_hour(void *ctx, const struct clickhouse_field *fields)
{
	struct hours *hours = ctx;
	uint64_t unix_s, windows;

	if (clickhouse_field_u64(&fields[0], &unix_s) ||
	    clickhouse_field_u64(&fields[1], &windows) || unix_s > UINT32_MAX - HOUR_S)
		return -EBADMSG;
	if (vec_room(hours->items, hours->cnt, hours->cap, 32))
		return -ENOMEM;
	hours->items[hours->cnt].unix_s = unix_s;
	hours->items[hours->cnt++].windows = windows;
	return 0;
}

static int visit_event(struct clickhouse_source *source, const struct clickhouse_select *select,
		       const struct store_visitor *visitor)
{
	__cleanup_strbuf struct strbuf sql = STRBUF_INIT;
	struct hours hours = { .items = NULL };
	int err;

	clickhouse_select_hours(select, &sql);
	err = query(source, &sql, CLICKHOUSE_HOUR_FIELDS, take_hour, &hours);
	for (size_t i = 0, next; i < hours.cnt && !err; i = next) {
		uint64_t windows = hours.items[i].windows;
		struct part part = { .source = source, .visitor = visitor, .select = *select };

		for (next = i + 1; next < hours.cnt; next++) {
			if (windows + hours.items[next].windows > PART_WINDOWS)
				break;
			windows += hours.items[next].windows;
		}
		part.select.begin_unix_s = (uint32_t)hours.items[i].unix_s;
		part.select.end_unix_s = (uint32_t)hours.items[next - 1].unix_s + HOUR_S;
		err = visit_part(&part, windows);
	}
	free(hours.items);
	return err;
}

static int source_visit(void *ctx, uint64_t since_unix_ns, uint64_t until_unix_ns,
			const struct store_visitor *visitor)
{
	struct clickhouse_source *source = ctx;
	uint32_t sources = event_sources(source->event);
	struct clickhouse_select select = {
		.since_unix_ns = since_unix_ns,
		.until_unix_ns = until_unix_ns,
		.cluster_database = source->is_cluster ? clickhouse__database(source->server) :
							 NULL,
		.selection = visitor->selection,
		.wants_lines = visitor->wants_lines,
		.wants_cells = visitor->wants_cells,
		.wants_threads = visitor->wants_threads,
	};
	int err = 0;

	source->failure[0] = '\0';
	for (int i = 0; i < EVENT_CNT && !err; i++) {
		select.event = (enum event)i;
		if (sources & EVENT_BIT(i))
			err = visit_event(source, &select, visitor);
	}
	return err;
}

struct times {
	uint64_t first_unix_ns, last_unix_ns;
};

static int take_times(void *ctx, const struct clickhouse_field *fields)
{
	struct times *times = ctx;
	uint64_t first, last;

	if (clickhouse_field_u64(&fields[0], &first) || clickhouse_field_u64(&fields[1], &last))
		return -EBADMSG;
	if (last && (!times->first_unix_ns || first < times->first_unix_ns))
		times->first_unix_ns = first;
	if (last > times->last_unix_ns)
		times->last_unix_ns = last;
	return 0;
}

static int source_range(void *ctx, uint64_t *first_unix_ns, uint64_t *last_unix_ns)
{
	struct clickhouse_source *source = ctx;
	uint32_t sources = event_sources(source->event);
	struct times times = { 0 };

	for (int i = 0; i < EVENT_CNT; i++) {
		__cleanup_strbuf struct strbuf sql = STRBUF_INIT;
		int err;

		if (!(sources & EVENT_BIT(i)))
			continue;
		clickhouse_select_times((enum event)i, &sql);
		err = query(source, &sql, CLICKHOUSE_TIMES_FIELDS, take_times, &times);
		if (err)
			return err;
	}
	*first_unix_ns = times.first_unix_ns;
	*last_unix_ns = times.last_unix_ns;
	return 0;
}

static const char *source_failure(void *ctx)
{
	const struct clickhouse_source *source = ctx;

	return source->failure[0] ? source->failure : NULL;
}

static void source_free(void *ctx)
{
	struct clickhouse_source *source = ctx;

	clickhouse__free(source->server);
	free(source);
}

static const struct store_source_ops clickhouse_ops = {
	.visit = source_visit,
	.range = source_range,
	.failure = source_failure,
	.free = source_free,
};

static int check_tables(struct clickhouse *server, struct clickhouse_tables *tables, char *why,
			size_t why_len)
{
	int err = clickhouse_schema_check(server, tables);

	if (err == -EPROTONOSUPPORT)
		(void)snprintf(why, why_len,
			       "%s: its tables are of version %" PRIu64
			       ", this jbpf reads version %d",
			       clickhouse__name(server), tables->version,
			       CLICKHOUSE_SCHEMA_VERSION);
	else if (err)
		(void)snprintf(why, why_len, "%s", clickhouse__failure(server)->words);
	return err;
}

int clickhouse_source__open(const char *url, enum event event, struct store_source **out, char *why,
			    size_t why_len)
{
	struct clickhouse_tables tables;
	struct clickhouse_source *source;
	struct clickhouse *server;
	int err = clickhouse__open(url, &server, why, why_len);

	if (err)
		return err;
	err = check_tables(server, &tables, why, why_len);
	source = err ? NULL : calloc(1, sizeof(*source));
	if (!source) {
		clickhouse__free(server);
		if (!err)
			(void)snprintf(why, why_len, "out of memory");
		return err ? err : -ENOMEM;
	}
	*source = (struct clickhouse_source){ .server = server,
					      .event = event,
					      .is_cluster = tables.is_cluster };
	err = store_source__new(&clickhouse_ops, source, clickhouse__name(server), out);
	if (err) {
		(void)snprintf(why, why_len, "out of memory");
		source_free(source);
	}
	return err;
}

static int take_event(void *ctx, const struct clickhouse_field *fields)
{
	uint32_t *events = ctx;
	uint64_t event;

	if (clickhouse_field_u64(&fields[0], &event))
		return -EBADMSG;
	if (event < EVENT_CNT) /* a later version may have more */
		*events |= EVENT_BIT(event);
	return 0;
}

int clickhouse_source_events(const char *url, uint32_t *events, char *why, size_t why_len)
{
	__cleanup_strbuf struct strbuf sql = STRBUF_INIT;
	struct clickhouse_source source = { 0 };
	struct clickhouse_tables tables;
	struct clickhouse *server;
	int err = clickhouse__open(url, &server, why, why_len);

	if (err)
		return err;
	err = check_tables(server, &tables, why, why_len);
	if (!err) {
		source.server = server;
		*events = 0;
		clickhouse_select_events(&sql);
		err = query(&source, &sql, CLICKHOUSE_EVENT_FIELDS, take_event, events);
		if (err)
			(void)snprintf(why, why_len, "%s",
				       source.failure[0] ? source.failure : errstr(err));
	}
	clickhouse__free(server);
	return err;
}
