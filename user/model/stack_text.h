/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of one stack, "process;frame;frame" root first, as DESIGN.md section 4 defines it:
 * building it with everything escaped, and reading it back. Pure.
 */
#ifndef JBPF_MODEL_STACK_TEXT_H
#define JBPF_MODEL_STACK_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "user/util/frame_kind.h"
#include "user/util/strbuf.h"

#define STACK_TEXT_MAX_BYTES  (60 * 1024) /* Pyroscope stops reading at a line over 64 KiB */
#define STACK_TEXT_NAME_BYTES 4096 /* of one frame; longer names are cut, with "..." behind */

/*
 * Appends ";name_[k]" (without the ";" when `stack` is empty). `;` becomes `:`, control characters
 * (C0, DEL, C1) `_`, bytes that are not UTF-8 `?`; a name that ends in blank + number gets its last
 * blank replaced by `_`; an empty name becomes "[unknown]"; a native name that ends like a kind's
 * suffix gets round brackets: "evil_(k)". -E2BIG when the stack would pass STACK_TEXT_MAX_BYTES,
 * or -ENOMEM: nothing is appended then.
 */
int stack_text_append(struct strbuf *stack, const char *name, enum frame_kind kind);

/* Next frame of a stack. `name` borrows from the text, without the kind's suffix. */
struct stack_frame {
	const char *name;
	size_t name_len;
	const char *text; /* with suffix */
	size_t text_len;
	enum frame_kind kind;
};

/* Takes the first frame off the text; false at the end. The process's comm comes first. */
bool stack_text_next(const char **text, size_t *len, struct stack_frame *out);

/* The last frame: where the CPU was. false when the text is empty. */
bool stack_text_leaf(const char *text, size_t len, struct stack_frame *out);

#endif
