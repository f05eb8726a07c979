/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text line by line. In: any bytes, which stay the caller's; out: borrowed lines without their newline,
 * not NUL-terminated. Nothing is allocated, nothing fails.
 *
 *     struct lines lines = lines_init(text, len);
 *     struct line line;
 *
 *     while (lines_next(&lines, &line))
 *             use(line.at, line.len);
 */
#ifndef JBPF_UTIL_LINES_H
#define JBPF_UTIL_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct lines {
	const char *at; /* of what comes next */
	const char *end;
};

struct line {
	const char *at;
	size_t len;
	bool is_whole; /* false: the text ends without a newline, and the line may have been cut */
};

static inline struct lines lines_init(const char *text, size_t len)
{
	return (struct lines){ .at = text, .end = len ? text + len : text };
}

/* false at the end of the text. */
static inline bool lines_next(struct lines *lines, struct line *out)
{
	size_t left = (size_t)(lines->end - lines->at);
	const char *newline = left ? memchr(lines->at, '\n', left) : NULL;

	if (!left)
		return false;
	out->at = lines->at;
	out->len = newline ? (size_t)(newline - lines->at) : left;
	out->is_whole = newline != NULL;
	lines->at += out->len + out->is_whole;
	return true;
}

#endif
