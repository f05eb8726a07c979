/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text perf maps ("START SIZE NAME", reference: Linux tools/perf/Documentation/jit-interface.txt)
 * as written by HotSpot, V8, .NET, CPython and others: parse, look up. Foreign, hostile text.
 *
 * A perfmap is an immutable, sorted table of ranges that do not overlap. Later lines win over
 * earlier ones where they overlap; size 0 reaches to the next start. Names are kept raw.
 *
 * In: a descriptor of a map. Out: a table that the caller owns.
 */
#ifndef JBPF_PERFMAP_PERFMAP_H
#define JBPF_PERFMAP_PERFMAP_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"

#define PERFMAP_MAX_BYTES	(256u << 20) /* of text; what lies behind is not read, and counted */
#define PERFMAP_MAX_ENTRIES	2000000u
#define PERFMAP_MAX_TABLE_BYTES (64u << 20) /* what is kept: ranges and names */

struct perfmap;

struct perfmap_symbol {
	uint64_t start;
	uint64_t end;	  /* exclusive */
	const char *name; /* not NUL-terminated, holds none; lives as long as the perfmap */
	size_t name_len;  /* not 0 */
};

struct perfmap_stats {
	size_t line_cnt;     /* complete lines read */
	size_t rejected_cnt; /* of these, without a valid address, size or name */
	size_t entry_cnt;    /* ranges after overlaps were settled */
	size_t text_bytes;
};

/*
 * Parses `text`; a last line without newline is dropped (the writer is still at it). The text is
 * copied as far as needed. 0, -ENOMEM, -E2BIG past PERFMAP_MAX_ENTRIES or
 * PERFMAP_MAX_TABLE_BYTES. Garbage is no error: it is
 * counted in stats and gives fewer entries.
 */
__must_check int perfmap__parse(const char *text, size_t len, struct perfmap **out,
				struct perfmap_stats *stats);
/*
 * The same for the rest of a file of about `size` bytes. Also -EFBIG past PERFMAP_MAX_BYTES, -EIO
 * when it cannot be read.
 */
__must_check int perfmap_read(int fd, uint64_t size, struct perfmap **out,
			      struct perfmap_stats *stats);
void perfmap__free(struct perfmap *map); /* NULL is fine */

/* 0 and *out, or -ENOENT. */
__must_check int perfmap__lookup(const struct perfmap *map, uint64_t address,
				 struct perfmap_symbol *out);

/* All ranges in ascending order; a return value other than 0 of `fn` ends it and is returned. */
typedef int (*perfmap_fn)(void *ctx, const struct perfmap_symbol *symbol);
int perfmap__each(const struct perfmap *map, perfmap_fn fn, void *ctx);
size_t perfmap__bytes(const struct perfmap *map);

#endif
