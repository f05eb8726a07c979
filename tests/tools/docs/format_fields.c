// SPDX-License-Identifier: Apache-2.0
/* The numbers of a window, where they are in records; see format_fields.h. */
#include "tests/tools/docs/format_fields.h"

#include <errno.h>
#include <string.h>

#include "tests/tools/docs/marked_text.h"
#include "user/model/window.h"
#include "user/util/cleanup.h"

/* "| samples | 8 | 80 | 35, plain | their sum |" */
static void put_field(const struct window_field *field, struct strbuf *out)
{
	static const char *const kinds[] = {
		[WINDOW_FIELD_TIME] = "computed",
		[WINDOW_FIELD_TRACK] = "the same in all",
		[WINDOW_FIELD_STATE] = "that of the latest",
		[WINDOW_FIELD_COUNT] = "their sum",
	};

	strbuf_printf(out, "| %s | %zu | ", field->name, field->bytes);
	if (field->commit_at != WINDOW_FIELD_NOT_IN_COMMIT)
		strbuf_printf(out, "%u ", field->commit_at);
	strbuf_puts(out, "| ");
	if (field->section)
		strbuf_printf(out, "%u, %s ", field->section, field->is_delta ? "delta" : "plain");
	strbuf_printf(out, "| %s |\n", kinds[field->kind]);
}

static int fill(void *ctx, const char *what, struct strbuf *out)
{
	(void)ctx;
	if (strcmp(what, "fields -->") != 0)
		return -EINVAL;
	strbuf_puts(out,
		    "| field | size | in COMMIT, at | in ROWS, section | of several windows |\n"
		    "|---|---|---|---|---|\n");
	for (size_t i = 0; i < ARRAY_SIZE(window_fields); i++)
		put_field(&window_fields[i], out);
	return strbuf_error(out);
}

int format_fields_fill(const struct option_table *const *tables, const char *document,
		       struct strbuf *out)
{
	const struct marked_text marked = { .comment = "<!-- ", .fill = fill };

	(void)tables;
	return marked_text_fill(&marked, document, out);
}
