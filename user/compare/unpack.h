/* SPDX-License-Identifier: Apache-2.0 */
/* Files that may be packed, as gzip (RFC 1952) or zstd (RFC 8878) write them, in memory. */
#ifndef JBPF_COMPARE_UNPACK_H
#define JBPF_COMPARE_UNPACK_H

#include <stddef.h>

#include "user/util/attributes.h"
#include "user/util/strbuf.h"

/*
 * The bytes of a packed file become those of the file that was packed, by what they begin with;
 * others stay as they are. Several packed files in a row are one. 0; -EFBIG when they are more than
 * max_bytes; -EBADMSG when they are damaged or end too early; -ENOMEM. After an error they are as
 * they were.
 */
__must_check int unpack(struct strbuf *bytes, size_t max_bytes);

#endif
