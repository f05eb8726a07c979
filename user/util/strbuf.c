// SPDX-License-Identifier: Apache-2.0
/* Growable bytes; see strbuf.h for the invariants. */
#include "user/util/strbuf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STRBUF_FIRST_BYTES 64

void strbuf_release(struct strbuf *buf)
{
	free(buf->data);
	*buf = (struct strbuf)STRBUF_INIT;
}

void strbuf_clear(struct strbuf *buf)
{
	strbuf_truncate(buf, 0);
}

int strbuf_reserve(struct strbuf *buf, size_t extra)
{
	size_t needed;
	size_t cap = buf->cap ? buf->cap : STRBUF_FIRST_BYTES;
	char *data;

	if (__builtin_add_overflow(buf->len, extra, &needed) ||
	    __builtin_add_overflow(needed, 1, &needed))
		return -ENOMEM;
	if (needed <= buf->cap)
		return 0;
	while (cap < needed) {
		if (__builtin_mul_overflow(cap, 2, &cap))
			return -ENOMEM;
	}
	data = realloc(buf->data, cap);
	if (!data)
		return -ENOMEM;
	data[buf->len] = '\0';
	buf->data = data;
	buf->cap = cap;
	return 0;
}

int strbuf_append(struct strbuf *buf, const void *bytes, size_t len)
{
	int err = strbuf_reserve(buf, len);

	if (err)
		return err;
	if (len)
		memcpy(buf->data + buf->len, bytes, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
	return 0;
}

int strbuf_puts(struct strbuf *buf, const char *text)
{
	return strbuf_append(buf, text, strlen(text));
}

int strbuf_putc(struct strbuf *buf, char c)
{
	return strbuf_append(buf, &c, 1);
}

int strbuf_printf(struct strbuf *buf, const char *format, ...)
{
	va_list args;
	int len;
	int err;

	va_start(args, format);
	len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (len < 0)
		return -EINVAL;
	err = strbuf_reserve(buf, (size_t)len);
	if (err)
		return err;
	va_start(args, format);
	vsnprintf(buf->data + buf->len, (size_t)len + 1, format, args);
	va_end(args);
	buf->len += (size_t)len;
	return 0;
}

void strbuf_truncate(struct strbuf *buf, size_t len)
{
	if (len > buf->len || !buf->data)
		return;
	buf->len = len;
	buf->data[len] = '\0';
}

const char *strbuf_str(const struct strbuf *buf)
{
	return buf->data ? buf->data : "";
}
