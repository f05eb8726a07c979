/* SPDX-License-Identifier: Apache-2.0 */
/* What people should know about a comparison besides its numbers: lines, in the order they came. */
#ifndef JBPF_COMPARE_COMPARE_NOTES_H
#define JBPF_COMPARE_COMPARE_NOTES_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"

/* Zero-initialise; end with compare_notes_release(). */
struct compare_notes {
	char **items; /* without newline */
	size_t cnt;
	size_t cap;
};

/* Adds a line. 0 or -ENOMEM. */
__must_check int compare_notes_add(struct compare_notes *notes, const char *format, ...)
	__printf_like(2, 3);
void compare_notes_release(struct compare_notes *notes);

#endif
