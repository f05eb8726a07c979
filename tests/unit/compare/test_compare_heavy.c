// SPDX-License-Identifier: Apache-2.0
/*
 * A side with more different stacks than are told apart: the heaviest are, all others are counted
 * together and said, and no sample is lost. One with fewer is as without a limit.
 */
#include <inttypes.h>

#include "tests/unit/store_testing.h"
#include "user/compare/compare_heavy.h"
#include "user/compare/compare_load.h"
#include "user/util/cleanup.h"

static int meet(struct compare_heavy *heavy, const char *stack, uint64_t count)
{
	return compare_heavy__meet(heavy, stack, strlen(stack), count);
}

static void the_heaviest_are_taken_the_second_time(void **state)
{
	struct compare_heavy *heavy = compare_heavy__new(2, false);

	(void)state;
	assert_non_null(heavy);
	assert_int_equal(meet(heavy, "light", 1), COMPARE_HEAVY_TAKEN);
	assert_int_equal(meet(heavy, "heavy", 2), COMPARE_HEAVY_TAKEN);
	assert_false(compare_heavy__must_choose(heavy));
	assert_int_equal(meet(heavy, "middle", 3), COMPARE_HEAVY_SKIPPED);
	assert_int_equal(meet(heavy, "heavy", 2), COMPARE_HEAVY_SKIPPED);
	assert_true(compare_heavy__must_choose(heavy));
	assert_int_equal(compare_heavy__choose(heavy), 0);
	assert_false(compare_heavy__must_choose(heavy));
	assert_int_equal(meet(heavy, "light", 1), COMPARE_HEAVY_OTHER);
	assert_int_equal(meet(heavy, "heavy", 2), COMPARE_HEAVY_TAKEN);
	assert_int_equal(meet(heavy, "middle", 3), COMPARE_HEAVY_TAKEN);
	assert_int_equal(meet(heavy, "never met", 9), COMPARE_HEAVY_OTHER);
	compare_heavy__free(heavy);
}

static void of_stacks_of_one_count_the_first_are_kept(void **state)
{
	struct compare_heavy *heavy = compare_heavy__new(1, true);

	(void)state;
	assert_int_equal(meet(heavy, "a", 1), COMPARE_HEAVY_SKIPPED); /* more are expected */
	assert_int_equal(meet(heavy, "b", UINT64_MAX), COMPARE_HEAVY_SKIPPED);
	assert_int_equal(meet(heavy, "b", 1), COMPARE_HEAVY_SKIPPED);
	assert_int_equal(meet(heavy, "a", UINT64_MAX), COMPARE_HEAVY_SKIPPED);
	assert_int_equal(compare_heavy__choose(heavy), 0);
	assert_int_equal(meet(heavy, "a", 1), COMPARE_HEAVY_TAKEN);
	assert_int_equal(meet(heavy, "b", 1), COMPARE_HEAVY_OTHER);
	compare_heavy__free(heavy);
}

/* ---- a side of a store ---- */

/* A stack of `often` samples and 20 of one each. */
static void fill(const struct test_store *store, uint64_t often)
{
	__cleanup_strbuf struct strbuf text = STRBUF_INIT;
	struct store_writer *writer = test_writer(store);
	struct window window = {
		.start_unix_ns = TEST_NS,
		.duration_ns = WINDOW_NS,
		.frequency_hz = 99,
		.cpu_cnt = 2,
		.pid = 17,
		.counts = { .samples = often + 20, .frames = 2 * (often + 20) },
		.jit_age_ms = UINT32_MAX,
	};

	window.labels[WINDOW_LABEL_SERVICE] = "shop";
	for (int i = 0; i < 20; i++)
		strbuf_printf(&text, "java;made.Made%d.run_[j] 1\n", i);
	strbuf_printf(&text, "java;a.B.c_[j] %" PRIu64 "\n", often);
	assert_int_equal(store_writer__add(writer, &window, text.data, text.len), 0);
	test_commit(writer);
	store_writer__free(writer);
}

static void load(const struct test_store *store, uint32_t max, bool expects_more,
		 struct diff_catalog *catalog, struct compare_loaded *out)
{
	const struct selection any = { 0 };
	struct cmd_store_damage damage = { 0 };
	struct store_source *source;
	const struct compare_load what = {
		.selection = &any,
		.since_unix_ns = TEST_NS,
		.until_unix_ns = TEST_NS + HOUR_NS,
		.block_ns = 900 * CLOCK_NS_PER_S,
		.stacks_max = max,
		.expects_more_stacks = expects_more,
	};

	assert_int_equal(store_source__open(store->dir, EVENT_CPU, &source), 0);
	assert_int_equal(compare_load_range(source, &what, catalog, &damage, out), 0);
	store_source__free(source);
}

static uint32_t count_of(const struct diff_catalog *catalog, const struct compare_loaded *loaded,
			 enum frame_kind kind, const char *method)
{
	uint32_t item =
		diff_catalog__find(catalog, DIFF_KIND_METHOD_SELF, kind, method, strlen(method));
	size_t cnt = 0;
	const struct diff_count *counts = diff_side__counts(loaded->side, 0, &cnt);

	for (size_t i = 0; i < cnt; i++)
		if (counts[i].item == item)
			return counts[i].count;
	return 0;
}

static void the_others_are_one_stack_and_are_told(void **state)
{
	static const struct {
		uint32_t max;
		bool expects_more;
		uint64_t others;
	} rows[] = {
		{ 0, false, 0 },  { 21, false, 0 }, { 21, true, 0 },
		{ 20, false, 1 }, { 20, true, 1 },  { 6, false, 15 },
		{ 6, true, 15 },  { 1, false, 20 }, { 1000, true, 0 },
	};
	struct test_store store;

	(void)state;
	test_store_make(&store);
	fill(&store, 50);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct diff_catalog *catalog = diff_catalog__new();
		struct compare_loaded loaded;
		const struct diff_block *block;

		assert_non_null(catalog);
		load(&store, rows[i].max, rows[i].expects_more, catalog, &loaded);
		assert_int_equal(diff_side__block_count(loaded.side), 1);
		block = diff_side__block(loaded.side, 0);
		assert_int_equal(block->samples, 70);
		assert_int_equal(block->other_stack_samples, rows[i].others);
		assert_int_equal(loaded.other_stack_samples, rows[i].others);
		assert_int_equal(count_of(catalog, &loaded, FRAME_KIND_JIT, "a.B.c"), 50);
		assert_int_equal(count_of(catalog, &loaded, FRAME_KIND_NATIVE, "[other stacks]"),
				 rows[i].others);
		compare_loaded_release(&loaded);
		diff_catalog__free(catalog);
	}
	test_store_remove(&store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_heaviest_are_taken_the_second_time),
		cmocka_unit_test(of_stacks_of_one_count_the_first_are_kept),
		cmocka_unit_test(the_others_are_one_stack_and_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
