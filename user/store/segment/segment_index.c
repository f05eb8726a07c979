// SPDX-License-Identifier: Apache-2.0
/*
 * A merged file by its index; see segment_walk.h. The seek table at the file's end says where the
 * index begins, the index says where its units are and what is in them. Only units of which
 * something is wanted are read. An index that is in doubt is not used: then the file is walked.
 */
#include <errno.h>
#include <string.h>

#include "user/store/segment/segment_walk.h"
#include "user/util/cleanup.h"

#define INDEX_STEP_BYTES (16 * 1024) /* a file's end, or its beginning */

/* The record at `offset` of a type that has no data frame. NULL-what as in a walk. */
static bool record_at(struct segment_source *source, uint64_t offset, enum format_type type,
		      struct format_record *out)
{
	struct segment_unit unit;

	segment_unit_parse(source, offset, &unit);
	if (unit.what || unit.is_foreign || unit.data_len || unit.record.type != type ||
	    (unit.record.incompat & ~FORMAT_INCOMPAT_KNOWN))
		return false;
	*out = unit.record;
	return true;
}

/* Where the index record begins; 0 when the file has no seek table. */
static uint64_t index_offset(struct segment_source *source)
{
	uint64_t table_bytes, table_offset;
	uint32_t index_bytes;
	const uint8_t *bytes;
	size_t available;

	if (source->size < MERGED_SEEK_FOOTER_BYTES)
		return 0;
	bytes = segment_source_view(source, source->size - MERGED_SEEK_FOOTER_BYTES,
				    MERGED_SEEK_FOOTER_BYTES, &available);
	if (!bytes || !merged_seek_footer(bytes, &table_bytes) || table_bytes >= source->size)
		return 0;
	table_offset = source->size - table_bytes;
	bytes = segment_source_view(source, table_offset, (size_t)table_bytes, &available);
	index_bytes = bytes ? merged_seek_last_frame(bytes, (size_t)table_bytes) : 0;
	if (index_bytes < FORMAT_RECORD_MIN_BYTES || index_bytes >= table_offset)
		return 0;
	return table_offset - index_bytes;
}

/* Header and index of the same segment; then the units are in reader->index. */
static bool index_load(struct walk *walk, struct merged_index_head *head)
{
	struct segment_reader *reader = walk->reader;
	struct segment_source *source = &reader->source;
	uint64_t offset = index_offset(source);
	struct format_record record;
	struct format_header header;
	const uint8_t *frame;
	size_t frame_len;

	if (!offset || !record_at(source, offset, FORMAT_TYPE_INDEX, &record) ||
	    merged_decode_index(&record, head, &frame, &frame_len) || head->offset != offset ||
	    head->notes_len > offset ||
	    merged_decompress(frame, frame_len, head->body_len, &reader->index))
		return false;
	return record_at(source, 0, FORMAT_TYPE_HEADER, &record) &&
	       format_decode_header(&record, &reader->labels, &header) == 0 &&
	       memcmp(header.segment_id, head->segment_id, FORMAT_ID_BYTES) == 0;
}

/* ---- notes ---- */

static void report_note(void *ctx, const struct merged_note *note)
{
	const struct segment_visitor *visitor = ctx;

	if (visitor->damage)
		visitor->damage(visitor->ctx, note->path, note->offset, note->bytes, note->what);
}

static void ignore_note(void *ctx, const struct merged_note *note)
{
	(void)ctx;
	(void)note;
}

bool segment_index_notes(const struct walk *walk, const struct format_record *record)
{
	/* All or none. */
	return merged_decode_notes(record, ignore_note, NULL) == 0 &&
	       merged_decode_notes(record, report_note, (void *)walk->visitor) == 0;
}

static void take_notes(struct walk *walk, const struct merged_index_head *head)
{
	uint64_t offset = head->offset - head->notes_len;
	struct format_record record;

	if (!head->notes_len)
		return;
	if (!record_at(&walk->reader->source, offset, FORMAT_TYPE_NOTES, &record) ||
	    !segment_index_notes(walk, &record)) {
		if (walk->visitor->damage)
			walk->visitor->damage(walk->visitor->ctx, NULL, offset, head->notes_len,
					      "notes of earlier damage are broken");
	}
}

/* ---- units ---- */

/* Reads the unit's record and checks its data. Returns what is wrong, or NULL. */
static const char *unit_read(struct walk *walk, const struct merged_index_unit *place,
			     enum merged_wanted wanted, struct segment_claim *claim, int *result)
{
	struct segment_source *source = &walk->reader->source;
	uint64_t data_offset = place->offset + place->lines_len;
	struct segment_unit unit;
	size_t available;
	int err;

	/* All of it at once. */
	(void)segment_source_view(source, place->offset,
				  (size_t)place->lines_len + place->data_len + place->rows_len,
				  &available);
	segment_unit_parse(source, data_offset, &unit);
	if (unit.what)
		return unit.what;
	if (unit.is_foreign || unit.record.type != FORMAT_TYPE_ROWS ||
	    unit.data_len != place->data_len ||
	    unit.end != data_offset + place->data_len + place->rows_len)
		return "unit is not what the index says";
	if (unit.record.incompat & ~FORMAT_INCOMPAT_KNOWN)
		return "record needs a newer version of jbpf";
	err = wanted == MERGED_WANTED_ROWS && !walk->visitor->window ?
		      segment_unit_claim(walk->reader, &unit.record, claim) :
		      segment_unit_claim_text(&unit.record, claim);
	/* The frame is what stands last in the record, in front of its checksum. */
	claim->rows_offset = unit.end - sizeof(uint32_t) - claim->rows_len;
	if (wanted != MERGED_WANTED_ROWS)
		claim->rows_len = 0;
	if (err == -ENOMEM)
		*result = err;
	if (err)
		return "broken rows";
	if (memcmp(claim->commit.segment_id, walk->segment_id, FORMAT_ID_BYTES) != 0)
		return "record of another file";
	if (claim->commit.data_len != unit.data_len)
		return "record without its data frame";
	if (!segment_unit_data_is_intact(source, data_offset, &claim->commit))
		return "bad data checksum";
	return NULL;
}

static void report_unit(struct walk *walk, const struct merged_index_unit *place, const char *what)
{
	walk->is_clean = false;
	if (walk->visitor->damage && !walk->reader->source.err)
		walk->visitor->damage(
			walk->visitor->ctx, NULL, place->offset,
			(uint64_t)place->lines_len + place->data_len + place->rows_len, what);
}

/* One unit of which something is wanted. Result of the walk's step. */
static int unit_take(struct walk *walk, const struct merged_index_unit *place,
		     enum merged_wanted wanted)
{
	uint64_t data_offset = place->offset + place->lines_len;
	struct segment_claim claim;
	bool is_wanted = true;
	int result = 0;
	const char *what = unit_read(walk, place, wanted, &claim, &result);

	if (what) {
		if (!result)
			report_unit(walk, place, what);
		return result;
	}
	if (!walk->visitor->window)
		return wanted == MERGED_WANTED_ROWS ?
			       merged_unit__choose_rows(walk->reader->rows, walk->visitor,
							&is_wanted) :
			       0;
	return segment_queue_put(walk, data_offset, data_offset + place->data_len + place->rows_len,
				 &claim);
}

/* The next unit of the index. false when the index is broken. */
static bool unit_step(struct walk *walk, struct varint_reader *reader, uint64_t limit, int *result)
{
	__cleanup_rows_table struct rows_table sums = { .rows = NULL };
	struct merged_index_unit place;
	enum merged_wanted wanted;
	const uint8_t *table;
	int err;

	if (!merged_get_index_unit(reader, &place) || place.offset > limit ||
	    (uint64_t)place.lines_len + place.data_len + place.rows_len > limit - place.offset)
		return false;
	table = varint_reader_take(reader, place.table_len);
	err = rows_table_parse(table, place.table_len, place.track_cnt, place.track_cnt, &sums);
	if (err == -EINVAL)
		return false;
	if (!err)
		err = merged_unit__choose_tracks(walk->reader->rows, walk->visitor, &sums, &wanted);
	if (err)
		*result = err;
	else if (wanted != MERGED_WANTED_NOTHING)
		*result = unit_take(walk, &place, wanted);
	return true;
}

bool segment_index_walk(struct walk *walk, int *result)
{
	struct segment_source *source = &walk->reader->source;
	struct merged_index_head head;
	struct varint_reader units;

	*result = 0;
	source->step = INDEX_STEP_BYTES;
	if (!index_load(walk, &head))
		return false;
	memcpy(walk->segment_id, head.segment_id, FORMAT_ID_BYTES);
	walk->has_segment = true;
	walk->is_merged = true;
	take_notes(walk, &head);
	units = varint_reader_init(strbuf_str(&walk->reader->index), walk->reader->index.len);
	for (uint32_t i = 0; i < head.unit_cnt && !*result && !source->err; i++) {
		if (!unit_step(walk, &units, head.offset, result)) {
			/* It was written like that: its checksum was right. */
			if (walk->visitor->damage)
				walk->visitor->damage(walk->visitor->ctx, NULL, head.offset, 0,
						      "index is broken");
			break;
		}
	}
	return true;
}
