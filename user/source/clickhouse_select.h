/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The questions to ClickHouse from which windows are put together again, in words that 18.16 knows, too.
 * Pure.
 *
 * Rows of some hours are asked for at once. Windows and samples come in the order of (ts, service, stream),
 * strings by their bytes, so that they can be read side by side.
 */
#ifndef JBPF_SOURCE_CLICKHOUSE_SELECT_H
#define JBPF_SOURCE_CLICKHOUSE_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/event.h"
#include "user/model/select.h"
#include "user/util/strbuf.h"

#define CLICKHOUSE_TIMES_FIELDS 2
#define CLICKHOUSE_EVENT_FIELDS 1
#define CLICKHOUSE_COUNT_FIELDS 1
/*
 * Begin of the hour (Unix s), windows that begin in it, and of these as ts: the last that begins before `since`, the
 * first that ends behind `until`; 0 = there is none
 */
#define CLICKHOUSE_HOUR_FIELDS	 4
#define CLICKHOUSE_STACK_FIELDS	 3 /* service, hash, stack */
#define CLICKHOUSE_SUM_FIELDS	 4 /* service or class, the other is empty; hash, n */
#define CLICKHOUSE_SAMPLE_FIELDS 5 /* ts (Unix s), service, stream, hash, n */

/* Which rows. */
struct clickhouse_select {
	enum event event;
	uint64_t since_unix_ns; /* windows that overlap [since, until) */
	uint64_t until_unix_ns;
	uint32_t begin_unix_s,
		end_unix_s; /* that begin in [begin, end); not of clickhouse_select_hours() */
	/* Of windows: of processes that it does not match they need not come. Borrowed; NULL = of any. */
	const struct selection *selection;
	/* Of windows and samples: no row is there twice, as far as is known; to put versions together costs most. */
	bool is_once;
	/* Of windows: they may come in any order. */
	bool is_unordered;
	/* Of windows: what is not wanted comes empty. */
	bool wants_lines, wants_cells, wants_threads;
	/* Of stacks and samples: "'a','b'" and "1,2"; NULL = all. */
	const char *services;
	const char *streams;
	/* Of stacks: "1,2"; NULL = those of the samples. */
	const char *hashes;
	/*
	 * Of stacks: of a cluster its database, whose samples are looked at on the shard of the stacks; NULL = a
	 * single server.
	 */
	const char *cluster_database;
	/* Of sums: "[1,2]", and the numbers of their classes in that order; NULL = services are the classes. */
	const char *class_streams;
	const char *class_numbers;
};

/* Appends a SELECT. When the first window with samples begins and the last ends, ns; 0 and 0 = there is none. */
void clickhouse_select_times(enum event event, struct strbuf *out);
/* Numbers of the events that have samples. */
void clickhouse_select_events(struct strbuf *out);
/* Hours with windows, in order of time. */
void clickhouse_select_hours(const struct clickhouse_select *select, struct strbuf *out);
/* Rows of windows, with those that are there twice. */
void clickhouse_select_rows(const struct clickhouse_select *select, struct strbuf *out);
/* The columns of window_row.h. */
void clickhouse_select_windows(const struct clickhouse_select *select, struct strbuf *out);
/* Stacks of these samples, or hashes. */
void clickhouse_select_stacks(const struct clickhouse_select *select, struct strbuf *out);
void clickhouse_select_samples(const struct clickhouse_select *select, struct strbuf *out);
/* The same, as sums over all minutes and streams of a class, or of a service; one behind the other. */
void clickhouse_select_sums(const struct clickhouse_select *select, struct strbuf *out);

#endif
