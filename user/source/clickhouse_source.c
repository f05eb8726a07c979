// SPDX-License-Identifier: Apache-2.0
/* See clickhouse_source.h. */
#include "user/source/clickhouse_source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/model/event_view.h"
#include "user/remote/clickhouse_schema.h"
#include "user/source/clickhouse_part.h"
#include "user/source/clickhouse_sums.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"
#include "user/util/log.h"
#include "user/util/saturate.h"
#include "user/util/strtab.h"
#include "user/util/vec.h"

#define HOUR_S 3600u
/* So many windows are held at once, if one hour does not have more. */
#define PART_WINDOWS 30000u

struct clickhouse_source {
	struct clickhouse_session session;
	enum event event;
	bool is_cluster;
};

/* The windows that came. */
struct keys {
	struct strtab *ids; /* of struct key */
	bool *wanted;	    /* of each id: is it to be handed out? */
	size_t cnt;
	size_t cap;
};

struct key {
	uint64_t minute_unix_s;
	uint64_t stream; /* with the minute it is one: the service is of what it is the hash of */
};

struct hours {
	struct {
		uint64_t unix_s;
		uint64_t windows;
	} * items;
	size_t cnt;
	size_t cap;
	uint64_t windows;
	/* Windows that begin in these minutes lie within the time that is asked for. */
	uint64_t begin_unix_s, end_unix_s;
};

static struct key key_of(const struct window_row *row)
{
	return (struct key){ clickhouse_minute_of(&row->window), row->stream };
}

/* 0, -EEXIST, -ENOMEM. */
static int keys_add(struct keys *keys, const struct window_row *row, uint32_t *id)
{
	const struct key key = key_of(row);
	int err = vec_room(keys->wanted, keys->cnt, keys->cap, 4096);

	if (!err)
		err = strtab__intern(keys->ids, &key, sizeof(key), id);
	if (err)
		return -ENOMEM;
	if (*id < keys->cnt)
		return -EEXIST;
	keys->wanted[keys->cnt++] = false;
	return 0;
}

static bool keys_want(const struct keys *keys, const struct window_row *row)
{
	const struct key key = key_of(row);
	uint32_t id = strtab__find(keys->ids, &key, sizeof(key));

	return id != STRTAB_NONE && keys->wanted[id];
}

/* ---- windows ---- */

static bool is_wanted(const struct store_visitor *visitor, const struct window_row *row)
{
	struct window bare = row->window;

	if (visitor->selection && !selection_takes(visitor->selection, &bare))
		return false;
	bare.lines = NULL;
	bare.cells = NULL;
	bare.threads = NULL;
	bare.lines_len = bare.cells_len = 0;
	bare.threads_len = 0;
	return !visitor->want || visitor->want(visitor->ctx, &bare);
}

static int read_windows(struct clickhouse_session *session, const struct clickhouse_select *select,
			int (*take)(void *ctx, const struct clickhouse_field *fields), void *ctx)
{
	__cleanup_strbuf struct strbuf sql = STRBUF_INIT;

	clickhouse_select_windows(select, &sql);
	return clickhouse_session_query(session, &sql, window_row_column_cnt(), take, ctx);
}

/* Did all come? More may be new. */
static int check_count(struct clickhouse_session *session, uint64_t received, uint64_t expected)
{
	if (received >= expected)
		return 0;
	return clickhouse_session_fail(session, -EIO,
				       "%s: of %" PRIu64 " windows only %" PRIu64
				       " came; has the user a limit on the rows of an answer?",
				       clickhouse__name(session->server), expected, received);
}

static struct clickhouse_part begin_part(struct clickhouse_source *source,
					 const struct clickhouse_select *select,
					 const struct store_visitor *visitor)
{
	return (struct clickhouse_part){ .session = &source->session,
					 .visitor = visitor,
					 .select = *select,
					 .services = STRBUF_INIT,
					 .streams = STRBUF_INIT };
}

/* ---- hours, whose windows are held until they are handed out ---- */

struct some_hours {
	struct clickhouse_part part;
	const struct keys *keys; /* what the visitor said before; NULL = it is asked */
	uint64_t received;
};

static int take_of_hours(void *ctx, const struct clickhouse_field *fields)
{
	struct some_hours *hours = ctx;
	const struct store_visitor *visitor = hours->part.visitor;
	struct window_row row;
	int err = window_row_decode(fields, &row);

	if (err)
		return err;
	hours->received++;
	if (!(hours->keys ? keys_want(hours->keys, &row) : is_wanted(visitor, &row)))
		return 0;
	return visitor->window ? clickhouse_part_keep(&hours->part, fields) : 0;
}

/* Where texts come as one. */
static int hand_out_lines(const struct store_visitor *visitor, const struct window *window)
{
	return window->lines_len ? visitor->window(visitor->ctx, window, "", 0) : 0;
}

/* What is the same to the visitor, as one. *is_done as in clickhouse_sums_read(). */
static int hand_out_classes(struct clickhouse_part *part, bool *is_done)
{
	struct window_classes *classes = window_classes__new(part->visitor);
	int err = classes ? 0 : -ENOMEM;

	for (size_t i = 0; i < part->cnt && !err; i++)
		err = window_classes__add(classes, &part->kept[i]->row);
	if (!err)
		err = clickhouse_sums_read(part, classes, is_done);
	window_classes__free(classes);
	for (size_t i = 0; i < part->cnt && !err && *is_done; i++)
		err = hand_out_lines(part->visitor, &part->kept[i]->row.window);
	return err == -ENOTSUP ? 0 : err;
}

static int hand_out(struct clickhouse_part *part)
{
	bool is_done = false;
	int err = 0;

	if (part->cnt && part->visitor->same)
		err = hand_out_classes(part, &is_done);
	if (!err && part->cnt && !is_done)
		err = clickhouse_part_read_samples(part);
	return err;
}

/* All of them, in parts of at most PART_WINDOWS; `keys` as in struct some_hours. */
static int visit_hours(struct clickhouse_source *source, const struct clickhouse_select *select,
		       const struct hours *hours, const struct keys *keys,
		       const struct store_visitor *visitor)
{
	int err = 0;

	for (size_t i = 0, next; i < hours->cnt && !err; i = next) {
		uint64_t windows = hours->items[i].windows;
		struct some_hours some = { begin_part(source, select, visitor), keys, 0 };

		for (next = i + 1; next < hours->cnt; next++) {
			if (windows + hours->items[next].windows > PART_WINDOWS)
				break;
			windows += hours->items[next].windows;
		}
		some.part.select.begin_unix_s = (uint32_t)hours->items[i].unix_s;
		some.part.select.end_unix_s = (uint32_t)hours->items[next - 1].unix_s + HOUR_S;
		err = read_windows(&source->session, &some.part.select, take_of_hours, &some);
		if (!err)
			err = check_count(&source->session, some.received, windows);
		if (!err)
			err = hand_out(&some.part);
		clickhouse_part_release(&some.part);
	}
	return err;
}

/* ---- all hours at once, where most windows are the same to the visitor, or no texts are wanted ---- */

/*
 * In any order: to put them in order, or versions of one together, takes the server several times as long.
 * Windows that lie wholly within the time are added up by the server, whatever hour they are of; of them one for each
 * stream is held. The others are few: they are handed out one by one.
 */
struct range {
	struct clickhouse_part head, middle, tail;
	const struct hours *hours;
	struct window_classes *classes; /* of the middle; NULL = they are not the same */
	struct keys keys;		/* wanted are those of the middle */
};

static int classify(struct range *range, const struct clickhouse_field *fields,
		    const struct window_row *row)
{
	struct clickhouse_part *middle = &range->middle;
	int err = 0;

	if (!window_classes__has(range->classes, row->stream)) {
		err = clickhouse_part_keep(middle, fields);
		row = err ? NULL : &middle->kept[middle->cnt - 1]->row;
	}
	if (!err)
		err = middle->cnt > PART_WINDOWS ? -ENOTSUP :
						   window_classes__add(range->classes, row);
	if (err != -ENOTSUP)
		return err;
	window_classes__free(range->classes);
	range->classes = NULL;
	clickhouse_part_release(middle);
	return 0;
}

static int take_of_range(void *ctx, const struct clickhouse_field *fields)
{
	struct range *range = ctx;
	const struct store_visitor *visitor = range->middle.visitor;
	struct window_row row;
	uint64_t minute;
	uint32_t id;
	int err = window_row_decode(fields, &row);

	if (!err)
		err = keys_add(&range->keys, &row, &id);
	if (err || !is_wanted(visitor, &row) || !visitor->window)
		return err == -EEXIST ? 0 : err;
	minute = clickhouse_minute_of(&row.window);
	if (minute < range->hours->begin_unix_s)
		return clickhouse_part_keep(&range->head, fields);
	if (minute >= range->hours->end_unix_s)
		return clickhouse_part_keep(&range->tail, fields);
	range->keys.wanted[id] = true;
	clickhouse_part_meet(&range->middle, minute);
	err = hand_out_lines(visitor, &row.window);
	return err || !range->classes ? err : classify(range, fields, &row);
}

static int hand_out_middle(struct range *range, struct clickhouse_source *source,
			   const struct clickhouse_select *select)
{
	struct clickhouse_select rest = *select;
	bool is_done = false;
	int err = 0;

	if (!range->middle.most_unix_s)
		return 0;
	if (range->classes)
		err = clickhouse_sums_read(&range->middle, range->classes, &is_done);
	if (err || is_done)
		return err;
	rest.wants_lines = false; /* they were handed out */
	return visit_hours(source, &rest, range->hours, &range->keys, range->middle.visitor);
}

/* Most of their stacks are those of the middle. */
static int hand_out_ends(struct range *range)
{
	int err;

	range->head.texts = range->middle.texts;
	range->middle.texts = NULL;
	err = hand_out(&range->head);
	range->tail.texts = range->head.texts;
	range->head.texts = NULL;
	return err ? err : hand_out(&range->tail);
}

static int take_count(void *ctx, const struct clickhouse_field *fields)
{
	return clickhouse_field_u64(&fields[0], ctx) ? -EBADMSG : 0;
}

static int read_range(struct range *range, struct clickhouse_source *source,
		      const struct clickhouse_select *select)
{
	__cleanup_strbuf struct strbuf sql = STRBUF_INIT;
	struct clickhouse_select all = range->middle.select;
	uint64_t rows = 0;
	int err;

	if (!range->keys.ids || (!range->classes && range->middle.visitor->same))
		return -ENOMEM;
	clickhouse_select_rows(select, &sql);
	err = clickhouse_session_query(&source->session, &sql, CLICKHOUSE_COUNT_FIELDS, take_count,
				       &rows);
	all.is_once = rows == range->hours->windows;
	all.is_unordered = true;
	if (!err)
		err = read_windows(&source->session, &all, take_of_range, range);
	if (!err)
		err = check_count(&source->session, range->keys.cnt, range->hours->windows);
	if (!err)
		err = hand_out_middle(range, source, select);
	return err ? err : hand_out_ends(range);
}

static int visit_range(struct clickhouse_source *source, const struct clickhouse_select *select,
		       const struct hours *hours, const struct store_visitor *visitor)
{
	struct range range = {
		.middle = begin_part(source, select, visitor),
		.hours = hours,
		.classes = visitor->same ? window_classes__new(visitor) : NULL,
		.keys = { .ids = strtab__new() },
	};
	int err;

	range.middle.select.begin_unix_s = (uint32_t)hours->items[0].unix_s;
	range.middle.select.end_unix_s = (uint32_t)hours->items[hours->cnt - 1].unix_s + HOUR_S;
	range.head = range.tail = range.middle;
	err = read_range(&range, source, select);
	clickhouse_part_release(&range.head);
	clickhouse_part_release(&range.middle);
	clickhouse_part_release(&range.tail);
	window_classes__free(range.classes);
	strtab__free(range.keys.ids);
	free(range.keys.wanted);
	return err;
}

/* ---- the source ---- */

static int take_hour(void *ctx, const struct clickhouse_field *fields)
{
	struct hours *hours = ctx;
	uint64_t unix_s, windows, begin, end;

	if (clickhouse_field_u64(&fields[0], &unix_s) ||
	    clickhouse_field_u64(&fields[1], &windows) ||
	    clickhouse_field_u64(&fields[2], &begin) || clickhouse_field_u64(&fields[3], &end) ||
	    unix_s > UINT32_MAX - HOUR_S)
		return -EBADMSG;
	if (vec_room(hours->items, hours->cnt, hours->cap, 32))
		return -ENOMEM;
	hours->items[hours->cnt].unix_s = unix_s;
	hours->items[hours->cnt++].windows = windows;
	hours->windows = add_saturated(hours->windows, windows);
	if (begin && begin >= hours->begin_unix_s)
		hours->begin_unix_s = begin + 1;
	if (end && end < hours->end_unix_s)
		hours->end_unix_s = end;
	return 0;
}

static int visit_event(struct clickhouse_source *source, const struct clickhouse_select *select,
		       const struct store_visitor *visitor)
{
	__cleanup_strbuf struct strbuf sql = STRBUF_INIT;
	struct hours hours = { .end_unix_s = UINT64_MAX };
	int err;

	clickhouse_select_hours(select, &sql);
	err = clickhouse_session_query(&source->session, &sql, CLICKHOUSE_HOUR_FIELDS, take_hour,
				       &hours);
	if (!err && hours.cnt && (visitor->same || !visitor->window))
		err = visit_range(source, select, &hours, visitor);
	else if (!err)
		err = visit_hours(source, select, &hours, NULL, visitor);
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
		.cluster_database =
			source->is_cluster ? clickhouse__database(source->session.server) : NULL,
		.selection = visitor->selection,
		.wants_lines = visitor->wants_lines,
		.wants_cells = visitor->wants_cells,
		.wants_threads = visitor->wants_threads,
	};
	int err = 0;

	source->session.failure[0] = '\0';
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
		err = clickhouse_session_query(&source->session, &sql, CLICKHOUSE_TIMES_FIELDS,
					       take_times, &times);
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

	return source->session.failure[0] ? source->session.failure : NULL;
}

static void source_free(void *ctx)
{
	struct clickhouse_source *source = ctx;

	clickhouse__free(source->session.server);
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

	if (err == -EPROTONOSUPPORT && tables->version == CLICKHOUSE_SCHEMA_VERSION)
		(void)snprintf(
			why, why_len,
			"%s: its tables are of an older jbpf and lack columns, which jbpf push --init of this one adds",
			clickhouse__name(server));
	else if (err == -EPROTONOSUPPORT)
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
	*source = (struct clickhouse_source){ .session = { .server = server },
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
		source.session.server = server;
		*events = 0;
		clickhouse_select_events(&sql);
		err = clickhouse_session_query(&source.session, &sql, CLICKHOUSE_EVENT_FIELDS,
					       take_event, events);
		if (err)
			(void)snprintf(why, why_len, "%s",
				       source.session.failure[0] ? source.session.failure :
								   errstr(err));
	}
	clickhouse__free(server);
	return err;
}
