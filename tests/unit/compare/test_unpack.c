// SPDX-License-Identifier: Apache-2.0
/* Packed files become what was packed, damaged and oversized ones stay and are refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zstd.h>

#include "user/util/cleanup.h"
#include "user/util/gzip.h"
#include "user/compare/unpack.h"

#define LARGE (3u << 20)

static void fill(struct strbuf *out, size_t len)
{
	for (size_t i = 0; i < len; i++)
		strbuf_putc(out, (char)('a' + i * i % 23));
	assert_int_equal(strbuf_error(out), 0);
}

static void pack(bool zstd, const struct strbuf *text, struct strbuf *out)
{
	if (zstd) {
		size_t room = ZSTD_compressBound(text->len);
		__cleanup_free char *bytes = malloc(room);
		size_t len = ZSTD_compress(bytes, room, strbuf_str(text), text->len, 1);

		assert_false(ZSTD_isError(len));
		strbuf_append(out, bytes, len);
		assert_int_equal(strbuf_error(out), 0);
	} else {
		assert_int_equal(gzip_append(out, strbuf_str(text), text->len, GZIP_FASTEST), 0);
	}
}

static void assert_same(const struct strbuf *one, const struct strbuf *other)
{
	assert_int_equal(one->len, other->len);
	assert_memory_equal(strbuf_str(one), strbuf_str(other), one->len);
}

static void packed_files_become_what_was_packed(void **state)
{
	static const size_t sizes[] = { 0, 1, 1000, 256u * 1024, LARGE };

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(sizes); i++) {
		__cleanup_strbuf struct strbuf text = STRBUF_INIT;
		__cleanup_strbuf struct strbuf twice = STRBUF_INIT;
		__cleanup_strbuf struct strbuf packed = STRBUF_INIT;

		fill(&text, sizes[i / 2]);
		strbuf_add(&twice, &text);
		pack(i % 2, &text, &packed);
		assert_int_equal(unpack(&packed, LARGE), 0);
		assert_same(&packed, &text);

		strbuf_clear(&packed);
		pack(i % 2, &text, &packed);
		pack(i % 2, &text, &packed);
		strbuf_add(&twice, &text);
		assert_int_equal(unpack(&packed, 2 * LARGE), 0);
		assert_same(&packed, &twice);
	}
}

static void what_is_not_packed_stays(void **state)
{
	static const char *const texts[] = { "", "a", "\x1f", "a;b 1\n", "\x28\xb5\x2f" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;

		strbuf_puts(&bytes, texts[i]);
		assert_int_equal(unpack(&bytes, LARGE), 0);
		assert_string_equal(strbuf_str(&bytes), texts[i]);
	}
}

static void what_is_damaged_or_cut_is_refused_and_stays(void **state)
{
	(void)state;
	for (int zstd = 0; zstd < 2; zstd++) {
		__cleanup_strbuf struct strbuf text = STRBUF_INIT;
		__cleanup_strbuf struct strbuf packed = STRBUF_INIT;

		fill(&text, 5000);
		pack(zstd, &text, &packed);
		for (size_t len = zstd ? 4 : 2; len < packed.len; len++) {
			__cleanup_strbuf struct strbuf cut = STRBUF_INIT;

			strbuf_append(&cut, packed.data, len);
			assert_int_equal(unpack(&cut, LARGE), -EBADMSG);
			assert_int_equal(cut.len, len);
		}
		packed.data[zstd ? 4 : 2] ^= 0x5a;
		assert_int_equal(unpack(&packed, LARGE), -EBADMSG);
	}
}

static void more_than_there_is_room_for_is_refused(void **state)
{
	(void)state;
	for (int zstd = 0; zstd < 2; zstd++) {
		__cleanup_strbuf struct strbuf text = STRBUF_INIT;
		__cleanup_strbuf struct strbuf packed = STRBUF_INIT;

		fill(&text, LARGE);
		pack(zstd, &text, &packed);
		assert_int_equal(unpack(&packed, LARGE - 1), -EFBIG);
		assert_int_equal(unpack(&packed, 1000), -EFBIG);
		assert_int_equal(unpack(&packed, LARGE), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packed_files_become_what_was_packed),
		cmocka_unit_test(what_is_not_packed_stays),
		cmocka_unit_test(what_is_damaged_or_cut_is_refused_and_stays),
		cmocka_unit_test(more_than_there_is_room_for_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
