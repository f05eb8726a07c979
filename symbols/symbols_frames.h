/* SPDX-License-Identifier: Apache-2.0 */
/* Answers and frames, as all parts of symbols/ make them. */
#ifndef JBPF_SYMBOLS_FRAMES_H
#define JBPF_SYMBOLS_FRAMES_H

#include "user/util/attributes.h"
#include "symbols/names/addr_cache.h"
#include "symbols/names/name_table.h"
#include "symbols/symbols.h"

/* No name was found: `name` says so. */
void answer_unknown(uint32_t name, struct answer *out);
/* The same with a text in brackets. 0 or -ENOMEM. */
__must_check int answer_placeholder(struct name_table *names, const char *text, struct answer *out);

/* Appends one frame. 0 or -ENOMEM. */
__must_check int frame_list_add(struct frame_list *list, const struct name_table *names,
				const struct answer *answer);

#endif
