/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP side of the metrics, in the child: a few connections at a time, small requests, one
 * answer each, and a limit on how long any of that may take.
 */
#ifndef JBPF_SERVE_HTTP_H
#define JBPF_SERVE_HTTP_H

#include <stdbool.h>

#include "user/util/attributes.h"
#include "user/serve/http_library.h"
#include "user/serve/page.h"

#define HTTP_CONNECTIONS_MAX 64		 /* one more puts out the oldest: see connections.h */
#define HTTP_REQUEST_BYTES   (16 * 1024) /* per connection: for the request and the answer */
#define HTTP_IDLE_S	     3
#define HTTP_CONNECTION_S    5 /* from its begin to its end */

struct http;

/*
 * Takes over `listen_fd`; borrows `library` and `view` until the end. `is_unix`: the Host header is
 * ignored. 0 or -errno.
 */
__must_check int http__open(const struct http_library *library, int listen_fd, bool is_unix,
			    const struct serve_page_view *view, struct http **out);
void http__free(struct http *http); /* NULL is fine */

/* Answers requests for about half a second. 0 or -errno. */
__must_check int http__run(struct http *http);

#endif
