// SPDX-License-Identifier: Apache-2.0
/* Which files rest after they held the parser up: one, all of a file system, and at last all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "symbols/parser/parser_rests.h"
#include "user/util/cleanup.h"

#define NOW  1000u
#define REST 60u

/* Files of one file system. */
static int files[3];
static struct parser_rests rests;

static int files_make(void **state)
{
	(void)state;
	rests = (struct parser_rests){ .next = 0 };
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char path[] = "/tmp/jbpf-rests-test.XXXXXX";

		files[i] = mkstemp(path);
		if (files[i] < 0 || unlink(path))
			return -1;
	}
	return 0;
}

static int files_remove(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		close(files[i]);
	return 0;
}

static bool rests_for(uint64_t account, size_t file, uint64_t now)
{
	return parser_rests_has(&rests, account, files[file], now);
}

static void a_file_rests_for_its_account_for_a_time(void **state)
{
	(void)state;
	parser_rests_note(&rests, 1, files[0], NOW, REST);
	assert_true(rests_for(1, 0, NOW + REST - 1));
	assert_false(rests_for(1, 0, NOW + REST));
	assert_false(rests_for(1, 1, NOW));
	assert_false(rests_for(2, 0, NOW));
}

static void two_files_make_all_of_their_file_system_rest(void **state)
{
	(void)state;
	parser_rests_note(&rests, 1, files[0], NOW, REST);
	parser_rests_note(&rests, 1, files[1], NOW + 1, REST);
	assert_true(rests_for(1, 2, NOW + REST));
	assert_false(rests_for(1, 2, NOW + REST + 1));
	assert_false(rests_for(2, 2, NOW + 1));
	/* That is over; the next file rests alone. */
	parser_rests_note(&rests, 1, files[0], NOW + 2 * REST, REST);
	assert_true(rests_for(1, 0, NOW + 2 * REST));
	assert_false(rests_for(1, 2, NOW + 2 * REST));
}

/* Each took a second of the one who names for all. */
static void many_files_of_whomever_make_all_rest_until_the_first_has(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < PARSER_RESTS_OF_ALL; i++) {
		assert_false(rests_for(4711, 2, NOW + i));
		parser_rests_note(&rests, i, files[0], NOW + i, REST);
	}
	assert_true(rests_for(4711, 2, NOW + REST - 1));
	assert_false(rests_for(4711, 2, NOW + REST));
	assert_true(rests_for(1, 0, NOW + REST));
}

static void accounts_beyond_the_ring_take_the_oldest_place(void **state)
{
	(void)state;
	for (uint64_t i = 0; i <= PARSER_RESTS_MAX; i++)
		parser_rests_note(&rests, i, files[0], NOW + i, 10000);
	rests.lately[0] = 0;
	assert_false(rests_for(0, 0, NOW + PARSER_RESTS_MAX));
	for (uint64_t i = 1; i <= PARSER_RESTS_MAX; i++)
		assert_true(rests_for(i, 0, NOW + PARSER_RESTS_MAX));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, files_make, files_remove)
	const struct CMUnitTest tests[] = {
		TEST(a_file_rests_for_its_account_for_a_time),
		TEST(two_files_make_all_of_their_file_system_rest),
		TEST(many_files_of_whomever_make_all_rest_until_the_first_has),
		TEST(accounts_beyond_the_ring_take_the_oldest_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
