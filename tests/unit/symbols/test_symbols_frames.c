// SPDX-License-Identifier: Apache-2.0
/* What names of frames say: where threads begin, with and without symbols. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "symbols/symbols.h"

static void thread_roots_are_known(void **state)
{
	static const char *const roots[] = { "_start",
					     "start_thread",
					     "clone",
					     "clone3",
					     "__clone",
					     "__clone3",
					     "__libc_start_main",
					     "__libc_start_main_impl",
					     "__libc_start_main@@GLIBC_2.34",
					     "__libc_start_call_main",
					     "[vthread]" };
	static const char *const others[] = {
		"", "main", "start", "clone_it", "[unknown]", "__libc_start", "thread_starter"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++)
		assert_true(symbols_is_thread_root(roots[i]));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(symbols_is_thread_root(others[i]));
}

static void main_called_from_a_stripped_libc_is_a_root(void **state)
{
	static const struct {
		const char *names[3]; /* leaf first */
		bool is_root;
	} cases[] = {
		{ { "burn", "main", "[libc.so.6]" }, true },
		{ { "burn", "main", "[libc-2.31.so]" }, true },
		{ { "burn", "main", "libc.so.6+0x2724a" }, true },
		{ { "burn", "main", "libfoo.so+0x2724a" }, false },
		{ { "burn", "main", "[ld-musl-x86_64.so.1]" }, true },
		{ { "burn", "main", "__libc_start_call_main" }, true },
		{ { "burn", "main", "[libfoo.so]" }, false },
		{ { "burn", "work", "[libc.so.6]" }, false },
		{ { "main", "[libc.so.6]", "burn" }, false },
	};

	(void)state;
	assert_false(symbols_reaches_root(NULL, 0));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct frame frames[3];

		for (size_t k = 0; k < 3; k++)
			frames[k] = (struct frame){ .name = cases[i].names[k] };
		assert_int_equal(symbols_reaches_root(frames, 3), cases[i].is_root);
		assert_false(symbols_reaches_root(frames, 1));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thread_roots_are_known),
		cmocka_unit_test(main_called_from_a_stripped_libc_is_a_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
