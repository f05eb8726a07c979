// SPDX-License-Identifier: Apache-2.0
/* Growable bytes; see strbuf.h for the invariants. */
#include "user/util/strbuf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/util/vec.h"

#define STRBUF_FIRST_BYTES 64

void strbuf_release(struct strbuf *buf)
{
	free(buf->data);
	*buf = (struct strbuf)STRBUF_INIT;
}

void strbuf_clear(struct strbuf *buf)
{
	strbuf_truncate(buf, 0);
	buf->err = 0;
}

/* Room for `extra` more bytes; no look at the error. */
static int strbuf_grow(struct strbuf *buf, size_t extra)
{
	size_t needed, cap;
	char *data;

	if (__builtin_add_overflow(buf->len, extra, &needed) ||
	    __builtin_add_overflow(needed, 1, &needed))
		return -ENOMEM;
	if (needed <= buf->cap)
		return 0;
	cap = vec_next_cap(buf->cap, needed, STRBUF_FIRST_BYTES, SIZE_MAX);
	data = cap ? realloc(buf->data, cap) : NULL;
	if (!data)
		return -ENOMEM;
	data[buf->len] = '\0';
	buf->data = data;
	buf->cap = cap;
	return 0;
}

int strbuf_reserve(struct strbuf *buf, size_t extra)
{
	return buf->err ? buf->err : strbuf_grow(buf, extra);
}

/* The same for an append: what there was no room for is missing from here on. */
static bool strbuf_begin_append(struct strbuf *buf, size_t extra)
{
	if (!buf->err)
		buf->err = strbuf_grow(buf, extra);
	return !buf->err;
}

void strbuf_append(struct strbuf *buf, const void *bytes, size_t len)
{
	if (!strbuf_begin_append(buf, len))
		return;
	if (len)
		memcpy(buf->data + buf->len, bytes, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
}

void strbuf_puts(struct strbuf *buf, const char *text)
{
	strbuf_append(buf, text, strlen(text));
}

void strbuf_putc(struct strbuf *buf, char c)
{
	strbuf_append(buf, &c, 1);
}

void strbuf_printf(struct strbuf *buf, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (len < 0)
		strbuf_fail(buf, -EINVAL);
	if (len < 0 || !strbuf_begin_append(buf, (size_t)len))
		return;
	va_start(args, format);
	vsnprintf(buf->data + buf->len, (size_t)len + 1, format, args);
	va_end(args);
	buf->len += (size_t)len;
}

/* Without <ctype.h>, which asks the locale. */
static bool is_letter_or_digit(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

void strbuf_put_encoded(struct strbuf *buf, const char *text, const char *plain)
{
	for (; *text; text++) {
		if (is_letter_or_digit(*text) || strchr(plain, *text))
			strbuf_putc(buf, *text);
		else
			strbuf_printf(buf, "%%%02x", (unsigned char)*text);
	}
}

void strbuf_add(struct strbuf *buf, const struct strbuf *text)
{
	strbuf_fail(buf, text->err);
	strbuf_append(buf, strbuf_str(text), text->len);
}

void strbuf_fail(struct strbuf *buf, int err)
{
	if (!buf->err)
		buf->err = err;
}

int strbuf_error(const struct strbuf *buf)
{
	return buf->err;
}

void strbuf_truncate(struct strbuf *buf, size_t len)
{
	if (len > buf->len || !buf->data)
		return;
	buf->len = len;
	buf->data[len] = '\0';
}

struct strbuf_mark strbuf_mark(const struct strbuf *buf)
{
	return (struct strbuf_mark){ .len = buf->len, .err = buf->err };
}

void strbuf_rollback(struct strbuf *buf, struct strbuf_mark mark)
{
	strbuf_truncate(buf, mark.len);
	buf->err = mark.err;
}

int strbuf_settle(struct strbuf *buf, struct strbuf_mark mark, int err)
{
	if (!err)
		err = buf->err;
	if (err)
		strbuf_rollback(buf, mark);
	return err;
}

const char *strbuf_str(const struct strbuf *buf)
{
	return buf->data ? buf->data : "";
}
