/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far a store has been sent to a server: a small file, replaced by rename. It may be older than the
 * truth: what is sent again is the same rows.
 */
#ifndef JBPF_PUSH_PUSH_CURSOR_H
#define JBPF_PUSH_PUSH_CURSOR_H

#include <stdint.h>

#include "user/util/attributes.h"
#include "user/util/strbuf.h"

/* The file's path: its name is of the server and the store. 0 or -ENOMEM. */
__must_check int push_cursor_path(const char *dir, const char *server, const char *store,
				  struct strbuf *out);
/* Unix ns of the first minute that is to be sent; 0: there is none yet. -EBADMSG: it is no such file; -errno. */
__must_check int push_cursor_read(const char *path, uint64_t *unix_ns_out);
/* 0 or -errno. */
__must_check int push_cursor_write(const char *path, uint64_t unix_ns);

#endif
