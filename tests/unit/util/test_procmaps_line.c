// SPDX-License-Identifier: Apache-2.0
/* One line of /proc/PID/maps: the kernel's, cut off at every length, and made-up ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "user/util/cleanup.h"
#include "user/util/procmaps_line.h"

static bool parse(const char *text, struct procmaps_line *line, struct procmaps_line_file *file)
{
	return procmaps_line_parse(text, strlen(text), line) && procmaps_line_file(line, file);
}

static void procmaps_line_gives_every_field(void **state)
{
	struct procmaps_line_file file;
	struct procmaps_line line;

	(void)state;
	assert_true(parse("7f00-7fff r-xs 0001a000 fd:1f 18446744073709551615      /a b (deleted)",
			  &line, &file));
	assert_int_equal(line.start, 0x7f00);
	assert_int_equal(line.end, 0x7fff);
	assert_true(line.is_executable);
	assert_true(line.is_shared);
	assert_int_equal(file.offset, 0x1a000);
	assert_int_equal(file.dev_major, 0xfd);
	assert_int_equal(file.dev_minor, 0x1f);
	assert_true(file.inode == UINT64_MAX);
	assert_int_equal(file.path_len, strlen("/a b"));
	assert_memory_equal(file.path, "/a b", file.path_len);
	assert_true(file.is_deleted);
}

static void procmaps_line_of_memory_has_no_path(void **state)
{
	static const char *const texts[] = {
		"1000-2000 rw-p 00000000 00:00 0",
		"1000-2000 rw-p 00000000 00:00 0 ",
		"1000-2000 rw-p 00000000 00:00 0            ",
	};
	struct procmaps_line_file file;
	struct procmaps_line line;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_true(parse(texts[i], &line, &file));
		assert_false(line.is_executable || line.is_shared || file.is_deleted);
		assert_int_equal(file.inode, 0);
		assert_int_equal(file.path_len, 0);
	}
}

static void procmaps_line_that_makes_no_sense_is_refused(void **state)
{
	static const struct {
		const char *text;
		bool has_range;
	} rows[] = {
		{ "", false },
		{ "garbage", false },
		{ "1000-2000", false },
		{ "1000-2000 rw-p", false },
		{ "-2000 rw-p 0 0:0 0", false },
		{ "1000 2000 rw-p 0 0:0 0", false },
		{ "1000-1000 rw-p 0 0:0 0", false },
		{ "2000-1000 rw-p 0 0:0 0", false },
		{ "1000-2000 rwxps 0 0:0 0", false },
		{ "0x1000-0x2000 rw-p 0 0:0 0", false },
		{ "10000000000000000-20000000000000000 rw-p 0 0:0 0", false },
		{ "1000-2000 rw-p ", true },
		{ "1000-2000 rw-p zz 0:0 0", true },
		{ "1000-2000 rw-p 0 00 0", true },
		{ "1000-2000 rw-p 0 100000000:0 0", true },
		{ "1000-2000 rw-p 0 0:100000000 0", true },
	};
	struct procmaps_line_file file;
	struct procmaps_line line;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(procmaps_line_parse(rows[i].text, strlen(rows[i].text), &line),
				 rows[i].has_range);
		assert_false(parse(rows[i].text, &line, &file));
	}
}

static void procmaps_line_may_end_anywhere(void **state)
{
	static const char text[] = "1000-2000 r-xp 00000000 08:01 7    /x (deleted)";

	(void)state;
	for (size_t len = 0; len < sizeof(text); len++) {
		__cleanup_free char *copy = malloc(len ? len : 1); /* ASan sees a read behind it */
		struct procmaps_line_file file = { 0 };
		struct procmaps_line line;

		memcpy(copy, text, len);
		if (procmaps_line_parse(copy, len, &line) && procmaps_line_file(&line, &file))
			assert_true(file.path + file.path_len <= copy + len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(procmaps_line_gives_every_field),
		cmocka_unit_test(procmaps_line_of_memory_has_no_path),
		cmocka_unit_test(procmaps_line_that_makes_no_sense_is_refused),
		cmocka_unit_test(procmaps_line_may_end_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
