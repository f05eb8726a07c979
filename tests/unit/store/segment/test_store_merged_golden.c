// SPDX-License-Identifier: Apache-2.0
/*
 * tests/fixtures/store/format-1-merged.zst and its siblings format-1-merged-*.zst are merged files that are never changed: what they say must be read
 * from them for ever, and their rows must be written the same way: columns that are all zeros are
 * left out. Run with JBPF_WRITE_GOLDEN=FILE to write such a file of the newest version.
 */
#include "tests/unit/merged_testing.h"

#include <zstd.h>

#include "user/store/format/merged_format.h"
#include "user/store/format/rows_table.h"
#include "user/store/segment/segment_reader.h"
#include "user/util/strtab.h"

enum golden_columns {
	GOLDEN_COLUMNS_FIRST,
	GOLDEN_COLUMNS_ENDS,
	GOLDEN_COLUMNS_THREADS,
	GOLDEN_COLUMNS_RUN_DELAY,
	GOLDEN_COLUMNS_TICKS, /* in a record of their own */
	GOLDEN_COLUMNS_CNT,
};

#define GOLDEN_NEWEST (GOLDEN_COLUMNS_CNT - 1)

static const char *const golden_paths[GOLDEN_COLUMNS_CNT] = {
	[GOLDEN_COLUMNS_FIRST] = "tests/fixtures/store/format-1-merged.zst",
	[GOLDEN_COLUMNS_ENDS] = "tests/fixtures/store/format-1-merged-ends.zst",
	[GOLDEN_COLUMNS_THREADS] = "tests/fixtures/store/format-1-merged-threads.zst",
	[GOLDEN_COLUMNS_RUN_DELAY] = "tests/fixtures/store/format-1-merged-run-delay.zst",
	[GOLDEN_COLUMNS_TICKS] = "tests/fixtures/store/format-1-merged-ticks.zst",
};

#define WINDOW_CNT 9
#define UNIT_CNT   3 /* one of a busy process, one of small ones, one of the host's records */

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

/* Two lines: http-#-exec, of the first one also main; and others in the next window, of one nobody. */
static const uint8_t first_threads[] = "\2\4main\0\13http-#-exec\0\2\2\2\1\0\1\5";
static const uint8_t second_threads[] = "\2\4main\0\13GC Thread##\0\2\1\0\1\0\2\1";

static void fill_threads(uint32_t number, struct window *window)
{
	if (number == 0) {
		window->threads = first_threads;
		window->threads_len = sizeof(first_threads) - 1;
	} else if (number == 1) {
		window->threads = second_threads;
		window->threads_len = sizeof(second_threads) - 1;
	}
}

/* Of two lines and of one; the other windows have none. */
static const uint8_t first_ticks[] = { 2, 3, 0, 10, 0x80, 1, 1, 0, 0 };
static const uint8_t fifth_ticks[] = { 1, 2, 9, 0, 0, 0 };

static void fill_ticks(uint32_t number, struct window *window)
{
	if (number == 0) {
		window->ticks = first_ticks;
		window->ticks_len = sizeof(first_ticks);
	} else if (number == 5) {
		window->ticks = fifth_ticks;
		window->ticks_len = sizeof(fifth_ticks);
	}
}

static void fill_java(uint32_t number, struct window *window)
{
	window->pid = 4711;
	window->ns_pid = 1;
	window->process_start_ns = 444000000002;
	window->cgroup_id = 0x123456789abc;
	window->exec_id = 2;
	window->counts.samples = 21 + number;
	window->counts.unknown_frames = 4;
	window->counts.frames = 70;
	window->counts.truncated_samples = 5;
	window->counts.jit_frames = 40;
	window->counts.unknown_jit_frames = 6;
	window->counts.ambiguous_frames = 7;
	window->counts.inlined_frames = 8;
	window->counts.interpreted_frames = 9;
	window->counts.jit_leaf_samples = 19;
	window->counts.repaired_samples = 10;
	window->counts.unrepaired_samples = 11;
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

static struct window golden_window(enum golden_columns columns, uint32_t number)
{
	struct window window = {
		.start_unix_ns = TEST_NS + number % 3 * WINDOW_NS + 123456789,
		.duration_ns = WINDOW_NS - number % 3,
		.start_boot_ns = 555000000001 + number % 3 * WINDOW_NS,
		.boot_id = "boot id 16 bytes",
		.frequency_hz = 99,
		.cpu_cnt = 8,
	};

	if (columns >= GOLDEN_COLUMNS_ENDS && number < 4) {
		window.counts.ends[STACK_END_FAULT] = 3 + number;
		window.counts.ends[STACK_END_LOST] = number;
	}
	if (columns >= GOLDEN_COLUMNS_RUN_DELAY && number < 5)
		window.counts.run_delay_ns = number * 0x123456789a;
	if (columns >= GOLDEN_COLUMNS_THREADS)
		fill_threads(number, &window);
	if (columns >= GOLDEN_COLUMNS_TICKS)
		fill_ticks(number, &window);
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
	const struct merged_options options = { .keeps_ticks = true };
	struct merged_writer *writer;
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);

	assert_true(fd >= 0);
	assert_int_equal(merged_writer__open(fd, &options, ids, 2, &writer), 0);
	for (uint32_t number = 0; number < WINDOW_CNT; number++) {
		struct window window = golden_window(GOLDEN_NEWEST, number);
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

static void golden_read(enum golden_columns columns, struct strbuf *out)
{
	assert_int_equal(fs_read_file(AT_FDCWD, golden_paths[columns], 1 << 20, out), 0);
}

struct check {
	enum golden_columns columns;
	uint32_t number;
	size_t note_cnt;
};

static int check_window(void *ctx, const struct window *got, const char *text, size_t len)
{
	__cleanup_strbuf struct strbuf a = STRBUF_INIT, b = STRBUF_INIT;
	struct check *check = ctx;
	struct window expected = golden_window(check->columns, check->number);

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

/* It ends with the number of its entries, a byte and a magic; in front of it stands a frame's head. */
static size_t seek_table_bytes(const struct strbuf *bytes)
{
	return 9 + 8 * format_get_u32((const uint8_t *)bytes->data + bytes->len - 9) + 8;
}

static void read_golden(enum golden_columns columns)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	struct check check = { .number = 0 };
	const struct store_visitor visitor = {
		.ctx = &check,
		.wants_lines = true,
		.wants_cells = true,
		.wants_threads = true,
		.wants_ticks = true,
		.window = check_window,
		.damage = check_damage,
	};
	struct store_reader *reader;
	struct test_store store;

	golden_read(columns, &bytes);
	test_store_make(&store);
	/* With the index, and without it. */
	for (int i = 0; i < 2; i++) {
		test_write(&store, TEST_FILE, bytes.data,
			   bytes.len - (i ? seek_table_bytes(&bytes) : 0));
		check = (struct check){ .columns = columns };
		assert_int_equal(store_reader__open(store.dir, &reader), 0);
		assert_int_equal(store_reader__visit(reader, 0, UINT64_MAX, &visitor), 0);
		store_reader__free(reader);
		assert_int_equal(check.number, WINDOW_CNT);
		assert_int_equal(check.note_cnt, 1);
	}
	test_store_remove(&store);
}

static void golden_files_read_as_ever(void **state)
{
	(void)state;
	for (int columns = 0; columns < GOLDEN_COLUMNS_CNT; columns++)
		read_golden((enum golden_columns)columns);
}

static void take_column(const struct varint_reader *from, struct strbuf *to)
{
	strbuf_append(to, from->at, (size_t)(from->end - from->at));
}

static void threads_of(const struct rows_table *table, struct strtab *names,
		       struct rows_thread_columns *out)
{
	uint32_t id;

	for (uint32_t i = 0; i < table->thread_name_cnt; i++)
		assert_int_equal(strtab__intern(names, table->thread_names[i].text,
						table->thread_names[i].len, &id),
				 0);
	out->names = names;
	take_column(&table->thread_homes, &out->homes);
	take_column(&table->thread_parts.cnts, &out->parts.cnts);
	take_column(&table->thread_parts.lines, &out->parts.lines);
	take_column(&table->thread_parts.counts, &out->parts.counts);
	take_column(&table->threads, &out->threads);
}

/* The rows record at `at` of unit `unit`, written anew. */
static void check_rows(const struct format_record *record, uint32_t unit)
{
	__cleanup_strbuf struct strbuf body = STRBUF_INIT, again = STRBUF_INIT;
	struct rows_entry_columns stacks = { .cnts = STRBUF_INIT },
				  sources = { .cnts = STRBUF_INIT };
	struct rows_thread_columns threads = { .names = NULL };
	struct strtab *names = strtab__new();
	__cleanup_rows_table struct rows_table table = { .rows = NULL };
	const struct window *rows[3];
	struct rows_input input = {
		.rows = rows,
		.row_cnt = 3,
		.stacks = &stacks,
		.sources = &sources,
		.threads = &threads,
	};
	struct merged_rows_head head;
	const uint8_t *frame;
	size_t frame_len;
	uint32_t track_cnt;

	assert_int_equal(merged_decode_rows(record, &head, &frame, &frame_len), 0);
	assert_int_equal(head.sequence, unit + 1);
	assert_int_equal(head.row_cnt, 3);
	assert_int_equal(merged_encode_rows(&head, frame, frame_len, &again), 0);
	assert_int_equal(again.len, record->frame_len);
	assert_memory_equal(again.data, record->payload - 28, again.len);
	assert_int_equal(merged_decompress(frame, frame_len, head.body_len, &body), 0);
	assert_int_equal(
		rows_table_parse((uint8_t *)body.data, body.len, head.track_cnt, 3, &table), 0);
	for (uint32_t i = 0; i < 3; i++)
		rows[i] = &table.rows[i];
	/* Entries are columns already. */
	threads_of(&table, names, &threads);
	strbuf_append(&stacks.cnts, table.stacks.cnts.at,
		      (size_t)(table.stacks.cnts.end - table.stacks.cnts.at));
	strbuf_append(&stacks.lines, table.stacks.lines.at,
		      (size_t)(table.stacks.lines.end - table.stacks.lines.at));
	strbuf_append(&stacks.counts, table.stacks.counts.at,
		      (size_t)(table.stacks.counts.end - table.stacks.counts.at));
	strbuf_append(&sources.cnts, table.sources.cnts.at,
		      (size_t)(table.sources.cnts.end - table.sources.cnts.at));
	strbuf_append(&sources.lines, table.sources.lines.at,
		      (size_t)(table.sources.lines.end - table.sources.lines.at));
	strbuf_append(&sources.counts, table.sources.counts.at,
		      (size_t)(table.sources.counts.end - table.sources.counts.at));
	strbuf_clear(&again);
	assert_int_equal(rows_table_encode(&input, &again, &track_cnt), 0);
	assert_int_equal(track_cnt, head.track_cnt);
	assert_int_equal(again.len, body.len);
	assert_memory_equal(again.data, body.data, body.len);
	rows_entry_columns_release(&stacks);
	rows_entry_columns_release(&sources);
	rows_thread_columns_release(&threads);
	strtab__free(names);
}

static void write_rows(enum golden_columns columns)
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	uint32_t unit = 0;

	golden_read(columns, &bytes);
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

static void rows_are_written_as_in_the_golden_files(void **state)
{
	(void)state;
	for (int columns = 0; columns < GOLDEN_COLUMNS_CNT; columns++)
		write_rows((enum golden_columns)columns);
}

static void sources_of_the_golden_file_are_known(void **state)
{
	__cleanup_segment_identity struct segment_identity identity = { .has_id = false };
	struct segment_reader *reader = segment_reader__new();
	int fd = open(golden_paths[GOLDEN_NEWEST], O_RDONLY);

	(void)state;
	assert_int_equal(segment_reader__identify(reader, fd, &identity), 0);
	assert_true(identity.has_id);
	assert_true(identity.is_merged);
	assert_true(identity.has_ticks);
	assert_int_equal(identity.source_cnt, 2);
	assert_memory_equal(identity.source_ids[0], "golden segment 1", FORMAT_ID_BYTES);
	assert_memory_equal(identity.source_ids[1], "golden segment 2", FORMAT_ID_BYTES);
	segment_reader__free(reader);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_files_read_as_ever),
		cmocka_unit_test(rows_are_written_as_in_the_golden_files),
		cmocka_unit_test(sources_of_the_golden_file_are_known),
	};
	const char *path = getenv("JBPF_WRITE_GOLDEN");

	if (path)
		golden_write(path);
	return cmocka_run_group_tests_name("store_merged_golden", tests, NULL, NULL);
}
