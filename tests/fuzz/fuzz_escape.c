// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes made inert for HTML, JSON and terminals. HTML has no character that means something
 * but its own entities, JSON is what jansson reads back, a terminal gets nothing that moves a
 * cursor; and all three say the same as a slow decoder written from RFC 3629. Sequences of calls of
 * the JSON writer give a text that jansson takes.
 *
 * Input: one byte (odd: calls of the writer), then text or calls.
 */
#include <jansson.h>

#include "tests/fuzz/fuzz.h"
#include "user/output/escape.h"
#include "user/output/json_writer.h"
#include "user/util/utf8.h"

#define DEPTH_MAX 30

/* What is left of a text when what deceives is "_" and broken bytes "?". */
static void sanitize(const char *text, size_t len, struct strbuf *out)
{
	for (size_t at = 0; at < len;) {
		uint32_t code;
		size_t size = fuzz_utf8(text + at, len - at, &code);

		if (!size)
			strbuf_putc(out, '?');
		else if (utf8_is_deceptive(code))
			strbuf_putc(out, '_');
		else
			strbuf_append(out, text + at, size);
		at += size ? size : 1;
	}
}

/* The character an entity stands for; 0 = it is none. */
static char entity(const char *text, size_t *len)
{
	static const struct {
		const char *text;
		char c;
	} entities[] = { { "&lt;", '<' },
			 { "&gt;", '>' },
			 { "&amp;", '&' },
			 { "&quot;", '"' },
			 { "&#39;", '\'' } };

	for (size_t i = 0; i < 5; i++) {
		*len = strlen(entities[i].text);
		if (strncmp(text, entities[i].text, *len) == 0)
			return entities[i].c;
	}
	return 0;
}

static void check_html(const char *text, size_t len, const struct strbuf *clean)
{
	struct strbuf out __cleanup_strbuf = STRBUF_INIT, back __cleanup_strbuf = STRBUF_INIT;

	escape_html(&out, text, len);
	for (size_t at = 0; at < out.len;) {
		size_t size = 1;
		char c = out.data[at];

		must(!strchr("<>\"'", c) || !c);
		if (c == '&') {
			c = entity(out.data + at, &size);
			must(c);
		}
		strbuf_putc(&back, c);
		at += size;
	}
	/* Two code points are no characters of XML. */
	must(!memmem(strbuf_str(&back), back.len, "\xef\xbf\xbe", 3));
	must(!memmem(strbuf_str(&back), back.len, "\xef\xbf\xbf", 3));
	if (!memmem(strbuf_str(clean), clean->len, "\xef\xbf\xbe", 3) &&
	    !memmem(strbuf_str(clean), clean->len, "\xef\xbf\xbf", 3)) {
		must(back.len == clean->len);
		must(!back.len || memcmp(back.data, clean->data, back.len) == 0);
	}
}

static void check_json(const char *text, size_t len, const struct strbuf *clean)
{
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;
	json_t *json;

	strbuf_putc(&out, '"');
	escape_json(&out, text, len);
	must(strbuf_error(&out) == 0);
	for (const char *c = "<>&"; *c; c++)
		must(!memchr(out.data, *c, out.len));
	strbuf_putc(&out, '"');
	must(!memmem(out.data, out.len, "\xe2\x80\xa8", 3));
	must(!memmem(out.data, out.len, "\xe2\x80\xa9", 3));
	json = json_loadb(out.data, out.len, JSON_DECODE_ANY, NULL);
	must(json && json_string_length(json) == clean->len);
	must(memcmp(json_string_value(json), strbuf_str(clean), clean->len) == 0);
	json_decref(json);
}

static void check_terminal(const char *text, size_t len, const struct strbuf *clean)
{
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;
	const char *left = strbuf_str(clean);

	escape_terminal(&out, text, len);
	must(fuzz_is_clean(strbuf_str(&out), out.len, ""));
	for (size_t at = 0; at < out.len;) {
		uint32_t code, clean_code;
		size_t size = fuzz_utf8(out.data + at, out.len - at, &code);
		size_t clean_size = fuzz_utf8(left, clean->len - (size_t)(left - strbuf_str(clean)),
					      &clean_code);

		/* Marks that turn or break a line. */
		must((code < 0x2028 || code > 0x202e) && (code < 0x2066 || code > 0x2069));
		must(code == clean_code || code == '_');
		at += size;
		left += clean_size;
	}
	must(left == strbuf_str(clean) + clean->len);
}

/* ---- the writer ---- */

struct calls {
	struct json_writer json;
	struct fuzz_input input;
};

static void write_value(struct calls *calls, size_t depth);

/* A value with a key before it. */
static void write_member(struct calls *calls, size_t depth)
{
	switch (fuzz_u8(&calls->input) % 4) {
	case 0:
		json_writer_member_u64(&calls->json, "u", fuzz_uint(&calls->input, 8));
		break;
	case 1:
		json_writer_member_bool(&calls->json, "b", fuzz_u8(&calls->input) & 1);
		break;
	default:
		json_writer_key(&calls->json, "k");
		write_value(calls, depth + 1);
	}
}

static void write_nested(struct calls *calls, size_t depth, bool is_object)
{
	size_t cnt = fuzz_u8(&calls->input) % 5;

	json_writer_begin(&calls->json, is_object ? '{' : '[');
	for (size_t i = 0; i < cnt && calls->input.left; i++) {
		if (is_object)
			write_member(calls, depth);
		else
			write_value(calls, depth + 1);
		if (fuzz_u8(&calls->input) & 1)
			json_writer_newline(&calls->json);
	}
	json_writer_end(&calls->json, is_object ? '}' : ']');
}

static void write_number(struct calls *calls)
{
	uint64_t bits = fuzz_uint(&calls->input, 8);
	double value;

	memcpy(&value, &bits, sizeof(value));
	json_writer_number(&calls->json, value);
}

static void write_value(struct calls *calls, size_t depth)
{
	uint8_t kind = fuzz_u8(&calls->input) % 6;
	char *text;

	if (depth >= DEPTH_MAX && kind < 2)
		kind = 2;
	switch (kind) {
	case 0:
	case 1:
		write_nested(calls, depth, kind);
		break;
	case 2:
		json_writer_u64(&calls->json, fuzz_uint(&calls->input, 4));
		break;
	case 3:
		write_number(calls);
		break;
	case 4:
		json_writer_null(&calls->json);
		break;
	default:
		text = fuzz_text(&calls->input, '\xff');
		json_writer_string(&calls->json, text);
		free(text);
	}
}

static void check_writer(struct fuzz_input input)
{
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;
	struct calls calls = { .json = { .out = &out }, .input = input };
	json_t *json;

	json_writer_begin(&calls.json, '[');
	while (calls.input.left)
		write_value(&calls, 1);
	json_writer_end(&calls.json, ']');
	must(strbuf_error(&out) == 0);
	/* Its own integers have a sign. */
	json = json_loadb(out.data, out.len, JSON_DECODE_INT_AS_REAL, NULL);
	must(json && json_is_array(json));
	json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct strbuf clean __cleanup_strbuf = STRBUF_INIT;
	struct fuzz_input input = { data, len };
	const char *text;

	if (fuzz_u8(&input) & 1) {
		check_writer(input);
		return 0;
	}
	text = (const char *)input.at;
	sanitize(text, input.left, &clean);
	check_html(text, input.left, &clean);
	check_json(text, input.left, &clean);
	check_terminal(text, input.left, &clean);
	return 0;
}
