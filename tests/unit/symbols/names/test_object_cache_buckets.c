// SPDX-License-Identifier: Apache-2.0
/* A container chooses how many files it maps, and of a file system in user space their numbers and times, too. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "symbols/names/object_cache.c" /* NOLINT(bugprone-suspicious-include) */
#include "tests/unit/parse_here.h"

#define FILE_CNT  60000u
#define CHAIN_MAX 64u /* of objects in one bucket; by chance some 8 */

static size_t longest_chain(const struct object_cache *cache)
{
	size_t longest = 0;

	for (size_t i = 0; i < cache->bucket_cnt; i++) {
		size_t cnt = 0;

		for (const struct object *object = cache->buckets[i]; object; object = object->next)
			cnt++;
		if (cnt > longest)
			longest = cnt;
	}
	return longest;
}

/* FILE_CNT files in use, and then none. */
static void check_files(void (*choose)(uint64_t nth, struct stat *st))
{
	static struct object *objects[FILE_CNT];
	struct object_cache *cache = object_cache__new(0, parser_here());
	struct stat st = { .st_size = 1 };
	size_t bytes;

	assert_non_null(cache);
	bytes = object_cache__bytes(cache);
	for (size_t i = 0; i < FILE_CNT; i++) {
		choose(i, &st);
		objects[i] = object_cache__get(cache, &st, NULL);
		assert_non_null(objects[i]);
	}
	assert_int_equal(cache->object_cnt, FILE_CNT);
	assert_in_range(longest_chain(cache), 1, CHAIN_MAX);
	/* What the table has grown by is counted. */
	assert_true(object_cache__bytes(cache) - bytes > FILE_CNT * sizeof(struct object));
	for (size_t i = 0; i < FILE_CNT; i++) {
		choose(i, &st);
		assert_ptr_equal(object_cache__get(cache, &st, NULL), objects[i]);
		object_cache__put(cache, objects[i]);
	}
	for (size_t i = 0; i < FILE_CNT; i++)
		object_cache__put(cache, objects[i]);
	assert_in_range(cache->bucket_cnt, OBJECT_CACHE_FIRST_BUCKETS,
			2 * OBJECT_CACHE_MAX_OBJECTS);
	object_cache__free(cache);
}

/* Bits 32 to 41 of their product with the multiplier of Fibonacci hashing are the same. */
static void choose_inode(uint64_t nth, struct stat *st)
{
	uint64_t factor = 0x9e3779b97f4a7c15ull, inverse = 1;

	for (int i = 0; i < 6; i++)
		inverse *= 2 - factor * inverse;
	st->st_ino = (nth << 42 | 7ull << 32) * inverse;
}

/* One file, which is written again each time that another process has mapped it. */
static void choose_time(uint64_t nth, struct stat *st)
{
	st->st_ino = 7;
	st->st_ctim.tv_sec = (time_t)nth;
}

static void chosen_numbers_of_files_make_no_long_chain(void **state)
{
	(void)state;
	check_files(choose_inode);
}

static void chosen_times_of_files_make_no_long_chain(void **state)
{
	(void)state;
	check_files(choose_time);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chosen_numbers_of_files_make_no_long_chain),
		cmocka_unit_test(chosen_times_of_files_make_no_long_chain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
