/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text line by line, and pieces of it. In: any bytes, which stay the caller's; out: borrowed lines
 * without their newline, borrowed pieces, none NUL-terminated. Nothing is allocated, nothing fails.
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

/* As memcmp() orders them; what is the other's beginning comes first. */
static inline int bytes_compare(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t len = a_len < b_len ? a_len : b_len;
	int order = len ? memcmp(a, b, len) : 0;

	return order ? order : (a_len > b_len) - (a_len < b_len);
}

/* A piece; `at` is never looked at when `len` is 0. */
struct text {
	const char *at;
	size_t len;
};

#define TEXT(literal) ((struct text){ literal, sizeof(literal) - 1 })

static inline struct text text_from(struct text text, size_t offset)
{
	return (struct text){ text.at + offset, text.len - offset };
}

static inline struct text text_until(struct text text, size_t len)
{
	return (struct text){ text.at, len };
}

static inline bool text_starts_with(struct text text, struct text prefix)
{
	return text.len >= prefix.len && memcmp(text.at, prefix.at, prefix.len) == 0;
}

static inline bool text_ends_with(struct text text, struct text suffix)
{
	return text.len >= suffix.len &&
	       memcmp(text.at + text.len - suffix.len, suffix.at, suffix.len) == 0;
}

static inline bool text_is(struct text text, const char *other)
{
	return text.len == strlen(other) && memcmp(text.at, other, text.len) == 0;
}

/* Where `c` is; the length when it is nowhere. */
static inline size_t text_find(struct text text, char c)
{
	const char *found = text.len ? memchr(text.at, c, text.len) : NULL;

	return found ? (size_t)(found - text.at) : text.len;
}

/* Where the last `c` is; the length when it is nowhere. */
static inline size_t text_rfind(struct text text, char c)
{
	const char *found = text.len ? memrchr(text.at, c, text.len) : NULL;

	return found ? (size_t)(found - text.at) : text.len;
}

/* Where `part` begins; the length when it is nowhere. */
static inline size_t text_find_part(struct text text, const char *part)
{
	const char *found = text.len ? memmem(text.at, text.len, part, strlen(part)) : NULL;

	return found ? (size_t)(found - text.at) : text.len;
}

static inline bool text_has(struct text text, const char *part)
{
	return text_find_part(text, part) < text.len;
}

#endif
