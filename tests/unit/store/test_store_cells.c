// SPDX-License-Identifier: Apache-2.0
/* Cells of time in the store: kept with their window, handed out when asked for, never in the way. */
#include "tests/unit/store_testing.h"

#include <errno.h>

#include "user/model/cells.h"
#include "user/store/format/crc32c.h"
#include "user/store/format/format.h"
#include "user/util/cleanup.h"

#define UNIT_CNT    6
#define LABEL_BYTES 2000

/* Every second window has cells. */
static void number_to_cells(uint32_t number, struct strbuf *out)
{
	struct cell cells[30 * UNIT_CNT];
	uint32_t cnt = 0;

	strbuf_clear(out);
	for (; number % 2 && cnt < 30 * number; cnt++)
		cells[cnt] = (struct cell){ .index = cnt * 3 + number, .count = number };
	assert_int_equal(cells_encode(cells, cnt, out), 0);
}

struct got_cells {
	struct got got; /* must be first: got_damage() takes it */
	uint32_t cells_cnt;
	bool wants;
};

static bool want_window(void *ctx, const struct window *window)
{
	(void)ctx;
	assert_null(window->cells);
	assert_int_equal(window->cells_len, 0);
	return true;
}

static int check_window(void *ctx, const struct window *window, const char *text, size_t len)
{
	__cleanup_strbuf struct strbuf expected = STRBUF_INIT;
	struct got_cells *got = ctx;

	number_to_cells(window->pid - 1000, &expected);
	if (window->cells_len) {
		assert_true(got->wants);
		assert_int_equal(window->cells_len, expected.len);
		assert_memory_equal(window->cells, expected.data, expected.len);
		got->cells_cnt++;
	} else {
		assert_null(window->cells);
		assert_true(!got->wants || !expected.len);
	}
	return got_window(&got->got, window, text, len);
}

static void visit(const struct test_store *store, bool wants, struct got_cells *got)
{
	const struct store_visitor visitor = {
		.ctx = got,
		.wants_cells = wants,
		.want = want_window,
		.window = check_window,
		.damage = got_damage,
	};

	memset(got, 0, sizeof(*got));
	got->wants = wants;
	test_visit_with(store, 0, UINT64_MAX, &visitor);
	assert_int_equal(got->got.damage_cnt, 0);
}

static void cells_come_back_with_their_window(void **state)
{
	struct store_writer *writer;
	struct test_store store;
	struct got_cells got;

	(void)state;
	test_store_make(&store);
	writer = test_writer(&store);
	for (uint32_t number = 0; number < UNIT_CNT; number++) {
		__cleanup_strbuf struct strbuf text = STRBUF_INIT, cells = STRBUF_INIT;
		struct window window = number_to_window(number);

		number_to_text(number, &text);
		number_to_cells(number, &cells);
		window.cells = (const uint8_t *)cells.data;
		window.cells_len = (uint32_t)cells.len;
		assert_int_equal(store_writer__add(writer, &window, text.data, text.len), 0);
		test_commit(writer);
	}
	store_writer__free(writer);
	visit(&store, true, &got);
	assert_got_range(&got.got, 0, UNIT_CNT);
	assert_int_equal(got.cells_cnt, UNIT_CNT / 2);
	visit(&store, false, &got);
	assert_got_range(&got.got, 0, UNIT_CNT);
	test_store_remove(&store);
}

/* ---- the record ---- */

static struct format_commit sample(const struct strbuf *cells)
{
	return (struct format_commit){
		.segment_id = "0123456789abcde",
		.sequence = 1,
		.window = { .pid = 7,
			    .counts.samples = 3,
			    .labels = { [WINDOW_LABEL_COMM] = "java" } },
		.cells = (const uint8_t *)cells->data,
		.cells_len = (uint32_t)cells->len,
	};
}

static int decode(const struct strbuf *bytes, struct strbuf *labels, struct format_commit *out)
{
	struct format_record record;

	assert_int_equal(format_decode_record((const uint8_t *)bytes->data, bytes->len, &record),
			 0);
	return format_decode_commit(&record, labels, out);
}

static void fill(struct strbuf *cells, size_t len)
{
	strbuf_clear(cells);
	for (size_t i = 0; i < len; i += 2)
		strbuf_append(cells, "\0\1", 2);
}

static void the_longest_cells_fit_and_longer_ones_are_left_out(void **state)
{
	__cleanup_strbuf struct strbuf cells = STRBUF_INIT, labels = STRBUF_INIT;

	(void)state;
	for (size_t len = CELLS_MAX_LEN; len <= CELLS_MAX_LEN + 2; len += 2) {
		__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
		struct format_commit commit, got;

		fill(&cells, len);
		commit = sample(&cells);
		assert_int_equal(format_encode_commit(&commit, &bytes), 0);
		assert_true(bytes.len <= FORMAT_RECORD_MAX_BYTES);
		assert_int_equal(decode(&bytes, &labels, &got), 0);
		assert_string_equal(got.window.labels[WINDOW_LABEL_COMM], "java");
		assert_int_equal(got.cells_len, len == CELLS_MAX_LEN ? len : 0);
		if (got.cells_len)
			assert_memory_equal(got.cells, cells.data, len);
		else
			assert_null(got.cells);
	}
}

/* A reader looks for records of at most 64 KiB when it has lost its way. */
static void cells_never_make_a_record_too_large(void **state)
{
	__cleanup_strbuf struct strbuf cells = STRBUF_INIT, labels = STRBUF_INIT;
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
	char label[LABEL_BYTES + 1];
	struct format_commit commit, got;
	size_t left;

	(void)state;
	memset(label, 'x', LABEL_BYTES);
	label[LABEL_BYTES] = '\0';
	commit = sample(&cells);
	for (int i = 0; i < WINDOW_LABEL_CNT; i++)
		commit.window.labels[i] = label;
	assert_int_equal(format_encode_commit(&commit, &bytes), 0);
	left = FORMAT_RECORD_MAX_BYTES - bytes.len - 4;
	for (size_t more = 0; more < 2; more++) {
		fill(&cells, left + 2);
		commit.cells = (const uint8_t *)cells.data;
		commit.cells_len = (uint32_t)(left + more);
		strbuf_clear(&bytes);
		assert_int_equal(format_encode_commit(&commit, &bytes), 0);
		assert_true(bytes.len <= FORMAT_RECORD_MAX_BYTES);
		assert_int_equal(decode(&bytes, &labels, &got), 0);
		assert_string_equal(got.window.labels[WINDOW_LABEL_EXE], label);
		assert_int_equal(got.cells_len, more ? 0 : left);
	}
}

/* Makes lengths and checksum right again after the record was cut. */
static void reseal(struct strbuf *bytes)
{
	uint32_t frame_size = (uint32_t)bytes->len - 8, payload_len = (uint32_t)bytes->len - 32;
	uint32_t checksum;

	memcpy(bytes->data + 4, &frame_size, 4);
	memcpy(bytes->data + 24, &payload_len, 4);
	checksum = crc32c(bytes->data, bytes->len - 4);
	memcpy(bytes->data + bytes->len - 4, &checksum, 4);
}

static void a_record_cut_in_its_cells_counts_without_them(void **state)
{
	__cleanup_strbuf struct strbuf cells = STRBUF_INIT, whole = STRBUF_INIT;
	__cleanup_strbuf struct strbuf labels = STRBUF_INIT;
	struct format_commit commit, got;

	(void)state;
	fill(&cells, 40);
	commit = sample(&cells);
	assert_int_equal(format_encode_commit(&commit, &whole), 0);
	for (size_t gone = 1; gone <= 44 + 3; gone++) {
		__cleanup_strbuf struct strbuf bytes = STRBUF_INIT;
		bool is_in_labels = gone > 44;

		strbuf_append(&bytes, whole.data, whole.len - gone);
		reseal(&bytes);
		assert_int_equal(decode(&bytes, &labels, &got), is_in_labels ? -EINVAL : 0);
		if (is_in_labels)
			continue;
		assert_int_equal(got.window.counts.samples, 3);
		assert_string_equal(got.window.labels[WINDOW_LABEL_COMM], "java");
		assert_null(got.cells);
		assert_int_equal(got.cells_len, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cells_come_back_with_their_window),
		cmocka_unit_test(the_longest_cells_fit_and_longer_ones_are_left_out),
		cmocka_unit_test(cells_never_make_a_record_too_large),
		cmocka_unit_test(a_record_cut_in_its_cells_counts_without_them),
	};

	return cmocka_run_group_tests_name("store_cells", tests, NULL, NULL);
}
