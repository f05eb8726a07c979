// SPDX-License-Identifier: Apache-2.0
/* See clickhouse_session.h. */
#include "user/source/clickhouse_session.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int clickhouse_session_fail(struct clickhouse_session *session, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(session->failure, sizeof(session->failure), format, args);
	va_end(args);
	return err;
}

int clickhouse_session_query(struct clickhouse_session *session, const struct strbuf *sql,
			     size_t field_cnt,
			     int (*row)(void *ctx, const struct clickhouse_field *fields),
			     void *ctx)
{
	int err = strbuf_error(sql);

	if (!err)
		err = clickhouse__query(session->server, sql->data, field_cnt, row, ctx);
	if (err == -EBADMSG)
		return clickhouse_session_fail(session, -EIO, "%s: a row that jbpf did not write",
					       clickhouse__name(session->server));
	if (err < 0 && err != -ENOMEM && !session->failure[0])
		return clickhouse_session_fail(session, -EIO, "%s",
					       clickhouse__failure(session->server)->words);
	return err;
}
