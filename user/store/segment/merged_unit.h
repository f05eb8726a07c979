/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One unit of a merged segment being read: which of its windows are wanted, merged as far as the
 * visitor allows, and their texts made from the unit's text. What is read may be hostile.
 */
#ifndef JBPF_SEGMENT_MERGED_UNIT_H
#define JBPF_SEGMENT_MERGED_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/store/format/merged_format.h"
#include "user/store/format/rows_table.h"
#include "user/store/segment/segment_reader.h"

struct merged_unit;

struct merged_unit *merged_unit__new(void);	  /* NULL only when memory is short */
void merged_unit__free(struct merged_unit *unit); /* NULL is fine */

/*
 * Takes the rows of a unit's record; forgets the unit before. 0, -EINVAL when they are broken, or
 * -ENOMEM. Nothing borrows from the record.
 */
__must_check int merged_unit__load(struct merged_unit *unit, const struct merged_rows_head *head,
				   const uint8_t *frame, size_t frame_len);

/*
 * What is wanted of a unit, by the sums of its tracks as an index has them. Returns whether
 * anything may be wanted. `sums` may be released then, but not what its windows borrow from.
 * -ENOMEM.
 */
enum merged_wanted {
	MERGED_WANTED_NOTHING = 0,
	MERGED_WANTED_WHOLE = 1, /* the one track of the unit as one window: no rows are needed */
	MERGED_WANTED_ROWS = 2,	 /* they must be loaded before merged_unit__choose_rows() */
};

int merged_unit__choose_tracks(struct merged_unit *unit, const struct segment_visitor *visitor,
			       const struct rows_table *sums, enum merged_wanted *out);
/* The same when there is no index: the sums are made from the rows. */
int merged_unit__choose_loaded(struct merged_unit *unit, const struct segment_visitor *visitor,
			       enum merged_wanted *out);
/* Asks about the windows of the rows. false in *out: none is wanted. 0 or -ENOMEM. */
__must_check int merged_unit__choose_rows(struct merged_unit *unit,
					  const struct segment_visitor *visitor, bool *out);

/* Texts of the unit. */
struct merged_texts {
	const struct merged_rows_head *head;
	const char *stacks;
	size_t stacks_len;
	const char *sources; /* NULL = not asked for, or not there */
	size_t sources_len;
	const uint8_t
		*ticks; /* codes of all rows, checked; length 0 = not asked for, or not there */
	size_t ticks_len;
};

/*
 * Hands the chosen windows to the visitor; *result is what it returned. 0, -ENOMEM, or -EINVAL:
 * texts and rows do not belong together, and some windows were not handed out.
 */
__must_check int merged_unit__deliver(struct merged_unit *unit,
				      const struct segment_visitor *visitor,
				      const struct merged_texts *texts, int *result);

#endif
