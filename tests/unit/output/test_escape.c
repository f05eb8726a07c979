// SPDX-License-Identifier: Apache-2.0
/* What each kind of output does to bytes that mean something to its reader. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "user/output/escape.h"
#include "user/output/json_writer.h"
#include "user/util/utf8.h"

struct escape_row {
	const char *in;
	const char *html;
	const char *json;
	const char *terminal;
};

static const struct escape_row escape_rows[] = {
	{ "", "", "", "" },
	{ "Cart.add", "Cart.add", "Cart.add", "Cart.add" },
	{ "<b>&\"'", "&lt;b&gt;&amp;&quot;&#39;", "\\u003cb\\u003e\\u0026\\\"'", "<b>&\"'" },
	{ "a\\b", "a\\b", "a\\\\b", "a\\b" },
	{ "\x1b[2J\r\n\t\x7f", "_[2J____", "_[2J____", "_[2J____" },
	{ "\xc2\x9b"
	  "31m",
	  "_31m", "_31m", "_31m" },
	{ "\xe2\x80\xa8\xe2\x80\xa9", "__", "__", "__" },
	/* What reorders, what is not seen, a tag: two names would look the same. */
	{ "\xe2\x80\xae"
	  "abc\xe2\x80\x8b\xef\xbb\xbf\xf3\xa0\x81\x81",
	  "_abc___", "_abc___", "_abc___" },
	{ "\xf0\x9f\x98\x80\xc3\xa9", "\xf0\x9f\x98\x80\xc3\xa9", "\xf0\x9f\x98\x80\xc3\xa9",
	  "\xf0\x9f\x98\x80\xc3\xa9" },
	/* Not UTF-8: lone byte, overlong, surrogate, past the end, cut short. */
	{ "\xff", "?", "?", "?" },
	{ "\xc0\x80", "??", "??", "??" },
	{ "\xe0\x80\x80", "???", "???", "???" },
	{ "\xed\xa0\x80", "???", "???", "???" },
	{ "\xf4\x90\x80\x80", "????", "????", "????" },
	{ "a\xe2\x82", "a??", "a??", "a??" },
	/* XML 1.0 has neither of these (2.2 Characters); all else has. */
	{ "\xef\xbf\xbe", "?", "\xef\xbf\xbe", "\xef\xbf\xbe" },
	{ "\xef\xbf\xbf", "?", "\xef\xbf\xbf", "\xef\xbf\xbf" },
};

typedef void (*escape_function)(struct strbuf *out, const char *text, size_t len);

static void check_escape(escape_function function, const char *in, const char *expected)
{
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;

	function(&out, in, strlen(in));
	assert_int_equal(strbuf_error(&out), 0);
	assert_string_equal(strbuf_str(&out), expected);
}

static void names_are_inert_in_every_format(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(escape_rows) / sizeof(escape_rows[0]); i++) {
		check_escape(escape_html, escape_rows[i].in, escape_rows[i].html);
		check_escape(escape_json, escape_rows[i].in, escape_rows[i].json);
		check_escape(escape_terminal, escape_rows[i].in, escape_rows[i].terminal);
	}
}

static void a_zero_byte_inside_a_name_is_replaced(void **state)
{
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;

	(void)state;
	escape_json(&out, "a\0b", 3);
	assert_string_equal(strbuf_str(&out), "a_b");
}

static void a_name_that_is_too_long_loses_its_middle(void **state)
{
	static const struct {
		const char *in;
		size_t columns;
		const char *out;
	} rows[] = {
		{ "com.acme.Shop.checkout", 0, "com.acme.Shop.checkout" },
		{ "com.acme.Shop.checkout", 22, "com.acme.Shop.checkout" },
		{ "com.acme.Shop.checkout", 21, "com.ac\u2026.Shop.checkout" },
		{ "com.acme.Shop.checkout", 10, "com\u2026eckout" },
		{ "\u00e4\u00f6\u00fc\u00e4\u00f6\u00fc", 4, "\u00e4\u2026\u00f6\u00fc" },
		{ "a\x1b[2J\xff\xff\xffz", 4, "a\u2026?z" },
		{ "abc", 1, "\u2026" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct strbuf out __cleanup_strbuf = STRBUF_INIT;

		escape_terminal_within(&out, rows[i].in, strlen(rows[i].in), rows[i].columns);
		assert_int_equal(strbuf_error(&out), 0);
		assert_string_equal(strbuf_str(&out), rows[i].out);
	}
}

/* Whatever the bytes are, the result is UTF-8 without control characters. */
static void every_pair_of_bytes_becomes_clean_text(void **state)
{
	(void)state;
	for (unsigned pair = 0; pair < 65536; pair++) {
		char in[2] = { (char)(pair >> 8), (char)pair };
		struct strbuf out __cleanup_strbuf = STRBUF_INIT;
		size_t at = 0;

		escape_html(&out, in, sizeof(in));
		while (at < out.len) {
			uint32_t code;

			at += utf8_next(out.data + at, out.len - at, &code);
			assert_true(code != UTF8_BAD_BYTE && code >= 0x20 && code != 0x7f &&
				    (code < 0x80 || code > 0x9f));
		}
	}
}

static void json_places_commas_and_line_breaks(void **state)
{
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;
	struct json_writer json = { .out = &out };

	(void)state;
	json_writer_begin(&json, '{');
	json_writer_key(&json, "empty");
	json_writer_begin(&json, '[');
	json_writer_end(&json, ']');
	json_writer_key(&json, "list");
	json_writer_begin(&json, '[');
	json_writer_newline(&json);
	json_writer_u64(&json, UINT64_MAX);
	json_writer_newline(&json);
	json_writer_null(&json);
	json_writer_newline(&json);
	json_writer_end(&json, ']');
	json_writer_key(&json, "half");
	json_writer_decimal(&json, 0.5);
	json_writer_key(&json, "text");
	json_writer_string(&json, "a\"b");
	json_writer_end(&json, '}');
	assert_int_equal(strbuf_error(&out), 0);
	assert_string_equal(strbuf_str(&out), "{\"empty\":[],\"list\":[\n18446744073709551615,\n"
					      "null\n],\"half\":0.500,\"text\":\"a\\\"b\"}");
}

static void json_numbers_are_those_that_readers_can_hold(void **state)
{
	static const struct {
		double value;
		const char *text;
	} rows[] = { { 0.1, "0.1" },
		     { -2.5e300, "-2.5e+300" },
		     { 1.5e308, "1.5e+308" },
		     { DBL_MAX, "null" },
		     { -DBL_MAX, "null" },
		     { (double)INFINITY, "null" },
		     { -(double)INFINITY, "null" },
		     { (double)NAN, "null" } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct strbuf out __cleanup_strbuf = STRBUF_INIT;
		struct json_writer json = { .out = &out };

		json_writer_number(&json, rows[i].value);
		assert_string_equal(strbuf_str(&out), rows[i].text);
	}
}

static void json_keeps_its_first_error(void **state)
{
	struct strbuf out __cleanup_strbuf = STRBUF_INIT;
	struct json_writer json = { .out = &out };

	(void)state;
	strbuf_fail(&out, -12);
	json_writer_begin(&json, '{');
	json_writer_key(&json, "a");
	json_writer_string(&json, "b");
	json_writer_end(&json, '}');
	assert_int_equal(strbuf_error(&out), -12);
	assert_int_equal(out.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_inert_in_every_format),
		cmocka_unit_test(a_zero_byte_inside_a_name_is_replaced),
		cmocka_unit_test(a_name_that_is_too_long_loses_its_middle),
		cmocka_unit_test(every_pair_of_bytes_becomes_clean_text),
		cmocka_unit_test(json_places_commas_and_line_breaks),
		cmocka_unit_test(json_numbers_are_those_that_readers_can_hold),
		cmocka_unit_test(json_keeps_its_first_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
