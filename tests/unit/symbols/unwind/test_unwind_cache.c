// SPDX-License-Identifier: Apache-2.0
/* Which files have a table, who makes room for whom, and what an id stands for. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "symbols/unwind/unwind_cache.h"
#include "tests/unit/unwind_tables.h"

#define ALICE	 1u
#define BOB	 2u
#define CAROL	 3u
#define TOLD_MAX 16u

/* What the listener was told. */
static struct {
	uint32_t ids[TOLD_MAX];
	size_t cnt;
	uint32_t left_id; /* the last that left ... */
	bool left_first;  /* ... before it was dropped */
	uint32_t dropped_id;
	size_t drop_cnt;
} told;

static struct unwind_cache *cache;

static void on_table(void *ctx, uint32_t id, const struct unwind_table *table)
{
	(void)ctx;
	assert_non_null(table->words);
	told.ids[told.cnt++] = id;
}

static void on_leaving(void *ctx, uint32_t id)
{
	(void)ctx;
	told.left_id = id;
}

static void on_drop(void *ctx, uint32_t id)
{
	(void)ctx;
	told.left_first = told.left_id == id;
	told.dropped_id = id;
	told.drop_cnt++;
}

static int cache_make(void **state)
{
	static const struct unwind_listener listener = { .table = on_table,
							 .leaving = on_leaving,
							 .drop = on_drop };

	(void)state;
	memset(&told, 0, sizeof(told));
	cache = unwind_cache__new();
	if (!cache)
		return -1;
	unwind_cache_listen(cache, &listener);
	unwind_cache_begin(cache, 8, 1, NULL, 0);
	return 0;
}

static int cache_free(void **state)
{
	(void)state;
	unwind_cache__free(cache);
	return 0;
}

static int put(struct unwind_file *file, uint32_t chunk_cnt, uint32_t frame_words, uint64_t account)
{
	struct unwind_table table = unwind_table_of(PAGES_OF_CHUNKS(chunk_cnt), frame_words);
	int err = unwind_cache_put(cache, file, &table, account);

	unwind_table_release(&table);
	return err;
}

static void pass_windows(int cnt)
{
	while (cnt--)
		unwind_cache_begin_window(cache);
}

static struct unwind_stats stats(void)
{
	struct unwind_stats out;

	unwind_cache_stats(cache, &out);
	return out;
}

static void equal_tables_are_told_once(void **state)
{
	struct unwind_file a = { 0 }, b = { 0 }, c = { 0 };

	(void)state;
	assert_true(unwind_cache_wants(cache, &a, ALICE));
	assert_int_equal(put(&a, 1, 1, ALICE), 0);
	assert_int_equal(put(&b, 1, 1, BOB), 0);
	assert_int_equal(put(&c, 1, 2, BOB), 0);
	assert_int_equal(told.cnt, 2);
	assert_int_equal(unwind_cache_use(cache, &a), unwind_cache_use(cache, &b));
	assert_int_not_equal(unwind_cache_use(cache, &a), unwind_cache_use(cache, &c));
	assert_false(unwind_cache_wants(cache, &a, ALICE));
	assert_int_equal(stats().table_cnt, 2);
	assert_int_equal(stats().chunk_cnt, 2);
}

static void one_account_leaves_as_much_as_it_has(void **state)
{
	struct unwind_file files[8] = { 0 };

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(put(&files[i], 1, i + 1, ALICE), 0);
	assert_int_equal(put(&files[4], 1, 5, ALICE), -EDQUOT);
	assert_int_equal(stats().refused_cnt[UNWIND_REFUSED_SHARE], 1);
	assert_int_equal(put(&files[5], 2, 6, BOB), 0);
	assert_int_equal(put(&files[6], 3, 7, BOB), -ENOSPC);
	assert_int_equal(stats().refused_cnt[UNWIND_REFUSED_FULL], 1);
	/* Both may come again later, and not before. */
	assert_false(unwind_cache_wants(cache, &files[4], ALICE));
	pass_windows(10);
	assert_true(unwind_cache_wants(cache, &files[4], ALICE));
}

static void only_who_has_his_share_waits_with_a_file_of_all(void **state)
{
	struct unwind_file files[5] = { 0 }, bobs[2] = { 0 }, full = { 0 };
	enum unwind_refusal why;

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(put(&files[i], 1, i + 1, ALICE), 0);
	assert_int_equal(put(&files[4], 1, 5, ALICE), -EDQUOT);
	assert_false(unwind_cache_wants(cache, &files[4], ALICE));
	assert_true(unwind_cache_wants(cache, &files[4], BOB));
	/* Two without room do not ask by turns for ever. */
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(put(&bobs[i], 1, 10 + i, BOB), 0);
	assert_int_equal(put(&files[4], 2, 5, BOB), -EDQUOT);
	assert_false(unwind_cache_wants(cache, &files[4], ALICE));
	assert_true(unwind_cache_wants(cache, &files[4], CAROL));
	assert_int_equal(put(&files[4], 1, 5, CAROL), 0);
	assert_false(unwind_file_refusal(&files[4], &why));
	/* Where all tables are in use, all wait. */
	assert_int_equal(put(&full, 4, 6, BOB), -ENOSPC);
	assert_false(unwind_cache_wants(cache, &full, ALICE));
	assert_false(unwind_cache_wants(cache, &full, BOB));
}

static void what_is_longest_out_of_use_goes_first(void **state)
{
	struct unwind_file old = { 0 }, used = { 0 }, older = { 0 }, fresh = { 0 };
	uint32_t older_id;

	(void)state;
	unwind_cache_begin(cache, 4, 1, NULL, 0);
	assert_int_equal(put(&older, 1, 1, ALICE), 0);
	older_id = unwind_cache_use(cache, &older);
	pass_windows(1);
	assert_int_equal(put(&old, 1, 2, BOB), 0);
	assert_int_equal(put(&used, 1, 3, 3), 0);
	pass_windows(3);
	(void)unwind_cache_use(cache, &used);
	assert_int_equal(put(&fresh, 1, 4, 4), 0);
	assert_int_equal(told.drop_cnt, 1);
	assert_int_equal(told.dropped_id, older_id);
	assert_true(told.left_first);
	assert_int_equal(unwind_cache_use(cache, &older), 0);
	assert_true(unwind_cache_wants(cache, &older, ALICE));
	assert_int_not_equal(unwind_cache_use(cache, &old), 0);
	assert_int_equal(stats().evicted_cnt, 1);
}

static void what_is_in_use_stays(void **state)
{
	struct unwind_file files[4] = { 0 };

	(void)state;
	assert_int_equal(put(&files[0], 4, 1, ALICE), 0);
	assert_int_equal(put(&files[1], 2, 2, BOB), 0);
	pass_windows(1);
	assert_int_equal(put(&files[2], 3, 3, 3), -ENOSPC);
	assert_int_equal(told.drop_cnt, 0);
	pass_windows(1);
	(void)unwind_cache_use(cache, &files[0]);
	(void)unwind_cache_use(cache, &files[1]);
	assert_int_equal(put(&files[2], 3, 3, 3), -ENOSPC);
	assert_int_equal(told.drop_cnt, 0);
}

static void no_id_comes_back_soon(void **state)
{
	struct unwind_file a = { 0 }, b = { 0 };
	uint32_t id;

	(void)state;
	assert_int_equal(put(&a, 1, 1, ALICE), 0);
	id = unwind_cache_use(cache, &a);
	unwind_cache_refuse(cache, id);
	assert_int_equal(told.dropped_id, id);
	assert_int_equal(stats().refused_cnt[UNWIND_REFUSED_KERNEL], 1);
	assert_int_equal(unwind_cache_use(cache, &a), 0);
	assert_false(unwind_cache_wants(cache, &a, ALICE));
	assert_int_equal(put(&b, 1, 1, ALICE), 0);
	assert_true(unwind_cache_use(cache, &b) > id);
}

/* At its end numbers begin again, but none that is taken. */
static void ids_go_round(void **state)
{
	struct unwind_file a = { 0 }, b = { 0 }, c = { 0 };

	(void)state;
	assert_int_equal(put(&a, 1, 1, ALICE), 0);
	assert_int_equal(unwind_cache_use(cache, &a), 1);
	unwind_cache_begin(cache, 8, JBPF_UNWIND_MAX_TABLE, told.ids, 1);
	assert_int_equal(put(&b, 1, 2, ALICE), 0);
	assert_int_equal(unwind_cache_use(cache, &b), JBPF_UNWIND_MAX_TABLE);
	assert_int_equal(put(&c, 1, 3, ALICE), 0);
	assert_int_equal(unwind_cache_use(cache, &c), 2);
}

/*
 * A copy wakes: its maker dropped one table and made others since, and their ids are not to be those
 * of what comes now.
 */
static void a_copy_goes_on_with_what_both_know(void **state)
{
	struct unwind_file kept = { 0 }, gone = { 0 }, fresh = { 0 };
	uint32_t ids[3];

	(void)state;
	assert_int_equal(put(&kept, 1, 1, ALICE), 0);
	assert_int_equal(put(&gone, 1, 2, ALICE), 0);
	ids[0] = unwind_cache_use(cache, &kept);
	ids[1] = 5;
	ids[2] = 7;
	unwind_cache_begin(cache, 8, 9, ids, 3);
	assert_int_equal(unwind_cache_use(cache, &kept), ids[0]);
	assert_int_equal(unwind_cache_use(cache, &gone), 0);
	assert_true(unwind_cache_wants(cache, &gone, ALICE));
	assert_int_equal(told.drop_cnt, 2);
	assert_int_equal(told.dropped_id, 7);
	assert_int_equal(put(&fresh, 1, 3, ALICE), 0);
	assert_int_equal(unwind_cache_use(cache, &fresh), 9);
	assert_int_equal(stats().table_cnt, 2);
}

static void without_room_nothing_is_wanted(void **state)
{
	struct unwind_file file = { 0 };

	(void)state;
	assert_int_equal(put(&file, 1, 1, ALICE), 0);
	unwind_cache_begin(cache, 0, 1, NULL, 0);
	assert_false(unwind_cache_is_on(cache));
	assert_int_equal(unwind_cache_use(cache, &file), 0);
	assert_false(unwind_cache_wants(cache, &file, ALICE));
	assert_int_equal(stats().chunk_cnt, 0);
}

static void reasons_are_kept_apart(void **state)
{
	static const struct {
		int err;
		enum unwind_refusal why; /* CNT: it is no refusal */
		bool comes_again;
	} cases[] = {
		{ -ENODATA, UNWIND_REFUSAL_CNT, false },
		{ -EFBIG, UNWIND_REFUSED_LARGE, false },
		{ -ENOEXEC, UNWIND_REFUSED_DAMAGED, false },
		{ -ENOTRECOVERABLE, UNWIND_REFUSED_DAMAGED, false },
		/* Of the process that asked. */
		{ -EAGAIN, UNWIND_REFUSED_UNREADABLE, true },
		{ -ESTALE, UNWIND_REFUSED_UNREADABLE, true },
		{ -EBUSY, UNWIND_REFUSED_UNREADABLE, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct unwind_stats before = stats(), after;
		struct unwind_file file = { 0 };

		unwind_cache_fail(cache, &file, cases[i].err);
		after = stats();
		for (int why = 0; why < UNWIND_REFUSAL_CNT; why++)
			assert_int_equal(after.refused_cnt[why] - before.refused_cnt[why],
					 why == (int)cases[i].why);
		assert_int_equal(unwind_cache_wants(cache, &file, ALICE), cases[i].comes_again);
		pass_windows(10);
		assert_int_equal(unwind_cache_wants(cache, &file, ALICE), cases[i].comes_again);
	}
}

/* Program headers of a library: code at 0x2000 in the file, at 0x12000 in memory. */
static void spans_are_what_mapping_and_table_share(void **state)
{
	static const struct elf_code_segment segment = { .offset = 0x2000,
							 .size = 0x4000,
							 .address = 0x12000 };
	static const struct {
		uint64_t offset, len, table_address;
		uint64_t start; /* of what is shared, from the mapping's; ~0: nothing is */
		uint32_t page_cnt, page;
	} cases[] = {
		{ 0x2000, 0x4000, 0x12000, 0, 4, 0 },
		{ 0x3000, 0x2000, 0x12000, 0, 2, 1 },	   /* a part of it */
		{ 0x2000, 0x4000, 0x11000, 0, 4, 1 },	   /* the table begins before */
		{ 0x2000, 0x4000, 0x13000, 0x1000, 3, 0 }, /* and after */
		{ 0x2000, 0x20000, 0x12000, 0, 8, 0 },	   /* longer than the table */
		{ 0x2000, 0x1000, 0x14000, ~0ull, 0, 0 },
		{ 0x2000, 0x1000, 0x2000, ~0ull, 0, 0 },  /* the table ends before */
		{ 0x9000, 0x1000, 0x12000, ~0ull, 0, 0 }, /* no code */
	};
	struct unwind_file file = { 0 };

	(void)state;
	unwind_file_set_segments(&file, &segment, 1);
	unwind_cache_begin(cache, 64, 1, NULL, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct unwind_table table = unwind_table_of(8, 1);
		struct unwind_span span;
		bool has;

		table.address = cases[i].table_address;
		assert_int_equal(unwind_cache_put(cache, &file, &table, ALICE), 0);
		unwind_table_release(&table);
		has = unwind_file_span(&file, 0x7f0000000000, cases[i].offset, cases[i].len, &span);
		assert_int_equal(has, cases[i].start != ~0ull);
		if (!has)
			continue;
		assert_int_equal(span.start, 0x7f0000000000 + cases[i].start);
		assert_int_equal(span.page_cnt, cases[i].page_cnt);
		assert_int_equal(span.page, cases[i].page);
		assert_int_equal(span.table, unwind_cache_use(cache, &file));
	}
}

/* They end and begin in one page of the file, which is mapped twice then. */
static void of_two_segments_in_a_mapping_the_larger_part_counts(void **state)
{
	static const struct elf_code_segment segments[UNWIND_FILE_SEGMENTS] = {
		{ .offset = 0x1000, .size = 0x1100, .address = 0x11000 },
		{ .offset = 0x2100, .size = 0x3f00, .address = 0x23100 },
	};
	struct unwind_table table = unwind_table_of(64, 1);
	struct unwind_file file = { 0 };
	struct unwind_span span;

	(void)state;
	table.address = 0x11000;
	unwind_file_set_segments(&file, segments, UNWIND_FILE_SEGMENTS);
	unwind_cache_begin(cache, 64, 1, NULL, 0);
	assert_int_equal(unwind_cache_put(cache, &file, &table, ALICE), 0);
	unwind_table_release(&table);
	assert_true(unwind_file_span(&file, 0x7f0000000000, 0x1000, 0x2000, &span));
	assert_int_equal(span.page, 0);
	assert_true(unwind_file_span(&file, 0x7f0000000000, 0x2000, 0x4000, &span));
	assert_int_equal(span.page, 0x12);
	assert_int_equal(span.page_cnt, 4);
}

/* Of 16 pages the first so many have a rule of this kind, the others one by sp. */
static bool keeps_fp(uint32_t page_cnt, uint32_t row)
{
	struct unwind_table table = unwind_table_of(16, page_cnt + 1);
	struct unwind_file file = { 0 };

	for (uint32_t i = 0; i < page_cnt; i++)
		table.words[16 + i] = row;
	assert_int_equal(unwind_cache_put(cache, &file, &table, ALICE), 0);
	unwind_table_release(&table);
	unwind_file_forget(&file);
	return unwind_file_keeps_fp(&file);
}

static void a_file_keeps_frame_pointers_if_most_of_its_rules_are_by_them(void **state)
{
	const uint32_t by_fp = jbpf_row(0, JBPF_ROW_FP, 2, 2);
	const uint32_t function = jbpf_row(0, JBPF_ROW_SPECIAL, 0, JBPF_SPECIAL_FRAME);
	const uint32_t none = jbpf_row(0, JBPF_ROW_SPECIAL, 0, JBPF_SPECIAL_NONE);

	(void)state;
	unwind_cache_begin(cache, 64, 1, NULL, 0);
	assert_false(keeps_fp(0, by_fp));
	assert_false(keeps_fp(12, by_fp));
	assert_true(keeps_fp(13, by_fp));
	assert_true(keeps_fp(16, function));
	assert_false(keeps_fp(16, none));
}

static void a_compiler_may_keep_them_without_saying_so(void **state)
{
	struct unwind_file file = { 0 };

	(void)state;
	unwind_cache_fail(cache, &file, -ENODATA);
	assert_false(unwind_file_keeps_fp(&file));
	unwind_cache_fail(cache, &file, -EOPNOTSUPP);
	assert_true(unwind_file_keeps_fp(&file));
	assert_false(unwind_cache_wants(cache, &file, ALICE));
}

/* It would push out all others, and be built again and again. */
static void what_takes_more_than_half_of_the_room_never_has_any(void **state)
{
	struct unwind_file file = { 0 };

	(void)state;
	assert_int_equal(put(&file, 5, 1, ALICE), -EFBIG);
	assert_int_equal(stats().table_cnt, 0);
	assert_int_equal(put(&file, 4, 1, ALICE), 0);
}

static void refused_again_it_waits_longer(void **state)
{
	struct unwind_file file = { 0 };
	int waits[3];

	(void)state;
	for (int i = 0; i < 3; i++) {
		unwind_cache_fail(cache, &file, -EAGAIN);
		for (waits[i] = 0; !unwind_cache_wants(cache, &file, ALICE); waits[i]++)
			pass_windows(1);
	}
	assert_true(waits[1] == 2 * waits[0] && waits[2] == 2 * waits[1]);
	for (int i = 0; i < 100; i++)
		unwind_cache_fail(cache, &file, -EAGAIN);
	pass_windows(1000);
	assert_true(unwind_cache_wants(cache, &file, ALICE));
}

/* A program that is started again and again keeps its table in between. */
static void a_table_outlives_its_files(void **state)
{
	struct unwind_file first = { 0 }, second = { 0 };

	(void)state;
	assert_int_equal(put(&first, 1, 1, ALICE), 0);
	unwind_file_forget(&first);
	assert_int_equal(put(&second, 1, 1, BOB), 0);
	assert_int_equal(told.cnt, 1);
	assert_int_equal(told.drop_cnt, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, cache_make, cache_free)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(equal_tables_are_told_once),
		TEST(one_account_leaves_as_much_as_it_has),
		TEST(only_who_has_his_share_waits_with_a_file_of_all),
		TEST(what_is_longest_out_of_use_goes_first),
		TEST(what_is_in_use_stays),
		TEST(no_id_comes_back_soon),
		TEST(ids_go_round),
		TEST(a_copy_goes_on_with_what_both_know),
		TEST(without_room_nothing_is_wanted),
		TEST(reasons_are_kept_apart),
		TEST(spans_are_what_mapping_and_table_share),
		TEST(of_two_segments_in_a_mapping_the_larger_part_counts),
		TEST(a_file_keeps_frame_pointers_if_most_of_its_rules_are_by_them),
		TEST(a_compiler_may_keep_them_without_saying_so),
		TEST(what_takes_more_than_half_of_the_room_never_has_any),
		TEST(refused_again_it_waits_longer),
		TEST(a_table_outlives_its_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
