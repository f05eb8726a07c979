// SPDX-License-Identifier: Apache-2.0
/* Lines for people; see diff_notes.h. */
#include "user/compare/diff_notes.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int reserve(struct diff_notes *notes)
{
	size_t cap = notes->cap ? notes->cap * 2 : 8;

	if (notes->cnt < notes->cap)
		return 0;

	char **bigger = reallocarray(notes->items, cap, sizeof(*bigger));

	if (!bigger)
		return -ENOMEM;
	notes->items = bigger;
	notes->cap = cap;
	return 0;
}

int diff_notes_add(struct diff_notes *notes, const char *format, ...)
{
	int err = reserve(notes);
	char *line = NULL;
	va_list args;

	if (err)
		return err;
	va_start(args, format);
	if (vasprintf(&line, format, args) < 0)
		line = NULL;
	va_end(args);
	if (!line)
		return -ENOMEM;
	notes->items[notes->cnt++] = line;
	return 0;
}

void diff_notes_release(struct diff_notes *notes)
{
	for (size_t i = 0; i < notes->cnt; i++)
		free(notes->items[i]);
	free(notes->items);
	memset(notes, 0, sizeof(*notes));
}
