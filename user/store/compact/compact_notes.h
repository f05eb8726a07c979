/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of the sources is damaged, to be noted in the merged file. Every pass over the sources meets
 * the same damage again; it is noted once.
 */
#ifndef JBPF_COMPACT_COMPACT_NOTES_H
#define JBPF_COMPACT_COMPACT_NOTES_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/store/compact/merged_writer.h"
#include "user/store/segment/segment_tree.h"

#define COMPACT_NOTES_MAX 100 /* one more stands for all others */

struct compact_notes;

/* Of files of that event. NULL only when memory is short. */
struct compact_notes *compact_notes__new(enum event event);
void compact_notes__free(struct compact_notes *notes);

/*
 * A stretch of `file`, or of the file `path` that `file` was made from and has a note about. 0 or
 * -ENOMEM.
 */
__must_check int compact_notes__add(struct compact_notes *notes, const struct segment_file *file,
				    const char *path, uint64_t offset, uint64_t bytes,
				    const char *what);

/* All; those that are not in an older file's notes already. */
size_t compact_notes__count(const struct compact_notes *notes);
size_t compact_notes__new_count(const struct compact_notes *notes);

/* 0 or -errno. */
__must_check int compact_notes__write(const struct compact_notes *notes,
				      struct merged_writer *writer);

#endif
