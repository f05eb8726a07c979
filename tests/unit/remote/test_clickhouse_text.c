// SPDX-License-Identifier: Apache-2.0
/* Texts for and from ClickHouse: no bytes leave their string, and no row of a server is trusted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "user/remote/clickhouse_text.h"
#include "user/util/cleanup.h"

static void quoted_text_stays_one_string(void **state)
{
	static const char hostile[] = "a'b\\c\0d\n'; DROP";
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;

	(void)state;
	clickhouse_quote(&out, hostile, sizeof(hostile) - 1);
	assert_int_equal(strbuf_error(&out), 0);
	assert_string_equal(out.data, "'a\\'b\\\\c\\0d\n\\'; DROP'");
}

static void values_are_little_endian_and_strings_have_their_length(void **state)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	static const uint8_t bytes[] = { 3, 0, 4, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 2, 'a', 0 };

	(void)state;
	clickhouse_put_u16(&out, 3);
	clickhouse_put_u32(&out, 4);
	clickhouse_put_u64(&out, 5);
	clickhouse_put_string(&out, "a", 2);
	assert_int_equal(out.len, sizeof(bytes));
	assert_memory_equal(out.data, bytes, sizeof(bytes));
}

static void row_is_split_and_its_escapes_are_taken_back(void **state)
{
	char line[] = "a\\tb\t\\0\\n\\\\\\'\t\tend";
	struct clickhouse_field fields[4];

	(void)state;
	assert_int_equal(clickhouse_split_row(line, sizeof(line) - 1, fields, 4), 0);
	assert_string_equal(fields[0].text, "a\tb");
	assert_int_equal(fields[1].len, 4);
	assert_memory_equal(fields[1].text, "\0\n\\'", 5);
	assert_int_equal(fields[2].len, 0);
	assert_string_equal(fields[3].text, "end");
}

static void row_with_other_fields_or_a_broken_escape_is_refused(void **state)
{
	static const char *const rows[] = { "a", "a\tb\tc", "a\tb\\", "a\\x\tb", "" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct clickhouse_field fields[2];
		char line[16];

		strcpy(line, rows[i]);
		assert_int_equal(clickhouse_split_row(line, strlen(line), fields, 2), -EBADMSG);
	}
}

static void numbers_and_arrays_are_read_strictly(void **state)
{
	static const struct {
		const char *text;
		int err;
		uint64_t values[3];
	} rows[] = {
		{ "[]", 0, { 0, 0, 0 } },
		{ "[7]", 0, { 7, 0, 0 } },
		{ "[1,2,18446744073709551615]", 0, { 1, 2, UINT64_MAX } },
		{ "[1,2,3,4]", -EBADMSG, { 0 } },
		{ "[1,]", -EBADMSG, { 0 } },
		{ "[,1]", -EBADMSG, { 0 } },
		{ "[-1]", -EBADMSG, { 0 } },
		{ "[", -EBADMSG, { 0 } },
		{ "1", -EBADMSG, { 0 } },
	};
	uint64_t value;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct clickhouse_field field = { .text = (char *)rows[i].text,
						  .len = strlen(rows[i].text) };
		uint64_t values[3] = { 9, 9, 9 };

		assert_int_equal(clickhouse_field_array(&field, values, 3), rows[i].err);
		if (!rows[i].err)
			assert_memory_equal(values, rows[i].values, sizeof(values));
	}
	assert_int_equal(
		clickhouse_field_u64(&(struct clickhouse_field){ (char[]){ "12" }, 2 }, &value), 0);
	assert_true(value == 12);
	assert_int_equal(clickhouse_field_u64(&(struct clickhouse_field){ (char[]){ "1x" }, 2 },
					      &value),
			 -EBADMSG);
}

static void errors_of_old_and_new_servers_have_a_number_and_words(void **state)
{
	static const struct {
		const char *text, *words;
		uint32_t code;
	} rows[] = {
		{ "Code: 193, e.displayText() = DB::Exception: Wrong password for user a, "
		  "e.what() = DB::Exception\n",
		  "Wrong password for user a", 193 },
		{ "Code: 516. DB::Exception: a: Authentication failed (version 24.1)\n",
		  "a: Authentication failed", 516 },
		{ "Code: 279, e.displayText() = DB::NetException: All tries failed. Log: \n\nCode: 209",
		  "All tries failed. Log: ", 279 },
		{ "not found\nat all", "not found", 0 },
		{ "Code: x", "Code: x", 0 },
		{ "Code: 60, red \033[31m\x7f\tx", "Code: 60, red ?[31m??x", 60 },
		{ "Code: 5000000000, a", "Code: 5000000000, a", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char words[64];

		assert_int_equal(clickhouse_error_code(rows[i].text), rows[i].code);
		clickhouse_error_words(rows[i].text, words, sizeof(words));
		assert_string_equal(words, rows[i].words);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quoted_text_stays_one_string),
		cmocka_unit_test(values_are_little_endian_and_strings_have_their_length),
		cmocka_unit_test(row_is_split_and_its_escapes_are_taken_back),
		cmocka_unit_test(row_with_other_fields_or_a_broken_escape_is_refused),
		cmocka_unit_test(numbers_and_arrays_are_read_strictly),
		cmocka_unit_test(errors_of_old_and_new_servers_have_a_number_and_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
