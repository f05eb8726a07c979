/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serves metrics to Prometheus over HTTP: GET /metrics (text format 0.0.4), /healthz and /livez. A
 * child process without capabilities, files or network of its own answers; it has the listening
 * socket and reads a page of memory (page.h). The daemon itself never reads a byte of a request.
 *
 * In: a page of text after each window. Out: answers, from the child. The daemon owns the server.
 */
#ifndef JBPF_SERVE_SERVER_H
#define JBPF_SERVE_SERVER_H

#include <stddef.h>
#include <stdint.h>

#include "user/serve/page.h"
#include "user/util/attributes.h"
#include "user/util/strbuf.h"

struct metrics_server;

/*
 * Listens on `address` (see address.h) and starts the child: to be called early, as the child
 * begins with the memory and the rights that the daemon has then. 0, or -errno and a line in `why`.
 */
__must_check int metrics_server__open(const char *address, struct metrics_server **out, char *why,
				      size_t why_len);
/* Ends the child and removes the Unix socket where that is still allowed. NULL is fine. */
void metrics_server__free(struct metrics_server *server);

/* The text that is served from now on. 0 or -E2BIG. */
__must_check int metrics_server__publish(struct metrics_server *server, const struct strbuf *text);

/*
 * What the next two do may be done by one thread, and the rest by another.
 *
 * /healthz answers 200 until that time while naming goes on, /livez also while it is dead and a restart
 * would not mend that; else 503.
 */
void metrics_server__beat(struct metrics_server *server, const struct serve_beat *beat);
/* Starts a child that has died again, at most once in five seconds. To be called after each window. */
void metrics_server__tick(struct metrics_server *server, uint64_t now_boot_ns);

/* How often a child was started because another had died. */
uint64_t metrics_server__restarts(const struct metrics_server *server);

#endif
