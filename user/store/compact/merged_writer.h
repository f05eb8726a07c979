/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a merged segment ("layout B" of FORMAT.md): units of one text, in which every stack stands
 * once, and small rows that say how often each window saw which line of it. A unit is one busy
 * stream, or many small ones together. Memory use is bounded by one unit. The result is an
 * ordinary segment to segment_reader.h and to zstdcat.
 */
#ifndef JBPF_COMPACT_MERGED_WRITER_H
#define JBPF_COMPACT_MERGED_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/model/window.h"
#include "user/store/format/format.h"

struct merged_writer;

struct merged_options {
	/* Windows of one stream and labels that begin in one slot become one row; 0 = none do. */
	uint64_t row_ns;
	int compression_level; /* zstd; 0 = 9 */
	bool keeps_ticks;      /* else none are written */
};

/* The code of a window's ticks is this long at most. */
#define MERGED_TICKS_MAX_BYTES (FORMAT_LINES_MAX_BYTES / 4)

/* Writes the header and the sources to `fd`, which is empty and borrowed. 0 or -errno. */
__must_check int merged_writer__open(int fd, const struct merged_options *options,
				     const uint8_t (*source_ids)[FORMAT_ID_BYTES],
				     size_t source_cnt, struct merged_writer **out);
void merged_writer__free(struct merged_writer *writer); /* NULL is fine */

/*
 * A stretch of a source that could not be carried over: kept as a note, reported by readers as
 * damage of `path`. 0 or -errno.
 */
__must_check int merged_writer__note_damage(struct merged_writer *writer, const char *path,
					    uint64_t offset, uint64_t bytes, const char *what);

/*
 * Adds a window (or host record: pid 0) with its lines and cells to the present unit; any order of
 * streams and times. A window that is a merged one already (window_cnt) may be added, too. Ticks are
 * those of lines in the order of line_set.h, each once. 0,
 * -EINVAL as store_writer__add(), -E2BIG: the unit is full, end it first and add the window again
 * (never from an empty unit); or -ENOMEM. Nothing is added when it fails.
 */
__must_check int merged_writer__add(struct merged_writer *writer, const struct window *window,
				    const char *text, size_t len);
/* Distinct text in the present unit, stacks and source lines: what batches are bounded by. */
size_t merged_writer__unit_bytes(const struct merged_writer *writer);
/* Writes the unit; an empty one is none. 0 or -errno. */
__must_check int merged_writer__end_unit(struct merged_writer *writer);

/* Ends the last unit, writes index and seek table. The caller syncs and renames. 0 or -errno. */
__must_check int merged_writer__finish(struct merged_writer *writer);

#endif
