/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of profiles in ClickHouse, version 1. A column that a later jbpf adds to jbpf_windows leaves the
 * version as it is: who made the tables writes and reads on, as rows without it hold 0 or "". A row's order key is its identity, and the engine keeps
 * one row of equal keys (ReplacingMergeTree): what is sent twice counts once in a query with FINAL.
 *
 *     jbpf_samples  service, event, ts (minute), hash of the stack, stream, n
 *     jbpf_stacks   service, hash, check (the same text with another seed), seen, stack (folded, root first)
 *     jbpf_windows  one row per stream and minute: all that struct window has, see window_row.h. It is
 *                   sent last: a minute of a stream is complete when it is there
 *     jbpf_schema   version
 *     otel_profiles a view of these with the columns of the OpenTelemetry collector's ClickHouse exporter
 *                   (profiles_table.sql in opentelemetry-collector-contrib), for what reads its table.
 *                   Stacks leaf first, without tiers; no addresses, files or lines. Old servers know no
 *                   maps: there it has no attributes, and Timestamp is in seconds
 *
 * Of a cluster the rows are in Replicated tables called ..._local, and those above are Distributed ones over them;
 * jbpf_schema is one replicated to all servers. All of a service is on one shard: FINAL sees all rows of a key, and
 * a query's IN (SELECT ... FROM jbpf_samples_local) all stacks that its shard needs.
 *
 * service: the label service, else the process's name, else "" (host records).
 * stream: a hash of everything that is the same in all windows of one track (window_row_stream()): the
 * process's life, its labels, event, frequency, period. Two tracks of a process are two streams.
 * ts: begin of the minute in which a window began (UTC). What began in a minute is summed to one row.
 * hash, check: XXH3 of the stack's text with the seeds below.
 */
#ifndef JBPF_REMOTE_CLICKHOUSE_SCHEMA_H
#define JBPF_REMOTE_CLICKHOUSE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/remote/clickhouse.h"
#include "user/util/attributes.h"
#include "user/util/strbuf.h"

#define CLICKHOUSE_SCHEMA_VERSION 1

#define CLICKHOUSE_MINUTE_NS  (60ull * 1000 * 1000 * 1000)
#define CLICKHOUSE_HASH_SEED  0ull
#define CLICKHOUSE_CHECK_SEED 0x6a62706621ull

#define CLICKHOUSE_SAMPLES_COLUMNS "service, event, ts, hash, stream, n"
#define CLICKHOUSE_STACKS_COLUMNS  "service, hash, check, seen, stack"

/* The collector's own name. Where there is such a table or view already, it stays. */
#define CLICKHOUSE_OTEL_VIEW "otel_profiles"

#define CLICKHOUSE_LOCAL_SAMPLES "jbpf_samples_local"

enum clickhouse_table {
	CLICKHOUSE_TABLE_SCHEMA = 0,
	CLICKHOUSE_TABLE_STACKS,
	CLICKHOUSE_TABLE_SAMPLES,
	CLICKHOUSE_TABLE_WINDOWS,
	CLICKHOUSE_TABLE_CNT,
};

/* How the tables are made. */
struct clickhouse_layout {
	bool is_modern;
	const char *cluster; /* NULL = a single server */
	const char *database;
};

/* What is there. */
struct clickhouse_tables {
	uint64_t version; /* 0 = none */
	bool is_cluster;
	bool lacks_columns; /* of jbpf_windows: an older jbpf made it */
};

/*
 * Appends CREATE TABLE IF NOT EXISTS, of a cluster that of the table with the rows. `is_modern`: a server from
 * 20.3 on: codecs, words kept once, and rows that are older than 30 days are deleted. Others keep them until
 * somebody drops their partitions.
 */
void clickhouse_schema_create(struct strbuf *out, enum clickhouse_table table,
			      const struct clickhouse_layout *layout);

/* Of a cluster: appends the same of the table over it. Nothing for jbpf_schema, which has none. */
void clickhouse_schema_create_distributed(struct strbuf *out, enum clickhouse_table table,
					  const struct clickhouse_layout *layout);

/* Appends CREATE VIEW IF NOT EXISTS. */
void clickhouse_schema_create_view(struct strbuf *out, const struct clickhouse_layout *layout);

/* Appends what adds the column `at` of window_row.h to jbpf_windows, of a cluster to the table with the rows. */
void clickhouse_schema_add_column(struct strbuf *out, size_t at,
				  const struct clickhouse_layout *layout);

/* "18.16.1": is it one for is_modern? */
bool clickhouse_schema_is_modern(const char *version);

/*
 * Makes the tables and columns that are missing, on all servers of the URL's cluster if it has one. 0, -EEXIST: tables of another version
 * are there; -EADDRINUSE: tables of a single server are, and a cluster is asked for; -EIO, -ENOMEM:
 * clickhouse__failure().
 */
__must_check int clickhouse_schema_init(struct clickhouse *server);
/* Are the tables there, and ours? 0, -EPROTONOSUPPORT: of another version, or they lack columns; -EIO, -ENOMEM. */
__must_check int clickhouse_schema_check(struct clickhouse *server,
					 struct clickhouse_tables *tables);

#endif
