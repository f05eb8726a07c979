/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON into a strbuf: commas and escapes are the writer's business, nesting is the caller's. Errors
 * are the buffer's (see strbuf.h), so callers check once, at the end.
 *
 *     struct json_writer json = { .out = out };
 *     json_writer_begin(&json, '{');
 *     json_writer_key(&json, "samples");
 *     json_writer_u64(&json, 12);
 *     json_writer_end(&json, '}');
 *     return strbuf_error(out);
 */
#ifndef JBPF_OUTPUT_JSON_WRITER_H
#define JBPF_OUTPUT_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/strbuf.h"

struct json_writer {
	struct strbuf *out; /* borrowed */
	bool needs_comma;
	bool needs_newline;
};

/* '{' or '['. */
void json_writer_begin(struct json_writer *json, char bracket);
/* '}' or ']'. */
void json_writer_end(struct json_writer *json, char bracket);
/* `key` is a plain literal of ours, not escaped. */
void json_writer_key(struct json_writer *json, const char *key);
void json_writer_string(struct json_writer *json, const char *text);
void json_writer_string_n(struct json_writer *json, const char *text, size_t len);
void json_writer_u64(struct json_writer *json, uint64_t value);
/* Three decimals. */
void json_writer_decimal(struct json_writer *json, double value);
/* Ten digits; null when it is not finite. */
void json_writer_number(struct json_writer *json, double value);
void json_writer_null(struct json_writer *json);
/* A key and its value in one; of objects and arrays, the bracket that begins it. */
void json_writer_member_begin(struct json_writer *json, const char *key, char bracket);
/* null when `text` is NULL. */
void json_writer_member_string(struct json_writer *json, const char *key, const char *text);
/* A text whose error is the writer's, too. */
void json_writer_member_text(struct json_writer *json, const char *key, const struct strbuf *text);
void json_writer_member_u64(struct json_writer *json, const char *key, uint64_t value);
void json_writer_member_number(struct json_writer *json, const char *key, double value);
void json_writer_member_bool(struct json_writer *json, const char *key, bool value);
/* The next element or bracket starts a line, so that the text can be read and compared. */
void json_writer_newline(struct json_writer *json);

#endif
