// SPDX-License-Identifier: Apache-2.0
/* Stacks of any profiler get one spelling, and the recorder's own stay as they are. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "user/diff/diff_spelling.h"
#include "user/model/stack_text.h"
#include "user/util/cleanup.h"
#include "user/util/strbuf.h"

static void spell(struct diff_spelling *spelling, const char *stack, struct strbuf *out)
{
	struct diff_spelling_walk walk;
	struct stack_frame frame;
	uint32_t id = 0;
	int err;

	diff_spelling_walk(&walk, stack, strlen(stack));
	while ((err = diff_spelling__next(spelling, &walk, &id)) == 1) {
		diff_spelling__frame(spelling, id, &frame);
		if (out->len)
			strbuf_putc(out, ';');
		strbuf_append(out, frame.text, frame.text_len);
	}
	assert_int_equal(err, 0);
	assert_int_equal(strbuf_error(out), 0);
}

static void check(struct diff_spelling *spelling, const char *stack, const char *expected)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;

	spell(spelling, stack, &out);
	if (strcmp(strbuf_str(&out), expected) != 0)
		fail_msg("'%s' became '%s', not '%s'", stack, strbuf_str(&out), expected);
}

static void own_text_stays_as_it_is(void **state)
{
	static const char *const stacks[] = {
		"java",
		"java;java.lang.Thread.run_[0];shop.Cart.add_[j];shop.Tax.of_[i]",
		"java;start_thread;[unknown];[libzstd.so];[unknown jit];[truncated];do_syscall_64_[k]",
		"java;shop.Cart$1.run_[1];shop.Cart.lambda$sum$3_[j];shop.Cart.access$100_[j]",
		"java;shop.Cart$$Lambda.apply_[j];com.sun.proxy.$Proxy.add_[j];jdk.proxy.$Proxy.x_[j]",
		"java;StubRoutines (initialstubs);Interpreter;vtable chunks;I2C/C2I adapters",
		"java;a.B.f(int, java.lang.String[])_[j];a.B.<init>_[j];a.B.<clinit>_[1]",
		"node;LazyCompile:f /srv/p.js:1:2_[j];RegExp:[a-z]+/x_[j];Builtin:ArrayMap_[j]",
		"python3.11;py::f:/srv/x.py_[j];_PyEval_EvalFrameDefault",
		"dotnet;instance void [System.Private.CoreLib] System.String::Concat(string)[Tier1]_[j]",
		"nginx;ngx_http_process_request;malloc@plt;std::vector<int, a<int> >::push_back(int&&)",
		"go;net/http.(*conn).serve;github.com/x/y.Func;net/http.HandlerFunc.ServeHTTP;net/http.Get",
		"rust;<alloc::vec::Vec<T> as core::ops::Drop>::drop;a::b::{{closure}}",
		"kotlin;shop.Kt.say hello world_[j]",
	};
	struct diff_spelling *spelling = diff_spelling__new();

	(void)state;
	assert_non_null(spelling);
	for (size_t i = 0; i < ARRAY_SIZE(stacks); i++)
		check(spelling, stacks[i], stacks[i]);
	diff_spelling__free(spelling);
}

struct frame_case {
	const char *frame, *expected; /* behind "java;" */
};

static void check_frames(const struct frame_case *cases, size_t cnt)
{
	struct diff_spelling *spelling = diff_spelling__new();

	assert_non_null(spelling);
	/* Twice: the second time they are remembered. */
	for (size_t i = 0; i < 2 * cnt; i++) {
		char stack[256], expected[256];

		snprintf(stack, sizeof(stack), "java;%s", cases[i / 2].frame);
		snprintf(expected, sizeof(expected), "java;%s", cases[i / 2].expected);
		check(spelling, stack, expected);
		check(spelling, expected, expected);
	}
	diff_spelling__free(spelling);
}

static void run_specific_parts_go(void **state)
{
	static const struct frame_case cases[] = {
		/* lambdas and hidden classes, JDK 8 to 25 */
		{ "a.B$$Lambda$14/1282788025.run_[j]", "a.B$$Lambda.run_[j]" },
		{ "a.B$$Lambda$733/0x00007f5f88003000.run_[j]", "a.B$$Lambda.run_[j]" },
		{ "a.B$$Lambda/0x00007f5f88003000.run_[i]", "a.B$$Lambda.run_[i]" },
		{ "a.B$$Lambda.0x00007f5f88003000.run_[j]", "a.B$$Lambda.run_[j]" },
		{ "a.B$$Lambda+0x00007f5f88003000.run_[0]", "a.B$$Lambda.run_[0]" },
		{ "java/lang/invoke/LambdaForm$MH.0x0000000800c03000.invoke_[j]",
		  "java.lang.invoke.LambdaForm$MH.invoke_[j]" },
		/* proxies, accessors, generated subclasses */
		{ "a/Context$$Lambda$lambda$wrap$2$2630016632.0x00000000000100dd.call",
		  "a.Context$$Lambda$lambda$wrap$2.call_[j]" },
		{ "java/lang/invoke/LambdaForm$NFI/980546781.invoke_MT",
		  "java.lang.invoke.LambdaForm$NFI.invoke_MT_[j]" },
		{ "jdk.proxy2.$Proxy17.add_[j]", "jdk.proxy.$Proxy.add_[j]" },
		{ "com.sun.proxy.$Proxy5.add_[j]", "com.sun.proxy.$Proxy.add_[j]" },
		{ "sun.reflect.GeneratedMethodAccessor120.invoke_[j]",
		  "sun.reflect.GeneratedMethodAccessor.invoke_[j]" },
		{ "a.B$$EnhancerBySpringCGLIB$$1a2b3c4d.x_[j]",
		  "a.B$$EnhancerBySpringCGLIB.x_[j]" },
		{ "a.B$$SpringCGLIB$$0.x_[j]", "a.B$$SpringCGLIB.x_[j]" },
		{ "a.B$ByteBuddy$x7Yp2QaB.x_[j]", "a.B$ByteBuddy.x_[j]" },
		/* without suffix, as async-profiler writes them by default */
		{ "java/lang/String.format", "java.lang.String.format_[j]" },
		{ "java/lang/String.<init>", "java.lang.String.<init>_[j]" },
		{ "java/lang/String.format_[j]", "java.lang.String.format_[j]" },
		{ "java/util/Map$Entry.get_[i]", "java.util.Map$Entry.get_[i]" },
		{ "a/B$$Lambda$14.0x0000000800.run", "a.B$$Lambda.run_[j]" },
		{ "a/B$$Lambda$14/0x0000000800.run", "a.B$$Lambda.run_[j]" },
		{ "a.B$$Lambda$733.run", "a.B$$Lambda.run_[j]" },
		/* async-profiler's --dot; perf with the map of jcmd Compiler.perfmap, whole or cut at "(" */
		{ "java.util.ArrayList.clone", "java.util.ArrayList.clone_[j]" },
		{ "com.shop.Engine.warm", "com.shop.Engine.warm_[j]" },
		{ "shop.Cart.<init>", "shop.Cart.<init>_[j]" },
		{ "shop.B\xc3\xa4r.\xc3\xbc", "shop.B\xc3\xa4r.\xc3\xbc_[j]" },
		{ "void java.lang.Thread.run", "java.lang.Thread.run_[j]" },
		{ "void java.lang.Thread.run_[j]", "java.lang.Thread.run_[j]" },
		{ "void shop.Job$$Lambda/0x00007f1c2c001000.run", "shop.Job$$Lambda.run_[j]" },
		{ "void shop.Job$$Lambda/0x00007f1c2c001000.run_[j]", "shop.Job$$Lambda.run_[j]" },
		{ "void shop.Job.lambda$start$0", "shop.Job.lambda$start$0_[j]" },
		{ "int shop.Cart.total", "shop.Cart.total_[j]" },
		{ "int Work.mix(int, int)", "Work.mix(int, int)_[j]" },
		{ "java.util.Map$Entry[] a.B.all", "a.B.all_[j]" },
		{ "void Work.<init>", "Work.<init>_[j]" },
		/* perf-map-agent through stackcollapse-perf.pl, plain and tidied */
		/* async-profiler's signatures */
		{ "java/util/List.add(ILjava/lang/Object|)Z",
		  "java.util.List.add(int, java.lang.Object)_[j]" },
		{ "java/util/List.add(ILjava/lang/Object|)Z_[j]",
		  "java.util.List.add(int, java.lang.Object)_[j]" },
		{ "java/lang/Thread.run()V", "java.lang.Thread.run()_[j]" },
		/* ... and as the file has it, where ";" ends a frame */
		{ "Lorg/a/MemberBox;::invoke", "org.a.MemberBox.invoke_[j]" },
		{ "Lorg/a/MemberBox$1;::<init>_[j];Lorg/a/B;::f",
		  "org.a.MemberBox$1.<init>_[j];org.a.B.f_[j]" },
		/* lines and bytecodes */
		{ "java/lang/Thread.run:829", "java.lang.Thread.run_[j]" },
		{ "java/lang/Thread.run@11_[j]", "java.lang.Thread.run_[j]" },
		{ "shop.Cart$1.<init>:12_[0]", "shop.Cart$1.<init>_[0]" },
		{ "Main.work:12_[j]", "Main.work_[j]" },
		{ "a.B$$Lambda$14/0x0000000800c01220.run:7", "a.B$$Lambda.run_[j]" },
		{ "Lorg/a/MemberBox:::invoke", "org.a.MemberBox.invoke_[j]" },
		{ "Lorg/a/MemberBox:::invoke_[j]", "org.a.MemberBox.invoke_[j]" },
		{ "org/a/MemberBox:::invoke", "org.a.MemberBox.invoke_[j]" },
		{ "org/a/MemberBox::invoke", "org.a.MemberBox.invoke_[j]" },
		{ "org/a/MemberBox:.<init>", "org.a.MemberBox.<init>_[j]" },
	};

	(void)state;
	check_frames(cases, ARRAY_SIZE(cases));
}

static void native_names_lose_what_a_build_adds(void **state)
{
	static const struct frame_case cases[] = {
		/* native and kernel */
		{ "memcpy@@GLIBC_2.14", "memcpy" },
		{ "__GI_read", "read" },
		{ "shop::cart::total::h0123456789abcdef", "shop::cart::total" },
		{ "shop::cart::total::h0123456789abcde", "shop::cart::total::h0123456789abcde" },
		{ "f.__uniq.190234712345.llvm.77", "f" },
		{ "f(int) (.__uniq.190234712345)", "f(int)" },
		/* V8's and .NET's compilers replace each other's code */
		{ "LazyCompile:*f /srv/p.js:1:2_[j]", "LazyCompile:f /srv/p.js:1:2_[j]" },
		{ "JS:~f file_///srv/p.js:1:2", "JS:f file_///srv/p.js:1:2" },
		{ "JS:+'f", "JS:f" },
		{ "void [App] App.Worker::Run(int32)[Tier0]_[j]",
		  "void [App] App.Worker::Run(int32)_[j]" },
		{ "void [App] App.Worker::Run(int32)[OptimizedTier1]",
		  "void [App] App.Worker::Run(int32)" },
		{ "a::f(int)[abi:cxx11]", "a::f(int)[abi:cxx11]" },
		{ "__GI_", "__GI_" },
		{ "__GI___libc_open", "open" },
		{ "__libc_malloc", "malloc" },
		{ "__close+0x10", "close" },
		{ "__libc_start_main", "__libc_start_main" },
		{ "__poll_[k]", "__poll_[k]" },
		{ "__libc_", "__libc_" },
		{ "memcpy@GLIBC_2.2.5", "memcpy" },
		{ "f.constprop.0.isra.12", "f" },
		{ "f.part.3.cold", "f" },
		{ "f.clone.1", "f" },
		{ "ArrayList.clone", "ArrayList.clone" },
		{ "Store.part", "Store.part" },
		{ "f(int) [clone .isra.0]", "f(int)" },
		{ "f(int) [clone .isra.0] [clone .cold]", "f(int)" },
		{ "main+0x1f", "main" },
		{ "main+38642", "main" },
		{ "java.util.ArrayList.clone+12", "java.util.ArrayList.clone_[j]" },
		{ "libz.so.1.2.13+932", "[libz.so.1.2.13]" },
		{ "operator++12", "operator++12" },
		{ "f.clone.3", "f" },
		{ "a::b.llvm.77", "a::b" },
		/* stackcollapse-perf.pl --all marks inlined C and C++, too */
		{ "std::vector<int>::size_[i]", "std::vector<int>::size" },
		{ "memcpy_[i]", "memcpy" },
		{ "com.foo.Bar::baz_[i]", "com.foo.Bar.baz_[i]" },
		{ "libz.so.1.2.13+0x3a0", "[libz.so.1.2.13]" },
		{ "libjvm.so+0x4b2c10", "[libjvm.so]" },
		{ "/usr/lib/x86_64-linux-gnu/libz.so.1.2.13", "[libz.so.1.2.13]" },
		{ "/opt/jdk/lib/server/libjvm.so+0x4b2c10", "[libjvm.so]" },
		{ "/srv/www/app.sock", "/srv/www/app.sock" },
		{ "/usr/bin/perl", "/usr/bin/perl" },
		{ "perl5.36.0+0x3a0", "perl5.36.0" },
		{ "tcp_v4_rcv.part.0_[k]", "tcp_v4_rcv_[k]" },
		{ "0x7f0012345678", "[unknown]" },
		{ "[0x7f0012345678]", "[unknown]" },
		{ "[perf-4711.map]", "[unknown jit]" },
		/* HotSpot's own code, of perf's map and of async-profiler */
		{ "Interpreter_[j]", "Interpreter" },
		{ "StubRoutines _[j]", "StubRoutines" },
		{ "StubRoutines ", "StubRoutines" },
		{ "vtable chunks_[j]", "vtable chunks" },
		{ "itable stub", "vtable chunks" },
		{ "vtable stub", "vtable chunks" },
		/* nothing is taken that is all there is */
		{ ".cold", ".cold" },
		{ "+0x1f", "+0x1f" },
		{ "@@x", "@@x" },
		{ "[perf-.map]", "[perf-.map]" },
		{ "0x", "0x" },
		{ "0xyz", "0xyz" },
		/* not certainly Java */
		{ "src/main/foo.run", "src/main/foo.run" },
		{ "time.Time.Add", "time.Time.Add" },
		{ "reflect.Value.call", "reflect.Value.call" },
		{ "int operator", "int operator" },
		{ "void foo<int>(a::B)", "void foo<int>(a::B)" },
		{ "main (app.py:10)", "main (app.py:10)" },
		{ "main.work:12", "main.work:12" },
		{ "foo:12", "foo:12" },
		{ "Lib/x;a::b", "Lib/x;a::b" },
		{ "Load;::f", "Load;::f" },
		{ "thread (main)", "thread (main)" },
		{ "a b.C.d", "a b.C.d" },
		{ "a/B", "a/B" },
		{ "a/B.", "a/B." },
		{ "/a/B.c", "/a/B.c" },
		{ "a b/C.d", "a b/C.d" },
	};

	(void)state;
	check_frames(cases, ARRAY_SIZE(cases));
}

static void small_classes_are_java_among_java(void **state)
{
	struct diff_spelling *spelling = diff_spelling__new();

	(void)state;
	assert_non_null(spelling);
	check(spelling, "all;java/lang/Thread.run;a/b/c.clone;net/x.f",
	      "all;java.lang.Thread.run_[j];a.b.c.clone_[j];net.x.f_[j]");
	check(spelling, "all;main.main;a/b/c.clone;net/x.f", "all;main.main;a/b/c.clone;net/x.f");
	diff_spelling__free(spelling);
}

static void numbers_of_threads_and_processes_go(void **state)
{
	static const struct {
		const char *stack, *expected;
	} cases[] = {
		{ "[pool-1-thread-3 tid=4711];f", "[pool-N-thread-N];f" },
		{ "pool-1-thread-3 tid=4711;f", "pool-N-thread-N;f" },
		{ "[C2 CompilerThread0 tid=9];f", "[C2 CompilerThreadN];f" },
		{ "[GC Thread#3 tid=9];f", "[GC Thread#N];f" },
		{ "[http-nio-8080-exec-12];f", "[http-nio-N-exec-N];f" },
		{ "[main tid=1];f", "[main];f" },
		{ "thread (0x7F20B6FFD640);f", "thread (N);f" },
		{ "process 12:\"python x.py\";thread (0x7F20B6FFD640);f",
		  "process N:\"python x.py\";thread (N);f" },
		{ "java-4711;f", "java-N;f" },
		{ "java-4711/4712;f", "java-N/N;f" },
		{ "kworker/0:1-events;f", "kworker/N:N-events;f" },
		{ "python3.11;f", "python3.11;f" },
		{ "redis6;f", "redis6;f" },
		{ "x86_64;f", "x86_64;f" },
		{ "java;pool-1-thread-3", "java;pool-1-thread-3" }, /* a function */
	};
	struct diff_spelling *spelling = diff_spelling__new();

	(void)state;
	assert_non_null(spelling);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		check(spelling, cases[i].stack, cases[i].expected);
		check(spelling, cases[i].expected, cases[i].expected);
	}
	diff_spelling__free(spelling);
}

static void foreign_bytes_are_made_inert(void **state)
{
	struct diff_spelling *spelling = diff_spelling__new();

	(void)state;
	assert_non_null(spelling);
	check(spelling, "java;a\x1b[31mb;c\xff", "java;a_[31mb;c?");
	check(spelling, "", "");
	check(spelling, ";", "[unknown]");
	check(spelling, "java;;f", "java;[unknown];f");
	diff_spelling__free(spelling);
}

static void a_stack_without_process_is_known_by_its_first_frame(void **state)
{
	static const struct {
		const char *stack;
		bool is_code;
	} cases[] = {
		{ "java;f", false },
		{ "java-4711;f", false },
		{ "[main tid=1];f", false },
		{ "thread (0x7F20B6FFD640);f", false },
		{ "kworker/0:1-events;f", false },
		{ "", false },
		{ "java/lang/Thread.run;f", true },
		{ "java.lang.Thread.run_[j];f", true },
		{ "java.lang.Thread.run;f", true },
		{ "void java.lang.Thread.run;f", true },
		{ "org.gnome.Shell;f", false },
		{ "entry_SYSCALL_64_[k]", true },
		{ "a.B$$Lambda$733.run;f", true },
		{ "std::thread::run;f", true },
		{ "main(int, char**);f", true },
		{ "[unknown];f", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (diff_spelling_begins_with_code(cases[i].stack, strlen(cases[i].stack)) !=
		    cases[i].is_code)
			fail_msg("'%s'", cases[i].stack);
}

static void parameters_are_counted_and_left_out_when_asked(void **state)
{
	static const char text[] =
		"java;void a.B.f(int, java.lang.String[]);a/C.g(I)V;a.D.h_[i];"
		"shop.T.should (fast)_[j];void [App] App.W::Run(int32)_[j];"
		"std::vector<int>::at(int);run(int)_[k];a.T.should work(int)_[j]";

	(void)state;
	for (int leaves_out = 0; leaves_out < 2; leaves_out++) {
		struct diff_spelling *spelling = diff_spelling__new();
		__cleanup_strbuf struct strbuf out = STRBUF_INIT;

		assert_non_null(spelling);
		if (leaves_out)
			diff_spelling__leave_out_parameters(spelling);
		spell(spelling, text, &out);
		assert_string_equal(
			strbuf_str(&out),
			leaves_out ?
				"java;a.B.f_[j];a.C.g_[j];a.D.h_[i];shop.T.should (fast)_[j];"
				"void [App] App.W::Run(int32)_[j];std::vector<int>::at(int);"
				"run(int)_[k];a.T.should work_[j]" :
				"java;a.B.f(int, java.lang.String[])_[j];a.C.g(int)_[j];a.D.h_[i];"
				"shop.T.should (fast)_[j];void [App] App.W::Run(int32)_[j];"
				"std::vector<int>::at(int);run(int)_[k];a.T.should work(int)_[j]");
		assert_int_equal(diff_spelling__methods(spelling).with_parameters, 2);
		assert_int_equal(diff_spelling__methods(spelling).without, 1);
		diff_spelling__free(spelling);
	}
}

static void only_what_no_thread_can_be_called_begins_with_java_for_sure(void **state)
{
	static const char *const sure[] = { "java/lang/Thread.run;a",	    "void shop.Cart.add;a",
					    "com.example.Main.main;Main.f", "Thread.run;a",
					    "java/lang/Thread.run_[0];a",   "Main.main_[1];a" };
	static const char *const unsure[] = { "a.b.Worker.run;b", "Main.main;a",   "start_thread;a",
					      "f_[j];a",	  "do_exit_[k];a", "" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sure); i++)
		if (!diff_spelling_begins_with_java(sure[i], strlen(sure[i])))
			fail_msg("'%s'", sure[i]);
	for (size_t i = 0; i < ARRAY_SIZE(unsure); i++)
		if (diff_spelling_begins_with_java(unsure[i], strlen(unsure[i])))
			fail_msg("'%s'", unsure[i]);
}

/* async-profiler's default, and perf's names of the same methods. */
static void a_class_of_no_package_is_java_among_java(void **state)
{
	static const char expected[] = "a;java.lang.Thread.run_[j];Mixed.serve_[j]";
	struct diff_spelling *spelling = diff_spelling__new();

	(void)state;
	assert_non_null(spelling);
	check(spelling, "a;java/lang/Thread.run;Mixed.serve", expected);
	check(spelling, "a;void java.lang.Thread.run;void Mixed.serve", expected);
	check(spelling, "a;java/lang/Thread.run:829;Mixed.serve:12", expected);
	check(spelling, "a;java/lang/Thread.run;Mixed$Job.lambda$f$0;JVM_Sleep.cold;a.b",
	      "a;java.lang.Thread.run_[j];Mixed$Job.lambda$f$0_[j];JVM_Sleep;a.b");
	check(spelling, "a;main;Mixed.serve", "a;main;Mixed.serve");
	diff_spelling__free(spelling);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_text_stays_as_it_is),
		cmocka_unit_test(run_specific_parts_go),
		cmocka_unit_test(native_names_lose_what_a_build_adds),
		cmocka_unit_test(small_classes_are_java_among_java),
		cmocka_unit_test(numbers_of_threads_and_processes_go),
		cmocka_unit_test(foreign_bytes_are_made_inert),
		cmocka_unit_test(parameters_are_counted_and_left_out_when_asked),
		cmocka_unit_test(a_class_of_no_package_is_java_among_java),
		cmocka_unit_test(a_stack_without_process_is_known_by_its_first_frame),
		cmocka_unit_test(only_what_no_thread_can_be_called_begins_with_java_for_sure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
