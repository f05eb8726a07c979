// SPDX-License-Identifier: Apache-2.0
/* See clickhouse_schema.h. One text for old servers and new ones: the rest is what old ones do not know. */
#include "user/remote/clickhouse_schema.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "user/model/event.h"
#include "user/remote/window_row.h"
#include "user/util/cleanup.h"

#define MODERN_MAJOR 20
#define MODERN_MINOR 3

#define TTL_DAYS " TTL ts + INTERVAL 30 DAY"

static void create_samples(struct strbuf *out, bool is_modern)
{
	const char *codec = is_modern ? " CODEC(ZSTD(1))" : "";

	strbuf_printf(
		out,
		"CREATE TABLE IF NOT EXISTS jbpf_samples (service %s%s, event UInt32%s, ts DateTime%s, "
		"hash UInt64%s, stream UInt64%s, n UInt64%s) ENGINE = ReplacingMergeTree "
		"PARTITION BY toDate(ts) "
		"ORDER BY (service, event, toStartOfHour(ts), hash, stream, ts)%s",
		is_modern ? "LowCardinality(String)" : "String", codec, codec, codec, codec, codec,
		codec, is_modern ? TTL_DAYS : "");
}

static void create_stacks(struct strbuf *out, bool is_modern)
{
	strbuf_printf(
		out,
		"CREATE TABLE IF NOT EXISTS jbpf_stacks (service %s, hash UInt64, check UInt64, "
		"seen Date, stack String%s) ENGINE = ReplacingMergeTree(seen) "
		"PARTITION BY toYYYYMM(seen) PRIMARY KEY service ORDER BY (service, stack)%s",
		is_modern ? "LowCardinality(String)" : "String", is_modern ? " CODEC(ZSTD(3))" : "",
		/* A stack is told once a month: it outlives the samples of the month's last day. */
		is_modern ? " TTL seen + INTERVAL 62 DAY" : "");
}

static void create_windows(struct strbuf *out, bool is_modern)
{
	strbuf_puts(out, "CREATE TABLE IF NOT EXISTS jbpf_windows (");
	window_row_column_types(out, is_modern ? "LowCardinality(String)" : "String");
	strbuf_printf(out,
		      ") ENGINE = ReplacingMergeTree PARTITION BY toDate(ts) "
		      "ORDER BY (service, stream, ts)%s",
		      is_modern ? TTL_DAYS : "");
}

void clickhouse_schema_create(struct strbuf *out, enum clickhouse_table table, bool is_modern)
{
	switch (table) {
	case CLICKHOUSE_TABLE_SCHEMA:
		strbuf_puts(out, "CREATE TABLE IF NOT EXISTS jbpf_schema (version UInt64) "
				 "ENGINE = ReplacingMergeTree ORDER BY version");
		break;
	case CLICKHOUSE_TABLE_STACKS:
		create_stacks(out, is_modern);
		break;
	case CLICKHOUSE_TABLE_SAMPLES:
		create_samples(out, is_modern);
		break;
	case CLICKHOUSE_TABLE_WINDOWS:
		create_windows(out, is_modern);
		break;
	default:
		strbuf_fail(out, -EINVAL);
	}
}

/* "['cpu', ...][event + 1] AS Type, ['nanoseconds', ...][event + 1] AS Unit, " */
static void put_event_names(struct strbuf *out, const char *type, const char *unit)
{
	for (int i = 0; i < EVENT_CNT; i++)
		strbuf_printf(out, "%s'%s'", i ? ", " : "[", event_name((enum event)i));
	strbuf_printf(out, "][event + 1] AS %s, ", type);
	for (int i = 0; i < EVENT_CNT; i++)
		strbuf_printf(out, "%s'%s'", i ? ", " : "[", event_unit_name((enum event)i));
	strbuf_printf(out, "][event + 1] AS %s, ", unit);
}

/* Old servers know no maps. */
static void put_attributes(struct strbuf *out, bool is_modern)
{
	if (!is_modern)
		return;
	strbuf_puts(out, "map('service.name', service, 'host.name', host, 'k8s.namespace.name', "
			 "namespace, 'k8s.pod.name', pod, 'container.name', container, "
			 "'container.image.name', image) AS ResourceAttributes, "
			 "map('process.pid', toString(pid), 'process.executable.name', comm) AS "
			 "ProfileAttributes, "
			 "CAST(([], []), 'Map(String, String)') AS SampleAttributes, ");
}

/*
 * A minute without its row of windows is not complete, hence INNER. Not ANY: of newer servers that takes a row of
 * the right side once; there is one per key anyway.
 */
static void put_view_rows(struct strbuf *out)
{
	strbuf_puts(
		out,
		"FROM (SELECT service, event, ts, hash, stream, n, host, namespace, pod, container, "
		"image, pid, comm, "
		"arrayReverse(splitByChar(';', stack)) AS frames, "
		"if(period > 0, period, if(frequency_hz > 0, intDiv(1000000000, frequency_hz), 0)) "
		"AS step "
		"FROM (SELECT service, event, ts, hash, stream, n, stack FROM "
		"(SELECT service, event, ts, hash, stream, n FROM jbpf_samples FINAL) AS samples "
		"ALL INNER JOIN (SELECT service, hash, any(stack) AS stack FROM jbpf_stacks "
		"GROUP BY service, hash) AS stacks USING (service, hash)) AS named "
		"ALL INNER JOIN (SELECT service, stream, ts, host, namespace, pod, container, image, "
		"pid, comm, period, frequency_hz FROM jbpf_windows FINAL) AS windows "
		"USING (service, stream, ts)) AS rows");
}

void clickhouse_schema_create_view(struct strbuf *out, bool is_modern)
{
	strbuf_printf(out,
		      "CREATE VIEW IF NOT EXISTS " CLICKHOUSE_OTEL_VIEW
		      " AS SELECT %s AS Timestamp, "
		      "lower(hex(MD5(concat(toString(stream), ' ', toString(toUInt32(ts)))))) AS "
		      "ProfileId, ",
		      is_modern ? "toDateTime64(ts, 9)" : "ts");
	put_event_names(out, "SampleType", "SampleUnit");
	strbuf_puts(out, "service AS ServiceName, 'jbpf' AS ScopeName, '' AS ScopeVersion, ");
	put_attributes(out, is_modern);
	strbuf_puts(
		out,
		"hash AS StackHash, arrayMap(f -> toUInt64(0), frames) AS Addresses, "
		"arrayMap(f -> replaceRegexpOne(f, '_\\\\[[0-9a-z]\\\\]$', ''), frames) AS "
		"FunctionNames, "
		"arrayMap(f -> '', frames) AS FileNames, arrayMap(f -> toInt32(0), frames) AS "
		"LineNumbers, "
		"arrayMap(f -> '', frames) AS MappingFileNames, [toInt64(n * step)] AS Values, "
		"emptyArrayUInt64() AS TimestampsUnixNano, toUInt64(60000000000) AS DurationNano, "
		"toInt64(step) AS Period, ");
	put_event_names(out, "PeriodType", "PeriodUnit");
	strbuf_puts(out, "'' AS TraceId, '' AS SpanId ");
	put_view_rows(out);
}

bool clickhouse_schema_is_modern(const char *version)
{
	char *end;
	unsigned long major = strtoul(version, &end, 10);
	unsigned long minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;

	return major > MODERN_MAJOR || (major == MODERN_MAJOR && minor >= MODERN_MINOR);
}

static int take_is_modern(void *ctx, const struct clickhouse_field *fields)
{
	*(bool *)ctx = clickhouse_schema_is_modern(fields[0].text);
	return 0;
}

static int take_version(void *ctx, const struct clickhouse_field *fields)
{
	return clickhouse_field_u64(&fields[0], ctx);
}

/* 0: the table is there and has none. */
static int read_version(struct clickhouse *server, uint64_t *version)
{
	*version = 0;
	return clickhouse__query(server, "SELECT max(version) FROM jbpf_schema", 1, take_version,
				 version);
}

int clickhouse_schema_check(struct clickhouse *server, uint64_t *version)
{
	int err = read_version(server, version);

	if (err)
		return err;
	return *version == CLICKHOUSE_SCHEMA_VERSION ? 0 : -EPROTONOSUPPORT;
}

static int create_view(struct clickhouse *server, bool is_modern)
{
	__cleanup_strbuf struct strbuf sql = STRBUF_INIT;

	clickhouse_schema_create_view(&sql, is_modern);
	return strbuf_error(&sql) ? strbuf_error(&sql) : clickhouse__command(server, sql.data);
}

static int create(struct clickhouse *server, enum clickhouse_table table, bool is_modern)
{
	__cleanup_strbuf struct strbuf sql = STRBUF_INIT;

	clickhouse_schema_create(&sql, table, is_modern);
	return strbuf_error(&sql) ? strbuf_error(&sql) : clickhouse__command(server, sql.data);
}

/* The version is written last: tables without one were begun and are made to their end. */
int clickhouse_schema_init(struct clickhouse *server)
{
	bool is_modern = false;
	uint64_t version = 0;
	char sql[96];
	int err = clickhouse__query(server, "SELECT version()", 1, take_is_modern, &is_modern);

	if (!err)
		err = create(server, CLICKHOUSE_TABLE_SCHEMA, is_modern);
	if (!err)
		err = read_version(server, &version);
	if (!err && version && version != CLICKHOUSE_SCHEMA_VERSION)
		return -EEXIST;
	for (int table = CLICKHOUSE_TABLE_STACKS; !err && table < CLICKHOUSE_TABLE_CNT; table++)
		err = create(server, (enum clickhouse_table)table, is_modern);
	if (!err)
		err = create_view(server, is_modern);
	if (err || version)
		return err;
	(void)snprintf(sql, sizeof(sql), "INSERT INTO jbpf_schema (version) VALUES (%d)",
		       CLICKHOUSE_SCHEMA_VERSION);
	return clickhouse__command(server, sql);
}
