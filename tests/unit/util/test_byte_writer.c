// SPDX-License-Identifier: Apache-2.0
/* Little-endian numbers and bytes, appended until the first error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "user/util/byte_reader.h"
#include "user/util/byte_writer.h"

static void byte_writer_appends_little_endian(void **state)
{
	static const uint8_t expected[] = { 'x', 0x01, 0x03, 0x02, 0x07, 0x06, 0x05, 0x04,
					    'a', 'b',  2,    0,	   'c',	 'd',  0,    0 };
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct byte_writer writer;

	(void)state;
	strbuf_putc(&out, 'x');
	writer = byte_writer_init(&out);
	byte_writer_uint(&writer, 0xff01, 1);
	byte_writer_uint(&writer, 0x0203, 2);
	byte_writer_uint(&writer, 0x04050607, 4);
	byte_writer_bytes(&writer, "ab", 2);
	byte_writer_bytes(&writer, NULL, 0);
	byte_writer_text(&writer, "cde", 2);
	byte_writer_text(&writer, NULL, 0);
	assert_int_equal(byte_writer_end(&writer), 0);
	assert_int_equal(out.len, sizeof(expected));
	assert_memory_equal(out.data, expected, sizeof(expected));
}

static void byte_writer_writes_what_byte_reader_reads(void **state)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct byte_writer writer = byte_writer_init(&out);
	struct byte_reader reader;

	(void)state;
	byte_writer_uint(&writer, UINT64_MAX - 1, 8);
	byte_writer_uint(&writer, UINT32_MAX - 2, 4);
	reader = byte_reader_init(out.data, out.len);
	assert_true(byte_reader_u64(&reader) == UINT64_MAX - 1);
	assert_true(byte_reader_u32(&reader) == UINT32_MAX - 2);
	assert_int_equal(reader.left, 0);
}

static void byte_writer_takes_all_back_after_an_error(void **state)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	struct byte_writer writer;

	(void)state;
	strbuf_puts(&out, "kept");
	writer = byte_writer_init(&out);
	byte_writer_uint(&writer, 1, 8);
	byte_writer_bytes(&writer, "", SIZE_MAX); /* no memory is so large */
	byte_writer_uint(&writer, 2, 8);
	assert_int_equal(out.len, 4 + 8);
	assert_int_equal(byte_writer_end(&writer), -ENOMEM);
	assert_string_equal(out.data, "kept");
	/* The caller's own error is as good. */
	writer = byte_writer_init(&out);
	strbuf_fail(&out, -E2BIG);
	byte_writer_text(&writer, "text", 4);
	assert_int_equal(byte_writer_end(&writer), -E2BIG);
	assert_string_equal(out.data, "kept");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(byte_writer_appends_little_endian),
		cmocka_unit_test(byte_writer_writes_what_byte_reader_reads),
		cmocka_unit_test(byte_writer_takes_all_back_after_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
