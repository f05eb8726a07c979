/* SPDX-License-Identifier: Apache-2.0 */
/* The content of a page as plain text: for pipes, and for --since. Pure. */
#ifndef JBPF_TOP_PLAIN_H
#define JBPF_TOP_PLAIN_H

#include <stddef.h>

#include "user/top/top_content.h"
#include "user/top/top_view.h"
#include "user/util/attributes.h"
#include "user/util/strbuf.h"

/*
 * Appends head and table, at most `row_max` rows (0 = all) of `columns_max` columns (0 = any), and how
 * many rows there are more. 0 or -ENOMEM.
 */
__must_check int top_plain(const struct top_state *state, const struct top_content *content,
			   const struct top_facts *facts, size_t row_max, size_t columns_max,
			   struct strbuf *out);

#endif
