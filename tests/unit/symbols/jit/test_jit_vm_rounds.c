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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
