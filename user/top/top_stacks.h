/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stacks of one row as lines: methods by their own samples, the tree of calls from the top, the
 * callers of one method. Trees are for people: a chain of single calls is not indented, what is
 * less than half a per cent is left out. Pure.
 */
#ifndef JBPF_TOP_STACKS_H
#define JBPF_TOP_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/frame_kind.h"
#include "user/model/profile.h"
#include "user/util/attributes.h"

#define TOP_LINES_MAX 5000

struct top_line {
	char *name;	 /* as it was recorded, with its kind's suffix: escape it */
	uint32_t indent; /* branches above it, and its own */
	bool is_branch;	 /* one of several on its level; others stand below its line in a chain */
	uint64_t self;	 /* samples */
	uint64_t total;
};

struct top_lines {
	struct top_line *items;
	size_t cnt;
	size_t cap;
	uint64_t samples; /* of the row */
};

enum top_order {
	TOP_ORDER_SELF = 0,
	TOP_ORDER_TOTAL = 1,
	TOP_ORDER_NAME = 2,
	TOP_ORDER_CNT,
};

/* All are 0 or -ENOMEM, sort the profile, and end with top_lines_release(). */
__must_check int top_stacks_methods(struct profile *profile, enum top_order order,
				    struct top_lines *out);
/* Stacks of one frame, such as names of threads, the heaviest first. */
__must_check int top_stacks_names(const struct profile *profile, struct top_lines *out);
/* From the process down. */
__must_check int top_stacks_tree(struct profile *profile, struct top_lines *out);
/* From the method (text with suffix) up: who calls it, and who calls them. */
__must_check int top_stacks_callers(const struct profile *profile, const char *method,
				    struct top_lines *out);
void top_lines_release(struct top_lines *lines);

#endif
