// SPDX-License-Identifier: Apache-2.0
/* Text that is partly made by a program; see marked_text.h. */
#include "tests/tools/docs/marked_text.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* The line with its end. */
static size_t line_len(const char *line)
{
	size_t len = strcspn(line, "\n");

	return len + (line[len] == '\n');
}

/* The rest of the line behind "# begin" or "# end"; NULL = it is another line. */
static const char *mark_of(const struct marked_text *marked, const char *line, const char *word)
{
	size_t comment_len = strlen(marked->comment), word_len = strlen(word);

	line += strspn(line, " \t");
	if (strncmp(line, marked->comment, comment_len) != 0 ||
	    strncmp(line + comment_len, word, word_len) != 0)
		return NULL;
	line += comment_len + word_len;
	return *line == ' ' ? line + 1 : *line == '\n' ? line : NULL;
}

static const char *skip_to_end(const struct marked_text *marked, const char *line)
{
	while (*line && !mark_of(marked, line, "end")) {
		if (mark_of(marked, line, "begin"))
			return NULL;
		line += line_len(line);
	}
	return *line ? line : NULL;
}

static int fill_one(const struct marked_text *marked, const char *begin, struct strbuf *out)
{
	__cleanup_strbuf struct strbuf what = STRBUF_INIT;
	int err;

	strbuf_append(&what, begin, strcspn(begin, "\n"));
	err = strbuf_error(&what);
	return err ? err : marked->fill(marked->ctx, strbuf_str(&what), out);
}

int marked_text_fill(const struct marked_text *marked, const char *text, struct strbuf *out)
{
	int err = 0;

	while (!err && *text) {
		const char *what = mark_of(marked, text, "begin");

		if (mark_of(marked, text, "end"))
			return -EINVAL;
		strbuf_append(out, text, line_len(text));
		text += line_len(text);
		if (!what)
			continue;
		err = fill_one(marked, what, out);
		text = skip_to_end(marked, text);
		if (!text)
			return -EINVAL;
		strbuf_append(out, text, line_len(text));
		text += line_len(text);
	}
	return err ? err : strbuf_error(out);
}
