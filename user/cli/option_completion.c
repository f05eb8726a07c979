// SPDX-License-Identifier: Apache-2.0
/* Tables of options for bash; see option_completion.h. */
#include "user/cli/option_completion.h"

#include <errno.h>
#include <string.h>

#include "user/cli/marked_text.h"

#define LINK_PREFIX "jbpf-"

/* "jbpf-dump:--output | jbpf-dump:-o" */
static int put_label(struct strbuf *out, const char *program, const struct option_row *row)
{
	int err = strbuf_printf(out, "%s:--%s", program, row->name);

	if (!err && row->letter)
		err = strbuf_printf(out, " | %s:-%c", program, row->letter);
	return err;
}

/* "text json" */
static int put_list(struct strbuf *out, const char *const *words)
{
	int err = 0;

	for (size_t i = 0; !err && words[i]; i++)
		err = strbuf_printf(out, "%s%s", i ? " " : "", words[i]);
	return err;
}

/* The value of which nothing is known but that there is one. */
static bool is_free(const struct option_row *row)
{
	return row->kind != OPTION_KIND_FLAG && row->kind != OPTION_KIND_FILE &&
	       row->kind != OPTION_KIND_DIR && !row->words;
}

/* "	jbpf-dump:--format) kind=words words='text json' ;;" */
static int put_value(const struct option_table *table, const struct option_row *row,
		     struct strbuf *out)
{
	int err = strbuf_putc(out, '\t');

	if (!err)
		err = put_label(out, table->program, row);
	if (!err && !row->words)
		err = strbuf_printf(out, ") kind=%s ;;\n",
				    row->kind == OPTION_KIND_FILE ? "files" : "folders");
	if (err || !row->words)
		return err;
	err = strbuf_puts(out, ") kind=words words='");
	if (!err)
		err = put_list(out, row->words);
	return err ? err : strbuf_puts(out, "' ;;\n");
}

/* "	jbpf-dump:--since | jbpf-dump:--until) kind=free ;;" */
static int put_free_values(const struct option_table *table, struct strbuf *out)
{
	size_t cnt = 0;
	int err = 0;

	options_each(table, place)
	{
		if (err || !is_free(place.row))
			continue;
		err = strbuf_puts(out, cnt++ ? " | " : "\t");
		if (!err)
			err = put_label(out, table->program, place.row);
	}
	return err || !cnt ? err : strbuf_puts(out, ") kind=free ;;\n");
}

static int put_values(const struct option_table *table, struct strbuf *out)
{
	int err = put_free_values(table, out);

	options_each(table, place)
	{
		if (!err && place.row->kind != OPTION_KIND_FLAG && !is_free(place.row))
			err = put_value(table, place.row, out);
	}
	return err;
}

/* Verbs and files: arguments that are not options. */
static int put_operands(const struct option_table *table, struct strbuf *out)
{
	bool takes_files = false;
	size_t verb_cnt = 0;
	int err = 0;

	for (size_t i = 0; !err && table->uses && table->uses[i].name; i++) {
		const char *verb = table->uses[i].verb;

		takes_files = takes_files || table->uses[i].operands;
		if (verb)
			err = strbuf_printf(out, "%s%s", verb_cnt++ ? " " : " operands='", verb);
	}
	if (!err && verb_cnt)
		err = strbuf_putc(out, '\'');
	if (!err && takes_files)
		err = strbuf_puts(out, " kind=files");
	return err;
}

/* "	jbpf-store:) words='--store --format' operands='check compact' ;;" */
static int put_options(const struct option_table *table, struct strbuf *out)
{
	int err = strbuf_printf(out, "\t%s:) words='", table->program);

	options_each(table, place)
	{
		if (!err && place.row->letter)
			err = strbuf_printf(out, "-%c ", place.row->letter);
		if (!err)
			err = strbuf_printf(out, "--%s ", place.row->name);
	}
	if (!err) {
		strbuf_truncate(out, out->len - 1);
		err = strbuf_putc(out, '\'');
	}
	if (!err)
		err = put_operands(table, out);
	return err ? err : strbuf_puts(out, " ;;\n");
}

/* "	jbpf: | jbpf:help) operands='diff dump' ;;" */
static int put_commands(const struct option_table *const *tables, struct strbuf *out)
{
	bool is_first = true;
	int err = strbuf_puts(out, "\tjbpf: | jbpf:help) words='--help --version' operands='");

	for (; !err && *tables; tables++) {
		const char *program = (*tables)->program;

		if (strncmp(program, LINK_PREFIX, strlen(LINK_PREFIX)) != 0)
			continue;
		err = strbuf_printf(out, "%s%s", is_first ? "" : " ",
				    program + strlen(LINK_PREFIX));
		is_first = false;
	}
	return err ? err : strbuf_puts(out, " help' ;;\n");
}

static int put_words(const struct option_table *const *tables, struct strbuf *out)
{
	int err = put_commands(tables, out);

	for (; !err && *tables; tables++) {
		err = put_options(*tables, out);
		if (!err)
			err = put_values(*tables, out);
	}
	return err;
}

static int put_programs(const struct option_table *const *tables, struct strbuf *out)
{
	int err = strbuf_puts(out, "complete -F _jbpf jbpf");

	for (; !err && *tables; tables++)
		err = strbuf_printf(out, " %s", (*tables)->program);
	return err ? err : strbuf_putc(out, '\n');
}

static int fill(void *ctx, const char *what, struct strbuf *out)
{
	const struct option_table *const *tables = ctx;

	if (strcmp(what, "words") == 0)
		return put_words(tables, out);
	if (strcmp(what, "programs") == 0)
		return put_programs(tables, out);
	return -EINVAL;
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
