// SPDX-License-Identifier: Apache-2.0
/* Growable bytes: always terminated, all or nothing, the first error sticks. */
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
	strbuf_append(&buf, NULL, 0);
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
		strbuf_putc(&buf, (char)('a' + i % 26));
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
	strbuf_puts(&buf, "a");
	strbuf_append(&buf, "b\0c", 3);
	strbuf_printf(&buf, "%d-%s", 42, "x");
	assert_int_equal(buf.len, 8);
	assert_memory_equal(buf.data, "ab\0c42-x", 9);
}

static void printf_grows_as_far_as_needed(void **state)
{
	__cleanup_strbuf struct strbuf buf = STRBUF_INIT;

	(void)state;
	strbuf_printf(&buf, "%5000d|", 7);
	assert_int_equal(buf.len, 5001);
	assert_string_equal(buf.data + 4999, "7|");
	strbuf_printf(&buf, "%s", "");
	assert_int_equal(buf.len, 5001);
}

static void truncating_never_lengthens(void **state)
{
	__cleanup_strbuf struct strbuf buf = STRBUF_INIT;

	(void)state;
	strbuf_puts(&buf, "hello");
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
	strbuf_puts(&buf, "kept");
	assert_int_equal(strbuf_reserve(&buf, SIZE_MAX), -ENOMEM);
	assert_int_equal(strbuf_reserve(&buf, SIZE_MAX - 4), -ENOMEM);
	assert_int_equal(strbuf_reserve(&buf, SIZE_MAX / 2 + 1), -ENOMEM);
	strbuf_append(&buf, "x", SIZE_MAX - 10);
	assert_int_equal(strbuf_error(&buf), -ENOMEM);
	assert_string_equal(buf.data, "kept");
	assert_int_equal(buf.len, 4);
}

/* A size that no allocator can give: it fails here without one that is made to fail. */
static void break_it(struct strbuf *buf)
{
	strbuf_append(buf, "x", SIZE_MAX - 10);
}

static void the_first_error_sticks_and_nothing_follows_it(void **state)
{
	__cleanup_strbuf struct strbuf buf = STRBUF_INIT, good = STRBUF_INIT;

	(void)state;
	strbuf_puts(&good, "good");
	strbuf_puts(&buf, "kept");
	assert_int_equal(strbuf_error(&buf), 0);
	break_it(&buf);
	strbuf_fail(&buf, -EIO);
	strbuf_puts(&buf, " not");
	strbuf_putc(&buf, 'x');
	strbuf_printf(&buf, "%d", 1);
	strbuf_add(&buf, &good);
	assert_int_equal(strbuf_error(&buf), -ENOMEM);
	assert_int_equal(strbuf_reserve(&buf, 1), -ENOMEM);
	assert_string_equal(buf.data, "kept");
	strbuf_truncate(&buf, 2);
	assert_int_equal(strbuf_error(&buf), -ENOMEM);
	strbuf_clear(&buf);
	assert_int_equal(strbuf_error(&buf), 0);
	strbuf_puts(&buf, "new");
	assert_string_equal(buf.data, "new");
	break_it(&buf);
	strbuf_release(&buf);
	assert_int_equal(strbuf_error(&buf), 0);
}

static void an_error_of_the_writer_sticks_as_well(void **state)
{
	__cleanup_strbuf struct strbuf buf = STRBUF_INIT;

	(void)state;
	strbuf_fail(&buf, 0);
	assert_int_equal(strbuf_error(&buf), 0);
	strbuf_fail(&buf, -E2BIG);
	break_it(&buf);
	assert_int_equal(strbuf_error(&buf), -E2BIG);
}

static void a_broken_part_breaks_the_whole(void **state)
{
	__cleanup_strbuf struct strbuf part = STRBUF_INIT, whole = STRBUF_INIT;

	(void)state;
	strbuf_puts(&part, "half");
	strbuf_add(&whole, &part);
	assert_string_equal(whole.data, "half");
	break_it(&part);
	strbuf_add(&whole, &part);
	assert_int_equal(strbuf_error(&whole), -ENOMEM);
	assert_string_equal(whole.data, "half");
}

static void refused_room_is_no_error_of_the_buffer(void **state)
{
	__cleanup_strbuf struct strbuf buf = STRBUF_INIT;

	(void)state;
	assert_int_equal(strbuf_reserve(&buf, SIZE_MAX), -ENOMEM);
	assert_int_equal(strbuf_error(&buf), 0);
	strbuf_puts(&buf, "x");
	assert_int_equal(strbuf_error(&buf), 0);
}

static void rolling_back_takes_text_and_error(void **state)
{
	__cleanup_strbuf struct strbuf buf = STRBUF_INIT;
	struct strbuf_mark mark;

	(void)state;
	strbuf_puts(&buf, "kept");
	mark = strbuf_mark(&buf);
	strbuf_puts(&buf, " not");
	assert_int_equal(strbuf_settle(&buf, mark, 0), 0);
	assert_string_equal(buf.data, "kept not");
	assert_int_equal(strbuf_settle(&buf, mark, -EINVAL), -EINVAL);
	assert_string_equal(buf.data, "kept");
	assert_int_equal(strbuf_error(&buf), 0);
	strbuf_puts(&buf, " not");
	break_it(&buf);
	assert_int_equal(strbuf_settle(&buf, mark, 0), -ENOMEM);
	assert_string_equal(buf.data, "kept");
	assert_int_equal(strbuf_error(&buf), 0);
}

/* Else the whole would look as if nothing were missing. */
static void an_error_before_the_mark_stays(void **state)
{
	__cleanup_strbuf struct strbuf buf = STRBUF_INIT;
	struct strbuf_mark mark;

	(void)state;
	break_it(&buf);
	mark = strbuf_mark(&buf);
	strbuf_puts(&buf, "x");
	assert_int_equal(strbuf_settle(&buf, mark, 0), -ENOMEM);
	assert_int_equal(strbuf_error(&buf), -ENOMEM);
	strbuf_rollback(&buf, mark);
	assert_int_equal(strbuf_error(&buf), -ENOMEM);
}

static void reserved_room_is_used_without_moving(void **state)
{
	__cleanup_strbuf struct strbuf buf = STRBUF_INIT;
	const char *data;

	(void)state;
	assert_int_equal(strbuf_reserve(&buf, 10), 0);
	assert_string_equal(strbuf_str(&buf), "");
	strbuf_puts(&buf, "x");
	assert_int_equal(strbuf_reserve(&buf, 10000), 0);
	assert_string_equal(buf.data, "x");
	data = buf.data;
	for (int i = 0; i < 10000; i++)
		strbuf_putc(&buf, 'y');
	assert_ptr_equal(buf.data, data);
}

static void encoded_bytes_are_those_that_are_not_plain(void **state)
{
	__cleanup_strbuf struct strbuf buf = STRBUF_INIT;

	(void)state;
	strbuf_put_encoded(&buf, "", "-");
	assert_string_equal(strbuf_str(&buf), "");
	strbuf_put_encoded(&buf, "azAZ09-_ %\xe9\n", "-");
	assert_string_equal(strbuf_str(&buf), "azAZ09-%5f%20%25%e9%0a");
	strbuf_clear(&buf);
	strbuf_put_encoded(&buf, "a.b", "");
	assert_string_equal(strbuf_str(&buf), "a%2eb");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_buffer_reads_as_empty_text),
		cmocka_unit_test(content_is_terminated_after_every_step),
		cmocka_unit_test(parts_follow_each_other),
		cmocka_unit_test(printf_grows_as_far_as_needed),
		cmocka_unit_test(encoded_bytes_are_those_that_are_not_plain),
		cmocka_unit_test(truncating_never_lengthens),
		cmocka_unit_test(impossible_sizes_leave_the_content),
		cmocka_unit_test(reserved_room_is_used_without_moving),
		cmocka_unit_test(the_first_error_sticks_and_nothing_follows_it),
		cmocka_unit_test(an_error_of_the_writer_sticks_as_well),
		cmocka_unit_test(a_broken_part_breaks_the_whole),
		cmocka_unit_test(refused_room_is_no_error_of_the_buffer),
		cmocka_unit_test(rolling_back_takes_text_and_error),
		cmocka_unit_test(an_error_before_the_mark_stays),
	};

	return cmocka_run_group_tests_name("util_strbuf", tests, NULL, NULL);
}
