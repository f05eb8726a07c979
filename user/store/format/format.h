/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of one record: a zstd skippable frame that holds an envelope (tag, type, flags, length,
 * CRC-32C) around a payload. FORMAT.md describes them for those who write another reader. Pure:
 * bytes in, values out.
 *
 * The room knows bytes, and no files. What is decoded borrows from the bytes.
 */
#ifndef JBPF_FORMAT_FORMAT_H
#define JBPF_FORMAT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/util/attributes.h"
#include "user/model/window.h"
#include "user/util/strbuf.h"

struct ZSTD_CCtx_s;

#define FORMAT_VERSION		  1
#define FORMAT_MAGIC_DATA	  0xfd2fb528u /* zstd frame */
#define FORMAT_MAGIC_RECORD	  0x184d2a5bu /* zstd skippable frame, as jbpf writes it */
#define FORMAT_MAGIC_RECORD_FIRST 0x184d2a50u /* all skippable frames: 16 values */
#define FORMAT_MAGIC_RECORD_MASK  0xfffffff0u
#define FORMAT_TAG		  "JBPF"
#define FORMAT_FRAME_HEADER_BYTES 8 /* magic and size of a skippable frame */
/* Tag, type, version, two flag words, payload length; then payload and checksum. */
#define FORMAT_ENVELOPE_BYTES 20
#define FORMAT_CHECKSUM_BYTES 4
#define FORMAT_RECORD_MIN_BYTES \
	(FORMAT_FRAME_HEADER_BYTES + FORMAT_ENVELOPE_BYTES + FORMAT_CHECKSUM_BYTES)

#define FORMAT_RECORD_MAX_BYTES (64 * 1024)  /* of a header or commit record, all included */
#define FORMAT_LABEL_MAX_BYTES	2048	     /* longer values are cut */
#define FORMAT_TEXT_MAX_BYTES	(256u << 20) /* of one window: no reader needs more memory */
#define FORMAT_LINES_MAX_BYTES	(32u << 20)  /* of one window's source lines */

#define FORMAT_ID_BYTES 16

/* Values reach disk: append only. */
enum format_type {
	FORMAT_TYPE_NONE = 0,
	FORMAT_TYPE_HEADER = 1,
	FORMAT_TYPE_COMMIT = 2,
	FORMAT_TYPE_ROWS = 3,	 /* ends a unit of a merged segment: see merged_format.h */
	FORMAT_TYPE_TICKS = 4,	 /* when the lines of the unit that follows were sampled */
	FORMAT_TYPE_INDEX = 5,	 /* the units of a merged segment */
	FORMAT_TYPE_LINES = 6,	 /* source lines of the unit that follows */
	FORMAT_TYPE_SOURCES = 7, /* second record of a merged segment: what it replaces */
	FORMAT_TYPE_NOTES = 8,	 /* what of the sources was damaged */
	FORMAT_TYPE_THREADS = 9, /* whose the lines of the unit that follows are */
};

/* What a reader must understand to use the record. No bit has a meaning in version 1. */
#define FORMAT_INCOMPAT_KNOWN 0u

/* What it may ignore. */
#define FORMAT_COMPAT_TICKS (1u << 0) /* of FORMAT_TYPE_SOURCES: there are ticks records */

/* An envelope whose checksum is right. The payload borrows from the bytes. */
struct format_record {
	uint16_t type; /* enum format_type, or one of a later version */
	uint16_t version;
	uint32_t compat;
	uint32_t incompat;
	const uint8_t *payload;
	uint32_t payload_len;
	size_t frame_len; /* whole skippable frame */
};

/* First record of a file. Strings are NULL or borrowed when encoding. */
struct format_header {
	uint32_t format_version;
	uint8_t segment_id[FORMAT_ID_BYTES];
	uint8_t boot_id[16];
	uint64_t created_unix_ns;
	const char *host;
	const char *software;
};

struct format_commit {
	uint8_t segment_id[FORMAT_ID_BYTES];
	uint64_t sequence;    /* 1, 2, ... within the segment */
	uint32_t data_len;    /* of the zstd frame right in front of this record; 0 = none */
	uint32_t data_crc;    /* CRC-32C of that frame */
	uint64_t text_len;    /* of the text in it */
	uint32_t lines_len;   /* of the lines record right in front of the data frame; 0 = none */
	uint32_t lines_crc;   /* CRC-32C of that record */
	uint32_t threads_len; /* of the threads record right in front of that; 0 = none */
	uint32_t threads_crc; /* CRC-32C of that record */
	uint32_t ticks_len;   /* of the ticks record right in front of that; 0 = none */
	uint32_t ticks_crc;   /* CRC-32C of that record */
	/* Of the window (cells.h), whose own field is not looked at; NULL = none. */
	const uint8_t *cells;
	uint32_t cells_len;
	struct window window;
};

/* Appends a whole record around a payload. 0, -E2BIG, or -ENOMEM. */
__must_check int format_encode_record(enum format_type type, const void *payload, size_t len,
				      struct strbuf *out);

/* The same with FORMAT_COMPAT_*. */
__must_check int format_encode_flagged(enum format_type type, uint32_t compat, const void *payload,
				       size_t len, struct strbuf *out);

/* Appends a whole header record. 0 or -ENOMEM. */
__must_check int format_encode_header(const struct format_header *header, struct strbuf *out);

/* Appends a whole lines record: `text_len` bytes of text in a zstd frame. 0 or -ENOMEM. */
__must_check int format_encode_lines(uint32_t text_len, const void *frame, size_t frame_len,
				     struct strbuf *out);
/* The same of a code of thread_counts.h. */
__must_check int format_encode_threads(uint32_t code_len, const void *frame, size_t frame_len,
				       struct strbuf *out);
/* The same of a code of ticks.h, or of those of a merged unit's rows. */
__must_check int format_encode_ticks(uint32_t code_len, const void *frame, size_t frame_len,
				     struct strbuf *out);

/*
 * What compresses frames, with a checksum and the length of what they hold. `window_log`: of zstd,
 * 0 = as the level has it. *out is the caller's, for ZSTD_freeCCtx(), also on error. 0, -ENOMEM, or
 * -EINVAL.
 */
__must_check int format_encoder_open(int level, int window_log, struct ZSTD_CCtx_s **out);

/* Appends a frame that holds these bytes, and says how long it is. 0 or -ENOMEM. */
__must_check int format_compress(struct ZSTD_CCtx_s *encoder, const void *bytes, size_t len,
				 struct strbuf *out, uint32_t *frame_len_out);

/*
 * Decompresses a zstd frame that must hold exactly `len` bytes into `out`. 0; -EINVAL: the frame is
 * broken or holds something else; -ENOMEM, which says nothing about the frame.
 */
__must_check int format_decompress(const void *frame, size_t frame_len, void *out, size_t len);

/* The same of a result of ZSTD_decompress*(): 0, -EINVAL, or -ENOMEM. */
__must_check int format_decompress_result(size_t result, size_t len);

/* The text of a lines record, or the code of a threads or ticks record, decompressed, to the end of `out`. 0, -EINVAL, or -ENOMEM. */
__must_check int format_decode_lines(const struct format_record *record, struct strbuf *out);

/*
 * Appends a whole commit record; cells that are longer than CELLS_MAX_LEN or do not fit into it are
 * left out. 0 or -ENOMEM.
 */
__must_check int format_encode_commit(const struct format_commit *commit, struct strbuf *out);

/*
 * Writes segment and number into the encoded commit record at `record`, and its checksum again: the
 * writer learns them only when it knows into which file the record goes.
 */
void format_seal_commit(uint8_t *record, size_t len, const uint8_t *segment_id, uint64_t sequence);

/* Do the first 12 bytes of a skippable frame claim to be ours? */
bool format_is_record(const uint8_t *bytes, size_t len);

/*
 * The record in the skippable frame that begins at `bytes`. -EINVAL when it is not ours, not
 * complete within `len`, contradicts itself, or fails its checksum.
 */
__must_check int format_decode_record(const uint8_t *bytes, size_t len, struct format_record *out);

/*
 * Payload of a commit record. Labels and cells are copied to `labels` and borrow from it until it
 * changes. Unknown labels, losses and trailing bytes are skipped. -EINVAL when the payload is not one,
 * -ENOMEM.
 */
__must_check int format_decode_commit(const struct format_record *record, struct strbuf *labels,
				      struct format_commit *out);

/* The same for a header record; strings are copied to `strings`. */
int format_decode_header(const struct format_record *record, struct strbuf *strings,
			 struct format_header *out);

/* Little-endian numbers at a place that is known to be inside. */
uint32_t format_get_u32(const uint8_t *bytes);

#endif
