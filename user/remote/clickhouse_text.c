// SPDX-License-Identifier: Apache-2.0
/* See clickhouse_text.h. Escapes: ClickHouse's documentation of the format TabSeparated. */
#include "user/remote/clickhouse_text.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "user/remote/remote_words.h"
#include "user/util/cleanup.h"
#include "user/util/parse.h"
#include "user/util/varint.h"

void clickhouse_quote(struct strbuf *out, const char *text, size_t len)
{
	strbuf_putc(out, '\'');
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\0') {
			strbuf_puts(out, "\\0");
			continue;
		}
		if (text[i] == '\'' || text[i] == '\\')
			strbuf_putc(out, '\\');
		strbuf_putc(out, text[i]);
	}
	strbuf_putc(out, '\'');
}

void clickhouse_put_u16(struct strbuf *out, uint16_t value)
{
	value = htole16(value);
	strbuf_append(out, &value, sizeof(value));
}

void clickhouse_put_u32(struct strbuf *out, uint32_t value)
{
	value = htole32(value);
	strbuf_append(out, &value, sizeof(value));
}

void clickhouse_put_u64(struct strbuf *out, uint64_t value)
{
	value = htole64(value);
	strbuf_append(out, &value, sizeof(value));
}

void clickhouse_put_string(struct strbuf *out, const void *bytes, size_t len)
{
	varint_put(out, len);
	strbuf_append(out, bytes, len);
}

/* What follows a backslash; -1: nothing that a server writes. */
static int unescape(char c)
{
	static const char letters[] = "bfnrt0'\\", bytes[] = "\b\f\n\r\t\0'\\";
	const char *at = c ? strchr(letters, c) : NULL;

	return at ? (unsigned char)bytes[at - letters] : -1;
}

/* One field, up to a tab or the end; *at moves behind it. */
static int take_field(char **at, const char *end, struct clickhouse_field *field)
{
	char *from = *at, *to = *at;

	field->text = to;
	for (; from < end && *from != '\t'; from++) {
		int byte = (unsigned char)*from;

		if (byte == '\\') {
			byte = ++from < end ? unescape(*from) : -1;
			if (byte < 0)
				return -EBADMSG;
		}
		*to++ = (char)byte;
	}
	field->len = (size_t)(to - field->text);
	*at = from;
	*to = '\0';
	return 0;
}

int clickhouse_split_row(char *line, size_t len, struct clickhouse_field *fields, size_t cnt)
{
	const char *end = line + len;
	char *at = line;

	for (size_t i = 0; i < cnt; i++) {
		/* The NUL behind a field may stand where its tab was. */
		if (i && at++ >= end)
			return -EBADMSG;
		if (take_field(&at, end, &fields[i]))
			return -EBADMSG;
	}
	return at == end ? 0 : -EBADMSG;
}

int clickhouse_field_u64(const struct clickhouse_field *field, uint64_t *out)
{
	return parse_u64_n(field->text, field->len, 10, out) ? -EBADMSG : 0;
}

int clickhouse_field_array(const struct clickhouse_field *field, uint64_t *out, size_t max)
{
	const char *at = field->text + 1, *end = field->text + field->len - 1;
	size_t cnt = 0;

	if (field->len < 2 || field->text[0] != '[' || *end != ']')
		return -EBADMSG;
	memset(out, 0, max * sizeof(*out));
	while (at < end) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		const char *stop = comma ? comma : end;

		if (cnt == max || parse_u64_n(at, (size_t)(stop - at), 10, &out[cnt++]) ||
		    comma == end - 1)
			return -EBADMSG;
		at = comma ? comma + 1 : end;
	}
	return 0;
}

uint32_t clickhouse_error_code(const char *text)
{
	static const char begin[] = "Code: ";
	size_t digits;
	uint64_t code;

	if (strncmp(text, begin, strlen(begin)) != 0)
		return 0;
	text += strlen(begin);
	digits = strspn(text, "0123456789");
	if ((text[digits] != ',' && text[digits] != '.') || parse_u64_n(text, digits, 10, &code) ||
	    code > UINT32_MAX)
		return 0;
	return (uint32_t)code;
}

#define EXCEPTION "Exception: "

void clickhouse_error_words(const char *text, char *out, size_t out_len)
{
	static const char *const ends[] = { ", e.what()", ", Stack trace", " (version " };
	const char *begin = strstr(text, "DB::"); /* DB::Exception, DB::NetException, ... */
	size_t len;

	begin = begin ? strstr(begin, EXCEPTION) : NULL;
	begin = begin ? begin + strlen(EXCEPTION) : text;
	len = strlen(begin);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		const char *end = strstr(begin, ends[i]);

		if (end && (size_t)(end - begin) < len)
			len = (size_t)(end - begin);
	}
	remote_words(begin, len, out, out_len);
}
