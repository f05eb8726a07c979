/* SPDX-License-Identifier: Apache-2.0 */
/* What people should know about a comparison besides its numbers: lines, in the order they came. */
#ifndef JBPF_COMPARE_DIFF_NOTES_H
#define JBPF_COMPARE_DIFF_NOTES_H

#include <stddef.h>

#include "user/util/attributes.h"

/* Zero-initialise; end with diff_notes_release(). */
struct diff_notes {
	char **items; /* without newline */
	size_t cnt;
	size_t cap;
};

/* Adds a line. 0 or -ENOMEM. */
__must_check int diff_notes_add(struct diff_notes *notes, const char *format, ...)
	__printf_like(2, 3);
void diff_notes_release(struct diff_notes *notes);

#endif
