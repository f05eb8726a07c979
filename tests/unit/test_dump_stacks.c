// SPDX-License-Identifier: Apache-2.0
/* Labels in front of stacks, kinds of leaves, and titles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "user/cmd/dump_stacks.h"
#include "user/util/cleanup.h"
#include "user/util/strbuf.h"

static const struct window shop = {
	.pid = 42,
	.labels = { [WINDOW_LABEL_CONTAINER] = "shop-1", [WINDOW_LABEL_SERVICE] = "sh;op\n" },
};

#define TEXT                              \
	"java;a.B.c_[j] 5\n"              \
	"java;a.B.c_[j];sys_read_[k] 2\n" \
	"java;a.B.d_[0] 3\n"              \
	"java;libc.so 1\n"

struct stacks_case {
	enum dump_by by[DUMP_BY_CNT];
	size_t by_cnt;
	enum select_kind kind;
	const char *text;
	const char *folded;
	size_t bad_line_cnt;
};

static const struct stacks_case cases[] = {
	{ .text = TEXT, .folded = TEXT },
	{ .text = "", .folded = "" },
	{ .kind = SELECT_KIND_JAVA,
	  .text = TEXT,
	  .folded = "java;a.B.c_[j] 5\njava;a.B.d_[0] 3\n" },
	{ .kind = SELECT_KIND_KERNEL, .text = TEXT, .folded = "java;a.B.c_[j];sys_read_[k] 2\n" },
	{ .kind = SELECT_KIND_NATIVE, .text = TEXT, .folded = "java;libc.so 1\n" },
	{ .by = { DUMP_BY_CONTAINER },
	  .by_cnt = 1,
	  .text = "java;a 1\n",
	  .folded = "shop-1;java;a 1\n" },
	{ .by = { DUMP_BY_PID, DUMP_BY_POD, DUMP_BY_SERVICE, DUMP_BY_CONTAINER },
	  .by_cnt = 4,
	  .text = "java;a 1\njava;b 2\n",
	  .folded = "42;(none);sh:op_;shop-1;java;a 1\n42;(none);sh:op_;shop-1;java;b 2\n" },
	{ .by = { DUMP_BY_CONTAINER },
	  .by_cnt = 1,
	  .kind = SELECT_KIND_KERNEL,
	  .text = TEXT,
	  .folded = "shop-1;java;a.B.c_[j];sys_read_[k] 2\n" },
	/* garbage is skipped and counted, also without a last newline */
	{ .by = { DUMP_BY_PID },
	  .by_cnt = 1,
	  .text = "\njava\n 5\njava;a x\njava;a -1\njava;a 99999999999999999999\njava;a 7",
	  .folded = "42;java;a 7\n",
	  .bad_line_cnt = 6 },
};

static void dump_stacks_put_labels_in_front_and_keep_one_kind(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		__cleanup_strbuf struct strbuf out = STRBUF_INIT;
		struct dump_options options = {
			.by_cnt = cases[i].by_cnt,
			.selection.kind = cases[i].kind,
		};
		struct profile *profile = profile__new();
		size_t bad_cnt = 0;

		assert_non_null(profile);
		memcpy(options.by, cases[i].by, sizeof(options.by));
		assert_int_equal(dump_stacks_add(&options, &shop, cases[i].text,
						 strlen(cases[i].text), profile, &bad_cnt),
				 0);
		assert_int_equal(profile__to_folded(profile, &out), 0);
		if (strcmp(strbuf_str(&out), cases[i].folded) != 0 ||
		    bad_cnt != cases[i].bad_line_cnt)
			fail_msg("case %zu: %zu bad, '%s'", i, bad_cnt, strbuf_str(&out));
		profile__free(profile);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dump_stacks_put_labels_in_front_and_keep_one_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
