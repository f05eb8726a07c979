/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line of folded text, "stack count". In: the line without its newline, any bytes, which stay the
 * caller's. Out: how much of it is the stack, and the count. The only error is that it is not such a line.
 * A stack may hold blanks and NULs; those who want C strings look for a NUL themselves.
 */
#ifndef JBPF_MODEL_FOLDED_LINE_H
#define JBPF_MODEL_FOLDED_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/parse.h"

#define FOLDED_COUNT_MAX_DIGITS 20 /* of UINT64_MAX */

/* Bytes up to the blank before the count, whose digits may be too many; 0: not such a line. */
static inline size_t folded_line_stack_bytes(const char *line, size_t len)
{
	size_t at = len;

	while (at && line[at - 1] >= '0' && line[at - 1] <= '9')
		at--;
	return at == len || at < 2 || line[at - 1] != ' ' ? 0 : at - 1;
}

/* false: not such a line; the outputs may be changed then. */
static inline bool folded_line_split(const char *line, size_t len, size_t *stack_len,
				     uint64_t *count)
{
	size_t digits_at;

	*stack_len = folded_line_stack_bytes(line, len);
	digits_at = *stack_len + 1;
	return *stack_len && len - digits_at <= FOLDED_COUNT_MAX_DIGITS &&
	       parse_u64_n(line + digits_at, len - digits_at, 10, count) == 0;
}

#endif
