// SPDX-License-Identifier: Apache-2.0
/*
 * Merged segments hold what the windows held that they were made from: every field, every text, byte
 * by byte, whatever of it is asked for.
 */
#include "tests/unit/merged_testing.h"

#define ROUND_CNT 12

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
	const struct merged_options options = { 0 };
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
	assert_int_equal(merged_writer__bad_line_count(merged_writer), 0);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merged_and_plain_windows_are_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
