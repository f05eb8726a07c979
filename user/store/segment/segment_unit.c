// SPDX-License-Identifier: Apache-2.0
/*
 * The unit at a place of a segment; see segment_walk.h. Lengths are claims until they are checked.
 */
#include <errno.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "user/store/format/crc32c.h"
#include "user/store/segment/segment_walk.h"

#define VIEW_GROWTH 4

/*
 * Bytes of the data frame at `offset`. 0 when it is not complete or not a frame: unit->what.
 * ZSTD_findFrameCompressedSize() wants the whole frame in memory, so the view grows until it fits.
 */
static size_t data_frame_bytes(struct segment_source *source, uint64_t offset,
			       struct segment_unit *unit)
{
	uint64_t rest = source->size - offset;
	size_t want = 1;

	for (;;) {
		size_t available;
		const uint8_t *bytes = segment_source_view(source, offset, want, &available);
		size_t found;

		if (!bytes)
			return 0;
		found = ZSTD_findFrameCompressedSize(bytes, available);
		if (!ZSTD_isError(found))
			return found;
		unit->what = "broken data frame";
		if (ZSTD_getErrorCode(found) != ZSTD_error_srcSize_wrong ||
		    available >= SEGMENT_DATA_MAX_BYTES)
			return 0;
		if (available >= rest) {
			unit->what = "cut data frame";
			unit->is_cut = true;
			return 0;
		}
		want = available > rest / VIEW_GROWTH ? (size_t)rest : available * VIEW_GROWTH;
		if (want > SEGMENT_DATA_MAX_BYTES)
			want = (size_t)SEGMENT_DATA_MAX_BYTES < rest ?
				       (size_t)SEGMENT_DATA_MAX_BYTES :
				       (size_t)rest;
	}
}

/* The skippable frame at `offset`; the unit begins at unit->data_offset. */
static void parse_skippable(struct segment_source *source, uint64_t offset,
			    struct segment_unit *unit)
{
	uint64_t rest = source->size - offset;
	size_t in_front = (size_t)(offset - unit->data_offset);
	size_t peek = rest < 12 ? (size_t)rest : 12;
	size_t available;
	const uint8_t *bytes =
		segment_source_view(source, unit->data_offset, in_front + peek, &available);
	uint64_t frame_len;

	if (!bytes)
		return;
	bytes += in_front;
	if (peek < FORMAT_FRAME_HEADER_BYTES) {
		unit->what = in_front ? "data frame without its record" : "cut record";
		unit->is_cut = true;
		return;
	}
	if ((format_get_u32(bytes) & FORMAT_MAGIC_RECORD_MASK) != FORMAT_MAGIC_RECORD_FIRST) {
		unit->what = in_front ? "data frame without its record" : "no frame begins here";
		return;
	}
	frame_len = FORMAT_FRAME_HEADER_BYTES + (uint64_t)format_get_u32(bytes + 4);
	if (frame_len > rest) {
		unit->what = "cut record";
		unit->is_cut = true;
		return;
	}
	unit->end = offset + frame_len;
	if (!format_is_record(bytes, peek)) {
		unit->is_foreign = true;
		unit->what = in_front ? "data frame without its record" : NULL;
		return;
	}
	unit->what = "bad record checksum";
	if (frame_len > MERGED_RECORD_MAX_BYTES)
		return;
	bytes = segment_source_view(source, unit->data_offset, in_front + (size_t)frame_len,
				    &available);
	if (bytes && format_decode_record(bytes + in_front, (size_t)frame_len, &unit->record) == 0)
		unit->what = NULL;
}

void segment_unit_parse(struct segment_source *source, uint64_t offset, struct segment_unit *unit)
{
	uint64_t rest = offset < source->size ? source->size - offset : 0;
	size_t magic_len = rest < 4 ? (size_t)rest : 4;
	size_t available;
	const uint8_t *bytes;

	*unit = (struct segment_unit){ .what = "no frame begins here", .data_offset = offset };
	/* Fewer than four bytes only where the file ends, not where the view does. */
	bytes = segment_source_view(source, offset, magic_len, &available);
	if (!bytes)
		return;
	if (magic_len == 4 && format_get_u32(bytes) == FORMAT_MAGIC_DATA) {
		unit->data_len = data_frame_bytes(source, offset, unit);
		if (unit->data_len == 0)
			return;
	}
	parse_skippable(source, offset + unit->data_len, unit);
}

static int claim_rows(const struct format_record *record, struct segment_claim *out,
		      const uint8_t **frame, size_t *frame_len)
{
	const struct merged_rows_head *head = &out->head;
	int err;

	*out = (struct segment_claim){ .is_rows = true };
	err = merged_decode_rows(record, &out->head, frame, frame_len);
	if (err)
		return err;
	out->commit = (struct format_commit){
		.sequence = head->sequence,
		.data_len = head->data_len,
		.data_crc = head->data_crc,
		.text_len = head->text_len,
		.lines_len = head->lines_len,
		.lines_crc = head->lines_crc,
		.ticks_len = head->ticks_len,
		.ticks_crc = head->ticks_crc,
	};
	memcpy(out->commit.segment_id, head->segment_id, FORMAT_ID_BYTES);
	return 0;
}

int segment_unit_claim(struct segment_reader *reader, const struct format_record *record,
		       struct segment_claim *out)
{
	const uint8_t *frame;
	size_t frame_len;
	int err;

	if (record->type != FORMAT_TYPE_ROWS) {
		*out = (struct segment_claim){ .is_rows = false };
		return format_decode_commit(record, &reader->labels, &out->commit);
	}
	err = claim_rows(record, out, &frame, &frame_len);
	return err ? err : merged_unit__load(reader->rows, &out->head, frame, frame_len);
}

int segment_unit_claim_text(const struct format_record *record, struct segment_claim *out)
{
	const uint8_t *frame;

	return claim_rows(record, out, &frame, &out->rows_len);
}

bool segment_unit_data_is_intact(struct segment_source *source, uint64_t offset,
				 const struct format_commit *commit)
{
	size_t available;
	const uint8_t *bytes;

	if (commit->data_len == 0)
		return true;
	if (commit->data_len > SEGMENT_DATA_MAX_BYTES)
		return false;
	bytes = segment_source_view(source, offset, commit->data_len, &available);
	return bytes && crc32c(bytes, commit->data_len) == commit->data_crc;
}

/* A record that ends at `end`. */
static const uint8_t *record_before(struct segment_source *source, uint64_t end, uint32_t len,
				    uint32_t crc)
{
	size_t available;
	const uint8_t *bytes;

	if (len < FORMAT_RECORD_MIN_BYTES || len > end || len > 2 * FORMAT_LINES_MAX_BYTES)
		return NULL;
	bytes = segment_source_view(source, end - len, len, &available);
	return bytes && crc32c(bytes, len) == crc ? bytes : NULL;
}

const uint8_t *segment_unit_lines(struct segment_source *source, uint64_t data_offset,
				  const struct format_commit *commit)
{
	return record_before(source, data_offset, commit->lines_len, commit->lines_crc);
}

const uint8_t *segment_unit_threads(struct segment_source *source, uint64_t data_offset,
				    const struct format_commit *commit)
{
	if (commit->lines_len > data_offset)
		return NULL;
	return record_before(source, data_offset - commit->lines_len, commit->threads_len,
			     commit->threads_crc);
}

const uint8_t *segment_unit_ticks(struct segment_source *source, uint64_t data_offset,
				  const struct format_commit *commit)
{
	uint64_t behind = (uint64_t)commit->lines_len + commit->threads_len;

	if (behind > data_offset)
		return NULL;
	return record_before(source, data_offset - behind, commit->ticks_len, commit->ticks_crc);
}
