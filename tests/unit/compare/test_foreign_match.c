// SPDX-License-Identifier: Apache-2.0
/* Stacks of two profilers of one program: what one of them alone writes is left out, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/output_profiles.h"
#include "user/compare/foreign_match.h"
#include "user/util/cleanup.h"
#include "user/util/strbuf.h"

struct pair {
	struct profile *profiles[2];
	struct foreign_match *match;
};

static struct pair match(const char *before, const char *after)
{
	struct pair pair = { .profiles = { profile_of(before), profile_of(after) } };

	assert_int_equal(foreign_match__new(pair.profiles[0], pair.profiles[1], &pair.match), 0);
	return pair;
}

static void release(struct pair *pair)
{
	foreign_match__free(pair->match);
	for (int i = 0; i < 2; i++)
		profile__free(pair->profiles[i]);
}

/* The stacks of a side as they are compared, a line each, in the order of the file. */
static void check(const struct pair *pair, int side, const char *expected)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;

	for (size_t i = 0; i < profile__stack_count(pair->profiles[side]); i++) {
		struct profile_stack stack = profile__stack(pair->profiles[side], i);

		assert_int_equal(foreign_match__append(pair->match, side, &stack, &out), 0);
		strbuf_putc(&out, '\n');
	}
	assert_int_equal(strbuf_error(&out), 0);
	assert_string_equal(strbuf_str(&out), expected);
}

static void marks_of_the_kernel_go_where_the_other_has_the_names_without(void **state)
{
	struct pair pair = match("all;main;do_syscall_64_[k];ksys_read_[k] 3\n",
				 "all;main;do_syscall_64;ksys_write 2\n");

	(void)state;
	check(&pair, 0, "all;main;do_syscall_64;ksys_read\n");
	check(&pair, 1, "all;main;do_syscall_64;ksys_write\n");
	assert_true(foreign_match__side(pair.match, 0)->loses_kernel_marks);
	assert_false(foreign_match__side(pair.match, 1)->loses_kernel_marks);
	release(&pair);
}

static void marks_of_the_kernel_stay_where_the_other_knows_no_kernel_or_marks_it(void **state)
{
	static const char *const others[] = { "all;main;read 2\n",
					      "all;main;do_syscall_64 2\nall;f;g_[k] 1\n" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		struct pair pair = match("all;main;do_syscall_64_[k] 3\n", others[i]);

		check(&pair, 0, "all;main;do_syscall_64_[k]\n");
		assert_false(foreign_match__side(pair.match, 0)->loses_kernel_marks);
		release(&pair);
	}
}

static void parameters_go_where_the_other_has_methods_without(void **state)
{
	static const struct {
		const char *before, *after;
		bool loses;
	} cases[] = {
		{ "all;a.B.f(int)_[j] 1\n", "all;a.B.f_[j] 1\n", true },
		{ "all;a.B.f(int)_[j] 1\n", "all;a.B.g()_[j] 1\n", false },
		{ "all;a.B.f(int)_[j] 1\n", "all;main 1\n", false },
		{ "all;a.B.f_[j] 1\n", "all;a.B.f_[j] 1\n", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pair pair = match(cases[i].before, cases[i].after);

		if (foreign_match__side(pair.match, 0)->loses_parameters != cases[i].loses)
			fail_msg("'%s'", cases[i].before);
		assert_false(foreign_match__side(pair.match, 1)->loses_parameters);
		release(&pair);
	}
}

static void a_class_of_no_package_is_java_where_the_rest_of_the_files_says_so(void **state)
{
	static const char internal[] = "java;Main.main;Main.work;Cart.add+0x1f;JVM_Sleep.cold 1\n"
				       "java;java/lang/Thread.run;main 1\n";
	static const char dotted[] = "java;Main.main;Main.work;Main.f 1\n";
	static const char perf[] = "java;void Main.main;int Main.work(int, long) 1\n";
	struct pair pair = match(internal, dotted);

	(void)state;
	check(&pair, 0,
	      "java;Main.main_[j];Main.work_[j];Cart.add_[j];JVM_Sleep\n"
	      "java;java.lang.Thread.run_[j];main\n");
	check(&pair, 1, "java;Main.main;Main.work;Main.f\n");
	release(&pair);
	pair = match("all;Thread.run;Main.work;ArrayList.clone;memcpy 1\n", dotted);
	check(&pair, 0, "all;Thread.run_[j];Main.work_[j];ArrayList.clone_[j];memcpy\n");
	release(&pair);
	pair = match(perf, dotted);
	check(&pair, 1, "java;Main.main_[j];Main.work_[j];Main.f\n");
	release(&pair);
}

static void what_calls_the_first_method_goes_where_the_other_begins_with_it(void **state)
{
	static const char perf[] =
		"java;start_thread;JavaCalls::call_helper;StubRoutines ;Interpreter;void a.B.f 1\n"
		"java;start_thread;StubRoutines ;void a.B.f;Interpreter;read 1\n"
		"java;start_thread;GangWorker::run 1\n";
	struct pair pair = match(perf, "java;a/B.f 1\njava;[unknown];a/B.g 1\njava;clone;f 1\n");

	(void)state;
	check(&pair, 0,
	      "java;Interpreter;a.B.f_[j]\n"
	      "java;a.B.f_[j];Interpreter;read\n"
	      "java;start_thread;GangWorker::run\n");
	check(&pair, 1, "java;a.B.f_[j]\njava;[unknown];a.B.g_[j]\njava;clone;f\n");
	assert_true(foreign_match__side(pair.match, 0)->loses_roots);
	assert_false(foreign_match__side(pair.match, 1)->loses_roots);
	release(&pair);
}

static void what_calls_the_first_method_stays_where_the_other_has_it_or_has_no_java(void **state)
{
	static const char *const others[] = { "java;a/B.f 3\njava;start_thread;a/B.f 1\n",
					      "java;start_thread;f 1\n", "" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		struct pair pair = match("java;start_thread;a/B.f 1\n", others[i]);

		check(&pair, 0, "java;start_thread;a.B.f_[j]\n");
		assert_false(foreign_match__side(pair.match, 0)->loses_roots);
		release(&pair);
	}
}

static void clone_goes_where_the_other_begins_with_start_thread(void **state)
{
	static const char with[] = "java;clone3;start_thread;f 1\njava;main;clone 1\n";
	struct pair pair = match(with, "java;start_thread;f 1\n");

	(void)state;
	check(&pair, 0, "java;start_thread;f\njava;main;clone\n");
	assert_true(foreign_match__side(pair.match, 0)->loses_clone);
	release(&pair);
	pair = match(with, "java;start_thread;f 1\njava;clone;start_thread 1\n");
	check(&pair, 0, "java;clone3;start_thread;f\njava;main;clone\n");
	release(&pair);
	pair = match(with, "java;main;f 1\n");
	check(&pair, 0, "java;clone3;start_thread;f\njava;main;clone\n");
	release(&pair);
}

static void libraries_go_where_the_other_has_functions_alone(void **state)
{
	static const char with[] = "java;libc.so.6`clone3;libc.so.6`start_thread;libjvm.so`f 1\n"
				   "java;main`x;libz.so.1`;a.B.f_[j];[libz.so.1.2] 1\n";
	struct pair pair = match(with, "java;start_thread;f 1\n");

	(void)state;
	check(&pair, 0, "java;start_thread;f\njava;main`x;libz.so.1`;a.B.f_[j];[libz.so.1.2]\n");
	assert_true(foreign_match__side(pair.match, 0)->loses_libraries);
	release(&pair);
	pair = match(with, "java;libc.so.6`start_thread;f 1\n");
	check(&pair, 0,
	      "java;libc.so.6`start_thread;libjvm.so`f\n"
	      "java;main`x;libz.so.1`;a.B.f_[j];[libz.so.1.2]\n");
	release(&pair);
}

static void dashes_in_front_of_the_kernel_go_where_the_other_has_none(void **state)
{
	struct pair pair = match("app;main;read;-;vfs_read 1\n-;main;--;f-g;- 1\n",
				 "app;main;read;vfs_read 1\n");

	(void)state;
	check(&pair, 0, "app;main;read;vfs_read\n-;main;f-g\n");
	assert_true(foreign_match__side(pair.match, 0)->loses_dashes);
	release(&pair);
	pair = match("app;main;read;-;vfs_read 1\n", "app;main;-;vfs_read 1\n");
	check(&pair, 0, "app;main;read;-;vfs_read\n");
	release(&pair);
}

static void parameters_of_native_code_go_where_the_other_has_none(void **state)
{
	static const char with[] =
		"app (1);Thread::call_run();f(int, char (*)(int)) const;a<(b)1>::g;operator()() 1\n"
		"app;a::operator()(int);(anonymous namespace)::h();a<(b)1>::g(c) const &;(x) 1\n"
		"app;std::f(int)::{lambda(int)#1}::operator()(int) const;x);StubRoutines (1) 1\n";
	struct pair pair = match(with, "app;Thread::call_run 1\n");

	(void)state;
	check(&pair, 0,
	      "app (1);Thread::call_run;f;a<(b)1>::g;operator()\n"
	      "app;a::operator();(anonymous namespace)::h;a<(b)1>::g;(x)\n"
	      "app;std::f(int)::{lambda(int)#1}::operator();x);StubRoutines (1)\n");
	assert_true(foreign_match__side(pair.match, 0)->loses_native_parameters);
	release(&pair);
	pair = match("app;f(int);a::f(int) 1\n", "app;f;a::f;g() 1\n");
	check(&pair, 0, "app;f(int);a::f(int)\n");
	release(&pair);
	pair = match("app;f(int) 1\n", "app;f;go.(*T).g;py (a.py:1) 1\n");
	check(&pair, 0, "app;f(int)\n");
	release(&pair);
}

static void processes_go_where_the_other_has_none(void **state)
{
	struct pair pair = match("java;main;f 1\nC2 CompilerThre;g 1\n", "all;main;f 1\n");

	(void)state;
	check(&pair, 0, "all;main;f\nall;g\n");
	assert_true(foreign_match__side(pair.match, 0)->loses_processes);
	assert_false(foreign_match__side(pair.match, 1)->loses_processes);
	release(&pair);
	pair = match("java;main;f 1\n", "all;main;f 1\nnode;main 1\n");
	check(&pair, 0, "java;main;f\n");
	release(&pair);
}

static void stubs_are_one_where_the_other_does_not_tell_them_apart(void **state)
{
	static const char apart[] = "java;a/B.f;jint_disjoint_arraycopy 1\n"
				    "java;a/B.f;checkcast_arraycopy;oop_arraycopy_uninit 1\n"
				    "java;f;mulAdd;jbyte_fill 1\n";
	static const char *const others[] = { "java;void a.B.f;StubRoutines (1) 1\n",
					      "java;void a.B.f;StubRoutines  1\n" };
	struct pair pair;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		pair = match(apart, others[i]);
		check(&pair, 0,
		      "java;a.B.f_[j];StubRoutines\n"
		      "java;a.B.f_[j];StubRoutines;StubRoutines\n"
		      "java;f;mulAdd;jbyte_fill\n");
		check(&pair, 1, "java;a.B.f_[j];StubRoutines\n");
		assert_true(foreign_match__side(pair.match, 0)->loses_stubs);
		assert_false(foreign_match__side(pair.match, 1)->loses_stubs);
		release(&pair);
	}
	pair = match("java;a/B.f;jint_disjoint_arraycopy 1\n", "java;a/B.f;jint_fill 1\n");
	check(&pair, 0, "java;a.B.f_[j];jint_disjoint_arraycopy\n");
	release(&pair);
	pair = match("java;a/B.f;StubRoutines (1) 1\n", "java;a/B.f;g 1\n");
	check(&pair, 0, "java;a.B.f_[j];StubRoutines (1)\n");
	release(&pair);
}

/* stackcollapse-perf.pl takes what is behind "(" for parameters; perf's own collapsing does not. */
static void groups_of_stubs_go_where_the_other_has_none(void **state)
{
	static const char groups[] = "java;StubRoutines (1);a.B.f_[j];StubRoutines (2) 1\n";
	static const char *const others[] = { "java;StubRoutines ;void a.B.f;StubRoutines  1\n",
					      "java;StubRoutines;a.B.f_[j] 1\n" };
	struct pair pair;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		pair = match(groups, others[i]);
		check(&pair, 0, "java;StubRoutines;a.B.f_[j];StubRoutines\n");
		assert_true(foreign_match__side(pair.match, 0)->loses_stub_groups);
		assert_false(foreign_match__side(pair.match, 1)->loses_stub_groups);
		release(&pair);
	}
	pair = match(groups, "java;StubRoutines (1);a.B.f_[j];StubRoutines 1\n");
	check(&pair, 0, "java;StubRoutines (1);a.B.f_[j];StubRoutines (2)\n");
	check(&pair, 1, "java;StubRoutines (1);a.B.f_[j];StubRoutines\n");
	release(&pair);
}

static void a_file_without_names_of_interpreted_methods_is_known(void **state)
{
	static const struct {
		const char *before, *after;
		bool is_nameless, names_some;
	} cases[] = {
		{ "java;Interpreter;void a.B.f 1\n", "java;a/B.g;a/B.f 1\n", true, false },
		{ "java;Interpreter 1\njava;a/B.f 200\n", "java;a/B.g 1\n", false, false },
		{ "java;Interpreter;a/B.f 1\n", "java;Interpreter;a/B.f 1\njava;a/B.f 8\n", false,
		  false },
		{ "java;Interpreter;a/B.f 1\n", "java;Interpreter;a/B.f 1\njava;a/B.f 10\n", true,
		  false },
		{ "java;Interpreter;a/B.f 1\n", "java;main;f 1\n", false, false },
		{ "java;Interpreter;a.B.f_[j] 1\njava;a.B.g_[0] 60\n", "java;a/B.g;a/B.f 1\n", true,
		  true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct pair pair = match(cases[i].before, cases[i].after);
		const struct foreign_match_side *facts = foreign_match__side(pair.match, 0);

		if (facts->has_nameless_interpreted != cases[i].is_nameless ||
		    facts->names_some_interpreted != cases[i].names_some)
			fail_msg("%zu", i);
		assert_false(foreign_match__side(pair.match, 1)->has_nameless_interpreted);
		release(&pair);
	}
}

static void stacks_of_other_runtimes_stay_as_they_are(void **state)
{
	static const char stacks[] = "node;main;LazyCompile:f /p.js:1:2_[j] 1\n"
				     "py;py::f:/x.py_[j];[unknown] 1\n"
				     "go;net/http.Get;a/b/c.clone;Main.Go 1\n";
	static const char texts[] = "node;main;LazyCompile:f /p.js:1:2_[j]\n"
				    "py;py::f:/x.py_[j];[unknown]\n"
				    "go;net/http.Get;a/b/c.clone;Main.Go\n";
	struct pair pair = match(stacks, "java;java/lang/Thread.run;Main.work 1\n");

	(void)state;
	check(&pair, 0, texts);
	check(&pair, 1, "java;java.lang.Thread.run_[j];Main.work_[j]\n");
	release(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(marks_of_the_kernel_go_where_the_other_has_the_names_without),
		cmocka_unit_test(
			marks_of_the_kernel_stay_where_the_other_knows_no_kernel_or_marks_it),
		cmocka_unit_test(parameters_go_where_the_other_has_methods_without),
		cmocka_unit_test(a_class_of_no_package_is_java_where_the_rest_of_the_files_says_so),
		cmocka_unit_test(what_calls_the_first_method_goes_where_the_other_begins_with_it),
		cmocka_unit_test(
			what_calls_the_first_method_stays_where_the_other_has_it_or_has_no_java),
		cmocka_unit_test(clone_goes_where_the_other_begins_with_start_thread),
		cmocka_unit_test(libraries_go_where_the_other_has_functions_alone),
		cmocka_unit_test(dashes_in_front_of_the_kernel_go_where_the_other_has_none),
		cmocka_unit_test(parameters_of_native_code_go_where_the_other_has_none),
		cmocka_unit_test(processes_go_where_the_other_has_none),
		cmocka_unit_test(stubs_are_one_where_the_other_does_not_tell_them_apart),
		cmocka_unit_test(groups_of_stubs_go_where_the_other_has_none),
		cmocka_unit_test(a_file_without_names_of_interpreted_methods_is_known),
		cmocka_unit_test(stacks_of_other_runtimes_stay_as_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
