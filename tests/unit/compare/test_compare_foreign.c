// SPDX-License-Identifier: Apache-2.0
/* Folded files of other profilers: which of their lines count, and how many there may be. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/store_testing.h"
#include "user/compare/compare_foreign.h"
#include "user/util/cleanup.h"
#include "user/util/fs.h"
#include "user/util/log.h"

#define STACKS_MAX 500000u /* as compare_foreign.c has it */

struct read_files {
	int err;
	uint64_t samples[2];
};

/* `other`: the second file, NULL = it is not there. */
static struct read_files read_text(const struct test_store *store, const struct strbuf *text,
				   const char *other)
{
	struct read_files read = { 0 };
	struct compare_loaded sides[2] = { 0 };
	struct compare_notes notes = { 0 };
	struct diff_catalog *catalog = diff_catalog__new();
	char paths[2][256];

	assert_non_null(catalog);
	assert_int_equal(fs_write_atomic(AT_FDCWD, test_path(store, "a.folded", paths[0]), 0600,
					 strbuf_str(text), text->len),
			 0);
	(void)test_path(store, "b.folded", paths[1]);
	if (other)
		assert_int_equal(fs_write_atomic(AT_FDCWD, paths[1], 0600, other, strlen(other)),
				 0);
	read.err = compare_foreign_load(paths[0], paths[1], catalog, &notes, &sides[0], &sides[1]);
	for (int i = 0; i < 2 && !read.err; i++) {
		read.samples[i] = sides[i].counts.samples;
		compare_loaded_release(&sides[i]);
	}
	compare_notes_release(&notes);
	diff_catalog__free(catalog);
	return read;
}

/* A comment that ends in a number has no count, whatever its digits. */
static void what_is_no_stack_has_no_part_in_how_counts_are_read(void **state)
{
	static const char stacks[] = "app;a 3\napp;b 5\n";
	static const struct {
		const char *line;
		size_t len;
	} rows[] = {
		{ "", 0 },
		{ "# perf version 6.1\n", 19 },
		{ "# x 1e300\n", 10 },
		{ "#\t0.000001\n", 11 },
		{ "## 0.5\n", 7 },
		{ "a;\0b 0.25\n", 10 },
		{ "  \n", 3 },
	};
	struct test_store store;

	(void)state;
	test_store_make(&store);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__cleanup_strbuf struct strbuf text = STRBUF_INIT;
		struct read_files read;

		strbuf_append(&text, rows[i].line, rows[i].len);
		strbuf_puts(&text, stacks);
		read = read_text(&store, &text, "app;a 30\napp;b 10\n");
		assert_int_equal(read.err, 0);
		if (read.samples[0] != 8 || read.samples[1] != 40)
			fail_msg("row %zu: %u and %u samples", i, (unsigned)read.samples[0],
				 (unsigned)read.samples[1]);
	}
	test_store_remove(&store);
}

/* What is there already needs no more room. The other file is not there: nothing is compared, which would take long. */
static void a_file_may_have_as_many_different_stacks_as_the_limit_says(void **state)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct test_store store;

	(void)state;
	test_store_make(&store);
	for (uint32_t i = 0; i < STACKS_MAX; i++)
		strbuf_printf(&text, "app;f%u 1\n", i);
	strbuf_puts(&text, "app;f7 1\n");
	assert_int_equal(strbuf_error(&text), 0);
	assert_int_equal(read_text(&store, &text, NULL).err, -ENOENT);
	strbuf_puts(&text, "app;g 1\n");
	assert_int_equal(read_text(&store, &text, NULL).err, -E2BIG);
	test_store_remove(&store);
}

static int set_up(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_ERR);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_no_stack_has_no_part_in_how_counts_are_read),
		cmocka_unit_test(a_file_may_have_as_many_different_stacks_as_the_limit_says),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
