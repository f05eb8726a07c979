// SPDX-License-Identifier: Apache-2.0
/* Entries of single processes: whose room they take, and which of them a notice ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "user/collect/probe/probe_lives.h"
#include "user/util/cleanup.h"

#define MAX 64

static struct probe_lives lives;

static void lives_fill(uint32_t cnt, uint64_t account_id)
{
	for (uint32_t i = 0; i < cnt; i++)
		lives.owners[lives.cnt++] =
			(struct probe_life_owner){ .account_id = account_id, .pid = lives.cnt + 1 };
}

static void an_account_has_at_most_as_many_as_are_free(void **state)
{
	(void)state;
	lives = (struct probe_lives){ .max = MAX };
	assert_true(probe_lives_has_room(&lives, 7));
	lives_fill(MAX / 2 - 1, 7);
	assert_true(probe_lives_has_room(&lives, 7));
	lives_fill(1, 7);
	assert_false(probe_lives_has_room(&lives, 7));
	assert_true(probe_lives_has_room(&lives, 8));
	lives_fill(MAX / 4, 8);
	assert_false(probe_lives_has_room(&lives, 8));
	assert_true(probe_lives_has_room(&lives, 9));
}

static void a_full_map_has_no_room_for_anybody(void **state)
{
	(void)state;
	lives = (struct probe_lives){ .max = MAX };
	for (uint32_t i = 0; i < MAX; i++)
		lives_fill(1, i);
	assert_false(probe_lives_has_room(&lives, 1));
	assert_false(probe_lives_has_room(&lives, MAX));
}

static void a_notice_ends_what_was_before_it(void **state)
{
	/* The entry is of start_ns 100, exec_id 5. */
	static const struct {
		uint32_t kind, exec_id;
		uint64_t start_ns;
		bool is_over;
	} rows[] = {
		{ JBPF_NOTICE_EXIT, 5, 100, true },  { JBPF_NOTICE_EXIT, 6, 100, true },
		{ JBPF_NOTICE_EXIT, 1, 200, true },  { JBPF_NOTICE_EXIT, 9, 50, false },
		{ JBPF_NOTICE_EXEC, 5, 100, false }, { JBPF_NOTICE_EXEC, 4, 100, false },
		{ JBPF_NOTICE_EXEC, 6, 100, true },  { JBPF_NOTICE_EXEC, 1, 200, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct jbpf_notice notice = { .kind = rows[i].kind,
						    .exec_id = rows[i].exec_id,
						    .start_ns = rows[i].start_ns };

		assert_int_equal(probe_life_is_over(100, 5, &notice), rows[i].is_over);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_account_has_at_most_as_many_as_are_free),
		cmocka_unit_test(a_full_map_has_no_room_for_anybody),
		cmocka_unit_test(a_notice_ends_what_was_before_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
