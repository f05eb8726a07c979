// SPDX-License-Identifier: Apache-2.0
/*
 * What is looked at between windows: what is in use, by how long it is there, and the places where
 * code was; on a scripted JVM.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/unit/symbols/jit/jit_vm_fixture.h"

static void round_sees_code_that_comes_and_goes_where_other_code_was(void **state)
{
	uint64_t since = window_begins();

	(void)state;
	put_code(A, METHOD, 1);
	assert_int_equal(prefetch(A + AT), 0);
	fake_remove(&fake, A);
	put_code(A, METHOD + 0x100, 2);
	/* Nobody looks at it: its stacks have the very addresses of those before. */
	round_passes();
	fake_remove(&fake, A);
	round_passes();
	window_ends();
	CHECK(A + AT, since, "ambiguous");
}

static void round_sees_code_that_begins_within_what_was_there(void **state)
{
	uint64_t since = window_begins();

	(void)state;
	put_code(A, METHOD, 1);
	assert_int_equal(prefetch(A + AT), 0);
	fake_remove(&fake, A);
	round_passes();
	put_code(A + 0x200, METHOD + 0x100, 2);
	round_passes();
	fake_remove(&fake, A + 0x200);
	window_ends();
	CHECK(A + 0x300, since, "ambiguous");
}

static void rounds_are_not_more_frequent_than_they_need_to_be(void **state)
{
	(void)state;
	put_code(A, METHOD, 1);
	assert_int_equal(prefetch(A + AT), 0);
	round_passes();
	fake.verify_cnt = 0;
	for (int i = 0; i < 100; i++)
		jit_vm__round(vm);
	assert_int_equal(fake.verify_cnt, 0);
	round_passes();
	assert_int_equal(fake.verify_cnt, 1);
	assert_int_equal(fake.find_cnt, 1);
}

static void restless_jvm_is_asked_for_old_code_less_often_than_for_young_code(void **state)
{
	size_t before;

	(void)state;
	put_code(A, METHOD, 1);
	put_code(B, METHOD, 2);
	assert_int_equal(prefetch(A + AT), 0);
	assert_int_equal(prefetch(B + AT), 0);
	for (int i = 0; i < 20; i++)
		round_passes();
	/* B is replaced: restless from now on, and what is there is young. */
	fake_remove(&fake, B);
	put_code(B, METHOD + 0x100, 3);
	round_passes();
	round_passes();
	assert_true(jit_vm__is_restless(vm));
	before = fake.verified_cnt;
	for (int i = 0; i < 10; i++) {
		fake.now_ns += 100000000;
		jit_vm__round(vm);
	}
	/* Of 20: B every time or every other time, A, which is there for 20 s, once at most. */
	assert_in_range(fake.verified_cnt - before, 3, 11);
}

static void code_that_lived_for_long_and_goes_keeps_what_was_proved(void **state)
{
	uint64_t proved, late;

	(void)state;
	put_code(A, METHOD, 1);
	put_code(B, METHOD, 2);
	assert_int_equal(prefetch(A + AT), 0);
	assert_int_equal(prefetch(B + AT), 0);
	for (int i = 0; i < 20; i++)
		round_passes();
	proved = window_begins();
	fake_remove(&fake, B);
	put_code(B, METHOD + 0x100, 3);
	round_passes();
	round_passes();
	assert_true(jit_vm__is_restless(vm));
	/* Between two proofs of A it goes, and another one comes and goes unseen. */
	late = window_begins();
	fake_remove(&fake, A);
	put_code(A, METHOD + 0x200, 4);
	fake.now_ns += 100000000;
	jit_vm__round(vm);
	fake_remove(&fake, A);
	window_ends();
	assert_string_equal(name_between(A + AT, proved - 1, proved), "Work.one");
	assert_string_equal(name_between(A + AT, late, 0), "ambiguous");
}

static void death_during_a_round_leaves_what_was_known(void **state)
{
	uint64_t since = window_begins();

	(void)state;
	put_code(A, METHOD, 1);
	assert_int_equal(prefetch(A + AT), 0);
	fake.error = -ESRCH;
	round_passes();
	CHECK(A + AT, since, "Work.one");
}

/* ---- JVMs that count what they compile ---- */

/* Code at A and B, asked for; half a minute without changes. */
static void become_quiet(void)
{
	fake.unloads_error = 0;
	fake.compiles_error = 0;
	put_code(A, METHOD, 1);
	put_code(B, METHOD, 2);
	assert_int_equal(prefetch(A + AT), 0);
	assert_int_equal(prefetch(B + AT), 0);
	for (int i = 0; i < 35; i++)
		round_passes();
	assert_true(jit_vm__is_quiet(vm));
}

/* How much code is looked at in so many rounds, a second apart? */
static size_t verified_in_rounds(int cnt)
{
	size_t before = fake.verified_cnt;

	for (int i = 0; i < cnt; i++)
		round_passes();
	return fake.verified_cnt - before;
}

static size_t verified_by_window(void)
{
	size_t before = fake.verified_cnt;

	window_ends();
	return fake.verified_cnt - before;
}

static void code_is_looked_at_again_when_something_was_compiled(void **state)
{
	(void)state;
	become_quiet();
	(void)verified_in_rounds(2);
	assert_int_equal(verified_in_rounds(10), 0);
	fake.compiles++;
	assert_int_equal(verified_in_rounds(10), 2);
	/* And at the end of the window. */
	assert_int_equal(verified_by_window(), 2);
	assert_int_equal(verified_in_rounds(10), 0);
}

static void code_is_looked_at_again_where_compiling_is_not_counted(void **state)
{
	(void)state;
	become_quiet();
	fake.compiles_error = -ENOENT;
	assert_in_range(verified_in_rounds(10), 9, 11);
}

static void code_is_looked_at_again_where_classes_or_code_go(void **state)
{
	(void)state;
	become_quiet();
	fake.unloads++;
	assert_in_range(verified_in_rounds(10), 9, 11);
	/* A minute later, where code came in the place of other code: restless. */
	(void)verified_in_rounds(60);
	assert_true(jit_vm__is_quiet(vm));
	fake_remove(&fake, B);
	put_code(B, METHOD + 0x100, 3);
	fake.compiles++;
	(void)verified_in_rounds(3);
	assert_true(jit_vm__is_restless(vm));
	assert_in_range(verified_in_rounds(10), 9, 20);
}

static void code_that_was_compiled_where_other_code_was_is_seen_by_the_next_round(void **state)
{
	uint64_t since;

	(void)state;
	become_quiet();
	(void)verified_in_rounds(10);
	since = window_begins();
	fake_remove(&fake, B);
	put_code(B, METHOD + 0x100, 3);
	fake.compiles++;
	round_passes();
	/* The first is back before the window ends. */
	fake_remove(&fake, B);
	put_code(B, METHOD, 4);
	round_passes();
	round_passes();
	window_ends();
	CHECK(B + AT, since, "ambiguous");
}

/* It is counted a moment after it is there. */
static void code_that_is_counted_late_is_seen_when_it_is_counted(void **state)
{
	(void)state;
	become_quiet();
	(void)verified_in_rounds(10);
	fake_remove(&fake, B);
	put_code(B, METHOD + 0x100, 3);
	assert_int_equal(verified_in_rounds(2), 0);
	fake.compiles++;
	round_passes();
	assert_true(jit_vm__is_restless(vm));
	window_ends();
	CHECK(B + AT, window_begins(), "Work.two");
}

static void code_that_was_not_sampled_is_looked_at_when_it_may_have_a_successor(void **state)
{
	size_t before;

	(void)state;
	become_quiet();
	assert_int_equal(verified_by_window(), 2);
	assert_int_equal(verified_by_window(), 0);
	before = fake.verified_cnt;
	assert_int_equal(prefetch(A + AT), 0);
	assert_int_equal(fake.verified_cnt - before, 1);
	assert_int_equal(verified_by_window(), 1);
	fake.compiles++;
	assert_int_equal(verified_by_window(), 1); /* the other one was not used for four windows */
}

static void code_that_was_not_sampled_and_went_names_nothing(void **state)
{
	uint64_t since;

	(void)state;
	become_quiet();
	window_ends();
	window_ends();
	since = window_begins();
	fake_remove(&fake, A);
	put_code(A, METHOD + 0x100, 3);
	window_ends();
	CHECK(A + AT, since, "ambiguous");
}

static void code_that_comes_to_a_quiet_jvm_is_looked_at_once_by_rounds(void **state)
{
	(void)state;
	become_quiet();
	(void)verified_in_rounds(10);
	put_code(B + 0x10000, METHOD, 5);
	assert_int_equal(prefetch(B + 0x10000 + AT), 0);
	assert_int_equal(verified_in_rounds(10), 1);
	assert_int_equal(verified_in_rounds(10), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, vm_make, vm_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(round_sees_code_that_comes_and_goes_where_other_code_was),
		TEST(round_sees_code_that_begins_within_what_was_there),
		TEST(rounds_are_not_more_frequent_than_they_need_to_be),
		TEST(restless_jvm_is_asked_for_old_code_less_often_than_for_young_code),
		TEST(code_that_lived_for_long_and_goes_keeps_what_was_proved),
		TEST(death_during_a_round_leaves_what_was_known),
		TEST(code_is_looked_at_again_when_something_was_compiled),
		TEST(code_is_looked_at_again_where_compiling_is_not_counted),
		TEST(code_is_looked_at_again_where_classes_or_code_go),
		TEST(code_that_was_compiled_where_other_code_was_is_seen_by_the_next_round),
		TEST(code_that_is_counted_late_is_seen_when_it_is_counted),
		TEST(code_that_was_not_sampled_is_looked_at_when_it_may_have_a_successor),
		TEST(code_that_was_not_sampled_and_went_names_nothing),
		TEST(code_that_comes_to_a_quiet_jvm_is_looked_at_once_by_rounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
