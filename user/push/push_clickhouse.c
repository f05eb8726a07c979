// SPDX-License-Identifier: Apache-2.0
/*
 * ClickHouse as a server of push_server.h. Sums become rows: stacks that it was not told, then samples, then
 * windows, so that a minute whose windows are there is whole. Rows that are refused are divided until the
 * refused one is alone; it is dropped and counted.
 */
#include "user/push/push_server.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "user/push/told_set.h"
#include "user/remote/clickhouse.h"
#include "user/remote/clickhouse_schema.h"
#include "user/remote/window_row.h"
#include "user/util/cleanup.h"
#include "user/util/log.h"
#include "user/util/vec.h"

#define INSERT_BYTES (16u * 1024 * 1024) /* rows are sent when there are so many */
#define DAY_S	     86400

struct push_clickhouse {
	struct clickhouse *server;
	struct told_set told;
};

/* Rows of one table that wait to be sent. */
struct rows {
	const char *into;
	struct strbuf bytes;
	size_t *begins; /* of each row */
	size_t cnt, cap;
	uint64_t *sent; /* where they are counted */
};

struct sending {
	struct clickhouse *server;
	struct told_set *told;
	struct push_send_stats *stats;
	uint64_t refused; /* of this sum */
};

static void rows_release(struct rows *rows)
{
	strbuf_release(&rows->bytes);
	free(rows->begins);
}

static bool may_be_a_row(enum remote_fault fault)
{
	return fault == REMOTE_FAULT_TOO_LARGE || fault == REMOTE_FAULT_BAD;
}

/* Rows [from, until). */
static int insert(struct sending *sending, const struct rows *rows, size_t from, size_t until)
{
	size_t end = until < rows->cnt ? rows->begins[until] : rows->bytes.len;
	size_t middle = from + (until - from) / 2;
	int err;

	err = clickhouse__insert(sending->server, rows->into, rows->bytes.data + rows->begins[from],
				 end - rows->begins[from]);
	if (!err) {
		*rows->sent += until - from;
		return 0;
	}
	if (err != -EIO || !may_be_a_row(clickhouse__failure(sending->server)->fault) ||
	    sending->refused >= PUSH_REFUSED_MAX)
		return err;
	if (until - from == 1) {
		sending->refused++;
		sending->stats->refused_rows++;
		return 0;
	}
	err = insert(sending, rows, from, middle);
	return err ? err : insert(sending, rows, middle, until);
}

static int flush_rows(struct sending *sending, struct rows *rows)
{
	int err = strbuf_error(&rows->bytes);

	if (!err && rows->cnt)
		err = insert(sending, rows, 0, rows->cnt);
	rows->cnt = 0;
	strbuf_clear(&rows->bytes);
	return err;
}

/* Called before a row is appended. */
static int begin_row(struct sending *sending, struct rows *rows)
{
	int err = rows->bytes.len >= INSERT_BYTES ? flush_rows(sending, rows) : 0;

	if (!err)
		err = vec_room(rows->begins, rows->cnt, rows->cap, 1024);
	if (err)
		return err;
	rows->begins[rows->cnt++] = rows->bytes.len;
	return 0;
}

static uint64_t hash_of(const struct profile_stack *stack)
{
	return XXH3_64bits_withSeed(stack->text, stack->len, CLICKHOUSE_HASH_SEED);
}

/* A stack is told once a month and service: the table has a partition for each month. */
static uint64_t told_key(const struct push_stream *stream, uint64_t hash)
{
	const char *service = window_row_service(&stream->window);
	time_t seconds = stream->minute_unix_s;
	struct tm tm = { 0 };

	(void)gmtime_r(&seconds, &tm);
	return XXH3_64bits_withSeed(service, strlen(service),
				    hash + (uint64_t)(12 * tm.tm_year + tm.tm_mon));
}

static int send_stacks(struct sending *sending, const struct push_stream *stream, struct rows *rows)
{
	const char *service = window_row_service(&stream->window);
	size_t cnt = profile__stack_count(stream->stacks);

	for (size_t i = 0; i < cnt; i++) {
		struct profile_stack stack = profile__stack(stream->stacks, i);
		uint64_t hash = hash_of(&stack);
		int err = told_set_add(sending->told, told_key(stream, hash));

		if (err == 1)
			continue;
		if (!err)
			err = begin_row(sending, rows);
		if (err)
			return err;
		clickhouse_put_string(&rows->bytes, service, strlen(service));
		clickhouse_put_u64(&rows->bytes, hash);
		clickhouse_put_u64(&rows->bytes, XXH3_64bits_withSeed(stack.text, stack.len,
								      CLICKHOUSE_CHECK_SEED));
		clickhouse_put_u16(&rows->bytes, (uint16_t)(stream->minute_unix_s / DAY_S));
		clickhouse_put_string(&rows->bytes, stack.text, stack.len);
	}
	return 0;
}

static int send_samples(struct sending *sending, const struct push_stream *stream,
			struct rows *rows)
{
	const char *service = window_row_service(&stream->window);
	size_t cnt = profile__stack_count(stream->stacks);

	for (size_t i = 0; i < cnt; i++) {
		struct profile_stack stack = profile__stack(stream->stacks, i);
		int err = begin_row(sending, rows);

		if (err)
			return err;
		clickhouse_put_string(&rows->bytes, service, strlen(service));
		clickhouse_put_u32(&rows->bytes, stream->window.event);
		clickhouse_put_u32(&rows->bytes, stream->minute_unix_s);
		clickhouse_put_u64(&rows->bytes, hash_of(&stack));
		clickhouse_put_u64(&rows->bytes, stream->stream);
		clickhouse_put_u64(&rows->bytes, stack.count);
	}
	return 0;
}

static int send_window(struct sending *sending, const struct push_stream *stream, struct rows *rows)
{
	int err = begin_row(sending, rows);

	if (err)
		return err;
	window_row_encode(&rows->bytes, &stream->window, stream->minute_unix_s, stream->stream);
	return 0;
}

/* All rows of one table. */
static int send_table(struct sending *sending, const struct push_sum *sum, const char *into,
		      uint64_t *sent,
		      int (*send)(struct sending *, const struct push_stream *, struct rows *))
{
	struct rows rows = { .into = into, .sent = sent };
	int err = 0;

	for (size_t i = 0; !err && i < push_sum__count(sum); i++)
		err = send(sending, push_sum__get(sum, i), &rows);
	if (!err)
		err = flush_rows(sending, &rows);
	rows_release(&rows);
	return err;
}

static int send_sum(void *state, const struct push_sum *sum, struct push_send_stats *stats)
{
	struct push_clickhouse *push = state;
	struct sending sending = { .server = push->server, .told = &push->told, .stats = stats };
	__cleanup_strbuf struct strbuf windows = STRBUF_INIT;
	int err;

	strbuf_puts(&windows, "jbpf_windows (");
	window_row_column_names(&windows);
	strbuf_puts(&windows, ")");
	err = strbuf_error(&windows);
	if (!err)
		err = send_table(&sending, sum, "jbpf_stacks (" CLICKHOUSE_STACKS_COLUMNS ")",
				 &stats->stack_rows, send_stacks);
	if (!err)
		err = send_table(&sending, sum, "jbpf_samples (" CLICKHOUSE_SAMPLES_COLUMNS ")",
				 &stats->sample_rows, send_samples);
	if (!err)
		err = send_table(&sending, sum, windows.data, &stats->window_rows, send_window);
	/* What was on its way may not have come. */
	if (err)
		told_set_clear(&push->told);
	return err;
}

/* ---- the tables ---- */

static void tell_tables(const struct clickhouse *server, const struct clickhouse_tables *tables)
{
	if (tables->version == CLICKHOUSE_SCHEMA_VERSION)
		pr_err("%s has tables of an older jbpf, which lack columns: add them with jbpf push --init\n",
		       clickhouse__name(server));
	else if (tables->version)
		pr_err("%s has tables of version %" PRIu64
		       " and this jbpf writes version %d: use the jbpf that made them, or another database\n",
		       clickhouse__name(server), tables->version, CLICKHOUSE_SCHEMA_VERSION);
	else
		pr_err("%s has tables that were not finished: make them with jbpf push --init\n",
		       clickhouse__name(server));
}

static void tell_failure(const struct clickhouse *server)
{
	const struct remote_failure *failure = clickhouse__failure(server);
	bool is_away = clickhouse__cluster(server) && failure->fault == REMOTE_FAULT_PASSING;

	pr_err("%s%s\n", failure->words,
	       is_away ? "; run it again when all servers of the cluster are there" : "");
}

static int check_tables(void *state)
{
	struct push_clickhouse *push = state;
	struct clickhouse_tables tables;
	int err = clickhouse_schema_check(push->server, &tables);

	if (err == -EPROTONOSUPPORT)
		tell_tables(push->server, &tables);
	return err;
}

static int init_tables(void *state)
{
	struct push_clickhouse *push = state;
	struct clickhouse_tables tables;
	int err = clickhouse_schema_init(push->server);

	if (err == -EEXIST) {
		err = clickhouse_schema_check(push->server, &tables);
		if (err)
			tell_tables(push->server, &tables);
		return err;
	}
	if (err == -EADDRINUSE)
		pr_err("%s has tables of a single server, which no cluster can take over: use another database\n",
		       clickhouse__name(push->server));
	else if (err)
		tell_failure(push->server);
	else
		printf("the tables of %s are there\n", clickhouse__name(push->server));
	return err;
}

/* ---- the server ---- */

static void free_server(void *state)
{
	struct push_clickhouse *push = state;

	if (!push)
		return;
	clickhouse__free(push->server);
	told_set_release(&push->told);
	free(push);
}

static int open_server(const char *url, void **state, char *why, size_t why_len)
{
	struct push_clickhouse *push = calloc(1, sizeof(*push));
	int err;

	(void)snprintf(why, why_len, "%s", errstr(ENOMEM));
	if (!push)
		return -ENOMEM;
	err = clickhouse__open(url, &push->server, why, why_len);
	if (err)
		free_server(push);
	else
		*state = push;
	return err;
}

static const char *name_of(const void *state)
{
	const struct push_clickhouse *push = state;

	return clickhouse__name(push->server);
}

static const struct remote_failure *failure_of(const void *state)
{
	const struct push_clickhouse *push = state;

	return clickhouse__failure(push->server);
}

static uint64_t sent_bytes_of(const void *state)
{
	const struct push_clickhouse *push = state;

	return clickhouse__sent_bytes(push->server);
}

const struct push_server_ops push_clickhouse_ops = {
	.open = open_server,
	.free = free_server,
	.name = name_of,
	.init = init_tables,
	.check = check_tables,
	.send = send_sum,
	.failure = failure_of,
	.sent_bytes = sent_bytes_of,
};
