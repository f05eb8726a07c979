// SPDX-License-Identifier: Apache-2.0
/* What gzip_append() writes is a gzip file of the bytes, whatever their number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "user/util/gzip.h"

/* The bytes of a file again; owned by the caller. */
static char *unpack(const char *file, size_t file_len, size_t len)
{
	char *bytes = malloc(len + 1);
	z_stream stream = {
		.next_in = (z_const Bytef *)file,
		.avail_in = (uInt)file_len,
		.next_out = (Bytef *)bytes,
		.avail_out = (uInt)len + 1,
	};

	assert_non_null(bytes);
	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(stream.total_out, len);
	assert_int_equal(stream.avail_in, 0);
	assert_int_equal(inflateEnd(&stream), Z_OK);
	return bytes;
}

static void expect_whole(size_t len, bool is_random)
{
	struct strbuf out = STRBUF_INIT;
	char *bytes = malloc(len + 1), *again;

	assert_non_null(bytes);
	for (size_t i = 0; i < len; i++)
		bytes[i] = is_random ? (char)(i * i * 2654435761u >> 13) : 'a';
	strbuf_puts(&out, "before");
	assert_int_equal(gzip_append(&out, bytes, len, GZIP_FASTEST), 0);
	assert_memory_equal(out.data, "before", 6);
	again = unpack(out.data + 6, out.len - 6, len);
	assert_memory_equal(again, bytes, len);
	free(again);
	free(bytes);
	strbuf_release(&out);
}

static void bytes_of_any_number_come_back(void **state)
{
	static const size_t lens[] = { 0, 1, 1000, 65535, 65536, 65537, 1000000 };

	(void)state;
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		expect_whole(lens[i], true);
		expect_whole(lens[i], false);
	}
}

static void equal_bytes_are_equal_files(void **state)
{
	struct strbuf one = STRBUF_INIT, two = STRBUF_INIT;

	(void)state;
	assert_int_equal(gzip_append(&one, "abcabcabc", 9, GZIP_USUAL), 0);
	assert_int_equal(gzip_append(&two, "abcabcabc", 9, GZIP_USUAL), 0);
	assert_int_equal(one.len, two.len);
	assert_memory_equal(one.data, two.data, one.len);
	strbuf_release(&one);
	strbuf_release(&two);
}

static void what_is_in_the_buffer_stays_when_a_file_cannot_be_made(void **state)
{
	struct strbuf out = STRBUF_INIT;

	(void)state;
	strbuf_puts(&out, "before");
	assert_int_not_equal(gzip_append(&out, "abc", 3, 99), 0); /* zlib has no such level */
	assert_string_equal(strbuf_str(&out), "before");
	assert_int_equal(strbuf_error(&out), 0);
	strbuf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_of_any_number_come_back),
		cmocka_unit_test(equal_bytes_are_equal_files),
		cmocka_unit_test(what_is_in_the_buffer_stays_when_a_file_cannot_be_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
