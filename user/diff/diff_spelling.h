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
#include <stdint.h>

#include "user/model/stack_text.h"
#include "user/util/attributes.h"

struct diff_spelling;

/* NULL only when memory is short. */
struct diff_spelling *diff_spelling__new(void);
void diff_spelling__free(struct diff_spelling *spelling); /* NULL is fine */

/* Frames of a stack ("process;frame;frame_[j]") one after the other. */
struct diff_spelling_walk {
	const char *stack; /* what is left of it */
	size_t len;
	char place;  /* of the next frame */
	char others; /* of those behind it */
};

void diff_spelling_walk(struct diff_spelling_walk *walk, const char *stack, size_t len);

/*
 * 1: *id says which canonical text the next frame has; ids count from 0, and what was met before keeps its
 * own. 0: there are no more frames. Else -ENOMEM.
 */
__must_check int diff_spelling__next(struct diff_spelling *spelling,
				     struct diff_spelling_walk *walk, uint32_t *id);

/* The frame with that text, which stays until diff_spelling__free(). */
void diff_spelling__frame(const struct diff_spelling *spelling, uint32_t id,
			  struct stack_frame *out);

/* Distinct names so far of methods in Java, with and without their parameters. */
struct diff_spelling_methods {
	size_t with_parameters;
	size_t without;
};

struct diff_spelling_methods diff_spelling__methods(const struct diff_spelling *spelling);

/* From here on methods in Java have none: those of one name are one. Before the first stack. */
void diff_spelling__leave_out_parameters(struct diff_spelling *spelling);

/*
 * Is the first frame of a foreign stack a frame of code? Profilers of one process write no process
 * in front.
 */
bool diff_spelling_begins_with_code(const char *stack, size_t len);

/* async-profiler's default: has it a method with slashes and no suffix, "java/lang/Thread.run"? */
bool diff_spelling_has_internal(const char *stack, size_t len);

/* Is it a method in Java, and no name of a process nor of a thread, beyond doubt? */
bool diff_spelling_begins_with_java(const char *stack, size_t len);

#endif
