/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a perf map: "START SIZE name", hexadecimal, one line per range of code, as perf reads
 * it. Names come from hostile processes: bytes that could end or garble a line are replaced. Pure.
 */
#ifndef JBPF_OUTPUT_MAP_TEXT_H
#define JBPF_OUTPUT_MAP_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/util/strbuf.h"

#define MAP_TEXT_MAX_ENTRIES (4u << 20)
#define MAP_TEXT_MAX_BYTES   (256u << 20) /* of names */

struct map_text_entry {
	uint64_t start;
	uint64_t len;
	size_t name_at; /* into `names` */
};

/* Zero-initialise; end with map_text_release(). */
struct map_text {
	struct map_text_entry *entries;
	size_t cnt;
	size_t cap;
	struct strbuf names; /* NUL-terminated, one behind the other */
};

/*
 * Adds a range; a range that perf could not read (no name, no length, past the end of the address
 * space) is left out. 0, -ENOMEM, or -E2BIG when there is more than any JVM's code.
 */
__must_check int map_text_add(struct map_text *map, uint64_t start, uint64_t len, const char *name);

/* Appends the lines, sorted by address. 0 or -ENOMEM. */
__must_check int map_text_render(struct map_text *map, struct strbuf *out);

void map_text_release(struct map_text *map);

#endif
