/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ClickHouse as a client sees it, over HTTP: queries whose rows come one by one, inserts of prepared
 * bytes. What is used works from 18.16 (Debian's) on. The password comes from the URL's password_file,
 * or from the file clickhouse-password of systemd's credentials ($CREDENTIALS_DIRECTORY), never from an
 * argument.
 *
 * In: a URL of remote_url.h, SQL. Out: rows, borrowed for a call. Not for two threads at once.
 */
#ifndef JBPF_REMOTE_CLICKHOUSE_H
#define JBPF_REMOTE_CLICKHOUSE_H

#include <stddef.h>
#include <stdint.h>

#include "user/remote/clickhouse_text.h"
#include "user/remote/remote_failure.h"
#include "user/util/attributes.h"

#define CLICKHOUSE_FIELDS_MAX	 128
#define CLICKHOUSE_ROW_MAX_BYTES (64u * 1024 * 1024)

struct clickhouse;

/* Parses, reads the password, connects to nothing yet. 0, or -errno with one line in `why`. */
__must_check int clickhouse__open(const char *url, struct clickhouse **out, char *why,
				  size_t why_len);
void clickhouse__free(struct clickhouse *server); /* NULL is fine */

/* "user@host:port/database", for messages; valid as long as the server. */
const char *clickhouse__name(const struct clickhouse *server);
/* Of its URL; valid as long as the server. Nothing in them is to be escaped in SQL. */
const char *clickhouse__database(const struct clickhouse *server);
const char *clickhouse__cluster(const struct clickhouse *server); /* NULL = none is given */

/*
 * Rows of a query that begins with "SELECT " and has no FORMAT, `field_cnt` (at most CLICKHOUSE_FIELDS_MAX)
 * fields each. Non-zero of row() ends it with that. An answer that is not whole is an error, also when rows
 * came: -EIO, or what row() said, or -ENOMEM; clickhouse__failure() says more.
 */
__must_check int clickhouse__query(struct clickhouse *server, const char *sql, size_t field_cnt,
				   int (*row)(void *ctx, const struct clickhouse_field *fields),
				   void *ctx);
/* A statement without rows; what it says of a cluster's servers is waited for. 0, -EIO or -ENOMEM. */
__must_check int clickhouse__command(struct clickhouse *server, const char *sql);
/*
 * INSERT with its data: `into` is "jbpf_samples (service, ...)", the bytes are RowBinary; they travel
 * compressed. 0: the server has them, of a Distributed table a server of each shard; -EIO or -ENOMEM: it may have them or not.
 */
__must_check int clickhouse__insert(struct clickhouse *server, const char *into, const void *bytes,
				    size_t len);

/* Of the last call that failed. */
const struct remote_failure *clickhouse__failure(const struct clickhouse *server);
/* Bytes sent in bodies so far, as they travelled. */
uint64_t clickhouse__sent_bytes(const struct clickhouse *server);

#endif
