/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks one segment: finds every intact record whatever is broken between them, and decodes the
 * texts that are wanted. What counts as intact and how damage is stepped over: FORMAT.md.
 *
 * The room of files of an hour or a day. In: a tree's descriptor and a file's name. Out: windows and damage,
 * to a visitor, borrowed for its call. Readers and writers are their openers'.
 */
#ifndef JBPF_SEGMENT_SEGMENT_READER_H
#define JBPF_SEGMENT_SEGMENT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/model/window.h"
#include "user/store/format/format.h"
#include "user/store/segment/segment_tree.h"

struct segment_reader;

/* Buffers and decoder, used for one file after the other. NULL only when memory is short. */
struct segment_reader *segment_reader__new(void);
void segment_reader__free(struct segment_reader *reader); /* NULL is fine */

/* Reported for a file that the disk fails to read: its rest may be intact. */
#define SEGMENT_UNREADABLE "input/output error"

struct segment_visitor {
	void *ctx;
	bool wants_lines;   /* window->lines is filled when there are any */
	bool wants_cells;   /* the same for window->cells */
	bool wants_threads; /* the same for window->threads */
	bool wants_ticks; /* the same for window->ticks, of windows that are not merged for the visitor */
	/*
	 * Everything is checked from the file's beginning to its end, every checksum included, also
	 * what nobody wants; otherwise the index of a merged file leads straight to what is wanted.
	 */
	bool checks_all;
	/* See struct store_visitor; only used by merged files. */
	uint64_t merge_ns;
	/*
	 * Only windows that overlap [since, until) are asked for; until 0 = no end. What overlaps is
	 * never merged with what is wholly inside.
	 */
	uint64_t since_unix_ns;
	uint64_t until_unix_ns;
	/*
	 * May a window with these labels be wanted? false: want() would always say so, too, and is not asked.
	 * Changes nothing. NULL = any may be; only used by merged files.
	 */
	bool (*may_want)(void *ctx, const struct window *window);
	/* NULL = nothing is decoded. */
	bool (*want)(void *ctx, const struct window *window);
	/* Non-zero ends the walk with it. */
	int (*window)(void *ctx, const struct window *window, const char *text, size_t len);
	/* `path` is NULL, or the file that a merged one was made from and where that was damaged. */
	void (*damage)(void *ctx, const char *path, uint64_t offset, uint64_t bytes,
		       const char *what);
};

/* Which file it is. Zero-initialise; end with segment_identity_release(). */
struct segment_identity {
	bool has_id; /* its header is intact */
	uint8_t segment_id[FORMAT_ID_BYTES];
	bool is_merged;
	bool has_ticks; /* of a merged one */
	/* Segments whose windows are all in this one; NULL when none, or not known for damage. */
	uint8_t (*source_ids)[FORMAT_ID_BYTES];
	size_t source_cnt;
};

#define __cleanup_segment_identity __attribute__((cleanup(segment_identity_release)))

void segment_identity_release(struct segment_identity *identity);

/* What a writer must know to go on. Valid only when `is_clean`. */
struct segment_end {
	/* Our version, not merged, header first, no damage, every checksum right. */
	bool is_clean;
	uint64_t bytes;
	uint8_t segment_id[FORMAT_ID_BYTES];
	uint64_t sequence; /* of the last record; 0 = only the header is there */
	/* These are always valid. */
	bool needs_newer;   /* a later jbpf wrote something that this one does not know */
	bool is_unreadable; /* the disk does not give all of it */
};

/* 0, what the visitor returned, or -errno of reading. `fd` is borrowed and its offset not used. */
__must_check int segment_reader__walk(struct segment_reader *reader, int fd,
				      const struct segment_visitor *visitor);

/* Reads only the file's beginning. 0 or -errno; a file that is not ours has no id. */
__must_check int segment_reader__identify(struct segment_reader *reader, int fd,
					  struct segment_identity *out);

/* The same for a file of the tree; one that is not there has no id. */
int segment_reader__identify_file(struct segment_reader *reader, int tree_fd,
				  const struct segment_file *file, struct segment_identity *out);

/* Are the windows of that segment in this one, too? */
bool segment_identity_has_taken_in(const struct segment_identity *identity,
				   const uint8_t *segment_id);

/* Checks everything in the file, decodes nothing. */
int segment_reader__verify(struct segment_reader *reader, int fd, struct segment_end *out);

#endif
