// SPDX-License-Identifier: Apache-2.0
/*
 * Records of merged segments; see merged_format.h. What is decoded may be hostile: every length is
 * checked against what is there, every number against its limit.
 */
#include "user/store/format/merged_format.h"

#include <errno.h>
#include <string.h>
#include <zstd.h>

#include "user/store/format/crc32c.h"
#include "user/util/byte_reader.h"
#include "user/util/byte_writer.h"
#include "user/util/cleanup.h"

#define NOTE_TEXT_MAX_BYTES 256

#define SEEK_MAGIC_TABLE    0x184d2a5eu
#define SEEK_MAGIC_END	    0x8f92eab1u
#define SEEK_ENTRY_BYTES    8
#define SEEK_ENTRY_CHECKSUM 0x80 /* of the descriptor: entries are 4 bytes longer */
#define SEEK_ENTRIES_MAX    0x8000000u

/* ---- sources ---- */

int merged_encode_sources(const uint8_t (*ids)[FORMAT_ID_BYTES], size_t cnt, uint32_t compat,
			  struct strbuf *out)
{
	__cleanup_strbuf struct strbuf payload = STRBUF_INIT;
	struct byte_writer writer = byte_writer_init(&payload);
	int err;

	if (cnt > MERGED_SOURCES_MAX)
		return -E2BIG;
	byte_writer_uint(&writer, cnt, 4);
	byte_writer_bytes(&writer, ids, cnt * FORMAT_ID_BYTES);
	err = byte_writer_end(&writer);
	return err ? err :
		     format_encode_flagged(FORMAT_TYPE_SOURCES, compat, payload.data, payload.len,
					   out);
}

int merged_decode_sources(const struct format_record *record,
			  const uint8_t (**ids)[FORMAT_ID_BYTES], size_t *cnt_out)
{
	struct byte_reader reader = byte_reader_init(record->payload, record->payload_len);
	size_t cnt = byte_reader_u32(&reader);
	const void *bytes;

	if (cnt > MERGED_SOURCES_MAX)
		return -EINVAL;
	bytes = byte_reader_take(&reader, cnt * FORMAT_ID_BYTES);
	if (reader.failed)
		return -EINVAL;
	*ids = bytes;
	*cnt_out = cnt;
	return 0;
}

/* ---- notes ---- */

static void write_note_text(struct byte_writer *writer, const char *text)
{
	byte_writer_text(writer, text, strnlen(text, NOTE_TEXT_MAX_BYTES));
}

int merged_encode_note(const struct merged_note *note, struct strbuf *payload)
{
	struct byte_writer writer = byte_writer_init(payload);

	byte_writer_uint(&writer, note->offset, 8);
	byte_writer_uint(&writer, note->bytes, 8);
	write_note_text(&writer, note->path);
	write_note_text(&writer, note->what);
	return byte_writer_end(&writer);
}

/* They are printed as they are, so they are nothing but visible characters. */
static bool read_note_text(struct byte_reader *reader, char text[static NOTE_TEXT_MAX_BYTES + 1])
{
	size_t len = byte_reader_u16(reader);
	const char *bytes = len <= NOTE_TEXT_MAX_BYTES ? byte_reader_take(reader, len) : NULL;

	if (!bytes)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] < ' ' || bytes[i] > '~')
			return false;
	}
	memcpy(text, bytes, len);
	text[len] = '\0';
	return true;
}

int merged_decode_notes(const struct format_record *record,
			void (*each)(void *ctx, const struct merged_note *note), void *ctx)
{
	struct byte_reader reader = byte_reader_init(record->payload, record->payload_len);
	char path[NOTE_TEXT_MAX_BYTES + 1], what[NOTE_TEXT_MAX_BYTES + 1];
	uint32_t cnt = byte_reader_u32(&reader);

	if (reader.failed || cnt > MERGED_NOTES_MAX)
		return -EINVAL;
	for (uint32_t i = 0; i < cnt; i++) {
		struct merged_note note = { .path = path, .what = what };

		note.offset = byte_reader_u64(&reader);
		note.bytes = byte_reader_u64(&reader);
		if (!read_note_text(&reader, path) || !read_note_text(&reader, what))
			return -EINVAL;
		each(ctx, &note);
	}
	return 0;
}

/* ---- rows ---- */

#define ROWS_FIXED_MIN_BYTES \
	56 /* of the head's fields, as the first jbpf with merged hours wrote them */
#define ROWS_TICKS_BYTES 8 /* of the group behind them, which is there with ticks only */
/* Id, sequence, length of the fixed fields; the fields; record length and checksum. */
#define ROWS_HEAD_BYTES(fixed_len) (FORMAT_ID_BYTES + 8 + 4 + (fixed_len) + 8)
#define ROWS_FIXED_MAX		   (MERGED_ROWS_PEEK_BYTES - RECORD_FRONT_BYTES - ROWS_HEAD_BYTES(0))
#define RECORD_FRONT_BYTES	   (FORMAT_FRAME_HEADER_BYTES + FORMAT_ENVELOPE_BYTES)

int merged_encode_rows(const struct merged_rows_head *head, const void *frame, size_t frame_len,
		       struct strbuf *out)
{
	__cleanup_strbuf struct strbuf payload = STRBUF_INIT;
	struct byte_writer writer = byte_writer_init(&payload);
	size_t fixed_len = ROWS_FIXED_MIN_BYTES + (head->ticks_len ? ROWS_TICKS_BYTES : 0);
	size_t record_len = FORMAT_RECORD_MIN_BYTES + ROWS_HEAD_BYTES(fixed_len) + frame_len;
	int err;

	if (record_len > MERGED_RECORD_MAX_BYTES)
		return -E2BIG;
	byte_writer_bytes(&writer, head->segment_id, FORMAT_ID_BYTES);
	byte_writer_uint(&writer, head->sequence, 8);
	byte_writer_uint(&writer, fixed_len, 4);
	byte_writer_uint(&writer, head->data_len, 4);
	byte_writer_uint(&writer, head->data_crc, 4);
	byte_writer_uint(&writer, head->text_len, 8);
	byte_writer_uint(&writer, head->lines_len, 4);
	byte_writer_uint(&writer, head->lines_crc, 4);
	byte_writer_uint(&writer, head->source_text_len, 8);
	byte_writer_uint(&writer, head->line_cnt, 4);
	byte_writer_uint(&writer, head->source_line_cnt, 4);
	byte_writer_uint(&writer, head->track_cnt, 4);
	byte_writer_uint(&writer, head->row_cnt, 4);
	byte_writer_uint(&writer, head->body_len, 4);
	byte_writer_uint(&writer, 0, 4); /* reserved */
	if (head->ticks_len) {
		byte_writer_uint(&writer, head->ticks_len, 4);
		byte_writer_uint(&writer, head->ticks_crc, 4);
	}
	byte_writer_uint(&writer, record_len, 4);
	byte_writer_uint(&writer, crc32c(payload.data, payload.len), 4);
	byte_writer_bytes(&writer, frame, frame_len);
	err = byte_writer_end(&writer);
	return err ? err : format_encode_record(FORMAT_TYPE_ROWS, payload.data, payload.len, out);
}

static void read_rows_fields(struct byte_reader *reader, struct merged_rows_head *out)
{
	out->data_len = byte_reader_u32(reader);
	out->data_crc = byte_reader_u32(reader);
	out->text_len = byte_reader_u64(reader);
	out->lines_len = byte_reader_u32(reader);
	out->lines_crc = byte_reader_u32(reader);
	out->source_text_len = byte_reader_u64(reader);
	out->line_cnt = byte_reader_u32(reader);
	out->source_line_cnt = byte_reader_u32(reader);
	out->track_cnt = byte_reader_u32(reader);
	out->row_cnt = byte_reader_u32(reader);
	out->body_len = byte_reader_u32(reader);
	(void)byte_reader_u32(reader); /* reserved */
	if (reader->left < ROWS_TICKS_BYTES)
		return; /* of a time before this one */
	out->ticks_len = byte_reader_u32(reader);
	out->ticks_crc = byte_reader_u32(reader);
}

static bool rows_head_is_sane(const struct merged_rows_head *head)
{
	return head->text_len <= FORMAT_TEXT_MAX_BYTES &&
	       head->source_text_len <= FORMAT_LINES_MAX_BYTES &&
	       head->line_cnt <= MERGED_LINES_MAX && head->source_line_cnt <= MERGED_LINES_MAX &&
	       head->row_cnt <= MERGED_ROWS_MAX && head->track_cnt <= head->row_cnt &&
	       head->body_len <= MERGED_BODY_MAX_BYTES;
}

/* The head at the payload's beginning; the reader stands behind it then. */
static int read_rows_head(struct byte_reader *reader, struct merged_rows_head *out,
			  size_t *record_len)
{
	const uint8_t *begin = reader->at;
	const void *id = byte_reader_take(reader, FORMAT_ID_BYTES);
	struct merged_rows_head head = { .sequence = byte_reader_u64(reader) };
	uint32_t fixed_len = byte_reader_u32(reader);
	const void *bytes = byte_reader_take(reader, fixed_len);
	struct byte_reader fixed = byte_reader_init(bytes, fixed_len);
	size_t summed;

	*record_len = byte_reader_u32(reader);
	if (reader->failed || fixed_len < ROWS_FIXED_MIN_BYTES || fixed_len > ROWS_FIXED_MAX)
		return -EINVAL;
	summed = (size_t)(reader->at - begin);
	if (crc32c(begin, summed) != byte_reader_u32(reader) || reader->failed)
		return -EINVAL;
	memcpy(head.segment_id, id, FORMAT_ID_BYTES);
	read_rows_fields(&fixed, &head);
	if (!rows_head_is_sane(&head))
		return -EINVAL;
	*out = head;
	return 0;
}

int merged_peek_rows(const uint8_t *bytes, size_t len, struct merged_rows_head *out,
		     size_t *frame_len_out)
{
	struct byte_reader reader = byte_reader_init(bytes, len);
	uint32_t magic = byte_reader_u32(&reader);
	size_t frame_len = FORMAT_FRAME_HEADER_BYTES + (size_t)byte_reader_u32(&reader);
	const void *tag = byte_reader_take(&reader, strlen(FORMAT_TAG));
	uint16_t type = byte_reader_u16(&reader);
	size_t record_len;

	(void)byte_reader_take(&reader, FORMAT_ENVELOPE_BYTES - strlen(FORMAT_TAG) - 2);
	if (reader.failed || magic != FORMAT_MAGIC_RECORD ||
	    memcmp(tag, FORMAT_TAG, strlen(FORMAT_TAG)) != 0 || type != FORMAT_TYPE_ROWS ||
	    read_rows_head(&reader, out, &record_len) || record_len != frame_len)
		return -EINVAL;
	*frame_len_out = frame_len;
	return 0;
}

int merged_decode_rows(const struct format_record *record, struct merged_rows_head *out,
		       const uint8_t **frame, size_t *frame_len)
{
	struct byte_reader reader = byte_reader_init(record->payload, record->payload_len);
	size_t record_len;

	if (read_rows_head(&reader, out, &record_len) || record_len != record->frame_len)
		return -EINVAL;
	*frame = reader.at;
	*frame_len = reader.left;
	return 0;
}

/* ---- index ---- */

int merged_encode_index(const struct merged_index_head *head, const void *frame, size_t frame_len,
			struct strbuf *out)
{
	__cleanup_strbuf struct strbuf payload = STRBUF_INIT;
	struct byte_writer writer = byte_writer_init(&payload);
	int err;

	if (frame_len > MERGED_RECORD_MAX_BYTES - FORMAT_RECORD_MAX_BYTES)
		return -E2BIG;
	byte_writer_bytes(&writer, head->segment_id, FORMAT_ID_BYTES);
	byte_writer_uint(&writer, head->offset, 8);
	byte_writer_uint(&writer, head->unit_cnt, 4);
	byte_writer_uint(&writer, head->notes_len, 4);
	byte_writer_uint(&writer, head->body_len, 4);
	byte_writer_uint(&writer, 0, 4); /* reserved */
	byte_writer_bytes(&writer, frame, frame_len);
	err = byte_writer_end(&writer);
	return err ? err : format_encode_record(FORMAT_TYPE_INDEX, payload.data, payload.len, out);
}

int merged_decode_index(const struct format_record *record, struct merged_index_head *out,
			const uint8_t **frame, size_t *frame_len)
{
	struct byte_reader reader = byte_reader_init(record->payload, record->payload_len);
	const void *id = byte_reader_take(&reader, FORMAT_ID_BYTES);
	struct merged_index_head head = { .offset = byte_reader_u64(&reader) };

	head.unit_cnt = byte_reader_u32(&reader);
	head.notes_len = byte_reader_u32(&reader);
	head.body_len = byte_reader_u32(&reader);
	(void)byte_reader_u32(&reader); /* reserved */
	if (reader.failed || head.body_len > MERGED_BODY_MAX_BYTES)
		return -EINVAL;
	memcpy(head.segment_id, id, FORMAT_ID_BYTES);
	*frame = reader.at;
	*frame_len = reader.left;
	*out = head;
	return 0;
}

void merged_put_index_unit(const struct merged_index_unit *unit, struct strbuf *out)
{
	const uint64_t fields[] = { unit->offset,   unit->lines_len, unit->data_len,
				    unit->rows_len, unit->track_cnt, unit->table_len };

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		varint_put(out, fields[i]);
}

bool merged_get_index_unit(struct varint_reader *reader, struct merged_index_unit *out)
{
	uint32_t *const fields[] = { &out->lines_len, &out->data_len, &out->rows_len,
				     &out->track_cnt, &out->table_len };

	out->offset = varint_get(reader);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		uint64_t value = varint_get(reader);

		if (value > UINT32_MAX)
			return false;
		*fields[i] = (uint32_t)value;
	}
	return !reader->failed && out->track_cnt <= MERGED_ROWS_MAX &&
	       out->table_len <= (size_t)(reader->end - reader->at);
}

/* ---- compressed bodies ---- */

int merged_decompress(const uint8_t *frame, size_t frame_len, uint32_t body_len, struct strbuf *out)
{
	int err;

	strbuf_clear(out);
	if (body_len > MERGED_BODY_MAX_BYTES ||
	    ZSTD_getFrameContentSize(frame, frame_len) != body_len)
		return -EINVAL;
	err = strbuf_reserve(out, body_len);
	if (!err)
		err = format_decompress(frame, frame_len, out->data, body_len);
	if (err)
		return err;
	out->len = body_len;
	out->data[out->len] = '\0';
	return 0;
}

/* ---- seek table ---- */

int merged_encode_seek_table(const struct merged_seek_entry *entries, size_t cnt,
			     struct strbuf *out)
{
	struct byte_writer writer = byte_writer_init(out);

	if (cnt > SEEK_ENTRIES_MAX)
		return -E2BIG;
	byte_writer_uint(&writer, SEEK_MAGIC_TABLE, 4);
	byte_writer_uint(&writer, cnt * SEEK_ENTRY_BYTES + MERGED_SEEK_FOOTER_BYTES, 4);
	for (size_t i = 0; i < cnt; i++) {
		byte_writer_uint(&writer, entries[i].frame_bytes, 4);
		byte_writer_uint(&writer, entries[i].content_bytes, 4);
	}
	byte_writer_uint(&writer, cnt, 4);
	byte_writer_uint(&writer, 0, 1); /* descriptor: no checksums */
	byte_writer_uint(&writer, SEEK_MAGIC_END, 4);
	return byte_writer_end(&writer);
}

bool merged_seek_footer(const uint8_t footer[static MERGED_SEEK_FOOTER_BYTES], uint64_t *bytes_out)
{
	uint32_t cnt = format_get_u32(footer);
	uint64_t entry = SEEK_ENTRY_BYTES + (footer[4] & SEEK_ENTRY_CHECKSUM ? 4 : 0);

	if (format_get_u32(footer + 5) != SEEK_MAGIC_END || cnt == 0 || cnt > SEEK_ENTRIES_MAX)
		return false;
	*bytes_out = FORMAT_FRAME_HEADER_BYTES + cnt * entry + MERGED_SEEK_FOOTER_BYTES;
	return true;
}

uint32_t merged_seek_last_frame(const uint8_t *table, size_t len)
{
	size_t entry = SEEK_ENTRY_BYTES;

	if (len < FORMAT_FRAME_HEADER_BYTES + SEEK_ENTRY_BYTES + MERGED_SEEK_FOOTER_BYTES ||
	    format_get_u32(table) != SEEK_MAGIC_TABLE ||
	    format_get_u32(table + 4) != len - FORMAT_FRAME_HEADER_BYTES)
		return 0;
	if (table[len - MERGED_SEEK_FOOTER_BYTES + 4] & SEEK_ENTRY_CHECKSUM)
		entry += 4;
	return format_get_u32(table + len - MERGED_SEEK_FOOTER_BYTES - entry);
}
