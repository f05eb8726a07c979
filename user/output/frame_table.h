/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks as numbers, for formats that name every frame once. A frame is a name and the kind of code
 * it ran as; a function is what frames of one method have in common, whichever tier compiled it.
 * Functions are told apart by name and file, so that a function of the kernel is never added to one
 * of a library with the same name.
 */
#ifndef JBPF_OUTPUT_FRAME_TABLE_H
#define JBPF_OUTPUT_FRAME_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/model/source_lines.h"
#include "user/model/frame_kind.h"

/* Files of functions that have none: what the name is, in a form no file has. */
#define FRAME_TABLE_FILE_FRONT	"[process]"
#define FRAME_TABLE_FILE_KERNEL "[kernel]"

struct frame_table;

/*
 * `lines` tells the source files of methods; NULL = none are known. It is sorted, and not used
 * after this. 0, -ENOMEM, or -E2BIG past 4 G names.
 */
__must_check int frame_table__open(struct source_lines *lines, struct frame_table **out);
void frame_table__free(struct frame_table *table); /* NULL is fine */

/*
 * Numbers the frames of a stack's text. The first `front_cnt` are no code: the process and what
 * was put in front of it. Errors as above; *frames_out, root first, is good until the next call.
 */
int frame_table__add_stack(struct frame_table *table, const char *text, size_t len,
			   size_t front_cnt, const uint32_t **frames_out, size_t *cnt_out);

/* Frames are numbered 0, 1, 2, ... in order of first sight. */
struct frame_table_frame {
	uint32_t function;
	enum frame_kind kind;
	bool is_front;
};

uint32_t frame_table__count(const struct frame_table *table);
struct frame_table_frame frame_table__frame(const struct frame_table *table, uint32_t frame);

/*
 * So are functions. Texts are NUL-terminated, valid UTF-8, harmless on a terminal, and live as
 * long as the table. `file` is the source file's name, one of the above, or "" when not known.
 */
struct frame_table_function {
	const char *name;
	const char *file;
};

uint32_t frame_table__function_count(const struct frame_table *table);
struct frame_table_function frame_table__function(const struct frame_table *table,
						  uint32_t function);

#endif
