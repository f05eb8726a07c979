// SPDX-License-Identifier: Apache-2.0
/* A table of options as the text of --help; see option_usage.h. */
#include "user/cli/option_usage.h"

#include <stdio.h>
#include <string.h>

#include "user/cli/cmd_write.h"
#include "user/cli/exit_codes.h"
#include "user/util/log.h"
#include "user/util/version.h"

#define WIDTH 98
#define GAP   2 /* between an option and its help */

/* ---- lines ---- */

/* `text` in lines of WIDTH columns, all but the first indented; the first begins at `column`. */
static void put_wrapped(struct strbuf *out, const char *text, size_t column, size_t indent)
{
	bool is_begin = true; /* of a line */

	while (*text) {
		size_t len = strcspn(text, " \n");
		bool breaks = text[len] == '\n';

		if (!is_begin && column + 1 + len > WIDTH) {
			strbuf_printf(out, "\n%*s", (int)indent, "");
			column = indent;
		} else if (!is_begin) {
			strbuf_putc(out, ' ');
			column++;
		}
		strbuf_append(out, text, len);
		column += len;
		is_begin = breaks;
		if (breaks)
			strbuf_printf(out, "\n%*s", (int)indent, "");
		if (breaks)
			column = indent;
		text += len + (text[len] != '\0');
	}
	strbuf_putc(out, '\n');
}

/* ---- the synopsis ---- */

/* " [--output FILE]", or without brackets. */
static void put_option(struct strbuf *out, const struct option_row *row, bool is_optional)
{
	strbuf_printf(out, " %s--%s%s%s%s", is_optional ? "[" : "", row->name,
		      row->metavar ? " " : "", row->metavar ? row->metavar : "",
		      is_optional ? "]" : "");
}

/* The options that the use needs, and those that go with no other use. */
static void put_own_options(const struct option_table *table, size_t use, struct strbuf *out)
{
	options_each(table, place)
	{
		if (place.row->needed & OPTION_USE(use))
			put_option(out, place.row, false);
	}
	options_each(table, place)
	{
		if (options_uses(&place) != OPTION_USE(use) || place.row->needed)
			continue;
		if (!place.group->word)
			put_option(out, place.row, true);
		else if (place.row == place.group->rows)
			strbuf_printf(out, " [%s]...", place.group->word);
	}
}

static void put_use(const struct option_table *table, size_t use, struct strbuf *out)
{
	const struct option_use *words = table->uses ? &table->uses[use] : NULL;

	strbuf_printf(out, "%s %s%s%s", use ? "      " : "usage:", table->program,
		      words && words->verb ? " " : "", words && words->verb ? words->verb : "");
	if (words)
		put_own_options(table, use, out);
	strbuf_puts(out, " [OPTION]...");
	if (words && words->operands)
		strbuf_printf(out, " %s", words->operands);
	strbuf_putc(out, '\n');
}

static void put_synopsis(const struct option_table *table, struct strbuf *out)
{
	put_use(table, 0, out);
	for (size_t use = 1; table->uses && table->uses[use].name; use++)
		put_use(table, use, out);
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
static void put_help(const struct option_row *row, struct strbuf *out)
{
	strbuf_puts(out, row->help);
	for (size_t i = 0; row->words && row->words[i]; i++)
		strbuf_printf(out, "%s %s", i ? "," : ":", row->words[i]);
	if (row->repeats)
		strbuf_puts(out, "; may be repeated");
	if (row->fallback)
		strbuf_printf(out, " (%s)", row->fallback);
}

static void put_row(const struct option_row *row, bool has_letter_column, size_t column,
		    struct strbuf *out)
{
	__cleanup_strbuf struct strbuf help = STRBUF_INIT;
	char text[128];

	put_help(row, &help);
	strbuf_fail(out, strbuf_error(&help));
	(void)format_option(row, has_letter_column, text, sizeof(text));
	strbuf_printf(out, "%-*s", (int)column, text);
	put_wrapped(out, strbuf_str(&help), column, column);
}

static void put_options(const struct option_table *table, struct strbuf *out)
{
	size_t column = widest_option(table) + GAP;
	bool has_letter_column = has_letters(table);

	options_each(table, place)
	{
		if (place.row == place.group->rows && place.group->title)
			strbuf_printf(out, "\n%s\n", place.group->title);
		put_row(place.row, has_letter_column, column, out);
	}
}

int option_usage_put(const struct option_table *table, struct strbuf *out)
{
	put_synopsis(table, out);
	put_wrapped(out, table->summary, 0, 0);
	if (!table->groups->title)
		strbuf_putc(out, '\n');
	put_options(table, out);
	strbuf_putc(out, '\n');
	put_wrapped(out, table->notes, 0, 0);
	return strbuf_error(out);
}

int option_usage_print(const struct option_table *table, const struct option_info *info)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;

	if (info->help)
		strbuf_fail(&text, option_usage_put(table, &text));
	else
		strbuf_printf(&text, "%s %s\n", table->program, jbpf_version);
	if (strbuf_error(&text)) {
		pr_err("out of memory\n");
		return CMD_EXIT_FAILED;
	}
	return cmd_write(NULL, &text);
}
