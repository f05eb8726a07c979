// SPDX-License-Identifier: Apache-2.0
/*
 * What the number of unloaded classes proves about names of methods, and what it takes away: on a
 * scripted JVM whose classes go and whose memory goes to the next ones at any moment.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "symbols/jit/jit_vm_internal.h"
#include "tests/unit/symbols/jit/jit_vm_fixture.h"

#define SECOND 1000000000ull
#define OTHER  (METHOD + 0x200)

/* ---- script ---- */

static void classes_are_counted(uint64_t cnt)
{
	fake.unloads_error = 0;
	fake.unloads = cnt;
	window_ends();
}

/* The class of a method is unloaded, and the next one has a method at the same address. */
static void class_goes(uint64_t method)
{
	fake.unloads += 3;
	fake_method(&fake, method, "void Next.life()", "Next.java");
}

static void fake_goes_meanwhile(struct fake_vm *changed)
{
	assert_ptr_equal(changed, &fake);
	class_goes(METHOD);
}

/* Of a sample that is younger than `sampled_ns`. */
static void prefetch_sampled(uint64_t method, uint64_t sampled_ns)
{
	struct jit_vm_query query = {
		.word = FAKE_INTERPRETER + AT,
		.method = method,
		.mode = JIT_VM_PREFETCH,
		.since_boot_ns = sampled_ns,
	};
	struct jit_vm_answer answer;

	jit_vm__round(vm);
	(void)ask(&query, &answer);
}

static void prefetch_interpreted(uint64_t method)
{
	prefetch_sampled(method, 0);
}

/* A sample every other second, each prefetched a moment later. How many names were read? */
static size_t names_read_for_samples(uint64_t method, int cnt)
{
	size_t before = fake.name_cnt;

	for (int i = 0; i < cnt; i++) {
		uint64_t sampled_ns = fake.now_ns;

		fake.now_ns += 2 * SECOND;
		prefetch_sampled(method, sampled_ns);
	}
	return fake.name_cnt - before;
}

/* A prefetch that has nothing to do with the methods of a test. */
static void prefetch_other(void)
{
	fake.now_ns += SECOND / 10;
	prefetch_interpreted(OTHER);
}

/* Of samples between the two times. */
static const char *interpreted(uint64_t method, uint64_t since, uint64_t until)
{
	struct jit_vm_query query = {
		.word = FAKE_INTERPRETER + AT,
		.method = method,
		.since_boot_ns = since,
		.until_boot_ns = until,
	};
	struct jit_vm_answer answer;
	int err = ask(&query, &answer);

	if (err)
		return err == -EXDEV ? "ambiguous" : "unknown";
	assert_int_equal(answer.cnt, 1);
	return name_table__text(names, answer.frames[0].name);
}

#define CHECK_INTERPRETED(method, since, until, name) \
	assert_string_equal(interpreted(method, since, until), name)

/* A JVM in which a method came where another one was not long ago. */
static void become_restless(void)
{
	prefetch_interpreted(METHOD + 0x300);
	fake_method(&fake, METHOD + 0x300, "void Old.one()", "Old.java");
	fake.now_ns += SECOND;
	prefetch_interpreted(METHOD + 0x300);
	fake_method(&fake, METHOD + 0x300, "void New.one()", "New.java");
	fake.now_ns += SECOND;
	prefetch_interpreted(METHOD + 0x300);
	assert_true(jit_vm__is_restless(vm));
}

/* ---- interpreted methods ---- */

static void method_read_after_a_class_was_unloaded_is_not_believed_before(void **state)
{
	uint64_t since;

	(void)state;
	classes_are_counted(5);
	prefetch_other();
	/* A method is sampled, and 20 ms later another one is where it was. */
	since = window_begins();
	fake.now_ns += SECOND / 50;
	class_goes(METHOD);
	prefetch_interpreted(METHOD);
	window_ends();
	CHECK_INTERPRETED(METHOD, since, since + 1, "ambiguous");
	CHECK_INTERPRETED(METHOD, since, since + 1, "ambiguous");
}

static void method_is_believed_from_the_reading_that_saw_the_unloading(void **state)
{
	uint64_t since;

	(void)state;
	classes_are_counted(5);
	class_goes(METHOD);
	prefetch_other();
	since = window_begins();
	fake.now_ns += SECOND / 20;
	prefetch_interpreted(METHOD);
	window_ends();
	CHECK_INTERPRETED(METHOD, since, since + 1, "Next.life");
}

static void method_that_was_dead_when_it_was_read_does_not_hide_the_next_one(void **state)
{
	uint64_t since;

	(void)state;
	classes_are_counted(5);
	/* Its class was unloaded, and nothing has taken its memory yet. */
	fake.unloads++;
	prefetch_other();
	prefetch_interpreted(METHOD);
	fake.now_ns += SECOND;
	fake_method(&fake, METHOD, "void Next.life()", "Next.java");
	since = window_begins();
	fake.now_ns += SECOND;
	prefetch_interpreted(METHOD);
	/* The JVM ends: what was read is all there is. */
	fake.error = -ESRCH;
	(void)jit_vm__refresh(vm);
	assert_string_not_equal(interpreted(METHOD, since, since + 1), "Work.one");
}

static void code_does_not_get_the_name_of_a_method_that_was_dead_when_it_was_read(void **state)
{
	(void)state;
	classes_are_counted(5);
	fake.unloads++;
	prefetch_other();
	prefetch_interpreted(METHOD);
	fake.now_ns += SECOND;
	fake_method(&fake, METHOD, "void Next.life()", "Next.java");
	put_code(A, METHOD, 1);
	assert_int_equal(prefetch(A + AT), 0);
	CHECK(A + AT, UINT64_MAX, "Next.life");
}

static void quiet_jvm_is_one_without_changes_for_half_a_minute(void **state)
{
	(void)state;
	classes_are_counted(0);
	assert_false(jit_vm__is_quiet(vm));
	fake.now_ns += 40 * SECOND;
	prefetch_other();
	assert_true(jit_vm__is_quiet(vm));
	fake.unloads++;
	prefetch_other();
	assert_false(jit_vm__is_quiet(vm));
	assert_false(jit_vm__is_restless(vm));
	fake.now_ns += 40 * SECOND;
	assert_true(jit_vm__is_quiet(vm));
	become_restless();
	assert_false(jit_vm__is_quiet(vm));
}

static void jvm_that_does_not_count_its_classes_is_never_quiet(void **state)
{
	(void)state;
	fake.now_ns += 100 * SECOND;
	prefetch_other();
	assert_false(jit_vm__is_quiet(vm));
}

static void class_that_is_unloaded_while_the_name_is_read_is_seen(void **state)
{
	uint64_t since, after;

	(void)state;
	classes_are_counted(5);
	prefetch_other();
	since = window_begins();
	fake.before_name = fake_goes_meanwhile;
	prefetch_interpreted(METHOD);
	after = fake.now_ns;
	window_ends();
	CHECK_INTERPRETED(METHOD, since, since + 1, "ambiguous");
	CHECK_INTERPRETED(METHOD, after, after + 1, "Next.life");
}

static void jvm_that_unloads_nothing_loses_nothing(void **state)
{
	static const uint64_t counts[] = { 0, 7 };

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		uint64_t since = window_begins();

		/* The samples are older than the first reading of the number. */
		if (i == 0)
			fake.now_ns += SECOND;
		classes_are_counted(counts[i]);
		prefetch_interpreted(METHOD + i * 0x100);
		window_ends();
		CHECK_INTERPRETED(METHOD + i * 0x100, since, since + 1,
				  i == 0 ? "Work.one" : "Work.two");
		vm_remove(state);
		vm_make(state);
	}
}

static void method_is_proved_however_late_it_is_read(void **state)
{
	uint64_t since;

	(void)state;
	classes_are_counted(5);
	become_restless();
	/* Long before the first reading, but nothing was unloaded in between. */
	since = window_begins();
	fake.now_ns += 2 * SECOND;
	prefetch_interpreted(METHOD);
	window_ends();
	CHECK_INTERPRETED(METHOD, since, since + 1, "Work.one");
	/* And not looked at at all. */
	CHECK_INTERPRETED(METHOD + 0x100, since, since + 1, "Work.two");
}

static void method_that_follows_another_owns_what_is_younger_than_the_unloading(void **state)
{
	uint64_t before, between, after;

	(void)state;
	classes_are_counted(5);
	prefetch_interpreted(METHOD);
	before = fake.now_ns++;
	prefetch_other();
	between = fake.now_ns++;
	class_goes(METHOD);
	prefetch_other();
	after = fake.now_ns++;
	fake.now_ns += SECOND / 20;
	prefetch_interpreted(METHOD);
	window_ends();
	CHECK_INTERPRETED(METHOD, after, after + 1, "Next.life");
	CHECK_INTERPRETED(METHOD, between, after, "ambiguous");
	CHECK_INTERPRETED(METHOD, before, between, "ambiguous");
}

static void method_that_was_redefined_is_not_proved(void **state)
{
	uint64_t since;

	(void)state;
	classes_are_counted(5);
	prefetch_interpreted(METHOD);
	since = window_begins();
	/* Another one, and no class was unloaded. */
	fake_method(&fake, METHOD, "void Next.life()", "Next.java");
	fake.now_ns += 2 * SECOND;
	prefetch_interpreted(METHOD);
	window_ends();
	CHECK_INTERPRETED(METHOD, since, since + 1, "ambiguous");
}

static void method_of_a_jvm_that_died_is_not_believed_across_an_unloading(void **state)
{
	uint64_t since;

	(void)state;
	classes_are_counted(5);
	prefetch_interpreted(METHOD);
	prefetch_interpreted(METHOD + 0x100);
	/* Not sampled for a while: nobody asks for it. */
	class_goes(METHOD);
	prefetch_other();
	prefetch_interpreted(METHOD + 0x100);
	fake.now_ns += SECOND;
	prefetch_interpreted(METHOD + 0x100);
	since = window_begins();
	fake.error = -ESRCH;
	assert_int_equal(jit_vm__refresh(vm), -ESRCH);
	CHECK_INTERPRETED(METHOD, since, since + 1, "ambiguous");
	CHECK_INTERPRETED(METHOD + 0x100, since, since + 1, "Work.two");
}

static void without_the_number_a_prompt_prefetch_is_believed(void **state)
{
	uint64_t since;

	(void)state;
	assert_int_equal(fake.unloads_error, -ENOENT);
	prefetch_other();
	since = window_begins();
	class_goes(METHOD);
	prefetch_interpreted(METHOD);
	window_ends();
	CHECK_INTERPRETED(METHOD, since, since + 1, "Next.life");
}

static void number_that_cannot_be_read_any_more_proves_nothing(void **state)
{
	uint64_t since;

	(void)state;
	classes_are_counted(5);
	become_restless();
	since = window_begins();
	fake.unloads_error = -EFAULT;
	fake.now_ns += 2 * SECOND;
	prefetch_interpreted(METHOD);
	window_ends();
	CHECK_INTERPRETED(METHOD, since, since + 1, "ambiguous");
}

static void number_is_read_once_for_many_prefetches(void **state)
{
	size_t before;

	(void)state;
	classes_are_counted(5);
	fake.now_ns += SECOND;
	prefetch_interpreted(METHOD);
	before = fake.unloads_cnt;
	for (int i = 0; i < 100; i++)
		prefetch_interpreted(METHOD);
	assert_int_equal(fake.unloads_cnt, before);
	/* A second later once, though the name is read again. */
	fake.now_ns += SECOND;
	for (int i = 0; i < 100; i++)
		prefetch_interpreted(METHOD);
	assert_int_equal(fake.unloads_cnt, before + 1);
}

/* ---- how often an interpreted method is read ---- */

static void method_that_is_sampled_again_and_again_is_read_once_in_a_window(void **state)
{
	(void)state;
	classes_are_counted(5);
	fake.now_ns += SECOND;
	for (int i = 0; i < 3; i++) {
		uint64_t since = fake.now_ns;
		size_t before = fake.name_cnt;

		(void)names_read_for_samples(METHOD, 5);
		window_ends();
		CHECK_INTERPRETED(METHOD, since + 1, fake.now_ns - SECOND, "Work.one");
		/* In the first one before and after its samples. */
		assert_int_equal(fake.name_cnt - before, i == 0 ? 2 : 1);
	}
}

static void method_is_read_by_each_prefetch_while_nobody_counts_classes(void **state)
{
	(void)state;
	assert_int_equal(fake.unloads_error, -ENOENT);
	assert_int_equal(names_read_for_samples(METHOD, 5), 5);
	classes_are_counted(5);
	fake.now_ns += SECOND;
	assert_int_equal(names_read_for_samples(METHOD, 5), 1);
	fake.unloads_error = -EFAULT;
	assert_int_equal(names_read_for_samples(METHOD, 5), 5);
}

static void method_is_read_again_after_a_class_was_unloaded(void **state)
{
	uint64_t since;

	(void)state;
	classes_are_counted(5);
	fake.now_ns += SECOND;
	(void)names_read_for_samples(METHOD, 5);
	class_goes(METHOD);
	prefetch_other();
	since = fake.now_ns;
	/* The first sample after it proves the rest. */
	assert_int_equal(names_read_for_samples(METHOD, 5), 1);
	/* The JVM ends: what was read is all there is. */
	fake.error = -ESRCH;
	(void)jit_vm__refresh(vm);
	CHECK_INTERPRETED(METHOD, since, since + 1, "Next.life");
}

static void method_that_was_sampled_before_its_class_went_is_read_again(void **state)
{
	uint64_t sampled_ns;

	(void)state;
	classes_are_counted(5);
	sampled_ns = fake.now_ns++;
	/* What is read is dead, and nothing has taken its memory yet. */
	fake.unloads++;
	prefetch_other();
	prefetch_sampled(METHOD, sampled_ns);
	fake_method(&fake, METHOD, "void Next.life()", "Next.java");
	assert_int_equal(names_read_for_samples(METHOD, 5), 1);
	window_ends();
	CHECK_INTERPRETED(METHOD, fake.now_ns - SECOND, fake.now_ns, "Next.life");
}

static void method_that_comes_uncounted_is_seen_at_the_end_of_the_window(void **state)
{
	uint64_t before, after;

	(void)state;
	classes_are_counted(5);
	before = window_begins();
	(void)names_read_for_samples(METHOD, 2);
	/* The class was redefined, and its memory went to another one of its loader. */
	fake_method(&fake, METHOD, "void Next.life()", "Next.java");
	after = fake.now_ns;
	assert_int_equal(names_read_for_samples(METHOD, 2), 0);
	window_ends();
	CHECK_INTERPRETED(METHOD, after, after + SECOND, "ambiguous");
	CHECK_INTERPRETED(METHOD, before, before + 1, "Work.one");
	after = fake.now_ns;
	(void)names_read_for_samples(METHOD, 2);
	window_ends();
	CHECK_INTERPRETED(METHOD, after, after + SECOND, "Next.life");
}

/* ---- methods of compiled code ---- */

static void code_does_not_get_the_name_that_was_read_a_moment_before_the_unloading(void **state)
{
	uint64_t since;

	(void)state;
	classes_are_counted(5);
	prefetch_interpreted(METHOD);
	class_goes(METHOD);
	put_code(A, METHOD, 1);
	assert_int_equal(prefetch(A + AT), 0);
	since = window_begins();
	window_ends();
	CHECK(A + AT, since, "Next.life");
}

static void code_does_not_get_a_name_that_was_read_when_it_was_gone(void **state)
{
	struct jit_vm_query query = { .word = A + 2 * AT };
	struct fake_blob *code = put_code(A, METHOD, 1);
	struct jit_vm_answer answer;

	(void)state;
	code->scopes = (struct hotspot_scopes){
		.places = { { A + AT, { { METHOD, 1 } }, 1 },
			    { A + 2 * AT, { { METHOD, 2 } }, 1 } },
		.cnt = 2,
	};
	classes_are_counted(5);
	assert_int_equal(prefetch(A + AT), 0);
	query.since_boot_ns = window_begins();
	fake.now_ns += SECOND * 6 / 10;
	query.until_boot_ns = window_begins();
	prefetch_other();
	fake.now_ns += SECOND * 6 / 10;
	prefetch_other();
	/* Not seen yet: the code is gone, and its class; the method is read again. */
	fake_remove(&fake, A);
	class_goes(METHOD);
	fake.now_ns += SECOND * 3 / 10;
	prefetch_interpreted(METHOD);
	(void)prefetch(A + 2 * AT);
	window_ends();
	assert_int_equal(ask(&query, &answer), 0);
	assert_string_not_equal(name_table__text(names, answer.frames[0].name), "Next.life");
	query.word = A + AT;
	assert_int_equal(ask(&query, &answer), 0);
	assert_string_equal(name_table__text(names, answer.frames[0].name), "Work.one");
}

static void code_of_a_restless_jvm_is_not_believed_before_the_last_unloading(void **state)
{
	static const char *const names_by_unloading[] = { "Work.one", "ambiguous" };

	(void)state;
	classes_are_counted(5);
	become_restless();
	fake.unloads++;
	prefetch_other();
	for (size_t i = 0; i < 2; i++) {
		uint64_t at = A + i * LEN + AT, since = window_begins();

		fake.now_ns += SECOND / 50;
		fake.unloads += i;
		put_code(A + i * LEN, METHOD, (int32_t)i + 1);
		assert_int_equal(prefetch(at), 0);
		window_ends();
		CHECK(at, since, names_by_unloading[i]);
	}
}

/* ---- young JVMs ---- */

/* Code at the i-th place, first read a moment after a sample of it: the sample's name. */
static const char *name_of_code_read_after_its_sample(size_t i)
{
	uint64_t at = A + i * LEN + AT, since = window_begins();

	fake.now_ns += SECOND;
	put_code(A + i * LEN, METHOD, (int32_t)i + 1);
	assert_int_equal(prefetch(at), 0);
	window_ends();
	return name_at(at, since);
}

static void young_jvm_is_calm_when_no_class_has_gone(void **state)
{
	(void)state;
	classes_are_counted(0);
	jit_vm__began(vm, fake.now_ns - SECOND);
	assert_false(jit_vm__is_restless(vm));
	assert_string_equal(name_of_code_read_after_its_sample(0), "Work.one");
}

/* And the next one, whose sample came after the last unloading, has. */
static void first_code_has_no_name(uint64_t since)
{
	put_code(A, METHOD, 1);
	assert_int_equal(prefetch(A + AT), 0);
	window_ends();
	assert_false(jit_vm__is_restless(vm));
	CHECK(A + AT, since, "unknown");
	assert_string_equal(name_of_code_read_after_its_sample(1), "Work.one");
}

static void code_of_a_calm_jvm_is_not_believed_before_the_last_unloading(void **state)
{
	uint64_t since = window_begins();

	(void)state;
	classes_are_counted(5);
	jit_vm__began(vm, fake.now_ns - 60 * SECOND);
	fake.now_ns += SECOND / 2;
	class_goes(METHOD + 0x100);
	first_code_has_no_name(since);
}

static void
code_of_a_young_jvm_is_not_believed_before_its_unloadings_were_first_counted(void **state)
{
	uint64_t since = window_begins();

	(void)state;
	fake.now_ns += SECOND;
	classes_are_counted(5);
	jit_vm__began(vm, fake.now_ns - 2 * SECOND);
	first_code_has_no_name(since);
}

static void young_jvm_counts_as_restless_until_its_unloadings_are_counted(void **state)
{
	(void)state;
	fake.unloads_error = -EAGAIN;
	jit_vm__began(vm, fake.now_ns - SECOND);
	assert_true(jit_vm__is_restless(vm));
	assert_string_equal(name_of_code_read_after_its_sample(0), "ambiguous");
	classes_are_counted(0);
	assert_false(jit_vm__is_restless(vm));
	assert_string_equal(name_of_code_read_after_its_sample(1), "Work.one");
}

static void young_jvm_with_code_at_the_place_of_other_code_stays_restless(void **state)
{
	(void)state;
	fake.unloads_error = -EAGAIN;
	jit_vm__began(vm, fake.now_ns - SECOND);
	become_restless();
	classes_are_counted(0);
	assert_true(jit_vm__is_restless(vm));
}

static void old_jvm_is_calm_when_its_unloadings_are_not_counted(void **state)
{
	(void)state;
	fake.unloads_error = -ENOENT;
	jit_vm__began(vm, fake.now_ns - 40 * SECOND);
	assert_false(jit_vm__is_restless(vm));
}

/* ---- classes ---- */

/* Of an object that was allocated at that time; "" and the error in *err when there is none. */
static const char *class_at(uint64_t boot_ns, int *err)
{
	static struct strbuf name;

	strbuf_clear(&name);
	*err = jit_vm__class_name(vm, METHOD, boot_ns, &name);
	return strbuf_str(&name);
}

static void class_is_believed_when_none_was_unloaded_since(void **state)
{
	uint64_t before, after;
	int err;

	(void)state;
	classes_are_counted(5);
	before = fake.now_ns;
	fake.now_ns += SECOND;
	assert_string_equal(class_at(before, &err), "int Work.one(int)");
	assert_int_equal(err, 0);
	class_goes(METHOD);
	fake.now_ns += SECOND;
	assert_string_equal(class_at(before, &err), "");
	assert_int_equal(err, -EXDEV);
	after = ++fake.now_ns;
	assert_string_equal(class_at(after, &err), "void Next.life()");
	assert_int_equal(err, 0);
}

static void class_that_goes_while_its_name_is_read_is_not_believed(void **state)
{
	uint64_t before;
	int err;

	(void)state;
	classes_are_counted(5);
	before = fake.now_ns;
	fake.now_ns += SECOND;
	fake.before_name = fake_goes_meanwhile;
	assert_string_equal(class_at(before, &err), "");
	assert_int_equal(err, -EXDEV);
}

/* -XX:-UsePerfData: what was there before the sample and is there after it was there. */
static void class_is_believed_without_the_number_when_it_was_the_same_before(void **state)
{
	uint64_t sampled;
	int err;

	(void)state;
	assert_int_equal(fake.unloads_error, -ENOENT);
	sampled = fake.now_ns;
	fake.now_ns += SECOND;
	assert_string_equal(class_at(sampled, &err), "");
	assert_int_equal(err, -EXDEV);
	sampled = fake.now_ns;
	fake.now_ns += 10 * SECOND;
	assert_string_equal(class_at(sampled, &err), "int Work.one(int)");
	sampled = fake.now_ns;
	class_goes(METHOD);
	fake.now_ns += SECOND;
	assert_string_equal(class_at(sampled, &err), "");
	assert_int_equal(err, -EXDEV);
	/* Nobody had the time to take its place. */
	assert_string_equal(class_at(fake.now_ns - SECOND / 1000, &err), "void Next.life()");
}

static void many_classes_are_believed_without_the_number(void **state)
{
	struct strbuf name = STRBUF_INIT;
	uint64_t sampled = 0;

	(void)state;
	for (int round = 0; round < 2; round++) {
		sampled = fake.now_ns;
		fake.now_ns += SECOND;
		for (uint64_t i = 0; i < 48; i++) {
			uint64_t klass = 0x700000000 + i * 0x270;

			fake_method(&fake, klass, "int Many.one(int)", "Work.java");
			assert_int_equal(jit_vm__class_name(vm, klass, sampled, &name),
					 round ? 0 : -EXDEV);
		}
	}
	strbuf_release(&name);
}

static void class_is_not_believed_when_the_number_cannot_be_read_any_more(void **state)
{
	uint64_t sampled;
	int err;

	(void)state;
	classes_are_counted(5);
	sampled = fake.now_ns;
	class_goes(METHOD);
	fake.unloads_error = -EFAULT;
	fake.now_ns += SECOND;
	assert_string_equal(class_at(sampled, &err), "");
	assert_int_equal(err, -EXDEV);
}

static void class_that_cannot_be_read_has_no_name(void **state)
{
	int err;

	(void)state;
	classes_are_counted(5);
	fake.error = -EAGAIN;
	assert_string_equal(class_at(fake.now_ns, &err), "");
	assert_int_equal(err, -EAGAIN);
	fake.error = -ESRCH;
	(void)class_at(fake.now_ns, &err);
	assert_int_equal(err, -ESRCH);
	fake.error = 0;
	(void)class_at(fake.now_ns, &err);
	assert_int_equal(err, -EBUSY); /* nothing of a process that is gone is read */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, vm_make, vm_remove)
	const struct CMUnitTest tests[] = {
		TEST(method_read_after_a_class_was_unloaded_is_not_believed_before),
		TEST(method_is_believed_from_the_reading_that_saw_the_unloading),
		TEST(method_that_was_dead_when_it_was_read_does_not_hide_the_next_one),
		TEST(code_does_not_get_the_name_of_a_method_that_was_dead_when_it_was_read),
		TEST(quiet_jvm_is_one_without_changes_for_half_a_minute),
		TEST(jvm_that_does_not_count_its_classes_is_never_quiet),
		TEST(class_that_is_unloaded_while_the_name_is_read_is_seen),
		TEST(jvm_that_unloads_nothing_loses_nothing),
		TEST(method_is_proved_however_late_it_is_read),
		TEST(method_that_follows_another_owns_what_is_younger_than_the_unloading),
		TEST(method_that_was_redefined_is_not_proved),
		TEST(method_of_a_jvm_that_died_is_not_believed_across_an_unloading),
		TEST(without_the_number_a_prompt_prefetch_is_believed),
		TEST(number_that_cannot_be_read_any_more_proves_nothing),
		TEST(number_is_read_once_for_many_prefetches),
		TEST(method_that_is_sampled_again_and_again_is_read_once_in_a_window),
		TEST(method_is_read_by_each_prefetch_while_nobody_counts_classes),
		TEST(method_is_read_again_after_a_class_was_unloaded),
		TEST(method_that_was_sampled_before_its_class_went_is_read_again),
		TEST(method_that_comes_uncounted_is_seen_at_the_end_of_the_window),
		TEST(code_does_not_get_the_name_that_was_read_a_moment_before_the_unloading),
		TEST(code_does_not_get_a_name_that_was_read_when_it_was_gone),
		TEST(code_of_a_restless_jvm_is_not_believed_before_the_last_unloading),
		TEST(young_jvm_is_calm_when_no_class_has_gone),
		TEST(code_of_a_calm_jvm_is_not_believed_before_the_last_unloading),
		TEST(code_of_a_young_jvm_is_not_believed_before_its_unloadings_were_first_counted),
		TEST(young_jvm_counts_as_restless_until_its_unloadings_are_counted),
		TEST(young_jvm_with_code_at_the_place_of_other_code_stays_restless),
		TEST(old_jvm_is_calm_when_its_unloadings_are_not_counted),
		TEST(class_is_believed_when_none_was_unloaded_since),
		TEST(class_that_goes_while_its_name_is_read_is_not_believed),
		TEST(class_is_believed_without_the_number_when_it_was_the_same_before),
		TEST(many_classes_are_believed_without_the_number),
		TEST(class_is_not_believed_when_the_number_cannot_be_read_any_more),
		TEST(class_that_cannot_be_read_has_no_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
