// SPDX-License-Identifier: Apache-2.0
/*
 * Encoding and decoding of the series file; SERIES.md has the layout. Each section stands for itself
 * (own names, own checksum), so damage costs the days of one section and not those of a year.
 * What is decoded may be hostile: every length is checked against what is there.
 */
#include "user/store/series/series_format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "user/store/format/crc32c.h"
#include "user/store/format/format.h"
#include "user/util/byte_reader.h"
#include "user/util/byte_writer.h"
#include "user/util/cleanup.h"

#define MAGIC		    "JBPFSER"
#define VERSION		    1
#define HEADER_BYTES	    28
#define HEADER_SUMMED	    24 /* the header's own checksum covers so much of it */
#define SECTION_DAYS	    32
#define SECTIONS_MAX	    (SERIES_DAYS_MAX + 1)
#define SECTION_TEXT_MAX    (SERIES_BYTES_MAX + (1u << 20))
#define COMPRESSION_LEVEL   9
#define DAY_JUDGED	    0x1u
#define ROW_BYTES	    12
#define ITEM_NOT_IN_SECTION UINT32_MAX

struct section_header {
	uint16_t number;
	uint16_t section_cnt;
	uint32_t len;	   /* of the zstd frame behind the header */
	uint32_t text_len; /* of what is in it */
	uint32_t crc;	   /* of the frame */
};

static void write_float(struct byte_writer *writer, float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	byte_writer_uint(writer, bits, sizeof(bits));
}

/* ---- encoding ---- */

/*
 * Above the one flag is a float without its sign, which is always the same: a jbpf from before there was one
 * does not look at it, and both read what the other wrote.
 */
static uint32_t judged_bits(const struct series_day *day)
{
	uint32_t bits;

	if (!day->is_judged)
		return 0;
	memcpy(&bits, &day->told_p_max, sizeof(bits));
	return bits << 1 | DAY_JUDGED;
}

/* Items of the section get numbers of their own, in order of the series' numbers. */
static uint32_t number_items(const struct series_day *days, size_t day_cnt, uint32_t item_cnt,
			     uint32_t *numbers)
{
	uint32_t used = 0;

	memset(numbers, 0xff, item_cnt * sizeof(*numbers));
	for (size_t i = 0; i < day_cnt; i++)
		for (size_t j = 0; j < days[i].row_cnt; j++)
			numbers[days[i].rows[j].item] = 0;
	for (uint32_t i = 0; i < item_cnt; i++)
		if (numbers[i] != ITEM_NOT_IN_SECTION)
			numbers[i] = used++;
	return used;
}

static void write_items(const struct series *series, const uint32_t *numbers, uint32_t used,
			struct byte_writer *writer)
{
	byte_writer_uint(writer, used, 4);
	for (uint32_t i = 0; i < series__item_count(series); i++) {
		struct series_item item = series__item(series, i);

		if (numbers[i] == ITEM_NOT_IN_SECTION)
			continue;
		byte_writer_uint(writer, item.item_kind, 1);
		byte_writer_uint(writer, item.frame_kind, 1);
		byte_writer_text(writer, item.name, item.name_len);
	}
}

static void write_day(const struct series_day *day, const uint32_t *numbers,
		      struct byte_writer *writer)
{
	byte_writer_uint(writer, day->day, 4);
	byte_writer_uint(writer, day->length_s, 4);
	byte_writer_uint(writer, day->start_unix_s, 8);
	byte_writer_uint(writer, day->recorded_s, 8);
	byte_writer_uint(writer, day->cpu_ms, 8);
	byte_writer_uint(writer, day->samples, 8);
	byte_writer_uint(writer, day->lost_samples, 8);
	byte_writer_uint(writer, day->frames, 8);
	byte_writer_uint(writer, day->unknown_frames, 8);
	byte_writer_uint(writer, day->truncated_samples, 8);
	byte_writer_uint(writer, day->blocks, 4);
	byte_writer_uint(writer, day->frequency_hz, 4);
	byte_writer_uint(writer, day->left_out, 4);
	byte_writer_uint(writer, judged_bits(day), 4);
	byte_writer_text(writer, day->jvm_version, strlen(day->jvm_version));
	byte_writer_text(writer, day->image, strlen(day->image));
	byte_writer_uint(writer, day->row_cnt, 4);
	/* Column by column: that is what compresses. */
	for (size_t i = 0; i < day->row_cnt; i++)
		byte_writer_uint(writer, numbers[day->rows[i].item], 4);
	for (size_t i = 0; i < day->row_cnt; i++)
		write_float(writer, day->rows[i].value);
	for (size_t i = 0; i < day->row_cnt; i++)
		write_float(writer, day->rows[i].variance);
}

static void write_header(const struct section_header *header, struct strbuf *out)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	struct byte_writer writer = byte_writer_init(&bytes);

	byte_writer_bytes(&writer, MAGIC, strlen(MAGIC));
	byte_writer_uint(&writer, VERSION, 1);
	byte_writer_uint(&writer, header->number, 2);
	byte_writer_uint(&writer, header->section_cnt, 2);
	byte_writer_uint(&writer, header->len, 4);
	byte_writer_uint(&writer, header->text_len, 4);
	byte_writer_uint(&writer, header->crc, 4);
	byte_writer_uint(&writer, crc32c(bytes.data, bytes.len), 4);
	strbuf_add(out, &bytes);
}

static int compress_section(const struct strbuf *text, uint16_t number, uint16_t section_cnt,
			    struct strbuf *out)
{
	size_t bound = ZSTD_compressBound(text->len);
	__cleanup_free void *frame = malloc(bound);
	size_t len;

	if (!frame)
		return -ENOMEM;
	len = ZSTD_compress(frame, bound, text->data, text->len, COMPRESSION_LEVEL);
	if (ZSTD_isError(len) || len > UINT32_MAX)
		return -ENOMEM;

	const struct section_header header = {
		.number = number,
		.section_cnt = section_cnt,
		.len = (uint32_t)len,
		.text_len = (uint32_t)text->len,
		.crc = crc32c(frame, len),
	};

	write_header(&header, out);
	strbuf_append(out, frame, len);
	return strbuf_error(out);
}

/* How many of the days, from the first on, are in one section. */
static size_t section_end(const struct series_day *days, size_t cnt)
{
	size_t end = 1;

	while (end < cnt && days[end].day / SECTION_DAYS == days[0].day / SECTION_DAYS)
		end++;
	return end < cnt ? end : cnt;
}

static uint16_t count_sections(const struct series_day *days, size_t cnt)
{
	uint16_t sections = 0;

	for (size_t i = 0; i < cnt; i += section_end(days + i, cnt - i))
		sections++;
	return sections ? sections : 1; /* an empty series is a section without days */
}

int series_format_encode(const struct series *series, const char *key, struct strbuf *out)
{
	size_t cnt = 0;
	const struct series_day *days = series__days(series, &cnt);
	uint32_t item_cnt = series__item_count(series);
	uint16_t sections = count_sections(days, cnt);
	__cleanup_free uint32_t *numbers =
		reallocarray(NULL, (size_t)item_cnt + 1, sizeof(*numbers));
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	size_t first = 0;
	int err = 0;

	if (strlen(key) > SERIES_LABEL_MAX)
		return -EINVAL;
	if (!numbers)
		return -ENOMEM;
	for (uint16_t i = 0; !err && i < sections; i++) {
		const struct series_day *at = cnt ? days + first :
						    days; /* NULL when there are none */
		size_t in_section = cnt ? section_end(at, cnt - first) : 0;
		struct byte_writer writer;

		strbuf_clear(&text);
		writer = byte_writer_init(&text);
		byte_writer_text(&writer, key, strlen(key));
		write_items(series, numbers, number_items(at, in_section, item_cnt, numbers),
			    &writer);
		byte_writer_uint(&writer, in_section, 4);
		for (size_t j = 0; j < in_section; j++)
			write_day(&at[j], numbers, &writer);
		err = strbuf_error(&text);
		if (!err)
			err = compress_section(&text, i, sections, out);
		first += in_section;
	}
	return err;
}

/* ---- decoding ---- */

/* Results of reading a section beside -errno. */
enum section_result {
	SECTION_DONE = 0,
	SECTION_DAMAGED = 1,
};

static float read_float(struct byte_reader *reader)
{
	uint32_t bits = byte_reader_u32(reader);
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* A string of at most SERIES_LABEL_MAX bytes without NUL. */
static void read_label(struct byte_reader *reader, char out[static SERIES_LABEL_MAX + 1])
{
	size_t len = byte_reader_u16(reader);
	const char *bytes = byte_reader_take(reader, len);

	out[0] = '\0';
	if (!bytes || len > SERIES_LABEL_MAX || memchr(bytes, '\0', len)) {
		reader->failed = true;
		return;
	}
	memcpy(out, bytes, len);
	out[len] = '\0';
}

/* ids[i] = the series' number of the section's item i. */
static int read_items(struct byte_reader *reader, struct series *series, uint32_t **ids_out,
		      uint32_t *cnt_out)
{
	uint32_t cnt = byte_reader_u32(reader);
	__cleanup_free uint32_t *ids = NULL;

	/* Each takes 5 bytes at least. */
	if (reader->failed || cnt > reader->left / 5)
		return SECTION_DAMAGED;
	ids = reallocarray(NULL, (size_t)cnt + 1, sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	for (uint32_t i = 0; i < cnt; i++) {
		uint8_t item_kind = byte_reader_u8(reader);
		uint8_t frame_kind = byte_reader_u8(reader);
		size_t len = byte_reader_u16(reader);
		const char *name = byte_reader_take(reader, len);
		int err;

		if (!name)
			return SECTION_DAMAGED;
		err = series__item_id(series, item_kind, frame_kind, name, len, &ids[i]);
		if (err)
			return err == -ENOMEM ? err : SECTION_DAMAGED;
	}
	*ids_out = take_ptr(ids);
	*cnt_out = cnt;
	return 0;
}

int series_compare_rows(const void *a, const void *b)
{
	const struct series_row *left = a;
	const struct series_row *right = b;

	return (left->item > right->item) - (left->item < right->item);
}

static int read_rows(struct byte_reader *reader, const uint32_t *ids, uint32_t id_cnt,
		     struct series_row **rows_out, size_t *cnt_out)
{
	uint32_t cnt = byte_reader_u32(reader);
	__cleanup_free struct series_row *rows = NULL;

	if (reader->failed || cnt > SERIES_ROWS_MAX || cnt > reader->left / ROW_BYTES)
		return SECTION_DAMAGED;
	rows = calloc((size_t)cnt + 1, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < cnt; i++) {
		uint32_t number = byte_reader_u32(reader);

		if (number >= id_cnt)
			return SECTION_DAMAGED;
		rows[i].item = ids[number];
	}
	for (uint32_t i = 0; i < cnt; i++)
		rows[i].value = read_float(reader);
	for (uint32_t i = 0; i < cnt; i++)
		rows[i].variance = read_float(reader);
	/* An item that an earlier section had first has a lower number now. */
	qsort(rows, cnt, sizeof(*rows), series_compare_rows);
	*rows_out = take_ptr(rows);
	*cnt_out = cnt;
	return 0;
}

static int read_day(struct byte_reader *reader, const uint32_t *ids, uint32_t id_cnt,
		    struct series *series)
{
	char jvm_version[SERIES_LABEL_MAX + 1];
	char image[SERIES_LABEL_MAX + 1];
	__cleanup_free struct series_row *rows = NULL;
	struct series_day day = { .jvm_version = jvm_version, .image = image };
	uint32_t judged;
	int err;

	day.day = byte_reader_u32(reader);
	day.length_s = byte_reader_u32(reader);
	day.start_unix_s = byte_reader_u64(reader);
	day.recorded_s = byte_reader_u64(reader);
	day.cpu_ms = byte_reader_u64(reader);
	day.samples = byte_reader_u64(reader);
	day.lost_samples = byte_reader_u64(reader);
	day.frames = byte_reader_u64(reader);
	day.unknown_frames = byte_reader_u64(reader);
	day.truncated_samples = byte_reader_u64(reader);
	day.blocks = byte_reader_u32(reader);
	day.frequency_hz = byte_reader_u32(reader);
	day.left_out = byte_reader_u32(reader);
	judged = byte_reader_u32(reader);
	day.is_judged = judged & DAY_JUDGED;
	if (day.is_judged) {
		judged >>= 1;
		memcpy(&day.told_p_max, &judged, sizeof(judged));
	}
	read_label(reader, jvm_version);
	read_label(reader, image);
	err = read_rows(reader, ids, id_cnt, &rows, &day.row_cnt);
	if (err)
		return err;
	day.rows = rows;
	err = series__put(series, &day);
	return err == -EINVAL ? SECTION_DAMAGED : err;
}

/* The checksum was right, so what is wrong here was written like that, or by somebody else. */
static int read_text(const void *text, size_t len, const char *key, struct series *series)
{
	struct byte_reader reader = byte_reader_init(text, len);
	__cleanup_free uint32_t *ids = NULL;
	char label[SERIES_LABEL_MAX + 1];
	uint32_t id_cnt = 0;
	uint32_t day_cnt;
	int err;

	read_label(&reader, label);
	if (reader.failed)
		return SECTION_DAMAGED;
	if (strcmp(label, key) != 0)
		return -EEXIST;
	err = read_items(&reader, series, &ids, &id_cnt);
	if (err)
		return err;
	day_cnt = byte_reader_u32(&reader);
	for (uint32_t i = 0; !err && i < day_cnt; i++)
		err = read_day(&reader, ids, id_cnt, series);
	if (err)
		return err;
	return reader.failed || reader.left ? SECTION_DAMAGED : SECTION_DONE;
}

static int read_section(const struct section_header *header, const void *frame, const char *key,
			struct series *series, const char **what_out)
{
	__cleanup_free void *text = NULL;
	int err;

	*what_out = "bad checksum";
	if (crc32c(frame, header->len) != header->crc)
		return SECTION_DAMAGED;
	*what_out = "not what its checksum says it is";
	if (header->text_len > SECTION_TEXT_MAX ||
	    ZSTD_getFrameContentSize(frame, header->len) != header->text_len)
		return SECTION_DAMAGED;
	text = malloc((size_t)header->text_len + 1);
	if (!text)
		return -ENOMEM;
	err = format_decompress(frame, header->len, text, header->text_len);
	if (err)
		return err == -ENOMEM ? err : SECTION_DAMAGED;
	return read_text(text, header->text_len, key, series);
}

/* 0, SECTION_DAMAGED with a word for it, or -EPROTO. */
static int read_header(struct byte_reader *reader, struct section_header *out,
		       const char **what_out)
{
	const uint8_t *bytes = byte_reader_take(reader, HEADER_BYTES);
	struct byte_reader fields = byte_reader_init(bytes, bytes ? HEADER_BYTES : 0);
	const void *magic = byte_reader_take(&fields, strlen(MAGIC));
	uint8_t version = byte_reader_u8(&fields);

	*what_out = "cut off";
	if (!bytes)
		return SECTION_DAMAGED;
	out->number = byte_reader_u16(&fields);
	out->section_cnt = byte_reader_u16(&fields);
	out->len = byte_reader_u32(&fields);
	out->text_len = byte_reader_u32(&fields);
	out->crc = byte_reader_u32(&fields);
	*what_out = "no header of a section";
	if (memcmp(magic, MAGIC, strlen(MAGIC)) != 0 ||
	    crc32c(bytes, HEADER_SUMMED) != byte_reader_u32(&fields))
		return SECTION_DAMAGED;
	return version == VERSION ? 0 : -EPROTO;
}

static void note_damage(struct series_damage *damage, bool *is_damaged, size_t offset,
			const char *what)
{
	if (!*is_damaged)
		*damage = (struct series_damage){ .offset = offset, .what = what };
	*is_damaged = true;
}

int series_format_decode(const void *bytes, size_t len, const char *key, struct series *series,
			 struct series_damage *damage)
{
	struct byte_reader reader = byte_reader_init(bytes, len);
	bool is_damaged = false;
	uint16_t section_cnt = 1;

	for (uint16_t i = 0; i < section_cnt; i++) {
		size_t offset = len - reader.left;
		struct section_header header = { 0 };
		const char *what = NULL;
		int result = read_header(&reader, &header, &what);

		if (result < 0)
			return result;
		if (!result && (header.number != i || header.section_cnt == 0 ||
				header.section_cnt > SECTIONS_MAX ||
				(i && header.section_cnt != section_cnt))) {
			what = "sections in disorder";
			result = SECTION_DAMAGED;
		}
		/* Without its header it is not known where the next section begins. */
		if (result) {
			note_damage(damage, &is_damaged, offset, what);
			break;
		}
		section_cnt = header.section_cnt;

		const void *frame = byte_reader_take(&reader, header.len);

		if (!frame) {
			note_damage(damage, &is_damaged, offset, "cut off");
			break;
		}
		result = read_section(&header, frame, key, series, &what);
		if (result < 0)
			return result;
		if (result)
			note_damage(damage, &is_damaged, offset, what);
		if (i + 1 == section_cnt && reader.left)
			note_damage(damage, &is_damaged, len - reader.left, "bytes behind the end");
	}
	return is_damaged;
}
