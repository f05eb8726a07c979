// SPDX-License-Identifier: Apache-2.0
/* Tables of options for bash and zsh; see option_completion.h. */
#include "tests/tools/docs/option_completion.h"

#include <errno.h>
#include <string.h>

#include "tests/tools/docs/marked_text.h"

#define LINK_PREFIX "jbpf-"

/* "jbpf-dump:--output | jbpf-dump:-o" */
static void put_label(struct strbuf *out, const char *program, const struct option_row *row)
{
	strbuf_printf(out, "%s:--%s", program, row->name);
	if (row->letter)
		strbuf_printf(out, " | %s:-%c", program, row->letter);
}

/* "text json" */
static void put_list(struct strbuf *out, const char *const *words)
{
	for (size_t i = 0; words[i]; i++)
		strbuf_printf(out, "%s%s", i ? " " : "", words[i]);
}

/* The value of which nothing is known but that there is one. */
static bool is_free(const struct option_row *row)
{
	return row->kind != OPTION_KIND_FLAG && row->kind != OPTION_KIND_FILE &&
	       row->kind != OPTION_KIND_DIR && row->kind != OPTION_KIND_DIRS && !row->words;
}

/* "	jbpf-dump:--format) kind=words words='text json' ;;" */
static void put_value(const struct option_table *table, const struct option_row *row,
		      struct strbuf *out)
{
	strbuf_putc(out, '\t');
	put_label(out, table->program, row);
	if (!row->words) {
		strbuf_printf(out, ") kind=%s ;;\n",
			      row->kind == OPTION_KIND_FILE ? "files" : "folders");
		return;
	}
	strbuf_puts(out, ") kind=words words='");
	put_list(out, row->words);
	strbuf_puts(out, "' ;;\n");
}

/* "	jbpf-dump:--since | jbpf-dump:--until) kind=free ;;" */
static void put_free_values(const struct option_table *table, struct strbuf *out)
{
	size_t cnt = 0;

	options_each(table, place)
	{
		if (!is_free(place.row))
			continue;
		strbuf_puts(out, cnt++ ? " | " : "\t");
		put_label(out, table->program, place.row);
	}
	if (cnt)
		strbuf_puts(out, ") kind=free ;;\n");
}

static void put_values(const struct option_table *table, struct strbuf *out)
{
	put_free_values(table, out);
	options_each(table, place)
	{
		if (place.row->kind != OPTION_KIND_FLAG && !is_free(place.row))
			put_value(table, place.row, out);
	}
}

/* Verbs and files: arguments that are not options. */
static void put_operands(const struct option_table *table, struct strbuf *out)
{
	bool takes_files = false;
	size_t verb_cnt = 0;

	for (size_t i = 0; table->uses && table->uses[i].name; i++) {
		const char *verb = table->uses[i].verb;

		takes_files = takes_files || table->uses[i].operands;
		if (verb)
			strbuf_printf(out, "%s%s", verb_cnt++ ? " " : " operands='", verb);
	}
	if (verb_cnt)
		strbuf_putc(out, '\'');
	if (takes_files)
		strbuf_puts(out, " kind=files");
}

/* "	jbpf-store:) words='--store --format' operands='check compact' ;;" */
static void put_options(const struct option_table *table, struct strbuf *out)
{
	strbuf_printf(out, "\t%s:) words='", table->program);
	options_each(table, place)
	{
		if (place.row->letter)
			strbuf_printf(out, "-%c ", place.row->letter);
		strbuf_printf(out, "--%s ", place.row->name);
	}
	if (!strbuf_error(out))
		strbuf_truncate(out, out->len - 1);
	strbuf_putc(out, '\'');
	put_operands(table, out);
	strbuf_puts(out, " ;;\n");
}

/* "	jbpf: | jbpf:help) operands='diff dump' ;;" */
static void put_commands(const struct option_table *const *tables, struct strbuf *out)
{
	bool is_first = true;

	strbuf_puts(out, "\tjbpf: | jbpf:help) words='--help --version' operands='");
	for (; *tables; tables++) {
		const char *program = (*tables)->program;

		if (strncmp(program, LINK_PREFIX, strlen(LINK_PREFIX)) != 0)
			continue;
		strbuf_printf(out, "%s%s", is_first ? "" : " ", program + strlen(LINK_PREFIX));
		is_first = false;
	}
	strbuf_puts(out, " help' ;;\n");
}

static void put_words(const struct option_table *const *tables, struct strbuf *out)
{
	put_commands(tables, out);
	for (; *tables; tables++) {
		put_options(*tables, out);
		put_values(*tables, out);
	}
}

static void put_programs(const struct option_table *const *tables, struct strbuf *out)
{
	strbuf_puts(out, "complete -F _jbpf jbpf");
	for (; *tables; tables++)
		strbuf_printf(out, " %s", (*tables)->program);
	strbuf_putc(out, '\n');
}

static int fill(void *ctx, const char *what, struct strbuf *out)
{
	const struct option_table *const *tables = ctx;

	if (strcmp(what, "words") == 0)
		put_words(tables, out);
	else if (strcmp(what, "programs") == 0)
		put_programs(tables, out);
	else
		return -EINVAL;
	return strbuf_error(out);
}

int option_completion_fill(const struct option_table *const *tables, const char *script,
			   struct strbuf *out)
{
	const struct marked_text marked = {
		.comment = "# ",
		.ctx = (void *)(uintptr_t)tables,
		.fill = fill,
	};

	return marked_text_fill(&marked, script, out);
}
