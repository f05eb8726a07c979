/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of one stack, "process;frame;frame" root first, with everything escaped:
 * building it, and reading it back. Pure.
 */
#ifndef JBPF_MODEL_STACK_TEXT_H
#define JBPF_MODEL_STACK_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "user/util/attributes.h"
#include "user/model/frame_kind.h"
#include "user/util/strbuf.h"

#define FOLDED_LINE_MAX_BYTES (60 * 1024) /* Pyroscope stops reading at a line over 64 KiB */
/* With a blank and any count behind it, it is no longer than a line may be. */
#define STACK_TEXT_MAX_BYTES (FOLDED_LINE_MAX_BYTES - sizeof(" 18446744073709551615") + 1)
/*
 * In a profile whose stacks are told apart by thread: behind the stack, before the thread's name.
 * Below every byte of a text, so that the threads of a stack stand together when stacks are sorted.
 */
#define STACK_TEXT_THREAD_MARK '\x01'
#define STACK_TEXT_NAME_BYTES  4096 /* of one frame; longer names are cut, with "..." behind */

/*
 * Appends ";name_[k]" (without the ";" when `stack` is empty). `;` becomes `:`, what is deceptive
 * (utf8_is_deceptive()) `_`, bytes that are not UTF-8 `?`; a name that ends in blank + number gets its last
 * blank replaced by `_`; an empty name becomes "[unknown]"; a native name that ends like a kind's
 * suffix gets round brackets: "evil_(k)". -E2BIG when the stack would pass STACK_TEXT_MAX_BYTES,
 * or -ENOMEM: nothing is appended then.
 */
__must_check int stack_text_append(struct strbuf *stack, const char *name, enum frame_kind kind);

/*
 * A line that is written from its leaf to its root: one that would be too long loses frames at the
 * root, and never has a hole. There is always room for its first frame, which is the process, and
 * for STACK_LINE_TRUNCATED, so nothing here can fail. Frames are escaped as by stack_text_append().
 */
#define STACK_LINE_TRUNCATED  "[truncated]"
#define STACK_LINE_IDLE	      "[idle]"
#define STACK_LINE_DISK	      "[disk sleep]" /* the leaf of a thread in uninterruptible sleep */
#define STACK_LINE_CPU_WAIT   "[waiting for a CPU]" /* see event_cpu_wait_ns() */
#define STACK_LINE_ROOT_BYTES 64		    /* of the first frame; longer ones are cut */

struct stack_line {
	size_t max_name_bytes;
	size_t start; /* of the text in `bytes`; it ends with them */
	size_t root_len;
	char root[STACK_LINE_ROOT_BYTES + 4 + sizeof(";" STACK_LINE_IDLE)];
	char bytes[STACK_TEXT_MAX_BYTES + 1];
};

enum stack_line_end {
	STACK_LINE_WHOLE = 0,
	/* Frames at the root are missing: STACK_LINE_TRUNCATED stands for them. */
	STACK_LINE_CUT = 1,
};

/* `root` is the first frame. max_name_bytes: 3 to STACK_TEXT_NAME_BYTES; longer names are cut. */
void stack_line_begin(struct stack_line *line, const char *root, size_t max_name_bytes);
/* Of a thread that never ran: below the root comes STACK_LINE_IDLE. Before anything else. */
void stack_line_idle(struct stack_line *line);
/* The caller of what is there so far. False: no room, and the line is as it was; it ends here. */
bool stack_line_prepend(struct stack_line *line, const char *name, enum frame_kind kind);
/* The text, NUL-terminated, at most STACK_TEXT_MAX_BYTES; lives until the next begin. */
const char *stack_line_finish(struct stack_line *line, enum stack_line_end end, size_t *len_out);

/* Next frame of a stack. `name` borrows from the text, without the kind's suffix. */
struct stack_frame {
	const char *name;
	size_t name_len;
	const char *text; /* with suffix */
	size_t text_len;
	enum frame_kind kind;
};

/* Bytes of a Java method's name without its parameters, where it has them: "a.B.c" of "a.B.c(int)". */
size_t stack_text_method_len(const char *name, size_t len);
/* Takes the first frame off the text; false at the end. The process's comm comes first. */
bool stack_text_next(const char **text, size_t *len, struct stack_frame *out);

/* The last frame: where the CPU was. false when the text is empty. */
bool stack_text_leaf(const char *text, size_t len, struct stack_frame *out);

#endif
