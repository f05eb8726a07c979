// SPDX-License-Identifier: Apache-2.0
/* How far it came: what is written is read, and what is something else is not taken for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/push/push_cursor.h"
#include "user/util/cleanup.h"
#include "user/util/fs.h"

static void cursor_is_there_again_or_was_never(void **state)
{
	char dir[] = "/tmp/test_push_cursor.XXXXXX";
	__cleanup_strbuf struct strbuf path = STRBUF_INIT;
	uint64_t ns = 1;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(push_cursor_path(dir, "u@h:1/d", "/store", &path), 0);
	assert_int_equal(push_cursor_read(path.data, &ns), 0);
	assert_true(ns == 0);
	assert_int_equal(push_cursor_write(path.data, 1700000040000000000ull), 0);
	assert_int_equal(push_cursor_read(path.data, &ns), 0);
	assert_true(ns == 1700000040000000000ull);
	(void)unlink(path.data);
	(void)rmdir(dir);
}

static void servers_and_stores_have_a_cursor_each(void **state)
{
	__cleanup_strbuf struct strbuf one = STRBUF_INIT, two = STRBUF_INIT, three = STRBUF_INIT;

	(void)state;
	assert_int_equal(push_cursor_path("/d", "a", "b", &one), 0);
	assert_int_equal(push_cursor_path("/d", "a", "c", &two), 0);
	assert_int_equal(push_cursor_path("/d", "c", "b", &three), 0);
	assert_string_not_equal(one.data, two.data);
	assert_string_not_equal(one.data, three.data);
}

static void file_that_is_no_cursor_is_refused(void **state)
{
	static const char *const texts[] = { "",
					     "\n",
					     "jbpf-push 1 sent-until \n",
					     "jbpf-push 1 sent-until 12",
					     "jbpf-push 2 sent-until 12\n",
					     "jbpf-push 1 sent-until 99999999999\n" };
	char path[] = "/tmp/test_push_cursor.XXXXXX";
	int fd = mkstemp(path);
	uint64_t ns = 7;

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_int_equal(fs_write_atomic(AT_FDCWD, path, 0600, texts[i], strlen(texts[i])),
				 0);
		assert_int_equal(push_cursor_read(path, &ns), -EBADMSG);
		assert_true(ns == 7);
	}
	(void)unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cursor_is_there_again_or_was_never),
		cmocka_unit_test(servers_and_stores_have_a_cursor_each),
		cmocka_unit_test(file_that_is_no_cursor_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
