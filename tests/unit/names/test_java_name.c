// SPDX-License-Identifier: Apache-2.0
/*
 * Canonical names: the spellings of JDK 8 to 25 and of the frameworks that generate classes, as
 * seen in perf maps, and that a canonical name is its own canonical form.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "user/names/java_name.h"
#include "user/util/cleanup.h"
#include "user/util/clock.h"

#define KEEP_PARAMETERS true
#define DROP_PARAMETERS false
#define HOTSPOT		true
#define OTHER_RUNTIME	false

struct row {
	const char *raw;
	const char *expected;
};

/* A copy of exactly that length, so that ASan sees a read past the end. */
static void canonical(const char *raw, size_t len, bool keep_parameters, struct strbuf *out,
		      enum frame_kind *kind)
{
	__cleanup_free char *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, raw, len);
	assert_int_equal(java_name_canonical(copy, len, HOTSPOT, keep_parameters, out, kind), 0);
}

static void assert_canonical(const struct row *row, bool keep_parameters, enum frame_kind expected)
{
	__cleanup_strbuf struct strbuf once = STRBUF_INIT;
	__cleanup_strbuf struct strbuf twice = STRBUF_INIT;
	enum frame_kind kind = FRAME_KIND_CNT;

	canonical(row->raw, strlen(row->raw), keep_parameters, &once, &kind);
	assert_string_equal(strbuf_str(&once), row->expected);
	assert_int_equal(kind, expected);

	/* Comparisons read stored names so: of "f(x)" the rest would be taken for parameters else. */
	kind = FRAME_KIND_CNT;
	canonical(once.data, once.len, KEEP_PARAMETERS, &twice, &kind);
	assert_string_equal(strbuf_str(&twice), row->expected);
	assert_int_equal(kind, expected);
}

static const struct row method_rows[] = {
	/* return type and parameters */
	{ "int Work.mix(int, int)", "Work.mix" },
	{ "void Work.<init>()", "Work.<init>" },
	{ "void Work.<clinit>()", "Work.<clinit>" },
	{ "java.lang.Object jdk.internal.misc.Unsafe.getReferenceVolatile(java.lang.Object, long)",
	  "jdk.internal.misc.Unsafe.getReferenceVolatile" },
	{ "java.lang.String[][] com.foo.Bar.split(char[], int)", "com.foo.Bar.split" },
	{ "com.foo.Bar.baz", "com.foo.Bar.baz" },
	{ "com.foo.Bar.baz(int)", "com.foo.Bar.baz" },
	{ "com.foo.Bar[] com.foo.Bar.baz()", "com.foo.Bar.baz" },
	{ "java.lang.Object com.foo.Bar.baz", "com.foo.Bar.baz" },
	{ "java.lang.Object Bar.baz", "Bar.baz" },
	{ "int com.foo.Bar$1.run()", "com.foo.Bar$1.run" },
	{ "int com.foo.Bar$Inner$2.run()", "com.foo.Bar$Inner$2.run" },
	{ "int com.foo.Bar.lambda$main$0(int)", "com.foo.Bar.lambda$main$0" },
	{ "int com.foo.Bar.access$000(com.foo.Bar)", "com.foo.Bar.access$000" },
	{ "void com.foo.BarTest.adds two numbers()", "com.foo.BarTest.adds two numbers" },
	{ "void com.foo.B\xc3\xa4r.\xc3\xbc(int)", "com.foo.B\xc3\xa4r.\xc3\xbc" },
	/* Kotlin's functions in backticks, and the classes of lambdas within them */
	{ "LT;::should (fast)()V", "T.should (fast)" },
	{ "LT;::should (slow)()V", "T.should (slow)" },
	{ "LT;::take(LArg (fast);)V", "T.take" },
	{ "La/T;::f(x)(IJ)V", "a.T.f(x)" },
	{ "Lshop/FooTest$should work (fast)$1;::invoke()V",
	  "shop.FooTest$should work (fast)$1.invoke" },
	{ "Lshop/FooTest$a.b c;::Invoke it()V", "shop.FooTest$a.b c.Invoke it" },
	{ "void T.should (fast)()", "T.should (fast)" },
	{ "void T.take(Arg (fast))", "T.take" },
	{ "void T.take(a.Arg(x), int)", "T.take" },
	{ "T.should (fast)", "T.should (fast)" },
	{ "void shop.FooTest$should work (fast)$1.invoke(java.lang.Object)",
	  "shop.FooTest$should work (fast)$1.invoke" },
	{ "shop.FooTest$should work$1.invoke", "shop.FooTest$should work$1.invoke" },
	{ "shop.FooTest$f(x)$1.invoke", "shop.FooTest$f(x)$1.invoke" },
	{ "long com.foo.Bar.sum(long) jvmci_name=com.foo.Bar.sum#1", "com.foo.Bar.sum" },
	{ "long com.foo.Bar.sum(long) jvmci_name=", "com.foo.Bar.sum" },

	/* perf-map-agent, perf's JVMTI agent, vmStructs symbols */
	{ "Lcom/foo/Bar;::baz", "com.foo.Bar.baz" },
	{ "Lcom/foo/Bar;::baz(ILjava/lang/String;)J", "com.foo.Bar.baz" },
	{ "Lcom/foo/Bar;baz(I)V", "com.foo.Bar.baz" },
	{ "com.foo.Bar::baz", "com.foo.Bar.baz" },
	{ "com.foo.Bar::baz(Bar.java:12)", "com.foo.Bar.baz" },
	{ "LWork;::<init>", "Work.<init>" },
	{ "com/foo/Bar.baz(ILjava/lang/String;)J", "com.foo.Bar.baz" },
	{ "java/lang/Object.<init>()V", "java.lang.Object.<init>" },

	/* lambdas and hidden classes: 8, 11, 17, 21, 25, class data sharing, JFR */
	{ "int Work$$Lambda$1.applyAsInt(int)", "Work$$Lambda.applyAsInt" },
	{ "LWork$$Lambda$1/250421012;::applyAsInt", "Work$$Lambda.applyAsInt" },
	{ "int Work$$Lambda$7/935419099.applyAsInt(int)", "Work$$Lambda.applyAsInt" },
	{ "int Work$$Lambda$1/0x00007f9750001450.applyAsInt(int)", "Work$$Lambda.applyAsInt" },
	{ "int Work$$Lambda$1+0x00007f9750001450.applyAsInt(int)", "Work$$Lambda.applyAsInt" },
	{ "LWork$$Lambda$1.0x00007f9750001450;::applyAsInt", "Work$$Lambda.applyAsInt" },
	{ "int Work$$Lambda.0x00007f9750001450.applyAsInt(int)", "Work$$Lambda.applyAsInt" },
	{ "int Work$$Lambda/0x00007f2b3c001450.applyAsInt(int)", "Work$$Lambda.applyAsInt" },
	{ "int Work$$Lambda/0x00000000a0040ca8.applyAsInt(int)", "Work$$Lambda.applyAsInt" },
	{ "void a.B$$Lambda/0x80000002b.accept(java.lang.Object)", "a.B$$Lambda.accept" },
	{ "void a.B$$Lambda$14+0x00007fd/543846639.accept()", "a.B$$Lambda.accept" },
	{ "void a.Context$$Lambda$lambda$wrap$2$2630016632.0x00007f12.run()",
	  "a.Context$$Lambda$lambda$wrap$2.run" },
	{ "void a.B$$Lambda$1abc.run()", "a.B$$Lambda$1abc.run" },
	{ "void a.B$Hidden/0x000000080009ac00.m()", "a.B$Hidden.m" },
	{ "java.lang.Object java.lang.invoke.LambdaForm$MH/0x00007f5f88003000.invoke("
	  "java.lang.Object)",
	  "java.lang.invoke.LambdaForm$MH.invoke" },
	{ "int java.lang.invoke.LambdaForm$DMH/0x000000080003c400.invokeStatic(int)",
	  "java.lang.invoke.LambdaForm$DMH.invokeStatic" },
	{ "int java.lang.invoke.LambdaForm$MH/12345.linkToTargetMethod(java.lang.Object)",
	  "java.lang.invoke.LambdaForm$MH.linkToTargetMethod" },
	{ "int java.lang.invoke.DirectMethodHandle$Holder.invokeStatic(java.lang.Object)",
	  "java.lang.invoke.DirectMethodHandle$Holder.invokeStatic" },

	/* reflection */
	{ "java.lang.Object sun.reflect.GeneratedMethodAccessor17.invoke(java.lang.Object)",
	  "sun.reflect.GeneratedMethodAccessor.invoke" },
	{ "java.lang.Object jdk.internal.reflect.GeneratedConstructorAccessor2.newInstance()",
	  "jdk.internal.reflect.GeneratedConstructorAccessor.newInstance" },
	{ "java.lang.Object jdk.internal.reflect.GeneratedSerializationConstructorAccessor1."
	  "newInstance()",
	  "jdk.internal.reflect.GeneratedSerializationConstructorAccessor.newInstance" },
	{ "java.lang.Object jdk.internal.reflect.DirectMethodHandleAccessor.invoke()",
	  "jdk.internal.reflect.DirectMethodHandleAccessor.invoke" },
	{ "void a.GeneratedMethodAccessor2Test.run()", "a.GeneratedMethodAccessor2Test.run" },

	/* proxies */
	{ "void com.sun.proxy.$Proxy12.close()", "com.sun.proxy.$Proxy.close" },
	{ "void jdk.proxy2.$Proxy33.close()", "jdk.proxy.$Proxy.close" },
	{ "Ljdk/proxy2/$Proxy33;::close", "jdk.proxy.$Proxy.close" },
	{ "void com.foo.$Proxy3.close()", "com.foo.$Proxy.close" },
	{ "void com.foo.My$Proxy2Handler.close()", "com.foo.My$Proxy2Handler.close" },
	{ "void com.notjdk.proxy2.Foo.close()", "com.notjdk.proxy2.Foo.close" },
	{ "void com.xjdk.proxy2.Foo.close()", "com.xjdk.proxy2.Foo.close" },

	/* Spring, CGLIB, Guice, ByteBuddy, Mockito, Hibernate */
	{ "int a.X$$EnhancerBySpringCGLIB$$1a2b3c4d.get()", "a.X$$EnhancerBySpringCGLIB.get" },
	{ "int a.X$$EnhancerBySpringCGLIB$$1a2b3c4d_2.get()", "a.X$$EnhancerBySpringCGLIB.get" },
	{ "int a.X$$FastClassBySpringCGLIB$$9f8e7d6c.invoke()",
	  "a.X$$FastClassBySpringCGLIB.invoke" },
	{ "int a.X$$EnhancerBySpringCGLIB$$1a2b$$FastClassBySpringCGLIB$$77.invoke()",
	  "a.X$$EnhancerBySpringCGLIB$$FastClassBySpringCGLIB.invoke" },
	{ "int a.X$$KeyFactoryByCGLIB$$552be97a.hashCode()", "a.X$$KeyFactoryByCGLIB.hashCode" },
	{ "int a.X$$EnhancerByGuice$$67890.get()", "a.X$$EnhancerByGuice.get" },
	{ "int a.X$$SpringCGLIB$$0.get()", "a.X$$SpringCGLIB.get" },
	{ "int a.X$$SpringCGLIB$$FastClass$$1.invoke()", "a.X$$SpringCGLIB$$FastClass.invoke" },
	{ "int a.X$ByteBuddy$x7Yp2QaB.get()", "a.X$ByteBuddy.get" },
	{ "int a.X$ByteBuddy$auxiliary$x7Yp2QaB.call()", "a.X$ByteBuddy.call" },
	{ "int a.X$MockitoMock$1234567.get()", "a.X$MockitoMock.get" },
	{ "int a.X$HibernateProxy$x7Yp2QaB.get()", "a.X$HibernateProxy.get" },
	{ "int a.X$HibernateAccessOptimizer$x7Yp2QaB.getPropertyValues()",
	  "a.X$HibernateAccessOptimizer.getPropertyValues" },
	{ "int a.X$HibernateInstantiator$A1b2C3d4.newInstance()",
	  "a.X$HibernateInstantiator.newInstance" },
	{ "int a.X_$$_jvst3a9_12.getId()", "a.X_$$_jvst.getId" },
	{ "int a.X_$$_jvst.getId()", "a.X_$$_jvst.getId" },
	{ "int a.X_$$_jvstxyz.getId()", "a.X_$$_jvstxyz.getId" },
	{ "java.lang.Object app.core$handler$fn__5866.invoke(java.lang.Object)",
	  "app.core$handler$fn__.invoke" },
	{ "java.lang.Object app.core$fn__58$fn__59.invoke()", "app.core$fn__$fn__.invoke" },
	{ "java.lang.Object app.core$iter__5789__5793.invoke()", "app.core$iter__.invoke" },
	{ "java.lang.Object app.core$eval12.invoke()", "app.core$eval.invoke" },
	{ "java.lang.Object app.core$evaluate1.invoke()", "app.core$evaluate1.invoke" },
	{ "java.lang.Object app.core$fn__5x.invoke()", "app.core$fn__5x.invoke" },
	{ "LScript12;::run()Ljava/lang/Object;", "Script.run" },
	{ "LScript12$_run_closure1;::doCall()V", "Script$_run_closure1.doCall" },
	{ "Lscript17000000000001234567;::run()V", "script.run" },
	{ "La/Script12;::run()V", "a.Script12.run" },
	{ "LScript12a;::run()V", "Script12a.run" },
	{ "Lscript12;::run()V", "script12.run" },
	{ "Lapp/core$assoc__5481;::invoke()V", "app.core$assoc__.invoke" },
	{ "Lapp/core$G__146__161;::invoke()V", "app.core$G__.invoke" },
	{ "Luser$eval106$fn__172;::invoke()V", "user$eval$fn__.invoke" },
	{ "Lapp/core$loading__6789__auto____139;::invoke()V",
	  "app.core$loading____auto____.invoke" },
	{ "Lapp/core$f$state_machine__1234__auto____5678$fn__9;::invoke()V",
	  "app.core$f$state_machine____auto____$fn__.invoke" },
	{ "La/b__12;::c()V", "a.b__12.c" },
	{ "Lorg/python/pycode/_pyx12;::f$1()V", "org.python.pycode._pyx.f$1" },
	{ "Ljnr/ffi/provider/jffi/NativeClosureProxy$$impl$$7;::invoke()V",
	  "jnr.ffi.provider.jffi.NativeClosureProxy$$impl$$.invoke" },
	{ "Lrubyjit/Cart$$total_BD3F0123456789ABCDEF0123456789ABCDEF01231746;::__file__()V",
	  "rubyjit.Cart$$total.__file__" },
	{ "Lspel/Ex12;::getValue()V", "spel.Ex.getValue" },
	{ "La/spel/Ex12;::getValue()V", "a.spel.Ex12.getValue" },
	{ "Lshop/Order__Accessor_wgqkfj;::setProperty()V", "shop.Order__Accessor_.setProperty" },
	{ "Lshop/Order__Instantiator_-1x9z;::newInstance()V",
	  "shop.Order__Instantiator_.newInstance" },
	{ "Lio/trino/$gen/PageFilter_20240101_120000_12;::filter()Z",
	  "io.trino.$gen.PageFilter.filter" },
	{ "Lio/trino/$gen/PageProcessor_20240101_120000_00012_abcde_1_0_33;::process()Z",
	  "io.trino.$gen.PageProcessor.process" },
	{ "Lio/trino/$gen/Call_7;::x()V", "io.trino.$gen.Call.x" },
	{ "Lshop/Order_20240101_120000_12;::x()V", "shop.Order_20240101_120000_12.x" },
	{ "Lorg/apache/spark/sql/catalyst/expressions/GeneratedClass"
	  "$GeneratedIteratorForCodegenStage12;::hashAgg_doAggregateWithKeys_0$(La/B;)V",
	  "org.apache.spark.sql.catalyst.expressions.GeneratedClass"
	  "$GeneratedIteratorForCodegenStage.hashAgg_doAggregateWithKeys_0$" },
	{ "Lorg/apache/derby/exe/ac560740aax01a2x1595x3eddx0000179cab980;::e0()V",
	  "org.apache.derby.exe.ac.e0" },
	{ "Lcom/alibaba/fastjson/serializer/ASMSerializer_12_Order;::write()V",
	  "com.alibaba.fastjson.serializer.ASMSerializer_Order.write" },
	{ "Lshop/Order$Access4JacksonDeserializer1a2b3c4d;::stringSetter()V",
	  "shop.Order$Access4JacksonDeserializer.stringSetter" },
	{ "Lshop/Order$Access4JacksonDeserializerX;::stringSetter()V",
	  "shop.Order$Access4JacksonDeserializerX.stringSetter" },
	{ "Lshop/Cart$$$view12;::add()V", "shop.Cart$$$view.add" },
	{ "Lshop/Order_$$_javassist_12;::getId()J", "shop.Order_$$_javassist_.getId" },
	{ "Lshop/Order$$BeanCopierByCGLIB$$1a2b3c;::copy()V",
	  "shop.Order$$BeanCopierByCGLIB.copy" },
	{ "Lcodegen/java/util/List$MockitoMock$x7Yp2QaB;::get()V",
	  "codegen.java.util.List$MockitoMock.get" },
	{ "Ljdk/MHProxy3/Comparator;::compare()I", "jdk.MHProxy.Comparator.compare" },
	{ "Ljava/lang/invoke/LambdaForm$MH012/98765;::invoke_MT()V",
	  "java.lang.invoke.LambdaForm$MH.invoke_MT" },
	/* numbers of compilers are the same in each run of a build, and of classes that are written so */
	{ "La/B;::lambda$load$12()V", "a.B.lambda$load$12" },
	{ "La/B$$anonfun$main$1;::apply()V", "a.B$$anonfun$main$1.apply" },
	{ "La/B;::$anonfun$main$2(I)V", "a.B.$anonfun$main$2" },
	{ "La/B$$anon$3;::apply()V", "a.B$$anon$3.apply" },
	{ "La/BKt$main$1$invokeSuspend$$inlined$map$2;::collect()V",
	  "a.BKt$main$1$invokeSuspend$$inlined$map$2.collect" },
	{ "La/Proxy$ProxyBuilder$1;::x()V", "a.Proxy$ProxyBuilder$1.x" },
	{ "Lsun/nio/cs/ISO_8859_1;::x()V", "sun.nio.cs.ISO_8859_1.x" },
	{ "Lsun/security/provider/SHA2$SHA256;::x()V", "sun.security.provider.SHA2$SHA256.x" },
	{ "La/X509Certificate;::x()V", "a.X509Certificate.x" },
	{ "Lorg/codehaus/groovy/runtime/dgm$1122;::invoke()V",
	  "org.codehaus.groovy.runtime.dgm$1122.invoke" },
	{ "int a.X.handle$accessor$x7Yp2QaB()", "a.X.handle$accessor" },
	{ "int a.X.handle$original$x7Yp2QaB()", "a.X.handle$original" },
	{ "int a.X.handle$original$short()", "a.X.handle$original$short" },

	/* hostile or odd, but still a class, a dot and a method */
	{ "(((a.b(((", "(((a.b(((" },
	{ "a.b(unclosed", "a.b" },
	{ "x.y z", "x.y z" },
};

static void java_name_of_methods_is_stable_from_run_to_run(void **state)
{
	(void)state;
	/* The first of the odd rows has nothing before its "(" and is VM code. */
	for (size_t i = 0; i < ARRAY_SIZE(method_rows); i++) {
		bool is_method = method_rows[i].raw[0] != '(';

		assert_canonical(&method_rows[i], DROP_PARAMETERS,
				 is_method ? FRAME_KIND_JIT : FRAME_KIND_NATIVE);
	}
}

/* What is cut off all others is kept when it is all there is. */
static void java_name_is_never_empty(void **state)
{
	static const struct row rows[] = { { " jvmci_name=a.b#1", " jvmci_name=a.b#1" },
					   { "  ", "  " },
					   { "", "" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_canonical(&rows[i], DROP_PARAMETERS, FRAME_KIND_NATIVE);
}

static void java_name_keeps_parameters_when_asked(void **state)
{
	static const struct row rows[] = {
		{ "int Work.mix(int, int)", "Work.mix(int, int)" },
		{ "int Work.mix(int,int)", "Work.mix(int, int)" },
		{ "void Work.run()", "Work.run()" },
		{ "Work.run", "Work.run" },
		{ "void a.B.c(a.B$$Lambda$3/0x00007f00aa, jdk.proxy2.$Proxy4[])",
		  "a.B.c(a.B$$Lambda, jdk.proxy.$Proxy[])" },
		{ "Lcom/foo/Bar;::baz(ILjava/lang/String;[[J)V",
		  "com.foo.Bar.baz(int, java.lang.String, long[][])" },
		{ "com/foo/Bar.baz()V", "com.foo.Bar.baz()" },
		{ "Lcom/foo/Bar;::baz(Ltruncated)V", "com.foo.Bar.baz(Ltruncated)V" },
		{ "Lcom/foo/Bar;::baz(x)(LArg (fast);I)V", "com.foo.Bar.baz(x)(Arg (fast), int)" },
		{ "int a.B.c(int) jvmci_name=x(y)", "a.B.c(int)" },
		{ "void a.B.my test(int)", "a.B.my test(int)" },
		{ "a.b(unclosed", "a.b(unclosed)" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_canonical(&rows[i], KEEP_PARAMETERS, FRAME_KIND_JIT);
}

static void java_name_tells_vm_code_from_methods(void **state)
{
	static const struct row rows[] = {
		{ "", "" },
		{ "Interpreter", "Interpreter" },
		{ "vtable chunks", "vtable chunks" },
		{ "StubRoutines (1)", "StubRoutines (1)" },
		{ "StubRoutines (initial stubs)", "StubRoutines (initialstubs)" },
		{ "StubRoutines (continuation stubs)", "StubRoutines (continuationstubs)" },
		{ "StubRoutines (initialstubs)", "StubRoutines (initialstubs)" },
		{ "StubRoutines (Final Stubs)", "StubRoutines (finalstubs)" },
		{ "I2C/C2I adapters(0xbbb)", "I2C/C2I adapters" },
		{ "I2C/C2I adapters", "I2C/C2I adapters" },
		{ "SafepointBlob", "SafepointBlob" },
		{ "DeoptimizationBlob", "DeoptimizationBlob" },
		{ "UncommonTrapBlob", "UncommonTrapBlob" },
		{ "ExceptionBlob", "ExceptionBlob" },
		{ "RuntimeStub - _new_instance_Java", "RuntimeStub - _new_instance_Java" },
		{ "RuntimeStub - Stub<Math.sin(double)double>",
		  "RuntimeStub - Stub<Math.sin(double)double>" },
		{ "C1 Runtime new_instance_blob", "C1 Runtime new_instance_blob" },
		{ "new_instance Runtime1 stub", "new_instance Runtime1 stub" },
		{ "native signature handlers", "native signature handlers" },
		{ "MethodHandles adapters", "MethodHandles adapters" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_canonical(&rows[i], DROP_PARAMETERS, FRAME_KIND_NATIVE);
		assert_canonical(&rows[i], KEEP_PARAMETERS, FRAME_KIND_NATIVE);
	}
}

static void java_name_of_other_runtimes_is_kept(void **state)
{
	static const char *const names[] = {
		"LazyCompile:*foo /p.js:1:2",
		"py::f:/x.py",
		"void [App] App.Worker::Run(int32)[Tier0]",
		"a.$Proxy12.b",
		"",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		__cleanup_strbuf struct strbuf out = STRBUF_INIT;
		enum frame_kind kind = FRAME_KIND_CNT;

		assert_int_equal(java_name_canonical(names[i], strlen(names[i]), OTHER_RUNTIME,
						     DROP_PARAMETERS, &out, &kind),
				 0);
		assert_string_equal(strbuf_str(&out), names[i]);
		assert_int_equal(kind, FRAME_KIND_JIT);
	}
}

static void java_name_appends_behind_what_is_there(void **state)
{
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	enum frame_kind kind;

	(void)state;
	strbuf_puts(&out, "java;");
	canonical("int a.B$$Lambda$1/0x12.c()", 26, DROP_PARAMETERS, &out, &kind);
	assert_string_equal(out.data, "java;a.B$$Lambda.c");
	strbuf_puts(&out, ";");
	assert_int_equal(java_name_canonical_library("libx-12345678901.so", &out), 0);
	assert_string_equal(out.data, "java;a.B$$Lambda.c;libx.so");
}

/*
 * Pieces that rules begin or end with, put together at random: bytes no producer ever writes. Those
 * at the end may look like a class, a return type or parameters where they are none.
 */
static void java_name_is_its_own_canonical_form_for_any_text(void **state)
{
	static const char *const pieces[] = {
		"$$Lambda",   "$",	 "1",		"/0x1f",
		"+0x",	      ".",	 "/12",		"L",
		"::",	      ",",	 "I",		"a",
		"$Proxy7",    "$$",	 "__12",	"$G__",
		"jdk.proxy1", "Script1", "$ByteBuddy$", "abcdef",
		"123456",     "$gen._",	 "\xff",	";",
		"(",	      ")",	 " ",		"StubRoutines (",
	};
	const size_t odd_cnt = 5;
	uint64_t seed = 42;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		bool is_odd = round & 1;
		const char *colons;
		__cleanup_strbuf struct strbuf raw = STRBUF_INIT;
		__cleanup_strbuf struct strbuf once = STRBUF_INIT;
		__cleanup_strbuf struct strbuf twice = STRBUF_INIT;
		enum frame_kind kind, kind_again;

		for (int i = 0; i < 9; i++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			strbuf_puts(&raw, pieces[(seed >> 33) %
						 (ARRAY_SIZE(pieces) - (is_odd ? 0 : odd_cnt))]);
		}
		canonical(raw.data, raw.len, is_odd, &once, &kind);
		canonical(strbuf_str(&once), once.len, KEEP_PARAMETERS, &twice, &kind_again);
		assert_true(once.len && twice.len);
		colons = strstr(raw.data, "::");
		if (is_odd || (colons && strchr(colons + 2, ':')))
			continue;
		assert_string_equal(strbuf_str(&twice), strbuf_str(&once));
		assert_int_equal(kind_again, kind);
	}
}

static void java_name_of_classes_is_as_in_sources_and_stable(void **state)
{
	static const struct row rows[] = {
		{ "java/lang/String", "java.lang.String" },
		{ "Main", "Main" },
		{ "a/B$C", "a.B$C" },
		{ "[B", "byte[]" },
		{ "[[J", "long[][]" },
		{ "[Ljava/lang/Object;", "java.lang.Object[]" },
		{ "[[La/B$C;", "a.B$C[][]" },
		{ "a/B$$Lambda+0x00007f1234567890", "a.B$$Lambda" },
		{ "[La/B$$Lambda+0x00007f1234567890;", "a.B$$Lambda[]" },
		{ "jdk/proxy2/$Proxy17", "jdk.proxy.$Proxy" },
	};
	static const char *const none[] = { "",	   "[",	   "[[", "[X", "[Ljava/lang/Object",
					    "[BB", "[La;b" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__cleanup_strbuf struct strbuf out = STRBUF_INIT;
		__cleanup_free char *copy = malloc(strlen(rows[i].raw));

		assert_non_null(copy);
		memcpy(copy, rows[i].raw, strlen(rows[i].raw));
		strbuf_puts(&out, "x");
		assert_int_equal(java_name_class(copy, strlen(rows[i].raw), &out), 0);
		assert_string_equal(strbuf_str(&out) + 1, rows[i].expected);
	}
	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		__cleanup_strbuf struct strbuf out = STRBUF_INIT;

		strbuf_puts(&out, "x");
		assert_int_equal(java_name_class(none[i], strlen(none[i]), &out), -EINVAL);
		assert_string_equal(strbuf_str(&out), "x");
	}
}

static void java_name_of_unpacked_libraries_loses_random_digits(void **state)
{
	static const struct row rows[] = {
		{ "libjvm.so", "libjvm.so" },
		{ "libc.so.6", "libc.so.6" },
		{ "", "" },
		{ "libzstd-jni-1.5.5-41239938.so", "libzstd-jni-1.5.5.so" },
		{ "libzstd-jni-1.5.5-4123993812345678901.so", "libzstd-jni-1.5.5.so" },
		{ "libnetty_transport_native_epoll_x86_641234567890123.so",
		  "libnetty_transport_native_epoll_x86_64.so" },
		{ "libnetty_transport_native_epoll_aarch_641234567890123.so",
		  "libnetty_transport_native_epoll_aarch_64.so" },
		{ "libnetty_transport_native_epoll_x86_64.so",
		  "libnetty_transport_native_epoll_x86_64.so" },
		{ "snappy-1.1.8-dd8d8c2c-1f5b-4b5c-9a39-123456789abc-libsnappyjava.so",
		  "snappy-1.1.8-libsnappyjava.so" },
		{ "jna1234567890123456789.tmp", "jna.tmp" },
		{ "libfoo-0123456789abcdef0123.so", "libfoo.so" },
		{ "amazonCorrettoCryptoProvider0123456789abcdef", "amazonCorrettoCryptoProvider" },
		{ "libfoo-2.31.so", "libfoo-2.31.so" },
		{ "libfoo1234567.so", "libfoo1234567.so" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		__cleanup_strbuf struct strbuf once = STRBUF_INIT;
		__cleanup_strbuf struct strbuf twice = STRBUF_INIT;

		assert_int_equal(java_name_canonical_library(rows[i].raw, &once), 0);
		assert_string_equal(strbuf_str(&once), rows[i].expected);
		assert_int_equal(java_name_canonical_library(strbuf_str(&once), &twice), 0);
		assert_string_equal(strbuf_str(&twice), rows[i].expected);
	}
}

/* CPU time of a class whose name is `len` bytes long, each the beginning of many rules. */
static uint64_t name_ns(size_t len)
{
	__cleanup_strbuf struct strbuf raw = STRBUF_INIT;
	__cleanup_strbuf struct strbuf out = STRBUF_INIT;
	enum frame_kind kind;
	uint64_t begin_ns;

	strbuf_puts(&raw, "L");
	for (size_t at = 0; at < len; at++)
		strbuf_putc(&raw, '$');
	strbuf_puts(&raw, ";::run()V");
	begin_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	canonical(strbuf_str(&raw), raw.len, DROP_PARAMETERS, &out, &kind);
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns;
}

/* A program names its classes as it likes: naming them must not be what a CPU does. */
static void java_name_of_a_long_class_costs_no_more_than_its_length(void **state)
{
	uint64_t short_ns = 0;

	(void)state;
	for (int i = 0; i < 60; i++)
		short_ns += name_ns(1000);
	/* Where each byte looks at all before it, sixty times as much. */
	assert_true(name_ns(60000) < 10 * short_ns);
}

static void stubs_are_known_by_their_names(void **state)
{
	static const char *const stubs[] = {
		"jint_disjoint_arraycopy",
		"oop_arraycopy_uninit",
		"arrayof_jbyte_fill",
		"jshort_fill",
		"counterMode_AESCrypt",
		"cipherBlockChaining_encryptAESCrypt",
		"sha256_implCompressMB",
		"md5_implCompress",
		"ghash_processBlocks",
		"updateBytesCRC32C",
		"aescrypt_encryptBlock",
		"vectorizedMismatch",
		"libmSin",
		"libmLog10",
	};
	static const char *const others[] = { "",	 "_arraycopy", "arraycopy",
					      "fill",	 "memset",     "JVM_ArrayCopy",
					      "mulAdd2", "fmod",       "libm" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(stubs); i++)
		if (!java_name_is_stub(stubs[i], strlen(stubs[i])))
			fail_msg("'%s'", stubs[i]);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (java_name_is_stub(others[i], strlen(others[i])))
			fail_msg("'%s'", others[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(java_name_of_methods_is_stable_from_run_to_run),
		cmocka_unit_test(java_name_is_never_empty),
		cmocka_unit_test(java_name_of_classes_is_as_in_sources_and_stable),
		cmocka_unit_test(java_name_keeps_parameters_when_asked),
		cmocka_unit_test(java_name_tells_vm_code_from_methods),
		cmocka_unit_test(java_name_of_other_runtimes_is_kept),
		cmocka_unit_test(java_name_appends_behind_what_is_there),
		cmocka_unit_test(java_name_is_its_own_canonical_form_for_any_text),
		cmocka_unit_test(java_name_of_unpacked_libraries_loses_random_digits),
		cmocka_unit_test(java_name_of_a_long_class_costs_no_more_than_its_length),
		cmocka_unit_test(stubs_are_known_by_their_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
