// SPDX-License-Identifier: Apache-2.0
/* Which names are Java's, in whose spelling, and which another language's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "user/names/java_spelling.h"
#include "user/util/cleanup.h"

typedef bool question(const char *name, size_t len);

static void ask(question *is, const char *const *names, size_t cnt, bool expected)
{
	for (size_t i = 0; i < cnt; i++)
		if (is(names[i], strlen(names[i])) != expected)
			fail_msg("'%s'", names[i]);
}

static void names_that_only_java_has_are_certain(void **state)
{
	static const char *const names[] = {
		"java/lang/String.format",
		"java/lang/String.<init>",
		"java.util.ArrayList.clone",
		"java.util.Map$Entry.getKey(int)",
		"shop.Cart.total",
		"a.b.B\xc3\xa4r.\xc3\xbc",
		"void java.lang.Thread.run",
		"int Work.mix(int, int)",
		"char[][] Work.mix",
		"java.lang.Object[] a.B.f",
		"void shop.Job$$Lambda/0x00007f1c2c001000.run",
		"a.B$HibernateInstantiator$A1b2C3d4.newInstance",
	};

	(void)state;
	ask(java_spelling_is_certain, names, ARRAY_SIZE(names), true);
}

static void names_that_others_have_as_well_are_not(void **state)
{
	static const char *const names[] = {
		"",
		".",
		"main",
		"a.b",
		"a..B.c",
		"a.B.",
		".B.c",
		"Cart.total",
		"a/b/c.clone",
		"net/http.(*conn).serve",
		"encoding/json.Marshal",
		"time.Time.add",
		"main.Cart.total",
		"System.Threading.Thread.StartCallback",
		"org.gnome.Shell.CalendarServer",
		"void foo",
		"void foo::bar",
		"void [System.Private.CoreLib] System.String::Concat",
		"shop.cart a.B.f",
		"int 1.2",
		"libz.so.1.2.13",
		"[libz.so.1.2]",
		"LazyCompile:*f /srv/p.js:1:2",
		"py::f:/srv/x.py",
		"f (app.py:3)",
		"foo.constprop.0",
	};

	(void)state;
	ask(java_spelling_is_certain, names, ARRAY_SIZE(names), false);
}

static void small_classes_are_likely_with_one_dot_behind_the_last_slash(void **state)
{
	static const char *const likely[] = { "a/b/c.clone", "a/b/c.<init>", "a/B.c", "Main.work",
					      "Main$A.<init>" };
	static const char *const not [] = { "main.work", "Main.Work", "Main.a.b", "a.b.c",
					    "a/b",	 "a/b.",      "a/b.c.d",  "/a/b.c",
					    "a/b.c(d)",	 "a-b/c.d" };

	(void)state;
	ask(java_spelling_is_likely, likely, ARRAY_SIZE(likely), true);
	ask(java_spelling_is_likely, not, ARRAY_SIZE(not ), false);
}

static void inlined_code_without_a_class_is_foreign(void **state)
{
	static const char *const foreign[] = { "memcpy", "std::vector<int>::size", "a::b" };
	static const char *const java[] = { "a.B.c", "com.foo.Bar::baz", "Lorg/a/B:::run",
					    "a/B.c" };

	(void)state;
	ask(java_spelling_is_foreign, foreign, ARRAY_SIZE(foreign), true);
	ask(java_spelling_is_foreign, java, ARRAY_SIZE(java), false);
}

static void collapsed_descriptors_are_spelled_out(void **state)
{
	static const struct {
		const char *name, *expected; /* NULL: it is none */
	} cases[] = {
		{ "Lorg/a/B:::run", "org/a/B.run" },
		{ "org/a/B:::run", "org/a/B.run" },
		{ "org/a/B::run", "org/a/B.run" },
		{ "org/a/B:.<init>", "org/a/B.<init>" },
		{ "org/a/B:::", NULL },
		{ "org/a/B:run", NULL },
		{ "a::b", NULL },
		{ "a.b/C::d", NULL },
		{ "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__cleanup_strbuf struct strbuf out = STRBUF_INIT;
		bool is =
			java_spelling_append_collapsed(cases[i].name, strlen(cases[i].name), &out);

		assert_int_equal(is, cases[i].expected != NULL);
		assert_string_equal(strbuf_str(&out), is ? cases[i].expected : "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_that_only_java_has_are_certain),
		cmocka_unit_test(names_that_others_have_as_well_are_not),
		cmocka_unit_test(small_classes_are_likely_with_one_dot_behind_the_last_slash),
		cmocka_unit_test(inlined_code_without_a_class_is_foreign),
		cmocka_unit_test(collapsed_descriptors_are_spelled_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
