// SPDX-License-Identifier: Apache-2.0
/* What libraries do for own code is charged to it, and nothing is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "user/model/own_code.h"
#include "user/util/cleanup.h"
#include "user/util/strbuf.h"

static const struct {
	const char *globs;
	size_t label_cnt;
	const char *in;
	const char *out;
} cases[] = {
	/* the last own frame is the leaf; equal stacks become one */
	{ "a.*", 0,
	  "java;start;a.B.c_[j];java.X.y_[j] 2\njava;start;a.B.c_[j];lib.Z.z_[i];read_[k] 3\n",
	  "java;start;a.B.c_[j] 5\n" },
	{ "a.*", 0, "java;a.B.c_[0];lib.X.y_[j];a.B.d_[1];lib.X.y_[j] 2\n",
	  "java;a.B.c_[0];lib.X.y_[j];a.B.d_[1] 2\n" },
	/* without own code, but for the process itself */
	{ "a.*", 0, "java;gc;mark 2\njava 3\na.B;x 1\n",
	  "a.B;[other code] 1\njava 3\njava;[other code] 2\n" },
	/* several, with blanks; of what looks like a set of characters nothing is special */
	{ " a.B.*,, c.?.d ", 0, "p;a.B.x;l 1\np;c.Y.d;l 1\np;c.YY.d;l 1\n",
	  "p;[other code] 1\np;a.B.x 1\np;c.Y.d 1\n" },
	{ "[ab]", 0, "p;a;l 1\np;[ab];l 1\n", "p;[ab] 1\np;[other code] 1\n" },
	/* no glob: nothing is own */
	{ " ,", 0, "p;a;l 1\n", "p;[other code] 1\n" },
	/* a method of any parameters, or of these alone */
	{ "a.B.c", 0, "p;a.B.c(int)_[j];l 1\np;a.B.c_[j];l 1\n",
	  "p;a.B.c(int)_[j] 1\np;a.B.c_[j] 1\n" },
	{ "a.B.c(int)", 0, "p;a.B.c(int)_[j];l 1\np;a.B.c(int, int)_[j];l 1\n",
	  "p;[other code] 1\np;a.B.c(int)_[j] 1\n" },
	{ "a.B.c(int, long[]) , d.E.f(*", 0,
	  "p;a.B.c(int, long[])_[j];l 1\np;a.B.c(int)_[j];l 1\np;d.E.f(int, int)_[j];l 1\n",
	  "p;[other code] 1\np;a.B.c(int, long[])_[j] 1\np;d.E.f(int, int)_[j] 1\n" },
	{ "a.B.should work", 0, "p;a.B.should work_[j];l 1\np;a.B.should_[j];l 1\n",
	  "p;[other code] 1\np;a.B.should work_[j] 1\n" },
	/* waiting for a CPU is nobody's code */
	{ "a.*", 0, "java;[waiting for a CPU] 4\njava;gc 1\n",
	  "java;[other code] 1\njava;[waiting for a CPU] 4\n" },
	/* labels stay, and are not own */
	{ "shop*", 1, "shop-1;java;b;c 1\nshop-1;java;shop.A.a_[j];c 2\n",
	  "shop-1;java;[other code] 1\nshop-1;java;shop.A.a_[j] 2\n" },
	/* threads stay apart */
	{ "a", 0, "p;a;b\1main 1\np;a;c\1pool-# 2\np;b\1main 3\n",
	  "p;[other code]\1main 3\np;a\1main 1\np;a\1pool-# 2\n" },
};

static void libraries_are_charged_to_the_nearest_own_frame(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__cleanup_strbuf struct strbuf text = STRBUF_INIT;
		struct profile *in = profile__new();
		struct profile *out = profile__new();

		assert_non_null(in);
		assert_non_null(out);
		assert_int_equal(profile__add_folded(in, cases[i].in, strlen(cases[i].in), NULL),
				 0);
		assert_int_equal(own_code_charge(in, cases[i].globs, cases[i].label_cnt, out), 0);
		assert_true(profile__sample_count(in) == profile__sample_count(out));
		assert_int_equal(profile__to_folded(out, &text), 0);
		if (strcmp(strbuf_str(&text), cases[i].out) != 0)
			fail_msg("case %zu: '%s'", i, strbuf_str(&text));
		profile__free(in);
		profile__free(out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(libraries_are_charged_to_the_nearest_own_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
