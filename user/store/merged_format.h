/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records that only merged segments have: which segments one replaces, what of them was damaged,
 * the head of a unit's rows, the index of the units, and the seek table that other tools read.
 * Pure: bytes in, values out. FORMAT.md describes them byte by byte.
 */
#ifndef JBPF_STORE_MERGED_FORMAT_H
#define JBPF_STORE_MERGED_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "user/store/format.h"
#include "user/util/strbuf.h"

/* Of a whole rows or index record, and of what is compressed in it. */
#define MERGED_RECORD_MAX_BYTES (128u << 20)
#define MERGED_BODY_MAX_BYTES	(256u << 20)
#define MERGED_SOURCES_MAX	3072  /* segments that one replaces: the record is a small one */
#define MERGED_ROWS_MAX		65536 /* rows of a unit, and series */
#define MERGED_LINES_MAX	(8u << 20) /* lines of a unit's text, each */

/* ---- sources ---- */

/* Appends a whole sources record. 0, -E2BIG, or -ENOMEM. */
int merged_encode_sources(const uint8_t (*ids)[FORMAT_ID_BYTES], size_t cnt, struct strbuf *out);
/* Ids borrow from the record. 0 or -EINVAL. */
int merged_decode_sources(const struct format_record *record,
			  const uint8_t (**ids)[FORMAT_ID_BYTES], size_t *cnt_out);

#endif
