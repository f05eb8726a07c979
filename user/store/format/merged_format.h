/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records that only merged segments have: which segments one replaces, what of them was damaged,
 * the head of a unit's rows, the index of the units, and the seek table that other tools read.
 * Pure: bytes in, values out. FORMAT.md describes them byte by byte.
 */
#ifndef JBPF_FORMAT_MERGED_FORMAT_H
#define JBPF_FORMAT_MERGED_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/store/format/format.h"
#include "user/util/strbuf.h"
#include "user/util/varint.h"

/* Of a whole rows or index record, and of what is compressed in it. */
#define MERGED_RECORD_MAX_BYTES (256u << 20)
#define MERGED_BODY_MAX_BYTES	(256u << 20)
#define MERGED_SOURCES_MAX	3072  /* segments that one replaces: the record is a small one */
#define MERGED_NOTES_MAX	200   /* damaged stretches that are kept */
#define MERGED_ROWS_MAX		65536 /* rows of a unit, and tracks */
#define MERGED_LINES_MAX	(FORMAT_TEXT_MAX_BYTES / 4) /* of a text; a line is 4 bytes at least */

/* ---- sources ---- */

/* Appends a whole sources record, with FORMAT_COMPAT_*. 0, -E2BIG, or -ENOMEM. */
__must_check int merged_encode_sources(const uint8_t (*ids)[FORMAT_ID_BYTES], size_t cnt,
				       uint32_t compat, struct strbuf *out);
/* Ids borrow from the record. 0 or -EINVAL. */
__must_check int merged_decode_sources(const struct format_record *record,
				       const uint8_t (**ids)[FORMAT_ID_BYTES], size_t *cnt_out);

/* ---- notes ---- */

struct merged_note {
	const char *path; /* as readers report it */
	const char *what;
	uint64_t offset;
	uint64_t bytes;
};

/* Appends a note to what will be the payload; the payload begins with their number. */
int merged_encode_note(const struct merged_note *note, struct strbuf *payload);

/* Calls `each` for every note; texts are valid for the call. 0, -EINVAL, or -ENOMEM. */
__must_check int merged_decode_notes(const struct format_record *record,
				     void (*each)(void *ctx, const struct merged_note *note),
				     void *ctx);

/* ---- rows ---- */

/* What a rows record says of its unit before the compressed table. */
struct merged_rows_head {
	uint8_t segment_id[FORMAT_ID_BYTES];
	uint64_t sequence;	  /* 1, 2, ... within the segment */
	uint32_t data_len;	  /* of the zstd frame right in front of this record; 0 = none */
	uint32_t data_crc;	  /* CRC-32C of that frame */
	uint64_t text_len;	  /* of the text in it */
	uint32_t lines_len;	  /* of the lines record right in front of that; 0 = none */
	uint32_t lines_crc;	  /* CRC-32C of that record */
	uint64_t source_text_len; /* of the text in it */
	uint32_t line_cnt;	  /* lines of the text */
	uint32_t source_line_cnt;
	uint32_t track_cnt;
	uint32_t row_cnt;
	uint32_t body_len;  /* of the table when decompressed */
	uint32_t ticks_len; /* of the ticks record right in front of the lines record; 0 = none */
	uint32_t ticks_crc; /* CRC-32C of that record */
};

/* Appends a whole record around a compressed table. 0, -E2BIG, or -ENOMEM. */
__must_check int merged_encode_rows(const struct merged_rows_head *head, const void *frame,
				    size_t frame_len, struct strbuf *out);

/*
 * The head has a checksum of its own, so that lengths can be trusted before all of the record was
 * read: `bytes` is the beginning of a record, MERGED_ROWS_PEEK_BYTES or all of it. -EINVAL when no
 * rows record begins there.
 */
#define MERGED_ROWS_PEEK_BYTES 160
__must_check int merged_peek_rows(const uint8_t *bytes, size_t len, struct merged_rows_head *out,
				  size_t *frame_len_out);

/* 0 or -EINVAL, also when a number is past its limit. The frame borrows from the record. */
__must_check int merged_decode_rows(const struct format_record *record,
				    struct merged_rows_head *out, const uint8_t **frame,
				    size_t *frame_len);

/* ---- index ---- */

struct merged_index_head {
	uint8_t segment_id[FORMAT_ID_BYTES];
	uint64_t offset; /* of this record in the file */
	uint32_t unit_cnt;
	uint32_t notes_len; /* of the notes record right in front of this one; 0 = none */
	uint32_t body_len;  /* of the units when decompressed */
};

/* One unit in the index; the table of its tracks follows, one row for each. */
struct merged_index_unit {
	uint64_t
		offset; /* of the lines record, or else the data frame, or else the rows record; ticks are in front */
	uint32_t lines_len;
	uint32_t data_len;
	uint32_t rows_len;
	uint32_t track_cnt;
	uint32_t table_len;
};

int merged_encode_index(const struct merged_index_head *head, const void *frame, size_t frame_len,
			struct strbuf *out);
int merged_decode_index(const struct format_record *record, struct merged_index_head *out,
			const uint8_t **frame, size_t *frame_len);

/* Appends a unit without its table; errors are the buffer's. */
void merged_put_index_unit(const struct merged_index_unit *unit, struct strbuf *out);
/* Reads one; the table begins where the reader stands then. false when it is none. */
bool merged_get_index_unit(struct varint_reader *reader, struct merged_index_unit *out);

/* ---- compressed bodies ---- */

/* Decompresses a body of a known length into `out`, which is replaced. 0, -EINVAL, or -ENOMEM. */
__must_check int merged_decompress(const uint8_t *frame, size_t frame_len, uint32_t body_len,
				   struct strbuf *out);

/* ---- seek table ---- */

/* One frame of the file, in order; a skippable one has no content. */
struct merged_seek_entry {
	uint32_t frame_bytes;
	uint32_t content_bytes;
};

#define MERGED_SEEK_FOOTER_BYTES 9

/* Appends the table as zstd's seekable format has it. 0, -E2BIG, or -ENOMEM. */
__must_check int merged_encode_seek_table(const struct merged_seek_entry *entries, size_t cnt,
					  struct strbuf *out);

/* From the file's last bytes: how long the table's frame is. false when there is none. */
bool merged_seek_footer(const uint8_t footer[static MERGED_SEEK_FOOTER_BYTES], uint64_t *bytes_out);

/* From the table's whole frame: how long the frame in front of it is. 0 when it is broken. */
uint32_t merged_seek_last_frame(const uint8_t *table, size_t len);

#endif
