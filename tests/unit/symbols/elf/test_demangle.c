// SPDX-License-Identifier: Apache-2.0
/* Native names: C++ and Rust, versions, clones, and mangled names made to hurt. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "symbols/elf/demangle.h"

static void check(const char *raw, const char *expected)
{
	struct strbuf out = STRBUF_INIT;

	assert_int_equal(demangle_native(raw, strlen(raw), &out), 0);
	assert_string_equal(strbuf_str(&out), expected);
	strbuf_release(&out);
}

static void demangle_makes_names_readable(void **state)
{
	static const struct {
		const char *raw, *expected;
	} rows[] = {
		{ "main", "main" },
		{ "", "" },
		{ "_", "_" },
		{ "_Z", "_Z" },
		{ "_Z3foov", "foo" },
		{ "_ZN15G1CollectedHeap7collectEN7GCCause5CauseE", "G1CollectedHeap::collect" },
		{ "_ZNKSt6vectorIiSaIiEE4sizeEv", "std::vector<int, std::allocator<int> >::size" },
		/* Rust, legacy: the hash at the end differs from build to build. */
		{ "_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write" },
		{ "_ZN3std2rt10lang_start28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
		  "std::rt::lang_start::{{closure}}" },
		/* Rust, v0. */
		{ "_RNvCs15kBYyAo9fc_7mycrate7example", "mycrate::example" },
		{ "_RNvC01a", "::a" },
		{ "_Rubbish", "_Rubbish" },
		{ "_ZNot_a_name", "_ZNot_a_name" },
		{ "_init", "_init" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		check(rows[i].raw, rows[i].expected);
	}
}

static void demangle_drops_what_varies_from_build_to_build(void **state)
{
	static const struct {
		const char *raw, *expected;
	} rows[] = {
		{ "ext4_map.isra.0", "ext4_map" },
		{ "ext4_map.constprop.12", "ext4_map" },
		{ "f.part.3.isra.0.cold", "f" },
		{ "f.cold", "f" },
		{ "f.cold.17", "f" },
		{ "f.llvm.1234567890123456789", "f" },
		{ "f.lto_priv.0", "f" },
		{ "f.localalias", "f" },
		{ "_Z3foov.cold", "foo" },
		{ "_Z3foov.constprop.0.isra.4", "foo" },
		{ "memcpy@@GLIBC_2.14", "memcpy" },
		{ "memcpy@GLIBC_2.2.5", "memcpy" },
		{ "memcpy@plt", "memcpy@plt" },
		/* Looks like it, but is the name. */
		{ ".cold", ".cold" },
		{ ".isra.0", ".isra.0" },
		{ "f.7", "f.7" },
		{ "f.coldest", "f.coldest" },
		{ "cold", "cold" },
		{ "@", "@" },
		{ "a@", "a@" },
		{ "@@X", "@@X" },
		{ "7", "7" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check(rows[i].raw, rows[i].expected);
}

static void demangle_of_a_name_that_explodes_ends(void **state)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	struct strbuf bomb = STRBUF_INIT;
	struct strbuf out = STRBUF_INIT;

	(void)state;
	/* f<A<int, int>, A<S1, S1>, A<S2, S2>, ...>: each argument is twice as long as the last. */
	strbuf_puts(&bomb, "_Z1fI1AIiiE");
	for (int i = 1; i < 5; i++)
		strbuf_printf(&bomb, "S0_IS%c_S%c_E", digits[i], digits[i]);
	strbuf_puts(&bomb, "Evv");
	assert_int_equal(demangle_native(strbuf_str(&bomb), bomb.len, &out), 0);
	assert_memory_equal(strbuf_str(&out), "f<A<int, int>, A<A<int, int>, A<int, int> >", 43);
	strbuf_clear(&out);
	strbuf_truncate(&bomb, bomb.len - strlen("Evv"));
	for (int i = 5; i < 36; i++)
		strbuf_printf(&bomb, "S0_IS%c_S%c_E", digits[i], digits[i]);
	strbuf_puts(&bomb, "Evv");
	assert_int_equal(demangle_native(strbuf_str(&bomb), bomb.len, &out), 0);
	assert_string_equal(strbuf_str(&out), strbuf_str(&bomb));
	strbuf_release(&bomb);
	strbuf_release(&out);
}

static void demangle_of_long_names_keeps_them(void **state)
{
	static char raw[DEMANGLE_MAX_RAW_BYTES + 10];
	struct strbuf out = STRBUF_INIT;

	(void)state;
	memset(raw, 'P', sizeof(raw) - 1);
	memcpy(raw, "_Z1fI", 5);
	assert_int_equal(demangle_native(raw, strlen(raw), &out), 0);
	assert_string_equal(strbuf_str(&out), raw);
	strbuf_release(&out);
	raw[1000] = '\0';
	assert_int_equal(demangle_native(raw, strlen(raw), &out), 0);
	assert_string_equal(strbuf_str(&out), raw);
	strbuf_release(&out);
}

static void demangle_survives_any_bytes(void **state)
{
	static const char *const seeds[] = { "_ZN15G1CollectedHeap7collectEN7GCCause5CauseE",
					     "_RNvMs_NtCs15kBYyAo9fc_7mycrate3fooNtB4_3Bar3baz",
					     "_ZN4core3fmt5write17h0123456789abcdefE" };
	uint32_t random = 77;

	(void)state;
	for (size_t i = 0; i < 30000; i++) {
		const char *seed = seeds[i % 3];
		struct strbuf out = STRBUF_INIT;
		char raw[80];

		strcpy(raw, seed);
		for (int flips = 0; flips < 3; flips++) {
			random = random * 1664525 + 1013904223;
			raw[2 + random / 65536 % (strlen(seed) - 2)] =
				(char)(random >> 24 ? random >> 24 : 1);
		}
		assert_int_equal(demangle_native(raw, strlen(raw), &out), 0);
		assert_true(out.len <= DEMANGLE_MAX_BYTES);
		strbuf_release(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(demangle_makes_names_readable),
		cmocka_unit_test(demangle_drops_what_varies_from_build_to_build),
		cmocka_unit_test(demangle_of_a_name_that_explodes_ends),
		cmocka_unit_test(demangle_of_long_names_keeps_them),
		cmocka_unit_test(demangle_survives_any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
