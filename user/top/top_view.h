/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a page into the grid of a screen (top_screen.h), by the screen's width. No terminal, no clock. */
#ifndef JBPF_TOP_VIEW_H
#define JBPF_TOP_VIEW_H

#include <stddef.h>
#include <stdint.h>

#include "user/top/top_content.h"
#include "user/top/top_screen.h"
#include "user/util/strbuf.h"

/* What stands at the top and is neither in the model nor in the state. Borrowed. */
struct top_facts {
	const char *host;   /* name of this one */
	const char *source; /* "store '/var/lib/jbpf'" */
	const char *note;   /* one line that needs attention; NULL = none */
	uint64_t now_unix_ns;
};

/* How many lines of the page a screen of that height shows. */
size_t top_view_lines(int height);

/* The screen has been cleared. */
void top_view_draw(struct top_screen *screen, const struct top_state *state,
		   const struct top_content *content, const struct top_facts *facts);

/* Parts of it that the plain tables have, too. */

/* "1.53 of 2 cores (76.5 %)", "812 page faults/s". Appended. */
void top_view_append_load(struct strbuf *out, const struct top_content *content, enum event event);
/* "10 s until 14:03:20 CET, 4 s ago", in local time. Appended. */
void top_view_append_time(struct strbuf *out, const struct top_host *host, uint64_t now_unix_ns);
/* "stacks: 10 s until 14:03:20 CET", where that is not the time of amounts; else nothing. Appended. */
void top_view_append_named_time(struct strbuf *out, const struct top_rows *rows,
				uint64_t now_unix_ns);
/* "HOTTEST METHOD", and of which time it is where that is not the time of amounts. Short. Appended. */
void top_view_append_hottest_title(struct strbuf *out, const struct top_rows *rows);
/* "Java 17.0.15, frame pointers on, names from vmstructs, unknown frames 0.1 %, stacks whole 99.9 %". Appended. */
void top_view_append_row_facts(struct strbuf *out, const struct top_row *row);
/* A line that says what was lost and what is wrong with this row (NULL: the list); nothing when all is well. */
void top_view_append_problems(struct strbuf *out, const struct top_content *content,
			      const struct top_facts *facts);
/* The frame's name as it is shown, without the suffix of Java code. Appended. */
void top_view_append_frame(struct strbuf *out, const char *name);
/* Title of the column of amounts: "CORES", "THREADS", "PER SEC". */
const char *top_view_unit(enum event event);
/* Title of the column of shares. */
const char *top_view_share(const struct top_host *host, enum event event);
/* Digits behind the point of such an amount. */
int top_view_decimals(enum event event);

#endif
