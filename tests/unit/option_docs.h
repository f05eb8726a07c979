/* SPDX-License-Identifier: Apache-2.0 */
/* The documents that hold parts made from tables of the code: how each is filled. */
#ifndef JBPF_TESTS_OPTION_DOCS_H
#define JBPF_TESTS_OPTION_DOCS_H

#include <stdio.h>

#include "tests/tools/docs/format_fields.h"
#include "tests/tools/docs/option_completion.h"
#include "tests/tools/docs/option_manual.h"
#include "user/cmd/cmd.h"
#include "user/daemon/daemon_options.h"
#include "user/util/cleanup.h"

#define OPTION_DOCS_MAX_TABLES 16

/* Those that are made of all tables at once, or of none of options. */
static const struct {
	const char *path;
	int (*fill)(const struct option_table *const *tables, const char *text, struct strbuf *out);
} option_docs_files[] = {
	{ "user/completion/jbpf.bash", option_completion_fill },
	{ "user/completion/_jbpf", option_completion_fill },
	{ "user/store/FORMAT.md", format_fields_fill },
};

/* The tables of all programs; ends with NULL. */
static inline void option_docs_tables(const struct option_table *tables[OPTION_DOCS_MAX_TABLES])
{
	size_t cnt = 0;

	tables[cnt++] = &daemon_option_table;
	for (const struct cmd *cmd = cmd_list; cmd->name; cmd++)
		tables[cnt++] = cmd->options;
	tables[cnt] = NULL;
}

/* "user/man/jbpf-dump.1" */
static inline void option_docs_page(const struct option_table *table, char *path, size_t path_len)
{
	bool is_daemon = table == &daemon_option_table;

	(void)snprintf(path, path_len, "user/man/%s.%c", table->program, is_daemon ? '8' : '1');
}

#endif
