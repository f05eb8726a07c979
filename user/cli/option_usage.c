// SPDX-License-Identifier: Apache-2.0
/* A table of options as the text of --help; see option_usage.h. */
#include "user/cli/option_usage.h"

#include <stdio.h>
#include <string.h>

#include "user/cli/exit_codes.h"
#include "user/util/log.h"
#include "user/util/version.h"

#define WIDTH 98
#define GAP   2 /* between an option and its help */

/* ---- lines ---- */

/* `text` in lines of WIDTH columns, all but the first indented; the first begins at `column`. */
static int put_wrapped(struct strbuf *out, const char *text, size_t column, size_t indent)
{
	bool is_begin = true; /* of a line */
	int err = 0;

	while (!err && *text) {
		size_t len = strcspn(text, " \n");
		bool breaks = text[len] == '\n';

		if (!is_begin && column + 1 + len > WIDTH) {
			err = strbuf_printf(out, "\n%*s", (int)indent, "");
			column = indent;
		} else if (!is_begin) {
			err = strbuf_putc(out, ' ');
			column++;
		}
		if (!err)
			err = strbuf_append(out, text, len);
		column += len;
		is_begin = breaks;
		if (!err && breaks)
			err = strbuf_printf(out, "\n%*s", (int)indent, "");
		if (breaks)
			column = indent;
		text += len + (text[len] != '\0');
	}
	return err ? err : strbuf_putc(out, '\n');
}

/* ---- the synopsis ---- */

/* " [--output FILE]", or without brackets. */
static int put_option(struct strbuf *out, const struct option_row *row, bool is_optional)
{
	return strbuf_printf(out, " %s--%s%s%s%s", is_optional ? "[" : "", row->name,
			     row->metavar ? " " : "", row->metavar ? row->metavar : "",
			     is_optional ? "]" : "");
}

/* The options that the use needs, and those that go with no other use. */
static int put_own_options(const struct option_table *table, size_t use, struct strbuf *out)
{
	int err = 0;

	options_each(table, place)
	{
		if (!err && place.row->needed & OPTION_USE(use))
			err = put_option(out, place.row, false);
	}
	options_each(table, place)
	{
		if (!err && options_uses(&place) == OPTION_USE(use) && !place.row->needed)
			err = put_option(out, place.row, true);
	}
	return err;
}

static int put_use(const struct option_table *table, size_t use, struct strbuf *out)
{
	const struct option_use *words = table->uses ? &table->uses[use] : NULL;
	int err = strbuf_printf(out, "%s %s%s%s", use ? "      " : "usage:", table->program,
				words && words->verb ? " " : "",
				words && words->verb ? words->verb : "");

	if (!err && words)
		err = put_own_options(table, use, out);
	if (!err)
		err = strbuf_puts(out, " [OPTION]...");
	if (!err && words && words->operands)
		err = strbuf_printf(out, " %s", words->operands);
	return err ? err : strbuf_putc(out, '\n');
}

static int put_synopsis(const struct option_table *table, struct strbuf *out)
{
	int err = put_use(table, 0, out);

	for (size_t use = 1; !err && table->uses && table->uses[use].name; use++)
		err = put_use(table, use, out);
	return err;
}

/* ---- the options ---- */

static bool has_letters(const struct option_table *table)
{
	options_each(table, place)
	{
		if (place.row->letter)
			return true;
	}
	return false;
}

/* "  -o, --output FILE"; the length. */
static size_t format_option(const struct option_row *row, bool has_letter_column, char *text,
			    size_t text_len)
{
	char letter[8] = "";

	if (row->letter)
		(void)snprintf(letter, sizeof(letter), "-%c, ", row->letter);
	else if (has_letter_column)
		(void)snprintf(letter, sizeof(letter), "    ");
	return (size_t)snprintf(text, text_len, "  %s--%s%s%s", letter, row->name,
				row->metavar ? " " : "", row->metavar ? row->metavar : "");
}

static size_t widest_option(const struct option_table *table)
{
	bool has_letter_column = has_letters(table);
	size_t widest = 0;
	char text[128];

	options_each(table, place)
	{
		size_t len = format_option(place.row, has_letter_column, text, sizeof(text));

		widest = len > widest ? len : widest;
	}
	return widest;
}

/* "names of compiled code: auto, off (auto); may be repeated" */
static int put_help(const struct option_row *row, struct strbuf *out)
{
	int err = strbuf_puts(out, row->help);

	for (size_t i = 0; !err && row->words && row->words[i]; i++)
		err = strbuf_printf(out, "%s %s", i ? "," : ":", row->words[i]);
	if (!err && row->repeats)
		err = strbuf_puts(out, "; may be repeated");
	if (!err && row->fallback)
		err = strbuf_printf(out, " (%s)", row->fallback);
	return err;
}

static int put_row(const struct option_row *row, bool has_letter_column, size_t column,
		   struct strbuf *out)
{
	__cleanup_strbuf struct strbuf help = STRBUF_INIT;
	char text[128];
	int err;

	(void)format_option(row, has_letter_column, text, sizeof(text));
	err = strbuf_printf(out, "%-*s", (int)column, text);
	if (!err)
		err = put_help(row, &help);
	return err ? err : put_wrapped(out, strbuf_str(&help), column, column);
}

static int put_options(const struct option_table *table, struct strbuf *out)
{
	size_t column = widest_option(table) + GAP;
	bool has_letter_column = has_letters(table);
	int err = 0;

	options_each(table, place)
	{
		if (!err && place.row == place.group->rows && place.group->title)
			err = strbuf_printf(out, "\n%s\n", place.group->title);
		if (!err)
			err = put_row(place.row, has_letter_column, column, out);
	}
	return err;
}

int option_usage_put(const struct option_table *table, struct strbuf *out)
{
	int err = put_synopsis(table, out);

	if (!err)
		err = put_wrapped(out, table->summary, 0, 0);
	if (!err && !table->groups->title)
		err = strbuf_putc(out, '\n');
	if (!err)
		err = put_options(table, out);
	if (!err)
		err = strbuf_putc(out, '\n');
	return err ? err : put_wrapped(out, table->notes, 0, 0);
}

int option_usage_print(const struct option_table *table, const struct option_info *info)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;

	if (info->help && option_usage_put(table, &text)) {
		pr_err("out of memory\n");
		return CMD_EXIT_FAILED;
	}
	if (info->help)
		fputs(strbuf_str(&text), stdout);
	else
		printf("%s %s\n", table->program, jbpf_version);
	return fflush(stdout) ? CMD_EXIT_FAILED : CMD_EXIT_DONE;
}
