/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One hour file that is being written. It is only ever appended to behind a record boundary that
 * this process left or has checked, and a failed append is taken back.
 */
#ifndef JBPF_SEGMENT_SEGMENT_WRITER_H
#define JBPF_SEGMENT_SEGMENT_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/store/segment/segment_tree.h"

struct segment_writer;

/*
 * Continues the hour's newest file when that is intact, or begins the next one (HH-1, ...) of at
 * least `min_index`. The header goes to disk with the first append. 0 or -errno.
 */
__must_check int segment_writer__open(int tree_fd, uint64_t hour_unix_s, uint32_t min_index,
				      struct segment_writer **out);
/* A file that never got its first record is removed. NULL is fine. */
void segment_writer__free(struct segment_writer *writer);

/* What the records must carry: the file's id and the number of the next record. */
const uint8_t *segment_writer__id(const struct segment_writer *writer);
uint64_t segment_writer__next_sequence(const struct segment_writer *writer);
const struct segment_file *segment_writer__file(const struct segment_writer *writer);

/*
 * Appends `record_cnt` whole records with their data frames and syncs. On error they are not in
 * the file; if that could not be made sure the writer is not usable any more.
 */
int segment_writer__append(struct segment_writer *writer, const void *bytes, size_t len,
			   uint64_t record_cnt);

/* false after a failed rollback, a failed sync, or when somebody changed or deleted the file. */
bool segment_writer__is_usable(const struct segment_writer *writer);

#endif
