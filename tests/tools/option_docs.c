// SPDX-License-Identifier: Apache-2.0
/*
 * Writes what man pages and completions say of options, and FORMAT.md of a window's numbers, again,
 * from the tables of the programs: `make docs`. tests/unit/cli/test_option_docs.c fails while it would change something.
 * Usage: option_docs        in the top folder of the sources
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/option_docs.h"
#include "user/util/fs.h"

#define DOC_MAX_BYTES (1 << 20)

static int replace(const char *path, const struct strbuf *old, const struct strbuf *text)
{
	if (strcmp(strbuf_str(old), strbuf_str(text)) == 0)
		return 0;
	printf("%s\n", path);
	return fs_write_output(AT_FDCWD, path, 0644, text->data, text->len);
}

static int write_page(const struct option_table *table)
{
	__cleanup_strbuf struct strbuf old = STRBUF_INIT, text = STRBUF_INIT;
	char path[64], why[128] = "";
	int err;

	option_docs_page(table, path, sizeof(path));
	err = fs_read_file(AT_FDCWD, path, DOC_MAX_BYTES, &old);
	if (!err)
		err = option_manual_fill(table, strbuf_str(&old), &text, why, sizeof(why));
	if (!err)
		err = replace(path, &old, &text);
	if (err)
		fprintf(stderr, "%s: %s: %s\n", path, strerror(-err), why);
	return err;
}

static int write_file(const struct option_table *const *tables, size_t file)
{
	__cleanup_strbuf struct strbuf old = STRBUF_INIT, text = STRBUF_INIT;
	const char *path = option_docs_files[file].path;
	int err = fs_read_file(AT_FDCWD, path, DOC_MAX_BYTES, &old);

	if (!err)
		err = option_docs_files[file].fill(tables, strbuf_str(&old), &text);
	if (!err)
		err = replace(path, &old, &text);
	if (err)
		fprintf(stderr, "%s: %s\n", path, strerror(-err));
	return err;
}

int main(void)
{
	const struct option_table *tables[OPTION_DOCS_MAX_TABLES];
	int err = 0;

	option_docs_tables(tables);
	for (size_t i = 0; tables[i] && !err; i++)
		err = write_page(tables[i]);
	for (size_t i = 0; i < ARRAY_SIZE(option_docs_files) && !err; i++)
		err = write_file(tables, i);
	return err ? 1 : 0;
}
