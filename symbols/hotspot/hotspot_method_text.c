// SPDX-License-Identifier: Apache-2.0
/*
 * Names as in JVMS 4.2 and 4.3.
 */
#include "symbols/hotspot/hotspot_method_text.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define ARRAY_MAX_DEPTH 255

/* ---- modified UTF-8 ---- */

static bool is_continuation(uint8_t byte)
{
	return (byte & 0xc0) == 0x80;
}

/* One UTF-16 unit from up to 3 bytes; returns how many, 0 = damaged. */
static size_t unit_read(const uint8_t *bytes, size_t len, uint32_t *out)
{
	if (bytes[0] < 0x80) {
		*out = bytes[0];
		return 1;
	}
	if ((bytes[0] & 0xe0) == 0xc0 && len >= 2 && is_continuation(bytes[1])) {
		*out = (bytes[0] & 0x1fu) << 6 | (bytes[1] & 0x3fu);
		return *out >= 0x80 ? 2 : 0;
	}
	if ((bytes[0] & 0xf0) == 0xe0 && len >= 3 && is_continuation(bytes[1]) &&
	    is_continuation(bytes[2])) {
		*out = (bytes[0] & 0xfu) << 12 | (bytes[1] & 0x3fu) << 6 | (bytes[2] & 0x3fu);
		return *out >= 0x800 ? 3 : 0;
	}
	return 0;
}

static bool is_control(uint32_t unit)
{
	return unit < 0x20 || (unit >= 0x7f && unit < 0xa0) || unit == 0x2028 || unit == 0x2029;
}

/*
 * Length of the next character, which is as it should be in UTF-8 already, or a pair of surrogates
 * of 3 bytes each, whose 4 bytes go to `pair`. 0 = damaged or a control character.
 */
static size_t character_read(const uint8_t *bytes, size_t len, char pair[4], bool *is_pair)
{
	uint32_t unit, low, code;
	size_t used = unit_read(bytes, len, &unit);

	*is_pair = false;
	if (!used || is_control(unit) || (unit >= 0xdc00 && unit < 0xe000))
		return 0;
	if (unit < 0xd800 || unit >= 0xdc00)
		return used;
	if (used == len || !unit_read(bytes + used, len - used, &low) || low < 0xdc00 ||
	    low >= 0xe000)
		return 0;
	code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
	pair[0] = (char)(0xf0 | code >> 18);
	pair[1] = (char)(0x80 | (code >> 12 & 0x3f));
	pair[2] = (char)(0x80 | (code >> 6 & 0x3f));
	pair[3] = (char)(0x80 | (code & 0x3f));
	*is_pair = true;
	return used + 3;
}

static size_t plain_ascii_len(const uint8_t *bytes, size_t len)
{
	size_t plain = 0;

	while (plain < len && bytes[plain] >= 0x20 && bytes[plain] < 0x7f)
		plain++;
	return plain;
}

int hotspot_symbol_text(const uint8_t *bytes, size_t len, struct strbuf *out)
{
	struct strbuf_mark begin = strbuf_mark(out);
	int err = len ? 0 : -EINVAL;

	for (size_t at = 0; at < len && !err;) {
		size_t plain = plain_ascii_len(bytes + at, len - at);
		size_t used;
		char pair[4];
		bool is_pair;

		if (plain) {
			strbuf_append(out, bytes + at, plain);
			at += plain;
			continue;
		}
		used = character_read(bytes + at, len - at, pair, &is_pair);
		if (!used)
			err = -EINVAL;
		else if (is_pair)
			strbuf_append(out, pair, sizeof(pair));
		else
			strbuf_append(out, bytes + at, used);
		at += used;
	}
	return strbuf_settle(out, begin, err);
}

/* ---- names ---- */

static bool text_has(struct hotspot_text text, const char *any_of)
{
	for (; *any_of; any_of++) {
		if (memchr(text.bytes, *any_of, text.len))
			return true;
	}
	return false;
}

static bool text_is(struct hotspot_text text, const char *literal)
{
	return text.len == strlen(literal) && memcmp(text.bytes, literal, text.len) == 0;
}

/* A class, not an array; parts are not empty. */
static bool class_name_is_valid(struct hotspot_text name)
{
	bool part_is_empty = true;

	if (text_has(name, ".;["))
		return false;
	for (size_t i = 0; i < name.len; i++) {
		if (name.bytes[i] == '/' && part_is_empty)
			return false;
		part_is_empty = name.bytes[i] == '/';
	}
	return !part_is_empty;
}

static bool method_name_is_valid(struct hotspot_text name)
{
	if (text_is(name, "<init>") || text_is(name, "<clinit>"))
		return true;
	return name.len && !text_has(name, ".;[/<>");
}

/* ---- signatures ---- */

/* Moves *at behind the type that begins there. False: there is none. */
static bool skip_type(struct hotspot_text signature, size_t *at)
{
	const char *end;
	size_t depth = 0;

	while (*at < signature.len && signature.bytes[*at] == '[') {
		depth++;
		(*at)++;
	}
	if (*at == signature.len || depth > ARRAY_MAX_DEPTH)
		return false;
	if (memchr("BCDFIJSZ", signature.bytes[*at], 8)) {
		(*at)++;
		return true;
	}
	end = memchr(signature.bytes + *at, ';', signature.len - *at);
	if (signature.bytes[*at] != 'L' || !end || end == signature.bytes + *at + 1 ||
	    memchr(signature.bytes + *at, '[', (size_t)(end - signature.bytes) - *at))
		return false;
	*at = (size_t)(end - signature.bytes) + 1;
	return true;
}

/* "(ILjava/lang/String;)J", and nothing behind it. */
static bool signature_is_valid(struct hotspot_text signature)
{
	size_t at = 1;

	if (!signature.len || signature.bytes[0] != '(')
		return false;
	while (at < signature.len && signature.bytes[at] != ')')
		if (!skip_type(signature, &at))
			return false;
	at++;
	if (at == signature.len - 1 && signature.bytes[at] == 'V')
		return true;
	return at < signature.len && skip_type(signature, &at) && at == signature.len;
}

int hotspot_method_text(struct hotspot_text class_name, struct hotspot_text name,
			struct hotspot_text signature, struct strbuf *out)
{
	struct strbuf_mark begin = strbuf_mark(out);

	if (!class_name_is_valid(class_name) || !method_name_is_valid(name) ||
	    !signature_is_valid(signature))
		return -EINVAL;
	strbuf_putc(out, 'L');
	strbuf_append(out, class_name.bytes, class_name.len);
	strbuf_puts(out, ";::");
	strbuf_append(out, name.bytes, name.len);
	strbuf_append(out, signature.bytes, signature.len);
	return strbuf_settle(out, begin, 0);
}
