// SPDX-License-Identifier: Apache-2.0
/* JSON into a strbuf, see json_writer.h. */
#include "user/output/json_writer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "user/output/escape.h"

#define JSON_NUMBER_MAX 1.797693134e308

static void json_raw(struct json_writer *json, const char *text, size_t len)
{
	strbuf_append(json->out, text, len);
}

static void json_break(struct json_writer *json)
{
	if (json->needs_newline)
		json_raw(json, "\n", 1);
	json->needs_newline = false;
}

static void json_comma(struct json_writer *json)
{
	if (json->needs_comma)
		json_raw(json, ",", 1);
	json->needs_comma = true;
	json_break(json);
}

void json_writer_begin(struct json_writer *json, char bracket)
{
	json_comma(json);
	json_raw(json, &bracket, 1);
	json->needs_comma = false;
}

void json_writer_end(struct json_writer *json, char bracket)
{
	json_break(json);
	json_raw(json, &bracket, 1);
	json->needs_comma = true;
}

void json_writer_key(struct json_writer *json, const char *key)
{
	json_comma(json);
	json_raw(json, "\"", 1);
	json_raw(json, key, strlen(key));
	json_raw(json, "\":", 2);
	json->needs_comma = false;
}

void json_writer_string_n(struct json_writer *json, const char *text, size_t len)
{
	json_comma(json);
	json_raw(json, "\"", 1);
	escape_json(json->out, text, len);
	json_raw(json, "\"", 1);
}

void json_writer_string(struct json_writer *json, const char *text)
{
	json_writer_string_n(json, text, strlen(text));
}

void json_writer_u64(struct json_writer *json, uint64_t value)
{
	json_comma(json);
	strbuf_printf(json->out, "%" PRIu64, value);
}

void json_writer_member_begin(struct json_writer *json, const char *key, char bracket)
{
	json_writer_key(json, key);
	json_writer_begin(json, bracket);
}

void json_writer_member_string(struct json_writer *json, const char *key, const char *text)
{
	json_writer_key(json, key);
	if (text)
		json_writer_string(json, text);
	else
		json_writer_null(json);
}

void json_writer_member_text(struct json_writer *json, const char *key, const struct strbuf *text)
{
	strbuf_fail(json->out, strbuf_error(text));
	json_writer_key(json, key);
	json_writer_string_n(json, strbuf_str(text), text->len);
}

void json_writer_member_u64(struct json_writer *json, const char *key, uint64_t value)
{
	json_writer_key(json, key);
	json_writer_u64(json, value);
}

void json_writer_decimal(struct json_writer *json, double value)
{
	json_comma(json);
	strbuf_printf(json->out, "%.3f", value);
}

void json_writer_null(struct json_writer *json)
{
	json_comma(json);
	json_raw(json, "null", 4);
}

void json_writer_number(struct json_writer *json, double value)
{
	/* The largest of all would be rounded up, to what is read as infinite or not at all. */
	if (!isfinite(value) || fabs(value) > JSON_NUMBER_MAX) {
		json_writer_null(json);
		return;
	}
	json_comma(json);
	strbuf_printf(json->out, "%.10g", value);
}

void json_writer_member_number(struct json_writer *json, const char *key, double value)
{
	json_writer_key(json, key);
	json_writer_number(json, value);
}

void json_writer_member_bool(struct json_writer *json, const char *key, bool value)
{
	json_writer_key(json, key);
	json_comma(json);
	json_raw(json, value ? "true" : "false", value ? 4 : 5);
}

void json_writer_newline(struct json_writer *json)
{
	json->needs_newline = true;
}
