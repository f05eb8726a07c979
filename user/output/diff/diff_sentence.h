/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A comparison in one sentence: whether it is slower, by how much, and which method made it so.
 *
 * In: a comparison. Out: text that may hold bytes of foreign names; who prints it escapes it.
 */
#ifndef JBPF_DIFF_DIFF_SENTENCE_H
#define JBPF_DIFF_DIFF_SENTENCE_H

#include <stdbool.h>

#include "user/output/diff/diff_output.h"
#include "user/util/strbuf.h"

/*
 * "service shop got slower: it needs 2.1 % more CPU for the same work, mostly shop.Tax.of (+21.3 %)
 * and 2 other methods; shop.Cart.add needs less (-10.1 %)." The work is measured by the median
 * method. Errors are the buffer's.
 */
void diff_sentence(const struct diff_output *diff, struct strbuf *out);
/* Does it say "got slower", or "more" of an event that is no CPU time? */
bool diff_sentence_says_more(const struct diff_output *diff);

#endif
