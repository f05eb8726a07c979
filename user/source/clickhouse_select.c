// SPDX-License-Identifier: Apache-2.0
/* See clickhouse_select.h. */
#include "user/source/clickhouse_select.h"

#include <inttypes.h>
#include <string.h>

#include "user/remote/clickhouse_schema.h"
#include "user/remote/clickhouse_text.h"
#include "user/remote/window_row.h"
#include "user/store/store.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

#define HOUR_S 3600u

/* A DateTime has 32 bits. */
static uint32_t seconds(uint64_t unix_ns)
{
	uint64_t unix_s = unix_ns / CLOCK_NS_PER_S;

	return unix_s < UINT32_MAX - HOUR_S ? (uint32_t)unix_s : UINT32_MAX - HOUR_S;
}

/* A glob, or what may be the begin of a container's id. */
static bool is_of_several(enum select_by by, const char *pattern)
{
	if (strpbrk(pattern, "*?[\\"))
		return true;
	return by == SELECT_BY_CONTAINER && *pattern &&
	       strspn(pattern, "0123456789abcdef") == strlen(pattern);
}

/* "'a','b'" of what a label may be; "" = of anything: it is not asked for, or the reader of the answer decides. */
static void list_labels(const struct selection *selection, enum select_by by, struct strbuf *out)
{
	struct select_more more;

	strbuf_clear(out);
	for (size_t i = 0; (more = selection_get(selection, by, i)).pattern; i++) {
		if (more.leaves_out)
			continue;
		if (is_of_several(by, more.pattern)) {
			strbuf_clear(out);
			return;
		}
		strbuf_puts(out, out->len ? "," : "");
		clickhouse_quote(out, more.pattern, strlen(more.pattern));
	}
}

/*
 * What cannot match is not sent. Host records go by their host: they have no other label, and no service, by which
 * rows are in order. The service of a process is its comm where it has no label.
 */
static void put_selection(const struct selection *selection, struct strbuf *out)
{
	static const struct {
		const char *name;
		const char *other; /* NULL = there is none */
	} columns[SELECT_BY_CNT] = {
		[SELECT_BY_CONTAINER] = { "container", "container_id" },
		[SELECT_BY_POD] = { "pod", "pod_uid" },
		[SELECT_BY_NAMESPACE] = { "namespace", NULL },
		[SELECT_BY_SERVICE] = { "label_service", NULL },
		[SELECT_BY_COMM] = { "comm", NULL },
		[SELECT_BY_IMAGE] = { "image", NULL },
		[SELECT_BY_HOST] = { "host", NULL },
	};
	__cleanup_strbuf struct strbuf list = STRBUF_INIT;

	if (selection->pid)
		strbuf_printf(out, " AND pid IN (0, %" PRIu32 ")", selection->pid);
	for (int by = 0; by < SELECT_BY_CNT; by++) {
		list_labels(selection, (enum select_by)by, &list);
		if (strbuf_error(&list))
			strbuf_fail(out, strbuf_error(&list));
		if (!list.len || !columns[by].name)
			continue;
		strbuf_printf(out, " AND (%s%s IN (%s)", by == SELECT_BY_HOST ? "" : "pid = 0 OR ",
			      columns[by].name, list.data);
		if (columns[by].other)
			strbuf_printf(out, " OR %s IN (%s)", columns[by].other, list.data);
		strbuf_putc(out, ')');
		if (by == SELECT_BY_SERVICE && !strstr(list.data, "''"))
			strbuf_printf(out, " AND service IN ('', %s)", list.data);
	}
}

/* Condition of windows: the ts is for the index, the rest decides. */
static void put_range(const struct clickhouse_select *select, struct strbuf *out)
{
	uint64_t reach_ns = STORE_WINDOW_MAX_NS + 60 * CLOCK_NS_PER_S;
	uint64_t first_ns = select->since_unix_ns > reach_ns ? select->since_unix_ns - reach_ns : 0;

	strbuf_printf(out,
		      " WHERE event = %u AND ts >= toDateTime(%" PRIu32
		      ") AND ts <= toDateTime(%" PRIu32 ") AND start_ns < %" PRIu64
		      " AND start_ns + duration_ns > %" PRIu64,
		      (unsigned int)select->event, seconds(first_ns),
		      seconds(select->until_unix_ns), select->until_unix_ns, select->since_unix_ns);
	if (select->selection)
		put_selection(select->selection, out);
}

void clickhouse_select_times(enum event event, struct strbuf *out)
{
	strbuf_printf(out,
		      "SELECT min(start_ns), max(start_ns + duration_ns) FROM jbpf_windows "
		      "WHERE event = %u AND pid != 0 AND samples != 0",
		      (unsigned int)event);
}

void clickhouse_select_events(struct strbuf *out)
{
	strbuf_puts(out, "SELECT event FROM jbpf_windows WHERE pid != 0 AND samples != 0 "
			 "GROUP BY event");
}

void clickhouse_select_hours(const struct clickhouse_select *select, struct strbuf *out)
{
	strbuf_printf(out,
		      "SELECT intDiv(toUnixTimestamp(ts), 3600) * 3600 AS hour, count(), "
		      "maxIf(toUnixTimestamp(ts), start_ns < %" PRIu64
		      "), minIf(toUnixTimestamp(ts), start_ns + duration_ns > %" PRIu64
		      ") FROM jbpf_windows FINAL",
		      select->since_unix_ns, select->until_unix_ns);
	put_range(select, out);
	strbuf_puts(out, " GROUP BY hour ORDER BY hour");
}

void clickhouse_select_rows(const struct clickhouse_select *select, struct strbuf *out)
{
	strbuf_puts(out, "SELECT count() FROM jbpf_windows");
	put_range(select, out);
}

static void put_final(const struct clickhouse_select *select, struct strbuf *out)
{
	strbuf_puts(out, select->is_once ? "" : " FINAL");
}

/* Is this name among the texts that are not wanted? */
static bool is_unwanted(const struct clickhouse_select *select, const char *name, size_t len)
{
	const struct {
		const char *name;
		bool is_wanted;
	} texts[] = { { "lines", select->wants_lines },
		      { "cells", select->wants_cells },
		      { "threads", select->wants_threads } };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (len == strlen(texts[i].name) && memcmp(name, texts[i].name, len) == 0)
			return !texts[i].is_wanted;
	}
	return false;
}

void clickhouse_select_windows(const struct clickhouse_select *select, struct strbuf *out)
{
	__cleanup_strbuf struct strbuf names = STRBUF_INIT;

	window_row_column_names(&names);
	strbuf_puts(out, "SELECT ");
	for (const char *at = strbuf_str(&names); *at;) {
		size_t len = strcspn(at, ",");

		if (is_unwanted(select, at, len))
			strbuf_puts(out, "''");
		else
			strbuf_append(out, at, len);
		at += len;
		len = strspn(at, ", ");
		strbuf_append(out, at, len);
		at += len;
	}
	if (strbuf_error(&names))
		strbuf_fail(out, strbuf_error(&names));
	strbuf_puts(out, " FROM jbpf_windows");
	put_final(select, out);
	put_range(select, out);
	strbuf_printf(out, " AND ts >= toDateTime(%" PRIu32 ") AND ts < toDateTime(%" PRIu32 ")",
		      select->begin_unix_s, select->end_unix_s);
	strbuf_puts(out, select->is_unordered ? "" : " ORDER BY ts, service, stream");
}

/*
 * Samples of an hour lie together, by the server's clock. By ts alone it does not see which hours are meant, and reads
 * those of the whole day.
 */
static void put_samples(const struct clickhouse_select *select, struct strbuf *out)
{
	const uint32_t begin = select->begin_unix_s, last = select->end_unix_s - 1;

	strbuf_printf(out,
		      " WHERE event = %u AND ts >= toDateTime(%" PRIu32
		      ") AND ts <= toDateTime(%" PRIu32
		      ") AND toStartOfHour(ts) >= toStartOfHour(toDateTime(%" PRIu32
		      ")) AND toStartOfHour(ts) <= toStartOfHour(toDateTime(%" PRIu32 "))",
		      (unsigned int)select->event, begin, last, begin, last);
	if (select->services)
		strbuf_printf(out, " AND service IN (%s)", select->services);
	if (select->streams)
		strbuf_printf(out, " AND stream IN (%s)", select->streams);
}

void clickhouse_select_stacks(const struct clickhouse_select *select, struct strbuf *out)
{
	strbuf_puts(out, "SELECT service, hash, stack FROM jbpf_stacks WHERE ");
	if (select->services)
		strbuf_printf(out, "service IN (%s) AND ", select->services);
	if (select->hashes) {
		strbuf_printf(out, "hash IN (%s)", select->hashes);
		return;
	}
	strbuf_puts(out, "(service, hash) IN (SELECT service, hash FROM ");
	if (select->cluster_database)
		strbuf_printf(out, "%s." CLICKHOUSE_LOCAL_SAMPLES, select->cluster_database);
	else
		strbuf_puts(out, "jbpf_samples");
	put_samples(select, out);
	strbuf_puts(out, ")");
}

void clickhouse_select_samples(const struct clickhouse_select *select, struct strbuf *out)
{
	strbuf_puts(out, "SELECT toUnixTimestamp(ts), service, stream, hash, n "
			 "FROM jbpf_samples");
	put_final(select, out);
	put_samples(select, out);
	strbuf_puts(out, " ORDER BY ts, service, stream");
}

void clickhouse_select_sums(const struct clickhouse_select *select, struct strbuf *out)
{
	if (select->class_streams)
		strbuf_printf(
			out,
			"SELECT '', transform(stream, %s, %s, toUInt64(%u)) AS class, hash, sum(n)",
			select->class_streams, select->class_numbers, UINT32_MAX);
	else
		strbuf_puts(out, "SELECT service, '', hash, sum(n)");
	strbuf_puts(out, " FROM jbpf_samples");
	put_final(select, out);
	put_samples(select, out);
	strbuf_puts(out, select->class_streams ? " GROUP BY class, hash ORDER BY class" :
						 " GROUP BY service, hash ORDER BY service");
}
