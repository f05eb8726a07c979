/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which source lines the CPU was in: samples by leaf method, file and line, beside the stacks,
 * which keep methods only. As text one row is two folded frames, so that windows merge as stacks
 * do: "shop.Cart.add_[j];Cart.java:42 17". No I/O.
 */
#ifndef JBPF_MODEL_SOURCE_LINES_H
#define JBPF_MODEL_SOURCE_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/model/frame_kind.h"
#include "user/util/strbuf.h"

#define SOURCE_LINES_TEXT_ROWS	     4096  /* of one window's text: the hottest */
#define SOURCE_LINES_WINDOW_MAX_ROWS 65536 /* that a window collects */

struct source_lines;

/* `max_rows`: samples of rows past it are only counted; 0 = no limit. NULL when memory is short. */
struct source_lines *source_lines__new(size_t max_rows);
void source_lines__free(struct source_lines *lines); /* NULL is fine */

/* Samples whose leaf is this method at this line; without a file they are in no row. 0 or -ENOMEM. */
__must_check int source_lines__add(struct source_lines *lines, const char *name,
				   enum frame_kind kind, const char *file, uint32_t line,
				   uint64_t samples);
/*
 * Adds a text that source_lines__to_text() made, of this or an older jbpf. What is no row is
 * skipped and added to *bad_line_cnt. 0 or -ENOMEM.
 */
__must_check int source_lines__add_text(struct source_lines *lines, const char *text, size_t len,
					size_t *bad_line_cnt);

/* Appends the hottest rows, sorted by bytes, and how many samples are in none. 0 or -ENOMEM. */
__must_check int source_lines__to_text(struct source_lines *lines, struct strbuf *out);

/* One row; texts borrow from the lines. */
struct source_line {
	const char *name; /* without the kind's suffix */
	size_t name_len;
	const char *file;
	size_t file_len;
	uint64_t samples;
	uint32_t line;
	enum frame_kind kind;
};

size_t source_lines__count(const struct source_lines *lines);
uint64_t source_lines__left_out(const struct source_lines *lines); /* samples in no row */
/* Most samples first. 0 or -ENOMEM. */
__must_check int source_lines__sort(struct source_lines *lines);
/* Row `index` after source_lines__sort(). */
struct source_line source_lines__get(const struct source_lines *lines, size_t index);

#endif
