// SPDX-License-Identifier: Apache-2.0
/* See clickhouse.h: requests, and what their failures mean. */
#include "user/remote/clickhouse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/remote/http_client.h"
#include "user/remote/remote_secret.h"
#include "user/remote/remote_url.h"
#include "user/util/cleanup.h"
#include "user/util/gzip.h"
#include "user/util/log.h"

#define CREDENTIAL_NAME "clickhouse-password"

/* A Distributed table says 0 when it has written rows to its own disk, for later, unless it is told not to. */
#define INSERT_SETTINGS "&insert_distributed_sync=1"
/* ON CLUSTER waits for all servers, by itself longer than HTTP_STALL_TIMEOUT_MS: then nobody says who is missing. */
#define CLUSTER_SETTINGS "&distributed_ddl_task_timeout=60"

/*
 * A number stands in front of each row: what processes call themselves ("Code: 60, ...") begins none, so that
 * it cannot be taken for the server's message.
 */
#define SELECT		"SELECT "
#define ROW_MARK_COLUMN "1, "
#define ROW_MARK	"1\t"

struct clickhouse {
	struct remote_url url;
	struct http_client *http;
	struct strbuf base; /* "http://host:port/?database=..." */
	struct strbuf name;
	struct strbuf user_header;
	struct strbuf key_header;
	struct strbuf zipped;
	struct strbuf line; /* of rows: what came of the next one */
	struct http_answer answer;
	struct remote_failure failure;
	uint64_t sent_bytes;
	bool is_plain; /* answers come as they are: the user may not ask for packed ones */
};

/* ---- opening ---- */

static int prepare(struct clickhouse *server, char *why, size_t why_len)
{
	const struct http_options options = {
		.connect_timeout_ms = HTTP_CONNECT_TIMEOUT_MS,
		.stall_timeout_ms = HTTP_STALL_TIMEOUT_MS,
		.ca_file = server->url.ca_file,
	};
	const struct remote_url *url = &server->url;
	__cleanup_strbuf struct strbuf password = STRBUF_INIT;
	int err = remote_secret_find(url->password_file, CREDENTIAL_NAME, &password, why, why_len);

	if (err)
		return err;
	strbuf_printf(&server->base, "%s://%s:%u/?database=%s", url->is_tls ? "https" : "http",
		      url->host, url->port, url->database);
	strbuf_printf(&server->name, "%s@%s:%u/%s", url->user, url->host, url->port, url->database);
	strbuf_printf(&server->user_header, "X-ClickHouse-User: %s", url->user);
	/* A header without a value is none for libcurl, and a user without password needs none. */
	strbuf_printf(&server->key_header, password.len ? "X-ClickHouse-Key: %s" : "Accept: */*%s",
		      strbuf_str(&password));
	if (strbuf_error(&server->base) || strbuf_error(&server->name) ||
	    strbuf_error(&server->user_header) || strbuf_error(&server->key_header))
		return -ENOMEM;
	return http_client__open(&options, &server->http, why, why_len);
}

int clickhouse__open(const char *url, struct clickhouse **out, char *why, size_t why_len)
{
	struct clickhouse *server = calloc(1, sizeof(*server));
	int err;

	(void)snprintf(why, why_len, "%s", errstr(ENOMEM));
	if (!server)
		return -ENOMEM;
	err = remote_url_parse(url, &server->url, why, why_len);
	if (!err)
		err = prepare(server, why, why_len);
	if (err) {
		clickhouse__free(server);
		return err;
	}
	*out = server;
	return 0;
}

void clickhouse__free(struct clickhouse *server)
{
	if (!server)
		return;
	http_client__free(server->http);
	remote_url_release(&server->url);
	strbuf_release(&server->base);
	strbuf_release(&server->name);
	strbuf_release(&server->user_header);
	strbuf_release(&server->key_header);
	strbuf_release(&server->zipped);
	strbuf_release(&server->line);
	free(server);
}

const char *clickhouse__name(const struct clickhouse *server)
{
	return strbuf_str(&server->name);
}

const char *clickhouse__database(const struct clickhouse *server)
{
	return server->url.database;
}

const char *clickhouse__cluster(const struct clickhouse *server)
{
	return server->url.cluster;
}

const struct remote_failure *clickhouse__failure(const struct clickhouse *server)
{
	return &server->failure;
}

uint64_t clickhouse__sent_bytes(const struct clickhouse *server)
{
	return server->sent_bytes;
}

/* ---- what a failure means ---- */

#define CODE_READONLY 164

enum error_kind {
	ERROR_OTHER = 0, /* the number does not say */
	ERROR_PASSING,
	ERROR_RIGHTS,
	ERROR_MISSING, /* what jbpf push --init makes */
	ERROR_NO_CLUSTER,
	/* A server behind the one that answers, or their ZooKeeper: rows are not to blame, and may be there. */
	ERROR_OF_CLUSTER,
};

static enum error_kind error_kind(uint32_t code)
{
	/* Numbers of dbms/src/Common/ErrorCodes.cpp. */
	static const struct {
		uint32_t code;
		enum error_kind kind;
	} errors[] = {
		{ 16, ERROR_MISSING },					    /* no such column */
		{ 32, ERROR_OF_CLUSTER },				    /* cut short */
		{ 47, ERROR_MISSING },					    /* unknown identifier */
		{ 60, ERROR_MISSING },					    /* unknown table */
		{ 81, ERROR_MISSING },					    /* unknown database */
		{ 159, ERROR_PASSING },					    /* timeout */
		{ 160, ERROR_PASSING },					    /* too slow */
		{ CODE_READONLY, ERROR_RIGHTS }, { 170, ERROR_NO_CLUSTER }, /* no such cluster */
		{ 192, ERROR_RIGHTS },					    /* unknown user */
		{ 193, ERROR_RIGHTS },					    /* wrong password */
		{ 194, ERROR_RIGHTS },					    /* password required */
		{ 195, ERROR_RIGHTS },	   /* address not allowed */
		{ 198, ERROR_OF_CLUSTER }, /* DNS */
		{ 201, ERROR_PASSING },	   /* quota */
		{ 202, ERROR_PASSING },	   /* too many queries */
		{ 203, ERROR_OF_CLUSTER }, /* no free connection */
		{ 209, ERROR_OF_CLUSTER }, /* socket timeout */
		{ 210, ERROR_OF_CLUSTER }, /* network */
		{ 225, ERROR_OF_CLUSTER }, /* no ZooKeeper */
		{ 241, ERROR_PASSING },	   /* memory limit */
		{ 242, ERROR_OF_CLUSTER }, /* table is read-only */
		{ 252, ERROR_PASSING },	   /* too many parts */
		{ 254, ERROR_OF_CLUSTER }, /* no active replicas */
		{ 279, ERROR_OF_CLUSTER }, /* a shard is away */
		{ 285, ERROR_OF_CLUSTER }, /* too few replicas */
		{ 286, ERROR_OF_CLUSTER }, /* quorum for the insert before */
		{ 289, ERROR_OF_CLUSTER }, /* replica is not in the quorum */
		{ 291, ERROR_RIGHTS },	   /* database denied */
		{ 319, ERROR_OF_CLUSTER }, /* unknown whether inserted */
		{ 369, ERROR_OF_CLUSTER }, /* replicas are stale */
		{ 497, ERROR_RIGHTS },	   /* not enough privileges */
		{ 516, ERROR_RIGHTS },	   /* authentication failed */
		{ 999, ERROR_OF_CLUSTER }, /* keeper */
	};

	for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
		if (code == errors[i].code)
			return errors[i].kind;
	return ERROR_OTHER;
}

static enum remote_fault fault_of_kind(enum error_kind kind)
{
	if (kind == ERROR_OTHER)
		return REMOTE_FAULT_NONE;
	return kind == ERROR_PASSING || kind == ERROR_OF_CLUSTER ? REMOTE_FAULT_PASSING :
								   REMOTE_FAULT_PERSON;
}

static enum remote_fault fault_of_status(long status)
{
	if (status == 401 || status == 403)
		return REMOTE_FAULT_PERSON;
	if (status == 413)
		return REMOTE_FAULT_TOO_LARGE;
	return status == 429 || status >= 500 ? REMOTE_FAULT_PASSING : REMOTE_FAULT_BAD;
}

/* What a person can do about it. */
static const char *advice(enum remote_fault fault, enum error_kind kind)
{
	if (kind == ERROR_OF_CLUSTER)
		return "; a server of its cluster or their ZooKeeper is away: see system.clusters and "
		       "system.replicas there";
	if (fault != REMOTE_FAULT_PERSON)
		return "";
	if (kind == ERROR_NO_CLUSTER)
		return "; see cluster= and remote_servers in the configuration of its servers";
	return kind == ERROR_MISSING ?
		       "; see the database's name, and make its tables with jbpf push --init" :
		       "; see user, password_file and the rights of that user";
}

/* `text`: what the server said. -EIO. */
static int fail_said(struct clickhouse *server, long status, const char *text)
{
	struct remote_failure *failure = &server->failure;
	uint32_t code = clickhouse_error_code(text);
	enum error_kind kind = error_kind(code);
	char said[272];

	clickhouse_error_words(text, said, sizeof(said));
	failure->fault = fault_of_kind(kind);
	failure->retry_after_s = server->answer.retry_after_s;
	/* 18.16 answers 500 to whatever it does not know better: a wrong query is one. */
	if (!failure->fault && code && status != 413 && status != 429)
		failure->fault = REMOTE_FAULT_BAD;
	if (!failure->fault)
		failure->fault = fault_of_status(status);
	(void)snprintf(failure->words, sizeof(failure->words), "%.100s: %s (%s %ld)%s",
		       clickhouse__name(server), *said ? said : "the server refuses",
		       code ? "code" : "HTTP status", code ? (long)code : status,
		       advice(failure->fault, kind));
	return -EIO;
}

/* -EIO. */
static int fail(struct clickhouse *server, enum remote_fault fault, const char *words)
{
	server->failure = (struct remote_failure){ .fault = fault };
	(void)snprintf(server->failure.words, sizeof(server->failure.words), "%.100s: %s",
		       clickhouse__name(server), words);
	return -EIO;
}

/* Memory is short here, or the receiver of rows said so. `err`. */
static int fail_here(struct clickhouse *server, int err)
{
	(void)fail(server, REMOTE_FAULT_PASSING, errstr(err));
	return err;
}

/* ---- requests ---- */

static int post(struct clickhouse *server, struct http_request *request, const char *encoding)
{
	const char *headers[] = { server->user_header.data, server->key_header.data,
				  "Content-Type: application/octet-stream", encoding, NULL };
	int err;

	request->headers = headers;
	err = http_client__post(server->http, request, &server->answer);
	server->sent_bytes += request->body_len;
	if (server->answer.status && server->answer.status != 200)
		return fail_said(server, server->answer.status, server->answer.text);
	if (err == -ENOMEM)
		return fail_here(server, err);
	/* Those of http_client.h are told; others are the receiver's own. */
	if (err && *server->answer.why)
		return fail(server, REMOTE_FAULT_PASSING, server->answer.why);
	return err;
}

struct rows {
	struct clickhouse *server;
	size_t field_cnt;
	int (*row)(void *ctx, const struct clickhouse_field *fields);
	void *ctx;
	bool has_failed; /* the server's failure is told */
};

static bool is_row(const char *line, size_t len)
{
	return len >= strlen(ROW_MARK) && memcmp(line, ROW_MARK, strlen(ROW_MARK)) == 0;
}

/*
 * One line without its newline. The server cannot take back the status 200 when it fails later: it
 * writes its message where the next row would be.
 */
static int take_line(struct rows *rows, char *line, size_t len)
{
	struct clickhouse_field fields[CLICKHOUSE_FIELDS_MAX];
	size_t skip = strlen(ROW_MARK);

	if (!is_row(line, len) && clickhouse_error_code(line)) {
		rows->has_failed = true;
		return fail_said(rows->server, 200, line);
	}
	if (!is_row(line, len) ||
	    clickhouse_split_row(line + skip, len - skip, fields, rows->field_cnt)) {
		rows->has_failed = true;
		return fail(rows->server, REMOTE_FAULT_BAD,
			    "the answer has a row that is none; is it a ClickHouse server?");
	}
	return rows->row(rows->ctx, fields);
}

static int take_bytes(void *ctx, const void *bytes, size_t len)
{
	struct rows *rows = ctx;
	struct strbuf *line = &rows->server->line;
	const char *at = bytes, *end = at + len;
	int err = 0;

	while (!err && at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t part = (size_t)((newline ? newline : end) - at);

		if (line->len + part > CLICKHOUSE_ROW_MAX_BYTES)
			return -E2BIG;
		strbuf_append(line, at, part);
		at += part + (newline != NULL);
		err = strbuf_error(line);
		if (err || !newline)
			break;
		/* An empty row is one empty field. */
		err = take_line(rows, line->data ? line->data : (char[]){ 0 }, line->len);
		strbuf_clear(line);
	}
	return err;
}

int clickhouse__query(struct clickhouse *server, const char *sql, size_t field_cnt,
		      int (*row)(void *ctx, const struct clickhouse_field *fields), void *ctx)
{
	struct rows rows = { .server = server, .field_cnt = field_cnt, .row = row, .ctx = ctx };
	__cleanup_strbuf struct strbuf query = STRBUF_INIT, url = STRBUF_INIT;
	struct http_request request = { .receive = take_bytes, .ctx = &rows };
	int err;

	strbuf_printf(&query, SELECT ROW_MARK_COLUMN "%s FORMAT TabSeparated",
		      sql + strlen(SELECT));
	strbuf_printf(&url, "%s%s", server->base.data,
		      server->is_plain ? "" : "&enable_http_compression=1");
	if (strbuf_error(&query) || strbuf_error(&url) || field_cnt > CLICKHOUSE_FIELDS_MAX)
		return fail_here(server, -ENOMEM);
	request.url = url.data;
	request.body = query.data;
	request.body_len = query.len;
	strbuf_clear(&server->line);
	err = post(server, &request, NULL);
	/* A user with readonly=1 may set nothing, not even this. No row has come yet. */
	if (err && !server->is_plain && server->answer.status && server->answer.status != 200 &&
	    clickhouse_error_code(server->answer.text) == CODE_READONLY) {
		server->is_plain = true;
		return clickhouse__query(server, sql, field_cnt, row, ctx);
	}
	if (!err && !is_row(strbuf_str(&server->line), server->line.len) &&
	    clickhouse_error_code(strbuf_str(&server->line)))
		return fail_said(server, 200, server->line.data);
	if (!err && server->line.len)
		return fail(server, REMOTE_FAULT_PASSING, "the answer ends in the middle of a row");
	if (err && !rows.has_failed && err != -EIO && err != -ENOMEM)
		return fail_here(server, err);
	return err;
}

int clickhouse__command(struct clickhouse *server, const char *sql)
{
	__cleanup_strbuf struct strbuf url = STRBUF_INIT;
	struct http_request request = { .body = sql, .body_len = strlen(sql) };

	strbuf_printf(&url, "%s%s", server->base.data, server->url.cluster ? CLUSTER_SETTINGS : "");
	if (strbuf_error(&url))
		return fail_here(server, -ENOMEM);
	request.url = url.data;
	return post(server, &request, NULL);
}

int clickhouse__insert(struct clickhouse *server, const char *into, const void *bytes, size_t len)
{
	__cleanup_strbuf struct strbuf query = STRBUF_INIT, url = STRBUF_INIT;
	struct http_request request = { 0 };

	strbuf_add(&url, &server->base);
	strbuf_puts(&url, INSERT_SETTINGS "&query=");
	strbuf_printf(&query, "INSERT INTO %s FORMAT RowBinary", into);
	strbuf_put_encoded(&url, strbuf_str(&query), "_.-");
	strbuf_clear(&server->zipped);
	if (strbuf_error(&query) || strbuf_error(&url) ||
	    gzip_append(&server->zipped, bytes, len, GZIP_FASTEST))
		return fail_here(server, -ENOMEM);
	request.url = url.data;
	request.body = server->zipped.data;
	request.body_len = server->zipped.len;
	return post(server, &request, "Content-Encoding: gzip");
}
