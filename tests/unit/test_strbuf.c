// SPDX-License-Identifier: Apache-2.0
/* Growable bytes: always terminated, all or nothing. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "user/util/strbuf.h"

static void empty_buffer_reads_as_empty_text(void **state)
{
	struct strbuf buf = STRBUF_INIT;

	(void)state;
	assert_string_equal(strbuf_str(&buf), "");
	strbuf_clear(&buf);
	strbuf_truncate(&buf, 0);
	assert_null(buf.data);
	assert_int_equal(strbuf_append(&buf, NULL, 0), 0);
	assert_string_equal(strbuf_str(&buf), "");
	strbuf_release(&buf);
	strbuf_release(&buf);
	assert_int_equal(buf.len, 0);
}

static void content_is_terminated_after_every_step(void **state)
{
	__cleanup_strbuf struct strbuf buf = STRBUF_INIT;

	(void)state;
	for (size_t i = 0; i < 1000; i++) {
		assert_int_equal(strbuf_putc(&buf, (char)('a' + i % 26)), 0);
		assert_int_equal(buf.len, i + 1);
		assert_int_equal(strlen(buf.data), buf.len);
		assert_true(buf.cap > buf.len);
	}
	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(buf.data[i], 'a' + i % 26);
}

static void parts_follow_each_other(void **state)
{
	__cleanup_strbuf struct strbuf buf = STRBUF_INIT;

	(void)state;
	assert_int_equal(strbuf_puts(&buf, "a"), 0);
	assert_int_equal(strbuf_append(&buf, "b\0c", 3), 0);
	assert_int_equal(strbuf_printf(&buf, "%d-%s", 42, "x"), 0);
	assert_int_equal(buf.len, 8);
	assert_memory_equal(buf.data, "ab\0c42-x", 9);
}

static void printf_grows_as_far_as_needed(void **state)
{
	__cleanup_strbuf struct strbuf buf = STRBUF_INIT;

	(void)state;
	assert_int_equal(strbuf_printf(&buf, "%5000d|", 7), 0);
	assert_int_equal(buf.len, 5001);
	assert_string_equal(buf.data + 4999, "7|");
	assert_int_equal(strbuf_printf(&buf, "%s", ""), 0);
	assert_int_equal(buf.len, 5001);
}

static void truncating_never_lengthens(void **state)
{
	__cleanup_strbuf struct strbuf buf = STRBUF_INIT;

	(void)state;
	assert_int_equal(strbuf_puts(&buf, "hello"), 0);
	strbuf_truncate(&buf, 9);
	assert_string_equal(buf.data, "hello");
	strbuf_truncate(&buf, 2);
	assert_string_equal(buf.data, "he");
	assert_int_equal(buf.len, 2);
	strbuf_clear(&buf);
	assert_string_equal(strbuf_str(&buf), "");
	assert_non_null(buf.data);
}

static void impossible_sizes_leave_the_content(void **state)
{
	__cleanup_strbuf struct strbuf buf = STRBUF_INIT;

	(void)state;
	assert_int_equal(strbuf_puts(&buf, "kept"), 0);
	assert_int_equal(strbuf_reserve(&buf, SIZE_MAX), -ENOMEM);
	assert_int_equal(strbuf_reserve(&buf, SIZE_MAX - 4), -ENOMEM);
	assert_int_equal(strbuf_reserve(&buf, SIZE_MAX / 2 + 1), -ENOMEM);
	assert_int_equal(strbuf_append(&buf, "x", SIZE_MAX - 10), -ENOMEM);
	assert_string_equal(buf.data, "kept");
	assert_int_equal(buf.len, 4);
}

static void reserved_room_is_used_without_moving(void **state)
{
	__cleanup_strbuf struct strbuf buf = STRBUF_INIT;
	const char *data;

	(void)state;
	assert_int_equal(strbuf_reserve(&buf, 10), 0);
	assert_string_equal(strbuf_str(&buf), "");
	assert_int_equal(strbuf_puts(&buf, "x"), 0);
	assert_int_equal(strbuf_reserve(&buf, 10000), 0);
	assert_string_equal(buf.data, "x");
	data = buf.data;
	for (int i = 0; i < 10000; i++)
		assert_int_equal(strbuf_putc(&buf, 'y'), 0);
	assert_ptr_equal(buf.data, data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_buffer_reads_as_empty_text),
		cmocka_unit_test(content_is_terminated_after_every_step),
		cmocka_unit_test(parts_follow_each_other),
		cmocka_unit_test(printf_grows_as_far_as_needed),
		cmocka_unit_test(truncating_never_lengthens),
		cmocka_unit_test(impossible_sizes_leave_the_content),
		cmocka_unit_test(reserved_room_is_used_without_moving),
	};

	return cmocka_run_group_tests_name("util_strbuf", tests, NULL, NULL);
}
