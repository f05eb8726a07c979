// SPDX-License-Identifier: Apache-2.0
/*
 * Who watches a store asks the same reader again and again for what is new: each window comes once,
 * and what was over at an earlier look is not read again.
 */
#include "tests/unit/store_testing.h"

#include <inttypes.h>

#define END_OF(number) (TEST_NS + ((number) + 1) * WINDOW_NS)

struct watched {
	struct test_store store;
	struct store_reader *reader;
	struct got got;
};

/* A store with windows [0, cnt), and its reader. */
static void watched_make(struct watched *watched, uint32_t cnt)
{
	test_store_make(&watched->store);
	test_fill(&watched->store, 0, cnt);
	assert_int_equal(store_reader__open(watched->store.dir, &watched->reader), 0);
}

static void watched_release(struct watched *watched)
{
	store_reader__free(watched->reader);
	test_store_remove(&watched->store);
}

static const struct got *look_since(struct watched *watched, uint64_t since_ns)
{
	const struct store_visitor visitor = {
		.ctx = &watched->got,
		.window = got_window,
		.damage = got_damage,
	};

	memset(&watched->got, 0, sizeof(watched->got));
	assert_int_equal(store_reader__visit(watched->reader, since_ns, UINT64_MAX, &visitor), 0);
	assert_int_equal(watched->got.wrong_cnt, 0);
	return &watched->got;
}

static void each_window_that_is_added_is_found_once(void **state)
{
	struct watched watched;

	(void)state;
	watched_make(&watched, 3);
	assert_got_range(look_since(&watched, TEST_NS), 0, 3);
	for (uint32_t number = 3; number < 8; number++) {
		assert_got_range(look_since(&watched, END_OF(number - 1)), 0, 0);
		test_fill(&watched.store, number, number + 1);
		assert_got_range(look_since(&watched, END_OF(number - 1)), number, number + 1);
	}
	assert_int_equal(watched.got.damage_cnt, 0);
	watched_release(&watched);
}

static void what_was_over_is_not_read_again(void **state)
{
	struct watched watched;

	(void)state;
	watched_make(&watched, 4);
	(void)look_since(&watched, END_OF(3));
	test_fill(&watched.store, 4, 5);
	test_harm(&watched.store, TEST_HARM_CHANGE, FORMAT_TYPE_COMMIT, 1);
	assert_got_range(look_since(&watched, END_OF(3)), 4, 5);
	assert_int_equal(watched.got.damage_cnt, 0);
	/* Whoever looks for the first time is told. */
	test_visit(&watched.store, END_OF(3), UINT64_MAX, &watched.got);
	assert_got_range(&watched.got, 4, 5);
	assert_int_equal(watched.got.damage_cnt, 1);
	watched_release(&watched);
}

static void an_earlier_time_is_read_from_the_beginning(void **state)
{
	struct watched watched;

	(void)state;
	watched_make(&watched, 5);
	(void)look_since(&watched, END_OF(4));
	assert_got_range(look_since(&watched, END_OF(1)), 2, 5);
	assert_got_range(look_since(&watched, 0), 0, 5);
	assert_got_range(look_since(&watched, END_OF(3)), 4, 5);
	watched_release(&watched);
}

/* A clock that was set back: such a window stands behind later ones. */
static void a_late_window_behind_others_is_found(void **state)
{
	struct watched watched;

	(void)state;
	watched_make(&watched, 0);
	test_fill(&watched.store, 0, 2);
	test_fill(&watched.store, 6, 7);
	test_fill(&watched.store, 3, 4);
	(void)look_since(&watched, END_OF(1));
	assert_int_equal(watched.got.cnt, 2);
	(void)look_since(&watched, END_OF(2));
	assert_int_equal(watched.got.cnt, 2);
	assert_int_equal(watched.got.numbers[1], 3);
	assert_got_range(look_since(&watched, END_OF(3)), 6, 7);
	watched_release(&watched);
}

static void damage_behind_what_was_over_is_told_each_time(void **state)
{
	struct watched watched;

	(void)state;
	watched_make(&watched, 4);
	(void)look_since(&watched, END_OF(1));
	test_harm(&watched.store, TEST_HARM_CHANGE, FORMAT_TYPE_COMMIT, 2);
	for (int i = 0; i < 3; i++) {
		assert_got_range(look_since(&watched, END_OF(1)), 3, 4);
		assert_int_equal(watched.got.damage_cnt, 1);
	}
	watched_release(&watched);
}

/* Of the same name and longer, as after a restart with another clock. */
static void another_file_in_its_place_is_read_from_the_beginning(void **state)
{
	struct watched watched;
	char path[256];

	(void)state;
	watched_make(&watched, 4);
	(void)look_since(&watched, END_OF(3));
	assert_int_equal(unlink(test_path(&watched.store, TEST_FILE, path)), 0);
	test_fill(&watched.store, 0, 9);
	assert_got_range(look_since(&watched, END_OF(3)), 4, 9);
	assert_int_equal(watched.got.damage_cnt, 0);
	watched_release(&watched);
}

/* As when a disk was full: the writer took back what it had begun. */
static void a_file_that_has_become_shorter_is_read_from_the_beginning(void **state)
{
	struct watched watched;
	struct strbuf bytes = STRBUF_INIT;
	size_t at, len;

	(void)state;
	watched_make(&watched, 4);
	(void)look_since(&watched, END_OF(3));
	test_read(&watched.store, TEST_FILE, &bytes);
	at = test_find_record(&bytes, FORMAT_TYPE_COMMIT, 1, &len);
	for (uint32_t last = 5; last < 9; last++) {
		test_write(&watched.store, TEST_FILE, bytes.data, bytes.len);
		(void)look_since(&watched, END_OF(3));
		test_write(&watched.store, TEST_FILE, bytes.data, at + len);
		test_fill(&watched.store, 4, last);
		assert_got_range(look_since(&watched, END_OF(3)), 4, last);
		assert_int_equal(watched.got.damage_cnt, 0);
	}
	strbuf_release(&bytes);
	watched_release(&watched);
}

/* More files than are remembered: an hour in which jbpfd was killed again and again. */
static void many_files_of_an_hour_are_all_read(void **state)
{
	struct watched watched;
	char name[64] = TEST_FILE;

	(void)state;
	watched_make(&watched, 1);
	for (uint32_t number = 1; number < 8; number++) {
		struct strbuf bytes = STRBUF_INIT;

		test_read(&watched.store, name, &bytes);
		strbuf_puts(&bytes, "torn");
		test_write(&watched.store, name, bytes.data, bytes.len);
		test_fill(&watched.store, number, number + 1);
		(void)snprintf(name, sizeof(name), TEST_HOUR "-%" PRIu32 ".zst", number);
		assert_true(test_exists(&watched.store, name));
		assert_got_range(look_since(&watched, END_OF(number - 1)), number, number + 1);
		assert_int_equal(watched.got.damage_cnt, number);
		strbuf_release(&bytes);
	}
	assert_got_range(look_since(&watched, 0), 0, 8);
	watched_release(&watched);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_window_that_is_added_is_found_once),
		cmocka_unit_test(what_was_over_is_not_read_again),
		cmocka_unit_test(an_earlier_time_is_read_from_the_beginning),
		cmocka_unit_test(a_late_window_behind_others_is_found),
		cmocka_unit_test(damage_behind_what_was_over_is_told_each_time),
		cmocka_unit_test(another_file_in_its_place_is_read_from_the_beginning),
		cmocka_unit_test(a_file_that_has_become_shorter_is_read_from_the_beginning),
		cmocka_unit_test(many_files_of_an_hour_are_all_read),
	};

	return cmocka_run_group_tests_name("store_watched", tests, NULL, NULL);
}
