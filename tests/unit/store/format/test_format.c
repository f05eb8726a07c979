// SPDX-License-Identifier: Apache-2.0
/* Records: what was encoded decodes to the same, and nothing broken decodes at all. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "user/store/format/crc32c.h"
#include "user/store/format/format.h"
#include "user/util/cleanup.h"

#define OFFSET_PAYLOAD	 28
#define OFFSET_FIXED_LEN (OFFSET_PAYLOAD + 40)
#define FIXED_BYTES	 264
#define FIXED_256_BYTES	 256
#define FIXED_248_BYTES	 248
#define FIXED_240_BYTES	 240
#define FIXED_224_BYTES	 224
#define FIXED_MIN_BYTES	 168

static const struct format_commit sample = {
	.segment_id = "0123456789abcde",
	.sequence = 42,
	.data_len = 1000,
	.data_crc = 0xdeadbeef,
	.text_len = 5000,
	.threads_len = 77,
	.threads_crc = 0xfeedf00d,
	.ticks_len = 88,
	.ticks_crc = 0xf00dfeed,
	.window = {
		.start_unix_ns = 1,
		.counts.samples = 99,
		.lost = { [WINDOW_LOSS_NOTICES] = 3 },
		.preserve_frame_pointer = WINDOW_FLAG_ON,
		.counts.inlined_frames = 11,
		.counts.unrepaired_samples = 12,
		.preserve_frame_pointer_origin = 2,
		.event = EVENT_PAGE_FAULTS,
		.period_unit = EVENT_UNIT_EVENTS,
		.period = 0x4000000040ull,
		.counts.run_delay_ns = 0x5000000050ull,
		.labels = { [WINDOW_LABEL_COMM] = "java", [WINDOW_LABEL_POD] = "p" },
	},
};

static int decode(const struct strbuf *bytes, struct strbuf *labels, struct format_commit *out)
{
	struct format_record record;
	int err = format_decode_record((const uint8_t *)strbuf_str(bytes), bytes->len, &record);

	return err ? err : format_decode_commit(&record, labels, out);
}

/* Makes lengths and checksum right again after the payload was changed. */
static void reseal(struct strbuf *bytes)
{
	uint32_t frame_size = (uint32_t)bytes->len - 8, payload_len = (uint32_t)bytes->len - 32;
	uint32_t checksum;

	memcpy(bytes->data + 4, &frame_size, 4);
	memcpy(bytes->data + 24, &payload_len, 4);
	checksum = crc32c(bytes->data, bytes->len - 4);
	memcpy(bytes->data + bytes->len - 4, &checksum, 4);
}

/* Puts bytes into the record at `offset`. */
static void insert(struct strbuf *bytes, size_t offset, const void *what, size_t len)
{
	assert_int_equal(strbuf_reserve(bytes, len), 0);
	memmove(bytes->data + offset + len, bytes->data + offset, bytes->len - offset);
	memcpy(bytes->data + offset, what, len);
	bytes->len += len;
	reseal(bytes);
}

static void assert_is_sample(const struct format_commit *got)
{
	assert_memory_equal(got->segment_id, sample.segment_id, FORMAT_ID_BYTES);
	assert_int_equal(got->sequence, 42);
	assert_int_equal(got->data_len, 1000);
	assert_int_equal(got->data_crc, 0xdeadbeef);
	assert_int_equal(got->text_len, 5000);
	assert_int_equal(got->threads_len, 77);
	assert_int_equal(got->threads_crc, 0xfeedf00d);
	assert_int_equal(got->ticks_len, 88);
	assert_int_equal(got->ticks_crc, 0xf00dfeed);
	assert_int_equal(got->window.start_unix_ns, 1);
	assert_int_equal(got->window.counts.samples, 99);
	assert_int_equal(got->window.lost[WINDOW_LOSS_NOTICES], 3);
	assert_int_equal(got->window.lost[WINDOW_LOSS_STORE], 0);
	assert_int_equal(got->window.preserve_frame_pointer, WINDOW_FLAG_ON);
	assert_int_equal(got->window.counts.inlined_frames, 11);
	assert_int_equal(got->window.counts.unrepaired_samples, 12);
	assert_int_equal(got->window.preserve_frame_pointer_origin, 2);
	assert_int_equal(got->window.event, EVENT_PAGE_FAULTS);
	assert_int_equal(got->window.period_unit, EVENT_UNIT_EVENTS);
	assert_int_equal(got->window.period, 0x4000000040ull);
	assert_int_equal(got->window.counts.run_delay_ns, 0x5000000050ull);
	assert_string_equal(got->window.labels[WINDOW_LABEL_COMM], "java");
	assert_string_equal(got->window.labels[WINDOW_LABEL_POD], "p");
	assert_null(got->window.labels[WINDOW_LABEL_SERVICE]);
}

static void commit_record_reads_back(void **state)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT, labels = STRBUF_INIT;
	struct format_commit got;

	(void)state;
	assert_int_equal(format_encode_commit(&sample, &bytes), 0);
	assert_int_equal(decode(&bytes, &labels, &got), 0);
	assert_is_sample(&got);
	format_seal_commit((uint8_t *)bytes.data, bytes.len, (const uint8_t *)"ABCDEFGHIJKLMNOP",
			   7);
	assert_int_equal(decode(&bytes, &labels, &got), 0);
	assert_int_equal(got.sequence, 7);
	assert_memory_equal(got.segment_id, "ABCDEFGHIJKLMNOP", 16);
}

/* Each has a value of its own: a place that two share, or that lies behind the fixed fields, would show. */
static void every_number_of_a_commit_record_has_a_place_of_its_own(void **state)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT, labels = STRBUF_INIT;
	struct format_commit all = sample, got;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(window_fields); i++)
		(void)window_number_set(&all.window, window_fields[i].offset,
					window_fields[i].bytes, (i + 1) * 0x0101010101010101ull);
	memset(all.window.boot_id, 0xee, sizeof(all.window.boot_id));
	all.lines_len = all.lines_crc = 0xdddddddd;
	assert_int_equal(format_encode_commit(&all, &bytes), 0);
	assert_int_equal(decode(&bytes, &labels, &got), 0);
	for (size_t i = 0; i < ARRAY_SIZE(window_fields); i++) {
		const struct window_field *field = &window_fields[i];

		if (field->commit_at != WINDOW_FIELD_NOT_IN_COMMIT)
			assert_int_equal(
				window_number_get(&got.window, field->offset, field->bytes),
				window_number_get(&all.window, field->offset, field->bytes));
	}
	assert_memory_equal(got.window.boot_id, all.window.boot_id, sizeof(got.window.boot_id));
	assert_int_equal(got.lines_len, all.lines_len);
	assert_int_equal(got.lines_crc, all.lines_crc);
	assert_int_equal(got.threads_len, sample.threads_len);
	assert_int_equal(got.threads_crc, sample.threads_crc);
	assert_int_equal(got.ticks_len, sample.ticks_len);
	assert_int_equal(got.ticks_crc, sample.ticks_crc);
}

static void header_record_reads_back(void **state)
{
	const struct format_header header = {
		.format_version = FORMAT_VERSION,
		.segment_id = "s",
		.boot_id = "b",
		.created_unix_ns = 123,
		.host = "node-1",
		.software = NULL,
	};
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT, strings = STRBUF_INIT;
	struct format_record record;
	struct format_header got;

	(void)state;
	assert_int_equal(format_encode_header(&header, &bytes), 0);
	assert_int_equal(format_decode_record((uint8_t *)bytes.data, bytes.len, &record), 0);
	assert_int_equal(record.type, FORMAT_TYPE_HEADER);
	assert_int_equal(format_decode_header(&record, &strings, &got), 0);
	assert_int_equal(got.format_version, FORMAT_VERSION);
	assert_memory_equal(got.segment_id, header.segment_id, 16);
	assert_memory_equal(got.boot_id, header.boot_id, 16);
	assert_int_equal(got.created_unix_ns, 123);
	assert_string_equal(got.host, "node-1");
	assert_string_equal(got.software, "");
}

static void every_changed_bit_is_noticed(void **state)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	struct format_record record;

	(void)state;
	assert_int_equal(format_encode_commit(&sample, &bytes), 0);
	for (size_t bit = 0; bit < bytes.len * 8; bit++) {
		bytes.data[bit / 8] ^= (char)(1 << bit % 8);
		assert_int_equal(format_decode_record((uint8_t *)bytes.data, bytes.len, &record),
				 -EINVAL);
		bytes.data[bit / 8] ^= (char)(1 << bit % 8);
	}
}

static void cut_records_are_refused(void **state)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	struct format_record record;

	(void)state;
	assert_int_equal(format_encode_commit(&sample, &bytes), 0);
	for (size_t len = 0; len < bytes.len; len++) {
		/* Exactly allocated, so that ASan sees a step too far. */
		__cleanup_free uint8_t *cut = malloc(len + 1);

		memcpy(cut + 1, bytes.data, len);
		assert_int_equal(format_decode_record(cut + 1, len, &record), -EINVAL);
	}
}

static void cut_payloads_are_refused(void **state)
{
	__cleanup_strbuf struct strbuf whole = STRBUF_INIT;

	(void)state;
	assert_int_equal(format_encode_commit(&sample, &whole), 0);
	for (size_t payload_len = 0; payload_len < whole.len - 32; payload_len++) {
		__cleanup_strbuf struct strbuf bytes = STRBUF_INIT, labels = STRBUF_INIT;
		struct format_commit got;

		/* The checksum is right: the writer itself was broken. */
		strbuf_append(&bytes, whole.data, 32 + payload_len);
		reseal(&bytes);
		assert_int_equal(decode(&bytes, &labels, &got), -EINVAL);
	}
}

static void additions_of_later_versions_are_ignored(void **state)
{
	static const char label[] = "\x05"
				    "color"
				    "\x04\x00"
				    "blue";
	const uint32_t more_fixed = FIXED_BYTES + 12;
	const uint16_t labels_cnt = 3, losses_cnt = 4 + 5;
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT, labels = STRBUF_INIT;
	struct format_commit got;
	size_t losses_at = OFFSET_FIXED_LEN + 4 + FIXED_BYTES;
	size_t labels_at = losses_at + 2 + 4 * 8;
	uint64_t losses[5] = { 7, 7, 7, 7, 7 };

	(void)state;
	assert_int_equal(format_encode_commit(&sample, &bytes), 0);
	/* From the end to the front, so that the offsets stay right. */
	insert(&bytes, bytes.len - 4, "trailing", 8);
	insert(&bytes, labels_at + 2, label, sizeof(label) - 1);
	memcpy(bytes.data + labels_at, &labels_cnt, 2);
	insert(&bytes, labels_at, losses, sizeof(losses));
	memcpy(bytes.data + losses_at, &losses_cnt, 2);
	insert(&bytes, losses_at, "newer fields", 12);
	memcpy(bytes.data + OFFSET_FIXED_LEN, &more_fixed, 4);
	reseal(&bytes);
	assert_int_equal(decode(&bytes, &labels, &got), 0);
	got.window.lost[WINDOW_LOSS_STORE] = 0; /* known, and given a value above */
	assert_is_sample(&got);
}

static void shortened_fixed_fields_are_refused(void **state)
{
	const uint32_t less = FIXED_MIN_BYTES - 1;
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT, labels = STRBUF_INIT;
	struct format_commit got;

	(void)state;
	assert_int_equal(format_encode_commit(&sample, &bytes), 0);
	memcpy(bytes.data + OFFSET_FIXED_LEN, &less, 4);
	reseal(&bytes);
	assert_int_equal(decode(&bytes, &labels, &got), -EINVAL);
}

/* Cuts the fixed fields of the sample down to `fixed_len` bytes, as an older jbpf would write. */
static void encode_shorter(uint32_t fixed_len, struct strbuf *out)
{
	size_t end = OFFSET_FIXED_LEN + 4 + FIXED_BYTES, gone = FIXED_BYTES - fixed_len;

	assert_int_equal(format_encode_commit(&sample, out), 0);
	memmove(out->data + end - gone, out->data + end, out->len - end);
	out->len -= gone;
	memcpy(out->data + OFFSET_FIXED_LEN, &fixed_len, 4);
	reseal(out);
}

static void groups_that_an_older_writer_did_not_know_are_zero(void **state)
{
	(void)state;
	for (uint32_t len = FIXED_MIN_BYTES; len < FIXED_BYTES; len++) {
		const bool has_224 = len >= FIXED_224_BYTES, has_240 = len >= FIXED_240_BYTES;
		const bool has_248 = len >= FIXED_248_BYTES, has_256 = len >= FIXED_256_BYTES;
		__cleanup_strbuf struct strbuf bytes = STRBUF_INIT, labels = STRBUF_INIT;
		struct format_commit got;

		encode_shorter(len, &bytes);
		assert_int_equal(decode(&bytes, &labels, &got), 0);
		assert_int_equal(got.window.counts.inlined_frames != 0, has_224);
		assert_int_equal(got.window.counts.unrepaired_samples != 0, has_224);
		assert_int_equal(got.window.preserve_frame_pointer_origin != 0, has_224);
		assert_int_equal(got.window.event != 0, has_240);
		assert_int_equal(got.window.period_unit != 0, has_240);
		assert_int_equal(got.window.period != 0, has_240);
		assert_int_equal(got.threads_len != 0, has_248);
		assert_int_equal(got.threads_crc != 0, has_248);
		assert_int_equal(got.window.counts.run_delay_ns != 0, has_256);
		assert_int_equal(got.ticks_len, 0);
		assert_int_equal(got.ticks_crc, 0);
		got.ticks_len = sample.ticks_len;
		got.ticks_crc = sample.ticks_crc;
		got.window.counts.run_delay_ns = sample.window.counts.run_delay_ns;
		got.threads_len = sample.threads_len;
		got.threads_crc = sample.threads_crc;
		got.window.event = sample.window.event;
		got.window.period_unit = sample.window.period_unit;
		got.window.period = sample.window.period;
		got.window.counts.inlined_frames = sample.window.counts.inlined_frames;
		got.window.counts.unrepaired_samples = sample.window.counts.unrepaired_samples;
		got.window.preserve_frame_pointer_origin = 2;
		assert_is_sample(&got);
	}
}

static void garbage_payloads_never_read_too_far(void **state)
{
	__cleanup_strbuf struct strbuf whole = STRBUF_INIT, labels = STRBUF_INIT;

	(void)state;
	assert_int_equal(format_encode_commit(&sample, &whole), 0);
	srand(13);
	for (int round = 0; round < 20000; round++) {
		__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
		struct format_commit got;
		int err;

		strbuf_append(&bytes, whole.data, whole.len);
		for (int i = 0; i < 4; i++)
			bytes.data[OFFSET_PAYLOAD + (size_t)rand() % (whole.len - 32)] =
				(char)rand();
		reseal(&bytes);
		err = decode(&bytes, &labels, &got);
		assert_true(err == 0 || err == -EINVAL);
	}
}

static void tags_and_magics_are_recognised(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		bool is_record;
	} rows[] = {
		{ "", 0, false },
		{ "\x5b\x2a\x4d", 3, false },
		{ "\x5b\x2a\x4d\x18", 4, true },
		{ "\x5b\x2a\x4d\x18\x10\0\0\0JBPX", 12, true }, /* ours, with a broken tag */
		{ "\x50\x2a\x4d\x18\x10\0\0\0JBPF", 12, true }, /* ours, with a broken magic */
		{ "\x50\x2a\x4d\x18\x10\0\0\0JBPX", 12, false },
		{ "\x50\x2a\x4d\x18\x10\0\0\0JBP", 11, false },
		{ "\x60\x2a\x4d\x18\x10\0\0\0JBPF", 12, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(format_is_record((const uint8_t *)rows[i].bytes, rows[i].len),
				 rows[i].is_record);
}

static void short_memory_is_not_damage(void **state)
{
	/* As ZSTD_decompress() returns its errors. */
	const size_t no_memory = (size_t)-ZSTD_error_memory_allocation;
	const size_t corrupt = (size_t)-ZSTD_error_corruption_detected;
	char frame[128], text[8];
	size_t frame_len = ZSTD_compress(frame, sizeof(frame), "1234567", 8, 1);

	(void)state;
	assert_int_equal(format_decompress_result(8, 8), 0);
	assert_int_equal(format_decompress_result(7, 8), -EINVAL);
	assert_int_equal(format_decompress_result(corrupt, 8), -EINVAL);
	assert_int_equal(format_decompress_result(no_memory, 8), -ENOMEM);
	assert_int_equal(format_decompress(frame, frame_len, text, 8), 0);
	assert_string_equal(text, "1234567");
	assert_int_equal(format_decompress(frame, frame_len - 1, text, 8), -EINVAL);
	assert_int_equal(format_decompress(frame, frame_len, text, 7), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commit_record_reads_back),
		cmocka_unit_test(every_number_of_a_commit_record_has_a_place_of_its_own),
		cmocka_unit_test(header_record_reads_back),
		cmocka_unit_test(every_changed_bit_is_noticed),
		cmocka_unit_test(cut_records_are_refused),
		cmocka_unit_test(cut_payloads_are_refused),
		cmocka_unit_test(additions_of_later_versions_are_ignored),
		cmocka_unit_test(shortened_fixed_fields_are_refused),
		cmocka_unit_test(groups_that_an_older_writer_did_not_know_are_zero),
		cmocka_unit_test(garbage_payloads_never_read_too_far),
		cmocka_unit_test(tags_and_magics_are_recognised),
		cmocka_unit_test(short_memory_is_not_damage),
	};

	return cmocka_run_group_tests_name("store_format", tests, NULL, NULL);
}
