// SPDX-License-Identifier: Apache-2.0
/*
 * tests/fixtures/store/format-1-merged.zst is a merged file that is never changed: what it says must
 * be read from it for ever, and its rows must be written the same way until columns are added. Run
 * with JBPF_WRITE_GOLDEN=FILE to write such a file.
 */
#include "tests/unit/merged_testing.h"

#include <zstd.h>

#include "user/store/format/merged_format.h"
#include "user/store/format/rows_block.h"
#include "user/store/segment/segment_reader.h"

#define GOLDEN_PATH "tests/fixtures/store/format-1-merged.zst"
#define WINDOW_CNT  9
#define UNIT_CNT    3 /* one of a busy process, one of small ones, one of the host's records */

static const char *const texts[] = {
	"java;java.lang.Thread.run_[0];shop.Cart.add_[j] 17\n"
	"java;java.lang.Thread.run_[0];shop.Cart.total_[1];shop.Tax.of_[i] 3\n",
	"java;java.lang.Thread.run_[0];shop.Cart.add_[j] 4\n"
	"java;start_thread;[unknown];do_syscall_64_[k] 1\n",
	"java;java.lang.Thread.run_[0];shop.Cart.add_[j] 123456789012\n",
	"sh;main 1\n",
	"sh;main 2\nsh;main;fork 1\n",
	"redis-server;main;aeMain 99\n",
};

static const char lines_text[] = "shop.Cart.add_[j];Cart.java:42 9\n"
				 "shop.Tax.of_[i];Tax.java:7 3\n"
				 "[other lines] 2\n";
static const uint8_t cells_code[] = { 3, 1, 0, 2, 0xac, 2, 1 };

static void fill_java(uint32_t number, struct window *window)
{
	window->pid = 4711;
	window->ns_pid = 1;
	window->process_start_ns = 444000000002;
	window->cgroup_id = 0x123456789abc;
	window->exec_id = 2;
	window->counts = (struct window_counts){ 21, 4, 70, 5, 40, 6, 7, 8, 9, 19, 10, 11 };
	window->counts.samples += number;
	window->jit_source = 1;
	window->jit_age_ms = number ? 1500 * number : UINT32_MAX;
	window->jit_entries = 3210 - number;
	window->attach_outcome = 2;
	window->attach_cnt = 3;
	window->attach_command_ms = 44;
	window->preserve_frame_pointer = WINDOW_FLAG_ON;
	window->preserve_frame_pointer_origin = 2;
	window->is_jvm = 1;
	for (int i = 0; i <= WINDOW_LABEL_JIT_FALLBACK; i++) /* those that there were then */
		window->labels[i] = window_label_name((enum window_label)i);
	window->labels[WINDOW_LABEL_JIT_PROBLEM] = "caf\xc3\xa9";
	if (number == 0) {
		window->lines = lines_text;
		window->lines_len = sizeof(lines_text) - 1;
	}
	if (number != 1) {
		window->cells = cells_code;
		window->cells_len = sizeof(cells_code);
	}
}

static struct window golden_window(uint32_t number)
{
	struct window window = {
		.start_unix_ns = TEST_NS + number % 3 * WINDOW_NS + 123456789,
		.duration_ns = WINDOW_NS - number % 3,
		.start_boot_ns = 555000000001 + number % 3 * WINDOW_NS,
		.boot_id = "boot id 16 bytes",
		.frequency_hz = 99,
		.cpu_cnt = 8,
	};

	if (number < 3) {
		fill_java(number, &window);
	} else if (number < 6) {
		window.pid = number < 5 ? 800 : 801;
		window.labels[WINDOW_LABEL_COMM] = number < 5 ? "sh" : "redis-server";
		window.counts.samples = number;
	} else {
		for (int i = 0; i < 8; i++) /* as many as there were then */
			window.lost[i] = number == 6 ? 0 : 1000 + (uint64_t)i;
	}
	if (number == 5) {
		window.window_cnt = 7;
		window.recorded_ns = 7 * WINDOW_NS - 1;
	}
	return window;
}

static const char *golden_text(uint32_t number)
{
	return number < ARRAY_SIZE(texts) ? texts[number] : "";
}

static void golden_write(const char *path)
{
	static const uint8_t ids[2][FORMAT_ID_BYTES] = { "golden segment 1", "golden segment 2" };
	const struct merged_options options = { 0 };
	struct merged_writer *writer;
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);

	assert_true(fd >= 0);
	assert_int_equal(merged_writer__open(fd, &options, ids, 2, &writer), 0);
	for (uint32_t number = 0; number < WINDOW_CNT; number++) {
		struct window window = golden_window(number);
		const char *text = golden_text(number);

		assert_int_equal(merged_writer__add(writer, &window, text, strlen(text)), 0);
		if (number % 3 == 2)
			assert_int_equal(merged_writer__end_unit(writer), 0);
	}
	assert_int_equal(merged_writer__note_damage(writer, "v1/cpu/2026/11/21/12-1.zst", 99, 7,
						    "torn tail"),
			 0);
	merged_end(writer, fd);
}

static void golden_read(struct strbuf *out)
{
	assert_int_equal(fs_read_file(AT_FDCWD, GOLDEN_PATH, 1 << 20, out), 0);
}

struct check {
	uint32_t number;
	size_t note_cnt;
};

static int check_window(void *ctx, const struct window *got, const char *text, size_t len)
{
	__cleanup_strbuf struct strbuf a = STRBUF_INIT, b = STRBUF_INIT;
	struct check *check = ctx;
	struct window expected = golden_window(check->number);

	gather_bytes(got, text, len, &a);
	gather_bytes(&expected, golden_text(check->number), strlen(golden_text(check->number)), &b);
	assert_int_equal(a.len, b.len);
	assert_memory_equal(a.data, b.data, a.len);
	check->number++;
	return 0;
}

static void check_damage(void *ctx, const struct store_damage *damage)
{
	struct check *check = ctx;

	assert_string_equal(damage->path, "v1/cpu/2026/11/21/12-1.zst");
	assert_int_equal(damage->offset, 99);
	assert_int_equal(damage->bytes, 7);
	assert_string_equal(damage->what, "torn tail");
	check->note_cnt++;
}

static void golden_file_reads_as_ever(void **state)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	struct check check = { .number = 0 };
	const struct store_visitor visitor = {
		.ctx = &check,
		.wants_lines = true,
		.wants_cells = true,
		.window = check_window,
		.damage = check_damage,
	};
	struct store_reader *reader;
	struct test_store store;

	(void)state;
	golden_read(&bytes);
	test_store_make(&store);
	/* With the index, and without it. */
	for (int i = 0; i < 2; i++) {
		test_write(&store, TEST_FILE, bytes.data, bytes.len - (i ? 9 + 8 * 10 + 8 : 0));
		check = (struct check){ .number = 0 };
		assert_int_equal(store_reader__open(store.dir, &reader), 0);
		assert_int_equal(store_reader__visit(reader, 0, UINT64_MAX, &visitor), 0);
		store_reader__free(reader);
		assert_int_equal(check.number, WINDOW_CNT);
		assert_int_equal(check.note_cnt, 1);
	}
	test_store_remove(&store);
}

/* The rows record at `at` of unit `unit`, written anew. */
static void check_rows(const struct format_record *record, uint32_t unit)
{
	__cleanup_strbuf struct strbuf body = STRBUF_INIT, again = STRBUF_INIT;
	struct rows_entry_columns stacks = { .cnts = STRBUF_INIT },
				  sources = { .cnts = STRBUF_INIT };
	__cleanup_rows_block struct rows_block block = { .rows = NULL };
	const struct window *rows[3];
	struct rows_input input = {
		.rows = rows, .row_cnt = 3, .stacks = &stacks, .sources = &sources
	};
	struct merged_rows_head head;
	const uint8_t *frame;
	size_t frame_len;
	uint32_t series_cnt;

	assert_int_equal(merged_decode_rows(record, &head, &frame, &frame_len), 0);
	assert_int_equal(head.sequence, unit + 1);
	assert_int_equal(head.row_cnt, 3);
	assert_int_equal(merged_encode_rows(&head, frame, frame_len, &again), 0);
	assert_int_equal(again.len, record->frame_len);
	assert_memory_equal(again.data, record->payload - 28, again.len);
	assert_int_equal(merged_decompress(frame, frame_len, head.body_len, &body), 0);
	assert_int_equal(
		rows_block_parse((uint8_t *)body.data, body.len, head.series_cnt, 3, &block), 0);
	for (uint32_t i = 0; i < 3; i++)
		rows[i] = &block.rows[i];
	/* Entries are columns already. */
	assert_int_equal(strbuf_append(&stacks.cnts, block.stacks.cnts.at,
				       (size_t)(block.stacks.cnts.end - block.stacks.cnts.at)),
			 0);
	assert_int_equal(strbuf_append(&stacks.lines, block.stacks.lines.at,
				       (size_t)(block.stacks.lines.end - block.stacks.lines.at)),
			 0);
	assert_int_equal(strbuf_append(&stacks.counts, block.stacks.counts.at,
				       (size_t)(block.stacks.counts.end - block.stacks.counts.at)),
			 0);
	assert_int_equal(strbuf_append(&sources.cnts, block.sources.cnts.at,
				       (size_t)(block.sources.cnts.end - block.sources.cnts.at)),
			 0);
	assert_int_equal(strbuf_append(&sources.lines, block.sources.lines.at,
				       (size_t)(block.sources.lines.end - block.sources.lines.at)),
			 0);
	assert_int_equal(
		strbuf_append(&sources.counts, block.sources.counts.at,
			      (size_t)(block.sources.counts.end - block.sources.counts.at)),
		0);
	strbuf_clear(&again);
	assert_int_equal(rows_block_encode(&input, &again, &series_cnt), 0);
	assert_int_equal(series_cnt, head.series_cnt);
	assert_int_equal(again.len, body.len);
	assert_memory_equal(again.data, body.data, body.len);
	rows_entry_columns_release(&stacks);
	rows_entry_columns_release(&sources);
}

static void rows_are_written_as_in_the_golden_file(void **state)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	uint32_t unit = 0;

	(void)state;
	golden_read(&bytes);
	for (size_t at = 0; at < bytes.len;) {
		const uint8_t *frame = (const uint8_t *)bytes.data + at;
		struct format_record record;

		if (format_decode_record(frame, bytes.len - at, &record) == 0 &&
		    record.type == FORMAT_TYPE_ROWS)
			check_rows(&record, unit++);
		at += ZSTD_findFrameCompressedSize(frame, bytes.len - at);
	}
	assert_int_equal(unit, UNIT_CNT);
}

static void sources_of_the_golden_file_are_known(void **state)
{
	__cleanup_segment_identity struct segment_identity identity = { .has_id = false };
	struct segment_reader *reader = segment_reader__new();
	int fd = open(GOLDEN_PATH, O_RDONLY);

	(void)state;
	assert_int_equal(segment_reader__identify(reader, fd, &identity), 0);
	assert_true(identity.has_id);
	assert_true(identity.is_merged);
	assert_int_equal(identity.source_cnt, 2);
	assert_memory_equal(identity.source_ids[0], "golden segment 1", FORMAT_ID_BYTES);
	assert_memory_equal(identity.source_ids[1], "golden segment 2", FORMAT_ID_BYTES);
	segment_reader__free(reader);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_file_reads_as_ever),
		cmocka_unit_test(rows_are_written_as_in_the_golden_file),
		cmocka_unit_test(sources_of_the_golden_file_are_known),
	};
	const char *path = getenv("JBPF_WRITE_GOLDEN");

	if (path)
		golden_write(path);
	return cmocka_run_group_tests_name("store_merged_golden", tests, NULL, NULL);
}
