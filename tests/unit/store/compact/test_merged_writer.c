// SPDX-License-Identifier: Apache-2.0
/*
 * Merged segments hold what the windows held that they were made from: every field, every text, byte
 * by byte, whatever of it is asked for.
 */
#include "tests/unit/merged_testing.h"

struct shape {
	uint64_t seed;
	uint32_t window_cnt;
	uint32_t stream_cnt;
	uint32_t stack_cnt;
	uint32_t unit_windows; /* windows of a unit of the merged file */
};

static const struct shape shapes[] = {
	{ 1, 1, 1, 1, 1 },     { 2, 5, 2, 3, 100 },	 { 3, 300, 7, 40, 1000 },
	{ 4, 300, 7, 40, 60 }, { 5, 200, 2, 300, 1000 }, { 6, 250, 250, 10, 1000 },
	{ 7, 100, 3, 0, 50 },  { 8, 300, 31, 20, 1 },
};

/* The same windows twice: as they were recorded, and merged. */
static void make_both(const struct shape *shape, struct test_store *plain,
		      struct test_store *merged)
{
	struct random_window window = { .text = STRBUF_INIT };
	const struct merged_options options = { .keeps_ticks = true };
	struct merged_writer *merged_writer;
	struct random_windows random;
	struct store_writer *writer;
	int fd;

	test_store_make(plain);
	test_store_make(merged);
	writer = test_writer(plain);
	merged_writer = merged_begin(merged, TEST_FILE, &options, NULL, 0, &fd);
	random_init(&random, shape->seed, shape->stream_cnt, shape->stack_cnt);
	for (uint32_t i = 0; i < shape->window_cnt; i++) {
		random_window(&random, i, &window);
		assert_int_equal(store_writer__add(writer, &window.window, strbuf_str(&window.text),
						   window.text.len),
				 0);
		assert_int_equal(merged_writer__add(merged_writer, &window.window,
						    strbuf_str(&window.text), window.text.len),
				 0);
		if ((i + 1) % shape->unit_windows == 0)
			assert_int_equal(merged_writer__end_unit(merged_writer), 0);
	}
	test_commit(writer);
	store_writer__free(writer);
	merged_end(merged_writer, fd);
	random_window_release(&window);
}

static void merged_and_plain_windows_are_the_same(void **state)
{
	static const struct gather_how hows[] = {
		{ .since_ns = 0 },
		{ .has_no_lines = true },
		{ .has_no_cells = true },
		{ .since_ns = TEST_NS + 3 * WINDOW_NS, .until_ns = TEST_NS + 7 * WINDOW_NS },
		{ .since_ns = TEST_NS + WINDOW_NS / 2, .until_ns = TEST_NS + WINDOW_NS / 2 + 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		struct test_store plain, merged;

		make_both(&shapes[i], &plain, &merged);
		for (size_t j = 0; j < ARRAY_SIZE(hows); j++) {
			struct gathered a, b;

			gather(&plain, &hows[j], &a);
			gather(&merged, &hows[j], &b);
			assert_int_equal(b.damage_cnt, 0);
			assert_gathered_equal(&a, &b);
			if (j == 0)
				assert_int_equal(a.cnt, shapes[i].window_cnt);
			gathered_release(&a);
			gathered_release(&b);
		}
		test_store_remove(&plain);
		test_store_remove(&merged);
	}
}

/* ---- windows that come as one ---- */

/* Sums by hand over what a reader hands out unmerged. */
struct slot_sum {
	uint32_t pid;
	uint64_t slot;
	uint64_t samples;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t recorded_ns;
	uint32_t window_cnt;
	uint64_t text_samples;
	uint64_t lines_samples;
	uint64_t cell_samples;
	bool is_edge;
};

struct slots {
	struct slot_sum sums[512];
	size_t cnt;
	uint64_t merge_ns;
	uint64_t since_ns;
	uint64_t until_ns;
	bool is_expected; /* windows are added up, else they come merged */
};

static uint64_t text_samples(const char *text, size_t len)
{
	uint64_t sum = 0;

	for (size_t at = 0; at < len;) {
		const char *newline = memchr(text + at, '\n', len - at);
		const char *blank = memrchr(text + at, ' ', (size_t)(newline - text) - at);

		assert_non_null(newline);
		assert_non_null(blank);
		sum += strtoull(blank + 1, NULL, 10);
		at = (size_t)(newline - text) + 1;
	}
	return sum;
}

static void assert_is_sorted(const char *text, size_t len)
{
	const char *before = NULL;
	size_t before_len = 0;

	for (size_t at = 0; at < len;) {
		const char *newline = memchr(text + at, '\n', len - at);
		const char *blank = memrchr(text + at, ' ', (size_t)(newline - text) - at);
		size_t stack_len = (size_t)(blank - text) - at;
		size_t shorter = stack_len < before_len ? stack_len : before_len;

		if (before) {
			int order = memcmp(before, text + at, shorter);

			assert_true(order < 0 || (order == 0 && before_len < stack_len));
		}
		before = text + at;
		before_len = stack_len;
		at = (size_t)(newline - text) + 1;
	}
}

static uint64_t cell_samples(const struct window *window)
{
	struct cells_reader reader = cells_reader_init(window->cells, window->cells_len);
	struct cell cell;
	uint64_t sum = 0;

	while (cells_next(&reader, &cell))
		sum += cell.count;
	assert_false(reader.is_bad);
	return sum;
}

static int sum_window(void *ctx, const struct window *window, const char *text, size_t len)
{
	uint64_t end_ns = window_end_unix_ns(window);
	struct slots *slots = ctx;
	bool is_edge = window->start_unix_ns < slots->since_ns || end_ns > slots->until_ns;
	uint64_t slot = window->start_unix_ns / slots->merge_ns;
	struct slot_sum *sum = NULL;

	for (size_t i = 0; i < slots->cnt && slots->is_expected && !is_edge; i++) {
		if (slots->sums[i].pid == window->pid && slots->sums[i].slot == slot &&
		    !slots->sums[i].is_edge)
			sum = &slots->sums[i];
	}
	if (!slots->is_expected && window->window_cnt)
		assert_is_sorted(text, len);
	if (!sum) {
		assert_true(slots->cnt < ARRAY_SIZE(slots->sums));
		sum = &slots->sums[slots->cnt++];
		*sum = (struct slot_sum){
			.pid = window->pid, .slot = slot, .start_ns = UINT64_MAX, .is_edge = is_edge
		};
	}
	sum->samples += window->counts.samples;
	if (window->start_unix_ns < sum->start_ns)
		sum->start_ns = window->start_unix_ns;
	if (end_ns > sum->end_ns)
		sum->end_ns = end_ns;
	sum->recorded_ns += window->window_cnt ? window->recorded_ns : window->duration_ns;
	sum->window_cnt += window->window_cnt ? window->window_cnt : 1;
	sum->text_samples += text_samples(text, len);
	sum->lines_samples += text_samples(window->lines ? window->lines : "", window->lines_len);
	sum->cell_samples += cell_samples(window);
	return 0;
}

static int compare_sums(const void *left, const void *right)
{
	const struct slot_sum *a = left, *b = right;

	if (a->pid != b->pid)
		return (a->pid > b->pid) - (a->pid < b->pid);
	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static void visit_slots(const struct test_store *store, struct slots *slots)
{
	const struct store_visitor visitor = {
		.ctx = slots,
		.wants_lines = true,
		.wants_cells = true,
		.wants_threads = true,
		.merge_ns = slots->is_expected ? 0 : slots->merge_ns,
		.window = sum_window,
	};
	struct store_reader *reader;

	slots->cnt = 0;
	assert_int_equal(store_reader__open(store->dir, &reader), 0);
	assert_int_equal(store_reader__visit(reader, slots->since_ns, slots->until_ns, &visitor),
			 0);
	store_reader__free(reader);
	qsort(slots->sums, slots->cnt, sizeof(*slots->sums), compare_sums);
}

/* A window whose sums do not overflow, of one of `streams` processes. */
static void plain_window(struct random_windows *random, uint32_t number, uint32_t streams,
			 struct random_window *out)
{
	random->stream_cnt = streams;
	random_window(random, number, out);
	out->window = (struct window){
		.start_unix_ns = out->window.start_unix_ns,
		.duration_ns = out->window.duration_ns,
		.pid = 500 + number % streams,
		.frequency_hz = 99,
		.counts.samples = random_below(random, 1000),
		.lines = out->window.lines,
		.lines_len = out->window.lines_len,
		.cells = out->window.cells,
		.cells_len = out->window.cells_len,
		.labels = { [WINDOW_LABEL_COMM] = "java" },
	};
}

static void make_plain_windows(struct test_store *store, uint32_t streams, uint32_t unit_windows,
			       uint64_t row_ns)
{
	struct random_window window = { .text = STRBUF_INIT };
	const struct merged_options options = { .row_ns = row_ns, .keeps_ticks = true };
	struct random_windows random;
	struct merged_writer *writer;
	int fd;

	test_store_make(store);
	random_init(&random, 99, streams, 30);
	writer = merged_begin(store, TEST_FILE, &options, NULL, 0, &fd);
	for (uint32_t i = 0; i < 240; i++) {
		plain_window(&random, i, streams, &window);
		assert_int_equal(merged_writer__add(writer, &window.window,
						    strbuf_str(&window.text), window.text.len),
				 0);
		if ((i + 1) % unit_windows == 0)
			assert_int_equal(merged_writer__end_unit(writer), 0);
	}
	merged_end(writer, fd);
	random_window_release(&window);
}

static void merged_windows_are_the_sums_of_single_ones(void **state)
{
	static const struct {
		uint32_t streams, unit_windows;
		uint64_t merge_ns, since_ns, until_ns;
	} cases[] = {
		{ 1, 240, UINT64_MAX, 0, UINT64_MAX },
		{ 4, 240, UINT64_MAX, 0, UINT64_MAX },
		{ 4, 240, 60 * CLOCK_NS_PER_S, 0, UINT64_MAX },
		{ 1, 240, 300 * CLOCK_NS_PER_S, 0, UINT64_MAX },
		{ 1, 240, UINT64_MAX, TEST_NS + 45 * CLOCK_NS_PER_S,
		  TEST_NS + 555 * CLOCK_NS_PER_S },
		{ 4, 240, 60 * CLOCK_NS_PER_S, TEST_NS + 45 * CLOCK_NS_PER_S,
		  TEST_NS + 333 * CLOCK_NS_PER_S },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		static struct slots expected, got;
		struct test_store store;

		make_plain_windows(&store, cases[i].streams, cases[i].unit_windows, 0);
		expected = (struct slots){ .merge_ns = cases[i].merge_ns,
					   .since_ns = cases[i].since_ns,
					   .until_ns = cases[i].until_ns,
					   .is_expected = true };
		got = expected;
		got.is_expected = false;
		visit_slots(&store, &expected);
		visit_slots(&store, &got);
		assert_true(got.cnt > 0 && got.cnt < 240);
		assert_int_equal(got.cnt, expected.cnt);
		assert_memory_equal(got.sums, expected.sums, got.cnt * sizeof(*got.sums));
		test_store_remove(&store);
	}
}

static void rows_of_slots_are_the_sums_of_windows(void **state)
{
	const uint64_t slot_ns = 60 * CLOCK_NS_PER_S;
	static struct slots single, slots;
	struct test_store store;

	(void)state;
	make_plain_windows(&store, 3, 240, 0);
	single = (struct slots){ .merge_ns = slot_ns, .until_ns = UINT64_MAX, .is_expected = true };
	visit_slots(&store, &single);
	test_store_remove(&store);
	make_plain_windows(&store, 3, 240, slot_ns);
	/* They come merged although nobody asks for it. */
	slots = (struct slots){ .merge_ns = slot_ns, .until_ns = UINT64_MAX, .is_expected = true };
	visit_slots(&store, &slots);
	assert_int_equal(slots.cnt, single.cnt);
	assert_memory_equal(slots.sums, single.sums, slots.cnt * sizeof(*slots.sums));
	test_store_remove(&store);
}

static bool want_none(const struct window *window)
{
	(void)window;
	return false;
}

static bool want_one_pid(const struct window *window)
{
	return window->pid == 502;
}

static void windows_are_asked_about_once(void **state)
{
	static const struct selection one = { .pid = 502 }, nobody = { .container = "shop" };
	static const struct {
		struct gather_how how;
		size_t asked, got;
	} cases[] = {
		{ { .want = want_none }, 240, 0 },
		{ { .want = want_none, .merge_ns = UINT64_MAX }, 4, 0 },
		{ { .want = want_one_pid }, 240, 60 },
		{ { .want = want_one_pid, .merge_ns = UINT64_MAX }, 4, 1 },
		{ { .want = want_one_pid, .merge_ns = UINT64_MAX, .has_no_cells = true }, 4, 1 },
		/* Of processes that are not selected nobody is asked. */
		{ { .want = want_one_pid, .selection = &one }, 60, 60 },
		{ { .want = want_none, .selection = &one }, 60, 0 },
		{ { .want = want_one_pid, .selection = &one, .merge_ns = UINT64_MAX }, 1, 1 },
		{ { .want = want_one_pid, .selection = &nobody }, 0, 0 },
	};
	struct test_store store;

	(void)state;
	make_plain_windows(&store, 4, 240, 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct gathered gathered;

		gather(&store, &cases[i].how, &gathered);
		assert_int_equal(gathered.asked_cnt, cases[i].asked);
		assert_int_equal(gathered.cnt, cases[i].got);
		gathered_release(&gathered);
	}
	test_store_remove(&store);
}

static void host_records_merge_their_losses(void **state)
{
	const struct merged_options options = { 0 };
	const struct gather_how how = { .merge_ns = UINT64_MAX };
	struct merged_writer *writer;
	struct gathered gathered;
	struct test_store store;
	struct window *got;
	int fd;

	(void)state;
	test_store_make(&store);
	writer = merged_begin(&store, TEST_FILE, &options, NULL, 0, &fd);
	for (uint32_t i = 0; i < 3; i++) {
		struct window window = {
			.start_unix_ns = TEST_NS + i * WINDOW_NS,
			.duration_ns = WINDOW_NS,
			.lost = { [WINDOW_LOSS_NO_MAP] = 10 + i, [WINDOW_LOSS_STORE] = UINT64_MAX },
		};

		assert_int_equal(merged_writer__add(writer, &window, "", 0), 0);
	}
	merged_end(writer, fd);
	gather(&store, &how, &gathered);
	assert_int_equal(gathered.cnt, 1);
	got = (struct window *)(void *)gathered.windows[0].data;
	assert_int_equal(got->lost[WINDOW_LOSS_NO_MAP], 33);
	assert_true(got->lost[WINDOW_LOSS_STORE] == UINT64_MAX);
	assert_int_equal(got->window_cnt, 3);
	assert_int_equal(got->duration_ns, 3 * WINDOW_NS);
	gathered_release(&gathered);
	test_store_remove(&store);
}

/* Three windows of a process, the field of the middle one is another: how many tracks they are. */
static size_t tracks_of(const struct window_field *field, uint64_t row_ns)
{
	const struct merged_options options = { .row_ns = row_ns };
	const struct gather_how how = { .merge_ns = UINT64_MAX };
	struct merged_writer *writer;
	struct gathered gathered;
	struct test_store store;
	size_t cnt;
	int fd;

	test_store_make(&store);
	writer = merged_begin(&store, TEST_FILE, &options, NULL, 0, &fd);
	for (uint32_t i = 0; i < 3; i++) {
		struct window window = number_to_window(i);

		window.pid = 7;
		if (i == 1)
			assert_true(window_number_set(&window, field->offset, field->bytes, 9));
		assert_int_equal(merged_writer__add(writer, &window, "java;a 1\n", 9), 0);
	}
	merged_end(writer, fd);
	gather(&store, &how, &gathered);
	cnt = gathered.cnt;
	gathered_release(&gathered);
	test_store_remove(&store);
	return cnt;
}

static void each_field_of_a_track_makes_another_one(void **state)
{
	static const uint64_t rows_ns[] = { 0, 300 * CLOCK_NS_PER_S };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(window_fields); i++) {
		const struct window_field *field = &window_fields[i];
		size_t expected = field->kind == WINDOW_FIELD_TRACK ? 2 : 1;

		/* A row that begins elsewhere is in a slot of its own. */
		if (field->kind == WINDOW_FIELD_TIME)
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(rows_ns); k++) {
			size_t cnt = tracks_of(field, rows_ns[k]);

			if (cnt != expected)
				fail_msg("%s, case %zu: %zu tracks", field->name, k, cnt);
		}
	}
}

/* ---- the writer ---- */

static void lines_that_are_no_stacks_are_left_out(void **state)
{
	static const char text[] = "a;b 1\nno count\na;c x1\n 5\n\na;d 007\na;b 2\n";
	const struct merged_options options = { 0 };
	const struct gather_how how = { 0 };
	struct window window = number_to_window(1);
	struct merged_writer *writer;
	struct gathered gathered;
	struct test_store store;
	int fd;

	(void)state;
	test_store_make(&store);
	writer = merged_begin(&store, TEST_FILE, &options, NULL, 0, &fd);
	assert_int_equal(merged_writer__add(writer, &window, text, sizeof(text) - 1), 0);
	merged_end(writer, fd);
	gather(&store, &how, &gathered);
	assert_int_equal(gathered.cnt, 1);
	assert_non_null(memmem(gathered.windows[0].data, gathered.windows[0].len,
			       "text 18\na;b 1\na;d 7\na;b 2\nlines", 31));
	gathered_release(&gathered);
	test_store_remove(&store);
}

static void writer_refuses_what_the_store_refuses(void **state)
{
	const struct merged_options options = { 0 };
	struct window window = number_to_window(1);
	struct merged_writer *writer;
	struct test_store store;
	int fd;

	(void)state;
	test_store_make(&store);
	writer = merged_begin(&store, TEST_FILE, &options, NULL, 0, &fd);
	assert_int_equal(merged_writer__add(writer, &window, "a 1", 3), -EINVAL);
	window.duration_ns = STORE_WINDOW_MAX_NS + 1;
	assert_int_equal(merged_writer__add(writer, &window, "a 1\n", 4), -EINVAL);
	assert_int_equal(merged_writer__unit_bytes(writer), 0);
	merged_end(writer, fd);
	test_store_remove(&store);
}

static void full_unit_is_told_and_the_next_one_takes_the_window(void **state)
{
	const struct merged_options options = { .compression_level = 1 };
	const struct gather_how how = { .merge_ns = UINT64_MAX, .want = want_none };
	struct window window = number_to_window(1);
	struct merged_writer *writer;
	struct gathered gathered;
	struct test_store store;
	uint32_t added = 0;
	int fd, err;

	(void)state;
	test_store_make(&store);
	writer = merged_begin(&store, TEST_FILE, &options, NULL, 0, &fd);
	for (;; added++) {
		window.start_unix_ns = TEST_NS + added;
		err = merged_writer__add(writer, &window, "a 1\n", 4);
		if (err)
			break;
	}
	assert_int_equal(err, -E2BIG);
	assert_int_equal(added, 65536);
	assert_int_equal(merged_writer__end_unit(writer), 0);
	assert_int_equal(merged_writer__unit_bytes(writer), 0);
	assert_int_equal(merged_writer__add(writer, &window, "a 1\n", 4), 0);
	merged_end(writer, fd);
	gather(&store, &how, &gathered);
	assert_int_equal(gathered.asked_cnt, 2);
	assert_int_equal(gathered.damage_cnt, 0);
	gathered_release(&gathered);
	test_store_remove(&store);
}

static void writer_of_closed_hours_begins_another_file(void **state)
{
	const struct gather_how how = { 0 };
	struct gathered gathered;
	struct test_store store;

	(void)state;
	make_plain_windows(&store, 1, 240, 0);
	test_fill(&store, 3, 5);
	assert_true(test_exists(&store, TEST_HOUR "-1.zst"));
	gather(&store, &how, &gathered);
	assert_int_equal(gathered.cnt, 240 + 2);
	assert_int_equal(gathered.damage_cnt, 0);
	gathered_release(&gathered);
	test_store_remove(&store);
}

/* ---- files that replace others ---- */

static void segment_id_of(const struct test_store *store, const char *name,
			  uint8_t id[static FORMAT_ID_BYTES])
{
	__cleanup_strbuf struct strbuf bytes = STRBUF_INIT, strings = STRBUF_INIT;
	struct format_record record;
	struct format_header header;

	test_read(store, name, &bytes);
	assert_int_equal(format_decode_record((uint8_t *)bytes.data, bytes.len, &record), 0);
	assert_int_equal(format_decode_header(&record, &strings, &header), 0);
	memcpy(id, header.segment_id, FORMAT_ID_BYTES);
}

static void sources_that_are_still_there_count_once(void **state)
{
	static const char *const merged_names[] = { TEST_FILE, "v1/cpu/2026/11/21.zst" };
	const struct merged_options options = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(merged_names); i++) {
		uint8_t ids[2][FORMAT_ID_BYTES];
		struct merged_writer *writer;
		struct test_store store;
		struct got got;
		int fd;

		test_store_make(&store);
		test_fill(&store, 0, 2);
		segment_id_of(&store, TEST_FILE, ids[0]);
		test_write(&store, TEST_FILE, "", 0); /* cannot be continued */
		test_fill(&store, 2, 4);
		segment_id_of(&store, TEST_HOUR "-1.zst", ids[1]);
		/* One that is not replaced. */
		test_write(&store, TEST_HOUR "-2.zst", "", 0);
		test_fill(&store, 4, 5);
		if (i == 1) {
			/* The day file has taken in both; one was not deleted. */
			test_write(&store, TEST_FILE, "", 0);
		}
		writer = merged_begin(&store, merged_names[i], &options,
				      (const uint8_t(*)[FORMAT_ID_BYTES])ids, 2, &fd);
		for (uint32_t number = 0; number < 4; number++) {
			__cleanup_strbuf struct strbuf text = STRBUF_INIT;
			struct window window = number_to_window(number);

			number_to_text(number, &text);
			assert_int_equal(merged_writer__add(writer, &window, text.data, text.len),
					 0);
		}
		merged_end(writer, fd);
		test_visit_all(&store, &got);
		assert_int_equal(got.damage_cnt, 0);
		assert_got_range(&got, 0, 5);
		test_store_remove(&store);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merged_and_plain_windows_are_the_same),
		cmocka_unit_test(merged_windows_are_the_sums_of_single_ones),
		cmocka_unit_test(rows_of_slots_are_the_sums_of_windows),
		cmocka_unit_test(windows_are_asked_about_once),
		cmocka_unit_test(host_records_merge_their_losses),
		cmocka_unit_test(each_field_of_a_track_makes_another_one),
		cmocka_unit_test(lines_that_are_no_stacks_are_left_out),
		cmocka_unit_test(writer_refuses_what_the_store_refuses),
		cmocka_unit_test(full_unit_is_told_and_the_next_one_takes_the_window),
		cmocka_unit_test(writer_of_closed_hours_begins_another_file),
		cmocka_unit_test(sources_that_are_still_there_count_once),
	};

	return cmocka_run_group_tests_name("store_merged", tests, NULL, NULL);
}
