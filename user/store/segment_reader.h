/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks one segment: finds every intact record whatever is broken between them, and decodes the
 * texts that are wanted. What counts as intact and how damage is stepped over: FORMAT.md.
 */
#ifndef JBPF_STORE_SEGMENT_READER_H
#define JBPF_STORE_SEGMENT_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/window.h"
#include "user/store/format.h"

struct segment_reader;

/* Buffers and decoder, used for one file after the other. NULL only when memory is short. */
struct segment_reader *segment_reader__new(void);
void segment_reader__free(struct segment_reader *reader); /* NULL is fine */

struct segment_visitor {
	void *ctx;
	bool wants_lines; /* window->lines is filled when there are any */
	/* NULL = nothing is decoded. */
	bool (*want)(void *ctx, const struct window *window);
	/* Non-zero ends the walk with it. */
	int (*window)(void *ctx, const struct window *window, const char *text, size_t len);
	void (*damage)(void *ctx, uint64_t offset, uint64_t bytes, const char *what);
};

/* What a writer must know to go on. Valid only when `is_clean`. */
struct segment_end {
	bool is_clean; /* our version, header first, no damage, every checksum right */
	uint64_t bytes;
	uint8_t segment_id[FORMAT_ID_BYTES];
	uint64_t sequence; /* of the last record; 0 = only the header is there */
};

/* 0, what the visitor returned, or -errno of reading. `fd` is borrowed and its offset not used. */
int segment_reader__walk(struct segment_reader *reader, int fd,
			 const struct segment_visitor *visitor);

/* Checks everything in the file, decodes nothing. */
int segment_reader__verify(struct segment_reader *reader, int fd, struct segment_end *out);

#endif
