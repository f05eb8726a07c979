/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of many folded texts, each once, and what each text had of them: while a unit of a
 * merged segment is collected, lines have ids in order of first sight; when it is complete they are
 * put in byte order and ids become line numbers. Whose the lines are is kept, too: a line's home in the
 * set is, mostly, the thread that has most of it.
 */
#ifndef JBPF_COMPACT_LINE_SET_H
#define JBPF_COMPACT_LINE_SET_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/store/format/rows_table.h"
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
 * Adds a folded text, and the code of its threads (thread_counts.h; NULL = not known). Like
 * readers, it leaves out lines that are not "stack count", and a code that is invalid. 0 or
 * -ENOMEM.
 */
__must_check int line_set__add(struct line_set *set, const char *text, size_t len,
			       const uint8_t *threads, size_t threads_len, struct line_span *out);

/* Nothing is added any more: lines get their numbers. 0 or -ENOMEM. */
__must_check int line_set__seal(struct line_set *set);

/*
 * Appends one row: the lines of a text in its own order, or those of several texts in order of
 * lines with sums; in order of lines, too, once the set knows a thread. Its samples go to the
 * merged text, too. 0 or -ENOMEM.
 */
__must_check int line_set__put_row(struct line_set *set, const struct line_span *spans, size_t cnt,
				   struct rows_entry_columns *out,
				   struct rows_thread_columns *threads);
/* Ends the columns of threads of all rows: names, which are borrowed from the set, and homes. */
void line_set__put_threads(const struct line_set *set, struct rows_thread_columns *out);

/* Appends the merged text of all rows that were put; how many lines it has. 0 or -ENOMEM. */
__must_check int line_set__put_text(const struct line_set *set, struct strbuf *out,
				    uint32_t *line_cnt_out);

#endif
