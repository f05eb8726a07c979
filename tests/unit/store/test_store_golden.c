// SPDX-License-Identifier: Apache-2.0
/*
 * The files in tests/fixtures/store were written by released versions of format 1, one for each
 * length of the fixed fields, and are never changed: what they say must be read from them for ever,
 * and the newest one's records must be written the same way until fields are added. Run with
 * JBPF_WRITE_GOLDEN=FILE to write such a file.
 */
#include "tests/unit/store_testing.h"

#include <zstd.h>

#include "user/store/format/crc32c.h"
#include "user/store/format/format.h"
#include "user/util/cleanup.h"

#define SEGMENT_ID "golden segment 1"
#define BOOT_ID	   "boot id 16 bytes"
#define UNIT_CNT   3

/* What a version knew: the length of its fixed fields; then, what stands behind the labels. */
enum golden_fields {
	GOLDEN_FIELDS_168,
	GOLDEN_FIELDS_224,
	GOLDEN_FIELDS_CELLS,
	GOLDEN_FIELDS_ENDS,
	GOLDEN_FIELDS_EVENT,	 /* 240 */
	GOLDEN_FIELDS_THREADS,	 /* 248, and threads in a record of their own */
	GOLDEN_FIELDS_RUN_DELAY, /* 256 */
	GOLDEN_FIELDS_TICKS,	 /* 264, and ticks in a record of their own */
	GOLDEN_FIELDS_CNT,
};

#define GOLDEN_NEWEST (GOLDEN_FIELDS_CNT - 1)

static const char *const golden_paths[GOLDEN_FIELDS_CNT] = {
	[GOLDEN_FIELDS_168] = "tests/fixtures/store/format-1.zst",
	[GOLDEN_FIELDS_224] = "tests/fixtures/store/format-1-224.zst",
	[GOLDEN_FIELDS_CELLS] = "tests/fixtures/store/format-1-cells.zst",
	[GOLDEN_FIELDS_ENDS] = "tests/fixtures/store/format-1-ends.zst",
	[GOLDEN_FIELDS_EVENT] = "tests/fixtures/store/format-1-event.zst",
	[GOLDEN_FIELDS_THREADS] = "tests/fixtures/store/format-1-threads.zst",
	[GOLDEN_FIELDS_RUN_DELAY] = "tests/fixtures/store/format-1-run-delay.zst",
	[GOLDEN_FIELDS_TICKS] = "tests/fixtures/store/format-1-ticks.zst",
};

static const char *const texts[UNIT_CNT] = {
	"java;java.lang.Thread.run_[0];shop.Cart.add_[j] 17\n"
	"java;java.lang.Thread.run_[0];shop.Cart.total_[1];shop.Tax.of_[i] 3\n"
	"java;start_thread;[unknown];do_syscall_64_[k] 1\n",
	"redis-server;main;aeMain 99\n",
	"",
};

static void fill_224(struct window *window)
{
	window->counts.inlined_frames = 8;
	window->counts.interpreted_frames = 9;
	window->counts.jit_leaf_samples = 19;
	window->counts.repaired_samples = 10;
	window->counts.unrepaired_samples = 11;
	window->preserve_frame_pointer_origin = 2;
	window->labels[WINDOW_LABEL_JIT_FALLBACK] = "its tables could not be read";
}

/* Source lines of the first unit, since there are any. */
static const char lines_text[] = "shop.Cart.add_[j];Cart.java:42 9\n"
				 "shop.Tax.of_[i];Tax.java:7 3\n"
				 "[other lines] 2\n";

/* Threads of the first unit: http-#-exec, of the first line also main, of the last one nobody known. */
static const uint8_t threads_code[] = "\2\4main\0\13http-#-exec\0\3\2\2\0\1\0\1\5";

#define THREADS_LEN (sizeof(threads_code) - 1)

/* Ticks of the first unit: of its three lines, at 0, 10, 138 and 138 ms. */
static const uint8_t ticks_code[] = { 3, 4, 0, 10, 0x80, 1, 0, 1, 0, 0, 2 };

/* Cells of the first unit: 20 samples, one is of an unknown moment. */
static const uint8_t cells_code[] = { 3, 1, 0, 2, 0x80, 1, 1, 0xed, 1, 16 };

static struct window golden_window(enum golden_fields fields, size_t unit)
{
	struct window window = {
		.start_unix_ns = TEST_NS + 123456789,
		.duration_ns = WINDOW_NS,
		.start_boot_ns = 555000000001,
		.boot_id = BOOT_ID,
		.frequency_hz = 99,
		.cpu_cnt = 8,
	};

	if (fields >= GOLDEN_FIELDS_EVENT) {
		window.event = EVENT_PAGE_FAULTS;
		window.period_unit = EVENT_UNIT_EVENTS;
		window.period = 64;
		window.frequency_hz = 0;
	}
	if (unit == 2) {
		int cnt = fields >= GOLDEN_FIELDS_CELLS ? 8 : 7; /* as many as there were */

		for (int i = 0; i < cnt; i++)
			window.lost[i] = 1000 + (uint64_t)i;
		return window;
	}
	window.pid = 4711;
	window.ns_pid = 1;
	window.process_start_ns = 444000000002;
	window.cgroup_id = 0x123456789abc;
	window.labels[WINDOW_LABEL_COMM] = "redis-server";
	window.counts.samples = 99;
	if (fields >= GOLDEN_FIELDS_ENDS) /* with cells, and without */
		window.counts.ends[STACK_END_NO_RULE] = unit == 1 ? 98 : 3;
	if (fields >= GOLDEN_FIELDS_RUN_DELAY) /* one without samples has it, too */
		window.counts.run_delay_ns = 0x123456789a + unit;
	if (unit == 1)
		return window;
	if (fields >= GOLDEN_FIELDS_ENDS)
		window.counts.ends[STACK_END_MAX_DEPTH] = 2;
	window.exec_id = 2;
	window.counts.samples = 21;
	window.counts.unknown_frames = 4;
	window.counts.frames = 70;
	window.counts.truncated_samples = 5;
	window.counts.jit_frames = 40;
	window.counts.unknown_jit_frames = 6;
	window.counts.ambiguous_frames = 7;
	window.jit_source = 1;
	window.jit_age_ms = 1500;
	window.jit_entries = 3210;
	window.attach_outcome = 2;
	window.attach_cnt = 3;
	window.attach_command_ms = 44;
	window.preserve_frame_pointer = WINDOW_FLAG_ON;
	window.is_jvm = 1;
	window.labels[WINDOW_LABEL_COMM] = "java";
	window.labels[WINDOW_LABEL_SERVICE] = "shop";
	window.labels[WINDOW_LABEL_NAMESPACE] = "prod";
	window.labels[WINDOW_LABEL_POD] = "shop-7d9f-x2x4k";
	window.labels[WINDOW_LABEL_POD_UID] = "0f0e0d0c-1111-2222-3333-444444444444";
	window.labels[WINDOW_LABEL_CONTAINER] = "app";
	window.labels[WINDOW_LABEL_CONTAINER_ID] = "0123456789abcdef";
	window.labels[WINDOW_LABEL_RUNTIME] = "containerd";
	window.labels[WINDOW_LABEL_IMAGE] = "registry.example/shop:1.2";
	window.labels[WINDOW_LABEL_CGROUP] = "/kubepods.slice/x.scope";
	window.labels[WINDOW_LABEL_EXE] = "/usr/bin/java";
	window.labels[WINDOW_LABEL_JVM_VERSION] = "17.0.13+11";
	window.labels[WINDOW_LABEL_JIT_PROBLEM] = "caf\xc3\xa9";
	if (fields >= GOLDEN_FIELDS_224)
		fill_224(&window);
	return window;
}

static const struct format_header golden_header = {
	.format_version = 1,
	.segment_id = SEGMENT_ID,
	.boot_id = BOOT_ID,
	.created_unix_ns = TEST_NS,
	.host = "node-1",
	.software = "jbpf golden",
};

/* The record of a unit whose data frame is `data`. */
static void encode_unit_record(size_t unit, const struct strbuf *ticks,
			       const struct strbuf *threads, const struct strbuf *lines,
			       const void *data, size_t data_len, struct strbuf *out)
{
	struct format_commit commit = {
		.ticks_len = (uint32_t)ticks->len,
		.ticks_crc = ticks->len ? crc32c(ticks->data, ticks->len) : 0,
		.threads_len = (uint32_t)threads->len,
		.threads_crc = threads->len ? crc32c(threads->data, threads->len) : 0,
		.lines_len = (uint32_t)lines->len,
		.lines_crc = lines->len ? crc32c(lines->data, lines->len) : 0,
		.segment_id = SEGMENT_ID,
		.sequence = unit + 1,
		.data_len = (uint32_t)data_len,
		.data_crc = crc32c(data, data_len),
		.text_len = strlen(texts[unit]),
		.window = golden_window(GOLDEN_NEWEST, unit),
		.cells = unit == 0 ? cells_code : NULL,
		.cells_len = unit == 0 ? sizeof(cells_code) : 0,
	};

	assert_int_equal(format_encode_commit(&commit, out), 0);
}

static void golden_write(const char *path)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	ZSTD_CCtx *encoder = ZSTD_createCCtx();
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);

	assert_true(fd >= 0);
	ZSTD_CCtx_setParameter(encoder, ZSTD_c_checksumFlag, 1);
	assert_int_equal(format_encode_header(&golden_header, &bytes), 0);
	for (size_t unit = 0; unit < UNIT_CNT; unit++) {
		__cleanup_strbuf struct strbuf lines = STRBUF_INIT, threads = STRBUF_INIT;
		__cleanup_strbuf struct strbuf ticks = STRBUF_INIT;
		char data[1024];
		size_t len = 0;

		if (unit == 0) {
			len = ZSTD_compress2(encoder, data, sizeof(data), ticks_code,
					     sizeof(ticks_code));
			assert_int_equal(format_encode_ticks(sizeof(ticks_code), data, len, &ticks),
					 0);
			strbuf_add(&bytes, &ticks);
			len = ZSTD_compress2(encoder, data, sizeof(data), threads_code,
					     THREADS_LEN);
			assert_int_equal(format_encode_threads(THREADS_LEN, data, len, &threads),
					 0);
			strbuf_add(&bytes, &threads);
			len = ZSTD_compress2(encoder, data, sizeof(data), lines_text,
					     strlen(lines_text));
			assert_int_equal(format_encode_lines((uint32_t)strlen(lines_text), data,
							     len, &lines),
					 0);
			strbuf_append(&bytes, lines.data, lines.len);
			len = 0;
		}
		if (*texts[unit])
			len = ZSTD_compress2(encoder, data, sizeof(data), texts[unit],
					     strlen(texts[unit]));
		assert_false(ZSTD_isError(len));
		strbuf_append(&bytes, data, len);
		encode_unit_record(unit, &ticks, &threads, &lines, data, len, &bytes);
	}
	assert_int_equal(fs_write_all(fd, bytes.data, bytes.len), 0);
	close(fd);
	ZSTD_freeCCtx(encoder);
}

static void golden_read(enum golden_fields fields, struct strbuf *out)
{
	assert_int_equal(fs_read_file(AT_FDCWD, golden_paths[fields], 1 << 20, out), 0);
}

struct check {
	enum golden_fields fields;
	size_t unit;
};

static int check_unit(void *ctx, const struct window *got, const char *text, size_t len)
{
	struct check *check = ctx;
	struct window expected = golden_window(check->fields, check->unit);
	struct window flat = *got;

	for (int i = 0; i < WINDOW_LABEL_CNT; i++) {
		if (expected.labels[i])
			assert_string_equal(window_label(got, (enum window_label)i),
					    expected.labels[i]);
		else
			assert_null(got->labels[i]);
		flat.labels[i] = expected.labels[i];
	}
	/* Holes are not copied by assignment for sure. */
	assert_memory_equal(&flat, &expected, offsetof(struct window, exec_id));
	assert_int_equal(flat.exec_id, expected.exec_id);
	assert_memory_equal(&flat.counts.samples, &expected.counts.samples,
			    offsetof(struct window, preserve_frame_pointer_origin) -
				    offsetof(struct window, counts.samples));
	assert_int_equal(flat.preserve_frame_pointer_origin,
			 expected.preserve_frame_pointer_origin);
	assert_int_equal(got->event, expected.event);
	assert_int_equal(got->period_unit, expected.period_unit);
	assert_int_equal(got->period, expected.period);
	assert_int_equal(window_period(got),
			 check->fields >= GOLDEN_FIELDS_EVENT ? 64 : CLOCK_NS_PER_S / 99);
	if (check->unit == 0 && check->fields >= GOLDEN_FIELDS_224) {
		assert_int_equal(got->lines_len, strlen(lines_text));
		assert_memory_equal(got->lines, lines_text, strlen(lines_text));
	} else {
		assert_null(got->lines);
	}
	if (check->unit == 0 && check->fields >= GOLDEN_FIELDS_CELLS) {
		assert_int_equal(got->cells_len, sizeof(cells_code));
		assert_memory_equal(got->cells, cells_code, sizeof(cells_code));
	} else {
		assert_null(got->cells);
	}
	if (check->unit == 0 && check->fields >= GOLDEN_FIELDS_THREADS) {
		assert_int_equal(got->threads_len, THREADS_LEN);
		assert_memory_equal(got->threads, threads_code, THREADS_LEN);
	} else {
		assert_null(got->threads);
	}
	if (check->unit == 0 && check->fields >= GOLDEN_FIELDS_TICKS) {
		assert_int_equal(got->ticks_len, sizeof(ticks_code));
		assert_memory_equal(got->ticks, ticks_code, sizeof(ticks_code));
	} else {
		assert_null(got->ticks);
	}
	assert_int_equal(len, strlen(texts[check->unit]));
	assert_memory_equal(text, texts[check->unit], len);
	check->unit++;
	return 0;
}

static void read_golden(enum golden_fields fields)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	struct got got = { 0 };
	struct test_store store;
	struct store_reader *reader;
	struct check check = { .fields = fields };
	const struct store_visitor visitor = {
		.ctx = &check,
		.wants_lines = true,
		.wants_cells = true,
		.wants_threads = true,
		.wants_ticks = true,
		.window = check_unit,
	};
	const struct store_visitor damages = { .ctx = &got, .damage = got_damage };

	golden_read(fields, &bytes);
	test_store_make(&store);
	test_write(&store, TEST_FILE, bytes.data, bytes.len);
	assert_int_equal(store_reader__open(store.dir, &reader), 0);
	assert_int_equal(store_reader__visit(reader, 0, UINT64_MAX, &visitor), 0);
	assert_int_equal(check.unit, UNIT_CNT);
	assert_int_equal(store_reader__visit(reader, 0, UINT64_MAX, &damages), 0);
	assert_int_equal(got.damage_cnt, 0);
	store_reader__free(reader);
	test_store_remove(&store);
}

static void golden_files_read_as_ever(void **state)
{
	(void)state;
	for (int fields = 0; fields < GOLDEN_FIELDS_CNT; fields++)
		read_golden((enum golden_fields)fields);
}

static void golden_files_can_be_continued(void **state)
{
	(void)state;
	for (int fields = 0; fields < GOLDEN_FIELDS_CNT; fields++) {
		__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
		struct test_store store;

		golden_read((enum golden_fields)fields, &bytes);
		test_store_make(&store);
		test_write(&store, TEST_FILE, bytes.data, bytes.len);
		test_fill(&store, 0, 1);
		assert_false(test_exists(&store, TEST_HOUR "-1.zst"));
		test_store_remove(&store);
	}
}

/* Takes the record at `at` off the file and checks that it is written as ever. */
static size_t take_beside(const struct strbuf *bytes, size_t at, enum format_type type,
			  const void *content, size_t len, struct strbuf *lines)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	static int (*const encoders[])(uint32_t, const void *, size_t, struct strbuf *) = {
		[FORMAT_TYPE_TICKS] = format_encode_ticks,
		[FORMAT_TYPE_LINES] = format_encode_lines,
		[FORMAT_TYPE_THREADS] = format_encode_threads,
	};
	struct format_record record;

	assert_int_equal(format_decode_record((const uint8_t *)bytes->data + at, bytes->len - at,
					      &record),
			 0);
	assert_int_equal(record.type, type);
	assert_int_equal(format_decode_lines(&record, &text), 0);
	assert_int_equal(text.len, len);
	assert_memory_equal(text.data, content, len);
	assert_int_equal(encoders[type]((uint32_t)len, record.payload + 4, record.payload_len - 4,
					lines),
			 0);
	assert_int_equal(lines->len, record.frame_len);
	assert_memory_equal(lines->data, bytes->data + at, lines->len);
	return at + lines->len;
}

/* Data frames may differ from one libzstd to the next; records may not. */
static void records_are_written_as_in_the_newest_golden_file(void **state)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT, record = STRBUF_INIT;
	size_t at = 0;

	(void)state;
	golden_read(GOLDEN_NEWEST, &bytes);
	assert_int_equal(format_encode_header(&golden_header, &record), 0);
	assert_true(record.len <= bytes.len);
	assert_memory_equal(bytes.data, record.data, record.len);
	at = record.len;
	for (size_t unit = 0; unit < UNIT_CNT; unit++) {
		__cleanup_strbuf struct strbuf lines = STRBUF_INIT, threads = STRBUF_INIT;
		__cleanup_strbuf struct strbuf ticks = STRBUF_INIT;
		size_t data_len = 0;

		if (unit == 0) {
			at = take_beside(&bytes, at, FORMAT_TYPE_TICKS, ticks_code,
					 sizeof(ticks_code), &ticks);
			at = take_beside(&bytes, at, FORMAT_TYPE_THREADS, threads_code, THREADS_LEN,
					 &threads);
			at = take_beside(&bytes, at, FORMAT_TYPE_LINES, lines_text,
					 strlen(lines_text), &lines);
		}
		if (*texts[unit])
			data_len = ZSTD_findFrameCompressedSize(bytes.data + at, bytes.len - at);
		assert_false(ZSTD_isError(data_len));
		strbuf_clear(&record);
		encode_unit_record(unit, &ticks, &threads, &lines, bytes.data + at, data_len,
				   &record);
		at += data_len;
		assert_true(record.len <= bytes.len - at);
		assert_memory_equal(bytes.data + at, record.data, record.len);
		at += record.len;
	}
	assert_int_equal(at, bytes.len);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_files_read_as_ever),
		cmocka_unit_test(golden_files_can_be_continued),
		cmocka_unit_test(records_are_written_as_in_the_newest_golden_file),
	};

	if (getenv("JBPF_WRITE_GOLDEN")) {
		golden_write(getenv("JBPF_WRITE_GOLDEN"));
		return 0;
	}
	return cmocka_run_group_tests_name("store_golden", tests, NULL, NULL);
}
