// SPDX-License-Identifier: Apache-2.0
/* The code of the moments of stacks: there and back, and nothing that is no such code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "user/model/ticks.h"
#include "user/util/cleanup.h"

static void ticks_come_back_in_order(void **state)
{
	static const struct tick ticks[] = { { 0, 7 },	 { 0, 3 },	{ 10, 0 },
					     { 200, 7 }, { 9990, 299 }, { TICKS_MAX_MS, 1 } };
	__cleanup_strbuf struct strbuf code = STRBUF_INIT;
	struct ticks_reader reader;
	struct tick tick;

	(void)state;
	assert_int_equal(ticks_encode(ticks, ARRAY_SIZE(ticks), 300, &code), 0);
	assert_int_equal(ticks_reader_open(&reader, (const uint8_t *)code.data, code.len), 0);
	assert_int_equal(reader.line_cnt, 300);
	for (size_t i = 0; i < ARRAY_SIZE(ticks); i++) {
		assert_true(ticks_next(&reader, &tick));
		assert_int_equal(tick.ms, ticks[i].ms);
		assert_int_equal(tick.line, ticks[i].line);
	}
	assert_false(ticks_next(&reader, &tick));
}

static void what_is_out_of_order_or_place_has_no_code(void **state)
{
	static const struct tick falls[] = { { 5, 0 }, { 4, 0 } },
				 late[] = { { TICKS_MAX_MS + 1, 0 } };
	static const struct tick outside[] = { { 0, 2 } };
	__cleanup_strbuf struct strbuf code = STRBUF_INIT;

	(void)state;
	strbuf_puts(&code, "x");
	assert_int_equal(ticks_encode(falls, 2, 2, &code), -EINVAL);
	assert_int_equal(ticks_encode(late, 1, 2, &code), -EINVAL);
	assert_int_equal(ticks_encode(outside, 1, 2, &code), -EINVAL);
	assert_string_equal(strbuf_str(&code), "x");
	assert_int_equal(ticks_encode(NULL, 0, 0, &code), 0);
	assert_int_equal(code.len, 3);
}

static void what_is_no_code_is_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} rows[] = {
		{ "", 0 },
		{ "\2", 1 },			     /* no number of ticks */
		{ "\2\1\0", 3 },		     /* no line */
		{ "\2\1\0\2", 4 },		     /* a line that there is not */
		{ "\2\1\0\0\0", 5 },		     /* something behind it */
		{ "\2\2\1\1\0", 5 },		     /* one line of two */
		{ "\2\xff\xff\xff\xff\x0f\0\0", 8 }, /* more than there is room for */
		{ "\xff\xff\xff\xff\x7f\1\0\0", 8 }, /* more than 32 bits of lines */
		{ "\2\1\x81\xdd\xdb\1\0", 7 },	     /* after the hour */
		{ "\2\2\x80\xdd\xdb\1\1\0\0", 9 },   /* the same, together */
	};
	struct ticks_reader reader;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(ticks_reader_open(&reader, (const uint8_t *)rows[i].bytes,
						   rows[i].len),
				 -EINVAL);
	assert_int_equal(ticks_reader_open(&reader, (const uint8_t *)"\2\1\x80\xdd\xdb\1\0", 7), 0);
}

static void codes_of_several_windows_are_taken_one_by_one(void **state)
{
	static const uint8_t codes[] = "\4\2\1\0\1\0\2\0\0";
	struct varint_reader at = varint_reader_init(codes, sizeof(codes) - 1);
	const uint8_t *code;
	size_t len;

	(void)state;
	assert_true(ticks_take(&at, &code, &len));
	assert_ptr_equal(code, codes + 1);
	assert_int_equal(len, 4);
	assert_true(ticks_take(&at, &code, &len));
	assert_null(code);
	assert_int_equal(len, 0);
	assert_true(ticks_take(&at, &code, &len));
	assert_int_equal(len, 2);
	assert_ptr_equal(at.at, at.end);
	assert_false(ticks_take(&at, &code, &len));
	at = varint_reader_init("\5\2\1\0\1", 5); /* cut */
	assert_false(ticks_take(&at, &code, &len));
	at = varint_reader_init("\4\2\1\0\2", 5); /* no such line */
	assert_false(ticks_take(&at, &code, &len));
}

static void they_sort_by_time_then_line(void **state)
{
	struct tick ticks[] = { { 3, 1 }, { 1, 9 }, { 3, 0 }, { 0, 5 } };
	static const struct tick sorted[] = { { 0, 5 }, { 1, 9 }, { 3, 0 }, { 3, 1 } };

	(void)state;
	qsort(ticks, ARRAY_SIZE(ticks), sizeof(ticks[0]), ticks_compare);
	assert_memory_equal(ticks, sorted, sizeof(sorted));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ticks_come_back_in_order),
		cmocka_unit_test(what_is_out_of_order_or_place_has_no_code),
		cmocka_unit_test(what_is_no_code_is_refused),
		cmocka_unit_test(codes_of_several_windows_are_taken_one_by_one),
		cmocka_unit_test(they_sort_by_time_then_line),
	};

	return cmocka_run_group_tests_name("ticks", tests, NULL, NULL);
}
