// SPDX-License-Identifier: Apache-2.0
/* Numbers in few bytes: what is written reads the same, and foreign bytes are never trusted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "user/util/cleanup.h"
#include "user/util/varint.h"

static void varint_has_the_bytes_of_leb128(void **state)
{
	static const struct {
		uint64_t value;
		uint8_t bytes[VARINT_MAX_BYTES];
		size_t len;
	} rows[] = {
		{ 0, { 0 }, 1 },
		{ 127, { 0x7f }, 1 },
		{ 128, { 0x80, 1 }, 2 },
		{ 300, { 0xac, 2 }, 2 },
		{ 1ull << 63, { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1 }, 10 },
		{ UINT64_MAX, { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1 }, 10 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__cleanup_strbuf struct strbuf out = STRBUF_INIT;
		struct varint_reader reader;

		varint_put(&out, rows[i].value);
		assert_int_equal(out.len, rows[i].len);
		assert_int_equal(varint_len(rows[i].value), rows[i].len);
		assert_memory_equal(out.data, rows[i].bytes, rows[i].len);
		reader = varint_reader_init(out.data, out.len);
		assert_true(varint_get(&reader) == rows[i].value);
		assert_false(reader.failed);
		assert_ptr_equal(reader.at, reader.end);
	}
}

static void varint_that_is_cut_off_or_too_long_fails_for_good(void **state)
{
	static const struct {
		uint8_t bytes[12];
		size_t len;
	} rows[] = {
		{ { 0 }, 0 },
		{ { 0x80 }, 1 },
		{ { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0 }, 12 },
		{ { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0 }, 12 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct varint_reader reader = varint_reader_init(rows[i].bytes, rows[i].len);

		assert_true(varint_get(&reader) == 0);
		assert_true(reader.failed);
		assert_true(varint_get(&reader) == 0);
		assert_null(varint_reader_take(&reader, 0));
	}
}

static void varint_reader_lends_bytes_that_are_there(void **state)
{
	static const uint8_t bytes[] = { 1, 2, 3 };
	struct varint_reader reader = varint_reader_init(bytes, sizeof(bytes));

	(void)state;
	assert_ptr_equal(varint_reader_take(&reader, 2), bytes);
	assert_int_equal(varint_get(&reader), 3);
	assert_null(varint_reader_take(&reader, UINT64_MAX));
	assert_true(reader.failed);
}

static void zigzag_makes_small_differences_small(void **state)
{
	static const int64_t values[] = { 0, -1, 1, -2, 2, INT64_MAX, INT64_MIN };
	static const uint64_t codes[] = { 0, 1, 2, 3, 4, UINT64_MAX - 1, UINT64_MAX };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		assert_true(zigzag((uint64_t)values[i]) == codes[i]);
		assert_true(unzigzag(codes[i]) == (uint64_t)values[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(varint_has_the_bytes_of_leb128),
		cmocka_unit_test(varint_that_is_cut_off_or_too_long_fails_for_good),
		cmocka_unit_test(varint_reader_lends_bytes_that_are_there),
		cmocka_unit_test(zigzag_makes_small_differences_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
