/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Borrowed bytes, for the readers of names: not NUL-terminated, `at` is never looked at when `len`
 * is 0. Pure.
 *
 * The room of Java's names. In: a name as the JVM, a perf map or a profiler wrote it. Out: one
 * spelling that is the same in the next run (java_name.h), and whether a name is Java's at all
 * (java_spelling.h).
 */
#ifndef JBPF_NAMES_TEXT_H
#define JBPF_NAMES_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

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
