/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes packed as a gzip file (RFC 1952), in memory. */
#ifndef JBPF_UTIL_GZIP_H
#define JBPF_UTIL_GZIP_H

#include <stddef.h>

#include "user/util/attributes.h"
#include "user/util/strbuf.h"

#define GZIP_FASTEST 1 /* most of what there is to gain, at a fifth of the CPU time */
#define GZIP_USUAL   6

/* Appends the file to `out`; its time is 0, so equal bytes are equal files. 0, -ENOMEM or the buffer's error; nothing is
 * appended then. */
__must_check int gzip_append(struct strbuf *out, const void *bytes, size_t len, int level);

#endif
