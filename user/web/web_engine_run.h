/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that reaches the engine for jbpf web --from. It is forked before the server gives up its
 * rights, reads the password, keeps one port and no file of its user, and forks a child for each
 * question that the server hands over. The server is not trusted: a question is put together
 * from its parameters again, so that it can be none but those of the page, and asks no other engine.
 */
#ifndef JBPF_WEB_WEB_ENGINE_RUN_H
#define JBPF_WEB_WEB_ENGINE_RUN_H

#include <stddef.h>

#include "user/util/attributes.h"
#include "user/util/strbuf.h"
#include "user/web/web_child.h"
#include "user/web/web_query.h"

#define WEB_ENGINE_FDS 3 /* of a question: its answer, its errors, a pipe for its wait status */

struct web_engine_options {
	const char *url; /* of remote_url.h */
	const struct web_programs *programs;
};

/* Writes a question as it travels. */
void web_engine_put_question(const struct web_query *query, struct strbuf *out);
/* As web_query_begin(), then its parameters. 0, -EBADMSG: it is none, or -ENOMEM: `query` is empty. */
__must_check int web_engine_take_question(const void *bytes, size_t len,
					  const struct web_source *source, struct web_query *query);

/* A child_main_fn; `ctx` is a struct web_engine_options. Says by a byte that it is ready. */
int web_engine_run(int socket_fd, const void *ctx);

#endif
