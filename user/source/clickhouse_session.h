/* SPDX-License-Identifier: Apache-2.0 */
/* A server and why it could not be read. In: a question. Out: rows, one call each; and words for users. */
#ifndef JBPF_SOURCE_CLICKHOUSE_SESSION_H
#define JBPF_SOURCE_CLICKHOUSE_SESSION_H

#include <stddef.h>

#include "user/remote/clickhouse.h"
#include "user/util/attributes.h"
#include "user/util/strbuf.h"

struct clickhouse_session {
	struct clickhouse *server;
	char failure[640]; /* of what was read last; "" = none */
};

/* Keeps the words and returns `err`. */
int clickhouse_session_fail(struct clickhouse_session *session, int err, const char *format, ...)
	__printf_like(3, 4);

/* As clickhouse__query(); why it failed is in `failure`, unless row() said better. */
__must_check int
clickhouse_session_query(struct clickhouse_session *session, const struct strbuf *sql,
			 size_t field_cnt,
			 int (*row)(void *ctx, const struct clickhouse_field *fields), void *ctx);

#endif
