/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the segment reader share: segment_reader.c walks and steps over damage,
 * segment_unit.c says what stands at a place, segment_index.c goes by a merged file's index,
 * segment_queue.c hands out windows. Nobody else includes this.
 */
#ifndef JBPF_SEGMENT_SEGMENT_WALK_H
#define JBPF_SEGMENT_SEGMENT_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/store/format/merged_format.h"
#include "user/store/segment/merged_unit.h"
#include "user/store/segment/segment_reader.h"
#include "user/store/segment/segment_source.h"
#include "user/store/segment/text_decoder.h"

#define SEGMENT_DATA_MAX_BYTES ((uint64_t)FORMAT_TEXT_MAX_BYTES + (FORMAT_TEXT_MAX_BYTES >> 7))

/*
 * The units in front of `offset` hold only windows that were over by `since_unix_ns`. A later walk of the
 * same reader that asks for windows since then, or later, begins there: whoever watches an hour that is
 * being written looks at it each second.
 */
struct segment_passed {
	uint8_t segment_id[FORMAT_ID_BYTES];
	uint64_t since_unix_ns;
	uint64_t offset; /* 0 = nothing was passed */
	uint64_t sequence;
	uint32_t crc; /* of the record in front of the offset, which ends with it */
};

#define SEGMENT_PASSED_MAX 4 /* files that are written or not merged yet */

struct segment_reader {
	struct segment_source source;
	struct text_decoder *decoder;
	struct strbuf labels;	  /* of the record looked at last */
	struct merged_unit *rows; /* the same for a rows record */
	struct strbuf index;	  /* of the file that is walked; windows borrow from it */
	struct segment_passed passed[SEGMENT_PASSED_MAX];
	size_t passed_next; /* the one to give up when all are used */
};

struct walk {
	struct segment_reader *reader;
	const struct segment_visitor *visitor;
	bool is_verifying;
	uint64_t offset; /* everything before it is accounted for */
	bool has_segment;
	uint8_t segment_id[FORMAT_ID_BYTES];
	uint64_t sequence; /* of the last record */
	bool has_header;
	bool has_refused; /* since the last record: it had a number, too */
	bool is_clean;
	bool needs_newer;
	bool is_unreadable;
	bool is_merged;
	bool has_index;		 /* its record was met */
	uint64_t damage_start;	 /* with damage_what */
	const char *damage_what; /* NULL = no damage is open */
	int growth_retries;
	uint64_t resync_left; /* how many more bytes may be checksummed without success */
	size_t queued_cnt;    /* units that the visitor has not seen yet */
	struct segment_passed
		*passed; /* of this file; NULL = not known, or no longer to be moved */
};

/* What a record says of the unit it ends: a commit record, or a rows record. */
struct segment_claim {
	struct format_commit commit; /* its window only of a commit record */
	bool is_rows;
	struct merged_rows_head head; /* of a rows record; its rows are in reader->rows */
	/* Where they are in the file when they are not, but wanted; 0 bytes = they are, or are not. */
	uint64_t rows_offset;
	size_t rows_len;
};

/* ---- segment_unit.c ---- */

/* One unit in the file. `what` says what is wrong with it; then nothing else is valid. */
struct segment_unit {
	const char *what;
	uint64_t data_offset;
	size_t data_len; /* 0 = no data frame */
	uint64_t end;
	bool is_cut;	 /* with `what`: the file ends before the unit does */
	bool is_foreign; /* a skippable frame of somebody else */
	struct format_record record;
};

/* The unit that begins at `offset`, by the lengths the frames claim. */
void segment_unit_parse(struct segment_source *source, uint64_t offset, struct segment_unit *unit);

/* Takes a commit or rows record. 0, -EINVAL, or -ENOMEM. */
__must_check int segment_unit_claim(struct segment_reader *reader,
				    const struct format_record *record, struct segment_claim *out);

/* Only what a rows record says of text and lines, and how long its rows are. 0 or -EINVAL. */
__must_check int segment_unit_claim_text(const struct format_record *record,
					 struct segment_claim *out);

/* Is the data frame the one the record was written for? */
bool segment_unit_data_is_intact(struct segment_source *source, uint64_t offset,
				 const struct format_commit *commit);

/* The lines record in front of a data frame, checked; NULL when there is none or not this one. */
const uint8_t *segment_unit_lines(struct segment_source *source, uint64_t data_offset,
				  const struct format_commit *commit);

/* The same for the threads record in front of that. */
const uint8_t *segment_unit_threads(struct segment_source *source, uint64_t data_offset,
				    const struct format_commit *commit);

/* The same for the ticks record in front of that. */
const uint8_t *segment_unit_ticks(struct segment_source *source, uint64_t data_offset,
				  const struct format_commit *commit);

/* ---- segment_queue.c ---- */

/*
 * Hands a unit in its place to the queue; windows that come out of it meanwhile go to the visitor.
 * The labels or rows that the reader holds go with it. Result of the walk's step.
 */
int segment_queue_put(struct walk *walk, uint64_t data_offset, uint64_t end,
		      const struct segment_claim *claim);

/* Empties the queue: to the visitor, or without it when the walk has ended early. */
int segment_queue_drain(struct walk *walk, int result);

/* ---- segment_index.c ---- */

/* Goes by the index. false when there is none that can be trusted: nothing has happened then. */
bool segment_index_walk(struct walk *walk, int *result);

/* Hands the notes in a record to the visitor. false when they are broken. */
bool segment_index_notes(const struct walk *walk, const struct format_record *record);

#endif
