/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growable bytes. `data` is always NUL-terminated once anything was appended (the NUL is not
 * counted in `len`); NULL while empty. Appending is all or nothing: after -ENOMEM the content is
 * unchanged. Zero-initialise or use STRBUF_INIT; end with strbuf_release().
 */
#ifndef JBPF_UTIL_STRBUF_H
#define JBPF_UTIL_STRBUF_H

#include <stddef.h>

#include "user/util/attributes.h"

struct strbuf {
	char *data;
	size_t len; /* bytes used, without the NUL */
	size_t cap; /* bytes allocated */
};

#define STRBUF_INIT        \
	{                  \
		NULL, 0, 0 \
	}
#define __cleanup_strbuf __attribute__((cleanup(strbuf_release)))

void strbuf_release(struct strbuf *buf);
/* Empties, keeps the memory. */
void strbuf_clear(struct strbuf *buf);
/* Room for `extra` more bytes. 0 or -ENOMEM. */
int strbuf_reserve(struct strbuf *buf, size_t extra);
int strbuf_append(struct strbuf *buf, const void *bytes, size_t len);
int strbuf_puts(struct strbuf *buf, const char *text);
int strbuf_putc(struct strbuf *buf, char c);
int strbuf_printf(struct strbuf *buf, const char *format, ...) __printf_like(2, 3);
/* Shortens to `len`, which must not exceed the present length. */
void strbuf_truncate(struct strbuf *buf, size_t len);
/* The content, never NULL ("" when empty). Valid until the next append. */
const char *strbuf_str(const struct strbuf *buf);

#endif
