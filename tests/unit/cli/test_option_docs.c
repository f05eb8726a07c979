// SPDX-License-Identifier: Apache-2.0
/*
 * Man pages, completion and --help say the same of every option as the tables of the programs do, and
 * FORMAT.md the same of a window's numbers.
 * Run it in the top folder of the sources.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "tests/unit/option_docs.h"
#include "user/cli/option_usage.h"
#include "user/util/fs.h"

#define DOC_MAX_BYTES	(1 << 20)
#define HELP_MAX_COLUMN 100

static const struct option_table *tables[OPTION_DOCS_MAX_TABLES];

static void every_page_says_what_the_table_says(void **state)
{
	(void)state;
	for (size_t i = 0; tables[i]; i++) {
		__cleanup_strbuf struct strbuf page = STRBUF_INIT, filled = STRBUF_INIT;
		char path[64], why[128];

		option_docs_page(tables[i], path, sizeof(path));
		assert_int_equal(fs_read_file(AT_FDCWD, path, DOC_MAX_BYTES, &page), 0);
		if (option_manual_fill(tables[i], strbuf_str(&page), &filled, why, sizeof(why)))
			fail_msg("%s: %s", path, why);
		if (strcmp(strbuf_str(&page), strbuf_str(&filled)) != 0)
			fail_msg("%s is not what the table says: run 'make docs'", path);
	}
}

static void completions_and_format_know_what_the_tables_know(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(option_docs_files); i++) {
		__cleanup_strbuf struct strbuf text = STRBUF_INIT, filled = STRBUF_INIT;
		const char *path = option_docs_files[i].path;

		assert_int_equal(fs_read_file(AT_FDCWD, path, DOC_MAX_BYTES, &text), 0);
		assert_int_equal(option_docs_files[i].fill(tables, strbuf_str(&text), &filled), 0);
		if (strcmp(strbuf_str(&text), strbuf_str(&filled)) != 0)
			fail_msg("%s is not what the tables say: run 'make docs'", path);
	}
}

static void help_fits_a_terminal_and_has_every_option(void **state)
{
	(void)state;
	for (size_t i = 0; tables[i]; i++) {
		__cleanup_strbuf struct strbuf help = STRBUF_INIT;

		assert_int_equal(option_usage_put(tables[i], &help), 0);
		for (const char *line = strbuf_str(&help); *line;) {
			size_t len = strcspn(line, "\n");

			if (len > HELP_MAX_COLUMN)
				fail_msg("%s: %.*s", tables[i]->program, (int)len, line);
			line += len + (line[len] == '\n');
		}
		options_each(tables[i], place)
		{
			char name[64];

			(void)snprintf(name, sizeof(name), " --%s", place.row->name);
			assert_non_null(strstr(strbuf_str(&help), name));
		}
	}
}

/* The walk writes to the field by the kind alone. */
static void every_row_has_a_field_of_its_kind(void **state)
{
	static const size_t sizes[] = {
		[OPTION_KIND_FLAG] = sizeof(bool),
		[OPTION_KIND_TEXT] = sizeof(char *),
		[OPTION_KIND_FILE] = sizeof(char *),
		[OPTION_KIND_DIR] = sizeof(char *),
		[OPTION_KIND_NUMBER] = sizeof(uint32_t),
		[OPTION_KIND_SIZE] = sizeof(uint64_t),
		[OPTION_KIND_DURATION] = sizeof(uint64_t),
		[OPTION_KIND_TIME] = sizeof(uint64_t),
		[OPTION_KIND_DIRS] = sizeof(struct option_stores),
	};

	(void)state;
	for (size_t i = 0; tables[i]; i++) {
		options_each(tables[i], place)
		{
			const struct option_row *row = place.row;

			assert_true(place.index < OPTIONS_MAX);
			assert_int_equal(row->kind == OPTION_KIND_FLAG, !row->metavar);
			assert_int_equal(row->kind == OPTION_KIND_OWN ||
						 row->kind == OPTION_KIND_DIRS,
					 row->parse != NULL);
			assert_ptr_equal(options_find(tables[i], row->name).row, row);
			if (row->kind == OPTION_KIND_WORD)
				assert_true(row->words && (row->size == sizeof(bool) ||
							   row->size == sizeof(unsigned int)));
			else if (row->kind != OPTION_KIND_OWN)
				assert_int_equal(row->size, sizes[row->kind]);
		}
	}
}

/* ---- what is wrong with a page is found ---- */

struct sample {
	const char *name;
	bool is_loud;
	struct option_info info;
};

static const struct option_row sample_rows[] = {
	{ .name = "name",
	  .letter = 'n',
	  .kind = OPTION_KIND_TEXT,
	  .metavar = "NAME",
	  .help = "its name",
	  .fallback = "none",
	  OPTION_FIELD(struct sample, name) },
	{ .name = "loud", .help = "be heard", OPTION_FIELD(struct sample, is_loud) },
	{ .name = NULL },
};
static const struct option_group sample_groups[] = {
	{ .rows = sample_rows },
	{ OPTION_GROUP_INFO(struct sample, info) },
	{ .rows = NULL },
};
static const struct option_table sample = {
	.program = "sample",
	.summary = "Is a sample.",
	.groups = sample_groups,
	.notes = "",
};

#define BEGIN(what) ".\\\" begin " what "\n"
#define END	    ".\\\" end\n"

static void a_page_is_filled_around_its_prose(void **state)
{
	static const char page[] = BEGIN("synopsis") "old\n" END "Prose.\n" BEGIN("options name")
		END "More of it.\n" BEGIN("options loud help version") END;
	static const char filled[] =
		BEGIN("synopsis") ".Nm\n.Op Fl -name Ar NAME\n.Op Fl -loud\n" END "Prose.\n" BEGIN(
			"options name") ".It Fl n Ar NAME , Fl -name Ar NAME\nIts name.\nThe default is none.\n" END
					"More of it.\n" BEGIN(
						"options loud help version") ".It Fl -loud\nBe heard.\n"
									     ".It Fl -help\nPrint this help.\n"
									     ".It Fl -version\nPrint the version.\n" END;
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	char why[128];

	(void)state;
	assert_int_equal(option_manual_fill(&sample, page, &out, why, sizeof(why)), 0);
	assert_string_equal(strbuf_str(&out), filled);
}

static void a_page_with_an_option_too_few_or_too_many_is_refused(void **state)
{
	static const struct {
		const char *page;
		const char *why;
	} cases[] = {
		{ BEGIN("options name help version") END, "--loud has no entry" },
		{ BEGIN("options name loud help version name") END, "--name has two entries" },
		{ BEGIN("options name quiet") END, "there is no option --quiet" },
		{ BEGIN("nonsense") END, "a mark is not understood, or has no end" },
		{ BEGIN("synopsis"), "a mark is not understood, or has no end" },
		{ END, "a mark is not understood, or has no end" },
		{ BEGIN("synopsis") BEGIN("synopsis") END,
		  "a mark is not understood, or has no end" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		__cleanup_strbuf struct strbuf out = STRBUF_INIT;
		char why[128];

		assert_int_equal(option_manual_fill(&sample, cases[i].page, &out, why, sizeof(why)),
				 -EINVAL);
		assert_string_equal(why, cases[i].why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_page_says_what_the_table_says),
		cmocka_unit_test(completions_and_format_know_what_the_tables_know),
		cmocka_unit_test(help_fits_a_terminal_and_has_every_option),
		cmocka_unit_test(every_row_has_a_field_of_its_kind),
		cmocka_unit_test(a_page_is_filled_around_its_prose),
		cmocka_unit_test(a_page_with_an_option_too_few_or_too_many_is_refused),
	};

	option_docs_tables(tables);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
