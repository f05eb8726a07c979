/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of many folded texts, each once, and what each text had of them: while a unit of a
 * merged segment is collected, lines have ids in order of first sight; when it is complete they are
 * put in byte order and ids become line numbers.
 */
#ifndef JBPF_COMPACT_LINE_SET_H
#define JBPF_COMPACT_LINE_SET_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/store/format/rows_block.h"
#include "user/util/strbuf.h"

struct line_set;

/* Where a text's lines are in the set. */
struct line_span {
	size_t offset;
	size_t len;
};

struct line_set *line_set__new(void);	   /* NULL only when memory is short */
void line_set__free(struct line_set *set); /* NULL is fine */

/* Bytes that the merged text has at most. */
size_t line_set__bytes(const struct line_set *set);
/* Bytes of what is kept for the spans. */
size_t line_set__span_bytes(const struct line_set *set);

/*
 * Adds a folded text. Lines that are no "stack count" are left out, as readers do. 0 or -ENOMEM.
 */
__must_check int line_set__add(struct line_set *set, const char *text, size_t len,
			       struct line_span *out);

/* Nothing is added any more: lines get their numbers. 0 or -ENOMEM. */
__must_check int line_set__seal(struct line_set *set);

/*
 * Appends one row: the lines of a text in its own order, or those of several texts in order of
 * lines with sums. Its samples go to the merged text, too. 0 or -ENOMEM.
 */
__must_check int line_set__put_row(struct line_set *set, const struct line_span *spans, size_t cnt,
				   struct rows_entry_columns *out);

/* Appends the merged text of all rows that were put; how many lines it has. 0 or -ENOMEM. */
__must_check int line_set__put_text(const struct line_set *set, struct strbuf *out,
				    uint32_t *line_cnt_out);

#endif
