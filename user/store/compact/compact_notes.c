// SPDX-License-Identifier: Apache-2.0
/* A short list of damaged stretches; see compact_notes.h. */
#include "user/store/compact/compact_notes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/util/cleanup.h"

struct note {
	char *path;
	char *what;
	uint64_t offset;
	uint64_t bytes;
	bool is_new;
};

struct compact_notes {
	enum event event;
	struct note items[COMPACT_NOTES_MAX];
	size_t cnt;
	size_t more_cnt; /* times that one did not fit; every pass meets them again */
};

struct compact_notes *compact_notes__new(enum event event)
{
	struct compact_notes *notes = calloc(1, sizeof(*notes));

	if (notes)
		notes->event = event;
	return notes;
}

void compact_notes__free(struct compact_notes *notes)
{
	if (!notes)
		return;
	for (size_t i = 0; i < notes->cnt; i++) {
		free(notes->items[i].path);
		free(notes->items[i].what);
	}
	free(notes);
}

static bool is_noted(const struct compact_notes *notes, const struct note *note)
{
	for (size_t i = 0; i < notes->cnt; i++) {
		const struct note *other = &notes->items[i];

		if (other->offset == note->offset && other->bytes == note->bytes &&
		    strcmp(other->what, note->what) == 0 && strcmp(other->path, note->path) == 0)
			return true;
	}
	return false;
}

int compact_notes__add(struct compact_notes *notes, const struct segment_file *file,
		       const char *path, uint64_t offset, uint64_t bytes, const char *what)
{
	struct note note = { .offset = offset, .bytes = bytes, .is_new = !path };
	char own_path[SEGMENT_STORE_PATH_BYTES];

	segment_store_path(notes->event, file, own_path);
	note.path = (char *)(path ? path : own_path);
	note.what = (char *)what;
	if (is_noted(notes, &note))
		return 0;
	if (notes->cnt == COMPACT_NOTES_MAX) {
		notes->more_cnt++;
		return 0;
	}
	note.path = strdup(note.path);
	note.what = strdup(note.what);
	if (!note.path || !note.what) {
		free(note.path);
		free(note.what);
		return -ENOMEM;
	}
	notes->items[notes->cnt++] = note;
	return 0;
}

size_t compact_notes__count(const struct compact_notes *notes)
{
	return notes->cnt + notes->more_cnt;
}

size_t compact_notes__new_count(const struct compact_notes *notes)
{
	size_t cnt = 0;

	for (size_t i = 0; i < notes->cnt; i++)
		cnt += notes->items[i].is_new;
	return cnt;
}

int compact_notes__write(const struct compact_notes *notes, struct merged_writer *writer)
{
	int err = 0;

	for (size_t i = 0; i < notes->cnt && !err; i++) {
		const struct note *note = &notes->items[i];

		err = merged_writer__note_damage(writer, note->path, note->offset, note->bytes,
						 note->what);
	}
	if (!err && notes->more_cnt)
		err = merged_writer__note_damage(writer, notes->items[COMPACT_NOTES_MAX - 1].path,
						 0, 0, "and more places");
	return err;
}
