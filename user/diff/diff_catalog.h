/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From stacks to items: numbers methods, classes, packages and places in the merged call tree in
 * order of first sight, and counts a stack for all of them. One catalog serves both sides and the
 * days of the history, so that numbers agree. No I/O.
 *
 * How a Java method was compiled is no part of its identity: inlined, interpreted and compiled
 * frames of a method are one item, or each JVM start would look like a change. Names are those of
 * diff_spelling.h, the same from run to run.
 */
#ifndef JBPF_DIFF_CATALOG_H
#define JBPF_DIFF_CATALOG_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/diff/diff.h"
#include "user/diff/diff_side.h"
#include "user/model/frame_kind.h"

/* Deeper frames have no place of their own in the tree; they count for their method all the same. */
#define DIFF_CATALOG_DEPTH_MAX 1024

struct diff_catalog;

/* NULL only when memory is short. */
struct diff_catalog *diff_catalog__new(void);
void diff_catalog__free(struct diff_catalog *catalog); /* NULL is fine */

/* See diff_spelling__leave_out_parameters(). */
void diff_catalog__leave_out_parameters(struct diff_catalog *catalog);

/*
 * Counts a stack ("process;frame;frame_[j]", see user/model/stack_text.h) in the block of `side`
 * that will be closed next. 0, -ENOMEM, or -E2BIG past DIFF_SIDE_ITEMS_MAX items; part of the stack
 * may have been counted then.
 */
__must_check int diff_catalog__add(struct diff_catalog *catalog, struct diff_side *side,
				   const char *stack, size_t len, uint64_t count);

/*
 * The same in two steps, for who meets the same stacks again and again or in no order of time. A
 * stack is learned once: the number (0, 1, 2, ...) stays its own. Counting is cheap then.
 */
int diff_catalog__learn(struct diff_catalog *catalog, const char *stack, size_t len,
			uint32_t *stack_out);
int diff_catalog__count(struct diff_catalog *catalog, struct diff_side *side, uint32_t stack,
			uint64_t count);
/* Part of its hash: orders stacks the same in whichever order they were learned. */
uint64_t diff_catalog__stack_key(const struct diff_catalog *catalog, uint32_t stack);

/*
 * Forgets items that no side has `samples_min` samples of, and all stacks: so few say nothing of a change,
 * and most items of a profile with very many are such. What is left is numbered again, in the catalog as in
 * the sides, which are all that were counted with it. 0; -ENOMEM: nothing has changed.
 */
__must_check int diff_catalog__cut(struct diff_catalog *catalog, struct diff_side *const *sides,
				   size_t side_cnt, uint64_t samples_min);

/* The items so far, for struct diff_input; valid until the next stack is learned or added. */
const struct diff_item *diff_catalog__items(const struct diff_catalog *catalog, uint32_t *cnt_out);

struct diff_catalog_name {
	const char *text; /* NUL-terminated; lives as long as the catalog */
	size_t len;
	enum frame_kind kind; /* Java of any kind is FRAME_KIND_JIT */
};

/* METHOD_x, PATH: the frame without suffix; CLASS_x: "pkg.Class"; PACKAGE_x: "pkg", "[kernel]". */
struct diff_catalog_name diff_catalog__name(const struct diff_catalog *catalog, uint32_t item);

/*
 * The number of a METHOD_x, CLASS_x or PACKAGE_x with that name, to read a stored history; DIFF_NONE
 * when there is none. `kind` of the frame matters for methods only.
 */
uint32_t diff_catalog__find(const struct diff_catalog *catalog, enum diff_kind item_kind,
			    enum frame_kind kind, const char *name, size_t len);

#endif
