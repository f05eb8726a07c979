// SPDX-License-Identifier: Apache-2.0
/*
 * Who may own a sample: versions of code over time, on a scripted JVM whose code is replaced,
 * freed, torn and killed at the worst moments. Windows are told by their begin.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/unit/symbols/jit/jit_vm_fixture.h"

/* ---- versions of code ---- */

static void code_known_before_the_window_and_there_now_is_sure(void **state)
{
	uint64_t since;

	(void)state;
	put_code(A, METHOD, 1);
	CHECK(A + AT, UINT64_MAX, "Work.one");
	since = window_begins();
	window_ends();
	CHECK(A + AT, since, "Work.one");
}

/* The first address of the one is the end of the other. */
static void code_right_behind_other_code_has_its_own_name(void **state)
{
	uint64_t since;

	(void)state;
	put_code(A, METHOD, 1);
	put_code(A + LEN, METHOD + 0x100, 2);
	CHECK(A + LEN - 1, UINT64_MAX, "Work.one");
	CHECK(A + LEN + 1, UINT64_MAX, "Work.two");
	since = window_begins();
	window_ends();
	/* A return address belongs to the call before it. */
	CHECK(A + LEN, since, "Work.one");
	CHECK(A + LEN + 1, since, "Work.two");
}

static void code_read_by_a_prefetch_names_this_window(void **state)
{
	uint64_t since = window_begins();

	(void)state;
	put_code(A, METHOD, 1);
	assert_int_equal(prefetch(A + AT), 0);
	window_ends();
	CHECK(A + AT, since, "Work.one");
	CHECK(A + AT + 8, since, "Work.one");
}

static void code_first_read_after_the_window_names_only_later_ones(void **state)
{
	uint64_t since = window_begins();

	(void)state;
	put_code(A, METHOD, 1);
	window_ends();
	CHECK(A + AT, since, "unknown");
	since = window_begins();
	window_ends();
	CHECK(A + AT, since, "Work.one");
}

static void code_read_by_a_late_prefetch_names_only_later_windows(void **state)
{
	struct jit_vm_query late = { .word = A + AT, .mode = JIT_VM_PREFETCH_LATE };
	struct jit_vm_answer answer;
	uint64_t since = window_begins();

	(void)state;
	put_code(A, METHOD, 1);
	assert_int_equal(ask(&late, &answer), 0);
	window_ends();
	CHECK(A + AT, since, "unknown");
	CHECK(A + AT, window_begins(), "Work.one");
}

/* A busy daemon reads the tables of a JVM in the middle of a row of samples. */
static void code_read_late_names_samples_that_go_on_after_the_reading(void **state)
{
	struct jit_vm_query late = { .word = A + AT, .mode = JIT_VM_PREFETCH_LATE };
	struct jit_vm_answer answer;
	uint64_t since = window_begins(), before, after;

	(void)state;
	put_code(A, METHOD, 1);
	before = window_begins();
	fake.now_ns += 2 * JIT_VM_PROMPT_NS;
	assert_int_equal(ask(&late, &answer), 0);
	fake.now_ns += JIT_VM_PROMPT_NS;
	after = window_begins();
	window_ends();
	assert_string_equal(name_between(A + AT, since, after), "Work.one");
	/* All of them older than the reading: it may have been other code. */
	assert_string_equal(name_between(A + AT, since, before), "unknown");
}

static void code_read_late_where_other_code_was_names_no_samples_from_before(void **state)
{
	struct jit_vm_query late = { .word = A + AT, .mode = JIT_VM_PREFETCH_LATE };
	struct jit_vm_answer answer;
	uint64_t since, after;

	(void)state;
	put_code(A, METHOD, 1);
	assert_int_equal(prefetch(A + AT), 0);
	fake_remove(&fake, A);
	window_ends();
	fake.now_ns += 2 * JIT_VM_PROMPT_NS;
	since = window_begins();
	put_code(A, METHOD + 0x100, 2);
	fake.now_ns += JIT_VM_PROMPT_NS;
	assert_int_equal(ask(&late, &answer), 0);
	after = window_begins();
	window_ends();
	assert_string_not_equal(name_between(A + AT, since, after), "Work.two");
}

static void code_replaced_within_the_window_is_ambiguous(void **state)
{
	uint64_t since;

	(void)state;
	put_code(A, METHOD, 1);
	CHECK(A + AT, UINT64_MAX, "Work.one");
	since = window_begins();
	fake_remove(&fake, A);
	put_code(A, METHOD + 0x100, 2);
	window_ends();
	CHECK(A + AT, since, "ambiguous");
	/* When exactly it was found gone the next window had begun. */
	CHECK(A + AT, window_begins(), "Work.two");
}

static void code_replaced_and_prefetched_is_ambiguous_for_this_window_only(void **state)
{
	uint64_t since = window_begins();

	(void)state;
	put_code(A, METHOD, 1);
	assert_int_equal(prefetch(A + AT), 0);
	window_ends();
	CHECK(A + AT, since, "Work.one");
	since = window_begins();
	fake_remove(&fake, A);
	put_code(A + 0x80, METHOD + 0x100, 2);
	/* A place that the old code did not have. */
	assert_int_equal(prefetch(A + LEN + 0x10), 0);
	window_ends();
	CHECK(A + AT, since, "ambiguous");
	/* Of where only one of them was, too: this JVM reuses its memory. */
	CHECK(A + 0x40, since, "ambiguous");
	CHECK(A + LEN + 0x20, since, "Work.two");
	since = window_begins();
	window_ends();
	CHECK(A + AT, since, "Work.two");
	CHECK(A + 0x40, since, "unknown");
}

static void code_of_the_same_method_compiled_again_at_the_same_place_is_another(void **state)
{
	uint64_t since;

	(void)state;
	put_code(A, METHOD, 1);
	CHECK(A + AT, UINT64_MAX, "Work.one");
	since = window_begins();
	fake_remove(&fake, A);
	put_code(A, METHOD, 2);
	window_ends();
	CHECK(A + AT, since, "ambiguous");
}

static void code_that_is_gone_names_its_last_window(void **state)
{
	uint64_t since;

	(void)state;
	put_code(A, METHOD, 1);
	CHECK(A + AT, UINT64_MAX, "Work.one");
	since = window_begins();
	fake_remove(&fake, A);
	window_ends();
	CHECK(A + AT, since, "Work.one");
	CHECK(A + AT, since, "Work.one");
	since = window_begins();
	window_ends();
	CHECK(A + AT, since, "unknown");
}

static void code_that_came_and_went_within_the_window_keeps_its_name(void **state)
{
	uint64_t since = window_begins();

	(void)state;
	put_code(A, METHOD, 1);
	assert_int_equal(prefetch(A + AT), 0);
	fake_remove(&fake, A);
	window_ends();
	CHECK(A + AT, since, "Work.one");
}

static void code_that_two_versions_left_is_ambiguous(void **state)
{
	uint64_t since = window_begins();

	(void)state;
	put_code(A, METHOD, 1);
	assert_int_equal(prefetch(A + AT), 0);
	window_ends();
	fake_remove(&fake, A);
	put_code(A, METHOD + 0x100, 2);
	window_ends();
	CHECK(A + AT, since, "ambiguous");
	fake_remove(&fake, A);
	window_ends();
	CHECK(A + AT, since, "ambiguous");
}

static void code_without_its_method_is_dead_and_names_nothing(void **state)
{
	uint64_t since;

	(void)state;
	put_code(A, 0, 1);
	CHECK(A + AT, UINT64_MAX, "unknown");
	put_code(B, METHOD, 2);
	CHECK(B + AT, UINT64_MAX, "Work.one");
	since = window_begins();
	/* A zombie of JDK 17: it was itself until it died. */
	fake_remove(&fake, B);
	put_code(B, 0, 2);
	window_ends();
	CHECK(B + AT, since, "Work.one");
	since = window_begins();
	window_ends();
	CHECK(B + AT, since, "unknown");
}

static void code_that_is_torn_once_is_read_again(void **state)
{
	uint64_t since = window_begins();

	(void)state;
	put_code(A, METHOD, 1);
	fake.torn_cnt = 1;
	assert_int_equal(prefetch(A + AT), 0);
	window_ends();
	CHECK(A + AT, since, "Work.one");
}

static void code_that_stays_torn_is_unknown(void **state)
{
	uint64_t since = window_begins();

	(void)state;
	put_code(A, METHOD, 1);
	fake.torn_cnt = 100;
	assert_int_equal(prefetch(A + AT), -ENOENT);
	window_ends();
	CHECK(A + AT, since, "unknown");
	fake.torn_cnt = 0;
	/* What was unknown in a window stays so; a prefetch asks again. */
	CHECK(A + AT, since, "unknown");
	assert_int_equal(prefetch(A + AT), 0);
	CHECK(A + AT, window_begins(), "Work.one");
}

static void code_that_does_not_hold_its_address_is_not_believed(void **state)
{
	(void)state;
	put_code(B, METHOD, 1);
	/* Found by its place in the script, which is not the place it names. */
	fake.shift = 0x1000;
	CHECK(B + AT, UINT64_MAX, "unknown");
	assert_true(jit_vm__bytes(vm) > 0);
}

static void replace_a(struct fake_vm *at)
{
	(void)at;
	fake_remove(&fake, A);
	put_code(A, METHOD + 0x100, 2);
}

static void code_that_changes_while_its_name_is_read_gives_the_new_name(void **state)
{
	uint64_t since = window_begins();

	(void)state;
	put_code(A, METHOD, 1);
	fake.before_name = replace_a;
	assert_int_equal(prefetch(A + AT), 0);
	window_ends();
	/* Both were seen in this window. */
	CHECK(A + AT, since, "ambiguous");
	CHECK(A + AT, window_begins(), "Work.two");
}

static void verification_that_fails_leaves_everything_open(void **state)
{
	uint64_t since;

	(void)state;
	put_code(A, METHOD, 1);
	CHECK(A + AT, UINT64_MAX, "Work.one");
	since = window_begins();
	fake.torn_verify = true;
	assert_int_equal(jit_vm__refresh(vm), -EFAULT);
	CHECK(A + AT, since, "unknown");
	fake.torn_verify = false;
	window_ends();
	CHECK(A + AT, since, "Work.one");
}

static void death_leaves_what_was_known(void **state)
{
	struct jit_vm_status status;
	uint64_t since = window_begins();

	(void)state;
	put_code(A, METHOD, 1);
	put_code(B, METHOD + 0x100, 2);
	assert_int_equal(prefetch(A + AT), 0);
	fake.error = -ESRCH;
	assert_int_equal(jit_vm__refresh(vm), -ESRCH);
	assert_int_equal(jit_vm__refresh(vm), -ESRCH);
	CHECK(A + AT, since, "Work.one");
	CHECK(A + AT + 8, since, "Work.one");
	CHECK(B + AT, since, "unknown");
	assert_int_equal(prefetch(B + AT), -ENOENT);
	jit_vm__status(vm, &status);
	assert_true(status.is_ended);
}

static void kill_it(struct fake_vm *at)
{
	at->error = -ESRCH;
}

static void death_in_the_middle_of_a_read_names_nothing(void **state)
{
	uint64_t since = window_begins();

	(void)state;
	put_code(A, METHOD, 1);
	fake.before_name = kill_it;
	assert_int_equal(prefetch(A + AT), -ENOENT);
	assert_int_equal(jit_vm__refresh(vm), -ESRCH);
	CHECK(A + AT, since, "unknown");
}

static void end_takes_back_what_was_read_since(void **state)
{
	uint64_t since = window_begins();
	uint64_t end;

	(void)state;
	put_code(A, METHOD, 1);
	put_code(B, METHOD + 0x100, 2);
	assert_int_equal(prefetch(A + AT), 0);
	end = window_begins();
	assert_int_equal(prefetch(B + AT), 0);
	jit_vm__end(vm, end);
	CHECK(A + AT, since, "Work.one");
	CHECK(B + AT, since, "unknown");
	assert_int_equal(jit_vm__refresh(vm), -ESRCH);
}

static void prefetch_reads_what_is_known_only_once(void **state)
{
	size_t before;

	(void)state;
	put_code(A, METHOD, 1);
	assert_int_equal(prefetch(A + AT), 0);
	before = reads();
	assert_int_equal(prefetch(A + AT), 0);
	assert_int_equal(reads(), before);
	/* Another place in the same code: its names are known. */
	assert_int_equal(prefetch(A + AT + 8), 0);
	assert_int_equal(fake.find_cnt, 1);
	assert_int_equal(fake.name_cnt, 1);
}

static void warm_window_reads_nothing_but_one_verification(void **state)
{
	uint64_t since;
	size_t before;

	(void)state;
	for (uint64_t i = 0; i < 300; i++) {
		put_code(A + i * 0x1000, METHOD, (int32_t)i + 1);
		assert_int_equal(prefetch(A + i * 0x1000 + AT), 0);
	}
	for (int round = 0; round < 3; round++) {
		since = window_begins();
		before = reads();
		fake.verify_cnt = 0;
		window_ends();
		for (uint64_t i = 0; i < 300; i++)
			CHECK(A + i * 0x1000 + AT, since, "Work.one");
		assert_int_equal(reads(), before);
		assert_int_equal(fake.verify_cnt, 1);
	}
}

static void code_not_used_lately_is_verified_when_it_is_asked_for(void **state)
{
	uint64_t since;

	(void)state;
	put_code(A, METHOD, 1);
	CHECK(A + AT, UINT64_MAX, "Work.one");
	for (int i = 0; i < 10; i++)
		window_ends();
	fake.verified_cnt = 0;
	since = window_begins();
	window_ends();
	assert_int_equal(fake.verified_cnt, 0);
	CHECK(A + AT, since, "Work.one");
	assert_int_equal(fake.verified_cnt, 1);
	for (int i = 0; i < 10; i++)
		window_ends();
	since = window_begins();
	fake_remove(&fake, A);
	put_code(A, METHOD + 0x100, 2);
	window_ends();
	CHECK(A + AT, since, "ambiguous");
}

static void code_not_used_for_long_is_forgotten(void **state)
{
	struct jit_vm_status status;

	(void)state;
	put_code(A, METHOD, 1);
	CHECK(A + AT, UINT64_MAX, "Work.one");
	for (int i = 0; i < 100; i++)
		window_ends();
	jit_vm__status(vm, &status);
	assert_int_equal(status.blob_cnt, 0);
	CHECK(A + AT, UINT64_MAX, "Work.one");
}

static void slot_used_thousands_of_times_never_gives_an_old_name(void **state)
{
	uint64_t since = window_begins();

	(void)state;
	put_code(B, METHOD + 0x200, 1);
	for (int32_t i = 0; i < 5000; i++) {
		uint64_t method = METHOD + (i % 2 ? 0x100 : 0);

		put_code(A, method, i + 2);
		assert_int_equal(prefetch(A + AT + (uint64_t)i % 64), 0);
		assert_int_equal(prefetch(B + AT), 0);
		window_ends();
		CHECK(A + AT + (uint64_t)i % 64, since, i % 2 ? "Work.two" : "Work.one");
		fake_remove(&fake, A);
		window_ends();
		since = window_begins();
		CHECK(A + AT + (uint64_t)i % 64, since, "unknown");
		window_ends();
	}
	CHECK(B + AT, since, "Work.three");
}

static void endless_code_is_capped(void **state)
{
	struct jit_vm_status status;
	struct jit_vm_query query = { .mode = JIT_VM_PREFETCH };
	struct jit_vm_answer answer;

	(void)state;
	fake.ranges.code_high = FAKE_CODE + (1ull << 40);
	window_ends();
	/* Only one piece at a time, so that the script stays fast; none is removed for the reader. */
	put_code(A, METHOD, 1);
	for (uint64_t i = 0; i < 20000; i++) {
		fake.blobs[0].blob.start = A + i * LEN;
		fake.blobs[0].blob.end = A + (i + 1) * LEN;
		query.word = A + i * LEN + AT;
		(void)ask(&query, &answer);
		if (i % 1000 == 0)
			fake.error = 0;
	}
	jit_vm__status(vm, &status);
	assert_true(status.blob_cnt <= 16384);
	assert_true(jit_vm__bytes(vm) < (16u << 20));
	/* All but the last are gone: more than are remembered, so nothing old is told any more. */
	window_ends();
	CHECK(A + AT, window_begins() - 1000000, "ambiguous");
	CHECK(A + 19999 * LEN + AT, UINT64_MAX, "Work.one");
}

/* ---- stacks whose time is known better than by the window ---- */

static void stack_is_named_by_what_was_there_in_its_time(void **state)
{
	uint64_t window = window_begins();
	uint64_t times[5];

	(void)state;
	put_code(A, METHOD, 1);
	assert_int_equal(prefetch(A + AT), 0);
	times[0] = window_begins();
	round_passes();
	times[1] = window_begins();
	fake_remove(&fake, A);
	put_code(A, METHOD + 0x100, 2);
	times[2] = window_begins();
	round_passes();
	times[3] = window_begins();
	round_passes();
	times[4] = window_begins();
	window_ends();
	assert_string_equal(name_between(A + AT, window, times[0]), "Work.one");
	assert_string_equal(name_between(A + AT, times[0], times[0] + 1), "Work.one");
	assert_string_equal(name_between(A + AT, times[0], times[2]), "ambiguous");
	assert_string_equal(name_between(A + AT, times[1], times[2]), "ambiguous");
	assert_string_equal(name_between(A + AT, times[3], times[4]), "Work.two");
	assert_string_equal(name_between(A + AT, times[3], 0), "Work.two");
	assert_string_equal(name_between(A + AT, window, 0), "ambiguous");
	CHECK(A + AT, window, "ambiguous");
	/* Whatever was asked in between. */
	assert_string_equal(name_between(A + AT, window, times[0]), "Work.one");
}

static void restless_jvm_needs_a_prefetch_within_a_moment(void **state)
{
	uint64_t since;

	(void)state;
	put_code(A, METHOD, 1);
	assert_int_equal(prefetch(A + AT), 0);
	fake_remove(&fake, A);
	put_code(A, METHOD + 0x100, 2);
	round_passes();
	/* From now on a second is long. */
	since = window_begins();
	put_code(B, METHOD, 3);
	fake.now_ns += 100000000;
	assert_int_equal(prefetch(B + AT), 0);
	put_code(C, METHOD, 4);
	fake.now_ns += 100000000;
	assert_int_equal(prefetch(C + AT), 0);
	window_ends();
	assert_string_equal(name_between(B + AT, since, since + 1), "Work.one");
	assert_string_equal(name_between(C + AT, since, since + 1), "ambiguous");
	assert_string_equal(name_between(C + AT, since + 100000000, 0), "Work.one");
	CHECK(C + AT, since, "ambiguous");
	/* Gone: it names what is proved, not what came after the last reading. */
	fake_remove(&fake, B);
	window_ends();
	assert_string_equal(name_between(B + AT, since, since + 1), "Work.one");
	assert_string_equal(name_between(B + AT, since, 0), "ambiguous");
	/* And it calms down. */
	fake.now_ns += 60000000000ull;
	since = window_begins();
	put_code(B, METHOD + 0x200, 5);
	fake.now_ns += 1000000000;
	assert_int_equal(prefetch(B + AT + 0x300), 0);
	window_ends();
	CHECK(B + AT + 0x300, since, "Work.three");
}

static void code_that_was_read_long_after_a_stack_does_not_name_it(void **state)
{
	uint64_t since = window_begins();
	uint64_t until = window_begins();

	(void)state;
	fake.now_ns += 60000000000ull;
	put_code(A, METHOD, 1);
	assert_int_equal(prefetch(A + AT), 0);
	window_ends();
	assert_string_equal(name_between(A + AT, since, until), "unknown");
	assert_string_equal(name_between(A + AT, since, 0), "Work.one");
}

/* ---- the leaf's own code ---- */

/* Prefetches a leaf that was sampled after `sampled`, with these bytes at it. */
static int prefetch_leaf(uint64_t sampled, const char *bytes)
{
	struct jit_vm_query query = {
		.word = A + AT,
		.is_leaf = true,
		.mode = JIT_VM_PREFETCH,
		.since_boot_ns = sampled,
		.leaf_code = (const uint8_t *)bytes,
	};
	struct jit_vm_answer answer;

	return ask(&query, &answer);
}

static const char *leaf_name(uint64_t since, const char *bytes)
{
	struct jit_vm_query query = {
		.word = A + AT,
		.is_leaf = true,
		.since_boot_ns = since,
		.leaf_code = (const uint8_t *)bytes,
	};
	struct jit_vm_answer answer;
	int err = ask(&query, &answer);

	if (err)
		return err == -EXDEV ? "ambiguous" : "unknown";
	return name_table__text(names, answer.frames[0].name);
}

static void leaf_whose_code_is_other_code_now_is_ambiguous(void **state)
{
	static const struct {
		const char *sampled;
		uint64_t entry_at; /* offset of the verified entry; 0 = not known */
		const char *name;
	} cases[] = {
		{ "abcdefghijklmnop", 0, "Work.one" },
		{ "abcdefgh12345678", 0, "Work.one" }, /* an address was patched */
		{ "abcdefg123456789", 0, "ambiguous" },
		{ "1234567890123456", 0, "ambiguous" },
		{ "1234567890123456", AT - 4, "Work.one" }, /* made not entrant */
		{ "1234567890123456", AT - 8, "ambiguous" },
		{ "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 0, "Work.one" }, /* not read */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t since = window_begins();
		struct fake_blob *code = put_code(A, METHOD, (int32_t)i + 1);

		if (cases[i].entry_at)
			code->blob.verified_entry = A + cases[i].entry_at;
		fake.leaf_at = A + AT;
		memcpy(fake.leaf_code, "abcdefghijklmnop", LEAF_CODE_BYTES);
		(void)prefetch_leaf(since, cases[i].sampled);
		window_ends();
		assert_string_equal(leaf_name(since, cases[i].sampled), cases[i].name);
		/* From the next window on there is no doubt. */
		since = window_begins();
		window_ends();
		assert_string_equal(leaf_name(since, cases[i].sampled), "Work.one");
		fake_remove(&fake, A);
		window_ends();
		CHECK(A + AT, window_begins(), "unknown");
		window_ends();
	}
}

static void leaf_in_code_known_before_the_sample_needs_no_check(void **state)
{
	uint64_t since;

	(void)state;
	put_code(A, METHOD, 1);
	CHECK(A + AT, UINT64_MAX, "Work.one");
	since = window_begins();
	fake.leaf_at = A + AT;
	assert_int_equal(prefetch_leaf(since, "1234567890123456"), 0);
	window_ends();
	assert_string_equal(leaf_name(since, "1234567890123456"), "Work.one");
}

static void replace_once(struct fake_vm *at)
{
	at->leaf_at = A + AT;
	memcpy(at->leaf_code, "1234567890123456", LEAF_CODE_BYTES);
	fake_remove(at, A);
	put_code(A, METHOD + 0x100, 2);
}

static void leaf_whose_code_is_replaced_during_the_prefetch_is_that_of_the_new_code(void **state)
{
	uint64_t since = window_begins();

	(void)state;
	put_code(A, METHOD, 1);
	fake.before_name = replace_once;
	assert_int_equal(prefetch_leaf(since, "1234567890123456"), 0);
	window_ends();
	assert_string_equal(leaf_name(since, "1234567890123456"), "ambiguous");
	assert_string_equal(leaf_name(window_begins(), "1234567890123456"), "Work.two");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, vm_make, vm_remove)
	const struct CMUnitTest tests[] = {
		TEST(code_known_before_the_window_and_there_now_is_sure),
		TEST(code_right_behind_other_code_has_its_own_name),
		TEST(code_read_by_a_prefetch_names_this_window),
		TEST(code_first_read_after_the_window_names_only_later_ones),
		TEST(code_read_by_a_late_prefetch_names_only_later_windows),
		TEST(code_read_late_names_samples_that_go_on_after_the_reading),
		TEST(code_read_late_where_other_code_was_names_no_samples_from_before),
		TEST(code_replaced_within_the_window_is_ambiguous),
		TEST(code_replaced_and_prefetched_is_ambiguous_for_this_window_only),
		TEST(code_of_the_same_method_compiled_again_at_the_same_place_is_another),
		TEST(code_that_is_gone_names_its_last_window),
		TEST(code_that_came_and_went_within_the_window_keeps_its_name),
		TEST(code_that_two_versions_left_is_ambiguous),
		TEST(code_without_its_method_is_dead_and_names_nothing),
		TEST(code_that_is_torn_once_is_read_again),
		TEST(code_that_stays_torn_is_unknown),
		TEST(code_that_does_not_hold_its_address_is_not_believed),
		TEST(code_that_changes_while_its_name_is_read_gives_the_new_name),
		TEST(verification_that_fails_leaves_everything_open),
		TEST(death_leaves_what_was_known),
		TEST(death_in_the_middle_of_a_read_names_nothing),
		TEST(end_takes_back_what_was_read_since),
		TEST(prefetch_reads_what_is_known_only_once),
		TEST(warm_window_reads_nothing_but_one_verification),
		TEST(code_not_used_lately_is_verified_when_it_is_asked_for),
		TEST(code_not_used_for_long_is_forgotten),
		TEST(slot_used_thousands_of_times_never_gives_an_old_name),
		TEST(endless_code_is_capped),
		TEST(stack_is_named_by_what_was_there_in_its_time),
		TEST(restless_jvm_needs_a_prefetch_within_a_moment),
		TEST(code_that_was_read_long_after_a_stack_does_not_name_it),
		TEST(leaf_whose_code_is_other_code_now_is_ambiguous),
		TEST(leaf_in_code_known_before_the_sample_needs_no_check),
		TEST(leaf_whose_code_is_replaced_during_the_prefetch_is_that_of_the_new_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
