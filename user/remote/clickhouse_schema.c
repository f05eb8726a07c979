// SPDX-License-Identifier: Apache-2.0
/* See clickhouse_schema.h. One text for old servers and new ones: the rest is what old ones do not know. */
#include "user/remote/clickhouse_schema.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/model/event.h"
#include "user/remote/window_row.h"
#include "user/util/cleanup.h"

#define MODERN_MAJOR 20
#define MODERN_MINOR 3

#define TTL_DAYS " TTL ts + INTERVAL 30 DAY"

#define LOCAL "_local" /* behind the name of a table with rows, of a cluster */

static const char *const names[CLICKHOUSE_TABLE_CNT] = {
	[CLICKHOUSE_TABLE_SCHEMA] = "jbpf_schema",
	[CLICKHOUSE_TABLE_STACKS] = "jbpf_stacks",
	[CLICKHOUSE_TABLE_SAMPLES] = "jbpf_samples",
	[CLICKHOUSE_TABLE_WINDOWS] = "jbpf_windows",
};

static void put_on_cluster(struct strbuf *out, const struct clickhouse_layout *layout)
{
	if (layout->cluster)
		strbuf_printf(out, " ON CLUSTER '%s'", layout->cluster);
}

/* jbpf_schema is small and on each server: it needs none over it. */
static bool has_distributed(enum clickhouse_table table, const struct clickhouse_layout *layout)
{
	return layout->cluster && table != CLICKHOUSE_TABLE_SCHEMA;
}

static void begin_table(struct strbuf *out, enum clickhouse_table table,
			const struct clickhouse_layout *layout)
{
	strbuf_printf(out, "CREATE TABLE IF NOT EXISTS %s%s", names[table],
		      has_distributed(table, layout) ? LOCAL : "");
	put_on_cluster(out, layout);
	strbuf_puts(out, " (");
}

/*
 * `version`: the column that says which of equal rows stays; NULL = any. {shard} and {replica} are the servers' macros;
 * 18.16 has none for the database. Replicas of one path have the same rows: jbpf_schema's has no shard.
 */
static void put_engine(struct strbuf *out, enum clickhouse_table table,
		       const struct clickhouse_layout *layout, const char *version)
{
	bool is_on_shards = has_distributed(table, layout);

	if (!layout->cluster) {
		strbuf_printf(out, ") ENGINE = ReplacingMergeTree%s%s%s", version ? "(" : "",
			      version ? version : "", version ? ")" : "");
		return;
	}
	strbuf_printf(out,
		      ") ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/%s/%s/%s/%s', "
		      "'%s{replica}'%s%s)",
		      layout->cluster, is_on_shards ? "{shard}" : "all", layout->database,
		      names[table], is_on_shards ? "" : "{shard}-", version ? ", " : "",
		      version ? version : "");
}

static const char *label_type(const struct clickhouse_layout *layout)
{
	return layout->is_modern ? "LowCardinality(String)" : "String";
}

static void create_samples(struct strbuf *out, const struct clickhouse_layout *layout)
{
	const char *codec = layout->is_modern ? " CODEC(ZSTD(1))" : "";

	begin_table(out, CLICKHOUSE_TABLE_SAMPLES, layout);
	strbuf_printf(
		out,
		"service %s%s, event UInt32%s, ts DateTime%s, hash UInt64%s, stream UInt64%s, "
		"n UInt64%s",
		label_type(layout), codec, codec, codec, codec, codec, codec);
	put_engine(out, CLICKHOUSE_TABLE_SAMPLES, layout, NULL);
	strbuf_printf(out,
		      " PARTITION BY toDate(ts) "
		      "ORDER BY (service, event, toStartOfHour(ts), hash, stream, ts)%s",
		      layout->is_modern ? TTL_DAYS : "");
}

static void create_stacks(struct strbuf *out, const struct clickhouse_layout *layout)
{
	begin_table(out, CLICKHOUSE_TABLE_STACKS, layout);
	strbuf_printf(out, "service %s, hash UInt64, check UInt64, seen Date, stack String%s",
		      label_type(layout), layout->is_modern ? " CODEC(ZSTD(3))" : "");
	put_engine(out, CLICKHOUSE_TABLE_STACKS, layout, "seen");
	strbuf_printf(
		out, " PARTITION BY toYYYYMM(seen) PRIMARY KEY service ORDER BY (service, stack)%s",
		/* A stack is told once a month: it outlives the samples of the month's last day. */
		layout->is_modern ? " TTL seen + INTERVAL 62 DAY" : "");
}

static void create_windows(struct strbuf *out, const struct clickhouse_layout *layout)
{
	begin_table(out, CLICKHOUSE_TABLE_WINDOWS, layout);
	window_row_column_types(out, label_type(layout));
	put_engine(out, CLICKHOUSE_TABLE_WINDOWS, layout, NULL);
	strbuf_printf(out, " PARTITION BY toDate(ts) ORDER BY (service, stream, ts)%s",
		      layout->is_modern ? TTL_DAYS : "");
}

void clickhouse_schema_add_column(struct strbuf *out, size_t at,
				  const struct clickhouse_layout *layout)
{
	struct window_row_column column = window_row_column(at, label_type(layout));

	strbuf_printf(out, "ALTER TABLE jbpf_windows%s", layout->cluster ? LOCAL : "");
	put_on_cluster(out, layout);
	strbuf_printf(out, " ADD COLUMN %s %s", column.name, column.type);
}

void clickhouse_schema_create(struct strbuf *out, enum clickhouse_table table,
			      const struct clickhouse_layout *layout)
{
	switch (table) {
	case CLICKHOUSE_TABLE_SCHEMA:
		begin_table(out, table, layout);
		strbuf_puts(out, "version UInt64");
		put_engine(out, table, layout, NULL);
		strbuf_puts(out, " ORDER BY version");
		break;
	case CLICKHOUSE_TABLE_STACKS:
		create_stacks(out, layout);
		break;
	case CLICKHOUSE_TABLE_SAMPLES:
		create_samples(out, layout);
		break;
	case CLICKHOUSE_TABLE_WINDOWS:
		create_windows(out, layout);
		break;
	default:
		strbuf_fail(out, -EINVAL);
	}
}

/* Its servers look for a table without database in another one: distributed DDL has none of its own. */
void clickhouse_schema_create_distributed(struct strbuf *out, enum clickhouse_table table,
					  const struct clickhouse_layout *layout)
{
	const char *name = names[table], *database = layout->database;

	if (!has_distributed(table, layout))
		return;
	strbuf_printf(out, "CREATE TABLE IF NOT EXISTS %s", name);
	put_on_cluster(out, layout);
	strbuf_printf(out,
		      " AS %s.%s" LOCAL " ENGINE = Distributed('%s', '%s', '%s" LOCAL "', "
		      "cityHash64(service))",
		      database, name, layout->cluster, database, name);
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
static void put_view_rows(struct strbuf *out, const struct clickhouse_layout *layout)
{
	const char *database = layout->cluster ? layout->database : "", *dot = *database ? "." : "";

	strbuf_printf(
		out,
		"FROM (SELECT service, event, ts, hash, stream, n, host, namespace, pod, container, "
		"image, pid, comm, "
		"arrayReverse(splitByChar(';', stack)) AS frames, "
		"if(period > 0, period, if(frequency_hz > 0, intDiv(1000000000, frequency_hz), 0)) "
		"AS step "
		"FROM (SELECT service, event, ts, hash, stream, n, stack FROM "
		"(SELECT service, event, ts, hash, stream, n FROM %s%sjbpf_samples FINAL) AS samples "
		"ALL INNER JOIN (SELECT service, hash, any(stack) AS stack FROM %s%sjbpf_stacks "
		"GROUP BY service, hash) AS stacks USING (service, hash)) AS named "
		"ALL INNER JOIN (SELECT service, stream, ts, host, namespace, pod, container, image, "
		"pid, comm, period, frequency_hz FROM %s%sjbpf_windows FINAL) AS windows "
		"USING (service, stream, ts)) AS rows",
		database, dot, database, dot, database, dot);
}

void clickhouse_schema_create_view(struct strbuf *out, const struct clickhouse_layout *layout)
{
	strbuf_puts(out, "CREATE VIEW IF NOT EXISTS " CLICKHOUSE_OTEL_VIEW);
	put_on_cluster(out, layout);
	strbuf_printf(out,
		      " AS SELECT %s AS Timestamp, "
		      "lower(hex(MD5(concat(toString(stream), ' ', toString(toUInt32(ts)))))) AS "
		      "ProfileId, ",
		      layout->is_modern ? "toDateTime64(ts, 9)" : "ts");
	put_event_names(out, "SampleType", "SampleUnit");
	strbuf_puts(out, "service AS ServiceName, 'jbpf' AS ScopeName, '' AS ScopeVersion, ");
	put_attributes(out, layout->is_modern);
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
	put_view_rows(out, layout);
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

static int take_tables(void *ctx, const struct clickhouse_field *fields)
{
	struct clickhouse_tables *tables = ctx;
	uint64_t local_cnt, column_cnt;
	int err = clickhouse_field_u64(&fields[0], &tables->version);

	if (!err)
		err = clickhouse_field_u64(&fields[1], &local_cnt);
	if (!err)
		err = clickhouse_field_u64(&fields[2], &column_cnt);
	tables->is_cluster = !err && local_cnt;
	tables->lacks_columns = !err && column_cnt < window_row_column_cnt();
	return err;
}

/* Version 0: the table is there and has none. */
static int read_tables(struct clickhouse *server, struct clickhouse_tables *tables)
{
	__cleanup_strbuf struct strbuf sql = STRBUF_INIT;

	*tables = (struct clickhouse_tables){ 0 };
	strbuf_puts(&sql, "SELECT max(version), (SELECT count() FROM system.tables WHERE "
			  "database = currentDatabase() AND name = '" CLICKHOUSE_LOCAL_SAMPLES
			  "'), (SELECT count() FROM system.columns WHERE "
			  "database = currentDatabase() AND table = 'jbpf_windows' AND name IN (");
	for (size_t i = 0; i < window_row_column_cnt(); i++)
		strbuf_printf(&sql, "%s'%s'", i ? ", " : "", window_row_column(i, "").name);
	strbuf_puts(&sql, ")) FROM jbpf_schema");
	if (strbuf_error(&sql))
		return strbuf_error(&sql);
	return clickhouse__query(server, sql.data, 3, take_tables, tables);
}

static bool are_of_another_version(const struct clickhouse_tables *tables)
{
	return tables->version != CLICKHOUSE_SCHEMA_VERSION;
}

int clickhouse_schema_check(struct clickhouse *server, struct clickhouse_tables *tables)
{
	int err = read_tables(server, tables);

	if (err)
		return err;
	return are_of_another_version(tables) || tables->lacks_columns ? -EPROTONOSUPPORT : 0;
}

/* An empty statement is none. */
static int run(struct clickhouse *server, const struct strbuf *sql)
{
	if (strbuf_error(sql) || !sql->len)
		return strbuf_error(sql);
	return clickhouse__command(server, sql->data);
}

static int create_view(struct clickhouse *server, const struct clickhouse_layout *layout)
{
	__cleanup_strbuf struct strbuf sql = STRBUF_INIT;

	clickhouse_schema_create_view(&sql, layout);
	return run(server, &sql);
}

static int create(struct clickhouse *server, enum clickhouse_table table,
		  const struct clickhouse_layout *layout)
{
	__cleanup_strbuf struct strbuf sql = STRBUF_INIT, distributed = STRBUF_INIT;
	int err;

	clickhouse_schema_create(&sql, table, layout);
	clickhouse_schema_create_distributed(&distributed, table, layout);
	err = run(server, &sql);
	return err ? err : run(server, &distributed);
}

struct columns {
	bool is_there[CLICKHOUSE_FIELDS_MAX];
};

static int take_column(void *ctx, const struct clickhouse_field *fields)
{
	struct columns *columns = ctx;

	for (size_t i = 0; i < window_row_column_cnt(); i++)
		columns->is_there[i] |= strcmp(window_row_column(i, "").name, fields[0].text) == 0;
	return 0;
}

/* To the table with the rows. */
static int add_columns(struct clickhouse *server, const struct clickhouse_layout *layout)
{
	struct columns columns = { 0 };
	char sql[160];
	int err;

	(void)snprintf(sql, sizeof(sql),
		       "SELECT name FROM system.columns WHERE database = currentDatabase() "
		       "AND table = 'jbpf_windows%s'",
		       layout->cluster ? LOCAL : "");
	err = clickhouse__query(server, sql, 1, take_column, &columns);
	for (size_t i = 0; !err && i < window_row_column_cnt(); i++) {
		__cleanup_strbuf struct strbuf add = STRBUF_INIT;

		if (columns.is_there[i])
			continue;
		clickhouse_schema_add_column(&add, i, layout);
		err = run(server, &add);
	}
	return err;
}

/* 18.16 refuses to alter a distributed table on a cluster of replicas (DDLWorker.cpp). It holds nothing. */
static int renew_distributed(struct clickhouse *server, const struct clickhouse_layout *layout)
{
	__cleanup_strbuf struct strbuf drop = STRBUF_INIT;
	int err;

	strbuf_puts(&drop, "DROP TABLE IF EXISTS jbpf_windows");
	put_on_cluster(&drop, layout);
	err = run(server, &drop);
	return err ? err : create(server, CLICKHOUSE_TABLE_WINDOWS, layout);
}

static int complete_windows(struct clickhouse *server, const struct clickhouse_layout *layout)
{
	struct clickhouse_tables tables;
	int err = read_tables(server, &tables);

	if (err || !tables.lacks_columns)
		return err;
	err = add_columns(server, layout);
	return err || !layout->cluster ? err : renew_distributed(server, layout);
}

static int take_is_there(void *ctx, const struct clickhouse_field *fields)
{
	uint64_t cnt;
	int err = clickhouse_field_u64(&fields[0], &cnt);

	*(bool *)ctx = !err && cnt;
	return err;
}

/* IF NOT EXISTS would leave those of this server as they are and make others on the rest. */
static int refuse_single(struct clickhouse *server)
{
	bool is_there = false;
	int err = clickhouse__query(server,
				    "SELECT count() FROM system.tables WHERE "
				    "database = currentDatabase() AND name = 'jbpf_schema' "
				    "AND engine NOT LIKE 'Replicated%'",
				    1, take_is_there, &is_there);

	if (err)
		return err;
	return is_there ? -EADDRINUSE : 0;
}

/* The version is written last: tables without one were begun and are made to their end. */
int clickhouse_schema_init(struct clickhouse *server)
{
	struct clickhouse_layout layout = { .cluster = clickhouse__cluster(server),
					    .database = clickhouse__database(server) };
	struct clickhouse_tables tables = { 0 };
	char sql[96];
	int err =
		clickhouse__query(server, "SELECT version()", 1, take_is_modern, &layout.is_modern);

	if (!err && layout.cluster)
		err = refuse_single(server);
	if (!err)
		err = create(server, CLICKHOUSE_TABLE_SCHEMA, &layout);
	if (!err)
		err = read_tables(server, &tables);
	if (!err && tables.version && are_of_another_version(&tables))
		return -EEXIST;
	for (int table = CLICKHOUSE_TABLE_STACKS; !err && table < CLICKHOUSE_TABLE_CNT; table++)
		err = create(server, (enum clickhouse_table)table, &layout);
	if (!err)
		err = complete_windows(server, &layout);
	if (!err)
		err = create_view(server, &layout);
	if (err || tables.version)
		return err;
	(void)snprintf(sql, sizeof(sql), "INSERT INTO jbpf_schema (version) VALUES (%d)",
		       CLICKHOUSE_SCHEMA_VERSION);
	return clickhouse__command(server, sql);
}
