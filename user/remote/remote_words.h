/* SPDX-License-Identifier: Apache-2.0 */
/* What a server says of an error, for a line of ours. */
#ifndef JBPF_REMOTE_REMOTE_WORDS_H
#define JBPF_REMOTE_REMOTE_WORDS_H

#include <stddef.h>

/*
 * The first line of the text, to a NUL at most, cut to what fits; control characters become '?', so that it
 * does nothing to a terminal. `out_len` is above 0.
 */
void remote_words(const char *text, size_t len, char *out, size_t out_len);

#endif
