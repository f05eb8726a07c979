/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process of jbpf web --from that reaches the engine, as the server sees it. The server itself
 * has neither network nor password: it hands questions over, with the files for their answers, and
 * is told how their processes ended.
 *
 * One thread's. `jbpf web` owns it.
 */
#ifndef JBPF_WEB_WEB_ENGINE_H
#define JBPF_WEB_WEB_ENGINE_H

#include <stdbool.h>

#include "user/util/attributes.h"
#include "user/web/web_child.h"
#include "user/web/web_query.h"

struct web_engine;

/*
 * Forks it, while this process has its rights yet, and waits until it has asked the engine for the first
 * time. Borrows all. 0 or -errno; where the engine does not answer as it should, that is told.
 */
__must_check int web_engine__start(const char *url, const struct web_programs *programs,
				   struct web_engine **out);
/* Ends it and what it runs. NULL is fine. */
void web_engine__free(struct web_engine *engine);

/* Readable: it has ended. */
int web_engine__fd(const struct web_engine *engine);

/*
 * Has the question answered to these files, which stay the caller's. *status_fd_out is the caller's:
 * closing it ends the question's process. 0 or -errno.
 */
__must_check int web_engine__ask(const struct web_engine *engine, const struct web_query *query,
				 int out_fd, int err_fd, int *status_fd_out);
/* Then *status_out is the wait status of the question's process; -1: there is none. */
bool web_engine_has_ended(int status_fd, int *status_out);

#endif
