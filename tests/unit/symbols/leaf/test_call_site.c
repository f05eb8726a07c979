// SPDX-License-Identifier: Apache-2.0
/* Calls that compilers make, and code that only looks a little like one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "symbols/leaf/call_site.h"

struct site {
	const char *code; /* its last bytes are those before the address */
	size_t len;
};

#define SITE(text)                     \
	{                              \
		text, sizeof(text) - 1 \
	}

static bool ends(bool (*judge)(const uint8_t *code), const struct site *site)
{
	uint8_t code[CALL_SITE_BYTES] = { 0 };

	for (size_t i = 0; i < site->len; i++)
		code[CALL_SITE_BYTES - site->len + i] = (uint8_t)site->code[i];
	return judge(code);
}

static void x86_calls_end_there(void **state)
{
	static const struct site calls[] = {
		SITE("\xe8\x12\x34\x56\x78"),	      /* call rel32 */
		SITE("\xff\xd0"),		      /* call rax */
		SITE("\x41\xff\xd2"),		      /* call r10 */
		SITE("\xff\x10"),		      /* call [rax] */
		SITE("\xff\x50\x08"),		      /* call [rax + 8] */
		SITE("\x41\xff\x92\x12\x34\x56\x78"), /* call [r10 + disp32] */
		SITE("\xff\x14\xc8"),		      /* call [rax + rcx * 8] */
		SITE("\xff\x54\x24\x08"),	      /* call [rsp + 8] */
		SITE("\xff\x94\x24\x12\x34\x56\x78"), /* call [rsp + disp32] */
		SITE("\xff\x15\x12\x34\x56\x78"),     /* call [rip + disp32] */
		SITE("\xff\x14\x25\x12\x34\x56\x78"), /* call [disp32] */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!ends(call_site_ends_x86, &calls[i]))
			fail_msg("call %zu is not seen", i);
}

static void other_x86_code_is_no_call(void **state)
{
	static const struct site others[] = {
		SITE("\x90\x90\x90\x90\x90"),
		SITE("\xe8\x12\x34\x56\x78\x90"), /* the call ends a byte before */
		SITE("\xe9\x12\x34\x56\x78"),	  /* jmp rel32 */
		SITE("\xff\xe0"),		  /* jmp rax */
		SITE("\xff\x50"),		  /* cut off */
		SITE("\xff\x10\x08"),		  /* call [rax], and one byte */
		SITE("\x48\x89\xc2"),		  /* mov rdx, rax */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (ends(call_site_ends_x86, &others[i]))
			fail_msg("code %zu is taken for a call", i);
}

static void arm64_calls_are_told_from_branches(void **state)
{
	static const struct site bl = SITE("\x10\x00\x00\x94"), blr = SITE("\x00\x01\x3f\xd6"),
				 b = SITE("\x10\x00\x00\x14"), br = SITE("\x00\x01\x1f\xd6"),
				 before = SITE("\x10\x00\x00\x94\x1f\x20\x03\xd5");

	(void)state;
	assert_true(ends(call_site_ends_arm64, &bl));
	assert_true(ends(call_site_ends_arm64, &blr));
	assert_false(ends(call_site_ends_arm64, &b));
	assert_false(ends(call_site_ends_arm64, &br));
	assert_false(ends(call_site_ends_arm64, &before));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(x86_calls_end_there),
		cmocka_unit_test(other_x86_code_is_no_call),
		cmocka_unit_test(arm64_calls_are_told_from_branches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
