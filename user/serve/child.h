/* SPDX-License-Identifier: Apache-2.0 */
/* Life of the process that serves metrics, from the fork to its end. */
#ifndef JBPF_SERVE_CHILD_H
#define JBPF_SERVE_CHILD_H

#include <stdbool.h>

#include "user/util/attributes.h"

struct http_library;

struct serve_child {
	const struct http_library *library;
	int listen_fd;
	int page_fd;
	bool is_unix;
};

/* For child_process_start(), with a struct serve_child. Never returns 0: serves until something fails, then -errno. */
__must_check int serve_child_main(int none, const void *ctx);

#endif
