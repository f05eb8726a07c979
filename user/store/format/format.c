// SPDX-License-Identifier: Apache-2.0
/*
 * Encoding and decoding of records. All numbers are little-endian and are moved byte-wise; no
 * struct is ever laid over file bytes. What is decoded may be hostile: every length is checked
 * against what is there.
 */
#include "user/store/format/format.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "user/model/cells.h"
#include "user/store/format/crc32c.h"
#include "user/util/byte_reader.h"
#include "user/util/byte_writer.h"
#include "user/util/cleanup.h"

/* Within a commit record's payload. */
#define COMMIT_OFFSET_SEGMENT_ID 0
#define COMMIT_OFFSET_SEQUENCE	 16
#define OFFSET_PAYLOAD		 (FORMAT_FRAME_HEADER_BYTES + FORMAT_ENVELOPE_BYTES)
#define OFFSET_FRAME_SIZE	 4
#define OFFSET_PAYLOAD_LEN	 24

uint32_t format_get_u32(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return le32toh(value);
}

static void put_u32(uint8_t *bytes, uint32_t value)
{
	value = htole32(value);
	memcpy(bytes, &value, sizeof(value));
}

/* ---- encoding ---- */

/* u16 length and bytes; what is too long is cut at a character's start. */
static void write_string(struct byte_writer *writer, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	if (len > FORMAT_LABEL_MAX_BYTES) {
		len = FORMAT_LABEL_MAX_BYTES;
		while (len && ((uint8_t)text[len] & 0xc0) == 0x80)
			len--;
	}
	byte_writer_text(writer, text, len);
}

static struct byte_writer record_begin_flagged(struct strbuf *out, enum format_type type,
					       uint32_t compat)
{
	struct byte_writer writer = byte_writer_init(out);

	byte_writer_uint(&writer, FORMAT_MAGIC_RECORD, 4);
	byte_writer_uint(&writer, 0, 4); /* frame size: record_end() */
	byte_writer_bytes(&writer, FORMAT_TAG, strlen(FORMAT_TAG));
	byte_writer_uint(&writer, type, 2);
	byte_writer_uint(&writer, FORMAT_VERSION, 2);
	byte_writer_uint(&writer, compat, 4);
	byte_writer_uint(&writer, 0, 4); /* incompatible flags */
	byte_writer_uint(&writer, 0, 4); /* payload length: record_end() */
	return writer;
}

static struct byte_writer record_begin(struct strbuf *out, enum format_type type)
{
	return record_begin_flagged(out, type, 0);
}

static int record_end(struct byte_writer *writer)
{
	size_t len;
	uint8_t *record;
	int err;

	byte_writer_uint(writer, 0, FORMAT_CHECKSUM_BYTES);
	err = byte_writer_end(writer);
	if (err)
		return err;
	record = (uint8_t *)writer->out->data + writer->start.len;
	len = writer->out->len - writer->start.len;
	put_u32(record + OFFSET_FRAME_SIZE, (uint32_t)(len - FORMAT_FRAME_HEADER_BYTES));
	put_u32(record + OFFSET_PAYLOAD_LEN, (uint32_t)(len - FORMAT_RECORD_MIN_BYTES));
	put_u32(record + len - FORMAT_CHECKSUM_BYTES, crc32c(record, len - FORMAT_CHECKSUM_BYTES));
	return 0;
}

int format_encode_flagged(enum format_type type, uint32_t compat, const void *payload, size_t len,
			  struct strbuf *out)
{
	struct byte_writer writer = record_begin_flagged(out, type, compat);

	if (len > UINT32_MAX - FORMAT_RECORD_MIN_BYTES)
		strbuf_fail(out, -E2BIG);
	byte_writer_bytes(&writer, payload, len);
	return record_end(&writer);
}

int format_encode_record(enum format_type type, const void *payload, size_t len, struct strbuf *out)
{
	return format_encode_flagged(type, 0, payload, len, out);
}

int format_encode_header(const struct format_header *header, struct strbuf *out)
{
	struct byte_writer writer = record_begin(out, FORMAT_TYPE_HEADER);

	byte_writer_uint(&writer, header->format_version, 4);
	byte_writer_bytes(&writer, header->segment_id, sizeof(header->segment_id));
	byte_writer_bytes(&writer, header->boot_id, sizeof(header->boot_id));
	byte_writer_uint(&writer, header->created_unix_ns, 8);
	write_string(&writer, header->host);
	write_string(&writer, header->software);
	return record_end(&writer);
}

/* ---- the fixed fields of a commit record: window_fields, the boot id, and what stands beside the text ---- */

#define FIXED_BOOT_ID 24

#define BESIDE(at, field)                                                           \
	{                                                                           \
		.commit_at = (at), .offset = offsetof(struct format_commit, field), \
		.bytes = sizeof(((struct format_commit *)NULL)->field)              \
	}

static const struct window_field beside_fields[] = {
	BESIDE(212, lines_len),	  BESIDE(216, lines_crc), BESIDE(240, threads_len),
	BESIDE(244, threads_crc), BESIDE(256, ticks_len), BESIDE(260, ticks_crc),
};

#define FIXED_BYTES 264

/* Where the groups of fields end: a new field is a group of its own. A record of an earlier jbpf ends with one. */
static const size_t fixed_ends[] = { 168, 224, 240, 248, 256, FIXED_BYTES };

static void put_fields(const struct window_field *fields, size_t cnt, const void *within,
		       uint8_t fixed[static FIXED_BYTES])
{
	for (size_t i = 0; i < cnt; i++) {
		const struct window_field *field = &fields[i];
		uint64_t value = htole64(window_number_get(within, field->offset, field->bytes));

		if (field->commit_at < FIXED_BYTES)
			memcpy(fixed + field->commit_at, &value, field->bytes);
	}
}

static void write_fixed_fields(struct byte_writer *writer, const struct format_commit *commit)
{
	uint8_t fixed[FIXED_BYTES] = { 0 };

	put_fields(window_fields, ARRAY_SIZE(window_fields), &commit->window, fixed);
	put_fields(beside_fields, ARRAY_SIZE(beside_fields), commit, fixed);
	memcpy(fixed + FIXED_BOOT_ID, commit->window.boot_id, sizeof(commit->window.boot_id));
	byte_writer_bytes(writer, fixed, sizeof(fixed));
}

static void write_losses(struct byte_writer *writer, const struct window *window)
{
	size_t cnt = WINDOW_LOSS_CNT;

	while (cnt && window->lost[cnt - 1] == 0)
		cnt--;
	byte_writer_uint(writer, cnt, 2);
	for (size_t i = 0; i < cnt; i++)
		byte_writer_uint(writer, window->lost[i], 8);
}

static void write_labels(struct byte_writer *writer, const struct window *window)
{
	size_t cnt = 0;

	for (size_t i = 0; i < WINDOW_LABEL_CNT; i++)
		cnt += window->labels[i] != NULL;
	byte_writer_uint(writer, cnt, 2);
	for (size_t i = 0; i < WINDOW_LABEL_CNT; i++) {
		const char *name = window_label_name((enum window_label)i);

		if (!window->labels[i])
			continue;
		byte_writer_uint(writer, strlen(name), 1);
		byte_writer_bytes(writer, name, strlen(name));
		write_string(writer, window->labels[i]);
	}
}

/* How many ends are written: trailing zeros are left out. */
static size_t end_cnt(const struct window_counts *counts)
{
	size_t cnt = STACK_END_CNT;

	while (cnt && counts->ends[cnt - 1] == 0)
		cnt--;
	return cnt;
}

/* Cells take the room that the labels and ends leave, or are left out. */
static void write_cells_and_ends(struct byte_writer *writer, const struct format_commit *commit)
{
	const struct window_counts *counts = &commit->window.counts;
	size_t used = writer->out->len - writer->start.len + FORMAT_CHECKSUM_BYTES;
	size_t cnt = end_cnt(counts), ends_len = cnt ? 2 + 8 * cnt : 0;
	uint32_t cells_len = commit->cells_len;

	if (cells_len > CELLS_MAX_LEN || used + 4 + cells_len + ends_len > FORMAT_RECORD_MAX_BYTES)
		cells_len = 0;
	if (!cells_len && !cnt)
		return;
	byte_writer_uint(writer, cells_len, 4);
	byte_writer_bytes(writer, commit->cells, cells_len);
	if (!cnt)
		return;
	byte_writer_uint(writer, cnt, 2);
	for (size_t i = 0; i < cnt; i++)
		byte_writer_uint(writer, counts->ends[i], 8);
}

int format_encode_commit(const struct format_commit *commit, struct strbuf *out)
{
	struct byte_writer writer = record_begin(out, FORMAT_TYPE_COMMIT);

	byte_writer_bytes(&writer, commit->segment_id, sizeof(commit->segment_id));
	byte_writer_uint(&writer, commit->sequence, 8);
	byte_writer_uint(&writer, commit->data_len, 4);
	byte_writer_uint(&writer, commit->data_crc, 4);
	byte_writer_uint(&writer, commit->text_len, 8);
	byte_writer_uint(&writer, FIXED_BYTES, 4);
	write_fixed_fields(&writer, commit);
	write_losses(&writer, &commit->window);
	write_labels(&writer, &commit->window);
	write_cells_and_ends(&writer, commit);
	return record_end(&writer);
}

/* What stands beside the text of a unit: so many bytes in a frame. */
static int encode_beside(enum format_type type, uint32_t len, const void *frame, size_t frame_len,
			 struct strbuf *out)
{
	struct byte_writer writer = record_begin(out, type);

	byte_writer_uint(&writer, len, 4);
	byte_writer_bytes(&writer, frame, frame_len);
	return record_end(&writer);
}

int format_encode_lines(uint32_t text_len, const void *frame, size_t frame_len, struct strbuf *out)
{
	return encode_beside(FORMAT_TYPE_LINES, text_len, frame, frame_len, out);
}

int format_encode_threads(uint32_t code_len, const void *frame, size_t frame_len,
			  struct strbuf *out)
{
	return encode_beside(FORMAT_TYPE_THREADS, code_len, frame, frame_len, out);
}

int format_encode_ticks(uint32_t code_len, const void *frame, size_t frame_len, struct strbuf *out)
{
	return encode_beside(FORMAT_TYPE_TICKS, code_len, frame, frame_len, out);
}

void format_seal_commit(uint8_t *record, size_t len, const uint8_t *segment_id, uint64_t sequence)
{
	uint8_t *payload = record + OFFSET_PAYLOAD;

	sequence = htole64(sequence);
	memcpy(payload + COMMIT_OFFSET_SEGMENT_ID, segment_id, FORMAT_ID_BYTES);
	memcpy(payload + COMMIT_OFFSET_SEQUENCE, &sequence, sizeof(sequence));
	put_u32(record + len - FORMAT_CHECKSUM_BYTES, crc32c(record, len - FORMAT_CHECKSUM_BYTES));
}

/* ---- decoding ---- */

bool format_is_record(const uint8_t *bytes, size_t len)
{
	if (len < 4)
		return false;
	/* The tag counts under any of the 16 magics, and our magic without the tag as well: one
	 * flipped bit must not turn a record into a foreign frame that is skipped silently. */
	if (format_get_u32(bytes) == FORMAT_MAGIC_RECORD)
		return true;
	return (format_get_u32(bytes) & FORMAT_MAGIC_RECORD_MASK) == FORMAT_MAGIC_RECORD_FIRST &&
	       len >= FORMAT_FRAME_HEADER_BYTES + strlen(FORMAT_TAG) &&
	       memcmp(bytes + FORMAT_FRAME_HEADER_BYTES, FORMAT_TAG, strlen(FORMAT_TAG)) == 0;
}

int format_decode_record(const uint8_t *bytes, size_t len, struct format_record *out)
{
	struct byte_reader reader = byte_reader_init(bytes, len);
	struct format_record record = { 0 };
	uint32_t magic = byte_reader_u32(&reader);
	uint32_t frame_size = byte_reader_u32(&reader);
	const void *tag = byte_reader_take(&reader, strlen(FORMAT_TAG));

	record.type = byte_reader_u16(&reader);
	record.version = byte_reader_u16(&reader);
	record.compat = byte_reader_u32(&reader);
	record.incompat = byte_reader_u32(&reader);
	record.payload_len = byte_reader_u32(&reader);
	record.payload = byte_reader_take(&reader, record.payload_len);

	size_t summed = FORMAT_RECORD_MIN_BYTES - FORMAT_CHECKSUM_BYTES + record.payload_len;
	uint32_t checksum = byte_reader_u32(&reader);

	if (reader.failed || magic != FORMAT_MAGIC_RECORD ||
	    memcmp(tag, FORMAT_TAG, strlen(FORMAT_TAG)) != 0)
		return -EINVAL;
	record.frame_len = summed + FORMAT_CHECKSUM_BYTES;
	if (frame_size != record.frame_len - FORMAT_FRAME_HEADER_BYTES)
		return -EINVAL;
	if (crc32c(bytes, summed) != checksum)
		return -EINVAL;
	*out = record;
	return 0;
}

static void get_fields(const struct window_field *fields, size_t cnt, const uint8_t *fixed,
		       size_t len, void *within)
{
	for (size_t i = 0; i < cnt; i++) {
		const struct window_field *field = &fields[i];
		uint64_t value = 0;

		if (field->commit_at >= len)
			continue;
		memcpy(&value, fixed + field->commit_at, field->bytes);
		(void)window_number_set(within, field->offset, field->bytes, le64toh(value));
	}
}

/* Of the groups that are there whole; the fields of the others stay 0. */
static void read_fixed_fields(const uint8_t *fixed, size_t len, struct format_commit *out)
{
	size_t group = ARRAY_SIZE(fixed_ends);

	while (fixed_ends[group - 1] > len)
		group--;
	len = fixed_ends[group - 1];
	get_fields(window_fields, ARRAY_SIZE(window_fields), fixed, len, &out->window);
	get_fields(beside_fields, ARRAY_SIZE(beside_fields), fixed, len, out);
	memcpy(out->window.boot_id, fixed + FIXED_BOOT_ID, sizeof(out->window.boot_id));
}

static void read_losses(struct byte_reader *reader, struct window *out)
{
	size_t cnt = byte_reader_u16(reader);

	for (size_t i = 0; i < cnt && !reader->failed; i++) {
		uint64_t lost = byte_reader_u64(reader);

		if (i < WINDOW_LOSS_CNT)
			out->lost[i] = lost;
	}
}

/* A copy with a NUL behind, as an offset into `strings` because that may move. */
static void copy_string(struct byte_reader *reader, struct strbuf *strings, size_t *offset_out)
{
	size_t len = byte_reader_u16(reader);
	const char *text = byte_reader_take(reader, len);

	*offset_out = strings->len;
	if (text)
		strbuf_append(strings, text, len);
	strbuf_putc(strings, '\0');
}

/* These fields stand last; older records end in front of them. */
static void read_ends(struct byte_reader *reader, struct window_counts *out)
{
	size_t cnt;

	if (reader->failed || reader->left == 0)
		return;
	cnt = byte_reader_u16(reader);
	for (size_t i = 0; i < cnt && !reader->failed; i++) {
		uint64_t samples = byte_reader_u64(reader);

		if (i < STACK_END_CNT && !reader->failed)
			out->ends[i] = samples;
	}
}

/* What stands behind the labels; what cannot be cells is ignored. */
static void copy_cells(struct byte_reader *reader, struct strbuf *strings, uint32_t *len_out)
{
	uint32_t len = byte_reader_u32(reader);
	const void *cells = len <= CELLS_MAX_LEN ? byte_reader_take(reader, len) : NULL;

	if (!cells)
		reader->failed = true; /* what stands behind them is not found */
	*len_out = cells ? len : 0;
	if (cells)
		strbuf_append(strings, cells, len);
}

static int read_labels_and_cells(struct byte_reader *reader, struct strbuf *labels,
				 struct format_commit *commit)
{
	struct window *out = &commit->window;
	size_t offsets[WINDOW_LABEL_CNT], cells_offset;
	bool is_known[WINDOW_LABEL_CNT] = { false };
	size_t cnt = byte_reader_u16(reader);
	int err;

	strbuf_clear(labels);
	for (size_t i = 0; i < cnt && !reader->failed; i++) {
		size_t name_len = byte_reader_u8(reader);
		const char *name = byte_reader_take(reader, name_len);
		enum window_label label = name ? window_label_by_name(name, name_len) :
						 WINDOW_LABEL_CNT;

		if (label == WINDOW_LABEL_CNT) {
			(void)byte_reader_take(reader, byte_reader_u16(reader));
			continue;
		}
		copy_string(reader, labels, &offsets[label]);
		is_known[label] = true;
	}
	if (reader->failed)
		return -EINVAL;
	cells_offset = labels->len;
	copy_cells(reader, labels, &commit->cells_len);
	err = strbuf_error(labels);
	if (err)
		return err;
	read_ends(reader, &out->counts);
	if (commit->cells_len)
		commit->cells = (const uint8_t *)labels->data + cells_offset;
	for (size_t i = 0; i < WINDOW_LABEL_CNT; i++)
		out->labels[i] = is_known[i] ? labels->data + offsets[i] : NULL;
	return 0;
}

int format_decode_commit(const struct format_record *record, struct strbuf *labels,
			 struct format_commit *out)
{
	struct byte_reader reader = byte_reader_init(record->payload, record->payload_len);
	struct format_commit commit = { 0 };
	const void *id = byte_reader_take(&reader, FORMAT_ID_BYTES);
	const uint8_t *fixed;
	uint32_t fixed_len;
	int err;

	commit.sequence = byte_reader_u64(&reader);
	commit.data_len = byte_reader_u32(&reader);
	commit.data_crc = byte_reader_u32(&reader);
	commit.text_len = byte_reader_u64(&reader);
	fixed_len = byte_reader_u32(&reader);
	fixed = byte_reader_take(&reader, fixed_len);
	if (reader.failed || fixed_len < fixed_ends[0])
		return -EINVAL;
	memcpy(commit.segment_id, id, FORMAT_ID_BYTES);
	read_fixed_fields(fixed, fixed_len, &commit);
	read_losses(&reader, &commit.window);
	err = read_labels_and_cells(&reader, labels, &commit);
	if (err)
		return err;
	*out = commit;
	return 0;
}

int format_encoder_open(int level, int window_log, ZSTD_CCtx **out)
{
	const struct {
		ZSTD_cParameter name;
		int value;
	} parameters[] = {
		{ ZSTD_c_compressionLevel, level },
		{ ZSTD_c_windowLog, window_log },
		{ ZSTD_c_checksumFlag, 1 },
		{ ZSTD_c_contentSizeFlag, 1 },
	};

	*out = ZSTD_createCCtx();
	if (!*out)
		return -ENOMEM;
	for (size_t i = 0; i < ARRAY_SIZE(parameters); i++)
		if (ZSTD_isError(
			    ZSTD_CCtx_setParameter(*out, parameters[i].name, parameters[i].value)))
			return -EINVAL;
	return 0;
}

int format_compress(ZSTD_CCtx *encoder, const void *bytes, size_t len, struct strbuf *out,
		    uint32_t *frame_len_out)
{
	size_t bound = ZSTD_compressBound(len);
	size_t result;
	int err = strbuf_reserve(out, bound);

	if (err)
		return err;
	result = ZSTD_compress2(encoder, out->data + out->len, bound, bytes, len);
	if (ZSTD_isError(result) || result > UINT32_MAX)
		return -ENOMEM; /* it has room enough: only memory can be missing */
	out->len += result;
	out->data[out->len] = '\0';
	*frame_len_out = (uint32_t)result;
	return 0;
}

/* A one-shot call would allocate a context each time: lack of memory must not pass for damage. */
int format_decompress_result(size_t result, size_t len)
{
	if (result == len)
		return 0;
	return ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation ? -ENOMEM : -EINVAL;
}

int format_decompress(const void *frame, size_t frame_len, void *out, size_t len)
{
	return format_decompress_result(ZSTD_decompress(out, len, frame, frame_len), len);
}

int format_decode_lines(const struct format_record *record, struct strbuf *out)
{
	struct byte_reader reader = byte_reader_init(record->payload, record->payload_len);
	uint32_t text_len = byte_reader_u32(&reader);
	int err;

	if (reader.failed || text_len > FORMAT_LINES_MAX_BYTES ||
	    ZSTD_getFrameContentSize(reader.at, reader.left) != text_len)
		return -EINVAL;
	err = strbuf_reserve(out, text_len);
	if (!err)
		err = format_decompress(reader.at, reader.left, out->data + out->len, text_len);
	if (err)
		return err;
	out->len += text_len;
	out->data[out->len] = '\0';
	return 0;
}

int format_decode_header(const struct format_record *record, struct strbuf *strings,
			 struct format_header *out)
{
	struct byte_reader reader = byte_reader_init(record->payload, record->payload_len);
	struct format_header header = { 0 };
	size_t host_offset, software_offset;
	const void *segment_id, *boot_id;
	int err;

	header.format_version = byte_reader_u32(&reader);
	segment_id = byte_reader_take(&reader, sizeof(header.segment_id));
	boot_id = byte_reader_take(&reader, sizeof(header.boot_id));
	header.created_unix_ns = byte_reader_u64(&reader);
	strbuf_clear(strings);
	copy_string(&reader, strings, &host_offset);
	copy_string(&reader, strings, &software_offset);
	err = strbuf_error(strings);
	if (err)
		return err;
	if (reader.failed)
		return -EINVAL;
	memcpy(header.segment_id, segment_id, sizeof(header.segment_id));
	memcpy(header.boot_id, boot_id, sizeof(header.boot_id));
	header.host = strings->data + host_offset;
	header.software = strings->data + software_offset;
	*out = header;
	return 0;
}
