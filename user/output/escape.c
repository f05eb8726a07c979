// SPDX-License-Identifier: Apache-2.0
/*
 * One walk over the code points; each kind of output only says what it replaces. Runs of harmless
 * bytes are appended at once: profiles hold millions of name bytes and few that need anything.
 */
#include "user/output/escape.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "user/util/utf8.h"

#define ELLIPSIS "\xe2\x80\xa6"

/* Replacement for a code point, or NULL when it may stay. `scratch` has 16 bytes. */
typedef const char *(*escape_rule)(uint32_t code, char *scratch);

static const char *escape_common(uint32_t code)
{
	if (code == UTF8_BAD_BYTE)
		return "?";
	return utf8_is_deceptive(code) ? "_" : NULL;
}

static const char *escape_html_rule(uint32_t code, char *scratch)
{
	(void)scratch;
	switch (code) {
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '&':
		return "&amp;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	case 0xfffe: /* Not characters of XML. */
	case 0xffff:
		return "?";
	default:
		return escape_common(code);
	}
}

static const char *escape_json_rule(uint32_t code, char *scratch)
{
	switch (code) {
	case '"':
		return "\\\"";
	case '\\':
		return "\\\\";
	case '<':
	case '>':
	case '&':
		snprintf(scratch, 16, "\\u%04x", code);
		return scratch;
	default:
		return escape_common(code);
	}
}

static const char *escape_terminal_rule(uint32_t code, char *scratch)
{
	(void)scratch;
	return escape_common(code);
}

static void escape_by(struct strbuf *out, const char *text, size_t len, escape_rule rule)
{
	size_t clean = 0; /* start of the run not yet appended */
	char scratch[16];

	for (size_t i = 0; i < len;) {
		uint32_t code;
		size_t size = utf8_next(text + i, len - i, &code);
		const char *replacement = rule(code, scratch);

		if (replacement) {
			strbuf_append(out, text + clean, i - clean);
			strbuf_puts(out, replacement);
			clean = i + size;
		}
		i += size;
	}
	strbuf_append(out, text + clean, len - clean);
}

void escape_html(struct strbuf *out, const char *text, size_t len)
{
	escape_by(out, text, len, escape_html_rule);
}

void escape_json(struct strbuf *out, const char *text, size_t len)
{
	escape_by(out, text, len, escape_json_rule);
}

void escape_terminal(struct strbuf *out, const char *text, size_t len)
{
	escape_by(out, text, len, escape_terminal_rule);
}

static size_t character_count(const char *text, size_t len)
{
	size_t cnt = 0;

	for (size_t i = 0; i < len; cnt++) {
		uint32_t code;

		i += utf8_next(text + i, len - i, &code);
	}
	return cnt;
}

/* The bytes of the first `cnt` characters. */
static size_t bytes_of(const char *text, size_t len, size_t cnt)
{
	size_t at = 0;

	while (cnt-- && at < len) {
		uint32_t code;

		at += utf8_next(text + at, len - at, &code);
	}
	return at;
}

void escape_terminal_within(struct strbuf *out, const char *text, size_t len, size_t columns)
{
	size_t cnt = columns ? character_count(text, len) : 0;
	size_t head, tail;

	if (cnt <= columns) {
		escape_terminal(out, text, len);
		return;
	}
	head = (columns - 1) / 3; /* the end tells more: the method, the number of the pod */
	tail = bytes_of(text, len, cnt - (columns - 1 - head));
	escape_terminal(out, text, bytes_of(text, len, head));
	strbuf_puts(out, ELLIPSIS);
	escape_terminal(out, text + tail, len - tail);
}
