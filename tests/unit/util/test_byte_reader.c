// SPDX-License-Identifier: Apache-2.0
/* The cursor over foreign bytes: little-endian, and never past the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "user/util/byte_reader.h"
#include "user/util/cleanup.h"

static const uint8_t bytes[] = { 1,    2,    3,	   4,	 5,    6,    7,	   8,
				 0xff, 0xfe, 0xfd, 0xfc, 0xfb, 0xfa, 0xf9, 0xf8 };

static void numbers_are_little_endian(void **state)
{
	struct byte_reader reader = byte_reader_init(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(byte_reader_u8(&reader), 0x01);
	assert_int_equal(byte_reader_u16(&reader), 0x0302);
	assert_int_equal(byte_reader_u32(&reader), 0x07060504);
	assert_int_equal(byte_reader_u8(&reader), 0x08);
	assert_true(byte_reader_u64(&reader) == 0xf8f9fafbfcfdfeff);
	assert_int_equal(reader.left, 0);
	assert_false(reader.failed);
}

static void reading_past_the_end_fails_for_good(void **state)
{
	(void)state;
	for (size_t len = 0; len < 8; len++) {
		/* Exactly allocated, so that ASan sees a step too far. */
		__cleanup_free uint8_t *copy = malloc(len + 1);
		struct byte_reader reader;

		memcpy(copy + 1, bytes, len);
		reader = byte_reader_init(copy + 1, len);
		assert_int_equal(byte_reader_u64(&reader), 0);
		assert_true(reader.failed);
		assert_int_equal(reader.left, len);
		assert_ptr_equal(reader.at, copy + 1);
		/* What would fit is not read either. */
		assert_int_equal(byte_reader_u8(&reader), 0);
		assert_null(byte_reader_take(&reader, 0));
		assert_int_equal(reader.left, len);
	}
}

static void taken_bytes_are_borrowed(void **state)
{
	struct byte_reader reader = byte_reader_init(bytes, sizeof(bytes));

	(void)state;
	assert_ptr_equal(byte_reader_take(&reader, 0), bytes);
	assert_ptr_equal(byte_reader_take(&reader, 5), bytes);
	assert_ptr_equal(byte_reader_take(&reader, 11), bytes + 5);
	assert_false(reader.failed);
	assert_non_null(byte_reader_take(&reader, 0));
	assert_null(byte_reader_take(&reader, 1));
	assert_true(reader.failed);
}

static void huge_lengths_do_not_wrap(void **state)
{
	struct byte_reader reader = byte_reader_init(bytes, sizeof(bytes));

	(void)state;
	assert_null(byte_reader_take(&reader, SIZE_MAX));
	assert_true(reader.failed);
	reader = byte_reader_init(bytes, sizeof(bytes));
	assert_null(byte_reader_take(&reader, sizeof(bytes) + 1));
	assert_true(reader.failed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_little_endian),
		cmocka_unit_test(reading_past_the_end_fails_for_good),
		cmocka_unit_test(taken_bytes_are_borrowed),
		cmocka_unit_test(huge_lengths_do_not_wrap),
	};

	return cmocka_run_group_tests_name("util_byte_reader", tests, NULL, NULL);
}
