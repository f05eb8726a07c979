/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growable bytes. `data` is always NUL-terminated once anything was appended (the NUL is not
 * counted in `len`); NULL while empty. Zero-initialise or use STRBUF_INIT; end with
 * strbuf_release().
 *
 * The first error of an append sticks: it and all later appends leave the content as it is, until
 * strbuf_clear(), strbuf_release() or strbuf_rollback(). So a writer is a list of appends with one
 * check at its end:
 *
 *     strbuf_puts(out, "samples ");
 *     strbuf_printf(out, "%zu", cnt);
 *     return strbuf_error(out);
 *
 * Ask for the error before the content is used: after an error it is cut off somewhere.
 */
#ifndef JBPF_UTIL_STRBUF_H
#define JBPF_UTIL_STRBUF_H

#include <stddef.h>

#include "user/util/attributes.h"

struct strbuf {
	char *data;
	size_t len; /* bytes used, without the NUL */
	size_t cap; /* bytes allocated */
	int err;    /* of the first append that failed; see strbuf_error() */
};

#define STRBUF_INIT           \
	{                     \
		NULL, 0, 0, 0 \
	}
#define __cleanup_strbuf __attribute__((cleanup(strbuf_release)))

void strbuf_release(struct strbuf *buf);
/* Empties, keeps the memory, forgets the error. */
void strbuf_clear(struct strbuf *buf);

/* Each is all or nothing. */
void strbuf_append(struct strbuf *buf, const void *bytes, size_t len);
void strbuf_puts(struct strbuf *buf, const char *text);
void strbuf_putc(struct strbuf *buf, char c);
void strbuf_printf(struct strbuf *buf, const char *format, ...) __printf_like(2, 3);
/* Letters of ASCII, digits and the bytes of `plain` as they are; of each other byte "%" and two hex digits. */
void strbuf_put_encoded(struct strbuf *buf, const char *text, const char *plain);
/* The content of another one, or its error. */
void strbuf_add(struct strbuf *buf, const struct strbuf *text);
/* An error that the writer itself found becomes the buffer's, unless it has one; 0 is none. */
void strbuf_fail(struct strbuf *buf, int err);

/* 0, -ENOMEM, -EINVAL when printf refused a format, or what strbuf_fail() was given. */
__must_check int strbuf_error(const struct strbuf *buf);

/*
 * Room for `extra` more bytes, so that appending them can not fail. The buffer's error, or -ENOMEM,
 * which does not stick: nothing is missing yet.
 */
__must_check int strbuf_reserve(struct strbuf *buf, size_t extra);

/* Shortens to `len`, which must not exceed the present length. An error stays. */
void strbuf_truncate(struct strbuf *buf, size_t len);

/* For writers that are all or nothing, or whose caller goes on without them. */
struct strbuf_mark {
	size_t len;
	int err;
};

struct strbuf_mark strbuf_mark(const struct strbuf *buf);
/* Takes back what came since the mark, text and error. */
void strbuf_rollback(struct strbuf *buf, struct strbuf_mark mark);
/*
 * Ends such a writer: `err`, or else the buffer's error, is the result; when there is one, all since
 * the mark is taken back.
 */
__must_check int strbuf_settle(struct strbuf *buf, struct strbuf_mark mark, int err);

/* The content, never NULL ("" when empty). Valid until the next append. */
const char *strbuf_str(const struct strbuf *buf);

#endif
