/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a comparison says, in words: the same for the table and the page. Texts may hold bytes of
 * foreign names; who prints them escapes them.
 */
#ifndef JBPF_DIFF_DIFF_WORDS_H
#define JBPF_DIFF_DIFF_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "user/util/attributes.h"
#include "user/output/diff/diff_output.h"
#include "user/util/strbuf.h"

/* Takes one line of a header. An error ends the header and is passed on. */
typedef int (*diff_words_line)(void *ctx, const char *label, const char *text, bool is_warning);

/*
 * What was compared, and how sure that is: sides, gates, scale, composition, calibration, what could
 * have been seen, what was found, notes. 0, -ENOMEM, or the error of `line`.
 */
__must_check int diff_words_header(const struct diff_output *diff, diff_words_line line, void *ctx);

/* Is anything judged at all? Else shares are all there is to show. */
bool diff_words_is_judged(const struct diff_output *diff);

/* Two files of other profilers: without times, and hence without judgement. */
bool diff_words_is_of_files(const struct diff_output *diff);

/* Is the verdict one about a change that was found? */
bool diff_words_is_found(enum diff_verdict verdict);

/*
 * By how sure and how large it is: the distance of 0 from the interval of points; 0 when it is in it
 * or not known.
 */
double diff_words_sure_points(const struct diff_row *row);

/*
 * Order of rows for qsort_r() over item numbers, `diff` being the struct diff_output: alarms first,
 * then what else was found, both with methods that changed themselves before those that call them,
 * and by sure points; then the others, by how much they seem to have changed.
 */
int diff_words_compare_rows(const void *left, const void *right, void *diff);

/*
 * Share after that agrees with the change: as if the median method had kept its share. The share
 * itself where nothing is judged.
 */
double diff_words_share_after(const struct diff_row *row);

/* "+50.1 %", "new", "gone" or "-". Errors of this and the others are the buffer's. */
void diff_words_change(struct strbuf *out, const struct diff_row *row);
/* "+48.0 % to +52.2 %"; in points of the CPU for what is new or gone; or "-". */
void diff_words_interval(struct strbuf *out, const struct diff_row *row);
/* "<0.0001", "0.0312" or "-". */
void diff_words_q(struct strbuf *out, const struct diff_row *row);
/* ">= 3.1 %" or "-". */
void diff_words_detectable(struct strbuf *out, double detectable);

/* What is compared, in the middle of a sentence: "CPU", "page faults". */
const char *diff_words_event(const struct diff_output *diff);

#endif
