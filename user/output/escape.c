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

/* Replacement for a code point, or NULL when it may stay. `scratch` has 16 bytes. */
typedef const char *(*escape_rule)(uint32_t code, char *scratch);

static const char *escape_common(uint32_t code)
{
	if (code == UTF8_BAD_BYTE)
		return "?";
	if (code < 0x20 || (code >= 0x7f && code <= 0x9f))
		return "_";
	return NULL;
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
	case 0x2028:
	case 0x2029:
		snprintf(scratch, 16, "\\u%04x", code);
		return scratch;
	default:
		return escape_common(code);
	}
}

static const char *escape_terminal_rule(uint32_t code, char *scratch)
{
	(void)scratch;
	switch (code) {
	case 0x061c:
	case 0x200e ... 0x200f:
	case 0x2028 ... 0x202e:
	case 0x2066 ... 0x2069:
		return "_";
	default:
		return escape_common(code);
	}
}

static int escape_by(struct strbuf *out, const char *text, size_t len, escape_rule rule)
{
	size_t clean = 0; /* start of the run not yet appended */
	char scratch[16];
	int err;

	for (size_t i = 0; i < len;) {
		uint32_t code;
		size_t size = utf8_next(text + i, len - i, &code);
		const char *replacement = rule(code, scratch);

		if (replacement) {
			err = strbuf_append(out, text + clean, i - clean);
			if (err)
				return err;
			err = strbuf_puts(out, replacement);
			if (err)
				return err;
			clean = i + size;
		}
		i += size;
	}
	return strbuf_append(out, text + clean, len - clean);
}

int escape_html(struct strbuf *out, const char *text, size_t len)
{
	return escape_by(out, text, len, escape_html_rule);
}

int escape_json(struct strbuf *out, const char *text, size_t len)
{
	return escape_by(out, text, len, escape_json_rule);
}

int escape_terminal(struct strbuf *out, const char *text, size_t len)
{
	return escape_by(out, text, len, escape_terminal_rule);
}
