// SPDX-License-Identifier: Apache-2.0
/* Lines for people; see compare_notes.h. */
#include "user/compare/compare_notes.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/util/vec.h"

int compare_notes_add(struct compare_notes *notes, const char *format, ...)
{
	int err = vec_room(notes->items, notes->cnt, notes->cap, 8);
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

void compare_notes_release(struct compare_notes *notes)
{
	for (size_t i = 0; i < notes->cnt; i++)
		free(notes->items[i]);
	free(notes->items);
	memset(notes, 0, sizeof(*notes));
}
