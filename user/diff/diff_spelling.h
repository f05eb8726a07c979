/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that are the same from run to run, whoever wrote them: the recorder's own text comes out as
 * it went in, but for numbers of threads; text of other profilers gets its spelling. Counters,
 * hashes and addresses of generated classes, clone suffixes of compilers, "java/lang/String.format"
 * and offsets go; what kind of code a frame is stays, or is read from its spelling where that is
 * certain. No I/O.
 */
#ifndef JBPF_DIFF_DIFF_SPELLING_H
#define JBPF_DIFF_DIFF_SPELLING_H

#include <stdbool.h>
#include <stddef.h>

#include "user/util/attributes.h"
#include "user/util/strbuf.h"

struct diff_spelling;

/* NULL only when memory is short. */
struct diff_spelling *diff_spelling__new(void);
void diff_spelling__free(struct diff_spelling *spelling); /* NULL is fine */

/*
 * Appends the canonical form of a stack ("process;frame;frame_[j]"). Frames are remembered. 0,
 * -ENOMEM, or -E2BIG when it would pass STACK_TEXT_MAX_BYTES; nothing is appended then.
 */
__must_check int diff_spelling__stack(struct diff_spelling *spelling, const char *stack, size_t len,
				      struct strbuf *out);

/*
 * Is the first frame of a foreign stack a frame of code? Profilers of one process write no process
 * in front.
 */
bool diff_spelling_begins_with_code(const char *stack, size_t len);

#endif
