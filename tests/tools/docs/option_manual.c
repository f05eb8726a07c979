// SPDX-License-Identifier: Apache-2.0
/* A table of options in a man page; see option_manual.h. */
#include "tests/tools/docs/option_manual.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/tools/docs/marked_text.h"

struct manual {
	const struct option_table *table;
	bool has_entry[OPTIONS_MAX]; /* by index */
	char *why;
	size_t why_len;
};

/* " Ar FILE" */
static void put_metavar(struct strbuf *out, const struct option_row *row)
{
	if (row->metavar)
		strbuf_printf(out, " Ar %s", row->metavar);
}

/* ---- the synopsis ---- */

/* ".Op Fl -output Ar FILE" */
static void put_synopsis_row(struct strbuf *out, const struct option_row *row, bool is_needed)
{
	strbuf_printf(out, ".%sFl -%s", is_needed ? "" : "Op ", row->name);
	put_metavar(out, row);
	if (row->repeats)
		strbuf_puts(out, " ...");
	strbuf_putc(out, '\n');
}

/* Once for all rows of its group: ".Op Ar SELECTOR ..." */
static void put_group_word(struct strbuf *out, const struct option_place *place)
{
	if (place->row == place->group->rows)
		strbuf_printf(out, ".Op Ar %s ...\n", place->group->word);
}

static void put_synopsis_options(const struct option_table *table, size_t use, bool is_needed,
				 struct strbuf *out)
{
	options_each(table, place)
	{
		bool needs = place.row->needed & OPTION_USE(use);

		if (place.group->is_aside || !(options_uses(&place) & OPTION_USE(use)) ||
		    needs != is_needed)
			continue;
		if (place.group->word)
			put_group_word(out, &place);
		else
			put_synopsis_row(out, place.row, is_needed);
	}
}

static void put_synopsis_use(const struct option_table *table, size_t use, struct strbuf *out)
{
	const struct option_use *words = table->uses ? &table->uses[use] : NULL;

	strbuf_puts(out, ".Nm\n");
	if (words && words->verb)
		strbuf_printf(out, ".Cm %s\n", words->verb);
	put_synopsis_options(table, use, true, out);
	put_synopsis_options(table, use, false, out);
	if (words && words->operands)
		strbuf_printf(out, ".Ar %s\n", words->operands);
}

static void put_synopsis(const struct option_table *table, struct strbuf *out)
{
	put_synopsis_use(table, 0, out);
	for (size_t use = 1; table->uses && table->uses[use].name; use++)
		put_synopsis_use(table, use, out);
}

/* ---- the entries ---- */

/* " Ar FILE", or " Cm text | json" */
static void put_values(struct strbuf *out, const struct option_row *row)
{
	if (!row->words) {
		put_metavar(out, row);
		return;
	}
	for (size_t i = 0; row->words[i]; i++)
		strbuf_printf(out, " %s %s", i ? "|" : "Cm", row->words[i]);
}

/* ".It Fl o Ar FILE , Fl -output Ar FILE" */
static void put_head(struct strbuf *out, const struct option_row *row)
{
	strbuf_puts(out, ".It");
	if (row->letter) {
		strbuf_printf(out, " Fl %c", row->letter);
		put_values(out, row);
		strbuf_puts(out, " ,");
	}
	strbuf_printf(out, " Fl -%s", row->name);
	put_values(out, row);
	strbuf_putc(out, '\n');
}

/* "Write to this file." */
static void put_sentences(struct strbuf *out, const struct option_row *row)
{
	strbuf_printf(out, "%c%s.\n", toupper((unsigned char)row->help[0]), row->help + 1);
	if (row->repeats)
		strbuf_puts(out, "It may be repeated.\n");
	if (row->fallback)
		strbuf_printf(out, "The default is %s.\n", row->fallback);
}

static int put_entry(struct manual *manual, const char *name, struct strbuf *out)
{
	struct option_place place = options_find(manual->table, name);

	if (!place.row || manual->has_entry[place.index]) {
		(void)snprintf(manual->why, manual->why_len,
			       place.row ? "--%s has two entries" : "there is no option --%s",
			       name);
		return -EINVAL;
	}
	manual->has_entry[place.index] = true;
	put_head(out, place.row);
	put_sentences(out, place.row);
	return 0;
}

/* "since until" */
static int put_entries(struct manual *manual, const char *names, struct strbuf *out)
{
	int err = 0;

	while (!err && *names) {
		size_t len = strcspn(names, " ");
		char name[64];

		(void)snprintf(name, sizeof(name), "%.*s", (int)len, names);
		err = put_entry(manual, name, out);
		names += len + strspn(names + len, " ");
	}
	return err;
}

/* ---- the page ---- */

static int fill(void *ctx, const char *what, struct strbuf *out)
{
	static const char entries[] = "options ";
	struct manual *manual = ctx;
	int err = 0;

	if (strcmp(what, "synopsis") == 0)
		put_synopsis(manual->table, out);
	else if (strncmp(what, entries, strlen(entries)) == 0)
		err = put_entries(manual, what + strlen(entries), out);
	else
		err = -EINVAL;
	return err ? err : strbuf_error(out);
}

static int check_entries(const struct manual *manual)
{
	options_each(manual->table, place)
	{
		if (manual->has_entry[place.index])
			continue;
		(void)snprintf(manual->why, manual->why_len, "--%s has no entry", place.row->name);
		return -EINVAL;
	}
	return 0;
}

int option_manual_fill(const struct option_table *table, const char *page, struct strbuf *out,
		       char *why, size_t why_len)
{
	struct manual manual = { .table = table, .why = why, .why_len = why_len };
	const struct marked_text marked = { .comment = ".\\\" ", .ctx = &manual, .fill = fill };
	int err;

	(void)snprintf(why, why_len, "a mark is not understood, or has no end");
	err = marked_text_fill(&marked, page, out);
	return err ? err : check_entries(&manual);
}
